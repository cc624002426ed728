//! What came of a comparison: the differences, each with what documents say about it, and what was compared.

use super::deviations::Deviation;
use super::trace::{Figures, Key, Outcome};
use crate::base::{Bytes, PoolId, StmtId};
use crate::trace::Readiness;

/// What documents say about a difference; the later ones are worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// They leave it open, so that both sides are right.
    Unspecified,
    /// Another timing of the same program does this.
    Timing,
    /// They leave no room for it: the two sides are not the same allocator with the same settings, or one of them is wrong.
    Differs,
}

impl Class {
    /// Every class, the worst one last.
    pub const ALL: [Class; 3] = [Class::Unspecified, Class::Timing, Class::Differs];

    /// The word of the command line and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Unspecified => "unspecified",
            Class::Timing => "timing",
            Class::Differs => "differs",
        }
    }
}

/// Two runs, compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The differences in the order of the program, as far as the runs have one.
    pub differences: Vec<Difference>,
    /// The statement from which on host threads have called in another order.
    pub turned: Option<StmtId>,
    /// How much was compared.
    pub compared: Compared,
    /// The statements that only one program has, the left one, and the right one with its own ids: they are not compared.
    pub alone: [Vec<StmtId>; 2],
    /// What the backend does otherwise than a machine, where a side was run on hardware and that may be behind differences.
    pub deviations: Vec<Deviation>,
}

impl Comparison {
    /// How many differences there are of a class.
    pub fn of(&self, class: Class) -> usize {
        self.differences.iter().filter(|difference| difference.class == class).count()
    }
}

/// How much was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Calls that both sides have made.
    pub calls: u64,
    /// Those of them that allocate memory of a pool.
    pub allocations: u64,
    /// States of pools.
    pub states: u64,
    /// The pools that these are of.
    pub pools: u64,
    /// Values that were read, or that lines expect something of.
    pub values: u64,
    /// Operations that ended on both sides.
    pub operations: u64,
}

/// A difference. What is different in the same way again, at the same statement, is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The call.
    pub key: Key,
    /// What is different.
    pub what: What,
    /// What documents say about it.
    pub class: Class,
    /// How often.
    pub times: u64,
    /// What it was on each side, the first time.
    pub left: Seen,
    /// The same on the right.
    pub right: Seen,
    /// What a pool held behind the call, where that is different in another way than before it.
    pub held: Option<Held>,
    /// The statement of the earlier difference that this one may come from.
    pub follows: Option<StmtId>,
}

/// What is different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// Whether the call was made at all.
    Made,
    /// How the call ended.
    Outcome,
    /// What memory an allocation got, or that it got none.
    Memory,
    /// The figures of a pool behind the call.
    Pool(PoolId),
    /// What was read, or what a line expects something of.
    Value,
    /// Whether an operation of the call ended before one of that statement.
    Ends(StmtId),
}

impl What {
    /// The word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            What::Made => "made",
            What::Outcome => "outcome",
            What::Memory => "memory",
            What::Pool(_) => "pool",
            What::Value => "value",
            What::Ends(_) => "ends",
        }
    }
}

/// What something was on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The call was made, or not.
    Made(bool),
    /// The call ended so.
    Outcome(Outcome),
    /// An allocation got memory.
    Memory {
        /// Of these earlier allocations, so much of each.
        reuses: Vec<(Key, Bytes)>,
        /// The physical memory that its pool got for it; where that is not known, nothing.
        grows: Bytes,
    },
    /// What a pool held.
    Pool,
    /// A value.
    Value(i128),
    /// The two sides of an expectation.
    Values(i128, i128),
    /// Whether memory may be used.
    Readiness(Readiness),
    /// The operation ended before one of this call, or after it.
    EndsBefore {
        /// Whether it ended before that.
        before: bool,
        /// The call of the other operation.
        other: Key,
    },
}

/// What a pool held behind a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The pool.
    pub pool: PoolId,
    /// On the left.
    pub left: Figures,
    /// On the right.
    pub right: Figures,
    /// The figures, in the order of [`Figures::named`], that differ by another amount than before the call.
    pub changed: [bool; 4],
}
