//! Judges what a scenario expects: its `expect` lines, its `fails` and `or_fails`, and that nothing else fails.
//!
//! Everything it knows, it reads from the program and from the events. It keeps one record a statement and one an
//! expectation, so that a long run costs no more than a short one. What the verdict looks like is the report's affair.

use super::findings::Findings;
use super::hazards::Hazards;
use super::mistakes::Mistakes;
use super::verdict::{
    Broken, FailedCall, Judged, Met, Mismatch, Missed, NotReached, Ordering, SkippedStatement, Verdict,
};
use crate::base::{BufferId, ExpectId, IndexVec, Nanos, PoolId, StmtId, reuse_on_clone};
use crate::scenario::{Demand, Moment, Outcome, Program, When};
use crate::trace::{
    Call, Deadlock, Detail, Ended, Event, Failure, GraphCall, Kind, Operands, Placement, Reach, Readiness,
    Sink, Ticket,
};
use std::collections::{BTreeMap, BTreeSet};

/// The sink that judges.
#[derive(Debug)]
pub struct Expectations<'p> {
    program: &'p Program,
    expectations: IndexVec<ExpectId, Judged>,
    snapshots: Vec<u64>,
    failed: BTreeMap<(StmtId, Failure), (usize, u64)>,
    /// For each statement that says `fails`: its calls, and how many of them failed.
    demanded: BTreeMap<StmtId, (u64, u64)>,
    skipped: BTreeMap<StmtId, (BufferId, u64)>,
    /// With the statement in which it was noticed.
    deadlock: Option<(StmtId, Deadlock)>,
    hazards: Hazards,
    findings: Findings,
    allocations: u64,
    /// Whether a line asks whether the timing decides.
    asks_for_timing: bool,
    /// When the operations of the statements that expectations name started and ended last.
    moments: BTreeMap<StmtId, [Option<Nanos>; 2]>,
    /// The launch of a graph in progress, if expectations name it, with its latest operation.
    launching: Option<(StmtId, Option<Ticket>)>,
    /// Of launches of graphs, the operations that do not start it, and those that do not end it.
    inside: [BTreeSet<Ticket>; 2],
    /// Whether the order of the program is judged. On hardware it is not: what hardware tells of it is too little.
    ordering: Ordering,
    /// What is known of a run on hardware without it.
    mistakes: Mistakes,
    /// Where kernels of a run on hardware have met in their memory.
    met: Vec<Met>,
    /// Whether most events can be taken as most are.
    is_usual: bool,
}

reuse_on_clone!(Expectations<'p> {
    program, expectations, snapshots, failed, demanded, skipped, deadlock, hazards, findings, allocations, asks_for_timing,
    moments, launching, inside, ordering, mistakes, met, is_usual,
});

impl<'p> Expectations<'p> {
    /// A judge that has seen nothing yet.
    pub fn new(program: &'p Program) -> Self {
        let demands = |stmt: &StmtId| matches!(program.statements[*stmt].outcome, Outcome::Fails(_));
        let mut judge = Self {
            program,
            expectations: program
                .expects
                .iter()
                .map(|line| Judged { is_open: line.quantifier.is_some(), ..Judged::default() })
                .collect(),
            snapshots: vec![0; program.snapshots.len()],
            failed: BTreeMap::new(),
            demanded: program.statements.indices().filter(demands).map(|stmt| (stmt, (0, 0))).collect(),
            skipped: BTreeMap::new(),
            deadlock: None,
            hazards: Hazards::new(program),
            findings: Findings::default(),
            allocations: 0,
            asks_for_timing: program
                .expects
                .iter()
                .any(|line| matches!(line.demand, Demand::DependsOnTiming { .. })),
            moments: named_in_moments(program).map(|stmt| (stmt, [None; 2])).collect(),
            launching: None,
            inside: Default::default(),
            ordering: Ordering::Checked,
            mistakes: Mistakes::default(),
            met: Vec::new(),
            is_usual: false,
        };
        judge.is_usual = judge.is_usual();
        judge
    }

