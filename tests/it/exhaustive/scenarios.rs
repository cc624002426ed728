//! The scenarios of this repository: what random runs of them come to, with durations that vary as far as they may, is among what
//! all timings come to.

use crate::budget;
use millpond::explore::campaign::{self, Plan};
use millpond::explore::exhaustive::Limits;
use millpond::explore::untimed;
use millpond::profile::Profile;
use millpond::scenario::Program;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A scenario that needs more is left out.
const CALLS_MAX: u64 = 1_000;

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for entry in entries {
        match entry.is_dir() {
            true => files(&entry, into),
            false => into.push(entry),
        }
    }
}

/// Whether all timings were gone through, and how many outcomes there were.
fn compare(program: &mut Program, path: &Path) -> Option<usize> {
    let limits = Limits { nodes: CALLS_MAX, states: CALLS_MAX };
    let all = untimed::run(program, limits, &|_| true);
    if !all.coverage.is_complete() {
        return None;
    }
    program.setup.jitter = 100;
    let jobs = NonZeroUsize::MIN;
    let plan = Plan { base: 0, runs: 12, until_stable: false, jobs };
    let seen = campaign::run(program, &plan, &|| true);
    for (outcome, seen) in &seen.outcomes {
        let there: Vec<_> = all.outcomes.keys().collect();
        assert!(
            all.outcomes.contains_key(outcome),
            "{path:?}, seed {}: {outcome:#?}\nthere: {there:#?}",
            seen.first
        );
    }
    Some(all.outcomes.len())
}

#[test]
fn random_runs_of_scenarios_come_to_nothing_else() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.retain(|path| !path.starts_with(root.join("invalid")));
    let step = if budget(1) == 1 { 4 } else { 1 };
    let paths: Vec<PathBuf> = paths.into_iter().step_by(step).collect();
    let (mut covered, mut several) = (0, 0);
    for path in &paths {
        let text = fs::read_to_string(path).expect("it can be read");
        let (programs, _) = millpond::load_all(&text, &Profile::default());
        for mut program in programs {
            let Some(outcomes) = compare(&mut program, path) else { continue };
            covered += 1;
            several += usize::from(outcomes > 1);
        }
    }
    println!("{covered} programs of {} files, {several} with several outcomes", paths.len());
    assert!(covered > paths.len() * 3 / 4 && several > 50 / step);
}
