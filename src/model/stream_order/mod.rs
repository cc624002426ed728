//! The model of `oxicuda-driver` 0.5.5 (`oxicuda_driver::stream_ordered_model`), answer for answer, without its scans.
//!
//! One pool, blocks that are used whole, and streams that get somewhere only when the host synchronises them. Each answer and
//! each figure is that of the crate, also where CUDA does otherwise; what a call costs, taken over many of them, grows with the
//! logarithm of the free blocks, and not with the frees that are pending.
//!
//! Where its rules depart from CUDA's documents:
//! - A free is pending until its own stream is synchronised. Before, not even that stream uses the memory again, and no event
//!   and no other synchronisation completes it.
//! - Blocks are neither split nor joined; a small request may take a large block.
//! - What lies above the release threshold goes back at every call, in whole blocks, so less than the threshold or than what a
//!   trim asks to keep may stay.
//! - An allocation is "ready" in its own stream only after a synchronisation, and in another one by the number of an event, from
//!   whichever stream that came.
//! - A block is known by its address alone: a second free of an address that is in use again frees the new owner's block.
//! - Sums saturate, so sizes near the largest number overlap instead of failing.
//!
//! This part knows nothing of scenarios, engines or time. For a pool by CUDA's rules see [`cuda`](super::cuda).

mod classes;
mod error;
mod free_list;
mod maxima;
mod state;
mod streams;
mod table;

pub use error::{CudaError, CudaResult};
pub use state::{BlockState, ModelState, PendingState, StreamState};

use crate::base::reuse_on_clone;
use free_list::FreeList;
use serde::{Serialize, Serializer};
use std::fmt;
use streams::Streams;
use table::Table;

/// The address of the first block.
const FIRST_ADDRESS: u64 = 0x7f00_0000_0000;
/// Capacities are multiples of it, in bytes.
const GRANULARITY: usize = 512;

/// A stream, named by any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct StreamOrderId(pub u64);

impl StreamOrderId {
    /// The default stream. To the model it is a stream like any other.
    pub const NULL: Self = Self(0);

    /// The number.
    #[inline]
    pub fn raw(self) -> u64 {
        self.0
    }
}

impl From<u64> for StreamOrderId {
    #[inline]
    fn from(value: u64) -> Self {
        Self(value)
    }
}

/// What an allocation got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ModelAllocation {
    /// The address, never 0.
    pub ptr: u64,
    /// The bytes asked for.
    pub size: usize,
    /// The bytes of the block, which is used whole. At least `size`, but for sizes within 511 of the largest number.
    pub capacity: usize,
    /// The stream of the allocation.
    pub stream: StreamOrderId,
    /// Its sequence number there.
    pub ready_seq: u64,
}

/// The limits of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ModelLimits {
    /// The most bytes that may be reserved; 0: no limit.
    pub max_pool_size: usize,
    /// Bytes reserved above which free blocks are given back.
    pub release_threshold: usize,
}

/// Memory of the virtual device: live, pending or free.
#[derive(Clone, Copy, Debug)]
struct Block {
    ptr: u64,
    capacity: usize,
}

/// A pool whose allocations and frees are ordered by streams.
///
/// The rules are those of oxicuda-driver 0.5.5. The same calls give the same answers, the same [`state`](Self::state) and the
/// same `Debug` text. `clone_from` keeps the memory of a target that is as large as the source.
///
/// ```
/// use millpond::model::stream_order::{ModelLimits, StreamOrderId, StreamOrderModel};
///
/// let mut model = StreamOrderModel::new(ModelLimits { max_pool_size: 0, release_threshold: usize::MAX });
/// let stream = StreamOrderId(1);
/// let first = model.alloc(1_000, stream)?;
/// assert_eq!(first.capacity, 1_024);
///
/// // The free is complete when the stream is synchronised, and only then is the block used again.
/// model.free(first.ptr, stream)?;
/// assert_ne!(model.alloc(1_000, stream)?.ptr, first.ptr);
/// model.synchronize(stream);
/// assert_eq!(model.alloc(1_000, stream)?.ptr, first.ptr);
/// # Ok::<(), millpond::model::stream_order::CudaError>(())
/// ```
pub struct StreamOrderModel {
    streams: Streams,
    free_list: FreeList,
    /// The capacities of live blocks by address.
    live: Table,
    next_address: u64,
    reserved: usize,
    used: usize,
    reserved_high: usize,
    used_high: usize,
    active: usize,
    peak_active: usize,
    limits: ModelLimits,
}

