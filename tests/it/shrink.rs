//! Shrinking: made-up scenarios with one bug come down to a few operations that still have it and of which none can go; so does
//! what fails otherwise than by a finding; and the command.

#[cfg(feature = "cli")]
mod command;

use crate::budget;
use millpond::base::Diagnostic;
use millpond::explore::generate::{Bugs, Mistake, Options, Planted, scenario};
use millpond::explore::shrink::{Choices, Search, Shrunk, Signature, So, Which, alone, shrink};
use millpond::explore::{Strategy, judged};
use millpond::oracle::{Finding, Verdict};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Call, Detail, Event, Failure, FindingKind, Kind, Sink};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const USUAL: Choices = Choices { strategy: Strategy::Random, seed: 0, jitter: 0 };

/// Counts the calls of a run that are operations of a made-up scenario.
#[derive(Default)]
struct Count(u64);

impl Sink for Count {
    fn wants(&self, _: Detail) -> bool {
        false
    }

    fn event(&mut self, event: &Event<'_>) {
        let is_call = |call: &Call| !matches!(call, Call::Spawn(_) | Call::Exit | Call::Join(_));
        self.0 += u64::from(matches!(event.kind, Kind::Call(call) if is_call(call)));
    }
}

fn read(text: &str) -> Result<Program, Vec<Diagnostic>> {
    let (program, diagnostics) = millpond::load(text, &Profile::default());
    program.ok_or(diagnostics)
}

fn shrunk_with(text: &str, which: Which, choices: Choices) -> Option<Shrunk> {
    shrink(text, which, &Search { read: &read, choices, goes_on: &|_| true })
}

fn shrunk(text: &str, which: Which) -> Shrunk {
    shrunk_with(text, which, USUAL).unwrap_or_else(|| panic!("nothing of {which:?} in\n{text}"))
}

/// The verdict over a text, and how many operations it has.
fn run(text: &str, seed: u64) -> Option<(Verdict, u64)> {
    let program = read(text).ok()?;
    let mut count = Count::default();
    let (verdict, _) = judged(&program, seed, &mut count);
    Some((verdict, count.0))
}

/// What tells a finding from others wherever its statements stand, written down here once more.
fn told(finding: &Finding) -> String {
    let others: BTreeSet<_> =
        finding.others.iter().map(|(role, stmt)| (role.name(), stmt.is_some())).collect();
    format!("{} {:?} {others:?}", finding.kind, finding.certainty)
}

/// The findings of a kind, and all errors.
fn wrong(verdict: &Verdict, kind: FindingKind) -> BTreeSet<String> {
    let meant = verdict.findings.iter().filter(|finding| finding.kind == kind || finding.fails());
    let failed = verdict.unexpected_failures().map(|failed| failed.failure.to_string());
    meant.map(told).chain(failed).collect()
}

/// The text without one of its lines, with its block, and without those that make no sense then. `None`: the line ends a block.
fn without(text: &str, line: usize) -> Option<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines[line]);
    let end = match lines[line].trim_start() {
        "}" => return None,
        opens if opens.ends_with('{') => {
            (line + 1..lines.len()).find(|at| depth(lines[*at]) == own).expect("it is closed")
        }
        _ => line,
    };
    lines.drain(line..=end);
    loop {
        let text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
        let Err(diagnostics) = read(&text) else { return Some(text) };
        let at = text[..diagnostics[0].primary.span.start as usize].matches('\n').count();
        lines.remove(at);
    }
}

/// Whether a text still has the only finding that it was shrunk for, and loses it, or has another error, without any one line.
fn is_least(before: &str, kind: FindingKind, shrunk: &Shrunk) {
    let text = &shrunk.statements;
    let (verdict, _) = run(before, 0).expect("it is a program");
    let allowed = wrong(&verdict, kind);
    let (verdict, _) = run(text, 0).unwrap_or_else(|| panic!("it is no program:\n{text}"));
    let found = wrong(&verdict, kind);
    assert!(found.is_subset(&allowed), "{found:?} instead of {allowed:?}\n{text}");
    let own = verdict.findings.iter().find(|finding| Signature::of(finding) == shrunk.target);
    let own = told(own.unwrap_or_else(|| panic!("{} is no more in\n{text}", shrunk.target)));
    assert!(own.starts_with(kind.name()), "{own}");
    for (line, less) in (0..text.lines().count()).filter_map(|line| Some((line, without(text, line)?))) {
        let found = wrong(&run(&less, 0).expect("it is a program").0, kind);
        let is_gone = !found.contains(&own) || !found.is_subset(&allowed);
        assert!(is_gone, "line {} can go:\n{text}", line + 1);
    }
}

