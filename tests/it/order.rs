//! The order against brute force: every edge kept for ever, every question answered by walking back along all of them.

use crate::budget;
use millpond::base::{Bytes, DeviceId, Draws, EventId, HostId, IndexVec, Nanos, StmtId, StreamId, index_vec};
use millpond::order::{Effect, Operation, Order, Runs};
use millpond::trace::{DeviceSetup, EventSetup, Setup, StreamKind, StreamSetup, Target, Ticket};
use std::collections::BTreeSet;

const HOSTS: usize = 3;
const EVENTS: usize = 3;

struct Brute {
    kinds: Vec<StreamSetup>,
    /// For each operation, in the order of submission: its ticket, and all operations directly before it.
    operations: Vec<(Ticket, Vec<usize>)>,
    records: [Option<usize>; EVENTS],
    /// What each host thread has seen complete.
    seen: [BTreeSet<usize>; HOSTS],
    /// The part of that which a synchronise has proven.
    observed: BTreeSet<usize>,
    completed: BTreeSet<usize>,
}

impl Brute {
    fn last(&self, stream: usize) -> Option<usize> {
        self.operations.iter().rposition(|(ticket, _)| ticket.stream.index() == stream)
    }

    fn is_blocking(&self, stream: usize, device: DeviceId) -> bool {
        let StreamSetup { device: own, kind, .. } = self.kinds[stream];
        own == device && matches!(kind, StreamKind::Blocking | StreamKind::PerThread)
    }

    fn streams(&self) -> std::ops::Range<usize> {
        0..self.kinds.len()
    }

    /// The operations directly before one that this host submitted to this stream now.
    fn before(&self, host: usize, stream: usize) -> Vec<usize> {
        let StreamSetup { device, kind, .. } = self.kinds[stream];
        let seen = self.seen[host].iter().copied();
        let mut before: Vec<usize> = self.last(stream).into_iter().chain(seen).collect();
        match kind {
            StreamKind::NonBlocking => {}
            StreamKind::Legacy => {
                let blocking = self.streams().filter(|other| self.is_blocking(*other, device));
                before.extend(blocking.filter_map(|other| self.last(other)));
            }
            StreamKind::Blocking | StreamKind::PerThread => {
                let is_legacy = |other: &usize| {
                    self.kinds[*other].kind == StreamKind::Legacy && self.kinds[*other].device == device
                };
                before.extend(self.streams().filter(is_legacy).filter_map(|legacy| self.last(legacy)));
            }
        }
        before
    }

    fn closure(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(operation) = open.pop() {
            if found.insert(operation) {
                open.extend(&self.operations[operation].1);
            }
        }
        found
    }

    fn cut(&self, operations: &BTreeSet<usize>) -> Vec<u32> {
        let mut cut = vec![0; self.kinds.len()];
        for operation in operations {
            let ticket = self.operations[*operation].0;
            cut[ticket.stream.index()] = ticket.seq.max(cut[ticket.stream.index()]);
        }
        cut
    }

    fn find(&self, ticket: Ticket) -> usize {
        self.operations.iter().position(|(own, _)| *own == ticket).expect("submitted")
    }
}

fn setup(draws: &mut Draws) -> Setup {
    let device = |index: u64| DeviceId::new(index as usize);
    let mut streams: IndexVec<StreamId, StreamSetup> = (0..draws.between(1, 5))
        .map(|_| {
            let kind = [StreamKind::Blocking, StreamKind::NonBlocking][draws.below(2) as usize];
            StreamSetup::new(device(draws.below(2)), kind)
        })
        .collect();
    for (index, kind) in [(0, StreamKind::Legacy), (0, StreamKind::PerThread), (1, StreamKind::Legacy)] {
        if draws.below(2) == 0 {
            streams.push(StreamSetup::new(device(index), kind));
        }
    }
    Setup {
        devices: (0..2).map(|_| DeviceSetup::new(Bytes::gib(1))).collect(),
        streams,
        events: index_vec![EventSetup::default(); EVENTS],
        hosts: HOSTS,
        ..Setup::default()
    }
}

struct Walk {
    draws: Draws,
    order: Order,
    brute: Brute,
    /// Frees that an allocator would still hold.
    pending: Vec<Ticket>,
}

impl Walk {
    /// Whoever calls next.
    fn host(&mut self) -> HostId {
        HostId::new(self.draws.below(HOSTS as u64) as usize)
    }

    fn submit(&mut self) {
        let stream = self.draws.below(self.brute.kinds.len() as u64) as usize;
        let event = self.draws.below(EVENTS as u64) as usize;
        let host = self.host();
        let mut before = self.brute.before(host.index(), stream);
        let mut allocator = Vec::new();
        let effect = match self.draws.below(8) {
            0..2 => Effect::Record(EventId::new(event)),
            2..4 => {
                before.extend(self.brute.records[event]);
                Effect::Wait(EventId::new(event))
            }
            4 if !self.pending.is_empty() => {
                allocator
                    .push(self.pending.swap_remove(self.draws.below(self.pending.len() as u64) as usize));
                before.push(self.brute.find(allocator[0]));
                Effect::Allocator(&allocator)
            }
            _ => Effect::None,
        };
        let operation = Operation { host, stmt: StmtId::new(0), runs: Runs::For(Nanos(1)) };
        let ticket = self.order.submit(StreamId::new(stream), operation, effect, &mut Vec::new());
        if matches!(effect, Effect::Record(_)) {
            self.brute.records[event] = Some(self.brute.operations.len());
        }
        self.brute.operations.push((ticket, before));
        if self.draws.below(4) == 0 {
            self.pending.push(ticket);
        }
    }

