//! A fault that takes three orderings: seeds that draw each choice for itself do not come to it, and priorities do.
//!
//! It has constant durations: the fault hangs on the host threads alone. The worker has to make its 15 calls up to the allocation
//! before the helper makes its first one (which has the probability 2^-15 or so, each choice drawn for itself), the helper that
//! one before the worker frees what it took, and the worker its last 15 calls before the helper makes its second.

use super::interleavings::load;
use super::threads::outcomes;
use crate::cli::status;
use millpond::engine::Bound;
use millpond::explore::Strategy;
use millpond::explore::campaign::{self, Plan};
use millpond::scenario::Program;
use std::num::NonZeroUsize;

const FILE: &str = "scenarios/stress/borrowed_in_the_rare_case.scn";
const CLEAN: &str = "scenarios/stress/borrowed_in_the_rare_case_clean.scn";

/// Of so many base seeds.
const BASES: u64 = 20;
/// In so many of them each strategy does what is said of it.
const ENOUGH: u64 = 18;
/// So many runs the seeds of a base are apart.
const APART: u64 = 1_000_000;

/// The first of so many seeds with which the program fails.
fn first_failing(program: &Program, base: u64, runs: u64) -> Option<u64> {
    const STEP: u64 = 1_024;
    let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    (0..runs.div_ceil(STEP)).find_map(|nth| {
        let from = nth * STEP;
        let plan = Plan { base: base + from, runs: STEP.min(runs - from), until_stable: false, jobs };
        let campaign = campaign::run(program, &plan, &|| true);
        let failing = campaign.outcomes.values().filter(|seen| !seen.holds);
        failing.map(|seen| seen.first - base).min()
    })
}

#[test]
fn priorities_find_what_takes_three_orderings() {
    let program = load(FILE);
    let pct = |depth| Strategy::Pct { depth }.applied(program.clone());
    let bound = Bound::of(&pct(3)).expect("there are several threads");
    // Main starts the second thread, joins both, synchronises, reads, compares and ends; the worker has 14 + 3 + 14 + 1 calls and
    // ends; the helper has three, one of them in the block, and ends.
    let runs = 3 * (7 + 33 + 4) * (7 + 33 + 4);
    assert_eq!((bound.runs(), bound.threads, bound.calls), (Some(runs), 3, 44));

    let bases = if std::env::var_os("MILLPOND_FULL").is_some() { BASES } else { 1 };
    let missed = (0..bases).filter(|base| first_failing(&program, base * APART, 10_000).is_none()).count();
    let first: Vec<_> = (0..bases).map(|base| first_failing(&pct(3), base * APART, 10 * runs)).collect();
    let found = first.iter().flatten().count();
    println!(
        "random misses it in {missed} of {bases}; pct finds it in {found}, first in run {first:?} of {}",
        10 * runs
    );
    let enough = |count: usize| count as u64 * BASES >= ENOUGH * bases;
    assert!(enough(missed) && enough(found), "{missed} and {found} of {bases}");
    // With a priority less it cannot be had.
    assert_eq!(first_failing(&pct(2), 0, 10 * 3 * 44), None);
}

#[test]
fn every_timing_has_it_and_the_twin_has_not() {
    let (holding, failing) = outcomes(&load(FILE));
    assert!(holding > 0 && failing > 0, "{holding} outcomes hold, {failing} fail");
    let (holding, failing) = outcomes(&load(CLEAN));
    assert!(holding > 0 && failing == 0, "{holding} outcomes hold, {failing} fail");
}

/// The line of the report shows it at once.
#[test]
fn it_is_shown_by_its_schedule() {
    let program = Strategy::Pct { depth: 3 }.applied(load(FILE));
    let runs = Bound::of(&program).and_then(|bound| bound.runs()).expect("a number");
    let first = first_failing(&program, 0, 10 * runs).expect("it is found");
    let explored =
        super::explore(&[FILE, "--strategy", "pct", "--base-seed", &first.to_string(), "--seeds", "1"]);
    let schedule = explored.outcomes[0]["schedule"].as_str().expect("a word");
    let replayed = super::millpond(&["replay", schedule, FILE]);
    assert_eq!(status(&replayed), 1);
    assert!(crate::cli::out(&replayed).contains("use_after_free"));
}
