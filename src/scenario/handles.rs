//! What the names of streams, events and pools stand for, while a program is walked.
//!
//! As in C, a name holds a handle, and keeps it when what the handle stands for is destroyed. A handle that is given again
//! makes every name that still holds it stand for the new thing. It must not know what exists.

use crate::base::{Idx, reuse_on_clone};
use crate::trace::{Call, Exported, GraphCall, Imported, Reading, Resource, Setup, Target};

/// The handles of all names. Without a `create` in the program every name stands for the one thing it declares.
#[derive(Debug)]
pub(super) struct Handles {
    streams: Table,
    events: Table,
    pools: Table,
    /// How often each `create` was carried out.
    created: Vec<usize>,
}

/// The handles of one kind. A handle is called like the first thing that had it, and so is a name.
#[derive(Debug, Default)]
struct Table {
    /// The handle that each name holds.
    names: Vec<u32>,
    /// What each handle stands for.
    things: Vec<u32>,
}

/// What a call creates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Creation {
    /// Which `create` it is.
    pub(super) nth: usize,
    /// The name that gets the handle.
    pub(super) name: Resource,
    /// What the first execution creates.
    pub(super) first: Resource,
    /// The name that holds the handle to be given again.
    pub(super) reusing: Option<Resource>,
}

reuse_on_clone!(Table { names, things });
reuse_on_clone!(Handles { streams, events, pools, created });

impl Table {
    fn new(count: usize) -> Self {
        let own: Vec<u32> = (0..count as u32).collect();
        Self { names: own.clone(), things: own }
    }

    fn thing(&self, name: usize) -> usize {
        self.names.get(name).map_or(name, |handle| self.things[*handle as usize] as usize)
    }

    fn bind(&mut self, name: usize, thing: usize, reusing: Option<usize>) {
        let handle = reusing.map_or(thing as u32, |old| self.names[old]);
        self.things[handle as usize] = thing as u32;
        self.names[name] = handle;
    }
}

impl Handles {
    /// At the start of a program with so many `create` lines.
    pub(super) fn new(setup: &Setup, creates: usize) -> Self {
        let table = |count| if creates == 0 { Table::default() } else { Table::new(count) };
        Self {
            streams: table(setup.streams.len()),
            events: table(setup.events.len()),
            pools: table(setup.pools.len()),
            created: vec![0; creates],
        }
    }

    fn stream<Id: Idx>(&self, name: &mut Id) {
        *name = Id::from_usize(self.streams.thing(name.index()));
    }

    fn event<Id: Idx>(&self, name: &mut Id) {
        *name = Id::from_usize(self.events.thing(name.index()));
    }

    fn pool<Id: Idx>(&self, name: &mut Id) {
        *name = Id::from_usize(self.pools.thing(name.index()));
    }

    fn resource(&self, name: &mut Resource) {
        match name {
            Resource::Stream(stream) => self.stream(stream),
            Resource::Event(event) => self.event(event),
            Resource::Pool(pool) => self.pool(pool),
            // Their names hold what they were given last.
            Resource::Graph(_) | Resource::Exec(_) => {}
        }
    }

    /// Puts what they stand for in the place of all names in a call.
    pub(super) fn resolve(&self, call: &mut Call) {
        if self.created.is_empty() {
            return;
        }
        match call {
            Call::Alloc { stream, pool, .. } => {
                self.stream(stream);
                pool.iter_mut().for_each(|pool| self.pool(pool));
            }
            Call::Free { stream, .. }
            | Call::Launch { stream, .. }
            | Call::Copy { stream, .. }
            | Call::Memset { stream, .. }
            | Call::HostFunction { stream, .. }
            | Call::Collective { stream, .. }
            | Call::ExpectReady { on: stream, .. } => self.stream(stream),
            Call::Record { stream, event } | Call::Wait { stream, event } => {
                self.stream(stream);
                self.event(event);
            }
            Call::Sync(target) | Call::Query(target) | Call::Poll(target) => match target {
                Target::Stream(stream) => self.stream(stream),
                Target::Event(event) => self.event(event),
                Target::Device(_) => {}
            },
            Call::Elapsed { from, to } => {
                self.event(from);
                self.event(to);
            }
            Call::Trim { pool, .. }
            | Call::Set { pool, .. }
            | Call::Read(Reading::Pool(pool, _) | Reading::Access(pool, _))
            | Call::Peek(Reading::Pool(pool, _) | Reading::Access(pool, _) | Reading::PoolItself(pool))
            | Call::Grant { pool, .. }
            | Call::SetPool { pool, .. } => self.pool(pool),
            Call::Destroy(resource) => self.resource(resource),
            Call::Export { what: Exported::Pool(pool), .. }
            | Call::Import { into: Imported::Memory(pool), .. } => self.pool(pool),
            Call::Export { what: Exported::Event(event), .. } => self.event(event),
            Call::Export { what: Exported::Memory(_), .. }
            | Call::Import { into: Imported::Pool(_) | Imported::Event(_), .. } => {}
            Call::Create { reusing, .. } => reusing.iter_mut().for_each(|old| self.resource(old)),
            Call::Graph(call) => self.resolve_in_graph(call),
            Call::Read(_)
            | Call::Peek(_)
            | Call::Sleep(_)
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
            | Call::Snapshot(_) => {}
        }
    }

    /// The streams in a graph are its own.
    fn resolve_in_graph(&self, call: &mut GraphCall) {
        match call {
            GraphCall::Node { node, .. } => match &mut **node {
                Call::Alloc { pool: Some(pool), .. } => self.pool(pool),
                Call::Record { event, .. } | Call::Wait { event, .. } => self.event(event),
                _ => {}
            },
            GraphCall::Launch { stream, .. } | GraphCall::Upload { stream, .. } => self.stream(stream),
            GraphCall::Begin(_)
            | GraphCall::Instantiate { .. }
            | GraphCall::Trim(_)
            | GraphCall::Set { .. } => {}
        }
    }

    /// What this execution of a `create` creates: each one something of its own.
    pub(super) fn next(&self, creation: Creation) -> Resource {
        fn after<Id: Idx>(first: Id, nth: usize) -> Id {
            Id::from_usize(first.index() + nth)
        }
        let nth = self.created[creation.nth];
        match creation.first {
            Resource::Stream(first) => Resource::Stream(after(first, nth)),
            Resource::Event(first) => Resource::Event(after(first, nth)),
            Resource::Pool(first) => Resource::Pool(after(first, nth)),
            Resource::Graph(_) | Resource::Exec(_) => unreachable!("no `create` makes one"),
        }
    }

    /// The answer to the call of that execution: it succeeded or not.
    pub(super) fn answer(&mut self, creation: Creation, succeeded: bool) {
        let (resource, reusing) = (self.next(creation), creation.reusing);
        self.created[creation.nth] += 1;
        let table = match resource {
            Resource::Stream(_) => &mut self.streams,
            Resource::Event(_) => &mut self.events,
            Resource::Pool(_) => &mut self.pools,
            Resource::Graph(_) | Resource::Exec(_) => unreachable!("no `create` makes one"),
        };
        if succeeded {
            table.bind(index_of(creation.name), index_of(resource), reusing.map(index_of));
        }
    }
}

fn index_of(resource: Resource) -> usize {
    match resource {
        Resource::Stream(stream) => stream.index(),
        Resource::Event(event) => event.index(),
        Resource::Pool(pool) => pool.index(),
        Resource::Graph(graph) => graph.index(),
        Resource::Exec(exec) => exec.index(),
    }
}
