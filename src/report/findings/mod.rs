//! Findings as diagnostics: what is wrong, the lines that it is about, and what there is to know about it.
//!
//! It puts them in words and marks places of the text. How that looks on a page, in JSON or in SARIF is not its affair.

mod facts;
#[cfg(test)]
mod tests;
pub(in crate::report) mod words;

use super::names::Book;
use crate::base::{Code, Diagnostic, Fact, Help, Label, Severity, Span, StmtId, StreamId};
use crate::oracle::{By, Certainty, Explanation, Finding, Missing, Moment, Point, Role, Verdict};
use crate::scenario::Program;
use crate::trace;
use crate::trace::FindingKind;

/// Findings beyond these are counted.
pub(in crate::report) const SHOWN_MAX: usize = 8;

/// Of a finding that an earlier fix removes.
const FIXED_ABOVE: &str = "the fix above removes it, too";

/// A finding with what is known about it beside the verdict.
#[derive(Clone, Debug)]
pub struct Told<'a> {
    /// The finding.
    pub finding: &'a Finding,
    /// What a second run tells about it.
    pub explanation: Option<Explanation>,
    /// Edits that remove it, as they were tried.
    pub fix: Option<Help>,
}

impl<'a> Told<'a> {
    /// One that nothing else is known about.
    pub fn new(finding: &'a Finding) -> Self {
        Self { finding, explanation: None, fix: None }
    }
}

/// The findings of a verdict that a report shows in full: the gravest first, as many as are read.
pub fn shown(verdict: &Verdict) -> Vec<&Finding> {
    let unexpected = told(verdict).filter(|found| found.expected.is_none());
    let mut shown: Vec<&Finding> = unexpected.filter(|found| !is_gathered(found)).collect();
    shown.sort_by_key(|finding| finding.severity);
    shown.truncate(SHOWN_MAX);
    shown
}

/// Those that are told one by one: a deadlock is told with who waits for whom.
pub(in crate::report) fn told(verdict: &Verdict) -> impl Iterator<Item = &Finding> {
    verdict.findings.iter().filter(|found| !found.muted && found.kind != FindingKind::Deadlock)
}

/// Whether it is told in one line with others of its kind: memory that is left over, where nothing says that none is to be.
pub(in crate::report) fn is_gathered(finding: &Finding) -> bool {
    finding.kind == FindingKind::Leak
        && finding.severity != trace::Severity::Error
        && finding.expected.is_none()
}

/// Findings as diagnostics, one below the other: a fix of several is shown with the first of them.
pub fn explained(program: &Program, told: &[Told<'_>]) -> Vec<Diagnostic> {
    let book = Book::new(program);
    let one = |(nth, one): (usize, &Told<'_>)| {
        let is_shown = one.fix.is_some() && told[..nth].iter().any(|before| before.fix == one.fix);
        let diagnostic = diagnostic(&book, one);
        if is_shown { Diagnostic { help: None, ..diagnostic }.help(FIXED_ABOVE) } else { diagnostic }
    };
    told.iter().enumerate().map(one).collect()
}

pub(in crate::report) fn diagnostic(book: &Book<'_>, told: &Told<'_>) -> Diagnostic {
    let Told { finding, explanation, fix } = told;
    let one = One { book, finding, explanation: explanation.as_ref(), is_fixed: fix.is_some() };
    let (message, primary) = (one.title(), one.primary());
    let code = Code(finding.kind.name());
    let mut diagnostic = Diagnostic::error(code, message, primary.span, primary.message);
    diagnostic.severity = severity(finding);
    diagnostic.secondary = one.secondary();
    diagnostic.facts = one.facts();
    diagnostic.help = fix.clone();
    diagnostic
}

/// What is wrong, in one line.
pub(in crate::report) fn title(book: &Book<'_>, finding: &Finding) -> String {
    One { book, finding, explanation: None, is_fixed: false }.title()
}

/// How grave it is in a report.
pub(in crate::report) fn severity(finding: &Finding) -> Severity {
    match finding.severity {
        _ if finding.expected.is_some() => Severity::Note,
        trace::Severity::Error => Severity::Error,
        trace::Severity::Warning => Severity::Warning,
        trace::Severity::Lint => Severity::Lint,
    }
}

/// One finding that is put in words.
pub(in crate::report) struct One<'a> {
    pub(in crate::report) book: &'a Book<'a>,
    pub(in crate::report) finding: &'a Finding,
    pub(in crate::report) explanation: Option<&'a Explanation>,
    /// Whether a fix is shown with it.
    pub(in crate::report) is_fixed: bool,
}

