//! What a name of memory stands for while a program runs: which memory, and which bytes of it.

use super::broken::Broken;
use crate::base::{Bytes, HostBufferId};
use crate::trace::{Access, AllocId, Decision, Memory, Placement, Policy, Range, Ticket, Use};
use smallvec::SmallVec;

/// What a name of memory stands for. Plain data, since an exploration copies it often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    memory: Memory,
    /// The first byte that it stands for, counted from the start of the memory.
    from: u64,
    size: u64,
    /// Of an allocation, where it is.
    pub(super) placed: Option<Placed>,
}

/// What expectations know about an allocation, but for what its stream was made to wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) alloc: AllocId,
    pub(super) range: Range,
    policy: Option<Policy>,
    reuses: bool,
    by_timing: bool,
    pub(super) freed: Option<Ticket>,
}

impl Placed {
    fn new(decision: &Decision) -> Self {
        let Decision { alloc, range, policy, by_timing, .. } = *decision;
        Self { alloc, range, policy, reuses: decision.reuses.is_some(), by_timing, freed: None }
    }

    /// With these waits, all that expectations know.
    pub(super) fn placement(&self, waits: &[Ticket]) -> Placement {
        let Self { alloc, range, policy, reuses, by_timing, freed } = *self;
        Placement { alloc, range, policy, reuses, waits: SmallVec::from_slice(waits), by_timing, freed }
    }
}

/// Who touches memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// The host itself.
    Host,
    /// A kernel or a memset.
    Device,
    /// A copy, which reaches everything.
    Copy,
}

impl By {
    /// Whether it reaches such memory.
    pub(super) fn reaches(self, memory: Kind) -> bool {
        match self {
            By::Host => memory != Kind::Device,
            By::Device => memory != Kind::Pageable,
            By::Copy => true,
        }
    }
}

/// What kind of memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Device,
    Managed,
    HostPool,
    Pinned,
    Pageable,
}

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Kind::Device => "device memory",
            Kind::Managed => "managed memory",
            Kind::HostPool => "memory of a pool on the host",
            Kind::Pinned => "pinned memory of the host",
            Kind::Pageable => "pageable memory of the host",
        }
    }

    const fn of(memory: Memory) -> Self {
        match memory {
            Memory::Device(_) => Kind::Device,
            Memory::Managed(_) => Kind::Managed,
            Memory::HostPool(_) => Kind::HostPool,
            Memory::Pinned(_) => Kind::Pinned,
            Memory::Pageable(_) => Kind::Pageable,
        }
    }
}

impl Held {
    /// An allocation.
    pub(super) fn placed(decision: &Decision, kind: Kind) -> Self {
        let memory = match kind {
            Kind::Managed => Memory::Managed,
            Kind::HostPool => Memory::HostPool,
            Kind::Device | Kind::Pinned | Kind::Pageable => Memory::Device,
        };
        let (from, size) = (0, decision.requested.0);
        Self { memory: memory(decision.alloc), from, size, placed: Some(Placed::new(decision)) }
    }

    /// A buffer of the host.
    pub(super) fn host(id: HostBufferId, size: Bytes, pinned: bool) -> Self {
        let memory = if pinned { Memory::Pinned(id) } else { Memory::Pageable(id) };
        Self { memory, from: 0, size: size.0, placed: None }
    }

    /// A part of it, by its first byte and the byte after its last one; without them all of it.
    pub(super) fn view(&self, part: Option<(u64, u64)>) -> Result<Self, Broken> {
        let (from, to) = part.unwrap_or((0, self.size));
        if from >= to && part.is_some() {
            return Err(Broken::EmptyPart { from, to });
        }
        if to > self.size {
            return Err(Broken::Outside { from, to, size: self.size });
        }
        Ok(Self { memory: self.memory, from: self.from + from, size: to - from, placed: None })
    }

    /// The use of a part of it.
    pub(super) fn touch(&self, part: Option<(u64, u64)>, access: Access, by: By) -> Result<Use, Broken> {
        let Held { memory, from, size, .. } = self.view(part)?;
        if !by.reaches(Kind::of(memory)) {
            return Err(Broken::OutOfReach(Kind::of(memory).name()));
        }
        Ok(Use { memory, from: Bytes(from), size: Bytes(size), access })
    }
}

/// Whether memory may be copied from one place to another.
pub(super) fn copied(to: &Use, from: &Use) -> Result<(), Broken> {
    if to.size != from.size {
        return Err(Broken::Sizes { to: to.size.0, from: from.size.0 });
    }
    if to.overlaps(from) { Err(Broken::Overlap) } else { Ok(()) }
}