/// A scenario of so many operations with one bug of each kind in turn.
fn made(seed: u64, operations: u64) -> Option<(String, Planted)> {
    let mistake = Mistake::ALL[(seed % 7) as usize];
    let options = Options { seed, operations, streams: 3 + (seed % 3) as usize, bugs: Bugs::One(mistake) };
    let made = scenario(&options).ok()?;
    Some((made.text, made.planted.into_iter().next()?))
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

/// The medians of operations left and of runs, of so many scenarios.
fn survey(count: u64, operations: u64) -> (u64, u64) {
    let (mut left, mut runs) = (Vec::new(), Vec::new());
    let all = (0..).filter_map(|seed| made(seed, operations)).take(count as usize);
    for (text, bug) in all {
        let shrunk = shrunk(&text, Which::Finding(bug.finding));
        is_least(&text, bug.finding, &shrunk);
        assert!(shrunk.is_minimal && shrunk.choices == USUAL);
        left.push(run(&shrunk.statements, 0).expect("it is a program").1);
        runs.push(shrunk.runs);
    }
    let (most_left, most_runs) = (left.iter().max().copied(), runs.iter().max().copied());
    let (left, runs) = (median(left), median(runs));
    println!(
        "{count} scenarios of {operations} operations: {left} left in the median, {most_left:?} at most; \
         {runs} runs, {most_runs:?} at most"
    );
    (left, runs)
}

#[test]
fn a_planted_bug_is_left_alone() {
    let (left, runs) = survey(budget(4), 200);
    assert!(left <= 12, "{left} operations");
    assert!(runs <= 60, "{runs} runs");
}

#[test]
fn a_long_scenario_takes_no_more_runs() {
    let (left, runs) = survey(budget(2), 1_000);
    assert!(left <= 12, "{left} operations");
    assert!(runs <= 60, "{runs} runs");
}

/// The scenario files below a folder, but for those with mistakes.
fn scenarios(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder can be read");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        match path.is_dir() {
            true if path.ends_with("invalid") => {}
            true => scenarios(&path, found),
            false => found.extend(path.extension().is_some_and(|own| own == "scn").then_some(path)),
        }
    }
}

