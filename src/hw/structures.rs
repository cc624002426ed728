//! Structures of the driver's interface that crate `cust` has in an older version, with enumerations that lack newer values. Here
//! they are as `cuda.h` of CUDA 12 and 13 has them, with numbers in place of enumerations. Data only.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

/// `CUmemLocation`
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Location {
    kind: c_int,
    id: c_int,
}

impl Location {
    pub(super) const fn device(ordinal: c_int) -> Self {
        Self { kind: 1, id: ordinal }
    }

    pub(super) const HOST: Self = Self { kind: 2, id: 0 };

    pub(super) const fn host_numa(node: c_int) -> Self {
        Self { kind: 3, id: node }
    }

    pub(super) const HOST_NUMA_CURRENT: Self = Self { kind: 4, id: 0 };
}

/// `CUmemAccessDesc`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) location: Location,
    /// 0 none, 1 read, 3 read and write.
    pub(super) flags: c_uint,
}

/// `CUmemPoolProps`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PoolProperties {
    /// `CU_MEM_ALLOCATION_TYPE_PINNED`
    allocation_type: c_int,
    handle_types: c_uint,
    location: Location,
    security_attributes: *mut c_void,
    max_size: usize,
    usage: u16,
    reserved: [u8; 54],
}

impl PoolProperties {
    /// A pool at this place. `handle_types`: 0 none, 1 file descriptor, 8 fabric. A maximum size of 0 is none.
    pub(super) const fn new(location: Location, handle_types: c_uint, max_size: usize) -> Self {
        Self {
            allocation_type: 1,
            handle_types,
            location,
            security_attributes: null_mut(),
            max_size,
            usage: 0,
            reserved: [0; 54],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cust::sys;
    use std::mem::size_of;

    /// What is passed where crate `cust` declares its own type must be as large.
    #[test]
    fn the_sizes_are_those_of_the_interface() {
        assert_eq!(size_of::<PoolProperties>(), size_of::<sys::CUmemPoolProps>());
        assert_eq!(size_of::<Access>(), size_of::<sys::CUmemAccessDesc>());
        assert_eq!(size_of::<Location>(), size_of::<sys::CUmemLocation>());
    }
}
