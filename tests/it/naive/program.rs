//! Whole programs: the machine with its order, its time-line and the `cuda` model, against the naive pools with an order and
//! a time-line of their own.
//!
//! Here an operation is a list of the operations before it. How long each takes is known when it is submitted, so its start
//! and its end are computed at once; what is ordered before a call is found by walking the lists.

use super::model::{ALIGN, CHUNK, Cuts, GRANULE, Naive, NaivePool, Plain, is_held};
use super::{any_pool, rules};
use crate::budget;
use millpond::base::{
    Bytes, DeviceId, Draws, EventId, HostId, KernelId, Nanos, PoolId, StmtId, StreamId, index_vec,
};
use millpond::engine::{Chooser, Machine, Timeline};
use millpond::model::Allocator;
use millpond::model::cuda::Cuda;
use millpond::trace::{
    AllocId, Attribute, Call, Decision, DeviceSetup, EventSetup, Failure, Law, Nothing, Policy, PoolSetup,
    Reply, Setup, StreamKind, StreamSetup, Takes, Target, Ticket,
};
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;

const HOST: HostId = HostId::from_raw_unchecked(0);
const STMT: StmtId = StmtId::from_raw_unchecked(0);
const DEVICE: DeviceId = DeviceId::from_raw_unchecked(0);
const EVENTS: usize = 3;
const CALLS: usize = 60;

/// All durations are constants.
#[derive(Clone)]
struct Constant;

impl Chooser for Constant {
    fn duration(&mut self, _: StmtId, law: &Law) -> Nanos {
        let Law::Constant(duration) = *law else { panic!("{law:?}") };
        duration
    }

    fn pick(&mut self, _: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        0
    }
}

/// An operation, and those that it comes after.
struct Operation {
    ticket: Ticket,
    after: Vec<usize>,
    end: u64,
}

/// The naive side: pools, and what came before what.
struct Program {
    naive: Naive,
    kinds: Vec<StreamKind>,
    operations: Vec<Operation>,
    /// What each event has captured.
    events: [Option<usize>; EVENTS],
    /// What the host knows to be complete, and of that, what it knows by synchronising.
    known: BTreeSet<usize>,
    observed: BTreeSet<usize>,
    now: u64,
}

impl Program {
    fn last_of(&self, stream: usize) -> Option<usize> {
        self.operations.iter().rposition(|operation| operation.ticket.stream.index() == stream)
    }

