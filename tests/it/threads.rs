//! Host threads against a naive account: random programs of several threads are run, and every event of the run is checked
//! against what the program says: who may call next and when, when each operation starts and ends, and who hangs at the end.
//!
//! The account keeps every operation for ever and asks every question by walking over all of them.

use crate::budget;
use millpond::base::{Draws, StmtId};
use millpond::engine::{self, Limits, Stop};
use millpond::model::cuda::Cuda;
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Detail, Event, Kind, Nothing, Sink, Ticket, Waiter};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const STREAMS: u64 = 3;
const NAMES: u64 = 3;

/// A statement, as the account understands it.
#[derive(Clone, Debug)]
enum Does {
    Spawn(usize),
    Work { stream: usize, takes: u64 },
    Record { stream: usize, event: usize },
    Wait { stream: usize, event: usize },
    Function { stream: usize, takes: u64, until: Option<usize>, gives: Option<usize> },
    Part { stream: usize },
    Sleep(u64),
    Sync(Option<usize>),
    SyncEvent(usize),
    Signal(usize),
    Await(usize),
    Join(usize),
    Barrier,
    Exit,
}

/// The statements of each thread, in its order, each with its line.
struct Plan {
    text: String,
    line: u32,
    threads: Vec<Vec<(u32, Does)>>,
    /// How many threads come to a barrier together.
    meets: u64,
}

const PART_TAKES: u64 = 7;

impl Plan {
    fn random(draws: &mut Draws) -> Self {
        let meets = draws.between(1, 3);
        let text = "stream s[3]\nevent e[3]\nkernel k() takes 1ns\ncollective c of 2 takes 7ns\n".to_owned();
        let mut plan = Plan { text, line: 4, threads: vec![Vec::new()], meets };
        let count = draws.between(0, 3) as usize;
        for nth in 1..=count {
            plan.some(0, draws);
            plan.write(0, Does::Spawn(nth), format!("thread t{nth} {{"));
            plan.threads.push(Vec::new());
            for _ in 0..draws.between(0, 4) {
                plan.some(nth, draws);
            }
            let _ = writeln!(plan.text, "}}");
            // The end of a thread is told at the line that starts it.
            let begins = plan.threads[0].last().expect("just written").0;
            plan.line += 1;
            plan.threads[nth].push((begins, Does::Exit));
        }
        for _ in 0..draws.between(1, 4) {
            plan.some(0, draws);
        }
        plan
    }

    fn write(&mut self, thread: usize, does: Does, line: String) {
        let _ = writeln!(self.text, "{line}");
        self.line += 1;
        self.threads[thread].push((self.line, does));
    }

    fn some(&mut self, thread: usize, draws: &mut Draws) {
        for _ in 0..draws.between(0, 3) {
            let stream = draws.below(STREAMS) as usize;
            let name = draws.below(NAMES) as usize;
            let takes = [0, 1, 2, 5, 10][draws.below(5) as usize];
            match draws.below(22) {
                0..5 => self.write(
                    thread,
                    Does::Work { stream, takes },
                    format!("s[{stream}]: k() takes {takes}ns"),
                ),
                5 => self.write(
                    thread,
                    Does::Record { stream, event: name },
                    format!("s[{stream}]: record e[{name}]"),
                ),
                6 => self.write(
                    thread,
                    Does::Wait { stream, event: name },
                    format!("s[{stream}]: wait e[{name}]"),
                ),
                7 => {
                    let does = Does::Function { stream, takes, until: None, gives: Some(name) };
                    self.write(thread, does, format!("s[{stream}]: host takes {takes}ns signal g{name}"));
                }
                8 if draws.below(2) == 0 => {
                    let does = Does::Function { stream, takes: 0, until: Some(name), gives: None };
                    self.write(thread, does, format!("s[{stream}]: host await g{name}"));
                }
                9 | 10 => self.write(thread, Does::Part { stream }, format!("s[{stream}]: c()")),
                11..13 => self.write(thread, Does::Sleep(takes), format!("sleep {takes}ns")),
                13 | 14 => self.write(thread, Does::Sync(Some(stream)), format!("sync s[{stream}]")),
                15 => self.write(thread, Does::Sync(None), "sync device".to_owned()),
                16 => self.write(thread, Does::SyncEvent(name), format!("sync e[{name}]")),
                17 | 18 => self.write(thread, Does::Signal(name), format!("signal g{name}")),
                19 if draws.below(3) == 0 => self.write(thread, Does::Await(name), format!("await g{name}")),
                20 if self.threads.len() > 1 && thread == 0 => {
                    let other = draws.between(1, self.threads.len() as u64 - 1) as usize;
                    self.write(thread, Does::Join(other), format!("join t{other}"));
                }
                21 => self.write(thread, Does::Barrier, format!("barrier b of {}", self.meets)),
                _ => {}
            }
        }
    }
}

