//! The virtual address space of all devices, handed out in whole chunks, lowest first, and taken back in granules.

use crate::base::reuse_on_clone;

/// Where the first chunk goes. Any multiple of the growth unit would do; this one looks like an address of a driver.
const BASE: u64 = 0x3_0200_0000;

/// Which addresses are taken.
#[derive(Debug)]
pub(super) struct AddressSpace {
    chunk: u64,
    /// Taken ranges, ascending, with a gap between any two.
    taken: Vec<(u64, u64)>,
}

reuse_on_clone!(AddressSpace { chunk, taken });

impl AddressSpace {
    pub(super) fn new(chunk: u64) -> Self {
        Self { chunk, taken: Vec::new() }
    }

    /// The first chunk's address.
    fn first(&self) -> u64 {
        BASE.next_multiple_of(self.chunk)
    }

    /// The address of the lowest gap of at least `size` bytes, and takes its chunks; `None` when there is none below 2^63.
    pub(super) fn take(&mut self, size: u64) -> Option<u64> {
        let size = size.checked_next_multiple_of(self.chunk)?;
        let mut start = self.first();
        let mut rank = 0;
        while rank < self.taken.len() && self.taken[rank].0 < start.saturating_add(size) {
            start = start.max(self.taken[rank].1.next_multiple_of(self.chunk));
            rank += 1;
        }
        let end = start.checked_add(size).filter(|end| *end < 1 << 63)?;
        self.taken.insert(rank, (start, end));
        self.join_at(rank + 1);
        self.join_at(rank);
        Some(start)
    }

    /// Makes the ranges before and at `rank` one if they touch.
    fn join_at(&mut self, rank: usize) {
        if rank > 0 && rank < self.taken.len() && self.taken[rank - 1].1 == self.taken[rank].0 {
            self.taken[rank - 1].1 = self.taken[rank].1;
            self.taken.remove(rank);
        }
    }

    /// Gives back what was taken for a mapping of this size.
    pub(super) fn give_back(&mut self, start: u64, size: u64) {
        self.give_back_until(start, (start + size).next_multiple_of(self.chunk));
    }

    /// Gives the addresses from one on back, up to another one of its chunk or of a later one. What is behind a mapping, in
    /// its last chunk, may have been given back before.
    pub(super) fn give_back_until(&mut self, from: u64, to: u64) {
        let rank = self.taken.partition_point(|(_, end)| *end <= from);
        let (first, last) = self.taken[rank];
        debug_assert!(
            first <= from && to <= last.next_multiple_of(self.chunk),
            "only what is taken goes back"
        );
        let rest = [(first, from), (to, last)];
        self.taken.splice(rank..=rank, rest.into_iter().filter(|(start, end)| start < end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_gap_that_is_large_enough() {
        let mut space = AddressSpace::new(10);
        let base = space.first();
        let take = |space: &mut AddressSpace, size| space.take(size).map(|start| start - base);
        assert_eq!([25, 10, 7].map(|size| take(&mut space, size)), [Some(0), Some(30), Some(40)]);
        space.give_back(base + 10, 10);
        assert_eq!(take(&mut space, 11), Some(50), "a gap of one unit does not hold two");
        assert_eq!(take(&mut space, 10), Some(10));
        assert_eq!(space.taken.len(), 1);
        space.give_back(base, 25);
        space.give_back(base + 40, 7);
        assert_eq!(take(&mut space, 30), Some(0));
        assert_eq!(take(&mut space, u64::MAX), None);
    }

    #[test]
    fn a_chunk_is_taken_again_once_all_of_it_went_back() {
        let mut space = AddressSpace::new(10);
        let base = space.first();
        assert_eq!(space.take(27), Some(base));
        space.give_back_until(base + 4, base + 8);
        space.give_back_until(base + 24, base + 30);
        space.give_back_until(base, base + 4);
        assert_eq!(
            space.take(1),
            Some(base + 30),
            "8 and 9 of the first, 20 to 23 of the last chunk are taken"
        );
        // To the end of its chunk, the rest of which went back before.
        space.give_back_until(base + 20, base + 30);
        assert_eq!(space.take(1), Some(base + 20));
        space.give_back_until(base + 8, base + 10);
        assert_eq!(space.take(1), Some(base));
    }
}
