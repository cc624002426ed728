//! Freed memory of pools whose free no host has observed: who gets its bytes, and what orders that.
//!
//! Each reuse is checked: the free is before the next allocation of the same bytes, or it has completed, or a host has observed
//! it, or the allocator inserts a wait for it. Anything else would be a fault of the model. Which freed memory an allocation
//! takes is the allocator's word; the books compare it with the addresses.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync` (memory is given again only where the accesses of both cannot overlap).

use super::clock::{Clock, Mark};
use super::clocks::Clocks;
use super::memory::{Handle, Memory, Perhaps, Record};
use crate::base::{StmtId, StreamId, reuse_on_clone};
use crate::trace::{AllocId, Cut, Part, Ticket};
use std::collections::VecDeque;
use std::num::NonZeroU32;

/// What is left of freed memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// How many bytes are not handed out again.
    pub(super) left: u64,
    /// Where it is kept what is before the end of the free in this run.
    here: Here,
    /// The first allocation for which the pool grew while this lay there.
    pub(super) grown_beside: Perhaps<StmtId>,
}

/// A place in what is before the ends of frees, counted from 1.
type Here = NonZeroU32;

/// What is before the ends of frees.
#[derive(Debug, Default)]
struct Heres {
    width: usize,
    counters: Vec<u32>,
    vacant: Vec<Here>,
}

reuse_on_clone!(Heres { width, counters, vacant });

impl Heres {
    #[inline(always)]
    fn insert(&mut self, here: &[u32]) -> Here {
        let vacant = self.vacant.pop();
        if let Some(place) = vacant {
            self.counters[(place.get() as usize - 1) * self.width..][..self.width].copy_from_slice(here);
            return place;
        }
        self.counters.extend_from_slice(here);
        let places = (self.counters.len() / self.width) as u32;
        Here::new(places).expect("there is a place")
    }

    fn get(&self, place: Here) -> &[u32] {
        &self.counters[(place.get() as usize - 1) * self.width..][..self.width]
    }
}

/// The frees of a stream that no host has observed, in its order, and some of which nothing is left.
#[derive(Debug, Default)]
struct Queue {
    frees: VecDeque<(u32, Handle)>,
    /// How many have something left.
    blocks: usize,
}

reuse_on_clone!(Queue { frees, blocks });

/// Queues shorter than this are not tidied up.
const QUEUE_MIN: usize = 64;

/// The freed memory of all pools.
#[derive(Debug)]
pub(super) struct Blocks {
    queues: Vec<Queue>,
    heres: Heres,
    /// What has completed.
    pub(super) done: Vec<u32>,
    /// What a host synchronisation has proven complete.
    pub(super) observed: Vec<u32>,
    /// What the host could see complete when a pool grew last.
    pub(super) visible: Vec<u32>,
}

reuse_on_clone!(Blocks { queues, heres, done, observed, visible });

impl Blocks {
    pub(super) fn new(streams: usize, hosts: usize) -> Self {
        Self {
            queues: vec![Queue::default(); streams],
            heres: Heres { width: streams + hosts, ..Heres::default() },
            done: vec![0; streams],
            observed: vec![0; streams],
            visible: vec![0; streams],
        }
    }

    /// Memory is freed by an operation, and this is what is before the end of it. Says whether there are many frees of its stream of
    /// which nothing is left.
    #[inline(always)]
    pub(super) fn insert(&mut self, freed: Handle, record: &mut Record, by: Mark, clock: &Clock) -> bool {
        let here = self.heres.insert(clock.here());
        record.block = Some(Block { left: record.size(), here, grown_beside: Perhaps::NONE });
        let queue = &mut self.queues[by.agent as usize];
        queue.frees.push_back((by.at, freed));
        queue.blocks += 1;
        queue.frees.len() > QUEUE_MIN.max(2 * queue.blocks)
    }

    /// Forgets the frees of a stream of which nothing is left.
    #[cold]
    pub(super) fn tidy(&mut self, by: Mark, memory: &Memory) {
        let frees = &mut self.queues[by.agent as usize].frees;
        frees.retain(|(_, freed)| memory.at(*freed).is_some_and(|record| record.block.is_some()));
    }

    /// A host has observed everything in this cut: whoever gets what was freed in it, comes after that.
    pub(super) fn observe(&mut self, observed: &Cut, memory: &mut Memory) {
        self.observed.copy_from_slice(observed);
        for (queue, seq) in self.queues.iter_mut().zip(observed) {
            while let Some((_, freed)) = queue.frees.front().filter(|(free, _)| free <= seq).copied() {
                queue.frees.pop_front();
                if let Some(block) = memory.settle(freed) {
                    queue.blocks -= 1;
                    self.heres.vacant.push(block.here);
                }
            }
        }
    }

    /// The allocator makes an operation wait for frees, and so does this in this run.
    #[inline(never)]
    pub(super) fn wait(&self, stream: StreamId, waits: &[Ticket], clocks: &mut Clocks, memory: &Memory) {
        // Merged memory has the later one of its frees, which may be that of a neighbour.
        for wait in waits {
            let frees = &self.queues[wait.stream.index()].frees;
            let nth = frees.partition_point(|(free, _)| *free < wait.seq);
            let freed = frees.get(nth).and_then(|(_, freed)| memory.at(*freed));
            if let Some(block) = freed.and_then(|record| record.block) {
                clocks.wait_here(stream, self.heres.get(block.here), true);
            }
        }
    }

    /// An allocation takes bytes of a freed one. Makes its operation wait in this run for a free that the allocator has found
    /// complete. Says whether anything may touch those bytes after they were freed.
    ///
    /// # Panics
    /// Where nothing makes the reuse sound, which is a bug of Millpond.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        part: &Part,
        (new, stream): (AllocId, StreamId),
        clocks: &mut Clocks,
        memory: &mut Memory,
    ) -> bool {
        let Some((handle, record)) = memory.find_mut(part.alloc) else { return false };
        record.taken = new;
        let is_touched = !record.astray().is_empty();
        let (Some(free), Some(block)) = (record.freed(), &mut record.block) else { return is_touched };
        if !clocks.stream(stream).has_here(free.mark) {
            assert!(
                self.done[free.mark.agent as usize] >= free.mark.at,
                "the memory of {:?} is given to {:?} too early, which is a bug of millpond",
                part.alloc,
                new
            );
            clocks.wait_here(stream, self.heres.get(block.here), false);
        }
        block.left = block.left.saturating_sub(part.size.0);
        if block.left == 0 {
            self.heres.vacant.push(block.here);
            self.queues[free.mark.agent as usize].blocks -= 1;
            record.block = None;
            if record.is_over() {
                memory.let_go(handle);
            }
        }
        is_touched
    }

    /// Whether a free was complete as the host saw it when a pool grew last. What completes at the time of a call it does not see.
    pub(super) fn was_visible(&self, record: &Record) -> bool {
        record.freed().is_some_and(|free| self.visible[free.mark.agent as usize] >= free.mark.at)
    }

    /// The allocations of which something may be left, by stream and in the order of their frees.
    pub(super) fn freed(&self) -> impl Iterator<Item = Handle> + '_ {
        self.queues.iter().flat_map(|queue| queue.frees.iter().map(|(_, freed)| *freed))
    }
}
