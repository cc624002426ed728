//! Graphs: how they are built, and how a launch puts their nodes into streams.
//!
//! A launch begins and ends with an operation in its stream, and everything of the graph runs between the two. The nodes of
//! the stream that has the first node follow in the stream of the launch, those of each other one in a stream of their own,
//! so that branches run side by side. Which addresses and which memory a graph gets is the allocator's affair.
//!
//! Rules: CUDA driver API, `cuGraphLaunch`, `cuGraphUpload`, `cuGraphInstantiate`; Programming Guide, "Graph memory nodes".

use super::machine::Caller;
use super::threads::Promise;
use super::{Chooser, Machine, Progress};
use crate::base::{
    DeviceId, EventId, ExecId, GraphId, HostId, IndexVec, Nanos, StmtId, StreamId, reuse_on_clone,
};
use crate::model::graphs::{GraphKey, Launch, Node as Place};
use crate::model::{Allocator, Known};
use crate::order::{Effect, Runs};
use crate::trace::{
    AllocId, Call, Decision, Detail, Failure, GraphCall, GraphPoolState, GraphSetup, Kind, Range, Reply,
    Resource, Setup, Sink, Takes, Ticket, join,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// All graphs and executable graphs.
#[derive(Debug)]
pub(super) struct Graphs {
    setups: IndexVec<GraphId, GraphSetup>,
    graphs: Vec<Graph>,
    /// Free places in `graphs`.
    vacant: Vec<usize>,
    /// What each name stands for.
    names: IndexVec<GraphId, usize>,
    execs: IndexVec<ExecId, Option<Exec>>,
    /// The tickets of the launch in progress, for as long as its operations wait for them.
    launching: Vec<Ticket>,
    unfreed: Vec<AllocId>,
    /// What was told of the graph pool of each device.
    told: IndexVec<DeviceId, GraphPoolState>,
}

#[derive(Debug, Default)]
struct Graph {
    key: Option<GraphKey>,
    /// Whether its name still stands for it.
    is_named: bool,
    /// How many executable graphs there are of it.
    instances: u32,
    /// Whether it has nodes that allocate or free.
    has_memory: bool,
    lanes: Vec<Lane>,
    nodes: Vec<Node>,
    records: BTreeMap<EventId, Record>,
}

/// A stream of a graph while it is built.
#[derive(Debug)]
struct Lane {
    /// Where its nodes run, unless it is the first one of the graph.
    own: StreamId,
    /// The latest node.
    last: Option<usize>,
    nodes: u32,
    /// What its next node waits for.
    waits: Vec<usize>,
    /// How many nodes of each stream come before its next one.
    clock: Vec<u32>,
}

/// What an event has captured in a graph.
#[derive(Debug)]
struct Record {
    nodes: Vec<usize>,
    clock: Vec<u32>,
}

#[derive(Debug)]
struct Node {
    stmt: StmtId,
    lane: usize,
    call: Call,
    /// What it allocates.
    alloc: Option<(AllocId, Range)>,
    /// The nodes of other streams that it comes after.
    waits: SmallVec<[usize; 2]>,
}

/// An executable graph.
#[derive(Clone, Copy, Debug)]
struct Exec {
    graph: usize,
    auto_free: bool,
    /// The last operation of its last launch or upload.
    last: Option<Ticket>,
}

reuse_on_clone!(Lane { own, last, nodes, waits, clock });
reuse_on_clone!(Record { nodes, clock });
reuse_on_clone!(Node { stmt, lane, call, alloc, waits });
reuse_on_clone!(Graph { key, is_named, instances, has_memory, lanes, nodes, records });
reuse_on_clone!(Graphs { setups, graphs, vacant, names, execs, launching, unfreed, told });

impl Graphs {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            setups: setup.graphs.clone(),
            graphs: Vec::new(),
            vacant: Vec::new(),
            names: setup.graphs.iter().map(|_| usize::MAX).collect(),
            execs: (0..setup.execs).map(|_| None).collect(),
            launching: Vec::new(),
            unfreed: Vec::new(),
            told: setup.devices.iter().map(|_| GraphPoolState::default()).collect(),
        }
    }

    /// Adds the operations that later ones may be made to wait for.
    pub(super) fn pending(&self, into: &mut Vec<Ticket>) {
        into.extend(
            self.launching.iter().chain(self.execs.iter().flatten().filter_map(|exec| exec.last.as_ref())),
        );
    }

    /// The executable graphs and the graphs with a branch in one of these streams, as far as they exist.
    pub(super) fn of(&self, is_meant: impl Fn(StreamId) -> bool) -> impl Iterator<Item = Resource> {
        let is_of = move |place: usize| {
            self.graphs.get(place).is_some_and(|graph| graph.lanes.iter().any(|lane| is_meant(lane.own)))
        };
        let execs =
            self.execs.iter_enumerated().map(|(id, exec)| (Resource::Exec(id), exec.map(|exec| exec.graph)));
        let graphs = self.names.iter_enumerated().map(|(id, place)| (Resource::Graph(id), Some(*place)));
        execs.chain(graphs).filter(move |(_, place)| place.is_some_and(&is_of)).map(|(resource, _)| resource)
    }

    /// Whether the program has graphs.
    pub(super) fn are_used(&self) -> bool {
        !self.setups.is_empty()
    }
}

