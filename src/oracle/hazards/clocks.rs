//! What is before what, as far as the events of a run say: a clock for each stream, host thread and event.
//!
//! Of the two halves of a clock only the second one takes in what a query happened to find, a wait that the allocator inserted and
//! memory that was taken since its free had happened to complete. What comes to be before an operation only after its submission,
//! a signal or the other parts of a collective, is a gate until it is known.
//!
//! It must not know memory. No code of `order` or `engine` is used: where they see another order, one of the two is wrong.
//!
//! Rules: CUDA driver API, `cuEventRecord`, `cuStreamWaitEvent`, "Stream synchronization behavior", `cuStreamSynchronize`.

use super::clock::{Clock, Gate, Mark, pass};
use crate::base::{DeviceId, EventId, HostId, StreamId, reuse_on_clone};
use crate::oracle::findings::Point;
use crate::trace::{Cut, Setup, StreamKind, Target, Ticket};

/// A stream.
#[derive(Debug)]
#[repr(C, align(64))]
struct Lane {
    /// What is before the end of its last operation, that one included.
    clock: Clock,
    /// The host thread that submitted last, with its version.
    submitter: (HostId, u32),
    kind: StreamKind,
    /// Whether the legacy default stream of its device is used, and orders it.
    has_barrier: bool,
    device: usize,
    /// The version of each host thread when this stream learnt of it.
    hosts: Vec<u32>,
    /// The same for what the legacy default stream puts before it.
    barrier: u32,
    /// Whether it has operations that the legacy default stream has not waited for.
    is_ahead: bool,
    /// From which operation on it is behind each gate.
    behind: Vec<(Gate, u32)>,
}

reuse_on_clone!(Lane { device, kind, has_barrier, clock, hosts, submitter, barrier, is_ahead, behind });

impl Lane {
    /// What a host thread knows is before the next operation.
    #[cold]
    fn learns(&mut self, host: HostId, thread: &Thread) {
        let known = &mut self.hosts[host.index()];
        if *known != thread.version {
            *known = thread.version;
            self.clock.join(&thread.clock);
        }
        self.submitter = (host, thread.version);
    }

    /// It has an operation more, of this call.
    #[inline(always)]
    fn takes(&mut self, call: Mark, ticket: Ticket) {
        self.clock.set_both(call, Clocks::of_operation(ticket));
    }

    /// Its latest operation is behind gates that those before it were not behind.
    #[cold]
    fn stays_behind(&mut self, ticket: Ticket) {
        let Self { behind, clock, .. } = self;
        for gate in &clock.gates {
            if behind.iter().all(|(known, _)| known != gate) {
                behind.push((*gate, ticket.seq));
            }
        }
    }
}

/// What an event has captured.
#[derive(Debug)]
struct Record {
    /// The operation that did it.
    mark: Mark,
    clock: Clock,
}

reuse_on_clone!(Record { mark, clock });

/// A host thread.
#[derive(Debug)]
struct Thread {
    clock: Clock,
    /// How often the clock has grown, its own calls aside.
    version: u32,
    calls: u32,
}

reuse_on_clone!(Thread { clock, version, calls });

/// What the legacy default stream of a device puts before the operations of its blocking streams.
#[derive(Debug)]
struct Barrier {
    clock: Clock,
    version: u32,
    /// The blocking streams that have operations which it has not waited for.
    ahead: Vec<usize>,
}

reuse_on_clone!(Barrier { clock, version, ahead });

/// What a gate comes to.
#[derive(Clone, Debug, Default)]
struct Opening {
    /// Free for another use.
    is_free: bool,
    clock: Clock,
}

/// The clocks of one run so far.
#[derive(Debug)]
pub(super) struct Clocks {
    lanes: Vec<Lane>,
    threads: Vec<Thread>,
    /// What each event has captured last; `None`: nothing so far.
    records: Vec<Option<Record>>,
    /// For each device with a legacy default stream that is used.
    barriers: Vec<Option<Barrier>>,
    gates: Vec<Opening>,
    /// Whether each edge so far is one that the engine sees too, and the same in both halves of the clocks.
    is_exact: bool,
    /// Whether a gate has added an edge, which the engine does not see.
    is_gated: bool,
    /// Whether there is a legacy default stream that is used, or was ever a gate.
    has_more: bool,
}

