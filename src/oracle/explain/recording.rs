//! The sink that records a run: its operations and calls with their times, what orders them, and who had which memory.
//!
//! Its memory grows with the run, up to a limit.

use super::{By, Ran, Reuse};
use crate::base::{BarrierId, CollectiveId, EventId, HostId, IndexVec, Nanos, SignalId, StmtId, StreamId};
use crate::oracle::findings::Point;
use crate::trace::{
    AllocId, Call, Cause, Cut, Decision, Detail, Event, Exported, Imported, Kind, Policy, Range, Setup, Sink,
    StreamKind, Target, Ticket, Use,
};
use std::collections::BTreeMap;

/// So many operations and calls are recorded.
const POINTS_MAX: usize = 4_000_000;

/// A run that is recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    setup: Setup,
    points: BTreeMap<Point, Recorded>,
    /// What comes before a point, beside what is before it in its own stream or thread.
    before: BTreeMap<Point, Vec<(Point, By)>>,
    hosts: IndexVec<HostId, Thread>,
    /// How many operations each stream has.
    tails: Vec<u32>,
    records: BTreeMap<EventId, Ticket>,
    /// What is exported under each signal, and the event of another process that each imported one is.
    exported: BTreeMap<SignalId, Exported>,
    imported: BTreeMap<EventId, EventId>,
    /// What has given a signal, or will.
    given: BTreeMap<SignalId, Point>,
    /// Who has come to a barrier so far.
    arrived: BTreeMap<BarrierId, Vec<Point>>,
    /// The parts of the next round of a collective, and of each part of a round those that run with it.
    parts: BTreeMap<CollectiveId, Vec<Ticket>>,
    together: BTreeMap<Ticket, Vec<Ticket>>,
    allocations: BTreeMap<u32, Allocation>,
}

/// An operation or a call.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    stmt: StmtId,
    ran: Option<Ran>,
}

/// A host thread.
#[derive(Clone, Debug, Default)]
struct Thread {
    /// How many calls it has made.
    calls: u32,
    /// The one that it has made last.
    call: Option<Call>,
    /// What it has seen complete, of each stream.
    seen: Vec<u32>,
}

/// An allocation: where it is, and what touches it.
#[derive(Clone, Debug)]
struct Allocation {
    alloc: AllocId,
    stmt: StmtId,
    at: Nanos,
    range: Range,
    policy: Option<Policy>,
    uses: Vec<Point>,
}

impl Recording {
    /// Nothing is recorded so far.
    pub fn new(setup: &Setup) -> Self {
        let thread = || Thread { seen: vec![0; setup.streams.len()], ..Thread::default() };
        Self {
            points: BTreeMap::new(),
            before: BTreeMap::new(),
            hosts: (0..setup.hosts).map(|_| thread()).collect(),
            tails: vec![0; setup.streams.len()],
            records: BTreeMap::new(),
            exported: BTreeMap::new(),
            imported: BTreeMap::new(),
            given: BTreeMap::new(),
            arrived: BTreeMap::new(),
            parts: BTreeMap::new(),
            together: BTreeMap::new(),
            allocations: BTreeMap::new(),
            setup: setup.clone(),
        }
    }

