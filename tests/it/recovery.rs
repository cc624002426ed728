//! What is said to help an allocation that failed: the cheapest way is the one that the case is about, and whatever is told works.

use super::cli::{Folder, out, status};
use crate::budget;
use millpond::base::{Bytes, Draws, StmtId};
use millpond::engine;
use millpond::explore::recover::{Attempt, Means, NotHelpful, Place, Recovery, applied, recover};
use millpond::oracle::{Expectations, Finding, Verdict};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Failure, Severity};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn load(text: &str) -> Option<Program> {
    millpond::load(text, &Profile::default()).0
}

fn verdict(program: &Program) -> Verdict {
    let mut judge = Expectations::new(program);
    engine::run(program, 0, &mut judge);
    judge.finish(None)
}

fn recovered(text: &str) -> (Program, Recovery) {
    let program = load(text).unwrap_or_else(|| panic!("it can be read:\n{text}"));
    let verdict = verdict(&program);
    let failed = verdict.failed.iter().filter(|failed| failed.failure == Failure::OutOfMemory);
    let failed: Vec<(StmtId, bool)> = failed.map(|failed| (failed.stmt, failed.expected)).collect();
    let recovery = recover(text, &program, 0, &failed, &load);
    (program, recovery)
}

/// The only attempt, or the first.
fn first(text: &str) -> Attempt {
    recovered(text).1.attempts.into_iter().next().expect("an allocation failed")
}

fn means(attempt: &Attempt) -> Vec<Means> {
    attempt.remedies.iter().map(|remedy| remedy.means).collect()
}

fn lines(attempt: &Attempt, means: Means) -> Vec<(Place, String)> {
    let remedy = attempt.remedies.iter().find(|remedy| remedy.means == means).expect("it helps");
    remedy.changes.iter().map(|change| (change.place, change.text.clone())).collect()
}

fn scenario(name: &str) -> String {
    fs::read_to_string(format!("{ROOT}/scenarios/limits/{name}.scn")).expect("the scenario is there")
}

/// The line of the text that ends with this, from 1.
fn line_of(text: &str, end: &str) -> u32 {
    let at = text.lines().position(|line| line.ends_with(end));
    at.unwrap_or_else(|| panic!("no line ends with {end}")) as u32 + 1
}

#[test]
fn the_cheapest_is_the_one_that_the_case_is_about() {
    use Means::{Memory, Policy, Synchronise, Threshold, Trim, Wait};
    let cases: [(&str, &[Means]); 8] = [
        ("ordered_and_follow_event_off", &[Policy, Synchronise, Wait, Memory]),
        ("fitting_memory_is_pending", &[Policy, Synchronise, Wait, Memory]),
        ("many_streams_hold_pending_memory", &[Policy, Synchronise, Wait, Memory]),
        ("only_a_synchronise_helps", &[Synchronise, Memory]),
        ("another_pool_hoards", &[Trim, Threshold, Memory]),
        ("freed_weights_starve_plain_memory", &[Trim, Memory]),
        ("live_memory_leaves_no_room", &[Memory]),
        ("free_memory_in_pieces", &[Memory]),
    ];
    for (name, expected) in cases {
        let attempt = first(&scenario(name));
        assert_eq!(means(&attempt), expected, "{name}");
        assert_eq!(attempt.is_recoverable(), expected[0] != Memory, "{name}");
    }
}

#[test]
fn the_smallest_set_of_frees_is_named() {
    let text = scenario("fitting_memory_is_pending");
    let attempt = first(&text);
    let (free, alloc) = (line_of(&text, "side: free x"), line_of(&text, "fails out_of_memory"));
    let top = Place::Before(free);
    let expected = [
        (top, "event x_freed"),
        (Place::After(free), "side: record x_freed"),
        (Place::Before(alloc), "main: wait x_freed"),
    ];
    assert_eq!(lines(&attempt, Means::Wait), expected.map(|(place, text)| (place, text.to_owned())));
}

