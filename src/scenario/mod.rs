//! From a parsed text to a checked program, and the cursor that walks it.
//!
//! The only place that knows names. It must not know how anything is served, ordered or timed.

mod calls;
mod check;
mod codes;
mod compute;
mod cursor;
mod declare;
mod extents;
mod held;
mod lifetimes;
mod memory;
mod names;
mod places;
mod program;
#[cfg(test)]
mod tests;
mod threads;
mod value;

pub use check::{NAMES_MAX, RUN_STATEMENTS_MAX, check};
pub use codes::TABLE as CODES;
pub use cursor::{Broken, Cursor, Step};
pub use program::{
    Action, Chosen, Demand, Expect, Formula, HostBuffer, Instruction, Moment, Names, Operator, Outcome,
    Place, Program, Register, SnapshotLine, Statement, SyncTarget, Unit,
};
use value::Value;
