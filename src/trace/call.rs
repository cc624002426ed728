//! The calls of a host thread, and their answers.

use super::{AllocId, Decision, GraphCall, Operands, Reach, Reading, Ticket, Use};
use crate::base::{
    BarrierId, Bytes, CollectiveId, DeviceId, EventId, ExecId, ExpectId, GraphId, HostId, KernelId, Nanos,
    PoolId, SignalId, SnapshotId, StreamId,
};
use smallvec::SmallVec;
use std::fmt;

/// One call of one host thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    /// `cudaMallocFromPoolAsync`; `size` as asked for.
    Alloc {
        /// The stream in whose order the memory becomes available.
        stream: StreamId,
        /// The pool that serves it. `None` is `cudaMallocAsync`: the current pool of the stream's device serves it, which an
        /// event of the call names.
        pool: Option<PoolId>,
        /// The size asked for.
        size: Bytes,
    },
    /// `cudaFreeAsync`.
    Free {
        /// The stream in whose order the memory is given back.
        stream: StreamId,
        /// What is freed.
        alloc: AllocId,
    },
    /// `cudaMalloc`, `cudaMallocManaged`: memory outside of pools.
    Malloc {
        /// The device whose memory it is, as the process knows it.
        device: DeviceId,
        /// The size asked for.
        size: Bytes,
        /// Whether it moves between host and devices, and so takes no memory of a device for good.
        managed: bool,
    },
    /// Other programs hold so much of a device from now on, in place of what they held before. No call of CUDA.
    Reserve {
        /// The device.
        device: DeviceId,
        /// How much.
        size: Bytes,
    },
    /// `cudaFree`. Memory of a pool is taken as complete without a look at any stream (CUDA Programming Guide 4.3.2.2).
    PlainFree {
        /// What is freed.
        alloc: AllocId,
    },
    /// A kernel launch.
    Launch {
        /// The stream it runs in.
        stream: StreamId,
        /// Which kernel.
        kernel: KernelId,
        /// How long it runs.
        takes: Takes,
        /// The memory it touches.
        uses: SmallVec<[Use; 3]>,
    },
    /// `cudaMemcpyAsync`, `cudaMemcpy`, and those between devices.
    Copy {
        /// The stream it runs in.
        stream: StreamId,
        /// Whether it is `cudaMemcpy`, which runs in the legacy default stream.
        blocking: bool,
        /// How long it runs.
        takes: Law,
        /// What it writes.
        to: Use,
        /// What it reads.
        from: Use,
    },
    /// `cudaMemsetAsync`, `cudaMemset`.
    Memset {
        /// The stream it runs in.
        stream: StreamId,
        /// Whether it is `cudaMemset`, which runs in the legacy default stream.
        blocking: bool,
        /// How long it runs.
        takes: Law,
        /// What it writes.
        at: Use,
    },
    /// The host itself reads or writes memory that it reaches. It takes no time.
    Touch(Use),
    /// `cudaEventRecord`.
    Record {
        /// The stream whose content is captured.
        stream: StreamId,
        /// The event that captures it.
        event: EventId,
    },
    /// `cudaStreamWaitEvent`: binds the record that is latest at the call.
    Wait {
        /// The stream that waits.
        stream: StreamId,
        /// The event it waits for.
        event: EventId,
    },
    /// `cudaStreamSynchronize`, `cudaEventSynchronize`, `cudaDeviceSynchronize`.
    Sync(Target),
    /// `cudaStreamQuery`, `cudaEventQuery`: fails with [`Failure::NotReady`] unless all of it has completed. Where it
    /// succeeds, the host's later submissions are ordered after it; the allocator learns nothing.
    Query(Target),
    /// Asks again and again until the query succeeds.
    Poll(Target),
    /// `cudaEventElapsedTime`: from the completion of the latest record of one event to that of another one. It proves
    /// nothing and orders nothing.
    Elapsed {
        /// The event at the start.
        from: EventId,
        /// The event at the end.
        to: EventId,
    },
    /// The host does something else for a while.
    Sleep(Nanos),
    /// `cudaMemPoolTrimTo`.
    Trim {
        /// Which pool.
        pool: PoolId,
        /// At least so much stays reserved.
        keep: Bytes,
    },
    /// `cudaMemPoolSetAttribute`.
    Set {
        /// Which pool.
        pool: PoolId,
        /// Which attribute.
        attribute: Attribute,
        /// Its new value: bytes, or 0 and 1 for a reuse policy.
        value: u64,
    },
    /// `cudaMemPoolGetAttribute`, `cudaMemGetInfo`, and the figures that only a simulation can give.
    Read(Reading),
    /// The same for an expectation: it costs the host nothing and no sink is told, so that a run does not depend on what is
    /// expected of it.
    Peek(Reading),
    /// `cudaLaunchHostFunc`: a function that the host runs in the order of the stream.
    HostFunction {
        /// The stream whose order it keeps.
        stream: StreamId,
        /// How long it runs, or until which signal.
        takes: Takes,
        /// The signal that it gives when it returns.
        gives: Option<SignalId>,
        /// The memory it touches.
        uses: SmallVec<[Use; 3]>,
    },
    /// A part of a collective: it starts when every part of its round is at the head of its stream.
    Collective {
        /// The stream it runs in.
        stream: StreamId,
        /// Which collective.
        collective: CollectiveId,
        /// The memory it touches.
        uses: SmallVec<[Use; 3]>,
    },
    /// `cudaDeviceSetMemPool`: makes a pool the current one of its device.
    SetPool {
        /// The device.
        device: DeviceId,
        /// Its new current pool.
        pool: PoolId,
    },
    /// `cudaMemPoolSetAccess`, for all memory of the pool, past and future.
    Grant {
        /// The pool.
        pool: PoolId,
        /// Who may touch its memory from now on,
        device: DeviceId,
        /// and how.
        reach: Reach,
    },
    /// `cudaStreamCreate`, `cudaEventCreate`, `cudaMemPoolCreate`.
    Create {
        /// What comes to exist.
        resource: Resource,
        /// What was destroyed before, and leaves it its handle.
        reusing: Option<Resource>,
    },
    /// `cudaStreamDestroy`, `cudaEventDestroy`, `cudaMemPoolDestroy`, `cudaGraphDestroy`, `cudaGraphExecDestroy`: returns at once, and what was submitted goes on.
    Destroy(Resource),
    /// `cudaDeviceReset`: waits for the work of a device, and destroys what belongs to it in the process, but for stream-ordered
    /// memory and pools.
    ResetDevice(DeviceId),
    /// `cudaMemPoolExportToShareableHandle`, `cudaMemPoolExportPointer`, `cudaIpcGetEventHandle`: whoever imports under this
    /// signal goes on, and has seen what this thread has.
    Export {
        /// What is exported.
        what: Exported,
        /// Under which signal.
        under: SignalId,
    },
    /// `cudaMemPoolImportFromShareableHandle`, `cudaMemPoolImportPointer`, `cudaIpcOpenEventHandle`: waits until the export has
    /// happened, and not for what was exported to be ready.
    Import {
        /// Under which signal it was exported.
        under: SignalId,
        /// What it becomes.
        into: Imported,
    },
    /// A call about graphs.
    Graph(GraphCall),
    /// Whatever waits for this signal goes on; a signal stays given.
    Signal(SignalId),
    /// Waits until a signal is given.
    Await(SignalId),
    /// Starts a host thread. What this one has seen, that one has seen too.
    Spawn(HostId),
    /// The thread ends with this call.
    Exit,
    /// Waits until a host thread has ended.
    Join(HostId),
    /// Waits until as many threads as the barrier counts have come to it.
    Barrier(BarrierId),
    /// An expectation about the state at this point. The engine passes it on and never reads it.
    Expect {
        /// Which expectation.
        expect: ExpectId,
        /// What it is about, as known here.
        operands: Operands,
    },
    /// An expectation about whether work that is submitted to a stream now may use an allocation. The engine says how that
    /// stands, and never reads what is expected.
    ExpectReady {
        /// Which expectation.
        expect: ExpectId,
        /// The allocation.
        alloc: AllocId,
        /// The stream.
        on: StreamId,
    },
    /// The state of all pools at this point is to be recorded.
    Snapshot(SnapshotId),
}

