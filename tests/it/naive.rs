//! The `cuda` model against a naive one, on random calls under random cuts.

mod model;
mod program;

use crate::budget;
use millpond::base::{Bytes, DeviceId, Draws, IndexVec, PoolId, StreamId, index_vec};
use millpond::model::cuda::Cuda;
use millpond::model::{Allocator, Known, Request};
use millpond::trace::{
    AllocId, Attribute, Attributes, BlockState, Candidate, DeviceSetup, DeviceState, Policy, PoolSetup,
    Readiness, Refusal, Refusals, Remap, Reuse, Rules, Setup, StreamKind, StreamSetup, Target, Ticket,
};
use model::{ALIGN, CHUNK, Cuts, GRANULE, Is, Naive, NaivePool, Piece, is_held};
use std::collections::{BTreeMap, BTreeSet};

struct Walk {
    draws: Draws,
    cuda: Cuda,
    naive: Naive,
    live: Vec<AllocId>,
    /// The operations that allocated; `None` outside of pools.
    allocated: BTreeMap<AllocId, Option<Ticket>>,
    submitted: Vec<u32>,
    cuts: Cuts,
    policies: BTreeMap<Option<Policy>, u32>,
    /// Whether the second pool is destroyed, and whether nothing of it is left.
    destroyed: bool,
    ended: bool,
}

fn rules(remap: bool, internal_on_max_size: bool) -> Rules {
    Rules {
        alignment: Bytes(ALIGN),
        growth: Bytes(CHUNK),
        granule: Bytes(GRANULE),
        remap: if remap { Remap::Idle } else { Remap::Off },
        internal_on_max_size,
        ..Rules::default()
    }
}

