//! Cuts that are kept together, so that a copy of all of them is one, and a hash as well.

use crate::base::{fold_counters, reuse_on_clone};
use crate::trace::Cut;

/// Cuts of equal width, one after the other.
#[derive(Debug)]
pub(super) struct Clocks {
    width: usize,
    counters: Vec<u32>,
}

reuse_on_clone!(Clocks { width, counters });

impl Clocks {
    /// So many empty ones.
    pub(super) fn new(count: usize, width: usize) -> Self {
        Self { width, counters: vec![0; count * width] }
    }

    pub(super) fn get(&self, at: usize) -> &Cut {
        &self.counters[at * self.width..][..self.width]
    }

    pub(super) fn get_mut(&mut self, at: usize) -> &mut Cut {
        &mut self.counters[at * self.width..][..self.width]
    }

    /// A hash of the first ones.
    pub(super) fn digest(&self, count: usize) -> u128 {
        fold_counters(0, &self.counters[..count * self.width])
    }

    /// Makes one of them the same as another one.
    pub(super) fn copy(&mut self, from: usize, into: usize) {
        let from = from * self.width;
        self.counters.copy_within(from..from + self.width, into * self.width);
    }

    /// Joins one of them into another one.
    pub(super) fn join(&mut self, from: usize, into: usize) {
        for (from, into) in (from * self.width..).zip(into * self.width..).take(self.width) {
            self.counters[into] = self.counters[into].max(self.counters[from]);
        }
    }
}
