//! Whether a changed scenario is worse than it was, the allocation aside that it was changed for.

use super::Patient;
use crate::base::{IndexVec, StmtId};
use crate::oracle::{FailedCall, Finding, Judged, Role, Verdict};
use crate::scenario::Program;
use crate::trace::{Failure, Severity};
use std::collections::BTreeMap;

/// For each statement of the changed program, the one that it was; `None`: it is new.
pub(super) type Origins = IndexVec<StmtId, Option<StmtId>>;

/// Finds the statements again by their lines, which `moved` brings up to date.
pub(super) fn origins(before: &Program, after: &Program, moved: impl Fn(u32) -> u32) -> Origins {
    let mut known: BTreeMap<(u32, usize), StmtId> = BTreeMap::new();
    for ((line, nth), stmt) in places(before, moved) {
        known.insert((line, nth), stmt);
    }
    places(after, |line| line).map(|(place, _)| known.get(&place).copied()).collect()
}

/// Each statement with its line, and the how manyeth it is of that line.
fn places(program: &Program, moved: impl Fn(u32) -> u32) -> impl Iterator<Item = ((u32, usize), StmtId)> {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    program.statements.iter_enumerated().map(move |(stmt, statement)| {
        let line = moved(statement.line);
        let count = counts.entry(line).or_default();
        *count += 1;
        ((line, *count), stmt)
    })
}

/// Whether anything went wrong that did not before.
pub(super) fn is_worse(before: &Verdict, after: &Verdict, origins: &Origins, patient: &Patient<'_>) -> bool {
    let was = |stmt: StmtId| origins[stmt];
    // What was skipped for want of the memory is now carried out, with whatever comes of it.
    let was_skipped = |stmt| before.skipped.iter().any(|skipped| Some(skipped.stmt) == was(stmt));
    // What follows a line that has to fail is written around the memory that is missing.
    let is_own = |failed: &FailedCall| {
        was_skipped(failed.stmt) || patient.must_fail && failed.failure == Failure::OutOfMemory
    };
    let failed = after.failed.iter().filter(|failed| !failed.expected && !is_own(failed)).any(|failed| {
        let same = before
            .failed
            .iter()
            .find(|old| Some(old.stmt) == was(failed.stmt) && old.failure == failed.failure);
        same.is_none_or(|same| same.times < failed.times)
    });
    let stopped = before.broken.is_none() && after.broken.is_some();
    let found = after.findings.iter().filter(|finding| counts(finding, origins, patient)).any(|finding| {
        !before.findings.iter().any(|old| old.kind == finding.kind && Some(old.stmt) == was(finding.stmt))
    });
    failed || stopped || found || !patient.expected && is_less(before, after, origins)
}

/// Whether a finding is a matter of the change: an error that no line expects, and not about the memory that was got only now.
fn counts(finding: &Finding, origins: &Origins, patient: &Patient<'_>) -> bool {
    let is_its_own = |(role, stmt): &(Role, Option<StmtId>)| {
        *role == Role::Allocation && stmt.is_some_and(|stmt| origins[stmt] == Some(patient.stmt))
    };
    finding.kind.severity() == Severity::Error
        && finding.expected.is_none()
        && !finding.others.iter().any(is_its_own)
}

/// Whether less of what the text expects comes true.
fn is_less(before: &Verdict, after: &Verdict, origins: &Origins) -> bool {
    let holds = before.expectations.iter().map(Judged::holds);
    let missed = |stmt: StmtId| before.missed.iter().any(|missed| Some(missed.stmt) == origins[stmt]);
    let reached = |stmt: StmtId| !before.not_reached.iter().any(|other| Some(other.stmt) == origins[stmt]);
    holds.zip(&after.expectations).any(|(held, now)| held && !now.holds())
        || after.missed.iter().any(|new| !missed(new.stmt))
        || after.not_reached.iter().any(|new| reached(new.stmt))
}
