//! What is ordered before what: the clocks of the streams, and the operations in flight with their edges.
//!
//! Streams are first in, first out, so a set of operations that is closed under order is a cut, one counter a stream.
//! Edges go from older to newer operations: the graph has no cycle by construction. It must not know allocators or time.
//!
//! Rules: CUDA driver API, `cuEventRecord` and `cuStreamWaitEvent` (a wait binds the record that is latest at its call;
//! an event without a record is no wait), and "Stream synchronization behavior" (the legacy default stream).

mod clocks;
mod deadlock;
mod flight;
mod history;

pub use deadlock::cycle;
pub use flight::{Operation, Runs};

use crate::base::{EventId, HostId, ProcessId, StreamId, fold, reuse_on_clone};
use crate::trace::{Cause, Cut, Setup, StreamKind, StreamSetup, Target, Ticket, join};
use clocks::Clocks;
use flight::Flight;
use history::History;

/// The order of one run so far.
#[derive(Debug)]
pub struct Order {
    lanes: Vec<Lane>,
    /// For each device, its legacy default stream where the program uses it.
    legacy: Vec<Option<StreamId>>,
    /// The latest record of each event.
    records: Vec<Option<Ticket>>,
    clocks: Clocks,
    rows: Rows,
    /// How often each host's cut has grown.
    host_versions: Vec<u32>,
    /// For each stream and each host, the version of the host's cut that the stream's clock already contains.
    met: Vec<u32>,
    /// The process of each host thread.
    processes: Vec<ProcessId>,
    flight: Flight,
    history: History,
    view: Vec<u32>,
    /// The stream of the operation submitted last, where that is ordered after more than the one before it.
    grown: Option<usize>,
}

/// A stream as the order sees it.
#[derive(Clone, Copy, Debug)]
struct Lane {
    device: usize,
    process: ProcessId,
    kind: StreamKind,
    submitted: u32,
    /// The latest operation of the legacy stream that its operations are already ordered after.
    fenced: u32,
}

/// Where the clocks of each kind begin. Those of streams come first: what is ordered before the end of the last operation that was
/// submitted, that operation included.
#[derive(Clone, Copy, Debug)]
struct Rows {
    /// What each event captured last.
    events: usize,
    /// For each host thread, what is ordered before everything that it submits from now on.
    hosts: usize,
    /// What host synchronisation has proven complete.
    observed: usize,
    /// For each device, what is ordered before everything that its blocking streams submit from now on.
    barriers: usize,
    /// For each device with a legacy stream, the clocks of its blocking streams, joined.
    blocking: usize,
}

reuse_on_clone!(Order {
    lanes,
    legacy,
    records,
    clocks,
    rows,
    host_versions,
    met,
    processes,
    flight,
    history,
    view,
    grown
});