    /// A judge of a run on hardware, which tells neither the class that serves an allocation nor what another timing would do.
    /// Lines about that are open, and so are those about all timings, those that stand in these statements, and those about findings
    /// beyond what the run itself has met.
    pub fn of_hardware(program: &'p Program, silent: &[StmtId], met: &[Met]) -> Self {
        let (ordering, met) = (Ordering::NotJudged, met.to_vec());
        let mut judge = Self { ordering, met, is_usual: false, ..Self::new(program) };
        for (id, line) in program.expects.iter_enumerated() {
            let is_of_timings = line.quantifier.is_some();
            judge.expectations[id].is_untold =
                is_of_timings || line.demand.needs_simulation() || silent.contains(&line.stmt);
        }
        judge
    }

    fn judges_order(&self) -> bool {
        self.ordering == Ordering::Checked
    }

    /// Whether most events can be taken as most are: none of them is asked for here. Only what is not taken so can change that.
    fn is_usual(&self) -> bool {
        self.judges_order() && self.demanded.is_empty() && self.moments.is_empty() && self.hazards.is_usual()
    }

    /// Takes any event.
    #[inline(never)]
    fn takes(&mut self, event: &Event<'_>) {
        match self.ordering {
            Ordering::Checked => self.hazards.event(event, &mut self.findings),
            Ordering::NotJudged => self.mistakes.event(event, &mut self.findings),
        }
        match event.kind {
            Kind::Call(call) if !self.demanded.is_empty() || !self.moments.is_empty() => {
                self.call(event.stmt, call);
            }
            Kind::Submitted(_) if self.launching.is_some() => {
                if let Some(ticket) = event.ticket {
                    self.submitted(event.stmt, ticket);
                }
            }
            Kind::Failed { failure, .. } => self.failed(event.stmt, failure),
            Kind::Expect { expect, operands } => self.judge(expect, operands),
            Kind::Snapshot { snapshot, .. } => self.snapshots[snapshot.index()] += 1,
            Kind::Skipped(buffer) => self.skips(event.stmt, buffer),
            Kind::Start if !self.moments.is_empty() => {
                self.moment(event.stmt, event.ticket, event.at, false);
            }
            Kind::End if !self.moments.is_empty() => {
                self.moment(event.stmt, event.ticket, event.at, true);
            }
            Kind::Deadlock(deadlock) => self.stops(event.stmt, deadlock),
            _ => {}
        }
        self.is_usual = self.is_usual();
    }

    /// The verdict; `broken` says why the run was given up, if it was. For another run the judge has to be put back to the start,
    /// by [`Clone::clone_from`] of one that has seen nothing.
    pub fn finish(&mut self, broken: Option<Broken>) -> Verdict {
        self.judge_moments();
        let is_whole = broken.is_none();
        if self.judges_order() {
            self.hazards.finish(is_whole && self.deadlock.is_none(), &mut self.findings);
        }
        let failed = self.failed_calls();
        self.judge_findings(is_whole, &failed);
        let statements = &self.program.statements;
        let missed = self.demanded.iter().filter(|(_, (calls, failures))| failures < calls);
        let missed = missed.filter_map(|(stmt, (calls, failures))| match statements[*stmt].outcome {
            Outcome::Fails(failure) => Some(Missed { stmt: *stmt, failure, times: calls - failures }),
            _ => None,
        });
        let is_judged = |judged: &Judged| judged.times > 0 || judged.is_open || judged.is_untold;
        let never = self.expectations.iter_enumerated().filter(|(_, judged)| !is_judged(judged));
        let never = never
            .map(|(expect, _)| NotReached { stmt: self.program.expects[expect].stmt, expect: Some(expect) });
        let uncalled = self.demanded.iter().filter(|(_, (calls, _))| *calls == 0);
        let uncalled = uncalled.map(|(stmt, _)| NotReached { stmt: *stmt, expect: None });
        let skipped = self.skipped.iter();
        Verdict {
            failed,
            missed: missed.collect(),
            not_reached: never.chain(uncalled).collect(),
            skipped: skipped
                .map(|(stmt, (buffer, times))| SkippedStatement {
                    stmt: *stmt,
                    buffer: *buffer,
                    times: *times,
                })
                .collect(),
            expectations: std::mem::take(&mut self.expectations),
            snapshots: std::mem::take(&mut self.snapshots),
            deadlock: self.deadlock.take().map(|(_, deadlock)| deadlock),
            findings: std::mem::take(&mut self.findings).finish(),
            broken,
            allocations: self.allocations,
            searched: None,
            met: std::mem::take(&mut self.met),
            ordering: self.ordering,
        }
    }