impl Graph {
    /// What an event captures in a stream.
    fn record(&mut self, lane: usize, event: EventId) {
        let Lane { last, waits, clock, .. } = &self.lanes[lane];
        let nodes = waits.iter().chain(last).copied().collect();
        self.records.insert(event, Record { nodes, clock: clock.clone() });
    }

    /// The next node of a stream comes after what an event has captured in this graph.
    fn wait(&mut self, lane: usize, event: EventId) -> Result<(), Failure> {
        let Record { nodes, clock } = self.records.get(&event).ok_or(Failure::InvalidValue)?;
        let lane = &mut self.lanes[lane];
        lane.waits.extend(nodes);
        join(&mut lane.clock, clock);
        Ok(())
    }

    fn push(&mut self, stmt: StmtId, lane: usize, call: Call, alloc: Option<(AllocId, Range)>) {
        let nth = self.nodes.len();
        let mut waits: SmallVec<[usize; 2]> = SmallVec::new();
        for node in std::mem::take(&mut self.lanes[lane].waits) {
            if self.nodes[node].lane != lane && !waits.contains(&node) {
                waits.push(node);
            }
        }
        let own = &mut self.lanes[lane];
        (own.last, own.nodes) = (Some(nth), own.nodes + 1);
        own.clock[lane] = own.nodes;
        self.has_memory |= matches!(call, Call::Alloc { .. } | Call::Free { .. });
        self.nodes.push(Node { stmt, lane, call, alloc, waits });
    }
}

