//! Work on devices that a host thread waits for, or asks about: as it was when the call was made.
//!
//! Where other threads can put more into the same streams meanwhile, it is known again by events. Those are recorded so that nothing
//! of the program is ordered by them that was not.
//!
//! Rules: CUDA driver API, `cuStreamSynchronize`, `cuEventSynchronize`, `cuCtxSynchronize`, `cuStreamQuery`, `cuEventQuery`, "Stream
//! synchronization behavior".

use super::calls::{Answer, By};
use super::driver::{self, Event, Stream};
use super::log::What;
use super::session::{Held, Session, State};
use crate::base::{DeviceId, EventId, StreamId};
use crate::trace::{Failure, Reply, StreamKind, Target, Ticket};

/// Work on a device, as the driver knows it.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Stream(DeviceId, Stream),
    Event(DeviceId, Event),
    /// All of it; for who asks, that of these streams, and what comes before these events.
    Device(DeviceId, Vec<Stream>, Vec<Event>),
}

/// Work as it was when a thread began to wait for it, where others may add to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Fence {
    /// The last operation of each of its streams.
    submitted: Vec<Ticket>,
    /// Of an event, what it had captured.
    record: Option<(EventId, Option<Ticket>)>,
    events: Vec<Event>,
}

impl Session<'_> {
    /// What a synchronise waits for, and what is complete once it returns.
    pub(super) fn work(&self, state: &State<'_>, target: Target) -> Answer<(Work, Vec<u32>)> {
        let (work, target) = match target {
            Target::Stream(stream) => {
                let (device, handle) = self.stream(state, stream)?;
                (Work::Stream(device, handle), target)
            }
            Target::Event(event) => {
                let recorded = self.event(state, event)?;
                (Work::Event(recorded.device, recorded.event), Target::Event(state.source(event)))
            }
            Target::Device(device) => {
                let (mut streams, mut events) = (Vec::new(), Vec::new());
                for stream in state.order.awaited(target) {
                    // The default stream of another thread has no handle here.
                    match state.tails[stream] {
                        Some(tail) if self.is_of_thread(stream) => events.push(tail),
                        _ => streams.extend(state.streams[stream].here()),
                    }
                }
                (Work::Device(device, streams, events), target)
            }
        };
        Ok((work, state.order.target(target)))
    }

    fn is_of_thread(&self, stream: StreamId) -> bool {
        self.program.setup.streams[stream].kind == StreamKind::PerThread
    }

    /// Work that is to be waited for, as it is now. Only another thread can add to it before the driver is asked.
    pub(super) fn fence(&self, state: &State<'_>, work: &Work, target: Target) -> Answer<Fence> {
        let mut fence = Fence::default();
        if self.program.setup.hosts == 1 {
            return Ok(fence);
        }
        if let (Work::Event(device, event), Target::Event(id)) = (work, target) {
            fence.record = Some((id, self.event(state, id)?.latest));
            fence.events.push(self.copy_of(*device, *event)?);
            return Ok(fence);
        }
        for stream in state.order.awaited(target) {
            let Some(handle) = state.streams[stream].here() else { continue };
            let setup = &self.program.setup.streams[stream];
            self.enter(setup.device)?;
            fence.submitted.push(state.order.latest(stream));
            if has_tail(setup.kind) {
                if let Some(tail) = state.tails[stream] {
                    fence.events.push(self.copy_of(setup.device, tail)?);
                }
            } else {
                let event = driver::create_event(false, false)?;
                fence.events.push(event);
                driver::record(event, handle)?;
            }
        }
        Ok(fence)
    }

    /// An event that has captured what another one has captured by now.
    fn copy_of(&self, device: DeviceId, event: Event) -> Answer<Event> {
        self.enter(device)?;
        let (aside, copy) = (driver::create_stream(true, 0)?, driver::create_event(false, false)?);
        driver::wait(aside, event)?;
        driver::record(copy, aside)?;
        driver::destroy_stream(aside)?;
        Ok(copy)
    }

    /// Behind each operation of a stream that others cannot record in, an event is recorded, if others can wait for it.
    pub(super) fn records_tail(&self, state: &mut State<'_>, stream: StreamId) {
        let kind = self.program.setup.streams[stream].kind;
        let Some(handle) = state.streams[stream].here() else { return };
        if self.program.setup.hosts == 1 || !has_tail(kind) {
            return;
        }
        let tail = state.tails[stream].or_else(|| driver::create_event(false, false).ok());
        state.tails[stream] = tail;
        if let Some(tail) = tail {
            driver::record(tail, handle).ok();
        }
    }

    /// Waits for work as it was when the call was made. Where other threads have put more into its streams since, or have destroyed
    /// them, it is waited for the events that were recorded then.
    pub(super) fn synchronise(&self, work: &Work, fence: &Fence) -> Answer<()> {
        let is_another = self.is_another(&self.lock(), work, fence);
        match work {
            _ if is_another => {
                fence.events.iter().try_for_each(|event| driver::synchronise_event(*event))?;
            }
            Work::Event(device, event) => {
                self.enter(*device)?;
                driver::synchronise_event(*event)?;
            }
            Work::Stream(device, stream) => {
                self.enter(*device)?;
                driver::synchronise_stream(*stream)?;
            }
            Work::Device(device, ..) => {
                self.enter(*device)?;
                driver::synchronise_context()?;
            }
        }
        Ok(())
    }

    /// Whether the driver would wait for something else than it was to.
    fn is_another(&self, state: &State<'_>, work: &Work, fence: &Fence) -> bool {
        let has_grown = |ticket: &Ticket| state.order.latest(ticket.stream) != *ticket;
        let is_gone = |ticket: &Ticket| matches!(state.streams[ticket.stream], Held::Gone);
        match (work, fence.record) {
            (Work::Event(_, was), Some((event, latest))) => match self.event(state, event) {
                Ok(recorded) => recorded.latest != latest || recorded.event != *was,
                Err(_) => true,
            },
            (Work::Device(..), _) => fence.submitted.iter().any(has_grown),
            _ => fence.submitted.iter().any(|ticket| has_grown(ticket) || is_gone(ticket)),
        }
    }

    /// Lets go of the events of a fence.
    pub(super) fn remove(&self, fence: &Fence) -> Answer<()> {
        Ok(fence.events.iter().try_for_each(|event| driver::destroy_event(*event))?)
    }

    /// Asks about everything that is there by now; what is complete, if all of it is. Where there is nothing to ask any more, about
    /// what there was when the call was made.
    pub(super) fn polls(&self, target: Target, fence: &Fence, cut: &[u32]) -> Answer<Option<Vec<u32>>> {
        let state = self.lock();
        match self.work(&state, target) {
            Ok((work, cut)) => Ok(self.is_complete(&work)?.then_some(cut)),
            Err(trouble) if fence.events.is_empty() => Err(trouble),
            Err(_) => {
                for event in &fence.events {
                    if !driver::query_event(*event)? {
                        return Ok(None);
                    }
                }
                Ok(Some(cut.to_vec()))
            }
        }
    }

    pub(super) fn query(&self, state: &mut State<'_>, by: By, target: Target) -> Answer<Reply> {
        let (work, cut) = self.work(state, target)?;
        if !self.is_complete(&work)? {
            return Err(Failure::NotReady.into());
        }
        state.order.saw(&cut);
        state.log.host(self.now(), by, None, What::Seen(cut));
        Ok(Reply::Done)
    }

    /// A device has no query of its own: it is complete once all that is asked of it is.
    fn is_complete(&self, work: &Work) -> Answer<bool> {
        Ok(match work {
            Work::Stream(device, stream) => {
                self.enter(*device)?;
                driver::query_stream(*stream)?
            }
            Work::Event(device, event) => {
                self.enter(*device)?;
                driver::query_event(*event)?
            }
            Work::Device(device, streams, events) => {
                self.enter(*device)?;
                for stream in streams {
                    if !driver::query_stream(*stream)? {
                        return Ok(false);
                    }
                }
                for event in events {
                    if !driver::query_event(*event)? {
                        return Ok(false);
                    }
                }
                true
            }
        })
    }
}

/// Whether an event behind its last operation stands for a stream: what another thread records in its own default stream is in that
/// thread's own, and what is recorded in the legacy default stream waits for all blocking streams.
fn has_tail(kind: StreamKind) -> bool {
    matches!(kind, StreamKind::Legacy | StreamKind::PerThread)
}
