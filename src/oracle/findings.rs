//! Everything that is found to be wrong with a program, whoever found it, and what `expect` lines say about it.
//!
//! One list: each finding stands in it once, by its kind and its statements, with how often it was. What a finding looks
//! like is the report's affair; whether there is one, that of who adds it.

use super::verdict::{FailedCall, Met, Mismatch};
use crate::base::{BufferId, HostId, StmtId};
use crate::scenario::{Demand, Expect, Levels};
use crate::trace::{AllocId, Deadlock, Failure, FindingKind, Severity, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// Something that is wrong with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Whether it happens whatever the timing is; `None`: the kind is always so or so.
    pub certainty: Option<Certainty>,
    /// The statement that is wrong: of several the one that was called last.
    pub stmt: StmtId,
    /// The other statements that it is about; `None`: there was none by then.
    pub others: Vec<(Role, Option<StmtId>)>,
    /// What the first memory that it is about is called where that statement stands.
    pub name: Option<BufferId>,
    /// How often.
    pub times: u64,
    /// The order that is missing, the first time.
    pub missing: Option<Missing>,
    /// The line that expects it: an `expect`, or the statement itself where it says that it fails.
    pub expected: Option<StmtId>,
    /// How bad it is in this run.
    pub severity: Severity,
    /// Whether it is not to be told, since it is allowed and no line expects it.
    pub muted: bool,
    /// How often it is about the memory of each name.
    names: BTreeMap<BufferId, u64>,
}

/// Whether a finding happens whatever the timing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It depends on the timing.
    Possible,
    /// It does not: the order is the wrong one, rather than none.
    Definite,
}

impl Certainty {
    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Possible => "possible",
            Certainty::Definite => "definite",
        }
    }
}

/// An order that is missing: the first one should come before the second one, whatever the timing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What should come first.
    pub from: Moment,
    /// What should come after it.
    pub to: Moment,
    /// The memory that both are about, as the second one knows it.
    pub alloc: Option<AllocId>,
}

/// What happens at one point of a run, by what statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The statement.
    pub stmt: StmtId,
    /// The point.
    pub point: Point,
}

/// A point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// An operation of a stream.
    Operation(Ticket),
    /// A call of a host thread that happens at once: its how manyeth, counted from 1.
    Host(HostId, u32),
}

/// What another statement of a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The allocation of the memory.
    Allocation,
    /// A use of it.
    Use,
    /// A free of it.
    Free,
    /// The allocation that has got the same bytes.
    Reuse,
    /// The record that is replaced, or whose order is there already.
    Record,
    /// The synchronise that gives memory back.
    Synchronise,
    /// What has destroyed it.
    Destroy,
    /// The import of the memory.
    Import,
    /// The free of that import.
    FreeOfImport,
    /// Another one that waits.
    Waiter,
}

impl Role {
    /// The word of reports for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Allocation => "allocation",
            Role::Use => "use",
            Role::Free => "free",
            Role::Reuse => "reuse",
            Role::Record => "record",
            Role::Synchronise => "synchronise",
            Role::Destroy => "destroy",
            Role::Import => "import",
            Role::FreeOfImport => "free_of_import",
            Role::Waiter => "waiter",
        }
    }
}

impl Finding {
    /// One without anything beside it.
    #[cfg(test)]
    pub(crate) fn made_up(kind: FindingKind, stmt: StmtId, name: Option<BufferId>) -> Self {
        let mut findings = Findings::default();
        let (certainty, missing) = (None, None);
        findings.add(Found { kind, certainty, stmt, others: &[], names: &[name], times: 1, missing });
        findings.finish().remove(0)
    }

    /// All names of memory that it is about, those of each process.
    pub fn names(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.names.keys().copied()
    }

    /// Whether it counts against the program: no line expects it, and none allows it.
    pub const fn counts(&self) -> bool {
        self.expected.is_none() && !self.muted
    }

    /// Whether it fails the run.
    pub fn fails(&self) -> bool {
        self.counts() && self.severity == Severity::Error
    }

    /// Whether it says why calls of a statement failed so.
    fn explains(&self, stmt: StmtId, failure: Failure) -> bool {
        use FindingKind::{AccessDenied, DoubleFree, InvalidFree, UseOfDestroyed};
        self.stmt == stmt
            && matches!(self.kind, DoubleFree | InvalidFree | AccessDenied | UseOfDestroyed)
            && !matches!(failure, Failure::OutOfMemory | Failure::NotReady | Failure::NotSupported)
    }

