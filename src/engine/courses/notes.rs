//! What is noted of a run, to follow it: what holds up its host, its operations and what they come after, what its calls ask.

use super::{Beat, Links, Sheet};
use crate::base::{HostId, Nanos, StmtId, reuse_on_clone};
use crate::engine::run::{Ending, Limits, MAIN, Places};
use crate::engine::{Chooser, Machine, Seeded, Stop, Timeline};
use crate::model::Candidates;
use crate::model::cuda::Cuda;
use crate::scenario::Program;
use crate::trace::{Call, Detail, Event, Kind, Law, Sink, Ticket};

/// A call that asks about more operations than fit into an answer is not noted.
const ASKED_MAX: usize = 64;

/// A chooser that notes what it is asked.
#[derive(Debug)]
pub(super) struct Noting {
    seeded: Seeded,
    /// The latest duration that was drawn.
    takes: Option<(StmtId, Law)>,
    /// What holds up the host.
    pays: Vec<(StmtId, Nanos)>,
}

reuse_on_clone!(Noting { seeded, takes, pays });

impl Noting {
    pub(super) fn new(seeded: Seeded) -> Self {
        Self { seeded, takes: None, pays: Vec::new() }
    }

    pub(super) fn reseed(&mut self, seed: u64) {
        self.seeded.reseed(seed);
    }
}

impl Chooser for Noting {
    fn duration(&mut self, stmt: StmtId, law: &Law) -> Nanos {
        self.takes = Some((stmt, *law));
        self.seeded.duration(stmt, law)
    }

    fn delay(&mut self, stmt: StmtId, stated: Nanos) -> Nanos {
        if stated > Nanos::ZERO {
            self.pays.push((stmt, stated));
        }
        self.seeded.delay(stmt, stated)
    }

    fn pick(&mut self, among: &[HostId], returns: &dyn Fn(HostId) -> bool) -> usize {
        self.seeded.pick(among, returns)
    }
}

/// A sink that notes the latest operation and what that waits for.
pub(super) struct Heard<S> {
    sink: S,
    submitted: Option<Ticket>,
    waits: Vec<Ticket>,
}

impl<S: Sink> Sink for Heard<S> {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events || self.sink.wants(detail)
    }

    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Submitted(_) => {
                self.submitted = event.ticket;
                self.waits.clear();
            }
            Kind::Waits { on, .. } => self.waits.push(on),
            _ => {}
        }
        self.sink.event(event);
    }
}

/// The notes of one run.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) sheet: Sheet,
    /// For each stream, the numbers of its operations in the run.
    numbers: Vec<Vec<u32>>,
    operations: u32,
    candidates: Candidates,
    is_too_much: bool,
}

type Noted<S> = Machine<Cuda, Timeline, Noting, Heard<S>>;

impl Notes {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            sheet: Sheet::default(),
            numbers: program.setup.streams.iter().map(|_| Vec::new()).collect(),
            operations: 0,
            candidates: Candidates::default(),
            is_too_much: false,
        }
    }

    /// The sink that a run tells, of which notes are taken.
    pub(super) fn hear<S: Sink>(&self, sink: S) -> Heard<S> {
        Heard { sink, submitted: None, waits: Vec::new() }
    }

    /// Whether everything was noted.
    pub(super) fn are_whole(&self) -> bool {
        !self.is_too_much
    }

    /// Runs the program to its end and takes notes.
    pub(super) fn take<S: Sink>(
        &mut self,
        program: &Program,
        machine: &mut Noted<S>,
        places: &mut Places,
    ) -> Ending {
        self.sheet.clear();
        self.numbers.iter_mut().for_each(Vec::clear);
        (self.operations, self.is_too_much) = (0, false);
        let stop = loop {
            match self.step(program, machine, places) {
                Ok(true) => {}
                Ok(false) => break None,
                Err(stop) => break Some(stop),
            }
        };
        self.sheet.beats.push(Beat::Over(0));
        places.end(program, machine, stop)
    }

    /// The next call. `false`: there is none.
    fn step<S: Sink>(
        &mut self,
        program: &Program,
        machine: &mut Noted<S>,
        places: &mut Places,
    ) -> Result<bool, Stop> {
        let Some((_, call)) = places.fetch(program, machine, MAIN)? else { return Ok(false) };
        let waits = !matches!(call, Call::Query(_));
        self.asks(machine, call);
        machine.threads.hosts[MAIN].target.clear();
        while places.turn_of(program, machine, MAIN, Limits::default())?.is_pending() {
            while machine.time(MAIN).is_none() {
                if !machine.step(None) {
                    return Err(places.hang(program, machine));
                }
            }
        }
        if !waits {
            machine.threads.hosts[MAIN].target.clear();
        }
        self.has_called(machine);
        Ok(true)
    }

    /// What the answer to a call hangs on, as far as devices are concerned.
    fn asks<S: Sink>(&mut self, machine: &mut Noted<S>, call: &Call) {
        let Self { sheet, numbers, candidates, .. } = self;
        machine.candidates(MAIN, call, candidates);
        if let Call::Query(target) = call {
            machine.order.target(*target, &mut machine.threads.hosts[MAIN].target);
            let target = machine.threads.hosts[MAIN].target.iter().zip(machine.order.seen(MAIN)).enumerate();
            let unseen = target.filter(|(_, (asked, seen))| asked > seen);
            let ticket = |(stream, (seq, _)): (usize, (&u32, _))| Ticket { stream: stream.into(), seq: *seq };
            candidates.together.extend(unseen.map(ticket));
        }
        if candidates.alone.is_empty() && candidates.together.is_empty() {
            return;
        }
        let number = |ticket: &Ticket| numbers[ticket.stream.index()][ticket.seq as usize - 1];
        let mut asked = |tickets: &mut Vec<Ticket>| {
            tickets.sort_unstable();
            tickets.dedup();
            sheet.link(tickets.iter().map(number))
        };
        let (alone, together) = (asked(&mut candidates.alone), asked(&mut candidates.together));
        self.is_too_much |= alone.len() + together.len() > ASKED_MAX;
        self.sheet.beats.push(Beat::Asks { alone, together, fork: 0 });
    }

    /// What a call has done that takes time.
    fn has_called<S: Sink>(&mut self, machine: &mut Noted<S>) {
        let Self { sheet, numbers, operations, .. } = self;
        let number = |ticket: &Ticket| numbers[ticket.stream.index()][ticket.seq as usize - 1];
        if let Some(ticket) = machine.sink.submitted.take() {
            let waits = sheet.link(machine.sink.waits.iter().map(number));
            if !waits.is_empty() {
                sheet.beats.push(Beat::Waits(waits));
            }
            sheet.beats.push(match machine.chooser.takes.take() {
                Some((stmt, law)) => Beat::Submits(ticket.stream, stmt, law),
                None => Beat::Marks(ticket.stream),
            });
            numbers[ticket.stream.index()].push(*operations);
            *operations += 1;
        }
        let target = machine.threads.hosts[MAIN].target.iter().enumerate().filter(|(_, seq)| **seq > 0);
        let awaited: Links = sheet.link(target.map(|(stream, seq)| numbers[stream][*seq as usize - 1]));
        if !awaited.is_empty() {
            sheet.beats.push(Beat::Awaits(awaited));
        }
        sheet.beats.extend(machine.chooser.pays.drain(..).map(|(stmt, stated)| Beat::Pays(stmt, stated)));
    }
}
