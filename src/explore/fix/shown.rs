//! The lines that edits change, with the lines around them: data, from which a report makes a picture.

use crate::base::{Edit, LineIndex, Span};
use crate::edit;

/// A line of a text before or after an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the text before; none for a new line.
    pub number: Option<u32>,
    /// What becomes of it.
    pub mark: Mark,
    /// Its text.
    pub text: String,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mark {
    /// It stays.
    Stays,
    /// It is removed.
    Removed,
    /// It is new.
    Added,
}

impl Mark {
    /// The sign of every report.
    pub const fn sign(self) -> char {
        match self {
            Mark::Stays => ' ',
            Mark::Removed => '-',
            Mark::Added => '+',
        }
    }
}

/// What an edit does to whole lines.
struct Change {
    /// The first line that it replaces; of none, the line before which it adds.
    first: usize,
    /// How many lines it replaces.
    count: usize,
    lines: Vec<String>,
}

/// The lines that change, each group with a line around it.
pub(super) fn lines(text: &str, edits: &[Edit]) -> Vec<Line> {
    let old: Vec<&str> = text.lines().collect();
    let index = LineIndex::new(text);
    let mut changes: Vec<Change> = edits.iter().map(|edit| change(text, &old, &index, edit)).collect();
    changes.sort_by_key(|change| (change.first, change.count));
    let mut shown = Vec::new();
    // The first old line that is not shown yet.
    let mut next = 0;
    let stays =
        |line: usize| Line { number: Some(line as u32 + 1), mark: Mark::Stays, text: old[line].to_owned() };
    for (nth, Change { first, count, lines }) in changes.iter().enumerate() {
        shown.extend((first.saturating_sub(1).max(next)..(*first).min(old.len())).map(stays));
        let gone = (*first..first + count).filter(|line| *line < old.len());
        shown.extend(gone.map(|line| Line { mark: Mark::Removed, ..stays(line) }));
        shown.extend(lines.iter().map(|line| Line { number: None, mark: Mark::Added, text: line.clone() }));
        next = next.max(first + count);
        let is_followed = changes.get(nth + 1).is_some_and(|change| change.first <= next);
        if !is_followed && next < old.len() {
            shown.push(stays(next));
            next += 1;
        }
    }
    shown
}

fn change(text: &str, old: &[&str], index: &LineIndex, edit: &Edit) -> Change {
    let line = |at: u32| index.line(at) as usize - 1;
    let Span { start, end } = edit.span;
    let new = || edit.text.trim_matches(['\r', '\n']).lines().map(str::to_owned).collect();
    if start == end && edit.text.ends_with('\n') {
        return Change { first: line(start), count: 0, lines: new() };
    }
    if start == end && edit.text.starts_with(['\r', '\n']) {
        return Change { first: line(start) + 1, count: 0, lines: new() };
    }
    let starts_line = start == 0 || text[..start as usize].ends_with('\n');
    if edit.text.is_empty()
        && starts_line
        && (text[..end as usize].ends_with('\n') || end as usize == text.len())
    {
        return Change {
            first: line(start),
            count: text[edit.span.range()].lines().count(),
            lines: Vec::new(),
        };
    }
    let (first, last) = (line(start), line(end));
    let begin: usize = text.split_inclusive('\n').take(first).map(str::len).sum();
    let inner = Span::new(start - begin as u32, end - begin as u32);
    let replaced = edit::apply(&text[begin..], &[Edit { span: inner, text: edit.text.clone() }]);
    let added = edit.text.lines().count().saturating_sub(1);
    let count = last - first + 1;
    let kept = (1 + added).max(1);
    Change {
        first,
        count: count.min(old.len() - first),
        lines: replaced.lines().take(kept).map(str::to_owned).collect(),
    }
}
