//! The last object: what became of what the scenario expects.

use super::explanation::{ExplanationLine, explained};
use super::recovery::{RecoveryLine, recovery_line};
use crate::base::{ExpectId, Nanos, StmtId};
use crate::explore::recover::Recovery;
use crate::oracle::{Certainty, Judged, Met, Mismatch, Missing, Moment, Point, Role, Verdict};
use crate::report::Told;
use crate::report::names::Book;
use crate::report::text::Compared;
use crate::scenario::{Names, Outcome, Program};
use crate::trace::Policy;
use serde::Serialize;

/// The last object.
#[derive(Serialize)]
pub(super) struct Ending<'a> {
    event: &'static str,
    holds: bool,
    end: u64,
    allocations: u64,
    ordering: &'static str,
    snapshots: &'static str,
    expectations: Vec<ExpectationLine<'a>>,
    failed: Vec<FailedLine<'a>>,
    missed: Vec<FailedLine<'a>>,
    not_reached: Vec<u32>,
    skipped: Vec<SkippedLine<'a>>,
    findings: Vec<FindingLine<'a>>,
    recovery: RecoveryLine<'a>,
    deadlock: bool,
    stopped: Option<&'a str>,
    /// How many expectations are open; missing in a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<usize>,
    /// Missing in a simulation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlaps: Vec<OverlapLine>,
}

/// Kernels of a run on hardware that have met in their memory.
#[derive(Serialize)]
pub(in crate::report) struct OverlapLine {
    line: u32,
    expected: u32,
    found: Option<u32>,
    when: &'static str,
    /// The line that expects it; missing where none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_at: Option<u32>,
}

impl OverlapLine {
    pub(in crate::report) fn of(met: &Met, program: &Program) -> Self {
        let line = |stmt: StmtId| program.statements[stmt].line;
        Self {
            line: line(met.stmt),
            expected: line(met.expected),
            found: met.found.map(line),
            when: if met.late { "end" } else { "start" },
            expected_at: met.expected_at.map(line),
        }
    }
}

#[derive(Serialize)]
struct ExpectationLine<'a> {
    line: u32,
    text: &'a str,
    holds: bool,
    /// Whether hardware does not tell that; missing in a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    open: Option<bool>,
    times: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<MismatchLine>,
    /// Of lines about all timings.
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<TimingsPart<'a>>,
}

/// What a search says of a line about all timings.
#[derive(Serialize)]
struct TimingsPart<'a> {
    answer: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<MismatchLine>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum MismatchLine {
    Values { left: i128, right: i128 },
    Absent { subject: bool },
    NoByteShared,
    ServedBy(Option<&'static str>),
    Addresses { subject: u64, object: u64 },
    NoWait { freed: bool },
    Waits,
    Timing { decides: bool },
    Reach(&'static str),
    CurrentPool(String),
    Ended(&'static str),
    Readiness(&'static str),
    Findings { count: u64, of_kind: u64 },
}

#[derive(Serialize)]
struct FailedLine<'a> {
    line: u32,
    text: &'a str,
    failure: &'static str,
    times: u64,
    expected: bool,
    /// The first and the last line that handle it.
    #[serde(skip_serializing_if = "Option::is_none")]
    handled_by: Option<(u32, u32)>,
}

#[derive(Serialize)]
struct FindingLine<'a> {
    code: &'static str,
    severity: &'static str,
    certainty: Option<&'static str>,
    line: u32,
    text: &'a str,
    on: Vec<&'a str>,
    times: u64,
    others: Vec<OtherLine<'a>>,
    missing: Option<MissingLine<'a>>,
    explanation: Option<ExplanationLine<'a>>,
    expected: Option<u32>,
    muted: bool,
}

/// An order that is missing.
#[derive(Serialize)]
struct MissingLine<'a> {
    from: MomentLine<'a>,
    to: MomentLine<'a>,
}

/// What happens at one point of a run.
#[derive(Serialize)]
struct MomentLine<'a> {
    line: u32,
    text: &'a str,
    /// The stream, or the host thread.
    on: &'a str,
    /// The how manyeth operation of the stream, or call of the thread, it is.
    nth: u32,
}

/// Another statement of a finding.
#[derive(Serialize)]
struct OtherLine<'a> {
    is: &'static str,
    line: Option<u32>,
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct SkippedLine<'a> {
    line: u32,
    block: &'a str,
    times: u64,
}

fn expectation_line<'a>(
    book: &Book<'a>,
    verdict: &'a Verdict,
    id: ExpectId,
    judged: &'a Judged,
) -> ExpectationLine<'a> {
    let program: &'a Program = book.program;
    let stmt = program.expects[id].stmt;
    ExpectationLine {
        line: book.line(stmt),
        text: &program.statements[stmt].text,
        holds: judged.holds(),
        open: verdict.is_of_hardware().then_some(judged.is_untold),
        times: judged.times,
        failed: judged.failed,
        first: judged.first.as_ref().map(|first| mismatch_line(&program.names, first)),
        timings: judged.is_open.then(|| timings_part(program, verdict, judged)),
    }
}

fn timings_part<'a>(program: &Program, verdict: &'a Verdict, judged: &'a Judged) -> TimingsPart<'a> {
    let (settled, searched) = (judged.settled.as_ref(), verdict.searched.as_ref());
    let stopped = searched.and_then(|searched| searched.stopped.as_deref());
    TimingsPart {
        answer: settled.map_or("not_settled", |settled| settled.answer.name()),
        schedule: settled.and_then(|settled| settled.schedule.as_deref()),
        first: settled.and_then(|settled| Some(mismatch_line(&program.names, settled.first.as_ref()?))),
        calls: searched.map(|searched| searched.calls),
        stopped: stopped.filter(|_| judged.is_undecided()),
    }
}

