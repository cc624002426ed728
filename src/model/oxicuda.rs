//! The `oxicuda` model: programs on `StreamOrderModel`, one for each pool.
//!
//! What that type cannot be told stays without effect: policies, the synchronisation of an event, the memory of the device.
//! What it does not know fails as an invalid value: a plain free of a pool's memory, a stream-ordered free of memory outside of
//! pools, a policy switched off, a high-water mark reset. Memory outside of pools is that of the `cuda` model.

mod pool;

use super::cuda::Cuda;
use super::stream_order::{CudaError, ModelAllocation, StreamOrderId};
use super::{Allocator, Candidates, Denied, Freed, GraphMemory, Known, Request};
use crate::base::{Bytes, DeviceId, IndexVec, PoolId, StreamId, mix, reuse_on_clone, words};
use crate::trace::{
    Account, AllocId, Attribute, Attributes, Block, BlockState, Call, Candidate, Cut, Decision, DeviceState,
    Failure, PendingFree, Policy, PoolPicture, PoolState, Range, Readiness, Refusal, Refusals, Reuse, Setup,
    StreamKind, Target, Ticket,
};
use pool::{Held, Pool, to_bytes, to_size};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// In an [`AllocId`], the slot of a block of a pool has this bit, and that of memory outside of pools has not.
const OF_A_POOL: u32 = 1 << 31;
/// So many blocks that a pool has given back are remembered at least.
const STALE_MIN: usize = 64;

/// [`StreamOrderModel`](super::stream_order::StreamOrderModel) as an allocator of programs.
#[derive(Debug)]
pub struct Oxicuda {
    /// For memory outside of pools only.
    plain: Cuda,
    pools: IndexVec<PoolId, Pool>,
    /// How the model knows a stream, and its device.
    streams: IndexVec<StreamId, (StreamOrderId, DeviceId)>,
    blocks: Vec<Held>,
    /// Free places in `blocks`.
    vacant: Vec<u32>,
    serial: u32,
}

reuse_on_clone!(Oxicuda { plain, pools, streams, blocks, vacant, serial });
impl Oxicuda {
    /// The allocator before the first call.
    pub fn new(setup: &Setup) -> Self {
        let stream = |(index, stream): (usize, &crate::trace::StreamSetup)| match stream.kind {
            StreamKind::Legacy => (StreamOrderId::NULL, stream.device),
            _ => (StreamOrderId(index as u64 + 1), stream.device),
        };
        Self {
            plain: Cuda::new(setup),
            pools: setup.pools.indices().map(|pool| Pool::new(setup, pool)).collect(),
            streams: setup.streams.iter().enumerate().map(stream).collect(),
            blocks: Vec::new(),
            vacant: Vec::new(),
            serial: 0,
        }
    }

    /// The block that an allocation of a pool got, also after its free, while the pool has it.
    fn slot(&self, alloc: AllocId) -> Option<u32> {
        let slot = alloc.slot & !OF_A_POOL;
        let held = self.blocks.get(slot as usize).filter(|_| is_of_a_pool(alloc))?;
        (held.first <= alloc.serial && alloc.serial <= held.id.serial).then_some(slot)
    }

    /// Enters an allocation of a known block, or of a new one; says who had the block before.
    fn enter(
        &mut self,
        pool: PoolId,
        alloc: ModelAllocation,
        known: Option<u32>,
    ) -> (AllocId, Option<AllocId>) {
        self.serial += 1;
        let serial = self.serial;
        if let Some(slot) = known {
            let held = &mut self.blocks[slot as usize];
            let before = held.id;
            held.before = Some((held.id.serial, held.alloc));
            held.id.serial = serial;
            (held.alloc, held.freed, held.is_free) = (alloc, None, false);
            return (held.id, Some(before));
        }
        let slot = self.vacant.pop().unwrap_or(self.blocks.len() as u32);
        let id = AllocId { slot: slot | OF_A_POOL, serial };
        let held = Held { pool, first: serial, id, alloc, before: None, freed: None, is_free: false };
        match self.blocks.get_mut(slot as usize) {
            Some(place) => *place = held,
            None => self.blocks.push(held),
        }
        self.pools[pool].slots.insert(alloc.ptr, slot);
        (id, None)
    }

