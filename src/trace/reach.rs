//! Who may touch the memory of a pool.

use super::Access;
use crate::base::DeviceId;

/// What a device may do with the memory of a pool (`cudaMemAccessFlags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
}

impl Reach {
    /// Every one.
    pub const ALL: [Reach; 3] = [Reach::None, Reach::Read, Reach::ReadWrite];

    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Reach::None => "none",
            Reach::Read => "read",
            Reach::ReadWrite => "read_write",
        }
    }

    /// CUDA's value of the flag.
    pub const fn flag(self) -> u64 {
        match self {
            Reach::None => 0,
            Reach::Read => 1,
            Reach::ReadWrite => 3,
        }
    }

    /// The one with this value of the flag.
    pub fn of_flag(flag: i128) -> Option<Self> {
        Self::ALL.into_iter().find(|reach| i128::from(reach.flag()) == flag)
    }

    /// Whether memory may be touched so.
    pub fn allows(self, access: Access) -> bool {
        match access {
            Access::Read => self >= Reach::Read,
            Access::Write | Access::ReadWrite => self == Reach::ReadWrite,
        }
    }
}

/// Some of the devices. There are at most [`DeviceSet::DEVICES_MAX`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeviceSet(u64);

impl DeviceSet {
    /// How many devices there may be.
    pub const DEVICES_MAX: usize = 64;

    /// No device.
    pub const NONE: DeviceSet = DeviceSet(0);

    fn bit(device: DeviceId) -> u64 {
        1u64.checked_shl(device.index() as u32).unwrap_or(0)
    }

    /// Whether a device is one of them.
    pub fn contains(self, device: DeviceId) -> bool {
        self.0 & Self::bit(device) != 0
    }

    /// Makes a device one of them, or not.
    pub fn set(&mut self, device: DeviceId, is_in: bool) {
        match is_in {
            true => self.0 |= Self::bit(device),
            false => self.0 &= !Self::bit(device),
        }
    }

    /// Those that are not in the other set.
    pub fn without(self, other: DeviceSet) -> DeviceSet {
        DeviceSet(self.0 & !other.0)
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}