    fn failed(&mut self, stmt: StmtId, failure: Failure) {
        let nth = self.failed.len();
        self.failed.entry((stmt, failure)).or_insert((nth, 0)).1 += 1;
        if let Some((_, failures)) = self.demanded.get_mut(&stmt) {
            *failures += 1;
        }
    }

    fn call(&mut self, stmt: StmtId, call: &Call) {
        if let Some((calls, _)) = self.demanded.get_mut(&stmt) {
            *calls += 1;
        }
        let is_launch =
            matches!(call, Call::Graph(GraphCall::Launch { .. })) && self.moments.contains_key(&stmt);
        self.launching = is_launch.then_some((stmt, None));
    }

    /// A launch of a graph starts with its first operation and ends with its last one.
    fn submitted(&mut self, stmt: StmtId, ticket: Ticket) {
        let launching = self.launching.as_mut().filter(|(launch, _)| *launch == stmt);
        let Some((_, latest)) = launching else { return };
        if let Some(before) = latest.replace(ticket) {
            self.inside[0].insert(ticket);
            self.inside[1].insert(before);
        }
    }

    fn moment(&mut self, stmt: StmtId, ticket: Option<Ticket>, at: Nanos, is_end: bool) {
        let nth = usize::from(is_end);
        let is_inside = ticket.is_some_and(|ticket| self.inside[nth].remove(&ticket));
        if let Some(moments) = self.moments.get_mut(&stmt).filter(|_| !is_inside) {
            moments[nth] = Some(at);
        }
    }

    fn skips(&mut self, stmt: StmtId, buffer: BufferId) {
        self.skipped.entry(stmt).or_insert((buffer, 0)).1 += 1;
    }

    fn stops(&mut self, stmt: StmtId, deadlock: &Deadlock) {
        self.deadlock = Some((stmt, deadlock.clone()));
    }

    /// A statement whose operation never got there leaves the expectation not reached.
    fn judge_moments(&mut self) {
        for (expect, line) in self.program.expects.iter_enumerated() {
            let Demand::Moments { subject, object, .. } = line.demand else { continue };
            let at = |moment: Moment| self.moments[&moment.stmt][usize::from(moment.end)];
            let right = match object {
                When::Moment(object) => at(object),
                When::Time(time) => Some(time),
            };
            if let (Some(left), Some(right)) = (at(subject), right) {
                self.judge(expect, &Operands::Values { left: left.0.into(), right: right.0.into() });
            } else if !self.judges_order() {
                // Hardware does not tell the moments of every operation.
                self.expectations[expect].is_untold = true;
            }
        }
    }

    /// In the order of their first failure.
    fn failed_calls(&mut self) -> Vec<FailedCall> {
        let mut failed: Vec<_> = std::mem::take(&mut self.failed).into_iter().collect();
        failed.sort_by_key(|(_, (nth, _))| *nth);
        let failed = failed.into_iter().map(|((stmt, failure), (_, times))| {
            let expected =
                self.program.statements[stmt].outcome.allows(failure) || self.says_that_it_fails(failure);
            let explained = self.findings.explain(stmt, failure, expected) && !expected;
            FailedCall { stmt, failure, times, expected, explained }
        });
        failed.collect()
    }

    /// Whether a line says that calls may fail so.
    fn says_that_it_fails(&self, with: Failure) -> bool {
        let mut lines = self.program.expects.iter().filter(|line| line.expects_it());
        lines.any(
            |line| matches!(line.demand, Demand::Occurs { failure, not: false, .. } if failure == Some(with)),
        )
    }