reuse_on_clone!(StreamOrderModel {
    streams,
    free_list,
    live,
    next_address,
    reserved,
    used,
    reserved_high,
    used_high,
    active,
    peak_active,
    limits,
});

impl StreamOrderModel {
    /// An empty pool.
    pub fn new(limits: ModelLimits) -> Self {
        Self {
            streams: Streams::new(),
            free_list: FreeList::default(),
            live: Table::default(),
            next_address: FIRST_ADDRESS,
            reserved: 0,
            used: 0,
            reserved_high: 0,
            used_high: 0,
            active: 0,
            peak_active: 0,
            limits,
        }
    }

    /// Sets the release threshold, in bytes. It acts at the next call that may give memory back.
    pub fn set_release_threshold(&mut self, threshold: usize) {
        self.limits.release_threshold = threshold;
    }

    /// Allocates `size` bytes as the next operation of `stream`.
    ///
    /// The size is rounded up to a multiple of 512. First what is free above the release threshold goes back; then the first
    /// free block of exactly this capacity is used, or else the first that is larger, whole; or else a new block is reserved,
    /// at an address that was never used before.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] for a size of 0; nothing changes. [`CudaError::OutOfMemory`] when a new block would take the
    /// reserved bytes above `max_pool_size`; what went back because of the threshold is gone nevertheless.
    pub fn alloc(&mut self, size: usize, stream: StreamOrderId) -> CudaResult<ModelAllocation> {
        if size == 0 {
            return Err(CudaError::InvalidValue);
        }
        self.release_above(self.limits.release_threshold);
        let want = Self::capacity_for(size);
        let Block { ptr, capacity } = match self.free_list.take(want) {
            Some(block) => block,
            None => self.reserve(want)?,
        };
        let ready_seq = self.streams.submit(stream);
        self.live.insert(ptr, capacity);
        self.used = self.used.saturating_add(capacity);
        self.used_high = self.used_high.max(self.used);
        self.active = self.active.saturating_add(1);
        self.peak_active = self.peak_active.max(self.active);
        Ok(ModelAllocation { ptr, size, capacity, stream, ready_seq })
    }

    /// A size rounded up to a multiple of 512, as far as there is one.
    pub(in crate::model) fn capacity_for(size: usize) -> usize {
        size.saturating_add(GRANULARITY - 1) / GRANULARITY * GRANULARITY
    }

    /// The capacity of the largest free block.
    pub(in crate::model) fn largest_free(&self) -> usize {
        self.free_list.largest()
    }

    /// Frees a live address as the next operation of `stream`, which need not be the stream of the allocation.
    ///
    /// The block is out of use at once and pending until `stream` is synchronised; it stays reserved.
    ///
    /// # Errors
    /// [`CudaError::InvalidValue`] when the address is not live: freed before, or never handed out. Nothing changes.
    pub fn free(&mut self, ptr: u64, stream: StreamOrderId) -> CudaResult<()> {
        let capacity = self.live.remove(&ptr).ok_or(CudaError::InvalidValue)?;
        self.used = self.used.saturating_sub(capacity);
        self.active = self.active.saturating_sub(1);
        self.streams.free(stream, Block { ptr, capacity });
        self.release_above(self.limits.release_threshold);
        Ok(())
    }

    /// Whether a block at this address is live.
    pub fn is_live(&self, ptr: u64) -> bool {
        self.live.contains_key(&ptr)
    }

    /// Completes everything that was submitted to `stream`. The blocks of its frees become free in the order of the frees; then
    /// free blocks above the release threshold go back, last one first.
    pub fn synchronize(&mut self, stream: StreamOrderId) {
        self.streams.synchronize(stream, |block| self.free_list.push(block));
        self.release_above(self.limits.release_threshold);
    }

    /// Whether the allocation may be used in its own stream: the stream was synchronised after it.
    pub fn is_ready_same_stream(&self, alloc: &ModelAllocation) -> bool {
        self.streams.has_reached(alloc.stream, alloc.ready_seq)
    }

    /// Whether the allocation may be used in `consumer` after that waited for an event with the number `wait_seq`: the number is
    /// above that of the allocation. Within the allocation's own stream, [`is_ready_same_stream`](Self::is_ready_same_stream)
    /// decides instead.
    pub fn is_ready_cross_stream(
        &self,
        alloc: &ModelAllocation,
        consumer: StreamOrderId,
        wait_seq: u64,
    ) -> bool {
        if consumer == alloc.stream { self.is_ready_same_stream(alloc) } else { wait_seq > alloc.ready_seq }
    }

