//! What the values of a program are: figures of pools, or facts of the machine, which documents leave open.

use crate::base::{ExpectId, PoolId};
use crate::scenario::{Action, Formula, Instruction, Program, Register};
use crate::trace::Reading;
use std::collections::{BTreeMap, BTreeSet};

/// What a value comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// Whether a fact of the machine is in it: its memory, what of it is free, its driver, an address, a time.
    pub(super) of_machine: bool,
    /// The pools whose figures are in it.
    pub(super) pools: BTreeSet<PoolId>,
}

impl Origin {
    /// Of what is read.
    pub(super) fn of(reading: Reading) -> Self {
        let pools = match reading {
            Reading::Pool(pool, _) => BTreeSet::from([pool]),
            _ => BTreeSet::new(),
        };
        Self { of_machine: matches!(reading, Reading::Device(..)), pools }
    }

    /// Of a time or an address.
    pub(super) fn of_machine() -> Self {
        Self { of_machine: true, pools: BTreeSet::new() }
    }

    fn join(&mut self, other: &Origin) {
        self.of_machine |= other.of_machine;
        self.pools.extend(&other.pools);
    }
}

/// What the values in a program come from.
#[derive(Debug, Default)]
pub(super) struct Facts {
    registers: BTreeMap<Register, Origin>,
    expects: BTreeMap<ExpectId, Origin>,
}

impl Facts {
    /// Reads a program.
    pub(super) fn of(program: &Program) -> Self {
        let mut facts = Self::default();
        // Twice, since a loop leads back to what stands above it.
        for instruction in program.code.iter().chain(&program.code) {
            facts.read(instruction);
        }
        facts
    }

    /// What an expectation compares.
    pub(super) fn of_expect(&self, expect: ExpectId) -> Origin {
        self.expects.get(&expect).cloned().unwrap_or_default()
    }

    fn read(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Let { register, value, .. } => {
                let origin = self.of_formula(value);
                self.learn(*register, &origin);
            }
            Instruction::Address { register, .. } => self.learn(*register, &Origin::of_machine()),
            Instruction::Call { action, .. } => match action {
                Action::Elapsed { register, .. } => self.learn(*register, &Origin::of_machine()),
                Action::Peek { reading, register } | Action::Read { reading, register } => {
                    self.learn(*register, &Origin::of(*reading));
                }
                Action::Compare { expect, left, right } => {
                    let mut origin = self.of_formula(left);
                    origin.join(&self.of_formula(right));
                    self.expects.insert(*expect, origin);
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn learn(&mut self, register: Register, origin: &Origin) {
        self.registers.entry(register).or_default().join(origin);
    }

    fn of_formula(&self, formula: &Formula) -> Origin {
        match formula {
            Formula::Constant(_) => Origin::default(),
            Formula::Register(register) => self.registers.get(register).cloned().unwrap_or_default(),
            Formula::Binary(_, sides) => {
                let mut origin = self.of_formula(&sides.0);
                origin.join(&self.of_formula(&sides.1));
                origin
            }
        }
    }
}
