//! A whole run: the program's host threads make their calls to a machine until they end, one breaks off, or nothing can
//! advance.

use super::{Chooser, Machine, Progress, Seeded, Timeline};
use crate::base::{HostId, IndexVec, Nanos, StmtId, grouped, reuse_on_clone};
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::model::oxicuda::Oxicuda;
use crate::scenario::{Action, Cursor, GraphAction, Program, Step};
use crate::trace::{Call, Detail, Event, Failure, Kind, Model, Reply, Setup, Sink, Waiter};
use std::collections::BTreeSet;
use std::task::Poll;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// When the last operation completed, or the host made its last call.
    pub at: Nanos,
    /// Why it stopped before the end of the program, if it did.
    pub stop: Option<Stop>,
}

/// Why a run stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing could advance any more; the sink was told who waits for whom.
    Deadlock {
        /// The call that blocks, or the last statement.
        stmt: StmtId,
    },
    /// A value could not be computed, or does not fit where it is used.
    Broken {
        /// The statement.
        stmt: StmtId,
        /// Why, in a few words.
        reason: String,
    },
}

/// How much a run may keep: it has to end before memory does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most operations that may be in flight at once.
    pub in_flight: usize,
    /// The most counters that may be kept for past operations, one a stream for each that waits for another stream.
    pub counters: usize,
}

impl Default for Limits {
    /// One to two GiB.
    fn default() -> Self {
        Self { in_flight: 10_000_000, counters: 500_000_000 }
    }
}

/// Runs a program on its model in virtual time. The same program and seed give the same events.
pub fn run<S: Sink>(program: &Program, seed: u64, sink: S) -> Ending {
    match program.setup.model {
        Model::Cuda => run_with(Cuda::new, program, seed, sink),
        Model::Oxicuda => run_with(Oxicuda::new, program, seed, sink),
    }
}

fn run_with<A: Allocator, S: Sink>(new: fn(&Setup) -> A, program: &Program, seed: u64, sink: S) -> Ending {
    let setup = &program.setup;
    let timeline = Timeline::new(setup.streams.len());
    let chooser = Seeded::new(program, seed);
    run_on(program, &mut Machine::new(setup, new(setup), timeline, chooser, sink), Limits::default())
}

/// Runs a program on a machine that has made no call yet.
pub fn run_on<A, P, C, S>(program: &Program, machine: &mut Machine<A, P, C, S>, limits: Limits) -> Ending
where
    A: Allocator,
    P: Progress,
    C: Chooser,
    S: Sink,
{
    Places::new(program).run(program, machine, limits)
}

/// Where the host threads are in their program.
#[derive(Debug)]
pub(super) struct Places {
    cursor: Cursor,
    /// The host threads that have begun and not ended, in the order in which they began.
    alive: Vec<HostId>,
    /// For each thread, its latest call, and whether that blocks.
    calls: IndexVec<HostId, (Call, bool)>,
    /// Of the threads, the ones that could call next.
    ties: Vec<HostId>,
}

reuse_on_clone!(Places { cursor, alive, calls, ties });

impl Places {
    /// At the start of a program.
    pub(super) fn new(program: &Program) -> Self {
        let calls = (0..program.setup.hosts).map(|_| (Call::Exit, false)).collect();
        Self { cursor: Cursor::new(program), alive: vec![MAIN], calls, ties: Vec::new() }
    }

    /// Runs the program to its end.
    pub(super) fn run<A, P, C, S>(
        &mut self,
        program: &Program,
        machine: &mut Machine<A, P, C, S>,
        limits: Limits,
    ) -> Ending
    where
        A: Allocator,
        P: Progress,
        C: Chooser,
        S: Sink,
    {
        let mut run = Run { program, machine, places: self, limits };
        let stop = loop {
            match run.turn() {
                Ok(true) => {}
                Ok(false) => break None,
                Err(stop) => break Some(stop),
            }
        };
        run.end(stop)
    }
}

/// What a walk asks for, which leads the run itself.
impl Places {
    pub(super) fn alive(&self) -> &[HostId] {
        &self.alive
    }

    pub(super) fn cursor(&self) -> &Cursor {
        &self.cursor
    }

    pub(super) fn call(&self, host: HostId) -> &Call {
        &self.calls[host].0
    }

