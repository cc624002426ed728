//! What is wrong with the program, whatever its calls answered: each finding with all its statements.

use super::Failing;
use super::judgement::{rest, times};
use crate::base::StmtId;
use crate::oracle::{Finding, Role, Verdict};
use crate::report::names::Book;
use crate::trace::FindingKind;
use std::collections::BTreeSet;

/// Findings beyond these are counted.
const SHOWN_MAX: usize = 8;

/// Those that no line expects, the worst first, and below them the others.
pub(super) fn lines(book: &Book<'_>, verdict: &Verdict) -> Vec<String> {
    // A deadlock is told with who waits for whom, elsewhere.
    let told = verdict.findings.iter().filter(|found| !found.muted && found.kind != FindingKind::Deadlock);
    let (expected, mut unexpected): (Vec<&Finding>, Vec<&Finding>) =
        told.partition(|finding| finding.expected.is_some());
    unexpected.sort_by_key(|finding| finding.severity);
    let mut lines = Vec::new();
    for findings in [unexpected, expected] {
        findings.iter().take(SHOWN_MAX).for_each(|finding| lines.extend(one(book, finding)));
        lines.extend(rest(findings.len(), SHOWN_MAX, "findings"));
    }
    lines
}

fn one(book: &Book<'_>, finding: &Finding) -> Vec<String> {
    let Finding { kind, times: count, .. } = finding;
    let severity = if finding.expected.is_some() { "note" } else { "error" };
    let title = format!("{severity}[{kind}]: {}{}", text(book, finding.stmt), times(*count));
    let mut lines = vec![String::new(), title];
    lines.extend(finding.others.iter().map(|(role, stmt)| match (role, stmt) {
        (Role::Import, Some(stmt)) => format!("  imported   {}", text(book, *stmt)),
        (Role::Import, None) => "  imported   nowhere".to_owned(),
        (Role::FreeOfImport, Some(stmt)) => {
            format!("  its free   {}, which nothing orders before", text(book, *stmt))
        }
        (Role::FreeOfImport, None) => "  its free   not called by then".to_owned(),
        (role, Some(stmt)) => format!("  {:<10} {}", role.name(), text(book, *stmt)),
        (role, None) => format!("  {:<10} none", role.name()),
    }));
    lines.push(match finding.expected {
        Some(stmt) => format!("  expected   {}", text(book, stmt)),
        None => {
            let name = finding.name.map(|name| book.own_name(name));
            let on = name.map(|name| format!(" on {name}")).unwrap_or_default();
            format!("  expected?  add `expect finding {kind}{on}`")
        }
    });
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
        Failing { line: Some(book.line(finding.stmt)), text: format!("{text}   {}", finding.kind) }
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
    // Of a run that was given up it is not known what else it would have come to.
    if parts.is_empty() && verdict.broken.is_none() {
        parts.push("no findings".to_owned());
    }
    for (count, noun) in [(counts.muted_warnings, "warning"), (counts.muted_lints, "lint")] {
        if count > 0 {
            parts.push(format!("{} muted", super::counted(count, noun)));
        }
    }
    parts
}
