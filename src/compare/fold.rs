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
    /// The latest difference in how a call ends or what it gets, and whether it is the first of its kind.
    latest: Option<(Key, What, Class, bool)>,
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
        if matches!(what, What::Memory | What::Outcome) {
            self.latest = Some((key, what, class, is_first));
        }
    }

    /// Whether what a pool held behind a call belongs to a difference of that call: then it is noted there, if it is the first
    /// such pool.
    pub(super) fn holds(&mut self, key: Key, held: Held) -> bool {
        let Some((_, what, class, is_first)) = self.latest.filter(|(latest, ..)| *latest == key) else {
            return false;
        };
        let place = self.places.get(&(key.stmt, what, class)).filter(|_| is_first);
        let noted = place.map(|place| &mut self.found[*place].1.held);
        if let Some(noted) = noted {
            if noted.is_some() {
                return false;
            }
            *noted = Some(held);
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
