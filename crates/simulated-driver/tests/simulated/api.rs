//! What calls with wrong arguments answer, as the documents and conformance tests have it. The names of cases are those of
//! `docs/conformance.md`.
#![allow(unsafe_code)]

use crate::driver::*;
use millpond::base::{Bytes, DeviceId};
use millpond::trace::{DeviceSet, DeviceSetup};
use simulated_driver::{Configuration, NAMES, lookup};
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::{null, null_mut};

/// Two devices, of which each reaches the other one.
pub(crate) fn two_devices() -> Configuration {
    let device = |other: usize| {
        let mut peers = DeviceSet::NONE;
        peers.set(DeviceId::from_usize(other), true);
        DeviceSetup { peers, ..DeviceSetup::new(Bytes::gib(16)) }
    };
    Configuration { devices: vec![device(1), device(0)], ..Configuration::default() }
}

const NO_HANDLES: [u64; 4] = [3, 0xdead, 1 << 46, u64::MAX];

#[test]
fn c16_attributes_that_are_unknown_or_read_only() {
    let _turn = ready(Configuration::default());
    let pool = pool();
    for (attribute, value) in [(6, 1), (8, 1), (5, 0), (7, 0), (5, 1), (7, 1), (0, 0), (9, 0), (-1, 0)] {
        assert_eq!(pool_set(pool, attribute, &mut { value }), INVALID_VALUE, "{attribute} to {value}");
    }
    for attribute in [0, 9, -1, 1_000] {
        assert_eq!(pool_get(pool, attribute, &mut 0), INVALID_VALUE, "{attribute}");
    }
    for attribute in 1..=8 {
        assert_eq!(pool_get(pool, attribute, null_mut()), INVALID_VALUE, "{attribute}");
        assert_eq!(pool_set(pool, attribute, null_mut()), INVALID_VALUE, "{attribute}");
        for no_pool in NO_HANDLES.into_iter().chain([0, stream()]) {
            assert_eq!(pool_get(no_pool, attribute, &mut 0), INVALID_VALUE);
            assert_eq!(pool_set(no_pool, attribute, &mut 0), INVALID_VALUE);
        }
    }
    assert_eq!([6, 8].map(|attribute| pool_set(pool, attribute, &mut 0)), [SUCCESS; 2]);
}

/// C17: defaults, and what is set reads back.
#[test]
fn c17_attributes_read_back() {
    let _turn = ready(Configuration::default());
    for pool in [pool(), made(|pool| default_pool(pool, 0))] {
        assert_eq!([1, 2, 3, 4].map(|attribute| figure(pool, attribute)), [1, 1, 1, 0]);
        for (attribute, value) in [(1, 0), (2, 0), (3, 0), (4, 4_096), (4, u64::MAX), (1, 1)] {
            assert_eq!(pool_set(pool, attribute, &mut { value }), SUCCESS);
            assert_eq!(figure(pool, attribute), value);
        }
    }
    // A policy is an `int`: four bytes are written and no more.
    assert_eq!(
        made(|value| {
            *value = u64::MAX;
            pool_get(pool(), 1, value)
        }),
        0xffff_ffff_0000_0001
    );
}

#[test]
fn c27_pools_that_cannot_be_destroyed() {
    let _turn = ready(Configuration::default());
    let own = pool();
    assert_eq!(pool_destroy(0), INVALID_VALUE);
    assert_eq!([pool_destroy(own), pool_destroy(own)], [SUCCESS, INVALID_VALUE]);
    assert_eq!(pool_destroy(made(|pool| default_pool(pool, 0))), INVALID_VALUE);
    assert_eq!(NO_HANDLES.map(pool_destroy), [INVALID_VALUE; 4]);
}

