//! What came of all timings of a program: in words, and as data. The table for people is made from the same.
//!
//! It says what each outcome is and how to see it again, and how far the search came. What tells outcomes apart is not its affair.

use super::aspects::{AspectPart, aspect_part};
use super::document::{Document, Notation};
use super::{Origin, SCHEMA};
use crate::explore::exhaustive::{Coverage, Limit, Limits};
use crate::explore::untimed::{Found, Untimed};
use crate::explore::{Choices, Schedule};
use crate::scenario::Program;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A search through all timings that has ended.
#[derive(Clone, Debug)]
pub struct Timings<'a> {
    /// The program.
    pub program: &'a Program,
    /// What came of it.
    pub untimed: &'a Untimed,
    /// How far it might go.
    pub limits: Limits,
    /// Where the program came from.
    pub origin: Origin,
    /// What repeats a run, but for its choices.
    pub schedule: Schedule,
    /// The scenario as a word of a command.
    pub file: String,
    /// What a replay needs beside the schedule and the file, as arguments with a blank before each.
    pub shown_with: String,
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
    strategy: &'a str,
    limit: u64,
}

#[derive(Serialize)]
struct OutcomeLine<'a> {
    outcome: usize,
    holds: bool,
    schedule: String,
    aspects: Vec<AspectPart<'a>>,
}

#[derive(Serialize)]
struct Summary<'a> {
    outcomes: usize,
    failing: usize,
    holds: bool,
    coverage: CoveragePart,
    reserved_high: BTreeMap<&'a str, [u64; 2]>,
}

#[derive(Serialize)]
pub(super) struct CoveragePart {
    is_complete: bool,
    nodes: u64,
    states: u64,
    leaves: u64,
    reached: Option<&'static str>,
    asks_for_times: bool,
}

impl From<Coverage> for CoveragePart {
    fn from(coverage: Coverage) -> Self {
        let Coverage { nodes, states, leaves, reached, asks_for_times } = coverage;
        let is_complete = coverage.is_complete();
        Self { is_complete, nodes, states, leaves, reached: reached.map(limit), asks_for_times }
    }
}

fn limit(limit: Limit) -> &'static str {
    match limit {
        Limit::Nodes => "nodes",
        Limit::States => "states",
        Limit::Cuts => "cuts",
        Limit::Stopped => "stopped",
    }
}

impl<'a> Timings<'a> {
    /// Whether every outcome holds that was found.
    pub fn holds(&self) -> bool {
        self.untimed.failing() == 0
    }

    fn schedule_of(&self, found: &Found) -> Schedule {
        self.schedule.with_choices(Choices::Untimed(found.witness.clone()))
    }

    /// The command that shows a run with an outcome.
    pub(super) fn replay(&self, found: &Found) -> String {
        let Self { file, shown_with, .. } = self;
        format!("millpond replay {} {file}{shown_with}", self.schedule_of(found))
    }

    /// Of the pools that had any memory, what they are called and the least and the most that they had reserved.
    pub(super) fn pools(&self) -> impl Iterator<Item = (&'a str, [u64; 2])> {
        let (names, high) = (&self.program.names.pools, &self.untimed.reserved_high);
        let ends = high.iter_enumerated().filter_map(|(pool, ends)| Some((names[pool].as_str(), (*ends)?)));
        ends.filter(|(_, [_, most])| *most > 0)
    }

    /// Writes a header, an object an outcome, and a summary.
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
            strategy: "untimed",
            limit: self.limits.nodes,
        };
        let mut document = Document::new(notation, &header, "outcomes", out);
        for (nth, (outcome, found)) in self.untimed.sorted().into_iter().enumerate() {
            let aspects = outcome.0.iter().map(|aspect| aspect_part(self.program, aspect));
            document.element(&OutcomeLine {
                outcome: nth + 1,
                holds: found.holds,
                schedule: self.schedule_of(found).to_string(),
                aspects: aspects.collect(),
            });
        }
        let summary = Summary {
            outcomes: self.untimed.outcomes.len(),
            failing: self.untimed.failing(),
            holds: self.holds(),
            coverage: self.untimed.coverage.into(),
            reserved_high: self.pools().collect(),
        };
        document.finish(Some(("summary", &summary)))
    }
}
