//! What the backend for hardware does otherwise than the machine of a program, where a comparison with it shows that: causes of
//! differences that say nothing about the driver.
//!
//! Source: `docs/hardware.md`, "Where it is not as on the machine of a program".

use super::comparison::{Class, Difference, Seen, What};
use super::trace::Outcome;
use crate::base::StmtId;
use crate::scenario::{Action, Instruction, Program};
use crate::trace::Failure;
use std::collections::BTreeSet;

/// Something that the backend for hardware does otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// A host thread awaits the signal of a function in a stream, and the driver does not know what it learns from that.
    SignalOfAFunction,
    /// All processes share the one of the driver.
    OneProcess,
    /// A second free is one of whoever has the address now.
    SecondFree,
}

impl Deviation {
    /// The word of data.
    pub const fn name(self) -> &'static str {
        match self {
            Deviation::SignalOfAFunction => "signal_of_a_function",
            Deviation::OneProcess => "one_process",
            Deviation::SecondFree => "second_free",
        }
    }
}

/// Those that may be behind these differences between a simulation and a run on hardware; none where no difference needs a cause.
pub(super) fn behind(differences: &[Difference], program: &Program) -> Vec<Deviation> {
    if !differences.iter().any(|difference| difference.class == Class::Differs) {
        return Vec::new();
    }
    let has_processes = program.setup.processes.iter().collect::<BTreeSet<_>>().len() > 1;
    let known = [
        (Deviation::SignalOfAFunction, awaits_a_function(program)),
        (Deviation::OneProcess, has_processes),
        (Deviation::SecondFree, frees_another(differences, program)),
    ];
    known.into_iter().filter(|(_, is_there)| *is_there).map(|(deviation, _)| deviation).collect()
}

fn actions(program: &Program) -> impl Iterator<Item = (StmtId, &Action)> {
    program.code.iter().filter_map(|instruction| match instruction {
        Instruction::Call { stmt, action } => Some((*stmt, action)),
        _ => None,
    })
}

fn awaits_a_function(program: &Program) -> bool {
    let given = program.given_by_functions();
    actions(program).any(|(_, action)| matches!(action, Action::Await(signal) if given.contains(signal)))
}

/// Whether a free is wrong on one side, and on the other one it frees something.
fn frees_another(differences: &[Difference], program: &Program) -> bool {
    let frees: BTreeSet<StmtId> = actions(program)
        .filter(|(_, action)| matches!(action, Action::Free { .. } | Action::PlainFree(_)))
        .map(|(stmt, _)| stmt)
        .collect();
    let wrong = Seen::Outcome(Outcome::Failed(Failure::InvalidValue));
    differences.iter().any(|difference| {
        difference.what == What::Outcome
            && frees.contains(&difference.key.stmt)
            && difference.left == wrong
            && difference.right == Seen::Outcome(Outcome::Succeeded)
    })
}