    /// Of a run that was given up it is not known what else it would have come to.
    fn judge_findings(&mut self, is_whole: bool, failed: &[FailedCall]) {
        if let Some((noticed, deadlock)) = &self.deadlock {
            let mut deadlock = deadlock.clone();
            deadlock.statements.extend(self.mistakes.waiting().map(Some));
            self.findings.deadlock(*noticed, &deadlock);
        }
        self.met.iter().for_each(|met| self.findings.meet(met));
        self.findings.weigh(&self.program.levels);
        for (id, line) in self.program.expects.iter_enumerated() {
            let judged = match self.ordering {
                Ordering::Checked => self.findings.judge(line, failed),
                Ordering::NotJudged => self.findings.judge_met(line, failed),
            };
            if let Some(mismatch) = judged.filter(|_| is_whole) {
                self.expectations[id].is_untold &= line.quantifier.is_some();
                self.record(id, mismatch);
            }
        }
        if !self.judges_order() {
            self.findings.take_met(&mut self.met);
        }
    }

    fn judge(&mut self, expect: ExpectId, operands: &Operands) {
        self.record(expect, mismatch(self.program.expects[expect].demand, operands));
    }

    fn record(&mut self, expect: ExpectId, mismatch: Option<Mismatch>) {
        let judged = &mut self.expectations[expect];
        if judged.is_untold {
            return;
        }
        judged.times += 1;
        if mismatch.is_some() {
            judged.failed += 1;
            judged.first = judged.first.or(mismatch);
        }
    }
}

impl Sink for Expectations<'_> {
    #[inline]
    fn wants(&self, detail: Detail) -> bool {
        match detail {
            Detail::Events | Detail::Order => true,
            Detail::Refusals => self.asks_for_timing,
            Detail::States | Detail::Pictures => false,
        }
    }

    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        if let Kind::Decided(_) = event.kind {
            self.allocations += 1;
        }
        // Nothing is learnt from these.
        if let Kind::State { .. } | Kind::Returned { .. } | Kind::OtherDevice { .. } = event.kind {
            return;
        }
        if !(self.is_usual && self.hazards.takes(event, &mut self.findings)) {
            // A copy, so that the event itself need not be in memory.
            self.takes(&Event { ..*event });
        }
    }
}

/// The statements whose moments are expected to be related.
fn named_in_moments(program: &Program) -> impl Iterator<Item = StmtId> + '_ {
    program.expects.iter().flat_map(|line| match line.demand {
        Demand::Moments { subject, object: When::Moment(object), .. } => vec![subject.stmt, object.stmt],
        Demand::Moments { subject, object: When::Time(_), .. } => vec![subject.stmt],
        _ => Vec::new(),
    })
}