/// The stream of a call that can be a node.
fn stream_of(call: &mut Call) -> Option<&mut StreamId> {
    match call {
        Call::Alloc { stream, .. }
        | Call::Free { stream, .. }
        | Call::Launch { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Memset { stream, .. }
        | Call::HostFunction { stream, .. }
        | Call::Record { stream, .. }
        | Call::Wait { stream, .. } => Some(stream),
        _ => None,
    }
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn graph_call(&mut self, caller: Caller, call: &GraphCall) -> Result<Reply, Failure> {
        match call {
            GraphCall::Begin(graph) => self.begin_graph(*graph),
            GraphCall::Node { graph, node } => return self.add_node(caller, *graph, node),
            GraphCall::Instantiate { exec, graph, auto_free } => {
                self.instantiate(*exec, *graph, *auto_free)?
            }
            GraphCall::Launch { stream, exec } => self.launch_graph(caller, *stream, *exec)?,
            GraphCall::Upload { stream, exec } => self.upload_graph(caller, *stream, *exec)?,
            GraphCall::Trim(device) => {
                self.look(caller.host);
                self.model.trim_graphs(*device, &self.threads.hosts[caller.host].visible)?;
            }
            GraphCall::Set { device, figure, value } => self.model.set_graphs(*device, *figure, *value)?,
        }
        self.emit_graph_pools(caller);
        Ok(Reply::Done)
    }

    fn begin_graph(&mut self, graph: GraphId) {
        let lanes = &self.graphs.setups[graph].lanes;
        let lane = |(_, own): &(StreamId, StreamId)| {
            let clock = vec![0; lanes.len()];
            Lane { own: *own, last: None, nodes: 0, waits: Vec::new(), clock }
        };
        let lanes = lanes.iter().map(lane).collect();
        let new = Graph { key: Some(self.model.begin_graph()), is_named: true, lanes, ..Graph::default() };
        let Graphs { graphs, vacant, names, .. } = &mut self.graphs;
        names[graph] = match vacant.pop() {
            Some(place) => {
                graphs[place] = new;
                place
            }
            None => {
                graphs.push(new);
                graphs.len() - 1
            }
        };
        self.resources.begin(Resource::Graph(graph));
    }

    fn add_node(&mut self, caller: Caller, graph: GraphId, call: &Call) -> Result<Reply, Failure> {
        let mut call = call.clone();
        let stream = *stream_of(&mut call).ok_or(Failure::NotSupported)?;
        let lanes = self.graphs.setups[graph].lanes.iter();
        let lane =
            lanes.map(|(known, _)| known).position(|known| *known == stream).ok_or(Failure::InvalidValue)?;
        let own = &mut self.graphs.graphs[self.graphs.names[graph]];
        let (at, key) = (Ticket { stream: StreamId::from(lane), seq: own.lanes[lane].nodes + 1 }, own.key);
        let place = Place { graph: key.unwrap_or(GraphKey(0)), at, after: &own.lanes[lane].clock };
        match call {
            Call::Record { event, .. } => {
                own.record(lane, event);
                self.belongs(event, stream);
            }
            Call::Wait { event, .. } => own.wait(lane, event)?,
            Call::Alloc { pool, size, .. } => {
                let pool = pool.ok_or(Failure::InvalidValue)?;
                // Memory of a graph is that of a device.
                let device = self.resources.home(pool).ok_or(Failure::NotSupported)?;
                let decision = self.model.alloc_node(place, device, size)?;
                let Decision { alloc, range, .. } = decision;
                self.grants.capture(pool, alloc);
                own.push(caller.stmt, lane, call, (alloc != AllocId::NULL).then_some((alloc, range)));
                self.emit(caller, None, Kind::Decided(&decision));
                return Ok(Reply::Allocated(decision));
            }
            Call::Free { alloc, .. } => {
                self.model.free_node(place, alloc)?;
                own.push(caller.stmt, lane, call, None);
            }
            _ => own.push(caller.stmt, lane, call, None),
        }
        Ok(Reply::Done)
    }

    /// A graph that allocates or frees has one executable graph at a time (`cuGraphAddMemAllocNode`).
    fn instantiate(&mut self, exec: ExecId, graph: GraphId, auto_free: bool) -> Result<(), Failure> {
        let place = self.graphs.names[graph];
        let graph = &mut self.graphs.graphs[place];
        if graph.has_memory && graph.instances > 0 {
            return Err(Failure::NotSupported);
        }
        graph.instances += 1;
        self.graphs.execs[exec] = Some(Exec { graph: place, auto_free, last: None });
        self.resources.begin(Resource::Exec(exec));
        Ok(())
    }

    /// What the allocator needs to know of a launch or an upload that ends with this operation.
    fn prepare(
        &mut self,
        host: HostId,
        exec: Exec,
        end: Ticket,
        act: impl FnOnce(&mut A, Launch<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.look(host);
        let done = &self.threads.hosts[host].visible;
        let (ordered, seen, observed) = self.order.known(host, end.stream);
        let known = Known { ordered, done, seen, observed };
        let graph = self.graphs.graphs[exec.graph].key.unwrap_or(GraphKey(0));
        act(&mut self.model, Launch { graph, end, behind: exec.last, known })
    }

    fn exec(&self, exec: ExecId) -> Result<Exec, Failure> {
        self.graphs.execs[exec].ok_or(Failure::InvalidValue)
    }

    fn upload_graph(&mut self, caller: Caller, stream: StreamId, id: ExecId) -> Result<(), Failure> {
        let exec = self.exec(id)?;
        let at = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        self.prepare(caller.host, exec, at, |model, launch| model.upload(launch))?;
        self.submit(caller, stream, Runs::For(Nanos::ZERO), Effect::Graph(exec.last.as_slice()));
        self.graphs.execs[id] = Some(Exec { last: Some(at), ..exec });
        Ok(())
    }

    /// What the graph allocated and nobody has freed is freed first, then its nodes follow.
    fn launch_graph(&mut self, caller: Caller, stream: StreamId, id: ExecId) -> Result<(), Failure> {
        let exec = self.exec(id)?;
        let mut unfreed = std::mem::take(&mut self.graphs.unfreed);
        unfreed.clear();
        self.model.unfreed(self.graphs.graphs[exec.graph].key.unwrap_or(GraphKey(0)), &mut unfreed);
        let graph = &self.graphs.graphs[exec.graph];
        let first = graph.nodes.first().map_or(0, |node| node.lane);
        let own = graph.lanes.get(first).map_or(0, |lane| lane.nodes);
        let at = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        let seq = at.seq.checked_add(unfreed.len() as u32 + own + 1);
        let end = Ticket { seq: seq.expect("a stream has less than 2^32 operations"), ..at };
        let prepared =
            self.prepare(caller.host, exec, end, |model, launch| model.launch(launch, exec.auto_free));
        if prepared.is_ok() {
            self.launches_until(end);
            for alloc in &unfreed {
                let call = Call::Free { stream, alloc: *alloc };
                self.emit(caller, self.order.next_ticket(stream), Kind::Node { call: &call, alloc: None });
                self.submit(Caller { call: &call, ..caller }, stream, Runs::For(Nanos::ZERO), Effect::None);
            }
            self.submit_nodes(caller, stream, exec, first);
            self.graphs.execs[id] = Some(Exec { last: Some(end), ..exec });
        }
        self.graphs.unfreed = unfreed;
        prepared
    }

    /// The operations of a launch, from the one that begins it to the one that ends it.
    fn submit_nodes(&mut self, caller: Caller, stream: StreamId, exec: Exec, first: usize) {
        let nothing = Runs::For(Nanos::ZERO);
        let graph = std::mem::take(&mut self.graphs.graphs[exec.graph]);
        let begin = self.order.next_ticket(stream).expect("the caller has looked");
        self.submit(caller, stream, nothing, Effect::Graph(exec.last.as_slice()));
        // The node with number `n` has the place `n + 1`.
        self.graphs.launching.push(begin);
        let mut tails: SmallVec<[Option<Ticket>; 4]> = graph.lanes.iter().map(|_| None).collect();
        for node in &graph.nodes {
            let to = if node.lane == first { stream } else { graph.lanes[node.lane].own };
            let ticket = self.order.next_ticket(to).expect("a stream has less than 2^32 operations");
            let mut waits: SmallVec<[Ticket; 4]> =
                node.waits.iter().map(|on| self.graphs.launching[on + 1]).collect();
            if tails[node.lane].replace(ticket).is_none() && waits.is_empty() {
                waits.push(begin);
            }
            self.submit_node(Caller { stmt: node.stmt, ..caller }, node, ticket, &waits);
            self.graphs.launching.push(ticket);
        }
        let waits: SmallVec<[Ticket; 4]> = tails.into_iter().flatten().collect();
        self.submit(caller, stream, nothing, Effect::Graph(&waits));
        self.graphs.launching.clear();
        self.graphs.graphs[exec.graph] = graph;
    }

    fn submit_node(&mut self, caller: Caller, node: &Node, at: Ticket, waits: &[Ticket]) {
        let told = self.sink.wants(Detail::Events).then(|| {
            let mut call = node.call.clone();
            stream_of(&mut call).into_iter().for_each(|stream| *stream = at.stream);
            call
        });
        let caller = Caller { call: told.as_ref().unwrap_or(&node.call), ..caller };
        self.emit(caller, Some(at), Kind::Node { call: caller.call, alloc: node.alloc });
        let runs = match &node.call {
            Call::Launch { takes, .. } => self.runs(caller, takes),
            Call::HostFunction { takes, gives, .. } => {
                if let Some(signal) = *gives {
                    self.threads.promise(Promise { ticket: at, signal });
                }
                self.runs(caller, takes)
            }
            Call::Copy { takes, .. } | Call::Memset { takes, .. } => self.runs(caller, &Takes::For(*takes)),
            _ => Runs::For(Nanos::ZERO),
        };
        self.submit(caller, at.stream, runs, Effect::Graph(waits));
    }

    /// A name of a graph or of an executable graph stands for nothing any more. What was launched goes on.
    pub(super) fn end_graph(&mut self, caller: Caller, resource: Resource) {
        let (place, is_exec) = match resource {
            Resource::Graph(graph) => (self.graphs.names[graph], false),
            Resource::Exec(exec) => match self.graphs.execs[exec].take() {
                Some(exec) => (exec.graph, true),
                None => return,
            },
            Resource::Stream(_) | Resource::Event(_) | Resource::Pool(_) => return,
        };
        let graph = &mut self.graphs.graphs[place];
        let key = graph.key.unwrap_or(GraphKey(0));
        if is_exec {
            graph.instances -= 1;
        } else {
            graph.is_named = false;
        }
        if is_exec && graph.instances == 0 {
            self.model.unmap_graph(key);
        }
        if graph.instances == 0 && !graph.is_named {
            self.model.end_graph(key);
            self.graphs.graphs[place] = Graph::default();
            self.graphs.vacant.push(place);
        }
        self.emit_graph_pools(caller);
    }

    /// The graph pools of the process that hold something, and all that have changed.
    pub(super) fn emit_graph_pools(&mut self, caller: Caller) {
        if !self.graphs.are_used() || !self.sink.wants(Detail::States) {
            return;
        }
        let process = self.order.process_of(caller.host);
        for device in self.graphs.told.indices() {
            let is_own = self.devices[device].process == process;
            let state = self.model.graph_pool(device);
            let before = std::mem::replace(&mut self.graphs.told[device], state);
            if before != state || is_own && state != GraphPoolState::default() {
                self.emit(caller, None, Kind::GraphPool { device, state: &state });
            }
        }
    }

    /// The graph pools of all devices, for a picture; none in a program without graphs.
    pub(super) fn graph_pools(&self) -> Vec<GraphPoolState> {
        let devices = self.graphs.are_used().then(|| self.graphs.told.indices());
        devices.into_iter().flatten().map(|device| self.model.graph_pool(device)).collect()
    }
}