    fn is_expected_by_itself(&self) -> bool {
        self.expected == Some(self.stmt)
    }

    fn is_at(&self, stmt: StmtId) -> bool {
        self.stmt == stmt || self.others.iter().any(|(_, other)| *other == Some(stmt))
    }

    /// How often it is what a line speaks of.
    fn meets(&self, kind: FindingKind, on: Option<BufferId>, at: Option<StmtId>) -> u64 {
        if self.kind != kind || at.is_some_and(|at| !self.is_at(at)) {
            return 0;
        }
        on.map_or(self.times, |name| self.names.get(&name).copied().unwrap_or(0))
    }
}

/// Something that was found, once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub(super) kind: FindingKind,
    pub(super) certainty: Option<Certainty>,
    pub(super) stmt: StmtId,
    pub(super) others: &'a [(Role, Option<StmtId>)],
    /// The first name is that of the memory where the statement stands.
    pub(super) names: &'a [Option<BufferId>],
    pub(super) missing: Option<Missing>,
    pub(super) times: u64,
}

/// What tells a finding from others: two of the same kind and the same statements are one.
type Identity = (FindingKind, StmtId, Vec<(Role, Option<StmtId>)>);

/// The findings of a run so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    found: Vec<Finding>,
    /// Where each of them is.
    known: BTreeMap<Identity, usize>,
}

impl Findings {
    /// Adds one.
    #[cold]
    pub(super) fn add(&mut self, new: Found<'_>) {
        let Found { kind, certainty, stmt, others, names, missing, times } = new;
        let identity = (kind, stmt, others.to_vec());
        let nth = *self.known.entry(identity).or_insert(self.found.len());
        if nth == self.found.len() {
            self.found.push(Finding {
                kind,
                certainty,
                stmt,
                others: others.to_vec(),
                name: names.first().copied().flatten(),
                times: 0,
                missing,
                expected: None,
                severity: kind.severity(),
                muted: false,
                names: BTreeMap::new(),
            });
        }
        let finding = &mut self.found[nth];
        finding.times += times;
        finding.certainty = finding.certainty.max(certainty);
        let names: BTreeSet<BufferId> = names.iter().copied().flatten().collect();
        names.into_iter().for_each(|name| *finding.names.entry(name).or_default() += times);
    }

    /// Adds that nothing could advance any more, which a host thread had noticed in a statement.
    pub(super) fn deadlock(&mut self, noticed: StmtId, deadlock: &Deadlock) {
        let waiting: BTreeSet<StmtId> = deadlock.statements.iter().copied().flatten().collect();
        let mut waiting = waiting.into_iter();
        let stmt = waiting.next_back().unwrap_or(noticed);
        let others: Vec<_> = waiting.map(|stmt| (Role::Waiter, Some(stmt))).collect();
        let (kind, certainty) = (FindingKind::Deadlock, None);
        self.add(Found { kind, certainty, stmt, others: &others, names: &[], missing: None, times: 1 });
    }

    /// Whether one says why calls of a statement failed so. It is expected where the statement `allows` for that.
    pub(super) fn explain(&mut self, stmt: StmtId, failure: Failure, allows: bool) -> bool {
        let mut explains = false;
        for finding in self.found.iter_mut().filter(|finding| finding.explains(stmt, failure)) {
            explains = true;
            finding.expected = finding.expected.or(allows.then_some(stmt));
        }
        explains
    }

    /// Settles how bad each is in this run, and which are allowed. After it, lines are judged.
    pub(super) fn weigh(&mut self, levels: &Levels) {
        for finding in &mut self.found {
            finding.severity = levels.severity(finding.kind);
            finding.muted = levels
                .allowed
                .iter()
                .any(|allowed| finding.meets(allowed.kind, allowed.on.map(|on| on.id()), None) > 0);
        }
    }

    /// How often something was found that neither a line allows nor the failing statement itself.
    fn remaining(&self, of: impl Fn(&Finding) -> bool) -> u64 {
        let remain = self.found.iter().filter(|found| !found.muted && !found.is_expected_by_itself());
        remain.filter(|found| of(found)).map(|found| found.times).sum()
    }

