//! Work on devices that a host thread waits for, or asks about: as it was when the call was made.
//!
//! Where other threads can put more into the same streams meanwhile, it is known again by events. Those are recorded so that nothing
//! of the program is ordered by them that was not.
//!
//! Rules: CUDA driver API, `cuStreamSynchronize`, `cuEventSynchronize`, `cuCtxSynchronize`, `cuStreamQuery`, `cuEventQuery`, "Stream
//! synchronization behavior".

use super::calls::{Answer, By, Trouble};
use super::driver::{self, Event, Stream};
use super::log::What;
use super::session::{Held, Session, State};
use crate::base::{DeviceId, EventId, HostId, Nanos, StreamId};
use crate::trace::{Cut, Failure, Reply, StreamKind, Target, Ticket};
use std::sync::Arc;

/// Work on a device, as the driver knows it.
#[derive(Clone, Debug)]
pub(super) struct Work {
    device: DeviceId,
    whole: Whole,
    /// It is complete once all of this is.
    asked: Vec<Asked>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug)]
enum Whole {
    Stream(Stream),
    Event(Event),
    Device,
}

/// What a driver can be asked about.
#[derive(Clone, Debug)]
enum Asked {
    Stream(Stream),
    Event(Event),
    Tail(Arc<Tail>),
}

/// An event behind the last operation of a stream, which lives as long as somebody needs it.
#[derive(Debug)]
pub(super) struct Tail(Event);

impl Tail {
    fn new() -> driver::Answer<Self> {
        driver::create_event(false, false).map(Self)
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        driver::destroy_event(self.0).ok();
    }
}

/// Work as it was when a thread began to wait for it, where others may add to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Fence {
    /// The last operation of each of its streams.
    submitted: Vec<Ticket>,
    /// Of an event, what it had captured.
    record: Option<(EventId, Option<Ticket>)>,
    tails: Vec<Arc<Tail>>,
}

