//! Made-up scenarios: random programs that are valid and clean, or that have as many mistakes as are asked for.
//!
//! That nothing is wrong with one follows from how it is made: each use and each free of memory comes after what it has to come
//! after, for every timing and every interleaving of its host threads; no run of it has an error, a warning or a failing call.
//! No run is made to find that out. A mistake is planted by taking an order or a call away, or by adding one; with it comes which
//! finding shows at which line, whatever the timing.
//!
//! It must not know the analysis of a run, which tests hold against it.

mod clocks;
mod judge;
mod maker;
mod mistakes;
mod plant;
mod program;
mod room;
mod steps;
mod text;
mod threads;
mod world;

use crate::base::Draws;
use crate::trace::FindingKind;
use maker::Maker;
pub use mistakes::Mistake;
use plant::Edit;
use std::fmt;

/// So many operations a scenario has at most, which keeps its text within the limit of the language.
pub const OPERATIONS_MAX: u64 = 100_000;
/// So many streams it has at most.
pub const STREAMS_MAX: usize = 64;
/// So many mistakes for each hundred operations it has at most.
pub const RATE_MAX: u64 = 20;
/// So many scenarios are made to find one in which a mistake has a place.
const TRIES: u64 = 16;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Another seed gives another scenario, the same seed the same one.
    pub seed: u64,
    /// How many operations it has, before mistakes are planted: calls that go to a stream or to the host, each as often as a run
    /// makes it. Declarations do not count, nor what starts, joins and repeats.
    pub operations: u64,
    /// How many streams it has; now and then one of them is a default stream.
    pub streams: usize,
    /// The mistakes.
    pub bugs: Bugs,
}

/// The mistakes that are planted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bugs {
    /// None: the scenario is clean.
    #[default]
    None,
    /// So many for each hundred operations, at least one; fewer where they do not find a place each.
    Rate(u64),
    /// One of this kind.
    One(Mistake),
}

/// A made-up scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// The text, in the usual form.
    pub text: String,
    /// The mistakes in it.
    pub planted: Vec<Planted>,
    /// The text without them.
    pub repaired: String,
}

/// A mistake in a made-up scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    /// What it is.
    pub mistake: Mistake,
    /// The line where something was added, or the comment that stands for what is missing.
    pub line: u32,
    /// What is found in every run.
    pub finding: FindingKind,
    /// The line of the statement that the finding is about first.
    pub found_at: u32,
}

/// Why no scenario is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There cannot be so many operations.
    Operations(u64),
    /// There cannot be so many streams.
    Streams(usize),
    /// There cannot be so many mistakes.
    Rate(u64),
    /// No scenario of this seed and size has a place for the mistake.
    NoPlace(Mistake),
    /// No scenario of this seed and size has a place for any mistake.
    NoPlaces,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Operations(count) => {
                write!(f, "{count} operations: a scenario is made with 1 to {OPERATIONS_MAX}")
            }
            Refusal::Streams(count) => {
                write!(f, "{count} streams: a scenario is made with 1 to {STREAMS_MAX}")
            }
            Refusal::Rate(rate) => {
                write!(f, "{rate} bugs for each 100 operations: there can be 0 to {RATE_MAX}")
            }
            Refusal::NoPlace(mistake) => write!(
                f,
                "there is no place for `{mistake}` in so few operations or streams: ask for more, or for another seed"
            ),
            Refusal::NoPlaces => f.write_str(
                "there is no place for a bug in so few operations: ask for more, or for another seed",
            ),
        }
    }
}

impl std::error::Error for Refusal {}

/// Makes a scenario. The same options give the same one on every machine.
pub fn scenario(options: &Options) -> Result<Made, Refusal> {
    let Options { seed, operations, streams, bugs } = *options;
    if !(1..=OPERATIONS_MAX).contains(&operations) {
        return Err(Refusal::Operations(operations));
    }
    if !(1..=STREAMS_MAX).contains(&streams) {
        return Err(Refusal::Streams(streams));
    }
    match bugs {
        Bugs::Rate(rate) if rate > RATE_MAX => return Err(Refusal::Rate(rate)),
        Bugs::None | Bugs::Rate(0) => {
            let program = Maker::make(Draws::new(seed, 0), operations, streams);
            let (text, _) = text::write(&program, options, &[]);
            return Ok(Made { repaired: text.clone(), text, planted: Vec::new() });
        }
        _ => {}
    }
    for attempt in 0..TRIES {
        let program = Maker::make(Draws::new(seed, 2 * attempt), operations, streams);
        let mut draws = Draws::new(seed, 2 * attempt + 1);
        let edits: Vec<Edit> = match bugs {
            Bugs::One(mistake) => plant::one(&program, mistake, &mut draws).into_iter().collect(),
            Bugs::Rate(rate) => {
                plant::several(&program, (operations * rate).div_ceil(100) as usize, &mut draws)
            }
            Bugs::None => Vec::new(),
        };
        if !edits.is_empty() {
            let (text, planted) = text::write(&program, options, &edits);
            let (repaired, _) = text::write(&program, options, &[]);
            return Ok(Made { text, planted, repaired });
        }
    }
    Err(match bugs {
        Bugs::One(mistake) => Refusal::NoPlace(mistake),
        _ => Refusal::NoPlaces,
    })
}
