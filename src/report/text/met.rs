//! Kernels that have met in their memory, as a run on hardware has shown: one has found what another one has written.

use super::Failing;
use super::table::wrap;
use crate::base::StmtId;
use crate::oracle::Met;
use crate::scenario::Program;

/// In one line each.
pub(super) fn failing(program: &Program, met: &Met) -> Failing {
    let line = |stmt: StmtId| program.statements[stmt].line;
    let found = met.found.map_or("no kernel of the run".to_owned(), |found| format!("line {}", line(found)));
    let text = format!("overlap: it finds what {found} has written in place of line {}", line(met.expected));
    Failing { line: Some(line(met.stmt)), code: "overlap", text }
}

/// Of so many it is told.
const TOLD_MAX: usize = 8;

/// As findings, above everything that holds.
pub(super) fn lines(program: &Program, met: &[Met], width: usize) -> Vec<String> {
    let quoted = |stmt: StmtId| {
        format!("`{}` (line {})", program.statements[stmt].text, program.statements[stmt].line)
    };
    let mut lines = Vec::new();
    for met in met.iter().take(TOLD_MAX) {
        let text = &program.statements[met.stmt].text;
        lines.push(String::new());
        lines.push(format!("error[overlap]: line {}: {text}", program.statements[met.stmt].line));
        let when = if met.late { "when it ends" } else { "when it begins" };
        let expected = if met.expected == met.stmt { "it".to_owned() } else { quoted(met.expected) };
        lines.push(format!("  expected   {when}, its memory holds what {expected} has written"));
        let found = met.found.map_or("no kernel of the run".to_owned(), quoted);
        lines.push(format!("  found      what {found} has written"));
    }
    if met.len() > TOLD_MAX {
        lines.push(format!("    .. and {} more overlaps", met.len() - TOLD_MAX));
    }
    lines.iter().flat_map(|line| wrap(line, if line.starts_with(' ') { 13 } else { 2 }, width)).collect()
}
