//! What would have made a failed allocation succeed: found by running the scenario with a line more, or another value.
//!
//! A remedy counts only if the allocation succeeds in that run and nothing that held before is broken there. CUDA Programming
//! Guide 4.3.4 and 4.3.6 name the means; that a synchronise can help is told in tensorflow/tensorflow#50699.

mod candidates;
mod change;
mod judge;
mod witness;

pub use change::{Change, Place, applied};

use crate::base::{Bytes, Nanos, StmtId};
use crate::scenario::{Outcome, Program};
use crate::trace::Failure;
use candidates::{Candidates, Tiers, WaitSets};
use change::moved;
use witness::{Ran, Shortage, Witness};

/// A program that makes more statements than this is not run again.
const STATEMENTS_MAX: u64 = 200_000;
/// Failed statements beyond these are not looked at.
const ATTEMPTS_MAX: usize = 4;
/// So many runs are made for a statement at most.
const RUNS_MAX: u32 = 64;
/// So many statements are run for all of them at most, as far as the program says.
const BUDGET: u64 = 2_000_000;

/// A way to get memory, from those that change least to those that change most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Means {
    /// A reuse policy of the pool is switched on.
    Policy,
    /// The allocation is ordered behind frees that are pending.
    Wait,
    /// The host waits for a stream or the device.
    Synchronise,
    /// A pool gives idle memory back.
    Trim,
    /// A pool keeps less, by its release threshold.
    Threshold,
    /// The pool may hold more, or the device has more.
    Memory,
}

impl Means {
    /// All of them.
    pub const ALL: [Means; 6] =
        [Means::Policy, Means::Wait, Means::Synchronise, Means::Trim, Means::Threshold, Means::Memory];

    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Means::Policy => "policy",
            Means::Wait => "wait",
            Means::Synchronise => "synchronise",
            Means::Trim => "trim",
            Means::Threshold => "threshold",
            Means::Memory => "memory",
        }
    }
}

/// What a run takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cost {
    /// When it ends.
    pub end: Nanos,
    /// The most that all pools have reserved together.
    pub reserved: Bytes,
}

/// Lines that make an allocation succeed and break nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// By what.
    pub means: Means,
    /// The lines.
    pub changes: Vec<Change>,
    /// Of means `wait`, the statements of the frees.
    pub frees: Vec<StmtId>,
    /// What the run with them takes.
    pub cost: Cost,
    /// Whether it helps only where the timing is as in this run.
    pub by_timing: bool,
}

/// Why a way does not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NotHelpful {
    /// There is nothing of that kind to do.
    Nothing,
    /// The allocation fails all the same.
    StillFails,
    /// It succeeds, and something else goes wrong.
    Breaks,
    /// Nothing can advance any more.
    Deadlock,
    /// Not everything was tried.
    Untried,
}

impl NotHelpful {
    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            NotHelpful::Nothing => "nothing_to_do",
            NotHelpful::StillFails => "still_fails",
            NotHelpful::Breaks => "breaks",
            NotHelpful::Deadlock => "deadlock",
            NotHelpful::Untried => "untried",
        }
    }
}

/// What was tried for a statement that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The statement.
    pub stmt: StmtId,
    /// The best of each means that helps, the cheapest first.
    pub remedies: Vec<Remedy>,
    /// The other means, and why not.
    pub others: Vec<(Means, NotHelpful)>,
}

impl Attempt {
    /// Whether the memory was there to be had: something helps that is not more memory.
    pub fn is_recoverable(&self) -> bool {
        self.remedies.iter().any(|remedy| remedy.means != Means::Memory)
    }
}

/// What was tried for the statements of a program that ran out of memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// For each of the first of them.
    pub attempts: Vec<Attempt>,
    /// What the run takes as it is.
    pub cost: Cost,
    /// The program is too long to be run again: so many statements.
    pub too_long: Option<u64>,
}

