//! The state of each pool over time as CSV, for spreadsheets and data frames: a row for each change, streamed.
//!
//! Sizes are bytes and times are virtual nanoseconds. It must not know what changed a pool.

use super::Origin;
use super::names::Book;
use crate::base::DeviceId;
use crate::scenario::Program;
use crate::trace::{Detail, Event, GraphPoolState, Kind, Ledger, Sink};
use std::io::{self, Write};

/// The columns.
const HEAD: [&str; 10] =
    ["time_ns", "line", "pool", "reserved", "used", "live", "padding", "pending", "cached", "unused"];

/// The sink that writes CSV. A write that fails is kept, and nothing is written after it.
#[derive(Debug)]
pub struct States<'p, W: Write> {
    book: Book<'p>,
    out: csv::Writer<W>,
    failed: Option<csv::Error>,
    /// Whether the run was made on hardware, which does not tell where bytes are beyond what is in use.
    is_of_hardware: bool,
}

impl<'p, W: Write> States<'p, W> {
    /// Writes the head.
    pub fn new(program: &'p Program, origin: &Origin, out: W) -> Self {
        let mut out = csv::Writer::from_writer(out);
        let failed = out.write_record(HEAD).err();
        Self { book: Book::new(program), out, failed, is_of_hardware: origin.hardware.is_some() }
    }

    /// Ends the table.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub fn finish(self) -> io::Result<W> {
        match self.failed {
            Some(error) => Err(error.into()),
            None => self.out.into_inner().map_err(|error| error.into_error()),
        }
    }
}

impl<W: Write> States<'_, W> {
    /// The row of a graph pool, which has no such places for its bytes.
    fn graph_pool(&mut self, event: &Event<'_>, device: DeviceId, state: &GraphPoolState) {
        let name = format!("{}.graph_pool", self.book.program.names.owners[device]);
        let head = [event.at.0.to_string(), self.book.line(event.stmt).to_string(), name];
        let figures = [state.reserved, state.used].map(|size| size.0.to_string());
        let record =
            head.into_iter().chain(figures).chain(std::iter::repeat_n(String::new(), HEAD.len() - 5));
        self.failed = self.out.write_record(record).err();
    }
}

impl<W: Write> Sink for States<'_, W> {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        if self.failed.is_some() {
            return;
        }
        let (pool, state) = match event.kind {
            Kind::State { pool, state } => (pool, state),
            Kind::GraphPool { device, state } => return self.graph_pool(event, device, state),
            _ => return,
        };
        let Ledger { live, padding, pending, cached, unused } = state.ledger;
        let inside = [live, padding, pending, cached, unused];
        let told = [state.reserved, state.used].map(|size| size.0.to_string());
        let inside = inside.map(|size| match self.is_of_hardware {
            true => String::new(),
            false => size.0.to_string(),
        });
        let program: &Program = self.book.program;
        let (time, line) = (event.at.0.to_string(), self.book.line(event.stmt).to_string());
        let head = [time, line, program.names.pools[pool].clone()];
        let record = head.into_iter().chain(told).chain(inside);
        self.failed = self.out.write_record(record).err();
    }
}
