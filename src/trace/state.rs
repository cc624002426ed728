//! The state of a pool as figures, and as a list of its blocks.

use super::{AllocId, Attribute, Attributes, Figure, Ticket};
use crate::base::{Bytes, PoolId};

/// The figures of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolState {
    /// Physical bytes held.
    pub reserved: Bytes,
    /// The most that `reserved` was since it was reset.
    pub reserved_high: Bytes,
    /// Bytes handed out, as asked for.
    pub used: Bytes,
    /// The most that `used` was since it was reset.
    pub used_high: Bytes,
    /// How often it has mapped physical memory.
    pub maps: u64,
    /// How often it has given physical memory back.
    pub unmaps: u64,
    /// Where the reserved bytes are.
    pub ledger: Ledger,
    /// The writable attributes.
    pub attributes: Attributes,
}

impl PoolState {
    /// One figure; a switch is 0 or 1.
    pub fn figure(&self, figure: Figure) -> u64 {
        let Attributes { release_threshold, reuse } = self.attributes;
        match figure {
            Figure::Attribute(Attribute::FollowEvent) => u64::from(reuse.follow_event),
            Figure::Attribute(Attribute::Opportunistic) => u64::from(reuse.opportunistic),
            Figure::Attribute(Attribute::Internal) => u64::from(reuse.internal),
            Figure::Attribute(Attribute::ReleaseThreshold) => release_threshold.0,
            Figure::Attribute(Attribute::Reserved) => self.reserved.0,
            Figure::Attribute(Attribute::ReservedHigh) => self.reserved_high.0,
            Figure::Attribute(Attribute::Used) => self.used.0,
            Figure::Attribute(Attribute::UsedHigh) => self.used_high.0,
            Figure::Maps => self.maps,
            Figure::Unmaps => self.unmaps,
            Figure::Padding => self.ledger.padding.0,
            Figure::Pending => self.ledger.pending.0,
            Figure::Cached => self.ledger.cached.0,
            Figure::Unused => self.ledger.unused.0,
        }
    }
}

/// Where the bytes of a pool are. `live + padding + pending + cached + unused == reserved`, always.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Handed out, as asked for.
    pub live: Bytes,
    /// Handed out beyond that, by rounding.
    pub padding: Bytes,
    /// Freed, but no host synchronisation has observed it.
    pub pending: Bytes,
    /// Freed and observed.
    pub cached: Bytes,
    /// Mapped, and not handed out since.
    pub unused: Bytes,
}

impl Ledger {
    /// The sum, which is what the pool has reserved.
    pub fn total(self) -> u64 {
        self.live.0 + self.padding.0 + self.pending.0 + self.cached.0 + self.unused.0
    }
}

/// Where memory was when an allocation of a pool failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// The bytes of the pool.
    pub ledger: Ledger,
    /// Whose frees the pending bytes are, by stream, oldest first.
    pub pending: Vec<PendingFree>,
    /// Of the cached and unused bytes, those outside the largest range of such bytes.
    pub fragmented: Bytes,
    /// What the other pools of the device have reserved.
    pub other_pools: Bytes,
    /// What was allocated on the device outside of pools.
    pub outside: Bytes,
    /// What neither device nor maximum size forbids the pool to map.
    pub room: Bytes,
}

impl Account {
    /// Of the cached and unused bytes, the largest range.
    pub fn largest_hole(&self) -> Bytes {
        let idle = self.ledger.cached.0.saturating_add(self.ledger.unused.0);
        Bytes(idle.saturating_sub(self.fragmented.0))
    }
}

/// A free that no host synchronisation has observed, with bytes that nobody has got since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingFree {
    /// What was freed.
    pub alloc: AllocId,
    /// The free.
    pub at: Ticket,
    /// How many of its bytes are pending.
    pub bytes: Bytes,
}

/// A pool with its blocks, by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolPicture {
    /// Which pool.
    pub pool: PoolId,
    /// Its figures.
    pub state: PoolState,
    /// Of the cached and unused bytes, those outside the largest range of such bytes.
    pub fragmented: Bytes,
    /// All its mapped bytes.
    pub blocks: Vec<Block>,
}

/// A range of a pool's mapped bytes in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// The first address.
    pub start: u64,
    /// How many bytes.
    pub size: Bytes,
    /// What they are.
    pub state: BlockState,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// Handed out.
    Live {
        /// To this allocation.
        alloc: AllocId,
        /// As asked for.
        requested: Bytes,
    },
    /// Freed.
    Freed {
        /// The allocation that had it last.
        alloc: AllocId,
        /// Its free.
        at: Ticket,
        /// Whether a host synchronisation has proven the free complete.
        observed: bool,
    },
    /// Mapped, and not handed out since.
    Unused,
}
