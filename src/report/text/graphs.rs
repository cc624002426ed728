//! The memory of graphs on each device, call by call.

use super::calls::Calls;
use super::table::Section;
use crate::base::{Bytes, DeviceId};
use crate::report::names::Book;
use crate::trace::{Event, GraphPoolState, Kind};
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default)]
struct Pool {
    calls: Calls<GraphPoolState>,
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
        pool.calls.push(event, *state);
    }

    /// A table a device.
    pub(super) fn sections(self, book: &Book<'_>, width: usize) -> Vec<Section> {
        let section = |(id, Pool { calls, peak })| {
            let owner = &book.program.names.owners[id];
            let (used, reserved) = (peak.0.human(), peak.1.human());
            let title = format!("Pool {owner}.graph_pool   at most {used} used, {reserved} reserved");
            let figures = |state: &GraphPoolState| [state.used, state.reserved].map(Bytes::human);
            calls.section(book, title, [Some("used"), Some("reserved")], figures, width)
        };
        self.pools.into_iter().map(section).collect()
    }
}
