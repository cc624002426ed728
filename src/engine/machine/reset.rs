//! The reset of a device: it waits for the work of the device, and ends what belongs to the context of the process there.
//!
//! These are streams but for the default ones, events, graphs and memory outside of pools. Pools and their memory belong to no
//! context. As for a plain free, what the call waits for proves nothing to the allocator.
//!
//! Rules: CUDA runtime API, `cudaDeviceReset`; CUDA driver API, `cuCtxDestroy`; CUDA Programming Guide 4.3.5.4.

use super::{Caller, Machine};
use crate::base::DeviceId;
use crate::engine::{Chooser, Progress};
use crate::model::Allocator;
use crate::trace::{Failure, Kind, Reply, Resource, Sink, StreamKind, Target};
use std::task::Poll;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn reset(&mut self, caller: Caller, device: DeviceId) -> Poll<Result<Reply, Failure>> {
        if self.awaited(caller, Target::Device(device)).is_none() {
            return Poll::Pending;
        }
        self.see(caller);
        self.complete_frees(caller);
        for resource in self.of_device(device) {
            self.resources.destroy(resource).expect("only the default pool cannot be destroyed");
            self.end_graph(caller, resource);
        }
        let mut freed = Vec::new();
        self.model.reset(device, &mut freed);
        for alloc in &freed {
            self.emit(caller, None, Kind::Freed(*alloc));
        }
        if !freed.is_empty() {
            self.emit_device_state(caller, self.physical(device));
        }
        Poll::Ready(Ok(Reply::Done))
    }

    /// What exists of a device, but for pools.
    fn of_device(&self, device: DeviceId) -> Vec<Resource> {
        let streams = self.streams.iter_enumerated().filter(|(_, stream)| {
            stream.device == device && matches!(stream.kind, StreamKind::Blocking | StreamKind::NonBlocking)
        });
        let exists = |resource: Resource| self.resources.exists(resource).is_ok();
        let events = self.events.indices().filter(|event| exists(Resource::Event(*event)));
        let events = events.filter(|event| self.device_of(*event) == Some(device));
        let graphs = self.graphs.of(|stream| self.streams[stream].device == device);
        let all = streams.map(|(stream, _)| Resource::Stream(stream));
        let all = all.chain(events.map(Resource::Event)).chain(graphs);
        all.filter(|resource| exists(*resource)).collect()
    }
}
