//! Every freedom of a run goes through a chooser: how long operations run, and which of several host threads calls first.

use crate::base::{Draws, IndexVec, Nanos, Seed, StmtId, reuse_on_clone, stable_hash};
use crate::scenario::Program;
use crate::trace::Law;
use std::sync::Arc;

/// Makes the choices of a run.
pub trait Chooser {
    /// Draws how long an operation of a statement runs. Operations of one statement draw one after the other.
    fn duration(&mut self, stmt: StmtId, law: &Law) -> Nanos;
    /// Which of so many host threads that could call at the same time is to call. `among` is at least 1.
    fn pick(&mut self, among: usize) -> usize;
}

/// Chooses by a seed. Each statement draws from a sequence of its own, so that an edit of one line leaves the draws of the
/// others alone.
#[derive(Debug)]
pub struct Seeded {
    seed: Seed,
    streams: Arc<IndexVec<StmtId, u64>>,
    draws: IndexVec<StmtId, Option<Draws>>,
    threads: Draws,
}

reuse_on_clone!(Seeded { seed, streams, draws, threads });

impl Seeded {
    /// The choices of this seed for this program.
    pub fn new(program: &Program, seed: u64) -> Self {
        let streams = program.statements.iter().map(|statement| statement.draws).collect();
        let draws = program.statements.iter().map(|_| None).collect();
        let (seed, threads) = Self::sources(seed);
        Self { seed, streams: Arc::new(streams), draws, threads }
    }

    /// Before the first choice, changes to those of another seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        (self.seed, self.threads) = Self::sources(seed);
    }

    fn sources(seed: u64) -> (Seed, Draws) {
        let seed = Seed::new(seed);
        (seed, seed.draws(stable_hash(&["host threads"])))
    }
}

impl Chooser for Seeded {
    fn duration(&mut self, stmt: StmtId, law: &Law) -> Nanos {
        if let Law::Constant(duration) = *law {
            return duration;
        }
        let draws = self.draws[stmt].get_or_insert_with(|| self.seed.draws(self.streams[stmt]));
        match *law {
            Law::Constant(duration) => duration,
            Law::Uniform { low, high } => Nanos(draws.between(low.0, high.0)),
            Law::Normal { mean, deviation } => Nanos(draws.normal(mean.0, deviation.0)),
        }
    }

    fn pick(&mut self, among: usize) -> usize {
        match among {
            0 | 1 => 0,
            among => self.threads.below(among as u64) as usize,
        }
    }
}