/// An operation, from its submission on.
#[derive(Debug)]
struct Operation {
    stream: usize,
    submitted: u64,
    /// What has to end before it can start.
    after: Vec<usize>,
    takes: u64,
    until: Option<usize>,
    gives: Option<usize>,
    /// The round of the collective that it is a part of.
    round: Option<usize>,
    start: Option<u64>,
    end: Option<u64>,
}

/// What a thread waits for.
#[derive(Clone, Debug)]
enum Waits {
    Until(u64),
    Operations(u64, Vec<usize>),
    Signal(u64, usize),
    End(u64, usize),
    Barrier(u64, usize),
}

struct Account {
    plan: Plan,
    lines: BTreeMap<StmtId, u32>,
    operations: Vec<Operation>,
    records: [Option<usize>; NAMES as usize],
    signals: [Option<u64>; NAMES as usize],
    /// The parts of each round.
    rounds: Vec<Vec<usize>>,
    /// For each round of the barrier, when each of its threads came.
    barriers: Vec<Vec<u64>>,
    /// For each thread that has begun: its next statement, and what it waits for.
    threads: Vec<Option<(usize, Waits)>>,
    ended: Vec<Option<u64>>,
}

impl Account {
    fn new(plan: Plan, program: &Program) -> Self {
        let count = plan.threads.len();
        let lines =
            program.statements.iter_enumerated().map(|(id, statement)| (id, statement.line)).collect();
        let mut threads: Vec<_> = (0..count).map(|_| None).collect();
        threads[0] = Some((0, Waits::Until(0)));
        Self {
            plan,
            lines,
            operations: Vec::new(),
            records: [None; 3],
            signals: [None; 3],
            rounds: Vec::new(),
            barriers: Vec::new(),
            threads,
            ended: vec![None; count],
        }
    }

    /// When the wait is over, if it is by now.
    fn over(&self, waits: &Waits) -> Option<u64> {
        match waits {
            Waits::Until(time) => Some(*time),
            Waits::Operations(called, operations) => {
                let ends: Option<Vec<u64>> = operations.iter().map(|id| self.operations[*id].end).collect();
                ends.map(|ends| ends.into_iter().fold(*called, u64::max))
            }
            Waits::Signal(called, signal) => self.signals[*signal].map(|given| given.max(*called)),
            Waits::End(called, thread) => self.ended[*thread].map(|ended| ended.max(*called)),
            Waits::Barrier(called, round) => {
                let came = &self.barriers[*round];
                let is_full = came.len() as u64 == self.plan.meets;
                is_full.then(|| came.iter().copied().fold(*called, u64::max))
            }
        }
    }

    fn in_stream(&self, stream: usize) -> Vec<usize> {
        (0..self.operations.len()).filter(|id| self.operations[*id].stream == stream).collect()
    }

