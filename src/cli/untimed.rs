//! `millpond explore --untimed`: goes through every timing of one scenario, and says what can happen and whether that is all.

use super::explore;
use super::outside::Status;
use super::progress::Progress;
use crate::explore::exhaustive::Limits;
use crate::explore::untimed::{self, Untimed};
use crate::report::Timings;
use crate::scenario::Program;
use clap::Args;
use std::time::Instant;

/// What only a search through all timings asks for.
#[derive(Debug, Args)]
pub(super) struct UntimedArguments {
    /// Goes through every timing instead: durations are unknown, and operations end in any order that the program allows
    #[arg(long, conflicts_with_all = ["seeds", "time", "until_stable", "strategy", "depth", "base_seed", "jitter", "jobs"])]
    pub(super) untimed: bool,
    /// Says what a figure of a pool can come to at most, such as `p.reserved_high`, of all timings; or `end`, of the runs that are made
    #[arg(long, value_name = "POOL.FIGURE|end")]
    pub(super) maximise: Option<String>,
    /// Of all timings: makes at most so many calls, and remembers at most so many states [default: 10000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) limit: Option<u64>,
}

impl UntimedArguments {
    pub(super) fn limits(&self) -> Limits {
        self.limit.map_or(Limits::default(), |limit| Limits { nodes: limit, states: limit })
    }

    /// The search, until it has gone through everything, has come to its limit, or somebody stops it.
    pub(super) fn search(&self, program: &Program) -> Untimed {
        let (limits, started, stopped) = (self.limits(), Instant::now(), explore::listen());
        let progress = Progress::of(usize::try_from(limits.nodes).unwrap_or(usize::MAX));
        let untimed = untimed::run(program, limits, &|calls| {
            progress.done(usize::try_from(calls).unwrap_or(usize::MAX));
            stopped.get().is_none()
        });
        progress.end();
        let calls = untimed.coverage.nodes;
        explore::tell_rate(calls, "calls", started.elapsed());
        untimed
    }
}

/// How the command ends.
pub(super) fn status(timings: &Timings<'_>) -> Status {
    match () {
        () if !timings.holds() => Status::Fails,
        () if !timings.untimed.coverage.is_complete() => Status::Impossible,
        () => Status::Holds,
    }
}