/// C28: a pool that was current leaves its place to the default pool.
#[test]
fn c28_the_current_pool() {
    let _turn = ready(Configuration::default());
    let (own, default) = (pool(), made(|pool| default_pool(pool, 0)));
    assert_eq!(made(|pool| get_pool(pool, 0)), default);
    assert_eq!((set_pool(0, own), made(|pool| get_pool(pool, 0))), (SUCCESS, own));
    let pointer = made(|pointer| alloc_async(pointer, 512, 0));
    assert_eq!(made(|pool| pointer_attribute(pool, 17, pointer)), own);
    assert_eq!((pool_destroy(own), made(|pool| get_pool(pool, 0))), (SUCCESS, default));
}

#[test]
fn c29_properties_that_no_pool_has() {
    let _turn = ready(two_devices());
    let own = Props::on(0);
    let mut pool = 0;
    assert_eq!(pool_create(null_mut(), &own), INVALID_VALUE);
    assert_eq!(pool_create(&mut pool, null()), INVALID_VALUE);
    let at = |kind, id| Props { location: Location { kind, id }, ..own };
    let mut reserved = own;
    reserved.reserved[20] = 1;
    for (props, answer) in [
        (Props { alloc_type: 0, ..own }, INVALID_VALUE),
        (Props { alloc_type: 7, ..own }, INVALID_VALUE),
        (Props { alloc_type: 2, ..own }, NOT_SUPPORTED),
        (at(0, 0), INVALID_VALUE),
        (at(1, 2), INVALID_VALUE),
        (at(1, -1), INVALID_VALUE),
        (at(3, -1), INVALID_VALUE),
        (at(4, 0), INVALID_VALUE),
        (at(5, 0), INVALID_VALUE),
        (Props { handle_types: 3, ..own }, INVALID_VALUE),
        (Props { handle_types: 1, ..at(2, 0) }, INVALID_VALUE),
        (Props { usage: 1, ..own }, INVALID_VALUE),
        (reserved, INVALID_VALUE),
        (at(1, 1), SUCCESS),
        (at(2, 0), SUCCESS),
        (at(3, 0), SUCCESS),
        (Props { handle_types: 8, ..own }, SUCCESS),
        (Props { handle_types: 1, max_size: 1 << 20, ..own }, SUCCESS),
    ] {
        assert_eq!(pool_create(&mut pool, &props), answer);
    }
}

#[test]
fn c30_default_and_current_pools_of_no_device() {
    let _turn = ready(two_devices());
    assert_eq!([default_pool(null_mut(), 0), get_pool(null_mut(), 0)], [INVALID_VALUE; 2]);
    assert_eq!([-1, 2].map(|device| default_pool(&mut 0, device)), [INVALID_DEVICE; 2]);
    assert_eq!([-1, 2].map(|device| get_pool(&mut 0, device)), [INVALID_VALUE; 2]);
    let own = pool();
    assert_eq!([-1, 2].map(|device| set_pool(device, own)), [INVALID_VALUE; 2]);
    assert_eq!(set_pool(0, 0), INVALID_VALUE);
    assert_eq!(set_pool(1, own), INVALID_VALUE, "a pool of another device");
}

#[test]
fn c31_allocations_that_fail() {
    let _turn = ready(Configuration::default());
    let (pool, stream) = (pool(), stream());
    let pointer = &mut 0;
    assert_eq!(alloc_async(null_mut(), 512, stream), INVALID_VALUE);
    assert_eq!(alloc_from_pool(null_mut(), 512, pool, stream), INVALID_VALUE);
    assert_eq!(alloc_from_pool(pointer, 512, 0, stream), INVALID_VALUE);
    assert_eq!(alloc_async(pointer, 512, u64::MAX), INVALID_HANDLE);
    assert_eq!(alloc_from_pool(pointer, 512, pool, u64::MAX), INVALID_HANDLE);
    assert_eq!(alloc_async(pointer, usize::MAX, stream), OUT_OF_MEMORY);
    assert_eq!(alloc_from_pool(pointer, usize::MAX, pool, stream), OUT_OF_MEMORY);
    assert_eq!(*pointer, 0, "a call that fails writes nothing");
    assert_eq!((alloc_async(pointer, 0, stream), *pointer), (SUCCESS, 0));
}

