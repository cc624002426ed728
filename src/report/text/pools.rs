//! The figures of each pool, call by call, with its peak and what it gave back.

use super::table::{Align, Section, Table, time, wrap};
use crate::base::{Bytes, Nanos, PoolId, StmtId};
use crate::report::names::Book;
use crate::trace::{Attributes, Call, Event, HandleType, Kind, Location, PoolState, Resource};
use std::collections::{BTreeMap, BTreeSet};

/// Rows beyond these are only counted.
const ROWS_MAX: usize = 4096;
/// So many pools have a table of their own, each.
const TABLES_MAX: usize = 3;
/// Where there are more pools than that, so many have one.
const TABLES_OF_MANY: usize = 2;

/// The figures after the calls of one statement.
#[derive(Clone, Copy, Debug)]
struct Line {
    stmt: StmtId,
    /// The latest call, and the figures after it.
    at: Nanos,
    state: PoolState,
    times: u64,
    /// The call that it was told about last, so that two reports of one call count once.
    call: u64,
}

/// What a statement made a pool give back.
#[derive(Clone, Copy, Debug)]
struct Released {
    bytes: Bytes,
    times: u64,
    threshold: Bytes,
    /// Whether the pool had been destroyed.
    at_its_end: bool,
}

#[derive(Clone, Debug, Default)]
struct Pool {
    lines: Vec<Line>,
    places: BTreeMap<StmtId, usize>,
    lost: u64,
    /// When it held most.
    peak: Option<Line>,
    last: Option<PoolState>,
    released: BTreeMap<StmtId, Released>,
}

/// Collects the figures of the pools.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools {
    pools: BTreeMap<PoolId, Pool>,
    calls: u64,
    /// The pool whose destruction is being called; it counts once it did not fail.
    destroying: Option<PoolId>,
    destroyed: BTreeSet<PoolId>,
    /// The destroyed pool whose end is being told, which no call is.
    ending: Option<PoolId>,
}

impl Pools {
    /// Takes an event.
    pub(super) fn event(&mut self, book: &Book<'_>, event: &Event<'_>) {
        match event.kind {
            Kind::Call(call) => {
                self.calls += 1;
                self.settle();
                if let Call::Destroy(Resource::Pool(pool)) = call {
                    self.destroying = Some(*pool);
                }
            }
            Kind::Failed { .. } => self.destroying = None,
            Kind::State { pool, state } => self.state(pool, event, state),
            Kind::Released { pool, bytes } => {
                self.settle();
                let entry = self.pools.entry(pool).or_default();
                let attributes =
                    entry.last.map_or(book.program.setup.pools[pool].attributes, |last| last.attributes);
                let threshold = attributes.release_threshold;
                let at_its_end = self.destroyed.contains(&pool);
                self.ending = at_its_end.then_some(pool);
                let none = Released { bytes: Bytes::ZERO, times: 0, threshold, at_its_end };
                let released = entry.released.entry(event.stmt).or_insert(none);
                released.bytes = Bytes(released.bytes.0.saturating_add(bytes.0));
                released.times += 1;
            }
            _ => {}
        }
    }

    fn settle(&mut self) {
        if let Some(pool) = self.destroying.take() {
            self.destroyed.insert(pool);
        }
    }

    fn state(&mut self, pool: PoolId, event: &Event<'_>, state: &PoolState) {
        let is_end = self.ending.take() == Some(pool);
        let pool = self.pools.entry(pool).or_default();
        pool.last = Some(*state);
        let line = Line { stmt: event.stmt, at: event.at, state: *state, times: 1, call: self.calls };
        let higher = |peak: Line| (state.reserved, state.used) > (peak.state.reserved, peak.state.used);
        if pool.peak.is_none_or(higher) {
            pool.peak = Some(line);
        }
        if let Some(place) = pool.places.get(&event.stmt) {
            let known = &mut pool.lines[*place];
            let times = known.times + u64::from(known.call != self.calls && !is_end);
            *known = Line { times, ..line };
        } else if pool.lines.len() < ROWS_MAX {
            pool.places.insert(event.stmt, pool.lines.len());
            pool.lines.push(line);
        } else {
            pool.lost += 1;
        }
    }

