//! A model written straight from the rules, with vectors and scans alone, and with a fault for each rule.
//!
//! The rules of oxicuda-driver 0.5.5, as read from its source:
//!  1. Each stream has a clock of its own, with the operations submitted and those reached, both from 0.
//!  2. A size is rounded up to 512. New blocks lie back to back from `0x7f0000000000` on; no address is handed out anew once
//!     its block was given back; reuse keeps the address.
//!  3. An allocation refuses size 0, then releases (rule 7), picks (rule 4), and only where nothing fits looks at the limit.
//!     A refused one uses no sequence number.
//!  4. The lowest index of exactly the capacity wins, or else the lowest of those larger; the last block moves to its place.
//!     Blocks are neither split nor joined.
//!  5. A free of what is not live is refused and changes nothing. Otherwise bytes are out of use at the call, and the free is
//!     an operation of the stream named in it.
//!  6. An operation is complete when more than its number was reached, and only a synchronisation moves that.
//!  7. Complete frees go to the end of the list as they were submitted; then the last blocks go while more is reserved than
//!     the threshold and what is in use.
//!  8. A trim does the same with the threshold, and once more with its own figure.
//!  9. Reserved are live, free and pending bytes; used are the live ones; in use are live and pending ones.
//! 10. The peak of reserved bytes moves with new blocks, the other two with allocations; a reset sets all three.
//! 11. An event has the number of the next operation and uses none.
//! 12. Another stream may use an allocation after an event with a higher number than the allocation.
//! 13. Sums stop at the largest number, but for the sum of pending bytes, which starts over.

use super::calls::Model;
use millpond::model::stream_order::{CudaError, CudaResult, ModelAllocation, ModelLimits, StreamOrderId};

/// What is broken, for each rule.
pub(super) const FAULTS: [(usize, &str); 13] = [
    (1, "all streams share one clock"),
    (2, "capacities are multiples of 256"),
    (3, "the limit is looked at before anything is released"),
    (4, "the first block that is large enough wins over one that fits exactly"),
    (5, "a free is an operation of the stream of the allocation"),
    (6, "an operation is complete when its number is reached"),
    (7, "the block that became free first is released first"),
    (8, "a trim does not look at the threshold"),
    (9, "pending bytes do not count as in use"),
    (10, "a reset leaves the peak of live allocations"),
    (11, "an event uses a sequence number"),
    (12, "an event with the number of the allocation is enough"),
    (13, "addresses start over instead of stopping at the largest"),
];

#[derive(Clone, Copy)]
struct Block {
    ptr: u64,
    capacity: usize,
    /// Of the allocation; only a fault asks.
    owner: StreamOrderId,
}

struct Clock {
    stream: StreamOrderId,
    submitted: u64,
    reached: u64,
}

pub(super) struct Naive {
    /// The rule that is broken; 0: none.
    broken: usize,
    limits: ModelLimits,
    clocks: Vec<Clock>,
    free_list: Vec<Block>,
    pending: Vec<(Block, StreamOrderId, u64)>,
    live: Vec<Block>,
    next_address: u64,
    reserved: usize,
    used: usize,
    reserved_high: usize,
    used_high: usize,
    active: usize,
    peak_active: usize,
}

impl Naive {
    pub(super) fn new(limits: ModelLimits, broken: usize) -> Self {
        Self {
            broken,
            limits,
            clocks: Vec::new(),
            free_list: Vec::new(),
            pending: Vec::new(),
            live: Vec::new(),
            next_address: 0x7f00_0000_0000,
            reserved: 0,
            used: 0,
            reserved_high: 0,
            used_high: 0,
            active: 0,
            peak_active: 0,
        }
    }

    fn breaks(&self, rule: usize) -> bool {
        self.broken == rule
    }

    fn clock(&mut self, stream: StreamOrderId) -> &mut Clock {
        let stream = if self.breaks(1) { StreamOrderId::NULL } else { stream };
        let place = self.clocks.iter().position(|clock| clock.stream == stream);
        let place = place.unwrap_or_else(|| {
            self.clocks.push(Clock { stream, submitted: 0, reached: 0 });
            self.clocks.len() - 1
        });
        &mut self.clocks[place]
    }

    fn submit(&mut self, stream: StreamOrderId) -> u64 {
        let clock = self.clock(stream);
        clock.submitted += 1;
        clock.submitted - 1
    }

    fn has_reached(&self, stream: StreamOrderId, seq: u64) -> bool {
        let stream = if self.breaks(1) { StreamOrderId::NULL } else { stream };
        let reached = self.clocks.iter().find(|clock| clock.stream == stream).map(|clock| clock.reached);
        reached.is_some_and(|reached| if self.breaks(6) { reached >= seq } else { reached > seq })
    }

