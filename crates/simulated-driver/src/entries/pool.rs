//! Pools: how they are created and destroyed, their attributes, and who may touch their memory.
//!
//! Rules: CUDA driver API, "Stream Ordered Memory Allocator", `CUmemPoolProps`, `CUmemPool_attribute`.

use super::entries;
use crate::error::Error;
use crate::pointers::{In, Out};
use crate::state::{Caller, Pool, State};
use millpond::base::{Bytes, DeviceId};
use millpond::trace::{Attribute, Call, Figure, HandleType, Location, PoolSetup, Reach, Reading};
use std::ffi::{c_int, c_uint, c_void};

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
struct MemLocation {
    kind: c_int,
    id: c_int,
}

/// `CUmemPoolProps`: of drivers before 12.3, the maximum size and what follows are reserved.
#[repr(C)]
#[derive(Clone, Copy)]
struct PoolProps {
    alloc_type: c_int,
    handle_types: c_uint,
    location: MemLocation,
    win32_security_attributes: usize,
    max_size: usize,
    usage: u16,
    reserved: [u8; 54],
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
struct AccessDesc {
    location: MemLocation,
    flags: c_int,
}

/// `CU_MEM_ALLOCATION_TYPE_PINNED`; that of managed pools is `CU_MEM_ALLOCATION_TYPE_MANAGED`.
const PINNED: c_int = 1;
const MANAGED: c_int = 2;
/// `CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS`.
const DECOMPRESS: u16 = 2;

/// What a number of `CUmemAllocationHandleType` stands for.
pub(super) fn handle_type(number: c_uint) -> Option<HandleType> {
    match number {
        0 => Some(HandleType::None),
        1 => Some(HandleType::PosixFd),
        8 => Some(HandleType::Fabric),
        _ => None,
    }
}

/// What a number of `CUmemLocationType` stands for.
fn location(state: &State, location: MemLocation) -> Result<Location, Error> {
    match location.kind {
        1 => state.device(location.id).map(Location::Device).ok_or(Error::INVALID_VALUE),
        2 => Ok(Location::Host),
        3 => u32::try_from(location.id).map(Location::HostNuma).map_err(|_| Error::INVALID_VALUE),
        // The node of the calling thread is no place for a pool.
        _ => Err(Error::INVALID_VALUE),
    }
}

fn setup(state: &State, props: &PoolProps) -> Result<PoolSetup, Error> {
    match (props.alloc_type, props.usage) {
        (PINNED, 0) => {}
        (MANAGED, _) | (PINNED, DECOMPRESS) => return Err(Error::NOT_SUPPORTED),
        _ => return Err(Error::INVALID_VALUE),
    }
    let handle = handle_type(props.handle_types).ok_or(Error::INVALID_VALUE)?;
    if props.reserved.iter().any(|byte| *byte != 0) {
        return Err(Error::INVALID_VALUE);
    }
    let max_size = (props.max_size > 0).then_some(Bytes(props.max_size as u64));
    let own = PoolSetup::on(DeviceId::from_raw(0));
    Ok(PoolSetup { location: location(state, props.location)?, max_size, handle, ..own })
}

/// What a number of `CUmemPool_attribute` stands for.
fn attribute(number: c_int) -> Result<Attribute, Error> {
    Ok(match number {
        1 => Attribute::FollowEvent,
        2 => Attribute::Opportunistic,
        3 => Attribute::Internal,
        4 => Attribute::ReleaseThreshold,
        5 => Attribute::Reserved,
        6 => Attribute::ReservedHigh,
        7 => Attribute::Used,
        8 => Attribute::UsedHigh,
        _ => return Err(Error::INVALID_VALUE),
    })
}

/// The place of a writable attribute among those that a fault may ignore.
fn ignorable(attribute: Attribute) -> Option<usize> {
    match attribute {
        Attribute::FollowEvent => Some(0),
        Attribute::Opportunistic => Some(1),
        Attribute::Internal => Some(2),
        Attribute::ReleaseThreshold => Some(3),
        _ => None,
    }
}

fn is_switch(attribute: Attribute) -> bool {
    Figure::Attribute(attribute).is_switch()
}

impl Caller {
    fn set(&mut self, handle: u64, attribute: Attribute, value: u64) -> Result<(), Error> {
        let pool = self.pool(handle)?.id;
        let is_ignored = match attribute {
            Attribute::ReleaseThreshold => self.faults.threshold_ignored,
            attribute => is_switch(attribute) && self.faults.policy_ignored,
        };
        match ignorable(attribute).filter(|_| is_ignored) {
            Some(nth) => {
                let ignored = self.pools.get_mut(handle).map(|pool| &mut pool.ignored[nth]);
                ignored.into_iter().for_each(|place| *place = Some(value));
                Ok(())
            }
            None => self.make(&Call::Set { pool, attribute, value }).map(drop),
        }
    }

    fn attribute(&mut self, handle: u64, attribute: Attribute) -> Result<u64, Error> {
        let Pool { id, ignored, .. } = self.pool(handle)?;
        if let Some(value) = ignorable(attribute).and_then(|nth| ignored[nth]) {
            return Ok(value);
        }
        let attribute = match attribute {
            Attribute::Used if self.faults.wrong_attribute => Attribute::Reserved,
            attribute => attribute,
        };
        self.value(&Call::Read(Reading::Pool(id, Figure::Attribute(attribute))))
    }