    fn called(&mut self, host: usize, stmt: StmtId, at: u64) {
        let (next, waits) = self.threads[host].clone().expect("a thread that has begun");
        let (line, does) = self.plan.threads[host][next].clone();
        assert_eq!(self.lines[&stmt], line, "thread {host} goes on in its order");
        assert_eq!(self.over(&waits), Some(at), "thread {host} goes on when its wait is over: {waits:?}");
        let mut waits = Waits::Until(at);
        match does {
            Does::Spawn(child) => self.threads[child] = Some((0, Waits::Until(at))),
            Does::Work { stream, takes } => self.submit(stream, at, takes),
            Does::Record { stream, event } => {
                self.records[event] = Some(self.operations.len());
                self.submit(stream, at, 0);
            }
            Does::Wait { stream, event } => {
                let record = self.records[event];
                self.submit(stream, at, 0);
                self.operations.last_mut().expect("submitted").after.extend(record);
            }
            Does::Function { stream, takes, until, gives } => {
                self.submit(stream, at, takes);
                let operation = self.operations.last_mut().expect("submitted");
                (operation.until, operation.gives) = (until, gives);
            }
            Does::Part { stream } => {
                let has_room = |round: &&Vec<usize>| {
                    round.len() < 2 && round.iter().all(|id| self.operations[*id].stream != stream)
                };
                let found = self.rounds.iter().position(|round| has_room(&round));
                let round = found.unwrap_or(self.rounds.len());
                if found.is_none() {
                    self.rounds.push(Vec::new());
                }
                self.rounds[round].push(self.operations.len());
                self.submit(stream, at, PART_TAKES);
                self.operations.last_mut().expect("submitted").round = Some(round);
            }
            Does::Sleep(time) => waits = Waits::Until(at + time),
            Does::Sync(stream) => {
                let streams = stream.map_or(0..STREAMS as usize, |stream| stream..stream + 1);
                waits = Waits::Operations(at, streams.flat_map(|stream| self.in_stream(stream)).collect());
            }
            Does::SyncEvent(event) => {
                waits = Waits::Operations(at, self.records[event].into_iter().collect())
            }
            Does::Signal(signal) => {
                self.signals[signal].get_or_insert(at);
            }
            Does::Await(signal) => waits = Waits::Signal(at, signal),
            Does::Join(thread) => waits = Waits::End(at, thread),
            Does::Barrier => {
                if self.barriers.last().is_none_or(|came| came.len() as u64 == self.plan.meets) {
                    self.barriers.push(Vec::new());
                }
                self.barriers.last_mut().expect("just made").push(at);
                waits = Waits::Barrier(at, self.barriers.len() - 1);
            }
            Does::Exit => self.ended[host] = Some(at),
        }
        self.threads[host] = Some((next + 1, waits));
    }

    fn submit(&mut self, stream: usize, submitted: u64, takes: u64) {
        let after = self.in_stream(stream).last().copied().into_iter().collect();
        let (until, gives, round) = (None, None, None);
        self.operations.push(Operation {
            stream,
            submitted,
            after,
            takes,
            until,
            gives,
            round,
            start: None,
            end: None,
        });
    }

    /// When an operation could start by itself, if that is known by now.
    fn could_start(&self, id: usize) -> Option<u64> {
        let operation = &self.operations[id];
        let ends: Option<Vec<u64>> =
            operation.after.iter().map(|other| self.operations[*other].end).collect();
        ends.map(|ends| ends.into_iter().fold(operation.submitted, u64::max))
    }

    fn starts(&self, id: usize) -> Option<u64> {
        let Some(round) = self.operations[id].round else { return self.could_start(id) };
        let parts = &self.rounds[round];
        let all: Option<Vec<u64>> = parts.iter().map(|part| self.could_start(*part)).collect();
        all.filter(|all| all.len() == 2).and_then(|all| all.into_iter().max())
    }

    fn ends(&self, id: usize) -> Option<u64> {
        let operation = &self.operations[id];
        let start = operation.start?;
        match operation.until {
            Some(signal) => self.signals[signal].map(|given| given.max(start)),
            None => Some(start + operation.takes),
        }
    }

    fn find(&self, ticket: Ticket) -> usize {
        self.in_stream(ticket.stream.index())[ticket.seq as usize - 1]
    }

    /// Nobody could go on: the run has not stopped too early.
    fn stands_still(&self) {
        for id in 0..self.operations.len() {
            let operation = &self.operations[id];
            assert!(operation.start.is_some() || self.starts(id).is_none(), "operation {id} could start");
            assert!(operation.end.is_some() || self.ends(id).is_none(), "operation {id} could end");
        }
    }
}

