//! A call of the program as calls of the driver: what goes into a stream, and what it waits for.
//!
//! What has no counterpart in the driver, such as the name of the policy that served an allocation, is not made up.

use super::driver::{self, CudaError, Stream};
use super::log::What;
use super::marks::Point;
use super::meetings::{Giver, Waiting};
use super::session::{Held, Session, State, failure_of};
use super::transfers::Transfer;
use super::waits::{Fence, Work};
use crate::base::{Bytes, DeviceId, EventId, HostId, Nanos, PoolId, SignalId, StmtId, StreamId};
use crate::trace::{AllocId, Call, Failure, Imported, Reach, Reply, Takes, Target, Ticket, Use};
use std::sync::Arc;

pub(super) use super::readings::{attribute_of, figures};

/// Whose call it is, and of which statement.
pub(super) type By = (HostId, StmtId);

/// Why a call has not done what it was to do.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It fails, which a program can handle.
    Fails(Failure),
    /// What it waits for does not come.
    Hangs,
    /// The run cannot go on.
    Ends(String),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Trouble::Fails(failure)
    }
}

impl From<CudaError> for Trouble {
    fn from(code: CudaError) -> Self {
        failure_of(code).map_or_else(
            // What a kernel has done wrong is told by whatever call comes next.
            || match code.0 {
                700..=719 => {
                    Trouble::Ends(format!("the driver answers {code}, perhaps for an earlier launch"))
                }
                _ => Trouble::Ends(format!("the driver answers {code}")),
            },
            Trouble::Fails,
        )
    }
}

/// What is known of a call once it was made.
pub(super) enum Made {
    /// It is over.
    Reply(Reply),
    /// The thread waits for this, without the lock.
    Waits(Wait),
    /// The thread makes its next call so much later.
    Sleeps(Nanos),
}

/// What a thread waits for.
pub(super) enum Wait {
    /// Work on a device; with what is proven complete then, and what it was when the call was made.
    Work(Work, Vec<u32>, Option<Fence>),
    /// That a query says so, again and again; with what it was when the call was made, and what was complete at last.
    Poll(Target, Option<Fence>, Vec<u32>),
    /// A copy of the host's own, which returns when CUDA says it does; with what is complete then.
    Copy(Transfer, Ticket, Vec<u32>),
    /// A free outside of pools, which may wait for the device.
    PlainFree(u64, AllocId),
    Signal(SignalId),
    Import(SignalId, Imported),
    End(HostId),
    Barrier(crate::base::BarrierId),
}

pub(super) type Answer<T> = Result<T, Trouble>;

