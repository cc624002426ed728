//! The `cuda` model against a naive one: flat lists, no indexes, every question answered by a scan.
//!
//! Written from the rules (CUDA Programming Guide 4.3.4 and the pick within a class), sharing no code with the model.

use crate::budget;
use millpond::base::{Bytes, DeviceId, Draws, IndexVec, PoolId, StreamId, index_vec};
use millpond::model::cuda::Cuda;
use millpond::model::{Allocator, Known, Request};
use millpond::trace::{
    AllocId, Attribute, Attributes, BlockState, DeviceSetup, HostCosts, Ledger, Policy, PoolSetup, Remap,
    Reuse, Rules, Setup, StreamKind, StreamSetup, Ticket,
};
use std::collections::{BTreeMap, BTreeSet};

const ALIGN: u64 = 512;
const CHUNK: u64 = 32 << 20;
const GRANULE: u64 = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Is {
    Live { serial: u32, asked: u64 },
    Freed { serial: u32, at: Ticket, whole: bool, seen: bool },
    Unused,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    size: u64,
    is: Is,
}

impl Piece {
    fn end(&self) -> u64 {
        self.start + self.size
    }
}

/// Mapped bytes without a gap, from one growth.
type Mapping = Vec<Piece>;

struct NaivePool {
    mappings: Vec<Mapping>,
    attributes: Attributes,
    max_size: u64,
    reserved_high: u64,
    used_high: u64,
    maps: u64,
    unmaps: u64,
}

struct Naive {
    memory: u64,
    remap: bool,
    pools: Vec<NaivePool>,
    serial: u32,
    live: BTreeMap<u32, usize>,
}

#[derive(Clone)]
struct Cuts {
    ordered: Vec<u32>,
    done: Vec<u32>,
    seen: Vec<u32>,
}

struct Placed {
    start: u64,
    policy: Policy,
    reuses: Option<u32>,
    waits: BTreeSet<Ticket>,
}