/// A pool of the one device with any settings.
fn any_pool(draws: &mut Draws) -> PoolSetup {
    let mut on = || draws.below(3) > 0;
    let reuse = Reuse { follow_event: on(), opportunistic: on(), internal: on() };
    let release_threshold = [Bytes(0), Bytes(CHUNK + 1), Bytes::MAX][draws.below(3) as usize];
    let max_size = (draws.below(3) == 0).then(|| Bytes(draws.between(1, 4 * CHUNK)));
    let attributes = Attributes { release_threshold, reuse };
    PoolSetup { attributes, max_size, ..PoolSetup::on(DeviceId::new(0)) }
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, 1);
        let device = DeviceId::new(0);
        let streams = draws.between(1, 4) as usize;
        let memory = CHUNK * draws.between(2, 6) + GRANULE * draws.below(16);
        let remap = draws.below(2) == 0;
        let oversubscribe = draws.below(4) == 0;
        let waits_for_itself = draws.below(3) > 0;
        let pools: IndexVec<PoolId, PoolSetup> = index_vec![any_pool(&mut draws), any_pool(&mut draws)];
        let naive_pools = pools.iter().map(NaivePool::new).collect();
        let setup = Setup {
            devices: index_vec![DeviceSetup { oversubscribe, ..DeviceSetup::new(Bytes(memory)) }],
            pools,
            streams: (0..streams).map(|_| StreamSetup::new(device, StreamKind::NonBlocking)).collect(),
            rules: rules(remap, waits_for_itself),
            ..Setup::default()
        };
        let zero = || vec![0; streams];
        Self {
            draws,
            cuda: Cuda::new(&setup),
            naive: Naive {
                memory,
                most: if oversubscribe { DeviceSetup::MEMORY_MAX.0 } else { memory },
                remap,
                waits_for_itself,
                pools: naive_pools,
                serial: 0,
                live: BTreeMap::new(),
                outside: Vec::new(),
            },
            live: Vec::new(),
            allocated: BTreeMap::new(),
            submitted: zero(),
            cuts: Cuts { ordered: zero(), done: zero(), seen: zero() },
            policies: BTreeMap::new(),
            destroyed: false,
            ended: false,
        }
    }

    fn step(&mut self) {
        let stream = StreamId::new(self.draws.below(self.submitted.len() as u64) as usize);
        let mut pool = self.draws.below(4).saturating_sub(2) as usize;
        self.destroyed |= self.draws.below(400) == 0;
        if self.destroyed {
            pool = 0;
        }
        match self.draws.below(24) {
            0..9 => self.alloc(pool, stream),
            9..16 => self.free(stream),
            16..18 => self.malloc(),
            18..20 => self.plain_free(),
            20 => {
                let keep = self.draws.between(0, 3) * CHUNK;
                self.cuda.trim(PoolId::new(pool), Bytes(keep));
                self.naive.pools[pool].release_down_to(keep);
            }
            21 => self.reset_or_switch(pool),
            22 => self.progress(),
            _ => self.synchronise(),
        }
        if self.destroyed && !self.ended {
            self.end();
        }
        self.compare();
    }

    /// A destroyed pool goes as soon as nothing of it is in use, and all at once.
    fn end(&mut self) {
        let naive = &mut self.naive.pools[1];
        let left = naive.is_idle(&self.cuts.done).then(|| naive.reserved());
        let before = self.cuda.digest();
        let given_back = self.cuda.end(PoolId::new(1), &self.cuts.done).map(|bytes| bytes.0);
        assert_eq!(given_back, left);
        match left {
            None => assert_eq!(self.cuda.digest(), before),
            Some(left) => {
                naive.mappings.clear();
                naive.unmaps += u64::from(left > 0);
            }
        }
        self.ended = left.is_some();
    }

    fn size(&mut self) -> u64 {
        match self.draws.below(8) {
            0 => self.draws.between(1, 4096),
            1..3 => 1 << self.draws.between(9, 25),
            3 => self.draws.between(1, 40 << 20),
            _ => self.draws.between(1, 6) * (2 << 20),
        }
    }

    /// What is said about the classes that could not serve.
    fn reasons_hold(&self, pool: usize, size: u64, stream: StreamId, refusals: &Refusals) {
        let reuse = self.naive.pools[pool].attributes.reuse;
        let left = self.naive.pools[pool].max_size - self.naive.pools[pool].reserved();
        let free = self.naive.free_memory();
        let is_in = |cut: &[u32], at: Ticket| at.seq <= cut[at.stream.index()];
        let Cuts { ordered, done, seen } = &self.cuts;
        let told = Policy::ALL.into_iter().zip(refusals.reasons);
        for (class, refusal) in told.filter_map(|(class, refusal)| Some((class, refusal?))) {
            let is_off = match class {
                Policy::FollowEvent => !reuse.follow_event,
                Policy::Opportunistic => !reuse.opportunistic,
                Policy::Internal => !reuse.internal,
                _ => false,
            };
            let holds = match refusal {
                Refusal::Off => is_off,
                Refusal::NoFit => class != Policy::Growth,
                Refusal::OtherStream(Candidate { freed, .. }) => {
                    class == Policy::SameStream && freed.stream != stream
                }
                Refusal::NotObserved(Candidate { freed, .. }) => {
                    class == Policy::Observed && !is_in(seen, freed)
                }
                Refusal::NotOrdered(Candidate { freed, .. }) => {
                    class == Policy::FollowEvent && !is_in(ordered, freed)
                }
                Refusal::NotDone(Candidate { freed, .. }) => {
                    class == Policy::Opportunistic && !is_in(done, freed)
                }
                Refusal::MaxSize => class == Policy::Internal && !self.naive.may_wait(size, free),
                Refusal::Capacity(room) => room.0 == free && free < left,
                Refusal::PoolCapacity(room) => room.0 == left && left <= free,
                Refusal::Absent | Refusal::NotSynchronised(_) => false,
            };
            assert!(holds && (refusal == Refusal::Off) == is_off, "{class:?}: {refusal:?}");
            if class == Policy::Internal && !is_off {
                let is_barred = !self.naive.may_wait(size, free);
                assert_eq!(refusal == Refusal::MaxSize, is_barred, "{refusal:?}");
            }
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
        self.complete();
        let at = Ticket { stream, seq: self.submitted[stream.index()] + 1 };
        let request = Request { pool: PoolId::new(pool), size: Bytes(size), at };
        let Cuts { ordered, done, seen } = &self.cuts;
        let known = Known { ordered, done, seen, observed: seen };
        let refusals = self.cuda.refused(request, known);
        let before = self.cuda.digest();
        let rounded = size.next_multiple_of(ALIGN);
        let would = |done: &[u32]| {
            let cuts = Cuts { ordered: ordered.clone(), done: done.to_vec(), seen: seen.clone() };
            // What is not live any more is held as long as its free has not completed.
            let is_back = |at: Ticket| at.seq <= done[at.stream.index()];
            let free = self.naive.free_if(|plain| plain.leaves.is_none_or(|(at, _)| !is_back(at)));
            self.naive.would(pool, rounded, stream, &cuts, free)
        };
        let by_timing =
            [would(seen), would(&vec![u32::MAX; seen.len()])].iter().any(|other| *other != would(done));
        assert_eq!(refusals.by_timing, by_timing);
        self.reasons_hold(pool, rounded, stream, &refusals);
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
        self.allocated.insert(decision.alloc, Some(at));
    }

    /// As before each call of a host: what is complete comes back.
    fn complete(&mut self) {
        self.cuda.completed(&self.cuts.done, &mut Vec::new());
        self.naive.complete(&self.cuts);
    }

    fn malloc(&mut self) {
        let (size, managed) = (self.size(), self.draws.below(4) == 0);
        self.complete();
        let before = self.cuda.digest();
        let ours = self.cuda.malloc(DeviceId::new(0), Bytes(size), managed);
        match (ours, self.naive.malloc(size, managed)) {
            (Ok(decision), Some(plain)) => {
                assert_eq!((decision.range.start, decision.range.size.0), (plain.start, plain.size));
                assert_eq!((decision.alloc.serial, decision.policy), (plain.serial, None));
                self.live.push(decision.alloc);
                self.allocated.insert(decision.alloc, None);
            }
            (Err(_), None) => assert_eq!(before, self.cuda.digest()),
            (ours, theirs) => panic!("{ours:?}, but {}", theirs.is_some()),
        }
    }

    fn plain_free(&mut self) {
        if self.live.is_empty() {
            return;
        }
        let alloc = self.live.swap_remove(self.draws.below(self.live.len() as u64) as usize);
        self.cuda.plain_free(alloc).expect("live");
        self.cuda.plain_free(alloc).expect_err("freed twice");
        self.naive.plain_free(alloc.serial);
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
        self.cuda.synchronised(
            Target::Device(DeviceId::new(0)),
            releases.then_some(DeviceId::new(0)),
            seen,
            &mut Vec::new(),
        );
        self.naive.synchronise(seen, releases);
    }

    /// A live allocation is ready where it is ordered before; one that is freed nowhere, whoever has its place in tables now.
    fn readiness(&self) {
        let Cuts { ordered, done, seen } = &self.cuts;
        let known = Known { ordered, done, seen, observed: seen };
        for (alloc, at) in &self.allocated {
            let expected = match at {
                _ if !self.live.contains(alloc) => Readiness::Freed,
                Some(at) if at.seq > ordered[at.stream.index()] => Readiness::NotOrdered,
                _ => Readiness::Ready,
            };
            assert_eq!(self.cuda.readiness(*alloc, StreamId::new(0), known), expected);
        }
    }

    fn compare(&self) {
        self.readiness();
        let naive = &self.naive;
        let state = self.cuda.device(DeviceId::new(0), &vec![0; self.submitted.len()]);
        let held = naive.outside.iter().filter(|plain| !plain.managed && is_held(plain));
        let leaving = held.clone().filter(|plain| plain.leaves.is_some()).map(|plain| plain.size);
        let expected = DeviceState {
            memory: Bytes(naive.memory),
            pools: Bytes(naive.pools.iter().map(NaivePool::reserved).sum()),
            outside: Bytes(held.map(|plain| plain.size).sum()),
            leaving: Bytes(leaving.sum()),
        };
        let held = naive.most - naive.free_memory();
        assert_eq!((state, state.free().0), (expected, naive.memory.saturating_sub(held)));
        assert_eq!(state.beyond().0, held.saturating_sub(naive.memory));
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
                    ) => (serial, seen) == (alloc.serial, observed) && at.is_none_or(|at| at == freed),
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
    let mut ends = Vec::new();
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
        ends.push((walk.destroyed, walk.ended));
        for (policy, count) in walk.policies {
            *policies.entry(policy).or_default() += count;
        }
    }
    let count =
        |wanted: bool| ends.iter().filter(|(destroyed, ended)| *destroyed && *ended == wanted).count();
    assert!(count(true) > 20 && count(false) > 20, "{} pools ended, {} held", count(true), count(false));
    let total: u32 = policies.values().sum();
    println!("{total} allocations: {policies:?}");
    for policy in Policy::ALL.map(Some).into_iter().chain([None]) {
        let share = policies.get(&policy).copied().unwrap_or(0) * 200 / total;
        assert!(share >= 1, "{policy:?} makes up less than a 200th of the allocations: {policies:?}");
    }
}