impl Call {
    /// Whether it only looks at the run: it costs the host nothing and changes nothing.
    pub const fn only_looks(&self) -> bool {
        matches!(self, Call::Expect { .. } | Call::ExpectReady { .. } | Call::Peek(_) | Call::Snapshot(_))
    }

    /// Whether the host may be held up in this call.
    pub const fn can_wait(&self) -> bool {
        matches!(
            self,
            Call::Sync(_)
                | Call::Poll(_)
                | Call::Sleep(_)
                | Call::Await(_)
                | Call::Import { .. }
                | Call::Join(_)
                | Call::Barrier(_)
                | Call::ResetDevice(_)
        )
    }
}

/// What can be created and destroyed, and is named by a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// A stream.
    Stream(StreamId),
    /// An event.
    Event(EventId),
    /// A pool.
    Pool(PoolId),
    /// A graph.
    Graph(GraphId),
    /// An executable graph.
    Exec(ExecId),
}

/// What one process offers to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exported {
    /// A pool.
    Pool(PoolId),
    /// An allocation.
    Memory(AllocId),
    /// An event.
    Event(EventId),
}

/// What a process makes of what another one offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Imported {
    /// This pool.
    Pool(PoolId),
    /// An allocation of this pool, which is an imported one.
    Memory(PoolId),
    /// This event.
    Event(EventId),
}