    /// The number of an event recorded now in `stream`: that of its next operation, which stays free for it.
    pub fn record_event(&mut self, stream: StreamOrderId) -> u64 {
        self.streams.submitted(stream)
    }

    /// Gives free blocks back, last one first, until at most `min_bytes_to_keep` bytes are reserved or none is free; before that,
    /// the same with the release threshold.
    pub fn trim_to(&mut self, min_bytes_to_keep: usize) {
        self.release_above(self.limits.release_threshold);
        self.release_above(min_bytes_to_keep);
    }

    /// Sets the three peaks to the current figures.
    pub fn reset_peaks(&mut self) {
        self.reserved_high = self.reserved;
        self.used_high = self.used;
        self.peak_active = self.active;
    }

    /// Bytes of live, pending and free blocks.
    #[inline]
    pub fn reserved(&self) -> usize {
        self.reserved
    }

    /// Bytes of live blocks, with what their sizes were rounded up by.
    #[inline]
    pub fn used(&self) -> usize {
        self.used
    }

    /// The most bytes reserved since the last reset.
    #[inline]
    pub fn reserved_high(&self) -> usize {
        self.reserved_high
    }

    /// The most bytes used since the last reset.
    #[inline]
    pub fn used_high(&self) -> usize {
        self.used_high
    }

    /// Live allocations.
    #[inline]
    pub fn active(&self) -> usize {
        self.active
    }

    /// The most live allocations since the last reset.
    #[inline]
    pub fn peak_active(&self) -> usize {
        self.peak_active
    }

    /// Free blocks.
    #[inline]
    pub fn free_block_count(&self) -> usize {
        self.free_list.len()
    }

    /// Frees that are not complete.
    #[inline]
    pub fn pending_free_count(&self) -> usize {
        self.streams.pending()
    }

    /// Everything that later answers depend on, in an order of its own. Millpond's addition to the crate.
    pub fn state(&self) -> ModelState {
        let state_of = |block: Block| BlockState { ptr: block.ptr, capacity: block.capacity };
        let mut by_id: Vec<_> = self.streams.iter().collect();
        by_id.sort_unstable_by_key(|stream| stream.id);
        let pending = by_id.iter().flat_map(|stream| {
            let frees = self.streams.pending_of(stream);
            frees.map(|free| PendingState { stream: stream.id, seq: free.seq, block: state_of(free.block) })
        });
        let mut live: Vec<_> =
            self.live.iter().map(|(ptr, capacity)| BlockState { ptr: *ptr, capacity: *capacity }).collect();
        live.sort_unstable_by_key(|block| block.ptr);
        let clock = |stream: &&streams::Stream| StreamState {
            stream: stream.id,
            submitted: stream.submitted,
            reached: stream.reached,
        };
        ModelState {
            limits: self.limits,
            next_address: self.next_address,
            reserved: self.reserved,
            used: self.used,
            reserved_high: self.reserved_high,
            used_high: self.used_high,
            active: self.active,
            peak_active: self.peak_active,
            streams: by_id.iter().map(clock).collect(),
            live,
            free: self.free_list.iter().map(state_of).collect(),
            pending: pending.collect(),
        }
    }

    /// A new block behind all that there ever were.
    fn reserve(&mut self, capacity: usize) -> CudaResult<Block> {
        let reserved = self.reserved.saturating_add(capacity);
        if self.limits.max_pool_size > 0 && reserved > self.limits.max_pool_size {
            return Err(CudaError::OutOfMemory);
        }
        let ptr = self.next_address;
        self.next_address = ptr.saturating_add(capacity as u64);
        self.reserved = reserved;
        self.reserved_high = self.reserved_high.max(reserved);
        Ok(Block { ptr, capacity })
    }

    /// Gives free blocks back, last one first, while more than `keep` and more than what is in use is reserved.
    fn release_above(&mut self, keep: usize) {
        let in_use = self.used.saturating_add(self.streams.pending_bytes());
        let floor = keep.max(in_use);
        while self.reserved > floor {
            let Some(block) = self.free_list.pop() else { break };
            self.reserved = self.reserved.saturating_sub(block.capacity);
        }
    }
}

impl fmt::Debug for StreamOrderModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamOrderModel").field(&self.state()).finish()
    }
}

/// As its [`state`](StreamOrderModel::state).
impl Serialize for StreamOrderModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.state().serialize(serializer)
    }
}