impl Session<'_> {
    /// Makes a call, all of it that does not wait.
    pub(super) fn make(&self, state: &mut State<'_>, by: By, call: &Call) -> Answer<Made> {
        let reply = match call {
            Call::Alloc { stream, pool, size } => self.alloc(state, by, call, (*stream, *pool, *size))?,
            Call::Free { stream, alloc } => self.free(state, by, call, *stream, *alloc)?,
            Call::Malloc { device, size, managed } => self.malloc(state, by, *device, *size, *managed)?,
            Call::PlainFree { alloc } => return self.plain_free(state, *alloc),
            Call::Launch { stream, takes, uses, .. } => {
                self.launch(state, by, call, *stream, *takes, uses)?
            }
            Call::HostFunction { stream, takes, gives, .. } => {
                self.host_function(state, by, call, (*stream, *takes, *gives))?
            }
            Call::Copy { stream, blocking, takes, to, from } => {
                return self.copy(state, by, call, (*stream, *blocking, *takes), (*to, *from));
            }
            Call::Memset { stream, blocking, takes, at } => {
                return self.memset(state, by, call, (*stream, *blocking, *takes), *at);
            }
            Call::Record { stream, event } => self.record(state, by, call, *stream, *event)?,
            Call::Wait { stream, event } => self.wait(state, by, call, *stream, *event)?,
            Call::Sync(target) => {
                let (work, cut) = self.work(state, *target)?;
                let fence = self.fence(state, *target)?;
                return Ok(Made::Waits(Wait::Work(work, cut, fence)));
            }
            Call::Poll(target) => {
                let (_, cut) = self.work(state, *target)?;
                let fence = self.fence(state, *target)?;
                return Ok(Made::Waits(Wait::Poll(*target, fence, cut)));
            }
            Call::Query(target) => self.query(state, by, *target)?,
            Call::Sleep(duration) => return Ok(Made::Sleeps(*duration)),
            Call::Await(signal) => return Ok(Made::Waits(Wait::Signal(*signal))),
            Call::Import { under, into } => return Ok(Made::Waits(Wait::Import(*under, *into))),
            Call::Join(host) => return Ok(Made::Waits(Wait::End(*host))),
            Call::Barrier(barrier) => return Ok(Made::Waits(Wait::Barrier(*barrier))),
            Call::Signal(signal) => {
                self.meetings.give(*signal, Giver::Thread);
                self.meetings.functions_go_on(*signal)?;
                Reply::Done
            }
            Call::Expect { expect, operands } => {
                if !state.silent.contains(&by.1) {
                    let what = What::Expect(*expect, operands.clone());
                    state.log.host(self.now(), by, None, what);
                }
                Reply::Done
            }
            Call::ExpectReady { .. } => Reply::Done,
            Call::Snapshot(snapshot) => {
                state.log.host(self.now(), by, None, What::Snapshot(*snapshot));
                Reply::Done
            }
            // What the host itself touches of a device's memory is left alone: after a free it could end the process.
            Call::Touch(_) | Call::Spawn(_) | Call::Exit => Reply::Done,
            other => self.manage(state, by, other)?,
        };
        Ok(Made::Reply(reply))
    }

    /// The stream of an operation, on its device, which is current from now on.
    pub(super) fn stream(&self, state: &State<'_>, stream: StreamId) -> Answer<(DeviceId, Stream)> {
        let device = self.program.setup.streams[stream].device;
        self.enter(device)?;
        Ok((device, state.streams[stream].or(Failure::InvalidResourceHandle)?))
    }

    /// An operation was put into a stream.
    pub(super) fn submitted(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        stream: StreamId,
    ) -> Answer<Ticket> {
        let ticket = match *call {
            Call::Record { stream, event } => {
                let event = state.source(event);
                state.order.submitted(stream, &Call::Record { stream, event })
            }
            Call::Wait { stream, event } => {
                let event = state.source(event);
                state.order.submitted(stream, &Call::Wait { stream, event })
            }
            ref call => state.order.submitted(stream, call),
        };
        state.log.submitted(by, ticket, call);
        self.records_tail(state, stream)?;
        Ok(ticket)
    }

    /// One operation of those that take no time was put into a stream: where the program asks when that was, an event tells it.
    fn took_no_time(&self, state: &mut State<'_>, by: By, ticket: Ticket) {
        let device = self.program.setup.streams[ticket.stream].device;
        if let Some(handle) = state.streams[ticket.stream].here().filter(|_| self.timed.contains(&by.1)) {
            state.marks.mark(device, handle, by, ticket, Point::Whole);
        }
    }

    fn alloc(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        (stream, pool, size): (StreamId, Option<PoolId>, Bytes),
    ) -> Answer<Reply> {
        let (device, handle) = self.stream(state, stream)?;
        // The pool that the program has left to the driver is named by the event of the call only.
        let is_current = pool == state.current[device] && state.current[device].is_some();
        let named = pool.map(|pool| state.pools[pool].or(Failure::InvalidValue)).transpose()?;
        // What another process calls its default pool is one that was made for it.
        let is_alias = self.program.setup.devices[device].same_as.is_some();
        let from = named.filter(|_| !is_current || is_alias);
        let address = driver::alloc(size.0, from, handle)?;
        let ticket = state.order.next(stream);
        let decision = match address {
            0 => crate::trace::Decision::null(),
            address => state.memory.place(address, size, pool, None),
        };
        state.log.host(self.now(), by, Some(ticket), What::Decided(decision.clone()));
        self.submitted(state, by, call, stream)?;
        self.took_no_time(state, by, ticket);
        Ok(Reply::Allocated(decision))
    }

    fn free(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        stream: StreamId,
        alloc: AllocId,
    ) -> Answer<Reply> {
        let (_, handle) = self.stream(state, stream)?;
        let address = state.memory.of(alloc).map_or(0, |live| live.range.start);
        driver::free(address, handle)?;
        if alloc == AllocId::NULL {
            return Ok(Reply::Freed(None));
        }
        state.memory.free(alloc);
        let ticket = self.submitted(state, by, call, stream)?;
        self.took_no_time(state, by, ticket);
        Ok(Reply::Freed(Some(ticket)))
    }

    fn malloc(
        &self,
        state: &mut State<'_>,
        by: By,
        device: DeviceId,
        size: Bytes,
        managed: bool,
    ) -> Answer<Reply> {
        self.enter(device)?;
        // `cudaMalloc` of nothing gives the null pointer, where the driver's own call refuses it.
        let decision = match size {
            Bytes::ZERO if !managed => crate::trace::Decision::null(),
            size => {
                let address = driver::malloc(size.0, managed)?;
                state.memory.place(address, size, None, (!managed).then_some(device))
            }
        };
        state.log.host(self.now(), by, None, What::Decided(decision.clone()));
        Ok(Reply::Allocated(decision))
    }

    /// Of memory of a pool it does not wait.
    fn plain_free(&self, state: &mut State<'_>, alloc: AllocId) -> Answer<Made> {
        let live = state.memory.of(alloc);
        let address = live.map_or(0, |live| live.range.start);
        if live.is_some_and(|live| live.pool.is_none()) {
            return Ok(Made::Waits(Wait::PlainFree(address, alloc)));
        }
        driver::plain_free(address)?;
        state.memory.free(alloc);
        Ok(Made::Reply(Reply::Freed(None)))
    }

    fn launch(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        stream: StreamId,
        takes: Takes,
        uses: &[Use],
    ) -> Answer<Reply> {
        let (device, handle) = self.stream(state, stream)?;
        self.may_touch(state, device, uses)?;
        let kernel = self.gpus[device].kernel;
        let ticket = state.order.next(stream);
        state.marks.mark(device, handle, by, ticket, Point::Start);
        let length = match takes {
            Takes::For(law) => state.durations.draw(by.1, &law),
            Takes::Until(_) => Nanos::ZERO,
        };
        self.takes(state, ticket, length);
        let State { launches, memory, order, .. } = state;
        launches.launch(memory, by, (kernel, handle), length, (ticket, uses, order.before(stream)))?;
        if let Takes::Until(signal) = takes {
            self.call_back(handle, Nanos::ZERO, Some(Waiting { signal, by, at: ticket }), None)?;
        }
        self.submitted(state, by, call, stream)?;
        state.marks.mark(device, handle, by, ticket, Point::End);
        Ok(Reply::Done)
    }

    /// A kernel that touches what its device cannot reach would end the context, so it is not launched.
    fn may_touch(&self, state: &State<'_>, device: DeviceId, uses: &[Use]) -> Answer<()> {
        if self.gpus.len() < 2 && self.program.setup.pools.iter().all(|pool| pool.location.device().is_some())
        {
            return Ok(());
        }
        let ordinal = |device: DeviceId| self.gpus[device].ordinal;
        for touched in uses {
            let live = touched.memory.alloc().and_then(|alloc| state.memory.of(alloc));
            if live.and_then(|live| live.device).is_some_and(|home| ordinal(home) != ordinal(device)) {
                return Err(Failure::IllegalAddress.into());
            }
            let Some(pool) = live.and_then(|live| live.pool) else { continue };
            let flag = match state.pools[pool] {
                Held::Here(pool) => Some(super::readings::reach(pool, self.gpus[device])?),
                Held::Gone => state.last_reach.get(&(pool, device)).copied(),
                Held::Not(_) => None,
            };
            let reach = flag.map(|flag| Reach::of_flag(flag.into()).unwrap_or(Reach::None));
            if reach.is_some_and(|reach| !reach.allows(touched.access)) {
                return Err(Failure::IllegalAddress.into());
            }
        }
        Ok(())
    }

    fn host_function(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        (stream, takes, gives): (StreamId, Takes, Option<SignalId>),
    ) -> Answer<Reply> {
        let (device, handle) = self.stream(state, stream)?;
        let ticket = state.order.next(stream);
        let (length, until) = match takes {
            Takes::For(law) => (state.durations.draw(by.1, &law), None),
            Takes::Until(signal) => (Nanos::ZERO, Some(Waiting { signal, by, at: ticket })),
        };
        self.takes(state, ticket, length);
        state.marks.mark(device, handle, by, ticket, Point::Start);
        self.call_back(handle, length, until, gives.map(|signal| (signal, ticket)))?;
        self.submitted(state, by, call, stream)?;
        state.marks.mark(device, handle, by, ticket, Point::End);
        Ok(Reply::Done)
    }

    /// A function of the host in a stream: it runs so long, waits for a signal, and gives another one.
    fn call_back(
        &self,
        stream: Stream,
        length: Nanos,
        until: Option<Waiting>,
        gives: Option<(SignalId, Ticket)>,
    ) -> Answer<()> {
        let meetings = Arc::clone(&self.meetings);
        let host = Arc::clone(&self.host);
        let function = move || {
            if length > Nanos::ZERO {
                host.sleep(length);
            }
            // One that has nothing to wait for is not one that others may go on beside.
            if let Some(function) = until.filter(|function| !meetings.is_given(function.signal)) {
                meetings.function_waits(function);
                let mut is_given = false;
                host.waits(&mut || is_given = meetings.await_signal(function.signal, &|| false).is_ok());
                if is_given {
                    meetings.function_goes_on(function.at);
                }
            }
            if let Some((signal, ticket)) = gives {
                meetings.give(signal, Giver::Function(ticket));
            }
        };
        Ok(driver::launch_host(stream, Box::new(function))?)
    }

    fn record(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        stream: StreamId,
        event: EventId,
    ) -> Answer<Reply> {
        let (device, handle) = self.stream(state, stream)?;
        let mut recorded = self.event(state, event)?;
        let is_elsewhere = self.gpus[recorded.device].ordinal != self.gpus[device].ordinal;
        let is_free = self.program.setup.events[event].device.is_none() && !recorded.is_shared;
        if is_elsewhere && is_free && recorded.latest.is_none() {
            let before = recorded.event;
            recorded = self.make_event(event, Some(device))?;
            driver::destroy_event(before).ok();
            self.enter(device)?;
        }
        driver::record(recorded.event, handle)?;
        let ticket = self.submitted(state, by, call, stream)?;
        self.took_no_time(state, by, ticket);
        recorded.latest = Some(ticket);
        let source = state.source(event);
        let recorded = super::session::Recorded { same_as: None, ..recorded };
        // Behind the stream's last operation, which is the record.
        state.captured[source] = state.tails[stream].clone();
        state.events[source] = Held::Here(recorded);
        Ok(Reply::Done)
    }

    pub(super) fn event(&self, state: &State<'_>, event: EventId) -> Answer<super::session::Recorded> {
        let recorded = state.events[event].or(Failure::InvalidResourceHandle)?;
        let source = state.events[state.source(event)].here();
        Ok(super::session::Recorded { latest: source.and_then(|source| source.latest), ..recorded })
    }

    fn wait(
        &self,
        state: &mut State<'_>,
        by: By,
        call: &Call,
        stream: StreamId,
        event: EventId,
    ) -> Answer<Reply> {
        let (_, handle) = self.stream(state, stream)?;
        driver::wait(handle, self.event(state, event)?.event)?;
        let ticket = self.submitted(state, by, call, stream)?;
        self.took_no_time(state, by, ticket);
        Ok(Reply::Done)
    }
}
