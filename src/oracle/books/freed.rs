//! Freed memory of pools by its addresses: whose bytes an allocation really gets.

use crate::base::Bytes;
use crate::trace::{AllocId, Decision, Range};
use std::collections::{BTreeMap, BTreeSet};

/// What was freed and not handed out again.
#[derive(Clone, Debug, Default)]
pub(super) struct Freed {
    by_start: BTreeMap<u64, Piece>,
    /// How often memory went back to a device.
    releases: u32,
}

/// What was freed, by its first address.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The address after its last one.
    end: u64,
    alloc: AllocId,
    /// How often memory had gone back to a device when it was freed: another time it may have been this.
    releases: u32,
}

/// What lay in a range.
#[derive(Debug, Default)]
struct Taken {
    sizes: BTreeMap<AllocId, u64>,
    /// Those of them that may have gone back to a device, so that their addresses are nobody's.
    may_be_gone: BTreeSet<AllocId>,
}

impl Freed {
    /// An allocation is freed.
    pub(super) fn insert(&mut self, range: Range, alloc: AllocId) {
        self.cut_out(range);
        self.by_start.insert(range.start, Piece { end: range.end(), alloc, releases: self.releases });
    }

    /// Physical memory of some pool went back to a device.
    pub(super) fn released(&mut self) {
        self.releases += 1;
    }

    /// An allocation is placed; says whether it takes the bytes that it says it takes.
    pub(super) fn take(&mut self, decision: &Decision) -> bool {
        let mut told: BTreeMap<AllocId, u64> = BTreeMap::new();
        for part in &decision.takes {
            *told.entry(part.alloc).or_default() += part.size.0;
        }
        if decision.unmapped > Bytes::ZERO {
            self.released();
        }
        let Taken { mut sizes, may_be_gone } = self.cut_out(decision.range);
        sizes.retain(|alloc, _| told.contains_key(alloc) || !may_be_gone.contains(alloc));
        sizes == told
    }

    /// Takes out what lies in a range; what is left of it on both sides stays. Returns how many bytes of whom.
    fn cut_out(&mut self, range: Range) -> Taken {
        let mut taken = Taken::default();
        while let Some((start, piece)) = self.by_start.range(..range.end()).next_back() {
            let (start, piece) = (*start, *piece);
            let Piece { end, alloc, releases } = piece;
            if end <= range.start {
                break;
            }
            self.by_start.remove(&start);
            if start < range.start {
                self.by_start.insert(start, Piece { end: range.start, ..piece });
            }
            if end > range.end() {
                self.by_start.insert(range.end(), piece);
            }
            *taken.sizes.entry(alloc).or_default() += end.min(range.end()) - start.max(range.start);
            if releases < self.releases {
                taken.may_be_gone.insert(alloc);
            }
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Part;

    fn id(serial: u32) -> AllocId {
        AllocId { slot: serial, serial }
    }

    fn range(start: u64, size: u64) -> Range {
        Range { start, size: Bytes(size) }
    }

    #[test]
    fn what_is_taken_is_what_lay_there() {
        let mut freed = Freed::default();
        freed.insert(range(0, 10), id(1));
        freed.insert(range(10, 10), id(2));
        let decision = |at: Range, takes: &[(u32, u64)]| {
            let takes = takes.iter().map(|(alloc, size)| Part { alloc: id(*alloc), size: Bytes(*size) });
            Decision {
                takes: takes.collect(),
                reuses: Some(id(1)),
                ..Decision::plain(id(9), at, at.size, Bytes::ZERO)
            }
        };
        assert!(!freed.clone().take(&decision(range(5, 10), &[(1, 5)])));
        assert!(!freed.clone().take(&decision(range(5, 10), &[(1, 4), (2, 6)])));
        assert!(freed.take(&decision(range(5, 10), &[(1, 5), (2, 5)])));
        assert!(!freed.clone().take(&decision(range(0, 6), &[(1, 6)])));
        assert!(freed.take(&decision(range(0, 5), &[(1, 5)])));
        assert!(freed.take(&decision(range(15, 5), &[(2, 5)])));
        assert!(freed.by_start.is_empty());
    }

    #[test]
    fn what_went_back_to_a_device_is_nobodys() {
        let mut freed = Freed::default();
        freed.insert(range(0, 10), id(1));
        let new = Decision::plain(id(9), range(0, 4), Bytes(4), Bytes::ZERO);
        assert!(!freed.clone().take(&new), "it takes bytes that it does not tell");
        freed.released();
        assert!(freed.take(&new));
        freed.insert(range(0, 4), id(9));
        let takes = [Part { alloc: id(9), size: Bytes(4) }];
        let merged = Decision {
            takes: takes.into_iter().collect(),
            ..Decision::plain(id(10), range(0, 8), Bytes(8), Bytes::ZERO)
        };
        assert!(freed.take(&merged), "4 bytes of it were mapped again");
    }
}
