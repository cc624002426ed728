//! By what a run of an exploration decides what it is free to decide.

use crate::scenario::Program;
use crate::trace::Turns;
use std::fmt;

/// A way to make the choices of runs. One seed is one run, whichever other runs there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// Each choice is drawn by the seed, independent of the others, as a single run draws it: durations by their laws, and which
    /// of several host threads that could call at the same time does.
    #[default]
    Random,
    /// Durations are drawn so; whose turn it is follows from priorities of the host threads, which find what takes few orderings
    /// of calls with a probability that has a bound ([`crate::engine::Bound`]).
    Pct {
        /// How many such orderings; at least 1.
        depth: u8,
    },
}

impl Strategy {
    /// The depth where nothing says it.
    pub const DEPTH: u8 = 3;

    /// Every strategy.
    pub const ALL: [Strategy; 2] = [Strategy::Random, Strategy::Pct { depth: Strategy::DEPTH }];

    /// The word of the command line and of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Random => "random",
            Strategy::Pct { .. } => "pct",
        }
    }

    /// The strategy of that name, with the depth where nothing says it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.name() == name)
    }

    /// The strategy that is written so in a schedule.
    pub(super) fn written(word: &str) -> Option<Self> {
        let pct = |depth| Strategy::Pct { depth };
        let strategy = match word.split_once('-') {
            None => Self::named(word),
            Some((_, depth)) => depth.parse().ok().filter(|depth| *depth > 0).map(pct),
        };
        strategy.filter(|strategy| strategy.to_string() == word)
    }

    /// The same program, the runs of which make their choices so.
    #[must_use]
    pub fn applied(self, mut program: Program) -> Program {
        program.setup.turns = match self {
            Strategy::Random => Turns::Drawn,
            Strategy::Pct { depth } => Turns::ByPriority { depth },
        };
        program
    }

    /// How the runs of a program make their choices.
    pub const fn of(program: &Program) -> Self {
        match program.setup.turns {
            Turns::Drawn => Strategy::Random,
            Turns::ByPriority { depth } => Strategy::Pct { depth },
        }
    }
}

impl fmt::Display for Strategy {
    /// As in a schedule: `random`, `pct-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Strategy::Random => f.write_str(self.name()),
            Strategy::Pct { depth } => write!(f, "{}-{depth}", self.name()),
        }
    }
}
