//! The memory of a device: what its pools hold, what was allocated outside of them, what is free; and what can be read of
//! a pool or a device.

use super::{Figure, GraphFigure};
use crate::base::{Bytes, DeviceId, PoolId};

/// Where the memory of a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceState {
    /// All of it.
    pub memory: Bytes,
    /// What pools have reserved.
    pub pools: Bytes,
    /// What was allocated outside of pools (`cudaMalloc`) and has not come back.
    pub outside: Bytes,
    /// The part of `outside` whose `cudaFreeAsync` has not completed.
    pub leaving: Bytes,
}

impl DeviceState {
    /// What nobody holds. Nothing, where more is handed out than the device has.
    pub fn free(self) -> Bytes {
        Bytes(self.memory.0.saturating_sub(self.held()))
    }

    /// What is held beyond the memory of the device.
    pub fn beyond(self) -> Bytes {
        Bytes(self.held().saturating_sub(self.memory.0))
    }

    fn held(self) -> u64 {
        self.pools.0.saturating_add(self.outside.0)
    }
}

/// A figure of a device that a program can read (`cudaMemGetInfo`, `cudaDeviceGetAttribute`, `cudaDriverGetVersion`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeviceFigure {
    /// The bytes that nobody holds.
    Free,
    /// The bytes that are held beyond its memory.
    Beyond,
    /// All bytes.
    Memory,
    /// The version of the driver: 11020 is 11.2.
    Driver,
    /// Whether it has memory pools.
    MemoryPools,
    /// Whether its pools can be shared by file descriptor (`cudaDevAttrMemoryPoolSupportedHandleTypes`).
    PosixFd,
}

impl DeviceFigure {
    /// Every figure.
    pub const ALL: [DeviceFigure; 6] = [
        DeviceFigure::Free,
        DeviceFigure::Beyond,
        DeviceFigure::Memory,
        DeviceFigure::Driver,
        DeviceFigure::MemoryPools,
        DeviceFigure::PosixFd,
    ];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            DeviceFigure::Free => "free",
            DeviceFigure::Beyond => "beyond",
            DeviceFigure::Memory => "memory",
            DeviceFigure::Driver => "driver",
            DeviceFigure::MemoryPools => "memory_pools",
            DeviceFigure::PosixFd => "posix_fd",
        }
    }

    /// Whether the figure is a number rather than bytes.
    pub const fn is_count(self) -> bool {
        matches!(self, DeviceFigure::Driver)
    }

    /// Whether the figure is a switch (0 or 1) rather than bytes.
    pub const fn is_switch(self) -> bool {
        matches!(self, DeviceFigure::MemoryPools | DeviceFigure::PosixFd)
    }
}

/// Something that a program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reading {
    /// A figure of a pool (`cudaMemPoolGetAttribute`, and what only a simulation can give).
    Pool(PoolId, Figure),
    /// A figure of a device (`cudaMemGetInfo`).
    Device(DeviceId, DeviceFigure),
    /// A figure of the memory of graphs on a device (`cudaDeviceGetGraphMemAttribute`).
    Graphs(DeviceId, GraphFigure),
    /// The flag of what a device may do with the memory of a pool (`cudaMemPoolGetAccess`).
    Access(PoolId, DeviceId),
    /// The same for the memory of another device, were it given (`cudaDeviceCanAccessPeer`): the first one reaches the
    /// second one's.
    Peer(DeviceId, DeviceId),
    /// The number of the current pool of a device (`cudaDeviceGetMemPool`).
    CurrentPool(DeviceId),
    /// The number of the pool that a name stands for, with which that is compared.
    PoolItself(PoolId),
}

impl Reading {
    /// The word of the language for the figure.
    pub const fn name(self) -> &'static str {
        match self {
            Reading::Pool(_, figure) => figure.name(),
            Reading::Device(_, figure) => figure.name(),
            Reading::Graphs(_, figure) => figure.name(),
            Reading::Access(..) | Reading::Peer(..) => "reach",
            Reading::CurrentPool(_) | Reading::PoolItself(_) => "pool",
        }
    }

    /// Whether it is a count rather than bytes.
    pub const fn is_count(self) -> bool {
        match self {
            Reading::Pool(_, figure) => figure.is_count(),
            Reading::Device(_, figure) => figure.is_count(),
            Reading::Graphs(..) => false,
            Reading::Access(..) | Reading::Peer(..) => true,
            Reading::CurrentPool(_) | Reading::PoolItself(_) => true,
        }
    }

    /// Whether it is a switch (0 or 1) rather than bytes.
    pub const fn is_switch(self) -> bool {
        match self {
            Reading::Pool(_, figure) => figure.is_switch(),
            Reading::Device(_, figure) => figure.is_switch(),
            Reading::Graphs(..) | Reading::Access(..) | Reading::Peer(..) => false,
            Reading::CurrentPool(_) | Reading::PoolItself(_) => false,
        }
    }
}
