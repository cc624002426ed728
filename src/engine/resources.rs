//! Which streams, events and pools exist, which pool is the current one of each device, and which destroyed pools are still
//! in use.
//!
//! What was submitted to a stream goes on after its end, and a wait has bound what its event captured; so there is nothing
//! to undo here. It must not know order or allocators beyond asking one whether a pool can go.
//!
//! Rules: CUDA driver API, `cuStreamDestroy`, `cuEventDestroy`, `cuMemPoolDestroy`, `cuDeviceSetMemPool`.

use super::machine::Caller;
use super::{Chooser, Machine, Progress};
use crate::base::{Bytes, DeviceId, IndexVec, PoolId, StreamId, reuse_on_clone};
use crate::model::Allocator;
use crate::order::Operation;
use crate::trace::{
    Call, Detail, Event, Exported, Failure, GraphCall, Imported, Kind, Location, PoolSetup, Reading, Reply,
    Resource, Setup, Sink, Target,
};

/// Whether a thing can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Existence {
    /// Nothing has created it yet.
    Not,
    Yes,
    /// It was destroyed.
    NoLonger,
    /// Nothing can create it: what is said about it contradicts itself.
    Never,
}

/// The pools of a device that have a part to play.
#[derive(Clone, Copy, Debug)]
struct Pools {
    default: Option<PoolId>,
    current: Option<PoolId>,
}

/// What exists.
#[derive(Debug)]
pub(super) struct Resources {
    streams: Vec<Existence>,
    events: Vec<Existence>,
    pools: Vec<Existence>,
    graphs: Vec<Existence>,
    execs: Vec<Existence>,
    /// The device of each pool that is on one.
    homes: IndexVec<PoolId, Option<DeviceId>>,
    devices: IndexVec<DeviceId, Pools>,
    /// Whether anything does not exist, so that calls have to be looked at.
    is_any_missing: bool,
    /// The pools that were destroyed, and of which something is still in use.
    ending: Vec<PoolId>,
    /// What has completed, looked up for these.
    completed: Vec<u32>,
}

reuse_on_clone!(Resources {
    streams,
    events,
    pools,
    graphs,
    execs,
    homes,
    devices,
    is_any_missing,
    ending,
    completed
});

impl Resources {
    pub(super) fn new(setup: &Setup) -> Self {
        let first_of = |device| {
            let is_there = |pool: &PoolSetup| pool.location == Location::Device(device) && !pool.imported;
            setup.pools.iter_enumerated().find(|(_, pool)| is_there(pool))
        };
        let pools = |device| {
            let default = first_of(device).map(|(pool, _)| pool);
            Pools { default, current: default }
        };
        let mut resources = Self {
            streams: vec![Existence::Yes; setup.streams.len()],
            events: vec![Existence::Yes; setup.events.len()],
            pools: vec![Existence::Yes; setup.pools.len()],
            graphs: vec![Existence::Not; setup.graphs.len()],
            execs: vec![Existence::Not; setup.execs],
            homes: setup.pools.iter().map(|pool| pool.location.device()).collect(),
            devices: setup.devices.indices().map(pools).collect(),
            is_any_missing: !setup.created.is_empty() || !setup.graphs.is_empty(),
            ending: Vec::new(),
            completed: Vec::new(),
        };
        for resource in &setup.created {
            *resources.existence(*resource) = Existence::Not;
        }
        for (pool, setup) in setup.pools.iter_enumerated() {
            if setup.contradiction().is_some() {
                resources.pools[pool.index()] = Existence::Never;
            }
        }
        resources
    }

    /// Whether nobody has a stream, an event or a pool, nor anything of it.
    pub(super) fn is_vacant(&self, resource: Resource) -> bool {
        match resource {
            Resource::Pool(pool) => !self.is_there(pool),
            other => self.exists(other).is_err(),
        }
    }

    /// A stream or an event is another one, which is to be created.
    pub(super) fn renew(&mut self, resource: Resource) {
        *self.existence(resource) = Existence::Not;
        self.is_any_missing = true;
    }

    /// A pool is another one, which is to be created.
    pub(super) fn renew_pool(&mut self, pool: PoolId, setup: &PoolSetup) {
        self.renew(Resource::Pool(pool));
        self.homes[pool] = setup.location.device();
        if setup.contradiction().is_some() {
            self.pools[pool.index()] = Existence::Never;
        }
    }

    fn existence(&mut self, resource: Resource) -> &mut Existence {
        match resource {
            Resource::Stream(stream) => &mut self.streams[stream.index()],
            Resource::Event(event) => &mut self.events[event.index()],
            Resource::Pool(pool) => &mut self.pools[pool.index()],
            Resource::Graph(graph) => &mut self.graphs[graph.index()],
            Resource::Exec(exec) => &mut self.execs[exec.index()],
        }
    }

