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

pub(super) use chosen::{Played, measured_profile, play};
#[cfg(feature = "cuda")]
pub use here::on_host;
#[cfg(feature = "cuda")]
pub use turns::turns as hardware_turns;

use clap::ValueEnum;

/// What a scenario runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Backend {
    /// The simulation, in virtual time
    #[default]
    Simulation,
    /// The devices of this machine, through its CUDA driver; in builds with feature `cuda`
    Cuda,
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