#[test]
fn c32_frees_that_fail() {
    let _turn = ready(Configuration::default());
    let (pool, stream) = (pool(), stream());
    let pointer = alloc(512, pool, stream);
    assert_eq!(free_async(pointer, u64::MAX), INVALID_HANDLE);
    assert_eq!(free_async(pointer + 8, stream), INVALID_VALUE);
    assert_eq!((stream_synchronize(stream), free_async(pointer, stream)), (SUCCESS, SUCCESS));
    assert_eq!((stream_synchronize(stream), free_async(pointer, stream)), (SUCCESS, INVALID_VALUE));
    assert_eq!(mem_free(pointer), INVALID_VALUE);
    assert_eq!(free_async(0, stream), SUCCESS);
    assert_eq!(free_async(0xdead_beef, stream), INVALID_VALUE);
}

#[test]
fn c39_access_of_whom_and_how() {
    let _turn = ready(two_devices());
    let pool = pool();
    let of = |id, flags| Access { location: Location { kind: 1, id }, flags };
    let place = |id| Location { kind: 1, id };
    let set = |access: Access| pool_set_access(pool, &access, 1);
    assert_eq!(set(of(0, 3)), SUCCESS);
    assert_eq!(made(|flags| pool_get_access(flags, pool, &place(0))), 3);
    assert_eq!(pool_set_access(0, &of(0, 3), 1), INVALID_VALUE);
    assert_eq!(set(of(1, 0xffff)), INVALID_VALUE);
    assert_eq!([-1, 2].map(|id| set(of(id, 3))), [INVALID_DEVICE; 2]);
    assert_eq!(pool_set_access(pool, &of(1, 3), 3), INVALID_DEVICE, "more than there are devices");
    assert_eq!(pool_set_access(pool, null(), 1), INVALID_VALUE);
    assert_eq!(set(of(0, 0)), INVALID_DEVICE, "its own device");
    assert_eq!(set(Access { location: Location { kind: 2, id: 0 }, flags: 3 }), INVALID_VALUE);
    assert_eq!(pool_get_access(null_mut(), pool, &place(0)), INVALID_VALUE);
    assert_eq!(pool_get_access(&mut 0, pool, null()), INVALID_VALUE);
    assert_eq!(pool_get_access(&mut 0, pool, &place(2)), INVALID_DEVICE);
    for flags in [3, 1, 0] {
        assert_eq!(set(of(1, flags)), SUCCESS);
        assert_eq!(made(|found| pool_get_access(found, pool, &place(1))), flags);
    }
}

