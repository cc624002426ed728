//! What a program can say that is not run on hardware.

use super::readings::is_told;
use crate::base::StmtId;
use crate::scenario::{Action, Instruction, Program};

/// Why a program is not run on hardware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The statements.
    pub statements: Vec<StmtId>,
    /// Why, as the rest of "hardware does not run this: ..".
    pub reason: &'static str,
}

/// A run is recorded, so it has to end: so many statements.
const LENGTH_MAX: u64 = 1_000_000;

/// What in a program is not run on hardware; nothing: it can be run.
pub fn unsupported(program: &Program) -> Vec<Unsupported> {
    let mut found: Vec<Unsupported> = Vec::new();
    for instruction in &program.code {
        let Instruction::Call { stmt, action } = instruction else { continue };
        let Some(reason) = reason(action) else { continue };
        match found.iter_mut().find(|unsupported| unsupported.reason == reason) {
            Some(unsupported) if unsupported.statements.contains(stmt) => {}
            Some(unsupported) => unsupported.statements.push(*stmt),
            None => found.push(Unsupported { statements: vec![*stmt], reason }),
        }
    }
    if program.length > LENGTH_MAX {
        let reason = "the run has more than 1,000,000 statements";
        found.push(Unsupported { statements: vec![StmtId::new(0)], reason });
    }
    found
}

fn reason(action: &Action) -> Option<&'static str> {
    Some(match action {
        Action::Graph(_) => "graphs are only simulated",
        Action::Collective { .. } => "collectives are only simulated",
        Action::ResetDevice(_) => "a reset would end the context of this process",
        Action::Reserve { .. } => "memory that other programs hold cannot be made up",
        Action::Create { reusing: Some(_), .. } => "which handle a driver gives cannot be chosen",
        Action::Read { reading, .. } if !is_told(*reading) => "a driver does not tell this figure",
        _ => return None,
    })
}