/// What a synchronise waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// All operations of a stream.
    Stream(StreamId),
    /// What the event captured last.
    Event(EventId),
    /// All operations of all streams of a device.
    Device(DeviceId),
}

/// How long an operation runs once it has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// A duration drawn by this law.
    For(Law),
    /// Until a signal is given.
    Until(SignalId),
}

/// The law of a duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// Always the same; draws nothing.
    Constant(Nanos),
    /// Every whole nanosecond of the range, with the same probability.
    Uniform {
        /// The shortest.
        low: Nanos,
        /// The longest.
        high: Nanos,
    },
    /// A bell curve of whole nanoseconds, cut off at zero and at six deviations.
    Normal {
        /// The mean.
        mean: Nanos,
        /// The standard deviation.
        deviation: Nanos,
    },
}

impl Law {
    /// Every duration that is at most so many percents away from the middle, rounded towards it: 10us and 20 are all from 8us
    /// to 12us. More than 100 percents are 100.
    pub fn around(middle: Nanos, percent: u8) -> Self {
        let offset = (u128::from(middle.0) * u128::from(percent.min(100)) / 100) as u64;
        Law::Uniform { low: Nanos(middle.0 - offset), high: Nanos(middle.0.saturating_add(offset)) }
    }
}

/// The attributes of a pool (`cudaMemPoolAttr`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Attribute {
    /// `cudaMemPoolReuseFollowEventDependencies`
    FollowEvent,
    /// `cudaMemPoolReuseAllowOpportunistic`
    Opportunistic,
    /// `cudaMemPoolReuseAllowInternalDependencies`
    Internal,
    /// `cudaMemPoolAttrReleaseThreshold`
    ReleaseThreshold,
    /// `cudaMemPoolAttrReservedMemCurrent`
    Reserved,
    /// `cudaMemPoolAttrReservedMemHigh`
    ReservedHigh,
    /// `cudaMemPoolAttrUsedMemCurrent`
    Used,
    /// `cudaMemPoolAttrUsedMemHigh`
    UsedHigh,
}

/// A figure of a pool that a program can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Figure {
    /// An attribute that CUDA has too.
    Attribute(Attribute),
    /// Bytes lost to rounding in live allocations.
    Padding,
    /// Bytes freed, but not yet observed by a host synchronisation.
    Pending,
    /// Bytes whose free is observed: reusable by every stream.
    Cached,
    /// Bytes mapped and not handed out since.
    Unused,
    /// How often the pool has mapped physical memory: trips to the operating system.
    Maps,
    /// How often it has given some back.
    Unmaps,
}