#[test]
fn c43_exports_and_imports_that_fail() {
    let _turn = ready(Configuration::default());
    let (plain, shared) =
        (pool(), made(|pool| pool_create(pool, &Props { handle_types: 1, ..Props::on(0) })));
    let (number, out, again) = (&mut 0, &mut 0, &mut 0);
    assert_eq!(pool_export(null_mut(), shared, 1, 0), INVALID_VALUE);
    assert_eq!(pool_export(number, 0, 1, 0), INVALID_VALUE);
    assert_eq!(pool_export(number, shared, 0, 0), INVALID_VALUE);
    assert_eq!(pool_export(number, shared, 8, 0), INVALID_VALUE, "it has no such handle");
    assert_eq!(pool_export(number, shared, 1, 1), INVALID_VALUE);
    assert_eq!(pool_export(number, plain, 1, 0), INVALID_VALUE);
    assert_eq!(pool_export(number, shared, 1, 0), SUCCESS);
    let fd = *number as usize;
    // Each export opens a descriptor of its own.
    assert_eq!(pool_export(again, shared, 1, 0), SUCCESS);
    assert_ne!(*again as usize, fd);
    let imported_too = made(|pool| pool_import(pool, *again as usize, 1, 0));
    assert_eq!(pool_destroy(imported_too), SUCCESS);
    // SAFETY: the driver has opened it for the caller, and nobody has closed it.
    drop(unsafe { OwnedFd::from_raw_fd(*again) });
    assert_eq!(pool_import(null_mut(), fd, 1, 0), INVALID_VALUE);
    assert_eq!(pool_import(out, 0, 1, 0), INVALID_VALUE);
    assert_eq!(pool_import(out, fd, 0, 0), INVALID_VALUE);
    assert_eq!(pool_import(out, fd + 1_000, 1, 0), INVALID_VALUE);
    let imported = made(|pool| pool_import(pool, fd, 1, 0));
    let stream = stream();
    let (own, other) = (alloc(512, shared, stream), alloc(512, plain, stream));
    let mut data = Words([0; 8]);
    assert_eq!(pointer_export(null_mut(), own), INVALID_VALUE);
    assert_eq!([0, own + 8, other].map(|pointer| pointer_export(&mut data, pointer)), [INVALID_VALUE; 3]);
    assert_eq!(pointer_export(&mut data, own), SUCCESS);
    assert_eq!(pointer_import(null_mut(), imported, &data), INVALID_VALUE);
    assert_eq!(pointer_import(out, imported, null()), INVALID_VALUE);
    assert_eq!([0, plain, shared].map(|pool| pointer_import(out, pool, &data)), [INVALID_VALUE; 3]);
    for word in 0..8 {
        let mut spoilt = data;
        spoilt.0[word] ^= 1;
        assert_eq!(pointer_import(out, imported, &spoilt), INVALID_VALUE, "word {word}");
    }
    assert_eq!(pointer_import(out, imported, &data), SUCCESS);
    // C42: an imported pool gives out no memory, is exported no more, and is no device's own.
    assert_eq!(alloc_from_pool(out, 512, imported, stream), INVALID_VALUE);
    assert_eq!(pool_export(number, imported, 1, 0), INVALID_VALUE);
    assert_eq!(set_pool(0, imported), INVALID_VALUE);
    assert_eq!((free_async(own, stream), pointer_import(out, imported, &data)), (SUCCESS, INVALID_VALUE));
    assert_eq!((pool_destroy(shared), pool_import(out, fd, 1, 0)), (SUCCESS, INVALID_VALUE));
}

#[test]
fn c57_memory_of_graphs() {
    let _turn = ready(Configuration::default());
    for device in [-1, 1] {
        assert_eq!(graph_get(device, 0, &mut 0), INVALID_DEVICE);
        assert_eq!(graph_set(device, 1, &mut 0), INVALID_DEVICE);
        assert_eq!(graph_trim(device), INVALID_DEVICE);
    }
    for (attribute, value, answer) in [
        (0, 0, INVALID_VALUE),
        (2, 0, INVALID_VALUE),
        (1, 5, INVALID_VALUE),
        (3, 5, INVALID_VALUE),
        (1, 0, SUCCESS),
    ] {
        assert_eq!(graph_set(0, attribute, &mut { value }), answer, "{attribute} to {value}");
    }
    assert_eq!((0..4).map(|attribute| made(|value| graph_get(0, attribute, value))).sum::<u64>(), 0);
    assert_eq!([-1, 4].map(|attribute| graph_get(0, attribute, &mut 0)), [INVALID_VALUE; 2]);
    assert_eq!((graph_get(0, 0, null_mut()), graph_set(0, 1, null_mut())), (INVALID_VALUE, INVALID_VALUE));
    assert_eq!(graph_trim(0), SUCCESS);
}

#[test]
fn before_the_initialisation_nothing_but_a_few_calls() {
    let turn = fresh(Configuration::default());
    assert_eq!(device_count(&mut 0), NOT_INITIALIZED);
    assert_eq!(stream_query(0), NOT_INITIALIZED);
    assert_eq!(mem_free(0), NOT_INITIALIZED);
    assert_eq!(made(driver_version_of), 13_000);
    assert_eq!([init(1), init(0), init(0)], [INVALID_VALUE, SUCCESS, SUCCESS]);
    assert_eq!(made(device_count_of), 1);
    drop(turn);
    let _turn = fresh(Configuration { devices: Vec::new(), ..Configuration::default() });
    assert_eq!([init(0), device_count(&mut 0)], [NO_DEVICE, NOT_INITIALIZED]);
}

