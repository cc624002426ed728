//! The memory of graphs: fixed addresses for allocation nodes, and physical memory for launches.
//!
//! An address stands fixed from the creation of its node on. Within a graph, a node may get the address of an allocation whose
//! free it comes after. Graphs never share addresses; they share physical memory where they cannot run at the same time.
//!
//! Rules: CUDA Programming Guide, "Graph memory nodes"; CUDA driver API, `cuGraphAddMemAllocNode`, `cuDeviceGraphMemTrim`.

use super::graph_pool::GraphPool;
use super::{Cuda, Owner};
use crate::base::{Bytes, DeviceId, IndexVec, mix, reuse_on_clone, words};
use crate::model::graphs::{GraphKey, GraphMemory, Launch, Node};
use crate::trace::{
    AllocId, Cut, Decision, Failure, GraphFigure, GraphPoolState, Range, Readiness, Setup, Ticket,
};

/// All graphs, and the physical memory that they share on each device.
#[derive(Debug)]
pub(super) struct Graphs {
    pools: IndexVec<DeviceId, GraphPool>,
    /// For each of them, the device whose memory it takes: processes have graph pools of their own on it.
    homes: IndexVec<DeviceId, DeviceId>,
    graphs: Vec<Graph>,
    /// Free places in `graphs`.
    vacant: Vec<u32>,
}

#[derive(Debug, Default)]
struct Graph {
    spaces: Vec<Space>,
    /// Addresses that are free again after a node.
    gaps: Vec<Gap>,
    nodes: Vec<AllocNode>,
    /// The allocations of other graphs that it frees.
    frees: Vec<AllocId>,
    /// The last operation of its last launch.
    last: Option<Ticket>,
    /// Whether an executable graph keeps what it has mapped.
    is_mapped: bool,
    /// Whether it is gone but for its live allocations and its last launch.
    has_ended: bool,
}

/// Addresses of a graph on a device.
#[derive(Debug)]
struct Space {
    device: DeviceId,
    start: u64,
    size: u64,
    /// How much of it nodes have taken.
    filled: u64,
    /// What is mapped, by its place in the space.
    parts: Vec<Part>,
}

/// A range of a space and the physical memory behind it.
#[derive(Clone, Copy, Debug)]
struct Part {
    at: u64,
    size: u64,
    physical: u64,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    space: usize,
    start: u64,
    size: u64,
    /// The node that frees it.
    freed: Ticket,
    /// The allocation that has it before.
    alloc: AllocId,
}

#[derive(Clone, Copy, Debug)]
struct AllocNode {
    alloc: AllocId,
    space: usize,
    start: u64,
    size: u64,
    /// Whether the graph has a free node for it.
    is_freed_inside: bool,
    /// Whether a launch has brought it to life, and nothing has freed it since.
    is_live: bool,
}

/// What a launch does to the memory of a device.
struct Plan {
    device: DeviceId,
    /// What stays mapped, with the place of its space.
    keep: Vec<(usize, Part)>,
    /// What is to be mapped anew.
    missing: Vec<(usize, u64, u64)>,
    growth: u64,
}

reuse_on_clone!(Graph { spaces, gaps, nodes, frees, last, is_mapped, has_ended });
reuse_on_clone!(Space { device, start, size, filled, parts });
reuse_on_clone!(Graphs { pools, homes, graphs, vacant });

impl Part {
    /// What is left of it where these ranges of physical memory, in ascending order, are gone.
    fn without(self, gone: &[(u64, u64)]) -> Vec<Part> {
        let (mut from, end) = (self.physical, self.physical + self.size);
        let mut left = Vec::new();
        let first = gone.partition_point(|(start, size)| start + size <= from);
        let meets = gone[first..].iter().take_while(|(start, _)| *start < end);
        for (start, until) in meets.map(|(start, size)| (*start, start + size)).chain([(end, end)]) {
            if from < start {
                left.push(Part { at: self.at + (from - self.physical), size: start - from, physical: from });
            }
            from = from.max(until);
        }
        left
    }
}

