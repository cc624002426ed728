//! A machine that tells another sink, so that it can be used again.

use super::Machine;
use crate::engine::{Chooser, Progress};
use crate::model::Allocator;
use crate::trace::Sink;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// The same machine, which tells another sink from now on.
    pub(in crate::engine) fn with_sink<T: Sink>(self, sink: T) -> Machine<A, P, C, T> {
        let Self {
            order,
            model,
            progress,
            chooser,
            streams,
            pools,
            costs,
            legacy_sync_releases,
            plain_free_syncs,
            threads,
            collectives,
            graphs,
            resources,
            grants,
            devices,
            is_any_lacking,
            is_restricted,
            ahead,
            shares,
            events,
            scratch,
            sink: _,
        } = self;
        Machine {
            order,
            model,
            progress,
            chooser,
            sink,
            streams,
            pools,
            costs,
            legacy_sync_releases,
            plain_free_syncs,
            threads,
            collectives,
            graphs,
            resources,
            grants,
            devices,
            is_any_lacking,
            is_restricted,
            ahead,
            shares,
            events,
            scratch,
        }
    }
}