fn driver_version_of(version: &mut c_int) -> c_int {
    driver_version(version)
}

fn device_count_of(count: &mut c_int) -> c_int {
    device_count(count)
}

/// Contexts are those of devices, retained and released, and each thread has a stack of them.
#[test]
fn contexts_come_and_go() {
    let _turn = fresh(two_devices());
    assert_eq!(init(0), SUCCESS);
    assert_eq!([stream_create(&mut 0, 0), context_synchronize(), mem_alloc(&mut 0, 1)], [INVALID_CONTEXT; 3]);
    assert_eq!(
        [release(0), retain(&mut 0, 2), retain(null_mut(), 0)],
        [INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE]
    );
    let [first, second] = [0, 1].map(|device| made(|context| retain(context, device)));
    assert_eq!(made(|context| retain(context, 0)), first);
    assert_eq!([set_current(first), push_current(second)], [SUCCESS; 2]);
    assert_eq!(made(|device| context_device(device)), 1);
    assert_eq!(made(|context| pop_current(context)), second);
    assert_eq!(made(|device| context_device(device)), 0);
    assert_eq!(NO_HANDLES.map(set_current), [INVALID_CONTEXT; 4]);
    let (stream, event, pool) = (stream(), event(), pool());
    let (plain, pooled) = (made(|pointer| mem_alloc(pointer, 512)), alloc(512, pool, stream));
    simulated_driver::pass(1);
    assert_eq!([release(0), stream_query(stream)], [SUCCESS; 2]);
    assert_eq!(release(0), SUCCESS, "the last one");
    assert_eq!([stream_query(stream), event_query(event)], [INVALID_HANDLE; 2]);
    assert_eq!([context_synchronize(), stream_query(0)], [CONTEXT_IS_DESTROYED; 2]);
    assert_eq!([push_current(first), set_current(first)], [INVALID_CONTEXT; 2]);
    assert_eq!((mem_free(plain), mem_free(pooled)), (INVALID_VALUE, SUCCESS), "pools belong to no context");
    let mut active = 1;
    assert_eq!((context_state(0, &mut 0, &mut active), active), (SUCCESS, 0));
    assert_eq!((retain(&mut 0, 0), context_reset(0), context_synchronize()), (SUCCESS, SUCCESS, SUCCESS));
    assert_eq!(
        [context_set_flags(0, 4), context_set_flags(0, 0x40), context_set_flags(0, 3)],
        [SUCCESS, INVALID_VALUE, INVALID_VALUE]
    );
    assert_eq!((made(context_flags_of), made(|version| api_version(0, version))), (4, 3_020));
    assert_eq!((set_current(0), pop_current(null_mut())), (SUCCESS, INVALID_CONTEXT));
}

fn context_flags_of(flags: &mut u32) -> c_int {
    context_flags(flags)
}

#[test]
fn handles_of_what_is_gone_are_unknown() {
    let _turn = ready(Configuration::default());
    let (stream_of, event_of) = (stream(), event());
    assert_eq!([stream_destroy(stream_of), stream_destroy(stream_of)], [SUCCESS, INVALID_HANDLE]);
    assert_eq!([event_destroy(event_of), event_destroy(event_of)], [SUCCESS, INVALID_HANDLE]);
    assert_eq!([0, 1, 2].map(stream_destroy), [INVALID_HANDLE; 3]);
    let (other, again) = (stream(), event());
    assert!(other != stream_of && again != event_of);
    assert_eq!(
        [stream_query(stream_of), stream_query(event_of), stream_query(other)],
        [INVALID_HANDLE, INVALID_HANDLE, SUCCESS]
    );
    assert_eq!([event_record(event_of, other), event_record(again, stream_of)], [INVALID_HANDLE; 2]);
    assert_eq!([stream_wait_event(other, event_of, 0), stream_wait_event(other, 0, 0)], [INVALID_HANDLE; 2]);
    assert_eq!(stream_wait_event(other, again, 2), INVALID_VALUE);
    assert_eq!(
        [stream_create(&mut 0, 2), event_create(&mut 0, 8), event_create(&mut 0, 4)],
        [INVALID_VALUE; 3]
    );
    assert_eq!(event_elapsed(&mut 0.0, again, again), INVALID_HANDLE, "it was never recorded");
    let silent = made(|event| event_create(event, 2));
    assert_eq!((event_record(silent, other), context_synchronize()), (SUCCESS, SUCCESS));
    assert_eq!(event_elapsed(&mut 0.0, silent, silent), INVALID_HANDLE, "it keeps no times");
}