    fn of_blocking_streams(&self) -> impl Iterator<Item = usize> + '_ {
        let blocking = (0..self.kinds.len()).filter(|stream| self.kinds[*stream] == StreamKind::Blocking);
        blocking.filter_map(|stream| self.last_of(stream))
    }

    /// What an operation that is submitted to a stream now comes after, beside what it waits for.
    fn before(&self, stream: usize) -> Vec<usize> {
        let mut before: Vec<usize> = self.last_of(stream).into_iter().chain(self.known.clone()).collect();
        match self.kinds[stream] {
            StreamKind::Legacy => before.extend(self.of_blocking_streams()),
            StreamKind::Blocking => {
                let legacy = self.kinds.iter().position(|kind| *kind == StreamKind::Legacy);
                before.extend(legacy.and_then(|legacy| self.last_of(legacy)));
            }
            _ => {}
        }
        before
    }

    fn next_ticket(&self, stream: usize) -> Ticket {
        let seq = self.operations.iter().filter(|other| other.ticket.stream.index() == stream).count() as u32;
        Ticket { stream: StreamId::new(stream), seq: seq + 1 }
    }

    fn submit(&mut self, stream: usize, takes: u64, waits: impl IntoIterator<Item = usize>) -> usize {
        let mut after = self.before(stream);
        after.extend(waits);
        let start = after.iter().map(|other| self.operations[*other].end).fold(self.now, u64::max);
        let ticket = self.next_ticket(stream);
        self.operations.push(Operation { ticket, after, end: start + takes });
        self.operations.len() - 1
    }

    /// All that comes before these, and they themselves.
    fn reached(&self, from: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut next: Vec<usize> = from.into_iter().collect();
        while let Some(operation) = next.pop() {
            if reached.insert(operation) {
                next.extend(&self.operations[operation].after);
            }
        }
        reached
    }

    /// Of each stream, up to which of its operations they go.
    fn cut(&self, operations: impl IntoIterator<Item = usize>) -> Vec<u32> {
        let mut cut = vec![0; self.kinds.len()];
        for operation in operations {
            let Ticket { stream, seq } = self.operations[operation].ticket;
            cut[stream.index()] = seq.max(cut[stream.index()]);
        }
        cut
    }

    /// What the host may see complete: what has ended before now, and what it knows.
    fn done(&self) -> BTreeSet<usize> {
        let ended = (0..self.operations.len()).filter(|at| self.operations[*at].end < self.now);
        ended.chain(self.known.iter().copied()).collect()
    }

    fn cuts(&self, stream: usize) -> Cuts {
        Cuts {
            ordered: self.cut(self.reached(self.before(stream))),
            done: self.cut(self.done()),
            seen: self.cut(self.known.iter().copied()),
        }
    }

    fn target(&self, target: Target) -> BTreeSet<usize> {
        let of: Vec<usize> = match target {
            Target::Event(event) => self.events[event.index()].into_iter().collect(),
            Target::Device(_) => (0..self.kinds.len()).filter_map(|stream| self.last_of(stream)).collect(),
            Target::Stream(stream) => {
                let own = self.last_of(stream.index());
                let legacy = self.kinds[stream.index()] == StreamKind::Legacy;
                own.into_iter().chain(self.of_blocking_streams().filter(|_| legacy)).collect()
            }
        };
        self.reached(of)
    }

    fn synchronise(&mut self, target: Target) {
        let proven = self.target(target);
        self.now = proven.iter().map(|at| self.operations[*at].end).fold(self.now, u64::max);
        self.known.extend(&proven);
        self.observed.extend(&proven);
        let releases = match target {
            Target::Device(_) => true,
            Target::Event(event) => self.events[event.index()].is_some(),
            Target::Stream(stream) => self.kinds[stream.index()] != StreamKind::Legacy,
        };
        let observed = self.cut(self.observed.iter().copied());
        self.naive.synchronise(&observed, releases);
    }

    /// As before each call: plain memory whose free has completed is back.
    fn complete(&mut self) {
        let cuts = self.cuts(0);
        self.naive.complete(&cuts);
    }
}

/// Both sides, and what is drawn.
struct Pair {
    draws: Draws,
    machine: Machine<Cuda, Timeline, Constant, Nothing>,
    program: Program,
    live: Vec<AllocId>,
    served: BTreeMap<Option<Policy>, u64>,
    seen: BTreeMap<&'static str, u64>,
}

