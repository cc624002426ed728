//! The memory of graphs. There are no graphs, so that all figures of it are 0.
//!
//! Rules: CUDA driver API, `cuDeviceGetGraphMemAttribute`, `cuDeviceSetGraphMemAttribute`, `cuDeviceGraphMemTrim`.

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::Caller;
use std::ffi::{c_int, c_void};

/// Used and reserved bytes, now and at the most.
const ATTRIBUTES: std::ops::Range<c_int> = 0..4;
/// Of these, the ones that can be set back to what is there now.
const HIGH: [c_int; 2] = [1, 3];

fn check(device: c_int) -> Result<(), Error> {
    Caller::new()?.device(device).map(drop).ok_or(Error::INVALID_DEVICE)
}

entries! {
    fn cuDeviceGetGraphMemAttribute(device: c_int, attribute: c_int, value: Out<c_void>) {
        check(device)?;
        let value = value.required()?;
        if !ATTRIBUTES.contains(&attribute) {
            return Err(Error::INVALID_VALUE);
        }
        value.of::<u64>().set(0);
        Ok(())
    }

    fn cuDeviceSetGraphMemAttribute(device: c_int, attribute: c_int, value: Out<c_void>) {
        check(device)?;
        let value = value.of::<u64>().get()?;
        if HIGH.contains(&attribute) && value == 0 { Ok(()) } else { Err(Error::INVALID_VALUE) }
    }

    fn cuDeviceGraphMemTrim(device: c_int) {
        check(device)
    }
}
