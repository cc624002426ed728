//! What became of what the scenario expects, and of the calls that failed.

use super::memory::ACCOUNTS_MAX;
use super::table::{Align, Section, Table, shorten, wrap};
use super::{Compared, Failing, counted, findings};
use crate::base::{Bytes, DeviceId, EventId, HostId, Nanos, PoolId, ProcessId, StmtId, grouped};
use crate::oracle::{Answer, Judged, Mismatch, Settled, Verdict};
use crate::report::names::Book;
use crate::scenario::{Demand, Expect, Names, Outcome, Quantifier, Unit};
use crate::trace::{Deadlock, Ended, Event, Failure, FindingKind, Kind, Policy, Reach, Readiness, Waiter};
use std::collections::BTreeMap;

/// Collects what the failures need.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    /// The pool that the call may not touch, the device, and what it may do.
    unreachable: BTreeMap<StmtId, (PoolId, DeviceId, Reach)>,
    /// The event that the call may not use so, the device that it belongs to, and the one that it would have to.
    foreign: BTreeMap<StmtId, (EventId, DeviceId, DeviceId)>,
}

impl Failures {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::OutOfReach { pool, device, reach } if self.unreachable.len() < ACCOUNTS_MAX => {
                self.unreachable.entry(event.stmt).or_insert((pool, device, reach));
            }
            Kind::OtherDevice { event: of, home, device } if self.foreign.len() < ACCOUNTS_MAX => {
                self.foreign.entry(event.stmt).or_insert((of, home, device));
            }
            _ => {}
        }
    }

    /// Failed calls, skipped statements, a deadlock: as findings, above everything that holds.
    pub(super) fn lines(
        &self,
        book: &Book<'_>,
        verdict: &Verdict,
        short: impl Fn(StmtId) -> Vec<String>,
        width: usize,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for failed in verdict.unexpected_failures().take(ACCOUNTS_MAX) {
            let text = &book.program.statements[failed.stmt].text;
            let times = times(failed.times);
            let name = failed.failure.name();
            lines.push(String::new());
            lines.push(format!("error[{name}]: line {}{times}: {text}", book.line(failed.stmt)));
            if failed.failure == Failure::OutOfMemory {
                lines.extend(short(failed.stmt));
            }
            lines.extend(self.access(book, failed.stmt));
            lines.extend(self.event_of_another(book, failed.stmt));
            lines.push(format!("  expected?  add `fails {name}` or `or_fails {name}` to the line"));
        }
        lines.extend(rest(verdict.unexpected_errors(), ACCOUNTS_MAX, "statements that failed"));
        if !verdict.skipped.is_empty() {
            lines.push(String::new());
            let skipped = verdict.skipped.iter().take(12).map(|skipped| {
                let buffer = &book.program.names.buffers[skipped.buffer];
                format!("{} (no {buffer}){}", book.line(skipped.stmt), times(skipped.times))
            });
            let skipped: Vec<String> = skipped.collect();
            let noun = if skipped.len() == 1 { "line" } else { "lines" };
            lines.extend(wrap(&format!("skipped: {noun} {}", skipped.join(", ")), 2, width));
            lines.extend(rest(verdict.skipped.len(), 12, "skipped lines"));
        }
        lines.extend(deadlock(book, verdict));
        if let Some(broken) = &verdict.broken {
            lines.push(String::new());
            let text = &book.program.statements[broken.stmt].text;
            lines.push(format!("error: the run stopped at line {}: {text}", book.line(broken.stmt)));
            lines.push(format!("  {}", broken.reason));
        }
        lines.iter().flat_map(|line| wrap(line, if line.starts_with(' ') { 13 } else { 2 }, width)).collect()
    }

    /// What a device may not touch, and the line that would let it.
    pub(super) fn access(&self, book: &Book<'_>, stmt: StmtId) -> Vec<String> {
        let Some((pool, device, reach)) = self.unreachable.get(&stmt) else { return Vec::new() };
        let of_another = book.program.setup.pools[*pool].process != ProcessId::from_raw(0);
        let (pool, device) = (&book.program.names.pools[*pool], &book.program.names.devices[*device]);
        let may = if *reach == Reach::None { "has no access to" } else { "may only read" };
        // As the process itself calls it.
        let own = pool.split_once('.').filter(|_| of_another).map_or(pool.as_str(), |(_, own)| own);
        vec![
            format!("  access     {device} {may} the memory of {pool}"),
            format!("             it gets more by `grant {own} to {device}`"),
        ]
    }

    fn event_of_another(&self, book: &Book<'_>, stmt: StmtId) -> Vec<String> {
        let Some((event, home, device)) = self.foreign.get(&stmt) else { return Vec::new() };
        let names = &book.program.names;
        let (event, home, device) = (&names.events[*event], &names.devices[*home], &names.devices[*device]);
        vec![
            format!("  device     {event} belongs to {home}, and would have to belong to {device}"),
            format!("             it was declared on {home}, or recorded there first"),
        ]
    }
}