impl Pair {
    fn new(number: u64) -> Self {
        let mut draws = Draws::new(number, 5);
        let streams = draws.between(2, 4) as usize;
        let kind = |stream| match (stream, draws.below(3)) {
            (3, _) => StreamKind::Legacy,
            (_, 0) => StreamKind::Blocking,
            _ => StreamKind::NonBlocking,
        };
        let kinds: Vec<StreamKind> = (0..streams).map(kind).collect();
        let memory = CHUNK * draws.between(1, 4) + GRANULE * draws.below(16);
        let device = DeviceSetup { oversubscribe: draws.below(8) == 0, ..DeviceSetup::new(Bytes(memory)) };
        let remap = draws.below(2) == 0;
        let waits_for_itself = draws.below(3) > 0;
        let pools: Vec<PoolSetup> = (0..2).map(|_| any_pool(&mut draws)).collect();
        let naive = Naive {
            memory,
            most: if device.oversubscribe { DeviceSetup::MEMORY_MAX.0 } else { memory },
            remap,
            waits_for_itself,
            pools: pools.iter().map(NaivePool::new).collect(),
            serial: 0,
            live: BTreeMap::new(),
            outside: Vec::new(),
        };
        let setup = setup(&kinds, device, remap, waits_for_itself, pools);
        let timeline = Timeline::new(streams);
        Self {
            machine: Machine::new(&setup, Cuda::new(&setup), timeline, Constant, Nothing),
            program: Program {
                naive,
                kinds,
                operations: Vec::new(),
                events: [None; EVENTS],
                known: BTreeSet::new(),
                observed: BTreeSet::new(),
                now: 0,
            },
            draws,
            live: Vec::new(),
            served: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.draws.below(bound as u64) as usize
    }

    fn call(&mut self, call: &Call) -> Result<Reply, Failure> {
        loop {
            match self.machine.call(HOST, STMT, call) {
                Poll::Ready(result) => return result,
                Poll::Pending => assert!(self.machine.step(None), "every operation ends"),
            }
        }
    }

    fn step(&mut self) {
        let stream = self.below(self.program.kinds.len());
        let (event, pool) = (self.below(EVENTS), self.below(2));
        self.program.complete();
        match self.below(30) {
            0..9 => self.alloc(stream, pool),
            9..16 => self.free(stream),
            16..18 => self.launch(stream),
            18..20 => self.record(stream, event),
            20 => self.wait(stream, event),
            21..23 => {
                let other = self.below(self.program.kinds.len());
                self.record(stream, event);
                self.wait(other, event);
            }
            23 => self.synchronise(stream, event),
            24 => self.query(stream, event),
            25..27 => {
                let time = self.draws.between(1, 3_000);
                self.program.now += time;
                assert_eq!(self.call(&Call::Sleep(Nanos(time))), Ok(Reply::Done));
            }
            27 => self.trim(pool),
            28 => self.set(pool),
            _ => self.outside(),
        }
        self.compare();
    }

    fn size(&mut self) -> u64 {
        match self.below(8) {
            0 => self.draws.between(1, 4_096),
            1 => 1 << self.draws.between(9, 25),
            2 => self.draws.between(1, 40 << 20),
            _ => [1, 8, 16, 16][self.below(4)] * GRANULE,
        }
    }

    fn alloc(&mut self, stream: usize, pool: usize) {
        let (size, id) = (self.size(), StreamId::new(stream));
        let cuts = self.program.cuts(stream);
        let ours = self.call(&Call::Alloc { stream: id, pool: Some(PoolId::new(pool)), size: Bytes(size) });
        match (ours, self.program.naive.alloc(pool, size, id, &cuts)) {
            (Ok(Reply::Allocated(decision)), Some(placed)) => {
                let Decision { alloc, range, policy, reuses, ref waits, .. } = decision;
                assert_eq!((policy, range.start), (Some(placed.policy), placed.start));
                assert_eq!(range.size.0, size.next_multiple_of(ALIGN));
                assert_eq!(reuses.map(|alloc| alloc.serial), placed.reuses);
                assert_eq!(waits.iter().copied().collect::<BTreeSet<_>>(), placed.waits);
                let waits = placed.waits.iter().map(|wait| {
                    let is_it = |operation: &Operation| operation.ticket == *wait;
                    self.program.operations.iter().position(is_it).expect("it was submitted")
                });
                let waits: Vec<usize> = waits.collect();
                self.program.submit(stream, 0, waits);
                self.live.push(alloc);
                *self.served.entry(policy).or_default() += 1;
            }
            (Err(Failure::OutOfMemory), None) => *self.served.entry(None).or_default() += 1,
            (ours, theirs) => panic!("{ours:?}, and the naive pool {}", theirs.is_some()),
        }
    }

    /// Of what is live, or once more of what is not.
    fn free(&mut self, stream: usize) {
        if self.live.is_empty() {
            return;
        }
        let chosen = self.below(self.live.len());
        let alloc = self.live.swap_remove(chosen);
        let free = Call::Free { stream: StreamId::new(stream), alloc };
        let at = self.program.next_ticket(stream);
        assert_eq!(self.call(&free), Ok(Reply::Freed(Some(at))));
        self.program.naive.free(alloc.serial, at);
        self.program.submit(stream, 0, []);
        if self.below(8) == 0 {
            assert_eq!(self.call(&free), Err(Failure::InvalidValue));
            *self.seen.entry("freed twice").or_default() += 1;
        }
    }

    fn launch(&mut self, stream: usize) {
        let time = self.draws.between(1, 2_000);
        let takes = Takes::For(Law::Constant(Nanos(time)));
        let (id, kernel) = (StreamId::new(stream), KernelId::new(0));
        let launch = Call::Launch { stream: id, kernel, takes, uses: SmallVec::new() };
        assert_eq!(self.call(&launch), Ok(Reply::Done));
        self.program.submit(stream, time, []);
    }

    fn record(&mut self, on: usize, event: usize) {
        let stream = StreamId::new(on);
        assert_eq!(self.call(&Call::Record { stream, event: EventId::new(event) }), Ok(Reply::Done));
        self.program.events[event] = Some(self.program.submit(on, 0, []));
    }

    fn wait(&mut self, on: usize, event: usize) {
        let stream = StreamId::new(on);
        assert_eq!(self.call(&Call::Wait { stream, event: EventId::new(event) }), Ok(Reply::Done));
        self.program.submit(on, 0, self.program.events[event]);
    }

    fn a_target(&mut self, stream: usize, event: usize) -> Target {
        match self.below(5) {
            0 => Target::Device(DEVICE),
            1..3 => Target::Event(EventId::new(event)),
            _ => Target::Stream(StreamId::new(stream)),
        }
    }

    fn synchronise(&mut self, stream: usize, event: usize) {
        let target = self.a_target(stream, event);
        assert_eq!(self.call(&Call::Sync(target)), Ok(Reply::Done));
        self.program.synchronise(target);
        assert_eq!(self.machine.time(HOST), Some(Nanos(self.program.now)));
    }

    fn query(&mut self, stream: usize, event: usize) {
        let target = self.a_target(stream, event);
        let asked = self.program.target(target);
        let is_done = asked.is_subset(&self.program.done());
        let expected = if is_done { Ok(Reply::Done) } else { Err(Failure::NotReady) };
        assert_eq!(self.call(&Call::Query(target)), expected);
        if is_done {
            self.program.known.extend(asked);
        }
        *self.seen.entry(if is_done { "ready" } else { "not ready" }).or_default() += 1;
    }

    fn trim(&mut self, pool: usize) {
        let keep = self.draws.below(4) * CHUNK;
        let before = self.program.naive.pools[pool].unmaps;
        let trim = Call::Trim { pool: PoolId::new(pool), keep: Bytes(keep) };
        assert_eq!(self.call(&trim), Ok(Reply::Done));
        let pool = &mut self.program.naive.pools[pool];
        pool.release_down_to(keep);
        *self.seen.entry("trimmed").or_default() += pool.unmaps - before;
    }

    fn set(&mut self, pool: usize) {
        let id = PoolId::new(pool);
        let (attribute, value) = match self.below(4) {
            0 => (Attribute::ReleaseThreshold, [0, CHUNK, u64::MAX][self.below(3)]),
            1 => (Attribute::Opportunistic, self.draws.below(2)),
            2 => (Attribute::FollowEvent, self.draws.below(2)),
            _ => (Attribute::Internal, self.draws.below(2)),
        };
        let pool = &mut self.program.naive.pools[pool];
        match attribute {
            Attribute::ReleaseThreshold => pool.attributes.release_threshold = Bytes(value),
            Attribute::Opportunistic => pool.attributes.reuse.opportunistic = value == 1,
            Attribute::FollowEvent => pool.attributes.reuse.follow_event = value == 1,
            _ => pool.attributes.reuse.internal = value == 1,
        }
        assert_eq!(self.call(&Call::Set { pool: id, attribute, value }), Ok(Reply::Done));
    }

    /// Memory outside of pools comes, and later goes like any other.
    fn outside(&mut self) {
        let size = self.size();
        let call = Call::Malloc { device: DEVICE, size: Bytes(size), managed: false };
        match (self.call(&call), self.program.naive.malloc(size, false)) {
            (Ok(Reply::Allocated(decision)), Some(Plain { start, serial, .. })) => {
                assert_eq!((decision.range.start, decision.alloc.serial), (start, serial));
                self.live.push(decision.alloc);
            }
            (Err(Failure::OutOfMemory), None) => *self.seen.entry("no room outside").or_default() += 1,
            (ours, theirs) => panic!("{ours:?}, and the naive device {}", theirs.is_some()),
        }
        if self.below(2) == 0 && !self.live.is_empty() {
            let chosen = self.below(self.live.len());
            let alloc = self.live.swap_remove(chosen);
            assert_eq!(self.call(&Call::PlainFree { alloc }), Ok(Reply::Freed(None)));
            self.program.naive.plain_free(alloc.serial);
        }
    }

    fn compare(&mut self) {
        for (index, naive) in self.program.naive.pools.iter_mut().enumerate() {
            let state = self.machine.model().state(PoolId::new(index));
            naive.reserved_high = naive.reserved_high.max(naive.reserved());
            assert_eq!((state.reserved.0, state.ledger), (naive.reserved(), naive.ledger()));
            assert_eq!((state.reserved_high.0, state.used_high.0), (naive.reserved_high, naive.used_high));
            assert_eq!((state.maps, state.unmaps), (naive.maps, naive.unmaps));
        }
        // Addresses: no two live ranges, or ranges that are still held, share a byte.
        let naive = &self.program.naive;
        let is_live = |piece: &&super::model::Piece| matches!(piece.is, super::model::Is::Live { .. });
        let pieces = naive.pools.iter().flat_map(NaivePool::pieces).filter(is_live);
        let mut ranges: Vec<(u64, u64)> = pieces.map(|piece| (piece.start, piece.end())).collect();
        let outside = naive.outside.iter().filter(|plain| is_held(plain));
        ranges.extend(outside.map(|plain| (plain.start, plain.start + plain.size)));
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|two| two[0].1 <= two[1].0), "{ranges:x?}");
    }
}

