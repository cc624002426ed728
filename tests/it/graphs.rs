//! The memory of graphs against a naive model, on random graphs and launches: one entry a granule, and no shared code.
//!
//! The naive model is written from the rules: the address of a node is fixed; a node may take what a node before it has freed;
//! a granule serves a launch when everything that uses it is ordered before or done, and no live allocation is in it.

use crate::budget;
use millpond::base::{Bytes, DeviceId, Draws, StreamId, index_vec};
use millpond::model::cuda::Cuda;
use millpond::model::graphs::{GraphKey, Launch, Node};
use millpond::model::{Allocator, GraphMemory, Known};
use millpond::profile::Profile;
use millpond::trace::{
    AllocId, Detail, DeviceSetup, Event, Failure, GraphFigure, Kind, PoolSetup, Remap, Rules, Setup, Sink,
    StreamKind, StreamSetup, Ticket,
};
use std::collections::{BTreeMap, BTreeSet};

const GRANULE: u64 = 2 << 20;
const GROWTH: u64 = 32 << 20;
const ALIGN: u64 = 512;
const STREAMS: usize = 3;

fn device() -> DeviceId {
    DeviceId::new(0)
}

/// A granule of physical memory that is reserved.
#[derive(Clone, Default)]
struct Granule {
    graphs: BTreeSet<u32>,
    live: BTreeSet<AllocId>,
    users: Vec<Ticket>,
}

#[derive(Clone, Debug)]
struct NaiveNode {
    alloc: AllocId,
    start: u64,
    size: u64,
    is_freed_inside: bool,
    is_live: bool,
}

#[derive(Clone, Default)]
struct NaiveGraph {
    /// Start, capacity, filled.
    regions: Vec<(u64, u64, u64)>,
    /// Start, size, and the node that freed it.
    gaps: Vec<(u64, u64, Ticket)>,
    nodes: Vec<NaiveNode>,
    foreign: Vec<AllocId>,
    /// For each granule of addresses, the physical one.
    map: BTreeMap<u64, u64>,
    last: Option<Ticket>,
    /// The nodes of each of two lanes, and what comes before the next one.
    lanes: [u32; 2],
    clocks: [[u32; 2]; 2],
    is_closed: bool,
    is_mapped: bool,
}

struct Walk {
    draws: Draws,
    cuda: Cuda,
    memory: u64,
    outside: Vec<(AllocId, u64)>,
    graphs: BTreeMap<u32, NaiveGraph>,
    physical: BTreeMap<u64, Granule>,
    high: [u64; 2],
    submitted: Vec<u32>,
    done: Vec<u32>,
    seen: BTreeMap<&'static str, u32>,
}

fn setup(memory: u64) -> Setup {
    let pool = PoolSetup::on(device());
    Setup {
        devices: index_vec![DeviceSetup::new(Bytes(memory))],
        pools: index_vec![pool],
        streams: (0..STREAMS).map(|_| StreamSetup::new(device(), StreamKind::NonBlocking)).collect(),
        rules: Rules {
            alignment: Bytes(ALIGN),
            growth: Bytes(GROWTH),
            granule: Bytes(GRANULE),
            remap: Remap::Idle,
            ..Rules::default()
        },
        ..Setup::default()
    }
}

impl NaiveGraph {
    /// The granules of all its addresses, by regions.
    fn granules(&self) -> Vec<u64> {
        let of = |(start, _, filled): &(u64, u64, u64)| start / GRANULE..(start + filled).div_ceil(GRANULE);
        self.regions.iter().flat_map(of).collect()
    }

