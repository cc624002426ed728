//! Keeps the books of the pools a second time, from the events alone, and says where the model's figures differ.
//!
//! It knows live ranges and sizes, and nothing of blocks, reuse or chunks. A violation is a bug of Millpond.
//!
//! The `oxicuda` model differs: a pool has addresses of its own, `used` counts whole blocks, it may free memory in the name
//! of somebody who no longer has it, and its sums stop at the largest number. From then on no books can be kept.

mod devices;
mod freed;
mod graphs;

use crate::base::{Bytes, DeviceId, HostId, IndexVec, PoolId, SignalId, StmtId};
use crate::trace::{
    AllocId, Attribute, Call, Decision, Detail, Event, Exported, GraphCall, GraphFigure, Imported, Kind,
    Model, PoolState, Range, Setup, Sink, Ticket,
};
use devices::Devices;
use freed::Freed;
use graphs::GraphPools;
use std::collections::BTreeMap;

/// Two figures that should be equal and are not, or two ranges that should not meet and do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// Two live allocations share a byte.
    Overlap {
        /// The new one.
        new: AllocId,
        /// The one that was there.
        old: AllocId,
    },
    /// A free was carried out for something that is not live.
    FreedTwice(AllocId),
    /// A figure of a pool is not what the events add up to.
    Figure {
        /// The pool.
        pool: PoolId,
        /// Which figure.
        name: &'static str,
        /// What the model says.
        told: Bytes,
        /// What the events add up to.
        counted: Bytes,
    },
    /// A figure of a device is not what the events add up to.
    Device {
        /// The device.
        device: DeviceId,
        /// Which figure.
        name: &'static str,
        /// What the model says.
        told: Bytes,
        /// What the events add up to.
        counted: Bytes,
    },
    /// An allocation takes bytes of freed memory that it does not say, or says so of others.
    Taken(AllocId),
    /// Memory came back to a device before the operation that freed it had completed, or for a second time.
    ReturnedEarly(Ticket),
}

/// Whose memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Pool(PoolId),
    /// Of a device, outside of pools: it takes so many bytes of it.
    Device(DeviceId, u64),
    /// Of the graphs of a device.
    Graphs(DeviceId),
}

/// The sink that keeps the books. It stops after 16 violations: the first one is what matters.
#[derive(Clone, Debug)]
pub struct Accounting {
    model: Model,
    /// Whether the model has freed what its owner still has, or has no addresses left.
    is_lost: bool,
    live: BTreeMap<Place, (Range, AllocId)>,
    owners: BTreeMap<AllocId, Held>,
    /// The allocations outside of pools whose free has not completed, by that.
    leaving: BTreeMap<Ticket, Place>,
    /// What was freed to pools and not handed out again, by its addresses.
    freed: Freed,
    books: IndexVec<PoolId, Book>,
    devices: Devices,
    graphs: GraphPools,
    /// For each pool, its device: nodes of graphs ask pools for no more than that.
    homes: IndexVec<PoolId, Option<DeviceId>>,
    /// Whose memory the allocation call in progress is for.
    asked: Option<Asked>,
    /// What other programs are about to hold of a device.
    reserving: Option<(DeviceId, u64)>,
    /// The free that each thread has called; it counts once it did not fail, and a plain one may wait while others call.
    freeing: BTreeMap<HostId, (StmtId, AllocId)>,
    /// The high-water mark that the call in progress resets; it counts once the call did not fail.
    resetting: Option<(PoolId, Attribute)>,
    /// The same of a graph pool.
    resetting_graphs: Option<(DeviceId, GraphFigure)>,
    violations: Vec<Violation>,
    /// What each thread imports memory to, and under which name.
    importing: BTreeMap<HostId, (PoolId, SignalId)>,
    /// The memory that is exported under each name.
    exported: BTreeMap<SignalId, AllocId>,
    first_free_ends_imports: bool,
}

/// An address, in the address space that it is in.
type Place = (u32, u64);

/// An allocation.
#[derive(Clone, Copy, Debug)]
struct Held {
    place: Place,
    owner: Owner,
    /// As asked for.
    requested: u64,
    /// What it counts as used.
    used: u64,
    /// The allocation of another process that it is.
    of: Option<AllocId>,
}

