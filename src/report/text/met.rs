//! Kernels that have met in their memory, as a run on hardware has shown: one has found what another one has written. What is the
//! same again is counted.

use super::table::wrap;
use super::{Failing, counted};
use crate::base::StmtId;
use crate::oracle::Met;
use crate::report::meetings::{Meeting, meetings};
use crate::scenario::Program;
use std::collections::BTreeSet;

/// What fails, in one line each.
pub(super) fn failures(program: &Program, met: &[Met]) -> impl Iterator<Item = Failing> {
    let failing = meetings(met).into_iter().filter(|one| one.met.expected_at.is_none());
    failing.map(|Meeting { met, times }| {
        let line = |stmt: StmtId| program.statements[stmt].line;
        let found =
            met.found.map_or("no kernel of the run".to_owned(), |found| format!("line {}", line(found)));
        let (expected, times) = (line(met.expected), super::judgement::times(times));
        let text = format!("overlap{times}: it finds what {found} has written in place of line {expected}");
        Failing { line: Some(line(met.stmt)), code: "overlap", text }
    })
}

/// How many there are, for the last line of a report: `2 overlaps`, `1 overlap, expected at line 20`.
pub(super) fn summary(program: &Program, met: &[Met]) -> Vec<String> {
    let lines: BTreeSet<u32> =
        met.iter().filter_map(|met| Some(program.statements[met.expected_at?].line)).collect();
    let expected = met.iter().filter(|met| met.expected_at.is_some()).count();
    let mut parts = Vec::new();
    parts.extend((met.len() > expected).then(|| counted(met.len() - expected, "overlap")));
    if expected > 0 {
        let shown: Vec<String> = lines.iter().map(u32::to_string).collect();
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        parts.push(format!("{}, expected at {noun} {}", counted(expected, "overlap"), shown.join(" ")));
    }
    parts
}

/// Of so many, each another one, it is told.
const TOLD_MAX: usize = 8;

/// As findings, above everything that holds.
pub(super) fn lines(program: &Program, met: &[Met], width: usize) -> Vec<String> {
    let each = meetings(met);
    let mut lines: Vec<String> = each.iter().take(TOLD_MAX).flat_map(|one| told(program, one)).collect();
    if each.len() > TOLD_MAX {
        let left_out: u64 = each[TOLD_MAX..].iter().map(|one| one.times).sum();
        let left_out = counted(usize::try_from(left_out).unwrap_or(usize::MAX), "more overlap");
        lines.push(format!("    .. and {left_out}; --format json has all"));
    }
    lines.iter().flat_map(|line| wrap(line, if line.starts_with(' ') { 13 } else { 2 }, width)).collect()
}

fn told(program: &Program, Meeting { met, times }: &Meeting<'_>) -> Vec<String> {
    let (line, text) =
        (|stmt: StmtId| program.statements[stmt].line, |stmt: StmtId| &program.statements[stmt].text);
    let quoted = |stmt: StmtId| format!("`{}` (line {})", text(stmt), line(stmt));
    let severity = if met.expected_at.is_some() { "note" } else { "error" };
    let often = super::judgement::times(*times);
    let when = if met.late { "when it ends" } else { "when it begins" };
    let expected = if met.expected == met.stmt { "it".to_owned() } else { quoted(met.expected) };
    let found = met.found.map_or("no kernel of the run".to_owned(), quoted);
    let by = met.expected_at.map(|stmt| format!("   expected at line {}", line(stmt))).unwrap_or_default();
    vec![
        String::new(),
        format!("{severity}[overlap]: line {}{often}: {}{by}", line(met.stmt), text(met.stmt)),
        format!("  expected   {when}, its memory holds what {expected} has written"),
        format!("  found      what {found} has written"),
    ]
}