impl NaivePool {
    fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.mappings.iter().flatten()
    }

    fn reserved(&self) -> u64 {
        self.pieces().map(|piece| piece.size).sum()
    }

    fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        for piece in self.pieces() {
            match piece.is {
                Is::Live { asked, .. } => {
                    ledger.live.0 += asked;
                    ledger.padding.0 += piece.size - asked;
                }
                Is::Freed { seen: false, .. } => ledger.pending.0 += piece.size,
                Is::Freed { .. } => ledger.cached.0 += piece.size,
                Is::Unused => ledger.unused.0 += piece.size,
            }
        }
        ledger
    }

    /// Maximal runs of pieces that belong, as (size, start).
    fn runs(&self, belongs: impl Fn(&Piece) -> bool) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        for mapping in &self.mappings {
            for run in mapping.split(|piece| !belongs(piece)).filter(|run| !run.is_empty()) {
                runs.push((run.iter().map(|piece| piece.size).sum(), run[0].start));
            }
        }
        runs
    }

    fn pick(&self, class: Policy, size: u64, own: StreamId, cuts: &Cuts) -> Option<u64> {
        let Reuse { follow_event, opportunistic, internal } = self.attributes.reuse;
        let within = |at: Ticket, cut: &[u32]| at.seq <= cut[at.stream.index()];
        // What the class itself accepts, and what it accepts beside the classes before it.
        let accepts = |piece: &Piece, class: Policy| match (class, piece.is) {
            (Policy::SameStream, Is::Freed { at, .. }) => at.stream == own,
            (Policy::Observed, Is::Freed { seen, .. }) => seen,
            (Policy::FollowEvent, Is::Freed { at, .. }) => follow_event && within(at, &cuts.ordered),
            (Policy::Opportunistic, Is::Freed { at, .. }) => opportunistic && within(at, &cuts.done),
            (Policy::Unused, Is::Unused) => true,
            (Policy::Internal, Is::Freed { .. }) => internal,
            _ => false,
        };
        let is_whole =
            |piece: &&Piece| matches!(piece.is, Is::Freed { whole: true, .. }) && piece.size == size;
        let blocks = self.pieces().filter(is_whole).filter(|piece| accepts(piece, class));
        if let Some(start) = blocks.map(|piece| piece.start).min() {
            return Some(start);
        }
        let best = |runs: Vec<(u64, u64)>| runs.into_iter().filter(|(fits, _)| *fits >= size).min();
        let single = match class {
            Policy::SameStream | Policy::Observed | Policy::Unused => {
                self.runs(|piece| accepts(piece, class))
            }
            Policy::Growth => return None,
            _ => {
                let all = |run: &(u64, u64)| {
                    let inside = |piece: &&Piece| piece.start >= run.1 && piece.end() <= run.1 + run.0;
                    self.pieces().filter(inside).all(|piece| accepts(piece, class))
                };
                let of = |stream: usize| {
                    self.runs(|p| matches!(p.is, Is::Freed { at, .. } if at.stream.index() == stream))
                };
                let others = (0..cuts.seen.len()).filter(|stream| *stream != own.index());
                others.flat_map(of).filter(all).collect()
            }
        };
        let usable =
            |piece: &Piece| Policy::ALL.iter().any(|before| *before <= class && accepts(piece, *before));
        let mixed = || self.runs(usable);
        best(single).or_else(|| best(mixed())).map(|(_, start)| start)
    }

    /// Replaces `start..start+size` by one piece; tells which pieces lost bytes.
    fn replace(&mut self, start: u64, size: u64, is: Is) -> Vec<Is> {
        let mut lost = Vec::new();
        let holds = |m: &&mut Mapping| m.iter().any(|piece| piece.start == start);
        let mapping = self.mappings.iter_mut().find(holds).expect("the pick is mapped");
        let mut pieces = Vec::new();
        for piece in mapping.drain(..) {
            if piece.end() <= start || piece.start >= start + size {
                pieces.push(piece);
                continue;
            }
            lost.push(piece.is);
            if piece.start == start {
                pieces.push(Piece { start, size, is });
            }
            if piece.end() > start + size {
                let rest = match piece.is {
                    Is::Freed { serial, at, seen, .. } => Is::Freed { serial, at, whole: false, seen },
                    other => other,
                };
                pieces.push(Piece { start: start + size, size: piece.end() - start - size, is: rest });
            }
        }
        *mapping = pieces;
        lost
    }

    fn idle_chunks(&self) -> Vec<(u64, u64)> {
        let mut chunks = Vec::new();
        for mapping in &self.mappings {
            let end = mapping.last().expect("not empty").end();
            let mut from = mapping[0].start;
            assert_eq!(from % CHUNK, 0);
            while from < end {
                let to = end.min(from + CHUNK);
                let inside = mapping.iter().filter(|piece| piece.start < to && piece.end() > from);
                let busy =
                    |piece: &Piece| matches!(piece.is, Is::Live { .. } | Is::Freed { seen: false, .. });
                if !inside.into_iter().any(busy) {
                    chunks.push((from, to));
                }
                from = to;
            }
        }
        chunks.sort_unstable_by(|a, b| b.cmp(a));
        chunks
    }

    fn unmap(&mut self, from: u64, to: u64) {
        let mut mappings = Vec::new();
        for mapping in self.mappings.drain(..) {
            let (mut below, mut above) = (Mapping::new(), Mapping::new());
            for piece in mapping {
                if piece.end() <= from {
                    below.push(piece);
                } else if piece.start >= to {
                    above.push(piece);
                } else {
                    let is = match piece.is {
                        Is::Freed { serial, at, seen, .. } if piece.start < from || piece.end() > to => {
                            Is::Freed { serial, at, whole: false, seen }
                        }
                        other => other,
                    };
                    if piece.start < from {
                        below.push(Piece { size: from - piece.start, is, ..piece });
                    }
                    if piece.end() > to {
                        above.push(Piece { start: to, size: piece.end() - to, is });
                    }
                }
            }
            mappings.extend([below, above].into_iter().filter(|mapping| !mapping.is_empty()));
        }
        self.mappings = mappings;
    }

    fn release_down_to(&mut self, keep: u64) {
        let before = self.reserved();
        for (from, to) in self.idle_chunks() {
            if self.reserved() - (to - from) >= keep {
                self.unmap(from, to);
            }
        }
        self.unmaps += u64::from(self.reserved() < before);
    }
}