/// For whose memory a call asks.
#[derive(Clone, Copy, Debug)]
enum Asked {
    Pool(PoolId),
    Device { device: DeviceId, managed: bool },
}

#[derive(Clone, Copy, Debug, Default)]
struct Book {
    live: u64,
    used: u64,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

impl Accounting {
    /// Books of the pools of a world, before the first call.
    pub fn new(setup: &Setup) -> Self {
        Self {
            model: setup.model,
            is_lost: false,
            live: BTreeMap::new(),
            owners: BTreeMap::new(),
            leaving: BTreeMap::new(),
            freed: Freed::default(),
            devices: Devices::new(setup),
            graphs: GraphPools::new(setup),
            homes: setup.pools.iter().map(|pool| pool.location.device()).collect(),
            books: setup.pools.iter().map(|_| Book::default()).collect(),
            asked: None,
            importing: BTreeMap::new(),
            exported: BTreeMap::new(),
            first_free_ends_imports: setup.rules.first_free_ends_imports,
            freeing: BTreeMap::new(),
            resetting: None,
            reserving: None,
            resetting_graphs: None,
            violations: Vec::new(),
        }
    }

    /// What did not add up.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn report(&mut self, violation: Violation) {
        if self.violations.len() < 16 && !self.is_lost {
            self.violations.push(violation);
        }
    }

    fn call(&mut self, host: HostId, stmt: StmtId, call: &Call) {
        self.settle();
        self.settle_free(host, None);
        self.asked = None;
        match call {
            Call::Export { what: Exported::Memory(alloc), under } => {
                self.exported.insert(*under, *alloc);
            }
            Call::Import { into: Imported::Memory(pool), under } => {
                self.importing.insert(host, (*pool, *under));
            }
            Call::Set { pool, attribute, .. } => self.resetting = Some((*pool, *attribute)),
            Call::Graph(GraphCall::Set { device, figure, .. }) => {
                self.resetting_graphs = Some((*device, *figure));
            }
            Call::Alloc { pool, .. } => self.asked = pool.map(Asked::Pool),
            Call::Reserve { device, size } => self.reserving = Some((*device, size.0)),
            Call::Malloc { device, managed, .. } => {
                let device = self.devices.physical(*device);
                self.asked = Some(Asked::Device { device, managed: *managed });
            }
            Call::Free { alloc, .. } | Call::PlainFree { alloc } if *alloc != AllocId::NULL => {
                self.freeing.insert(host, (stmt, *alloc));
            }
            _ => {}
        }
    }

    /// Books what the call of an event does, now that it is known not to have failed.
    fn settle_call(&mut self, event: &Event<'_>, at: Option<Ticket>) {
        self.settle();
        // An operation of the thread may also complete while its free waits.
        if self.freeing.get(&event.host).is_some_and(|(stmt, _)| *stmt == event.stmt) {
            self.settle_free(event.host, at);
        }
    }

    /// Books the free that a thread has called; `at`: as this operation.
    fn settle_free(&mut self, host: HostId, at: Option<Ticket>) {
        if let Some((_, alloc)) = self.freeing.remove(&host) {
            self.freed(alloc, at);
        }
    }

    fn frees_of(&self, host: HostId, pool: PoolId) -> bool {
        let freed = self.freeing.get(&host).and_then(|(_, alloc)| self.owners.get(alloc));
        freed.is_some_and(|held| held.owner == Owner::Pool(pool))
    }

    fn settle(&mut self) {
        if let Some((pool, attribute)) = self.resetting.take() {
            let book = &mut self.books[pool];
            match attribute {
                Attribute::UsedHigh => book.used_high = book.used,
                Attribute::ReservedHigh => book.reserved_high = book.reserved,
                _ => {}
            }
        }
        if let Some((device, figure)) = self.resetting_graphs.take() {
            self.graphs.reset(device, figure);
        }
    }