#[test]
fn what_scenarios_expect_is_shrunk_once_and_for_all() {
    let mut files = Vec::new();
    scenarios(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"), &mut files);
    let mut cases = Vec::new();
    for file in files {
        let text = alone(&fs::read_to_string(file).expect("a file can be read"), None);
        let (verdict, _) = run(&text, 0).expect("it is a program");
        let expected = verdict.findings.iter().filter(|finding| finding.expected.is_some());
        let kinds: BTreeSet<FindingKind> = expected.map(|finding| finding.kind).collect();
        cases.extend(kinds.into_iter().map(|kind| (text.clone(), kind)));
    }
    assert!(cases.len() > 100, "{}", cases.len());
    let step = cases.len().div_ceil(budget(5) as usize);
    for (text, kind) in cases.into_iter().step_by(step) {
        let least = shrunk(&text, Which::Finding(kind));
        is_least(&text, kind, &least);
        let again = shrunk(&least.statements, Which::Finding(kind));
        assert_eq!(again.statements, least.statements);
    }
}

/// Lines that have nothing to do with what fails.
const NOISE: &str = "\
stream n1, n2 non_blocking
event done
pool other
kernel busy(x: write) takes 3us..9us
n1: a = alloc 64KiB from other
n1: busy(a)
n1: record done
n2: wait done
repeat i in 0..7 {
  n2: b = alloc 8KiB from other
  n2: memset b
  n2: free b
}
n2: free a
query n1 or_fails not_ready
stream s, t
";

#[test]
fn what_fails_otherwise_is_kept_with_its_cause() {
    for (world, text, which, told, left) in [
        // Memory that is freed and of no use, rather than memory that is used: the free stays.
        (
            "device gpu0 { memory = 1GiB }\n",
            "pool p { reuse = [] }\ns: x = alloc 900MiB from p\nt: w = alloc 4KiB\ns: free x\n\
             t: y = alloc 800MiB from p\nt: free w\nsync device\n",
            Which::First,
            "out_of_memory",
            "device gpu0 { memory = 1GiB }\nstream s, t\npool p { reuse = [] }\n\
             s: x = alloc 900MiB from p\ns: free x\nt: y = alloc 800MiB from p\n",
        ),
        // Not reused since the policies are off, rather than since it was never freed.
        (
            "",
            "pool p { reuse = [] }\ns: x = alloc 4MiB from p\ns: free x\nt: w = alloc 4KiB\nt: free w\n\
             t: y = alloc 4MiB from p\nexpect y reuses x\nt: free y\n",
            Which::Expectation,
            "`expect y reuses x` does not hold",
            "stream s, t\npool p { reuse = [] }\ns: x = alloc 512B from p\ns: free x\n\
             t: y = alloc 512B from p\nexpect y reuses x\n",
        ),
        (
            "",
            "kernel k(x: write) takes 20us\ns: x = alloc 4MiB\ns: k(x) until go\ns: free x\nsync s\nsignal go\n",
            Which::First,
            "deadlock",
            "stream s\nkernel k() takes 1us\ns: k() until go\nsync s\nsignal go\n",
        ),
        // A call that should fail and does not.
        (
            "",
            "s: x = alloc 4MiB\ns: free x fails invalid_value\n",
            Which::First,
            "a call that should fail with invalid_value and does not",
            "stream s\ns: x = alloc 512B\ns: free x fails invalid_value\n",
        ),
        // A line that is never reached.
        (
            "",
            "pool p { max_size = 64MiB }\ns: x = alloc 4MiB from p else out_of_memory {\n  sync s\n  \
             expect p.used == 0B\n}\ns: free x\n",
            Which::Expectation,
            "`expect p.used == 0B` is never reached",
            "pool p\nstream s\ns: x = alloc 512B else out_of_memory {\n  expect p.used == 0B\n}\n",
        ),
    ] {
        let text = format!("{world}{NOISE}{text}");
        let shrunk = shrunk(&text, which);
        assert_eq!(shrunk.target.to_string(), told);
        let sorted = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(sorted(&shrunk.statements), sorted(left), "{}", shrunk.statements);
        assert!(shrunk.is_minimal);
    }
}

#[test]
fn another_finding_is_not_taken_for_the_first_one() {
    let text = "scenario \"two\"\nstream s, t\nevent e\nkernel k(x: read_write) takes 1us\ns: x = alloc 1MiB\n\
                s: memset x\ns: record e\nt: wait e\nt: k(x)\ns: k(x)\ns: free x\n";
    // Without the wait the use would not be ordered behind the allocation, which is another error.
    for (kind, left) in [(FindingKind::Race, 8), (FindingKind::UseAfterFree, 8)] {
        let shrunk = shrunk(text, Which::Finding(kind));
        is_least(text, kind, &shrunk);
        assert_eq!(shrunk.after, left, "{}", shrunk.statements);
    }
    assert_eq!(shrunk_with(text, Which::Finding(FindingKind::DoubleFree), USUAL), None);
    assert_eq!(shrunk_with("stream s\n", Which::First, USUAL), None);
    assert_eq!(shrunk_with("no program", Which::First, USUAL), None);

    // No order tells what a failed call comes from, so that much is tried in which only the other mistake is left.
    let text = "pool p { max_size = 64MiB }\nstream s\ns: z = alloc 1MiB\ns: free z\ns: free z\n\
                s: x = alloc 64MiB from p\ns: y = alloc 64MiB from p\n";
    let shrunk = shrunk(text, Which::Failure(Failure::OutOfMemory));
    let left = "pool p { max_size = 64MiB }\nstream s\ns: x = alloc 512B from p\ns: y = alloc 64MiB from p\n";
    assert_eq!(shrunk.statements, left);
}

#[test]
fn loops_threads_and_sizes_go() {
    let text = "stream s, t\nkernel k(x: read_write) takes normal(9us, 1us)\nthread one {\n  \
                repeat i in 0..1000 {\n    s: x[i] = alloc 3MiB\n    s: k(x[i]) takes 4us\n  }\n}\njoin one\n\
                repeat i in 0..1000 {\n  s: free x[i]\n}\nt: k(x[7][1MiB..2MiB])\n";
    let shrunk = shrunk(text, Which::Finding(FindingKind::UseAfterFree));
    let left = "stream s, t\nkernel k(x: read_write) takes 1us\n";
    assert!(shrunk.statements.starts_with(left), "{}", shrunk.statements);
    assert!(!shrunk.statements.contains('{') && !shrunk.statements.contains("MiB"), "{}", shrunk.statements);
}

#[test]
fn who_ends_it_gets_what_there_is() {
    let (text, bug) = made(1, 200).expect("there is one");
    for most in [0, 3, 9] {
        let goes_on = |so: So| so.runs < most;
        let search = Search { read: &read, choices: USUAL, goes_on: &goes_on };
        let shrunk = shrink(&text, Which::Finding(bug.finding), &search).expect("it fails");
        assert!(!shrunk.is_minimal && shrunk.runs <= most.max(2));
        let (verdict, _) = run(&shrunk.statements, 0).expect("it is a program");
        assert!(verdict.findings.iter().any(|finding| Signature::of(finding) == shrunk.target));
        assert!(shrunk.text("x", "").contains("\n# The search was interrupted: more may go.\n"));
    }
}
