//! The worst that was found of a program: a greatest value, a run that has it, and whether there is no greater one.

use super::document::{Document, Notation};
use super::text::{covered, heading_of};
use super::timings::CoveragePart;
use super::{Origin, SCHEMA};
use crate::base::{Bytes, Nanos, grouped};
use crate::explore::exhaustive::{Coverage, Limits};
use crate::scenario::Program;
use serde::Serialize;
use std::io::{self, Write};

/// The greatest value that was found.
#[derive(Clone, Debug)]
pub struct Worst<'a> {
    /// The program.
    pub program: &'a Program,
    /// Where it came from.
    pub origin: Origin,
    /// What was to be as great as possible, as it was given.
    pub what: String,
    /// What its numbers are.
    pub measure: Measure,
    /// The value.
    pub value: u64,
    /// How it was looked for.
    pub searched: Searched,
    /// What shows a run that has the value.
    pub schedule: String,
    /// What stands behind the schedule in a command that shows it.
    pub shown_with: String,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Bytes.
    Bytes,
    /// A time.
    Nanos,
    /// A plain number.
    Count,
}

/// How the greatest value was looked for.
#[derive(Clone, Copy, Debug)]
pub enum Searched {
    /// Among all timings, up to these limits.
    All(Coverage, Limits),
    /// In so many runs.
    Runs(u64),
}

#[derive(Serialize)]
struct Header<'a> {
    schema: u32,
    millpond: &'a str,
    scenario: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    path: &'a str,
    model: &'a str,
    profile: &'a str,
    maximise: &'a str,
}

#[derive(Serialize)]
struct Greatest<'a> {
    value: u64,
    is_exact: bool,
    schedule: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<CoveragePart>,
}

impl Worst<'_> {
    /// Whether there is no greater value.
    pub fn is_exact(&self) -> bool {
        matches!(self.searched, Searched::All(coverage, _) if coverage.is_complete())
    }

    /// The report for people.
    pub fn text(&self, width: usize) -> String {
        let Self { origin, what, schedule, shown_with, .. } = self;
        let value = match self.measure {
            Measure::Bytes => Bytes(self.value).human(),
            Measure::Nanos => Nanos(self.value).to_string(),
            Measure::Count => grouped(self.value),
        };
        let how = if matches!(self.searched, Searched::All(..)) { "untimed" } else { "runs" };
        let mut facts = format!("{}, {}, {how}", origin.model, origin.profile);
        facts.extend(self.program.variant.iter().map(|variant| format!(", variant {variant}")));
        let mut lines = vec![
            heading_of(&self.program.title, &origin.path, &facts, width),
            String::new(),
            format!("{what} is at most {value}:"),
            format!("  millpond replay {schedule} {shown_with}"),
            String::new(),
        ];
        match self.searched {
            Searched::All(coverage, limits) => {
                lines.extend(covered(&coverage, limits, None, width));
                lines.push(match self.is_exact() {
                    true => "exact: no timing of this model and profile has more".to_owned(),
                    false => "found: there may be more".to_owned(),
                });
            }
            Searched::Runs(runs) => {
                let runs = if runs == 1 { "1 run".to_owned() } else { format!("{} runs", grouped(runs)) };
                lines.push(format!("found in {runs}: there may be more"));
            }
        }
        if !self.is_exact() {
            lines[2] = format!("{what} is {value}, the most that was found:");
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Writes a header and the value.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub fn write<W: Write>(&self, notation: Notation, out: W) -> io::Result<W> {
        let header = Header {
            schema: SCHEMA,
            millpond: env!("CARGO_PKG_VERSION"),
            scenario: &self.program.title,
            variant: self.program.variant.as_deref(),
            path: &self.origin.path,
            model: &self.origin.model,
            profile: &self.origin.profile,
            maximise: &self.what,
        };
        let (runs, coverage) = match self.searched {
            Searched::All(coverage, _) => (None, Some(coverage.into())),
            Searched::Runs(runs) => (Some(runs), None),
        };
        let mut document = Document::new(notation, &header, "greatest", out);
        document.element(&Greatest {
            value: self.value,
            is_exact: self.is_exact(),
            schedule: &self.schedule,
            runs,
            coverage,
        });
        document.finish(None::<(&str, &())>)
    }
}