impl Sink for &mut Account {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        let at = event.at.0;
        match (event.kind, event.ticket) {
            (Kind::Call(_), _) => self.called(event.host.index(), event.stmt, at),
            (Kind::Start, Some(ticket)) => {
                let id = self.find(ticket);
                assert_eq!(self.starts(id), Some(at), "operation {id} starts when it can");
                self.operations[id].start = Some(at);
            }
            (Kind::End, Some(ticket)) => {
                let id = self.find(ticket);
                assert_eq!(self.ends(id), Some(at), "operation {id} ends in time");
                self.operations[id].end = Some(at);
                if let Some(signal) = self.operations[id].gives {
                    self.signals[signal].get_or_insert(at);
                }
            }
            _ => {}
        }
    }
}

#[test]
fn every_event_of_several_threads_is_due() {
    let mut counts = [0; 2];
    for seed in 0..budget(200) {
        let plan = Plan::random(&mut Draws::new(seed, 11));
        let (program, mistakes) = millpond::load(&plan.text, &Profile::default());
        let program = program.unwrap_or_else(|| panic!("{}\n{mistakes:?}", plan.text));
        let text = plan.text.clone();
        let mut account = Account::new(plan, &program);
        let ending = engine::run(&program, seed, &mut account);
        let hangs = matches!(ending.stop, Some(Stop::Deadlock { .. }));
        let mut finished = account.operations.iter().all(|operation| operation.end.is_some());
        account.stands_still();
        for (host, thread) in account.threads.iter().enumerate() {
            let Some((next, waits)) = thread else { continue };
            let has_ended = *next == account.plan.threads[host].len();
            let is_over = account.over(waits).is_some();
            assert!(has_ended || !is_over, "thread {host} could go on\n{text}");
            finished &= has_ended && is_over;
        }
        assert_eq!(hangs, !finished, "{text}");
        counts[usize::from(hangs)] += 1;
    }
    // Both kinds are tried in earnest.
    assert!(counts.iter().all(|count| *count * 10 > budget(200)), "{counts:?}");
}

/// Keeps what is told about a deadlock: who waits, by the lines of their calls, and `!` where it is a cycle.
struct Told<'p> {
    program: &'p Program,
    lines: BTreeMap<Waiter, u32>,
    said: String,
}

impl Sink for &mut Told<'_> {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        let line = self.program.statements[event.stmt].line;
        match (event.kind, event.ticket) {
            (Kind::Call(_), _) => {
                self.lines.insert(Waiter::Host(event.host), line);
            }
            (Kind::Submitted(_), Some(ticket)) => {
                self.lines.insert(Waiter::Operation(ticket), line);
            }
            (Kind::Deadlock(deadlock), _) => {
                let names = &self.program.names;
                for waiter in &deadlock.waiters {
                    self.said += &match waiter {
                        Waiter::Host(host) => format!("{} {} ", names.hosts[*host], self.lines[waiter]),
                        Waiter::Operation(_) => format!("line {} ", self.lines[waiter]),
                        Waiter::Signal(signal) => format!("signal {} ", names.signals[*signal]),
                        Waiter::Parts(collective) => format!("parts of {} ", names.collectives[*collective]),
                        Waiter::Barrier(barrier) => format!("barrier {} ", names.barriers[*barrier]),
                    };
                }
                self.said += if deadlock.is_cycle { "!" } else { "." };
            }
            _ => {}
        }
    }
}