    /// A table a pool, and one line a pool for the pools beyond the first few.
    pub(super) fn sections(self, book: &Book<'_>, width: usize) -> Vec<Section> {
        let tables = if self.pools.len() <= TABLES_MAX { TABLES_MAX } else { TABLES_OF_MANY };
        let mut pools = self.pools.into_iter();
        let mut sections: Vec<Section> =
            pools.by_ref().take(tables).map(|(id, pool)| pool.section(book, id, width)).collect();
        let others: Vec<(PoolId, Pool)> = pools.collect();
        if !others.is_empty() {
            sections.push(summary(book, &others, width));
        }
        sections
    }
}

impl Pool {
    fn section(&self, book: &Book<'_>, id: PoolId, width: usize) -> Section {
        let setup = &book.program.setup.pools[id];
        let on = match setup.location {
            Location::Device(device) => book.program.names.devices[device].clone(),
            Location::HostNuma(node) => format!("host_numa {node}"),
            Location::Host | Location::HostNumaCurrent => "host".to_owned(),
        };
        let attributes = self.last.map_or(setup.attributes, |last| last.attributes);
        let name = &book.program.names.pools[id];
        let is_said = name.ends_with(&format!("{on}.default_pool"));
        let on = if is_said { String::new() } else { format!(" on {on}") };
        let title = format!("Pool {name}{on}   {}", words(&attributes));
        let (lines, peak_at) = self.lines_with_peak();
        let mut figures = Figures::used_by(lines.iter().map(|line| &line.state));
        let mut table = self.table(book, name, &lines, &figures);
        let mut left_out = Vec::new();
        while table.is_wider_than(width)
            && let Some(figure) = figures.leave_one_out()
        {
            left_out.push(figure);
            table = self.table(book, name, &lines, &figures);
        }
        let mut section = Section::of_table(title, &table, width, "calls");
        if setup.handle != HandleType::None {
            section.top.insert(1, format!("  can be shared by {}", setup.handle.name()));
        }
        let title = wrap(&section.top[0], 4, width);
        section.top.splice(..1, title);
        let high = self.last.and_then(|_| section.rows.pop());
        if let Some(row) = peak_at.and_then(|at| section.rows.get_mut(at)) {
            row.pinned = true;
        }
        section.lost = self.lost;
        section.bottom.extend(high.map(|row| row.text));
        section.bottom.extend(self.released_words(book, width));
        if !left_out.is_empty() {
            section.bottom.push(format!("  No room for {}: --format csv has it.", left_out.join(", ")));
        }
        section
    }

    fn table(&self, book: &Book<'_>, name: &str, lines: &[Line], figures: &Figures) -> Table {
        let folded = lines.iter().any(|line| line.times > 1);
        let mut columns = vec![("line", Align::Right), ("host call", Align::Flexible)];
        columns.extend(folded.then_some(("times", Align::Right)));
        columns.push(("at", Align::Right));
        columns.extend(figures.heads());
        let mut table = Table::new(&columns);
        let from = format!(" from {name}");
        for line in lines {
            let call = book.operation(line.stmt);
            // The title says already which pool it is.
            let call = call.split_once(&from).map_or(call, |(call, _)| call);
            let mut cells = vec![book.line(line.stmt).to_string(), call.to_owned()];
            cells.extend(folded.then(|| line.times.to_string()));
            cells.push(time(line.at));
            cells.extend(figures.cells(&line.state));
            table.row(cells);
        }
        if let Some(last) = &self.last {
            let mut cells = vec![String::new(), "high".to_owned()];
            cells.resize(if folded { 4 } else { 3 }, String::new());
            cells.extend([last.reserved_high.human(), last.used_high.human()]);
            cells.resize(columns.len(), String::new());
            table.row(cells);
        }
        table
    }

    /// The rows, with one of its own for the peak where the rows do not show it already; and which row shows it.
    fn lines_with_peak(&self) -> (Vec<Line>, Option<usize>) {
        let mut lines = self.lines.clone();
        let Some(peak) = self.peak else { return (lines, None) };
        if let Some(at) = lines.iter().position(|line| line.state == peak.state && line.at == peak.at) {
            return (lines, Some(at));
        }
        let at = self.places.get(&peak.stmt).copied().unwrap_or(lines.len());
        lines.insert(at, peak);
        (lines, Some(at))
    }