    /// Goes on to the next call of a thread, which its next turn makes. `None`: it has ended.
    pub(super) fn fetch<A: Allocator, P: Progress, C: Chooser, S: Sink>(
        &mut self,
        program: &Program,
        machine: &mut Machine<A, P, C, S>,
        host: HostId,
    ) -> Result<Option<(StmtId, &Call)>, Stop> {
        loop {
            let (call, blocks) = &mut self.calls[host];
            if *blocks {
                return Ok(Some((self.cursor.latest(host), &self.calls[host].0)));
            }
            match self.cursor.next(program, host, call) {
                Step::Call(_) => *blocks = true,
                other => {
                    let mut run = Run { program, machine, places: self, limits: Limits::default() };
                    run.without_call(host, other)?;
                    if !self.alive.contains(&host) {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Makes the call that was fetched.
    pub(super) fn turn_of<A: Allocator, P: Progress, C: Chooser, S: Sink>(
        &mut self,
        program: &Program,
        machine: &mut Machine<A, P, C, S>,
        host: HostId,
        limits: Limits,
    ) -> Result<Poll<Result<Reply, Failure>>, Stop> {
        let stmt = self.cursor.latest(host);
        Run { program, machine, places: self, limits }.make(host, stmt)
    }

    pub(super) fn hang<A: Allocator, P: Progress, C: Chooser, S: Sink>(
        &mut self,
        program: &Program,
        machine: &mut Machine<A, P, C, S>,
    ) -> Stop {
        let first = self.alive.first().copied().unwrap_or(MAIN);
        Run { program, machine, places: self, limits: Limits::default() }.hang(first)
    }

    pub(super) fn end<A: Allocator, P: Progress, C: Chooser, S: Sink>(
        &mut self,
        program: &Program,
        machine: &mut Machine<A, P, C, S>,
        stop: Option<Stop>,
    ) -> Ending {
        Run { program, machine, places: self, limits: Limits::default() }.end(stop)
    }
}

/// The host thread that begins the program.
pub(super) const MAIN: HostId = HostId::from_raw_unchecked(0);

/// A run in progress.
struct Run<'r, A, P, C, S> {
    program: &'r Program,
    machine: &'r mut Machine<A, P, C, S>,
    places: &'r mut Places,
    limits: Limits,
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Run<'_, A, P, C, S> {
    /// One step of the host thread whose turn it is. `false`: all of them have ended.
    fn turn(&mut self) -> Result<bool, Stop> {
        let Some(host) = self.host()? else { return Ok(false) };
        self.turn_of(host)?;
        Ok(true)
    }

    /// One step of a host thread that can go on.
    fn turn_of(&mut self, host: HostId) -> Result<(), Stop> {
        let Places { cursor, calls, .. } = &mut *self.places;
        let (call, blocks) = &mut calls[host];
        let step = match *blocks {
            true => Step::Call(cursor.latest(host)),
            false => cursor.next(self.program, host, call),
        };
        match step {
            Step::Call(stmt) => self.make(host, stmt).map(drop),
            other => self.without_call(host, other),
        }
    }

    /// Makes the latest call of a thread, also again.
    fn make(&mut self, host: HostId, stmt: StmtId) -> Result<Poll<Result<Reply, Failure>>, Stop> {
        let (call, blocks) = &mut self.places.calls[host];
        let result = self.machine.call(host, stmt, call);
        *blocks = result.is_pending();
        if let Poll::Ready(result) = &result {
            self.answered(host, stmt, result);
            self.limits(stmt)?;
        }
        Ok(result)
    }

    /// A step that is no call.
    fn without_call(&mut self, host: HostId, step: Step) -> Result<(), Stop> {
        match step {
            Step::Call(_) => {}
            Step::Skipped(stmt, buffer) => self.tell(host, stmt, Kind::Skipped(buffer)),
            Step::Broken(stmt, broken) => return Err(Stop::Broken { stmt, reason: broken.to_string() }),
            Step::Done => self.places.alive.retain(|other| *other != host),
        }
        Ok(())
    }

    /// Devices go on to the end of what they have; what hangs then is told.
    fn end(&mut self, stop: Option<Stop>) -> Ending {
        while self.machine.step(None) {}
        let last = self.places.cursor.latest(MAIN);
        let hangs = stop.is_none() && self.tell_deadlock(MAIN, last);
        let stop = stop.or_else(|| hangs.then_some(Stop::Deadlock { stmt: last }));
        Ending { at: self.machine.now(), stop }
    }

    /// Nothing can advance, and somebody should.
    fn hang(&mut self, first: HostId) -> Stop {
        let stmt = self.places.cursor.latest(first);
        self.tell_deadlock(first, stmt);
        Stop::Deadlock { stmt }
    }

    /// Stops a run that would fill memory.
    fn limits(&self, stmt: StmtId) -> Result<(), Stop> {
        let order = self.machine.order();
        let Limits { in_flight, counters } = self.limits;
        let what = match (order.in_flight() > in_flight, order.counters() > counters) {
            (false, false) => return Ok(()),
            (true, _) => format!("more than {} operations are in flight", grouped(in_flight as u64)),
            (false, true) => "too many operations that wait for others are in flight".to_owned(),
        };
        Err(Stop::Broken { stmt, reason: format!("{what}; a `sync` in between lets go of them") })
    }

    /// The thread whose turn it is: the earliest one that can go on, chosen among equals. Devices get on as far as that.
    fn host(&mut self) -> Result<Option<HostId>, Stop> {
        if let [only] = *self.places.alive
            && self.machine.time(only).is_some()
        {
            return Ok(Some(only));
        }
        loop {
            self.places.ties.clear();
            let mut earliest = None;
            for host in &self.places.alive {
                let Some(time) = self.machine.time(*host) else { continue };
                if earliest.is_some_and(|earliest| earliest < time) {
                    continue;
                }
                if earliest != Some(time) {
                    earliest = Some(time);
                    self.places.ties.clear();
                }
                self.places.ties.push(*host);
            }
            let Places { alive, ties, calls, .. } = &*self.places;
            let Some(first) = alive.first().copied() else { return Ok(None) };
            match ties.as_slice() {
                // What completes before that time may let another thread go on earlier.
                [_, ..] if alive.len() > 1 && self.machine.step(earliest) => {}
                [] if self.machine.step(None) => {}
                [] => return Err(self.hang(first)),
                [only] => return Ok(Some(*only)),
                several => {
                    let returns = |host: HostId| calls[host].1;
                    return Ok(Some(several[self.machine.pick(several, &returns)]));
                }
            }
        }
    }

    fn answered(&mut self, host: HostId, stmt: StmtId, result: &Result<Reply, Failure>) {
        if let (Ok(Reply::Allocated(_)), Some(buffer)) = (result, self.places.cursor.naming(host)) {
            self.tell(host, stmt, Kind::Named(buffer));
        }
        self.places.cursor.answer(host, result);
        match self.places.calls[host] {
            (Call::Spawn(child), _) => self.places.alive.push(child),
            (Call::Exit, _) => self.places.alive.retain(|other| *other != host),
            _ => {}
        }
    }

    /// Nothing can advance: tells the sink who waits for whom.
    fn tell_deadlock(&mut self, host: HostId, stmt: StmtId) -> bool {
        let Self { program, machine, places, .. } = self;
        let Places { cursor, alive, .. } = &**places;
        let ahead = alive.iter().flat_map(|host| {
            let brought = cursor.ahead(program, *host).filter_map(brought);
            brought.map(|what| (*host, what))
        });
        let ahead: BTreeSet<_> = ahead.collect();
        machine.tell_deadlock(host, stmt, &|host, what| ahead.contains(&(host, what)))
    }

    /// Tells the sink what only the program knows.
    #[inline(always)]
    fn tell(&mut self, host: HostId, stmt: StmtId, kind: Kind<'_>) {
        if self.machine.sink().wants(Detail::Events) {
            let at = self.machine.time(host).unwrap_or_else(|| self.machine.now());
            self.machine.sink().event(&Event { at, host, stmt, ticket: None, kind });
        }
    }
}

/// What an action brings that somebody may wait for.
fn brought(action: &Action) -> Option<Waiter> {
    match action {
        Action::Signal(signal) | Action::Export { under: signal, .. } => Some(Waiter::Signal(*signal)),
        Action::HostFunction { gives, .. } => gives.map(Waiter::Signal),
        Action::Collective { collective, .. } => Some(Waiter::Parts(*collective)),
        Action::Barrier(barrier) => Some(Waiter::Barrier(*barrier)),
        Action::Graph(GraphAction::Node { node, .. }) => brought(node),
        _ => None,
    }
}