    fn granules_of(node: &NaiveNode) -> std::ops::Range<u64> {
        node.start / GRANULE..(node.start + node.size).div_ceil(GRANULE)
    }
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, 1);
        let memory = GRANULE * draws.between(20, 60);
        Self {
            draws,
            cuda: Cuda::new(&setup(memory)),
            memory,
            outside: Vec::new(),
            graphs: BTreeMap::new(),
            physical: BTreeMap::new(),
            high: [0; 2],
            submitted: vec![0; STREAMS],
            done: vec![0; STREAMS],
            seen: BTreeMap::new(),
        }
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn pick(&mut self, closed: bool) -> Option<u32> {
        let keys: Vec<u32> =
            self.graphs.iter().filter(|(_, graph)| graph.is_closed == closed).map(|(key, _)| *key).collect();
        (!keys.is_empty()).then(|| keys[self.draws.below(keys.len() as u64) as usize])
    }

    fn node_of(&self, alloc: AllocId) -> Option<(u32, usize)> {
        self.graphs
            .iter()
            .find_map(|(key, graph)| Some((*key, graph.nodes.iter().position(|node| node.alloc == alloc)?)))
    }

    fn any_alloc(&mut self) -> Option<AllocId> {
        let nodes = self.graphs.values().flat_map(|graph| &graph.nodes).map(|node| node.alloc);
        let all: Vec<AllocId> = nodes.chain(self.outside.iter().map(|(alloc, _)| *alloc)).collect();
        (!all.is_empty()).then(|| all[self.draws.below(all.len() as u64) as usize])
    }

    fn step(&mut self) {
        match self.draws.below(20) {
            0 | 1 if self.graphs.len() < 5 => self.begin(),
            0..6 => self.alloc_node(),
            6..8 => self.free_node(),
            8 => {
                if let Some(key) = self.pick(false) {
                    self.graphs.get_mut(&key).unwrap().is_closed = true;
                }
            }
            9..14 => self.launch(),
            14..16 => self.free(),
            16 => self.outside(),
            17 => self.progress(),
            18 => self.trim(),
            _ => self.end_or_reset(),
        }
        self.compare();
    }

    fn begin(&mut self) {
        let GraphKey(key) = self.cuda.begin_graph();
        assert!(self.graphs.insert(key, NaiveGraph::default()).is_none(), "a key of a graph that is there");
    }

    /// The place of the next node of a lane, which comes after some of the other lane's.
    fn place(&mut self, key: u32) -> (Ticket, [u32; 2]) {
        let lane = self.draws.below(2) as usize;
        let meets = self.draws.below(2) == 0;
        let graph = self.graphs.get_mut(&key).unwrap();
        if meets {
            let other = graph.clocks[1 - lane];
            (0..2).for_each(|at| graph.clocks[lane][at] = graph.clocks[lane][at].max(other[at]));
        }
        (Ticket { stream: StreamId::new(lane), seq: graph.lanes[lane] + 1 }, graph.clocks[lane])
    }

    fn placed(&mut self, key: u32, at: Ticket) {
        let graph = self.graphs.get_mut(&key).unwrap();
        let lane = at.stream.index();
        graph.lanes[lane] = at.seq;
        graph.clocks[lane][lane] = at.seq;
    }

    fn alloc_node(&mut self) {
        let Some(key) = self.pick(false) else { return };
        let (at, after) = self.place(key);
        let requested = [self.draws.between(1, 4096), self.draws.between(1, 5 * GRANULE), 3 * GRANULE]
            [self.draws.below(3) as usize];
        let size = requested.next_multiple_of(ALIGN);
        let node = Node { graph: GraphKey(key), at, after: &after };
        let decision = self.cuda.alloc_node(node, device(), Bytes(requested)).expect("addresses are left");
        let start = decision.range.start;
        assert_eq!((decision.range.size, decision.mapped), (Bytes(size), Bytes::ZERO));
        let graph = &self.graphs[&key];
        let fits =
            graph.gaps.iter().filter(|(_, free, by)| *free >= size && by.seq <= after[by.stream.index()]);
        let gap = fits.min_by_key(|(start, free, _)| (*free, *start)).copied();
        assert_eq!(decision.reuses.is_some(), gap.is_some());
        match gap {
            Some(gap) => {
                assert_eq!(start, gap.0, "the smallest gap that the node comes after");
                let gaps = &mut self.graphs.get_mut(&key).unwrap().gaps;
                gaps.retain(|other| *other != gap);
                gaps.extend((gap.1 > size).then_some((gap.0 + size, gap.1 - size, gap.2)));
                self.saw("address again");
            }
            None => self.fresh(key, start, size),
        }
        let nodes = &mut self.graphs.get_mut(&key).unwrap().nodes;
        nodes.push(NaiveNode { alloc: decision.alloc, start, size, is_freed_inside: false, is_live: false });
        self.placed(key, at);
    }

    /// A new address is nobody's.
    fn fresh(&mut self, key: u32, start: u64, size: u64) {
        for (other, graph) in &self.graphs {
            for (from, capacity, filled) in &graph.regions {
                let taken = if *other == key { *filled } else { *capacity };
                assert!(start + size <= *from || from + taken <= start, "{start:x} is taken");
            }
        }
        let regions = &mut self.graphs.get_mut(&key).unwrap().regions;
        match regions.iter_mut().find(|(_, capacity, filled)| capacity - filled >= size) {
            Some((from, _, filled)) => {
                assert_eq!(start, *from + *filled);
                *filled += size;
            }
            None => regions.push((start, size.next_multiple_of(GROWTH), size)),
        }
    }

    fn free_node(&mut self) {
        let (Some(key), Some(alloc)) = (self.pick(false), self.any_alloc()) else { return };
        let (at, after) = self.place(key);
        let answer = self.cuda.free_node(Node { graph: GraphKey(key), at, after: &after }, alloc);
        let owner = self.node_of(alloc);
        let graph = &self.graphs[&key];
        let refused = owner.is_none_or(|(of, nth)| {
            self.graphs[&of].nodes[nth].is_freed_inside || of != key && graph.foreign.contains(&alloc)
        });
        assert_eq!(answer.is_err(), refused);
        let Some((of, nth)) = owner.filter(|_| !refused) else { return self.saw("free node refused") };
        if of == key {
            let graph = self.graphs.get_mut(&key).unwrap();
            let node = &mut graph.nodes[nth];
            node.is_freed_inside = true;
            graph.gaps.push((node.start, node.size, at));
        } else {
            self.graphs.get_mut(&key).unwrap().foreign.push(alloc);
        }
        self.placed(key, at);
    }

    fn room(&self) -> u64 {
        let outside: u64 = self.outside.iter().map(|(_, size)| size).sum();
        (self.memory - outside) / GRANULE - self.physical.len() as u64
    }

    fn launch(&mut self) {
        let Some(key) = self.pick(true) else { return };
        let stream = self.draws.below(STREAMS as u64) as usize;
        let (auto_free, upload) = (self.draws.below(2) == 0, self.draws.below(6) == 0);
        let mut ordered: Vec<u32> =
            self.submitted.iter().map(|n| u32::min(*n, self.draws.below(u64::from(*n) + 1) as u32)).collect();
        ordered[stream] = self.submitted[stream];
        let end = Ticket { stream: StreamId::new(stream), seq: self.submitted[stream] + 3 };
        let behind = self.graphs[&key].last;
        let known = Known { ordered: &ordered, done: &self.done, seen: &self.done, observed: &self.done };
        let launch = Launch { graph: GraphKey(key), end, behind, known };
        let answer = match upload {
            true => self.cuda.upload(launch),
            false => self.cuda.launch(launch, auto_free),
        };
        let expected = self.launched(key, end, &ordered, auto_free, upload);
        assert_eq!(answer, expected);
        match answer {
            Ok(()) => self.submitted[stream] += 3,
            Err(Failure::OutOfMemory) => self.saw("launch out of memory"),
            Err(_) => self.saw("launch refused"),
        }
    }

    fn launched(
        &mut self,
        key: u32,
        end: Ticket,
        ordered: &[u32],
        auto_free: bool,
        upload: bool,
    ) -> Result<(), Failure> {
        let graph = self.graphs[&key].clone();
        let has_unfreed = graph.nodes.iter().any(|node| node.is_live);
        if upload && has_unfreed {
            return Ok(());
        }
        let foreign: Vec<_> = graph.foreign.iter().map(|alloc| self.node_of(*alloc)).collect();
        let lives =
            |at: &Option<(u32, usize)>| at.is_some_and(|(of, nth)| self.graphs[&of].nodes[nth].is_live);
        if !upload && (has_unfreed && !auto_free || !foreign.iter().all(lives)) {
            return Err(Failure::InvalidValue);
        }
        let before = |at: &Ticket| {
            let stream = at.stream.index();
            let behind = graph.last.is_some_and(|last| last.stream == at.stream && at.seq <= last.seq);
            behind || at.seq <= ordered[stream] || at.seq <= self.done[stream]
        };
        let own: BTreeSet<AllocId> = graph.nodes.iter().map(|node| node.alloc).collect();
        let serves = |granule: &Granule| granule.live.is_subset(&own) && granule.users.iter().all(before);
        let usable: BTreeSet<u64> =
            self.physical.iter().filter(|(_, granule)| serves(granule)).map(|(at, _)| *at).collect();
        let wanted = graph.granules();
        let kept: BTreeMap<u64, u64> =
            graph.map.iter().filter(|(_, at)| usable.contains(at)).map(|(page, at)| (*page, *at)).collect();
        let taken: BTreeSet<u64> = kept.values().copied().collect();
        let mut idle: Vec<u64> = usable.difference(&taken).copied().collect();
        let missing: Vec<u64> = wanted.iter().filter(|page| !kept.contains_key(page)).copied().collect();
        let lacks = (missing.len() as u64).saturating_sub(idle.len() as u64);
        if lacks > self.room() {
            return Err(Failure::OutOfMemory);
        }
        if lacks > 0 {
            let is_free = |from: &u64| (*from..from + lacks).all(|at| !self.physical.contains_key(&at));
            let from = (0..).find(is_free).unwrap();
            for at in from..from + lacks {
                self.physical.insert(at, Granule::default());
                idle.push(at);
            }
        } else if missing.is_empty() {
            self.saw("nothing to map");
        } else {
            self.saw("memory shared");
        }
        idle.sort_unstable();
        let map = kept.into_iter().chain(missing.into_iter().zip(idle)).collect();
        self.mapped(key, map, end);
        if !upload {
            self.lives(key);
            for (of, nth) in foreign.into_iter().flatten() {
                self.freed(of, nth, Some(end));
            }
        }
        Ok(())
    }

    /// The graph has this mapped now, in which nothing of its own lives any more, until this operation.
    fn mapped(&mut self, key: u32, map: BTreeMap<u64, u64>, end: Ticket) {
        self.unmap(key);
        let graph = self.graphs.get_mut(&key).unwrap();
        for granule in self.physical.values_mut() {
            granule.live.retain(|alloc| graph.nodes.iter().all(|node| node.alloc != *alloc));
        }
        for at in map.values() {
            let granule = self.physical.get_mut(at).unwrap();
            granule.graphs.insert(key);
            granule.users.push(end);
        }
        (graph.map, graph.last, graph.is_mapped) = (map, Some(end), true);
        self.high();
    }

    /// What the graph does not free itself lives from now on.
    fn lives(&mut self, key: u32) {
        let graph = self.graphs.get_mut(&key).unwrap();
        for node in &mut graph.nodes {
            node.is_live = !node.is_freed_inside;
            for page in NaiveGraph::granules_of(node).filter(|_| node.is_live) {
                self.physical.get_mut(&graph.map[&page]).unwrap().live.insert(node.alloc);
            }
        }
    }

    fn unmap(&mut self, key: u32) {
        self.physical.values_mut().for_each(|granule| {
            granule.graphs.remove(&key);
        });
    }

    fn freed(&mut self, key: u32, nth: usize, at: Option<Ticket>) {
        let node = &mut self.graphs.get_mut(&key).unwrap().nodes[nth];
        node.is_live = false;
        let alloc = node.alloc;
        for granule in self.physical.values_mut() {
            if granule.live.remove(&alloc) {
                granule.users.extend(at);
            }
        }
        self.keep_only_what_lives(key);
    }

    /// Without an executable graph, only what live allocations are in stays mapped.
    fn keep_only_what_lives(&mut self, key: u32) {
        let graph = self.graphs.get_mut(&key).unwrap();
        if graph.is_mapped {
            return;
        }
        let live: BTreeSet<u64> =
            graph.nodes.iter().filter(|node| node.is_live).flat_map(NaiveGraph::granules_of).collect();
        graph.map.retain(|page, _| live.contains(page));
        let mapped: BTreeSet<u64> = graph.map.values().copied().collect();
        for (at, granule) in &mut self.physical {
            if !mapped.contains(at) {
                granule.graphs.remove(&key);
            }
        }
    }

    fn free(&mut self) {
        let Some(alloc) = self.any_alloc() else { return };
        let Some((key, nth)) = self.node_of(alloc) else { return };
        let stream = self.draws.below(STREAMS as u64 + 1) as usize;
        let at = (stream < STREAMS)
            .then(|| Ticket { stream: StreamId::new(stream), seq: self.submitted[stream] + 1 });
        let answer = match at {
            Some(at) => self.cuda.free(alloc, at),
            None => self.cuda.plain_free(alloc),
        };
        assert_eq!(answer.is_ok(), self.graphs[&key].nodes[nth].is_live);
        if answer.is_ok() {
            at.into_iter().for_each(|at| self.submitted[at.stream.index()] = at.seq);
            self.freed(key, nth, at);
            self.saw("freed outside");
        } else {
            self.saw("free refused");
        }
    }

    fn outside(&mut self) {
        if self.draws.below(2) == 0 && !self.outside.is_empty() {
            let at = self.draws.below(self.outside.len() as u64) as usize;
            let (alloc, _) = self.outside.swap_remove(at);
            self.cuda.plain_free(alloc).expect("it is live");
            return;
        }
        let size = GRANULE * self.draws.between(1, 8);
        let fits = size / GRANULE <= self.room();
        let answer = self.cuda.malloc(device(), Bytes(size), false);
        assert_eq!(answer.is_ok(), fits, "the graph pool takes memory of the device");
        self.outside.extend(answer.map(|decision| (decision.alloc, size)).ok());
    }

    fn progress(&mut self) {
        for stream in 0..STREAMS {
            self.done[stream] =
                self.draws.between(self.done[stream].into(), self.submitted[stream].into()) as u32;
        }
    }

    fn trim(&mut self) {
        let is_done = |at: &Ticket| at.seq <= self.done[at.stream.index()];
        let gone: BTreeSet<u64> = self
            .physical
            .iter()
            .filter(|(_, granule)| granule.live.is_empty() && granule.users.iter().all(is_done))
            .map(|(at, _)| *at)
            .collect();
        let bytes = self.cuda.trim_graphs(device(), &self.done).unwrap();
        assert_eq!(bytes, Bytes(gone.len() as u64 * GRANULE));
        self.physical.retain(|at, _| !gone.contains(at));
        self.graphs.values_mut().for_each(|graph| graph.map.retain(|_, at| !gone.contains(at)));
        if !gone.is_empty() {
            self.saw("trimmed");
        }
    }

    fn end_or_reset(&mut self) {
        if self.draws.below(2) == 0 {
            let figure = GraphFigure::ALL[self.draws.below(4) as usize];
            let value = self.draws.below(2);
            let [used, reserved] = self.counted();
            let mark = match figure {
                GraphFigure::UsedHigh if value == 0 => Some((0, used)),
                GraphFigure::ReservedHigh if value == 0 => Some((1, reserved)),
                _ => None,
            };
            let expected = mark.map(|(at, now)| self.high[at] = now).ok_or(Failure::InvalidValue);
            assert_eq!(self.cuda.set_graphs(device(), figure, value), expected);
            return;
        }
        let Some(key) = self.pick(true) else { return };
        self.cuda.unmap_graph(GraphKey(key));
        self.graphs.get_mut(&key).unwrap().is_mapped = false;
        self.keep_only_what_lives(key);
        let graph = &self.graphs[&key];
        let is_idle = graph.nodes.iter().all(|node| !node.is_live);
        let is_over = graph.last.is_none_or(|last| last.seq <= self.done[last.stream.index()]);
        // Its key and its addresses are given again once a call has seen that nothing uses them.
        if is_idle && is_over && self.draws.below(2) == 0 {
            self.cuda.end_graph(GraphKey(key));
            self.trim();
            self.graphs.remove(&key);
            self.saw("graph gone");
        }
    }

    fn counted(&self) -> [u64; 2] {
        let mapped = self.physical.values().filter(|granule| !granule.graphs.is_empty()).count() as u64;
        [mapped * GRANULE, self.physical.len() as u64 * GRANULE]
    }

    fn high(&mut self) {
        let now = self.counted();
        (0..2).for_each(|at| self.high[at] = self.high[at].max(now[at]));
    }

    /// What later answers of the model may depend on.
    fn state(&self) -> String {
        let graphs = self.graphs.iter().map(|(key, graph)| {
            let NaiveGraph { regions, gaps, nodes, map, last, is_mapped, .. } = graph;
            (key, regions, gaps, nodes, map, last, is_mapped)
        });
        format!("{:?} {:?}", graphs.collect::<Vec<_>>(), self.high)
    }

    fn compare(&mut self) {
        let told = self.cuda.graph_pool(device());
        let [used, reserved] = self.counted();
        assert_eq!((told.used.0, told.reserved.0), (used, reserved));
        assert_eq!([told.used_high.0, told.reserved_high.0], self.high);
        let device = self.cuda.device(device(), &self.done);
        assert_eq!(device.pools.0, reserved);
    }
}

