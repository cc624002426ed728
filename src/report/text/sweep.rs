//! A table for people: a row for each combination of values. It is as long as there are rows; nothing is folded.

use super::table::{Align, Table, columns_of, heading};
use crate::base::{Bytes, Nanos};
use crate::report::sweep::{Sweep, SweepRow};
use crate::trace::Policy;

impl Sweep {
    /// The table as text. Where it is wider than the page, what served the allocations stands in a table of its own.
    pub fn text(&self, width: usize) -> String {
        let origin = &self.origin;
        let facts = origin.facts();
        let head = heading(&self.title, &origin.path, &facts, width);
        let whole = lines(&self.table(true));
        let body = if whole.lines().all(|line| columns_of(line) <= width) {
            whole
        } else {
            format!("{}\n{}", lines(&self.table(false)), lines(&self.served()))
        };
        format!("{head}\n\n{body}\n{}", self.words())
    }

    fn table(&self, with_served: bool) -> Table {
        let pools = self.pools();
        let high: Vec<String> = match pools.as_slice() {
            [_] => vec!["reserved_high".to_owned()],
            pools => pools.iter().map(|pool| format!("{pool}.reserved_high")).collect(),
        };
        let mut columns: Vec<(&str, Align)> =
            self.names.iter().map(|name| (name.as_str(), Align::Left)).collect();
        columns.extend(high.iter().map(|name| (name.as_str(), Align::Right)));
        columns.extend([("maps", Align::Right), ("unmaps", Align::Right), ("errors", Align::Right)]);
        columns.extend([("findings", Align::Right), ("fails", Align::Right), ("end", Align::Right)]);
        columns.extend(with_served.then_some(("served by", Align::Left)));
        let mut table = Table::new(&columns);
        for row in &self.rows {
            let high =
                pools.iter().map(|pool| row.pools.get(*pool).map_or("-".to_owned(), |high| size(*high)));
            let counts =
                [row.maps, row.unmaps, row.errors, row.findings, row.fails].map(|count| count.to_string());
            let last = [Some(end(row)), with_served.then(|| served(row))].into_iter().flatten();
            table.row(row.values.iter().cloned().chain(high).chain(counts).chain(last).collect());
        }
        table
    }

    /// What served the allocations of each row, alone.
    fn served(&self) -> Table {
        let names = self.names.iter().map(|name| (name.as_str(), Align::Left));
        let columns: Vec<(&str, Align)> = names.chain([("served by", Align::Left)]).collect();
        let mut table = Table::new(&columns);
        for row in &self.rows {
            table.row(row.values.iter().cloned().chain([served(row)]).collect());
        }
        table
    }

    /// What the columns mean, and what went wrong.
    fn words(&self) -> String {
        let mut words = String::from(
            "maps, unmaps: how often physical memory was mapped and given back\n\
             findings: what is wrong with the program, as an error, and no line expects\n\
             fails: expectations that do not hold with these values\n",
        );
        let wrong = self.rows.iter().filter(|row| row.is_wrong()).count();
        if wrong > 0 {
            let rows = if self.rows.len() == 1 { "row" } else { "rows" };
            let all = self.rows.len();
            words.push_str(&format!(
                "{wrong} of {all} {rows}: an unexpected error or finding, or a run that did not end\n"
            ));
        }
        words
    }
}

fn lines(table: &Table) -> String {
    table.lines(usize::MAX).iter().map(|line| format!("{line}\n")).collect()
}

fn size(bytes: u64) -> String {
    Bytes(bytes).human()
}

/// `1 growth, 9 same_stream`, with the classes in the order in which they are asked.
fn served(row: &SweepRow) -> String {
    let used = Policy::ALL.iter().zip(row.policies).filter(|(_, count)| *count > 0);
    let words: Vec<String> = used.map(|(policy, count)| format!("{count} {policy}")).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(", ") }
}

fn end(row: &SweepRow) -> String {
    let at = super::table::time(Nanos(row.end));
    match (&row.stopped, row.deadlock) {
        (Some(_), _) => format!("{at} stopped"),
        (None, true) => format!("{at} deadlock"),
        (None, false) => at,
    }
}