#[test]
fn lines_say_what_to_write_and_where() {
    let text = scenario("another_pool_hoards");
    let attempt = first(&text);
    let alloc = line_of(&text, "fails out_of_memory");
    assert_eq!(lines(&attempt, Means::Trim), [(Place::Before(alloc), "trim weights to 0B".to_owned())]);
    let pool = line_of(&text, "{ release_threshold = max }");
    let declared = "pool weights on gpu0 { release_threshold = 0B }".to_owned();
    assert_eq!(lines(&attempt, Means::Threshold), [(Place::Instead(pool), declared)]);
    let device = line_of(&text, "device gpu0 { memory = 96MiB }");
    let larger = "device gpu0 { memory = 128MiB }".to_owned();
    assert_eq!(lines(&attempt, Means::Memory), [(Place::Instead(device), larger)]);
}

/// CUDA 11.2's cases of a retry (tensorflow/tensorflow#50699): a synchronise waits for a collective whose other part the host
/// would launch only later.
#[test]
fn what_ends_in_a_deadlock_is_no_remedy() {
    let retry = scenario("retry_waits_for_a_collective");
    assert_eq!(means(&first(&retry))[..2], [Means::Policy, Means::Synchronise]);
    let late = "\
device gpu0 { memory = 64MiB }
pool p on gpu0 { release_threshold = max, reuse = [] }
stream a, b, c
collective all_reduce() of 2 takes 50us
a: x = alloc 64MiB from p
a: all_reduce()
a: free x
c: y = alloc 64MiB from p
b: all_reduce()
";
    let attempt = first(late);
    assert!(attempt.others.contains(&(Means::Synchronise, NotHelpful::Deadlock)), "{attempt:?}");
    assert_eq!(lines(&attempt, Means::Policy), [(Place::Before(8), "set p.internal = on".to_owned())]);
    let folder = Folder::new("late");
    folder.file("late.scn", late);
    let report = out(&folder.millpond(&["run", "late.scn"]));
    assert!(report.contains("    a deadlock: wait, synchronise, trim\n"), "{report}");
}

#[test]
fn what_an_expectation_forbids_is_no_remedy() {
    let text = "\
device gpu0 { memory = 64MiB }
pool p on gpu0 { release_threshold = max, reuse = [] }
stream a, b
a: x = alloc 64MiB from p
a: free x
b: y = alloc 64MiB from p
expect p.internal == off
";
    let attempt = first(text);
    assert!(!means(&attempt).contains(&Means::Policy) && means(&attempt).contains(&Means::Synchronise));
    assert!(attempt.others.contains(&(Means::Policy, NotHelpful::Breaks)), "{attempt:?}");
}

#[test]
fn luck_is_told() {
    let text = "\
device gpu0 { memory = 64MiB }
pool p on gpu0 { release_threshold = max, reuse = [] }
stream a, b
kernel work(x: write) takes 10us
a: x = alloc 64MiB from p
a: work(x)
a: free x
set p.internal = off as never
sleep 20us
b: y = alloc 64MiB from p
expect p.internal == off
expect p.follow_event == off
";
    let attempt = first(text);
    let remedy = attempt.remedies.iter().find(|remedy| remedy.means == Means::Policy).expect("it helps");
    assert!(remedy.by_timing && remedy.changes[0].text == "set p.opportunistic = on", "{attempt:?}");
    assert_eq!(attempt.remedies[0].means, Means::Synchronise, "what does not depend on timing comes first");
}

#[test]
fn a_long_program_is_not_run_again() {
    let text = "\
device gpu0 { memory = 64MiB }
stream s
repeat i in 0..70000 {
  s: x = alloc 1MiB
  s: free x
  s: host takes 0ns
}
s: y = alloc 128MiB
";
    let (program, recovery) = recovered(text);
    assert_eq!((recovery.too_long, recovery.attempts.len()), (Some(program.length), 0));
    let folder = Folder::new("long");
    folder.file("long.scn", text);
    let report = out(&folder.millpond(&["run", "long.scn"]));
    assert!(report.contains("no remedy was tried: 280,00"), "{report}");
    assert!(report.contains("too many to run again"), "{report}");
}