    fn released_words(&self, book: &Book<'_>, width: usize) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (stmt, released) in self.released.iter().take(2) {
            let (line, bytes) = (book.line(*stmt), released.bytes.human());
            let times =
                if released.times > 1 { format!(", in {} calls", released.times) } else { String::new() };
            let call = book.operation(*stmt);
            let why = if released.at_its_end {
                "the pool is destroyed, and nothing of it is in use any more".to_owned()
            } else if call.starts_with("trim") {
                "it trims the pool".to_owned()
            } else if call.contains("alloc") {
                "remapped for a larger block".to_owned()
            } else {
                format!("the pool held more than the threshold {}", threshold(released.threshold))
            };
            let sentence = format!("Line {line} gave {bytes} back{times}: {why}.");
            let lines = wrap(&sentence, 2, width.saturating_sub(2));
            words.extend(lines.iter().map(|line| format!("  {line}")));
        }
        if self.released.len() > 2 {
            words.push(format!("    .. and {} more lines gave memory back", self.released.len() - 2));
        }
        words
    }
}

fn summary(book: &Book<'_>, pools: &[(PoolId, Pool)], width: usize) -> Section {
    let columns = [
        ("pool", Align::Flexible),
        ("calls", Align::Right),
        ("reserved", Align::Right),
        ("reserved_high", Align::Right),
        ("used", Align::Right),
        ("used_high", Align::Right),
    ];
    let mut table = Table::new(&columns);
    for (id, pool) in pools {
        let Some(last) = pool.last else { continue };
        let calls = pool.lines.iter().map(|line| line.times).sum::<u64>() + pool.lost;
        table.row(vec![
            book.program.names.pools[*id].clone(),
            calls.to_string(),
            last.reserved.human(),
            last.reserved_high.human(),
            last.used.human(),
            last.used_high.human(),
        ]);
    }
    Section::of_table("Other pools, at the end".to_owned(), &table, width, "pools")
}

/// Which figures have a column: the first two always, the others where they are not 0 throughout.
struct Figures([bool; 4]);

impl Figures {
    fn used_by<'a>(states: impl Iterator<Item = &'a PoolState>) -> Self {
        let mut used = [false; 4];
        for state in states {
            for (used, figure) in used.iter_mut().zip(Self::of(state)) {
                *used |= figure > Bytes::ZERO;
            }
        }
        Self(used)
    }

    /// Leaves out the column that says least of those there are, but for the two that are always there.
    fn leave_one_out(&mut self) -> Option<&'static str> {
        let column = [0, 3, 2, 1].into_iter().find(|column| self.0[*column])?;
        self.0[column] = false;
        Some(Self::NAMES[column])
    }

    const NAMES: [&'static str; 4] = ["padding", "pending", "cached", "unused"];

    fn of(state: &PoolState) -> [Bytes; 4] {
        [state.ledger.padding, state.ledger.pending, state.ledger.cached, state.ledger.unused]
    }

    fn heads(&self) -> Vec<(&'static str, Align)> {
        let names = Self::NAMES.into_iter().zip(self.0);
        let names = names.filter(|(_, used)| *used).map(|(name, _)| name);
        ["reserved", "used"].into_iter().chain(names).map(|name| (name, Align::Right)).collect()
    }

    fn cells(&self, state: &PoolState) -> Vec<String> {
        let figures =
            Self::of(state).into_iter().zip(self.0).filter(|(_, used)| *used).map(|(figure, _)| figure);
        [state.reserved, state.used].into_iter().chain(figures).map(Bytes::human).collect()
    }
}

fn threshold(bytes: Bytes) -> String {
    if bytes == Bytes::MAX { "max".to_owned() } else { bytes.to_string() }
}

/// The attributes of a pool in words.
fn words(attributes: &Attributes) -> String {
    let reuse = attributes.reuse;
    let policies = [
        (reuse.follow_event, "follow_event"),
        (reuse.opportunistic, "opportunistic"),
        (reuse.internal, "internal"),
    ];
    let on: Vec<&str> = policies.iter().filter(|(on, _)| *on).map(|(_, name)| *name).collect();
    let on = match on.len() {
        0 => "no reuse policy".to_owned(),
        3 => "all reuse policies".to_owned(),
        _ => on.join(" "),
    };
    format!("release_threshold {}, {on}", threshold(attributes.release_threshold))
}
