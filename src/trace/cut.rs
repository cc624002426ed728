//! Progress as one counter a stream. Streams are first in, first out, so that is all there is to know.

use crate::base::StreamId;

/// The `seq`-th operation submitted to a stream, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The stream it was submitted to.
    pub stream: StreamId,
    /// Its place in that stream, from 1.
    pub seq: u32,
}

/// `cut[stream]` is how many of that stream's operations are in. Two cuts join by the maximum of each counter.
pub type Cut = [u32];

impl Ticket {
    /// Whether the cut contains this operation.
    pub fn within(self, cut: &Cut) -> bool {
        self.seq <= cut[self.stream.index()]
    }
}

/// Joins `from` into `into`; says whether that added anything.
pub fn join(into: &mut Cut, from: &Cut) -> bool {
    let mut changed = false;
    for (into, from) in into.iter_mut().zip(from) {
        changed |= *from > *into;
        *into = (*into).max(*from);
    }
    changed
}
