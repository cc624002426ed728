//! Many runs in place of one: what other timings or other texts would do, each of them run and judged.
//!
//! It must not know how anything looks. How a text is read, with its variant and on its model, is said by who asks.

pub mod campaign;
pub mod exhaustive;
pub mod fix;
pub mod generate;
pub mod proof;
pub mod recover;
mod schedule;
pub mod shrink;
mod site;
mod strategy;
pub mod untimed;

pub use crate::engine::Bound;
pub use schedule::{Choices, Malformed, Schedule, Stale};
pub use strategy::Strategy;

use crate::engine::{Ending, Stop};
use crate::oracle::{Broken, Expectations, Verdict};
use crate::scenario::Program;
use crate::trace::Sink;
use exhaustive::{Astray, Witness};

/// Runs a program with a sink beside the judge, and judges.
pub fn judged(program: &Program, seed: u64, sink: impl Sink) -> (Verdict, Ending) {
    let mut judge = Expectations::new(program);
    let ending = crate::engine::run(program, seed, (&mut judge, sink));
    (judge.finish(broken(&ending)), ending)
}

/// Makes the run of a witness with a sink beside the judge, and judges.
///
/// # Errors
///
/// The witness is not one of this program.
pub fn judged_untimed(
    program: &Program,
    witness: &Witness,
    sink: impl Sink,
) -> Result<(Verdict, Ending), Astray> {
    let mut judge = Expectations::new(program);
    let ending = exhaustive::follow(program, witness, (&mut judge, sink))?;
    let mut verdict = judge.finish(broken(&ending));
    untimed::untime(program, &mut verdict);
    Ok((verdict, ending))
}

/// Why a run was given up, if it was.
fn broken(ending: &Ending) -> Option<Broken> {
    match &ending.stop {
        Some(Stop::Broken { stmt, reason }) => Some(Broken { stmt: *stmt, reason: reason.clone() }),
        Some(Stop::Deadlock { .. }) | None => None,
    }
}
