//! A sorted index of ranges by size, then address: best fit, lowest address first.
//!
//! Entries lie in small buckets in one arena, so that a copy is flat and an insertion moves at most one bucket.

/// A range on a shelf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) size: u64,
    pub(super) start: u64,
    /// No free in the range is later than this, in the counter of its stream. 0 where that has to be looked up.
    pub(super) latest: u32,
    /// The first tile of the range.
    pub(super) head: u32,
}

impl Entry {
    fn key(&self) -> u128 {
        key(self.size, self.start)
    }
}

/// What entries are sorted by.
const fn key(size: u64, start: u64) -> u128 {
    (size as u128) << 64 | start as u128
}

const BUCKET: usize = 32;
const STRIDE: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Shelf {
    /// The buckets in order of their entries, none of them empty, unless it is the only one; then those that are spare.
    order: Vec<u32>,
    buckets: Vec<Bucket>,
    used: usize,
    /// How many entries there are.
    len: usize,
}

impl Clone for Shelf {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }
    #[inline]
    fn clone_from(&mut self, source: &Self) {
        // Most shelves are empty: then all buckets are spare ones.
        if source.len == 0 {
            (self.used, self.len) = (0, 0);
        } else {
            self.fill_from(source);
        }
    }
}

#[derive(Debug)]
struct Bucket {
    len: usize,
    /// No entry has a lower `latest`.
    earliest: u32,
    entries: [Entry; BUCKET],
}

impl Clone for Bucket {
    fn clone(&self) -> Self {
        Self { len: self.len, earliest: self.earliest, entries: self.entries }
    }
    fn clone_from(&mut self, source: &Self) {
        (self.len, self.earliest) = (source.len, source.earliest);
        self.entries[..source.len].copy_from_slice(source.filled());
    }
}

impl Bucket {
    fn filled(&self) -> &[Entry] {
        &self.entries[..self.len]
    }

    fn insert(&mut self, at: usize, entry: Entry) {
        self.entries.copy_within(at..self.len, at + 1);
        self.entries[at] = entry;
        self.len += 1;
        self.earliest = self.earliest.min(entry.latest);
    }

    fn remove(&mut self, at: usize) {
        let latest = self.entries[at].latest;
        self.entries.copy_within(at + 1..self.len, at);
        self.len -= 1;
        // Where some have to be looked up, there will be others.
        if latest == self.earliest && latest > 0 {
            self.refresh();
        }
    }

    fn refresh(&mut self) {
        self.earliest = self.filled().iter().map(|entry| entry.latest).min().unwrap_or(u32::MAX);
    }
}

impl Shelf {
    /// The first entry of at least this size, smallest first, equal sizes by address.
    pub(super) fn at_least(&self, size: u64) -> Option<&Entry> {
        self.find(size, u32::MAX, |_| true)
    }

    /// The first entry of at least this size, smallest first, equal sizes by address, whose `latest` is not after `until` and
    /// that `is_meant`.
    pub(super) fn find(&self, size: u64, until: u32, is_meant: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        if self.len == 0 {
            return None;
        }
        let order = self.order();
        let first = self.rank(order, key(size, 0));
        let early = order[first..].iter().map(|bucket| &self.buckets[*bucket as usize]);
        early.filter(|bucket| bucket.earliest <= until).find_map(|bucket| {
            let mut entries = bucket.filled().iter();
            entries.find(|entry| entry.size >= size && entry.latest <= until && is_meant(entry))
        })
    }

    /// The lowest entry of exactly this size whose `latest` is not after `until`.
    pub(super) fn exact(&self, size: u64, until: u32) -> Option<&Entry> {
        let settles = |entry: &Entry| entry.size != size || entry.latest <= until;
        self.find(size, u32::MAX, settles).filter(|entry| entry.size == size)
    }

    pub(super) fn insert(&mut self, entry: Entry) {
        if self.used == 0 {
            self.open(0);
        }
        self.len += 1;
        let (rank, at) = self.position(entry.key());
        let index = self.order[rank] as usize;
        if self.buckets[index].len < BUCKET {
            self.buckets[index].insert(at, entry);
            return;
        }
        let upper = self.open(rank + 1);
        let half = BUCKET / 2;
        let moved = self.buckets[index].entries;
        self.buckets[index].len = half;
        self.buckets[upper as usize].len = BUCKET - half;
        self.buckets[upper as usize].entries[..BUCKET - half].copy_from_slice(&moved[half..]);
        self.buckets[index].refresh();
        self.buckets[upper as usize].refresh();
        match at.checked_sub(half) {
            Some(at @ 1..) => self.buckets[upper as usize].insert(at, entry),
            _ => self.buckets[index].insert(at, entry),
        }
    }

    pub(super) fn remove(&mut self, size: u64, start: u64) {
        let (rank, at) = self.position(key(size, start));
        let index = self.order[rank];
        let bucket = &mut self.buckets[index as usize];
        assert!(bucket.entries[at].key() == key(size, start), "only what is on the shelf is taken off it");
        bucket.remove(at);
        self.len -= 1;
        if bucket.len == 0 && self.used > 1 {
            self.order[rank..self.used].rotate_left(1);
            self.used -= 1;
        }
    }