impl Graph {
    fn digest(&self) -> u128 {
        let Self { spaces, gaps, nodes, frees, last, is_mapped, has_ended } = self;
        let ticket = |at: &Ticket| [at.stream.index() as u64 + 1, u64::from(at.seq)];
        let alloc = |id: &AllocId| [u64::from(id.slot), u64::from(id.serial)];
        let [stream, seq] = last.as_ref().map_or([0; 2], ticket);
        let mut all = vec![stream, seq, u64::from(*is_mapped), u64::from(*has_ended), spaces.len() as u64];
        for Space { device, start, size, filled, parts } in spaces {
            all.extend([device.index() as u64, *start, *size, *filled, parts.len() as u64]);
            all.extend(parts.iter().flat_map(|part| [part.at, part.size, part.physical]));
        }
        all.push(gaps.len() as u64);
        for Gap { space, start, size, freed, alloc: before } in gaps {
            all.extend([*space as u64, *start, *size]);
            all.extend(ticket(freed).into_iter().chain(alloc(before)));
        }
        all.push(nodes.len() as u64);
        for AllocNode { alloc: id, space, start, size, is_freed_inside, is_live } in nodes {
            all.extend([*space as u64, *start, *size, u64::from(*is_freed_inside), u64::from(*is_live)]);
            all.extend(alloc(id));
        }
        all.extend(frees.iter().flat_map(alloc));
        mix(&all)
    }
}

impl Space {
    /// The whole granules that a range of its addresses touches, as a range of the space.
    fn granules(&self, start: u64, size: u64, granule: u64) -> (u64, u64) {
        let from = start - self.start;
        (from - from % granule, (from + size).next_multiple_of(granule))
    }

    /// The physical memory behind a range of the space.
    fn physical(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.parts.iter().filter_map(move |part| {
            let (start, end) = (part.at.max(from), (part.at + part.size).min(to));
            (start < end).then(|| (part.physical + (start - part.at), end - start))
        })
    }
}

impl Graphs {
    pub(super) fn new(setup: &Setup) -> Self {
        let devices = || setup.devices.indices();
        let pools = devices().map(|_| GraphPool::new(setup.rules.granule.0)).collect();
        let homes = devices().map(|device| setup.physical(device)).collect();
        Self { pools, homes, graphs: Vec::new(), vacant: Vec::new() }
    }

    pub(super) fn digest(&self) -> u128 {
        let graphs = self.graphs.iter().enumerate().map(|(key, graph)| {
            let [low, high] = words(graph.digest());
            mix(&[9, key as u64, low, high])
        });
        let vacant = self.vacant.iter().enumerate().map(|(at, key)| mix(&[10, at as u64, u64::from(*key)]));
        let pools = self.pools.iter_enumerated().map(|(device, pool)| {
            let [low, high] = words(pool.digest());
            mix(&[11, device.index() as u64, low, high])
        });
        graphs.chain(vacant).chain(pools).fold(0, u128::wrapping_add)
    }

    /// Whose memory a node's is.
    pub(super) fn device_of(&self, key: GraphKey, node: usize) -> DeviceId {
        let graph = &self.graphs[key.0 as usize];
        graph.spaces[graph.nodes[node].space].device
    }

    /// Outside of the graph, an allocation may be used after the launch that brought it to life.
    pub(super) fn readiness(&self, key: GraphKey, node: usize, ordered: &Cut) -> Readiness {
        let graph = &self.graphs[key.0 as usize];
        match graph.last {
            _ if !graph.nodes[node].is_live => Readiness::Freed,
            Some(last) if !last.within(ordered) => Readiness::NotOrdered,
            _ => Readiness::Ready,
        }
    }

    /// An allocation begins or ends to hold its memory.
    fn hold(&mut self, key: GraphKey, node: usize, holds: bool, granule: u64) {
        let graph = &mut self.graphs[key.0 as usize];
        graph.nodes[node].is_live = holds;
        let AllocNode { space, start, size, .. } = graph.nodes[node];
        let space = &graph.spaces[space];
        let (from, to) = space.granules(start, size, granule);
        for (physical, size) in space.physical(from, to) {
            for piece in self.pools[space.device].range(physical, size) {
                piece.held = if holds { piece.held + 1 } else { piece.held - 1 };
            }
        }
    }