/// Why the operands do not meet the demand; `None` when they do. A checked program pairs each demand with its operands.
pub fn mismatch(demand: Demand, operands: &Operands) -> Option<Mismatch> {
    match (demand, operands) {
        (
            Demand::Compare { comparison, .. } | Demand::Moments { comparison, .. },
            Operands::Values { left, right },
        ) => {
            let values = Mismatch::Values { left: *left, right: *right };
            (!comparison.holds(*left, *right)).then_some(values)
        }
        (Demand::CurrentPool { not }, Operands::Values { left, right }) => {
            let current = PoolId::from_usize(usize::try_from(*left).unwrap_or_default());
            ((left == right) == not).then_some(Mismatch::CurrentPool(current))
        }
        (Demand::Reaches { not, reach }, Operands::Values { left, .. }) => {
            let found = Reach::of_flag(*left).unwrap_or(Reach::None);
            let is_so = reach.map_or(found != Reach::None, |reach| found == reach);
            (is_so == not).then_some(Mismatch::Reach(found))
        }
        (Demand::ServedBy(policy), Operands::Placements { subject, .. }) => match subject {
            None => Some(Mismatch::Absent { subject: true }),
            Some(subject) => (subject.policy != Some(policy)).then_some(Mismatch::ServedBy(subject.policy)),
        },
        (Demand::Fails { not, failure }, Operands::Ended { ended, .. }) => {
            let holds = match *ended {
                Ended::NotMade | Ended::Skipped => false,
                Ended::Succeeded => not,
                Ended::Failed(with) => failure.is_none_or(|failure| failure == with) != not,
            };
            (!holds).then_some(Mismatch::Ended(*ended))
        }
        (Demand::ReadyOn { not }, Operands::Readiness { readiness, .. }) => {
            let holds = (*readiness == Readiness::Ready) != not;
            (!holds).then_some(Mismatch::Readiness(*readiness))
        }
        (Demand::DependsOnTiming { not }, Operands::Placements { subject: Some(subject), .. }) => {
            (subject.by_timing == not).then_some(Mismatch::Timing(subject.by_timing))
        }
        (_, Operands::Placements { subject, object }) => match (subject, object) {
            (None, _) => Some(Mismatch::Absent { subject: true }),
            (_, None) => Some(Mismatch::Absent { subject: false }),
            (Some(subject), Some(object)) => relation(demand, subject, object),
        },
        (demand, operands) => unreachable!("{demand:?} cannot be about {operands:?}"),
    }
}