    /// The rank of the bucket and the place in it of the first entry that is not below the key; behind the last one where
    /// there is none.
    fn position(&self, key: u128) -> (usize, usize) {
        let rank = self.rank(self.order(), key);
        let entries = self.bucket(self.order[rank]);
        let is_below = |at: usize| entries[at].key() < key;
        // Most buckets have few entries, which a walk is the fastest way through.
        let mut at = 0;
        while at + STRIDE <= entries.len() && is_below(at + STRIDE - 1) {
            at += STRIDE;
        }
        while at < entries.len() && is_below(at) {
            at += 1;
        }
        (rank, at)
    }

    /// The rank of the bucket of the first entry that is not below the key; the last one where there is none.
    #[inline]
    fn rank(&self, order: &[u32], key: u128) -> usize {
        // Most have one bucket.
        let [before_last @ .., _] = order else { return 0 };
        if before_last.is_empty() {
            return 0;
        }
        let is_below = |bucket: &u32| self.bucket(*bucket).last().is_some_and(|last| last.key() < key);
        before_last.partition_point(is_below)
    }

    /// Becomes a copy of one that has entries.
    fn fill_from(&mut self, source: &Self) {
        (self.used, self.len) = (source.used, source.len);
        self.order.clone_from(&source.order);
        self.buckets.clone_from(&source.buckets);
    }

    fn bucket(&self, index: u32) -> &[Entry] {
        self.buckets[index as usize].filled()
    }

    /// The buckets in use.
    fn order(&self) -> &[u32] {
        &self.order[..self.used]
    }

    /// Makes an empty bucket the one of this rank.
    fn open(&mut self, rank: usize) -> u32 {
        if self.used == self.order.len() {
            self.order.push(self.buckets.len() as u32);
            self.buckets.push(Bucket { len: 0, earliest: u32::MAX, entries: [Entry::default(); BUCKET] });
        }
        self.order[rank..=self.used].rotate_right(1);
        self.used += 1;
        let bucket = self.order[rank];
        let opened = &mut self.buckets[bucket as usize];
        (opened.len, opened.earliest) = (0, u32::MAX);
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Draws;
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    fn pair(entry: &Entry) -> (u64, u64) {
        (entry.size, entry.start)
    }

    /// All entries of at least this size whose `latest` is not after `until`.
    fn entries(shelf: &Shelf, size: u64, until: u32) -> Vec<(u64, u64)> {
        let found = RefCell::new(Vec::new());
        let none = shelf.find(size, until, |entry| {
            found.borrow_mut().push(pair(entry));
            false
        });
        assert!(none.is_none());
        found.into_inner()
    }

    #[test]
    fn agrees_with_a_tree_set() {
        let mut draws = Draws::new(1, 0);
        let mut shelf = Shelf::default();
        let mut set = BTreeSet::new();
        let mut copy = Shelf::default();
        for step in 0..20_000u64 {
            let phase_grows = step / 2_500 % 2 == 0;
            if set.is_empty() || draws.below(10) < if phase_grows { 7 } else { 3 } {
                let (size, start) = (draws.between(1, 40), draws.between(0, 1 << 40));
                if set.insert((size, start)) {
                    shelf.insert(Entry { size, start, latest: (start % 1_000) as u32, head: 0 });
                }
            } else {
                let pick = (draws.between(1, 40), draws.between(0, 1 << 40));
                let (size, start) =
                    *set.range(pick..).next().unwrap_or_else(|| set.first().expect("not empty"));
                set.remove(&(size, start));
                shelf.remove(size, start);
            }
            if step % 64 == 0 {
                let size = draws.between(0, 42);
                copy.clone_from(&shelf);
                assert!(entries(&copy, size, u32::MAX).iter().eq(set.range((size, 0)..)));
                assert_eq!(copy.at_least(size).map(pair).as_ref(), set.range((size, 0)..).next());
                let until = draws.between(0, 1_000);
                let mut early = set.range((size, 0)..).filter(|(_, start)| start % 1_000 <= until);
                assert!(entries(&copy, size, until as u32).iter().eq(early.clone()));
                let exact = early.next().filter(|(first, _)| *first == size);
                assert_eq!(copy.exact(size, until as u32).map(pair).as_ref(), exact);
            }
        }
    }

    #[test]
    fn a_copy_of_an_empty_shelf_forgets_what_it_had() {
        let entry = |size| Entry { size, start: 0, latest: 1, head: 0 };
        let (mut full, mut emptied) = (Shelf::default(), Shelf::default());
        (1..=100).for_each(|size| full.insert(entry(size)));
        emptied.insert(entry(1));
        emptied.remove(1, 0);
        for empty in [Shelf::default(), emptied] {
            let mut copy = full.clone();
            copy.clone_from(&empty);
            assert_eq!(entries(&copy, 0, u32::MAX), []);
            (1..=70).rev().for_each(|size| copy.insert(entry(size)));
            assert!(entries(&copy, 0, u32::MAX).into_iter().eq((1..=70).map(|size| (size, 0))));
        }
    }
}