    /// Everything that a graph has mapped is used until this operation; or with a node, what that one has.
    fn use_until(&mut self, key: GraphKey, node: Option<usize>, at: Ticket, granule: u64) {
        let graph = &self.graphs[key.0 as usize];
        let node = node.map(|node| graph.nodes[node]);
        for (nth, space) in graph.spaces.iter().enumerate() {
            let (from, to) = match node {
                Some(node) if node.space == nth => space.granules(node.start, node.size, granule),
                Some(_) => continue,
                None => (0, u64::MAX),
            };
            for (physical, size) in space.physical(from, to) {
                self.pools[space.device]
                    .range(physical, size)
                    .iter_mut()
                    .for_each(|piece| piece.use_until(at));
            }
        }
    }

    /// Unmaps what no live allocation of the graph is in.
    fn unmap_idle(&mut self, key: GraphKey, granule: u64) {
        let graph = &mut self.graphs[key.0 as usize];
        for (nth, space) in graph.spaces.iter_mut().enumerate() {
            let live = graph.nodes.iter().filter(|node| node.is_live && node.space == nth);
            let mut live: Vec<_> = live.map(|node| space.granules(node.start, node.size, granule)).collect();
            live.sort_unstable();
            let mut parts = Vec::new();
            for part in &space.parts {
                let mut at = part.at;
                let end = part.at + part.size;
                let stays = live.iter().map(|(from, to)| (*from.max(&part.at), *to.min(&end)));
                for (from, to) in stays.filter(|(from, to)| from < to).chain([(end, end)]) {
                    if at < from {
                        let pieces =
                            self.pools[space.device].range(part.physical + (at - part.at), from - at);
                        pieces.iter_mut().for_each(|piece| piece.maps -= 1);
                    }
                    let from = from.max(at);
                    if from < to {
                        parts.push(Part {
                            at: from,
                            size: to - from,
                            physical: part.physical + (from - part.at),
                        });
                    }
                    at = at.max(to);
                }
            }
            space.parts = parts;
            self.pools[space.device].settle();
        }
    }
}

impl Cuda {
    fn granule(&self) -> u64 {
        self.rules.granule.0
    }

    /// Whose memory a live allocation is, and that of every allocation node.
    pub(super) fn owner(&self, alloc: AllocId) -> Option<Owner> {
        let live = self.live.get(alloc.slot as usize)?;
        (live.serial == alloc.serial && alloc.serial != 0).then_some(live.owner)
    }

    /// The node of a graph that has an allocation, if it is one of a graph.
    pub(super) fn node_of(&self, alloc: AllocId) -> Option<(GraphKey, usize)> {
        match self.owner(alloc)? {
            Owner::Graph(key, node) => Some((key, node as usize)),
            Owner::Pool(..) | Owner::Outside(_) | Owner::Import(_) => None,
        }
    }

    /// A free outside of the graph that has the allocation: as of an operation, or at once.
    pub(super) fn free_of_graph(
        &mut self,
        (key, node): (GraphKey, usize),
        at: Option<Ticket>,
    ) -> Result<DeviceId, Failure> {
        let granule = self.granule();
        let device = self.graphs.device_of(key, node);
        if !self.graphs.graphs[key.0 as usize].nodes[node].is_live {
            return Err(Failure::InvalidValue);
        }
        self.graphs.hold(key, node, false, granule);
        if let Some(at) = at {
            self.graphs.use_until(key, Some(node), at, granule);
        }
        if !self.graphs.graphs[key.0 as usize].is_mapped {
            self.graphs.unmap_idle(key, granule);
        }
        Ok(device)
    }