impl Session<'_> {
    /// What a synchronise waits for, and what is complete once it returns.
    pub(super) fn work(&self, state: &State<'_>, target: Target) -> Answer<(Work, Vec<u32>)> {
        let (work, target) = match target {
            Target::Stream(stream) => {
                let (device, handle) = self.stream(state, stream)?;
                // Whether a driver answers for the blocking streams too, documents do not say.
                let asked = match self.program.setup.streams[stream].kind {
                    StreamKind::Legacy => self.asked(state, target),
                    _ => vec![Asked::Stream(handle)],
                };
                (Work { device, whole: Whole::Stream(handle), asked }, target)
            }
            Target::Event(event) => {
                let recorded = self.event(state, event)?;
                let asked = vec![Asked::Event(recorded.event)];
                let whole = Whole::Event(recorded.event);
                (Work { device: recorded.device, whole, asked }, Target::Event(state.source(event)))
            }
            Target::Device(device) => {
                let asked = self.asked(state, target);
                (Work { device, whole: Whole::Device, asked }, target)
            }
        };
        Ok((work, state.order.target(target)))
    }

    /// The streams of a target; those that were destroyed, and the default streams of other threads, by their tails.
    fn asked(&self, state: &State<'_>, target: Target) -> Vec<Asked> {
        let asked = |stream: StreamId| {
            let tail = state.tails[stream].as_ref();
            match (state.streams[stream].here(), tail) {
                (Some(_), Some(tail)) if self.is_of_thread(stream) => Some(Asked::Tail(Arc::clone(tail))),
                (Some(handle), _) => Some(Asked::Stream(handle)),
                (None, tail) => tail.map(|tail| Asked::Tail(Arc::clone(tail))),
            }
        };
        state.order.awaited(target).into_iter().filter_map(asked).collect()
    }

    fn is_of_thread(&self, stream: StreamId) -> bool {
        self.program.setup.streams[stream].kind == StreamKind::PerThread
    }

    /// Work that is to be waited for, as it is now. Only another thread can add to it before the driver is asked.
    pub(super) fn fence(&self, state: &State<'_>, target: Target) -> Answer<Option<Fence>> {
        if self.program.setup.hosts == 1 {
            return Ok(None);
        }
        let mut fence = Fence::default();
        if let Target::Event(event) = target {
            fence.record = Some((event, self.event(state, event)?.latest));
            fence.tails.extend(state.captured[state.source(event)].clone());
            return Ok(Some(fence));
        }
        for stream in state.order.awaited(target) {
            if !matches!(state.streams[stream], Held::Gone) {
                fence.submitted.push(state.order.latest(stream));
            }
            fence.tails.extend(state.tails[stream].clone());
        }
        Ok(Some(fence))
    }

    /// Behind each operation of a stream an event is recorded at once, if others can wait for it: later, it could be behind what
    /// others have submitted meanwhile, and in a blocking stream behind the legacy default stream.
    pub(super) fn records_tail(&self, state: &mut State<'_>, stream: StreamId) -> Answer<()> {
        if self.program.setup.hosts > 1 { self.renews_tail(state, stream) } else { Ok(()) }
    }

    /// What is left of a stream that is destroyed.
    pub(super) fn leaves_tail(&self, state: &mut State<'_>, stream: StreamId) -> Answer<()> {
        let is_used = state.order.latest(stream).seq > 0;
        if self.program.setup.hosts == 1 && is_used { self.renews_tail(state, stream) } else { Ok(()) }
    }

    fn renews_tail(&self, state: &mut State<'_>, stream: StreamId) -> Answer<()> {
        let Some(handle) = state.streams[stream].here() else { return Ok(()) };
        // No call of the program has failed, and without the event nobody could tell what is complete.
        let fails = |code| Trouble::Ends(format!("the driver answers {code} for an event of the backend"));
        let tail = match state.tails[stream].take() {
            Some(tail) if Arc::strong_count(&tail) == 1 => tail,
            _ => Arc::new(Tail::new().map_err(fails)?),
        };
        driver::record(tail.0, handle).map_err(fails)?;
        state.tails[stream] = Some(tail);
        Ok(())
    }

    /// Waits for work as it was when the call was made. Where other threads have put more into its streams since, or have destroyed
    /// them, it is waited for the events that were recorded then.
    pub(super) fn synchronise(&self, work: &Work, fence: Option<&Fence>) -> Answer<()> {
        if let Some(fence) = fence
            && self.is_another(&self.lock(), work, fence)
        {
            return Ok(fence.tails.iter().try_for_each(|tail| driver::synchronise_event(tail.0))?);
        }
        self.enter(work.device)?;
        match work.whole {
            Whole::Event(event) => driver::synchronise_event(event)?,
            Whole::Stream(stream) => driver::synchronise_stream(stream)?,
            Whole::Device => driver::synchronise_context()?,
        }
        Ok(())
    }

    /// Whether the driver would wait for something else than it was to.
    fn is_another(&self, state: &State<'_>, work: &Work, fence: &Fence) -> bool {
        let has_grown = |ticket: &Ticket| state.order.latest(ticket.stream) != *ticket;
        let is_gone = |ticket: &Ticket| matches!(state.streams[ticket.stream], Held::Gone);
        match (work.whole, fence.record) {
            (Whole::Event(was), Some((event, latest))) => match self.event(state, event) {
                Ok(recorded) => recorded.latest != latest || recorded.event != was,
                Err(_) => true,
            },
            (Whole::Device, _) => fence.submitted.iter().any(has_grown),
            _ => fence.submitted.iter().any(|ticket| has_grown(ticket) || is_gone(ticket)),
        }
    }

    /// Asks about everything that is there by now; what is complete, if all of it is. Where there is nothing to ask any more, about
    /// what there was when the call was made.
    pub(super) fn polls(
        &self,
        target: Target,
        fence: Option<&Fence>,
        cut: &[u32],
    ) -> Answer<Option<Vec<u32>>> {
        let state = self.lock();
        match (self.work(&state, target), fence) {
            (Ok((work, cut)), _) => Ok(self.is_complete(&work)?.then_some(cut)),
            (Err(trouble), None) => Err(trouble),
            (Err(_), Some(fence)) => {
                for tail in &fence.tails {
                    if !driver::query_event(tail.0)? {
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
        self.saw(state, &cut);
        state.log.host(self.now(), by, None, What::Seen(cut));
        Ok(Reply::Done)
    }

    /// A device has no query of its own: it is complete once all that is asked of it is.
    fn is_complete(&self, work: &Work) -> Answer<bool> {
        self.enter(work.device)?;
        for asked in &work.asked {
            let is_complete = match asked {
                Asked::Stream(stream) => driver::query_stream(*stream)?,
                Asked::Event(event) => driver::query_event(*event)?,
                Asked::Tail(tail) => driver::query_event(tail.0)?,
            };
            if !is_complete {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// An operation takes so long.
    pub(super) fn takes(&self, state: &mut State<'_>, ticket: Ticket, length: Nanos) {
        state.outstanding.put(ticket, length);
        self.meetings.may_work(state.outstanding.total());
    }

    /// A thread has waited for everything in a cut.
    pub(super) fn observed(&self, state: &mut State<'_>, host: HostId, cut: &Cut) {
        state.order.observe(host, cut);
        self.saw(state, cut);
    }

    /// The host has seen that everything in a cut is complete, and so is what gave the signals that functions in it have waited for.
    pub(super) fn saw(&self, state: &mut State<'_>, cut: &Cut) {
        let mut signals = state.order.saw(cut);
        while let Some(signal) = signals.pop() {
            if let Some(giver) = self.meetings.given_by(signal) {
                let complete = state.order.until(giver);
                signals.extend(state.order.saw(&complete));
            }
        }
        state.outstanding.seen(state.order.seen());
        self.meetings.may_work(state.outstanding.total());
    }
}
