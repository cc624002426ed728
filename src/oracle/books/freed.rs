//! Freed memory of pools by its addresses: whose bytes an allocation really gets.

use crate::trace::{AllocId, Decision, Range};
use std::collections::BTreeMap;

/// What was freed and not handed out again.
#[derive(Clone, Debug, Default)]
pub(super) struct Freed {
    /// By its first address, the address after its last one and the allocation that it was.
    by_start: BTreeMap<u64, (u64, AllocId)>,
}

impl Freed {
    /// An allocation is freed.
    pub(super) fn insert(&mut self, range: Range, alloc: AllocId) {
        self.cut_out(range);
        self.by_start.insert(range.start, (range.end(), alloc));
    }

    /// An allocation is placed; says whether it takes the bytes that it says it takes.
    pub(super) fn take(&mut self, decision: &Decision) -> bool {
        let mut told: BTreeMap<AllocId, u64> = BTreeMap::new();
        for part in &decision.takes {
            *told.entry(part.alloc).or_default() += part.size.0;
        }
        let taken = self.cut_out(decision.range);
        // What went back to the device and was mapped again is nobody's.
        let is_new = decision.takes.is_empty();
        taken == told || is_new && decision.reuses.is_none()
    }

    /// Takes out what lies in a range; what is left of it on both sides stays. Returns how many bytes of whom.
    fn cut_out(&mut self, range: Range) -> BTreeMap<AllocId, u64> {
        let mut taken = BTreeMap::new();
        while let Some((start, (end, alloc))) = self.by_start.range(..range.end()).next_back() {
            let (start, end, alloc) = (*start, *end, *alloc);
            if end <= range.start {
                break;
            }
            self.by_start.remove(&start);
            if start < range.start {
                self.by_start.insert(start, (range.start, alloc));
            }
            if end > range.end() {
                self.by_start.insert(range.end(), (end, alloc));
            }
            *taken.entry(alloc).or_default() += end.min(range.end()) - start.max(range.start);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Bytes;
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
}