const PTX: &CStr = c".version 7.0\n.visible .entry one(.param .u64 a) { ret; }";

#[test]
fn modules_functions_and_launches_that_fail() {
    let _turn = ready(two_devices());
    let module = made(|module| module_load(module, PTX.as_ptr()));
    assert_eq!(module_load(&mut 0, c".version 7.0\n".as_ptr()), INVALID_PTX);
    assert_eq!(module_load(&mut 0, c"\x7fELF\x02\x01".as_ptr()), INVALID_IMAGE);
    assert_eq!([module_load(null_mut(), PTX.as_ptr()), module_load(&mut 0, null())], [INVALID_VALUE; 2]);
    assert_eq!(module_load_ex(&mut 0, PTX.as_ptr(), 1, null(), null()), INVALID_VALUE);
    assert_eq!(module_load_ex(&mut 0, PTX.as_ptr(), 0, null(), null()), SUCCESS);
    let get = |function: &mut u64, name: &CStr| module_function(function, module, name.as_ptr());
    assert_eq!(get(&mut 0, c"two"), NOT_FOUND);
    let function = made(|function| get(function, c"one"));
    assert_eq!(made(|again| get(again, c"one")), function);
    let value = 1_u64;
    let good = [(&raw const value).cast()];
    let launch = |function, grid, block, parameters, extra| {
        launch_kernel(function, grid, 1, 1, block, 1, 1, 0, 0, parameters, extra)
    };
    assert_eq!(launch(function, 1, 32, good.as_ptr(), null()), SUCCESS);
    assert_eq!(launch(function, 0, 32, good.as_ptr(), null()), INVALID_VALUE);
    assert_eq!(launch(function, 1, 1_025, good.as_ptr(), null()), INVALID_VALUE);
    assert_eq!(launch(function, 1, 32, null(), null()), INVALID_VALUE);
    assert_eq!(launch(function, 1, 32, [null()].as_ptr(), null()), INVALID_VALUE);
    assert_eq!(launch(function, 1, 32, good.as_ptr(), good.as_ptr()), INVALID_VALUE);
    assert_eq!(launch(module, 1, 32, good.as_ptr(), null()), INVALID_HANDLE);
    attach(1);
    assert_eq!(launch(function, 1, 32, good.as_ptr(), null()), INVALID_HANDLE, "it is of another device");
    assert_eq!([module_unload(module), module_unload(module)], [SUCCESS, INVALID_HANDLE]);
    assert_eq!(launch(function, 1, 32, good.as_ptr(), null()), INVALID_HANDLE);
    assert_eq!(module_function(&mut 0, module, c"one".as_ptr()), INVALID_HANDLE);
    assert_eq!(launch_host(0, None, null_mut()), INVALID_VALUE);
}

