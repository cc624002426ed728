//! What lines say about all timings: whether it is so in every one, in some, or in none, decided by the exhaustive search.
//!
//! One run settles a line where it is a counterexample or an example of it. That there is none, only a search says that has gone
//! through everything.

use super::campaign::Looked;
use super::exhaustive::{Coverage, GoesOn, Limits, Witness};
use super::untimed::judged;
use crate::base::ExpectId;
use crate::oracle::{Answer, Judged, Mismatch};
use crate::scenario::{Action, Instruction, Program, Quantifier};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// What was found out.
#[derive(Clone, Debug)]
pub struct Proof {
    /// For each line about all timings, the answer.
    pub lines: BTreeMap<ExpectId, Line>,
    /// What was gone through. Where all lines are settled by single runs, that is not everything.
    pub coverage: Coverage,
}

/// The answer to a line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Whether it holds.
    pub answer: Answer,
    /// What does not hold in the run that settled it.
    pub first: Option<Mismatch>,
    /// That run, if it was one.
    pub witness: Option<Witness>,
}

/// Decides the lines of a program that speak of all timings, as far as the limits allow. `None`: it has no such line.
pub fn prove(program: &Program, limits: Limits, goes_on: GoesOn<'_>) -> Option<Proof> {
    let open = program.expects.iter_enumerated().filter_map(|(id, line)| Some((id, line.quantifier?)));
    let mut open: BTreeMap<ExpectId, Quantifier> = open.collect();
    if open.is_empty() {
        return None;
    }
    let mut lines = BTreeMap::new();
    let coverage = judged(program, limits, goes_on, &mut |Looked { verdict, .. }, witness| {
        open.retain(|id, quantifier| {
            let judged = &verdict.expectations[*id];
            let Some(answer) = settles(*quantifier, judged) else { return true };
            lines.insert(*id, Line { answer, first: judged.first, witness: Some(witness.clone()) });
            false
        });
        if open.is_empty() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let is_whole = coverage.reached.is_none() && !asks_for_times(program);
    for (id, quantifier) in open {
        let answer = match (is_whole, quantifier) {
            (false, _) => Answer::Undecided,
            (true, Quantifier::Always | Quantifier::Never) => Answer::Holds,
            (true, Quantifier::Sometimes) => Answer::Fails,
        };
        lines.insert(id, Line { answer, first: None, witness: None });
    }
    Some(Proof { lines, coverage })
}

/// What one run settles. What is evaluated several times in it, holds always if it does each time, and sometimes if it does once.
fn settles(quantifier: Quantifier, judged: &Judged) -> Option<Answer> {
    let holds_each_time = judged.times > 0 && judged.failed == 0;
    let holds_once = judged.times > judged.failed;
    match quantifier {
        Quantifier::Always => (!holds_each_time).then_some(Answer::Fails),
        Quantifier::Never => holds_once.then_some(Answer::Fails),
        Quantifier::Sometimes => holds_once.then_some(Answer::Holds),
    }
}

/// Whether a value hangs on how long something took, which no timing here tells.
pub fn asks_for_times(program: &Program) -> bool {
    let asks = |instruction: &Instruction| {
        matches!(instruction, Instruction::Call { action: Action::Elapsed { .. }, .. })
    };
    program.code.iter().any(asks)
}
