//! Judges a run from its events alone: expectations, errors that no line expects, and the books of the pools.
//!
//! An opinion of its own: it shares no code with order, model or engine, and knows nothing of how a verdict looks.

mod books;
mod expectations;
mod explain;
mod findings;
mod hazards;
mod mistakes;
mod verdict;

pub use books::{Accounting, Violation};
pub use expectations::{Expectations, mismatch};
pub use explain::{By, Explanation, Link, Ran, Recording, Reuse};
pub use findings::{Certainty, Finding, Missing, Moment, Point, Role};
pub use verdict::{
    Answer, Broken, Counts, FailedCall, Judged, Met, Mismatch, Missed, NotReached, Ordering, Searched,
    Settled, SkippedStatement, Verdict,
};
