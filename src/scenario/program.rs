//! The checked program: what a scenario text means. Ids everywhere; names only to talk about them. Loops stay loops.
//!
//! Everything in it is known to be valid: names exist, units fit, indices are in range, limits are kept.

use crate::base::{
    BarrierId, BufferId, Bytes, CollectiveId, DeviceId, EventId, ExpectId, HostBufferId, HostId, IndexVec,
    KernelId, PoolId, SignalId, SnapshotId, Span, StmtId, StreamId,
};
use crate::trace::{Access, Attribute, Comparison, Failure, Law, Policy, Reading, Setup, Takes, Target};

/// A checked scenario.
#[derive(Clone, Debug)]
pub struct Program {
    /// The title that the scenario gives itself; empty without one.
    pub title: String,
    /// Which variant of its text it is; `None` as it stands.
    pub variant: Option<String>,
    /// The variants that its text has; for a variant itself, none.
    pub variants: Vec<String>,
    /// The world before the first call.
    pub setup: Setup,
    /// What the ids are called in the text.
    pub names: Names,
    /// The instructions; those of a thread stand where it is started.
    pub code: Vec<Instruction>,
    /// How many registers the code uses: loop variables, `let` names, intermediate reads.
    pub registers: usize,
    /// The source statements.
    pub statements: IndexVec<StmtId, Statement>,
    /// The buffers of the host.
    pub host_buffers: IndexVec<HostBufferId, HostBuffer>,
    /// The `expect` lines.
    pub expects: IndexVec<ExpectId, Expect>,
    /// The `snapshot` lines, with their names; empty for a nameless one.
    pub snapshots: IndexVec<SnapshotId, SnapshotLine>,
}

/// A buffer of the host, which is there all the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostBuffer {
    /// Its name.
    pub name: BufferId,
    /// Its size.
    pub size: Bytes,
    /// Whether it is page-locked.
    pub pinned: bool,
}

/// What the ids are called in the text.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Devices.
    pub devices: IndexVec<DeviceId, String>,
    /// Pools: `scratch`, `gpu0.default_pool`.
    pub pools: IndexVec<PoolId, String>,
    /// Streams: `producer`, `worker[2]`, `legacy`.
    pub streams: IndexVec<StreamId, String>,
    /// Events: `freed`, `done[0]`.
    pub events: IndexVec<EventId, String>,
    /// Kernels.
    pub kernels: IndexVec<KernelId, String>,
    /// Host threads, from the one that begins the program.
    pub hosts: IndexVec<HostId, String>,
    /// Barriers.
    pub barriers: IndexVec<BarrierId, String>,
    /// Collectives.
    pub collectives: IndexVec<CollectiveId, String>,
    /// Signals.
    pub signals: IndexVec<SignalId, String>,
    /// Buffers: `x`, `block[7]`.
    pub buffers: IndexVec<BufferId, String>,
}

/// A source statement.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Where it stands.
    pub span: Span,
    /// Its line, from 1.
    pub line: u32,
    /// Its text in one line, without the comment.
    pub text: String,
    /// Identifies its random draws: a stable hash of stream, kernel and its ordinal among equal statements, so that
    /// an edit of one line leaves the draws of the others alone.
    pub draws: u64,
    /// What the text says about its success.
    pub outcome: Outcome,
}

/// What a statement says about its success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing: it must succeed.
    Succeeds,
    /// `fails E`: it must fail in this way.
    Fails(Failure),
    /// `or_fails E`: it may fail in this way.
    MayFail(Failure),
}

/// One instruction of a host thread.
#[derive(Clone, Debug)]
pub enum Instruction {
    /// Becomes one call, under this statement.
    Call {
        /// The statement.
        stmt: StmtId,
        /// The call, with what is computed for it.
        action: Action,
    },
    /// `let`, or an intermediate value: computes a register.
    Let {
        /// The statement.
        stmt: StmtId,
        /// The register.
        register: Register,
        /// Its value.
        value: Formula,
    },
    /// `view a = slab[0..1MiB]`: the name stands for this place from now on.
    View {
        /// The statement.
        stmt: StmtId,
        /// The name.
        name: Chosen<BufferId>,
        /// The place, as it is now.
        of: Place,
    },
    /// Enters a loop: the register takes `from`; where that is not below `to`, go on after `end`.
    Repeat {
        /// The loop variable.
        register: Register,
        /// Its first value.
        from: u64,
        /// The value that it does not reach.
        to: u64,
        /// The index of the matching [`Instruction::Again`].
        end: usize,
    },
    /// Ends a turn: the register grows by 1; while it is below `to`, go on after `start`.
    Again {
        /// The loop variable.
        register: Register,
        /// The value that it does not reach.
        to: u64,
        /// The index of the matching [`Instruction::Repeat`].
        start: usize,
    },
    /// Starts a thread at the next instruction, and goes on after `end` itself.
    Spawn {
        /// The statement.
        stmt: StmtId,
        /// The thread.
        thread: Chosen<HostId>,
        /// The index of the matching [`Instruction::Exit`].
        end: usize,
    },
    /// Ends a thread.
    Exit {
        /// The statement that started it.
        stmt: StmtId,
    },
}

/// A register of a host thread. A thread begins with a copy of the registers of the one that starts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register(pub u32);

