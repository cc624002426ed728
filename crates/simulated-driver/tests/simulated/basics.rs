//! What stream-ordered memory does, through the entries.
#![allow(unsafe_code)]

use crate::driver::*;
use simulated_driver::{Configuration, DeviceMemory, Kernel, Parameters, define_kernel, now, pass, waiting};
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};

const MS: u64 = 1_000_000;

const PTX: &CStr = c".version 7.0\n.target sm_52\n.address_size 64\n\
    .visible .entry work( .param .u64 nanos ) { ret; }\n\
    .visible .entry add_one( .param .u64 nanos, .param .u64 at ) { ret; }\n";

/// Runs as long as its first parameter says, and adds 1 to the number at the second one, if there is one.
struct Work;

impl Kernel for Work {
    fn takes(&self, parameters: &Parameters) -> u64 {
        parameters.u64(0).expect("its first parameter is a number")
    }

    fn ends(&self, parameters: &Parameters, memory: &mut DeviceMemory) {
        if let Some(at) = parameters.u64(1) {
            let before = memory.u64_at(at);
            memory.set_u64_at(at, before + 1);
        }
    }
}

/// The functions `work` and `add_one`.
pub(crate) fn kernels() -> [u64; 2] {
    define_kernel("work", Arc::new(Work));
    define_kernel("add_one", Arc::new(Work));
    let module = made(|module| module_load(module, PTX.as_ptr()));
    [c"work", c"add_one"].map(|name| made(|function| module_function(function, module, name.as_ptr())))
}

pub(crate) fn launch(function: u64, stream: u64, parameters: &[u64]) {
    let pointers: Vec<*const c_void> = parameters.iter().map(|value| (&raw const *value).cast()).collect();
    let answer = launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, stream, pointers.as_ptr(), std::ptr::null());
    assert_eq!(answer, SUCCESS);
}

/// C1: the memory of a free comes back in its stream at once, while the kernel before it runs.
#[test]
fn memory_comes_back_in_its_own_stream() {
    let _turn = ready(Configuration::default());
    let ([work, _], pool, stream) = (kernels(), pool(), stream());
    let (first, other) = (alloc(32 * MIB, pool, stream), alloc(4 * KIB, pool, stream));
    launch(work, stream, &[500 * MS]);
    assert_eq!(free_async(first, stream), SUCCESS);
    let second = alloc(32 * MIB, pool, stream);
    assert_eq!(second, first);
    assert_eq!(stream_query(stream), NOT_READY);
    assert_eq!(stream_synchronize(stream), SUCCESS);
    launch(work, stream, &[500 * MS]);
    assert_eq!(stream_synchronize(stream), SUCCESS);
    assert_eq!(now(), 1_000 * MS);
    assert_eq!((figure(pool, 7), figure(pool, 8)), (33_558_528, 33_558_528));
    assert_eq!(free_async(second, stream), SUCCESS);
    assert_eq!(figure(pool, 7), 4_096);
    assert!(other != first);
}

/// C3 and C5: without policies another stream does not get it; with chance on it does, once the free is reached.
#[test]
fn memory_comes_to_another_stream_by_chance() {
    for (allowed, sleeps, is_same) in [(0, true, false), (1, true, true), (1, false, false)] {
        let _turn = ready(Configuration::default());
        let ([work, _], pool, first, second) = (kernels(), pool(), stream(), stream());
        for attribute in [1, 2, 3] {
            let mut value = if attribute == 2 { allowed } else { 0 };
            assert_eq!(pool_set(pool, attribute, &mut value), SUCCESS);
        }
        alloc(4 * KIB, pool, first);
        let held = alloc(MIB, pool, first);
        launch(work, first, &[500 * MS]);
        assert_eq!(free_async(held, first), SUCCESS);
        pass(if sleeps { 1_000 * MS } else { 0 });
        assert_eq!(alloc(MIB, pool, second) == held, is_same, "{allowed} {sleeps}");
    }
}