    /// Forgets the blocks that the pool has given back, once they are more than those that it has.
    fn forget(&mut self, id: PoolId) {
        let pool = &mut self.pools[id];
        let model = &pool.model;
        let there = model.active() + model.free_block_count() + model.pending_free_count();
        if pool.slots.len() <= 2 * there + STALE_MIN {
            return;
        }
        let there: BTreeSet<u64> = {
            let state = model.state();
            let pending = state.pending.iter().map(|pending| &pending.block);
            state.live.iter().chain(&state.free).chain(pending).map(|block| block.ptr).collect()
        };
        let (blocks, vacant) = (&mut self.blocks, &mut self.vacant);
        pool.slots.retain(|ptr, slot| {
            let stays = there.contains(ptr);
            if !stays {
                // No allocation has a number as high as this.
                blocks[*slot as usize].first = u32::MAX;
                vacant.push(*slot);
            }
            stays
        });
    }

    fn candidate(&self, slot: u32) -> Option<Candidate> {
        let Held { id, freed, .. } = self.blocks[slot as usize];
        Some(Candidate { alloc: id, freed: freed? })
    }

    /// Whether an allocation may be used in a stream, as the model answers: also of one that was freed, until its block has been
    /// handed out twice more.
    pub fn is_ready(&self, alloc: AllocId, on: StreamId) -> bool {
        let held = self.slot(alloc).map(|slot| self.blocks[slot as usize]);
        let Some((Held { pool, .. }, said)) = held.and_then(|held| Some((held, held.said_to(alloc)?))) else {
            return false;
        };
        let pool = &self.pools[pool];
        let ((consumer, _), waited) = (self.streams[on], pool.waited[on]);
        pool.model.is_ready_cross_stream(&said, consumer, waited)
    }
}

/// It has no graphs.
impl GraphMemory for Oxicuda {}

impl Allocator for Oxicuda {
    fn alloc(&mut self, request: Request, _: Known<'_>) -> Result<Decision, Denied> {
        let Request { pool: id, size, at } = request;
        let (name, _) = self.streams[at.stream];
        let pool = &mut self.pools[id];
        let before = pool.model.reserved();
        let alloc = match pool.model.alloc(to_size(size), name) {
            Ok(alloc) => alloc,
            Err(error) => return Err(Denied { failure: failure(error), unmapped: pool.released(before) }),
        };
        // Beyond the largest address, a new block has the address of another one.
        let known = pool.slots.get(&alloc.ptr).copied().filter(|slot| self.blocks[*slot as usize].is_free);
        let is_new = known.is_none();
        let mapped = if is_new { alloc.capacity } else { 0 };
        let unmapped = pool.released(before.saturating_add(mapped));
        pool.maps += u64::from(is_new);
        let (alloc_id, reuses) = self.enter(id, alloc, known);
        let held = self.blocks[(alloc_id.slot & !OF_A_POOL) as usize];
        let pool = &mut self.pools[id];
        pool.requested = pool.requested.saturating_add(held.requested());
        pool.pending.entry(at.stream).or_default();
        self.forget(id);
        Ok(Decision {
            alloc: alloc_id,
            range: Range { start: alloc.ptr, size: Bytes(held.capacity()) },
            requested: size,
            policy: Some(if is_new { Policy::Growth } else { Policy::Observed }),
            reuses,
            takes: SmallVec::new(),
            waits: SmallVec::new(),
            by_timing: false,
            mapped: to_bytes(mapped),
            unmapped,
        })
    }

    fn malloc(&mut self, device: DeviceId, size: Bytes, managed: bool) -> Result<Decision, Failure> {
        self.plain.count_on_from(self.serial);
        let decision = self.plain.malloc(device, size, managed)?;
        self.serial = self.serial.max(decision.alloc.serial);
        Ok(decision)
    }

    fn free(&mut self, alloc: AllocId, at: Ticket) -> Result<Freed, Failure> {
        let slot = self.slot(alloc).ok_or(Failure::InvalidValue)?;
        let held = &mut self.blocks[slot as usize];
        let (id, (name, _)) = (held.pool, self.streams[at.stream]);
        let pool = &mut self.pools[id];
        let before = pool.model.reserved();
        // By the address alone, so that it may be another allocation's by now.
        pool.model.free(held.alloc.ptr, name).map_err(failure)?;
        held.freed = Some(at);
        pool.requested = pool.requested.saturating_sub(held.requested());
        pool.pending.entry(at.stream).or_default().push(slot);
        pool.by_size.insert((held.capacity(), slot));
        pool.pending_bytes = pool.pending_bytes.saturating_add(held.capacity());
        Ok(Freed::Pool { pool: id, unmapped: pool.released(before) })
    }

