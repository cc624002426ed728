//! The entries that random calls are made of, and what each may answer.
#![allow(unsafe_code)]

use crate::calls::{BUFFER, Caller, Of};
use crate::driver::*;
use simulated_driver::pass;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null;

const TEXTS: [&CStr; 5] = [
    c".version 7.0\n.visible .entry one(.param .u64 a, .param .align 8 .b8 b[64]) { ret; }",
    c".version 7.0\n.visible .entry one(.param .u32 a) { ret; } .entry two() { ret; }",
    c".version 7.0",
    c"\x7fELF",
    c"",
];

unsafe extern "C" fn passes(data: *mut c_void) {
    pass(data as u64 % 1_000);
}

/// What any call may answer: the documents list these for almost all entries, and the last one says that a current context has
/// gone.
pub(crate) const ALWAYS: [c_int; 5] =
    [SUCCESS, INVALID_VALUE, INVALID_CONTEXT, INVALID_HANDLE, CONTEXT_IS_DESTROYED];

pub(crate) type Random = (&'static str, fn(&mut Caller) -> c_int, &'static [c_int]);

/// Entries with what they may answer beside that.
pub(crate) const CALLS: &[Random] = &[
    (
        "retain",
        |c| {
            let d = c.device();
            c.make(Of::Context, |_, out| retain(out, d))
        },
        &[INVALID_DEVICE],
    ),
    (
        "retain",
        |c| {
            let d = c.device();
            c.make(Of::Context, |_, out| retain(out, d))
        },
        &[INVALID_DEVICE],
    ),
    ("release", |c| release(c.device()), &[INVALID_DEVICE]),
    ("state", |c| context_state(c.device(), &mut 0, &mut 0), &[INVALID_DEVICE]),
    ("set_flags", |c| context_set_flags(c.device(), c.flags()), &[INVALID_DEVICE]),
    ("set_current", |c| set_current(c.some(Of::Context)), &[]),
    ("set_current", |c| set_current(c.some(Of::Context)), &[]),
    ("set_current", |c| set_current(c.some(Of::Context)), &[]),
    ("push_current", |c| push_current(c.some(Of::Context)), &[]),
    (
        "pop_current",
        |c| {
            let mut v = 0;
            pop_current(c.out(&mut v))
        },
        &[],
    ),
    (
        "get_current",
        |c| {
            let mut v = 0;
            get_current(c.out(&mut v))
        },
        &[],
    ),
    (
        "context_device",
        |c| {
            let mut v = 0;
            context_device(c.out(&mut v))
        },
        &[],
    ),
    (
        "context_flags",
        |c| {
            let mut v = 0;
            context_flags(c.out(&mut v))
        },
        &[],
    ),
    (
        "api_version",
        |c| {
            let mut v = 0;
            api_version(c.some(Of::Context), c.out(&mut v))
        },
        &[],
    ),
    ("synchronize", |_| context_synchronize(), &[]),
    (
        "device_name",
        |c| {
            let d = c.device();
            device_name([0 as c_char; 9].as_mut_ptr(), 9, d)
        },
        &[INVALID_DEVICE],
    ),
    (
        "attribute",
        |c| {
            let n = c.draws.below(130) as c_int;
            device_attribute(&mut 0, n, c.device())
        },
        &[INVALID_DEVICE],
    ),
    ("peer", |c| can_access_peer(&mut 0, c.device(), c.device()), &[INVALID_DEVICE]),
    (
        "stream_create",
        |c| {
            let f = c.flags() & 3;
            c.make(Of::Stream, |_, out| stream_create(out, f))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "stream_create",
        |c| {
            let f = c.flags();
            c.make(Of::Stream, |_, out| stream_create_with_priority(out, f, 9))
        },
        &[OUT_OF_MEMORY],
    ),
    ("stream_destroy", |c| stream_destroy(c.some(Of::Stream)), &[]),
    ("stream_synchronize", |c| stream_synchronize(c.stream()), &[OUT_OF_MEMORY]),
    ("stream_query", |c| stream_query(c.stream()), &[NOT_READY, OUT_OF_MEMORY]),
    (
        "stream_flags",
        |c| {
            let mut v = 0;
            stream_flags(c.stream(), c.out(&mut v))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "stream_priority",
        |c| {
            let mut v = 0;
            stream_priority(c.stream(), c.out(&mut v))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "stream_context",
        |c| {
            let mut v = 0;
            stream_context(c.stream(), c.out(&mut v))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "stream_wait_event",
        |c| {
            let e = c.some(Of::Event);
            stream_wait_event(c.stream(), e, c.flags() & 3)
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "stream_wait_event",
        |c| {
            let e = c.some(Of::Event);
            stream_wait_event(c.stream(), e, 0)
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "event_create",
        |c| {
            let f = c.flags();
            c.make(Of::Event, |_, out| event_create(out, f))
        },
        &[OUT_OF_MEMORY],
    ),
    ("event_destroy", |c| event_destroy(c.some(Of::Event)), &[]),
    (
        "event_record",
        |c| {
            let e = c.some(Of::Event);
            event_record(e, c.stream())
        },
        &[OUT_OF_MEMORY],
    ),
    ("event_query", |c| event_query(c.some(Of::Event)), &[NOT_READY]),
    ("event_synchronize", |c| event_synchronize(c.some(Of::Event)), &[]),
    (
        "elapsed",
        |c| {
            let mut v = 0.0;
            let e = c.some(Of::Event);
            event_elapsed(c.out(&mut v), e, c.some(Of::Event))
        },
        &[NOT_READY],
    ),
    ("ipc_get", |c| offer(c, |c, out| ipc_get_event(out, c.some(Of::Event))), &[OUT_OF_MEMORY]),
    (
        "ipc_open",
        |c| {
            let w = words(c);
            c.make(Of::Event, |_, out| ipc_open_event(out, w))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "mem_info",
        |c| {
            let mut v = 0;
            mem_info(c.out(&mut v), &mut 0)
        },
        &[],
    ),
    (
        "mem_alloc",
        |c| {
            let n = c.size();
            c.make(Of::Pointer, |_, out| mem_alloc(out, n))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "mem_managed",
        |c| {
            let n = if c.has_host { c.size().min(MIB) } else { 0 };
            c.make(Of::Pointer, |_, out| mem_alloc_managed(out, n, 1))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "mem_host",
        |c| {
            let n = if c.has_host { c.size().min(MIB) } else { 0 };
            c.make(Of::Host, |_, out| mem_alloc_host(out.cast(), n))
        },
        &[OUT_OF_MEMORY],
    ),
    ("mem_free", |c| mem_free(c.some(Of::Pointer)), &[]),
    (
        "mem_free_host",
        |c| mem_free_host(std::ptr::with_exposed_provenance_mut(c.some(Of::Host) as usize)),
        &[],
    ),
    (
        "alloc_async",
        |c| {
            let (n, s) = (c.size(), c.stream());
            c.make(Of::Pointer, |_, out| alloc_async(out, n, s))
        },
        &[OUT_OF_MEMORY, INVALID_DEVICE],
    ),
    (
        "alloc_pool",
        |c| {
            let (n, s, p) = (c.size(), c.stream(), c.some(Of::Pool));
            c.make(Of::Pointer, |_, out| alloc_from_pool(out, n, p, s))
        },
        &[OUT_OF_MEMORY, INVALID_DEVICE],
    ),
    (
        "alloc_pool",
        |c| {
            let (n, s, p) = (c.size(), c.stream(), c.some(Of::Pool));
            c.make(Of::Pointer, |_, out| alloc_from_pool(out, n, p, s))
        },
        &[OUT_OF_MEMORY, INVALID_DEVICE],
    ),
    (
        "free_async",
        |c| {
            let p = c.some(Of::Pointer);
            free_async(p, c.stream())
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "free_async",
        |c| {
            let p = c.some(Of::Pointer);
            free_async(p, c.stream())
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "pool_create",
        |c| {
            let props = c.props();
            c.make(Of::Pool, |_, out| pool_create(out, &props))
        },
        &[OUT_OF_MEMORY, NOT_SUPPORTED],
    ),
    (
        "pool_create",
        |c| c.make(Of::Pool, |_, out| pool_create(out, &Props { handle_types: 1, ..Props::on(0) })),
        &[OUT_OF_MEMORY],
    ),
    ("pool_destroy", |c| pool_destroy(c.some(Of::Pool)), &[]),
    (
        "pool_set",
        |c| {
            let (a, mut v) = (c.draws.below(11) as c_int, c.draws.below(3) << 30);
            pool_set(c.some(Of::Pool), a, c.out(&mut v))
        },
        &[],
    ),
    (
        "pool_get",
        |c| {
            let (a, mut v) = (c.draws.below(11) as c_int, 0);
            pool_get(c.some(Of::Pool), a, c.out(&mut v))
        },
        &[],
    ),
    (
        "pool_trim",
        |c| {
            let n = c.size();
            pool_trim(c.some(Of::Pool), n)
        },
        &[],
    ),
    ("set_access", set_random_access, &[INVALID_DEVICE]),
    (
        "get_access",
        |c| {
            let l = Location { kind: 1, id: c.device() };
            pool_get_access(&mut 0, c.some(Of::Pool), &l)
        },
        &[INVALID_DEVICE],
    ),
    (
        "default_pool",
        |c| {
            let d = c.device();
            c.make(Of::Pool, |_, out| default_pool(out, d))
        },
        &[INVALID_DEVICE],
    ),
    (
        "get_pool",
        |c| {
            let d = c.device();
            c.make(Of::Pool, |_, out| get_pool(out, d))
        },
        &[],
    ),
    (
        "set_pool",
        |c| {
            let d = c.device();
            set_pool(d, c.some(Of::Pool))
        },
        &[],
    ),
    (
        "pool_export",
        |c| {
            let (p, k) = (c.some(Of::Pool), c.draws.one_of(&[0, 1, 1, 1]));
            c.make(Of::Number, |_, out| pool_export(out.cast(), p, k, 0))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "pool_import",
        |c| {
            let n = c.some(Of::Number) as usize;
            c.make(Of::Pool, |_, out| pool_import(out, n, 1, 0))
        },
        &[OUT_OF_MEMORY],
    ),
    ("pointer_export", |c| offer(c, |c, out| pointer_export(out, c.some(Of::Pointer))), &[OUT_OF_MEMORY]),
    (
        "pointer_import",
        |c| {
            let (w, p) = (words(c), c.some(Of::Pool));
            c.make(Of::Pointer, |_, out| pointer_import(out, p, &w))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "graph_get",
        |c| {
            let a = c.draws.below(6) as c_int;
            graph_get(c.device(), a, &mut 0)
        },
        &[INVALID_DEVICE],
    ),
    (
        "module_load",
        |c| {
            let t = c.draws.one_of(&TEXTS);
            c.make(Of::Module, |_, out| module_load(out, t.as_ptr()))
        },
        &[INVALID_PTX, INVALID_IMAGE, OUT_OF_MEMORY],
    ),
    (
        "module_unload",
        |c| if c.draws.below(4) == 0 { module_unload(c.some(Of::Module)) } else { SUCCESS },
        &[],
    ),
    (
        "function",
        |c| {
            let (m, n) = (c.some(Of::Module), c.draws.one_of(&[c"one", c"two"]));
            c.make(Of::Function, |_, out| module_function(out, m, n.as_ptr()))
        },
        &[NOT_FOUND, OUT_OF_MEMORY],
    ),
    ("launch", random_launch, &[OUT_OF_MEMORY]),
    (
        "launch_host",
        |c| {
            let n = c.draws.next() as usize;
            launch_host(c.stream(), Some(passes), std::ptr::without_provenance_mut(n))
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "memcpy",
        |c| {
            let (a, b) = (c.some(Of::Pointer), c.some(Of::Host));
            memcpy(a, b, c.count())
        },
        &[],
    ),
    (
        "memcpy_async",
        |c| {
            let (a, b, s) = (c.some(Of::Host), c.some(Of::Pointer), c.stream());
            memcpy_async(a, b, c.count(), s)
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "htod",
        |c| {
            let (a, n, mut b) = (c.some(Of::Pointer), c.count(), [1; BUFFER]);
            memcpy_htod(a, c.host_pointer(&mut b), n)
        },
        &[],
    ),
    (
        "dtoh",
        |c| {
            let (a, n, mut b) = (c.some(Of::Pointer), c.count(), [1; BUFFER]);
            memcpy_dtoh(c.host_pointer(&mut b), a, n)
        },
        &[],
    ),
    (
        "htod_async",
        |c| {
            let (a, n, s, mut b) = (c.some(Of::Pointer), c.count(), c.stream(), [1; BUFFER]);
            memcpy_htod_async(a, c.host_pointer(&mut b), n, s)
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "dtoh_async",
        |c| {
            let (a, n, s, mut b) = (c.some(Of::Pointer), c.count(), c.stream(), [1; BUFFER]);
            memcpy_dtoh_async(c.host_pointer(&mut b), a, n, s)
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "dtod",
        |c| {
            let (a, b) = (c.some(Of::Pointer), c.some(Of::Pointer));
            memcpy_dtod(a, b, c.count())
        },
        &[],
    ),
    (
        "memset",
        |c| {
            let a = c.some(Of::Pointer);
            memset_d8(a, 3, c.count())
        },
        &[],
    ),
    (
        "memset_async",
        |c| {
            let (a, s) = (c.some(Of::Pointer), c.stream());
            memset_d32_async(a, 3, c.count(), s)
        },
        &[OUT_OF_MEMORY],
    ),
    (
        "pointer",
        |c| {
            let a = c.draws.below(20) as c_int;
            pointer_attribute(&mut 0, a, c.some(Of::Pointer))
        },
        &[],
    ),
    (
        "pass",
        |c| {
            pass(c.draws.below(2_000));
            SUCCESS
        },
        &[],
    ),
];

fn offer(caller: &mut Caller, call: impl FnOnce(&mut Caller, *mut Words) -> c_int) -> c_int {
    let mut words = Words([0; 8]);
    let out = caller.out(&mut words);
    let answer = call(caller, out);
    if answer == SUCCESS {
        caller.known(|known| known.words.push(words));
    }
    answer
}

fn words(caller: &mut Caller) -> Words {
    let draw = caller.draws.next();
    if draw.is_multiple_of(8) {
        return Words([draw; 8]);
    }
    caller.known(|known| {
        let count = known.words.len().max(1);
        known.words.get(draw as usize % count).copied().unwrap_or(Words([draw; 8]))
    })
}

fn set_random_access(caller: &mut Caller) -> c_int {
    let flags = caller.draws.one_of(&[0, 1, 3, 3, 2, 0xffff]);
    let access = Access { location: Location { kind: 1, id: caller.device() }, flags };
    let (pool, count) = (caller.some(Of::Pool), caller.draws.one_of(&[0, 1, 2, 3, usize::MAX]));
    pool_set_access(pool, [access; 2].as_ptr(), count)
}

fn random_launch(caller: &mut Caller) -> c_int {
    let value = [7_u64; 16];
    let parameters: [*const c_void; 2] = [value.as_ptr().cast(); 2];
    let parameters = if caller.draws.below(9) == 0 { null() } else { parameters.as_ptr() };
    let (function, stream) = (caller.some(Of::Function), caller.stream());
    let threads = caller.draws.one_of(&[1, 32, 32, 1_024, 1_025, 0]);
    launch_kernel(function, 1, 1, 1, threads, 1, 1, 0, stream, parameters, null())
}
