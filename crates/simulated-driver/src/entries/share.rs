//! What processes share: pools, pointers and events. Exporter and importer are played by one process here.
//!
//! Rules: CUDA driver API, `cuMemPoolExportToShareableHandle`, `cuMemPoolImportPointer`, `cuIpcGetEventHandle`; CUDA Programming
//! Guide 4.3.3.4.

use super::entries;
use super::pool::handle_type;
use crate::error::Error;
use crate::pointers::{In, Out};
use crate::state::{Allocation, Caller, Kind};
use millpond::trace::{Call, Exported, HandleType, Imported, Reply};
use std::ffi::{c_int, c_uint, c_void};

/// `CUmemPoolPtrExportData`, `CUipcEventHandle`, `CUmemFabricHandle`: what is offered under which number, with a sum that shows
/// whether it was written by this driver.
#[repr(C)]
#[derive(Clone, Copy)]
struct Offer {
    words: [u64; 8],
}

/// What an offer is of.
#[derive(Clone, Copy)]
enum Of {
    Pool = 0x4d50_0001,
    Memory,
    Event,
}

impl Offer {
    fn new(of: Of, number: u64) -> Self {
        let words = [of as u64, number, Self::sum(of, number), 0, 0, 0, 0, 0];
        Self { words }
    }

    fn sum(of: Of, number: u64) -> u64 {
        (number ^ of as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    }

    /// The number, if it is such an offer.
    fn number(&self, of: Of) -> Option<u64> {
        let number = self.words[1];
        (self.words == Self::new(of, number).words).then_some(number)
    }
}

impl Caller {
    fn import_memory(&mut self, pool: u64, number: u64) -> Result<u64, Error> {
        let id = self.pool(pool)?.id;
        let (what, under) = self.exports.get(number).ok_or(Error::INVALID_VALUE)?;
        let Exported::Memory(alloc) = what else { return Err(Error::INVALID_VALUE) };
        let source = self.allocations.with_id(alloc).ok_or(Error::INVALID_VALUE)?;
        match self.make(&Call::Import { under, into: Imported::Memory(id) })? {
            Reply::Allocated(decision) => {
                let (start, size) = (decision.range.start, decision.range.size.0);
                self.memory.import(start, size, source.start);
                let kind = Kind::Pool(pool);
                let own = Allocation { alloc: decision.alloc, start, size, kind, device: source.device };
                self.allocations.insert(own);
                Ok(start)
            }
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

entries! {
    /// A descriptor is a new one at each call, and the caller's to close.
    fn cuMemPoolExportToShareableHandle(handle: Out<c_void>, pool: u64, kind: c_uint, flags: u64) {
        let (handle, mut caller) = (handle.required()?, Caller::new()?);
        let pool = caller.pool(pool)?;
        let kind = handle_type(kind).filter(|kind| *kind != HandleType::None).ok_or(Error::INVALID_VALUE)?;
        if flags != 0 || pool.setup.handle != kind {
            return Err(Error::INVALID_VALUE);
        }
        let number = caller.export(Exported::Pool(pool.id))?;
        match kind {
            HandleType::Fabric => handle.of::<Offer>().set(Offer::new(Of::Pool, number)),
            _ => handle.of::<c_int>().set(caller.exports.describe(number).ok_or(Error::OUT_OF_MEMORY)?),
        }
        Ok(())
    }

    /// A descriptor is passed in place of the pointer.
    fn cuMemPoolImportFromShareableHandle(pool: Out<u64>, handle: In<c_void>, kind: c_uint, flags: u64) {
        let (pool, mut caller) = (pool.required()?, Caller::new()?);
        if handle.is_null() || flags != 0 {
            return Err(Error::INVALID_VALUE);
        }
        let number = match handle_type(kind) {
            Some(HandleType::PosixFd) => {
                caller.exports.described(handle.address()).ok_or(Error::INVALID_VALUE)?
            }
            Some(HandleType::Fabric) => {
                handle.of::<Offer>().get()?.number(Of::Pool).ok_or(Error::INVALID_VALUE)?
            }
            _ => return Err(Error::INVALID_VALUE),
        };
        pool.set(caller.import_pool(number)?);
        Ok(())
    }

    fn cuMemPoolExportPointer(data: Out<Offer>, pointer: u64) {
        let (data, mut caller) = (data.required()?, Caller::new()?);
        let found = caller.allocations.starting_at(pointer).ok_or(Error::INVALID_VALUE)?;
        let number = caller.export(Exported::Memory(found.alloc))?;
        data.set(Offer::new(Of::Memory, number));
        Ok(())
    }

    fn cuMemPoolImportPointer(pointer: Out<u64>, pool: u64, data: In<Offer>) {
        let (pointer, mut caller) = (pointer.required()?, Caller::new()?);
        let number = data.get()?.number(Of::Memory).ok_or(Error::INVALID_VALUE)?;
        pointer.set(caller.import_memory(pool, number)?);
        Ok(())
    }

    fn cuIpcGetEventHandle(handle: Out<Offer>, event: u64) {
        let (handle, mut caller) = (handle.required()?, Caller::new()?);
        let event = caller.event(event)?.id;
        let number = caller.export(Exported::Event(event))?;
        handle.set(Offer::new(Of::Event, number));
        Ok(())
    }

    /// The handle is passed by value.
    fn cuIpcOpenEventHandle(event: Out<u64>, handle: Offer) {
        let (event, mut caller) = (event.required()?, Caller::new()?);
        let device = caller.current_device()?;
        let number = handle.number(Of::Event).ok_or(Error::INVALID_HANDLE)?;
        event.set(caller.import_event(device, number)?);
        Ok(())
    }
}