    /// All operations and calls, those of a stream or a thread in their order, with their statements.
    pub fn points(&self) -> impl Iterator<Item = (Point, StmtId)> + '_ {
        self.points.iter().map(|(point, recorded)| (*point, recorded.stmt))
    }

    /// The statement at a point.
    pub(super) fn at(&self, point: Point) -> Option<StmtId> {
        self.points.get(&point).map(|recorded| recorded.stmt)
    }

    /// The call that brought an operation into its stream, if that is another statement's: the launch of a graph.
    pub(super) fn launch(&self, point: Point) -> Option<StmtId> {
        let mut by = self.before.get(&point)?.iter().filter(|(_, by)| *by == By::Submission);
        let call = by.find_map(|(call, _)| self.at(*call))?;
        (Some(call) != self.at(point)).then_some(call)
    }

    /// When what is at a point ran.
    pub(super) fn ran(&self, point: Point) -> Option<Ran> {
        self.points.get(&point).and_then(|recorded| recorded.ran)
    }

    /// Visits what comes right before a point.
    pub(super) fn each_before(&self, point: Point, mut visit: impl FnMut(Point, By)) {
        let own = self.own_before(point);
        own.into_iter().for_each(|own| visit(own, By::Program));
        self.before.get(&point).into_iter().flatten().for_each(|(before, by)| visit(*before, *by));
        // The parts of a collective start after whatever comes before any of them, and end before whatever comes after one.
        let others = |point: Point| match point {
            Point::Operation(ticket) => self.together.get(&ticket).map_or(&[][..], Vec::as_slice),
            Point::Host(..) => &[],
        };
        for other in others(point).iter().map(|other| Point::Operation(*other)) {
            self.own_before(other).into_iter().for_each(|before| visit(before, By::Collective));
            let before = self.before.get(&other).into_iter().flatten();
            before.for_each(|(before, _)| visit(*before, By::Collective));
        }
        let ended = own.map_or(&[][..], others);
        ended.iter().for_each(|other| visit(Point::Operation(*other), By::Collective));
    }

    /// What comes before a point in its own stream or thread.
    fn own_before(&self, point: Point) -> Option<Point> {
        let own = match point {
            Point::Operation(Ticket { stream, seq }) => {
                Point::Operation(Ticket { stream, seq: seq.checked_sub(1)? })
            }
            Point::Host(host, nth) => Point::Host(host, nth.checked_sub(1)?),
        };
        self.points.contains_key(&own).then_some(own)
    }

    /// The next allocation that has got memory of this one, and what used both at once.
    pub(super) fn reuse(&self, alloc: AllocId) -> Option<Reuse> {
        let old = self.allocations.get(&alloc.serial)?;
        let is_next =
            |new: &&Allocation| new.policy.is_some_and(Policy::can_reuse) && new.range.overlaps(old.range);
        let new = self.allocations.range(alloc.serial + 1..).map(|(_, new)| new).find(is_next)?;
        let pairs = old.uses.iter().flat_map(|old| new.uses.iter().map(move |new| (*old, *new)));
        let together = pairs.take(POINTS_MAX).find_map(|(old, new)| {
            let ran = self.ran(old)?.with(self.ran(new)?)?;
            Some((self.at(old)?, self.at(new)?, ran))
        });
        let Allocation { stmt, at, policy, alloc, .. } = *new;
        Some(Reuse { stmt, alloc, policy, at, together })
    }

    fn order(&mut self, before: Point, after: Point, by: By) {
        if self.points.len() < POINTS_MAX && before != after {
            self.before.entry(after).or_default().push((before, by));
        }
    }

    fn put(&mut self, point: Point, stmt: StmtId, ran: Option<Ran>) {
        if self.points.len() < POINTS_MAX {
            self.points.insert(point, Recorded { stmt, ran });
        }
    }

    /// The call that a thread has made last.
    fn latest(&self, host: HostId) -> Point {
        Point::Host(host, self.hosts[host].calls)
    }

    fn root(&self, event: EventId) -> EventId {
        self.imported.get(&event).copied().unwrap_or(event)
    }

    /// A call is made; the one before it has returned.
    fn called(&mut self, event: &Event<'_>, call: &Call) {
        let host = event.host;
        self.settle(host);
        let thread = &mut self.hosts[host];
        thread.calls += 1;
        thread.call = Some(call.clone());
        let point = self.latest(host);
        self.put(point, event.stmt, Some(Ran { start: event.at, end: Some(event.at) }));
        match call {
            Call::Spawn(child) => self.order(point, Point::Host(*child, 1), By::Signal),
            Call::Signal(signal) => {
                self.given.entry(*signal).or_insert(point);
            }
            Call::Export { what, under } => {
                self.exported.insert(*under, *what);
                self.given.entry(*under).or_insert(point);
            }
            Call::Barrier(barrier) => self.arrives(*barrier, point),
            Call::Sync(target) => self.waits(point, *target),
            Call::ResetDevice(device) => self.waits(point, Target::Device(*device)),
            Call::Touch(used) => self.touched(point, &[*used]),
            _ => {}
        }
    }

    /// What a call that has returned has waited for.
    fn settle(&mut self, host: HostId) {
        let point = self.latest(host);
        match self.hosts[host].call.take() {
            Some(Call::Await(signal)) => self.learns(point, signal),
            Some(Call::Import { under, into }) => {
                self.learns(point, under);
                if let (Imported::Event(event), Some(Exported::Event(of))) = (into, self.exported.get(&under))
                {
                    self.imported.insert(event, *of);
                }
            }
            Some(Call::Join(other)) => self.order(self.latest(other), point, By::Signal),
            _ => {}
        }
    }

    fn learns(&mut self, point: Point, signal: SignalId) {
        if let Some(given) = self.given.get(&signal) {
            self.order(*given, point, By::Signal);
        }
    }

    fn arrives(&mut self, barrier: BarrierId, point: Point) {
        let arrived = self.arrived.entry(barrier).or_default();
        arrived.push(point);
        let is_last = arrived.len() as u64 >= u64::from(self.setup.barriers[barrier]);
        if is_last {
            let together = std::mem::take(arrived);
            for one in &together {
                together.iter().for_each(|other| self.order(*one, *other, By::Signal));
            }
        }
    }

    fn waits(&mut self, point: Point, target: Target) {
        for ticket in self.target(target) {
            self.order(Point::Operation(ticket), point, By::Synchronise);
        }
    }

    /// The operations that a synchronise waits for, when called now.
    fn target(&self, target: Target) -> Vec<Ticket> {
        let tail = |stream: StreamId| {
            let seq = self.tails[stream.index()];
            (seq > 0).then_some(Ticket { stream, seq })
        };
        let streams = self.setup.streams.iter_enumerated();
        match target {
            Target::Event(event) => self.records.get(&self.root(event)).copied().into_iter().collect(),
            Target::Device(device) => {
                streams.filter(|(_, stream)| stream.device == device).filter_map(|(id, _)| tail(id)).collect()
            }
            Target::Stream(stream) => {
                let own = self.setup.streams[stream];
                let is_legacy = own.kind == StreamKind::Legacy;
                let joined = streams.filter(|(_, other)| {
                    let is_blocking = matches!(other.kind, StreamKind::Blocking | StreamKind::PerThread);
                    is_legacy && is_blocking && other.device == own.device
                });
                let joined = joined.map(|(id, _)| id);
                std::iter::once(stream).chain(joined).filter_map(tail).collect()
            }
        }
    }

    /// A thread has seen all this complete. A query sees that by luck.
    fn seen(&mut self, host: HostId, seen: &Cut) {
        match self.hosts[host].call {
            // What a synchronise waits for was settled when it was called.
            Some(Call::Query(_) | Call::Sync(_)) => return,
            // What is before that is seen through it.
            Some(Call::Poll(target)) => return self.waits(self.latest(host), target),
            _ => {}
        }
        let point = self.latest(host);
        for (stream, seq) in seen.iter().enumerate() {
            let known = &mut self.hosts[host].seen[stream];
            if *seq > *known {
                *known = *seq;
                let ticket = Ticket { stream: StreamId::new(stream), seq: *seq };
                self.order(Point::Operation(ticket), point, By::Synchronise);
            }
        }
    }

    /// An operation is in its stream; of a launch of a graph, that of a node, whose call came before.
    fn submitted(&mut self, event: &Event<'_>, ticket: Ticket) {
        let tail = &mut self.tails[ticket.stream.index()];
        *tail = (*tail).max(ticket.seq);
        let point = Point::Operation(ticket);
        self.put(point, event.stmt, None);
        self.order(self.latest(event.host), point, By::Submission);
        let Some(call) = self.hosts[event.host].call.take() else { return };
        self.carried_out(&call, ticket);
        self.hosts[event.host].call = Some(call);
    }

    fn carried_out(&mut self, call: &Call, ticket: Ticket) {
        let point = Point::Operation(ticket);
        match call {
            Call::Record { event, .. } => {
                let event = self.root(*event);
                self.records.insert(event, ticket);
            }
            Call::Collective { collective, uses, .. } => {
                self.touched(point, uses);
                self.joins(*collective, ticket);
            }
            Call::HostFunction { gives, uses, .. } => {
                self.touched(point, uses);
                gives.iter().for_each(|signal| {
                    self.given.entry(*signal).or_insert(point);
                });
            }
            Call::Launch { uses, .. } => self.touched(point, uses),
            Call::Copy { to, from, .. } => self.touched(point, &[*to, *from]),
            Call::Memset { at, .. } => self.touched(point, &[*at]),
            _ => {}
        }
    }

    /// The parts of a round run together.
    fn joins(&mut self, collective: CollectiveId, ticket: Ticket) {
        let parts = self.parts.entry(collective).or_default();
        parts.push(ticket);
        if parts.len() as u64 >= u64::from(self.setup.collectives[collective].parts) {
            let parts = std::mem::take(parts);
            for one in &parts {
                let others = parts.iter().copied().filter(|other| other != one);
                self.together.insert(*one, others.collect());
            }
        }
    }

    fn touched(&mut self, point: Point, uses: &[Use]) {
        for alloc in uses.iter().filter_map(|used| used.memory.alloc()) {
            if let Some(allocation) = self.allocations.get_mut(&alloc.serial)
                && allocation.uses.last() != Some(&point)
                && self.points.len() < POINTS_MAX
            {
                allocation.uses.push(point);
            }
        }
    }

    fn decided(&mut self, event: &Event<'_>, decision: &Decision) {
        if self.allocations.len() < POINTS_MAX {
            let Decision { alloc, range, policy, .. } = *decision;
            let (stmt, at) = (event.stmt, event.at);
            let allocation = Allocation { alloc, stmt, at, range, policy, uses: Vec::new() };
            self.allocations.insert(alloc.serial, allocation);
        }
    }
}