/// Who waits for whom.
fn deadlock(book: &Book<'_>, verdict: &Verdict) -> Vec<String> {
    let Some(Deadlock { waiters, statements, is_cycle }) = &verdict.deadlock else { return Vec::new() };
    let finding = verdict.findings.iter().find(|finding| finding.kind == FindingKind::Deadlock);
    let expected = finding.and_then(|finding| finding.expected);
    let severity = if expected.is_some() { "note" } else { "error" };
    let what = match is_cycle {
        true => "each waits for the next, the last for the first",
        false => "what these wait for never comes",
    };
    let mut lines = vec![String::new(), format!("{severity}[deadlock]: {what}")];
    for (waiter, stmt) in waiters.iter().zip(statements).take(12) {
        let line = stmt.map(|stmt| (book.line(stmt), book.program.statements[stmt].text.as_str()));
        lines.push(match (line, waiting(book, *waiter)) {
            (Some((line, text)), Some(who)) => format!("  {line:>4}  {who}, in `{text}`"),
            (Some((line, text)), None) => format!("  {line:>4}  `{text}`"),
            (None, who) => format!("        {}", who.unwrap_or_default()),
        });
    }
    lines.extend(rest(waiters.len(), 12, "that wait"));
    lines.push(match (expected, expected_elsewhere(book, verdict)) {
        (Some(stmt), _) => {
            format!("  expected   line {}: {}", book.line(stmt), book.program.statements[stmt].text)
        }
        (None, Some(stmt)) => format!("  expected?  line {} expects it elsewhere", book.line(stmt)),
        (None, None) => "  expected?  add `expect finding deadlock`".to_owned(),
    });
    lines
}

/// On hardware, which tells only some of those who wait: a line that expects a deadlock of others.
fn expected_elsewhere(book: &Book<'_>, verdict: &Verdict) -> Option<StmtId> {
    let mut lines = book.program.expects.iter().filter(|_| verdict.is_of_hardware());
    let is_it = |demand: &Demand| matches!(demand, Demand::Finding { kind: FindingKind::Deadlock, .. });
    lines.find(|line| is_it(&line.demand)).map(|line| line.stmt)
}

/// Who or what it is, in words. What an operation is, its statement says.
fn waiting(book: &Book<'_>, waiter: Waiter) -> Option<String> {
    let names = &book.program.names;
    Some(match waiter {
        Waiter::Host(host) => thread(book, host),
        Waiter::Operation(_) => return None,
        Waiter::Parts(collective) => {
            format!("the other parts of {}, which are in no stream", names.collectives[collective])
        }
        Waiter::Barrier(barrier) => {
            format!("barrier {}, to which too few threads have come", names.barriers[barrier])
        }
        Waiter::Signal(signal) if names.shares.contains(&signal) => {
            format!("an export as {}, which did not happen", names.signals[signal])
        }
        Waiter::Signal(signal) => format!("signal {}, which was not given", names.signals[signal]),
    })
}

/// Who a host thread is, in words.
fn thread(book: &Book<'_>, host: HostId) -> String {
    match book.program.setup.hosts {
        0 | 1 => "the host".to_owned(),
        _ if book.is_process(host) => format!("process {}", book.thread(host)),
        _ => format!("thread {}", book.thread(host)),
    }
}

pub(super) fn times(times: u64) -> String {
    if times > 1 { format!(" x {times}") } else { String::new() }
}

pub(super) fn rest(count: usize, shown: usize, noun: &str) -> Option<String> {
    (count > shown).then(|| format!("    .. and {} more {noun}", count - shown))
}

/// A demand of the scenario, and what became of it.
struct Demanded {
    line: u32,
    text: String,
    outcome: String,
    fails: bool,
    /// What shows that, or why nothing does, for lines about all timings.
    shown: String,
}