/// Tries what could have helped the statements that `failed`, with whether the text expects that. `load` reads a changed text:
/// the same variant on the same model. `None`: it has mistakes.
pub fn recover(
    text: &str,
    program: &Program,
    seed: u64,
    failed: &[(StmtId, bool)],
    load: &dyn Fn(&str) -> Option<Program>,
) -> Recovery {
    if failed.is_empty() {
        return Recovery::default();
    }
    if program.length > STATEMENTS_MAX {
        return Recovery { too_long: Some(program.length), ..Recovery::default() };
    }
    let before = Ran::of(program, seed);
    let mut search = Search { text, program, seed, load, before, budget: BUDGET, runs: 0 };
    // What nobody expected comes first.
    let unexpected = failed.iter().filter(|(_, expected)| !expected);
    let ordered = unexpected.chain(failed.iter().filter(|(_, expected)| *expected));
    let attempts = ordered.take(ATTEMPTS_MAX).filter_map(|(stmt, expected)| search.attempt(*stmt, *expected));
    let attempts = attempts.collect();
    Recovery { attempts, cost: search.before.cost(), too_long: None }
}

impl Ran {
    fn cost(&self) -> Cost {
        Cost { end: self.end, reserved: self.witness.reserved_high }
    }
}

/// The statement that is to be helped.
#[derive(Clone, Copy, Debug)]
struct Patient<'s> {
    stmt: StmtId,
    /// Whether the text expects that it fails; then other expectations are about that failure.
    expected: bool,
    /// Whether the text demands that it fails.
    must_fail: bool,
    shortage: &'s Shortage,
}

struct Search<'a> {
    text: &'a str,
    program: &'a Program,
    seed: u64,
    load: &'a dyn Fn(&str) -> Option<Program>,
    /// The run as it is.
    before: Ran,
    /// How many more statements may be run.
    budget: u64,
    /// How many runs were made for the statement in question.
    runs: u32,
}

