//! What pointers stand for: live allocations, freed ones for as long as their addresses are nobody else's, and page-locked memory
//! of the host.

use millpond::base::DeviceId;
use millpond::trace::AllocId;
use std::collections::BTreeMap;

/// What kind of memory an allocation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A device's, of this pool.
    Pool(u64),
    /// The host's, of this pool.
    HostPool(u64),
    /// A device's, outside of pools.
    Plain,
    /// Managed. The address is that of memory of the host.
    Managed,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(crate) alloc: AllocId,
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) device: DeviceId,
}

impl Allocation {
    fn has(&self, address: u64) -> bool {
        address.checked_sub(self.start).is_some_and(|from| from < self.size)
    }
}

/// All allocations, by address.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    live: BTreeMap<u64, Allocation>,
    freed: BTreeMap<u64, Allocation>,
    /// Page-locked memory: the size of each range.
    pinned: BTreeMap<u64, u64>,
}

impl Allocations {
    /// A new one. Its addresses are nobody else's from now on.
    pub(crate) fn insert(&mut self, allocation: Allocation) {
        let end = allocation.start.saturating_add(allocation.size);
        let overlaps = |other: &Allocation| other.start < end && other.start + other.size > allocation.start;
        let old: Vec<u64> = self
            .freed
            .range(..end)
            .rev()
            .take_while(|(_, other)| overlaps(other))
            .map(|(at, _)| *at)
            .collect();
        self.freed.retain(|start, _| !old.contains(start));
        self.live.insert(allocation.start, allocation);
    }

    /// The live allocation that begins at an address.
    pub(crate) fn starting_at(&self, address: u64) -> Option<Allocation> {
        self.live.get(&address).copied()
    }

    /// Whether an allocation that began at this address was freed, and nobody has got its memory since.
    pub(crate) fn was_freed(&self, address: u64) -> bool {
        self.freed.contains_key(&address)
    }

    /// An allocation was freed.
    pub(crate) fn remove(&mut self, freed: &Allocation) {
        if self.live.get(&freed.start).is_some_and(|live| live.alloc == freed.alloc) {
            self.live.remove(&freed.start);
            // The addresses of managed memory are the host's again.
            if freed.kind != Kind::Managed {
                self.freed.insert(freed.start, *freed);
            }
        }
    }

    /// The live allocation that has an address.
    pub(crate) fn live_at(&self, address: u64) -> Option<Allocation> {
        self.live.range(..=address).next_back().map(|(_, found)| *found).filter(|found| found.has(address))
    }

    /// The allocation that has an address, or had it last.
    pub(crate) fn at(&self, address: u64) -> Option<Allocation> {
        let freed = self.freed.range(..=address).next_back().map(|(_, found)| *found);
        self.live_at(address).or(freed.filter(|found| found.has(address)))
    }

    /// The live allocation with this id.
    pub(crate) fn with_id(&self, alloc: AllocId) -> Option<Allocation> {
        self.live.values().find(|found| found.alloc == alloc).copied()
    }

    /// The memory of a device outside of pools is freed; the addresses of managed memory among it, which goes back.
    pub(super) fn end_context(&mut self, device: DeviceId) -> Vec<u64> {
        let ends =
            |found: &&Allocation| found.device == device && matches!(found.kind, Kind::Plain | Kind::Managed);
        let ended: Vec<Allocation> = self.live.values().filter(ends).copied().collect();
        ended.iter().for_each(|found| self.remove(found));
        let managed = ended.iter().filter(|found| found.kind == Kind::Managed).map(|found| found.start);
        managed.collect()
    }

    /// Page-locked memory is handed out.
    pub(crate) fn pin(&mut self, start: u64, size: u64) {
        self.pinned.insert(start, size);
    }

    /// Page-locked memory goes back; whether there was any.
    pub(crate) fn unpin(&mut self, start: u64) -> bool {
        self.pinned.remove(&start).is_some()
    }

    /// The page-locked range that has an address: its start and its size.
    pub(crate) fn pinned_at(&self, address: u64) -> Option<(u64, u64)> {
        let (start, size) = self.pinned.range(..=address).next_back()?;
        (address - start < *size).then_some((*start, *size))
    }
}
