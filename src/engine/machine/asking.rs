//! Queries and polls: what a host learns by asking. It proves nothing to the allocator.
//!
//! Rules: CUDA driver API, `cuStreamQuery`, `cuEventQuery`.

use super::{Caller, Machine};
use crate::base::Nanos;
use crate::engine::threads::Host;
use crate::engine::{Chooser, Progress};
use crate::model::Allocator;
use crate::trace::{Detail, Event, Failure, Kind, Reply, Sink, Target};
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
        let Caller { host, stmt, .. } = caller;
        let Host { target: seen, now, .. } = &self.threads.hosts[host];
        self.order.see(host, seen);
        if self.sink.wants(Detail::Events) {
            self.sink.event(&Event { at: *now, host, stmt, ticket: None, kind: Kind::Seen { seen } });
        }
    }
}
