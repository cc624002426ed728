//! Rows of a table that has one for each statement: what was so after its latest call, and how many calls there were.

use super::table::{Align, Section, Table, time};
use crate::base::{Nanos, StmtId};
use crate::report::names::Book;
use crate::trace::Event;
use std::collections::BTreeMap;

/// Statements beyond these are only counted.
const ROWS_MAX: usize = 512;

/// The states after the calls of statements.
#[derive(Clone, Debug)]
pub(super) struct Calls<S> {
    rows: Vec<Row<S>>,
    places: BTreeMap<StmtId, usize>,
    lost: u64,
}

#[derive(Clone, Debug)]
struct Row<S> {
    stmt: StmtId,
    at: Nanos,
    state: S,
    times: u64,
}

impl<S> Default for Calls<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), places: BTreeMap::new(), lost: 0 }
    }
}

impl<S> Calls<S> {
    /// Takes the state after a call.
    pub(super) fn push(&mut self, event: &Event<'_>, state: S) {
        let row = Row { stmt: event.stmt, at: event.at, state, times: 1 };
        if let Some(place) = self.places.get(&event.stmt) {
            let known = &mut self.rows[*place];
            *known = Row { times: known.times + 1, ..row };
        } else if self.rows.len() < ROWS_MAX {
            self.places.insert(event.stmt, self.rows.len());
            self.rows.push(row);
        } else {
            self.lost += 1;
        }
    }

    pub(super) fn states(&self) -> impl Iterator<Item = &S> {
        self.rows.iter().map(|row| &row.state)
    }

    /// The rows under a title, with columns for the figures of a state.
    pub(super) fn section<const N: usize>(
        &self,
        book: &Book<'_>,
        title: String,
        heads: [Option<&str>; N],
        figures: impl Fn(&S) -> [String; N],
        width: usize,
    ) -> Section {
        let folded = self.rows.iter().any(|row| row.times > 1);
        let mut columns = vec![("line", Align::Right), ("host call", Align::Flexible)];
        columns.extend(folded.then_some(("times", Align::Right)));
        columns.push(("at", Align::Right));
        columns.extend(heads.iter().flatten().map(|head| (*head, Align::Right)));
        let mut table = Table::new(&columns);
        for Row { stmt, at, state, times } in &self.rows {
            let mut cells = vec![book.line(*stmt).to_string(), book.operation(*stmt).to_owned()];
            cells.extend(folded.then(|| times.to_string()));
            cells.push(time(*at));
            let shown = figures(state).into_iter().zip(&heads).filter(|(_, head)| head.is_some());
            cells.extend(shown.map(|(figure, _)| figure));
            table.row(cells);
        }
        let mut section = Section::of_table(title, &table, width, "calls");
        section.lost = self.lost;
        section
    }
}