impl Sink for Recording {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        match (event.kind, event.ticket) {
            (Kind::Call(call), _) => self.called(event, call),
            (Kind::Failed { .. }, _) => self.hosts[event.host].call = None,
            // The operations of a launch are those of its nodes.
            (Kind::Node { call, .. }, _) => self.hosts[event.host].call = Some(call.clone()),
            (Kind::Submitted(_), Some(ticket)) => self.submitted(event, ticket),
            (Kind::Waits { on, cause }, Some(ticket)) => {
                let by = match cause {
                    Cause::Event => By::Event,
                    Cause::Legacy => By::Legacy,
                    Cause::Graph => By::Graph,
                    // It depends on what the allocator found.
                    Cause::Allocator => return,
                };
                self.order(Point::Operation(on), Point::Operation(ticket), by);
            }
            (Kind::Seen { seen }, _) => self.seen(event.host, seen),
            (Kind::Decided(decision), _) => self.decided(event, decision),
            (Kind::Start, Some(ticket)) => {
                if let Some(recorded) = self.points.get_mut(&Point::Operation(ticket)) {
                    recorded.ran = Some(Ran { start: event.at, end: None });
                }
            }
            (Kind::End, Some(ticket)) => {
                let recorded = self.points.get_mut(&Point::Operation(ticket));
                if let Some(ran) = recorded.and_then(|recorded| recorded.ran.as_mut()) {
                    ran.end = Some(event.at);
                }
            }
            _ => {}
        }
    }
}