    /// Judges a line about the whole run. What a line that holds speaks of is expected by it.
    ///
    /// `None`: the line is not about findings. Else why it does not hold, if it does not.
    pub(super) fn judge(&mut self, line: &Expect, failed: &[FailedCall]) -> Option<Option<Mismatch>> {
        match line.demand {
            Demand::NoFindings => {
                let count = self.remaining(|_| true);
                Some((count > 0).then_some(Mismatch::Findings { count, of_kind: count }))
            }
            Demand::NoLeaks => {
                let count = self.remaining(|found| found.kind == FindingKind::Leak);
                let leaks = self.found.iter_mut().filter(|found| found.kind == FindingKind::Leak);
                let leaks = leaks.filter(|_| line.quantifier.is_none());
                leaks.for_each(|leak| leak.severity = Severity::Error);
                Some((count > 0).then_some(Mismatch::Findings { count, of_kind: count }))
            }
            Demand::Finding { kind, on, at, times } => {
                let on = on.map(|on| on.id());
                let count: u64 = self.found.iter().map(|finding| finding.meets(kind, on, at)).sum();
                if times.map_or(count == 0, |times| count != times) {
                    let of_kind = self.found.iter().map(|finding| finding.meets(kind, None, None)).sum();
                    return Some(Some(Mismatch::Findings { count, of_kind }));
                }
                let met = self.found.iter_mut().filter(|finding| finding.meets(kind, on, at) > 0);
                let met = met.filter(|_| line.expects_it());
                met.for_each(|finding| finding.expected = finding.expected.or(Some(line.stmt)));
                Some(None)
            }
            Demand::Occurs { failure, finding, not } => {
                let calls: u64 =
                    failed.iter().filter(|call| Some(call.failure) == failure).map(|call| call.times).sum();
                let found = self.found.iter_mut().filter(|found| Some(found.kind) == finding);
                let mut count = calls;
                for found in found {
                    count += found.times;
                    if !not && line.expects_it() {
                        found.expected = found.expected.or(Some(line.stmt));
                    }
                }
                Some(((count > 0) == not).then_some(Mismatch::Findings { count, of_kind: count }))
            }
            _ => None,
        }
    }

    /// The same of a run on hardware, which looks for nothing and meets some: what it has met says that a line holds or fails.
    /// What it has not met leaves it open, which is `None`, too.
    pub(super) fn judge_met(&mut self, line: &Expect, failed: &[FailedCall]) -> Option<Option<Mismatch>> {
        let mismatch = self.judge(line, failed)?;
        let is_settled = match (line.demand, mismatch) {
            (Demand::Finding { .. }, None) | (Demand::NoFindings | Demand::NoLeaks, Some(_)) => true,
            (Demand::Finding { times: Some(times), .. }, Some(Mismatch::Findings { count, .. })) => {
                count > times
            }
            _ => false,
        };
        is_settled.then_some(mismatch)
    }

    /// Adds kernels of a run on hardware that have met in their memory, as what fails a run.
    pub(super) fn meet(&mut self, met: &Met) {
        let others = others(met);
        let (kind, certainty) = (FindingKind::Overlap, None);
        let (stmt, names, missing, times) = (met.stmt, &[], None, 1);
        self.add(Found { kind, certainty, stmt, others: &others, names, missing, times });
    }

    /// Takes these out again, each with the line that expects it: they are told with what was found in the memory.
    pub(super) fn take_met(&mut self, met: &mut [Met]) {
        let is_it = |finding: &Finding| finding.kind == FindingKind::Overlap;
        for met in met {
            let others = others(met);
            let found = self.found.iter().filter(|finding| is_it(finding));
            let mut found = found.filter(|finding| finding.stmt == met.stmt && finding.others == others);
            met.expected_at = found.next().and_then(|finding| finding.expected);
        }
        self.found.retain(|finding| !is_it(finding));
        self.known.clear();
    }

    /// All of them, in the order in which they were found.
    pub(super) fn finish(mut self) -> Vec<Finding> {
        self.found.iter_mut().for_each(|finding| finding.muted &= finding.expected.is_none());
        self.found
    }
}

