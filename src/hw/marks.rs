//! When operations started and ended, by events that are recorded around them.
//!
//! Rules: CUDA driver API, `cuEventElapsedTime` (milliseconds, with a resolution of about half a microsecond; as they are told in 24
//! bits, they have it for some seconds from the beginning).

use super::driver::{self, Answer, CudaError, Event, Stream};
use super::log::{Log, What};
use crate::base::{DeviceId, HostId, Nanos, StmtId};
use crate::trace::{Cut, Ticket};
use std::collections::BTreeMap;

/// What of an operation an event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    Start,
    End,
    /// Both, of an operation that takes no time.
    Whole,
}

/// An event that was recorded at the start or the end of an operation.
#[derive(Clone, Copy, Debug)]
struct Mark {
    device: DeviceId,
    event: Event,
    by: (HostId, StmtId),
    ticket: Ticket,
    point: Point,
}

/// Where a device's times are counted from.
#[derive(Clone, Copy, Debug)]
struct Base {
    event: Event,
    at: Nanos,
}

/// All of a run.
#[derive(Debug, Default)]
pub(super) struct Marks {
    bases: BTreeMap<DeviceId, Base>,
    pending: Vec<Mark>,
    spare: BTreeMap<DeviceId, Vec<Event>>,
}

impl Marks {
    /// Times of the current context's device count from here.
    pub(super) fn begin(&mut self, device: DeviceId, now: &dyn Fn() -> Nanos) -> Answer<()> {
        let event = driver::create_event(true, false)?;
        driver::record(event, Stream::LEGACY)?;
        driver::synchronise_event(event)?;
        // It was a moment ago; no operation is told to start before its call.
        self.bases.insert(device, Base { event, at: now() });
        Ok(())
    }

    /// Marks this place of a stream, whose context is current, as a point of an operation. A time is not worth a failure: where the
    /// driver has no event for it, it stays unknown.
    pub(super) fn mark(
        &mut self,
        device: DeviceId,
        stream: Stream,
        by: (HostId, StmtId),
        ticket: Ticket,
        point: Point,
    ) {
        let spare = self.spare.entry(device).or_default();
        let Some(event) = spare.pop().or_else(|| driver::create_event(true, false).ok()) else { return };
        match driver::record(event, stream) {
            Ok(()) => self.pending.push(Mark { device, event, by, ticket, point }),
            Err(_) => spare.push(event),
        }
    }

    /// When these operations were, is not told.
    pub(super) fn forget(&mut self, mut which: impl FnMut(Ticket) -> bool) {
        for mark in self.pending.extract_if(.., |mark| which(mark.ticket)) {
            self.spare.entry(mark.device).or_default().push(mark.event);
        }
    }

    /// Tells the times of what the host has seen complete; without a cut of all. Nothing is asked of events beside their times: to
    /// see an event complete would be an order of its own.
    pub(super) fn tell(&mut self, log: &mut Log, seen: Option<&Cut>) {
        let Self { bases, pending, spare } = self;
        pending.retain(|mark| {
            if seen.is_some_and(|seen| !mark.ticket.within(seen)) {
                return true;
            }
            let Some(Base { event, at }) = bases.get(&mark.device) else { return false };
            match driver::elapsed(*event, mark.event) {
                Ok(milliseconds) => {
                    let at = at.after(Nanos((f64::from(milliseconds.max(0.0)) * 1e6).round() as u64));
                    if mark.point != Point::End {
                        log.device(at, mark.by, mark.ticket, What::Start);
                    }
                    if mark.point != Point::Start {
                        log.device(at, mark.by, mark.ticket, What::End);
                    }
                }
                // The operation is complete, and the event behind it a moment later.
                Err(CudaError::NOT_READY) if seen.is_some() => return true,
                Err(_) => {}
            }
            spare.entry(mark.device).or_default().push(mark.event);
            false
        });
    }

    /// Lets go of all events.
    pub(super) fn end(&mut self) {
        let bases = std::mem::take(&mut self.bases).into_values().map(|base| base.event);
        let spare = std::mem::take(&mut self.spare).into_values().flatten();
        let pending = self.pending.drain(..).map(|mark| mark.event);
        bases.chain(spare).chain(pending).for_each(|event| {
            driver::destroy_event(event).ok();
        });
    }
}