#[test]
fn graphs_agree_with_a_naive_model() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..budget(200) {
        let mut walk = Walk::new(seed);
        let mut digests = BTreeMap::new();
        for step in 0..250 {
            let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| walk.step()));
            assert!(caught.is_ok(), "seed {seed}, step {step}");
            let state = walk.state();
            let first = digests.entry(walk.cuda.digest()).or_insert_with(|| state.clone());
            assert_eq!(*first, state, "seed {seed}, step {step}");
        }
        for (what, times) in walk.seen {
            *seen.entry(what).or_default() += times;
        }
    }
    for what in [
        "address again",
        "free node refused",
        "launch out of memory",
        "launch refused",
        "nothing to map",
        "memory shared",
        "freed outside",
        "free refused",
        "trimmed",
        "graph gone",
    ] {
        assert!(seen.get(what).is_some_and(|times| *times > 100), "{what}: {seen:?}");
    }
}

/// The device of each graph pool that is told of.
#[derive(Default)]
struct Told(Vec<usize>);

impl Sink for Told {
    fn wants(&self, _: Detail) -> bool {
        true
    }

    fn event(&mut self, event: &Event<'_>) {
        if let Kind::GraphPool { device, .. } = event.kind {
            self.0.push(device.index());
        }
    }
}

/// A report has a row for each call about graphs, of each pool that holds something; and none of a pool that never did.
#[test]
fn graph_pools_that_hold_something_are_told_of() {
    let graph = "graph g {\n  s: x = alloc 1MiB\n  s: free x\n}\ne = instantiate g\n";
    let text = format!("device gpu0\ndevice gpu1\nstream s on gpu1\n{graph}upload e on s\ns: launch e\n");
    let program = millpond::load(&text, &Profile::default()).0.expect("valid");
    let mut told = Told::default();
    assert!(millpond::engine::run(&program, 0, &mut told).stop.is_none());
    assert_eq!(told.0, [1, 1]);
}
