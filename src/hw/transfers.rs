//! Copies and memsets: what goes into a stream, and what holds up the host.
//!
//! Rules: CUDA runtime API, "API synchronization behavior".

use super::calls::{Answer, By, Made, Wait};
use super::driver::{self, Stream, Way};
use super::log::What;
use super::marks::Point;
use super::memory::Stamp;
use super::session::{Session, State};
use crate::base::{DeviceId, Nanos, StreamId};
use crate::trace::{Call, Failure, Law, Memory, Reply, Returns, StreamKind, Target, Ticket, Use};

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

/// A copy or a memset, as the driver is to be asked for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transfer {
    device: DeviceId,
    to: u64,
    from: Source,
    size: u64,
    /// `None`: in the legacy default stream, by a call that waits where it has to.
    stream: Option<Stream>,
    returns: Returns,
    /// Whether the driver may hold up the host for longer than that.
    may_wait: bool,
    /// What it writes.
    written: Use,
}

impl Transfer {
    /// Makes the call.
    fn make(&self) -> driver::Answer<()> {
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
        let is_buffer = |at: &Use| matches!(at.memory, Memory::Pageable(_) | Memory::Pinned(_));
        let source = match (is_pageable(&to), is_pageable(&from)) {
            (false, false) => Source::Memory(source, Way::Between),
            _ if is_buffer(&to) && is_buffer(&from) => Source::Host(source),
            (true, _) => Source::Memory(source, Way::ToHost),
            (false, true) => Source::Memory(source, Way::ToDevice),
        };
        let (device, handle) = self.stream(state, stream)?;
        let transfer = Transfer {
            device,
            to: target,
            from: source,
            size: to.size.0,
            stream: (!blocking).then_some(handle),
            returns: Returns::of_copy(blocking, to.memory, from.memory),
            may_wait: is_pageable(&to) || is_pageable(&from),
            written: to,
        };
        let made = self.transfer(state, by, call, (stream, takes), transfer)?;
        let at = state.order.latest(stream);
        let State { memory, order, .. } = state;
        memory.copied(&to, &from, at, order.before(stream));
        Ok(made)
    }

    pub(super) fn memset(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        (stream, blocking, takes): (StreamId, bool, Law),
        at: Use,
    ) -> Answer<Made> {
        let to = state.memory.address(&at).ok_or(Failure::InvalidValue)?;
        let (device, handle) = self.stream(state, stream)?;
        let transfer = Transfer {
            device,
            to,
            from: Source::Zero,
            size: at.size.0,
            stream: (!blocking).then_some(handle),
            returns: Returns::of_memset(blocking, at.memory),
            may_wait: false,
            written: at,
        };
        let made = self.transfer(state, by, call, (stream, takes), transfer)?;
        let ticket = state.order.latest(stream);
        let State { memory, order, .. } = state;
        memory.overwritten(&at);
        for word in memory.words(&at, None) {
            memory.stamp(word.origin, Stamp { pattern: 0, by: by.1, at: ticket }, order.before(stream));
        }
        Ok(made)
    }

    /// A copy or a memset; where the program states how long it runs, a kernel makes up for that before it.
    fn transfer(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        (stream, takes): (StreamId, Law),
        transfer: Transfer,
    ) -> Answer<Made> {
        let (_, handle) = self.stream(state, stream)?;
        let device = transfer.device;
        let ticket = state.order.next(stream);
        state.marks.mark(device, handle, by, ticket, Point::Start);
        let length = state.durations.draw(by.1, &takes);
        if length > Nanos::ZERO {
            self.takes(state, ticket, length);
            let kernel = self.gpus[device].kernel;
            let State { launches, memory, .. } = state;
            launches.launch(memory, by, (kernel, handle), length, (ticket, &[], None))?;
        }
        let before = state.order.target(Target::Stream(stream));
        if transfer.returns == Returns::AtOnce && !transfer.may_wait {
            transfer.make()?;
            self.submitted(state, by, call, stream)?;
            state.marks.mark(device, handle, by, ticket, Point::End);
            return Ok(Made::Reply(Reply::Done));
        }
        self.submitted(state, by, call, stream)?;
        let complete = match transfer.returns {
            Returns::AtOnce => Vec::new(),
            Returns::OnceStarted => before,
            Returns::OnceComplete => state.order.target(Target::Stream(stream)),
        };
        Ok(Made::Waits(Wait::Copy(transfer, ticket, complete)))
    }

    /// Makes a transfer that holds up the host, without the lock: other threads go on meanwhile. One that fails was never submitted.
    pub(super) fn waiting_transfer(&self, by: By, transfer: &Transfer, ticket: Ticket) -> Answer<()> {
        self.enter(transfer.device)?;
        let made = transfer.make();
        let mut state = self.lock();
        if let Err(code) = made {
            state.log.take_back(ticket);
            state.memory.overwritten(&transfer.written);
            return Err(code.into());
        }
        // An event behind one that is complete would be one more operation that is not.
        if transfer.returns == Returns::OnceComplete {
            state.log.device(self.now(), by, ticket, What::End);
            return Ok(());
        }
        let handle = transfer.stream.unwrap_or(Stream::LEGACY);
        if self.is_last(&state, ticket) && state.streams[ticket.stream].here() == Some(handle) {
            self.records_tail(&mut state, ticket.stream)?;
            state.marks.mark(transfer.device, handle, by, ticket, Point::End);
        } else {
            // What is staged from pageable memory is complete a moment later.
            state.log.about(self.now(), by, ticket, What::End);
        }
        Ok(())
    }

    /// Whether an event would be right behind a transfer. In the legacy default stream it waits for all blocking streams.
    fn is_last(&self, state: &State<'_>, ticket: Ticket) -> bool {
        match self.program.setup.streams[ticket.stream].kind {
            StreamKind::Legacy => state.order.last() == Some(ticket),
            _ => state.order.latest(ticket.stream) == ticket,
        }
    }
}