/// Every demand, by line.
fn demands(book: &Book<'_>, verdict: &Verdict, compared: &Compared) -> Vec<Demanded> {
    let demanded = |stmt: StmtId, outcome: String, fails: bool| {
        let text = &book.program.statements[stmt].text;
        let text = text.strip_prefix("expect ").unwrap_or(text).to_owned();
        Demanded { line: book.line(stmt), text, outcome, fails, shown: String::new() }
    };
    let mut rows = Vec::new();
    for (id, judged) in verdict.expectations.iter_enumerated() {
        let expect = &book.program.expects[id];
        let skipped = book.skipped(verdict, expect.stmt);
        let outcome = match expect.quantifier {
            _ if judged.is_untold => open(expect).to_owned(),
            Some(quantifier) => of_timings(&book.program.names, judged, expect.demand, quantifier),
            None => outcome(&book.program.names, judged, expect.demand, skipped),
        };
        let shown = shown(verdict, judged);
        let fails = !judged.holds() && !judged.is_untold;
        rows.push(Demanded { shown, ..demanded(expect.stmt, outcome, fails) });
    }
    for failed in verdict.failed.iter().filter(|failed| failed.expected) {
        let missed = verdict.missed.iter().any(|missed| missed.stmt == failed.stmt);
        if !missed {
            let outcome = match book.program.statements[failed.stmt].outcome {
                Outcome::Handled { lines, .. } => handled_by(lines),
                _ => "holds".to_owned(),
            };
            rows.push(demanded(failed.stmt, format!("{outcome}{}", times(failed.times)), false));
        }
    }
    for missed in &verdict.missed {
        rows.push(demanded(missed.stmt, format!("fails{}: it succeeded", times(missed.times)), true));
    }
    for never in verdict.not_reached.iter().filter(|never| never.expect.is_none()) {
        rows.push(demanded(never.stmt, "fails: never reached".to_owned(), true));
    }
    for (line, times_reached) in book.program.snapshots.iter().zip(&verdict.snapshots) {
        let outcome = if *times_reached == 0 { "never reached" } else { compared.word() };
        rows.push(demanded(line.stmt, outcome.to_owned(), compared.fails()));
    }
    rows.sort_by_key(|row| row.line);
    rows
}

fn handled_by((first, last): (u32, u32)) -> String {
    match first == last {
        true => format!("handled by line {first}"),
        false => format!("handled by the lines {first}-{last}"),
    }
}

/// The table of what is expected.
pub(super) fn expectations(
    book: &Book<'_>,
    verdict: &Verdict,
    compared: &Compared,
    width: usize,
) -> Option<Section> {
    let rows = demands(book, verdict, compared);
    if rows.is_empty() {
        return None;
    }
    // A longer text would push the outcome off the page.
    let widest = width.saturating_sub(40).max(24);
    let columns = [("line", Align::Right), ("", Align::Left), ("", Align::Flexible)];
    let mut table = Table::new(&columns);
    for row in &rows {
        table.row(vec![row.line.to_string(), shorten(&row.text, widest), row.outcome.clone()]);
    }
    let mut section = Section::of_table("Expectations".to_owned(), &table, width, "expectations");
    section.top.truncate(1);
    section.wants = 4;
    let failing = section.rows.iter_mut().zip(&rows).filter(|(_, row)| row.fails).take(20);
    failing.for_each(|(row, _)| row.pinned = true);
    Some(section)
}

/// What fails, one each.
pub(super) fn failures(book: &Book<'_>, verdict: &Verdict, compared: &Compared) -> Vec<Failing> {
    let mut found = Vec::new();
    for failed in verdict.unexpected_failures() {
        let text = &book.program.statements[failed.stmt].text;
        let text = format!("{text}   fails{} with {}", times(failed.times), failed.failure);
        found.push(Failing { line: Some(book.line(failed.stmt)), code: failed.failure.name(), text });
    }
    let failing = demands(book, verdict, compared).into_iter().filter(|row| row.fails);
    found.extend(failing.map(|row| Failing {
        line: Some(row.line),
        code: if row.outcome == "undecided" { "undecided" } else { "expectation" },
        text: format!("{}   {}{}", row.text, row.outcome, row.shown),
    }));
    found.extend(findings::failures(book, verdict));
    if let Some(broken) = &verdict.broken {
        let text = format!("the run stopped: {}", broken.reason);
        found.push(Failing { line: Some(book.line(broken.stmt)), code: "stopped", text });
    }
    found
}

