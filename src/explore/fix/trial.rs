//! One run of one text: what is wrong with it, and what it costs.

use crate::base::{Bytes, DeviceId, IndexVec, Nanos, PoolId, StmtId, StreamId};
use crate::oracle::{Certainty, Finding, Judged, Role, Verdict};
use crate::scenario::Program;
use crate::trace::{Detail, Event, Failure, FindingKind, Kind, Sink};
use std::collections::{BTreeMap, BTreeSet};

/// What a run costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// When it ended.
    pub end: Nanos,
    /// When the last operation of each stream ended; none for a stream without operations.
    pub streams: IndexVec<StreamId, Option<Nanos>>,
    /// The most bytes that each pool held.
    pub reserved_high: IndexVec<PoolId, Bytes>,
}

/// A text that was run.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) program: Program,
    pub(super) verdict: Verdict,
    pub(super) cost: Cost,
    /// Which statements touched memory of which pool on a device that may not.
    pub(super) denied: BTreeMap<StmtId, (PoolId, DeviceId)>,
}

/// Something that is wrong, by the places of its statements in the text that a fix began with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Problem {
    Finding(FindingKind, u32, Vec<(Role, Option<u32>)>),
    Failed(u32, Failure),
    Missed(u32),
    Broken,
    Deadlock,
    Expectation(u32),
}

impl Trial {
    /// Runs a program to its end.
    pub(super) fn of(program: Program, seed: u64) -> Self {
        let mut costs = Costs {
            cost: Cost {
                end: Nanos::default(),
                streams: program.setup.streams.iter().map(|_| None).collect(),
                reserved_high: program.setup.pools.iter().map(|_| Bytes::default()).collect(),
            },
            denied: BTreeMap::new(),
        };
        let (verdict, ending) = crate::explore::judged(&program, seed, &mut costs);
        let Costs { cost, denied } = costs;
        Self { program, verdict, cost: Cost { end: ending.at, ..cost }, denied }
    }

    /// The findings that no line expects or allows, with their places among all.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = (usize, &Finding)> {
        let all = self.verdict.findings.iter().enumerate();
        all.filter(|(_, finding)| finding.expected.is_none() && !finding.muted)
    }

    /// Whether a finding is of the order of a use that comes after the free with every timing: while that is so, an order with
    /// something else mends nothing.
    pub(super) fn is_of_what_stays_wrong(&self, finding: &Finding) -> bool {
        let Some(missing) = finding.missing.filter(|_| finding.kind != FindingKind::UseAfterFree) else {
            return false;
        };
        self.unexpected().any(|(_, other)| {
            let used = other.missing.map(|missing| missing.from.stmt);
            let is_one_of_both = used == Some(missing.from.stmt) || used == Some(missing.to.stmt);
            let is_late =
                other.kind == FindingKind::UseAfterFree && other.certainty == Some(Certainty::Definite);
            is_late && is_one_of_both && other.name == finding.name
        })
    }

    /// Whether this run shows what every one does: one thread makes all calls, and each was made and did what it should.
    pub(super) fn is_like_every_run(&self) -> bool {
        let Verdict { failed, skipped, .. } = &self.verdict;
        self.program.setup.hosts == 1 && skipped.is_empty() && failed.iter().all(|failed| failed.expected)
    }

    /// What identifies a finding; `place` says where a statement stood in the beginning.
    pub(super) fn problem(&self, finding: &Finding, place: &impl Fn(u32) -> u32) -> Problem {
        let at = |stmt: StmtId| place(self.program.statements[stmt].span.start);
        let others = finding.others.iter().map(|(role, stmt)| (*role, stmt.map(at))).collect();
        Problem::Finding(finding.kind, at(finding.stmt), others)
    }

    /// Everything that is wrong.
    pub(super) fn problems(&self, place: &impl Fn(u32) -> u32) -> BTreeSet<Problem> {
        let at = |stmt: StmtId| place(self.program.statements[stmt].span.start);
        let Verdict { expectations, failed, missed, not_reached, deadlock, broken, .. } = &self.verdict;
        let mut problems: BTreeSet<Problem> =
            self.unexpected().map(|(_, finding)| self.problem(finding, place)).collect();
        problems.extend(
            failed.iter().filter(|failed| !failed.expected).map(|f| Problem::Failed(at(f.stmt), f.failure)),
        );
        problems.extend(missed.iter().map(|missed| Problem::Missed(at(missed.stmt))));
        problems.extend(not_reached.iter().map(|line| Problem::Expectation(at(line.stmt))));
        problems.extend(deadlock.iter().map(|_| Problem::Deadlock));
        problems.extend(broken.iter().map(|_| Problem::Broken));
        let fail = expectations.iter_enumerated().filter(|(_, judged)| !Judged::holds(judged));
        problems.extend(fail.map(|(expect, _)| Problem::Expectation(at(self.program.expects[expect].stmt))));
        problems
    }
}

/// Adds up what a run costs, and keeps who touched what it may not.
#[derive(Debug)]
struct Costs {
    cost: Cost,
    denied: BTreeMap<StmtId, (PoolId, DeviceId)>,
}

impl Sink for Costs {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        match (&event.kind, event.ticket) {
            (Kind::End, Some(ticket)) => self.cost.streams[ticket.stream] = Some(event.at),
            (Kind::State { pool, state }, _) => {
                let high = &mut self.cost.reserved_high[*pool];
                *high = state.reserved.max(*high);
            }
            (Kind::OutOfReach { pool, device, .. }, _) => {
                self.denied.entry(event.stmt).or_insert((*pool, *device));
            }
            _ => {}
        }
    }
}
