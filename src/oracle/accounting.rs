//! Keeps the books of the pools a second time, from the events alone, and says where the model's figures differ.
//!
//! It knows live ranges and sizes, and nothing of blocks, reuse or chunks. A violation is a bug of Millpond.

use crate::base::{Bytes, IndexVec, PoolId};
use crate::trace::{AllocId, Attribute, Call, Decision, Detail, Event, Kind, PoolState, Range, Setup, Sink};
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
}

/// The sink that keeps the books. It stops after 16 violations: the first one is what matters.
#[derive(Clone, Debug)]
pub struct Accounting {
    live: BTreeMap<u64, (Range, AllocId)>,
    owners: BTreeMap<AllocId, (u64, PoolId, Bytes)>,
    books: IndexVec<PoolId, Book>,
    /// The pool of the allocation call in progress.
    asked: Option<PoolId>,
    /// The free call in progress; it counts once it did not fail.
    freeing: Option<AllocId>,
    /// The high-water mark that the call in progress resets; it counts once the call did not fail.
    resetting: Option<(PoolId, Attribute)>,
    violations: Vec<Violation>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Book {
    used: u64,
    used_high: u64,
    reserved: u64,
    reserved_high: u64,
}

impl Accounting {
    /// Books of the pools of a world, before the first call.
    pub fn new(setup: &Setup) -> Self {
        Self {
            live: BTreeMap::new(),
            owners: BTreeMap::new(),
            books: setup.pools.iter().map(|_| Book::default()).collect(),
            asked: None,
            freeing: None,
            resetting: None,
            violations: Vec::new(),
        }
    }

    /// What did not add up.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    fn report(&mut self, violation: Violation) {
        if self.violations.len() < 16 {
            self.violations.push(violation);
        }
    }

    fn call(&mut self, call: &Call) {
        self.settle();
        self.asked = None;
        match call {
            Call::Set { pool, attribute, .. } => self.resetting = Some((*pool, *attribute)),
            Call::Alloc { pool, .. } => self.asked = Some(*pool),
            Call::Free { alloc, .. } if *alloc != AllocId::NULL => self.freeing = Some(*alloc),
            _ => {}
        }
    }

    /// Books what the call in progress does, now that it is known not to have failed.
    fn settle(&mut self) {
        if let Some((pool, attribute)) = self.resetting.take() {
            let book = &mut self.books[pool];
            match attribute {
                Attribute::UsedHigh => book.used_high = book.used,
                Attribute::ReservedHigh => book.reserved_high = book.reserved,
                _ => {}
            }
        }
        let Some(alloc) = self.freeing.take() else { return };
        match self.owners.remove(&alloc) {
            Some((start, pool, requested)) => {
                self.live.remove(&start);
                self.books[pool].used -= requested.0;
            }
            None => self.report(Violation::FreedTwice(alloc)),
        }
    }

    fn decided(&mut self, decision: &Decision) {
        let Some(pool) = self.asked else { return };
        if decision.alloc == AllocId::NULL || decision.range.size == Bytes::ZERO {
            return;
        }
        let before = self.live.range(..decision.range.end()).next_back();
        if let Some((_, (range, old))) = before
            && range.overlaps(decision.range)
        {
            let old = *old;
            self.report(Violation::Overlap { new: decision.alloc, old });
        }
        self.live.insert(decision.range.start, (decision.range, decision.alloc));
        self.owners.insert(decision.alloc, (decision.range.start, pool, decision.requested));
        self.books[pool].used += decision.requested.0;
    }

    fn state(&mut self, pool: PoolId, state: &PoolState) {
        self.settle();
        let book = &mut self.books[pool];
        book.reserved = state.reserved.0;
        book.used_high = book.used_high.max(book.used);
        book.reserved_high = book.reserved_high.max(state.reserved.0);
        let book = *book;
        let figures = [
            ("used", state.used, book.used),
            ("live", state.ledger.live, book.used),
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
            Kind::Call(call) => self.call(call),
            Kind::Submitted => self.settle(),
            Kind::Failed(_) => (self.freeing, self.resetting) = (None, None),
            Kind::Decided(decision) => self.decided(decision),
            Kind::State { pool, state } => self.state(pool, state),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DeviceId, HostId, Nanos, StmtId, StreamId, index_vec};
    use crate::trace::{Attributes, DeviceSetup, HostCosts, Ledger, PoolSetup, Remap, Rules};

    fn setup() -> Setup {
        let pool = PoolSetup { device: DeviceId::new(0), attributes: Attributes::default(), max_size: None };
        Setup {
            devices: index_vec![DeviceSetup { memory: Bytes::gib(1) }],
            pools: index_vec![pool],
            streams: index_vec![],
            events: 0,
            signals: 0,
            hosts: 1,
            barriers: index_vec![],
            collectives: index_vec![],
            rules: Rules {
                alignment: Bytes(512),
                growth: Bytes::mib(32),
                granule: Bytes::mib(2),
                remap: Remap::Idle,
                legacy_sync_releases: false,
            },
            host: HostCosts::default(),
        }
    }

    fn feed(books: &mut Accounting, kind: Kind<'_>) {
        let (host, stmt) = (HostId::new(0), StmtId::new(0));
        books.event(&Event { at: Nanos::ZERO, host, stmt, ticket: None, kind });
    }

    fn alloc(books: &mut Accounting, serial: u32, start: u64) {
        let (stream, pool) = (StreamId::new(0), PoolId::new(0));
        feed(books, Kind::Call(&Call::Alloc { stream, pool, size: Bytes(512) }));
        let decision = Decision {
            alloc: AllocId { slot: serial, serial },
            range: Range { start, size: Bytes(512) },
            requested: Bytes(512),
            policy: None,
            reuses: None,
            waits: Default::default(),
            mapped: Bytes::ZERO,
            unmapped: Bytes::ZERO,
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
        feed(&mut books, Kind::Failed(crate::trace::Failure::InvalidValue));
        state(&mut books, 512, 512);
        assert!(matches!(books.violations(), [Violation::Figure { name: "used_high", .. }]));
        alloc(&mut books, 3, 513);
        assert!(matches!(books.violations().last(), Some(Violation::Overlap { .. })));
    }
}
