//! Blocks that go while what stands in them stays: loops of one turn or of few, or written out, and threads that become part of the
//! one that starts them.

use super::hunt::Hunt;
use super::names::words;
use crate::base::Edit;
use crate::edit::insert;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{Expression, ExpressionKind, Literal, Repeat, Statement};

/// Loops of at most so many turns are written out.
const TURNS_MAX: u64 = 4;
/// A text is written out to at most so many lines.
const LINES_MAX: usize = 200;

/// Simplifies each block, from the outermost to the innermost.
pub(super) fn simplify(hunt: &mut Hunt<'_, '_>) {
    let mut nth = 0;
    while let Some(ways) = ways(hunt, nth) {
        // What was in a block that has gone stands in its place now.
        if !ways.iter().any(|edit| hunt.attempt(std::slice::from_ref(edit))) {
            nth += 1;
        }
        if hunt.is_over {
            return;
        }
    }
}

/// The ways to simplify the block of a statement, the best ones first; `None`: there is no such statement.
fn ways(hunt: &Hunt<'_, '_>, nth: usize) -> Option<Vec<Edit>> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let site = sites.all.get(nth)?;
    Some(match site.statement() {
        Some(Statement::Repeat(repeat)) => of_loop(&sites, site, repeat),
        Some(Statement::Thread(_) | Statement::Process(_)) => {
            vec![Edit { span: insert::remove(sites.text, site.item).span, text: inside(&sites, site) }]
        }
        _ => Vec::new(),
    })
}

fn of_loop(sites: &Sites<'_>, site: &Site<'_>, repeat: &Repeat) -> Vec<Edit> {
    let (Some(from), Some(to)) = (number(&repeat.from), number(&repeat.to)) else { return Vec::new() };
    let Some(last) = to.checked_sub(1).filter(|last| *last >= from) else { return Vec::new() };
    let (body, variable) = (inside(sites, site), &repeat.variable.text);
    let turn = |value: u64| with_value(&body, variable, value);
    let instead = |text: String| Edit { span: insert::remove(sites.text, site.item).span, text };
    let mut ways = vec![instead(turn(from)), instead(turn(last))];
    let turns = to - from;
    if turns == 1 {
        return ways;
    }
    let range = repeat.from.span.to(repeat.to.span);
    let mut turns_left = 2;
    while turns_left < turns {
        let ends = [(from, from + turns_left), (to - turns_left, to)];
        ways.extend(ends.map(|(from, to)| Edit { span: range, text: format!("{from}..{to}") }));
        turns_left = turns_left.saturating_mul(2);
    }
    ways.push(Edit { span: range, text: format!("{from}..{last}") });
    ways
}

/// Writes out the short loops, if the text stays short; whether there was one.
pub(super) fn write_out(hunt: &mut Hunt<'_, '_>) -> bool {
    let (mut nth, mut is_any) = (0, false);
    while let Some(edit) = written_out(hunt, nth) {
        match edit.is_some_and(|edit| hunt.attempt(&[edit])) {
            true => is_any = true,
            false => nth += 1,
        }
    }
    is_any
}

/// The loop of a statement written out, if it is one; `None`: there is no such statement.
fn written_out(hunt: &Hunt<'_, '_>, nth: usize) -> Option<Option<Edit>> {
    let sites = Sites::of(&hunt.file, &hunt.text);
    let site = sites.all.get(nth)?;
    let Some(Statement::Repeat(repeat)) = site.statement() else { return Some(None) };
    let (Some(from), Some(to)) = (number(&repeat.from), number(&repeat.to)) else { return Some(None) };
    let (body, turns) = (inside(&sites, site), to.saturating_sub(from));
    let lines = |turns: u64| turns as usize * body.lines().count() + sites.text.lines().count();
    let is_short = turns <= TURNS_MAX && lines(turns) <= LINES_MAX;
    let text = || (from..to).map(|value| with_value(&body, &repeat.variable.text, value)).collect();
    let span = insert::remove(sites.text, site.item).span;
    Some(is_short.then(|| Edit { span, text: text() }))
}

/// The lines in the block of a statement.
fn inside(sites: &Sites<'_>, site: &Site<'_>) -> String {
    let Some(body) = site.statement().and_then(Statement::body) else { return String::new() };
    let (Some(first), Some(close)) = (body.items.first(), &body.close) else { return String::new() };
    sites.text[first.span.start as usize..close.span.start as usize].to_owned()
}

fn number(value: &Expression) -> Option<u64> {
    match value.kind {
        ExpressionKind::Literal(_, Literal::Count(count)) => Some(count),
        _ => None,
    }
}

/// Lines with a value for a name.
fn with_value(lines: &str, name: &str, value: u64) -> String {
    if !words(lines).any(|word| word == name) {
        return lines.to_owned();
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (mut out, mut rest) = (String::new(), lines);
    while let Some(start) = rest.find(is_word) {
        let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |end| start + end);
        out.push_str(&rest[..start]);
        match &rest[start..end] {
            word if word == name => out.push_str(&value.to_string()),
            word => out.push_str(word),
        }
        rest = &rest[end..];
    }
    out + rest
}
