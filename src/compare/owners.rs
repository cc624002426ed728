//! Who had which byte of a pool last, by its address, as far as that is known.
//!
//! Two allocators say in different words which memory they hand out again, and a driver says nothing. Addresses they all
//! tell. Memory is used again where it lies in bytes that an earlier allocation of the same pool had last, which is freed, and
//! which the pool has kept since: a pool that holds nothing has kept nothing, and what is mapped anew is nobody's.

use super::trace::{Key, Taken, together};
use crate::base::{Bytes, PoolId};
use crate::trace::{AllocId, Range};
use std::collections::BTreeMap;

/// Who had which byte last.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    /// The first byte of each piece, with the byte after it and its owner.
    pieces: BTreeMap<u64, (u64, u32)>,
    allocations: Vec<Allocation>,
    /// By the serial number of an allocation.
    serials: BTreeMap<u32, u32>,
    /// How often each pool was seen to hold nothing.
    emptied: BTreeMap<PoolId, u32>,
}

/// An allocation, of a pool or outside of pools.
#[derive(Clone, Copy, Debug)]
pub(super) struct Allocation {
    key: Key,
    /// The place of its call.
    call: u32,
    pool: Option<PoolId>,
    emptied: u32,
    is_freed: bool,
}

impl Allocation {
    pub(super) fn new(key: Key, call: u32, pool: Option<PoolId>) -> Self {
        Self { key, call, pool, emptied: 0, is_freed: false }
    }
}

impl Owners {
    /// Gives bytes to a new allocation, and says whose of the same pool they were; `is_new`: nobody's.
    pub(super) fn take(&mut self, alloc: AllocId, range: Range, new: Allocation, is_new: bool) -> Vec<Taken> {
        let pool = new.pool;
        let emptied = self.emptied(pool);
        let taken = if is_new || pool.is_none() { Vec::new() } else { self.freed(range, pool, emptied) };
        let owner = self.allocations.len() as u32;
        self.allocations.push(Allocation { emptied, ..new });
        self.serials.insert(alloc.serial, owner);
        self.clear(range);
        if range.size > Bytes::ZERO {
            self.pieces.insert(range.start, (range.end(), owner));
        }
        together(taken)
    }

    fn emptied(&self, pool: Option<PoolId>) -> u32 {
        pool.and_then(|pool| self.emptied.get(&pool)).copied().unwrap_or(0)
    }

    fn freed(&self, range: Range, pool: Option<PoolId>, emptied: u32) -> Vec<Taken> {
        let first = self.pieces.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
        let pieces = self.pieces.range(first..range.end().max(first));
        let shared = pieces.filter_map(|(start, (end, owner))| {
            let owner = self.allocations[*owner as usize];
            let bytes = (*end).min(range.end()).saturating_sub((*start).max(range.start));
            let is_kept = owner.is_freed && owner.pool == pool && owner.emptied == emptied;
            (is_kept && bytes > 0).then_some((owner.key, Bytes(bytes)))
        });
        shared.collect()
    }

    /// Takes bytes from whoever had them.
    fn clear(&mut self, range: Range) {
        let (start, end) = (range.start, range.end());
        let before = self.pieces.range(..start).next_back().map(|(at, piece)| (*at, *piece));
        if let Some((at, (until, owner))) = before.filter(|(_, (until, _))| *until > start) {
            self.pieces.insert(at, (start, owner));
            if until > end {
                self.pieces.insert(end, (until, owner));
            }
        }
        while let Some((at, (until, owner))) =
            self.pieces.range(start..end.max(start)).next().map(|(at, piece)| (*at, *piece))
        {
            self.pieces.remove(&at);
            if until > end {
                self.pieces.insert(end, (until, owner));
            }
        }
    }

    /// Whether an allocation is freed from now on; says whether it was before. What is not known here stays so.
    pub(super) fn set_freed(&mut self, alloc: AllocId, is_freed: bool) -> bool {
        let Some(owner) = self.serials.get(&alloc.serial) else { return is_freed };
        std::mem::replace(&mut self.allocations[*owner as usize].is_freed, is_freed)
    }

    /// The place of the call that an allocation was made by.
    pub(super) fn call_of(&self, alloc: AllocId) -> Option<u32> {
        self.serials.get(&alloc.serial).map(|owner| self.allocations[*owner as usize].call)
    }

    /// The pool of an allocation, as far as it is known.
    pub(super) fn pool_of(&self, alloc: AllocId) -> Option<PoolId> {
        self.serials.get(&alloc.serial).and_then(|owner| self.allocations[*owner as usize].pool)
    }

    /// A pool holds nothing any more.
    pub(super) fn empties(&mut self, pool: PoolId) {
        *self.emptied.entry(pool).or_default() += 1;
    }
}
