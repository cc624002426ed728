//! Copies and memsets: what goes into a stream, and what holds up the host.
//!
//! Rules: CUDA runtime API, "API synchronization behavior".

use super::calls::{Answer, By, Made, Wait};
use super::driver::{self, Stream, Way};
use super::memory::Stamp;
use super::session::{Session, State};
use crate::base::{DeviceId, Nanos, StreamId};
use crate::trace::{Call, Failure, Law, Memory, Reply, Ticket, Use};

/// Where the bytes of a transfer come from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    /// Nowhere: they become zero.
    Zero,
    /// From this address, in this way.
    Memory(u64, Way),
    /// From this address of the host, to another one.
    Host(u64),
}

/// A copy or a memset that holds up the host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    pub(super) device: DeviceId,
    pub(super) to: u64,
    pub(super) from: Source,
    pub(super) size: u64,
    /// `None`: in the legacy default stream, by a call that waits.
    pub(super) stream: Option<Stream>,
    /// Whether it is complete when its call returns.
    pub(super) is_complete: bool,
}

impl Transfer {
    /// Makes the call.
    pub(super) fn make(&self) -> driver::Answer<()> {
        let Transfer { to, from, size, stream, .. } = *self;
        match from {
            Source::Memory(from, way) => driver::copy(way, to, from, size, stream),
            Source::Host(from) => driver::copy_on_host(to, from, size, stream.unwrap_or(Stream::LEGACY)),
            Source::Zero => driver::set_to_zero(to, size, stream),
        }
    }
}

impl Session<'_> {
    pub(super) fn copy(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        (stream, blocking, takes): (StreamId, bool, Law),
        (to, from): (Use, Use),
    ) -> Answer<Made> {
        let (target, source) = (state.memory.address(&to), state.memory.address(&from));
        let (target, source) = (target.ok_or(Failure::InvalidValue)?, source.ok_or(Failure::InvalidValue)?);
        let is_pageable = |at: &Use| matches!(at.memory, Memory::Pageable(_));
        let is_of_host = |at: &Use| matches!(at.memory, Memory::Pageable(_) | Memory::Pinned(_));
        let source = match (is_pageable(&to), is_pageable(&from)) {
            (false, false) => Source::Memory(source, Way::Between),
            _ if is_of_host(&to) && is_of_host(&from) => Source::Host(source),
            (true, _) => Source::Memory(source, Way::ToHost),
            (false, true) => Source::Memory(source, Way::ToDevice),
        };
        let is_complete = is_of_host(&to) || blocking && matches!(from.memory, Memory::Pinned(_));
        let transfer = (target, source, to.size.0, is_complete);
        // Of pageable memory a copy waits whoever's call it is; then other threads go on meanwhile.
        let waits = blocking || is_pageable(&to) || is_pageable(&from);
        let made = self.transfer(state, by, call, (stream, blocking, takes), transfer, waits)?;
        let at = Ticket { stream, seq: state.submitted[stream.index()] };
        let State { memory, order, .. } = state;
        memory.copied(&to, &from, at, order.before(stream));
        Ok(made)
    }

    pub(super) fn memset(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        how: (StreamId, bool, Law),
        at: Use,
    ) -> Answer<Made> {
        let address = state.memory.address(&at).ok_or(Failure::InvalidValue)?;
        let made = self.transfer(
            state,
            by,
            call,
            how,
            (address, Source::Zero, at.size.0, matches!(at.memory, Memory::Pinned(_))),
            how.1,
        )?;
        let ticket = Ticket { stream: how.0, seq: state.submitted[how.0.index()] };
        let State { memory, order, .. } = state;
        memory.overwritten(&at);
        for word in memory.words(&at, None) {
            memory.stamp(word.origin, Stamp { pattern: 0, by: by.1, at: ticket }, order.before(how.0));
        }
        Ok(made)
    }

    /// A copy or a memset; where the program states how long it runs, a kernel makes up for that before it.
    fn transfer(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        (stream, blocking, takes): (StreamId, bool, Law),
        (to, from, size, is_complete): (u64, Source, u64, bool),
        waits: bool,
    ) -> Answer<Made> {
        let (device, handle) = self.stream(state, stream)?;
        let ticket = self.next(state, stream);
        state.marks.mark(device, handle, by, ticket, false);
        let length = state.durations.draw(by.1, &takes);
        if length > Nanos::ZERO {
            let kernel = self.gpus[device].kernel;
            let State { launches, memory, .. } = state;
            launches.launch(memory, by, (kernel, handle), length, (ticket, &[], None))?;
        }
        let transfer =
            Transfer { device, to, from, size, stream: (!blocking).then_some(handle), is_complete };
        if !waits {
            transfer.make()?;
        }
        self.submitted(state, by, call, stream);
        if waits {
            return Ok(Made::Waits(Wait::Copy(transfer, ticket)));
        }
        state.marks.mark(device, handle, by, ticket, true);
        Ok(Made::Reply(Reply::Done))
    }
}
