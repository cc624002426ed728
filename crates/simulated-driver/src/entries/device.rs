//! Devices, and what they are like.
//!
//! Rules: CUDA driver API, "Device Management", "Peer Context Memory Access".

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::{Caller, State};
use millpond::base::DeviceId;
use millpond::trace::{Call, DeviceFigure, DeviceSetup, Reading};
use std::ffi::{c_char, c_int, c_void};

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
const POSIX_FD: c_int = 1;

/// What an attribute is of a device (CUDA driver API, `CUdevice_attribute`). What a scenario cannot say is that of a recent card.
fn attribute(number: c_int, nth: usize, device: &DeviceSetup) -> Option<c_int> {
    let figure = |figure| device.figure(figure).map_or(0, |value| c_int::from(value != 0));
    Some(match number {
        // Threads: of a block, its three dimensions, of a grid, then per warp and per multiprocessor.
        1..=3 => 1_024,
        4 => 64,
        5 => c_int::MAX,
        6 | 7 => 65_535,
        10 => 32,
        16 => 132,
        39 => 2_048,
        // Shared and constant memory, registers, pitch, alignment.
        8 => 49_152,
        9 | 12 | 82 => 65_536,
        11 => c_int::MAX,
        14 => 512,
        81 => 233_472,
        97 => 232_448,
        // Clocks, width of the bus, cache, copy engines, address on the PCI bus.
        13 => 1_980_000,
        36 => 2_619_000,
        37 => 5_120,
        38 => 52_428_800,
        40 => 3,
        33 => c_int::try_from(nth).unwrap_or(0),
        34 | 50 => 0,
        // What it can: overlap, map host memory, run kernels together, unified addressing, priorities.
        15 | 19 | 31 | 41 | 78 | 83 | 89 | 90 | 95 => 1,
        // What it cannot or is not: timeouts, integrated, compute mode, error correction, pageable memory, several boards.
        17 | 18 | 20 | 32 | 35 | 84 | 85 | 88 | 100 | 101 => 0,
        // Compute capability 9.0.
        75 => 9,
        76 => 0,
        115 => figure(DeviceFigure::MemoryPools),
        119 => figure(DeviceFigure::PosixFd) * POSIX_FD,
        _ => return None,
    })
}

fn device(state: &State, ordinal: c_int) -> Result<DeviceId, Error> {
    state.device(ordinal).ok_or(Error::INVALID_DEVICE)
}

entries! {
    fn cuDeviceGet(device: Out<c_int>, ordinal: c_int) {
        let (out, caller) = (device.required()?, Caller::new()?);
        self::device(&caller, ordinal)?;
        out.set(ordinal);
        Ok(())
    }

    fn cuDeviceGetCount(count: Out<c_int>) {
        let (count, caller) = (count.required()?, Caller::new()?);
        count.set(c_int::try_from(caller.devices.len()).unwrap_or(c_int::MAX));
        Ok(())
    }

    /// The name says that the device is simulated.
    fn cuDeviceGetName(name: Out<c_char>, length: c_int, device: c_int) {
        let (name, caller) = (name.required()?, Caller::new()?);
        let length = usize::try_from(length).ok().filter(|length| *length > 0).ok_or(Error::INVALID_VALUE)?;
        self::device(&caller, device)?;
        let text = format!("Millpond simulated device {device}");
        let mut bytes: Vec<c_char> = text.bytes().map(|byte| byte as c_char).take(length - 1).collect();
        bytes.push(0);
        name.set_all(&bytes);
        Ok(())
    }

    fn cuDeviceGetAttribute(value: Out<c_int>, number: c_int, device: c_int) {
        let (value, caller) = (value.required()?, Caller::new()?);
        let id = self::device(&caller, device)?;
        let setup = &caller.devices[id];
        value.set(attribute(number, id.index(), setup).ok_or(Error::INVALID_VALUE)?);
        Ok(())
    }

    fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) {
        let (bytes, caller) = (bytes.required()?, Caller::new()?);
        bytes.set(caller.devices[self::device(&caller, device)?].memory.0 as usize);
        Ok(())
    }

    fn cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        let (can, mut caller) = (can.required()?, Caller::new()?);
        let (device, peer) = (self::device(&caller, device)?, self::device(&caller, peer)?);
        let reach = caller.value(&Call::Peek(Reading::Peer(device, peer)))?;
        can.set(c_int::from(reach != 0 && device != peer));
        Ok(())
    }
}
