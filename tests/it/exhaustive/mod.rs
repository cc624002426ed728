//! Every timing of small programs: the search against brute force.

mod brute;
pub(super) mod made;
mod scenarios;
mod told;

use crate::budget;
use millpond::explore::exhaustive::{Coverage, Keeps, Limits, explore, follow, maximise};
use millpond::profile::Profile;
use millpond::scenario::Program;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use told::{Story, Told};

/// Programs that brute force would need more runs for are left out.
const RUNS_MAX: u64 = 5_000;

/// What the search finds, each outcome as a run of its own tells it.
fn searched(program: &Program) -> (BTreeSet<Story>, Coverage) {
    let mut stories = BTreeSet::new();
    let coverage = explore(program, Limits::default(), Keeps::Decisions, &|_| true, &mut |outcome| {
        let mut told = Told::new(program);
        let word = outcome.witness.to_string();
        assert_eq!(word.parse().as_ref(), Ok(&outcome.witness));
        let ending =
            follow(program, &outcome.witness, &mut told).expect("the witness is one of this program");
        assert_eq!(ending.stop, outcome.stop);
        stories.insert(told.story(program, outcome.pools, &ending));
        ControlFlow::Continue(())
    });
    (stories, coverage)
}

/// Compares the search with brute force on so many programs. Says how many outcomes there were.
fn compare(made: impl Fn(u64) -> (Program, String), programs: u64) -> usize {
    let (mut sum, mut most, mut number) = (0, 0, 0);
    for _ in 0..programs {
        let (program, text, expected) = loop {
            let (program, text) = made(number);
            number += 1;
            if let Some(expected) = brute::outcomes(&program, RUNS_MAX) {
                break (program, text, expected);
            }
        };
        let (found, coverage) = searched(&program);
        assert!(coverage.is_complete());
        let missing = expected.difference(&found).next();
        let extra = found.difference(&expected).next();
        assert!(
            missing.is_none() && extra.is_none(),
            "program {number}:\n{text}\n{} expected, {} found\nmissing: {missing:#?}\nextra: {extra:#?}",
            expected.len(),
            found.len()
        );
        sum += expected.len();
        most = most.max(expected.len());
        greatest_values(&program, &text, &expected);
    }
    println!(
        "{programs} programs, {sum} outcomes, at most {most} of one; {} were too large",
        number - programs
    );
    sum
}

/// The greatest values of figures are those of the outcomes.
fn greatest_values(program: &Program, text: &str, expected: &BTreeSet<Story>) {
    for pool in program.setup.pools.indices() {
        for (at, figure) in told::FIGURES.into_iter().enumerate() {
            let greatest = expected.iter().map(|story| story.figures[pool.index()][at]).max();
            let maximum =
                maximise(program, pool, figure, Limits::default(), &|_| true).expect("there is a run");
            assert!(maximum.coverage.is_complete());
            assert_eq!(Some(maximum.value), greatest, "{figure:?}:\n{text}");
        }
    }
}

#[test]
fn the_outcomes_are_those_of_brute_force() {
    let programs = budget(12);
    assert!(compare(made::program, programs) as u64 > 2 * programs, "there is something to find");
}

#[test]
fn the_outcomes_of_further_programs_are_those_of_brute_force() {
    let programs = budget(5);
    assert!(compare(made::further, programs) as u64 > programs + programs / 2, "there is something to find");
}

#[test]
fn the_outcomes_of_short_threads_are_those_of_brute_force() {
    // The comparison is the test: of so few short programs, most have one outcome.
    compare(|number| made::threads(number, 2), budget(1));
}

/// The program of a text.
fn loaded(text: &str) -> (Program, String) {
    let (program, diagnostics) = millpond::load(text, &Profile::default());
    (program.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}")), text.to_owned())
}

/// At the synchronise all frees of the destroyed pool may be complete, so that it is gone, or only those that are waited for, so
/// that it gives one of its two growths back.
#[test]
fn a_synchronise_finds_a_destroyed_pool_there_or_gone() {
    let text = "pool p on gpu0 { release_threshold = 0B }\nstream s0 non_blocking\nstream s1 non_blocking\n\
                s0: x = alloc 32MiB from p\ns1: y = alloc 32MiB from p\ndestroy p\ns0: free x\ns1: free y\nsync s0\n";
    assert_eq!(compare(|_| loaded(text), 1), 2);
}

/// A call that is skipped takes no turn, so what comes after it is the next turn of its thread.
#[test]
fn the_call_after_a_skipped_one_is_tried_before_and_after_those_of_others() {
    let text = "pool p on gpu0 { max_size = 32MiB }\nstream s0 non_blocking\nstream s1 non_blocking\n\
                kernel work(x: read_write) takes 1us\ns0: x1 = alloc 32MiB from p\n\
                s0: x2 = alloc 32MiB from p fails out_of_memory\nsync s0\n\
                thread t0 {\ns1: work(x1)\n}\nthread t1 {\ns0: work(x2)\ns0: work(x1)\n}\njoin t0\njoin t1\n";
    let (program, _) = loaded(text);
    let (found, coverage) = searched(&program);
    assert!(coverage.is_complete());
    assert_eq!(found.len(), 2, "either use of `x1` comes second, and races with the other: {found:#?}");
    assert!(brute::samples(&program, 100, 1).is_subset(&found));
}

/// What random runs of so many programs come to, the search has found. Says how many outcomes there were, and how many of them
/// were seen.
fn sample(made: impl Fn(u64) -> (Program, String), programs: u64) -> [usize; 2] {
    let (mut found_in_all, mut seen_in_all) = (0, 0);
    for number in 0..programs {
        let (program, text) = made(number);
        let (found, coverage) = searched(&program);
        assert!(coverage.is_complete());
        let seen = brute::samples(&program, 300, number);
        let missing = seen.difference(&found).next();
        assert!(
            missing.is_none(),
            "program {number}:\n{text}\nmissing: {missing:#?}\nthere: {:#?}",
            found.first()
        );
        (found_in_all, seen_in_all) = (found_in_all + found.len(), seen_in_all + seen.len());
    }
    println!("{found_in_all} outcomes, {seen_in_all} of them in random runs");
    [found_in_all, seen_in_all]
}

#[test]
fn random_runs_of_threads_come_to_nothing_else() {
    let programs = budget(8);
    let [_, seen] = sample(|number| made::threads(number, 5), programs);
    assert!(seen as u64 > 2 * programs, "there is something to find");
}

#[test]
fn random_runs_of_threads_that_share_memory_come_to_nothing_else() {
    let programs = budget(12);
    let [_, seen] = sample(made::sharing, programs);
    assert!(seen as u64 > 2 * programs, "there is something to find");
}