pub(super) fn ending<'a>(
    book: &Book<'a>,
    end: Nanos,
    verdict: &'a Verdict,
    told: &[Told<'_>],
    recovery: &'a Recovery,
    compared: &Compared,
) -> Ending<'a> {
    let program: &'a Program = book.program;
    let text = |stmt: StmtId| program.statements[stmt].text.as_str();
    let expectations = verdict.expectations.iter_enumerated();
    let expectations = expectations.map(|(id, judged)| expectation_line(book, verdict, id, judged));
    let failed = verdict.failed.iter().map(|failed| FailedLine {
        line: book.line(failed.stmt),
        text: text(failed.stmt),
        failure: failed.failure.name(),
        times: failed.times,
        expected: failed.expected,
        handled_by: match program.statements[failed.stmt].outcome {
            Outcome::Handled { lines, .. } => Some(lines),
            _ => None,
        },
    });
    let missed = verdict.missed.iter().map(|missed| FailedLine {
        line: book.line(missed.stmt),
        text: text(missed.stmt),
        failure: missed.failure.name(),
        times: missed.times,
        expected: true,
        handled_by: None,
    });
    let skipped = verdict.skipped.iter().map(|skipped| SkippedLine {
        line: book.line(skipped.stmt),
        block: &program.names.buffers[skipped.buffer],
        times: skipped.times,
    });
    Ending {
        event: "verdict",
        holds: verdict.holds() && !compared.fails(),
        end: end.0,
        allocations: verdict.allocations,
        ordering: verdict.ordering.name(),
        snapshots: match compared {
            Compared::None if verdict.is_of_hardware() && !verdict.snapshots.is_empty() => "not_compared",
            Compared::None => "none",
            Compared::Equal => "equal",
            Compared::Missing => "missing",
            Compared::Different(_) => "different",
            Compared::Accepted(_) => "accepted",
        },
        expectations: expectations.collect(),
        failed: failed.collect(),
        missed: missed.collect(),
        not_reached: verdict.not_reached.iter().map(|demand| book.line(demand.stmt)).collect(),
        skipped: skipped.collect(),
        findings: told.iter().map(|told| finding_line(book, told)).collect(),
        recovery: recovery_line(book, recovery),
        deadlock: verdict.deadlock.is_some(),
        stopped: verdict.broken.as_ref().map(|broken| broken.reason.as_str()),
        open: verdict.is_of_hardware().then(|| verdict.open()),
        overlaps: verdict.met.iter().map(|met| OverlapLine::of(met, program)).collect(),
    }
}

fn finding_line<'a>(book: &Book<'a>, told: &Told<'_>) -> FindingLine<'a> {
    let Told { finding: found, explanation, .. } = told;
    let program: &'a Program = book.program;
    let text = |stmt: StmtId| program.statements[stmt].text.as_str();
    let other = |(role, stmt): &(Role, Option<StmtId>)| OtherLine {
        is: role.name(),
        line: stmt.map(|stmt| book.line(stmt)),
        text: stmt.map(text),
    };
    let moment = |at: Moment| {
        let (on, nth) = match at.point {
            Point::Operation(ticket) => (&program.names.streams[ticket.stream], ticket.seq),
            Point::Host(host, nth) => (&program.names.hosts[host], nth),
        };
        MomentLine { line: book.line(at.stmt), text: text(at.stmt), on, nth }
    };
    FindingLine {
        code: found.kind.name(),
        severity: found.severity.name(),
        certainty: found.certainty.map(Certainty::name),
        line: book.line(found.stmt),
        text: text(found.stmt),
        on: found.names().map(|name| program.names.buffers[name].as_str()).collect(),
        times: found.times,
        others: found.others.iter().map(other).collect(),
        missing: found
            .missing
            .map(|Missing { from, to, .. }| MissingLine { from: moment(from), to: moment(to) }),
        explanation: explanation.as_ref().map(|explanation| explained(book, explanation)),
        expected: found.expected.map(|stmt| book.line(stmt)),
        muted: found.muted,
    }
}

fn mismatch_line(names: &Names, mismatch: &Mismatch) -> MismatchLine {
    match *mismatch {
        Mismatch::Values { left, right } => MismatchLine::Values { left, right },
        Mismatch::Absent { subject } => MismatchLine::Absent { subject },
        Mismatch::NoByteShared => MismatchLine::NoByteShared,
        Mismatch::ServedBy(policy) => MismatchLine::ServedBy(policy.map(Policy::name)),
        Mismatch::Addresses { subject, object } => MismatchLine::Addresses { subject, object },
        Mismatch::NoWait { freed } => MismatchLine::NoWait { freed },
        Mismatch::Waits => MismatchLine::Waits,
        Mismatch::Reach(reach) => MismatchLine::Reach(reach.name()),
        Mismatch::CurrentPool(pool) => MismatchLine::CurrentPool(names.pools[pool].clone()),
        Mismatch::Timing(decides) => MismatchLine::Timing { decides },
        Mismatch::Ended(ended) => MismatchLine::Ended(ended.name()),
        Mismatch::Findings { count, of_kind } => MismatchLine::Findings { count, of_kind },
        Mismatch::Readiness(readiness) => MismatchLine::Readiness(readiness.name()),
    }
}
