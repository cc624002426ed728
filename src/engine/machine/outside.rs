//! Calls about memory outside of pools, and the plain free: they neither order nor observe anything, unless the profile
//! makes a plain free a synchronise.

use super::{Caller, Machine};
use crate::base::{Bytes, DeviceId, HostId, Nanos, StreamId};
use crate::engine::threads::{Awaited, Blocked};
use crate::engine::{Chooser, Progress};
use crate::model::{Allocator, Freed, Origin};
use crate::order::{Effect, Runs};
use crate::trace::{AllocId, Detail, DeviceFigure, Failure, Kind, Reading, Reply, Sink, Target};
use std::task::Poll;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn malloc(
        &mut self,
        caller: Caller,
        device: DeviceId,
        size: Bytes,
        managed: bool,
    ) -> Result<Reply, Failure> {
        let result = self.model.malloc(device, size, managed);
        if let Ok(decision) = &result {
            self.emit(caller, None, Kind::Decided(decision));
        }
        self.emit_device_state(caller, self.physical(device));
        result.map(Reply::Allocated)
    }

    pub(super) fn reserve(
        &mut self,
        caller: Caller,
        device: DeviceId,
        size: Bytes,
    ) -> Result<Reply, Failure> {
        self.model.reserve(device, size)?;
        self.emit_device_state(caller, device);
        Ok(Reply::Done)
    }

    pub(super) fn plain_free(&mut self, caller: Caller, alloc: AllocId) -> Result<Reply, Failure> {
        let freed = self.model.plain_free(alloc)?;
        self.emit_freed(caller, freed);
        self.end_pools_now(caller);
        Ok(Reply::Freed(None))
    }

    /// What a plain free waits for, where the profile says that it does. A free that has begun to wait goes on with it, even
    /// if another thread has freed the same memory meanwhile.
    pub(super) fn synchronises(&self, host: HostId, alloc: AllocId) -> Option<Target> {
        match self.threads.hosts[host].blocked {
            _ if !self.plain_free_syncs => None,
            Some(Blocked { awaited: Awaited::Work { target, .. }, .. }) => Some(target),
            _ => match self.model.origin(alloc) {
                Some(Origin::Outside(device)) => Some(Target::Device(device)),
                Some(Origin::Pool(_) | Origin::Graph(_)) | None => None,
            },
        }
    }

    /// A plain free that is a synchronise of its device first (CUDA driver API, `cuMemFree`: it may be).
    pub(super) fn free_after_all(&mut self, caller: Caller, alloc: AllocId) -> Poll<Result<Reply, Failure>> {
        if let Some(target) = self.synchronises(caller.host, alloc) {
            if self.synchronise(caller, target).is_pending() {
                return Poll::Pending;
            }
            self.complete_frees(caller);
        }
        let result = self.plain_free(caller, alloc);
        if let Err(failure) = result {
            self.emit(caller, None, Kind::Failed { failure, call: caller.call });
        }
        Poll::Ready(result)
    }

    /// `cudaFreeAsync`, of any memory.
    pub(super) fn free(
        &mut self,
        caller: Caller,
        stream: StreamId,
        alloc: AllocId,
    ) -> Result<Reply, Failure> {
        let at = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        let freed = self.model.free(alloc, at)?;
        if freed == Freed::Nothing {
            return Ok(Reply::Freed(None));
        }
        self.submit(caller, stream, Runs::For(Nanos::ZERO), Effect::None);
        self.emit_freed(caller, freed);
        Ok(Reply::Freed(Some(at)))
    }

    fn emit_freed(&mut self, caller: Caller, freed: Freed) {
        match freed {
            Freed::Nothing => {}
            Freed::Pool { pool, unmapped: Bytes::ZERO } => self.emit_state(caller, pool),
            Freed::Pool { pool, unmapped } => self.emit_unmapped(caller, pool, unmapped),
            Freed::Outside(device) => self.emit_device_state(caller, device),
            Freed::Graphs(_) => self.emit_graph_pools(caller),
        }
    }

    /// The allocator learns which operations are complete, if memory outside of pools waits for some.
    pub(super) fn complete_frees(&mut self, caller: Caller) {
        if !self.model.awaits_completion() {
            return;
        }
        let mut returned = std::mem::take(&mut self.scratch.returned);
        returned.clear();
        self.look(caller.host);
        self.model.completed(&self.threads.hosts[caller.host].visible, &mut returned);
        for (freed, device, bytes) in &returned {
            self.emit(caller, None, Kind::Returned { device: *device, bytes: *bytes, freed: *freed });
        }
        self.scratch.returned = returned;
    }

    pub(super) fn read(&mut self, caller: Caller, reading: Reading) -> u64 {
        match reading {
            Reading::Pool(pool, figure) => self.model.state(pool).figure(figure),
            Reading::Graphs(device, figure) => self.model.graph_pool(device).figure(figure),
            Reading::Access(pool, device) => self.grants.reach(pool, device).flag(),
            Reading::Peer(device, of) => self.grants.peer(device, of).flag(),
            Reading::CurrentPool(device) => {
                self.resources.current(device).map_or(u64::MAX, |pool| pool.index() as u64)
            }
            Reading::PoolItself(pool) => pool.index() as u64,
            Reading::Device(device, figure) => {
                if let Some(value) = self.devices[device].figure(figure) {
                    return value;
                }
                self.look(caller.host);
                let state = self.model.device(device, &self.threads.hosts[caller.host].visible);
                if figure == DeviceFigure::Beyond { state.beyond().0 } else { state.free().0 }
            }
        }
    }

    /// A device as the first process knows it.
    pub(in crate::engine) fn physical(&self, device: DeviceId) -> DeviceId {
        self.devices[device].same_as.unwrap_or(device)
    }

    pub(super) fn emit_device_state(&mut self, caller: Caller, device: DeviceId) {
        if self.sink.wants(Detail::States) {
            self.look(caller.host);
            let state = self.model.device(device, &self.threads.hosts[caller.host].visible);
            self.emit(caller, None, Kind::Device { device, state: &state });
        }
    }
}
