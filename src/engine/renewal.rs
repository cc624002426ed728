//! Streams, events and pools of which another one is made, for a caller that makes things as it goes and cannot say at the
//! start how many.
//!
//! A setup has places, and what was destroyed leaves its place to another one as soon as nothing tells them apart from what the
//! setup could have had there. The new one is created by a call, as any other.

use super::events::Happening;
use super::{Chooser, Machine, Progress};
use crate::base::{EventId, PoolId, StreamId};
use crate::model::Allocator;
use crate::trace::{EventSetup, PoolSetup, Resource, Sink, StreamSetup};

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Makes another stream of one that does not exist, which a call may then create. `false`: it exists, an operation of it is
    /// not proven complete by a host synchronisation, or either is a legacy default stream; nothing changes.
    ///
    /// Its operations are counted on from those of the old one, whose frees are taken for its own.
    pub fn renew_stream(&mut self, stream: StreamId, setup: StreamSetup) -> bool {
        let process = self.devices[setup.device].process;
        let is_vacant = self.resources.is_vacant(Resource::Stream(stream));
        if !is_vacant || !self.order.renew_stream(stream, &setup, process) {
            return false;
        }
        self.streams[stream] = setup;
        self.resources.renew(Resource::Stream(stream));
        true
    }

    /// Makes another event of one that does not exist, which a call may then create. `false`: it exists, or it does as an event
    /// of another process; nothing changes.
    pub fn renew_event(&mut self, event: EventId, setup: EventSetup) -> bool {
        let is_vacant = |event: EventId| self.resources.is_vacant(Resource::Event(event));
        if !is_vacant(event) || !self.shares.openings(event).all(is_vacant) {
            return false;
        }
        self.order.renew_event(event);
        self.shares.renew_event(event, &setup);
        self.events[event] = Happening::new(&setup, setup.device.map(|device| self.physical(device)));
        self.resources.renew(Resource::Event(event));
        true
    }

    /// Makes another pool of one that does not exist, which a call may then create. `false`: it exists, or something of its
    /// memory is still in use; nothing changes.
    pub fn renew_pool(&mut self, pool: PoolId, setup: &PoolSetup) -> bool {
        if !self.resources.is_vacant(Resource::Pool(pool)) || !self.model.renew(pool, setup) {
            return false;
        }
        self.shares.renew_pool(pool, setup);
        self.grants.renew(pool, setup.location.device());
        self.resources.renew_pool(pool, setup);
        self.is_restricted |= setup.imported || setup.location.device().is_none();
        true
    }
}

#[cfg(test)]
mod tests;
