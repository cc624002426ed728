//! `--strategy pct`: what it finds, as often as was counted by hand, and never less often than its bound says.

use super::{TIE, TIMING, explore, is_near, millpond, number};
use crate::cli::{Folder, err, out, status};
use serde_json::json;

/// It fails where the one call of a thread comes between the two of the other one: two orderings.
const BETWEEN: &str = "\
pool p on gpu0 { release_threshold = 0B }
thread left {
  set p.release_threshold = 64MiB
  set p.release_threshold = 0B
}
thread right {
  expect p.release_threshold == 0B
}
join left
join right
";

/// The same, where the first thread has to wait before that, each time again.
const WAITING: &str = "\
pool p on gpu0 { release_threshold = 0B }
thread left {
  await first
  await second
  await third
  await fourth
  set p.release_threshold = 64MiB
  set p.release_threshold = 0B
}
signal first
signal second
signal third
signal fourth
thread right {
  expect p.release_threshold == 0B
}
join left
join right
";

fn failing(file: &str, depth: &str, seeds: u64) -> u64 {
    let seeds = seeds.to_string();
    let explored = explore(&[file, "--strategy", "pct", "--depth", depth, "--seeds", &seeds]);
    number(&explored.summary["failing"])
}

/// Main, left and right have 4, 3 and 3 calls once there are others, the end of a thread included: the change is one of ten. With
/// that before the second call of left, four of the six orders of the threads fail: the two with right before main before left,
/// or right before left without main in between, run right to its end first. With no change there is none.
#[test]
fn shares_are_those_that_counting_gives() {
    let folder = Folder::new("pct");
    let between = folder.file("between.scn", BETWEEN).display().to_string();
    let runs = crate::budget(15_000);
    assert_eq!(failing(&between, "1", runs), 0, "without a change each thread goes on as far as it can");
    let found = failing(&between, "2", runs);
    assert!(is_near(found, runs, 4, 6 * 10), "{found} of {runs}");
    // The same four orders, and 8, 7 and 3 calls: to come back from one that has blocked is not another call.
    let waiting = folder.file("waiting.scn", WAITING).display().to_string();
    let found = failing(&waiting, "2", runs);
    assert!(is_near(found, runs, 4, 6 * 18), "{found} of {runs}");
    // Every depth finds what a lesser one does, within its bound.
    let found = failing(&between, "3", runs);
    assert!(found * 300 >= runs, "{found} of {runs}");
    // By priority alone left and right are first as often, whatever main is.
    let explored = explore(&[TIE, "--strategy", "pct", "--depth", "1", "--seeds", &runs.to_string()]);
    let first: u64 = explored.outcomes.iter().map(|outcome| number(&outcome["runs"])).min().expect("some");
    assert!(is_near(first, runs, 1, 2), "{first} of {runs}");
}

