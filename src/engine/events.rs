//! The device that each event belongs to, and when it happened: what an event is beside its place in the order.
//!
//! Rules: CUDA driver API, `cuEventRecord` (event and stream of one context); CUDA runtime API, `cudaEventElapsedTime`
//! (the same goes for its two events: CUDA Programming Guide, "Multi-device system").

use super::machine::Caller;
use super::{Chooser, Machine, Progress};
use crate::base::{DeviceId, EventId, IndexVec, Nanos, ProcessId, StreamId};
use crate::model::Allocator;
use crate::trace::{Call, EventSetup, Failure, GraphCall, Kind, Reply, Setup, Sink, Ticket};

/// An event.
#[derive(Clone, Copy, Debug)]
pub(super) struct Happening {
    process: ProcessId,
    /// The device that it belongs to, as the first process knows it; `None`: it has not been recorded yet.
    home: Option<DeviceId>,
    /// When its latest record completed, if it has.
    happened: Nanos,
}

/// All events before the first call.
pub(super) fn events(setup: &Setup) -> IndexVec<EventId, Happening> {
    let home = |event: &EventSetup| event.device.map(|device| setup.physical(device));
    setup.events.iter().map(|event| Happening::new(event, home(event))).collect()
}

impl Happening {
    /// An event that was not recorded, of a device as the first process knows it.
    pub(super) fn new(setup: &EventSetup, home: Option<DeviceId>) -> Self {
        Self { process: setup.process, home, happened: Nanos::ZERO }
    }
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// An event is recorded on a stream of its own device.
    pub(super) fn check_record(&mut self, caller: Caller, call: &Call) -> Result<(), Failure> {
        match call {
            Call::Record { stream, event } => {
                self.belongs_to(caller, *event, Some(self.physical(self.streams[*stream].device)))
            }
            Call::Graph(GraphCall::Node { node, .. }) => self.check_record(caller, node),
            _ => Ok(()),
        }
    }

    /// Whether an event belongs to this device, as far as it belongs to any.
    fn belongs_to(
        &mut self,
        caller: Caller,
        event: EventId,
        device: Option<DeviceId>,
    ) -> Result<(), Failure> {
        let home = self.events[self.shares.event(event)].home;
        let Some((home, device)) = home.zip(device).filter(|(home, device)| home != device) else {
            return Ok(());
        };
        self.emit(caller, None, Kind::OtherDevice { event, home, device });
        Err(Failure::InvalidResourceHandle)
    }

    /// An event belongs to the device of the stream that records it first, if it was not declared on one.
    pub(super) fn belongs(&mut self, event: EventId, stream: StreamId) {
        let device = self.physical(self.streams[stream].device);
        self.events[self.shares.event(event)].home.get_or_insert(device);
    }

    /// What the process of an event calls its device. One that was never recorded is, as where CUDA is told of no device, of the
    /// first one.
    pub(super) fn device_of(&self, event: EventId) -> Option<DeviceId> {
        let home = self.events[self.shares.event(event)].home;
        let is_own = |device: DeviceId| self.devices[device].process == self.events[event].process;
        let is_home = |device: DeviceId| home.is_none_or(|home| self.physical(device) == home);
        self.devices.indices().find(|device| is_own(*device) && is_home(*device))
    }

    /// The record of an event has completed.
    pub(super) fn happened(&mut self, event: EventId, record: Ticket) {
        if self.order.recorded(event) == Some(record) {
            self.events[event].happened = self.progress.now();
        }
    }

    /// From the completion of one event to that of the other one. Neither of them is a synchronise, and later work is not
    /// ordered after them: whoever wants that asks by a query.
    pub(super) fn elapsed(&mut self, caller: Caller, from: EventId, to: EventId) -> Result<Reply, Failure> {
        let (Some(first), Some(last)) = (self.timed(from), self.timed(to)) else {
            return Err(Failure::InvalidResourceHandle);
        };
        self.belongs_to(caller, to, self.events[from].home)?;
        self.look(caller.host);
        let done = &self.threads.hosts[caller.host].visible;
        if [first, last].iter().any(|record| record.seq > done[record.stream.index()]) {
            return Err(Failure::NotReady);
        }
        let [Nanos(first), Nanos(last)] = [from, to].map(|event| self.events[event].happened);
        let value = i128::from(last) - i128::from(first);
        self.emit(caller, None, Kind::Value(value));
        Ok(Reply::Value(value))
    }

    /// The latest record of an event that keeps times.
    fn timed(&self, event: EventId) -> Option<Ticket> {
        self.order.recorded(event).filter(|_| !self.shares.is_interprocess(event))
    }
}
