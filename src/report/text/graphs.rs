//! The memory of graphs on each device, call by call.

use super::table::{Align, Section, Table, time};
use crate::base::{Bytes, DeviceId, Nanos, StmtId};
use crate::report::names::Book;
use crate::trace::{Event, GraphPoolState, Kind};
use std::collections::BTreeMap;

/// Statements beyond these are only counted.
const ROWS_MAX: usize = 512;

/// A graph pool after the latest call of a statement.
#[derive(Clone, Copy, Debug)]
struct Line {
    stmt: StmtId,
    at: Nanos,
    state: GraphPoolState,
    times: u64,
}

#[derive(Clone, Debug, Default)]
struct Pool {
    lines: Vec<Line>,
    places: BTreeMap<StmtId, usize>,
    lost: u64,
    /// The most that was used and reserved at any time.
    peak: (Bytes, Bytes),
}

/// Collects the states of graph pools.
#[derive(Clone, Debug, Default)]
pub(super) struct GraphPools {
    pools: BTreeMap<DeviceId, Pool>,
}

impl GraphPools {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let Kind::GraphPool { device, state } = event.kind else { return };
        let pool = self.pools.entry(device).or_default();
        pool.peak = (pool.peak.0.max(state.used), pool.peak.1.max(state.reserved));
        let line = Line { stmt: event.stmt, at: event.at, state: *state, times: 1 };
        if let Some(place) = pool.places.get(&event.stmt) {
            let known = &mut pool.lines[*place];
            *known = Line { times: known.times + 1, ..line };
        } else if pool.lines.len() < ROWS_MAX {
            pool.places.insert(event.stmt, pool.lines.len());
            pool.lines.push(line);
        } else {
            pool.lost += 1;
        }
    }

    /// A table a device.
    pub(super) fn sections(self, book: &Book<'_>, width: usize) -> Vec<Section> {
        self.pools.into_iter().map(|(id, pool)| pool.section(book, id, width)).collect()
    }
}

impl Pool {
    fn section(self, book: &Book<'_>, id: DeviceId, width: usize) -> Section {
        let owner = &book.program.names.owners[id];
        let (used, reserved) = (self.peak.0.human(), self.peak.1.human());
        let title = format!("Pool {owner}.graph_pool   at most {used} used, {reserved} reserved");
        let folded = self.lines.iter().any(|line| line.times > 1);
        let mut columns = vec![("line", Align::Right), ("host call", Align::Flexible)];
        columns.extend(folded.then_some(("times", Align::Right)));
        columns.extend([("at", Align::Right), ("used", Align::Right), ("reserved", Align::Right)]);
        let mut table = Table::new(&columns);
        for Line { stmt, at, state, times } in &self.lines {
            let mut cells = vec![book.line(*stmt).to_string(), book.operation(*stmt).to_owned()];
            cells.extend(folded.then(|| times.to_string()));
            cells.extend([time(*at), state.used.human(), state.reserved.human()]);
            table.row(cells);
        }
        let mut section = Section::of_table(title, &table, width, "calls");
        section.lost = self.lost;
        section
    }
}
