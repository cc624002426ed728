//! A pool of the `oxicuda` model: a [`StreamOrderModel`], and what it does not keep itself: who had a block, which frees wait
//! for which stream, what events have captured.

use crate::base::{Bytes, DeviceId, EventId, IndexVec, PoolId, StreamId, mix, reuse_on_clone};
use crate::model::stream_order::{self, ModelAllocation, ModelLimits, StreamOrderId, StreamOrderModel};
use crate::trace::{AllocId, Ledger, Policy, Setup, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// A pool.
#[derive(Debug)]
pub(super) struct Pool {
    /// The device, as the first process sees it. `None`: it is on the host.
    pub(super) device: Option<DeviceId>,
    pub(super) model: StreamOrderModel,
    pub(super) release_threshold: Bytes,
    /// 0: no limit.
    pub(super) max_size: usize,
    /// The places of its blocks, by their addresses.
    pub(super) slots: BTreeMap<u64, u32>,
    /// The streams with operations since they were synchronised: the blocks that are freed among these, in the order of the frees.
    pub(super) pending: BTreeMap<StreamId, Vec<u32>>,
    /// The blocks of all streams, the smallest first.
    pub(super) by_size: BTreeSet<(u64, u32)>,
    pub(super) pending_bytes: u64,
    /// The live bytes as asked for.
    pub(super) requested: u64,
    /// What each event has captured.
    pub(super) recorded: IndexVec<EventId, Option<u64>>,
    /// What the event had captured that a stream waited for last.
    pub(super) waited: IndexVec<StreamId, u64>,
    pub(super) maps: u64,
    pub(super) unmaps: u64,
}

/// A block of a pool, and who had it last.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) pool: PoolId,
    /// The number of the first allocation that got it.
    pub(super) first: u32,
    pub(super) id: AllocId,
    pub(super) alloc: ModelAllocation,
    /// The number of the allocation that had it before, and what the model said then.
    pub(super) before: Option<(u32, ModelAllocation)>,
    pub(super) freed: Option<Ticket>,
    /// Whether the stream of that free has been synchronised.
    pub(super) is_free: bool,
}

reuse_on_clone!(Pool {
    device,
    model,
    release_threshold,
    max_size,
    slots,
    pending,
    by_size,
    pending_bytes,
    requested,
    recorded,
    waited,
    maps,
    unmaps,
});

impl Held {
    pub(super) fn capacity(&self) -> u64 {
        self.alloc.capacity as u64
    }

    /// What the model said to an allocation that has the block, or had it before.
    pub(super) fn said_to(&self, alloc: AllocId) -> Option<ModelAllocation> {
        let before = || self.before.filter(|(serial, _)| *serial == alloc.serial).map(|(_, said)| said);
        if self.id == alloc { Some(self.alloc) } else { before() }
    }

    /// What was asked for, as far as there is so much.
    pub(super) fn requested(&self) -> u64 {
        (self.alloc.size as u64).min(self.capacity())
    }
}

impl Pool {
    pub(super) fn new(setup: &Setup, id: PoolId) -> Self {
        let pool = setup.pools[id];
        let release_threshold = pool.attributes.release_threshold;
        let max_pool_size = pool.max_size.map_or(0, to_size);
        let limits = ModelLimits { max_pool_size, release_threshold: to_size(release_threshold) };
        Self {
            device: pool.location.device().map(|device| setup.physical(device)),
            model: StreamOrderModel::new(limits),
            release_threshold,
            max_size: max_pool_size,
            slots: BTreeMap::new(),
            pending: BTreeMap::new(),
            by_size: BTreeSet::new(),
            pending_bytes: 0,
            requested: 0,
            recorded: setup.events.iter().map(|_| None).collect(),
            waited: setup.streams.iter().map(|_| 0).collect(),
            maps: 0,
            unmaps: 0,
        }
    }

