//! Kernels of the right side that have met in their memory, as its run on hardware has shown: those that are the same again are
//! counted.
//!
//! Which ones met is known from the run (`docs/hardware.md`, "What a run does"). What else is different is told elsewhere.

use super::super::table::wrap;
use super::counted;
use crate::base::{StmtId, grouped};
use crate::oracle::Met;
use crate::scenario::Program;
use std::collections::BTreeMap;

/// Of so many, each another one, it is told.
const TOLD_MAX: usize = 8;

/// As what fails, behind the differences.
pub(super) fn lines(program: &Program, met: &[Met], width: usize) -> Vec<String> {
    let (mut each, mut places) = (Vec::<(&Met, u64)>::new(), BTreeMap::new());
    for met in met {
        let place = *places.entry((met.stmt, met.expected, met.found, met.late)).or_insert(each.len());
        match each.get_mut(place) {
            Some((_, times)) => *times += 1,
            None => each.push((met, 1)),
        }
    }
    let told = each.iter().take(TOLD_MAX);
    let mut lines: Vec<String> = told.flat_map(|(met, times)| one(program, met, *times, width)).collect();
    if each.len() > TOLD_MAX {
        let left_out: u64 = each[TOLD_MAX..].iter().map(|(_, times)| times).sum();
        lines.push(format!("    .. and {}; --format json has all", counted(left_out, "more overlap")));
    }
    lines
}

fn one(program: &Program, met: &Met, times: u64, width: usize) -> Vec<String> {
    let line = |stmt: StmtId| program.statements[stmt].line;
    let text = |stmt: StmtId| &program.statements[stmt].text;
    let quoted = |stmt: StmtId| format!("`{}` (line {})", text(stmt), line(stmt));
    let often = if times > 1 { format!(", {} times", grouped(times)) } else { String::new() };
    let when = if met.late { "when it ends" } else { "when it begins" };
    let expected = if met.expected == met.stmt { "it".to_owned() } else { quoted(met.expected) };
    let found = met.found.map_or("no kernel of the run".to_owned(), quoted);
    let parts = [
        (format!("error[overlap]: line {}{often}: {}", line(met.stmt), text(met.stmt)), 2),
        (format!("  expected   {when}, its memory holds what {expected} has written"), 13),
        (format!("  found      what {found} has written"), 13),
    ];
    let lines = parts.iter().flat_map(|(part, indent)| wrap(part, *indent, width));
    std::iter::once(String::new()).chain(lines).collect()
}
