//! From a parsed text to a checked program, and the cursor that walks it.
//!
//! The only place that knows names. It must not know how anything is served, ordered or timed.

mod cursor;
mod program;

pub use cursor::{Broken, Cursor, Step};
pub use program::{
    Action, Chosen, Demand, Expect, Formula, Instruction, Names, Operator, Outcome, Program, Register,
    SnapshotLine, Statement, SyncTarget, Unit,
};