    /// What the pool holds less than before, which is a trip to the device if it is anything.
    pub(super) fn released(&mut self, before: usize) -> Bytes {
        let released = before.saturating_sub(self.model.reserved());
        self.unmaps += u64::from(released > 0);
        to_bytes(released)
    }

    /// The frees in a stream count from now on.
    pub(super) fn synchronise(&mut self, stream: StreamId, name: StreamOrderId, blocks: &mut [Held]) {
        self.model.synchronize(name);
        for slot in self.pending.remove(&stream).unwrap_or_default() {
            let held = &mut blocks[slot as usize];
            held.is_free = true;
            let capacity = held.capacity();
            self.by_size.remove(&(capacity, slot));
            self.pending_bytes = self.pending_bytes.saturating_sub(capacity);
        }
    }

    /// Where sums have stopped at the largest number, each kind has what those before it leave of the reserved bytes.
    pub(super) fn ledger(&self) -> Ledger {
        let reserved = self.model.reserved() as u64;
        let used = (self.model.used() as u64).min(reserved);
        let live = self.requested.min(used);
        let pending = self.pending_bytes.min(reserved - used);
        Ledger {
            live: Bytes(live),
            padding: Bytes(used - live),
            pending: Bytes(pending),
            cached: Bytes(reserved - used - pending),
            unused: Bytes::ZERO,
        }
    }

    /// Of the bytes that can be handed out again, those outside of the largest block.
    pub(super) fn fragmented(&self) -> Bytes {
        Bytes(self.ledger().cached.0.saturating_sub(self.model.largest_free() as u64))
    }

    /// What the maximum size lets the pool take.
    pub(super) fn room(&self) -> Bytes {
        match self.max_size {
            0 => Bytes::MAX,
            max => to_bytes(max.saturating_sub(self.model.reserved())),
        }
    }

    /// The class that would serve a request.
    pub(super) fn class_for(&self, size: Bytes) -> Option<Policy> {
        // After the threshold was set, the next call first gives memory back.
        let floor =
            self.release_threshold.0.max((self.model.used() as u64).saturating_add(self.pending_bytes));
        let settled = (self.model.reserved() as u64 > floor).then(|| {
            let mut model = self.model.clone();
            model.trim_to(usize::MAX);
            model
        });
        let model = settled.as_ref().unwrap_or(&self.model);
        let want = StreamOrderModel::capacity_for(to_size(size));
        let has_block = model.largest_free() >= want;
        let can_grow = self.max_size == 0 || model.reserved().saturating_add(want) <= self.max_size;
        has_block.then_some(Policy::Observed).or(can_grow.then_some(Policy::Growth))
    }
}

impl Pool {
    pub(super) fn digest(&self, blocks: &[Held]) -> u128 {
        let state = self.model.state();
        let mut words = vec![self.requested, state.next_address];
        let block = |block: &stream_order::BlockState| [block.ptr, block.capacity as u64];
        words.extend(state.free.iter().flat_map(block));
        words.extend(state.live.iter().flat_map(block));
        words.extend(
            state.streams.iter().flat_map(|clock| [clock.stream.raw(), clock.submitted, clock.reached]),
        );
        for pending in &state.pending {
            words.extend(block(&pending.block));
            words.extend([pending.stream.raw(), pending.seq]);
        }
        for slot in self.slots.values() {
            let held = blocks[*slot as usize];
            words.extend([u64::from(held.first), u64::from(held.id.serial), held.alloc.size as u64]);
        }
        words.extend([
            self.model.reserved_high() as u64,
            self.model.used_high() as u64,
            self.release_threshold.0,
        ]);
        words.extend(self.waited.iter());
        words.extend(self.recorded.iter().map(|seq| seq.map_or(0, |seq| seq + 1)));
        mix(&words)
    }
}

/// Sizes of the model are those of the machine that it runs on.
pub(super) fn to_size(bytes: Bytes) -> usize {
    usize::try_from(bytes.0).unwrap_or(usize::MAX)
}

pub(super) fn to_bytes(size: usize) -> Bytes {
    Bytes(size as u64)
}
