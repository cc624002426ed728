//! An edit that may fix something, before it was tried.

use crate::base::{Edit, Span};
use crate::edit::{self, insert};
use crate::explore::site::{Site, Sites};
use crate::scenario::Program;
use crate::syntax::ast::{Operation, Statement};

/// An edit that may fix something.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) edits: Vec<Edit>,
    /// What it does, in words.
    pub(super) help: String,
    /// Whether it is one of those that are better than nothing: it holds up the host where order among streams would do, or
    /// adds much more order than is missing.
    pub(super) is_last_resort: bool,
    /// How many lines it adds or changes.
    pub(super) lines: usize,
    /// How many operations more than needed it orders, as far as the text shows.
    pub(super) order: u32,
    /// Where a line that is moved stood, and which edit writes it again.
    pub(super) moved: Option<(u32, usize)>,
}

impl Candidate {
    pub(super) fn new(help: impl Into<String>, edits: Vec<Edit>, order: u32) -> Self {
        let lines = edits.iter().map(|edit| edit.text.trim().lines().count().max(1)).sum();
        Self { edits, help: help.into(), is_last_resort: false, lines, order, moved: None }
    }

    pub(super) fn last_resort(self) -> Self {
        Self { is_last_resort: true, ..self }
    }

    /// The cheapest one comes first.
    pub(super) fn rank(&self) -> (bool, usize, u32) {
        (self.is_last_resort, self.lines, self.order)
    }

    /// Where each statement of a program is after the edits: pairs of the new and the old place.
    pub(super) fn places<'p>(&'p self, program: &'p Program) -> impl Iterator<Item = (u32, u32)> + 'p {
        program.statements.iter().filter_map(|statement| {
            let old = statement.span.start;
            let is_gone = |edit: &Edit| edit.span.start <= old && old < edit.span.end;
            match self.moved {
                Some((from, nth)) if from == old => Some((self.written_at(nth), old)),
                _ if self.edits.iter().any(is_gone) => None,
                _ => Some((edit::moved(statement.span, &self.edits).start, old)),
            }
        })
    }

    /// Where the first line that an edit writes stands in the new text.
    fn written_at(&self, nth: usize) -> u32 {
        let edit = &self.edits[nth];
        let others: Vec<Edit> =
            self.edits.iter().enumerate().filter(|(at, _)| *at != nth).map(|(_, e)| e.clone()).collect();
        let start = edit::moved(Span::new(edit.span.start, edit.span.start), &others).start;
        start + (edit.text.len() - edit.text.trim_start().len()) as u32
    }
}

/// What a statement is called in an advice.
pub(super) fn word(site: &Site<'_>) -> &'static str {
    match (site.operation(), site.frees(), site.statement()) {
        (Some(Operation::Alloc { .. }), ..) => "allocation",
        // An order of a launch itself is about what it frees: its nodes are lines of their own.
        (_, Some(_), _) | (Some(Operation::LaunchGraph(_)), ..) => "free",
        (_, _, Some(Statement::Asynchronous(_))) => "access",
        _ => "use",
    }
}

/// The line of a statement put before or after another one.
pub(super) fn moving(
    sites: &Sites<'_>,
    line: &Site<'_>,
    other: &Site<'_>,
    is_after: bool,
    help: impl Into<String>,
) -> Candidate {
    let edits = match is_after {
        true => insert::move_after(sites.text, line.item, other.item),
        false => insert::move_before(sites.text, line.item, other.item),
    };
    let mut candidate = Candidate::new(help, edits, 0);
    candidate.moved = Some((line.item.span.start, 1));
    candidate
}
