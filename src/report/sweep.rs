//! Runs of one scenario with other values side by side: what is counted of each, and the table as data.
//!
//! It sees events and verdicts. Which values there are, and how they get into the scenario, is not its affair.

use super::document::{Document, Notation};
use super::{Origin, SCHEMA};
use crate::base::{IndexVec, Nanos, PoolId};
use crate::oracle::Verdict;
use crate::scenario::Program;
use crate::trace::{Call, Decision, Detail, Event, Kind, Policy, Sink};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The sink that counts.
#[derive(Clone, Debug)]
pub struct Tally {
    pools: IndexVec<PoolId, Pool>,
    maps: u64,
    unmaps: u64,
    policies: [u64; 7],
    allocations: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    touched: bool,
    reserved_high: u64,
}

impl Tally {
    /// Nothing is counted yet.
    pub fn new(program: &Program) -> Self {
        let pools = program.setup.pools.iter().map(|_| Pool::default()).collect();
        Self { pools, maps: 0, unmaps: 0, policies: [0; 7], allocations: 0 }
    }

    /// The row of a finished run with these values.
    pub fn row(&self, program: &Program, values: Vec<String>, end: Nanos, verdict: &Verdict) -> SweepRow {
        let touched = self.pools.iter_enumerated().filter(|(_, pool)| pool.touched);
        SweepRow {
            values,
            pools: touched.map(|(id, pool)| (program.names.pools[id].clone(), pool.reserved_high)).collect(),
            maps: self.maps,
            unmaps: self.unmaps,
            policies: self.policies,
            allocations: self.allocations,
            errors: verdict.unexpected_errors() as u64,
            findings: verdict.counts().errors as u64,
            fails: (verdict.failed_expectations() + verdict.missed.len()) as u64,
            deadlock: verdict.deadlock.is_some(),
            stopped: verdict.broken.as_ref().map(|broken| broken.reason.clone()),
            end: end.0,
        }
    }

    fn decided(&mut self, decision: &Decision) {
        self.allocations += 1;
        // Of pools: memory outside of them comes and goes as the program says.
        self.maps += u64::from(decision.policy.is_some() && decision.mapped.0 > 0);
        let class = Policy::ALL.iter().position(|policy| decision.policy == Some(*policy));
        if let Some(class) = class {
            self.policies[class] += 1;
        }
    }
}

impl Sink for Tally {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(Call::Alloc { pool: Some(pool), .. }) => self.pools[*pool].touched = true,
            Kind::Decided(decision) => self.decided(decision),
            Kind::Released { .. } => self.unmaps += 1,
            // A scenario may reset the high mark; the highest of all marks is what the run needed.
            Kind::State { pool, state } => {
                let high = &mut self.pools[pool].reserved_high;
                *high = (*high).max(state.reserved_high.0);
            }
            _ => {}
        }
    }
}

/// What came of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepRow {
    /// The values, in the order of the names.
    pub values: Vec<String>,
    /// For each pool that was asked for memory, the most that it had reserved.
    pub pools: BTreeMap<String, u64>,
    /// How often physical memory was mapped.
    pub maps: u64,
    /// How often physical memory was given back.
    pub unmaps: u64,
    /// How many allocations each class served, in the order of [`Policy::ALL`].
    pub policies: [u64; 7],
    /// How many allocations were placed.
    pub allocations: u64,
    /// Statements that failed without a word about it.
    pub errors: u64,
    /// Findings that are errors, and that no line expects.
    pub findings: u64,
    /// Expectations that do not hold.
    pub fails: u64,
    /// Whether nothing could advance any more.
    pub deadlock: bool,
    /// Why the run was given up, if it was.
    pub stopped: Option<String>,
    /// When it ended, in nanoseconds.
    pub end: u64,
}

impl SweepRow {
    /// Whether the run went wrong, whatever was expected of it.
    pub fn is_wrong(&self) -> bool {
        self.errors > 0 || self.findings > 0 || self.stopped.is_some()
    }
}

/// All rows.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The scenario.
    pub title: String,
    /// Where the runs came from.
    pub origin: Origin,
    /// The names that have other values in each row.
    pub names: Vec<String>,
    /// The rows.
    pub rows: Vec<SweepRow>,
}

#[derive(Serialize)]
struct Header<'a> {
    schema: u32,
    millpond: &'a str,
    scenario: &'a str,
    path: &'a str,
    model: &'a str,
    profile: &'a str,
    seed: u64,
    set: &'a [String],
}

#[derive(Serialize)]
struct RowLine<'a> {
    set: BTreeMap<&'a str, &'a str>,
    reserved_high: &'a BTreeMap<String, u64>,
    maps: u64,
    unmaps: u64,
    policies: BTreeMap<&'static str, u64>,
    allocations: u64,
    errors: u64,
    findings: u64,
    fails: u64,
    deadlock: bool,
    stopped: &'a Option<String>,
    end: u64,
}

impl Sweep {
    /// The pools of all rows, by name.
    pub fn pools(&self) -> Vec<&str> {
        let pools = self.rows.iter().flat_map(|row| row.pools.keys());
        let pools: std::collections::BTreeSet<&str> = pools.map(String::as_str).collect();
        pools.into_iter().collect()
    }

    /// Writes a header and an object a row.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub fn write<W: Write>(&self, notation: Notation, out: W) -> io::Result<W> {
        let header = Header {
            schema: SCHEMA,
            millpond: env!("CARGO_PKG_VERSION"),
            scenario: &self.title,
            path: &self.origin.path,
            model: &self.origin.model,
            profile: &self.origin.profile,
            seed: self.origin.seed,
            set: &self.names,
        };
        let mut document = Document::new(notation, &header, "rows", out);
        let names = self.names.iter().map(String::as_str);
        for row in &self.rows {
            document.element(&RowLine {
                set: names.clone().zip(row.values.iter().map(String::as_str)).collect(),
                reserved_high: &row.pools,
                maps: row.maps,
                unmaps: row.unmaps,
                policies: Policy::ALL.iter().map(|policy| policy.name()).zip(row.policies).collect(),
                allocations: row.allocations,
                errors: row.errors,
                findings: row.findings,
                fails: row.fails,
                deadlock: row.deadlock,
                stopped: &row.stopped,
                end: row.end,
            });
        }
        document.finish(None::<(&str, &())>)
    }

    /// Writes a table with a head.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub fn write_csv<W: Write>(&self, out: W) -> io::Result<W> {
        let mut out = csv::Writer::from_writer(out);
        let pools = self.pools();
        let head = self.names.iter().cloned();
        let head = head.chain(pools.iter().map(|pool| format!("reserved_high {pool}")));
        let head = head.chain(["maps", "unmaps"].map(str::to_owned));
        let head = head.chain(Policy::ALL.iter().map(|policy| policy.name().to_owned()));
        let last = ["allocations", "errors", "findings", "fails", "deadlock", "stopped", "end_ns"];
        out.write_record(head.chain(last.map(str::to_owned)))?;
        for row in &self.rows {
            let high = pools.iter().map(|pool| row.pools.get(*pool).map_or(String::new(), u64::to_string));
            let counts = [row.maps, row.unmaps].into_iter().chain(row.policies);
            let counts = counts
                .chain([row.allocations, row.errors, row.findings, row.fails])
                .map(|count| count.to_string());
            let last =
                [row.deadlock.to_string(), row.stopped.clone().unwrap_or_default(), row.end.to_string()];
            out.write_record(row.values.iter().cloned().chain(high).chain(counts).chain(last))?;
        }
        out.into_inner().map_err(|error| error.into_error())
    }
}