/// C7 and C8: after an event another stream gets it while the kernel runs, if that policy is on.
#[test]
fn memory_comes_to_a_stream_that_is_ordered_after_its_free() {
    for follow in [1, 0] {
        let _turn = ready(Configuration::default());
        let ([work, _], pool, first, second, event) = (kernels(), pool(), stream(), stream(), event());
        assert_eq!(pool_set(pool, 1, &mut { follow }), SUCCESS);
        alloc(4 * KIB, pool, first);
        let held = alloc(MIB, pool, first);
        launch(work, first, &[500 * MS]);
        assert_eq!(free_async(held, first), SUCCESS);
        assert_eq!(event_record(event, first), SUCCESS);
        assert_eq!(stream_wait_event(second, event, 0), SUCCESS);
        assert_eq!(alloc(MIB, pool, second) == held, follow == 1);
        assert_eq!(event_query(event), NOT_READY);
    }
}

/// C9: a trim gives back what a synchronise has observed, and nothing before.
#[test]
fn a_trim_gives_back_what_was_observed() {
    let _turn = ready(Configuration::default());
    let ([work, _], pool, stream) = (kernels(), pool(), stream());
    assert_eq!(pool_set(pool, 4, &mut { 128 << 20 }), SUCCESS);
    let held = alloc(32 * MIB, pool, stream);
    alloc(4 * KIB, pool, stream);
    launch(work, stream, &[500 * MS]);
    assert_eq!(free_async(held, stream), SUCCESS);
    let reserved = figure(pool, 5);
    assert_eq!((pool_trim(pool, 4_096), figure(pool, 5)), (SUCCESS, reserved));
    assert_eq!((stream_synchronize(stream), figure(pool, 5)), (SUCCESS, reserved));
    assert_eq!(pool_trim(pool, 4_096), SUCCESS);
    assert!(figure(pool, 5) < reserved);
    assert_eq!([4, 7, 8].map(|attribute| figure(pool, attribute)), [134_217_728, 4_096, 33_558_528]);
}

#[test]
fn times_between_events_are_virtual() {
    let _turn = ready(Configuration::default());
    let ([work, _], stream, start, end) = (kernels(), stream(), event(), event());
    assert_eq!(event_record(start, stream), SUCCESS);
    launch(work, stream, &[1_500_000]);
    assert_eq!(event_record(end, stream), SUCCESS);
    assert_eq!(event_elapsed(&mut 0.0, start, end), NOT_READY);
    assert_eq!(event_synchronize(end), SUCCESS);
    pass(1);
    assert_eq!(made(|time| event_elapsed(time, start, end)), 1.5);
}

#[test]
fn copies_carry_bytes_and_kernels_change_them() {
    let _turn = ready(Configuration::default());
    let ([_, add_one], pool, stream) = (kernels(), pool(), stream());
    let [first, second] = [(); 2].map(|()| alloc(100_000, pool, stream));
    let sent: Vec<u8> = (0..100_000_u32).map(|nth| (nth % 251) as u8).collect();
    assert_eq!(memcpy_htod_async(first, sent.as_ptr(), sent.len(), stream), SUCCESS);
    assert_eq!(memcpy_dtod_async(second, first, sent.len(), stream), SUCCESS);
    assert_eq!(memset_d8_async(first, 7, 10, stream), SUCCESS);
    assert_eq!(memset_d32_async(first + 12, 0x0102_0304, 2, stream), SUCCESS);
    launch(add_one, stream, &[10, second + 8]);
    let mut received = vec![0; sent.len()];
    assert_eq!(memcpy_dtoh_async(received.as_mut_ptr(), second, received.len(), stream), SUCCESS);
    let mut expected = sent.clone();
    expected[8] += 1;
    assert!(received == expected, "a copy to pageable memory has come when it returns");
    assert_eq!(memcpy_dtoh(received.as_mut_ptr(), first, 20), SUCCESS);
    assert_eq!(received[..20], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 10, 11, 4, 3, 2, 1, 4, 3, 2, 1]);
}

