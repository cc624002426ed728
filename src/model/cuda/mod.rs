//! The `cuda` model: what CUDA's documents say about stream-ordered allocation, as one procedure.
//!
//! All pools of all devices in one value, since pools of a device share its memory. A failed call changes nothing.
//!
//! Rules: CUDA Programming Guide 4.3, CUDA driver API "Stream Ordered Memory Allocator". Where they are silent, the order
//! of classes, the pick within a class and the units of growth are Millpond's, and numbers come from the profile.

mod address;
mod candidates;
mod chunks;
mod extents;
mod graph_pool;
mod graphs;
mod imports;
mod pending;
mod plain;
mod pool;
mod reuse;
mod runs;
mod shelf;
mod tiles;

use super::graphs::GraphKey;
use super::{Allocator, Candidates, Denied, Freed, Known, Origin, Request};
use crate::base::{Bytes, DeviceId, IndexVec, PoolId, ProcessId, StreamId, mix, reuse_on_clone, words};
use crate::trace::{
    Account, AllocId, Attribute, Block, BlockState, Cut, Decision, DeviceSetup, DeviceState, Failure, Part,
    Policy, PoolPicture, PoolSetup, PoolState, Range, Readiness, Refusals, Rules, Setup, Target, Ticket,
};
use address::AddressSpace;
use chunks::Span;
use graphs::Graphs;
use imports::Import;
use plain::{Outside, Plain};
use pool::Pool;
use reuse::{Reach, Search};
use smallvec::SmallVec;
use tiles::{State, TileId};

/// CUDA's stream-ordered allocator.
#[derive(Debug)]
pub struct Cuda {
    rules: Rules,
    /// The last one is the host, whose memory pools have as well.
    devices: IndexVec<DeviceId, Device>,
    pools: IndexVec<PoolId, Pool>,
    /// The process that knows each device so.
    processes: IndexVec<DeviceId, ProcessId>,
    addresses: AddressSpace,
    outside: Outside,
    graphs: Graphs,
    live: Vec<Live>,
    /// Free places in `live`.
    vacant: Vec<u32>,
    serial: u32,
}

/// A device's physical memory.
#[derive(Clone, Copy, Debug)]
struct Device {
    memory: u64,
    /// At most so much is handed out.
    most: u64,
    /// By pools.
    reserved: u64,
    /// By allocations outside of pools, and by other programs.
    outside: u64,
    /// The latter.
    others: u64,
}

/// A place in the table of live allocations. Serial 0: none.
#[derive(Clone, Copy, Debug)]
struct Live {
    serial: u32,
    owner: Owner,
}

/// Whose memory an allocation is.
#[derive(Clone, Copy, Debug)]
enum Owner {
    /// A tile of a pool, allocated by this operation.
    Pool(PoolId, TileId, Ticket),
    /// A device's, outside of pools.
    Outside(Plain),
    /// Another process's, of a pool.
    Import(Import),
    /// A node's of a graph, for as long as the graph or the allocation is there.
    Graph(GraphKey, u32),
}

/// What serves a request: bytes from this tile on, by this class.
struct Served {
    first: TileId,
    class: Policy,
    /// Newly mapped for it.
    mapped: Bytes,
    /// Given back before, to make room.
    unmapped: Bytes,
}

/// What a growth does to physical memory.
struct Growth {
    mapped: u64,
    /// Idle chunks that make room for it.
    unmapped: Vec<Span>,
}

reuse_on_clone!(Cuda { rules, devices, pools, processes, addresses, outside, graphs, live, vacant, serial });

impl Cuda {
    /// The allocator before the first call.
    pub fn new(setup: &Setup) -> Self {
        let streams = setup.streams.len();
        let host = DeviceId::from_usize(setup.devices.len());
        let home = |pool: &PoolSetup| pool.location.device().map_or(host, |device| setup.physical(device));
        let pool = |pool| Pool::new(pool, home(pool), setup.rules.granule, streams);
        let device = |memory: Bytes, oversubscribe: bool| {
            let memory = memory.min(DeviceSetup::MEMORY_MAX).0;
            let most = if oversubscribe { DeviceSetup::MEMORY_MAX.0 } else { memory };
            Device { memory, most, reserved: 0, outside: 0, others: 0 }
        };
        let devices = setup.devices.iter().map(|setup| device(setup.memory, setup.oversubscribe));
        Self {
            rules: setup.rules,
            devices: devices.chain([device(DeviceSetup::MEMORY_MAX, false)]).collect(),
            pools: setup.pools.iter().map(pool).collect(),
            processes: setup.devices.iter().map(|device| device.process).collect(),
            addresses: AddressSpace::new(setup.rules.growth.0),
            outside: Outside::default(),
            graphs: Graphs::new(setup),
            live: Vec::new(),
            vacant: Vec::new(),
            serial: 0,
        }
    }

