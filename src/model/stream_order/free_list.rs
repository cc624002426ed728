//! The free blocks, in the order that decides which of them is used: each at the end when it comes, and the last one in
//! the place of one that is taken. No operation looks at all of them.

use super::Block;
use super::classes::Classes;
use super::maxima::Maxima;
use crate::base::reuse_on_clone;

#[derive(Debug, Default)]
pub(super) struct FreeList {
    pointers: Vec<u64>,
    capacities: Maxima,
    classes: Classes,
}

reuse_on_clone!(FreeList { pointers, capacities, classes });

impl FreeList {
    pub(super) fn len(&self) -> usize {
        self.pointers.len()
    }

    pub(super) fn largest(&self) -> usize {
        self.capacities.max()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Block> + '_ {
        let blocks = self.pointers.iter().zip(self.capacities.as_slice());
        blocks.map(|(ptr, capacity)| Block { ptr: *ptr, capacity: *capacity })
    }

    pub(super) fn push(&mut self, block: Block) {
        self.pointers.push(block.ptr);
        self.capacities.push(block.capacity);
        self.classes.push(block.capacity);
    }

    /// Takes the last block.
    pub(super) fn pop(&mut self) -> Option<Block> {
        let ptr = self.pointers.pop()?;
        let capacity = self.capacities.pop()?;
        self.classes.pop(capacity);
        Some(Block { ptr, capacity })
    }

    /// Takes the first block of exactly this capacity, wherever it is, or else the first that is larger.
    pub(super) fn take(&mut self, want: usize) -> Option<Block> {
        let index = self.classes.lowest(want).or_else(|| self.capacities.first_above(want))?;
        let of_last = *self.capacities.as_slice().last()?;
        let capacity = self.capacities.swap_remove(index)?;
        self.classes.swap_remove(index, capacity, of_last);
        Some(Block { ptr: self.pointers.swap_remove(index), capacity })
    }
}
