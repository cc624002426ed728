//! What tells the outcome of one run from that of another: what a person would call different.
//!
//! That is what the verdict says, by kind and statement, and by which classes of memory each statement that allocates was
//! served. How often something happened in a loop is no difference, nor are times, addresses and figures: they are spread
//! over the runs ([`super::Spread`]).

use crate::base::{IndexVec, PoolId, StmtId};
use crate::engine::Ending;
use crate::explore::broken;
use crate::explore::untimed::untime;
use crate::oracle::{Expectations, Role, Verdict};
use crate::scenario::Program;
use crate::trace::{Detail, Event, Failure, FindingKind, Kind, Policy, Sink};

/// One thing that is so in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Aspect {
    /// The run was given up at a statement.
    Stopped(StmtId),
    /// Something was found that is told.
    Finding {
        /// What.
        kind: FindingKind,
        /// The statement that is wrong.
        stmt: StmtId,
        /// The other statements that it is about.
        others: Vec<(Role, Option<StmtId>)>,
        /// What it does to the verdict.
        standing: Standing,
    },
    /// Calls of a statement failed.
    Failed {
        /// The statement.
        stmt: StmtId,
        /// How.
        failure: Failure,
        /// What that does to the verdict.
        standing: Standing,
    },
    /// A statement says `fails`, and a call of it did not.
    Missed(StmtId),
    /// An `expect` line does not hold.
    Mismatch(StmtId),
    /// The run never came to a line that expects something.
    NotReached(StmtId),
    /// By which classes the allocations of a statement were served.
    Served(StmtId, Classes),
}

/// What something does to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It fails the run.
    Fails,
    /// It is told, and fails nothing.
    Told,
    /// A line expects it.
    Expected,
}

impl Standing {
    fn of(fails: bool, expected: bool) -> Self {
        match (fails, expected) {
            (_, true) => Standing::Expected,
            (true, false) => Standing::Fails,
            (false, false) => Standing::Told,
        }
    }
}

/// A set of classes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Classes(u8);

impl Classes {
    /// The classes, in the order in which they are asked.
    pub fn iter(self) -> impl Iterator<Item = Policy> {
        Policy::ALL.into_iter().enumerate().filter(move |(nth, _)| self.0 >> nth & 1 == 1).map(|(_, one)| one)
    }
}

/// All that is so in a run, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outcome(pub Vec<Aspect>);

impl Aspect {
    /// The statement that it is about.
    pub fn stmt(&self) -> StmtId {
        match self {
            Aspect::Stopped(stmt)
            | Aspect::Missed(stmt)
            | Aspect::Mismatch(stmt)
            | Aspect::NotReached(stmt) => *stmt,
            Aspect::Finding { stmt, .. } | Aspect::Failed { stmt, .. } | Aspect::Served(stmt, _) => *stmt,
        }
    }
}

/// How the calls of a statement that allocates from a pool were served, over many runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// By each class of [`Policy::ALL`].
    pub by: [u64; 7],
    /// Not at all.
    pub failed: u64,
}

impl Served {
    /// How many calls there were.
    pub fn calls(&self) -> u64 {
        self.by.iter().sum::<u64>() + self.failed
    }

    /// Adds the same calls so many times.
    pub(super) fn add(&mut self, other: &Served, times: u64) {
        self.by.iter_mut().zip(other.by).for_each(|(own, other)| *own += other * times);
        self.failed += other.failed * times;
    }
}

/// The sink that judges one run without times and tells what it comes to.
#[derive(Clone, Debug)]
pub struct Onlooker<'p> {
    program: &'p Program,
    judge: Expectations<'p>,
    witness: Witness,
}

/// What one run came to.
#[derive(Clone, Debug)]
pub struct Looked {
    /// What tells it from others.
    pub outcome: Outcome,
    /// The verdict.
    pub verdict: Verdict,
    /// The most that each pool had reserved.
    pub reserved_high: IndexVec<PoolId, u64>,
}

impl<'p> Onlooker<'p> {
    /// One that has seen nothing yet.
    pub fn new(program: &'p Program) -> Self {
        Self { program, judge: Expectations::new(program), witness: Witness::new(program) }
    }

