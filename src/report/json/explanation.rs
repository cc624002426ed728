//! What a run tells about the order that a finding misses.

use crate::base::StmtId;
use crate::oracle::{Explanation, Link, Ran, Reuse};
use crate::report::names::Book;
use crate::scenario::Program;
use crate::trace::Policy;
use serde::Serialize;

/// What a run tells about an order that is missing.
#[derive(Serialize)]
pub(super) struct ExplanationLine<'a> {
    nearest: Vec<LinkLine<'a>>,
    reversed: Vec<LinkLine<'a>>,
    from: Option<RanLine>,
    to: Option<RanLine>,
    reuse: Option<ReuseLine<'a>>,
}

/// A point on the way, and by what it comes before the next one.
#[derive(Serialize)]
struct LinkLine<'a> {
    line: u32,
    text: &'a str,
    by: &'static str,
}

/// When something ran.
#[derive(Serialize)]
struct RanLine {
    start: u64,
    end: Option<u64>,
}

/// The next allocation with the same memory.
#[derive(Serialize)]
struct ReuseLine<'a> {
    line: u32,
    text: &'a str,
    serial: u32,
    policy: Option<&'static str>,
    at: u64,
    together: Option<TogetherLine<'a>>,
}

/// What had the memory at once.
#[derive(Serialize)]
struct TogetherLine<'a> {
    line: u32,
    text: &'a str,
    with_line: u32,
    with_text: &'a str,
    start: u64,
    end: Option<u64>,
}

pub(super) fn explained<'a>(book: &Book<'a>, explanation: &Explanation) -> ExplanationLine<'a> {
    let program: &'a Program = book.program;
    let text = |stmt: StmtId| program.statements[stmt].text.as_str();
    let link =
        |link: &Link| LinkLine { line: book.line(link.stmt), text: text(link.stmt), by: link.by.name() };
    let ran = |ran: Ran| RanLine { start: ran.start.0, end: ran.end.map(|end| end.0) };
    let reuse = |reuse: &Reuse| ReuseLine {
        line: book.line(reuse.stmt),
        text: text(reuse.stmt),
        serial: reuse.alloc.serial,
        policy: reuse.policy.map(Policy::name),
        at: reuse.at.0,
        together: reuse.together.map(|(old, new, ran)| TogetherLine {
            line: book.line(old),
            text: text(old),
            with_line: book.line(new),
            with_text: text(new),
            start: ran.start.0,
            end: ran.end.map(|end| end.0),
        }),
    };
    ExplanationLine {
        nearest: explanation.nearest.iter().map(link).collect(),
        reversed: explanation.reversed.iter().map(link).collect(),
        from: explanation.from.map(ran),
        to: explanation.to.map(ran),
        reuse: explanation.reuse.as_ref().map(reuse),
    }
}
