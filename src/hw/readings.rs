//! What can be read of pools and devices, and what only a simulation can tell.

use super::driver::{self, Answer, Pool};
use super::session::Gpu;
use super::structures::Location;
use crate::base::Bytes;
use crate::trace::{Attribute, Attributes, DeviceFigure, Figure, Ledger, PoolState, Reading, Reuse};
use cust::sys::{CUdevice_attribute, CUmemPool_attribute};

/// CUDA's attribute of a pool.
pub(super) const fn attribute_of(attribute: Attribute) -> CUmemPool_attribute {
    match attribute {
        Attribute::FollowEvent => CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES,
        Attribute::Opportunistic => CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        Attribute::Internal => CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES,
        Attribute::ReleaseThreshold => CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
        Attribute::Reserved => CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
        Attribute::ReservedHigh => CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
        Attribute::Used => CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
        Attribute::UsedHigh => CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH,
    }
}

/// The figures of a pool that a driver tells. Where its bytes are beyond what is handed out, it does not.
pub(super) fn figures(pool: Pool) -> Answer<PoolState> {
    let read = |attribute| driver::pool_attribute(pool, attribute_of(attribute));
    let used = Bytes(read(Attribute::Used)?);
    Ok(PoolState {
        reserved: Bytes(read(Attribute::Reserved)?),
        reserved_high: Bytes(read(Attribute::ReservedHigh)?),
        used,
        used_high: Bytes(read(Attribute::UsedHigh)?),
        maps: 0,
        unmaps: 0,
        ledger: Ledger { live: used, ..Ledger::default() },
        attributes: Attributes {
            release_threshold: Bytes(read(Attribute::ReleaseThreshold)?),
            reuse: Reuse {
                follow_event: read(Attribute::FollowEvent)? != 0,
                opportunistic: read(Attribute::Opportunistic)? != 0,
                internal: read(Attribute::Internal)? != 0,
            },
        },
    })
}

/// Whether a driver tells it.
pub(super) const fn is_told(reading: Reading) -> bool {
    match reading {
        Reading::Pool(_, Figure::Attribute(_)) => true,
        Reading::Pool(..) | Reading::Device(_, DeviceFigure::Beyond) => false,
        // Of graphs, which are not run.
        Reading::Graphs(..) => false,
        Reading::Device(..) | Reading::Access(..) | Reading::Peer(..) => true,
        Reading::CurrentPool(_) | Reading::PoolItself(_) => true,
    }
}

/// A figure of a device, which is current. `Beyond` is told by no driver.
pub(super) fn of_device(gpu: Gpu, figure: DeviceFigure) -> Answer<u64> {
    let attribute = |attribute| driver::device_attribute(gpu.ordinal, attribute).map(i32::unsigned_abs);
    Ok(match figure {
        DeviceFigure::Free => driver::memory_info()?.0,
        DeviceFigure::Memory => driver::memory_info()?.1,
        DeviceFigure::Beyond => 0,
        DeviceFigure::Driver => driver::driver_version()?.into(),
        DeviceFigure::MemoryPools => {
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)?.into()
        }
        DeviceFigure::PosixFd => {
            let types = attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES)?;
            u64::from(types & 1)
        }
    })
}

/// The flag of what a device may do with the memory of a pool.
pub(super) fn reach(pool: Pool, gpu: Gpu) -> Answer<u32> {
    driver::access(pool, Location::device(gpu.ordinal))
}
