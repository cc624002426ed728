//! Every timing of a small program: all that an untimed program can come to, and the worst of it.
//!
//! Nothing is known of how long anything takes: an operation may complete at any time after what it waits for, and a host thread
//! may make its next call at any time. So a run is settled by which thread calls next, and by how far devices have got at the few
//! calls that observe them. The search branches there and nowhere else; a state that was seen is not gone through again. It must
//! not know how an outcome is told, nor what is expected of it: whoever asks follows a witness with a sink of its own.

mod branches;
mod footprints;
mod frontier;
mod maximum;
mod memory;
mod search;
mod threads;
mod turns;
mod visited;
mod witness;

pub use maximum::{Maximum, maximise};
pub use witness::{Astray, NoWitness, Step, Witness, follow};

use crate::base::{IndexVec, PoolId, fold, words};
use crate::engine::Stop;
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::model::oxicuda::Oxicuda;
use crate::scenario::{Action, Demand, Instruction, Program};
use crate::trace::{Figure, Model, PoolState};
use branches::Led;
use search::{Leaves, Search};
use std::ops::ControlFlow;
use visited::Visited;

/// How far a search may go. What it has found up to a limit is true; that there is no more, it cannot say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most calls that it makes, those of all runs together.
    pub nodes: u64,
    /// The most states that it remembers, at no more than 64 bytes each.
    pub states: u64,
}

impl Default for Limits {
    /// A few seconds, and 640 MB at most.
    fn default() -> Self {
        Self { nodes: 10_000_000, states: 10_000_000 }
    }
}

/// What to go through.
#[derive(Clone, Copy)]
pub(super) struct Plan<'p> {
    pub(super) limits: Limits,
    pub(super) keeps: Keeps,
    pub(super) goes_on: GoesOn<'p>,
}

/// Asked now and then whether to go on, with how many calls were made so far.
pub type GoesOn<'p> = &'p dyn Fn(u64) -> bool;

/// What tells two runs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// What every call answered, by which class of memory each allocation was served, and in which order several threads made
    /// calls that mind each other: with these a verdict is settled.
    Decisions,
    /// How the pools stand in the end. Runs that come to the same state go on as one, so that far longer programs can be
    /// searched.
    State,
}

/// Why a search has not gone through everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It has made as many calls as it may.
    Nodes,
    /// It remembers as many states as it may.
    States,
    /// At one call devices can have got so far in more ways than it looks at.
    Cuts,
    /// None: whoever asked for it has stopped it.
    Stopped,
}

/// What a search has gone through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// How many calls it has made.
    pub nodes: u64,
    /// How many states with several ways to go on it has seen.
    pub states: u64,
    /// How many ends it has come to; some may be alike.
    pub leaves: u64,
    /// The limit that has stopped it.
    pub reached: Option<Limit>,
    /// Whether the program asks how long something took or what came first. No such answer means anything without time, so
    /// nothing is proven of what hangs on it.
    pub asks_for_times: bool,
}

impl Coverage {
    fn of(program: &Program) -> Self {
        let asks = |instruction: &Instruction| {
            matches!(instruction, Instruction::Call { action: Action::Elapsed { .. }, .. })
        };
        let asks_for_times = program.code.iter().any(asks)
            || program.expects.iter().any(|expect| matches!(expect.demand, Demand::Moments { .. }));
        Self { nodes: 0, states: 0, leaves: 0, reached: None, asks_for_times }
    }

    /// Whether it has gone through everything that the program can do, so that what it has not found does not exist.
    pub const fn is_complete(&self) -> bool {
        self.reached.is_none() && !self.asks_for_times
    }
}

/// Something that a program can come to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// A run that comes to it.
    pub witness: Witness,
    /// The pools in the end.
    pub pools: IndexVec<PoolId, PoolState>,
    /// Why the run stopped early, if it did.
    pub stop: Option<Stop>,
}

/// Tells each outcome of an untimed program once, with a run that comes to it, until whoever is told has enough.
pub fn explore(
    program: &Program,
    limits: Limits,
    keeps: Keeps,
    goes_on: GoesOn<'_>,
    found: &mut dyn FnMut(Outcome) -> ControlFlow<()>,
) -> Coverage {
    let plan = Plan { limits, keeps, goes_on };
    let mut outcomes = Outcomes { pools: program.setup.pools.len(), known: Visited::default(), keeps, found };
    match program.setup.model {
        Model::Cuda => Search::run(program, plan, Cuda::new, &mut outcomes),
        Model::Oxicuda => Search::run(program, plan, Oxicuda::new, &mut outcomes),
    }
}

/// Tells apart what runs come to.
struct Outcomes<'f> {
    pools: usize,
    known: Visited,
    keeps: Keeps,
    found: &'f mut dyn FnMut(Outcome) -> ControlFlow<()>,
}

impl<A: Allocator> Leaves<A> for Outcomes<'_> {
    fn is_hopeless(&mut self, _: &Led<A>) -> bool {
        false
    }

    fn extra(&self, _: &Led<A>) -> u128 {
        0
    }

    fn found(
        &mut self,
        walk: &Led<A>,
        kept: u128,
        stop: Option<Stop>,
        witness: &dyn Fn() -> Witness,
    ) -> ControlFlow<()> {
        let model = walk.machine().model();
        let pools = || (0..self.pools).map(|pool| model.state(PoolId::from_usize(pool)));
        let kept = if self.keeps == Keeps::Decisions { kept } else { 0 };
        let mut digest = fold(0, &words(kept));
        for state in pools() {
            digest = fold(digest, &Figure::ALL.map(|figure| state.figure(figure)));
        }
        let stopped = stop.as_ref().map_or(0, |stop| match stop {
            Stop::Deadlock { stmt } => 1 + 2 * stmt.index() as u64,
            Stop::Broken { stmt, .. } => 2 + 2 * stmt.index() as u64,
        });
        if !self.known.insert(fold(digest, &[stopped])) {
            return ControlFlow::Continue(());
        }
        (self.found)(Outcome { witness: witness(), pools: pools().collect(), stop })
    }
}
