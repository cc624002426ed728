//! Two runs side by side as data: a header with the two sides, an object a difference, a summary.
//!
//! What is different, and what documents say about that, is decided in `compare`.

use super::document::{Document, Notation};
use super::json::OverlapLine;
use super::names::Book;
use super::{Origin, SCHEMA};
use crate::base::{Bytes, PoolId, StmtId};
use crate::compare::{Class, Common, Comparison, Difference, Figures, Held, Key, Outcome, Seen, What};
use crate::oracle::{Broken, Met};
use crate::scenario::Program;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io::{self, Write};

/// One of the two sides.
#[derive(Clone, Debug)]
pub struct ComparedSide<'p> {
    /// Its program.
    pub program: &'p Program,
    /// Where its run comes from.
    pub origin: Origin,
    /// What ran it: `simulation`.
    pub backend: &'static str,
    /// What makes it another one than the other side, as it was written.
    pub with: Vec<String>,
    /// Why its run was given up, if it was.
    pub stopped: Option<Broken>,
}

impl ComparedSide<'_> {
    /// What it depends on beside the text.
    pub(super) fn facts(&self) -> String {
        let variant = self.program.variant.iter().map(|variant| format!("variant {variant}"));
        let origin = self.origin.facts();
        let is_in_facts = |with: &&String| {
            ["seed=", "model=", "profile=", "variant="].iter().any(|known| with.starts_with(known))
        };
        let with = self.with.iter().filter(|with| !is_in_facts(with)).cloned();
        std::iter::once(origin).chain(variant).chain(with).collect::<Vec<_>>().join(", ")
    }
}

/// The backend of a side that is simulated.
pub const SIMULATION: &str = "simulation";

/// Two runs side by side.
#[derive(Clone, Debug)]
pub struct SideBySide<'p> {
    /// The left side, whose lines are told, and the right one.
    pub sides: [ComparedSide<'p>; 2],
    /// What the two programs have in common.
    pub common: &'p Common,
    /// What came of it.
    pub comparison: &'p Comparison,
    /// Where kernels of the right side have met in their memory, if it was run on hardware.
    pub met: &'p [Met],
    /// What blocks are called on either side.
    books: [Book<'p>; 2],
}

impl<'p> SideBySide<'p> {
    /// Two sides, and what came of them; `met`: where kernels of the right side have met in their memory, on hardware.
    pub fn new(
        sides: [ComparedSide<'p>; 2],
        common: &'p Common,
        comparison: &'p Comparison,
        met: &'p [Met],
    ) -> Self {
        let books = sides.each_ref().map(|side| Book::new(side.program));
        Self { sides, common, comparison, met, books }
    }
}

impl SideBySide<'_> {
    /// The program and the id in it of a statement that the left one may not have.
    fn at(&self, stmt: StmtId) -> (&Program, StmtId) {
        match self.common.right_alone(stmt) {
            Some(own) => (self.sides[1].program, own),
            None => (self.sides[0].program, stmt),
        }
    }

    /// The line of a statement.
    pub(super) fn line(&self, stmt: StmtId) -> u32 {
        let (program, stmt) = self.at(stmt);
        program.statements[stmt].line
    }

    /// The lines of the statements that only one side has.
    pub(super) fn lines_alone(&self, side: usize) -> Vec<u32> {
        let statements = &self.sides[side].program.statements;
        self.comparison.alone[side].iter().map(|stmt| statements[*stmt].line).collect()
    }

    /// The text of a statement.
    pub(super) fn text_of(&self, stmt: StmtId) -> &str {
        let (program, stmt) = self.at(stmt);
        &program.statements[stmt].text
    }

    /// What an allocation is called where it is asked for.
    pub(super) fn block(&self, stmt: StmtId) -> String {
        match self.common.right_alone(stmt) {
            Some(own) => self.books[1].asked_as(own),
            None => self.books[0].asked_as(stmt),
        }
    }

    /// The name of a pool.
    pub(super) fn pool(&self, pool: PoolId) -> &str {
        match self.common.right_alone_pool(pool) {
            Some(own) => &self.sides[1].program.names.pools[own],
            None => &self.sides[0].program.names.pools[pool],
        }
    }

    /// The thread that makes a call, unless it is the one that begins the program.
    pub(super) fn thread(&self, key: Key) -> Option<&str> {
        let hosts = &self.sides[0].program.names.hosts;
        hosts.get(key.host).filter(|_| key.host.index() > 0).map(String::as_str)
    }

    /// Writes it for programs.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn write<W: Write>(&self, notation: Notation, out: W) -> io::Result<W> {
        let [left, right] = self.sides.each_ref().map(SideHeader::of);
        let header = Header {
            schema: SCHEMA,
            millpond: env!("CARGO_PKG_VERSION"),
            scenario: &self.sides[0].program.title,
            path: &self.sides[0].origin.path,
            left,
            right,
        };
        let mut document = Document::new(notation, &header, "differences", out);
        for difference in &self.comparison.differences {
            document.element(&self.row(difference));
        }
        document.finish(Some(("summary", &self.summary())))
    }

    fn row(&self, difference: &Difference) -> Row<'_> {
        let Difference { key, what, class, times, left, right, held, follows } = difference;
        let pool = match (what, held) {
            (What::Pool(pool), _) | (_, Some(Held { pool, .. })) => Some(self.pool(*pool)),
            _ => None,
        };
        let other = match left {
            Seen::EndsBefore { other, .. } => Some(*other),
            _ => None,
        };
        Row {
            line: self.line(key.stmt),
            thread: self.thread(*key),
            nth: key.nth,
            times: *times,
            what: what.name(),
            class: class.name(),
            follows: follows.map(|stmt| self.line(stmt)),
            pool,
            other_line: other.map(|other| self.line(other.stmt)),
            other_thread: other.and_then(|other| self.thread(other)),
            other_nth: other.map(|other| other.nth),
            left: self.side(left, held.map(|held| held.left)),
            right: self.side(right, held.map(|held| held.right)),
        }
    }

    /// A side of a difference, with what its pool held.
    fn side(&self, seen: &Seen, held: Option<Figures>) -> Map<String, Value> {
        let mut fields = match seen {
            Seen::Made(made) => json!({ "made": made }),
            Seen::Outcome(outcome) => json!({ "outcome": outcome.name() }),
            Seen::Memory { reuses, grows } => {
                let reuses = reuses.iter().map(|(key, bytes)| self.reused(*key, *bytes));
                json!({
                    "outcome": Outcome::Succeeded.name(),
                    "reuses": reuses.collect::<Vec<_>>(),
                    "mapped": grows.0,
                })
            }
            Seen::Pool => json!({}),
            Seen::Value(value) => json!({ "value": number(*value) }),
            Seen::Values(left, right) => json!({ "value": number(*left), "compared_with": number(*right) }),
            Seen::Readiness(readiness) => json!({ "readiness": readiness.name() }),
            Seen::EndsBefore { before, .. } => json!({ "ends_before": before }),
        };
        let fields = fields.as_object_mut().map(std::mem::take).unwrap_or_default();
        let named = held.iter().flat_map(Figures::named);
        let named = named.map(|(name, bytes)| (name.to_owned(), json!(bytes.0)));
        fields.into_iter().chain(named).collect()
    }

    fn reused(&self, key: Key, bytes: Bytes) -> Value {
        let block = ReusedBlock {
            block: self.block(key.stmt),
            line: self.line(key.stmt),
            thread: self.thread(key),
            nth: key.nth,
            size: bytes.0,
        };
        json!(block)
    }

    fn stopped(&self, side: usize) -> Option<Stopped<'_>> {
        let ComparedSide { program, stopped, .. } = &self.sides[side];
        let Broken { stmt, reason } = stopped.as_ref()?;
        Some(Stopped { line: program.statements[*stmt].line, reason })
    }

    fn summary(&self) -> Summary<'_> {
        let Comparison { differences, turned, compared, .. } = self.comparison;
        Summary {
            differences: differences.len(),
            differs: self.comparison.of(Class::Differs),
            timing: self.comparison.of(Class::Timing),
            unspecified: self.comparison.of(Class::Unspecified),
            calls: compared.calls,
            allocations: compared.allocations,
            states: compared.states,
            pools: compared.pools,
            values: compared.values,
            operations: compared.operations,
            left_only: self.lines_alone(0),
            right_only: self.lines_alone(1),
            turned: turned.map(|stmt| self.line(stmt)),
            left_stopped: self.stopped(0),
            right_stopped: self.stopped(1),
            notes: self.comparison.deviations.iter().map(|deviation| deviation.name()).collect(),
            overlaps: self.met.iter().map(|met| OverlapLine::of(met, self.sides[1].program)).collect(),
        }
    }
}