    /// Addresses for a node: a gap that it comes after, the smallest, or else new ones.
    fn place_node(
        &mut self,
        node: Node<'_>,
        device: DeviceId,
        size: u64,
    ) -> Option<(usize, u64, Option<AllocId>)> {
        let unit = self.rules.growth.0;
        let graph = &mut self.graphs.graphs[node.graph.0 as usize];
        let fits = graph.gaps.iter().enumerate().filter(|(_, gap)| {
            gap.size >= size && graph.spaces[gap.space].device == device && gap.freed.within(node.after)
        });
        if let Some((nth, _)) = fits.min_by_key(|(_, gap)| (gap.size, gap.start)) {
            let Gap { space, start, alloc, .. } = graph.gaps[nth];
            graph.gaps[nth].start += size;
            graph.gaps[nth].size -= size;
            graph.gaps.retain(|gap| gap.size > 0);
            return Some((space, start, Some(alloc)));
        }
        let has_room = |space: &Space| space.device == device && space.size - space.filled >= size;
        let space = match graph.spaces.iter().position(has_room) {
            Some(space) => space,
            None => {
                let start = self.addresses.take(size)?;
                let size = size.next_multiple_of(unit);
                graph.spaces.push(Space { device, start, size, filled: 0, parts: Vec::new() });
                graph.spaces.len() - 1
            }
        };
        let start = graph.spaces[space].start + graph.spaces[space].filled;
        graph.spaces[space].filled += size;
        Some((space, start, None))
    }

    /// What a launch needs on each device. Pieces are split where that changes nothing.
    fn plan(&mut self, launch: &Launch<'_>) -> Result<Vec<Plan>, Failure> {
        let granule = self.granule();
        let mut plans: Vec<Plan> = Vec::new();
        let Graphs { graphs, pools, .. } = &mut self.graphs;
        let graph = &graphs[launch.graph.0 as usize];
        for (nth, space) in graph.spaces.iter().enumerate() {
            let place = plans.iter().position(|plan| plan.device == space.device).unwrap_or_else(|| {
                let (keep, missing) = (Vec::new(), Vec::new());
                plans.push(Plan { device: space.device, keep, missing, growth: 0 });
                plans.len() - 1
            });
            let Plan { keep, missing, .. } = &mut plans[place];
            let mut at = 0;
            for part in &space.parts {
                let mut here = part.at;
                for piece in pools[space.device].range(part.physical, part.size) {
                    if piece.serves(launch) {
                        missing.extend((at < here).then_some((nth, at, here - at)));
                        keep.push((nth, Part { at: here, size: piece.size, physical: piece.start }));
                        at = here + piece.size;
                    }
                    here += piece.size;
                }
            }
            let end = space.filled.next_multiple_of(granule);
            missing.extend((at < end).then_some((nth, at, end - at)));
        }
        for plan in &mut plans {
            let lacks: u64 = plan.missing.iter().map(|(.., size)| size).sum();
            let idle: u64 = self.idle(plan, launch).iter().map(|(_, size)| size).sum();
            plan.growth = lacks.saturating_sub(idle);
            if plan.growth > self.free_memory(self.graphs.homes[plan.device]) {
                return Err(Failure::OutOfMemory);
            }
        }
        Ok(plans)
    }

    /// What could serve a launch beside what the graph has mapped already, lowest first.
    fn idle(&self, plan: &Plan, launch: &Launch<'_>) -> Vec<(u64, u64)> {
        let mut kept: Vec<u64> = plan.keep.iter().map(|(_, part)| part.physical).collect();
        kept.sort_unstable();
        let pieces = self.graphs.pools[plan.device].pieces().iter();
        let idle = pieces.filter(|piece| piece.serves(launch) && kept.binary_search(&piece.start).is_err());
        idle.map(|piece| (piece.start, piece.size)).collect()
    }

