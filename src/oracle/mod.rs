//! Judges a run from its events alone: expectations, errors that no line expects, and the books of the pools.
//!
//! An opinion of its own: it shares no code with order, model or engine, and knows nothing of how a verdict looks.

mod accounting;
mod blocks;
mod clocks;
mod devices;
mod expectations;
mod explain;
mod findings;
mod freed;
mod graphs;
mod hazards;
mod judge;
mod lifetimes;
mod lints;
mod meetings;
mod memory;
mod misuse;
mod verdict;

pub use accounting::{Accounting, Violation};
pub use expectations::{Expectations, mismatch};
pub use explain::{By, Explanation, Link, Ran, Recording, Reuse};
pub use findings::{Certainty, Finding, Missing, Moment, Point, Role};
pub use verdict::{
    Broken, Counts, FailedCall, Judged, Mismatch, Missed, NotReached, SkippedStatement, Verdict,
};
