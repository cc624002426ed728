//! What processes share: exports and imports of pools, of pointers and of events.
//!
//! What is exported waits under a signal, which carries to the importer what the exporter has seen. It must not know what pools
//! hold.
//!
//! Rules: CUDA Programming Guide 4.3.3.4; CUDA driver API, `cuMemPoolExportToShareableHandle`, `cuMemPoolImportPointer`,
//! `cuIpcGetEventHandle`.

use super::machine::Caller;
use super::threads::Awaited;
use super::{Chooser, Machine, Progress};
use crate::base::{EventId, IndexVec, PoolId, SignalId, reuse_on_clone};
use crate::model::{Allocator, Origin};
use crate::trace::{
    Call, EventSetup, Exported, Failure, HandleType, Imported, Kind, PoolSetup, Reply, Resource, Setup, Sink,
    Target,
};
use std::task::Poll;

/// What is shared.
#[derive(Debug)]
pub(super) struct Shares {
    /// What was exported last under each signal.
    exported: IndexVec<SignalId, Option<Exported>>,
    pools: IndexVec<PoolId, Sharing>,
    events: IndexVec<EventId, Opened>,
    /// Whether any event is one of another process.
    has_events: bool,
}

/// How a pool is shared.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    has_handle: bool,
    imported: bool,
    /// The pool that an imported one has the memory of.
    source: Option<PoolId>,
}

/// An event as its process knows it.
#[derive(Clone, Copy, Debug)]
struct Opened {
    interprocess: bool,
    /// The event of another process that it is.
    same_as: Option<EventId>,
}

impl Sharing {
    fn new(setup: &PoolSetup) -> Self {
        Self { has_handle: setup.handle != HandleType::None, imported: setup.imported, source: None }
    }
}

impl Opened {
    fn new(setup: &EventSetup) -> Self {
        Self { interprocess: setup.interprocess, same_as: None }
    }
}

reuse_on_clone!(Shares { exported, pools, events, has_events });

impl Shares {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            exported: (0..setup.signals).map(|_| None).collect(),
            pools: setup.pools.iter().map(Sharing::new).collect(),
            events: setup.events.iter().map(Opened::new).collect(),
            has_events: false,
        }
    }

    /// A pool is another one; whoever had the memory of the old one imports none of the new one.
    pub(super) fn renew_pool(&mut self, pool: PoolId, setup: &PoolSetup) {
        for sharing in self.pools.iter_mut().filter(|sharing| sharing.source == Some(pool)) {
            sharing.source = None;
        }
        self.pools[pool] = Sharing::new(setup);
    }

    /// An event is another one.
    pub(super) fn renew_event(&mut self, event: EventId, setup: &EventSetup) {
        self.events[event] = Opened::new(setup);
    }

    /// The events that another process has opened this one as, or had.
    pub(super) fn openings(&self, event: EventId) -> impl Iterator<Item = EventId> {
        let is_same = move |opened: &Opened| opened.same_as == Some(event);
        self.events.iter_enumerated().filter(move |(_, opened)| is_same(opened)).map(|(opening, _)| opening)
    }

    /// An imported pool gives out no memory, and is no device's own (CUDA Programming Guide 4.3.3.4.5).
    pub(super) fn check(&self, call: &Call) -> Result<(), Failure> {
        match call {
            Call::Alloc { pool: Some(pool), .. } | Call::SetPool { pool, .. }
                if self.pools[*pool].imported =>
            {
                Err(Failure::InvalidValue)
            }
            _ => Ok(()),
        }
    }

    /// Whether other processes can open it; such an event keeps no times (CUDA driver API, `cuIpcGetEventHandle`).
    pub(super) fn is_interprocess(&self, event: EventId) -> bool {
        self.events[event].interprocess
    }

    /// The event that it is.
    pub(super) fn event(&self, event: EventId) -> EventId {
        self.events[event].same_as.unwrap_or(event)
    }

    /// The call with the events that its events are, where they are those of another process.
    pub(super) fn with_events(&self, call: &Call) -> Option<Call> {
        if !self.has_events {
            return None;
        }
        let target = |target: &Target| match target {
            Target::Event(event) => Target::Event(self.event(*event)),
            target => *target,
        };
        Some(match call {
            Call::Record { stream, event } => Call::Record { stream: *stream, event: self.event(*event) },
            Call::Wait { stream, event } => Call::Wait { stream: *stream, event: self.event(*event) },
            Call::Sync(of) => Call::Sync(target(of)),
            Call::Query(of) => Call::Query(target(of)),
            Call::Poll(of) => Call::Poll(target(of)),
            Call::Elapsed { from, to } => Call::Elapsed { from: self.event(*from), to: self.event(*to) },
            _ => return None,
        })
    }
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn export(
        &mut self,
        caller: Caller,
        what: Exported,
        under: SignalId,
    ) -> Result<Reply, Failure> {
        let shared = |pool: PoolId| self.shares.pools[pool].has_handle;
        let (can_be, failure) = match what {
            Exported::Pool(pool) => (shared(pool), Failure::InvalidValue),
            Exported::Memory(alloc) => {
                let of = self.model.origin(alloc);
                (matches!(of, Some(Origin::Pool(pool)) if shared(pool)), Failure::InvalidValue)
            }
            Exported::Event(event) => (self.shares.is_interprocess(event), Failure::InvalidResourceHandle),
        };
        if !can_be {
            return Err(failure);
        }
        self.shares.exported[under] = Some(what);
        Ok(self.signal(caller.host, under))
    }

    /// Waits until the export has happened.
    pub(super) fn import(
        &mut self,
        caller: Caller,
        under: SignalId,
        into: Imported,
    ) -> Poll<Result<Reply, Failure>> {
        let Poll::Ready(_) = self.meet(caller, Awaited::Signal(under)) else { return Poll::Pending };
        let result = self.open(caller, under, into);
        if let Err(failure) = result {
            self.emit(caller, None, Kind::Failed { failure, call: caller.call });
        }
        self.pays(caller, self.costs.call);
        Poll::Ready(result)
    }

    fn open(&mut self, caller: Caller, under: SignalId, into: Imported) -> Result<Reply, Failure> {
        match (self.shares.exported[under], into) {
            (Some(Exported::Pool(source)), Imported::Pool(pool)) => {
                self.shares.pools[pool].source = Some(source);
                self.resources.create(Resource::Pool(pool), None)
            }
            (Some(Exported::Event(source)), Imported::Event(event)) => {
                self.shares.events[event].same_as = Some(source);
                self.shares.has_events = true;
                self.resources.create(Resource::Event(event), None)
            }
            (Some(Exported::Memory(alloc)), Imported::Memory(pool)) => {
                let source = self.model.origin(alloc).ok_or(Failure::InvalidValue)?;
                if self.shares.pools[pool].source.map(Origin::Pool) != Some(source) {
                    return Err(Failure::InvalidValue);
                }
                let decision = self.model.import(alloc, pool)?;
                self.emit(caller, None, Kind::Decided(&decision));
                self.emit_state(caller, pool);
                Ok(Reply::Allocated(decision))
            }
            _ => Err(Failure::InvalidValue),
        }
    }
}
