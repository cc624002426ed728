//! What came of a campaign: in words, and as data. The table for people is made from the same.
//!
//! It says what each outcome is and how to see it again. Which runs there were, and what tells outcomes apart, is not its
//! affair.

use super::aspects::{AspectPart, aspect_part};
use super::document::{Document, Notation};
use super::{Origin, SCHEMA};
use crate::base::StmtId;
use crate::explore::campaign::{Campaign, Outcome, Seen, Served, Spread};
use crate::explore::{Bound, Choices, Schedule};
use crate::scenario::Program;
use crate::trace::Policy;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// A campaign that has ended.
#[derive(Clone, Debug)]
pub struct Explored<'a> {
    /// The program.
    pub program: &'a Program,
    /// What came of the runs.
    pub campaign: &'a Campaign,
    /// Where they came from; the seed is the first one.
    pub origin: Origin,
    /// What repeats the first run.
    pub schedule: Schedule,
    /// The scenario as a word of a command.
    pub file: String,
    /// What a replay needs beside the schedule and the file, as arguments with a blank before each.
    pub shown_with: String,
    /// What else the runs depend on, as arguments with a blank before each.
    pub options: String,
    /// Why there were no more runs.
    pub ended: Ended,
}

/// Why an exploration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All runs that were asked for are made.
    Complete,
    /// It is stable, as was asked for.
    Stable,
    /// It should have become stable, and did not before its limit.
    NotStable,
    /// The time that was asked for is over.
    TimeIsUp,
    /// Somebody stopped it.
    Interrupted,
}

impl Ended {
    const fn name(self) -> &'static str {
        match self {
            Ended::Complete => "complete",
            Ended::Stable => "stable",
            Ended::NotStable => "not_stable",
            Ended::TimeIsUp => "time_is_up",
            Ended::Interrupted => "interrupted",
        }
    }
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
    strategy: String,
    base_seed: u64,
    jitter: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound: Option<BoundPart>,
}

#[derive(Serialize)]
struct BoundPart {
    threads: u64,
    calls: u64,
    depth: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    runs: Option<u64>,
}

#[derive(Serialize)]
struct OutcomeLine<'a> {
    outcome: usize,
    runs: u64,
    holds: bool,
    seed: u64,
    schedule: String,
    aspects: Vec<AspectPart<'a>>,
}

#[derive(Serialize)]
struct Summary<'a> {
    runs: u64,
    failing: u64,
    holds: bool,
    ended: &'a str,
    outcomes: usize,
    seen_once: u64,
    latest_new: u64,
    is_stable: bool,
    end: Option<SpreadPart>,
    reserved_high: BTreeMap<&'a str, SpreadPart>,
    served: Vec<ServedPart<'a>>,
}

#[derive(Serialize)]
struct SpreadPart {
    least: u64,
    least_seed: u64,
    p1: u64,
    p50: u64,
    p99: u64,
    most: u64,
    most_seed: u64,
}

#[derive(Serialize)]
struct ServedPart<'a> {
    line: u32,
    text: &'a str,
    calls: u64,
    failed: u64,
    by: BTreeMap<&'a str, u64>,
}

impl<'a> Explored<'a> {
    /// Whether every run holds.
    pub fn holds(&self) -> bool {
        self.campaign.failing == 0
    }

    /// The command that shows the first run with an outcome.
    pub(super) fn replay(&self, seen: Seen) -> String {
        let Self { file, shown_with, .. } = self;
        format!("millpond replay {} {file}{shown_with}", self.schedule_of(seen))
    }

    fn schedule_of(&self, seen: Seen) -> Schedule {
        self.schedule.with_choices(Choices::Drawn { strategy: self.origin.strategy, seed: seen.first })
    }

    /// Of the pools that had any memory, what they are called and the most that they had reserved.
    pub(super) fn pools(&self) -> impl Iterator<Item = (&'a str, &'a Spread)> {
        let names = &self.program.names.pools;
        let pools = self.campaign.reserved_high.iter_enumerated();
        let pools = pools.filter(|(_, spread)| spread.most().is_some_and(|most| most.value > 0));
        pools.map(|(pool, spread)| (names[pool].as_str(), spread))
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
            strategy: self.origin.strategy.to_string(),
            base_seed: self.campaign.base,
            jitter: self.origin.jitter,
            bound: Bound::of(self.program).map(bound_part),
        };
        let mut document = Document::new(notation, &header, "outcomes", out);
        for (nth, (outcome, seen)) in self.campaign.by_runs().into_iter().enumerate() {
            document.element(&self.outcome_line(nth, outcome, seen));
        }
        document.finish(Some(("summary", &self.summary())))
    }

    fn outcome_line(&self, nth: usize, Outcome(aspects): &'a Outcome, seen: Seen) -> OutcomeLine<'a> {
        let schedule = self.schedule_of(seen).to_string();
        let aspects = aspects.iter().map(|aspect| aspect_part(self.program, aspect)).collect();
        OutcomeLine {
            outcome: nth + 1,
            runs: seen.runs,
            holds: seen.holds,
            seed: seen.first,
            schedule,
            aspects,
        }
    }

    /// Where a statement stands, and its text.
    pub(super) fn line(&self, stmt: StmtId) -> (u32, &'a str) {
        let statement = &self.program.statements[stmt];
        (statement.line, &statement.text)
    }

    fn summary(&self) -> Summary<'a> {
        let campaign = self.campaign;
        let pools = self.pools().filter_map(|(name, spread)| Some((name, spread_part(spread)?)));
        let served = campaign.served.iter().map(|(stmt, served)| self.served_part(*stmt, served));
        Summary {
            runs: campaign.runs,
            failing: campaign.failing,
            holds: self.holds(),
            ended: self.ended.name(),
            outcomes: campaign.outcomes.len(),
            seen_once: campaign.seen_once(),
            latest_new: campaign.latest_new(),
            is_stable: campaign.is_stable(),
            end: spread_part(&campaign.end),
            reserved_high: pools.collect(),
            served: served.collect(),
        }
    }

    fn served_part(&self, stmt: StmtId, served: &Served) -> ServedPart<'a> {
        let (line, text) = self.line(stmt);
        let by = Policy::ALL.iter().map(|policy| policy.name()).zip(served.by);
        ServedPart { line, text, calls: served.calls(), failed: served.failed, by: by.collect() }
    }
}

fn bound_part(bound: Bound) -> BoundPart {
    let Bound { threads, calls, depth } = bound;
    BoundPart { threads, calls, depth, runs: bound.runs() }
}

fn spread_part(spread: &Spread) -> Option<SpreadPart> {
    let (least, most) = (spread.least()?, spread.most()?);
    Some(SpreadPart {
        least: least.value,
        least_seed: least.seed,
        p1: spread.percentile(1)?,
        p50: spread.percentile(50)?,
        p99: spread.percentile(99)?,
        most: most.value,
        most_seed: most.seed,
    })
}