reuse_on_clone!(Clocks { lanes, threads, records, barriers, gates, is_exact, is_gated, has_more });

impl Clocks {
    pub(super) fn new(setup: &Setup) -> Self {
        let width = setup.streams.len() + setup.hosts;
        let clock = || Clock::new(width);
        let has_legacy = |device: DeviceId| {
            setup.streams.iter().any(|stream| stream.kind == StreamKind::Legacy && stream.device == device)
        };
        let lane = |stream: &crate::trace::StreamSetup| Lane {
            device: stream.device.index(),
            kind: stream.kind,
            has_barrier: stream.kind != StreamKind::NonBlocking && has_legacy(stream.device),
            clock: clock(),
            hosts: vec![0; setup.hosts],
            submitter: (HostId::from_raw(0), 0),
            barrier: 0,
            is_ahead: false,
            behind: Vec::new(),
        };
        let barrier = |device: DeviceId| {
            has_legacy(device).then(|| Barrier { clock: clock(), version: 0, ahead: Vec::new() })
        };
        Self {
            lanes: setup.streams.iter().map(lane).collect(),
            threads: (0..setup.hosts).map(|_| Thread { clock: clock(), version: 0, calls: 0 }).collect(),
            records: setup.events.iter().map(|_| None).collect(),
            barriers: setup.devices.indices().map(barrier).collect(),
            gates: Vec::new(),
            is_exact: true,
            is_gated: false,
            has_more: setup.devices.indices().any(has_legacy),
        }
    }

    /// A clock before the first call.
    pub(super) fn empty(&self) -> Clock {
        Clock::new(self.lanes.len() + self.threads.len())
    }

    /// The mark of an operation.
    pub(super) fn of_operation(ticket: Ticket) -> Mark {
        Mark { agent: ticket.stream.index() as u32, at: ticket.seq }
    }

    /// The mark of the latest call of a host thread, which its clock has from now on.
    pub(super) fn mark(&mut self, host: HostId) -> Mark {
        self.catch_up(host);
        self.of_host(host)
    }

    /// The mark of the latest call of a host thread.
    pub(super) fn of_host(&self, host: HostId) -> Mark {
        Mark { agent: (self.lanes.len() + host.index()) as u32, at: self.threads[host.index()].calls }
    }

    /// Whether a mark is one of a host thread.
    pub(super) fn is_host(&self, mark: Mark) -> bool {
        mark.agent as usize >= self.lanes.len()
    }

    /// A mark as others know it.
    pub(super) fn point(&self, mark: Mark) -> Point {
        match (mark.agent as usize).checked_sub(self.lanes.len()) {
            Some(host) => Point::Host(HostId::from_usize(host), mark.at),
            None => {
                Point::Operation(Ticket { stream: StreamId::from_usize(mark.agent as usize), seq: mark.at })
            }
        }
    }

    /// What is before the next operation of a stream, and after its submission what is before its end.
    pub(super) fn stream(&self, stream: StreamId) -> &Clock {
        &self.lanes[stream.index()].clock
    }

    /// What is before the next call of a host thread.
    pub(super) fn host(&self, host: HostId) -> &Clock {
        &self.threads[host.index()].clock
    }

    /// What an event has captured last.
    pub(super) fn record_of(&self, event: EventId) -> Option<&Clock> {
        self.records[event.index()].as_ref().map(|record| &record.clock)
    }

    /// Whether an operation is the last one of its stream.
    pub(super) fn is_last(&self, mark: Mark) -> bool {
        self.lanes
            .get(mark.agent as usize)
            .is_some_and(|lane| !lane.clock.has(Mark { at: mark.at + 1, ..mark }))
    }

    /// A host thread makes a call.
    #[inline]
    pub(super) fn calls(&mut self, host: HostId) {
        self.threads[host.index()].calls += 1;
    }

    /// Puts the calls of a host thread so far into its clock.
    fn catch_up(&mut self, host: HostId) {
        let mark = self.of_host(host);
        self.threads[host.index()].clock.set(mark);
    }

    /// Whether a call of a host thread is before the next one of this one.
    pub(super) fn has_called(&self, host: HostId, call: Mark) -> bool {
        self.of_host(host).agent == call.agent || self.host(host).has(call)
    }