/// A number as JSON has it; those that do not fit stand as text.
fn number(value: i128) -> Value {
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => json!(value),
        (_, Ok(value)) => json!(value),
        _ => json!(value.to_string()),
    }
}

#[derive(Serialize)]
struct Header<'a> {
    schema: u32,
    millpond: &'static str,
    scenario: &'a str,
    path: &'a str,
    left: SideHeader<'a>,
    right: SideHeader<'a>,
}

#[derive(Serialize)]
struct SideHeader<'a> {
    backend: &'a str,
    model: &'a str,
    profile: &'a str,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    with: &'a [String],
    /// Missing in a simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    hardware: Option<&'a str>,
}

impl<'a> SideHeader<'a> {
    fn of(side: &'a ComparedSide<'_>) -> Self {
        Self {
            backend: side.backend,
            model: &side.origin.model,
            profile: &side.origin.profile,
            seed: side.origin.seed,
            variant: side.program.variant.as_deref(),
            with: &side.with,
            hardware: side.origin.hardware.as_deref(),
        }
    }
}

#[derive(Serialize)]
struct Row<'a> {
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    nth: u32,
    times: u64,
    what: &'static str,
    class: &'static str,
    follows: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_thread: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_nth: Option<u32>,
    left: Map<String, Value>,
    right: Map<String, Value>,
}

#[derive(Serialize)]
struct ReusedBlock<'a> {
    block: String,
    line: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<&'a str>,
    nth: u32,
    size: u64,
}

/// Why a run was given up.
#[derive(Serialize)]
struct Stopped<'a> {
    line: u32,
    reason: &'a str,
}

#[derive(Serialize)]
struct Summary<'a> {
    differences: usize,
    differs: usize,
    timing: usize,
    unspecified: usize,
    calls: u64,
    allocations: u64,
    states: u64,
    pools: u64,
    values: u64,
    operations: u64,
    left_only: Vec<u32>,
    right_only: Vec<u32>,
    turned: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_stopped: Option<Stopped<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    right_stopped: Option<Stopped<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<&'static str>,
    /// Missing where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlaps: Vec<OverlapLine>,
}