/// The lines of the cheapest remedy in a report: where, and what.
fn told(report: &str) -> Vec<(bool, usize, String)> {
    let mut told = Vec::new();
    let rows = report.lines().skip_while(|line| !line.trim_start().starts_with("as it is")).skip(1);
    for (nth, row) in rows.enumerate() {
        let is_next = nth > 0 && row.split_whitespace().nth(1).is_some_and(|word| word.ends_with("us"));
        let is_line = row.contains(" before line ") || row.contains(" after line ");
        if is_next || !is_line {
            break;
        }
        let (_, line) = row.split_once(" line ").expect("it names a line");
        let (line, text) = line.split_once(": ").expect("it says what to write");
        told.push((row.contains(" before line "), line.parse().expect("a number"), text.to_owned()));
    }
    told
}

/// A person who reads the report and writes what it says.
#[test]
fn the_report_can_be_followed_by_hand() {
    let text = "\
device gpu0 { memory = 64MiB }
pool p on gpu0 { release_threshold = max, reuse = [follow_event] }
stream a, b
kernel work(x: write) takes 10us
a: x = alloc 64MiB from p
a: work(x)
a: free x
b: y = alloc 64MiB from p
b: work(y)
b: free y
expect p.internal == off
";
    let folder = Folder::new("by_hand");
    folder.file("short.scn", text);
    let output = folder.millpond(&["run", "short.scn"]);
    let report = out(&output);
    assert_eq!(status(&output), 1, "{report}");
    for part in [
        "pending on a:  64 MiB of `free x`, line 7\n",
        "cached 0 B, unused 0 B; fragmented 0 B, largest hole 0 B\n",
        "device gpu0:  other pools 0 B, outside pools 0 B,\n    room for 0 B more\n",
        "  recoverable: these were tried and help, the cheapest first\n",
    ] {
        assert!(report.contains(part), "{part}{report}");
    }
    let told = told(&report);
    assert!(!told.is_empty(), "{report}");
    let mut lines: Vec<String> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let at =
            |above: bool| told.iter().filter(move |(before, line, _)| (*before, *line) == (above, number));
        lines.extend(at(true).map(|(.., text)| text.clone()));
        lines.push(line.to_owned());
        lines.extend(at(false).map(|(.., text)| text.clone()));
    }
    folder.file("long.scn", lines.join("\n"));
    let output = folder.millpond(&["run", "long.scn"]);
    assert_eq!(status(&output), 0, "{report}\n{}", out(&output));
}

/// A random program that is likely to run out of memory: blocks of a few sizes in two pools, and no loops.
fn any_text(draws: &mut Draws) -> String {
    let pick = |draws: &mut Draws, words: &[&str]| words[draws.below(words.len() as u64) as usize].to_owned();
    let policies = |draws: &mut Draws| {
        let all = ["follow_event", "opportunistic", "internal"];
        let on: Vec<&str> = all.into_iter().filter(|_| draws.below(3) == 0).collect();
        on.join(", ")
    };
    let mut text = String::from("device gpu0 { memory = 128MiB }\n");
    for pool in ["p", "q"] {
        let threshold = pick(draws, &["0B", "32MiB", "max", "max"]);
        let max = pick(draws, &["", "", ", max_size = 64MiB"]);
        let _ = writeln!(
            text,
            "pool {pool} {{ release_threshold = {threshold}{max}, reuse = [{}] }}",
            policies(draws)
        );
    }
    text += "stream s[3]\nevent e[2]\nkernel work(x: read_write) takes 5us\n";
    let mut live: Vec<usize> = Vec::new();
    for nth in 0..12 + draws.below(8) as usize {
        let stream = draws.below(3);
        match draws.below(10) {
            0..=4 => {
                let size = pick(draws, &["8MiB", "16MiB", "32MiB", "48MiB", "64MiB"]);
                let pool = pick(draws, &["p", "p", "q"]);
                let _ = match draws.below(12) {
                    0 => writeln!(text, "x[{nth}] = malloc {size}"),
                    _ => writeln!(text, "s[{stream}]: x[{nth}] = alloc {size} from {pool}"),
                };
                let _ = writeln!(text, "s[{stream}]: work(x[{nth}])");
                live.push(nth);
            }
            5..=7 if !live.is_empty() => {
                let freed = live.swap_remove(draws.below(live.len() as u64) as usize);
                let _ = writeln!(text, "s[{stream}]: free x[{freed}]");
            }
            8 => {
                let event = draws.below(2);
                let _ =
                    writeln!(text, "s[{stream}]: record e[{event}]\ns[{}]: wait e[{event}]", draws.below(3));
            }
            _ => {
                let call = pick(draws, &["sync s[0]", "sync device", "sleep 20us"]);
                let _ = writeln!(text, "{call}");
            }
        }
    }
    text
}