    /// The operation is submitted by this host thread: brings the clock of its stream to what is before it, but for waits.
    pub(super) fn begin(&mut self, host: HostId, stream: StreamId) {
        let own = self.of_host(host);
        let lane = &mut self.lanes[stream.index()];
        lane.learns(host, &self.threads[host.index()]);
        lane.clock.set(own);
        if lane.has_barrier {
            self.pass_barrier(stream);
        }
    }

    /// The same, and the operation is in its stream at once. `is_call`: the call is not counted yet.
    #[inline(never)]
    pub(super) fn submits(&mut self, host: HostId, ticket: Ticket, is_call: bool) {
        let streams = self.lanes.len();
        let thread = &mut self.threads[host.index()];
        thread.calls += u32::from(is_call);
        let lane = &mut self.lanes[ticket.stream.index()];
        if lane.submitter != (host, thread.version) {
            lane.learns(host, thread);
        }
        let call = Mark { agent: (streams + host.index()) as u32, at: thread.calls };
        lane.takes(call, ticket);
        if self.has_more && self.lanes[ticket.stream.index()].has_barrier {
            self.pass_barrier(ticket.stream);
        }
    }

    /// Whether there is a legacy default stream that is used, or was ever a gate.
    #[inline(always)]
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// The same for a call whose host thread has learnt nothing since it submitted last to this stream, as no other one has since;
    /// where no legacy default stream and no gate may be in the way. Says whether it is so; else nothing is done.
    #[inline(always)]
    pub(super) fn submits_again(&mut self, host: HostId, ticket: Ticket) -> bool {
        let streams = self.lanes.len();
        let thread = &mut self.threads[host.index()];
        let lane = &mut self.lanes[ticket.stream.index()];
        if self.has_more || lane.submitter != (host, thread.version) {
            return false;
        }
        thread.calls += 1;
        let call = Mark { agent: (streams + host.index()) as u32, at: thread.calls };
        lane.takes(call, ticket);
        true
    }

