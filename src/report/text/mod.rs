//! The report for people: streamed, with bounded memory, at most 60 lines plus findings for any scenario.

mod allocations;
mod aspects;
mod calls;
mod campaign;
mod compare;
mod devices;
mod findings;
mod graphs;
mod judgement;
mod memory;
mod met;
mod mismatches;
mod pools;
mod reasons;
mod sweep;
mod table;
mod timeline;
mod timings;

use super::Origin;
use super::names::Book;
use crate::base::Nanos;
use crate::explore::recover::Recovery;
use crate::oracle::Verdict;
use crate::scenario::Program;
use crate::trace::{Detail, Event, Sink};
use std::fmt;
use table::{columns_of, lay_out, shorten, wrap};
pub(in crate::report) use table::{heading as heading_of, time};
pub(in crate::report) use timings::covered;
pub use timings::stopped;

/// The most lines of a report, findings aside.
const LINES_MAX: usize = 60;

/// How a report is to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Columns a line.
    pub width: usize,
    /// Whether to use colours.
    pub colour: bool,
}

/// How the snapshots of a run compare with the file that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// There are none.
    None,
    /// They are the same.
    Equal,
    /// There is no file yet.
    Missing,
    /// They differ; a few lines that show where.
    Different(Vec<String>),
    /// The file was rewritten; a few lines that show what changed.
    Accepted(Vec<String>),
}

impl Compared {
    /// Whether this fails a run.
    pub const fn fails(&self) -> bool {
        matches!(self, Compared::Missing | Compared::Different(_))
    }

    fn word(&self) -> &'static str {
        match self {
            Compared::None => "not compared",
            Compared::Equal => "equal",
            Compared::Missing => "no accepted snapshot",
            Compared::Different(_) => "differs",
            Compared::Accepted(_) => "accepted",
        }
    }
}

/// What is known once the run has ended.
#[derive(Clone, Debug)]
pub struct Closing<'a> {
    /// The last completion, or the last host time.
    pub end: Nanos,
    /// The verdict.
    pub verdict: &'a Verdict,
    /// What is shown in full of the findings, each as it is to look; the others are told in short.
    pub explained: Vec<String>,
    /// What would have made failed allocations succeed.
    pub recovery: &'a Recovery,
    /// The snapshots.
    pub compared: Compared,
    /// The command that accepts them.
    pub accept: String,
}

/// One thing that fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failing {
    /// The line that it is about, if it is about one.
    pub line: Option<u32>,
    /// What kind of thing it is: a finding, a failure, `expectation` or `stopped`.
    pub code: &'static str,
    /// What fails, and how.
    pub text: String,
}

impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// The sink that collects a report.
#[derive(Clone, Debug)]
pub struct Text<'p> {
    origin: Origin,
    options: Options,
    book: Book<'p>,
    allocations: allocations::Allocations,
    timeline: timeline::Timeline,
    pools: pools::Pools,
    devices: devices::Devices,
    graphs: graphs::GraphPools,
    failures: judgement::Failures,
    shortages: memory::Shortages,
    mismatches: mismatches::Mismatches,
}

impl<'p> Text<'p> {
    /// An empty report.
    pub fn new(program: &'p Program, origin: Origin, options: Options) -> Self {
        Self {
            origin,
            options: Options { width: options.width.max(60), ..options },
            book: Book::new(program),
            allocations: Default::default(),
            timeline: Default::default(),
            pools: Default::default(),
            devices: devices::Devices::new(program),
            graphs: Default::default(),
            failures: Default::default(),
            shortages: Default::default(),
            mismatches: mismatches::Mismatches::new(program),
        }
    }