impl Search<'_> {
    fn attempt(&mut self, stmt: StmtId, expected: bool) -> Option<Attempt> {
        let shortage = self.before.witness.shortages.get(&stmt)?.clone();
        let must_fail = matches!(self.program.statements[stmt].outcome, Outcome::Fails(_));
        let patient = Patient { stmt, expected, must_fail, shortage: &shortage };
        self.runs = 0;
        let mut attempt = Attempt { stmt, remedies: Vec::new(), others: Vec::new() };
        for means in Means::ALL {
            let result = match means {
                Means::Wait => self.by_waiting(patient),
                means => {
                    let candidates = self.candidates(patient);
                    // Where a synchronise helps, a trim behind it is nothing of its own.
                    let by = |remedy: &Remedy| remedy.means == Means::Synchronise;
                    let synchronises = !attempt.remedies.iter().any(by);
                    self.by(patient, means, candidates.tiers(means, synchronises))
                }
            };
            match result {
                Ok(remedy) => attempt.remedies.push(remedy),
                Err(why) => attempt.others.push((means, why)),
            }
        }
        attempt.remedies.sort_by_key(rank);
        Some(attempt)
    }

    fn candidates<'s>(&'s self, patient: Patient<'s>) -> Candidates<'s> {
        let failed = self.before.verdict.failed.iter();
        let short = failed.filter(|failed| failed.failure == Failure::OutOfMemory);
        let times = |own: bool| {
            let counted = short.clone().filter(|failed| !own || failed.stmt == patient.stmt);
            counted.map(|failed| failed.times).fold(0, u64::saturating_add)
        };
        let Witness { frees, .. } = &self.before.witness;
        Candidates {
            text: self.text,
            program: self.program,
            stmt: patient.stmt,
            shortage: patient.shortage,
            frees,
            times: [times(true), times(false)],
        }
    }

    /// The cheapest of the first tier in which anything helps.
    fn by(&mut self, patient: Patient<'_>, means: Means, tiers: Tiers) -> Result<Remedy, NotHelpful> {
        let strongest = tiers.iter().flatten().next_back();
        if matches!(means, Means::Synchronise | Means::Trim)
            && let Some(NotHelpful::StillFails) = strongest.and_then(|all| self.try_out(patient, all).err())
        {
            // Where all of it is not enough, no part of it is.
            return Err(NotHelpful::StillFails);
        }
        let mut why = NotHelpful::Nothing;
        for tier in tiers {
            let mut best: Option<Remedy> = None;
            for changes in tier {
                match self.try_out(patient, &changes) {
                    Ok(cost) => {
                        let by_timing = candidates::is_luck(means, &changes);
                        let remedy = Remedy { means, changes, frees: Vec::new(), cost, by_timing };
                        best = best.into_iter().chain([remedy]).min_by_key(rank);
                    }
                    Err(NotHelpful::Untried) => return best.ok_or(NotHelpful::Untried),
                    Err(other) => why = why.max(other),
                }
            }
            if let Some(best) = best {
                return Ok(best);
            }
        }
        Err(why)
    }

    /// The fewest streams, and of each the earliest free, that the allocation has to wait for: in its stream, or else by the
    /// host.
    fn by_waiting(&mut self, patient: Patient<'_>) -> Result<Remedy, NotHelpful> {
        let sets = self.candidates(patient).wait_sets();
        let mut why = NotHelpful::Nothing;
        for on_host in [false, true] {
            let all = self.candidates(patient).waits(&sets, &sets.all(), on_host);
            if let Some(NotHelpful::StillFails) = all.and_then(|all| self.try_out(patient, &all).err()) {
                why = why.max(NotHelpful::StillFails);
                continue;
            }
            for set in sets.subsets() {
                let candidates = self.candidates(patient);
                let Some(changes) = candidates.waits(&sets, &set, on_host) else { continue };
                match self.try_out(patient, &changes) {
                    Ok(cost) => return Ok(self.earliest(patient, &sets, set, on_host, (changes, cost))),
                    Err(NotHelpful::Untried) => return Err(NotHelpful::Untried),
                    Err(other) => why = why.max(other),
                }
            }
        }
        Err(why)
    }

    /// The same set of streams, with the earliest frees that suffice. `found` is what works with the latest ones.
    fn earliest(
        &mut self,
        patient: Patient<'_>,
        sets: &WaitSets,
        mut set: Vec<(usize, usize)>,
        on_host: bool,
        mut found: (Vec<Change>, Cost),
    ) -> Remedy {
        for nth in 0..set.len() {
            // If a free suffices, so does each one behind it.
            let mut too_early = 0;
            while too_early < set[nth].1 {
                let mut fewer = set.clone();
                fewer[nth].1 = too_early + (set[nth].1 - too_early) / 2;
                let changes = self.candidates(patient).waits(sets, &fewer, on_host);
                let tried =
                    changes.and_then(|changes| Some((self.try_out(patient, &changes).ok()?, changes)));
                match tried {
                    Some((cost, changes)) => (set, found) = (fewer, (changes, cost)),
                    None => too_early = fewer[nth].1 + 1,
                }
            }
        }
        let frees = set.iter().map(|(stream, free)| sets.free(*stream, *free)).collect();
        let (changes, cost) = found;
        Remedy { means: Means::Wait, changes, frees, cost, by_timing: false }
    }

    /// Runs the scenario with changes made.
    fn try_out(&mut self, patient: Patient<'_>, changes: &[Change]) -> Result<Cost, NotHelpful> {
        let length = self.program.length.max(1);
        if self.runs >= RUNS_MAX || length > self.budget {
            return Err(NotHelpful::Untried);
        }
        self.runs += 1;
        self.budget -= length;
        // What cannot even be read is nothing that could be done.
        let changed = (self.load)(&applied(self.text, changes)).ok_or(NotHelpful::Nothing)?;
        let after = Ran::of(&changed, self.seed);
        let origins = judge::origins(self.program, &changed, |line| moved(line, changes));
        let succeeds = |stmt: StmtId| {
            let fails = |failed: &crate::oracle::FailedCall| {
                failed.stmt == stmt && failed.failure == Failure::OutOfMemory
            };
            after.witness.served.contains(&stmt) && !after.verdict.failed.iter().any(fails)
        };
        let is_new = |stmt: &StmtId| origins[*stmt] == Some(patient.stmt);
        if self.before.verdict.deadlock.is_none() && after.verdict.deadlock.is_some() {
            return Err(NotHelpful::Deadlock);
        }
        if !changed.statements.indices().find(is_new).is_some_and(succeeds) {
            return Err(NotHelpful::StillFails);
        }
        match judge::is_worse(&self.before.verdict, &after.verdict, &origins, &patient) {
            true => Err(NotHelpful::Breaks),
            false => Ok(after.cost()),
        }
    }
}

/// What is cheaper comes first: more memory last, and before it what depends on timing.
fn rank(remedy: &Remedy) -> (bool, bool, Cost, usize, Means) {
    let Remedy { means, changes, cost, by_timing, .. } = remedy;
    (*means == Means::Memory, *by_timing, *cost, changes.len(), *means)
}