    /// What the run came to, without times, that has ended so.
    pub fn finish(mut self, ending: &Ending) -> Looked {
        let mut verdict = self.judge.finish(broken(ending));
        untime(self.program, &mut verdict);
        let mut outcome = Outcome::default();
        self.witness.outcome(self.program, &verdict, &mut outcome);
        Looked { outcome, verdict, reserved_high: self.witness.reserved_high }
    }
}

impl Sink for Onlooker<'_> {
    fn wants(&self, detail: Detail) -> bool {
        self.judge.wants(detail) || self.witness.wants(detail)
    }

    fn event(&mut self, event: &Event<'_>) {
        self.judge.event(event);
        self.witness.event(event);
    }
}

/// The sink that looks at runs, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    /// Of the run in progress.
    classes: IndexVec<StmtId, Classes>,
    allocating: Vec<StmtId>,
    /// The most that each pool had reserved in it. A program may reset the mark of the pool itself.
    pub(super) reserved_high: IndexVec<PoolId, u64>,
    /// Of all runs since it was taken last.
    served: IndexVec<StmtId, Served>,
}

impl Witness {
    pub(super) fn new(program: &Program) -> Self {
        Self {
            classes: program.statements.iter().map(|_| Classes::default()).collect(),
            allocating: Vec::new(),
            reserved_high: program.setup.pools.iter().map(|_| 0).collect(),
            served: program.statements.iter().map(|_| Served::default()).collect(),
        }
    }

    /// Forgets the latest run.
    pub(super) fn begin(&mut self) {
        self.allocating.drain(..).for_each(|stmt| self.classes[stmt] = Classes::default());
        self.reserved_high.iter_mut().for_each(|high| *high = 0);
    }

    /// The outcome of the run that has ended.
    pub(super) fn outcome(&self, program: &Program, verdict: &Verdict, outcome: &mut Outcome) {
        let Outcome(aspects) = outcome;
        aspects.clear();
        aspects.extend(verdict.broken.iter().map(|broken| Aspect::Stopped(broken.stmt)));
        aspects.extend(verdict.findings.iter().filter(|found| !found.muted).map(|found| Aspect::Finding {
            kind: found.kind,
            stmt: found.stmt,
            others: found.others.clone(),
            standing: Standing::of(found.fails(), found.expected.is_some()),
        }));
        // Where a finding says why, that is what fails the run.
        aspects.extend(verdict.failed.iter().map(|failed| Aspect::Failed {
            stmt: failed.stmt,
            failure: failed.failure,
            standing: Standing::of(!failed.explained, failed.expected),
        }));
        aspects.extend(verdict.missed.iter().map(|missed| Aspect::Missed(missed.stmt)));
        aspects.extend(verdict.not_reached.iter().map(|never| Aspect::NotReached(never.stmt)));
        let mismatches =
            verdict.expectations.iter_enumerated().filter(|(_, judged)| judged.failed > 0 && !judged.is_open);
        aspects.extend(mismatches.map(|(expect, _)| Aspect::Mismatch(program.expects[expect].stmt)));
        aspects.extend(self.allocating.iter().map(|stmt| Aspect::Served(*stmt, self.classes[*stmt])));
        aspects.sort_unstable();
    }

    /// How the statements were served since this was asked last.
    pub(super) fn take_served(&mut self) -> impl Iterator<Item = (StmtId, Served)> + '_ {
        let served = self.served.iter_mut_enumerated();
        let served = served.map(|(stmt, served)| (stmt, std::mem::take(served)));
        served.filter(|(_, served)| served.calls() > 0)
    }
}

impl Sink for Witness {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Decided(decision) => {
                let Some(policy) = decision.policy else { return };
                let class = policy as usize;
                let classes = &mut self.classes[event.stmt];
                if classes.0 == 0 {
                    self.allocating.push(event.stmt);
                }
                classes.0 |= 1 << class;
                self.served[event.stmt].by[class] += 1;
            }
            Kind::Account { .. } => self.served[event.stmt].failed += 1,
            Kind::State { pool, state } => {
                let high = &mut self.reserved_high[pool];
                *high = (*high).max(state.reserved_high.0);
            }
            _ => {}
        }
    }
}