    /// The host waits for something, and with it for all that is before it.
    fn synchronise(&mut self) {
        let stream = self.draws.below(self.brute.kinds.len() as u64) as usize;
        let event = self.draws.below(EVENTS as u64) as usize;
        let device = self.brute.kinds[stream].device;
        let (target, waited): (_, Vec<usize>) = match self.draws.below(3) {
            0 => (Target::Event(EventId::new(event)), self.brute.records[event].into_iter().collect()),
            1 => {
                let on_device =
                    self.brute.streams().filter(|other| self.brute.kinds[*other].device == device);
                (Target::Device(device), on_device.filter_map(|other| self.brute.last(other)).collect())
            }
            _ => {
                let joins = |other: &usize| {
                    *other == stream
                        || self.brute.kinds[stream].kind == StreamKind::Legacy
                            && self.brute.is_blocking(*other, device)
                };
                let waited = self.brute.streams().filter(joins).filter_map(|other| self.brute.last(other));
                (Target::Stream(StreamId::new(stream)), waited.collect())
            }
        };
        let waited = self.brute.closure(waited);
        let mut cut = Vec::new();
        self.order.target(target, &mut cut);
        assert_eq!(cut, self.brute.cut(&waited));
        while !self.order.is_complete(&cut, &mut 0) {
            self.complete_one();
        }
        assert!(waited.iter().all(|operation| self.brute.completed.contains(operation)));
        let host = self.host();
        self.brute.seen[host.index()].extend(&waited);
        if self.draws.below(3) == 0 {
            // A poll, which orders but proves nothing.
            self.order.see(host, &cut);
        } else {
            self.order.observe(host, &cut);
            self.brute.observed.extend(waited);
            self.pending.retain(|ticket| !ticket.within(&cut));
        }
        assert_eq!(self.order.observed(), self.brute.cut(&self.brute.observed));
    }

    /// Completes some operation that may run, and checks which may.
    fn complete_one(&mut self) {
        let mut ready = Vec::new();
        for stream in self.brute.streams() {
            let of_stream = |(index, (ticket, _)): &(usize, &(Ticket, Vec<usize>))| {
                ticket.stream.index() == stream && !self.brute.completed.contains(index)
            };
            let Some((head, (_, before))) = self.brute.operations.iter().enumerate().find(of_stream) else {
                continue;
            };
            let is_ready = before.iter().all(|operation| self.brute.completed.contains(operation));
            assert_eq!(self.order.ready(StreamId::new(stream)).is_some(), is_ready);
            ready.extend(is_ready.then_some((stream, head)));
        }
        assert_eq!(ready.is_empty(), self.order.in_flight() == 0, "something can always advance");
        if !ready.is_empty() {
            let (stream, head) = ready[self.draws.below(ready.len() as u64) as usize];
            let (ticket, _) = self.order.retire(StreamId::new(stream), &mut Vec::new());
            assert_eq!(ticket, self.brute.operations[head].0);
            self.brute.completed.insert(head);
        }
    }

    fn step(&mut self) {
        match self.draws.below(24) {
            0 => self.synchronise(),
            1..6 => self.complete_one(),
            6 => self.order.sweep(&mut self.pending),
            7 => {
                let (from, to) = (self.host(), self.host());
                self.order.follow(from, to);
                let seen = self.brute.seen[from.index()].clone();
                self.brute.seen[to.index()].extend(seen);
            }
            _ => self.submit(),
        }
        for host in 0..HOSTS {
            for stream in self.brute.streams() {
                let expected = self.brute.cut(&self.brute.closure(self.brute.before(host, stream)));
                assert_eq!(self.order.ordered(HostId::new(host), StreamId::new(stream)), expected);
            }
        }
    }
}

/// Random programs over blocking, non-blocking, legacy and per-thread streams of two devices, with events, host
/// threads that synchronise and learn from each other, and waits of the allocator: what is ordered, what may run and what is observed, after every step.
#[test]
fn the_order_agrees_with_brute_force() {
    for seed in 0..budget(150) {
        let mut draws = Draws::new(seed, 2);
        let setup = setup(&mut draws);
        let brute = Brute {
            kinds: setup.streams.iter().copied().collect(),
            operations: Vec::new(),
            records: [None; EVENTS],
            seen: Default::default(),
            observed: BTreeSet::new(),
            completed: BTreeSet::new(),
        };
        let mut walk = Walk { draws, order: Order::new(&setup), brute, pending: Vec::new() };
        for _ in 0..80 {
            walk.step();
        }
    }
}
