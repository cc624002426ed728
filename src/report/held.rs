//! What is held of the memory of each device: by pools, by graphs, and outside of both.
//!
//! It follows the figures that events tell, and keeps nothing that grows with the run.

use crate::base::{DeviceId, IndexVec, PoolId};
use crate::trace::{Event, Kind, PoolSetup, Setup};

/// What is held of each device.
#[derive(Clone, Debug)]
pub(super) struct Held {
    devices: IndexVec<DeviceId, u64>,
    /// For each pool, the device whose memory it takes, if it takes any, and what it has reserved.
    pools: IndexVec<PoolId, (Option<DeviceId>, u64)>,
    /// The same for the graph pool of each device.
    graphs: IndexVec<DeviceId, (DeviceId, u64)>,
}

impl Held {
    /// Nothing is held before the first call.
    pub(super) fn new(setup: &Setup) -> Self {
        let home = |pool: &PoolSetup| {
            let home = pool.location.device().filter(|_| !pool.imported);
            (home.map(|device| setup.physical(device)), 0)
        };
        Self {
            devices: setup.devices.iter().map(|_| 0).collect(),
            pools: setup.pools.iter().map(home).collect(),
            graphs: setup.devices.indices().map(|device| (setup.physical(device), 0)).collect(),
        }
    }

    /// Takes an event; the device that it tells of, if it tells of one, and what is held of it now.
    pub(super) fn event(&mut self, event: &Event<'_>) -> Option<(DeviceId, u64)> {
        let changed = |(device, bytes): (Option<DeviceId>, &mut u64), now: u64| {
            let before = std::mem::replace(bytes, now);
            Some((device?, before, now))
        };
        let (device, before, now) = match event.kind {
            Kind::State { pool, state } => {
                let (device, bytes) = &mut self.pools[pool];
                changed((*device, bytes), state.reserved.0)?
            }
            Kind::GraphPool { device, state } => {
                let (device, bytes) = &mut self.graphs[device];
                changed((Some(*device), bytes), state.reserved.0)?
            }
            Kind::Returned { device, bytes, .. } => (device, bytes.0, 0),
            Kind::Device { device, state } => {
                (device, self.devices[device], state.pools.0.saturating_add(state.outside.0))
            }
            _ => return None,
        };
        let held = &mut self.devices[device];
        *held = held.saturating_sub(before).saturating_add(now);
        Some((device, *held))
    }
}