    /// What the legacy default stream orders before an operation.
    #[inline(never)]
    fn pass_barrier(&mut self, stream: StreamId) {
        let Self { lanes, barriers, .. } = self;
        let lane = &mut lanes[stream.index()];
        let Some(barrier) = &mut barriers[lane.device] else { return };
        match lane.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking | StreamKind::PerThread => {
                if lane.barrier != barrier.version {
                    lane.barrier = barrier.version;
                    lane.clock.join(&barrier.clock);
                }
            }
            StreamKind::Legacy => {
                let mut clock = std::mem::take(&mut lane.clock);
                for other in barrier.ahead.drain(..) {
                    lanes[other].is_ahead = false;
                    clock.join(&lanes[other].clock);
                }
                lanes[stream.index()].clock = clock;
            }
        }
    }

    /// The operation waits for what an event has captured; says whether that is more than was before it anyway, if the event has
    /// captured anything. What comes after the operation that captured it comes after all of it.
    #[inline(always)]
    pub(super) fn wait(&mut self, stream: StreamId, event: EventId) -> Option<bool> {
        let record = self.records[event.index()].as_ref()?;
        let clock = &mut self.lanes[stream.index()].clock;
        let is_more = !clock.has(record.mark);
        if is_more {
            clock.join(&record.clock);
        }
        Some(is_more)
    }

    /// The operation comes after everything in a clock.
    pub(super) fn wait_for(&mut self, stream: StreamId, clock: &Clock) {
        self.lanes[stream.index()].clock.join(clock);
    }

    /// The latest operation of a stream ends after everything in a clock, which the engine does not see.
    pub(super) fn wait_unseen(&mut self, stream: StreamId, clock: &Clock) {
        self.lanes[stream.index()].clock.join(clock);
        self.is_gated = true;
    }

    /// The operation comes after these in this run. `is_seen`: so does the engine see it.
    #[inline(never)]
    pub(super) fn wait_here(&mut self, stream: StreamId, here: &[u32], is_seen: bool) {
        let clock = &mut self.lanes[stream.index()].clock;
        self.is_exact = self.is_exact && (is_seen || clock.covers_here(here));
        clock.join_here(here);
    }

    /// The operation is in its stream, with all that is before it.
    pub(super) fn end(&mut self, ticket: Ticket) {
        self.lanes[ticket.stream.index()].clock.set(Self::of_operation(ticket));
        self.ends(ticket);
    }

    /// The same for one whose stream has it already.
    pub(super) fn ends(&mut self, ticket: Ticket) {
        if self.has_more {
            self.ends_before(ticket);
        }
    }

    /// What an operation is behind, or is put before others.
    fn ends_before(&mut self, ticket: Ticket) {
        let lane = &mut self.lanes[ticket.stream.index()];
        if lane.behind.len() != lane.clock.gates.len() {
            lane.stays_behind(ticket);
        }
        if lane.has_barrier {
            self.put_before_barrier(ticket.stream);
        }
    }

    /// What the legacy default stream will order an operation before, or what it orders before others with its own.
    #[inline(never)]
    fn put_before_barrier(&mut self, stream: StreamId) {
        let lane = &mut self.lanes[stream.index()];
        let Some(barrier) = &mut self.barriers[lane.device] else { return };
        match lane.kind {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking | StreamKind::PerThread => {
                if !std::mem::replace(&mut lane.is_ahead, true) {
                    barrier.ahead.push(stream.index());
                }
            }
            StreamKind::Legacy => {
                barrier.clock.copy(&lane.clock);
                barrier.version += 1;
            }
        }
    }

    /// An event captures a stream up to its latest operation, which is this one.
    #[inline(always)]
    pub(super) fn record(&mut self, ticket: Ticket, event: EventId) {
        let (mark, clock) = (Self::of_operation(ticket), &self.lanes[ticket.stream.index()].clock);
        match &mut self.records[event.index()] {
            Some(record) => {
                record.mark = mark;
                record.clock.copy(clock);
            }
            none => *none = Some(Record { mark, clock: clock.clone() }),
        }
    }

    /// The streams whose latest operations a synchronise with this target waits for.
    fn awaited(&self, target: Target) -> impl Iterator<Item = &Clock> {
        let (event, device, own) = match target {
            Target::Event(event) => (self.record_of(event), None, None),
            Target::Device(device) => (None, Some(device.index()), None),
            Target::Stream(stream) => (None, None, Some(stream.index())),
        };
        let legacy = own.map(|own| &self.lanes[own]).filter(|lane| lane.kind == StreamKind::Legacy);
        let legacy = legacy.map(|lane| lane.device);
        let is_blocking = |lane: &Lane| matches!(lane.kind, StreamKind::Blocking | StreamKind::PerThread);
        let lanes = self.lanes.iter().enumerate().filter(move |(nth, lane)| {
            own == Some(*nth)
                || device == Some(lane.device)
                || legacy == Some(lane.device) && is_blocking(lane)
        });
        lanes.map(|(_, lane)| &lane.clock).chain(event)
    }

    /// Whether a synchronise with this target adds no order to what a host thread knows, and proves nothing beyond a cut.
    pub(super) fn is_known(&self, host: HostId, target: Target, observed: &Cut) -> bool {
        let thread = &self.threads[host.index()];
        self.awaited(target).all(|clock| thread.clock.covers(clock) && clock.is_within(observed))
    }

    /// What a call waits for is before everything that the host thread does after it. `always`: whatever the timing is.
    pub(super) fn synchronise(&mut self, host: HostId, target: Target, always: bool) {
        let mut thread = std::mem::replace(
            &mut self.threads[host.index()],
            Thread { clock: Clock::default(), version: 0, calls: 0 },
        );
        for clock in self.awaited(target) {
            match always {
                true => {
                    thread.clock.join(clock);
                }
                false => {
                    thread.clock.join_here(clock.here());
                }
            }
        }
        thread.version += 1;
        self.threads[host.index()] = thread;
    }

    /// A clock is before everything that the host thread does from now on.
    pub(super) fn learns(&mut self, host: HostId, clock: &Clock) {
        let thread = &mut self.threads[host.index()];
        thread.clock.join(clock);
        thread.version += 1;
    }

    /// The host thread goes on once what is in a stream by now is complete.
    pub(super) fn learns_stream(&mut self, host: HostId, stream: StreamId) {
        let thread = &mut self.threads[host.index()];
        thread.clock.join(&self.lanes[stream.index()].clock);
        thread.version += 1;
    }

    /// What one host thread knows, another one knows too.
    pub(super) fn follow(&mut self, from: HostId, to: HostId) {
        if from != to {
            self.catch_up(from);
            let clock = self.threads[from.index()].clock.clone();
            self.learns(to, &clock);
        }
    }

    /// Joins what a host thread knows into a clock.
    pub(super) fn carry(&mut self, host: HostId, into: &mut Clock) {
        self.catch_up(host);
        into.join(&self.threads[host.index()].clock);
    }

    /// Joins what is before the end of the latest operation of a stream into a clock.
    pub(super) fn carry_stream(&self, stream: StreamId, into: &mut Clock) {
        into.join(&self.lanes[stream.index()].clock);
    }

    /// Compares what the engine sees before an operation.
    ///
    /// # Panics
    /// Where the two differ, which is a bug of Millpond.
    pub(super) fn compare(&self, ticket: Option<Ticket>, told: &Cut) {
        let Some(ticket) = ticket else { return };
        let here = self.lanes[ticket.stream.index()].clock.here();
        let is_equal = here[..told.len()] == *told;
        let is_more = || here.iter().zip(told).all(|(own, told)| own >= told);
        let holds = is_equal || (self.is_gated || !self.is_exact) && is_more();
        assert!(
            holds,
            "the order of {ticket:?} is seen differently, which is a bug of millpond: {told:?} and {here:?}"
        );
    }
}

