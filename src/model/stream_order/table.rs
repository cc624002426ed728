//! A hash table from words to numbers: open addressing with linear probing, and no marks left behind by what is removed.
//!
//! It is one flat vector, so that a copy needs no heap and memory is bounded by the most entries there ever were at once.
//! The order of [`Table::iter`] depends on the past: sort what it gives.

use crate::base::reuse_on_clone;

/// The value that no entry may have.
const VACANT: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: u64,
    value: usize,
}

#[derive(Debug, Default)]
pub(super) struct Table {
    /// None, or a power of two of them, of which a quarter is vacant.
    slots: Vec<Slot>,
    len: usize,
}

reuse_on_clone!(Table { slots, len });

impl Table {
    pub(super) fn get(&self, key: u64) -> Option<usize> {
        self.find(key).map(|at| self.slots[at].value)
    }

    /// Sets the value of a key, whether it has one or not.
    pub(super) fn insert(&mut self, key: u64, value: usize) {
        *self.get_or_insert(key, value) = value;
    }

    /// The value of a key, which is `value` if it had none.
    pub(super) fn get_or_insert(&mut self, key: u64, value: usize) -> &mut usize {
        debug_assert_ne!(value, VACANT, "stands for no entry");
        if self.len * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let at = self.seek(key);
        let slot = &mut self.slots[at];
        if slot.value == VACANT {
            *slot = Slot { key, value };
            self.len += 1;
        }
        &mut slot.value
    }

    pub(super) fn remove(&mut self, key: u64) -> Option<usize> {
        let at = self.find(key)?;
        let value = self.slots[at].value;
        self.close(at);
        self.len -= 1;
        Some(value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        let filled = self.slots.iter().filter(|slot| slot.value != VACANT);
        filled.map(|slot| (slot.key, slot.value))
    }

    fn find(&self, key: u64) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let at = self.seek(key);
        (self.slots[at].value != VACANT).then_some(at)
    }

    /// The slot of a key, or the vacant one where it would go.
    fn seek(&self, key: u64) -> usize {
        let mut at = self.home(key);
        loop {
            let slot = self.slots[at];
            if slot.value == VACANT || slot.key == key {
                return at;
            }
            at = self.wrap(at + 1);
        }
    }

    /// Where the search for a key begins. Keys tend to differ in a few bits somewhere in the middle; both halves of the
    /// product together are moved by each of them.
    fn home(&self, key: u64) -> usize {
        let wide = u128::from(key) * 0x9e37_79b9_7f4a_7c15;
        self.wrap(((wide >> 64) as u64 ^ wide as u64) as usize)
    }

    fn wrap(&self, at: usize) -> usize {
        at & (self.slots.len() - 1)
    }

    /// Makes a slot vacant and moves up those behind it that a search would no longer reach.
    fn close(&mut self, mut hole: usize) {
        let mut at = hole;
        loop {
            at = self.wrap(at + 1);
            let slot = self.slots[at];
            if slot.value == VACANT {
                break;
            }
            let from_home = self.wrap(at.wrapping_sub(self.home(slot.key)));
            if from_home >= self.wrap(at.wrapping_sub(hole)) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole].value = VACANT;
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(8);
        let old = std::mem::replace(&mut self.slots, vec![Slot { key: 0, value: VACANT }; len]);
        for slot in old.into_iter().filter(|slot| slot.value != VACANT) {
            let at = self.seek(slot.key);
            self.slots[at] = slot;
        }
    }
}