impl One<'_> {
    /// What is wrong, in one line.
    pub(in crate::report) fn title(&self) -> String {
        let Finding { kind, certainty, stmt, times, .. } = *self.finding;
        let (memory, operation) = (self.memory(), self.quoted(stmt));
        let missing = self.finding.missing;
        let side = |pick: fn(&Missing) -> StmtId| missing.as_ref().map_or(stmt, pick);
        let (from, to) = (side(|missing| missing.from.stmt), side(|missing| missing.to.stmt));
        let may = if certainty == Some(Certainty::Definite) { "is" } else { "may be" };
        let other = |role| self.other(role).map_or("a synchronise".to_owned(), |stmt| self.quoted(stmt));
        // Two lines may say the same.
        let both = match self.operation(from) == self.operation(to) {
            true => format!("{}{} and{}", self.quoted(from), self.on(from), self.on(to)),
            false => format!("{} and {}", self.quoted(from), self.quoted(to)),
        };
        let title = match kind {
            FindingKind::UseBeforeAlloc => {
                format!("{memory} {may} used by {} before its allocation", self.quoted(to))
            }
            FindingKind::FreeBeforeAlloc => format!("{memory} {may} freed before its allocation"),
            FindingKind::UseAfterFree if certainty == Some(Certainty::Definite) => {
                format!("{memory} is used by {} after its free", self.quoted(from))
            }
            FindingKind::UseAfterFree => {
                format!("{memory} is freed{} while {} may still use it", self.on(to), self.quoted(from))
            }
            FindingKind::DoubleFree => format!("{memory} is freed a second time"),
            FindingKind::InvalidFree => format!("{memory} cannot be freed by {operation}"),
            FindingKind::Race => format!("{both} touch {memory}, and nothing orders them"),
            FindingKind::HostRace => {
                format!("{both} touch {memory}, one on the host, and nothing orders them")
            }
            FindingKind::AccessDenied => format!("{operation} touches {memory}, which its device may not"),
            FindingKind::Deadlock => "nothing can advance any more".to_owned(),
            FindingKind::UseOfDestroyed => format!("{operation} names what was destroyed"),
            FindingKind::FreedBeforeImporter => {
                format!("{memory} is freed while an importer may still use it")
            }
            FindingKind::OrderedByLuck => {
                format!("only luck orders {} before {}", self.quoted(from), self.quoted(to))
            }
            FindingKind::UninitialisedRead => {
                format!("{operation} reads bytes of {memory} that nothing has written")
            }
            FindingKind::Leak => format!("{memory} is never freed"),
            FindingKind::Overlap => format!("{operation} gets bytes of {memory} that are still in use"),
            FindingKind::UnrecordedWait => {
                format!("{operation} waits for nothing: the event was never recorded")
            }
            FindingKind::OverwrittenRecord => {
                format!("{operation} replaces a record that nobody has waited for")
            }
            FindingKind::RedundantWait => format!("{operation} adds no order"),
            FindingKind::ThresholdInLoop => {
                format!("{} gives back memory that is taken again", other(Role::Synchronise))
            }
            FindingKind::UnobservedTrim => {
                format!("{operation} cannot give back what the host has not observed as freed")
            }
            FindingKind::PolicyOff => {
                format!("the pool grows for {operation}, where a policy that is off would do")
            }
            FindingKind::StrandedCache => {
                format!("the pool grows for {operation}, while freed memory lies idle")
            }
        };
        format!("{title}{}", if times > 1 { format!(" ({times} times)") } else { String::new() })
    }

    /// The memory that it is about.
    fn memory(&self) -> String {
        self.finding.name.map_or("memory".to_owned(), |name| format!("`{}`", self.book.buffer(name)))
    }

    fn name(&self) -> &str {
        self.finding.name.map_or("memory", |name| self.book.own_name(name))
    }

    /// A statement without its stream, its label and what it says about its success.
    pub(in crate::report) fn operation(&self, stmt: StmtId) -> &str {
        let text = self.book.operation(stmt);
        let ends = [" as ", " fails ", " or_fails ", " else ", " takes ", " {"].map(|word| text.find(word));
        text[..ends.into_iter().flatten().min().unwrap_or(text.len())].trim_end()
    }

    fn quoted(&self, stmt: StmtId) -> String {
        format!("`{}`", self.operation(stmt))
    }

    /// ` on s`, for a statement that names its stream; for the node of a graph, the stream of its launch.
    fn on(&self, stmt: StmtId) -> String {
        if let Some((stream, _)) = self.launched(stmt) {
            return format!(" on {}", self.book.stream(stream));
        }
        let text = self.book.program.statements[stmt].text.as_str();
        let stream =
            text.strip_suffix(self.book.operation(stmt)).map(|stream| stream.trim_end_matches([':', ' ']));
        stream.filter(|stream| !stream.is_empty()).map_or(String::new(), |stream| format!(" on {stream}"))
    }

    /// The stream that the node of a graph went to, and what launched it, where it is one side of the order that is missing.
    fn launched(&self, stmt: StmtId) -> Option<(StreamId, Option<StmtId>)> {
        let Missing { from, to, .. } = self.finding.missing?;
        let told = self.explanation;
        let (point, by) = match stmt {
            _ if stmt == from.stmt => (from.point, told.and_then(|told| told.from_launch)),
            _ if stmt == to.stmt => (to.point, told.and_then(|told| told.to_launch)),
            _ => return None,
        };
        let Point::Operation(ticket) = point else { return None };
        self.book.is_node(stmt).then_some((ticket.stream, by))
    }

    /// ` on t, by line 15`, for the node of a graph.
    fn on_by(&self, stmt: StmtId) -> String {
        let by = self.launched(stmt).and_then(|(_, by)| by);
        let by = by.map(|launch| format!(", by line {}", self.line(launch))).unwrap_or_default();
        format!("{}{by}", self.on(stmt))
    }

    fn line(&self, stmt: StmtId) -> u32 {
        self.book.line(stmt)
    }

    pub(in crate::report) fn other(&self, wanted: Role) -> Option<StmtId> {
        self.finding.others.iter().find(|(role, _)| *role == wanted).and_then(|(_, stmt)| *stmt)
    }

    /// The part of a statement that is marked: behind its stream, before its label.
    pub(in crate::report) fn span(&self, stmt: StmtId) -> Span {
        let statement = &self.book.program.statements[stmt];
        let behind = self.book.operation(stmt).len();
        let start = statement.span.start + (statement.text.len() - behind) as u32;
        let marked = self.operation(stmt).lines().next().unwrap_or_default();
        Span::new(start, start + marked.len() as u32)
    }

    /// The statement that is wrong.
    fn primary(&self) -> Label {
        let Finding { kind, stmt, missing, .. } = self.finding;
        let does = match kind {
            FindingKind::Overlap => format!("gets bytes of {}", self.name()),
            _ => self.does(*stmt),
        };
        let message = match (kind, missing) {
            (FindingKind::OrderedByLuck, Some(Missing { from, .. })) if from.stmt != *stmt => {
                format!("{does}; ordered after line {} by luck only", self.line(from.stmt))
            }
            (_, Some(Missing { from, to, .. })) if to.stmt == *stmt && from.stmt != *stmt => {
                format!("{does}; not ordered after line {}", self.line(from.stmt))
            }
            (_, Some(Missing { from, to, .. })) if from.stmt == *stmt && to.stmt != *stmt => {
                match self.finding.certainty {
                    Some(Certainty::Definite) => {
                        let is_ordered = self.explanation.is_some_and(|told| !told.reversed.is_empty());
                        let word = if is_ordered { "ordered" } else { "called" };
                        format!("{does}; {word} after line {}", self.line(to.stmt))
                    }
                    _ => format!("{does}; not ordered before line {}", self.line(to.stmt)),
                }
            }
            (FindingKind::DoubleFree, _) => "freed here again".to_owned(),
            (FindingKind::Leak, _) => "allocated here".to_owned(),
            (FindingKind::UnrecordedWait, _) => "waits for nothing".to_owned(),
            (FindingKind::OverwrittenRecord, _) => "replaces the record before".to_owned(),
            (FindingKind::RedundantWait, _) => "adds no order".to_owned(),
            (FindingKind::ThresholdInLoop, _) => "takes the memory again".to_owned(),
            (FindingKind::UnobservedTrim, _) => "gives back less than it could".to_owned(),
            (FindingKind::PolicyOff | FindingKind::StrandedCache, _) => "makes the pool grow".to_owned(),
            (FindingKind::UninitialisedRead, _) => format!("reads {}", self.name()),
            (FindingKind::Deadlock, _) => "blocked".to_owned(),
            (FindingKind::UseOfDestroyed, _) => "used here".to_owned(),
            _ => does,
        };
        Label { span: self.span(*stmt), message }
    }

    /// What a statement does to the memory.
    fn does(&self, stmt: StmtId) -> String {
        let (name, on, operation) = (self.name(), self.on_by(stmt), self.operation(stmt));
        let gives = operation.split_once(" = ");
        let gives = gives.map(|(left, right)| (left, right.split(' ').next().unwrap_or_default()));
        let (word, rest) = operation.split_once(' ').unwrap_or((operation, ""));
        // What one process calls x another one may call y.
        let memory = if operation.contains(name) { name } else { "the memory" };
        match (gives, word) {
            (Some((left, "alloc" | "malloc")), _) => format!("allocates {left}{on}"),
            (Some((left, "import")), _) => format!("imports {left}"),
            (_, "free") => format!("frees {rest}{on}"),
            // Its other nodes are statements of their own.
            (_, "launch") => format!("frees {name}{on} (auto_free)"),
            (_, "write") => format!("the host writes {memory}"),
            (_, "read") => format!("the host reads {memory}"),
            _ => format!("uses {memory}{on}"),
        }
    }

    /// The other lines that it is about, one label each.
    fn secondary(&self) -> Vec<Label> {
        let mut labels: Vec<(StmtId, String)> = Vec::new();
        let mut add = |stmt: StmtId, message: String| {
            if stmt != self.finding.stmt && labels.iter().all(|(known, _)| *known != stmt) {
                labels.push((stmt, message));
            }
        };
        for (role, stmt) in self.finding.others.iter().filter_map(|(role, stmt)| Some((*role, (*stmt)?))) {
            add(stmt, self.label(role, stmt));
        }
        if let Some(Missing { from, to, .. }) = self.finding.missing {
            [from.stmt, to.stmt].into_iter().for_each(|stmt| add(stmt, self.does(stmt)));
            let pairs = self.explanation.into_iter().flat_map(|told| told.nearest.windows(2));
            for pair in pairs.filter(|pair| pair[0].by == By::Event).take(1) {
                let (link, next) = (pair[0], pair[1]);
                if is_in_one_stream(link.point, from) {
                    let line = self.line(from.stmt);
                    add(link.stmt, format!("recorded before line {line}, so it does not cover it"));
                }
                add(next.stmt, "waits for that record".to_owned());
            }
        }
        // What is no error is told in fewer words.
        let most = if self.is_error() { labels.len() } else { 1 };
        labels.sort_by_key(|(stmt, _)| Some(*stmt) == self.other(Role::Allocation) && !self.is_error());
        labels.truncate(most);
        labels.into_iter().map(|(stmt, message)| Label { span: self.span(stmt), message }).collect()
    }

    fn label(&self, role: Role, stmt: StmtId) -> String {
        match role {
            Role::Allocation | Role::Use => self.does(stmt),
            Role::Free if self.finding.kind == FindingKind::DoubleFree => "freed here first".to_owned(),
            Role::Free if self.finding.kind.severity() == trace::Severity::Lint => {
                format!("freed here{}", self.on(stmt))
            }
            Role::Free => self.does(stmt),
            Role::Reuse => format!("gets the same bytes{}", self.on(stmt)),
            Role::Record if self.finding.kind == FindingKind::RedundantWait => {
                "what it waits for is ordered already".to_owned()
            }
            Role::Record => "recorded here".to_owned(),
            Role::Synchronise => "gives the memory back".to_owned(),
            Role::Waiter => "waits".to_owned(),
            Role::Destroy => "destroyed here".to_owned(),
            Role::Import => "imported here".to_owned(),
            Role::FreeOfImport => {
                format!("freed by the importer; not ordered before line {}", self.line(self.finding.stmt))
            }
        }
    }

    /// Whether it is of a kind that is an error.
    fn is_error(&self) -> bool {
        self.finding.kind.severity() == trace::Severity::Error
    }

    fn facts(&self) -> Vec<Fact> {
        facts::of(self)
    }
}

fn is_in_one_stream(point: Point, moment: Moment) -> bool {
    match (point, moment.point) {
        (Point::Operation(one), Point::Operation(other)) => one.stream == other.stream,
        (Point::Host(one, _), Point::Host(other, _)) => one == other,
        _ => false,
    }
}
