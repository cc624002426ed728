//! How many things there may be, what makes room for others, and what is shared.
#![allow(unsafe_code)]

use crate::api::two_devices;
use crate::driver::*;
use simulated_driver::{Configuration, EVENTS_MAX, EXPORTS_MAX, Faults, POOLS_MAX, STREAMS_MAX, pass, reset};
use std::sync::mpsc;

#[test]
fn streams_make_room_once_their_work_was_observed() {
    let _turn = ready(Configuration::default());
    let streams: Vec<u64> = (0..STREAMS_MAX).map(|_| stream()).collect();
    assert_eq!(stream_create(&mut 0, 0), OUT_OF_MEMORY);
    assert_eq!(stream_query(2), OUT_OF_MEMORY, "the per-thread default stream is one too");
    let held = made(|pointer| alloc_async(pointer, 512, streams[0]));
    assert_eq!([stream_destroy(streams[0]), stream_create(&mut 0, 0)], [SUCCESS, OUT_OF_MEMORY]);
    assert_eq!([context_synchronize(), stream_query(2)], [SUCCESS; 2]);
    assert_eq!(stream_create(&mut 0, 0), OUT_OF_MEMORY);
    assert_eq!(stream_destroy(streams[1]), SUCCESS);
    for _ in 0..1_000 {
        let stream = made(|stream| stream_create(stream, 0));
        assert_eq!([stream_query(stream), stream_destroy(stream)], [SUCCESS; 2]);
    }
    assert_eq!(mem_free(held), SUCCESS);
}

#[test]
fn events_make_room_at_once() {
    let _turn = ready(Configuration::default());
    let events: Vec<u64> = (0..EVENTS_MAX).map(|_| event()).collect();
    assert_eq!(event_create(&mut 0, 0), OUT_OF_MEMORY);
    assert_eq!([event_record(events[5], 0), event_destroy(events[5])], [SUCCESS; 2]);
    let fresh = event();
    assert_eq!([event_query(fresh), event_create(&mut 0, 0)], [SUCCESS, OUT_OF_MEMORY]);
    assert_eq!(event_elapsed(&mut 0.0, fresh, fresh), INVALID_HANDLE, "it was never recorded");
}

#[test]
fn pools_make_room_once_nothing_of_them_is_in_use() {
    let _turn = ready(Configuration::default());
    let stream = stream();
    let pools: Vec<u64> = (0..POOLS_MAX).map(|_| pool()).collect();
    let props = Props::on(0);
    assert_eq!(pool_create(&mut 0, &props), OUT_OF_MEMORY);
    let held = alloc(512, pools[3], stream);
    assert_eq!([pool_destroy(pools[3]), pool_create(&mut 0, &props)], [SUCCESS, OUT_OF_MEMORY]);
    assert_eq!([free_async(held, stream), stream_synchronize(stream)], [SUCCESS; 2]);
    let fresh = pool();
    assert_eq!((figure(fresh, 5), figure(fresh, 8), pool_create(&mut 0, &props)), (0, 0, OUT_OF_MEMORY));
}

#[test]
fn exports_make_room_when_what_they_offer_is_gone() {
    let _turn = ready(Configuration::default());
    let pool = made(|pool| pool_create(pool, &Props { handle_types: 1, ..Props::on(0) }));
    let pointers: Vec<u64> = (0..=EXPORTS_MAX).map(|_| alloc(512, pool, 0)).collect();
    let mut data = Words([0; 8]);
    for pointer in &pointers[..EXPORTS_MAX] {
        assert_eq!(pointer_export(&mut data, *pointer), SUCCESS);
    }
    let last = pointers[EXPORTS_MAX];
    assert_eq!(pointer_export(&mut data, last), OUT_OF_MEMORY);
    let mut again = data;
    assert_eq!((pointer_export(&mut again, pointers[EXPORTS_MAX - 1]), again), (SUCCESS, data));
    assert_eq!([free_async(pointers[0], 0), pointer_export(&mut data, last)], [SUCCESS; 2]);
}

#[test]
fn shared_memory_is_the_same_bytes_at_two_addresses() {
    let _turn = ready(Configuration::default());
    let pool = made(|pool| pool_create(pool, &Props { handle_types: 1, ..Props::on(0) }));
    let imported = made(|other| pool_import(other, made(|fd| pool_export(fd, pool, 1, 0)) as usize, 1, 0));
    let own = alloc(1_000, pool, 0);
    let mut data = Words([0; 8]);
    assert_eq!(pointer_export(&mut data, own), SUCCESS);
    let other = made(|pointer| pointer_import(pointer, imported, &data));
    assert!(other != own);
    assert_eq!((memset_d8(own, 9, 1_000), memset_d8(other + 10, 8, 10)), (SUCCESS, SUCCESS));
    let mut bytes = [0; 30];
    assert_eq!(memcpy_dtoh(bytes.as_mut_ptr(), own, 30), SUCCESS);
    assert!(bytes.iter().enumerate().all(|(nth, byte)| *byte == if (10..20).contains(&nth) { 8 } else { 9 }));
    assert_eq!((figure(imported, 7), figure(pool, 7)), (1_000, 1_000));
    assert_eq!((free_async(other, 0), figure(imported, 7), figure(pool, 7)), (SUCCESS, 0, 1_000));
}

