//! The backend of a build without one.

use super::Observe;
use crate::base::{Nanos, StmtId};
use crate::cli::{Complaint, Scenario, Status};
use crate::oracle::{Broken, Met};

use crate::scenario::Program;
use crate::trace::Sink;

/// There is no run on hardware.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) enum Played {}

impl Played {
    pub(in crate::cli) fn replay(&self, _: &mut impl Sink) {
        match *self {}
    }

    pub(in crate::cli) fn replay_told(&self, _: &mut impl Sink) {
        match *self {}
    }

    pub(in crate::cli) fn silent(&self) -> &[StmtId] {
        match *self {}
    }

    pub(in crate::cli) fn broken(&self) -> Option<Broken> {
        match *self {}
    }

    pub(in crate::cli) fn on(&self) -> &str {
        match *self {}
    }

    pub(in crate::cli) fn end(&self) -> Nanos {
        match *self {}
    }

    pub(in crate::cli) fn met(&self) -> &[Met] {
        match *self {}
    }
}

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
