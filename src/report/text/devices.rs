//! The memory of each device that has memory outside of pools, call by call.

use super::table::{Align, Section, Table, time};
use crate::base::{Bytes, DeviceId, Nanos, StmtId};
use crate::report::names::Book;
use crate::trace::{DeviceState, Event, Kind};
use std::collections::BTreeMap;

/// Statements beyond these are only counted.
const ROWS_MAX: usize = 512;

/// The memory of a device after the latest call of a statement.
#[derive(Clone, Copy, Debug)]
struct Line {
    stmt: StmtId,
    at: Nanos,
    state: DeviceState,
    times: u64,
}

#[derive(Clone, Debug, Default)]
struct Device {
    lines: Vec<Line>,
    places: BTreeMap<StmtId, usize>,
    lost: u64,
}

/// Collects the states of devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    devices: BTreeMap<DeviceId, Device>,
}

impl Devices {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let Kind::Device { device, state } = event.kind else { return };
        let device = self.devices.entry(device).or_default();
        let line = Line { stmt: event.stmt, at: event.at, state: *state, times: 1 };
        if let Some(place) = device.places.get(&event.stmt) {
            let known = &mut device.lines[*place];
            *known = Line { times: known.times + 1, ..line };
        } else if device.lines.len() < ROWS_MAX {
            device.places.insert(event.stmt, device.lines.len());
            device.lines.push(line);
        } else {
            device.lost += 1;
        }
    }

    /// A table a device.
    pub(super) fn sections(self, book: &Book<'_>, width: usize) -> Vec<Section> {
        self.devices.into_iter().map(|(id, device)| device.section(book, id, width)).collect()
    }
}

impl Device {
    fn section(self, book: &Book<'_>, id: DeviceId, width: usize) -> Section {
        let memory = book.program.setup.devices[id].memory;
        let title = format!("Device {}, outside pools   memory {memory}", book.program.names.devices[id]);
        let folded = self.lines.iter().any(|line| line.times > 1);
        let leaving = self.lines.iter().any(|line| line.state.leaving > Bytes::ZERO);
        let mut columns = vec![("line", Align::Right), ("host call", Align::Flexible)];
        columns.extend(folded.then_some(("times", Align::Right)));
        columns.extend([("at", Align::Right), ("outside", Align::Right)]);
        columns.extend(leaving.then_some(("leaving", Align::Right)));
        columns.extend([("pools", Align::Right), ("free", Align::Right)]);
        let mut table = Table::new(&columns);
        for Line { stmt, at, state, times } in &self.lines {
            let mut cells = vec![book.line(*stmt).to_string(), book.operation(*stmt).to_owned()];
            cells.extend(folded.then(|| times.to_string()));
            cells.extend([time(*at), state.outside.human()]);
            cells.extend(leaving.then(|| state.leaving.human()));
            cells.extend([state.pools.human(), state.free().human()]);
            table.row(cells);
        }
        let mut section = Section::of_table(title, &table, width, "calls");
        section.lost = self.lost;
        section
    }
}
