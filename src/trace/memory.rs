//! The memory that operations touch: which, and which bytes of it.

use super::AllocId;
use crate::base::{Bytes, HostBufferId};

/// Memory that a program names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// A device's, of a pool or outside of pools.
    Device(AllocId),
    /// Managed memory, which host and devices reach.
    Managed(AllocId),
    /// The host's, of a pool: it reaches that, and devices with access to the pool do.
    HostPool(AllocId),
    /// Page-locked memory of the host (`cudaMallocHost`), which devices reach too.
    Pinned(HostBufferId),
    /// Any other memory of the host, which only it and copies reach.
    Pageable(HostBufferId),
}

impl Memory {
    /// The allocation, of memory that is one.
    pub const fn alloc(self) -> Option<AllocId> {
        match self {
            Memory::Device(alloc) | Memory::Managed(alloc) | Memory::HostPool(alloc) => Some(alloc),
            Memory::Pinned(_) | Memory::Pageable(_) => None,
        }
    }

    /// Whether it is the host's own.
    pub const fn is_host(self) -> bool {
        matches!(self, Memory::HostPool(_) | Memory::Pinned(_) | Memory::Pageable(_))
    }
}

/// How memory is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// Both.
    ReadWrite,
}

/// Bytes that an operation or the host touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use {
    /// Of which memory.
    pub memory: Memory,
    /// The first one, counted from the start of that memory.
    pub from: Bytes,
    /// How many.
    pub size: Bytes,
    /// How.
    pub access: Access,
}

impl Use {
    /// The byte after the last one, counted from the start of the memory.
    pub fn end(&self) -> Bytes {
        Bytes(self.from.0 + self.size.0)
    }

    /// Whether the two touch a byte in common.
    pub fn overlaps(&self, other: &Use) -> bool {
        self.memory == other.memory && self.from < other.end() && other.from < self.end()
    }
}
