//! What `expect` lines demand.

use super::Unit;
use crate::base::{BufferId, Nanos, StmtId};
use crate::trace::{Comparison, Failure, FindingKind, Policy, Reach};

/// An `expect` line.
#[derive(Clone, Debug)]
pub struct Expect {
    /// The statement.
    pub stmt: StmtId,
    /// What it demands.
    pub demand: Demand,
    /// Of which timings it demands that; `None`: of each run by itself.
    pub quantifier: Option<Quantifier>,
}

impl Expect {
    /// A line about each run by itself.
    pub const fn new(stmt: StmtId, demand: Demand) -> Self {
        Self { stmt, demand, quantifier: None }
    }

    /// Whether what it speaks of is no error where it happens, since the line says that it does.
    pub fn expects_it(&self) -> bool {
        self.quantifier != Some(Quantifier::Never)
    }
}

/// Of how many timings something is demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// Of all of them.
    Always,
    /// Of at least one.
    Sometimes,
    /// Of none.
    Never,
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
    /// `gpu1 [not] reaches p [read]`: by the flag of its access.
    Reaches {
        /// Whether it must rather not.
        not: bool,
        /// How exactly; any access without it.
        reach: Option<Reach>,
    },
    /// `gpu0.pool == p`: the current pool of the device is this one.
    CurrentPool {
        /// Whether it must rather not be: `gpu0.pool != p`.
        not: bool,
    },
    /// `x ready on S`: work that is submitted to `S` now may use `x`.
    ReadyOn {
        /// Whether it must rather not.
        not: bool,
    },
    /// `x depends on timing`: with another timing of the devices it would have been served otherwise.
    DependsOnTiming {
        /// Whether it must rather not.
        not: bool,
    },
    /// `L fails E`, `L not fails [E]`: how the latest call of a line ended.
    Fails {
        /// Whether it must rather not.
        not: bool,
        /// The error; `None`: any.
        failure: Option<Failure>,
    },
    /// `late starts >= end early`: judged at the end of the run, by the last time that each was carried out.
    Moments {
        /// The moment that it is about.
        subject: Moment,
        /// The relation.
        comparison: Comparison,
        /// What it is compared with.
        object: When,
    },
    /// `finding F on x at L 2 times`: judged at the end of the run, wherever it is written.
    Finding {
        /// What is to be found.
        kind: FindingKind,
        /// What a process calls the memory; `None`: any.
        on: Option<Element>,
        /// One of the statements that it is about; `None`: any.
        at: Option<StmtId>,
        /// How often; `None`: at least once.
        times: Option<u64>,
    },
    /// `no findings`: judged at the end of the run.
    NoFindings,
    /// `no leaks`: judged at the end of the run.
    NoLeaks,
    /// `[no] out_of_memory`: whether a call fails so or that is found, judged at the end of the run.
    Occurs {
        /// How a call may fail.
        failure: Option<Failure>,
        /// What may be found.
        finding: Option<FindingKind>,
        /// Whether it must rather not.
        not: bool,
    },
}

impl Demand {
    /// Whether only a simulation can say: it asks for the class that served an allocation, what another timing would do, what is
    /// ordered, or what is found to be wrong.
    pub const fn needs_simulation(&self) -> bool {
        match self {
            Demand::WaitsForFree { .. } | Demand::ServedBy(_) | Demand::ReadyOn { .. } => true,
            Demand::DependsOnTiming { .. } | Demand::Finding { .. } | Demand::NoFindings => true,
            Demand::Occurs { finding, .. } => finding.is_some(),
            Demand::NoLeaks => true,
            Demand::Compare { .. } | Demand::Reuses { .. } | Demand::At { .. } => false,
            Demand::Reaches { .. } | Demand::CurrentPool { .. } => false,
            Demand::Fails { .. } | Demand::Moments { .. } => false,
        }
    }
}

/// A buffer whose name needs no run to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// The only one of its name, or the one with index 0.
    pub base: BufferId,
    /// Its index; 0 without one.
    pub index: u32,
}

impl Element {
    /// The buffer.
    pub fn id(self) -> BufferId {
        BufferId::from_usize(self.base.index() + self.index as usize)
    }
}

/// A moment in the life of the operation of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The statement.
    pub stmt: StmtId,
    /// Its end, or else its start.
    pub end: bool,
}

/// What a moment is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Another moment.
    Moment(Moment),
    /// So long after the start of the run.
    Time(Nanos),
}
