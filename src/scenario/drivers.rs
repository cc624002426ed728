//! What is to be said about drivers: opportunistic reuse where it is known to be defective.

use super::check::Checker;
use super::codes;
use crate::base::{DeviceId, Diagnostic, PoolId, Severity, Span};
use std::collections::{BTreeMap, BTreeSet};

/// Opportunistic reuse is defective on drivers before this one, 11.5 (NVIDIA/cccl, `ensure_disable_reuse`).
const OPPORTUNISTIC_SINCE: u32 = 11_050;

/// What a text does with pools, as far as it matters here.
#[derive(Default)]
pub(super) struct Drivers {
    /// The first allocation of each pool; of a device where the line names no pool.
    allocating: BTreeMap<Result<PoolId, DeviceId>, Span>,
    /// The pools whose opportunistic reuse a line switches off.
    switched_off: BTreeSet<PoolId>,
    /// The devices whose current pool is set, so that it is not known here.
    set: BTreeSet<DeviceId>,
}

impl Drivers {
    pub(super) fn allocates(&mut self, from: Result<PoolId, DeviceId>, place: Span) {
        self.allocating.entry(from).or_insert(place);
    }

    pub(super) fn switches_off(&mut self, pool: PoolId) {
        self.switched_off.insert(pool);
    }

    pub(super) fn sets_pool(&mut self, device: DeviceId) {
        self.set.insert(device);
    }
}

impl Checker<'_> {
    /// Warns of opportunistic reuse on old drivers, at the first allocation of each pool.
    pub(super) fn old_drivers(&mut self) {
        let drivers = std::mem::take(&mut self.drivers);
        let mut told = BTreeSet::new();
        for (from, place) in drivers.allocating {
            let pool = match from {
                Err(device) if drivers.set.contains(&device) => continue,
                Err(device) => self.default_pools[device],
                Ok(pool) => pool,
            };
            let setup = self.setup.pools[pool];
            let Some(device) = setup.location.device().map(|device| self.setup.devices[device]) else {
                continue;
            };
            let is_old = device.has_pools() && device.driver < OPPORTUNISTIC_SINCE;
            let is_on = setup.attributes.reuse.opportunistic && !drivers.switched_off.contains(&pool);
            if !is_old || !is_on || !told.insert(pool) {
                continue;
            }
            let name = &self.names.pools[pool];
            let (major, minor) = (device.driver / 1_000, device.driver % 1_000 / 10);
            let message = format!("`{name}` reuses opportunistically on driver {major}.{minor}");
            let label = "defective before 11.5";
            let mut diagnostic = Diagnostic::error(codes::OPPORTUNISTIC_ON_OLD_DRIVER, message, place, label);
            diagnostic.severity = Severity::Warning;
            let help = format!("switch it off before: `set {name}.opportunistic = off`");
            self.diagnostics.push(diagnostic.help(help));
        }
    }
}
