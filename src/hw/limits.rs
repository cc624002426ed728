//! What a program can say that is not run on hardware, and the expectations about which hardware says nothing.

use super::readings::is_told;
use crate::base::StmtId;
use crate::scenario::{Action, Demand, ExportOf, Formula, Instruction, Place, Program, Register, When};
use crate::trace::HandleType;
use std::collections::BTreeSet;

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
    let untold = untold(program);
    let mut found: Vec<Unsupported> = Vec::new();
    for instruction in &program.code {
        let Instruction::Call { stmt, action } = instruction else { continue };
        let reason = |action: &Action| match action {
            Action::Export { what: ExportOf::Pool(pool), .. }
                if program.setup.pools[*pool].handle == HandleType::Fabric =>
            {
                Some("a handle of a fabric is for several machines")
            }
            action => reason(action),
        };
        let needs = || needs(action, &untold).then_some("it needs a figure that no driver tells");
        let Some(reason) = reason(action).or_else(needs) else { continue };
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
        _ => return None,
    })
}

/// The expectations that compare what no driver tells.
pub(super) fn silent(program: &Program) -> Vec<StmtId> {
    let untold = untold(program);
    let of_untold = |instruction: &Instruction| match instruction {
        Instruction::Call { stmt, action: Action::Compare { left, right, .. } } => {
            (depends(left, &untold) || depends(right, &untold)).then_some(*stmt)
        }
        _ => None,
    };
    program.code.iter().filter_map(of_untold).collect()
}

/// The statements of which expectations ask when their operations started or ended.
pub(super) fn timed(program: &Program) -> BTreeSet<StmtId> {
    program.expects.iter().flat_map(|expect| moments(&expect.demand)).collect()
}

/// The expectations that ask so of these statements.
pub(super) fn of_untold(program: &Program, untold: &BTreeSet<StmtId>) -> Vec<StmtId> {
    let of_untold = program
        .expects
        .iter()
        .filter(|expect| moments(&expect.demand).iter().any(|stmt| untold.contains(stmt)));
    of_untold.map(|expect| expect.stmt).collect()
}

fn moments(demand: &Demand) -> Vec<StmtId> {
    match demand {
        Demand::Moments { subject, object, .. } => {
            let other = match object {
                When::Moment(moment) => Some(moment.stmt),
                _ => None,
            };
            other.into_iter().chain([subject.stmt]).collect()
        }
        _ => Vec::new(),
    }
}

/// The registers that hold what no driver tells, or what was computed from that.
fn untold(program: &Program) -> BTreeSet<Register> {
    let mut untold = BTreeSet::new();
    loop {
        let before = untold.len();
        for instruction in &program.code {
            match instruction {
                Instruction::Call { action, .. } => match action {
                    Action::Read { reading, register } | Action::Peek { reading, register }
                        if !is_told(*reading) =>
                    {
                        untold.insert(*register);
                    }
                    _ => {}
                },
                Instruction::Let { register, value, .. } if depends(value, &untold) => {
                    untold.insert(*register);
                }
                _ => {}
            }
        }
        if untold.len() == before {
            return untold;
        }
    }
}

fn depends(formula: &Formula, on: &BTreeSet<Register>) -> bool {
    match formula {
        Formula::Constant(_) => false,
        Formula::Register(register) => on.contains(register),
        Formula::Binary(_, sides) => depends(&sides.0, on) || depends(&sides.1, on),
    }
}

/// Whether an action does something with what no driver tells.
fn needs(action: &Action, untold: &BTreeSet<Register>) -> bool {
    let part = |place: &Place| {
        place.part.as_ref().is_some_and(|part| depends(&part.0, untold) || depends(&part.1, untold))
    };
    match action {
        Action::Alloc { size, .. } | Action::Malloc { size, .. } => depends(size, untold),
        Action::Sleep(value) | Action::Set { value, .. } | Action::Trim { keep: value, .. } => {
            depends(value, untold)
        }
        Action::Copy { to, from, .. } => part(to) || part(from),
        Action::Memset { at, .. } | Action::Touch { at, .. } => part(at),
        Action::Launch { uses, .. } | Action::HostFunction { uses, .. } => {
            uses.iter().any(|(place, _)| part(place))
        }
        _ => false,
    }
}
