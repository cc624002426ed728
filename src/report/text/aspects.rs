//! What a run came to, in words, for reports of many runs.

use super::table::{shorten, wrap};
use crate::base::StmtId;
use crate::explore::campaign::{Aspect, Outcome, Standing};
use crate::scenario::Program;
use crate::trace::{FindingKind, Policy};
use std::collections::{BTreeMap, BTreeSet};

/// So many outcomes are shown, at least half of them such that do not hold, where there are so many of these.
const OUTCOMES_MAX: usize = 6;
/// So many lines say what an outcome is.
const ASPECTS_MAX: usize = 4;
/// What stands before the lines about an outcome.
pub(super) const INDENT: &str = "     ";

/// What all outcomes have in common.
pub(super) fn in_common<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> BTreeSet<&'a Aspect> {
    let mut sets = outcomes.map(|outcome| outcome.0.iter().collect::<BTreeSet<_>>());
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |common, own| common.intersection(&own).copied().collect())
}

/// Which of so many outcomes are shown, the most important ones first: of those that do not hold and of the others the first, by
/// turns.
pub(super) fn choice(count: usize, holds: impl Fn(usize) -> bool) -> Vec<usize> {
    let (failing, holding): (Vec<usize>, Vec<usize>) = (0..count).partition(|nth| !holds(*nth));
    let longer = failing.len().max(holding.len());
    let turns = (0..longer).flat_map(|nth| [failing.get(nth), holding.get(nth)]);
    turns.flatten().copied().take(OUTCOMES_MAX).collect()
}

/// Aspects in words, as few lines as say it.
pub(super) fn told(program: &Program, aspects: Vec<&Aspect>, width: usize) -> Vec<String> {
    let (mut findings, mut words) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
    let mut served = BTreeMap::<_, BTreeSet<u32>>::new();
    for aspect in aspects {
        let (line, text) = line(program, aspect.stmt());
        match aspect {
            Aspect::Finding { kind, stmt, standing, .. } => {
                findings.entry((*standing, *kind)).or_default().push(*stmt);
            }
            Aspect::Served(_, classes) => {
                served.entry(*classes).or_default().insert(line);
            }
            Aspect::Stopped(_) => words.push(format!("stopped at line {line}: {text}")),
            Aspect::Missed(_) => words.push(format!("line {line} does not fail: {text}")),
            Aspect::Mismatch(_) => words.push(format!("line {line} does not hold: {text}")),
            Aspect::NotReached(_) => words.push(format!("line {line} is not reached: {text}")),
            Aspect::Failed { failure, standing, .. } => {
                let expected = if *standing == Standing::Expected { ", as expected" } else { "" };
                words.push(format!("line {line} fails, {failure}{expected}: {text}"));
            }
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for ((standing, kind), mut stmts) in findings {
        stmts.dedup();
        let severity = severity(standing, kind);
        let expected = if standing == Standing::Expected { ", expected" } else { "" };
        lines.push(match stmts.as_slice() {
            [only] => {
                let (line, text) = line(program, *only);
                format!("{severity}[{kind}], line {line}{expected}: {text}")
            }
            several => {
                let numbers: BTreeSet<u32> = several.iter().map(|stmt| line(program, *stmt).0).collect();
                format!("{severity}[{kind}]{expected}: lines {}", listed(&numbers))
            }
        });
    }
    lines.append(&mut words);
    let rest = lines.len().saturating_sub(ASPECTS_MAX);
    lines.truncate(ASPECTS_MAX);
    lines.extend((rest > 0).then(|| format!(".. and {rest} more")));
    let mut lines: Vec<String> =
        lines.iter().map(|line| shorten(&format!("{INDENT}{line}"), width)).collect();
    let rest = served.len().saturating_sub(ASPECTS_MAX);
    let served = served.iter().take(ASPECTS_MAX).map(|(classes, lines)| {
        let by: Vec<&str> = classes.iter().map(Policy::name).collect();
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        format!("{} at {noun} {}", by.join(" and "), listed(lines))
    });
    let served: Vec<String> = served.chain((rest > 0).then(|| format!("{rest} more"))).collect();
    if !served.is_empty() {
        lines.extend(wrap(&format!("{INDENT}served by {}", served.join("; ")), INDENT.len() + 2, width));
    }
    lines
}

/// Where a statement stands, and its text.
fn line(program: &Program, stmt: StmtId) -> (u32, &str) {
    let statement = &program.statements[stmt];
    (statement.line, &statement.text)
}

fn severity(standing: Standing, kind: FindingKind) -> &'static str {
    match standing {
        Standing::Fails => "error",
        Standing::Told => kind.severity().name(),
        Standing::Expected => "note",
    }
}

/// `3, 4, 9 and 12 more`
fn listed(numbers: &BTreeSet<u32>) -> String {
    let shown: Vec<String> = numbers.iter().take(8).map(u32::to_string).collect();
    let more = numbers.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", shown.join(", "))
}