#[test]
fn a_shared_event_is_one_record() {
    let _turn = ready(Configuration::default());
    let shared = made(|event| event_create(event, 6));
    let plain = event();
    let mut handle = Words([0; 8]);
    assert_eq!(
        [ipc_get_event(&mut handle, plain), ipc_open_event(&mut 0, Words([1; 8]))],
        [INVALID_HANDLE; 2]
    );
    assert_eq!(ipc_get_event(&mut handle, shared), SUCCESS);
    let opened = made(|event| ipc_open_event(event, handle));
    let (first, second) = (stream(), stream());
    let held = made(|pointer| alloc_async(pointer, 512, first));
    assert_eq!([free_async(held, first), event_record(shared, first)], [SUCCESS; 2]);
    // What the exporter destroys lives on with the importer, and nobody else gets its place.
    assert_eq!(event_destroy(shared), SUCCESS);
    assert!((0..EVENTS_MAX - 3).all(|_| event() != shared));
    assert_eq!(stream_wait_event(second, opened, 0), SUCCESS);
    assert_eq!(made(|pointer| alloc_async(pointer, 512, second)), held, "it comes after the free");
    assert_eq!(ipc_open_event(&mut 0, handle), INVALID_HANDLE);
}

/// The eight faults: with each, an answer is another one than without.
#[test]
fn faults_can_be_noticed() {
    let look = |names: &str| {
        let faults = Faults::named(names).expect("they are known");
        let _turn = ready(Configuration { faults, ..Configuration::default() });
        let (pool, first, second, event) = (pool(), stream(), stream(), event());
        let mut seen = Vec::new();
        for attribute in [2, 3] {
            assert_eq!(pool_set(pool, attribute, &mut 0), SUCCESS);
            seen.push(figure(pool, attribute));
        }
        assert_eq!(pool_set(pool, 4, &mut { 64 << 20 }), SUCCESS);
        let (held, small) = (alloc(MIB, pool, first), alloc(1_000, pool, first));
        seen.push(figure(pool, 7));
        assert_eq!(free_async(held, first), SUCCESS);
        pass(10);
        seen.push(u64::from(alloc(MIB, pool, second) == held));
        seen.push(free_async(held, first) as u64);
        let other = alloc(2 * MIB, pool, first);
        assert_eq!([free_async(other, first), event_record(event, first)], [SUCCESS; 2]);
        assert_eq!(stream_wait_event(second, event, 0), SUCCESS);
        seen.push(u64::from(alloc(2 * MIB, pool, second) == other));
        assert_eq!(free_async(small, first), SUCCESS);
        let large = alloc(40 * MIB, pool, first);
        assert_eq!([free_async(large, first), context_synchronize()], [SUCCESS; 2]);
        seen.push(figure(pool, 5));
        assert_eq!(pool_trim(pool, 0), SUCCESS);
        seen.push(figure(pool, 5));
        seen
    };
    let right = look("");
    assert_eq!(right[..6], [0, 0, MIB as u64 + 1_000, 0, INVALID_VALUE as u64, 1]);
    for name in Faults::NAMES {
        assert_ne!(look(name), right, "{name}");
    }
    assert_eq!(look("policy_ignored")[..2], [0, 0], "they read back");
}

/// Calls of other threads that block fail, and functions that have not returned end nothing any more.
#[test]
fn a_reset_ends_what_waits() {
    use std::ffi::c_void;
    unsafe extern "C" fn waits(data: *mut c_void) {
        // SAFETY: the test passes a receiver that lives until the function has returned.
        let receiver = unsafe { Box::from_raw(data.cast::<mpsc::Receiver<()>>()) };
        simulated_driver::waiting(|| receiver.recv()).expect_err("the sender goes");
    }
    let _turn = ready(Configuration::default());
    let (sender, receiver) = mpsc::channel::<()>();
    let stream = stream();
    assert_eq!(launch_host(stream, Some(waits), Box::into_raw(Box::new(receiver)).cast()), SUCCESS);
    let blocked = std::thread::spawn(move || stream_synchronize(stream));
    std::thread::sleep(std::time::Duration::from_millis(20));
    reset(two_devices());
    let answer = blocked.join().expect("no panic");
    assert_eq!(answer, 4, "the driver it was called of is no more");
    assert_eq!([init(0), stream_query(stream)], [SUCCESS, INVALID_HANDLE]);
    attach(0);
    unsafe extern "C" fn nothing(_: *mut c_void) {}
    assert_eq!([launch_host(0, Some(nothing), std::ptr::null_mut()), context_synchronize()], [SUCCESS; 2]);
    drop(sender);
    assert_eq!(context_synchronize(), SUCCESS);
}
