//! What would have made failed allocations succeed, as data.

use crate::explore::recover::{Attempt, Cost, Recovery, Remedy};
use crate::report::names::Book;
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct RecoveryLine<'a> {
    /// Missing where nothing was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_it_is: Option<CostLine>,
    /// Statements of a program that is too long to be run again.
    too_long: Option<u64>,
    attempts: Vec<AttemptLine<'a>>,
}

#[derive(Serialize)]
struct CostLine {
    end: u64,
    reserved: u64,
}

#[derive(Serialize)]
struct AttemptLine<'a> {
    line: u32,
    recoverable: bool,
    remedies: Vec<RemedyLine<'a>>,
    others: Vec<OtherLine>,
}

#[derive(Serialize)]
struct RemedyLine<'a> {
    by: &'static str,
    cost: CostLine,
    /// The lines of the frees that are waited for.
    frees: Vec<u32>,
    by_timing: bool,
    changes: Vec<ChangeLine<'a>>,
}

#[derive(Serialize)]
struct ChangeLine<'a> {
    place: &'static str,
    line: u32,
    text: &'a str,
}

#[derive(Serialize)]
struct OtherLine {
    by: &'static str,
    why: &'static str,
}

pub(super) fn recovery_line<'a>(book: &Book<'_>, recovery: &'a Recovery) -> RecoveryLine<'a> {
    RecoveryLine {
        as_it_is: (!recovery.attempts.is_empty()).then(|| cost_line(recovery.cost)),
        too_long: recovery.too_long,
        attempts: recovery.attempts.iter().map(|attempt| attempt_line(book, attempt)).collect(),
    }
}

fn cost_line(cost: Cost) -> CostLine {
    CostLine { end: cost.end.0, reserved: cost.reserved.0 }
}

fn attempt_line<'a>(book: &Book<'_>, attempt: &'a Attempt) -> AttemptLine<'a> {
    let others = attempt.others.iter();
    AttemptLine {
        line: book.line(attempt.stmt),
        recoverable: attempt.is_recoverable(),
        remedies: attempt.remedies.iter().map(|remedy| remedy_line(book, remedy)).collect(),
        others: others.map(|(means, why)| OtherLine { by: means.name(), why: why.name() }).collect(),
    }
}

fn remedy_line<'a>(book: &Book<'_>, remedy: &'a Remedy) -> RemedyLine<'a> {
    let changes = remedy.changes.iter();
    RemedyLine {
        by: remedy.means.name(),
        cost: cost_line(remedy.cost),
        frees: remedy.frees.iter().map(|free| book.line(*free)).collect(),
        by_timing: remedy.by_timing,
        changes: changes
            .map(|change| ChangeLine {
                place: change.place.name(),
                line: change.place.line(),
                text: &change.text,
            })
            .collect(),
    }
}
