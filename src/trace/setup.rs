//! The world before the first call: devices, pools, streams, and the numbers of the allocator that documents leave open.

use super::{DeviceSet, GraphSetup, Law, Resource};
use crate::base::{BarrierId, Bytes, CollectiveId, DeviceId, GraphId, IndexVec, Nanos, PoolId, StreamId};

/// Everything that exists before the first call, and what later calls create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The allocator that serves the calls.
    pub model: Model,
    /// The devices.
    pub devices: IndexVec<DeviceId, DeviceSetup>,
    /// The pools, default pools included: the first one of a device is its default pool.
    pub pools: IndexVec<PoolId, PoolSetup>,
    /// The streams that the program uses.
    pub streams: IndexVec<StreamId, StreamSetup>,
    /// How many events there are.
    pub events: usize,
    /// How many signals there are.
    pub signals: usize,
    /// How many host threads there are; the first one makes the first call.
    pub hosts: usize,
    /// The barriers: how many threads each lets go on together.
    pub barriers: IndexVec<BarrierId, u32>,
    /// The collectives.
    pub collectives: IndexVec<CollectiveId, CollectiveSetup>,
    /// Those of the streams, events and pools that exist only once a call has created them.
    pub created: Vec<Resource>,
    /// The names of graphs.
    pub graphs: IndexVec<GraphId, GraphSetup>,
    /// How many names of executable graphs there are.
    pub execs: usize,
    /// The numbers and choices that documents leave open.
    pub rules: Rules,
    /// What calls cost the host.
    pub host: HostCosts,
}

/// An allocator that a program can run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// CUDA's stream-ordered allocator, as its documents describe it.
    #[default]
    Cuda,
    /// The `StreamOrderModel` of crate `oxicuda-driver` 0.5.5: frees count once their stream is synchronised, no policies.
    Oxicuda,
}

impl Model {
    /// Every model, the default one first.
    pub const ALL: [Model; 2] = [Model::Cuda, Model::Oxicuda];

    /// The word of the language, the command line and every report.
    pub const fn name(self) -> &'static str {
        match self {
            Model::Cuda => "cuda",
            Model::Oxicuda => "oxicuda",
        }
    }

    /// The model of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|model| model.name() == name)
    }
}

/// A collective: operations of several streams that start together and run equally long, as NCCL's do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveSetup {
    /// How many parts it has, each in a stream of its own.
    pub parts: u32,
    /// How long they run.
    pub takes: Law,
}

/// A device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSetup {
    /// Its physical memory, shared by all its pools.
    pub memory: Bytes,
    /// The devices that can reach its memory, and whose memory it can reach (`cudaDeviceCanAccessPeer`).
    pub peers: DeviceSet,
}

impl DeviceSetup {
    /// A device has at most so much memory, 64 PiB: then addresses never run out before memory does.
    pub const MEMORY_MAX: Bytes = Bytes(1 << 56);
}

/// A memory pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSetup {
    /// The device that its memory is on.
    pub device: DeviceId,
    /// Its writable attributes.
    pub attributes: Attributes,
    /// `cudaMemPoolProps::maxSize`, as written; `None`: no limit but the device.
    pub max_size: Option<Bytes>,
}

/// The writable attributes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Above so many reserved bytes, a synchronise gives idle chunks back.
    pub release_threshold: Bytes,
    /// The reuse policies that are on.
    pub reuse: Reuse,
}

impl Default for Attributes {
    /// CUDA's defaults: threshold 0, all policies on (CUDA driver API, `CUmemPool_attribute`).
    fn default() -> Self {
        Self {
            release_threshold: Bytes::ZERO,
            reuse: Reuse { follow_event: true, opportunistic: true, internal: true },
        }
    }
}

/// Which reuse policies are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reuse {
    /// Memory whose free the allocating stream is ordered after.
    pub follow_event: bool,
    /// Memory whose free has completed.
    pub opportunistic: bool,
    /// Memory for which the allocator inserts a wait.
    pub internal: bool,
}

/// A stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSetup {
    /// The device it belongs to.
    pub device: DeviceId,
    /// How it stands to the legacy default stream.
    pub kind: StreamKind,
}

/// How a stream stands to the legacy default stream of its device
/// (CUDA driver API, "Stream synchronization behavior").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Synchronises with the legacy default stream, in both directions.
    Blocking,
    /// Does not.
    NonBlocking,
    /// The legacy default stream itself.
    Legacy,
    /// The per-thread default stream: a blocking stream.
    PerThread,
}

/// The numbers and choices of the `cuda` model that documents leave open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Allocations are rounded up to this, and start at a multiple of it.
    pub alignment: Bytes,
    /// Pools grow in chunks of this size.
    pub growth: Bytes,
    /// Where a whole chunk does not fit any more, in steps of this size.
    pub granule: Bytes,
    /// Whether idle chunks make room for a growth.
    pub remap: Remap,
    /// Whether a synchronise of the legacy default stream gives memory back.
    pub legacy_sync_releases: bool,
    /// Whether a pool that holds nothing can be made accessible to a device that is no peer, so that only its next
    /// allocation fails.
    pub late_access_check: bool,
}

/// Whether a pool gives idle chunks back to make room for its own growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remap {
    /// Never.
    Off,
    /// Chunks that hold no live and no pending byte.
    Idle,
}

/// What calls cost the host, in virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCosts {
    /// Each call that submits an operation.
    pub submit: Nanos,
    /// Each other call.
    pub call: Nanos,
}
