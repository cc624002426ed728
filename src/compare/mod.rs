//! Two runs of a scenario side by side: what each did, and where they differ.
//!
//! A run is recorded from its events alone, so that one of the two can come from a device. What is different is told at the
//! statement, with what documents say about it: `docs/compare.md`. How that looks is the report's affair.

mod common;
mod comparison;
mod deviations;
mod differ;
mod ends;
mod facts;
mod fold;
mod owners;
mod points;
mod record;
mod trace;

pub use common::Common;
pub use comparison::{Class, Compared, Comparison, Difference, Held, Seen, What};
pub use deviations::Deviation;
pub use differ::compare;
pub use record::Recorder;
pub use trace::{Does, Figures, Got, Key, Made, Operation, Outcome, Read, StateTold, Told, TooLong, Trace};
