//! Allocations and frees: of pools in the order of streams, outside of pools, managed, and page-locked on the host.
//!
//! Rules: CUDA driver API, "Memory Management", "Stream Ordered Memory Allocator".

use super::entries;
use crate::error::Error;
use crate::pointers::Out;
use crate::state::{Allocation, Caller, Effect, Kind, Pool};
use millpond::base::{Bytes, DeviceId};
use millpond::trace::{AllocId, Call, Decision, DeviceFigure, Exported, Location, Reading, Reply};
use std::ffi::{c_uint, c_void};

/// `CU_MEM_ATTACH_GLOBAL`, `CU_MEM_ATTACH_HOST`.
const ATTACH: [c_uint; 2] = [1, 2];
/// Portable, mapped and write-combined memory.
const HOST_FLAGS: c_uint = 0x7;

fn decision(reply: Reply) -> Result<Decision, Error> {
    match reply {
        Reply::Allocated(decision) => Ok(decision),
        _ => Err(Error::INVALID_VALUE),
    }
}

impl Caller {
    /// Memory of a pool, of the current one where none is named.
    fn allocate(&mut self, pool: Option<Pool>, size: usize, stream: u64) -> Result<u64, Error> {
        let stream = self.stream(stream)?;
        let device = stream.setup.device;
        let id = pool.map(|pool| pool.id);
        let call = Call::Alloc { stream: stream.id, pool: id, size: Bytes(size as u64) };
        // What is current when the call is made.
        let current = self.handle_of_current(device)?;
        let decision = decision(self.make(&call)?)?;
        let handle = pool.and_then(|pool| self.handle_of(pool.id)).or(current).unwrap_or(0);
        let location = self.pools.get(handle).map(|pool| pool.setup.location);
        let (kind, home) = match location.unwrap_or(Location::Device(device)) {
            Location::Device(home) => (Kind::Pool(handle), home),
            _ => (Kind::HostPool(handle), device),
        };
        self.hand_out(&decision, kind, home);
        Ok(decision.range.start)
    }

    fn handle_of_current(&mut self, device: DeviceId) -> Result<Option<u64>, Error> {
        let number = self.value(&Call::Peek(Reading::CurrentPool(device)))?;
        Ok(usize::try_from(number).ok().and_then(|number| self.handle_of(number.into())))
    }

    /// Memory was placed, unless it is the null pointer.
    pub(super) fn hand_out(&mut self, decision: &Decision, kind: Kind, device: DeviceId) {
        if decision.alloc != AllocId::NULL {
            let (start, size) = (decision.range.start, decision.range.size.0);
            self.memory.map(start, size);
            self.allocations.insert(Allocation { alloc: decision.alloc, start, size, kind, device });
        }
    }

    fn allocate_managed(&mut self, size: usize) -> Result<u64, Error> {
        let device = self.current_device()?;
        let start = self.memory.allocate_host(size as u64).ok_or(Error::OUT_OF_MEMORY)?;
        let call = Call::Malloc { device, size: Bytes(size as u64), managed: true };
        match self.make(&call).and_then(decision) {
            Ok(Decision { alloc, .. }) => {
                let size = size as u64;
                self.allocations.insert(Allocation { alloc, start, size, kind: Kind::Managed, device });
                Ok(start)
            }
            Err(error) => {
                self.memory.free_host(start);
                Err(error)
            }
        }
    }

    /// An allocation is over, by a call that frees it.
    fn free(&mut self, allocation: &Allocation, call: &Call) -> Result<(), Error> {
        let is_managed = allocation.kind == Kind::Managed;
        match call {
            // What is in the stream before the free may still be at work with it.
            Call::Free { .. } if is_managed => {
                self.submit(call, Effect::GiveBack(allocation.start)).map(drop)?
            }
            call => {
                self.make(call)?;
                if is_managed {
                    self.memory.free_host(allocation.start);
                }
            }
        }
        self.allocations.remove(allocation);
        self.exports.forget(Exported::Memory(allocation.alloc));
        Ok(())
    }

