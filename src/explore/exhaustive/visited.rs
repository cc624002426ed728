//! The states that have been seen, as hashes: 16 bytes each, and as much again in room for more.

/// A set of hashes. That two states have one hash, so that one of them is left out, has a chance of 1 in 10^20 among a billion.
#[derive(Debug, Default)]
pub(super) struct Visited {
    /// A power of two of places; 0 is an empty one.
    places: Vec<u128>,
    len: usize,
}

impl Visited {
    /// Adds a hash; says whether it is new.
    pub(super) fn insert(&mut self, hash: u128) -> bool {
        if self.len * 4 >= self.places.len() * 3 {
            self.grow();
        }
        let hash = hash.max(1);
        let at = self.place(hash);
        let is_new = self.places[at] == 0;
        self.places[at] = hash;
        self.len += usize::from(is_new);
        is_new
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    fn place(&self, hash: u128) -> usize {
        let mask = self.places.len() - 1;
        let mut at = (hash as usize ^ (hash >> 64) as usize) & mask;
        while self.places[at] != 0 && self.places[at] != hash {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(64);
        let old = std::mem::replace(&mut self.places, vec![0; size]);
        for hash in old.into_iter().filter(|hash| *hash != 0) {
            let at = self.place(hash);
            self.places[at] = hash;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::mix;
    use std::collections::BTreeSet;

    #[test]
    fn agrees_with_a_tree_set() {
        let (mut visited, mut set) = (Visited::default(), BTreeSet::new());
        for nth in 0..20_000u64 {
            let hash = mix(&[nth * nth % 9_973]);
            assert_eq!(visited.insert(hash), set.insert(hash));
        }
        assert_eq!(visited.len(), set.len());
        assert!(visited.insert(0) && !visited.insert(0));
        assert!(visited.places.len() * 16 <= 64 * visited.len());
    }
}