#[test]
fn page_locked_and_managed_memory_are_seen_by_host_and_device() {
    let _turn = ready(Configuration::default());
    let ([_, add_one], stream) = (kernels(), stream());
    let mut pinned = std::ptr::null_mut();
    assert_eq!(mem_alloc_host(&mut pinned, 4_096), SUCCESS);
    let managed = made(|pointer| mem_alloc_managed(pointer, 4_096, 1)) as *mut u64;
    let pinned: *mut u64 = pinned.cast();
    // SAFETY: both have 4,096 bytes, and nothing of the device is at work with them.
    unsafe { (pinned.write(41), managed.write(6)) };
    launch(add_one, stream, &[1_000, pinned as u64]);
    launch(add_one, stream, &[1_000, managed as u64]);
    // SAFETY: as before; what the device does to them is done in calls alone.
    let seen = || unsafe { (pinned.read(), managed.read()) };
    assert_eq!(seen(), (41, 6), "nothing has run yet");
    assert_eq!(stream_synchronize(stream), SUCCESS);
    assert_eq!(seen(), (42, 7));
    assert_eq!(memcpy(pinned as u64, managed as u64, 8), SUCCESS);
    assert_eq!(seen(), (7, 7));
    assert_eq!((mem_free_host(pinned.cast()), mem_free_host(pinned.cast())), (SUCCESS, INVALID_VALUE));
    assert_eq!((mem_free(managed as u64), mem_free(managed as u64)), (SUCCESS, INVALID_VALUE));
}

static SEEN: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

unsafe extern "C" fn notes(data: *mut c_void) {
    let began = now();
    pass(data as u64);
    SEEN.lock().expect("nobody panics").push((began, now()));
}

/// A function keeps the order of its stream, and runs as long as it passes time.
#[test]
fn functions_of_the_host_run_in_the_order_of_their_stream() {
    let _turn = ready(Configuration::default());
    let ([work, _], stream) = (kernels(), stream());
    SEEN.lock().expect("nobody panics").clear();
    for duration in [5, 0, 7] {
        launch(work, stream, &[100]);
        assert_eq!(launch_host(stream, Some(notes), std::ptr::without_provenance_mut(duration)), SUCCESS);
    }
    assert_eq!(*SEEN.lock().expect("nobody panics"), []);
    assert_eq!(stream_synchronize(stream), SUCCESS);
    assert_eq!(*SEEN.lock().expect("nobody panics"), [(100, 105), (205, 205), (305, 312)]);
    assert_eq!(now(), 312);
}

static ANSWERS: Mutex<Vec<i32>> = Mutex::new(Vec::new());

unsafe extern "C" fn calls(_: *mut c_void) {
    let answers = [init(0), stream_query(0), mem_free(0), context_synchronize()];
    ANSWERS.lock().expect("nobody panics").extend(answers);
}

#[test]
fn functions_of_the_host_make_no_call() {
    let _turn = ready(Configuration::default());
    ANSWERS.lock().expect("nobody panics").clear();
    assert_eq!(
        (launch_host(0, Some(calls), std::ptr::null_mut()), context_synchronize()),
        (SUCCESS, SUCCESS)
    );
    assert_eq!(*ANSWERS.lock().expect("nobody panics"), [NOT_PERMITTED; 4]);
}

unsafe extern "C" fn receives(data: *mut c_void) {
    // SAFETY: the test passes its receiver, and lives until the function has returned.
    let receiver = unsafe { &*data.cast::<mpsc::Receiver<u64>>() };
    let value = waiting(|| {
        waiting(|| ());
        receiver.recv().expect("the test sends")
    });
    pass(value);
}

/// While a function waits for another thread, that thread calls on; what is behind the function waits.
#[test]
fn a_function_of_the_host_may_wait_for_another_thread() {
    let _turn = ready(Configuration::default());
    let ([work, _], waits, free) = (kernels(), stream(), stream());
    let (sender, receiver) = mpsc::channel::<u64>();
    let data = (&raw const receiver).cast_mut().cast();
    assert_eq!(launch_host(waits, Some(receives), data), SUCCESS);
    launch(work, free, &[100]);
    assert_eq!((stream_synchronize(free), stream_query(waits)), (SUCCESS, NOT_READY));
    assert_eq!(now(), 100);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        sender.send(11).expect("the function waits");
    });
    assert_eq!(stream_synchronize(waits), SUCCESS);
    assert_eq!(now(), 111, "from the time when it had waited");
    thread.join().expect("it has sent");
}

