//! The free blocks, in the order that decides which of them is used: each at the end when it comes, and the last one in
//! the place of one that is taken. No operation looks at all of them.

use super::Block;
use super::classes::Classes;
use super::maxima::Maxima;
use crate::base::reuse_on_clone;

/// The most blocks at the end of the list that are looked at one by one. Many leave before an index of them would pay.
const RECENT: usize = 16;

#[derive(Debug, Default)]
pub(super) struct FreeList {
    // All but the recent ones, by their place in the list.
    pointers: Vec<u64>,
    capacities: Maxima,
    classes: Classes,
    /// The end of the list.
    recent: Vec<Block>,
}

reuse_on_clone!(FreeList { pointers, capacities, classes, recent });

impl FreeList {
    pub(super) fn len(&self) -> usize {
        self.pointers.len() + self.recent.len()
    }

    /// The largest capacity, or 0.
    pub(super) fn largest(&self) -> usize {
        self.recent.iter().map(|block| block.capacity).fold(self.capacities.max(), usize::max)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Block> + '_ {
        let blocks = self.pointers.iter().zip(self.capacities.as_slice());
        let blocks = blocks.map(|(ptr, capacity)| Block { ptr: *ptr, capacity: *capacity });
        blocks.chain(self.recent.iter().copied())
    }

    pub(super) fn push(&mut self, block: Block) {
        if self.recent.len() == RECENT {
            for Block { ptr, capacity } in self.recent.drain(..) {
                self.pointers.push(ptr);
                self.capacities.push(capacity);
                self.classes.push(capacity);
            }
        }
        self.recent.push(block);
    }

    /// Takes the last block.
    pub(super) fn pop(&mut self) -> Option<Block> {
        self.recent.pop().or_else(|| {
            let (ptr, capacity) = (self.pointers.pop()?, self.capacities.pop()?);
            self.classes.pop(capacity);
            Some(Block { ptr, capacity })
        })
    }

    /// Takes the first block of exactly this capacity, wherever it is, or else the first that is larger.
    pub(super) fn take(&mut self, want: usize) -> Option<Block> {
        if let Some(index) = self.classes.lowest(want) {
            self.take_at(index)
        } else if let Some(at) = self.recent.iter().position(|block| block.capacity == want) {
            Some(self.recent.swap_remove(at))
        } else if let Some(index) = self.capacities.first_above(want) {
            self.take_at(index)
        } else {
            let at = self.recent.iter().position(|block| block.capacity > want)?;
            Some(self.recent.swap_remove(at))
        }
    }

    /// Takes a block that is the first of its capacity and not recent.
    fn take_at(&mut self, index: usize) -> Option<Block> {
        let last = self.pop()?;
        let Some(ptr) = self.pointers.get_mut(index) else { return Some(last) };
        let ptr = std::mem::replace(ptr, last.ptr);
        let capacity = self.capacities.replace(index, last.capacity);
        self.classes.replace(index, capacity, last.capacity);
        Some(Block { ptr, capacity })
    }
}
