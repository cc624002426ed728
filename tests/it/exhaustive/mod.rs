//! Every timing of small programs: the search against brute force.

mod brute;
mod made;
mod told;

use crate::budget;
use millpond::base::PoolId;
use millpond::explore::exhaustive::{Coverage, Keeps, Limits, explore, follow, maximise};
use millpond::scenario::Program;
use millpond::trace::{Attribute, Figure};
use std::collections::BTreeSet;
use told::{Story, Told};

/// What the search finds, each outcome as a run of its own tells it.
fn searched(program: &Program) -> (BTreeSet<Story>, Coverage) {
    let mut stories = BTreeSet::new();
    let coverage = explore(program, Limits::default(), Keeps::Decisions, &mut |outcome| {
        let mut told = Told::new(program);
        let ending = follow(program, &outcome.witness, &mut told);
        assert_eq!(ending.stop, outcome.stop);
        stories.insert(told.story(program, outcome.pools, ending.stop));
    });
    (stories, coverage)
}

#[test]
fn the_outcomes_are_those_of_brute_force() {
    let (mut compared, mut sum, mut skipped, mut most) = (0, 0, 0, 0);
    for number in 0.. {
        if compared == budget(10) {
            break;
        }
        let (program, text) = made::program(number);
        let Some(expected) = brute::outcomes(&program, 100_000) else {
            skipped += 1;
            continue;
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
        compared += 1;
        sum += expected.len();
        most = most.max(expected.len());
        for pool in (0..program.setup.pools.len()).map(PoolId::from_usize) {
            for (at, figure) in [Figure::Attribute(Attribute::ReservedHigh), Figure::Maps].into_iter().enumerate() {
                let greatest = expected.iter().map(|story| story.figures[pool.index()][at]).max();
                let maximum = maximise(&program, pool, figure, Limits::default()).expect("there is a run");
                assert!(maximum.coverage.is_complete());
                assert_eq!(Some(maximum.value), greatest, "program {number}, {figure:?}:\n{text}");
            }
        }
    }
    println!("{compared} programs, {sum} outcomes, at most {most}; {skipped} skipped");
    assert!(sum > 2 * compared as usize);
}
