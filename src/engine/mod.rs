//! The machine that takes one host call at a time, and the virtual time in which devices make progress.
//!
//! It joins order and model: a call becomes an operation in flight, a decision of the allocator, events for the sink.
//! Its callers are program cursors, a simulated driver, and exploration. It must not know names, texts or verdicts.

mod access;
mod ahead;
mod asks;
mod capabilities;
mod choice;
mod collectives;
mod courses;
mod deadlock;
mod events;
mod graphs;
mod machine;
mod meetings;
mod priorities;
mod renewal;
mod resources;
mod run;
mod runner;
mod shares;
mod threads;
mod timeline;
mod walk;

pub use asks::{Asks, Cuts};
pub use choice::{Chooser, Seeded};
pub use courses::Courses;
pub use machine::Machine;
pub use priorities::Bound;
pub use run::{Ending, Limits, Stop, run, run_on};
pub use runner::Runner;
pub use timeline::{Progress, Timeline};
pub use walk::Walk;