/// Two collectives in another order on two streams, a lock turned round, a forgotten thread: who is told to wait for whom.
#[test]
fn a_deadlock_names_who_waits() {
    for (text, said) in [
        ("stream s\nthread t {\n  await go\n}\njoin t\nsignal go\n", "main 5 t 3 signal go !"),
        ("thread t {\n  await go\n}\n", "t 2 signal go ."),
        ("thread t {\n  barrier b of 2\n}\n", "t 2 barrier b ."),
        ("thread t {\n  await a\n  signal b\n}\nawait b\nsignal a\n", "main 5 signal b t 2 signal a !"),
        ("stream s\ncollective c of 2 takes 1us\ns: c()\n", "line 3 parts of c ."),
        (
            "stream a, b\ncollective c of 2 takes 1us\ncollective d of 2 takes 1us\na: c()\na: d()\nb: d()\nb: c()\n",
            "line 4 line 7 line 6 line 5 !",
        ),
        ("stream a, b\ncollective c of 2 takes 1us\na: c()\nsync a\nb: c()\n", "main 4 line 3 !"),
        ("stream s\ns: host await go\nsync s\nsignal go\n", "main 3 line 2 signal go !"),
        // Nobody would give it, go on or not; so nobody is waited for.
        ("thread t {\n  await never\n}\njoin t\n", "t 2 signal never ."),
        ("stream a, b\ncollective r of 3 takes 1us\na: r()\nb: r()\nsync a\n", "line 3 line 4 parts of r ."),
        (
            "stream q, s\nq: host await a signal b\ns: host await b signal a\nsync q\n",
            "line 2 signal a line 3 signal b !",
        ),
        // What comes in the next turn of a loop is still to come; what came in the last one is not.
        (
            "thread t {\n  await b\n  signal a\n}\nrepeat i in 0..2 {\n  await a\n  signal b\n}\n",
            "main 6 signal a t 2 signal b !",
        ),
        ("repeat i in 0..1 {\n  signal a\n  await b\n}\n", "main 3 signal b ."),
    ] {
        let (program, mistakes) = millpond::load(text, &Profile::default());
        let program = program.unwrap_or_else(|| panic!("{text}\n{mistakes:?}"));
        let mut told = Told { program: &program, lines: BTreeMap::new(), said: String::new() };
        let ending = engine::run(&program, 0, &mut told);
        assert_eq!(told.said, said, "{text}");
        assert!(matches!(ending.stop, Some(Stop::Deadlock { .. })));
    }
}

/// A run that would fill memory is stopped at the line that goes too far, with what to do about it.
#[test]
fn a_run_that_keeps_too_much_stops() {
    let ahead = "stream s\nrepeat i in 0..1000 {\n  s: x = alloc 1KiB\n  s: free x\n}\n";
    let waiting = "stream s, t\nevent e\nkernel k() takes 1us\ns: k() until go\nrepeat i in 0..1000 {\n  s: record e\n  t: wait e\n}\nsignal go\n";
    for (text, limits, line, said) in [
        (
            waiting,
            Limits { in_flight: 100, ..Limits::default() },
            7,
            "more than 100 operations are in flight",
        ),
        (waiting, Limits { counters: 100, ..Limits::default() }, 7, "too many operations that wait"),
        (ahead, Limits { in_flight: 1_999, ..Limits::default() }, 4, "more than 1,999 operations"),
    ] {
        let (program, _) = millpond::load(text, &Profile::default());
        let program = program.expect("a valid text");
        let setup = &program.setup;
        let timeline = engine::Timeline::new(setup.streams.len());
        let chooser = engine::Seeded::new(&program, 0);
        let mut machine = engine::Machine::new(setup, Cuda::new(setup), timeline, chooser, Nothing);
        let Some(Stop::Broken { stmt, reason }) = engine::run_on(&program, &mut machine, limits).stop else {
            panic!("it goes on");
        };
        assert!(reason.contains(said) && reason.contains("`sync`"), "{reason}");
        assert_eq!(program.statements[stmt].line, line);
    }
}

/// The threads that submit, in turn.
#[derive(Default)]
struct Turns(Vec<usize>);

impl Sink for Turns {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        if matches!(event.kind, Kind::Submitted(_)) {
            self.0.push(event.host.index());
        }
    }
}

#[test]
fn a_seed_picks_among_the_threads_that_could_call() {
    let threads = ["a", "b", "c"].map(|name| format!("thread {name} {{\n  s: k()\n}}\n")).concat();
    let text = format!("stream s\nkernel k() takes 1us\n{threads}");
    let program = millpond::load(&text, &Profile::default()).0.expect("valid");
    let turns = |seed| {
        let mut turns = Turns::default();
        assert!(engine::run(&program, seed, &mut turns).stop.is_none());
        turns.0
    };
    let orders: BTreeSet<Vec<usize>> = (0..100).map(turns).collect();
    assert_eq!(orders.len(), 6, "each order of three threads");
    assert_eq!(turns(7), turns(7));
}