    /// The whole text.
    pub fn finish(self, closing: &Closing<'_>) -> String {
        let Options { width, colour } = self.options;
        let (book, verdict) = (&self.book, closing.verdict);
        let mut sections = self.allocations.sections(book, width);
        sections.extend(self.timeline.section(book, closing.end, width));
        sections.extend(self.pools.sections(book, width));
        sections.extend(self.graphs.sections(book, width));
        sections.extend(self.devices.sections(book, width));
        sections.extend(self.shortages.expected(book, verdict, closing.recovery, width));
        sections.extend(judgement::expectations(book, verdict, &closing.compared, width));
        let mut last = judgement::timings(book, verdict, width);
        last.push(String::new());
        last.extend(summary(book, verdict, closing, width).lines().map(str::to_owned));
        last.extend(variants(book.program, width));
        last.push(next(&self.origin, closing));
        let mut lines: Vec<String> = heading(book, &self.origin, width).lines().map(str::to_owned).collect();
        // What was found stands first and has no limit; what it was found in shares the rest of the lines.
        let room = LINES_MAX.saturating_sub(lines.len() + last.len());
        let short = |stmt| self.shortages.lines(book, closing.recovery, stmt, width);
        lines.extend(self.failures.lines(book, verdict, short, width));
        let access = |stmt| self.failures.access(book, stmt);
        lines.extend(met::lines(book.program, &verdict.met, width));
        lines.extend(findings::lines(book, verdict, &closing.explained, access, width));
        lines.extend(self.mismatches.lines(book, verdict, width));
        lines.extend(lay_out(sections, room));
        if let Compared::Different(differences) = &closing.compared {
            lines.push(String::new());
            lines.push("Snapshot: - accepted, + now".to_owned());
            lines.extend(differences.iter().map(|line| shorten(line, width)));
        }
        lines.append(&mut last);
        let lines = lines.iter().map(|line| if colour { paint(line) } else { line.clone() });
        lines.map(|line| line + "\n").collect()
    }
}

impl Sink for Text<'_> {
    fn wants(&self, detail: Detail) -> bool {
        !matches!(detail, Detail::Pictures | Detail::Order)
    }

    fn event(&mut self, event: &Event<'_>) {
        self.allocations.event(&self.book, event);
        self.timeline.event(&self.book, event);
        self.pools.event(&self.book, event);
        self.devices.event(&self.book, event);
        self.graphs.event(event);
        self.failures.event(event);
        self.shortages.event(&self.book, event);
        self.mismatches.event(&self.book, event);
        self.book.event(event);
    }
}

/// What fails: for who does not read the whole report.
pub fn failures(program: &Program, verdict: &Verdict, compared: &Compared) -> Vec<Failing> {
    let mut failures = judgement::failures(&Book::new(program), verdict, compared);
    failures.extend(met::failures(program, &verdict.met));
    failures
}

fn heading(book: &Book<'_>, origin: &Origin, width: usize) -> String {
    let variant = book.program.variant.as_ref().map(|variant| format!(", variant {variant}"));
    let variant = variant.unwrap_or_default();
    let facts = format!("{}{variant}", origin.facts());
    table::heading(&book.program.title, &origin.path, &facts, width)
}

/// The line that says whether the scenario holds: `holds: 2 expectations, no findings   (..)`.
fn summary(book: &Book<'_>, verdict: &Verdict, closing: &Closing<'_>, width: usize) -> String {
    let holds = verdict.holds() && !closing.compared.fails();
    let mut parts =
        if holds { what_holds(verdict, &closing.compared) } else { what_fails(verdict, &closing.compared) };
    parts.extend(findings::summary(book, verdict));
    let open = Some(verdict.open()).filter(|open| *open > 0 && !holds);
    parts.extend(open.map(|open| format!("{} open", counted(open, "expectation"))));
    let allocations = counted(usize::try_from(verdict.allocations).unwrap_or(usize::MAX), "allocation");
    let is_open = !verdict.fails() && !closing.compared.fails();
    let word = if holds && verdict.open() > 0 && verdict.open() == demanded(verdict) {
        "open"
    } else if holds {
        "holds"
    } else if is_open {
        "undecided"
    } else {
        "fails"
    };
    let facts = format!("({allocations}, {})", time(closing.end));
    let line = format!("{word}: {}   {facts}", parts.join(", "));
    if columns_of(&line) <= width {
        return line;
    }
    let mut lines = wrap(&format!("{word}: {}", parts.join(", ")), 7, width);
    lines.push(format!("       {facts}"));
    lines.join("\n")
}

