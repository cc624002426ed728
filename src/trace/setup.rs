//! The world before the first call: devices, pools, streams, and the numbers of the allocator that documents leave open.

use super::{DeviceFigure, DeviceSet, GraphSetup, Law, Resource};
use crate::base::{
    BarrierId, Bytes, CollectiveId, DeviceId, EventId, GraphId, HostId, IndexVec, Nanos, PoolId, ProcessId,
    StreamId,
};

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
    /// The events.
    pub events: IndexVec<EventId, EventSetup>,
    /// How many signals there are.
    pub signals: usize,
    /// How many host threads there are; the first one makes the first call.
    pub hosts: usize,
    /// The process of each host thread; those beyond are of the first one.
    pub processes: IndexVec<HostId, ProcessId>,
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
    /// By how many percents constant durations vary, those of the host and of its calls too. 0: not at all.
    pub jitter: u8,
    /// Which of several host threads calls first that could.
    pub turns: Turns,
}

impl Setup {
    /// A device as the first process knows it.
    pub fn physical(&self, device: DeviceId) -> DeviceId {
        self.devices[device].same_as.unwrap_or(device)
    }

    /// The process of a host thread.
    pub fn process_of(&self, host: HostId) -> ProcessId {
        self.processes.get(host).copied().unwrap_or_else(|| ProcessId::from_raw(0))
    }
}

impl Default for Setup {
    /// One host thread, and nothing that it could use.
    fn default() -> Self {
        Self {
            model: Model::default(),
            devices: IndexVec::new(),
            pools: IndexVec::new(),
            streams: IndexVec::new(),
            events: IndexVec::new(),
            signals: 0,
            hosts: 1,
            processes: IndexVec::new(),
            barriers: IndexVec::new(),
            collectives: IndexVec::new(),
            created: Vec::new(),
            graphs: IndexVec::new(),
            execs: 0,
            rules: Rules::default(),
            host: HostCosts::default(),
            jitter: 0,
            turns: Turns::default(),
        }
    }
}

/// Which of several host threads calls first that could call at the same time. Either way the seed draws it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turns {
    /// Each has the same chance each time.
    #[default]
    Drawn,
    /// The one of the highest priority: priorities are drawn before the run, and so are the calls before which a thread gets a
    /// lower one, one call less than the depth.
    ByPriority {
        /// How many orderings a fault may need so that it is found as often as is promised; at least 1.
        depth: u8,
    },
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
    /// The version of its driver as CUDA counts it (`cudaDriverGetVersion`): 11020 is 11.2.
    pub driver: u32,
    /// Whether it has memory pools, its driver permitting.
    pub memory_pools: bool,
    /// Whether it hands out more memory than it has; what is beyond is memory of the system.
    pub oversubscribe: bool,
    /// The process that sees it so. Each process has streams, pools and a default stream of its own on a device, and so an id
    /// of its own for it.
    pub process: ProcessId,
    /// The device that this is, as the first process sees it. `None`: this one.
    pub same_as: Option<DeviceId>,
}

impl DeviceSetup {
    /// The first driver with memory pools (CUDA Programming Guide 4.3.1).
    pub const POOLS_SINCE: u32 = 11_020;
    /// The first driver with graphs that allocate (CUDA Programming Guide 4.2.5, "Support and versions").
    pub const GRAPH_MEMORY_SINCE: u32 = 11_040;
    /// The first driver that says which handles pools can be shared by (CUDA Programming Guide 4.3.1).
    pub const HANDLES_SINCE: u32 = 11_030;

    /// A device of the first process, without peers, with all capabilities.
    pub fn new(memory: Bytes) -> Self {
        let (peers, process) = (DeviceSet::NONE, ProcessId::from_raw(0));
        let (memory_pools, oversubscribe) = (true, false);
        Self { memory, peers, driver: 13_000, memory_pools, oversubscribe, process, same_as: None }
    }

    /// Whether it has memory pools (`cudaDevAttrMemoryPoolsSupported`).
    pub const fn has_pools(&self) -> bool {
        self.memory_pools && self.driver >= Self::POOLS_SINCE
    }

    /// Whether its graphs can allocate, for which it needs pools (CUDA Programming Guide 4.2.5, "Support and versions").
    pub const fn has_graph_memory(&self) -> bool {
        self.has_pools() && self.driver >= Self::GRAPH_MEMORY_SINCE
    }

    /// A figure that no run changes; a switch is 0 or 1.
    pub fn figure(&self, figure: DeviceFigure) -> Option<u64> {
        Some(match figure {
            DeviceFigure::Free | DeviceFigure::Beyond => return None,
            DeviceFigure::Memory => self.memory.0,
            DeviceFigure::Driver => self.driver.into(),
            DeviceFigure::MemoryPools => self.has_pools().into(),
            DeviceFigure::PosixFd => (self.has_pools() && self.driver >= Self::HANDLES_SINCE).into(),
        })
    }

    /// A device has at most so much memory, 64 PiB: then addresses never run out before memory does.
    pub const MEMORY_MAX: Bytes = Bytes(1 << 56);
}

/// A memory pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolSetup {
    /// Where its memory is.
    pub location: Location,
    /// Its writable attributes.
    pub attributes: Attributes,
    /// `cudaMemPoolProps::maxSize`, as written; `None`: no limit but the device.
    pub max_size: Option<Bytes>,
    /// How it can be shared with other processes.
    pub handle: HandleType,
    /// Whether it comes from an import: it has the memory of another pool, and gives out none itself.
    pub imported: bool,
    /// The process that has it.
    pub process: ProcessId,
}