    /// What a pool could map, with so much memory of the device free.
    fn room_with(&self, pool: &Pool, free: u64) -> u64 {
        free.min(pool.max_size.map_or(u64::MAX, |max| max.saturating_sub(pool.reserved)))
    }

    fn room_of(&self, pool: &Pool) -> u64 {
        self.room_with(pool, self.room_on(pool.device))
    }

    /// What the pool would map for a request, when it may map `room`.
    fn plan_growth(&self, pool: &Pool, size: u64, room: u64) -> Option<Growth> {
        if let Some(mapped) = chunks::growth(&self.rules, size, room) {
            return Some(Growth { mapped, unmapped: Vec::new() });
        }
        if pool.is_shared {
            return None;
        }
        let mapped = size.checked_next_multiple_of(self.rules.granule.0)?;
        let unmapped = chunks::room_for(pool, &self.rules, mapped.checked_sub(room)?)?;
        Some(Growth { mapped, unmapped })
    }

    /// Gives those idle chunks of a pool back that leave it at least `keep` bytes; says how many bytes.
    fn release_above(&mut self, pool: PoolId, keep: Bytes) -> Bytes {
        if self.pools[pool].settle(keep.0) {
            return Bytes::ZERO;
        }
        let chunks = chunks::above(&self.pools[pool], &self.rules, keep.0);
        self.release(pool, &chunks)
    }

    /// Gives chunks of a pool back to its device; says how many bytes.
    fn release(&mut self, pool: PoolId, chunks: &[Span]) -> Bytes {
        let pool = &mut self.pools[pool];
        for span in chunks {
            pool.unmap(span.first, span.start, span.end);
            self.addresses.give_back_until(span.start, span.until);
        }
        let bytes = chunks.iter().map(|span| span.end - span.start).sum();
        if !chunks.is_empty() {
            pool.count_unmap();
        }
        self.devices[pool.device].reserved -= bytes;
        Bytes(bytes)
    }

    /// Maps bytes for a request as one unused tile; with it, how much was mapped, and how much went back before.
    fn grow(&mut self, pool: PoolId, size: u64) -> Option<(TileId, Bytes, Bytes)> {
        let owner = &self.pools[pool];
        let Growth { mapped, unmapped } = self.plan_growth(owner, size, self.room_of(owner))?;
        let unmapped = self.release(pool, &unmapped);
        let start = self.addresses.take(mapped).expect("there are more addresses than memory");
        let pool = &mut self.pools[pool];
        self.devices[pool.device].reserved += mapped;
        Some((pool.map(start, mapped), Bytes(mapped), unmapped))
    }

    fn next_id(&self) -> AllocId {
        let slot = self.vacant.last().copied().unwrap_or(self.live.len() as u32);
        AllocId { slot, serial: self.serial + 1 }
    }

    fn enter(&mut self, alloc: AllocId, owner: Owner) {
        self.serial = alloc.serial;
        let live = Live { serial: alloc.serial, owner };
        match self.vacant.pop() {
            Some(slot) => self.live[slot as usize] = live,
            None => self.live.push(live),
        }
    }

    /// Whose memory a live allocation is, which it is no more. That of a graph may live again.
    fn remove(&mut self, alloc: AllocId) -> Result<Owner, Failure> {
        let is_live = |live: &&mut Live| live.serial == alloc.serial && alloc.serial != 0;
        let live = self.live.get_mut(alloc.slot as usize).filter(is_live).ok_or(Failure::InvalidValue)?;
        if !matches!(live.owner, Owner::Graph(..)) {
            live.serial = 0;
            self.vacant.push(alloc.slot);
        }
        Ok(live.owner)
    }

