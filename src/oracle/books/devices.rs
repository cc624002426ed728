//! Keeps the books of the memory of devices a second time, from the events alone: what pools hold, what was allocated
//! outside of them, and that nothing comes back before its free has completed.

use super::Violation;
use crate::base::{Bytes, DeviceId, IndexVec, PoolId};
use crate::trace::{DeviceSetup, DeviceState, Model, PoolSetup, Setup, Ticket};
use std::collections::BTreeMap;

/// The books of the devices.
#[derive(Clone, Debug)]
pub(super) struct Devices {
    books: IndexVec<DeviceId, Book>,
    /// Whether pools may hold more than the device has.
    is_unlimited: bool,
    /// For each pool, the device whose memory it takes, if it takes any, and what it has reserved.
    pools: IndexVec<PoolId, (Option<DeviceId>, u64)>,
    /// The same for each graph pool; the devices of all processes have one each.
    graphs: IndexVec<DeviceId, (DeviceId, u64)>,
    /// What waits for its free to complete, and whether that has.
    leaving: BTreeMap<Ticket, (DeviceId, u64, bool)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Book {
    memory: u64,
    oversubscribes: bool,
    outside: u64,
    /// The part of it that other programs hold.
    others: u64,
}

/// An imported pool has the memory of another one.
fn takes_from(setup: &Setup, pool: &PoolSetup) -> Option<DeviceId> {
    pool.location.device().filter(|_| !pool.imported).map(|device| setup.physical(device))
}

impl Devices {
    /// The books before the first call.
    pub(super) fn new(setup: &Setup) -> Self {
        let book = |device: &DeviceSetup| {
            let (memory, oversubscribes) = (device.memory.0, device.oversubscribe);
            Book { memory, oversubscribes, outside: 0, others: 0 }
        };
        Self {
            books: setup.devices.iter().map(book).collect(),
            pools: setup.pools.iter().map(|pool| (takes_from(setup, pool), 0)).collect(),
            graphs: setup.devices.indices().map(|device| (setup.physical(device), 0)).collect(),
            leaving: BTreeMap::new(),
            is_unlimited: setup.model == Model::Oxicuda,
        }
    }

    /// A device as the first process knows it.
    pub(super) fn physical(&self, device: DeviceId) -> DeviceId {
        self.graphs[device].0
    }

    /// A pool holds so much.
    pub(super) fn reserved(&mut self, pool: PoolId, bytes: Bytes) {
        self.pools[pool].1 = bytes.0;
    }

    /// The graph pool of a device holds so much.
    pub(super) fn graphs_reserve(&mut self, device: DeviceId, bytes: Bytes) {
        self.graphs[device].1 = bytes.0;
    }

    /// An allocation outside of pools takes so much of a device.
    pub(super) fn take(&mut self, device: DeviceId, bytes: u64) {
        self.books[device].outside += bytes;
    }

    /// Other programs hold so much of a device now.
    pub(super) fn hold_by_others(&mut self, device: DeviceId, bytes: u64) {
        let book = &mut self.books[device];
        book.outside = book.outside - book.others + bytes;
        book.others = bytes;
    }

    /// So much goes back: at once, or when this operation completes.
    pub(super) fn give_back(&mut self, device: DeviceId, bytes: u64, at: Option<Ticket>) {
        match at {
            Some(ticket) => {
                self.leaving.insert(ticket, (device, bytes, false));
            }
            None => self.books[device].outside -= bytes,
        }
    }

    /// An operation has completed.
    pub(super) fn ended(&mut self, ticket: Ticket) {
        if let Some((.., has_ended)) = self.leaving.get_mut(&ticket) {
            *has_ended = true;
        }
    }

    /// The allocator says that what an operation freed is back.
    pub(super) fn returned(&mut self, ticket: Ticket, told: Bytes) -> Result<(), Violation> {
        let Some((device, bytes, true)) = self.leaving.remove(&ticket) else {
            return Err(Violation::ReturnedEarly(ticket));
        };
        self.books[device].outside -= bytes;
        self.compare(device, "returned", told, bytes)
    }

    /// Compares what the allocator says about a device with the books.
    pub(super) fn state(&self, device: DeviceId, state: &DeviceState) -> Result<(), Violation> {
        let Book { memory, oversubscribes, outside, .. } = self.books[device];
        let pools = self.pools.iter().filter(|(on, _)| *on == Some(device)).map(|(_, bytes)| *bytes);
        // What graph pools hold counts among the pools.
        let graphs = self.graphs.iter().filter(|(on, _)| *on == device).map(|(_, bytes)| *bytes);
        let pools = pools.chain(graphs).fold(0, u64::saturating_add);
        let leaving = self.leaving.values().filter(|(on, ..)| *on == device);
        let leaving: u64 = leaving.map(|(_, bytes, _)| bytes).sum();
        self.compare(device, "memory", state.memory, memory)?;
        self.compare(device, "pools", state.pools, pools)?;
        self.compare(device, "outside", state.outside, outside)?;
        self.compare(device, "leaving", state.leaving, leaving)?;
        if (self.is_unlimited || oversubscribes) && pools.saturating_add(outside) > memory {
            return Ok(());
        }
        // In wide numbers, so that more than there is shows as such.
        let sum = u128::from(pools) + u128::from(outside) + u128::from(state.free().0);
        self.compare(device, "sum", state.memory, u64::try_from(sum).unwrap_or(u64::MAX))
    }

    fn compare(
        &self,
        device: DeviceId,
        name: &'static str,
        told: Bytes,
        counted: u64,
    ) -> Result<(), Violation> {
        let violation = Violation::Device { device, name, told, counted: Bytes(counted) };
        if told.0 == counted { Ok(()) } else { Err(violation) }
    }
}