fn setup(
    kinds: &[StreamKind],
    device: DeviceSetup,
    remap: bool,
    waits_for_itself: bool,
    pools: Vec<PoolSetup>,
) -> Setup {
    Setup {
        devices: index_vec![device],
        pools: pools.into_iter().collect(),
        streams: kinds.iter().map(|kind| StreamSetup::new(DEVICE, *kind)).collect(),
        events: index_vec![EventSetup::default(); EVENTS],
        rules: rules(remap, waits_for_itself),
        ..Setup::default()
    }
}

#[test]
fn whole_programs_agree_with_naive_ones() {
    let mut served: BTreeMap<Option<Policy>, u64> = BTreeMap::new();
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let programs = budget(2_000);
    for number in 0..programs {
        let mut pair = Pair::new(number);
        for _ in 0..CALLS {
            pair.step();
        }
        pair.served.into_iter().for_each(|(policy, count)| *served.entry(policy).or_default() += count);
        pair.seen.into_iter().for_each(|(what, count)| *seen.entry(what).or_default() += count);
    }
    let total: u64 = served.iter().filter(|(policy, _)| policy.is_some()).map(|(_, count)| count).sum();
    println!("{programs} programs of {CALLS} calls, {total} allocations: {served:?}; {seen:?}");
    for policy in Policy::ALL {
        let share = served.get(&Some(policy)).copied().unwrap_or(0) * 100 / total;
        assert!(share >= 2, "{policy:?} serves less than 2 in 100 allocations: {served:?}");
    }
    assert!(served[&None] * 100 > total, "out of memory is rare: {served:?}");
    for what in ["freed twice", "ready", "not ready", "trimmed", "no room outside"] {
        assert!(seen.get(what).is_some_and(|count| *count > programs / 100), "{what}: {seen:?}");
    }
}