    fn freed(&mut self, alloc: AllocId, at: Option<Ticket>) {
        match self.owners.remove(&alloc) {
            Some(Held { place, owner: Owner::Graphs(device), requested, .. }) => {
                self.live.remove(&place);
                self.graphs.ends(device, requested);
            }
            Some(held @ Held { owner: Owner::Pool(pool), of, .. }) => {
                self.leaves(pool, held);
                if of.is_some() && self.first_free_ends_imports {
                    let is_same =
                        |other: &Held| other.of == of && matches!(other.owner, Owner::Pool(it) if it == pool);
                    let others = self.owners.iter().filter(|(_, other)| is_same(other));
                    let others: Vec<(AllocId, Held)> = others.map(|(id, held)| (*id, *held)).collect();
                    for (id, held) in others {
                        self.owners.remove(&id);
                        self.leaves(pool, held);
                    }
                }
            }
            Some(Held { place: start, owner: Owner::Device(device, taken), .. }) => {
                self.devices.give_back(device, taken, at);
                match at {
                    // Its addresses are its own until then.
                    Some(at) => {
                        self.leaving.insert(at, start);
                    }
                    None => {
                        self.live.remove(&start);
                    }
                }
            }
            None if self.model == Model::Oxicuda => self.is_lost = true,
            None => self.report(Violation::FreedTwice(alloc)),
        }
    }

    /// An allocation leaves the books of its pool.
    fn leaves(&mut self, pool: PoolId, held: Held) {
        let lived = self.live.remove(&held.place);
        if let (Some((range, alloc)), None, Model::Cuda) = (lived, held.of, self.model) {
            self.freed.insert(range, alloc);
        }
        let book = &mut self.books[pool];
        book.live = book.live.saturating_sub(held.requested);
        book.used = book.used.saturating_sub(held.used);
    }

    fn decided(&mut self, host: HostId, decision: &Decision) {
        // An import may have waited while others called.
        let import = self.importing.remove(&host);
        let asked = import.map(|(pool, _)| Asked::Pool(pool)).or(self.asked);
        let Some(asked) = asked else { return };
        let of = import.and_then(|(_, under)| self.exported.get(&under).copied());
        if decision.alloc == AllocId::NULL || decision.range.size == Bytes::ZERO {
            return;
        }
        let space = match (self.model, asked) {
            (Model::Oxicuda, Asked::Pool(pool)) => pool.index() as u32 + 1,
            _ => 0,
        };
        // All that was ever reserved is below, so no sum has reached the largest number before.
        let is_beyond = decision.range.start.checked_add(decision.range.size.0).is_none();
        self.is_lost |= is_beyond && self.model == Model::Oxicuda;
        let place = self.lives(space, decision.alloc, decision.range);
        let (requested, size) = (decision.requested.0.min(decision.range.size.0), decision.range.size.0);
        let used = if self.model == Model::Oxicuda { size } else { requested };
        let is_served = matches!(asked, Asked::Pool(_)) && import.is_none() && self.model == Model::Cuda;
        if is_served && !self.freed.take(decision) {
            self.report(Violation::Taken(decision.alloc));
        }
        let owner = match asked {
            Asked::Pool(pool) => {
                let book = &mut self.books[pool];
                (book.live, book.used) =
                    (book.live.saturating_add(requested), book.used.saturating_add(used));
                Owner::Pool(pool)
            }
            Asked::Device { device, managed } => {
                let taken = if managed { 0 } else { decision.range.size.0 };
                self.devices.take(device, taken);
                Owner::Device(device, taken)
            }
        };
        self.owners.insert(decision.alloc, Held { place, owner, requested, used, of });
    }

    /// An allocation lives at these addresses from now on.
    fn lives(&mut self, space: u32, alloc: AllocId, range: Range) -> Place {
        let before = self.live.range((space, 0)..(space, range.end())).next_back();
        if let Some((_, (other, old))) = before
            && other.overlaps(range)
        {
            let old = *old;
            self.report(Violation::Overlap { new: alloc, old });
        }
        let place = (space, range.start);
        self.live.insert(place, (range, alloc));
        place
    }

