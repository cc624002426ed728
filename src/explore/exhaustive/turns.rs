//! In which order calls were made that mind each other, as a hash: with several host threads that is part of what tells two runs
//! apart, since what is ordered before what hangs on it even where every call is answered alike.
//!
//! Each thing has a version, the hash of the latest turn that changed it; the hash of a turn is that of the versions that it
//! meets. The sum over all turns is the same for two runs that differ only in turns that do not mind each other, and for no
//! others. Memory and the progress of devices are left out: what they come to, the answers tell.

use super::footprints::Footprint;
use crate::base::{fold, mix, reuse_on_clone, words};

/// The order of the turns of a run so far.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The latest change of each thing.
    versions: Vec<u128>,
    /// The latest turn that may have changed everything.
    all: u128,
    sum: u128,
}

reuse_on_clone!(Turns { versions, all, sum });

impl Turns {
    /// The hash of all turns so far.
    pub(super) fn sum(&self) -> u128 {
        self.sum
    }

    /// A thread has had a turn: at this place of the program, after so many of its calls had returned.
    pub(super) fn turn(&mut self, host: usize, place: usize, ordinal: u32, footprint: &Footprint) {
        let own = mix(&[host as u64, place as u64, u64::from(ordinal)]);
        if footprint.is_everything() {
            self.all = fold(own, &words(self.sum));
            self.sum = self.sum.wrapping_add(self.all);
            return;
        }
        let mut hash = own;
        for (nth, (thing, _)) in footprint.things().enumerate() {
            hash = if nth == 0 { fold(hash, &words(self.all)) } else { hash };
            let version = self.versions.get(thing).copied().unwrap_or_default();
            hash = fold(hash, &words(version));
        }
        for (thing, _) in footprint.things().filter(|(_, changes)| *changes) {
            if self.versions.len() <= thing {
                self.versions.resize(thing + 1, 0);
            }
            self.versions[thing] = hash;
        }
        self.sum = self.sum.wrapping_add(hash);
    }
}