    /// Maps what a launch needs; all of it is used until the end of the launch.
    fn map(&mut self, launch: &Launch<'_>) -> Result<(), Failure> {
        let (granule, key) = (self.granule(), launch.graph);
        for plan in self.plan(launch)? {
            let pool = &mut self.graphs.pools[plan.device];
            if plan.growth > 0 {
                pool.grow(plan.growth).ok_or(Failure::OutOfMemory)?;
                self.devices[self.graphs.homes[plan.device]].reserved += plan.growth;
            }
            let mut idle = self.idle(&plan, launch).into_iter();
            let (pool, graph) =
                (&mut self.graphs.pools[plan.device], &mut self.graphs.graphs[key.0 as usize]);
            for space in graph.spaces.iter_mut().filter(|space| space.device == plan.device) {
                for part in std::mem::take(&mut space.parts) {
                    pool.range(part.physical, part.size).iter_mut().for_each(|piece| piece.maps -= 1);
                }
            }
            let mut parts = plan.keep;
            let mut next = idle.next();
            for (space, mut at, mut size) in plan.missing {
                while size > 0 {
                    let (physical, left) = next.expect("there is as much as was counted");
                    let taken = left.min(size);
                    parts.push((space, Part { at, size: taken, physical }));
                    (at, size) = (at + taken, size - taken);
                    next = if left > taken { Some((physical + taken, left - taken)) } else { idle.next() };
                }
            }
            parts.sort_unstable_by_key(|(space, part)| (*space, part.at));
            for (space, part) in parts {
                pool.range(part.physical, part.size).iter_mut().for_each(|piece| piece.maps += 1);
                graph.spaces[space].parts.push(part);
            }
            pool.settle();
        }
        let graph = &mut self.graphs.graphs[key.0 as usize];
        (graph.is_mapped, graph.last) = (true, Some(launch.end));
        self.graphs.use_until(key, None, launch.end, granule);
        Ok(())
    }

    /// Graphs that are gone give their addresses back once nothing uses them any more.
    fn reap(&mut self, done: Option<&Cut>) {
        for at in 0..self.graphs.graphs.len() {
            let graph = &self.graphs.graphs[at];
            let is_idle = graph.nodes.iter().all(|node| !node.is_live);
            if !graph.has_ended
                || !is_idle
                || graph.last.is_some_and(|last| done.is_none_or(|done| !last.within(done)))
            {
                continue;
            }
            let graph = std::mem::take(&mut self.graphs.graphs[at]);
            self.graphs.vacant.push(at as u32);
            for node in graph.nodes {
                self.live[node.alloc.slot as usize].serial = 0;
                self.vacant.push(node.alloc.slot);
            }
            graph.spaces.iter().for_each(|space| self.addresses.give_back(space.start, space.size));
        }
    }
}

impl GraphMemory for Cuda {
    fn begin_graph(&mut self) -> GraphKey {
        match self.graphs.vacant.pop() {
            Some(vacant) => GraphKey(vacant),
            None => {
                self.graphs.graphs.push(Graph::default());
                GraphKey(self.graphs.graphs.len() as u32 - 1)
            }
        }
    }

    fn alloc_node(
        &mut self,
        node: Node<'_>,
        device: DeviceId,
        requested: Bytes,
    ) -> Result<Decision, Failure> {
        if requested == Bytes::ZERO {
            return Ok(Decision::null());
        }
        let size = self.rounded(requested).ok_or(Failure::OutOfMemory)?;
        let (space, start, reuses) = self.place_node(node, device, size).ok_or(Failure::OutOfMemory)?;
        let alloc = self.next_id();
        let nodes = &mut self.graphs.graphs[node.graph.0 as usize].nodes;
        let nth = nodes.len() as u32;
        nodes.push(AllocNode { alloc, space, start, size, is_freed_inside: false, is_live: false });
        self.enter(alloc, Owner::Graph(node.graph, nth));
        let range = Range { start, size: Bytes(size) };
        Ok(Decision { reuses, ..Decision::plain(alloc, range, requested, Bytes::ZERO) })
    }

    fn free_node(&mut self, node: Node<'_>, alloc: AllocId) -> Result<(), Failure> {
        if alloc == AllocId::NULL {
            return Ok(());
        }
        let (key, nth) = self.node_of(alloc).ok_or(Failure::InvalidValue)?;
        let owner = &mut self.graphs.graphs[key.0 as usize];
        if owner.nodes[nth].is_freed_inside {
            return Err(Failure::InvalidValue);
        }
        if key == node.graph {
            owner.nodes[nth].is_freed_inside = true;
            let AllocNode { space, start, size, .. } = owner.nodes[nth];
            owner.gaps.push(Gap { space, start, size, freed: node.at, alloc });
            return Ok(());
        }
        let frees = &mut self.graphs.graphs[node.graph.0 as usize].frees;
        if frees.contains(&alloc) {
            return Err(Failure::InvalidValue);
        }
        frees.push(alloc);
        Ok(())
    }