/// What a search has said of a line about all timings.
fn of_timings(names: &Names, judged: &Judged, demand: Demand, quantifier: Quantifier) -> String {
    let Some(settled) = &judged.settled else { return "not settled by one run".to_owned() };
    let why = settled.first.as_ref().map(|first| format!(": {}", why(names, first, demand)));
    let words = match (settled.answer, quantifier) {
        (Answer::Holds, Quantifier::Always) => "holds in every timing",
        (Answer::Holds, Quantifier::Sometimes) => "holds in some timing",
        (Answer::Holds, Quantifier::Never) => "holds: in no timing is it so",
        (Answer::Fails, Quantifier::Always) if why.is_none() => "fails: some timing never gets there",
        (Answer::Fails, Quantifier::Always) => "fails in some timing",
        (Answer::Fails, Quantifier::Sometimes) => "fails: in no timing is it so",
        (Answer::Fails, Quantifier::Never) => "fails: in some timing it is so",
        (Answer::Undecided, _) => "undecided",
    };
    format!("{words}{}", why.unwrap_or_default())
}

/// Behind a line about all timings that does not hold: the command that shows it, or why there is none.
fn shown(verdict: &Verdict, judged: &Judged) -> String {
    let (Some(settled), Some(searched)) = (&judged.settled, &verdict.searched) else { return String::new() };
    match (&settled.schedule, &searched.stopped) {
        (Some(schedule), _) => format!(": millpond replay {schedule} {}", searched.shown_with),
        (None, Some(why)) if settled.answer == Answer::Undecided => format!(": {why}"),
        _ => String::new(),
    }
}

/// So many runs are shown as examples; counterexamples have no limit.
const EXAMPLES_MAX: usize = 3;

/// For the lines about all timings, what that means, and a command for each that a single run has settled.
pub(super) fn timings(book: &Book<'_>, verdict: &Verdict, width: usize) -> Vec<String> {
    let Some(searched) = &verdict.searched else { return Vec::new() };
    let calls = grouped(searched.calls);
    let means =
        format!("Timings: every one of this model and profile, whatever takes how long ({calls} calls)");
    let mut lines = vec![String::new()];
    lines.extend(wrap(&means, 2, width));
    // Many lines may have the same run as an example.
    let mut examples: Vec<(&str, Vec<String>)> = Vec::new();
    for (id, judged) in verdict.expectations.iter_enumerated() {
        let line = book.line(book.program.expects[id].stmt);
        match &judged.settled {
            Some(Settled { schedule: Some(schedule), answer: Answer::Holds, .. }) => {
                match examples.iter_mut().find(|(known, _)| known == schedule) {
                    Some((_, of)) => of.push(line.to_string()),
                    None => examples.push((schedule, vec![line.to_string()])),
                }
            }
            Some(Settled { schedule: Some(schedule), .. }) => {
                lines.push(format!("  {line:>4}  a counterexample:"));
                lines.push(format!("        millpond replay {schedule} {}", searched.shown_with));
            }
            Some(Settled { answer: Answer::Undecided, .. }) => {
                let why = searched.stopped.as_deref().unwrap_or_default();
                lines.extend(wrap(&format!("  {line:>4}  undecided: {why}"), 8, width));
            }
            _ => {}
        }
    }
    for (schedule, of) in examples.iter().take(EXAMPLES_MAX) {
        lines.extend(wrap(&format!("  {:>4}  an example:", of.join(", ")), 8, width));
        lines.push(format!("        millpond replay {schedule} {}", searched.shown_with));
    }
    if examples.len() > EXAMPLES_MAX {
        lines.push(format!("    .. and {} more", counted(examples.len() - EXAMPLES_MAX, "example")));
    }
    lines
}

/// Of a line that hardware does not settle.
const fn open(line: &Expect) -> &'static str {
    match line.quantifier {
        Some(_) => "open: one run does not settle it",
        None => UNTOLD,
    }
}

/// Of a line about what the run does not show.
const UNTOLD: &str = "open: such a run does not tell";

fn outcome(names: &Names, judged: &Judged, demand: Demand, skipped: bool) -> String {
    if judged.times == 0 && judged.is_open {
        return UNTOLD.to_owned();
    }
    if judged.times == 0 {
        return if skipped { "fails: skipped".to_owned() } else { "fails: never reached".to_owned() };
    }
    let Some(first) = &judged.first else { return format!("holds{}", times(judged.times)) };
    let count = match (judged.failed, judged.times) {
        (1, 1) => String::new(),
        (failed, times) => format!(" {failed} of {times}"),
    };
    format!("fails{count}: {}", why(names, first, demand))
}

