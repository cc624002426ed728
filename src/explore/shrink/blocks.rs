//! Blocks that go while what stands in them stays: loops of one turn, of few turns, or written out, and threads that become part of
//! the one that starts them.

use super::hunt::Hunt;
use super::names::words;
use crate::base::Edit;
use crate::edit::insert;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{Expression, ExpressionKind, Literal, Repeat, Statement};

/// A loop of so many turns is written out.
const WRITTEN_OUT_MAX: u64 = 4;

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
    if turns <= WRITTEN_OUT_MAX {
        ways.push(instead((from..to).map(turn).collect()));
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
