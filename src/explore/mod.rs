//! Many runs in place of one: what other timings or other texts would do, each of them run and judged.
//!
//! It must not know how anything looks. How a text is read, with its variant and on its model, is said by who asks.

pub mod campaign;
pub mod exhaustive;
pub mod fix;
pub mod generate;
pub mod recover;
mod schedule;
pub mod shrink;
mod site;
mod strategy;

pub use schedule::{Malformed, Schedule, Stale};
pub use strategy::Strategy;

use crate::engine::{Ending, Stop};
use crate::oracle::{Broken, Expectations, Verdict};
use crate::scenario::Program;
use crate::trace::Sink;

/// Runs a program with a sink beside the judge, and judges.
pub fn judged(program: &Program, seed: u64, sink: impl Sink) -> (Verdict, Ending) {
    let mut judge = Expectations::new(program);
    let ending = crate::engine::run(program, seed, (&mut judge, sink));
    (judge.finish(broken(&ending)), ending)
}

/// Why a run was given up, if it was.
fn broken(ending: &Ending) -> Option<Broken> {
    match &ending.stop {
        Some(Stop::Broken { stmt, reason }) => Some(Broken { stmt: *stmt, reason: reason.clone() }),
        Some(Stop::Deadlock { .. }) | None => None,
    }
}
