//! What an allocator decided for one allocation, and why the classes before could not serve it.

use super::Ticket;
use crate::base::Bytes;
use smallvec::SmallVec;
use std::fmt;

/// One allocation of a run. `slot` is dense and given again after a free; `serial` counts the allocations of the run from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AllocId {
    /// Its place in the allocator's table.
    pub slot: u32,
    /// Its number in the run.
    pub serial: u32,
}

impl AllocId {
    /// The null pointer: what an allocation of 0 bytes gives, and what a free takes without effect.
    pub const NULL: AllocId = AllocId { slot: u32::MAX, serial: 0 };
}

/// A range of virtual addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// The first address.
    pub start: u64,
    /// How many bytes.
    pub size: Bytes,
}

impl Range {
    /// The address after the last one; the greatest address, where that is none.
    pub fn end(self) -> u64 {
        self.start.saturating_add(self.size.0)
    }

    /// Whether the ranges share a byte.
    pub fn overlaps(self, other: Range) -> bool {
        self.start < other.end() && other.start < self.end()
    }
}

/// The classes of memory that can serve an allocation, in the order in which they are asked
/// (CUDA Programming Guide 4.3.4.4; the fixed order is Millpond's).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Policy {
    /// Freed earlier in the same stream; the work before the free may still run.
    SameStream,
    /// The free is proven complete by a host synchronisation.
    Observed,
    /// Freed on another stream after which the allocating stream is already ordered.
    FollowEvent,
    /// Freed on another stream, and the free happens to have completed.
    Opportunistic,
    /// Mapped, and not handed out since.
    Unused,
    /// Newly mapped physical memory.
    Growth,
    /// Freed on another stream; the allocator makes the allocating stream wait for the free.
    Internal,
}

impl Policy {
    /// All classes, in the order in which they are asked.
    pub const ALL: [Policy; 7] = [
        Policy::SameStream,
        Policy::Observed,
        Policy::FollowEvent,
        Policy::Opportunistic,
        Policy::Unused,
        Policy::Growth,
        Policy::Internal,
    ];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Policy::SameStream => "same_stream",
            Policy::Observed => "observed",
            Policy::FollowEvent => "follow_event",
            Policy::Opportunistic => "opportunistic",
            Policy::Unused => "unused",
            Policy::Growth => "growth",
            Policy::Internal => "internal",
        }
    }

    /// Whether the class can hand out bytes that an earlier allocation had. Of class `unused` they are part of a range that
    /// freed and unused neighbours make up together.
    pub const fn can_reuse(self) -> bool {
        !matches!(self, Policy::Growth)
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Where an allocation was placed, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The new allocation.
    pub alloc: AllocId,
    /// Its addresses; the size is rounded up to the alignment.
    pub range: Range,
    /// The size that was asked for.
    pub requested: Bytes,
    /// The class that served it: of all its bytes the weakest. `None`: a null allocation, memory outside of pools, or
    /// hardware that cannot say.
    pub policy: Option<Policy>,
    /// The earlier allocation that had the first of the reused bytes.
    pub reuses: Option<AllocId>,
    /// The freed allocations of the pool that it takes bytes of, in the order of addresses.
    pub takes: SmallVec<[Part; 2]>,
    /// The frees that the allocator makes the allocating stream wait for (class `internal`), one a stream at most.
    pub waits: SmallVec<[Ticket; 2]>,
    /// Physical memory that was newly mapped for it.
    pub mapped: Bytes,
    /// Idle physical memory of the pool that was given back to make room for that.
    pub unmapped: Bytes,
    /// Whether another timing of the devices would have served it otherwise; known where a sink wants refusals.
    pub by_timing: bool,
}

/// Bytes of an allocation that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The allocation.
    pub alloc: AllocId,
    /// How many.
    pub size: Bytes,
}

impl Decision {
    /// The null pointer, for a size of 0 bytes.
    pub fn null() -> Self {
        let range = Range { start: 0, size: Bytes::ZERO };
        Self::plain(AllocId::NULL, range, Bytes::ZERO, Bytes::ZERO)
    }

    /// Memory that no class of a pool serves.
    pub fn plain(alloc: AllocId, range: Range, requested: Bytes, mapped: Bytes) -> Self {
        let (takes, waits, unmapped) = (SmallVec::new(), SmallVec::new(), Bytes::ZERO);
        Self {
            alloc,
            range,
            requested,
            policy: None,
            reuses: None,
            takes,
            waits,
            mapped,
            unmapped,
            by_timing: false,
        }
    }

    /// The part that later questions about the allocation need.
    pub fn placement(&self) -> Placement {
        Placement {
            alloc: self.alloc,
            range: self.range,
            policy: self.policy,
            reuses: self.reuses.is_some(),
            waits: self.waits.clone(),
            by_timing: self.by_timing,
            freed: None,
        }
    }
}

/// What an expectation knows about a named allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The allocation.
    pub alloc: AllocId,
    /// Its addresses.
    pub range: Range,
    /// The class that served it.
    pub policy: Option<Policy>,
    /// Whether some of its bytes belonged to an earlier allocation.
    pub reuses: bool,
    /// The frees that its stream was made to wait for.
    pub waits: SmallVec<[Ticket; 2]>,
    /// Whether another timing of the devices would have served it otherwise.
    pub by_timing: bool,
    /// Its free, once that was submitted.
    pub freed: Option<Ticket>,
}

/// The freed block that a class would have taken, had it been allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The allocation whose bytes they were.
    pub alloc: AllocId,
    /// The free that has to be ordered, done or observed.
    pub freed: Ticket,
}

/// Why a class could not serve an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The policy is switched off.
    Off,
    /// The model has no such class.
    Absent,
    /// Nothing of this kind is large enough.
    NoFit,
    /// The memory was freed on another stream.
    OtherStream(Candidate),
    /// No host synchronisation has proven the free complete.
    NotObserved(Candidate),
    /// The stream of the free has not been synchronised since, which is the only proof that the model knows.
    NotSynchronised(Candidate),
    /// The allocating stream is not ordered after the free.
    NotOrdered(Candidate),
    /// The free had not completed when the call was made: another timing may decide otherwise.
    NotDone(Candidate),
    /// Not the device, but the maximum size of the pool forbids a growth, and by the profile that is not enough.
    MaxSize,
    /// The device leaves only so much.
    Capacity(Bytes),
    /// The maximum size of the pool leaves only so much.
    PoolCapacity(Bytes),
}

/// Why an allocation was not served otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refusals {
    /// For each class of [`Policy::ALL`], why it could not serve; `None` for the class that did and those after it.
    pub reasons: [Option<Refusal>; 7],
    /// Whether another timing of the devices, with the same calls, would have served it otherwise.
    pub by_timing: bool,
}
