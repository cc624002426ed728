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
use std::rc::Rc;

/// Memory that was freed.
#[derive(Clone, Debug)]
pub(super) struct Block {
    end: u64,
    pub(super) alloc: AllocId,
    pub(super) pool: PoolId,
    /// The free; `None`: a host freed it at once.
    pub(super) freed: Option<Ticket>,
    pub(super) mark: Mark,
    pub(super) stmt: StmtId,
    /// What is before the end of the free in this run.
    here: Rc<[u32]>,
    /// The first allocation for which the pool grew while this lay there.
    pub(super) grown_beside: Option<StmtId>,
}

impl Block {
    /// Whether its free is one of those in a cut. What a host frees at once is.
    pub(super) fn is_within(&self, cut: &Cut) -> bool {
        self.freed.is_none_or(|freed| freed.within(cut))
    }
}

/// The freed memory of all pools.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    by_start: BTreeMap<u64, Block>,
    /// What has completed.
    pub(super) done: Vec<u32>,
    /// What a host synchronisation has proven complete.
    pub(super) observed: Vec<u32>,
    /// The blocks that the allocation in progress takes bytes of.
    taken: Vec<Block>,
}

impl Blocks {
    pub(super) fn new(streams: usize) -> Self {
        Self {
            by_start: BTreeMap::new(),
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
        let here = clock.here().into();
        let block = Block { end: range.end(), alloc, pool, freed, mark, stmt, here, grown_beside: None };
        self.by_start.insert(range.start, block);
    }

    /// Takes the bytes of an allocation, and makes its operation wait in this run for the frees that the allocator waits for or
    /// has found complete. Returns the blocks.
    ///
    /// # Panics
    /// Where nothing makes the reuse sound, which is a bug of Millpond.
    pub(super) fn take(&mut self, decision: &Decision, ticket: Ticket, clocks: &mut Clocks) -> &[Block] {
        let Range { start, .. } = decision.range;
        let end = decision.range.end();
        self.taken.clear();
        let before = self.by_start.range(..start).next_back();
        let left = before.filter(|(_, block)| block.end > start).map(|(left, _)| *left);
        if let Some(left) = left {
            let block = self.by_start.get_mut(&left).expect("it was found there");
            let whole = block.clone();
            block.end = start;
            self.by_start.insert(start, whole);
        }
        while let Some((first, _)) = self.by_start.range(start..end).next() {
            let first = *first;
            let block = self.by_start.remove(&first).expect("it was found there");
            if block.end > end {
                self.by_start.insert(end, block.clone());
            }
            self.taken.push(block);
        }
        // Merged memory has the later one of its frees, which may be that of a neighbour.
        for wait in &decision.waits {
            let blocks = self.taken.iter().chain(self.by_start.values());
            if let Some(block) = blocks.into_iter().find(|block| block.freed == Some(*wait)) {
                clocks.wait_here(ticket.stream, &block.here, true);
            }
        }
        for block in &self.taken {
            if clocks.stream(ticket.stream).has_here(block.mark) {
                continue;
            }
            assert!(
                block.is_within(&self.observed) || block.is_within(&self.done),
                "the memory of {:?} is given to {:?} too early, which is a bug of millpond",
                block.alloc,
                decision.alloc
            );
            clocks.wait_here(ticket.stream, &block.here, false);
        }
        &self.taken
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