/// A call whose operands may still have to be computed.
#[derive(Clone, Debug)]
pub enum Action {
    /// `S: x = alloc SIZE from P`
    Alloc {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The pool.
        pool: PoolId,
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
    /// `snapshot`
    Snapshot(SnapshotId),
}

/// What a `sync` names.
#[derive(Clone, Debug)]
pub enum SyncTarget {
    /// A device.
    Device(DeviceId),
    /// A stream.
    Stream(Chosen<StreamId>),
    /// An event.
    Event(Chosen<EventId>),
}

/// `x`, `x[0..4KiB]`: bytes that a statement touches.
#[derive(Clone, Debug)]
pub struct Place {
    /// The buffer or the view.
    pub buffer: Chosen<BufferId>,
    /// The first byte of the part and the byte after its last one; without them all of it.
    pub part: Option<(Formula, Formula)>,
}

/// One of a row of ids that follow each other: `worker[i]`. Without an index there is just the base.
#[derive(Clone, Debug)]
pub struct Chosen<Id> {
    /// The only one, or the one with index 0.
    pub base: Id,
    /// The index, known to be in range.
    pub index: Option<Formula>,
}

/// A value to compute. All values are integers: bytes, nanoseconds, counts, switches.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A constant.
    Constant(i128),
    /// What a register holds.
    Register(Register),
    /// Two values combined.
    Binary(Operator, Box<(Formula, Formula)>),
}

/// An arithmetic operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`, rounded down
    Divide,
    /// `%`
    Remainder,
}

/// An `expect` line.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The statement.
    pub stmt: StmtId,
    /// What it demands.
    pub demand: Demand,
}

/// What an `expect` line demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Two values stand in a relation.
    Compare {
        /// The relation.
        comparison: Comparison,
        /// What the values are, for people.
        unit: Unit,
    },
    /// `y [not] reuses x [via P]`: `y` shares a byte with `x`, and `P` is the weakest class that it was served by.
    Reuses {
        /// Whether it must rather not.
        not: bool,
        /// The class.
        via: Option<Policy>,
    },
    /// `y at x`: the same address.
    At {
        /// Whether it must rather not.
        not: bool,
    },
    /// `y waits for free x`: the allocator made the stream of `y` wait for the free of `x`.
    WaitsForFree {
        /// Whether it must rather not.
        not: bool,
    },
    /// `x via P`: the class that served it.
    ServedBy(Policy),
    /// `late starts >= end early`: judged at the end of the run, by the last time that each was carried out.
    Moments {
        /// The moment that it is about.
        subject: Moment,
        /// The relation.
        comparison: Comparison,
        /// The moment it is compared with.
        object: Moment,
    },
}

/// A moment in the life of the operation of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The statement.
    pub stmt: StmtId,
    /// Its end, or else its start.
    pub end: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    Count,
    /// Bytes.
    Bytes,
    /// Virtual nanoseconds.
    Nanos,
    /// A switch: 0 is off, 1 is on.
    Switch,
}

/// A `snapshot` line.
#[derive(Clone, Debug)]
pub struct SnapshotLine {
    /// The statement.
    pub stmt: StmtId,
    /// The name in quotes; empty without one.
    pub name: String,
}

impl SyncTarget {
    /// The target of the call, each name resolved by `stream` or `event`.
    ///
    /// # Errors
    /// Those of the two.
    pub fn resolve<E>(
        &self,
        stream: impl FnOnce(&Chosen<StreamId>) -> Result<StreamId, E>,
        event: impl FnOnce(&Chosen<EventId>) -> Result<EventId, E>,
    ) -> Result<Target, E> {
        Ok(match self {
            SyncTarget::Device(device) => Target::Device(*device),
            SyncTarget::Stream(chosen) => Target::Stream(stream(chosen)?),
            SyncTarget::Event(chosen) => Target::Event(event(chosen)?),
        })
    }
}

impl Instruction {
    /// Visits each buffer that it names.
    pub(super) fn for_each_buffer(&mut self, mut visit: impl FnMut(&mut Chosen<BufferId>)) {
        match self {
            Instruction::Call { action, .. } => action.for_each_buffer(visit),
            Instruction::View { name, of, .. } => {
                visit(name);
                visit(&mut of.buffer);
            }
            _ => {}
        }
    }
}

impl Action {
    /// Visits each buffer that it names.
    fn for_each_buffer(&mut self, mut visit: impl FnMut(&mut Chosen<BufferId>)) {
        match self {
            Action::Alloc { buffer, .. }
            | Action::Free { buffer, .. }
            | Action::Malloc { buffer, .. }
            | Action::PlainFree(buffer) => visit(buffer),
            Action::Launch { uses, .. }
            | Action::Collective { uses, .. }
            | Action::HostFunction { uses, .. } => {
                uses.iter_mut().for_each(|(place, _)| visit(&mut place.buffer));
            }
            Action::Copy { to, from, .. } => {
                visit(&mut to.buffer);
                visit(&mut from.buffer);
            }
            Action::Memset { at, .. } | Action::Touch { at, .. } => visit(&mut at.buffer),
            Action::Relate { subject, object, .. } => {
                visit(subject);
                visit(object);
            }
            _ => {}
        }
    }
}