impl Naive {
    fn room(&self, pool: usize) -> u64 {
        let all: u64 = self.pools.iter().map(NaivePool::reserved).sum();
        (self.memory - all).min(self.pools[pool].max_size - self.pools[pool].reserved())
    }

    fn can_grow(&self, pool: usize, size: u64) -> bool {
        let idle: u64 = self.pools[pool].idle_chunks().iter().map(|(from, to)| to - from).sum();
        let room = self.room(pool) + if self.remap { idle } else { 0 };
        size.next_multiple_of(GRANULE) <= room
    }

    /// The class that would serve, and where, unless it is growth.
    fn would(&self, pool: usize, size: u64, own: StreamId, cuts: &Cuts) -> Option<(Policy, Option<u64>)> {
        Policy::ALL.into_iter().find_map(|class| match class {
            Policy::Growth => self.can_grow(pool, size).then_some((class, None)),
            class => self.pools[pool].pick(class, size, own, cuts).map(|start| (class, Some(start))),
        })
    }

    fn grow(&mut self, pool: usize, size: u64) -> Option<u64> {
        if !self.can_grow(pool, size) {
            return None;
        }
        let (chunks, granules) = (size.next_multiple_of(CHUNK), size.next_multiple_of(GRANULE));
        let mapped = [chunks, granules].into_iter().find(|mapped| *mapped <= self.room(pool));
        if mapped.is_none() {
            for (from, to) in self.pools[pool].idle_chunks() {
                if self.room(pool) < granules {
                    self.pools[pool].unmap(from, to);
                }
            }
            self.pools[pool].unmaps += 1;
        }
        self.pools[pool].maps += 1;
        let mapped = mapped.unwrap_or(granules);
        let taken: BTreeSet<u64> = self.pools.iter().flat_map(|p| p.pieces()).flat_map(units).collect();
        let count = mapped.div_ceil(CHUNK);
        let first = 0x3_0200_0000_u64.div_ceil(CHUNK);
        let start = (first..).find(|unit| (*unit..unit + count).all(|unit| !taken.contains(&unit)))? * CHUNK;
        self.pools[pool].mappings.push(vec![Piece { start, size: mapped, is: Is::Unused }]);
        let reserved = self.pools[pool].reserved();
        self.pools[pool].reserved_high = self.pools[pool].reserved_high.max(reserved);
        Some(start)
    }

    fn alloc(&mut self, pool: usize, asked: u64, own: StreamId, cuts: &Cuts) -> Option<Placed> {
        let size = asked.next_multiple_of(ALIGN);
        let (start, policy) = Policy::ALL.into_iter().find_map(|class| {
            let start = match class {
                Policy::Growth => self.grow(pool, size),
                class => self.pools[pool].pick(class, size, own, cuts),
            };
            start.map(|start| (start, class))
        })?;
        self.serial += 1;
        let lost = self.pools[pool].replace(start, size, Is::Live { serial: self.serial, asked });
        let freed = || {
            lost.iter().filter_map(|is| match is {
                Is::Freed { serial, at, seen, .. } => Some((*serial, *at, *seen)),
                _ => None,
            })
        };
        let mut waits = BTreeMap::new();
        for (_, at, _) in
            freed().filter(|(_, at, seen)| !*seen && at.stream != own && policy == Policy::Internal)
        {
            let latest = waits.entry(at.stream).or_insert(at);
            *latest = at.max(*latest);
        }
        self.live.insert(self.serial, pool);
        let used = self.pools[pool].ledger().live.0;
        self.pools[pool].used_high = self.pools[pool].used_high.max(used);
        let reuses = freed().next().map(|(serial, ..)| serial);
        Some(Placed { start, policy, reuses, waits: waits.into_values().collect() })
    }

