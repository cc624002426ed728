//! `--backend cuda`: a scenario on the devices of this machine, and what its run has shown as reports take it.
//!
//! Only builds with feature `cuda` have it; the others say so.

#[cfg(not(feature = "cuda"))]
mod absent;
#[cfg(feature = "cuda")]
mod calibration;
#[cfg(feature = "cuda")]
mod here;
#[cfg(feature = "cuda")]
mod machine;
#[cfg(feature = "cuda")]
mod turns;

#[cfg(not(feature = "cuda"))]
use absent as chosen;
#[cfg(feature = "cuda")]
use here as chosen;

pub(super) use chosen::{measured_profile, play};
#[cfg(feature = "cuda")]
pub use here::on_host;
#[cfg(feature = "cuda")]
pub use turns::turns as hardware_turns;

use super::Complaint;
use crate::base::{Nanos, StmtId};
use crate::oracle::{Broken, Met};
use crate::scenario::Program;
use crate::trace::Sink;
use clap::ValueEnum;
use std::fmt;
use std::sync::Arc;

/// What a run on hardware has shown.
#[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "only the other builds make one"))]
#[derive(Clone, Debug)]
pub(super) struct Played {
    pub(super) events: Arc<dyn Events>,
    /// The devices, and their driver.
    pub(super) on: String,
    /// The statements of expectations that hardware says nothing about.
    pub(super) silent: Vec<StmtId>,
    /// Where kernels have met in their memory.
    pub(super) met: Vec<Met>,
    /// Why it was given up, if it was.
    pub(super) broken: Option<Broken>,
    /// The time of its last event.
    pub(super) end: Nanos,
}

/// The events of a run on hardware.
pub(super) trait Events: fmt::Debug + Send + Sync {
    /// Tells all of them.
    fn replay(&self, sink: &mut dyn Sink);
    /// The same, without times that were inferred.
    fn replay_told(&self, sink: &mut dyn Sink);
}

/// What a scenario runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// The simulation, in virtual time
    #[default]
    Simulation,
    /// The devices of this machine, through its CUDA driver; in builds with feature `cuda`
    Cuda,
}

/// Refuses a way of reading figures where no figures are read.
pub(super) fn check_observe(backend: Backend, observe: Option<Observe>) -> Result<(), Complaint> {
    match (backend, observe) {
        (Backend::Simulation, Some(_)) => {
            Err(Complaint::wrong("--observe is about a run on hardware: give --backend cuda with it"))
        }
        _ => Ok(()),
    }
}

/// Whether hardware runs all of a program.
#[cfg_attr(not(feature = "cuda"), allow(unused_variables, reason = "the other builds run nothing there"))]
pub(super) fn can_run(program: &Program) -> bool {
    #[cfg(feature = "cuda")]
    let can_run = crate::hw::unsupported(program).is_empty();
    #[cfg(not(feature = "cuda"))]
    let can_run = true;
    can_run
}

/// How often a run on hardware reads the figures of pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Observe {
    /// Once, at the end
    End,
    /// After each synchronise, trim and change of an attribute too
    #[default]
    Sync,
    /// After every call
    Every,
}