/// Gates.
impl Clocks {
    /// Something that operations will turn out to be after.
    pub(super) fn open(&mut self) -> Gate {
        self.has_more = true;
        let clock = self.empty();
        let free = self.gates.iter().position(|gate| gate.is_free);
        let new = Opening { is_free: false, clock };
        match free {
            Some(nth) => self.gates[nth] = new,
            None => self.gates.push(new),
        }
        Gate(free.unwrap_or(self.gates.len() - 1) as u32)
    }

    /// The next operations of a stream are behind a gate.
    pub(super) fn put_behind(&mut self, stream: StreamId, gate: Gate) {
        let gates = &mut self.lanes[stream.index()].clock.gates;
        if !gates.contains(&gate) {
            gates.push(gate);
        }
    }

    /// The gates that a point is behind.
    pub(super) fn gates_of(&self, mark: Mark) -> impl Iterator<Item = Gate> + '_ {
        let lane = self.lanes.get(mark.agent as usize);
        let behind = lane.into_iter().flat_map(|lane| lane.behind.iter());
        behind.filter(move |(_, from)| *from <= mark.at).map(|(gate, _)| *gate)
    }

    /// What is before a stream's next operation is before a gate.
    pub(super) fn gate_takes(&mut self, gate: Gate, stream: StreamId) {
        self.gates[gate.0 as usize].clock.join(&self.lanes[stream.index()].clock);
    }

    /// It is known what is before a gate: that, and what the gate has taken. Returns it.
    pub(super) fn close(&mut self, gate: Gate, clock: &Clock) -> Clock {
        let opening = &mut self.gates[gate.0 as usize];
        opening.is_free = true;
        let mut all = std::mem::take(&mut opening.clock);
        all.join(clock);
        all.gates.retain(|other| *other != gate);
        self.is_gated = true;
        let of_gates = self.gates.iter_mut().filter(|other| !other.is_free).map(|other| &mut other.clock);
        let of_barriers = self.barriers.iter_mut().flatten();
        let barriers = of_barriers.map(|barrier| (&mut barrier.clock, Some(&mut barrier.version)));
        let threads = self.threads.iter_mut().map(|thread| (&mut thread.clock, Some(&mut thread.version)));
        let lanes = self.lanes.iter_mut().map(|lane| {
            lane.behind.retain(|(known, _)| *known != gate);
            &mut lane.clock
        });
        let others =
            lanes.chain(self.records.iter_mut().flatten().map(|record| &mut record.clock)).chain(of_gates);
        for (known, version) in others.map(|clock| (clock, None)).chain(barriers).chain(threads) {
            if pass(known, gate, &all) {
                version.into_iter().for_each(|version| *version += 1);
            }
        }
        all
    }
}