pub(super) fn why(names: &Names, mismatch: &Mismatch, demand: Demand) -> String {
    let served = |policy: Option<Policy>| policy.map_or("no class", Policy::name);
    match *mismatch {
        Mismatch::Values { left, right } => {
            let unit = match demand {
                Demand::Compare { unit, .. } => unit,
                Demand::Moments { .. } => Unit::Nanos,
                _ => Unit::Count,
            };
            format!("it is {}, not {}", value(left, unit), value(right, unit))
                .replace(", not ", other_side(demand))
        }
        Mismatch::Absent { subject: true } => "its allocation failed".to_owned(),
        Mismatch::Absent { subject: false } => "the other's allocation failed".to_owned(),
        Mismatch::NoByteShared => "no byte shared".to_owned(),
        // Only hardware does not tell the class of memory that is used again.
        Mismatch::ServedBy(None) if matches!(demand, Demand::Reuses { not: true, .. }) => {
            "it has bytes of it".to_owned()
        }
        Mismatch::ServedBy(policy) => format!("served by {}", served(policy)),
        Mismatch::Addresses { subject, object } if subject == object => {
            format!("both at {subject:#x}")
        }
        Mismatch::Addresses { subject, object } => format!("at {subject:#x}, not {object:#x}"),
        Mismatch::NoWait { freed: true } => "it waits for no such free".to_owned(),
        Mismatch::NoWait { freed: false } => "the other was not freed".to_owned(),
        Mismatch::Waits => "it waits for that free".to_owned(),
        Mismatch::Timing(true) => "another timing may serve it otherwise".to_owned(),
        Mismatch::Timing(false) => "every timing serves it so".to_owned(),
        Mismatch::Reach(Reach::None) => "it does not reach it".to_owned(),
        Mismatch::Reach(Reach::Read) => "it may only read it".to_owned(),
        Mismatch::Reach(Reach::ReadWrite) => "it may read and write it".to_owned(),
        Mismatch::CurrentPool(pool) => format!("it is {}", names.pools[pool]),
        Mismatch::Ended(Ended::NotMade) => "it was not called by then".to_owned(),
        Mismatch::Ended(Ended::Skipped) => "it was skipped".to_owned(),
        Mismatch::Ended(Ended::Succeeded) => "it succeeded".to_owned(),
        Mismatch::Ended(Ended::Failed(failure)) => format!("it failed with {failure}"),
        Mismatch::Findings { count: 0, of_kind: 0 } => "there is no such finding".to_owned(),
        Mismatch::Findings { count: 0, of_kind } => format!("there is none such, but {of_kind} elsewhere"),
        Mismatch::Findings { count, .. } => match demand {
            Demand::NoFindings | Demand::NoLeaks | Demand::Occurs { .. } if count == 1 => {
                "there is 1".to_owned()
            }
            Demand::NoFindings | Demand::NoLeaks | Demand::Occurs { .. } => format!("there are {count}"),
            _ if count == 1 => "it is so once".to_owned(),
            _ => format!("it is so {count} times"),
        },
        Mismatch::Readiness(Readiness::Ready) => "it is ready".to_owned(),
        Mismatch::Readiness(Readiness::Freed) => "it is freed".to_owned(),
        Mismatch::Readiness(Readiness::NotOrdered) => "the stream is not ordered after it".to_owned(),
        Mismatch::Readiness(Readiness::NoStream) => "the stream does not exist".to_owned(),
    }
}

/// Between the two values of a comparison that does not hold.
fn other_side(demand: Demand) -> &'static str {
    use crate::trace::Comparison;
    match demand {
        Demand::Compare { comparison: Comparison::Equal, .. }
        | Demand::Moments { comparison: Comparison::Equal, .. } => ", not ",
        _ => ", against ",
    }
}

pub(super) fn value(value: i128, unit: Unit) -> String {
    match (unit, u64::try_from(value)) {
        (Unit::Bytes, Ok(bytes)) => Bytes(bytes).to_string(),
        (Unit::Nanos, Ok(nanos)) => Nanos(nanos).to_string(),
        (Unit::Switch, Ok(0)) => "off".to_owned(),
        (Unit::Switch, Ok(1)) => "on".to_owned(),
        // Only a time between two events can be so.
        (Unit::Nanos, Err(_)) if let Ok(nanos) = u64::try_from(value.unsigned_abs()) => {
            format!("-{}", Nanos(nanos))
        }
        _ => value.to_string(),
    }
}
