//! The differences found so far: those that are the same again are counted.

use super::comparison::{Class, Difference, Held, What};
use super::trace::Key;
use crate::base::StmtId;
use std::collections::BTreeMap;

/// The differences by statement, by what is different, and by how it was judged.
#[derive(Debug, Default)]
pub(super) struct Folded {
    places: BTreeMap<(StmtId, What, Class), usize>,
    found: Vec<(u64, Difference)>,
    /// The latest difference of an allocation, and whether it is the first of its kind.
    latest: Option<(Key, Class, bool)>,
}

impl Folded {
    /// Adds one.
    pub(super) fn add(&mut self, rank: u64, difference: Difference) {
        let Difference { key, what, class, .. } = difference;
        let place = *self.places.entry((key.stmt, what, class)).or_insert(self.found.len());
        let is_first = place == self.found.len();
        match self.found.get_mut(place) {
            Some((_, known)) => known.times += 1,
            None => self.found.push((rank, difference)),
        }
        if what == What::Memory {
            self.latest = Some((key, class, is_first));
        }
    }

    /// Whether what a pool held behind a call belongs to a difference of that call, an allocation: then it is noted there.
    pub(super) fn holds(&mut self, key: Key, held: Held) -> bool {
        let Some((_, class, is_first)) = self.latest.filter(|(latest, ..)| *latest == key) else {
            return false;
        };
        if is_first && let Some(place) = self.places.get(&(key.stmt, What::Memory, class)) {
            self.found[*place].1.held = Some(held);
        }
        true
    }

    /// All of them, in order.
    pub(super) fn finish(mut self) -> Vec<Difference> {
        self.found
            .sort_by_key(|(rank, difference)| (*rank, difference.key, difference.what, difference.class));
        self.found.into_iter().map(|(_, difference)| difference).collect()
    }
}
