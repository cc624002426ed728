//! What an expectation is about, as known where it stands. Whether that is what is expected, is not known here.

use super::{AllocId, Failure, Placement};
use crate::base::StmtId;

/// What an expectation is about, as known where it stands.
#[derive(Clone, Debug, PartialEq)]
pub enum Operands {
    /// Two values: bytes, counts, nanoseconds, or 0 and 1 for switches.
    Values {
        /// The left one.
        left: i128,
        /// The right one.
        right: i128,
    },
    /// The later and the earlier of two named allocations. `None`: it does not exist, since its allocation failed.
    Placements {
        /// The one that the expectation is about.
        subject: Option<Box<Placement>>,
        /// The one it is compared with.
        object: Option<Box<Placement>>,
    },
    /// How the latest call of a line, or the latest allocation of a name, ended.
    Ended {
        /// The statement of the call; `None`: none was made.
        stmt: Option<StmtId>,
        /// How it ended.
        ended: Ended,
    },
    /// Whether work that is submitted to a stream now may use an allocation.
    Readiness {
        /// The allocation.
        alloc: AllocId,
        /// Whether it may.
        readiness: Readiness,
    },
}

/// How the latest call of a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It was not made so far.
    NotMade,
    /// It was skipped, since the allocation of a buffer of it had failed.
    Skipped,
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed(Failure),
}

impl Ended {
    /// The word of reports: the name of the error, if it failed.
    pub const fn name(self) -> &'static str {
        match self {
            Ended::NotMade => "not_made",
            Ended::Skipped => "skipped",
            Ended::Succeeded => "succeeded",
            Ended::Failed(failure) => failure.name(),
        }
    }
}

/// Whether work that is submitted to a stream now may use an allocation (CUDA Programming Guide 4.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It may.
    Ready,
    /// The allocation is freed.
    Freed,
    /// The stream is not ordered after the allocation.
    NotOrdered,
    /// The stream does not exist.
    NoStream,
}

impl Readiness {
    /// The word of reports.
    pub const fn name(self) -> &'static str {
        match self {
            Readiness::Ready => "ready",
            Readiness::Freed => "freed",
            Readiness::NotOrdered => "not_ordered",
            Readiness::NoStream => "no_stream",
        }
    }
}