/// How many demands a run that holds has met or left open.
fn demanded(verdict: &Verdict) -> usize {
    verdict.expectations.len() + verdict.expected_failures()
}

fn what_holds(verdict: &Verdict, compared: &Compared) -> Vec<String> {
    let (all, open) = (demanded(verdict), verdict.open());
    let expectations = match all - open {
        0 if all == 0 => "no expectations".to_owned(),
        0 => counted(all, "expectation"),
        _ if open > 0 => format!("{}, {open} open", counted(all - open, "expectation")),
        count => counted(count, "expectation"),
    };
    let snapshots = verdict.snapshots.len();
    // Those of another allocator, and of standard input, are compared with nothing.
    let unlike = if *compared == Compared::None { " not compared" } else { "" };
    let snapshots = (snapshots > 0).then(|| format!("{}{unlike}", counted(snapshots, "snapshot")));
    std::iter::once(expectations).chain(snapshots).collect()
}

fn what_fails(verdict: &Verdict, compared: &Compared) -> Vec<String> {
    let mut parts = Vec::new();
    let never = verdict.not_reached.iter().filter(|demand| demand.expect.is_none()).count();
    let failed = verdict.failed_expectations() + verdict.missed.len() + never;
    let all = verdict.expectations.len() + verdict.expected_failures() + verdict.missed.len() + never;
    if failed > 0 {
        parts.push(format!("{failed} of {}", counted(all, "expectation")));
    }
    match compared {
        Compared::Missing => parts.push("no accepted snapshot".to_owned()),
        Compared::Different(_) => parts.push("the snapshot differs".to_owned()),
        _ => {}
    }
    parts.extend(verdict.broken.is_some().then(|| "stopped early".to_owned()));
    let undecided = verdict.undecided();
    parts
        .extend((undecided > 0).then(|| format!("{undecided} of {} undecided", counted(all, "expectation"))));
    parts
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The variants of the text, for who ran it as it stands.
fn variants(program: &Program, width: usize) -> Vec<String> {
    let Some(first) = program.variants.first() else {
        return Vec::new();
    };
    let names = program.variants.join(", ");
    wrap(&format!("variants: {names}   run one: millpond run FILE --variant {first}"), 2, width)
}

fn next(origin: &Origin, closing: &Closing<'_>) -> String {
    match closing.compared {
        // What fails is not accepted.
        Compared::Missing | Compared::Different(_) if !closing.verdict.holds() => {
            format!("next: mend what fails, then {}", closing.accept)
        }
        Compared::Missing | Compared::Different(_) => format!("next: {}", closing.accept),
        _ if origin.untimed => "next: the same with --format json, for programs".to_owned(),
        _ => format!(
            "next: millpond run FILE --seed {}, or --format json for programs",
            origin.seed.wrapping_add(1)
        ),
    }
}

/// Colours a finished line by what it is, so that columns stay where they are.
fn paint(line: &str) -> String {
    const BOLD: &str = "\x1b[1m";
    const RED: &str = "\x1b[1;31m";
    const GREEN: &str = "\x1b[1;32m";
    const DIM: &str = "\x1b[2m";
    let whole = |style: &str| format!("{style}{line}\x1b[0m");
    let titles = [
        "Allocations",
        "Time-line",
        "Pool ",
        "Device ",
        "Other pools",
        "Expectations",
        "Where the",
        "Snapshot:",
    ];
    if line.contains('\x1b') {
        return line.to_owned();
    }
    if line.starts_with("error") || line.starts_with("fails:") {
        return whole(RED);
    }
    if line.starts_with("holds:") {
        return whole(GREEN);
    }
    if titles.iter().any(|title| line.starts_with(title)) {
        return whole(BOLD);
    }
    if line.starts_with("next:") || line.starts_with("    .. and") {
        return whole(DIM);
    }
    for (word, style) in [("  fails", RED), ("  differs", RED), ("  holds", GREEN), ("  equal", GREEN)] {
        if let Some(at) = line.find(word) {
            return format!("{}{style}{}\x1b[0m", &line[..at], &line[at..]);
        }
    }
    line.to_owned()
}