    /// A launch of a graph carries out a node that allocates or frees.
    fn node(&mut self, call: &Call, alloc: Option<(AllocId, Range)>) {
        match (call, alloc) {
            (Call::Alloc { pool: Some(pool), size, .. }, Some((alloc, range))) => {
                let (Some(device), requested) = (self.homes[*pool], size.0) else { return };
                let place = self.lives(0, alloc, range);
                self.graphs.begins(device, requested);
                let held = Held { place, owner: Owner::Graphs(device), requested, used: 0, of: None };
                if self.owners.insert(alloc, held).is_some() {
                    self.report(Violation::Overlap { new: alloc, old: alloc });
                }
            }
            (Call::Free { alloc, .. }, _) if *alloc != AllocId::NULL => self.freed(*alloc, None),
            _ => {}
        }
    }

    fn state(&mut self, pool: PoolId, state: &PoolState) {
        self.devices.reserved(pool, state.reserved);
        let book = &mut self.books[pool];
        book.reserved = state.reserved.0;
        book.used_high = book.used_high.max(book.used);
        book.reserved_high = book.reserved_high.max(state.reserved.0);
        let book = *book;
        let figures = [
            ("used", state.used, book.used),
            ("live", state.ledger.live, book.live),
            ("used_high", state.used_high, book.used_high),
            ("reserved_high", state.reserved_high, book.reserved_high),
            ("reserved", state.reserved, state.ledger.total()),
        ];
        for (name, told, counted) in figures {
            if told.0 != counted {
                self.report(Violation::Figure { pool, name, told, counted: Bytes(counted) });
            }
        }
    }
}