#[test]
fn copies_that_fail() {
    let _turn = ready(Configuration::default());
    let device = made(|pointer| mem_alloc(pointer, 512));
    let mut host = [0_u8; 600];
    assert_eq!(memcpy_htod(device, null(), 8), INVALID_VALUE);
    assert_eq!(memcpy_htod(0, host.as_ptr(), 8), INVALID_VALUE);
    assert_eq!(memcpy_htod(device, host.as_ptr(), 600), INVALID_VALUE, "more than was allocated");
    assert_eq!(memcpy_htod(device + 510, host.as_ptr(), 8), INVALID_VALUE);
    assert_eq!(memcpy_dtoh(null_mut(), device, 8), INVALID_VALUE);
    assert_eq!(memcpy_dtoh(host.as_mut_ptr(), device, usize::MAX), INVALID_VALUE);
    assert_eq!(memcpy_dtod(device, 0xdead_beef, 8), INVALID_VALUE);
    assert_eq!(memcpy(device, host.as_ptr() as u64, 8), INVALID_VALUE, "not memory of the driver");
    assert_eq!(memcpy_async(device, device + 256, 256, 77), INVALID_HANDLE);
    assert_eq!([memset_d8(device, 1, 513), memset_d32_async(device + 1, 0, 1, 0)], [INVALID_VALUE; 2]);
    assert_eq!(memset_d32_async(device, 0, usize::MAX, 0), INVALID_VALUE);
    assert_eq!([memcpy_htod(0, null(), 0), memcpy_dtod(1, 2, 0), memset_d8(3, 0, 0)], [SUCCESS; 3]);
    assert_eq!([mem_alloc(&mut 0, 0), mem_alloc_managed(&mut 0, 0, 1)], [INVALID_VALUE; 2]);
    assert_eq!(mem_alloc_managed(&mut 0, 8, 0), INVALID_VALUE);
    assert_eq!(mem_alloc(&mut 0, 81 << 30), OUT_OF_MEMORY);
    let mut pinned = null_mut();
    assert_eq!([mem_alloc_host(&mut pinned, 0), mem_host_alloc(&mut pinned, 8, 8)], [INVALID_VALUE; 2]);
    assert_eq!(mem_alloc_host(&mut pinned, usize::MAX), OUT_OF_MEMORY);
    assert_eq!([mem_free_host(null_mut()), mem_free_host(host.as_mut_ptr())], [INVALID_VALUE; 2]);
}

#[test]
fn what_an_address_is_of() {
    let _turn = ready(Configuration::default());
    let context = made(|context| get_current(context));
    let (plain, pooled) = (made(|pointer| mem_alloc(pointer, 512)), made(|at| alloc_async(at, 512, 0)));
    let attribute = |attribute, pointer| made(|value| pointer_attribute(value, attribute, pointer));
    assert_eq!((attribute(1, plain), attribute(1, pooled)), (context, 0), "pools have no context");
    assert_eq!((attribute(2, plain), attribute(11, pooled + 8), attribute(12, plain)), (2, pooled, 512));
    assert_eq!(attribute(17, pooled), made(|pool| default_pool(pool, 0)));
    assert_eq!((attribute(8, plain), attribute(17, plain)), (0, 0));
    assert_eq!((free_async(pooled, 0), pointer_attribute(&mut 0, 2, pooled)), (SUCCESS, INVALID_VALUE));
    assert_eq!([0, 5, 99].map(|number| pointer_attribute(&mut 0, number, plain)), [INVALID_VALUE; 3]);
    assert_eq!(
        [pointer_attribute(null_mut(), 2, plain), pointer_attribute(&mut 0, 2, 0)],
        [INVALID_VALUE; 2]
    );
}