fn relation(demand: Demand, subject: &Placement, object: &Placement) -> Option<Mismatch> {
    match demand {
        Demand::Reuses { not, via } => {
            let shares = subject.range.overlaps(object.range);
            // Of memory that is used again, only hardware does not tell the class; then nothing is known against the line.
            let by_this = via.is_none_or(|via| subject.policy.map_or(!not, |policy| policy == via));
            match (not, shares && subject.reuses && by_this) {
                (false, false) if !shares => Some(Mismatch::NoByteShared),
                (false, false) | (true, true) => Some(Mismatch::ServedBy(subject.policy)),
                (false, true) | (true, false) => None,
            }
        }
        Demand::At { not } => {
            let (subject, object) = (subject.range.start, object.range.start);
            ((subject == object) == not).then_some(Mismatch::Addresses { subject, object })
        }
        Demand::WaitsForFree { not } => {
            let covers = |freed: crate::trace::Ticket| {
                subject.waits.iter().any(|wait| wait.stream == freed.stream && wait.seq >= freed.seq)
            };
            match (not, object.freed.is_some_and(covers)) {
                (false, false) => Some(Mismatch::NoWait { freed: object.freed.is_some() }),
                (true, true) => Some(Mismatch::Waits),
                _ => None,
            }
        }
        Demand::Compare { .. }
        | Demand::Moments { .. }
        | Demand::Finding { .. }
        | Demand::NoFindings
        | Demand::NoLeaks
        | Demand::Occurs { .. }
        | Demand::ServedBy(_)
        | Demand::Reaches { .. }
        | Demand::CurrentPool { .. }
        | Demand::ReadyOn { .. }
        | Demand::DependsOnTiming { .. }
        | Demand::Fails { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Bytes, StreamId};
    use crate::trace::{AllocId, Comparison, Policy, Range, Ticket};

    fn placement(start: u64, size: u64, policy: Policy) -> Placement {
        Placement {
            alloc: AllocId { slot: 0, serial: 1 },
            range: Range { start, size: Bytes(size) },
            policy: Some(policy),
            reuses: !matches!(policy, Policy::Growth | Policy::Unused),
            waits: [Ticket { stream: StreamId::new(0), seq: 4 }].into_iter().collect(),
            by_timing: false,
            freed: Some(Ticket { stream: StreamId::new(0), seq: 4 }),
        }
    }

    fn judged(demand: Demand, subject: Option<Placement>, object: Option<Placement>) -> Option<Mismatch> {
        let operands = Operands::Placements { subject: subject.map(Box::new), object: object.map(Box::new) };
        mismatch(demand, &operands)
    }

    #[test]
    fn reuse_needs_a_shared_byte_and_a_reuse_class() {
        let x = placement(0, 1024, Policy::Growth);
        let reuses = |not, via| Demand::Reuses { not, via };
        let y = placement(512, 512, Policy::SameStream);
        assert_eq!(judged(reuses(false, None), Some(y.clone()), Some(x.clone())), None);
        assert_eq!(judged(reuses(false, Some(Policy::SameStream)), Some(y.clone()), Some(x.clone())), None);
        assert_eq!(
            judged(reuses(false, Some(Policy::Internal)), Some(y.clone()), Some(x.clone())),
            Some(Mismatch::ServedBy(Some(Policy::SameStream)))
        );
        assert_eq!(judged(reuses(true, Some(Policy::Internal)), Some(y.clone()), Some(x.clone())), None);
        assert!(judged(reuses(true, None), Some(y), Some(x.clone())).is_some());
        let beside = placement(1024, 512, Policy::SameStream);
        assert_eq!(
            judged(reuses(false, None), Some(beside.clone()), Some(x.clone())),
            Some(Mismatch::NoByteShared)
        );
        assert_eq!(judged(reuses(true, None), Some(beside), Some(x)), None);
    }

    #[test]
    fn an_absent_buffer_meets_no_demand() {
        let x = placement(0, 512, Policy::Growth);
        let not = Demand::Reuses { not: true, via: None };
        assert_eq!(judged(not, None, Some(x.clone())), Some(Mismatch::Absent { subject: true }));
        assert_eq!(judged(not, Some(x), None), Some(Mismatch::Absent { subject: false }));
    }

    #[test]
    fn a_wait_covers_the_frees_before_it() {
        let subject = placement(0, 512, Policy::Internal);
        let object = |seq| {
            let freed = Some(Ticket { stream: StreamId::new(0), seq });
            Some(Placement { freed, ..placement(0, 512, Policy::Growth) })
        };
        let waits = |not| Demand::WaitsForFree { not };
        assert_eq!(judged(waits(false), Some(subject.clone()), object(3)), None);
        assert_eq!(judged(waits(true), Some(subject.clone()), object(4)), Some(Mismatch::Waits));
        assert_eq!(judged(waits(false), Some(subject), object(5)), Some(Mismatch::NoWait { freed: true }));
    }

    /// Each form of a relation, with allocations that meet it and others that do not.
    #[test]
    fn every_relation_is_judged_both_ways() {
        let x = || Some(placement(0, 512, Policy::Growth));
        let same = || Some(placement(0, 512, Policy::SameStream));
        let beside = || Some(placement(512, 512, Policy::Growth));
        let lucky = || Some(Placement { by_timing: true, ..placement(0, 512, Policy::Opportunistic) });
        for (demand, met_by, missed_by) in [
            (Demand::Reuses { not: false, via: None }, same(), beside()),
            (Demand::Reuses { not: true, via: None }, beside(), same()),
            (Demand::Reuses { not: false, via: Some(Policy::SameStream) }, same(), beside()),
            (Demand::Reuses { not: true, via: Some(Policy::SameStream) }, beside(), same()),
            (Demand::DependsOnTiming { not: false }, lucky(), same()),
            (Demand::DependsOnTiming { not: true }, same(), lucky()),
            (Demand::At { not: false }, same(), beside()),
            (Demand::At { not: true }, beside(), same()),
            (Demand::ServedBy(Policy::SameStream), same(), beside()),
        ] {
            assert_eq!(judged(demand, met_by, x()), None, "{demand:?}");
            assert!(judged(demand, missed_by, x()).is_some(), "{demand:?}");
        }
    }

    #[test]
    fn values_are_compared() {
        let demand = |comparison| Demand::Compare { comparison, unit: crate::scenario::Unit::Count };
        let operands = Operands::Values { left: 1, right: 2 };
        assert_eq!(mismatch(demand(Comparison::Less), &operands), None);
        assert_eq!(
            mismatch(demand(Comparison::Equal), &operands),
            Some(Mismatch::Values { left: 1, right: 2 })
        );
    }
}
