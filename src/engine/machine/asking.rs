//! What a host learns by asking: queries, polls, and the time between two events. It proves nothing to the allocator.
//!
//! Rules: CUDA driver API, `cuStreamQuery`, `cuEventQuery`; CUDA runtime API, `cudaEventElapsedTime`.

use super::{Caller, Machine};
use crate::base::{EventId, Nanos};
use crate::engine::threads::Host;
use crate::engine::{Chooser, Progress};
use crate::model::Allocator;
use crate::trace::{Detail, Event, Failure, Kind, Reply, Sink, Target, Ticket};
use std::task::Poll;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Polling sees what it waits for, but proves nothing to the allocator (CUDA Programming Guide 4.3.4.5 speaks of
    /// synchronisation alone). Each time it asks about all that is there by then, also by other threads (`cuStreamQuery`,
    /// `cuEventQuery`).
    pub(super) fn poll(&mut self, caller: Caller, target: Target) -> Poll<Result<Reply, Failure>> {
        let host = &mut self.threads.hosts[caller.host];
        let since = if host.blocked.is_some() { self.progress.now() } else { Nanos::ZERO };
        self.order.target(target, &mut host.target);
        if !self.wait(caller, target, None, since) {
            return Poll::Pending;
        }
        self.see(caller);
        Poll::Ready(Ok(Reply::Done))
    }

    /// Asks once. Progress at this very time is not visible yet, as for every call.
    pub(super) fn query(&mut self, caller: Caller, target: Target) -> Result<Reply, Failure> {
        let host = &mut self.threads.hosts[caller.host];
        self.order.target(target, &mut host.target);
        self.look(caller.host);
        let host = &self.threads.hosts[caller.host];
        if host.target.iter().zip(&host.visible).any(|(asked, done)| asked > done) {
            return Err(Failure::NotReady);
        }
        self.see(caller);
        Ok(Reply::Done)
    }

    pub(super) fn see(&mut self, caller: Caller) {
        let Caller { host, stmt } = caller;
        let Host { target: seen, now, .. } = &self.threads.hosts[host];
        self.order.see(host, seen);
        if self.sink.wants(Detail::Events) {
            self.sink.event(&Event { at: *now, host, stmt, ticket: None, kind: Kind::Seen { seen } });
        }
    }

    /// The record of an event has completed.
    pub(super) fn happened(&mut self, event: EventId, record: Ticket) {
        if self.order.recorded(event) == Some(record) {
            self.happened[event] = self.progress.now();
        }
    }

    /// From the completion of one event to that of the other one. Neither of them is a synchronise, and later work is not
    /// ordered after them: whoever wants that asks by a query.
    pub(super) fn elapsed(&mut self, caller: Caller, from: EventId, to: EventId) -> Result<Reply, Failure> {
        let (Some(first), Some(last)) = (self.timed(from), self.timed(to)) else {
            return Err(Failure::InvalidResourceHandle);
        };
        self.look(caller.host);
        let done = &self.threads.hosts[caller.host].visible;
        if [first, last].iter().any(|record| record.seq > done[record.stream.index()]) {
            return Err(Failure::NotReady);
        }
        let [Nanos(first), Nanos(last)] = [from, to].map(|event| self.happened[event]);
        let value = i128::from(last) - i128::from(first);
        self.emit(caller, None, Kind::Value(value));
        Ok(Reply::Value(value))
    }

    /// The latest record of an event that keeps times.
    fn timed(&self, event: EventId) -> Option<Ticket> {
        self.order.recorded(event).filter(|_| !self.shares.is_interprocess(event))
    }
}
