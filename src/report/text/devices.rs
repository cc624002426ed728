//! The memory of each device that has memory outside of pools, call by call.

use super::calls::Calls;
use super::table::Section;
use crate::base::{Bytes, DeviceId};
use crate::report::names::Book;
use crate::trace::{DeviceState, Event, Kind};
use std::collections::BTreeMap;

/// Collects the states of devices.
#[derive(Clone, Debug, Default)]
pub(super) struct Devices {
    devices: BTreeMap<DeviceId, Calls<DeviceState>>,
}

impl Devices {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        let Kind::Device { device, state } = event.kind else { return };
        self.devices.entry(device).or_default().push(event, *state);
    }

    /// A table a device.
    pub(super) fn sections(self, book: &Book<'_>, width: usize) -> Vec<Section> {
        let section = |(id, calls): (DeviceId, Calls<DeviceState>)| {
            let memory = book.program.setup.devices[id].memory;
            let title = format!("Device {}, outside pools   memory {memory}", book.program.names.devices[id]);
            let leaving = calls.states().any(|state| state.leaving > Bytes::ZERO).then_some("leaving");
            let heads = [Some("outside"), leaving, Some("pools"), Some("free")];
            let figures = |state: &DeviceState| {
                [state.outside, state.leaving, state.pools, state.free()].map(Bytes::human)
            };
            calls.section(book, title, heads, figures, width)
        };
        self.devices.into_iter().map(section).collect()
    }
}