    fn rounded(&self, size: Bytes) -> Option<u64> {
        size.checked_round_up(self.rules.alignment).map(|size| size.0)
    }

    fn search<'a>(&'a self, request: Request, known: Known<'a>, size: u64) -> Search<'a> {
        let pool = &self.pools[request.pool];
        Search { pool, size, at: request.at, known, unused_first: self.rules.unused_first }
    }

    /// What a request could get beyond the memory that the pool has, with so much of the device free.
    fn reach(&self, pool: &Pool, size: u64, free: u64) -> Reach {
        Reach {
            grows: self.plan_growth(pool, size, self.room_with(pool, free)).is_some(),
            waits: self.rules.internal_on_max_size || chunks::growth(&self.rules, size, free).is_none(),
        }
    }

    fn serve(&mut self, request: Request, known: Known<'_>, size: u64) -> Option<Served> {
        let pool = &self.pools[request.pool];
        let reach = || self.reach(pool, size, self.room_on(pool.device));
        let (class, first) = self.search(request, known, size).serving(reach)?;
        if let Some(first) = first {
            return Some(Served { first, class, mapped: Bytes::ZERO, unmapped: Bytes::ZERO });
        }
        let (first, mapped, unmapped) = self.grow(request.pool, size)?;
        Some(Served { first, class, mapped, unmapped })
    }
}

impl Allocator for Cuda {
    fn alloc(&mut self, request: Request, known: Known<'_>) -> Result<Decision, Denied> {
        if request.size == Bytes::ZERO {
            let null = self.rules.zero_size_succeeds.then(Decision::null);
            return null.ok_or(Failure::InvalidValue.into());
        }
        let size = self.rounded(request.size).ok_or(Failure::OutOfMemory)?;
        let served = self.serve(request, known, size).ok_or(Failure::OutOfMemory)?;
        let Served { first, class, mapped, unmapped } = served;
        let alloc = self.next_id();
        let mut reuses = None;
        let mut waits: SmallVec<[Ticket; 2]> = SmallVec::new();
        let mut takes: SmallVec<[Part; 2]> = SmallVec::new();
        let consumed = |state: State, size: u64| {
            let State::Freed { alloc, at, observed, .. } = state else { return };
            reuses = reuses.or(Some(alloc));
            takes.push(Part { alloc, size: Bytes(size) });
            if class != Policy::Internal || observed || at.stream == request.at.stream {
                return;
            }
            match waits.iter_mut().find(|wait| wait.stream == at.stream) {
                Some(wait) => wait.seq = wait.seq.max(at.seq),
                None => waits.push(at),
            }
        };
        let live = State::Live { alloc, requested: request.size.0 };
        let pool = &mut self.pools[request.pool];
        let tile = pool.carve(first, size, live, consumed);
        let range = Range { start: pool.tiles[tile].start, size: Bytes(size) };
        self.enter(alloc, Owner::Pool(request.pool, tile, request.at));
        self.check(request.pool);
        let policy = Some(class);
        let (requested, by_timing) = (request.size, false);
        Ok(Decision { alloc, range, requested, policy, reuses, takes, waits, mapped, unmapped, by_timing })
    }

    fn malloc(&mut self, device: DeviceId, size: Bytes, managed: bool) -> Result<Decision, Failure> {
        self.place_outside(device, size, managed)
    }

    fn reserve(&mut self, device: DeviceId, size: Bytes) -> Result<(), Failure> {
        self.hold_by_others(device, size.0)
    }

    fn free(&mut self, alloc: AllocId, at: Ticket) -> Result<Freed, Failure> {
        if alloc == AllocId::NULL {
            return Ok(Freed::Nothing);
        }
        let (pool, tile) = match self.remove(alloc)? {
            Owner::Pool(pool, tile, _) => (pool, tile),
            Owner::Outside(plain) => {
                self.leave(plain, alloc, Some(at));
                return Ok(Freed::Outside(plain.device));
            }
            Owner::Import(import) => {
                self.end_import(import);
                return Ok(Freed::Pool { pool: import.pool, unmapped: Bytes::ZERO });
            }
            Owner::Graph(key, node) => {
                return self.free_of_graph((key, node as usize), Some(at)).map(Freed::Graphs);
            }
        };
        self.pools[pool].free(tile, alloc, at);
        self.check(pool);
        Ok(Freed::Pool { pool, unmapped: Bytes::ZERO })
    }