/// Real time plays no part: the same calls get the same answers, however long the program takes between them.
#[test]
fn real_time_changes_nothing() {
    let run = |sleeps: bool| {
        let _turn = ready(Configuration::default());
        let ([work, _], pool, streams) = (kernels(), pool(), [stream(), stream(), stream()]);
        let (mut answers, mut draw) = (Vec::new(), 12_345_u64);
        let mut next = |below: u64| {
            draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draw >> 33) % below
        };
        let mut live: Vec<u64> = Vec::new();
        for _ in 0..400 {
            let stream = streams[next(3) as usize];
            match next(6) {
                0 | 1 => live.push(alloc(next(4) as usize * MIB + 512, pool, stream)),
                2 if !live.is_empty() => {
                    let pointer = live.remove(next(live.len() as u64) as usize);
                    assert_eq!(free_async(pointer, stream), SUCCESS);
                }
                3 => launch(work, stream, &[next(1_000)]),
                4 => pass(next(500)),
                _ => answers.push((stream_query(stream) as u64, now(), figure(pool, 5))),
            }
            if sleeps && next(20) == 0 {
                std::thread::sleep(std::time::Duration::from_micros(700));
            } else if !sleeps {
                // The same draws, without the sleep.
                next(20);
            }
        }
        (live, answers)
    };
    let slow = run(true);
    assert_eq!(slow, run(false));
    assert!(slow.1.iter().any(|(answer, ..)| *answer != 0) && slow.1.iter().any(|(answer, ..)| *answer == 0));
}

/// Several threads wait for what a function holds up, while another one lets time pass.
#[test]
fn several_threads_wait_for_a_function_that_waits() {
    let _turn = ready(Configuration::default());
    let ([work, _], waits, free) = (kernels(), stream(), stream());
    let (sender, receiver) = mpsc::channel::<u64>();
    let data = (&raw const receiver).cast_mut().cast();
    assert_eq!(launch_host(waits, Some(receives), data), SUCCESS);
    let event = event();
    assert_eq!(event_record(event, waits), SUCCESS);
    let threads: Vec<_> = (0..4)
        .map(|nth| {
            std::thread::spawn(move || match nth {
                0 => (stream_synchronize(waits), now()),
                1 => (event_synchronize(event), now()),
                _ => {
                    attach(0);
                    (context_synchronize(), now())
                }
            })
        })
        .collect();
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(1));
        launch(work, free, &[100]);
        pass(50);
        assert_eq!((stream_query(waits), event_query(event)), (NOT_READY, NOT_READY));
    }
    sender.send(5).expect("the function waits");
    let answers: Vec<_> = threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    assert!(answers.iter().all(|(answer, at)| *answer == SUCCESS && *at >= 1_005), "{answers:?}");
}

