//! Kernels that have met in their memory, as a run on hardware has shown: one has found what another one has written.

use super::Failing;
use super::table::wrap;
use crate::base::StmtId;
use crate::report::names::Book;
use crate::scenario::Program;

/// A kernel has found something else in its memory than what was written there last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The launch that has found it.
    pub stmt: StmtId,
    /// Who had written there last, by the order of submissions.
    pub expected: StmtId,
    /// Who has written what was found, if it was a launch of the run.
    pub found: Option<StmtId>,
    /// Whether that was at the end of the kernel, and not when it began.
    pub late: bool,
}

impl Met {
    /// In one line.
    pub fn failing(&self, program: &Program) -> Failing {
        let line = |stmt: StmtId| program.statements[stmt].line;
        let found =
            self.found.map_or("no kernel of the run".to_owned(), |found| format!("line {}", line(found)));
        let text =
            format!("overlap: it finds what {found} has written in place of line {}", line(self.expected));
        Failing { line: Some(line(self.stmt)), code: "overlap", text }
    }
}

/// Of so many it is told.
const TOLD_MAX: usize = 8;

/// As findings, above everything that holds.
pub(super) fn lines(book: &Book<'_>, met: &[Met], width: usize) -> Vec<String> {
    let quoted =
        |stmt: StmtId| format!("`{}` (line {})", book.program.statements[stmt].text, book.line(stmt));
    let mut lines = Vec::new();
    for met in met.iter().take(TOLD_MAX) {
        let text = &book.program.statements[met.stmt].text;
        lines.push(String::new());
        lines.push(format!("error[overlap]: line {}: {text}", book.line(met.stmt)));
        let when = if met.late { "when it ends" } else { "when it begins" };
        let by = |stmt| if stmt == met.stmt { "what it has written itself".to_owned() } else { quoted(stmt) };
        lines.push(format!(
            "  should be  {}: {when}, the memory holds what that has written",
            by(met.expected)
        ));
        let found = met.found.map_or("something that no kernel of the run has written".to_owned(), quoted);
        lines.push(format!("  found      {found}"));
    }
    if met.len() > TOLD_MAX {
        lines.push(format!("    .. and {} more overlaps", met.len() - TOLD_MAX));
    }
    lines.iter().flat_map(|line| wrap(line, if line.starts_with(' ') { 13 } else { 2 }, width)).collect()
}