/// Counted by hand: n host threads, and the calls that each makes once there are several.
#[test]
fn the_bound_says_how_it_was_counted() {
    let folder = Folder::new("counted");
    let bound = |text: &str, depth: &str| {
        let file = folder.file("one.scn", text).display().to_string();
        let explored = explore(&[&file, "--strategy", "pct", "--depth", depth, "--seeds", "1"]);
        assert_eq!(explored.header["strategy"], format!("pct-{depth}"));
        explored.header["bound"].clone()
    };
    let counted = |threads: u64, calls: u64, depth: u64, runs: u64| json!({ "threads": threads, "calls": calls, "depth": depth, "runs": runs });
    assert_eq!(bound(BETWEEN, "1"), counted(3, 10, 1, 3));
    assert_eq!(bound(BETWEEN, "2"), counted(3, 10, 2, 30));
    assert_eq!(bound(BETWEEN, "3"), counted(3, 10, 3, 300));
    // What main does alone is not counted; a loop is, turn by turn.
    let looped = "stream s\nsync s\nsync s\nthread t {\n  repeat i in 0..5 {\n    sync s\n  }\n}\njoin t\n";
    assert_eq!(bound(looped, "2"), counted(2, 5 + 1 + 1 + 1, 2, 16));
    // The third thread is started twice, the others once; main starts three of the four while there are others.
    let array = "\
repeat i in 0..4 {
  thread t[i % 3] {
    sleep 1us
  }
  join t[i % 3]
}
";
    assert_eq!(bound(array, "2"), counted(4, 4 * 2 + 3 + 4 + 1, 2, 64));
    // A block that is rarely carried out is counted.
    let handled = "\
stream s
pool p on gpu0 { max_size = 32MiB }
thread t {
  s: x = alloc 64MiB from p else out_of_memory {
    s: x = alloc 32MiB from p
  }
  s: free x
}
join t
";
    assert_eq!(bound(handled, "2"), counted(2, 4 + 2, 2, 12));
    assert_eq!(bound(BETWEEN, "30"), json!({ "threads": 3, "calls": 10, "depth": 30 }), "too large a number");
    assert!(bound("sleep 1us\n", "3").is_null(), "there is one thread");

    let file = folder.file("one.scn", BETWEEN).display().to_string();
    let text = |more: &[&str]| {
        let text = out(&millpond(&[&["explore", &file, "--seeds", "5"], more].concat()));
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let told = text(&["--strategy", "pct"]);
    let bound = "at least 1 in 300: 1/(n k^(d-1)) with n = 3 host threads, k = 10 calls";
    assert!(told.contains(bound) && told.contains("d = 3"), "{told}");
    assert!(!text(&[]).contains("bound"));
    let one = out(&millpond(&["explore", TIMING, "--strategy", "pct", "--seeds", "5"]));
    assert!(one.contains("bound: none"), "{one}");
}

/// A run is its seed: it is the same whichever runs were made before it, and whether it is explored or replayed.
#[test]
fn a_run_depends_on_its_seed_alone() {
    let folder = Folder::new("alone");
    let between = folder.file("between.scn", BETWEEN).display().to_string();
    let of = |arguments: &[&str]| explore(&[&[between.as_str(), "--strategy", "pct"], arguments].concat());
    let together = of(&["--seeds", "40", "--depth", "2"]);
    let alone = |seed: u64| {
        let seed = seed.to_string();
        let explored = of(&["--seeds", "1", "--base-seed", &seed, "--depth", "2"]);
        (number(&explored.summary["failing"]), explored.outcomes[0]["schedule"].as_str().map(str::to_owned))
    };
    let singles: Vec<_> = (0..40).map(alone).collect();
    assert_eq!(singles.iter().map(|(failing, _)| failing).sum::<u64>(), number(&together.summary["failing"]));
    let mut counts = [0u64; 2];
    for (failing, schedule) in &singles {
        let schedule = schedule.as_deref().expect("a word");
        assert!(schedule.contains(":pct-2:"), "{schedule}");
        let replayed = millpond(&["replay", schedule, &between]);
        assert_eq!(status(&replayed) as u64, *failing, "{schedule}: {}", err(&replayed));
        assert!(out(&replayed).contains(", pct-2"), "{}", out(&replayed));
        counts[*failing as usize] += 1;
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    // As another strategy or depth it is another run; some seed tells them apart.
    for other in [":random:", ":pct-1:"] {
        let differs = singles.iter().any(|(failing, schedule)| {
            let schedule = schedule.as_deref().expect("a word").replace(":pct-2:", other);
            status(&millpond(&["replay", &schedule, &between])) as u64 != *failing
        });
        assert!(differs, "{other}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for arguments in [
        &["explore", TIE, "--depth", "2"][..],
        &["explore", TIE, "--strategy", "random", "--depth", "2"],
        &["explore", TIE, "--strategy", "pct", "--depth", "0"],
        &["explore", TIE, "--strategy", "pct", "--depth", "256"],
        &["explore", TIE, "--strategy", "pct-3"],
    ] {
        let output = millpond(arguments);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{arguments:?}");
        assert!(!err(&output).is_empty());
    }
}