    /// What a free means by an address. `None`: what was freed before, which a fault lets pass.
    fn to_free(&self, address: u64) -> Result<Option<Allocation>, Error> {
        match self.allocations.starting_at(address) {
            Some(allocation) => Ok(Some(allocation)),
            None if self.faults.double_free_accepted && self.allocations.was_freed(address) => Ok(None),
            None => Err(Error::INVALID_VALUE),
        }
    }

    fn pin(&mut self, size: usize) -> Result<u64, Error> {
        if size == 0 {
            return Err(Error::INVALID_VALUE);
        }
        self.current_device()?;
        let start = self.memory.allocate_host(size as u64).ok_or(Error::OUT_OF_MEMORY)?;
        self.allocations.pin(start, size as u64);
        Ok(start)
    }
}

entries! {
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let (free, total, mut caller) = (free.required()?, total.required()?, Caller::new()?);
        let device = caller.current_device()?;
        let reading = Reading::Device(device, DeviceFigure::Free);
        free.set(caller.value(&Call::Read(reading))? as usize);
        total.set(caller.devices[device].memory.0 as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(pointer: Out<u64>, size: usize) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        if size == 0 {
            return Err(Error::INVALID_VALUE);
        }
        let device = caller.current_device()?;
        let call = Call::Malloc { device, size: Bytes(size as u64), managed: false };
        let decision = decision(caller.make(&call)?)?;
        caller.hand_out(&decision, Kind::Plain, device);
        pointer.set(decision.range.start);
        Ok(())
    }

    /// The host reaches the memory at the same address.
    fn cuMemAllocManaged(pointer: Out<u64>, size: usize, flags: c_uint) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        if size == 0 || !ATTACH.contains(&flags) {
            return Err(Error::INVALID_VALUE);
        }
        pointer.set(caller.allocate_managed(size)?);
        Ok(())
    }

    /// Memory of a pool too. The null pointer is nobody's.
    fn cuMemFree_v2(pointer: u64) {
        let mut caller = Caller::new()?;
        if pointer == 0 {
            return Ok(());
        }
        match caller.to_free(pointer)? {
            Some(allocation) => caller.free(&allocation, &Call::PlainFree { alloc: allocation.alloc }),
            None => Ok(()),
        }
    }

    fn cuMemAllocHost_v2(pointer: Out<u64>, size: usize) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        pointer.set(caller.pin(size)?);
        Ok(())
    }

    fn cuMemHostAlloc(pointer: Out<u64>, size: usize, flags: c_uint) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        if flags & !HOST_FLAGS != 0 {
            return Err(Error::INVALID_VALUE);
        }
        pointer.set(caller.pin(size)?);
        Ok(())
    }

    fn cuMemFreeHost(pointer: u64) {
        let mut caller = Caller::new()?;
        if !caller.allocations.unpin(pointer) {
            return Err(Error::INVALID_VALUE);
        }
        caller.memory.free_host(pointer);
        Ok(())
    }

    fn cuMemAllocAsync(pointer: Out<u64>, size: usize, stream: u64) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        pointer.set(caller.allocate(None, size, stream)?);
        Ok(())
    }

    fn cuMemAllocFromPoolAsync(pointer: Out<u64>, size: usize, pool: u64, stream: u64) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        let pool = caller.pool(pool)?;
        pointer.set(caller.allocate(Some(pool), size, stream)?);
        Ok(())
    }

    fn cuMemFreeAsync(pointer: u64, stream: u64) {
        let mut caller = Caller::new()?;
        let stream = caller.stream(stream)?.id;
        if pointer == 0 {
            return caller.make(&Call::Free { stream, alloc: AllocId::NULL }).map(drop);
        }
        let Some(allocation) = caller.to_free(pointer)? else { return Ok(()) };
        let alloc = allocation.alloc;
        match caller.faults.free_at_once {
            true => caller.free(&allocation, &Call::PlainFree { alloc }),
            false => caller.free(&allocation, &Call::Free { stream, alloc }),
        }
    }
}
