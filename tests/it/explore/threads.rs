//! Faults that hang on which of two host threads calls first, in `scenarios/explore/threads`: how many seeds find each, against
//! the exact share; a line that shows it at once; and the twin where it cannot happen, whatever the timing is.

use super::interleavings::{Counted, Share, count, load};
use super::{explore, is_near, millpond, number};
use crate::budget;
use crate::cli::{err, out, status};
use millpond::explore::exhaustive::Limits;
use millpond::explore::untimed;
use millpond::scenario::Program;

const FOLDER: &str = "scenarios/explore/threads";

/// The scenarios, with the share of the seeds that fail and what these runs tell. Counted by hand; whoever is not of the two
/// threads in question changes nothing, and of the two each is next with a probability of 1/2.
const CASES: [(&str, &str, Share, &str); 4] = [
    // The record has to come before the wait, whose thread starts first: main goes on before it (1/2), and the record comes first
    // of the two (1/2). Else it fails.
    ("shared_event", "shared_event_clean", Share(3, 4), "use_after_free"),
    // Three calls have to come before the wait, whose thread starts first: 1/2 for main, then 1/2 for each of the three.
    ("stale_record", "stale_record_clean", Share(15, 16), "y reuses x"),
    // Six of the eleven durations are not over before 1us.
    ("asked_once", "asked_until_done_clean", Share(6, 11), "use_after_free"),
    // Three calls of the worker come before the first of the partner. Of them, so many are made before the partner is started:
    // three with 1/8, two with 1/8, one with 1/4, none with 1/2 (and more with what is left). The others then come before
    // the partner's with 1/2 each: 1/8 + 1/8 * 1/2 + 1/4 * 1/4 + 1/2 * 1/8.
    ("retry_behind_a_collective", "retry_beside_a_collective_clean", Share(5, 16), "deadlock"),
];

/// How many outcomes of all timings hold, and how many fail.
pub(super) fn outcomes(program: &Program) -> (usize, usize) {
    let all = untimed::run(program, Limits::default(), &|_| true);
    assert!(all.coverage.is_complete());
    (all.outcomes.len() - all.failing(), all.failing())
}

#[test]
fn seeds_find_the_faults_as_often_as_was_counted() {
    for (name, clean, expected, _) in CASES {
        let file = format!("{FOLDER}/{name}.scn");
        let Counted { runs, failing, share } = count(&load(&file));
        assert_eq!(share, expected, "{name}: {failing} of {runs} interleavings");
        let seeds = budget(1_000);
        let explored = explore(&[&file, "--seeds", &seeds.to_string()]);
        let found = number(&explored.summary["failing"]);
        println!("{name}: {found} of {seeds} seeds, exactly {share:?}, {failing} of {runs} interleavings");
        assert_eq!(count(&load(&format!("{FOLDER}/{clean}.scn"))).failing, 0, "{clean}");
        assert!(is_near(found, seeds, share.0 as u64, share.1 as u64), "{name}: {found} of {seeds}");
    }
}

/// One ordering is enough for each (where durations play a part, they do as without priorities): a run in three finds it.
#[test]
fn priorities_keep_their_promise() {
    for (name, ..) in CASES {
        let file = format!("{FOLDER}/{name}.scn");
        let arguments = [&file, "--strategy", "pct", "--depth", "1", "--seeds", "1000"];
        let explored = explore(&arguments);
        assert_eq!(explored.header["bound"]["runs"], 3);
        let found = number(&explored.summary["failing"]);
        assert!(found * 3 >= 1_000, "{name}: {found}");
    }
}

#[test]
fn every_timing_shows_them_and_proves_the_twins() {
    for (name, clean, ..) in CASES {
        let (holding, failing) = outcomes(&load(&format!("{FOLDER}/{name}.scn")));
        assert!(holding > 0 && failing > 0, "{name}: {holding} outcomes hold, {failing} fail");
        let (holding, failing) = outcomes(&load(&format!("{FOLDER}/{clean}.scn")));
        assert!(holding > 0 && failing == 0, "{clean}: {holding} outcomes hold, {failing} fail");
    }
}

#[test]
fn a_line_shows_each_at_once() {
    for (name, _, _, fault) in CASES {
        let file = format!("{FOLDER}/{name}.scn");
        for strategy in ["random", "pct"] {
            let explored = explore(&[&file, "--seeds", "200", "--strategy", strategy]);
            assert_eq!(explored.status, 1);
            for outcome in &explored.outcomes {
                let schedule = outcome["schedule"].as_str().expect("a word");
                let replayed = millpond(&["replay", schedule, &file]);
                let fails = i32::from(outcome["holds"] == false);
                assert_eq!(status(&replayed), fails, "{schedule}: {}", err(&replayed));
                let told = out(&replayed);
                assert!(fails == 0 || told.contains(fault), "{schedule}: {told}");
            }
        }
    }
}