    /// Whether it exists; else, how a call fails that needs it.
    pub(super) fn exists(&self, resource: Resource) -> Result<(), Failure> {
        let (existence, failure) = match resource {
            Resource::Stream(stream) => (self.streams[stream.index()], Failure::InvalidResourceHandle),
            Resource::Event(event) => (self.events[event.index()], Failure::InvalidResourceHandle),
            Resource::Pool(pool) => (self.pools[pool.index()], Failure::InvalidValue),
            Resource::Graph(graph) => (self.graphs[graph.index()], Failure::InvalidValue),
            Resource::Exec(exec) => (self.execs[exec.index()], Failure::InvalidValue),
        };
        if existence == Existence::Yes { Ok(()) } else { Err(failure) }
    }

    /// Whether everything that a call names exists, but for what it creates.
    pub(super) fn check(&self, call: &Call) -> Result<(), Failure> {
        if !self.is_any_missing {
            return Ok(());
        }
        match call {
            Call::Alloc { stream, pool, .. } => {
                self.exists(Resource::Stream(*stream))?;
                pool.map_or(Ok(()), |pool| self.exists(Resource::Pool(pool)))
            }
            Call::Free { stream, .. }
            | Call::Launch { stream, .. }
            | Call::Copy { stream, .. }
            | Call::Memset { stream, .. }
            | Call::HostFunction { stream, .. }
            | Call::Collective { stream, .. } => self.exists(Resource::Stream(*stream)),
            Call::Record { stream, event } | Call::Wait { stream, event } => {
                self.exists(Resource::Stream(*stream))?;
                self.exists(Resource::Event(*event))
            }
            Call::Sync(target) | Call::Query(target) | Call::Poll(target) => match *target {
                Target::Stream(stream) => self.exists(Resource::Stream(stream)),
                Target::Event(event) => self.exists(Resource::Event(event)),
                Target::Device(_) => Ok(()),
            },
            Call::Elapsed { from, to } => {
                self.exists(Resource::Event(*from)).and(self.exists(Resource::Event(*to)))
            }
            Call::Trim { pool, .. }
            | Call::Set { pool, .. }
            | Call::Read(Reading::Pool(pool, _) | Reading::Access(pool, _))
            | Call::Grant { pool, .. }
            | Call::SetPool { pool, .. } => self.exists(Resource::Pool(*pool)),
            Call::Destroy(resource) => self.exists(*resource),
            Call::Export { what: Exported::Pool(pool), .. }
            | Call::Import { into: Imported::Memory(pool), .. } => self.exists(Resource::Pool(*pool)),
            Call::Export { what: Exported::Event(event), .. } => self.exists(Resource::Event(*event)),
            Call::Export { what: Exported::Memory(_), .. }
            | Call::Import { into: Imported::Pool(_) | Imported::Event(_), .. } => Ok(()),
            Call::Graph(call) => self.check_graph(call),
            // An expectation may look at what a destroyed pool still holds.
            Call::Read(_) | Call::Peek(_) | Call::Create { .. } => Ok(()),
            Call::Sleep(_)
            | Call::Malloc { .. }
            | Call::PlainFree { .. }
            | Call::ResetDevice(_)
            | Call::Reserve { .. }
            | Call::Touch { .. }
            | Call::Signal(_)
            | Call::Await(_)
            | Call::Spawn(_)
            | Call::Exit
            | Call::Join(_)
            | Call::Barrier(_)
            | Call::Expect { .. }
            | Call::ExpectReady { .. }
            | Call::Snapshot(_) => Ok(()),
        }
    }

    /// The streams in a graph only name its branches, and its events are its own.
    fn check_graph(&self, call: &GraphCall) -> Result<(), Failure> {
        match call {
            GraphCall::Node { graph, node } => {
                self.exists(Resource::Graph(*graph))?;
                match **node {
                    Call::Alloc { pool: Some(pool), .. } => self.exists(Resource::Pool(pool)),
                    _ => Ok(()),
                }
            }
            GraphCall::Instantiate { graph, .. } => self.exists(Resource::Graph(*graph)),
            GraphCall::Launch { stream, exec } | GraphCall::Upload { stream, exec } => {
                self.exists(Resource::Stream(*stream))?;
                self.exists(Resource::Exec(*exec))
            }
            GraphCall::Begin(_) | GraphCall::Trim(_) | GraphCall::Set { .. } => Ok(()),
        }
    }

    /// A graph or an executable graph comes to exist.
    pub(super) fn begin(&mut self, resource: Resource) {
        *self.existence(resource) = Existence::Yes;
    }

