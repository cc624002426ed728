//! What a run tells about an order that is missing: the nearest order that there is, when both ran, and who got the memory.
//!
//! Found by running once more with a sink that records; nothing is kept of a run that nobody asks about. What counts as order
//! here is what holds for every timing. How an explanation looks is the report's affair.

mod nearest;
mod recording;
#[cfg(test)]
mod tests;

pub use recording::Recording;

use super::findings::{Missing, Point};
use crate::base::{Nanos, StmtId};
use crate::trace::{AllocId, Policy};

/// What a run tells about an order that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// From the latest operation of the first one's stream, or the latest call of its thread, that is ordered before the second
    /// one, to that. Empty: there is none.
    pub nearest: Vec<Link>,
    /// From the second one to the first one, where that is the order that there is.
    pub reversed: Vec<Link>,
    /// What launched the first one, if it is the node of a graph.
    pub from_launch: Option<StmtId>,
    /// What launched the second one, if it is the node of a graph.
    pub to_launch: Option<StmtId>,
    /// When the first one ran.
    pub from: Option<Ran>,
    /// When the second one ran.
    pub to: Option<Ran>,
    /// The next allocation that was given the same memory.
    pub reuse: Option<Reuse>,
}

/// A point of a run on the way from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The statement.
    pub stmt: StmtId,
    /// The point.
    pub point: Point,
    /// By what it comes before the next one.
    pub by: By,
}

/// By what one point of a run comes before another one, whatever the timing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    /// Both are of one stream, or of one host thread.
    Program,
    /// The host calls, and so an operation is in a stream.
    Submission,
    /// An event was recorded and waited for.
    Event,
    /// The legacy default stream.
    Legacy,
    /// An edge of a graph, or an earlier launch of it.
    Graph,
    /// The host waits for it.
    Synchronise,
    /// A signal, an export, a barrier, the beginning or the end of a thread.
    Signal,
    /// The parts of a collective start and end together.
    Collective,
}

impl By {
    /// The word of reports for programs.
    pub const fn name(self) -> &'static str {
        match self {
            By::Program => "program",
            By::Submission => "submission",
            By::Event => "event",
            By::Legacy => "legacy",
            By::Graph => "graph",
            By::Synchronise => "synchronise",
            By::Signal => "signal",
            By::Collective => "collective",
        }
    }
}

/// When something ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// From then on.
    pub start: Nanos,
    /// Until then; `None`: it did not end.
    pub end: Option<Nanos>,
}

impl Ran {
    /// Whether it had ended when the other one started.
    pub fn is_before(self, other: Ran) -> bool {
        self.end.is_some_and(|end| end <= other.start)
    }

    /// While both ran, if they did at once.
    fn with(self, other: Ran) -> Option<Ran> {
        let start = self.start.max(other.start);
        let end = match (self.end, other.end) {
            (Some(end), Some(other)) => Some(end.min(other)),
            (end, other) => end.or(other),
        };
        end.is_none_or(|end| start < end).then_some(Ran { start, end })
    }
}

/// An allocation that was given memory that another one had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reuse {
    /// The statement that allocated.
    pub stmt: StmtId,
    /// The allocation.
    pub alloc: AllocId,
    /// The class that served it.
    pub policy: Option<Policy>,
    /// When it was decided.
    pub at: Nanos,
    /// The operation with the old memory, the one with the new memory, and while both ran.
    pub together: Option<(StmtId, StmtId, Ran)>,
}

impl Recording {
    /// By what one point comes before another one, whatever the timing is; empty: it does not.
    pub fn chain(&self, from: Point, to: Point) -> Vec<Link> {
        nearest::between(self, from, to)
    }

    /// What the run tells about it. `None`: what it is about was not recorded.
    pub fn explain(&self, missing: &Missing) -> Option<Explanation> {
        let (from, to) = (missing.from.point, missing.to.point);
        let (Some(_), Some(_)) = (self.at(from), self.at(to)) else { return None };
        let reversed = nearest::between(self, to, from);
        let nearest = if reversed.is_empty() { nearest::nearest(self, from, to) } else { Vec::new() };
        Some(Explanation {
            nearest,
            reversed,
            from_launch: self.launch(from),
            to_launch: self.launch(to),
            from: self.ran(from),
            to: self.ran(to),
            reuse: missing.alloc.and_then(|alloc| self.reuse(alloc)),
        })
    }
}
