//! What becomes of what is found to be wrong, beside what is expected: what is not told, and what fails a run all the same.

use super::Element;
use crate::trace::{FindingKind, Severity};
use std::collections::BTreeSet;

/// What becomes of findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    /// Those that are not told. No error is among them.
    pub allowed: Vec<Allowed>,
    /// Those that are errors in this run. What is allowed is not.
    pub denied: BTreeSet<FindingKind>,
}

/// Findings that are not told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// What is found.
    pub kind: FindingKind,
    /// What a process calls the memory; `None`: any.
    pub on: Option<Element>,
}

impl Levels {
    /// With what others say.
    pub fn extend(&mut self, others: &Levels) {
        self.allowed.extend(&others.allowed);
        self.denied.extend(&others.denied);
    }

    /// How bad a finding is in this run.
    pub fn severity(&self, kind: FindingKind) -> Severity {
        if self.denied.contains(&kind) { Severity::Error } else { kind.severity() }
    }
}
