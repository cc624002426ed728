//! Random calls with random arguments, by one thread and by several: nothing crashes, and each answer is one that the documents
//! of the entry list, or that of a handle that is none.

use crate::api::two_devices;
use crate::calls::{Caller, Draws, Known, Of};
use crate::driver::*;
use crate::entries::{ALWAYS, CALLS};
use simulated_driver::now;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

/// How many calls a test makes.
fn budget() -> usize {
    let is_full = std::env::var_os("MILLPOND_FULL").is_some_and(|value| value == "1");
    if is_full { 100_000 } else { 2_000 }
}

const SEED: u64 = 2_026;

/// One call, with its name and its answer.
fn call(caller: &mut Caller) -> (&'static str, c_int) {
    let nth = caller.draws.below(CALLS.len() as u64) as usize;
    let (name, make, answers) = &CALLS[nth];
    let answer = make(caller);
    assert!(ALWAYS.contains(&answer) || answers.contains(&answer), "{name} answers {answer}");
    (name, answer)
}

#[test]
fn several_threads_call_anything() {
    let _turn = ready(two_devices());
    let known = Arc::new(Mutex::new(Known::default()));
    let threads: Vec<_> = (0..8)
        .map(|nth| {
            let known = Arc::clone(&known);
            std::thread::spawn(move || {
                let mut caller = Caller { draws: Draws(SEED + nth), known, has_host: true };
                attach((nth % 2) as c_int);
                let mut answers = BTreeMap::new();
                for _ in 0..budget() / 8 {
                    *answers.entry(call(&mut caller)).or_insert(0_u32) += 1;
                }
                answers
            })
        })
        .collect();
    let mut all = BTreeMap::new();
    for thread in threads {
        for (key, count) in thread.join().expect("each answer is one of those listed") {
            *all.entry(key).or_insert(0) += count;
        }
    }
    let successful = CALLS.iter().filter(|(name, ..)| all.contains_key(&(*name, SUCCESS))).count();
    assert!(successful * 10 > CALLS.len() * 8, "most entries have succeeded too: {all:?}");
}

#[test]
fn one_thread_gets_the_same_answers_again() {
    let run = || {
        let _turn = ready(two_devices());
        let mut caller = Caller { draws: Draws(SEED), known: Arc::default(), has_host: false };
        let answers: Vec<_> = (0..budget()).map(|_| (call(&mut caller), now())).collect();
        let pools = caller.known(|known| known.values.remove(&Of::Pool).unwrap_or_default());
        (answers, pools)
    };
    let first = run();
    let second = run();
    let other = first.0.iter().zip(&second.0).position(|(first, second)| first != second);
    assert_eq!(other.map(|nth| (nth, first.0[nth], second.0[nth])), None, "the first call that differs");
    assert_eq!(first.1, second.1);
}
