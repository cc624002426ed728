//! Every freedom of a run goes through a chooser: how long operations run, how long calls hold up the host, and which of
//! several host threads calls first.

use super::priorities::Priorities;
use crate::base::{Draws, HostId, IndexVec, Nanos, Seed, StmtId, mix, reuse_on_clone, stable_hash};
use crate::scenario::Program;
use crate::trace::Law;
use std::sync::Arc;

/// Makes the choices of a run.
pub trait Chooser {
    /// Draws how long an operation of a statement runs. Operations of one statement draw one after the other.
    fn duration(&mut self, stmt: StmtId, law: &Law) -> Nanos;
    /// How long a call of a statement takes the host, which takes so long as stated; a `sleep` is such a call too.
    fn delay(&mut self, _: StmtId, stated: Nanos) -> Nanos {
        stated
    }
    /// Which of several host threads that could call at the same time is to call: its place among them. `returns`: whether a
    /// thread comes back from a call that has blocked, rather than going on to its next one.
    fn pick(&mut self, among: &[HostId], returns: &dyn Fn(HostId) -> bool) -> usize;
}

/// Chooses by a seed. Each statement draws from a sequence of its own, so that an edit of one line leaves the draws of the
/// others alone.
#[derive(Debug)]
pub struct Seeded {
    seed: Seed,
    streams: Arc<IndexVec<StmtId, u64>>,
    draws: IndexVec<StmtId, Option<Box<Draws>>>,
    /// By how many percents what is constant varies.
    jitter: u8,
    /// The draws of the host's own time; of no statement where nothing constant varies.
    delays: IndexVec<StmtId, Option<Box<Draws>>>,
    threads: Draws,
    /// Of the threads, where these settle whose turn it is.
    priorities: Option<Priorities>,
}

reuse_on_clone!(Seeded { seed, streams, draws, jitter, delays, threads, priorities });

impl Seeded {
    /// The choices of this seed for this program.
    pub fn new(program: &Program, seed: u64) -> Self {
        let streams = program.statements.iter().map(|statement| statement.draws).collect();
        let draws: IndexVec<StmtId, Option<Box<Draws>>> = program.statements.iter().map(|_| None).collect();
        let jitter = program.setup.jitter;
        let delays = if jitter > 0 { draws.clone() } else { IndexVec::new() };
        let (source, threads) = Self::sources(seed);
        let priorities = Priorities::of(program);
        let mut seeded =
            Self { seed: source, streams: Arc::new(streams), draws, jitter, delays, threads, priorities };
        seeded.reseed(seed);
        seeded
    }

    /// Before the first choice, changes to those of another seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        (self.seed, self.threads) = Self::sources(seed);
        if let Some(priorities) = &mut self.priorities {
            priorities.draw(&mut self.threads);
        }
    }

    #[cold]
    fn varied(&mut self, stmt: StmtId, stated: Nanos) -> Nanos {
        let draws = self.delays[stmt].get_or_insert_with(|| {
            // Apart from those of the operations of the statement.
            Box::new(self.seed.draws(mix(&[self.streams[stmt], stable_hash(&["host"])]) as u64))
        });
        let Law::Uniform { low, high } = Law::around(stated, self.jitter) else { return stated };
        Nanos(draws.between(low.0, high.0))
    }

    fn sources(seed: u64) -> (Seed, Draws) {
        let seed = Seed::new(seed);
        let threads = seed.draws(stable_hash(&["host threads"]));
        (seed, threads)
    }
}

impl Chooser for Seeded {
    fn duration(&mut self, stmt: StmtId, law: &Law) -> Nanos {
        let law = match *law {
            Law::Constant(duration) if self.jitter == 0 => return duration,
            Law::Constant(duration) => Law::around(duration, self.jitter),
            law => law,
        };
        let draws = self.draws[stmt].get_or_insert_with(|| Box::new(self.seed.draws(self.streams[stmt])));
        match law {
            Law::Constant(duration) => duration,
            Law::Uniform { low, high } => Nanos(draws.between(low.0, high.0)),
            Law::Normal { mean, deviation } => Nanos(draws.normal(mean.0, deviation.0)),
        }
    }

    #[inline(always)]
    fn delay(&mut self, stmt: StmtId, stated: Nanos) -> Nanos {
        if self.jitter == 0 || stated == Nanos::ZERO { stated } else { self.varied(stmt, stated) }
    }

    fn pick(&mut self, among: &[HostId], returns: &dyn Fn(HostId) -> bool) -> usize {
        match (among.len(), &mut self.priorities) {
            (0 | 1, _) => 0,
            (_, Some(priorities)) => priorities.pick(among, returns),
            (several, None) => self.threads.below(several as u64) as usize,
        }
    }
}