/// The lines that fail, and the ones with an error by order, with the memory that it is about.
fn wrong(text: &str) -> BTreeSet<String> {
    let program = load(text).unwrap_or_else(|| panic!("it can be read:\n{text}"));
    let verdict = verdict(&program);
    assert!(verdict.deadlock.is_none(), "{text}");
    let text = |stmt: StmtId| program.statements[stmt].text.as_str();
    let errors = verdict.findings.iter().filter(|finding| finding.kind.severity() == Severity::Error);
    let name = |finding: &Finding| finding.name.map_or("", |name| program.names.buffers[name].as_str());
    let errors = errors.map(|found| format!("{} at {} on {}", found.kind, text(found.stmt), name(found)));
    errors.chain(verdict.failed.iter().map(|failed| text(failed.stmt).to_owned())).collect()
}

#[test]
fn whatever_is_told_works() {
    let mut helped: BTreeMap<Means, u64> = BTreeMap::new();
    let (mut attempts, mut hopeless) = (0, 0);
    for seed in 0..budget(40) {
        let text = any_text(&mut Draws::new(seed, 0));
        let (program, recovery) = recovered(&text);
        let before = if recovery.attempts.is_empty() { BTreeSet::new() } else { wrong(&text) };
        for attempt in &recovery.attempts {
            attempts += 1;
            hopeless += u64::from(!attempt.is_recoverable());
            let own = &program.statements[attempt.stmt].text;
            // All names are different, so that a line is known by its text.
            for remedy in &attempt.remedies {
                *helped.entry(remedy.means).or_default() += 1;
                let changed = applied(&text, &remedy.changes);
                let after = wrong(&changed);
                assert!(!after.contains(own), "{own}: {remedy:?}\n{text}");
                // What is done with the memory is only now done at all.
                let (left, _) = own.split_once(" = ").expect("it allocates");
                let name = left.rsplit(' ').next().expect("it has a name");
                let new = after.difference(&before).find(|line| !line.contains(name));
                assert_eq!(new, None, "{own}: {remedy:?}\n{text}");
            }
        }
    }
    assert!(attempts >= 30 && hopeless >= 3, "{attempts} failed, {hopeless} of them for good");
    for means in Means::ALL {
        let count = helped.get(&means).copied().unwrap_or(0);
        assert!(count >= 1, "{} helps {count} times: {helped:?}", means.name());
    }
}

/// What only more memory helps fails with all that was there, so that the account must show why.
#[test]
fn an_account_adds_up() {
    let (folder, mut seen) = (Folder::new("account"), 0);
    for seed in 0..40 {
        folder.file("short.scn", any_text(&mut Draws::new(seed, 1)));
        let lines = out(&folder.millpond(&["run", "short.scn", "--format", "json"]));
        for line in lines.lines().filter(|line| line.contains("\"event\":\"account\"")) {
            let event: serde_json::Value = serde_json::from_str(line).expect("an object");
            let number = |value: &serde_json::Value| value.as_u64().expect("a number");
            let sum = |list: &serde_json::Value| {
                list.as_array().expect("a list").iter().map(|part| number(&part["bytes"])).sum::<u64>()
            };
            let ledger = &event["ledger"];
            assert_eq!(sum(&event["pending"]), number(&ledger["pending"]), "{line}");
            for stream in event["pending"].as_array().expect("a list") {
                assert_eq!(sum(&stream["frees"]), number(&stream["bytes"]), "{line}");
            }
            let held = ["live", "padding", "pending", "cached", "unused"].map(|part| number(&ledger[part]));
            let all = held.iter().sum::<u64>() + number(&event["other_pools"]) + number(&event["outside"]);
            assert!(all <= Bytes::mib(128).0, "{line}");
            assert!(number(&event["fragmented"]) <= held[3] + held[4], "{line}");
            seen += 1;
        }
    }
    assert!(seen >= 20, "{seen} accounts");
}
