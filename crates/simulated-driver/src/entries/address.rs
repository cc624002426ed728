//! What an address is the address of.
//!
//! Rules: CUDA driver API, `cuPointerGetAttribute` (stream-ordered memory has no context).

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::{Caller, Kind};
use std::ffi::{c_int, c_uint, c_void};

/// `CU_MEMORYTYPE_HOST`, `CU_MEMORYTYPE_DEVICE`.
const HOST: c_uint = 1;
const DEVICE: c_uint = 2;

/// What is known of an address.
struct Known {
    start: u64,
    size: u64,
    /// The allocation; `None`: page-locked memory.
    kind: Option<Kind>,
    device: usize,
}

fn known(caller: &Caller, address: u64) -> Option<Known> {
    if let Some(found) = caller.allocations.live_at(address) {
        let device = found.device.index();
        return Some(Known { start: found.start, size: found.size, kind: Some(found.kind), device });
    }
    let (start, size) = caller.allocations.pinned_at(address)?;
    Some(Known { start, size, kind: None, device: 0 })
}

impl Known {
    fn is_host(&self) -> bool {
        matches!(self.kind, None | Some(Kind::HostPool(_)))
    }

    fn pool(&self) -> Option<u64> {
        match self.kind {
            Some(Kind::Pool(pool) | Kind::HostPool(pool)) => Some(pool),
            _ => None,
        }
    }
}

entries! {
    fn cuPointerGetAttribute(value: Out<c_void>, attribute: c_int, pointer: u64) {
        let (value, caller) = (value.required()?, Caller::new()?);
        let known = known(&caller, pointer).ok_or(Error::INVALID_VALUE)?;
        match attribute {
            // The context, which memory of pools has none of.
            1 => value.of::<u64>().set(match known.pool() {
                Some(_) => 0,
                None => caller.contexts[known.device].handle,
            }),
            // The kind of memory.
            2 => value.of::<c_uint>().set(if known.is_host() { HOST } else { DEVICE }),
            // The address for devices, and that for the host.
            3 => value.of::<u64>().set(pointer),
            4 if known.is_host() || known.kind == Some(Kind::Managed) => value.of::<u64>().set(pointer),
            // Whether it is managed.
            8 => value.of::<c_uint>().set(c_uint::from(known.kind == Some(Kind::Managed))),
            // The number of the device.
            9 => value.of::<c_int>().set(known.device as c_int),
            // Start and size of the range, and whether it is mapped.
            11 => value.of::<u64>().set(known.start),
            12 => value.of::<usize>().set(known.size as usize),
            13 => value.of::<c_uint>().set(1),
            // The pool.
            17 => value.of::<u64>().set(known.pool().unwrap_or(0)),
            _ => return Err(Error::INVALID_VALUE),
        }
        Ok(())
    }
}
