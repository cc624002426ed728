//! What is known about a run once it is over: its calls, the memory that each allocation got, the states of pools, when
//! operations ended.
//!
//! Plain data, with ids. It does not know which of two runs it is, nor what documents say.

use crate::base::{Bytes, ExpectId, HostId, Nanos, PoolId, StmtId};
use crate::trace::{Attributes, Failure, Policy, PoolState, Range, Readiness, Reading, Ticket};
use std::collections::BTreeMap;

/// Which call of a program: it is the same one in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The host thread that makes it.
    pub host: HostId,
    /// The statement.
    pub stmt: StmtId,
    /// Its number among the calls of that thread and statement, from 1.
    pub nth: u32,
}

/// What a trace says about everything that it does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// All of it: a state after each call that changed one, and what is ordered before each operation. What was not told, did
    /// not happen.
    Whole,
    /// Nothing: states are told at some calls, and order is not.
    Parts,
}

/// One run.
#[derive(Clone, Debug)]
pub struct Trace {
    /// How much of a run it tells.
    pub told: Told,
    /// The calls in the order in which they were made, lines that expect something included.
    pub calls: Vec<Made>,
    /// The states of each pool in the order in which they were told.
    pub states: BTreeMap<PoolId, Vec<StateTold>>,
    /// The calls, by their place, at which a pool was seen to give memory back.
    pub shrinks: BTreeMap<PoolId, Vec<u32>>,
    /// The operations in the order in which they were submitted.
    pub operations: Vec<Operation>,
}

/// A call that was made, or skipped.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Which one.
    pub key: Key,
    /// What it does.
    pub does: Does,
    /// How it ended.
    pub outcome: Outcome,
    /// The pool that it is about, if it is about one.
    pub pool: Option<PoolId>,
    /// Whether another timing would have served it otherwise; only of an allocation, and only where that is known.
    pub by_timing: bool,
    /// The memory that an allocation got.
    pub got: Option<Box<Got>>,
    /// What was read, or expected of what.
    pub read: Option<Read>,
    /// How many states had been told when it was over.
    pub until: u32,
}

/// What a call does, as far as that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Does {
    /// Allocates memory of a pool.
    Allocate,
    /// Allocates memory outside of pools.
    Malloc,
    /// Gives something to a pool, takes something from it or looks what is complete, so that the pool may change.
    Change,
    /// Reads a figure.
    Read(Reading),
    /// Reads the time between two events.
    Elapsed,
    /// Asks what is complete.
    Query,
    /// Puts something else into a stream.
    Submit,
    /// Says what is expected.
    Expect(ExpectId),
    /// Something else.
    Other,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed(Failure),
    /// It was not made, since the allocation of what it names had failed.
    Skipped,
    /// It never returned: nothing could advance any more.
    Stuck,
}

impl Outcome {
    /// The word of reports: the name of the error, if it failed.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Succeeded => "succeeded",
            Outcome::Failed(failure) => failure.name(),
            Outcome::Skipped => "skipped",
            Outcome::Stuck => "never_returned",
        }
    }
}

/// The memory that an allocation got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// Its addresses, which are never compared.
    pub range: Range,
    /// The size that was asked for.
    pub requested: Bytes,
    /// The earlier allocations of the pool whose bytes it has, in their order, and how many bytes of each.
    pub reuses: Vec<(Key, Bytes)>,
    /// The class that served it, where that is known.
    pub policy: Option<Policy>,
    /// Physical memory that was newly mapped for it, where that is known.
    pub mapped: Bytes,
    /// The frees that its stream was made to wait for.
    pub waits: Vec<Ticket>,
    /// The call that freed it, by its place in the calls.
    pub freed: Option<u32>,
}

/// What a call has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// A value.
    Value(i128),
    /// The two sides of an expectation.
    Values(i128, i128),
    /// Whether memory may be used.
    Readiness(Readiness),
}

/// The state of a pool that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateTold {
    /// Its number among the states of all pools, from 0.
    pub number: u32,
    /// The call that told it, by its place in the calls. `None`: it came with the end of an operation.
    pub by: Option<u32>,
    /// The figures that CUDA has too.
    pub figures: Figures,
    /// The writable attributes.
    pub attributes: Attributes,
}

/// The figures of a pool that CUDA has too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Figures {
    /// Physical bytes held.
    pub reserved: Bytes,
    /// The most that `reserved` was since it was reset.
    pub reserved_high: Bytes,
    /// Bytes handed out, as asked for.
    pub used: Bytes,
    /// The most that `used` was since it was reset.
    pub used_high: Bytes,
}

impl Figures {
    /// Each with its name, in the order of reports.
    pub const fn named(&self) -> [(&'static str, Bytes); 4] {
        [
            ("reserved", self.reserved),
            ("reserved_high", self.reserved_high),
            ("used", self.used),
            ("used_high", self.used_high),
        ]
    }
}

impl From<&PoolState> for Figures {
    fn from(state: &PoolState) -> Self {
        let PoolState { reserved, reserved_high, used, used_high, .. } = *state;
        Self { reserved, reserved_high, used, used_high }
    }
}

/// An operation of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The call that submitted it, by its place in the calls.
    pub by: u32,
    /// Its number among the operations of that call, from 0: a launch of a graph has many.
    pub nth: u32,
    /// Its place in its stream.
    pub ticket: Ticket,
    /// Whether it runs for a time: a kernel, a copy, a function of the host, a part of a collective.
    pub runs: bool,
    /// Whether others may learn of it a moment before it has ended: a function of the host that gives a signal.
    pub tells: bool,
    /// When it ended, if it did.
    pub ended: Option<Nanos>,
    /// The latest operation of each other stream that is ordered before its end, where that was told: what is before those, is
    /// ordered too.
    pub after: Vec<Ticket>,
}

/// Why there is no trace of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the run is too long to be compared")
    }
}

impl std::error::Error for TooLong {}

/// An allocation of a pool of which a part is used again.
pub(super) type Taken = (Key, Bytes);

/// The bytes of several parts, those of the same allocation together, in the order of allocations.
pub(super) fn together(mut parts: Vec<Taken>) -> Vec<Taken> {
    parts.sort_by_key(|(key, _)| *key);
    parts.dedup_by(|(key, bytes), (kept, sum)| {
        let is_same = key == kept;
        *sum = if is_same { Bytes(sum.0.saturating_add(bytes.0)) } else { *sum };
        is_same
    });
    parts
}
