//! What the driver drives: the devices, and the numbers that CUDA's documents leave open.

use crate::faults::Faults;
use millpond::base::{Bytes, DeviceId};
use millpond::trace::{DeviceSet, DeviceSetup, HostCosts, Rules, Setup};

/// The devices and the rules of a driver.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The devices, in the order of their numbers; at most [`DeviceSet::DEVICES_MAX`] count.
    pub devices: Vec<DeviceSetup>,
    /// The numbers and choices of the allocator that documents leave open.
    pub rules: Rules,
    /// What calls cost the host in virtual time.
    pub host: HostCosts,
    /// In which ways the driver is wrong.
    pub faults: Faults,
}

impl Default for Configuration {
    /// One device of 80 GiB, and calls that cost nothing.
    fn default() -> Self {
        Self {
            devices: vec![DeviceSetup::new(Bytes::gib(80))],
            rules: Rules::default(),
            host: HostCosts::default(),
            faults: Faults::default(),
        }
    }
}

impl Configuration {
    /// The devices of a setup that are no other views of one, with its rules and costs.
    pub fn like(setup: &Setup) -> Self {
        let physical: Vec<DeviceId> =
            setup.devices.indices().filter(|device| setup.devices[*device].same_as.is_none()).collect();
        let devices = physical.iter().map(|device| {
            let mut peers = DeviceSet::NONE;
            for (nth, other) in physical.iter().enumerate() {
                peers.set(DeviceId::from_usize(nth), setup.devices[*device].peers.contains(*other));
            }
            DeviceSetup { peers, ..setup.devices[*device] }
        });
        Self { devices: devices.collect(), rules: setup.rules, host: setup.host, faults: Faults::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use millpond::base::{Nanos, ProcessId};

    #[test]
    fn one_device_for_each_that_is_no_view_of_another_one() {
        let own = |nth, peer| {
            let mut peers = DeviceSet::NONE;
            peers.set(DeviceId::from_usize(peer), true);
            DeviceSetup { peers, ..DeviceSetup::new(Bytes::gib(nth)) }
        };
        let view = DeviceSetup {
            process: ProcessId::from_raw(1),
            same_as: Some(DeviceId::from_raw(0)),
            ..own(1, 2)
        };
        let host = HostCosts { submit: Nanos(3), ..HostCosts::default() };
        let setup =
            Setup { devices: [own(1, 2), view, own(2, 0)].into_iter().collect(), host, ..Setup::default() };
        let configuration = Configuration::like(&setup);
        assert_eq!(configuration.devices, [own(1, 1), own(2, 0)], "peers by their new numbers");
        assert_eq!((configuration.host, configuration.faults), (host, Faults::default()));
    }
}
