//! Every timing of a program, sorted by what comes of it: the exhaustive search, each of whose outcomes is judged by a run of its
//! own.
//!
//! What tells outcomes apart is what tells those of random runs apart. It must not know how anything looks.

use super::campaign::{Looked, Onlooker, Outcome};
use super::exhaustive::{self, Coverage, GoesOn, Keeps, Limit, Limits, Witness};
use crate::base::{IndexVec, PoolId};
use crate::oracle::{Judged, Verdict};
use crate::scenario::{Demand, Program};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What all timings come to.
#[derive(Clone, Debug)]
pub struct Untimed {
    /// The outcomes.
    pub outcomes: BTreeMap<Outcome, Found>,
    /// For each pool, the least and the most that it had reserved in any run.
    pub reserved_high: IndexVec<PoolId, Option<[u64; 2]>>,
    /// What was gone through.
    pub coverage: Coverage,
}

/// How an outcome comes about.
#[derive(Clone, Debug)]
pub struct Found {
    /// Of the runs that were looked at the first of those that need the fewest words.
    pub witness: Witness,
    /// How many outcomes were found before.
    pub nth: usize,
    /// Whether it holds.
    pub holds: bool,
}

impl Untimed {
    /// The outcomes, those that do not hold first, else as they were found.
    pub fn sorted(&self) -> Vec<(&Outcome, &Found)> {
        let mut all: Vec<_> = self.outcomes.iter().collect();
        all.sort_by_key(|(_, found)| (found.holds, found.nth));
        all
    }

    /// How many outcomes do not hold.
    pub fn failing(&self) -> usize {
        self.outcomes.values().filter(|found| !found.holds).count()
    }

    fn add(&mut self, looked: Looked, witness: Witness) {
        let Looked { outcome, verdict, reserved_high } = looked;
        for (ends, high) in self.reserved_high.iter_mut().zip(reserved_high) {
            let [least, most] = ends.unwrap_or([high; 2]);
            *ends = Some([least.min(high), most.max(high)]);
        }
        let nth = self.outcomes.len();
        let found = self.outcomes.entry(outcome);
        let found = found.or_insert_with(|| Found { witness: witness.clone(), nth, holds: verdict.holds() });
        if witness.steps.len() < found.witness.steps.len() {
            found.witness = witness;
        }
    }
}

/// Goes through every timing of a program, as far as the limits allow. The runs that judge outcomes count as well.
pub fn run(program: &Program, limits: Limits, goes_on: GoesOn<'_>) -> Untimed {
    let mut all = Untimed {
        outcomes: BTreeMap::new(),
        reserved_high: program.setup.pools.iter().map(|_| None).collect(),
        coverage: Coverage::default(),
    };
    all.coverage = judged(program, limits, goes_on, &mut |looked, witness| {
        all.add(looked, witness);
        ControlFlow::Continue(())
    });
    all
}

/// Tells what each run comes to that an untimed program can make, those left out that differ in nothing that a verdict hangs on;
/// until whoever is told has enough.
pub(super) fn judged(
    program: &Program,
    limits: Limits,
    goes_on: GoesOn<'_>,
    told: &mut dyn FnMut(Looked, Witness) -> ControlFlow<()>,
) -> Coverage {
    let (mut calls, mut is_over) = (0, false);
    let mut coverage = exhaustive::explore(program, limits, Keeps::Decisions, goes_on, &mut |outcome| {
        let mut onlooker = Onlooker::new(program);
        let ending = exhaustive::follow(program, &outcome.witness, &mut onlooker);
        let looked = onlooker.finish(&ending.expect("the search has made this run"));
        calls += u64::from(outcome.witness.turns);
        is_over = calls > limits.nodes;
        told(looked, outcome.witness)?;
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if is_over && coverage.reached == Some(Limit::Stopped) {
        coverage.reached = Some(Limit::Nodes);
    }
    coverage
}

/// Lines that ask when something happens are not judged where nothing takes time.
pub(super) fn untime(program: &Program, verdict: &mut Verdict) {
    for (id, expect) in program.expects.iter_enumerated() {
        if matches!(expect.demand, Demand::Moments { .. }) {
            verdict.expectations[id] = Judged { is_open: true, ..Judged::default() };
            verdict.not_reached.retain(|never| never.expect != Some(id));
        }
    }
}
