//! Synchronising: the host waits for work, and the allocator learns what it has observed.
//!
//! Rules: CUDA driver API, `cuStreamSynchronize`, `cuEventSynchronize`, `cuCtxSynchronize`; CUDA Programming Guide 4.3.4.2 and
//! 4.3.4.5.

use super::{Caller, Machine};
use crate::base::{DeviceId, Nanos, PoolId};
use crate::engine::threads::{Awaited, Blocked, Host};
use crate::engine::{Chooser, Progress};
use crate::model::Allocator;
use crate::trace::{Detail, Event, Failure, Kind, Reply, Sink, StreamKind, StreamSetup, Target};
use std::task::Poll;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn synchronise(&mut self, caller: Caller, target: Target) -> Poll<Result<Reply, Failure>> {
        let Some(releases) = self.awaited(caller, target) else { return Poll::Pending };
        self.order.observe(caller.host, &self.threads.hosts[caller.host].target);
        self.settle(caller, target, releases);
        Poll::Ready(Ok(Reply::Done))
    }

    /// The device whose pools give memory back when the call returns, as settled when it was made, once everything that it
    /// waits for is complete; until then the host is blocked.
    pub(super) fn awaited(&mut self, caller: Caller, target: Target) -> Option<Option<DeviceId>> {
        let host = caller.host;
        let (releases, since) = match self.threads.hosts[host].blocked {
            Some(Blocked { awaited: Awaited::Work { releases, .. }, .. }) => (releases, self.progress.now()),
            _ => {
                self.order.target(target, &mut self.threads.hosts[host].target);
                (self.releases(target), Nanos::ZERO)
            }
        };
        self.wait(caller, target, releases, since).then_some(releases)
    }

    /// Whether everything that the host's call waits for is complete; until then the host is blocked. `since`: when that
    /// came to be so, for a call that was blocked.
    pub(super) fn wait(
        &mut self,
        caller: Caller,
        target: Target,
        releases: Option<DeviceId>,
        since: Nanos,
    ) -> bool {
        let Caller { host, stmt, .. } = caller;
        let Host { target: work, lacks, .. } = &mut self.threads.hosts[host];
        if !self.order.is_complete(work, lacks) {
            self.threads.block(host, stmt, Awaited::Work { target, releases });
            return false;
        }
        self.threads.go_on(host, since);
        self.pays(caller, self.costs.call);
        true
    }

    /// The device whose pools a synchronise makes give memory back.
    fn releases(&self, target: Target) -> Option<DeviceId> {
        match target {
            Target::Device(device) => Some(device),
            Target::Event(event) => self.order.recorded_on(event).map(|stream| self.streams[stream].device),
            Target::Stream(stream) => {
                let StreamSetup { device, kind, .. } = self.streams[stream];
                (kind != StreamKind::Legacy || self.legacy_sync_releases).then_some(device)
            }
        }
    }

    /// The allocator learns what the host has observed.
    fn settle(&mut self, caller: Caller, target: Target, releases: Option<DeviceId>) {
        let wants_states = self.sink.wants(Detail::States);
        let mut states = std::mem::take(&mut self.scratch.states);
        let mut released = std::mem::take(&mut self.scratch.released);
        states.clear();
        if wants_states {
            states.extend((0..self.pools).map(|pool| self.model.state(PoolId::new(pool))));
        }
        released.clear();
        let observed = self.order.observed();
        self.model.synchronised(target, releases, observed, &mut released);
        if self.sink.wants(Detail::Events) {
            let Caller { host, stmt, .. } = caller;
            let kind = Kind::Synchronised { observed };
            self.sink.event(&Event { at: self.threads.hosts[host].now, host, stmt, ticket: None, kind });
        }
        for (pool, bytes) in &released {
            self.emit(caller, None, Kind::Released { pool: *pool, bytes: *bytes });
        }
        for (pool, before) in states.iter().enumerate() {
            if self.model.state(PoolId::new(pool)) != *before {
                self.emit_state(caller, PoolId::new(pool));
            }
        }
        (self.scratch.states, self.scratch.released) = (states, released);
        self.end_pools_now(caller);
    }
}