/// What an operation does to the order beyond taking its place in its stream.
#[derive(Clone, Copy, Debug)]
pub enum Effect<'a> {
    /// Nothing.
    None,
    /// The event captures the stream up to this operation.
    Record(EventId),
    /// The operation waits for what the event has captured by now.
    Wait(EventId),
    /// The operation waits for these, since the allocator says so.
    Allocator(&'a [Ticket]),
    /// The operation is part of a launch of a graph, and waits for these.
    Graph(&'a [Ticket]),
}

impl Order {
    /// The order before the first call.
    pub fn new(setup: &Setup) -> Self {
        let (hosts, devices, width) = (setup.hosts, setup.devices.len(), setup.streams.len());
        let events = width;
        let observed = events + setup.events.len() + hosts;
        let barriers = observed + 1;
        let rows = Rows { events, hosts: observed - hosts, observed, barriers, blocking: barriers + devices };
        let lane = |stream: &crate::trace::StreamSetup| Lane {
            device: stream.device.index(),
            process: setup.devices[stream.device].process,
            kind: stream.kind,
            submitted: 0,
            fenced: 0,
        };
        let legacy_of = |device| {
            let mut streams = setup.streams.iter_enumerated();
            streams.find(|(_, s)| s.kind == StreamKind::Legacy && s.device == device).map(|(id, _)| id)
        };
        Self {
            lanes: setup.streams.iter().map(lane).collect(),
            legacy: setup.devices.indices().map(legacy_of).collect(),
            records: vec![None; setup.events.len()],
            clocks: Clocks::new(rows.blocking + devices, width),
            rows,
            host_versions: vec![0; hosts],
            met: vec![0; width * hosts],
            processes: (0..hosts).map(|host| setup.process_of(HostId::from_usize(host))).collect(),
            flight: Flight::new(width),
            history: History::new(width),
            view: vec![0; width],
            grown: None,
        }
    }

    /// The ticket that the next operation of a stream would get. `None`: the limit of 2^32-1 operations is reached.
    #[inline]
    pub fn next_ticket(&self, stream: StreamId) -> Option<Ticket> {
        let seq = self.lanes[stream.index()].submitted.checked_add(1)?;
        Some(Ticket { stream, seq })
    }

    /// What would be ordered before an operation that this host submitted to this stream now.
    pub fn ordered(&mut self, host: HostId, stream: StreamId) -> &Cut {
        self.known(host, stream).0
    }

    /// Puts into the view what is ordered before the next operation of a stream.
    fn catch_up(&mut self, host: HostId, stream: StreamId) {
        let (lane, rows) = (&self.lanes[stream.index()], &self.rows);
        self.view.copy_from_slice(self.clocks.get(stream.index()));
        join(&mut self.view, self.clocks.get(rows.hosts + host.index()));
        match lane.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking | StreamKind::PerThread => {
                join(&mut self.view, self.clocks.get(rows.barriers + lane.device));
            }
            StreamKind::Legacy => {
                join(&mut self.view, self.clocks.get(rows.blocking + lane.device));
            }
        }
    }

    /// The same, beside what the host has seen complete, and what host synchronisation has proven complete.
    pub fn known(&mut self, host: HostId, stream: StreamId) -> (&Cut, &Cut, &Cut) {
        let is_behind = self.is_behind(stream, host);
        if is_behind {
            self.catch_up(host, stream);
        }
        let ordered = if is_behind { &self.view } else { self.clocks.get(stream.index()) };
        (ordered, self.seen(host), self.observed())
    }

    /// Whether the clock of a stream may lack something that its next operation is ordered after.
    #[inline(always)]
    fn is_behind(&self, stream: StreamId, host: HostId) -> bool {
        let lane = &self.lanes[stream.index()];
        self.met[self.meeting(stream, host)] != self.host_versions[host.index()]
            || match lane.kind {
                StreamKind::NonBlocking => false,
                StreamKind::Legacy => true,
                StreamKind::Blocking | StreamKind::PerThread => self.legacy[lane.device]
                    .is_some_and(|legacy| lane.fenced != self.lanes[legacy.index()].submitted),
            }
    }

    /// The place of a stream and a host among those that have met.
    #[inline]
    fn meeting(&self, stream: StreamId, host: HostId) -> usize {
        stream.index() * self.host_versions.len() + host.index()
    }

    /// Appends an operation to a stream. `waits` receives the operations of other streams that it is made to wait for,
    /// whether they are still in flight or not. The ticket is the one that [`Order::next_ticket`] told.
    ///
    /// # Panics
    /// When the stream already has 2^32-1 operations.
    pub fn submit(
        &mut self,
        stream: StreamId,
        operation: Operation,
        effect: Effect<'_>,
        waits: &mut Vec<(Ticket, Cause)>,
    ) -> Ticket {
        waits.clear();
        let index = stream.index();
        let ticket = self.next_ticket(stream).expect("the caller checks the limit on operations");
        let behind = self.is_behind(stream, operation.host);
        if behind {
            self.catch_up(operation.host, stream);
            self.view.swap_with_slice(self.clocks.get_mut(index));
            self.collect_fences(stream, waits);
        }
        self.apply_wait(index, effect, waits);
        let met = self.meeting(stream, operation.host);
        self.met[met] = self.host_versions[operation.host.index()];
        let (lane, rows) = (&mut self.lanes[index], &self.rows);
        lane.submitted = ticket.seq;
        let clock = self.clocks.get_mut(index);
        clock[index] = ticket.seq;
        let has_grown = behind || !waits.is_empty();
        self.grown = has_grown.then_some(index);
        if has_grown {
            self.history.push(ticket, clock);
        }
        if self.legacy[lane.device].is_some() && lane.is_blocking_on(lane.device) {
            self.clocks.join(index, rows.blocking + lane.device);
        }
        if lane.kind == StreamKind::Legacy {
            self.clocks.copy(index, rows.barriers + lane.device);
        }
        if let Effect::Record(event) = effect {
            self.records[event.index()] = Some(ticket);
            self.clocks.copy(index, rows.events + event.index());
        }
        self.flight.push(ticket, operation, waits);
        ticket
    }

    /// What is ordered before the end of the operation submitted last, where that is more than its stream says.
    #[inline]
    pub fn grown(&self) -> Option<&Cut> {
        self.grown.map(|stream| self.clocks.get(stream))
    }

    /// The edges by which the legacy stream orders this operation.
    fn collect_fences(&mut self, stream: StreamId, waits: &mut Vec<(Ticket, Cause)>) {
        let lane = &self.lanes[stream.index()];
        let device = lane.device;
        match lane.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Legacy => {
                let blocking =
                    self.lanes.iter().enumerate().filter(|(_, other)| other.is_blocking_on(device));
                let tails = blocking.map(|(index, other)| (index, other.submitted));
                // What it was ordered after before stands in `view` since the clocks were swapped.
                let news = tails.filter(|(index, seq)| *seq > self.view[*index]);
                let waited = news.map(|(index, seq)| Ticket { stream: StreamId::from(index), seq });
                waits.extend(waited.map(|ticket| (ticket, Cause::Legacy)));
            }
            StreamKind::Blocking | StreamKind::PerThread => {
                let Some(legacy) = self.legacy[device] else { return };
                let seq = self.lanes[legacy.index()].submitted;
                if self.lanes[stream.index()].fenced != seq {
                    self.lanes[stream.index()].fenced = seq;
                    waits.push((Ticket { stream: legacy, seq }, Cause::Legacy));
                }
            }
        }
    }

    fn apply_wait(&mut self, index: usize, effect: Effect<'_>, waits: &mut Vec<(Ticket, Cause)>) {
        match effect {
            Effect::None | Effect::Record(_) => {}
            Effect::Wait(event) => {
                let record = self.records[event.index()];
                if let Some(at) = record.filter(|at| at.stream.index() != index) {
                    self.clocks.join(self.rows.events + event.index(), index);
                    waits.push((at, Cause::Event));
                }
            }
            Effect::Allocator(tickets) => {
                for ticket in tickets {
                    self.history.join_into(*ticket, self.clocks.get_mut(index));
                    waits.push((*ticket, Cause::Allocator));
                }
            }
            Effect::Graph(tickets) => {
                for ticket in tickets.iter().filter(|ticket| ticket.stream.index() != index) {
                    self.history.join_into(*ticket, self.clocks.get_mut(index));
                    waits.push((*ticket, Cause::Graph));
                }
            }
        }
    }

    /// What has to be complete before a synchronise with this target returns.
    pub fn target(&self, target: Target, into: &mut Vec<u32>) {
        into.clear();
        into.resize(self.lanes.len(), 0);
        let mut add = |row: usize| {
            join(into, self.clocks.get(row));
        };
        let lanes = self.lanes.iter().enumerate();
        match target {
            Target::Stream(stream) => {
                let lane = &self.lanes[stream.index()];
                add(stream.index());
                if lane.kind == StreamKind::Legacy {
                    lanes.filter(|(_, l)| l.is_blocking_on(lane.device)).for_each(|(row, _)| add(row));
                }
            }
            Target::Event(event) => add(self.rows.events + event.index()),
            Target::Device(device) => {
                lanes.filter(|(_, l)| l.device == device.index()).for_each(|(row, _)| add(row));
            }
        }
    }

    /// The streams whose last operations a synchronise with this target waits for directly.
    pub fn awaited(&self, target: Target) -> impl Iterator<Item = StreamId> + '_ {
        let is_awaited = move |(index, lane): &(usize, &Lane)| match target {
            Target::Stream(stream) => {
                let own = &self.lanes[stream.index()];
                *index == stream.index() || own.kind == StreamKind::Legacy && lane.is_blocking_on(own.device)
            }
            Target::Event(event) => self.recorded_on(event).is_some_and(|stream| stream.index() == *index),
            Target::Device(device) => lane.device == device.index(),
        };
        self.lanes.iter().enumerate().filter(is_awaited).map(|(index, _)| StreamId::from(index))
    }

    /// What a host thread has seen complete, by synchronising or by asking.
    pub fn seen(&self, host: HostId) -> &Cut {
        self.clocks.get(self.rows.hosts + host.index())
    }

    /// The latest record of an event.
    #[inline]
    pub fn recorded(&self, event: EventId) -> Option<Ticket> {
        self.records[event.index()]
    }

    /// The stream that an event was recorded on last.
    pub fn recorded_on(&self, event: EventId) -> Option<StreamId> {
        self.recorded(event).map(|ticket| ticket.stream)
    }

    /// The host has seen that everything in the cut is complete: it is ordered before what this host submits from now on.
    pub fn see(&mut self, host: HostId, cut: &Cut) {
        if join(self.clocks.get_mut(self.rows.hosts + host.index()), cut) {
            self.host_versions[host.index()] += 1;
        }
    }

    /// The process of a host thread.
    pub fn process_of(&self, host: HostId) -> ProcessId {
        self.processes[host.index()]
    }

    /// What one host thread has seen complete, another one has now seen too.
    pub fn follow(&mut self, from: HostId, to: HostId) {
        if from != to {
            let mut seen = std::mem::take(&mut self.view);
            seen.copy_from_slice(self.seen(from));
            self.see(to, &seen);
            self.view = seen;
        }
    }

    /// A host synchronise has returned: everything in the cut is seen by this host, and observed as far as it is of the
    /// host's process. The allocator of one process learns nothing from what another one waits for.
    pub fn observe(&mut self, host: HostId, cut: &Cut) {
        self.see(host, cut);
        let process = self.process_of(host);
        let mut is_news = false;
        let all_observed = self.clocks.get_mut(self.rows.observed);
        for ((lane, observed), seq) in self.lanes.iter().zip(&mut *all_observed).zip(cut) {
            if lane.process == process && *observed < *seq {
                (*observed, is_news) = (*seq, true);
            }
        }
        if is_news {
            self.history.forget_observed(all_observed);
        }
    }

    /// What host synchronisation has proven complete.
    pub fn observed(&self) -> &Cut {
        self.clocks.get(self.rows.observed)
    }

    /// The operation at the head of a stream, when no other stream keeps it from starting.
    #[inline]
    pub fn ready(&self, stream: StreamId) -> Option<(Ticket, Operation)> {
        self.flight.ready(stream)
    }

    /// Whether an operation in flight is at the head of its stream, and no other stream keeps it from starting.
    #[inline]
    pub fn is_ready(&self, ticket: Ticket) -> bool {
        self.flight.is_ready(ticket)
    }

    /// The oldest operation of a stream that has not completed.
    pub fn head(&self, stream: StreamId) -> Option<(Ticket, Operation)> {
        self.flight.head(stream)
    }

    /// The operation of a ticket, unless it has completed.
    pub fn operation(&self, ticket: Ticket) -> Option<Operation> {
        self.flight.operation(ticket)
    }

    /// The operations in flight that keep the head of a stream from starting.
    pub fn blockers(&self, stream: StreamId) -> impl Iterator<Item = Ticket> + '_ {
        self.flight.blockers(stream)
    }

    /// The head of a stream has completed. Streams whose head can start because of that are added to `ready`.
    pub fn retire(&mut self, stream: StreamId, ready: &mut Vec<StreamId>) -> (Ticket, Operation) {
        self.flight.retire(stream, ready)
    }

    /// Whether every operation in the cut has completed. If not, `lacks` becomes a stream with one that has not; it is looked
    /// at first.
    pub fn is_complete(&self, cut: &Cut, lacks: &mut usize) -> bool {
        self.flight.is_complete(cut, lacks)
    }

    /// Adds to a cut what each of its operations waits for, by its stream, by edges, and by what `brings` adds for it.
    ///
    /// # Errors
    /// Those of `brings`.
    pub fn close<E>(
        &self,
        cut: &mut [u32],
        brings: impl FnMut(Operation, Ticket, &mut [u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.flight.close(cut, brings)
    }

    /// Adds to a cut what an operation waits for before it can start.
    pub fn reach(&self, ticket: Ticket, cut: &mut [u32]) {
        self.flight.reach(ticket, cut);
    }

    /// How many operations of each stream have completed.
    pub fn completed(&self, into: &mut Vec<u32>) {
        self.flight.completed(into);
    }

    /// Makes another stream of one that nobody uses any more; its tickets count on. `false`: an operation of it, or one that
    /// those come after, is not observed, so that it still tells something; or either is a legacy default stream.
    pub fn renew_stream(&mut self, stream: StreamId, setup: &StreamSetup, process: ProcessId) -> bool {
        let observed = self.observed();
        let is_observed = self.clocks.get(stream.index()).iter().zip(observed).all(|(own, all)| own <= all);
        let lane = &mut self.lanes[stream.index()];
        if !is_observed || [lane.kind, setup.kind].contains(&StreamKind::Legacy) {
            return false;
        }
        (lane.device, lane.process, lane.kind, lane.fenced) = (setup.device.index(), process, setup.kind, 0);
        true
    }

    /// Makes another event of one that nobody uses any more: it has not been recorded. What waits for an earlier record goes on
    /// waiting for that.
    pub fn renew_event(&mut self, event: EventId) {
        self.records[event.index()] = None;
        self.clocks.get_mut(self.rows.events + event.index()).fill(0);
    }

    /// An event takes over what another one has captured.
    pub fn inherit_event(&mut self, from: EventId, to: EventId) {
        self.renew_event(to);
        self.clocks.join(self.rows.events + from.index(), self.rows.events + to.index());
        self.records[to.index()] = self.records[from.index()];
    }

    /// How many operations are in flight.
    #[inline]
    pub fn in_flight(&self) -> usize {
        self.flight.len()
    }

    /// What is complete once an operation is: itself, and everything ordered before it. It must be in flight, or have
    /// completed just now, and every sweep since must have kept it.
    pub fn ended(&mut self, ticket: Ticket) -> &Cut {
        self.view.fill(0);
        self.history.join_into(ticket, &mut self.view);
        &self.view
    }

    /// How many counters are kept for past operations.
    #[inline]
    pub fn counters(&self) -> usize {
        self.history.counters()
    }

    /// Whether the clocks kept for past operations have doubled since they were swept.
    #[inline]
    pub fn wants_sweep(&self) -> bool {
        self.history.wants_sweep()
    }

    /// Drops the clocks of past operations but those of `pending`, the operations that are still asked about. A free
    /// that it has just let go of, to make an operation wait for it, must have been submitted with that operation.
    pub fn sweep(&mut self, pending: &mut [Ticket]) {
        self.history.sweep(pending);
    }

    /// A hash of everything that later order depends on, but for the operations in flight. `pending` are the frees that an
    /// allocator may still make somebody wait for.
    pub fn digest(&self, pending: &[Ticket]) -> u128 {
        // What blocking streams come to together, their clocks say.
        let mut digest = self.clocks.digest(self.rows.blocking);
        for record in &self.records {
            let at = record.map_or(0, |at| at.stream.index() as u64 + 1);
            digest = fold(digest, &[at]);
        }
        pending.iter().fold(digest, |digest, free| self.history.digest(*free, digest))
    }
}

impl Lane {
    fn is_blocking_on(&self, device: usize) -> bool {
        self.device == device && matches!(self.kind, StreamKind::Blocking | StreamKind::PerThread)
    }
}

#[cfg(test)]
mod tests;
