//! What is wrong with the program, whatever its calls answered: each finding with all its statements.

use super::Failing;
use super::judgement::rest;
use super::met;
use super::table::wrap;
use crate::base::{Severity, StmtId};
use crate::oracle::{Finding, Verdict};
use crate::report::findings::{SHOWN_MAX, is_gathered, severity, shown, title, told};
use crate::report::names::Book;
use crate::trace::FindingKind;
use std::collections::BTreeSet;

/// Those that no line expects, the worst first, as `explained` has them or in short, and below them the others. `access` says
/// what a device may not touch at a statement.
pub(super) fn lines(
    book: &Book<'_>,
    verdict: &Verdict,
    explained: &[String],
    access: impl Fn(StmtId) -> Vec<String>,
    width: usize,
) -> Vec<String> {
    let mut lines = Vec::new();
    let unexpected = shown(verdict);
    for (nth, finding) in unexpected.iter().enumerate() {
        lines.push(String::new());
        match explained.get(nth) {
            Some(explained) => lines.extend(explained.lines().map(|line| line.trim_end().to_owned())),
            None => lines.extend(short(book, finding, width)),
        }
        if finding.kind == FindingKind::AccessDenied {
            lines.extend(access(finding.stmt).iter().flat_map(|line| wrap(line, 13, width)));
        }
    }
    let (expected, all): (Vec<&Finding>, Vec<&Finding>) =
        told(verdict).filter(|found| !is_gathered(found)).partition(|finding| finding.expected.is_some());
    lines.extend(rest(all.len(), SHOWN_MAX, "findings"));
    lines.extend(leaks(book, verdict, width));
    if !expected.is_empty() {
        lines.push(String::new());
    }
    expected.iter().take(SHOWN_MAX).for_each(|finding| lines.extend(short(book, finding, width)));
    lines.extend(rest(expected.len(), SHOWN_MAX, "findings that are expected"));
    lines
}

/// The memory that is left over.
fn leaks(book: &Book<'_>, verdict: &Verdict, width: usize) -> Vec<String> {
    let left: Vec<&Finding> = told(verdict).filter(|found| is_gathered(found)).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let one = |finding: &&Finding| {
        let name = finding.name.map_or("memory", |name| book.buffer(name));
        format!("{name} (line {})", book.line(finding.stmt))
    };
    let more = left.len().saturating_sub(SHOWN_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let names: Vec<String> = left.iter().take(SHOWN_MAX).map(one).collect();
    let mut lines = vec![String::new()];
    lines.extend(wrap(&format!("warning[leak]: never freed: {}{more}", names.join(", ")), 2, width));
    lines.push("  `millpond fix FILE` frees it; `allow leak` says that it is to be so".to_owned());
    lines
}

/// What it is, and where.
fn short(book: &Book<'_>, finding: &Finding, width: usize) -> Vec<String> {
    let word = match severity(finding) {
        Severity::Note => "note",
        Severity::Lint => "lint",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let expected = finding.expected.map(|stmt| format!("   expected at line {}", book.line(stmt)));
    let mut lines = wrap(&format!("{word}[{}]: {}", finding.kind, title(book, finding)), 2, width);
    lines.extend(wrap(&format!("  {}{}", text(book, finding.stmt), expected.unwrap_or_default()), 4, width));
    lines
}

fn text(book: &Book<'_>, stmt: StmtId) -> String {
    format!("line {}: {}", book.line(stmt), book.program.statements[stmt].text)
}

/// What fails, one each.
pub(super) fn failures(book: &Book<'_>, verdict: &Verdict) -> impl Iterator<Item = Failing> {
    let failing = verdict.findings.iter().filter(|finding| finding.fails());
    failing.map(|finding| {
        let text = &book.program.statements[finding.stmt].text;
        let (line, code) = (Some(book.line(finding.stmt)), finding.kind.name());
        Failing { line, code, text: format!("{text}   {code}") }
    })
}

/// How many a run has, for its last line: `1 error, 2 warnings, 1 finding, expected at line 20`.
pub(super) fn summary(book: &Book<'_>, verdict: &Verdict) -> Vec<String> {
    let counts = verdict.counts();
    let told = [
        (verdict.unexpected_errors() + counts.errors, "error"),
        (counts.warnings, "warning"),
        (counts.lints, "lint"),
    ];
    let told = told.into_iter().filter(|(count, _)| *count > 0);
    let mut parts: Vec<String> = told.map(|(count, noun)| super::counted(count, noun)).collect();
    if counts.expected > 0 {
        let lines = verdict.findings.iter().filter_map(|finding| finding.expected);
        let lines: BTreeSet<u32> = lines.map(|stmt| book.line(stmt)).collect();
        let shown: Vec<String> = lines.iter().take(SHOWN_MAX).map(u32::to_string).collect();
        let noun = if lines.len() == 1 { "line" } else { "lines" };
        let more = if lines.len() > SHOWN_MAX { " .." } else { "" };
        let findings = super::counted(counts.expected, "finding");
        parts.push(format!("{findings}, expected at {noun} {}{more}", shown.join(" ")));
    }
    parts.extend(met::summary(book.program, &verdict.met));
    // Of a run that was given up it is not known what else it would have come to; on hardware, nothing is looked for.
    if parts.is_empty() && verdict.broken.is_none() && !verdict.is_of_hardware() {
        parts.push("no findings".to_owned());
    }
    for (count, noun) in [(counts.muted_warnings, "warning"), (counts.muted_lints, "lint")] {
        if count > 0 {
            parts.push(format!("{} muted", super::counted(count, noun)));
        }
    }
    parts
}
