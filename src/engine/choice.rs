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
    draws: Sequences,
    /// By how many percents what is constant varies.
    jitter: u8,
    /// The draws of the host's own time; of no statement where nothing constant varies.
    delays: Sequences,
    /// Who is first among equals; begun with the first choice.
    threads: Option<Box<Draws>>,
    /// Of the threads, where these settle whose turn it is.
    priorities: Option<Priorities>,
}

/// For each statement, the sequence that it draws from, once it has. One that another run has left is begun anew in its place.
#[derive(Debug)]
struct Sequences {
    of: IndexVec<StmtId, Option<Box<Draws>>>,
    /// The statements that have drawn in this run.
    begun: Vec<StmtId>,
    has_begun: IndexVec<StmtId, bool>,
}

impl Sequences {
    /// Of so many statements.
    fn new(statements: usize) -> Self {
        Self {
            of: (0..statements).map(|_| None).collect(),
            begun: Vec::new(),
            has_begun: (0..statements).map(|_| false).collect(),
        }
    }

    /// The one of a statement, which begins so.
    #[inline(always)]
    fn get(&mut self, stmt: StmtId, begins: impl FnOnce() -> Draws) -> &mut Draws {
        if !self.has_begun[stmt] {
            self.begin(stmt, begins);
        }
        self.of[stmt].as_mut().expect("it has begun")
    }

    #[inline(never)]
    fn begin(&mut self, stmt: StmtId, begins: impl FnOnce() -> Draws) {
        self.has_begun[stmt] = true;
        self.begun.push(stmt);
        match &mut self.of[stmt] {
            Some(own) => **own = begins(),
            none => *none = Some(Box::new(begins())),
        }
    }
}

impl Clone for Sequences {
    fn clone(&self) -> Self {
        Self { of: self.of.clone(), begun: self.begun.clone(), has_begun: self.has_begun.clone() }
    }

    /// Keeps the memory of sequences that the source has not begun.
    fn clone_from(&mut self, source: &Self) {
        self.begun.drain(..).for_each(|stmt| self.has_begun[stmt] = false);
        for stmt in &source.begun {
            self.of[*stmt].clone_from(&source.of[*stmt]);
            self.has_begun[*stmt] = true;
        }
        self.begun.extend_from_slice(&source.begun);
    }
}

reuse_on_clone!(Seeded { seed, streams, draws, jitter, delays, threads, priorities });

impl Seeded {
    /// The choices of this seed for this program.
    pub fn new(program: &Program, seed: u64) -> Self {
        let streams = program.statements.iter().map(|statement| statement.draws).collect();
        let draws = Sequences::new(program.statements.len());
        let jitter = program.setup.jitter;
        let delays = Sequences::new(if jitter > 0 { program.statements.len() } else { 0 });
        let (source, priorities) = (Seed::new(seed), Priorities::of(program));
        let mut seeded = Self {
            seed: source,
            streams: Arc::new(streams),
            draws,
            jitter,
            delays,
            threads: None,
            priorities,
        };
        seeded.reseed(seed);
        seeded
    }

    /// Before the first choice, changes to those of another seed.
    pub(super) fn reseed(&mut self, seed: u64) {
        (self.seed, self.threads) = (Seed::new(seed), None);
        if let Some(priorities) = &mut self.priorities {
            priorities.draw(of_threads(&self.seed, &mut self.threads));
        }
    }

    #[cold]
    fn varied(&mut self, stmt: StmtId, stated: Nanos) -> Nanos {
        // Apart from those of the operations of the statement.
        let stream = || mix(&[self.streams[stmt], stable_hash(&["host"])]) as u64;
        let draws = self.delays.get(stmt, || self.seed.draws(stream()));
        let Law::Uniform { low, high } = Law::around(stated, self.jitter) else { return stated };
        Nanos(draws.between(low.0, high.0))
    }
}

/// The draws that say who is first among equals.
fn of_threads<'d>(seed: &Seed, draws: &'d mut Option<Box<Draws>>) -> &'d mut Draws {
    draws.get_or_insert_with(|| Box::new(seed.draws(stable_hash(&["host threads"]))))
}

impl Chooser for Seeded {
    #[inline(always)]
    fn duration(&mut self, stmt: StmtId, law: &Law) -> Nanos {
        let law = match *law {
            Law::Constant(duration) if self.jitter == 0 => return duration,
            Law::Constant(duration) => Law::around(duration, self.jitter),
            law => law,
        };
        let draws = self.draws.get(stmt, || self.seed.draws(self.streams[stmt]));
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
            (several, None) => of_threads(&self.seed, &mut self.threads).below(several as u64) as usize,
        }
    }
}
