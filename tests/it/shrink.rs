//! Shrinking: made-up scenarios with one bug come down to a few operations that still have it and of which none can go; what fails
//! otherwise than by a finding; and the command.

use crate::budget;
use millpond::base::Diagnostic;
use millpond::explore::generate::{Bugs, Mistake, Options, Planted, scenario};
use millpond::explore::shrink::{Choices, Search, Shrunk, Which, shrink};
use millpond::explore::{Strategy, judged};
use millpond::oracle::{Finding, Verdict};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Call, Detail, Event, FindingKind, Kind, Sink};
use std::time::Instant;

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

fn shrunk(text: &str, which: Which, choices: Choices) -> Option<Shrunk> {
    shrink(text, which, &Search { read: &read, choices, goes_on: &|_| true })
}

/// The verdict over a text, and how many operations it has.
fn run(text: &str) -> Option<(Verdict, u64)> {
    let program = read(text).ok()?;
    let mut count = Count::default();
    let (verdict, _) = judged(&program, 0, &mut count);
    Some((verdict, count.0))
}

/// What tells a finding from others, written down here once more.
fn told(finding: &Finding) -> String {
    let others: std::collections::BTreeSet<_> =
        finding.others.iter().map(|(role, stmt)| (role.name(), stmt.is_some())).collect();
    format!("{} {:?} {others:?}", finding.kind, finding.certainty)
}

/// The errors of a verdict and the findings of a kind, sorted.
fn wrong(verdict: &Verdict, kind: FindingKind) -> std::collections::BTreeSet<String> {
    let of_kind = verdict.findings.iter().filter(|finding| finding.kind == kind || finding.fails());
    of_kind.map(told).collect()
}

/// The text without one of its lines, and without those that do not make sense any more.
fn without(text: &str, line: usize) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    // A block goes as a whole.
    let depth = |line: &str| line.len() - line.trim_start().len();
    let own = depth(lines[line]);
    let end = match lines[line].ends_with('{') {
        true => (line + 1..lines.len()).find(|at| depth(lines[*at]) == own).expect("it is closed"),
        false => line,
    };
    lines.drain(line..=end);
    loop {
        let text: String = lines.iter().flat_map(|line| [*line, "\n"]).collect();
        let Err(diagnostics) = read(&text) else { return text };
        let at = text[..diagnostics[0].primary.span.start as usize].matches('\n').count();
        lines.remove(at);
    }
}

fn made(seed: u64, operations: u64) -> Option<(String, Planted)> {
    let mistake = Mistake::ALL[(seed % 7) as usize];
    let options = Options { seed, operations, streams: 3 + (seed % 3) as usize, bugs: Bugs::One(mistake) };
    let made = scenario(&options).ok()?;
    Some((made.text, made.planted[0].clone()))
}

fn median(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers[numbers.len() / 2]
}

#[test]
fn a_planted_bug_is_left_alone() {
    let (mut sizes, mut runs) = (Vec::new(), Vec::new());
    let mut slowest = (std::time::Duration::ZERO, 0);
    let count = budget(4);
    for seed in (0..).filter(|seed| made(*seed, 200).is_some()).take(count as usize) {
        let (text, bug) = made(seed, 200).expect("it was made before");
        let began = Instant::now();
        let shrunk = shrunk(&text, Which::Finding(bug.finding), USUAL).expect("it was planted");
        slowest = slowest.max((began.elapsed(), seed));
        let (verdict, operations) = run(&shrunk.statements).expect("it is a program");
        let (before, _) = run(&text).expect("it is a program");
        if std::env::var_os("SHOW").is_some() {
            println!(
                "# seed {seed} {:?} {operations} ops {} runs {}\n{}",
                bug.finding, shrunk.runs, shrunk.target, shrunk.statements
            );
        }
        let own = verdict.findings.iter().find(|finding| finding.kind == bug.finding);
        let own = told(own.unwrap_or_else(|| panic!("seed {seed}: {}", shrunk.statements)));
        let allowed = wrong(&before, bug.finding);
        assert!(wrong(&verdict, bug.finding).is_subset(&allowed), "seed {seed}:\n{}", shrunk.statements);
        for line in 0..shrunk.statements.lines().count() {
            if shrunk.statements.lines().nth(line) == Some("}") {
                continue;
            }
            let less = without(&shrunk.statements, line);
            let Some((verdict, _)) = run(&less) else { continue };
            let wrong = wrong(&verdict, bug.finding);
            assert!(
                !wrong.contains(&own) || !wrong.is_subset(&allowed),
                "seed {seed}: line {line} can go\n{}",
                shrunk.statements
            );
        }
        sizes.push(operations);
        runs.push(shrunk.runs);
    }
    println!(
        "{count} scenarios: operations {} median {:?} max, runs {} median {:?} max, slowest {slowest:?}",
        median(sizes.clone()),
        sizes.iter().max(),
        median(runs.clone()),
        runs.iter().max()
    );
    assert!(median(sizes) <= 12);
}