/// The launches that have left what another one found.
fn others(met: &Met) -> Vec<(Role, Option<StmtId>)> {
    vec![(Role::Use, Some(met.expected)), (Role::Use, met.found)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Allowed, Element};

    const X: usize = 0;
    const Y: usize = 1;

    fn stmt(nth: usize) -> StmtId {
        StmtId::from_usize(nth)
    }

    /// One finding a kind, each at a statement of its own.
    fn found(kinds: &[(FindingKind, usize)]) -> Findings {
        let mut findings = Findings::default();
        for (nth, (kind, name)) in kinds.iter().enumerate() {
            findings.add(Found {
                kind: *kind,
                certainty: None,
                stmt: stmt(nth),
                others: &[],
                names: &[Some(BufferId::from_usize(*name))],
                missing: None,
                times: 1,
            });
        }
        findings
    }

    fn allowed(kind: FindingKind, on: Option<usize>) -> Allowed {
        Allowed { kind, on: on.map(|nth| Element { base: BufferId::from_usize(nth), index: 0 }) }
    }

    fn line(demand: Demand) -> Expect {
        Expect::new(stmt(9), demand)
    }

    fn holds(findings: &mut Findings, demand: Demand) -> bool {
        findings.judge(&line(demand), &[]).expect("it is about findings").is_none()
    }

    fn finding(kind: FindingKind) -> Demand {
        Demand::Finding { kind, on: None, at: None, times: None }
    }

    #[test]
    fn what_is_allowed_is_muted_and_fails_no_line() {
        use FindingKind::{Leak, RedundantWait};
        let allow = |allowed| Levels { allowed, ..Levels::default() };
        for (levels, muted, none, no_leaks) in [
            (allow(vec![]), [false; 3], false, false),
            (allow(vec![allowed(Leak, None)]), [true, true, false], false, true),
            (allow(vec![allowed(Leak, Some(Y))]), [false, true, false], false, false),
            (allow(vec![allowed(Leak, None), allowed(RedundantWait, Some(X))]), [true; 3], true, true),
        ] {
            let mut findings = found(&[(Leak, X), (Leak, Y), (RedundantWait, X)]);
            findings.weigh(&levels);
            assert_eq!(holds(&mut findings, Demand::NoFindings), none, "{levels:?}");
            assert_eq!(holds(&mut findings, Demand::NoLeaks), no_leaks, "{levels:?}");
            let findings = findings.finish();
            let told: Vec<bool> = findings.iter().map(|finding| finding.muted).collect();
            assert_eq!(told, muted, "{levels:?}");
            // A line says that there are none, which makes those that are told errors.
            assert_eq!(findings.iter().any(Finding::fails), !no_leaks, "{levels:?}");
        }
    }

    #[test]
    fn what_is_denied_fails_unless_it_is_allowed_or_expected() {
        use FindingKind::Leak;
        let denied = Levels { denied: [Leak].into(), ..Levels::default() };
        let both = Levels { allowed: vec![allowed(Leak, None)], ..denied.clone() };
        for (levels, expects, fails) in [
            (&Levels::default(), false, false),
            (&denied, false, true),
            (&denied, true, false),
            (&both, false, false),
        ] {
            let mut findings = found(&[(Leak, X)]);
            findings.weigh(levels);
            assert!(!expects || holds(&mut findings, finding(Leak)));
            assert_eq!(findings.finish()[0].fails(), fails, "{levels:?} {expects}");
        }
    }

    #[test]
    fn an_expected_finding_is_told_although_it_is_allowed() {
        let mut findings = found(&[(FindingKind::Leak, X)]);
        findings.weigh(&Levels { allowed: vec![allowed(FindingKind::Leak, None)], ..Levels::default() });
        assert!(holds(&mut findings, finding(FindingKind::Leak)));
        let told = &findings.finish()[0];
        assert_eq!((told.muted, told.expected), (false, Some(stmt(9))));
    }

    #[test]
    fn a_failing_statement_expects_what_explains_its_failure() {
        use FindingKind::{DoubleFree, Race};
        for (kind, failure, allows, explains, none) in [
            (DoubleFree, Failure::InvalidValue, true, true, true),
            (DoubleFree, Failure::InvalidValue, false, true, false),
            (DoubleFree, Failure::OutOfMemory, true, false, false),
            (Race, Failure::InvalidValue, true, false, false),
        ] {
            let mut findings = found(&[(kind, X)]);
            assert!(!findings.explain(stmt(1), failure, allows), "another statement");
            assert_eq!(findings.explain(stmt(0), failure, allows), explains, "{kind} {failure}");
            findings.weigh(&Levels::default());
            assert_eq!(holds(&mut findings, Demand::NoFindings), none, "{kind} {failure} {allows}");
            assert_eq!(findings.finish()[0].fails(), !none, "{kind} {failure} {allows}");
        }
    }
}
