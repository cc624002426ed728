//! From a parsed text to a checked program, and the cursor that walks it.
//!
//! The only place that knows names. It must not know how anything is served, ordered or timed.

mod action;
mod blocks;
mod broken;
mod calls;
mod check;
mod codes;
mod compute;
mod cursor;
mod declare;
mod demand;
mod drivers;
mod events;
mod extents;
mod findings;
mod graphs;
mod handles;
mod held;
mod levels;
mod life;
mod lifetimes;
mod locations;
mod memory;
mod moments;
mod names;
mod outcomes;
mod places;
mod processes;
mod profile;
mod program;
mod reach;
#[cfg(test)]
mod tests;
mod threads;
mod turns;
mod value;

pub use action::{Action, Called, ExportOf, ImportInto};
pub use broken::Broken;
pub use check::{NAMES_MAX, RUN_STATEMENTS_MAX, check};
pub use codes::TABLE as CODES;
pub use cursor::{Cursor, Step};
pub use declare::model_named;
pub use demand::{Demand, Element, Expect, Moment, Quantifier, When};
pub use graphs::GraphAction;
pub use levels::{Allowed, Levels};
pub use program::{
    Chosen, Formula, Handle, HostBuffer, Instruction, Names, Operator, Outcome, Place, Program, Register,
    SnapshotLine, Statement, SyncTarget, Unit,
};
use value::Value;
