//! By what a run of an exploration decides what it is free to decide.

use crate::engine::{Ending, Runner};
use crate::trace::Sink;

/// A way to make the choices of runs. One seed is one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// Each choice is drawn by the seed, independent of the others, as a single run draws it: durations by their laws, and which
    /// of several host threads that could call at the same time does.
    Random,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Strategy; 1] = [Strategy::Random];

    /// The word of the command line, of schedules and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Random => "random",
        }
    }

    /// The strategy of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// One run.
    pub(super) fn run<S: Sink>(self, runner: &mut Runner<'_>, seed: u64, sink: S) -> Ending {
        match self {
            Strategy::Random => runner.run(seed, sink),
        }
    }
}