    /// What a list of accesses gives to which device.
    fn accesses(&self, list: In<AccessDesc>, count: usize) -> Result<Vec<(DeviceId, Reach)>, Error> {
        if list.is_null() {
            return Err(Error::INVALID_VALUE);
        }
        if count > self.devices.len() {
            return Err(Error::INVALID_DEVICE);
        }
        let access = |access: AccessDesc| {
            let reach = Reach::of_flag(access.flags.into()).ok_or(Error::INVALID_VALUE)?;
            match access.location.kind {
                1 => Ok((self.device(access.location.id).ok_or(Error::INVALID_DEVICE)?, reach)),
                _ => Err(Error::INVALID_VALUE),
            }
        };
        list.all(count)?.into_iter().map(access).collect()
    }

    /// A device that has pools.
    fn device_with_pools(&self, ordinal: c_int, error: Error) -> Result<DeviceId, Error> {
        let device = self.device(ordinal).ok_or(error)?;
        if self.devices[device].has_pools() { Ok(device) } else { Err(Error::NOT_SUPPORTED) }
    }
}

entries! {
    fn cuMemPoolCreate(pool: Out<u64>, props: In<PoolProps>) {
        let (pool, mut caller) = (pool.required()?, Caller::new()?);
        let setup = setup(&caller, &props.get()?)?;
        pool.set(caller.create_pool(&setup)?);
        Ok(())
    }

    fn cuMemPoolDestroy(pool: u64) {
        Caller::new()?.destroy_pool(pool)
    }

    /// Policies are of type `int`, and everything else of type `cuuint64_t`.
    fn cuMemPoolSetAttribute(pool: u64, number: c_int, value: Out<c_void>) {
        let mut caller = Caller::new()?;
        caller.pool(pool)?;
        let attribute = attribute(number)?;
        let value = match is_switch(attribute) {
            true => u64::from(value.of::<c_int>().get()? != 0),
            false => value.of::<u64>().get()?,
        };
        caller.set(pool, attribute, value)
    }

    fn cuMemPoolGetAttribute(pool: u64, number: c_int, value: Out<c_void>) {
        let (value, mut caller) = (value.required()?, Caller::new()?);
        caller.pool(pool)?;
        let attribute = attribute(number)?;
        let figure = caller.attribute(pool, attribute)?;
        match is_switch(attribute) {
            true => value.of::<c_int>().set(c_int::from(figure != 0)),
            false => value.of::<u64>().set(figure),
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(pool: u64, keep: usize) {
        let mut caller = Caller::new()?;
        let pool = caller.pool(pool)?.id;
        if caller.faults.trim_ignored {
            return Ok(());
        }
        caller.make(&Call::Trim { pool, keep: Bytes(keep as u64) }).map(drop)
    }

    fn cuMemPoolSetAccess(pool: u64, list: In<AccessDesc>, count: usize) {
        let mut caller = Caller::new()?;
        let pool = caller.pool(pool)?.id;
        for (device, reach) in caller.accesses(list, count)? {
            caller.make(&Call::Grant { pool, device, reach })?;
        }
        Ok(())
    }

    fn cuMemPoolGetAccess(flags: Out<c_int>, pool: u64, location: In<MemLocation>) {
        let (flags, mut caller) = (flags.required()?, Caller::new()?);
        let (pool, location) = (caller.pool(pool)?.id, location.get()?);
        if location.kind != 1 {
            return Err(Error::INVALID_VALUE);
        }
        let device = caller.device(location.id).ok_or(Error::INVALID_DEVICE)?;
        flags.set(caller.value(&Call::Read(Reading::Access(pool, device)))? as c_int);
        Ok(())
    }

    fn cuDeviceGetDefaultMemPool(pool: Out<u64>, device: c_int) {
        let (pool, caller) = (pool.required()?, Caller::new()?);
        let device = caller.device_with_pools(device, Error::INVALID_DEVICE)?;
        pool.set(caller.handle_of(device.index().into()).ok_or(Error::INVALID_VALUE)?);
        Ok(())
    }

    fn cuDeviceGetMemPool(pool: Out<u64>, device: c_int) {
        let (pool, mut caller) = (pool.required()?, Caller::new()?);
        let device = caller.device_with_pools(device, Error::INVALID_VALUE)?;
        let current = caller.value(&Call::Read(Reading::CurrentPool(device)))?;
        let current = usize::try_from(current).ok().and_then(|nth| caller.handle_of(nth.into()));
        pool.set(current.ok_or(Error::INVALID_VALUE)?);
        Ok(())
    }

    fn cuDeviceSetMemPool(device: c_int, pool: u64) {
        let mut caller = Caller::new()?;
        let device = caller.device_with_pools(device, Error::INVALID_VALUE)?;
        let pool = caller.pool(pool)?.id;
        caller.make(&Call::SetPool { device, pool }).map(drop)
    }
}