    fn reserve(&mut self, device: DeviceId, size: Bytes) -> Result<(), Failure> {
        self.plain.reserve(device, size)
    }

    fn plain_free(&mut self, alloc: AllocId) -> Result<Freed, Failure> {
        match is_of_a_pool(alloc) {
            true => Err(Failure::InvalidValue),
            false => self.plain.plain_free(alloc),
        }
    }

    fn reset(&mut self, device: DeviceId, freed: &mut Vec<AllocId>) {
        self.plain.reset(device, freed);
    }

    fn awaits_completion(&self) -> bool {
        false
    }

    fn completed(&mut self, _: &Cut, _: &mut Vec<(Ticket, DeviceId, Bytes)>) {}

    fn heard(&mut self, call: &Call) {
        match *call {
            Call::Record { stream, event } => {
                let (name, _) = self.streams[stream];
                for pool in &mut self.pools {
                    pool.recorded[event] = Some(pool.model.record_event(name));
                }
            }
            Call::Wait { stream, event } => {
                for pool in &mut self.pools {
                    pool.waited[stream] = pool.recorded[event].unwrap_or(pool.waited[stream]);
                }
            }
            _ => {}
        }
    }

    fn synchronised(
        &mut self,
        target: Target,
        _: Option<DeviceId>,
        _: &Cut,
        released: &mut Vec<(PoolId, Bytes)>,
    ) {
        let streams = &self.streams;
        let is_meant = |stream: &StreamId| match target {
            Target::Stream(target) => target == *stream,
            Target::Device(target) => target == streams[*stream].1,
            Target::Event(_) => false,
        };
        let Some(first) = streams.indices().find(is_meant) else { return };
        for (id, pool) in self.pools.iter_mut_enumerated() {
            let before = pool.model.reserved();
            // Where a stream has nothing to complete, the call only gives memory back, and a second one in a row not even that.
            let others = pool.pending.keys().copied().filter(|stream| *stream != first && is_meant(stream));
            let others: Vec<StreamId> = others.collect();
            for stream in std::iter::once(first).chain(others) {
                pool.synchronise(stream, streams[stream].0, &mut self.blocks);
            }
            let bytes = pool.released(before);
            released.extend((bytes > Bytes::ZERO).then_some((id, bytes)));
        }
    }

    fn trim(&mut self, pool: PoolId, keep: Bytes) -> Bytes {
        let pool = &mut self.pools[pool];
        let before = pool.model.reserved();
        pool.model.trim_to(to_size(keep));
        pool.released(before)
    }

    fn end(&mut self, pool: PoolId, _: &Cut) -> Option<Bytes> {
        let model = &self.pools[pool].model;
        let is_idle = model.active() == 0 && model.pending_free_count() == 0;
        is_idle.then(|| {
            self.pools[pool].model.set_release_threshold(0);
            self.trim(pool, Bytes::ZERO)
        })
    }

    fn set(&mut self, pool: PoolId, attribute: Attribute, value: u64) -> Result<(), Failure> {
        let pool = &mut self.pools[pool];
        match attribute {
            Attribute::ReleaseThreshold => {
                pool.release_threshold = Bytes(value);
                pool.model.set_release_threshold(to_size(Bytes(value)));
                Ok(())
            }
            // They can be switched on, which does nothing.
            Attribute::FollowEvent | Attribute::Opportunistic | Attribute::Internal if value == 1 => Ok(()),
            _ => Err(Failure::InvalidValue),
        }
    }

    fn state(&self, pool: PoolId) -> PoolState {
        let pool = &self.pools[pool];
        let model = &pool.model;
        PoolState {
            reserved: to_bytes(model.reserved()),
            reserved_high: to_bytes(model.reserved_high()),
            used: to_bytes(model.used()),
            used_high: to_bytes(model.used_high()),
            maps: pool.maps,
            unmaps: pool.unmaps,
            ledger: pool.ledger(),
            attributes: Attributes {
                release_threshold: pool.release_threshold,
                reuse: Reuse { follow_event: false, opportunistic: false, internal: false },
            },
        }
    }

    fn device(&self, device: DeviceId, done: &Cut) -> DeviceState {
        let pools = self.pools.iter().filter(|pool| pool.device == Some(device));
        let reserved = pools.map(|pool| pool.model.reserved() as u64).fold(0, u64::saturating_add);
        DeviceState { pools: Bytes(reserved), ..self.plain.device(device, done) }
    }