#[test]
fn devices_say_what_they_are() {
    let mut configuration = two_devices();
    configuration.devices[1].memory_pools = false;
    let _turn = ready(configuration);
    let mut name: [c_char; 64] = [1; 64];
    assert_eq!(device_name(name.as_mut_ptr(), 64, 1), SUCCESS);
    // SAFETY: the entry has written a text with a zero at its end.
    let text = unsafe { CStr::from_ptr(name.as_ptr()) };
    assert_eq!(text, c"Millpond simulated device 1");
    assert_eq!((device_name(name.as_mut_ptr(), 9, 0), name[7], name[8]), (SUCCESS, b'd' as c_char, 0));
    assert_eq!([device_name(name.as_mut_ptr(), 0, 0), device_name(null_mut(), 9, 0)], [INVALID_VALUE; 2]);
    let attribute = |number, device| made(|value| device_attribute(value, number, device));
    assert_eq!([attribute(115, 0), attribute(115, 1), attribute(119, 0), attribute(119, 1)], [1, 0, 1, 0]);
    assert_eq!([attribute(75, 0), attribute(41, 0), attribute(83, 0)], [9, 1, 1]);
    assert_eq!([0, -1, 99_999].map(|number| device_attribute(&mut 0, number, 0)), [INVALID_VALUE; 3]);
    assert_eq!([-1, 2].map(|device| device_attribute(&mut 0, 75, device)), [INVALID_DEVICE; 2]);
    assert_eq!((made(|bytes| device_memory(bytes, 0)), device_get(&mut 0, 2)), (16 << 30, INVALID_DEVICE));
    assert_eq!((made(|can| can_access_peer(can, 0, 1)), made(|can| can_access_peer(can, 0, 0))), (1, 0));
    assert_eq!(pool_create(&mut 0, &Props::on(1)), NOT_SUPPORTED);
    assert_eq!([default_pool(&mut 0, 1), get_pool(&mut 0, 1)], [NOT_SUPPORTED; 2]);
    attach(1);
    assert_eq!(alloc_async(&mut 0, 512, 0), NOT_SUPPORTED);
    let (mut least, mut greatest) = (9, 9);
    assert_eq!((priority_range(&mut least, &mut greatest), least, greatest), (SUCCESS, 0, -5));
    let eager = made(|stream| stream_create_with_priority(stream, 0, -9));
    assert_eq!((made(|p| stream_priority(eager, p)), made(|flags| stream_flags(eager, flags))), (-5, 0));
    assert_eq!(made(|context| stream_context(eager, context)), made(|context| get_current(context)));
    assert_eq!(made(|status| stream_is_capturing(eager, status)), 0);
}

#[test]
fn errors_have_names() {
    let name = |code| {
        let mut name = null();
        let answer = error_name(code, &mut name);
        // SAFETY: a text that is not null has a zero at its end, and lives for ever.
        (answer, (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }))
    };
    assert_eq!(name(0), (SUCCESS, Some(c"CUDA_SUCCESS")));
    assert_eq!(name(400), (SUCCESS, Some(c"CUDA_ERROR_INVALID_HANDLE")));
    assert_eq!(name(12_345), (INVALID_VALUE, None));
    let mut text = null();
    assert_eq!((error_string(2, &mut text), text.is_null()), (SUCCESS, false));
    assert_eq!([error_name(2, null_mut()), error_string(2, null_mut())], [INVALID_VALUE; 2]);
}

#[test]
fn entries_are_found_by_name() {
    assert!(NAMES.iter().all(|name| lookup(name).is_some()));
    let mut sorted = NAMES.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), NAMES.len(), "no name stands for two");
    assert_eq!([lookup("cuGetExportTable"), lookup("cuMemAlloc"), lookup("")], [None; 3]);
    let mut entry = null();
    for (symbol, version, name) in [
        (c"cuMemAlloc", 11_040, "cuMemAlloc_v2"),
        (c"cuStreamQuery", 13_000, "cuStreamQuery"),
        (c"cuGetProcAddress", 11_040, "cuGetProcAddress"),
        (c"cuGetProcAddress", 12_000, "cuGetProcAddress_v2"),
    ] {
        assert_eq!(proc_address(symbol.as_ptr(), &mut entry, version, 0), SUCCESS);
        assert_eq!(lookup(name).map(|found| found.as_ptr().cast_const()), Some(entry));
    }
    let mut status = 9;
    assert_eq!(proc_address_v2(c"cuGetExportTable".as_ptr(), &mut entry, 13_000, 0, &mut status), NOT_FOUND);
    assert_eq!((entry, status), (null(), 1));
    assert_eq!(proc_address_v2(c"cuInit".as_ptr(), &mut entry, 13_000, 0, &mut status), SUCCESS);
    assert_eq!((entry.is_null(), status), (false, 0));
    assert_eq!(proc_address(null(), &mut entry, 0, 0), INVALID_VALUE);
    assert_eq!(proc_address(c"cuInit".as_ptr(), null_mut(), 0, 0), INVALID_VALUE);
}
