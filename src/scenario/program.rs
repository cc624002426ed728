//! The checked program: what a scenario text means. Ids everywhere; names only to talk about them. Loops stay loops.
//!
//! Everything in it is known to be valid: names exist, units fit, indices are in range, limits are kept.

use super::{Action, Expect, Levels};
use crate::base::{
    BarrierId, BufferId, Bytes, CollectiveId, DeviceId, EventId, ExecId, ExpectId, GraphId, HostBufferId,
    HostId, IndexVec, KernelId, PoolId, SignalId, SnapshotId, Span, StmtId, StreamId,
};
use crate::trace::{Failure, Setup, Target};
use std::collections::BTreeSet;

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
    /// How many `create` lines there are.
    pub creates: usize,
    /// How many statements a run makes at most, all loops unrolled.
    pub length: u64,
    /// The source statements.
    pub statements: IndexVec<StmtId, Statement>,
    /// The buffers of the host.
    pub host_buffers: IndexVec<HostBufferId, HostBuffer>,
    /// The buffers that may be missing, since only the block of an `else` allocates them first.
    pub conditional: Vec<BufferId>,
    /// The `expect` lines.
    pub expects: IndexVec<ExpectId, Expect>,
    /// The `snapshot` lines, with their names; empty for a nameless one.
    pub snapshots: IndexVec<SnapshotId, SnapshotLine>,
    /// What becomes of findings.
    pub levels: Levels,
}

impl Program {
    /// The signals that functions in streams give.
    pub fn given_by_functions(&self) -> BTreeSet<SignalId> {
        let given = self.code.iter().filter_map(|instruction| match instruction {
            Instruction::Call { action: Action::HostFunction { gives, .. }, .. } => *gives,
            _ => None,
        });
        given.collect()
    }
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
    /// The same as the owners of what each process has for itself on them, such as the memory of graphs: `gpu0`, `q.gpu0`.
    pub owners: IndexVec<DeviceId, String>,
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
    /// Graphs.
    pub graphs: IndexVec<GraphId, String>,
    /// Executable graphs.
    pub execs: IndexVec<ExecId, String>,
    /// Signals, and the names of exports.
    pub signals: IndexVec<SignalId, String>,
    /// Those of them that are names of exports.
    pub shares: BTreeSet<SignalId>,
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
    /// `else E {`: a block handles it if it fails in this way.
    Handled {
        /// The failure.
        failure: Failure,
        /// The first and the last line of the block, its braces aside.
        lines: (u32, u32),
    },
}

impl Outcome {
    /// Whether the text allows for this failure.
    pub fn allows(self, failure: Failure) -> bool {
        match self {
            Outcome::Succeeds => false,
            Outcome::Fails(allowed) | Outcome::MayFail(allowed) => allowed == failure,
            Outcome::Handled { failure: allowed, .. } => allowed == failure,
        }
    }
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
    /// Stands behind a call: unless that call failed in this way, go on at `end`.
    Otherwise {
        /// The failure that the block handles.
        failure: Failure,
        /// The index after the block.
        end: usize,
    },
    /// `x.address`: the register gets the first address of the latest allocation of that name.
    Address {
        /// The statement.
        stmt: StmtId,
        /// The register.
        register: Register,
        /// The name.
        of: Chosen<BufferId>,
        /// Which of the names in the statement it is.
        nth: usize,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Register(pub u32);

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

/// What a `destroy` names.
#[derive(Clone, Debug)]
pub enum Handle {
    /// A stream.
    Stream(Chosen<StreamId>),
    /// An event.
    Event(Chosen<EventId>),
    /// A pool.
    Pool(PoolId),
    /// A graph.
    Graph(Chosen<GraphId>),
    /// An executable graph.
    Exec(Chosen<ExecId>),
}

/// `x`, `x[0..4KiB]`: bytes that a statement touches.
#[derive(Clone, Debug)]
pub struct Place {
    /// The buffer or the view.
    pub buffer: Chosen<BufferId>,
    /// The first byte of the part and the byte after its last one; without them all of it.
    pub part: Option<Box<(Formula, Formula)>>,
}

/// One of a row of ids that follow each other: `worker[i]`. Without an index there is just the base; most have none, so it lies
/// apart, and the instructions close together.
#[derive(Clone, Debug)]
pub struct Chosen<Id> {
    /// The only one, or the one with index 0.
    pub base: Id,
    /// The index, known to be in range.
    pub index: Option<Box<Formula>>,
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
            Instruction::Address { of, .. } => visit(of),
            Instruction::View { name, of, .. } => {
                visit(name);
                visit(&mut of.buffer);
            }
            _ => {}
        }
    }
}
