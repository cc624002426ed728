//! What one call needs: a call whose operands may still have to be computed.

use super::{Chosen, Formula, GraphAction, Handle, Place, Register, SyncTarget};
use crate::base::{
    BarrierId, BufferId, CollectiveId, DeviceId, EventId, ExpectId, HostId, KernelId, PoolId, SignalId,
    SnapshotId, StmtId, StreamId,
};
use crate::trace::{Access, Attribute, Law, Reach, Reading, Resource, Takes};

/// A call whose operands may still have to be computed.
#[derive(Clone, Debug)]
pub enum Action {
    /// `S: x = alloc SIZE from P`
    Alloc {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The pool; `None` is the current one of the stream's device.
        pool: Option<PoolId>,
        /// The size.
        size: Formula,
        /// The name that it gets.
        buffer: Chosen<BufferId>,
    },
    /// `S: free x`
    Free {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The name.
        buffer: Chosen<BufferId>,
    },
    /// `x = malloc SIZE managed on D`
    Malloc {
        /// The device.
        device: DeviceId,
        /// The size.
        size: Formula,
        /// Whether it is managed.
        managed: bool,
        /// The name that it gets.
        buffer: Chosen<BufferId>,
    },
    /// `reserve SIZE outside on D`
    Reserve {
        /// The device.
        device: DeviceId,
        /// How much.
        size: Formula,
    },
    /// `free x`
    PlainFree(Chosen<BufferId>),
    /// `S: copy D from X`, `copy D from X`
    Copy {
        /// The stream.
        stream: Chosen<StreamId>,
        /// Whether it is the host's own call.
        blocking: bool,
        /// How long it runs.
        takes: Law,
        /// What it writes.
        to: Place,
        /// What it reads.
        from: Place,
    },
    /// `S: memset X`, `memset X`
    Memset {
        /// The stream.
        stream: Chosen<StreamId>,
        /// Whether it is the host's own call.
        blocking: bool,
        /// How long it runs.
        takes: Law,
        /// What it writes.
        at: Place,
    },
    /// `read X`, `write X`
    Touch {
        /// What the host touches.
        at: Place,
        /// How.
        access: Access,
    },
    /// `S: K(x, y)`
    Launch {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The kernel.
        kernel: KernelId,
        /// Its duration.
        takes: Takes,
        /// Its arguments.
        uses: Vec<(Place, Access)>,
    },
    /// `S: record E`
    Record {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The event.
        event: Chosen<EventId>,
    },
    /// `S: wait E`
    Wait {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The event.
        event: Chosen<EventId>,
    },
    /// `sync S`, `sync E`, `sync gpu0`
    Sync(SyncTarget),
    /// `query S`
    Query(SyncTarget),
    /// `poll S until done`
    Poll(SyncTarget),
    /// `let t = elapsed A to B`
    Elapsed {
        /// The event at the start.
        from: Chosen<EventId>,
        /// The event at the end.
        to: Chosen<EventId>,
        /// Where the time goes.
        register: Register,
    },
    /// `sleep D`
    Sleep(Formula),
    /// `trim P to SIZE`
    Trim {
        /// The pool.
        pool: PoolId,
        /// At least so much stays.
        keep: Formula,
    },
    /// `set P.attribute = value`, `reset P.used_high`
    Set {
        /// The pool.
        pool: PoolId,
        /// The attribute.
        attribute: Attribute,
        /// The value.
        value: Formula,
    },
    /// `set gpu0.pool = p`
    SetPool {
        /// The device.
        device: crate::base::DeviceId,
        /// The pool.
        pool: PoolId,
    },
    /// `grant p to gpu1 read`, `revoke p from gpu1`
    Grant {
        /// The pool.
        pool: PoolId,
        /// The device.
        device: DeviceId,
        /// What it may do from now on.
        reach: Reach,
    },
    /// `export p as hp`
    Export {
        /// What is exported.
        what: ExportOf,
        /// Under which signal.
        under: SignalId,
    },
    /// `q = import hp on gpu0`
    Import {
        /// Under which signal it was exported.
        under: SignalId,
        /// What it becomes.
        into: ImportInto,
    },
    /// `create stream s reusing old`
    Create {
        /// Which `create` it is; each of them counts how often it is carried out.
        nth: usize,
        /// The name.
        name: Resource,
        /// What it stands for from now on, the first time. Further times it is what follows this one.
        first: Resource,
        /// The name of what leaves it its handle.
        reusing: Option<Handle>,
    },
    /// `destroy s`
    Destroy(Handle),
    /// `reset gpu0`
    ResetDevice(DeviceId),
    /// A call about graphs.
    Graph(GraphAction),
    /// Reads a figure into a register; part of an `expect`.
    Peek {
        /// The figure.
        reading: Reading,
        /// Where it goes.
        register: Register,
    },
    /// Reads a figure into a register; part of a `let`.
    Read {
        /// The figure.
        reading: Reading,
        /// Where it goes.
        register: Register,
    },
    /// `S: host takes D`, `S: host await G`, `S: host signal G`
    HostFunction {
        /// The stream.
        stream: Chosen<StreamId>,
        /// What it touches.
        uses: Vec<(Place, Access)>,
        /// Its duration.
        takes: Takes,
        /// The signal that it gives.
        gives: Option<SignalId>,
    },
    /// `S: c(x)`, `c` being a collective
    Collective {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The collective.
        collective: CollectiveId,
        /// Its arguments.
        uses: Vec<(Place, Access)>,
    },
    /// `signal G`
    Signal(SignalId),
    /// `await G`
    Await(SignalId),
    /// `join T`
    Join(Chosen<HostId>),
    /// `barrier B of N`
    Barrier(BarrierId),
    /// `expect A == B`
    Compare {
        /// The expectation.
        expect: ExpectId,
        /// The left side.
        left: Formula,
        /// The right side.
        right: Formula,
    },
    /// `expect y reuses x` and its kin
    Relate {
        /// The expectation.
        expect: ExpectId,
        /// The buffer that it is about.
        subject: Chosen<BufferId>,
        /// The buffer it is compared with.
        object: Chosen<BufferId>,
    },
    /// `expect x ready on s`
    ExpectReady {
        /// The expectation.
        expect: ExpectId,
        /// The buffer.
        subject: Chosen<BufferId>,
        /// The stream.
        on: Chosen<StreamId>,
    },
    /// `expect big fails out_of_memory`
    ExpectEnded {
        /// The expectation.
        expect: ExpectId,
        /// Which call it is about.
        call: Called,
    },
    /// `snapshot`
    Snapshot(SnapshotId),
}