    fn free(&mut self, serial: u32, at: Ticket) {
        let pool = self.live.remove(&serial).expect("live");
        for piece in self.pools[pool].mappings.iter_mut().flatten() {
            if matches!(piece.is, Is::Live { serial: s, .. } if s == serial) {
                piece.is = Is::Freed { serial, at, whole: true, seen: false };
            }
        }
    }

    fn synchronise(&mut self, seen_cut: &[u32], releases: bool) {
        for pool in &mut self.pools {
            for piece in pool.mappings.iter_mut().flatten() {
                if let Is::Freed { at, seen, .. } = &mut piece.is {
                    *seen |= at.seq <= seen_cut[at.stream.index()];
                }
            }
            if releases {
                pool.release_down_to(pool.attributes.release_threshold.0);
            }
        }
    }
}

fn units(piece: &Piece) -> std::ops::Range<u64> {
    piece.start / CHUNK..piece.end().div_ceil(CHUNK)
}

struct Walk {
    draws: Draws,
    cuda: Cuda,
    naive: Naive,
    live: Vec<AllocId>,
    submitted: Vec<u32>,
    cuts: Cuts,
    policies: BTreeMap<Option<Policy>, u32>,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, 1);
        let device = DeviceId::new(0);
        let streams = draws.between(1, 4) as usize;
        let memory = CHUNK * draws.between(2, 6) + GRANULE * draws.below(16);
        let remap = draws.below(2) == 0;
        let mut pool = || {
            let mut on = || draws.below(3) > 0;
            let reuse = Reuse { follow_event: on(), opportunistic: on(), internal: on() };
            let release_threshold = [Bytes(0), Bytes(CHUNK + 1), Bytes::MAX][draws.below(3) as usize];
            let max_size = (draws.below(3) == 0).then(|| Bytes(draws.between(1, 4 * CHUNK)));
            PoolSetup { device, attributes: Attributes { release_threshold, reuse }, max_size }
        };
        let pools: IndexVec<PoolId, PoolSetup> = index_vec![pool(), pool()];
        let naive_pool = |setup: &PoolSetup| NaivePool {
            mappings: Vec::new(),
            attributes: setup.attributes,
            max_size: setup.max_size.map_or(u64::MAX, |max| max.0.next_multiple_of(GRANULE)),
            reserved_high: 0,
            used_high: 0,
            maps: 0,
            unmaps: 0,
        };
        let naive_pools = pools.iter().map(naive_pool).collect();
        let setup = Setup {
            devices: index_vec![DeviceSetup { memory: Bytes(memory) }],
            pools,
            streams: (0..streams).map(|_| StreamSetup { device, kind: StreamKind::NonBlocking }).collect(),
            events: 0,
            signals: 0,
            hosts: 1,
            barriers: IndexVec::new(),
            collectives: IndexVec::new(),
            rules: Rules {
                alignment: Bytes(ALIGN),
                growth: Bytes(CHUNK),
                granule: Bytes(GRANULE),
                remap: if remap { Remap::Idle } else { Remap::Off },
                legacy_sync_releases: false,
            },
            host: HostCosts::default(),
        };
        let zero = || vec![0; streams];
        Self {
            draws,
            cuda: Cuda::new(&setup),
            naive: Naive { memory, remap, pools: naive_pools, serial: 0, live: BTreeMap::new() },
            live: Vec::new(),
            submitted: zero(),
            cuts: Cuts { ordered: zero(), done: zero(), seen: zero() },
            policies: BTreeMap::new(),
        }
    }

    fn step(&mut self) {
        let stream = StreamId::new(self.draws.below(self.submitted.len() as u64) as usize);
        let pool = self.draws.below(4).saturating_sub(2) as usize;
        match self.draws.below(20) {
            0..9 => self.alloc(pool, stream),
            9..16 => self.free(stream),
            16 => {
                let keep = self.draws.between(0, 3) * CHUNK;
                self.cuda.trim(PoolId::new(pool), Bytes(keep));
                self.naive.pools[pool].release_down_to(keep);
            }
            17 => self.reset_or_switch(pool),
            18 => self.progress(),
            _ => self.synchronise(),
        }
        self.compare();
    }

    fn size(&mut self) -> u64 {
        match self.draws.below(8) {
            0 => self.draws.between(1, 4096),
            1..3 => 1 << self.draws.between(9, 25),
            3 => self.draws.between(1, 40 << 20),
            _ => self.draws.between(1, 6) * (2 << 20),
        }
    }

    fn alloc(&mut self, pool: usize, stream: StreamId) {
        let size = self.size();
        // What is ordered before a call differs from stream to stream; each is allowed to know any part.
        for index in 0..self.submitted.len() {
            self.cuts.ordered[index] = match self.draws.below(3) {
                0 => self.cuts.seen[index],
                _ => self.draws.between(u64::from(self.cuts.seen[index]), u64::from(self.submitted[index]))
                    as u32,
            };
        }
        self.cuts.ordered[stream.index()] = self.submitted[stream.index()];
        let at = Ticket { stream, seq: self.submitted[stream.index()] + 1 };
        let request = Request { pool: PoolId::new(pool), size: Bytes(size), at };
        let Cuts { ordered, done, seen } = &self.cuts;
        let known = Known { ordered, done, seen, observed: seen };
        let refusals = self.cuda.refused(request, known);
        let before = self.cuda.digest();
        let rounded = size.next_multiple_of(ALIGN);
        let would = |done: &[u32]| {
            let cuts = Cuts { ordered: ordered.clone(), done: done.to_vec(), seen: seen.clone() };
            self.naive.would(pool, rounded, stream, &cuts)
        };
        let by_timing =
            [would(seen), would(&vec![u32::MAX; seen.len()])].iter().any(|other| *other != would(done));
        assert_eq!(refusals.by_timing, by_timing);
        let ours = self.cuda.alloc(request, known);
        let theirs = self.naive.alloc(pool, size, stream, &self.cuts);
        assert_eq!(ours.is_ok(), theirs.is_some(), "{ours:?}");
        let refused = refusals.reasons.iter().take_while(|refusal| refusal.is_some()).count();
        let Some(placed) = theirs else {
            assert_eq!((self.cuda.digest(), refused), (before, 7));
            *self.policies.entry(None).or_default() += 1;
            return;
        };
        let decision = ours.expect("as above");
        assert_eq!(decision.policy, Some(placed.policy));
        assert_eq!(Policy::ALL[refused], placed.policy, "each class before the one that served says why not");
        assert_eq!(decision.range.start, placed.start, "{decision:?}");
        assert_eq!(decision.reuses.map(|alloc| alloc.serial), placed.reuses);
        assert_eq!(decision.waits.iter().copied().collect::<BTreeSet<_>>(), placed.waits);
        *self.policies.entry(decision.policy).or_default() += 1;
        self.submitted[stream.index()] += 1;
        self.live.push(decision.alloc);
    }

    fn free(&mut self, stream: StreamId) {
        if self.live.is_empty() {
            return;
        }
        let alloc = self.live.swap_remove(self.draws.below(self.live.len() as u64) as usize);
        self.submitted[stream.index()] += 1;
        let at = Ticket { stream, seq: self.submitted[stream.index()] };
        self.cuda.free(alloc, at).expect("live");
        self.cuda.free(alloc, at).expect_err("freed twice");
        self.naive.free(alloc.serial, at);
    }

    fn reset_or_switch(&mut self, pool: usize) {
        let id = PoolId::new(pool);
        let naive = &mut self.naive.pools[pool];
        match self.draws.below(3) {
            0 => {
                self.cuda.set(id, Attribute::UsedHigh, 0).expect("may be reset");
                self.cuda.set(id, Attribute::ReservedHigh, 0).expect("may be reset");
                (naive.used_high, naive.reserved_high) = (naive.ledger().live.0, naive.reserved());
            }
            1 => {
                let value = self.draws.below(2);
                self.cuda.set(id, Attribute::Opportunistic, value).expect("writable");
                naive.attributes.reuse.opportunistic = value == 1;
            }
            _ => {
                let value = self.draws.below(2) * u64::MAX;
                self.cuda.set(id, Attribute::ReleaseThreshold, value).expect("writable");
                naive.attributes.release_threshold = Bytes(value);
            }
        }
    }

    /// The device gets somewhere between where it is and the end.
    fn progress(&mut self) {
        for (done, submitted) in self.cuts.done.iter_mut().zip(&self.submitted) {
            *done = self.draws.between(u64::from(*done), u64::from(*submitted)) as u32;
        }
    }

    fn synchronise(&mut self) {
        for stream in 0..self.submitted.len() {
            if self.draws.below(2) == 0 {
                let seen =
                    self.draws.between(u64::from(self.cuts.seen[stream]), u64::from(self.submitted[stream]));
                self.cuts.seen[stream] = seen as u32;
                self.cuts.done[stream] = self.cuts.done[stream].max(seen as u32);
            }
        }
        let releases = self.draws.below(2) == 0;
        let seen = &self.cuts.seen;
        self.cuda.synchronised(releases.then_some(DeviceId::new(0)), seen, &mut Vec::new());
        self.naive.synchronise(seen, releases);
    }

    fn compare(&self) {
        for (index, naive) in self.naive.pools.iter().enumerate() {
            let picture = self.cuda.picture(PoolId::new(index));
            let state = picture.state;
            assert_eq!(state.ledger, naive.ledger());
            assert_eq!(state.ledger.total(), state.reserved.0);
            assert_eq!((state.reserved.0, state.used), (naive.reserved(), naive.ledger().live));
            assert_eq!((state.reserved_high.0, state.used_high.0), (naive.reserved_high, naive.used_high));
            assert_eq!((state.maps, state.unmaps), (naive.maps, naive.unmaps));
            let idle = |p: &Piece| matches!(p.is, Is::Unused | Is::Freed { seen: true, .. });
            let largest = naive.runs(idle).iter().map(|(size, _)| *size).max().unwrap_or(0);
            assert_eq!(picture.fragmented.0 + largest, state.ledger.cached.0 + state.ledger.unused.0);
            let mut pieces: Vec<_> = naive.pieces().copied().collect();
            pieces.sort_by_key(|piece| piece.start);
            assert_eq!(pieces.len(), picture.blocks.len());
            for (piece, block) in pieces.iter().zip(&picture.blocks) {
                assert_eq!((piece.start, piece.size), (block.start, block.size.0));
                let same = match (piece.is, block.state) {
                    (Is::Live { serial, .. }, BlockState::Live { alloc, .. }) => serial == alloc.serial,
                    (
                        Is::Freed { serial, at, seen, .. },
                        BlockState::Freed { alloc, at: freed, observed },
                    ) => (serial, at, seen) == (alloc.serial, freed, observed),
                    (Is::Unused, BlockState::Unused) => true,
                    _ => false,
                };
                assert!(same, "{piece:?} {block:?}");
            }
        }
    }
}

/// Random calls under random cuts: both models agree on every answer and on every byte after every call, and a clone taken
/// into a used target goes on like the original.
#[test]
fn the_cuda_model_agrees_with_a_naive_one() {
    let mut policies: BTreeMap<Option<Policy>, u32> = BTreeMap::new();
    let mut spare = Walk::new(0).cuda;
    for seed in 0..budget(400) {
        let mut walk = Walk::new(seed);
        for step in 0..120 {
            walk.step();
            if step % 8 == 0 {
                spare.clone_from(&walk.cuda);
                assert_eq!(spare.digest(), walk.cuda.digest());
                std::mem::swap(&mut spare, &mut walk.cuda);
            }
        }
        for (policy, count) in walk.policies {
            *policies.entry(policy).or_default() += count;
        }
    }
    let total: u32 = policies.values().sum();
    println!("{total} allocations: {policies:?}");
    for policy in Policy::ALL.map(Some).into_iter().chain([None]) {
        let share = policies.get(&policy).copied().unwrap_or(0) * 100 / total;
        assert!(share >= 1, "{policy:?} makes up less than 1% of the allocations: {policies:?}");
    }
}
