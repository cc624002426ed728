//! Many runs in place of one: what other texts would do, each of them run and judged.
//!
//! It must not know how anything looks. How a text is read, with its variant and on its model, is said by who asks.

pub mod exhaustive;
pub mod fix;
pub mod generate;
pub mod recover;

use crate::engine::{Ending, Stop};
use crate::oracle::{Broken, Expectations, Verdict};
use crate::scenario::Program;
use crate::trace::Sink;

/// Runs a program with a sink beside the judge, and judges.
pub fn judged(program: &Program, seed: u64, sink: impl Sink) -> (Verdict, Ending) {
    let mut judge = Expectations::new(program);
    let ending = crate::engine::run(program, seed, (&mut judge, sink));
    let broken = match &ending.stop {
        Some(Stop::Broken { stmt, reason }) => Some(Broken { stmt: *stmt, reason: reason.clone() }),
        Some(Stop::Deadlock { .. }) | None => None,
    };
    (judge.finish(broken), ending)
}