    fn account(&self, id: PoolId) -> Account {
        let pool = &self.pools[id];
        let pending = pool.pending.values().flatten().filter_map(|slot| {
            let held = self.blocks[*slot as usize];
            Some(PendingFree { alloc: held.id, at: held.freed?, bytes: Bytes(held.capacity()) })
        });
        let device = pool.device.map(|device| self.device(device, &[]));
        let held = device.map_or(Bytes::ZERO, |device| device.pools);
        Account {
            ledger: pool.ledger(),
            pending: pending.collect(),
            fragmented: pool.fragmented(),
            other_pools: Bytes(held.0.saturating_sub(pool.model.reserved() as u64)),
            outside: device.map_or(Bytes::ZERO, |device| device.outside),
            room: pool.room(),
        }
    }

    fn refused(&self, request: Request, _: Known<'_>) -> Refusals {
        let pool = &self.pools[request.pool];
        let mut refusals = Refusals::default();
        if request.size == Bytes::ZERO {
            return refusals;
        }
        let served = pool.class_for(request.size);
        let pending = pool.by_size.range((request.size.0, 0)..).next();
        let pending = pending.and_then(|(_, slot)| self.candidate(*slot));
        for (class, reason) in Policy::ALL.into_iter().zip(&mut refusals.reasons) {
            *reason = Some(match class {
                class if served == Some(class) => break,
                Policy::Observed => pending.map_or(Refusal::NoFit, Refusal::NotSynchronised),
                Policy::Growth => Refusal::PoolCapacity(pool.room()),
                _ => Refusal::Absent,
            });
        }
        refusals
    }

    fn readiness(&self, alloc: AllocId, on: StreamId, known: Known<'_>) -> Readiness {
        if !is_of_a_pool(alloc) {
            return self.plain.readiness(alloc, on, known);
        }
        let held = self.slot(alloc).map(|slot| self.blocks[slot as usize]);
        match held.filter(|held| held.id == alloc) {
            _ if self.is_ready(alloc, on) => Readiness::Ready,
            Some(Held { freed: None, .. }) => Readiness::NotOrdered,
            _ => Readiness::Freed,
        }
    }

    fn picture(&self, id: PoolId) -> PoolPicture {
        let pool = &self.pools[id];
        let state = pool.model.state();
        let held = |ptr: u64| pool.slots.get(&ptr).map(|slot| self.blocks[*slot as usize]);
        let freed = |ptr: u64, observed: bool| {
            let Held { id, freed, .. } = held(ptr)?;
            Some(BlockState::Freed { alloc: id, at: freed?, observed })
        };
        let live = state.live.iter().map(|block| {
            let live = held(block.ptr)
                .map(|held| BlockState::Live { alloc: held.id, requested: Bytes(held.requested()) });
            (*block, live)
        });
        let pending = state.pending.iter().map(|pending| (pending.block, freed(pending.block.ptr, false)));
        let free = state.free.iter().map(|block| (*block, freed(block.ptr, true)));
        let blocks = live.chain(pending).chain(free).map(|(block, state)| Block {
            start: block.ptr,
            size: to_bytes(block.capacity),
            state: state.unwrap_or(BlockState::Unused),
        });
        let mut blocks: Vec<Block> = blocks.collect();
        blocks.sort_unstable_by_key(|block| block.start);
        PoolPicture { pool: id, state: self.state(id), fragmented: pool.fragmented(), blocks }
    }

    /// None: progress that no synchronise has proven decides nothing.
    fn candidates(&self, _: Request, _: Known<'_>, _: &mut Candidates) {}

    fn foretell(&self, _: Request, _: Known<'_>) -> u64 {
        0
    }

    fn leaving(&self, into: &mut Vec<Ticket>) {
        self.plain.leaving(into);
    }

    /// None: this allocator never makes a stream wait.
    fn pending(&self, _: &mut Vec<Ticket>) {}

    fn digest(&self) -> u128 {
        let start = self.plain.digest().wrapping_add(u128::from(self.serial));
        let pools = self.pools.iter().map(|pool| pool.digest(&self.blocks));
        pools.enumerate().fold(start, |sum, (index, digest)| {
            let [low, high] = words(digest);
            sum.wrapping_add(mix(&[index as u64, low, high]))
        })
    }
}

fn is_of_a_pool(alloc: AllocId) -> bool {
    alloc != AllocId::NULL && alloc.slot & OF_A_POOL != 0
}

fn failure(error: CudaError) -> Failure {
    match error {
        CudaError::OutOfMemory => Failure::OutOfMemory,
        CudaError::InvalidValue => Failure::InvalidValue,
    }
}