    fn unfreed(&self, graph: GraphKey, into: &mut Vec<AllocId>) {
        let nodes = self.graphs.graphs[graph.0 as usize].nodes.iter();
        into.extend(nodes.filter(|node| node.is_live).map(|node| node.alloc));
    }

    fn launch(&mut self, launch: Launch<'_>, auto_free: bool) -> Result<(), Failure> {
        let (granule, key) = (self.granule(), launch.graph);
        self.reap(Some(launch.known.done));
        let graph = &self.graphs.graphs[key.0 as usize];
        let unfreed: Vec<usize> = (0..graph.nodes.len()).filter(|node| graph.nodes[*node].is_live).collect();
        if !unfreed.is_empty() && !auto_free {
            return Err(Failure::InvalidValue);
        }
        let freed: Option<Vec<_>> = graph.frees.iter().map(|alloc| self.node_of(*alloc)).collect();
        let freed = freed.ok_or(Failure::InvalidValue)?;
        let is_live =
            |(key, node): &(GraphKey, usize)| self.graphs.graphs[key.0 as usize].nodes[*node].is_live;
        if !freed.iter().all(is_live) {
            return Err(Failure::InvalidValue);
        }
        unfreed.iter().for_each(|node| self.graphs.hold(key, *node, false, granule));
        let mapped = self.map(&launch);
        if mapped.is_err() {
            unfreed.iter().for_each(|node| self.graphs.hold(key, *node, true, granule));
            return mapped;
        }
        for node in 0..self.graphs.graphs[key.0 as usize].nodes.len() {
            if !self.graphs.graphs[key.0 as usize].nodes[node].is_freed_inside {
                self.graphs.hold(key, node, true, granule);
            }
        }
        for node in freed {
            self.free_of_graph(node, Some(launch.end))?;
        }
        Ok(())
    }

    fn upload(&mut self, launch: Launch<'_>) -> Result<(), Failure> {
        self.reap(Some(launch.known.done));
        // What lives keeps its memory; a launch would free it first, or fail.
        let mut unfreed = Vec::new();
        self.unfreed(launch.graph, &mut unfreed);
        if unfreed.is_empty() { self.map(&launch) } else { Ok(()) }
    }

    fn unmap_graph(&mut self, key: GraphKey) {
        let granule = self.granule();
        self.graphs.graphs[key.0 as usize].is_mapped = false;
        self.graphs.unmap_idle(key, granule);
    }

    fn end_graph(&mut self, key: GraphKey) {
        self.graphs.graphs[key.0 as usize].has_ended = true;
        self.reap(None);
    }

    fn trim_graphs(&mut self, device: DeviceId, done: &Cut) -> Result<Bytes, Failure> {
        self.reap(Some(done));
        let gone = self.graphs.pools[device].trim(done);
        let Graphs { graphs, pools, .. } = &mut self.graphs;
        let spaces = graphs.iter_mut().flat_map(|graph| &mut graph.spaces);
        for space in spaces.filter(|space| space.device == device) {
            space.parts = space.parts.iter().flat_map(|part| part.without(&gone)).collect();
        }
        pools[device].settle();
        let bytes = gone.iter().map(|(_, size)| size).sum();
        self.devices[self.graphs.homes[device]].reserved -= bytes;
        Ok(Bytes(bytes))
    }

    fn set_graphs(&mut self, device: DeviceId, figure: GraphFigure, value: u64) -> Result<(), Failure> {
        self.graphs.pools[device].set(figure, value)
    }

    fn graph_pool(&self, device: DeviceId) -> GraphPoolState {
        self.graphs.pools[device].state()
    }
}