/// Functions of several streams wait for several threads, in whatever order those come: nobody waits for ever.
#[test]
fn functions_that_wait_hold_up_nobody_for_ever() {
    let _turn = ready(Configuration::default());
    let [work, _] = kernels();
    let threads: Vec<_> = (0..6_u64)
        .map(|nth| {
            std::thread::spawn(move || {
                attach(0);
                let (waits, free) = (stream(), stream());
                for round in 0..40 {
                    let (sender, receiver) = mpsc::channel::<u64>();
                    let data = (&raw const receiver).cast_mut().cast();
                    launch(work, waits, &[nth * 10]);
                    assert_eq!(launch_host(waits, Some(receives), data), SUCCESS);
                    launch(work, free, &[50 + nth]);
                    if (nth + round) % 3 > 0 {
                        assert_eq!(stream_synchronize(free), SUCCESS);
                    }
                    pass((nth * round) % 7);
                    sender.send(round).expect("the function waits");
                    assert_eq!(stream_synchronize(waits), SUCCESS);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no call has failed"));
    assert_eq!(context_synchronize(), SUCCESS);
}

/// The copy that comes before a free in its stream reads what was there.
#[test]
fn managed_memory_is_there_until_its_free_is_reached() {
    let _turn = ready(Configuration::default());
    let ([work, _], stream) = (kernels(), stream());
    let managed = made(|pointer| mem_alloc_managed(pointer, 4_096, 1));
    let device = made(|pointer| alloc_async(pointer, 4_096, stream));
    assert_eq!(memset_d8_async(managed, 6, 4_096, stream), SUCCESS);
    launch(work, stream, &[100]);
    assert_eq!(memcpy_async(device, managed, 4_096, stream), SUCCESS);
    assert_eq!([free_async(managed, stream), free_async(managed, stream)], [SUCCESS, INVALID_VALUE]);
    let mut bytes = [0; 4_096];
    assert_eq!(memcpy_dtoh_async(bytes.as_mut_ptr(), device, 4_096, stream), SUCCESS);
    assert_eq!(bytes, [6; 4_096]);
}

/// C2, C18 and C23: the default pool, what `cuMemAlloc` takes, and what is free.
#[test]
fn figures_of_pools_and_devices() {
    let _turn = ready(Configuration::default());
    let (default, own) = (made(|pool| default_pool(pool, 0)), pool());
    let free = || {
        let mut total = 0;
        (made(|free| mem_info(free, &mut total)), total)
    };
    assert_eq!(free(), (80 << 30, 80 << 30));
    let first = made(|pointer| alloc_async(pointer, 64 * KIB, 0));
    assert_eq!((figure(own, 7), figure(default, 7), figure(default, 5)), (0, 65_536, 32 << 20));
    let plain = made(|pointer| mem_alloc(pointer, 70 << 30));
    assert_eq!((figure(default, 7), free().0), (65_536, (10 << 30) - (32 << 20)));
    assert_eq!(mem_alloc(&mut 0, 10 << 30), OUT_OF_MEMORY);
    assert_eq!([free_async(first, 0), stream_synchronize(0), mem_free(plain)], [SUCCESS; 3]);
    assert_eq!((figure(default, 7), figure(default, 8)), (0, 65_536));
}

#[test]
fn time_has_no_end_that_hurts() {
    let _turn = ready(Configuration::default());
    let ([work, _], stream) = (kernels(), stream());
    launch(work, stream, &[u64::MAX]);
    pass(u64::MAX);
    launch(work, stream, &[u64::MAX]);
    pass(u64::MAX);
    assert_eq!((stream_synchronize(stream), now()), (SUCCESS, u64::MAX));
}

static COUNT: AtomicU64 = AtomicU64::new(0);

static LATEST: Mutex<u64> = Mutex::new(0);

unsafe extern "C" fn counts(_: *mut c_void) {
    COUNT.fetch_add(1, Ordering::SeqCst);
}

/// Threads have a context each, and what one has waited for, all others are ordered after.
#[test]
fn threads_call_one_after_the_other() {
    let _turn = ready(Configuration::default());
    let ([work, _], pool, shared) = (kernels(), pool(), stream());
    COUNT.store(0, Ordering::SeqCst);
    *LATEST.lock().expect("no call has failed") = 0;
    let threads: Vec<_> = (0..8)
        .map(|nth| {
            std::thread::spawn(move || {
                assert_eq!(stream_query(0), INVALID_CONTEXT, "no context is current in a new thread");
                attach(0);
                for round in 0..20 {
                    {
                        let mut latest = LATEST.lock().expect("no call has failed");
                        let now = now();
                        assert!(now >= *latest, "time does not go back");
                        *latest = now;
                    }
                    let own = if nth % 2 == 0 { 2 } else { shared };
                    let held = alloc(64 * KIB, pool, own);
                    launch(work, own, &[100 + round]);
                    assert_eq!(launch_host(own, Some(counts), std::ptr::null_mut()), SUCCESS);
                    assert_eq!((free_async(held, own), stream_synchronize(own)), (SUCCESS, SUCCESS));
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no call has failed"));
    assert_eq!((COUNT.load(Ordering::SeqCst), context_synchronize(), figure(pool, 7)), (160, SUCCESS, 0));
}

/// A per-thread default stream is that of one thread (CUDA runtime API, "Stream synchronization behavior"): what the next thread
/// uses is another one, and not ordered after it.
#[test]
fn the_default_stream_of_a_thread_goes_with_it() {
    let _turn = ready(Configuration::default());
    let pool = pool();
    for attribute in [1, 2, 3] {
        assert_eq!(pool_set(pool, attribute, &mut 0), SUCCESS);
    }
    let in_thread = |frees: bool| {
        let thread = std::thread::spawn(move || {
            attach(0);
            let (first, second) = (alloc(MIB, pool, 2), alloc(MIB, pool, 2));
            if frees {
                assert_eq!(free_async(first, 2), SUCCESS);
                assert_eq!(alloc(MIB, pool, 2), first, "in one stream");
                assert_eq!(free_async(first, 2), SUCCESS);
            }
            [first, second]
        });
        thread.join().expect("no call has failed")
    };
    let [freed, live] = in_thread(true);
    let others = in_thread(false);
    assert!(!others.contains(&freed) && !others.contains(&live), "{freed:#x} {others:#x?}");
}