    fn plain_free(&mut self, alloc: AllocId) -> Result<Freed, Failure> {
        if alloc == AllocId::NULL {
            return Ok(Freed::Nothing);
        }
        match self.remove(alloc)? {
            Owner::Pool(pool, tile, _) => {
                self.pools[pool].free_at_once(tile, alloc);
                self.check(pool);
                Ok(Freed::Pool { pool, unmapped: Bytes::ZERO })
            }
            Owner::Outside(plain) => {
                self.leave(plain, alloc, None);
                Ok(Freed::Outside(plain.device))
            }
            Owner::Import(import) => {
                self.end_import(import);
                Ok(Freed::Pool { pool: import.pool, unmapped: Bytes::ZERO })
            }
            Owner::Graph(key, node) => self.free_of_graph((key, node as usize), None).map(Freed::Graphs),
        }
    }

    fn reset(&mut self, device: DeviceId, freed: &mut Vec<AllocId>) {
        self.leave_all(device, freed);
    }

    fn origin(&self, alloc: AllocId) -> Option<Origin> {
        Some(match self.owner(alloc)? {
            Owner::Pool(pool, ..) => Origin::Pool(pool),
            Owner::Outside(plain) => Origin::Outside(plain.seen_as),
            Owner::Import(import) => Origin::Pool(import.pool),
            Owner::Graph(key, node) => Origin::Graph(self.graphs.device_of(key, node as usize)),
        })
    }

    fn import(&mut self, alloc: AllocId, pool: PoolId) -> Result<Decision, Failure> {
        self.place_import(alloc, pool)
    }

    fn awaits_completion(&self) -> bool {
        self.has_leaving()
    }

    fn completed(&mut self, done: &Cut, returned: &mut Vec<(Ticket, DeviceId, Bytes)>) {
        self.take_completions(done, returned);
    }

    fn synchronised(
        &mut self,
        _: Target,
        releases: Option<DeviceId>,
        observed: &Cut,
        released: &mut Vec<(PoolId, Bytes)>,
    ) {
        for id in self.pools.indices() {
            self.pools[id].observe(observed);
            let Pool { home, process, attributes, is_shared, .. } = self.pools[id];
            let is_here =
                |device| home == Some(device) || home.is_none() && process == self.processes[device];
            if !is_shared && releases.is_some_and(is_here) {
                let bytes = self.release_above(id, attributes.release_threshold);
                released.extend((bytes > Bytes::ZERO).then_some((id, bytes)));
            }
            self.check(id);
        }
    }

    fn trim(&mut self, pool: PoolId, keep: Bytes) -> Bytes {
        let released = if self.pools[pool].is_shared { Bytes::ZERO } else { self.release_above(pool, keep) };
        self.check(pool);
        released
    }

    fn end(&mut self, id: PoolId, done: &Cut) -> Option<Bytes> {
        let pool = &mut self.pools[id];
        if pool.ledger.live > Bytes::ZERO || !pool.is_pending_within(done) {
            return None;
        }
        // What has completed is as good as observed, since nobody asks this pool any more.
        pool.observe(done);
        let released = self.release_above(id, Bytes::ZERO);
        self.check(id);
        Some(released)
    }

    fn renew(&mut self, id: PoolId, setup: &PoolSetup) -> bool {
        let pool = &mut self.pools[id];
        if pool.ledger.total() > 0 {
            return false;
        }
        let host = DeviceId::from_usize(self.devices.len() - 1);
        let home = setup.location.device().map_or(host, |device| self.graphs.physical(device));
        *pool = Pool::new(setup, home, self.rules.granule, pool.streams());
        true
    }

    fn set(&mut self, pool: PoolId, attribute: Attribute, value: u64) -> Result<(), Failure> {
        self.pools[pool].set(attribute, value)
    }

    fn state(&self, pool: PoolId) -> PoolState {
        self.pools[pool].state()
    }

    fn device(&self, device: DeviceId, done: &Cut) -> DeviceState {
        self.device_state(device, done)
    }

