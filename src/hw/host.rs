//! What the backend needs of the machine beside the driver: a clock, and ways to wait. Who runs a scenario brings it along, so
//! that nothing here looks at a clock of its own.

use crate::base::{Nanos, StmtId};
use crate::scenario::Program;
use crate::trace::Law;

/// The machine that the host threads run on.
pub trait Host: Send + Sync {
    /// A run of this program begins; nothing has been asked of the driver for it.
    fn begins(&self, _: &Program) {}

    /// The time since some moment before the run.
    fn now(&self) -> Nanos;

    /// The calling thread does something else for so long.
    fn sleep(&self, duration: Nanos);

    /// A call was made, for who shows how far a run is.
    fn called(&self) {}

    /// Lets so much time pass for a thread that waits for a function in a stream. `false`: it passes by itself.
    fn passes(&self, _: Nanos) -> bool {
        false
    }

    /// Carries out a wait for another host thread of the program, in a function that the driver has called.
    fn waits(&self, wait: &mut dyn FnMut());
}

/// Draws how long an operation of a statement runs, as a simulation of the same seed would.
pub trait Durations: Send {
    /// The next one of a statement.
    fn draw(&mut self, stmt: StmtId, law: &Law) -> Nanos;
}

impl<F: FnMut(StmtId, &Law) -> Nanos + Send> Durations for F {
    fn draw(&mut self, stmt: StmtId, law: &Law) -> Nanos {
        self(stmt, law)
    }
}

/// How often the figures of pools are read. To read them costs the host time, and so changes what a run does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Observe {
    /// Once the run has ended.
    End,
    /// After each synchronise, trim and change of an attribute too.
    #[default]
    Sync,
    /// After every call.
    Every,
}