impl Figure {
    /// Every figure, in the order of reports.
    pub const ALL: [Figure; 14] = [
        Figure::Attribute(Attribute::FollowEvent),
        Figure::Attribute(Attribute::Opportunistic),
        Figure::Attribute(Attribute::Internal),
        Figure::Attribute(Attribute::ReleaseThreshold),
        Figure::Attribute(Attribute::Reserved),
        Figure::Attribute(Attribute::ReservedHigh),
        Figure::Attribute(Attribute::Used),
        Figure::Attribute(Attribute::UsedHigh),
        Figure::Padding,
        Figure::Pending,
        Figure::Cached,
        Figure::Unused,
        Figure::Maps,
        Figure::Unmaps,
    ];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Figure::Attribute(Attribute::FollowEvent) => "follow_event",
            Figure::Attribute(Attribute::Opportunistic) => "opportunistic",
            Figure::Attribute(Attribute::Internal) => "internal",
            Figure::Attribute(Attribute::ReleaseThreshold) => "release_threshold",
            Figure::Attribute(Attribute::Reserved) => "reserved",
            Figure::Attribute(Attribute::ReservedHigh) => "reserved_high",
            Figure::Attribute(Attribute::Used) => "used",
            Figure::Attribute(Attribute::UsedHigh) => "used_high",
            Figure::Padding => "padding",
            Figure::Pending => "pending",
            Figure::Cached => "cached",
            Figure::Unused => "unused",
            Figure::Maps => "maps",
            Figure::Unmaps => "unmaps",
        }
    }

    /// Whether the figure counts something, rather than bytes.
    pub const fn is_count(self) -> bool {
        matches!(self, Figure::Maps | Figure::Unmaps)
    }

    /// Whether the figure is a switch (0 or 1) rather than bytes.
    pub const fn is_switch(self) -> bool {
        matches!(
            self,
            Figure::Attribute(Attribute::FollowEvent | Attribute::Opportunistic | Attribute::Internal)
        )
    }
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
}

impl Comparison {
    /// Whether `left` stands in this relation to `right`.
    pub fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::NotEqual => left != right,
            Comparison::Less => left < right,
            Comparison::LessEqual => left <= right,
            Comparison::Greater => left > right,
            Comparison::GreaterEqual => left >= right,
        }
    }
}

/// The answer to a call that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// Nothing to say.
    Done,
    /// An allocation was placed.
    Allocated(Decision),
    /// A free was submitted; `None` for the null pointer.
    Freed(Option<Ticket>),
    /// What was read; only a time between two events can be negative.
    Value(i128),
}

/// Why a call failed. The names are CUDA's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// `cudaErrorMemoryAllocation`
    OutOfMemory,
    /// `cudaErrorInvalidValue`
    InvalidValue,
    /// `cudaErrorNotReady`
    NotReady,
    /// `cudaErrorInvalidResourceHandle`
    InvalidResourceHandle,
    /// `cudaErrorInvalidDevice`
    InvalidDevice,
    /// `cudaErrorIllegalAddress`
    IllegalAddress,
    /// `cudaErrorNotSupported`
    NotSupported,
}

impl Failure {
    /// Every failure.
    pub const ALL: [Failure; 7] = [
        Failure::OutOfMemory,
        Failure::InvalidValue,
        Failure::NotReady,
        Failure::InvalidResourceHandle,
        Failure::InvalidDevice,
        Failure::IllegalAddress,
        Failure::NotSupported,
    ];

    /// The word of the language and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Failure::OutOfMemory => "out_of_memory",
            Failure::InvalidValue => "invalid_value",
            Failure::NotReady => "not_ready",
            Failure::InvalidResourceHandle => "invalid_resource_handle",
            Failure::InvalidDevice => "invalid_device",
            Failure::IllegalAddress => "illegal_address",
            Failure::NotSupported => "not_supported",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