    fn account(&self, pool: PoolId) -> Account {
        let pool = &self.pools[pool];
        Account {
            ledger: pool.ledger,
            pending: pool.pending_frees(),
            fragmented: pool.fragmented(),
            other_pools: Bytes(self.devices[pool.device].reserved - pool.reserved),
            outside: Bytes(self.devices[pool.device].outside),
            room: Bytes(self.room_of(pool)),
        }
    }

    fn refused(&self, request: Request, known: Known<'_>) -> Refusals {
        if request.size == Bytes::ZERO {
            return Refusals::default();
        }
        let pool = &self.pools[request.pool];
        // A size that cannot even be rounded up fits nowhere.
        let size = self.rounded(request.size).unwrap_or(u64::MAX);
        let reach = self.reach(pool, size, self.room_on(pool.device));
        let otherwise = self.reach_otherwise(reach, pool, size, known.seen);
        self.search(request, known, size).refusals(Bytes(self.room_of(pool)), reach, otherwise)
    }

    /// In its own stream an allocation is ready at once, in others once they are ordered after it (CUDA Programming Guide
    /// 4.3.2); what no stream allocated has nothing to wait for.
    fn readiness(&self, alloc: AllocId, _: StreamId, known: Known<'_>) -> Readiness {
        if alloc == AllocId::NULL {
            return Readiness::Ready;
        }
        let allocated = match self.owner(alloc) {
            None => return Readiness::Freed,
            Some(Owner::Pool(_, _, at)) => Some(at),
            Some(Owner::Import(import)) => Some(import.allocated),
            Some(Owner::Outside(_)) => None,
            Some(Owner::Graph(key, node)) => {
                return self.graphs.readiness(key, node as usize, known.ordered);
            }
        };
        match allocated.is_none_or(|at| at.within(known.ordered)) {
            true => Readiness::Ready,
            false => Readiness::NotOrdered,
        }
    }

    fn picture(&self, id: PoolId) -> PoolPicture {
        let pool = &self.pools[id];
        let block = |tile: &tiles::Tile| Block {
            start: tile.start,
            size: Bytes(tile.size),
            state: match tile.state {
                State::Live { alloc, requested } => BlockState::Live { alloc, requested: Bytes(requested) },
                State::Freed { alloc, at, observed, .. } => BlockState::Freed { alloc, at, observed },
                State::Unused | State::Vacant => BlockState::Unused,
            },
        };
        let mut blocks: Vec<Block> = pool.tiles.iter().map(|(_, tile)| block(tile)).collect();
        blocks.sort_unstable_by_key(|block| block.start);
        PoolPicture { pool: id, state: pool.state(), fragmented: pool.fragmented(), blocks }
    }

    fn candidates(&self, request: Request, known: Known<'_>, into: &mut Candidates) {
        let Some(size) = self.rounded(request.size).filter(|size| *size > 0) else { return };
        self.search(request, known, size).candidates(into);
    }

    fn foretell(&self, request: Request, known: Known<'_>) -> u64 {
        let Some(size) = self.rounded(request.size).filter(|size| *size > 0) else { return 0 };
        let pool = &self.pools[request.pool];
        let reach = || self.reach(pool, size, self.room_on(pool.device));
        self.search(request, known, size).foretell(reach)
    }

    fn leaving(&self, into: &mut Vec<Ticket>) {
        into.extend(self.outside.leaving());
    }

    fn pending(&self, into: &mut Vec<Ticket>) {
        self.pools.iter().for_each(|pool| pool.pending(into));
    }

    fn digest(&self) -> u128 {
        let pools = self.pools.iter().enumerate().map(|(index, pool)| {
            let [low, high] = words(pool.digest());
            mix(&[index as u64, low, high])
        });
        let others = self.outside.digest().wrapping_add(self.graphs.digest());
        pools.fold(others.wrapping_add(u128::from(self.serial)), u128::wrapping_add)
    }
}

impl Cuda {
    /// In debug builds: the ledger of a pool adds up to what it has reserved.
    fn check(&self, pool: PoolId) {
        debug_assert_eq!(self.pools[pool].ledger.total(), self.pools[pool].reserved, "the ledger adds up");
    }
}
