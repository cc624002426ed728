//! The hazards that are found in a program against those that a brute-force checker finds, which shares nothing with it but
//! the text.

mod brute;
mod detectors;
mod program;

use crate::budget;
use brute::{Edges, Fault, Happening, Luck, Order};
use millpond::base::{Draws, StmtId};
use millpond::engine::run;
use millpond::oracle::{Certainty, Expectations, Finding, Point};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{AllocId, Detail, Event, FindingKind, Kind, Policy, Sink};
use program::{Action, BUFFERS, Maker, Small};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;

/// The kinds that are compared.
const KINDS: [FindingKind; 7] = [
    FindingKind::UseBeforeAlloc,
    FindingKind::FreeBeforeAlloc,
    FindingKind::UseAfterFree,
    FindingKind::DoubleFree,
    FindingKind::Race,
    FindingKind::HostRace,
    FindingKind::OrderedByLuck,
];

/// What both verdicts say: the kind, how certain it is, the line that is wrong, the name of the memory.
type Said = (FindingKind, Option<Certainty>, usize, usize);

/// The two verdicts over a program.
struct Verdicts {
    brute: BTreeSet<Fault>,
    ours: BTreeSet<Said>,
    /// Orders that ours misses, and that are none of the brute-force checker's.
    wrong: Vec<String>,
    /// The lines in the order of their calls, by which the verdicts count them.
    calls: Vec<usize>,
    /// Whether an allocation got memory by the timing or with a wait.
    reuses: bool,
}

/// What a run tells.
#[derive(Default)]
struct Told {
    /// The statements in the order of their calls.
    calls: Vec<StmtId>,
    /// The statements of the allocations.
    allocs: BTreeMap<AllocId, StmtId>,
    /// Of memory that an allocation got by the timing or with a wait: the statement that had it, and that allocation.
    reused: Vec<(StmtId, StmtId)>,
}

impl Sink for Told {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(_) => self.calls.push(event.stmt),
            Kind::Decided(decision) => {
                self.allocs.insert(decision.alloc, event.stmt);
                let by_run = matches!(decision.policy, Some(Policy::Opportunistic | Policy::Internal));
                let old = decision.reuses.filter(|_| by_run).map(|old| self.allocs[&old]);
                self.reused.extend(old.map(|old| (old, event.stmt)));
            }
            _ => {}
        }
    }
}

impl Verdicts {
    fn of(small: &Small, seed: u64, profile: &Profile) -> Self {
        let text = small.text();
        let (program, diagnostics) = millpond::load(&text, profile);
        assert_eq!(diagnostics, [], "{text}");
        let program = program.expect("there is no mistake in it");
        let mut sinks = (Told::default(), Expectations::new(&program));
        assert_eq!(run(&program, seed, &mut sinks).stop, None, "{text}");
        let (told, mut judge) = sinks;
        let at = |stmt: &StmtId| small.at_line(program.statements[*stmt].line);
        let calls: Vec<usize> = told.calls.iter().filter_map(at).collect();
        let operations = calls.iter().map(|nth| small.operations[*nth].clone()).collect();
        let called = Small { operations, ..*small };
        assert_eq!(called.operations.len(), small.operations.len(), "each line is called once:\n{text}");
        let nth = |stmt: &StmtId| calls.iter().position(|call| Some(*call) == at(stmt));
        let verdict = judge.finish(None);
        let failed: Vec<usize> = verdict.failed.iter().filter_map(|failed| nth(&failed.stmt)).collect();
        let succeeded = (0..calls.len()).filter(|nth| !failed.contains(nth)).collect();
        let reused = told.reused.iter().filter_map(|(old, new)| {
            let old = nth(old).and_then(|old| brute::free_of(&called, old));
            Some((old?, nth(new)?))
        });
        let luck = Luck { succeeded, reused: reused.collect() };
        let brute = brute::judge(&called, &luck);
        let reuses = !luck.reused.is_empty();
        let mut verdicts = Verdicts { brute, ours: BTreeSet::new(), wrong: Vec::new(), calls, reuses };
        for finding in verdict.findings.iter().filter(|finding| KINDS.contains(&finding.kind)) {
            verdicts.add(finding, &program, small);
        }
        verdicts
    }

    fn add(&mut self, finding: &Finding, program: &Program, small: &Small) {
        let line = |stmt: StmtId| {
            let nth = small.at_line(program.statements[stmt].line);
            self.calls.iter().position(|call| Some(*call) == nth).expect("it is the line of an operation")
        };
        let name = finding.name.map(|name| program.names.buffers[name].as_str());
        let buffer =
            BUFFERS.iter().position(|buffer| Some(*buffer) == name).expect("a finding names its memory");
        let is_certain = matches!(
            finding.kind,
            FindingKind::UseBeforeAlloc | FindingKind::FreeBeforeAlloc | FindingKind::UseAfterFree
        );
        let certainty = finding.certainty.filter(|_| is_certain);
        let said = (finding.kind, certainty, line(finding.stmt), buffer);
        let missing = finding.missing.map(|missing| {
            [missing.from, missing.to].map(|moment| match moment.point {
                Point::Operation(_) => Happening::Execution(line(moment.stmt)),
                Point::Host(..) => Happening::Call(line(moment.stmt)),
            })
        });
        let missing = missing.map(|[from, to]| (from, to));
        let is_known = |fault: &&Fault| fault.kind == finding.kind && fault.buffer == buffer;
        if !self.brute.iter().filter(is_known).any(|fault| fault.missing == missing) {
            self.wrong.push(format!("{} of {}: {missing:?}", finding.kind, BUFFERS[buffer]));
        }
        self.ours.insert(said);
    }

