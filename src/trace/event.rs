//! What happened, one event at a time. Events borrow: who wants to keep one copies what it needs.

use super::{
    Account, AllocId, Call, Cut, Decision, DeviceState, Failure, GraphPoolState, Operands, PoolPicture,
    PoolState, Range, Reach, Refusals, Ticket,
};
use crate::base::{
    BarrierId, BufferId, Bytes, CollectiveId, DeviceId, EventId, ExpectId, HostId, Nanos, PoolId, SignalId,
    SnapshotId, StmtId,
};

/// One event of a run.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// When, in virtual time.
    pub at: Nanos,
    /// The host thread whose call it belongs to.
    pub host: HostId,
    /// The statement it belongs to.
    pub stmt: StmtId,
    /// The operation it is about, if it is about one.
    pub ticket: Option<Ticket>,
    /// What happened.
    pub kind: Kind<'a>,
}

/// What happened.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// A host call was made. A call that blocks is told once, when it is made.
    Call(&'a Call),
    /// This call put an operation into a stream; of a launch of a graph, that of a node is the call that was captured.
    Submitted(&'a Call),
    /// That operation will wait for another one across streams.
    Waits {
        /// The other one.
        on: Ticket,
        /// By what.
        cause: Cause,
    },
    /// The device started the operation.
    Start,
    /// The device completed the operation.
    End,
    /// The pool has grown for an allocation, with so much complete as the host could see by then; precedes `Decided`.
    Grown {
        /// What was complete before this time, and what the host has seen complete.
        visible: &'a Cut,
    },
    /// The allocator placed an allocation.
    Decided(&'a Decision),
    /// Why the classes before could not serve it; precedes `Decided` or `Failed`.
    Refused(&'a Refusals),
    /// The allocation that was placed last is what this name means from now on.
    Named(BufferId),
    /// The call failed and changed nothing.
    Failed {
        /// How.
        failure: Failure,
        /// The call.
        call: &'a Call,
    },
    /// Where memory was when the allocation failed.
    Account {
        /// The pool that could not serve it.
        pool: PoolId,
        /// The bytes.
        account: &'a Account,
    },
    /// The call touches memory of a pool in a way that its device may not; precedes `Failed`.
    OutOfReach {
        /// The pool.
        pool: PoolId,
        /// The device.
        device: DeviceId,
        /// What it may do.
        reach: Reach,
    },
    /// The call needs an event of this device, and it belongs to another one; precedes `Failed`.
    OtherDevice {
        /// The event.
        event: EventId,
        /// The device that it belongs to, as the first process knows it.
        home: DeviceId,
        /// The device that it would have to belong to.
        device: DeviceId,
    },
    /// A blocked call returned: everything in the cut is proven complete to the host.
    Synchronised {
        /// What the host has observed by now.
        observed: &'a Cut,
    },
    /// A query or a poll found complete what it asked for: it is ordered before what this host submits from now on.
    Seen {
        /// What it found.
        seen: &'a Cut,
    },
    /// A call that waited for other host threads has returned: what they had seen, this one has seen.
    Met,
    /// The operation that was submitted last has more before it than those before it in its stream, as the engine sees it.
    Ordered {
        /// What is ordered before its end, itself included.
        before: &'a Cut,
    },
    /// Physical memory went back to the device.
    Released {
        /// From this pool.
        pool: PoolId,
        /// So much.
        bytes: Bytes,
    },
    /// The figures of a pool after a call that changed them.
    State {
        /// The pool.
        pool: PoolId,
        /// Its figures.
        state: &'a PoolState,
    },
    /// Memory outside of pools went back to the device, since the operation that freed it is complete.
    Returned {
        /// To this device.
        device: DeviceId,
        /// So much.
        bytes: Bytes,
        /// The operation.
        freed: Ticket,
    },
    /// The reset of a device freed an allocation outside of pools.
    Freed(AllocId),
    /// The memory of a device after a call about memory outside of pools, or when such a call failed.
    Device {
        /// The device.
        device: DeviceId,
        /// Where its memory is.
        state: &'a DeviceState,
    },
    /// A launch of a graph puts the operation of a node into a stream; precedes `Submitted`. Also the frees that a launch
    /// inserts.
    Node {
        /// The call that was captured, in the stream in which it runs.
        call: &'a Call,
        /// The allocation that an allocation node brings to life again, and its addresses.
        alloc: Option<(AllocId, Range)>,
    },
    /// The memory of graphs on a device after a call that changed it.
    GraphPool {
        /// The device.
        device: DeviceId,
        /// Its figures.
        state: &'a GraphPoolState,
    },
    /// A figure was read, or a time between two events, which can be negative.
    Value(i128),
    /// An expectation was reached.
    Expect {
        /// Which one.
        expect: ExpectId,
        /// What it is about.
        operands: &'a Operands,
    },
    /// A `snapshot` statement was reached.
    Snapshot {
        /// Which one.
        snapshot: SnapshotId,
        /// All pools, in order of their ids.
        pools: &'a [PoolPicture],
        /// The memory of graphs on all devices, in order of their ids; none in a program without graphs.
        graphs: &'a [GraphPoolState],
    },
    /// The statement was skipped, since the allocation of this buffer had failed.
    Skipped(BufferId),
    /// Nothing can advance any more, although something should.
    Deadlock(&'a Deadlock),
}

/// By what an operation waits for one of another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An event wait.
    Event,
    /// The legacy default stream.
    Legacy,
    /// The allocator (class `internal`).
    Allocator,
    /// An edge of a graph, or an earlier launch of the same graph.
    Graph,
}

/// Who waits for whom when nothing can advance any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadlock {
    /// Each waits for the next one.
    pub waiters: Vec<Waiter>,
    /// For each of them the statement in which it waits, if it is somebody who waits.
    pub statements: Vec<Option<StmtId>>,
    /// Whether the last one waits for the first. If not, these are all that wait, and after them what they wait for and
    /// nobody is left to bring.
    pub is_cycle: bool,
}

/// Who or what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Waiter {
    /// A host thread in a blocking call.
    Host(HostId),
    /// An operation that has not completed.
    Operation(Ticket),
    /// A signal that was not given.
    Signal(SignalId),
    /// The parts of a collective that nobody has put into a stream.
    Parts(CollectiveId),
    /// The threads that have not come to a barrier.
    Barrier(BarrierId),
}
