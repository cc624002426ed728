//! The virtual address space of all devices, handed out in whole units, lowest first.

use crate::base::reuse_on_clone;

/// Where the first chunk goes. Any multiple of the growth unit would do; this one looks like an address of a driver.
const BASE: u64 = 0x3_0200_0000;

/// Which units are taken.
#[derive(Debug)]
pub(super) struct AddressSpace {
    unit: u64,
    /// Taken ranges of units, ascending, with a gap between any two.
    taken: Vec<(u64, u64)>,
}

reuse_on_clone!(AddressSpace { unit, taken });

impl AddressSpace {
    pub(super) fn new(unit: u64) -> Self {
        Self { unit, taken: Vec::new() }
    }

    /// The first unit's number.
    fn first(&self) -> u64 {
        BASE.div_ceil(self.unit)
    }

    /// The address of the lowest gap of at least `size` bytes, and takes its units; `None` when there is none below 2^63.
    pub(super) fn take(&mut self, size: u64) -> Option<u64> {
        let units = size.div_ceil(self.unit);
        let mut start = self.first();
        let mut rank = 0;
        while rank < self.taken.len() && self.taken[rank].0 - start < units {
            start = self.taken[rank].1;
            rank += 1;
        }
        let end = start.checked_add(units).filter(|end| *end < (1 << 63) / self.unit)?;
        self.taken.insert(rank, (start, end));
        self.join_at(rank + 1);
        self.join_at(rank);
        Some(start * self.unit)
    }

    /// Makes the ranges before and at `rank` one if they touch.
    fn join_at(&mut self, rank: usize) {
        if rank > 0 && rank < self.taken.len() && self.taken[rank - 1].1 == self.taken[rank].0 {
            self.taken[rank - 1].1 = self.taken[rank].1;
            self.taken.remove(rank);
        }
    }

    /// Gives the units of a mapped range back.
    pub(super) fn give_back(&mut self, start: u64, size: u64) {
        let (from, to) = (start / self.unit, (start + size).div_ceil(self.unit));
        let rank = self.taken.partition_point(|(_, end)| *end <= from);
        let (first, last) = self.taken[rank];
        debug_assert!(first <= from && to <= last, "only what is taken is given back");
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
        let base = space.first() * 10;
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
}