    /// The device of a pool that is on one.
    pub(super) fn home(&self, pool: PoolId) -> Option<DeviceId> {
        self.homes[pool]
    }

    /// Whether a stream exists.
    pub(super) fn has_stream(&self, stream: StreamId) -> bool {
        self.exists(Resource::Stream(stream)).is_ok()
    }

    /// Whether a pool exists, or has been destroyed and is still in use.
    pub(super) fn is_there(&self, pool: PoolId) -> bool {
        self.pools[pool.index()] == Existence::Yes || self.ending.contains(&pool)
    }

    pub(super) fn current(&self, device: DeviceId) -> Option<PoolId> {
        self.devices[device].current
    }

    /// Only a pool of the device itself can become its current one (`cuDeviceSetMemPool`).
    pub(super) fn set_pool(&mut self, device: DeviceId, pool: PoolId) -> Result<Reply, Failure> {
        if self.homes[pool] != Some(device) {
            return Err(Failure::InvalidValue);
        }
        self.devices[device].current = Some(pool);
        Ok(Reply::Done)
    }

    /// A handle is given again only once what had it is destroyed.
    pub(super) fn create(&mut self, resource: Resource, reusing: Option<Resource>) -> Result<Reply, Failure> {
        if reusing.is_some_and(|old| *self.existence(old) != Existence::NoLonger) {
            return Err(Failure::InvalidValue);
        }
        let existence = self.existence(resource);
        if *existence == Existence::Never {
            return Err(Failure::InvalidValue);
        }
        *existence = Existence::Yes;
        Ok(Reply::Done)
    }

    pub(super) fn destroy(&mut self, resource: Resource) -> Result<(), Failure> {
        if let Resource::Pool(pool) = resource {
            if let Some(device) = self.homes[pool].map(|home| &mut self.devices[home]) {
                if device.default == Some(pool) {
                    return Err(Failure::InvalidValue);
                }
                if device.current == Some(pool) {
                    device.current = device.default;
                }
            }
            self.ending.push(pool);
        }
        *self.existence(resource) = Existence::NoLonger;
        self.is_any_missing = true;
        Ok(())
    }
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// An allocation from the current pool, captured or not, with the pool that this is.
    pub(super) fn with_pool(&self, call: &Call) -> Option<Call> {
        match call {
            Call::Alloc { stream, pool: None, size } => {
                let pool = self.resources.current(self.streams[*stream].device);
                Some(Call::Alloc { stream: *stream, pool, size: *size })
            }
            Call::Graph(GraphCall::Node { graph, node }) => {
                let node = Box::new(self.with_pool(node)?);
                Some(Call::Graph(GraphCall::Node { graph: *graph, node }))
            }
            _ => None,
        }
    }

    pub(super) fn destroy(&mut self, caller: Caller, resource: Resource) -> Result<Reply, Failure> {
        self.resources.destroy(resource)?;
        self.end_graph(caller, resource);
        self.end_pools_now(caller);
        Ok(Reply::Done)
    }

    /// A call may have taken away what kept a destroyed pool: to some models, frees are complete only with a synchronise.
    pub(super) fn end_pools_now(&mut self, caller: Caller) {
        if !self.has_ending_pools() {
            return;
        }
        for (pool, bytes) in self.ended() {
            self.emit(caller, None, Kind::Released { pool, bytes });
            self.emit_state(caller, pool);
        }
    }

    /// An operation has completed; it may have been the last that kept a destroyed pool.
    pub(super) fn end_pools(&mut self, operation: Operation) {
        let Operation { host, stmt, .. } = operation;
        let at = self.progress.now();
        for (pool, bytes) in self.ended() {
            if self.sink.wants(Detail::Events) {
                let kind = Kind::Released { pool, bytes };
                self.sink.event(&Event { at, host, stmt, ticket: None, kind });
            }
            if self.sink.wants(Detail::States) {
                let kind = Kind::State { pool, state: &self.model.state(pool) };
                self.sink.event(&Event { at, host, stmt, ticket: None, kind });
            }
        }
    }

    /// The destroyed pools of which nothing is in use any more, with what each has given back.
    fn ended(&mut self) -> Vec<(PoolId, Bytes)> {
        let Machine { resources: Resources { ending, completed, .. }, model, order, .. } = self;
        let mut ended = Vec::new();
        order.completed(completed);
        ending.retain(|pool| {
            let bytes = model.end(*pool, completed);
            ended.extend(bytes.filter(|bytes| *bytes > Bytes::ZERO).map(|bytes| (*pool, bytes)));
            bytes.is_none()
        });
        ended
    }

    /// Whether an operation that completes may be the end of a pool.
    pub(super) fn has_ending_pools(&self) -> bool {
        !self.resources.ending.is_empty()
    }
}