/// A call that was made before.
#[derive(Clone, Debug)]
pub enum Called {
    /// The latest one of this statement.
    Statement(StmtId),
    /// The latest allocation of this name.
    Allocation(Chosen<BufferId>),
}

/// What an `export` names.
#[derive(Clone, Debug)]
pub enum ExportOf {
    /// A pool.
    Pool(PoolId),
    /// A buffer.
    Memory(Chosen<BufferId>),
    /// An event.
    Event(Chosen<EventId>),
}

/// What an `import` makes.
#[derive(Clone, Debug)]
pub enum ImportInto {
    /// A pool or an event; as of a `create`.
    Resource {
        /// Which line that makes something it is.
        nth: usize,
        /// The name.
        name: Resource,
        /// What it stands for from now on, the first time.
        first: Resource,
    },
    /// A buffer.
    Memory {
        /// The name that it gets.
        buffer: Chosen<BufferId>,
        /// The imported pool that its memory is of.
        pool: PoolId,
    },
}

impl Action {
    /// Visits each buffer that it names.
    pub(super) fn for_each_buffer(&mut self, mut visit: impl FnMut(&mut Chosen<BufferId>)) {
        match self {
            Action::Alloc { buffer, .. }
            | Action::Free { buffer, .. }
            | Action::Malloc { buffer, .. }
            | Action::Export { what: ExportOf::Memory(buffer), .. }
            | Action::Import { into: ImportInto::Memory { buffer, .. }, .. }
            | Action::PlainFree(buffer)
            | Action::ExpectReady { subject: buffer, .. }
            | Action::ExpectEnded { call: Called::Allocation(buffer), .. } => visit(buffer),
            Action::Launch { uses, .. }
            | Action::Collective { uses, .. }
            | Action::HostFunction { uses, .. } => {
                uses.iter_mut().for_each(|(place, _)| visit(&mut place.buffer));
            }
            Action::Copy { to, from, .. } => {
                visit(&mut to.buffer);
                visit(&mut from.buffer);
            }
            Action::Graph(GraphAction::Node { node, .. }) => node.for_each_buffer(visit),
            Action::Memset { at, .. } | Action::Touch { at, .. } => visit(&mut at.buffer),
            Action::Relate { subject, object, .. } => {
                visit(subject);
                visit(object);
            }
            _ => {}
        }
    }
}
