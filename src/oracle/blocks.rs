//! Freed memory of pools by its addresses, until it is handed out again: who gets whose bytes, and what orders that.
//!
//! Each reuse is checked: the free is before the next allocation of the same bytes, or a host has observed it, or it has
//! completed, or the allocator inserts a wait for it. Anything else would be a fault of the model.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync` (memory is given again only where the accesses of both cannot overlap).

use super::clocks::{Clock, Clocks, Mark};
use crate::base::{PoolId, StmtId};
use crate::trace::{AllocId, Cut, Decision, Range, Ticket};
use std::collections::BTreeMap;

/// Memory that was freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    end: u64,
    pub(super) alloc: AllocId,
    pub(super) pool: PoolId,
    /// The free; `None`: a host freed it at once.
    pub(super) freed: Option<Ticket>,
    pub(super) mark: Mark,
    pub(super) stmt: StmtId,
    /// Where it is kept what is before the end of the free in this run.
    here: u32,
    /// The first allocation for which the pool grew while this lay there.
    pub(super) grown_beside: Option<StmtId>,
}

impl Block {
    /// Whether its free is one of those in a cut. What a host frees at once is.
    pub(super) fn is_within(&self, cut: &Cut) -> bool {
        self.freed.is_none_or(|freed| freed.within(cut))
    }
}

/// What is before the ends of frees, each kept for as many blocks as came of it.
#[derive(Clone, Debug, Default)]
struct Heres {
    width: usize,
    counters: Vec<u32>,
    blocks: Vec<u32>,
    vacant: Vec<u32>,
}

impl Heres {
    fn insert(&mut self, here: &[u32]) -> u32 {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.blocks.push(0);
            self.counters.resize(self.counters.len() + self.width, 0);
            (self.blocks.len() - 1) as u32
        });
        self.blocks[place as usize] = 1;
        self.counters[place as usize * self.width..][..self.width].copy_from_slice(here);
        place
    }

    fn get(&self, place: u32) -> &[u32] {
        &self.counters[place as usize * self.width..][..self.width]
    }

    fn add(&mut self, place: u32) {
        self.blocks[place as usize] += 1;
    }

    fn remove(&mut self, place: u32) {
        self.blocks[place as usize] -= 1;
        if self.blocks[place as usize] == 0 {
            self.vacant.push(place);
        }
    }
}

/// The freed memory of all pools.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    by_start: BTreeMap<u64, Block>,
    heres: Heres,
    /// What has completed.
    pub(super) done: Vec<u32>,
    /// What a host synchronisation has proven complete.
    pub(super) observed: Vec<u32>,
    /// The blocks that the allocation in progress takes bytes of.
    taken: Vec<Block>,
}

impl Blocks {
    pub(super) fn new(streams: usize, hosts: usize) -> Self {
        Self {
            by_start: BTreeMap::new(),
            heres: Heres { width: streams + hosts, ..Heres::default() },
            done: vec![0; streams],
            observed: vec![0; streams],
            taken: Vec::new(),
        }
    }

    /// Memory is freed, and this is what is before the end of the free.
    pub(super) fn insert(
        &mut self,
        range: Range,
        (alloc, pool): (AllocId, PoolId),
        (freed, mark, stmt): (Option<Ticket>, Mark, StmtId),
        clock: &Clock,
    ) {
        let here = self.heres.insert(clock.here());
        let block = Block { end: range.end(), alloc, pool, freed, mark, stmt, here, grown_beside: None };
        self.by_start.insert(range.start, block);
    }

    /// Takes the bytes of an allocation, and makes its operation wait in this run for the frees that the allocator waits for or
    /// has found complete. Returns the blocks.
    ///
    /// # Panics
    /// Where nothing makes the reuse sound, which is a bug of Millpond.
    pub(super) fn take(&mut self, decision: &Decision, ticket: Ticket, clocks: &mut Clocks) -> &[Block] {
        // Merged memory has the later one of its frees, which may be that of a neighbour.
        for wait in &decision.waits {
            if let Some(block) = self.by_start.values().find(|block| block.freed == Some(*wait)) {
                clocks.wait_here(ticket.stream, self.heres.get(block.here), true);
            }
        }
        self.cut_out(decision.range.start, decision.range.end());
        for block in &self.taken {
            if !clocks.stream(ticket.stream).has_here(block.mark) {
                assert!(
                    block.is_within(&self.observed) || block.is_within(&self.done),
                    "the memory of {:?} is given to {:?} too early, which is a bug of millpond",
                    block.alloc,
                    decision.alloc
                );
                clocks.wait_here(ticket.stream, self.heres.get(block.here), false);
            }
            self.heres.remove(block.here);
        }
        &self.taken
    }

    /// Moves what lies in these bytes to `taken`; what is left of it on both sides stays.
    fn cut_out(&mut self, start: u64, end: u64) {
        self.taken.clear();
        while let Some((first, block)) = self.by_start.range_mut(..end).next_back() {
            if block.end <= start {
                break;
            }
            let (first, whole) = (*first, *block);
            if first < start {
                block.end = start;
                self.heres.add(whole.here);
            } else {
                self.by_start.remove(&first);
            }
            if whole.end > end {
                self.heres.add(whole.here);
                self.by_start.insert(end, whole);
            }
            self.taken.push(whole);
        }
    }

    /// All freed memory, by its addresses.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Block)> {
        self.by_start.iter().map(|(start, block)| (block.end - start, block))
    }

    /// The same, to be marked.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Block)> {
        self.by_start.iter_mut().map(|(start, block)| (block.end - start, block))
    }
}