    fn collect(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for (block, stream, seq) in pending {
            if self.has_reached(stream, seq) {
                self.free_list.push(block);
            } else {
                self.pending.push((block, stream, seq));
            }
        }
        self.release_above(self.limits.release_threshold);
    }

    fn release_above(&mut self, keep: usize) {
        let pending = self.pending.iter().fold(0, |sum: usize, (block, ..)| sum.wrapping_add(block.capacity));
        let in_use = if self.breaks(9) { self.used } else { self.used.saturating_add(pending) };
        while self.reserved > keep.max(in_use) && !self.free_list.is_empty() {
            let at = if self.breaks(7) { 0 } else { self.free_list.len() - 1 };
            self.reserved = self.reserved.saturating_sub(self.free_list.remove(at).capacity);
        }
    }

    fn pick(&self, want: usize) -> Option<usize> {
        let exact = self.free_list.iter().position(|block| block.capacity == want);
        let large = self.free_list.iter().position(|block| block.capacity >= want);
        if self.breaks(4) { large } else { exact.or(large) }
    }
}

impl Model for Naive {
    fn alloc(&mut self, size: usize, stream: StreamOrderId) -> CudaResult<ModelAllocation> {
        if size == 0 {
            return Err(CudaError::InvalidValue);
        }
        let mut reserved = self.reserved;
        self.collect();
        if !self.breaks(3) {
            reserved = self.reserved;
        }
        let unit = if self.breaks(2) { 256 } else { 512 };
        let want = size.saturating_add(unit - 1) / unit * unit;
        let mut block = match self.pick(want) {
            Some(at) => self.free_list.swap_remove(at),
            None => {
                let ModelLimits { max_pool_size, .. } = self.limits;
                if max_pool_size > 0 && reserved.saturating_add(want) > max_pool_size {
                    return Err(CudaError::OutOfMemory);
                }
                let ptr = self.next_address;
                let (above, saturated) = (ptr.wrapping_add(want as u64), ptr.saturating_add(want as u64));
                self.next_address = if self.breaks(13) { above } else { saturated };
                self.reserved = self.reserved.saturating_add(want);
                self.reserved_high = self.reserved_high.max(self.reserved);
                Block { ptr, capacity: want, owner: stream }
            }
        };
        block.owner = stream;
        let Block { ptr, capacity, .. } = block;
        self.live.retain(|other| other.ptr != ptr);
        self.live.push(block);
        self.used = self.used.saturating_add(capacity);
        self.used_high = self.used_high.max(self.used);
        self.active += 1;
        self.peak_active = self.peak_active.max(self.active);
        Ok(ModelAllocation { ptr, size, capacity, stream, ready_seq: self.submit(stream) })
    }

    fn free(&mut self, ptr: u64, stream: StreamOrderId) -> CudaResult<()> {
        let place = self.live.iter().position(|block| block.ptr == ptr).ok_or(CudaError::InvalidValue)?;
        let block = self.live.swap_remove(place);
        self.used = self.used.saturating_sub(block.capacity);
        self.active = self.active.saturating_sub(1);
        let stream = if self.breaks(5) { block.owner } else { stream };
        let seq = self.submit(stream);
        self.pending.push((block, stream, seq));
        self.collect();
        Ok(())
    }

    fn synchronize(&mut self, stream: StreamOrderId) {
        let clock = self.clock(stream);
        clock.reached = clock.submitted;
        self.collect();
    }

    fn record_event(&mut self, stream: StreamOrderId) -> u64 {
        if self.breaks(11) { self.submit(stream) } else { self.clock(stream).submitted }
    }

    fn trim_to(&mut self, keep: usize) {
        if !self.breaks(8) {
            self.collect();
        }
        self.release_above(keep);
    }

    fn set_release_threshold(&mut self, threshold: usize) {
        self.limits.release_threshold = threshold;
    }

    fn reset_peaks(&mut self) {
        (self.reserved_high, self.used_high) = (self.reserved, self.used);
        if !self.breaks(10) {
            self.peak_active = self.active;
        }
    }

    fn is_live(&self, ptr: u64) -> bool {
        self.live.iter().any(|block| block.ptr == ptr)
    }

    fn is_ready_same_stream(&self, alloc: &ModelAllocation) -> bool {
        self.has_reached(alloc.stream, alloc.ready_seq)
    }

    fn is_ready_cross_stream(&self, alloc: &ModelAllocation, consumer: StreamOrderId, wait_seq: u64) -> bool {
        if consumer == alloc.stream {
            self.is_ready_same_stream(alloc)
        } else if self.breaks(12) {
            wait_seq >= alloc.ready_seq
        } else {
            wait_seq > alloc.ready_seq
        }
    }

    fn figures(&self) -> [usize; 8] {
        [
            self.reserved,
            self.used,
            self.reserved_high,
            self.used_high,
            self.active,
            self.peak_active,
            self.free_list.len(),
            self.pending.len(),
        ]
    }
}