    fn brute(&self) -> BTreeSet<Said> {
        self.brute.iter().map(|fault| (fault.kind, fault.certainty, fault.line, fault.buffer)).collect()
    }

    /// Whether one says what the other does not. Of several uses that clash with one line, ours may name the latest ones alone,
    /// and so leave out that one of the others was the host's, or was ordered by luck.
    fn differ(&self) -> bool {
        let is_race = |kind| matches!(kind, FindingKind::Race | FindingKind::HostRace);
        let brute = self.brute();
        let is_told = |said: &Said| {
            let stands_for_it = |other: &Said| {
                let is_like = is_race(said.0) && is_race(other.0) || said.0 == FindingKind::OrderedByLuck;
                is_like && (said.2, said.3) == (other.2, other.3)
            };
            self.ours.contains(said) || self.ours.iter().any(stands_for_it)
        };
        !brute.iter().all(is_told) || !self.ours.is_subset(&brute) || !self.wrong.is_empty()
    }
}

/// The smallest program with the same trouble that is left when lines are taken away, up to three at a time.
fn shrunk(small: &Small, differs: impl Fn(&Small) -> bool) -> Small {
    let without = |lines: &[usize]| {
        let operations = small.operations.iter().enumerate().filter(|(nth, _)| !lines.contains(nth));
        Small { operations: operations.map(|(_, operation)| operation.clone()).collect(), ..*small }
    };
    let count = small.operations.len();
    let ones = (0..count).map(|one| vec![one]);
    let twos = (0..count).flat_map(|one| (0..one).map(move |two| vec![one, two]));
    let threes = (0..count)
        .flat_map(|one| (0..one).flat_map(move |two| (0..two).map(move |three| vec![one, two, three])));
    let smaller = ones.chain(twos).chain(threes).map(|lines| without(&lines));
    match smaller.into_iter().find(|smaller| smaller.is_sound() && differs(smaller)) {
        Some(smaller) => shrunk(&smaller, differs),
        None => small.clone(),
    }
}

fn told(said: &BTreeSet<Said>) -> String {
    let mut told = String::new();
    for (kind, certainty, line, buffer) in said {
        let certainty = certainty.map_or("", Certainty::name);
        told += &format!("  {kind} {certainty} on {} at operation {}\n", BUFFERS[*buffer], line + 1);
    }
    told
}

/// Says which part of a mix a fault belongs to.
fn part(said: &Said) -> String {
    match said.1 {
        Some(certainty) => format!("{} {}", said.0, certainty.name()),
        None => said.0.to_string(),
    }
}

/// How many programs have what.
type Mix = BTreeMap<String, u64>;

/// Compares the two verdicts over the program of a seed.
fn compare(seed: u64, profile: &Profile, mix: &mut Mix) {
    let small = Maker::make(&mut Draws::new(seed, 6));
    let verdicts = Verdicts::of(&small, seed, profile);
    if verdicts.differ() {
        let small = shrunk(&small, |small| Verdicts::of(small, seed, profile).differ());
        let verdicts = Verdicts::of(&small, seed, profile);
        panic!(
            "seed {seed}\n{}\nbrute force:\n{}found:\n{}orders that are not missing: {:#?}",
            small.text(),
            told(&verdicts.brute()),
            told(&verdicts.ours),
            verdicts.wrong
        );
    }
    let mut parts: BTreeSet<String> = verdicts.brute().iter().map(part).collect();
    if parts.is_empty() {
        parts.insert("clean".to_owned());
    }
    if verdicts.reuses {
        parts.insert("memory by the timing or with a wait".to_owned());
    }
    parts.into_iter().for_each(|part| *mix.entry(part).or_default() += 1);
}

#[test]
fn every_verdict_is_that_of_all_timings() {
    let (programs, profile) = (budget(2_000), Profile::default());
    let workers = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let mixes: Vec<Mix> = thread::scope(|scope| {
        let worker = |first| {
            let profile = &profile;
            scope.spawn(move || {
                let mut mix = Mix::new();
                (first..programs).step_by(workers as usize).for_each(|seed| compare(seed, profile, &mut mix));
                mix
            })
        };
        let running: Vec<_> = (0..workers).map(worker).collect();
        running.into_iter().map(|worker| worker.join().expect("no verdict differs")).collect()
    });
    let mut mix = Mix::new();
    mixes.into_iter().flatten().for_each(|(part, count)| *mix.entry(part).or_default() += count);
    println!("of {programs} programs: {mix:#?}");
    for (part, percent) in [
        ("clean", 20),
        ("use_before_alloc possible", 1),
        ("free_before_alloc possible", 1),
        ("use_after_free possible", 1),
        ("use_after_free definite", 1),
        ("double_free", 1),
        ("race", 1),
        ("host_race", 1),
        ("ordered_by_luck", 1),
        ("memory by the timing or with a wait", 1),
    ] {
        let count = mix.get(part).copied().unwrap_or_default();
        assert!(count * 100 >= percent * programs, "{part}: {count} of {programs}");
    }
}

#[test]
fn the_states_and_the_sequences_of_a_program_say_the_same() {
    let (programs, mut listed) = (budget(200), 0);
    for seed in 0..programs {
        let small = Maker::make(&mut Draws::new(seed, 6));
        // Where one thread waits for the other one, the order of the text need not be one of the calls.
        if small.operations.iter().any(|operation| matches!(operation.action, Action::Await)) {
            continue;
        }
        let edges = Edges::of(&small, &Luck::default());
        let Some(order) = Order::by_sequences(&edges, 2_000) else { continue };
        assert_eq!(order, Order::by_states(&edges), "{}", small.text());
        listed += 1;
    }
    assert!(listed * 2 > programs, "{listed} of {programs}");
}
