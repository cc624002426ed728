//! The backend of a build without one.

use super::{Observe, Played};
use crate::cli::{Complaint, Scenario, Status};
use crate::scenario::Program;

/// Says what to do.
///
/// # Errors
///
/// Always.
pub(in crate::cli) fn play(
    _: &Scenario,
    _: &Program,
    _: u64,
    _: Observe,
) -> Result<Result<Played, Status>, Complaint> {
    Err(none())
}

/// Says what to do.
///
/// # Errors
///
/// Always.
pub(in crate::cli) fn measured_profile() -> Result<String, Complaint> {
    Err(none())
}

fn none() -> Complaint {
    Complaint::impossible(
        "this build has no hardware backend: build it with `cargo build --release --features cuda`",
    )
}
