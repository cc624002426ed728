//! The memory of each device that has memory outside of pools, call by call; and of each one of which more was handed out than it
//! has, how much that was.

use super::calls::Calls;
use super::table::{Section, wrap};
use crate::base::{Bytes, DeviceId, StmtId};
use crate::report::held::Held;
use crate::report::names::Book;
use crate::scenario::Program;
use crate::trace::{DeviceState, Event, Kind};
use std::collections::BTreeMap;

/// Collects the states of devices.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    held: Held,
    devices: BTreeMap<DeviceId, Device>,
}

#[derive(Clone, Debug, Default)]
struct Device {
    calls: Calls<DeviceState>,
    /// The most that was held beyond its memory, and by which statement first.
    beyond: Option<(Bytes, StmtId)>,
}

impl Devices {
    /// Before the first event.
    pub(super) fn new(program: &Program) -> Self {
        Self { held: Held::new(&program.setup), devices: BTreeMap::new() }
    }

    /// Takes an event.
    pub(super) fn event(&mut self, book: &Book<'_>, event: &Event<'_>) {
        if let Kind::Device { device, state } = event.kind {
            self.devices.entry(device).or_default().calls.push(event, *state);
        }
        let Some((device, held)) = self.held.event(event) else { return };
        let setup = book.program.setup.devices[device];
        let beyond = Bytes(held.saturating_sub(setup.memory.0));
        if setup.oversubscribe && beyond > Bytes::ZERO {
            let most = &mut self.devices.entry(device).or_default().beyond;
            if most.is_none_or(|(most, _)| beyond > most) {
                *most = Some((beyond, event.stmt));
            }
        }
    }

    /// A table or a line for each device.
    pub(super) fn sections(self, book: &Book<'_>, width: usize) -> Vec<Section> {
        self.devices.into_iter().map(|(id, device)| device.section(book, id, width)).collect()
    }
}

impl Device {
    fn section(&self, book: &Book<'_>, id: DeviceId, width: usize) -> Section {
        let name = &book.program.names.devices[id];
        let memory = book.program.setup.devices[id].memory;
        let calls = &self.calls;
        let mut section = if calls.states().next().is_none() {
            Section { top: vec![format!("Device {name}   memory {memory}")], ..Section::default() }
        } else {
            let title = format!("Device {name}, outside pools   memory {memory}");
            let leaving = calls.states().any(|state| state.leaving > Bytes::ZERO).then_some("leaving");
            let beyond = calls.states().any(|state| state.beyond() > Bytes::ZERO);
            let beyond = beyond.then_some("beyond").filter(|_| self.beyond.is_some());
            let heads = [Some("outside"), leaving, Some("pools"), Some("free"), beyond];
            let figures = |state: &DeviceState| {
                [state.outside, state.leaving, state.pools, state.free(), state.beyond()].map(Bytes::human)
            };
            calls.section(book, title, heads, figures, width)
        };
        if let Some((most, stmt)) = self.beyond {
            let (line, most) = (book.line(stmt), most.human());
            let sentence =
                format!("  At most {most} beyond its memory, at line {line}: memory of the system.");
            section.bottom.extend(wrap(&sentence, 2, width));
        }
        section
    }
}