impl Sink for Accounting {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(call) => self.call(event.host, event.stmt, call),
            Kind::Submitted(_) => self.settle_call(event, event.ticket),
            Kind::Failed { .. } => {
                (self.resetting, self.resetting_graphs, self.reserving) = (None, None, None);
                self.freeing.remove(&event.host);
                self.importing.remove(&event.host);
            }
            Kind::Node { call, alloc } => self.node(call, alloc),
            Kind::Freed(alloc) => {
                self.settle_call(event, None);
                self.freed(alloc, None);
            }
            Kind::GraphPool { device, state } => {
                self.settle_call(event, None);
                self.devices.graphs_reserve(device, state.reserved);
                if let Err(violation) = self.graphs.state(device, state) {
                    self.report(violation);
                }
            }
            Kind::Decided(decision) => self.decided(event.host, decision),
            Kind::State { pool, state } => {
                // Those of a synchronise come before the plain free that it is for, which may still fail.
                if self.frees_of(event.host, pool) {
                    self.settle_call(event, None);
                }
                self.settle();
                self.state(pool, state);
            }
            Kind::Released { .. } => self.freed.released(),
            Kind::End => {
                if let Some(ticket) = event.ticket {
                    self.devices.ended(ticket);
                }
            }
            Kind::Returned { bytes, freed, .. } => {
                if let Some(start) = self.leaving.remove(&freed) {
                    self.live.remove(&start);
                }
                if let Err(violation) = self.devices.returned(freed, bytes) {
                    self.report(violation);
                }
            }
            Kind::Device { device, state } => {
                self.settle_call(event, None);
                if let Some((device, bytes)) = self.reserving.take() {
                    self.devices.hold_by_others(device, bytes);
                }
                if let Err(violation) = self.devices.state(device, state) {
                    self.report(violation);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DeviceId, HostId, Nanos, StmtId, StreamId, index_vec};
    use crate::trace::{Attributes, DeviceSetup, DeviceState, Ledger, PoolSetup};

    fn setup() -> Setup {
        let pool = PoolSetup::on(DeviceId::new(0));
        Setup {
            devices: index_vec![DeviceSetup::new(Bytes::gib(1))],
            pools: index_vec![pool],
            ..Setup::default()
        }
    }

    fn feed(books: &mut Accounting, kind: Kind<'_>) {
        let (host, stmt) = (HostId::new(0), StmtId::new(0));
        books.event(&Event { at: Nanos::ZERO, host, stmt, ticket: None, kind });
    }

    fn alloc(books: &mut Accounting, serial: u32, start: u64) {
        let (stream, pool) = (StreamId::new(0), PoolId::new(0));
        feed(books, Kind::Call(&Call::Alloc { stream, pool: Some(pool), size: Bytes(512) }));
        let decision = Decision {
            alloc: AllocId { slot: serial, serial },
            range: Range { start, size: Bytes(512) },
            requested: Bytes(512),
            policy: None,
            reuses: None,
            takes: Default::default(),
            waits: Default::default(),
            mapped: Bytes::ZERO,
            unmapped: Bytes::ZERO,
            by_timing: false,
        };
        feed(books, Kind::Decided(&decision));
    }

    fn state(books: &mut Accounting, used: u64, high: u64) {
        let (live, unused) = (Bytes(used), Bytes((32 << 20) - used));
        let state = PoolState {
            reserved: Bytes::mib(32),
            reserved_high: Bytes::mib(32),
            used: live,
            used_high: Bytes(high),
            maps: 1,
            unmaps: 0,
            ledger: Ledger { live, unused, ..Ledger::default() },
            attributes: Attributes::default(),
        };
        feed(books, Kind::State { pool: PoolId::new(0), state: &state });
    }

    #[test]
    fn books_that_agree_are_silent_and_others_are_not() {
        let mut books = Accounting::new(&setup());
        alloc(&mut books, 1, 0);
        alloc(&mut books, 2, 512);
        state(&mut books, 1024, 1024);
        let free = Call::Free { stream: StreamId::new(0), alloc: AllocId { slot: 1, serial: 1 } };
        feed(&mut books, Kind::Call(&free));
        state(&mut books, 512, 1024);
        assert_eq!(books.violations(), []);
        feed(&mut books, Kind::Call(&free));
        feed(&mut books, Kind::Failed { failure: crate::trace::Failure::InvalidValue, call: &free });
        state(&mut books, 512, 512);
        assert!(matches!(books.violations(), [Violation::Figure { name: "used_high", .. }]));
        alloc(&mut books, 3, 513);
        assert!(matches!(books.violations().last(), Some(Violation::Overlap { .. })));
    }

    fn device(books: &mut Accounting, outside: u64, leaving: u64) {
        let [outside, leaving] = [outside, leaving].map(Bytes);
        let state = DeviceState { memory: Bytes::gib(1), pools: Bytes::ZERO, outside, leaving };
        feed(books, Kind::Device { device: DeviceId::new(0), state: &state });
    }

    #[test]
    fn memory_outside_of_pools_comes_back_when_its_free_is_complete() {
        let mut books = Accounting::new(&setup());
        let (id, on) = (AllocId { slot: 1, serial: 1 }, DeviceId::new(0));
        feed(&mut books, Kind::Call(&Call::Malloc { device: on, size: Bytes(512), managed: false }));
        let range = Range { start: 0, size: Bytes(512) };
        feed(&mut books, Kind::Decided(&Decision::plain(id, range, Bytes(512), Bytes(512))));
        device(&mut books, 512, 0);
        let freed = Ticket { stream: StreamId::new(0), seq: 1 };
        let free = Call::Free { stream: freed.stream, alloc: id };
        feed(&mut books, Kind::Call(&free));
        let (at, host, stmt) = (Nanos::ZERO, HostId::new(0), StmtId::new(0));
        books.event(&Event { at, host, stmt, ticket: Some(freed), kind: Kind::Submitted(&free) });
        device(&mut books, 512, 512);
        assert_eq!(books.violations(), []);
        let mut early = books.clone();
        let back = Kind::Returned { device: on, bytes: Bytes(512), freed };
        feed(&mut early, back);
        assert_eq!(early.violations(), [Violation::ReturnedEarly(freed)]);
        let mut forgotten = books.clone();
        device(&mut forgotten, 0, 0);
        assert!(matches!(forgotten.violations(), [Violation::Device { name: "outside", .. }]));
        books.event(&Event { at, host, stmt, ticket: Some(freed), kind: Kind::End });
        feed(&mut books, back);
        device(&mut books, 0, 0);
        assert_eq!(books.violations(), []);
    }
}