impl PoolSetup {
    /// A pool of a device with CUDA's defaults, of the first process.
    pub fn on(device: DeviceId) -> Self {
        Self {
            location: Location::Device(device),
            attributes: Attributes::default(),
            max_size: None,
            handle: HandleType::None,
            imported: false,
            process: ProcessId::from_raw(0),
        }
    }

    /// Whether its memory is or can be that of several processes. Such a pool gives none back (CUDA Programming Guide
    /// 4.3.3.4.4).
    pub fn is_shared(&self) -> bool {
        self.imported || self.handle != HandleType::None
    }

    /// Why there can be no such pool, in words (CUDA driver API, `cuMemPoolCreate`: `CUDA_ERROR_INVALID_VALUE`).
    pub fn contradiction(&self) -> Option<&'static str> {
        match (self.location, self.handle) {
            (Location::HostNumaCurrent, _) => Some("a pool is on a node that is named"),
            (Location::Host, handle) if handle != HandleType::None => {
                Some("a pool on the host without a node cannot be shared")
            }
            _ => None,
        }
    }
}

/// Where the memory of a pool is (`cudaMemLocation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// On a device.
    Device(DeviceId),
    /// On the host.
    Host,
    /// On this NUMA node of the host.
    HostNuma(u32),
    /// On the node of the calling thread, where no pool can be.
    HostNumaCurrent,
}

impl Location {
    /// The device.
    pub const fn device(self) -> Option<DeviceId> {
        match self {
            Location::Device(device) => Some(device),
            Location::Host | Location::HostNuma(_) | Location::HostNumaCurrent => None,
        }
    }
}

/// How a pool can be shared with other processes (`cudaMemAllocationHandleType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandleType {
    /// Not at all.
    #[default]
    None,
    /// By a file descriptor.
    PosixFd,
    /// By a handle of the fabric that connects devices.
    Fabric,
}

impl HandleType {
    /// Every one.
    pub const ALL: [HandleType; 3] = [HandleType::None, HandleType::PosixFd, HandleType::Fabric];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            HandleType::None => "none",
            HandleType::PosixFd => "posix_fd",
            HandleType::Fabric => "fabric",
        }
    }
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
    /// Lower numbers are greater. It orders nothing: to CUDA it is a hint which work to prefer.
    pub priority: i32,
}

impl StreamSetup {
    /// From the greatest priority to the least: recent devices answer `cudaDeviceGetStreamPriorityRange` so. A number outside
    /// becomes the nearest one (CUDA runtime API, `cudaStreamCreateWithPriority`).
    pub const PRIORITIES: std::ops::RangeInclusive<i32> = -5..=0;

    /// A stream with CUDA's default priority, 0.
    pub const fn new(device: DeviceId, kind: StreamKind) -> Self {
        Self { device, kind, priority: 0 }
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSetup {
    /// The process that has it.
    pub process: ProcessId,
    /// The device it belongs to. `None`: that of the first stream that records it.
    pub device: Option<DeviceId>,
    /// Whether other processes can open it (`cudaEventInterprocess`).
    pub interprocess: bool,
}

impl Default for EventSetup {
    /// Of the first process and of no device yet, and for nobody else.
    fn default() -> Self {
        Self { process: ProcessId::from_raw(0), device: None, interprocess: false }
    }
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
    /// Whether idle memory makes room for a growth.
    pub remap: Remap,
    /// Whether a synchronise of the legacy default stream gives memory back.
    pub legacy_sync_releases: bool,
    /// Whether the class `unused` is asked before all others.
    pub unused_first: bool,
    /// Whether a plain free of memory outside of pools is a synchronise of its device.
    pub plain_free_syncs: bool,
    /// Whether an allocation of 0 bytes gives the null pointer; else it fails with `invalid_value`.
    pub zero_size_succeeds: bool,
    /// Whether the class `internal` serves too where the maximum size of the pool, and not the device, forbids a growth.
    pub internal_on_max_size: bool,
    /// Whether a pool that holds nothing can be made accessible to a device that is no peer, so that only its next
    /// allocation fails.
    pub late_access_check: bool,
    /// Whether the first free of an import ends all imports of the same memory in its process.
    pub first_free_ends_imports: bool,
}

impl Default for Rules {
    /// What the default profile says.
    fn default() -> Self {
        Self {
            alignment: Bytes(512),
            growth: Bytes::mib(32),
            granule: Bytes::mib(2),
            remap: Remap::Idle,
            legacy_sync_releases: false,
            unused_first: false,
            plain_free_syncs: false,
            zero_size_succeeds: true,
            internal_on_max_size: true,
            late_access_check: false,
            first_free_ends_imports: false,
        }
    }
}

/// Whether a pool gives idle memory back to make room for its own growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remap {
    /// Never.
    Off,
    /// Chunks that hold no live and no pending byte.
    Idle,
    /// Granules that hold none, also of chunks that do.
    Full,
}

/// What calls cost the host, in virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostCosts {
    /// Each call that submits an operation.
    pub submit: Nanos,
    /// Each other call.
    pub call: Nanos,
    /// So many launches of one stream may not have completed; a further one waits. `None`: any number.
    pub queue_depth: Option<u32>,
}
