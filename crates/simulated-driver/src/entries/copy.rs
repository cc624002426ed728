//! Copies and memsets. They take no virtual time of their own; what they do to memory happens when they end.
//!
//! Rules: CUDA driver API, "Memory Management", "API synchronization behavior".

use super::entries;
use crate::error::Error;
use crate::pointers::{In, Out, Raw};
use crate::state::{Caller, Effect, Kind, Source, Stream, Written};
use millpond::base::{Bytes, HostBufferId, Nanos};
use millpond::trace::{Access, Call, Law, Memory, Use};
use std::ffi::{c_uint, c_void};

const AT_ONCE: Law = Law::Constant(Nanos::ZERO);
/// Nobody asks which buffer of the host it is.
const BUFFER: HostBufferId = HostBufferId::from_raw_unchecked(0);

/// The stream of an operation: that of a call which waits is the legacy default stream.
#[derive(Clone, Copy)]
enum Lane {
    Legacy,
    Stream(u64),
}

impl Caller {
    /// So many bytes at an address, as the machine knows them.
    fn memory_at(&self, address: u64, size: u64, access: Access) -> Result<Use, Error> {
        let (memory, from, whole) = if let Some(found) = self.allocations.at(address) {
            let memory = match found.kind {
                Kind::Pool(_) | Kind::Plain => Memory::Device(found.alloc),
                Kind::HostPool(_) => Memory::HostPool(found.alloc),
                Kind::Managed => Memory::Managed(found.alloc),
            };
            (memory, address - found.start, found.size)
        } else {
            let (start, whole) = self.allocations.pinned_at(address).ok_or(Error::INVALID_VALUE)?;
            (Memory::Pinned(BUFFER), address - start, whole)
        };
        if size > whole - from {
            return Err(Error::INVALID_VALUE);
        }
        Ok(Use { memory, from: Bytes(from), size: Bytes(size), access })
    }

    /// The same for an address of the host, which may be any memory of the program.
    fn host_at(&self, address: u64, size: u64, access: Access) -> Result<Use, Error> {
        if address == 0 {
            return Err(Error::INVALID_VALUE);
        }
        if self.allocations.at(address).is_some() || self.allocations.pinned_at(address).is_some() {
            return self.memory_at(address, size, access);
        }
        Ok(Use { memory: Memory::Pageable(BUFFER), from: Bytes::ZERO, size: Bytes(size), access })
    }

    fn place(&mut self, stream: Lane) -> Result<(Stream, bool), Error> {
        match stream {
            Lane::Legacy => Ok((self.legacy()?, true)),
            Lane::Stream(stream) => Ok((self.stream(stream)?, false)),
        }
    }

    fn copy(&mut self, stream: Lane, ends: (Use, Use), effect: Effect) -> Result<(), Error> {
        let (stream, blocking) = self.place(stream)?;
        let call = Call::Copy { stream: stream.id, blocking, takes: AT_ONCE, to: ends.0, from: ends.1 };
        self.submit(&call, effect).map(drop)
    }
}

fn between(to: u64, from: u64, size: usize, stream: Lane) -> Result<(), Error> {
    let (mut caller, size) = (Caller::new()?, size as u64);
    caller.place(stream)?;
    if size == 0 {
        return Ok(());
    }
    let to_use = caller.memory_at(to, size, Access::Write)?;
    let from_use = caller.memory_at(from, size, Access::Read)?;
    let effect = Effect::Copy { to: Written::Address(to), from: Source::Address(from), size };
    caller.copy(stream, (to_use, from_use), effect)
}

fn from_host(to: u64, from: In<u8>, size: usize, stream: Lane) -> Result<(), Error> {
    let mut caller = Caller::new()?;
    caller.place(stream)?;
    if size == 0 {
        return Ok(());
    }
    let to_use = caller.memory_at(to, size as u64, Access::Write)?;
    let from_use = caller.host_at(from.address(), size as u64, Access::Read)?;
    let source = match from_use.memory {
        Memory::Pageable(_) => Source::Bytes(from.bytes(size)?),
        _ => Source::Address(from.address()),
    };
    let effect = Effect::Copy { to: Written::Address(to), from: source, size: size as u64 };
    caller.copy(stream, (to_use, from_use), effect)
}

fn to_host(to: Out<u8>, from: u64, size: usize, stream: Lane) -> Result<(), Error> {
    let mut caller = Caller::new()?;
    caller.place(stream)?;
    if size == 0 {
        return Ok(());
    }
    let from_use = caller.memory_at(from, size as u64, Access::Read)?;
    let to_use = caller.host_at(to.address(), size as u64, Access::Write)?;
    let written = match to_use.memory {
        Memory::Pageable(_) => Written::Raw(Raw::new(to)),
        _ => Written::Address(to.address()),
    };
    let effect = Effect::Copy { to: written, from: Source::Address(from), size: size as u64 };
    caller.copy(stream, (to_use, from_use), effect)
}

fn fill(to: u64, value: Vec<u8>, count: usize, stream: Lane) -> Result<(), Error> {
    let mut caller = Caller::new()?;
    let (stream, blocking) = caller.place(stream)?;
    let width = value.len() as u64;
    let size = (count as u64).checked_mul(width).ok_or(Error::INVALID_VALUE)?;
    if !to.is_multiple_of(width) {
        return Err(Error::INVALID_VALUE);
    }
    if size == 0 {
        return Ok(());
    }
    let at = caller.memory_at(to, size, Access::Write)?;
    let call = Call::Memset { stream: stream.id, blocking, takes: AT_ONCE, at };
    caller.submit(&call, Effect::Fill { to, value, size }).map(drop)
}

entries! {
    /// Between memory that the driver has handed out, of devices or of the host; other addresses are refused.
    fn cuMemcpy(to: u64, from: u64, size: usize) {
        between(to, from, size, Lane::Legacy)
    }

    fn cuMemcpyAsync(to: u64, from: u64, size: usize, stream: u64) {
        between(to, from, size, Lane::Stream(stream))
    }

    fn cuMemcpyHtoD_v2(to: u64, from: In<u8>, size: usize) {
        from_host(to, from, size, Lane::Legacy)
    }

    fn cuMemcpyHtoDAsync_v2(to: u64, from: In<u8>, size: usize, stream: u64) {
        from_host(to, from, size, Lane::Stream(stream))
    }

    fn cuMemcpyDtoH_v2(to: Out<u8>, from: u64, size: usize) {
        to_host(to, from, size, Lane::Legacy)
    }

    fn cuMemcpyDtoHAsync_v2(to: Out<u8>, from: u64, size: usize, stream: u64) {
        to_host(to, from, size, Lane::Stream(stream))
    }

    fn cuMemcpyDtoD_v2(to: u64, from: u64, size: usize) {
        between(to, from, size, Lane::Legacy)
    }

    fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, size: usize, stream: u64) {
        between(to, from, size, Lane::Stream(stream))
    }

    fn cuMemsetD8_v2(to: u64, value: u8, count: usize) {
        fill(to, vec![value], count, Lane::Legacy)
    }

    fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: u64) {
        fill(to, vec![value], count, Lane::Stream(stream))
    }

    fn cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: u64) {
        fill(to, value.to_le_bytes().to_vec(), count, Lane::Stream(stream))
    }
}
