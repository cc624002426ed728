//! The clocks of past operations, for the frees that an allocator may still make somebody wait for, and for what is to be
//! told when an operation ends.
//!
//! A stream's clock, its own counter aside, changes only at waits; so it is kept at the operations where it changed.
//! An observed free is never waited for, and of the others the allocator knows which it still holds: both let go of clocks.

use crate::base::{fold, reuse_on_clone};
use crate::trace::{Cut, Ticket, join};

/// The clocks of past operations.
#[derive(Debug)]
pub(super) struct History {
    lanes: Vec<Changes>,
    kept: usize,
    sweep_at: usize,
}

/// Where the clock of one stream changed: ascending operations, and a row of `clocks` for each.
#[derive(Debug, Default)]
struct Changes {
    from: Vec<u32>,
    clocks: Vec<u32>,
}

impl Clone for Changes {
    fn clone(&self) -> Self {
        Self { from: self.from.clone(), clocks: self.clocks.clone() }
    }
    fn clone_from(&mut self, source: &Self) {
        // The clocks of many streams never change.
        if self.from.len() + source.from.len() > 0 {
            self.from.clone_from(&source.from);
            self.clocks.clone_from(&source.clocks);
        }
    }
}

reuse_on_clone!(History { lanes, kept, sweep_at });

const SWEEP_AT_LEAST: usize = 256;

impl History {
    pub(super) fn new(width: usize) -> Self {
        Self { lanes: (0..width).map(|_| Changes::default()).collect(), kept: 0, sweep_at: SWEEP_AT_LEAST }
    }

    /// From this operation on, the stream has this clock.
    pub(super) fn push(&mut self, at: Ticket, clock: &Cut) {
        let lane = &mut self.lanes[at.stream.index()];
        lane.from.push(at.seq);
        lane.clocks.extend_from_slice(clock);
        self.kept += 1;
    }

    /// What other streams are ordered before an operation, if any ever were.
    fn row(&self, at: Ticket) -> Option<&Cut> {
        let lane = &self.lanes[at.stream.index()];
        let row = lane.from.partition_point(|from| *from <= at.seq).checked_sub(1)?;
        let width = self.lanes.len();
        Some(&lane.clocks[row * width..(row + 1) * width])
    }

    /// Joins what is ordered before the end of an operation, itself included.
    pub(super) fn join_into(&self, at: Ticket, into: &mut Cut) {
        if let Some(row) = self.row(at) {
            let own = into[at.stream.index()];
            join(into, row);
            into[at.stream.index()] = own;
        }
        let own = &mut into[at.stream.index()];
        *own = (*own).max(at.seq);
    }

    /// Hashes what is ordered before the end of an operation, itself included, behind a digest.
    pub(super) fn digest(&self, at: Ticket, digest: u128) -> u128 {
        let own = at.stream.index();
        let word = |stream: usize, seq: u32| (stream as u64) << 32 | u64::from(seq);
        let others = self.row(at).unwrap_or_default().iter().enumerate();
        let others = others.filter(|(stream, seq)| *stream != own && **seq > 0);
        // Each operation begins with its own word, which no other word can be.
        let digest = fold(digest, &[word(own, at.seq) | 1 << 63]);
        others.fold(digest, |digest, (stream, seq)| fold(digest, &[word(stream, *seq)]))
    }

    /// No operation within this cut is asked about any more.
    pub(super) fn forget_observed(&mut self, observed: &Cut) {
        let width = observed.len();
        for (lane, observed) in self.lanes.iter_mut().zip(observed) {
            let reached = lane.from.partition_point(|from| *from <= observed.saturating_add(1));
            if let Some(drop @ 1..) = reached.checked_sub(1) {
                lane.from.drain(..drop);
                lane.clocks.drain(..drop * width);
                self.kept -= drop;
            }
        }
    }

    /// How many counters are kept.
    pub(super) fn counters(&self) -> usize {
        self.kept * self.lanes.len()
    }

    pub(super) fn wants_sweep(&self) -> bool {
        self.kept > self.sweep_at
    }

    /// Keeps, of each stream, the rows that `pending` tickets need, and the latest one.
    pub(super) fn sweep(&mut self, pending: &mut [Ticket]) {
        pending.sort_unstable();
        let width = self.lanes.len();
        let mut rest = &*pending;
        self.kept = 0;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            let own = rest.partition_point(|ticket| ticket.stream.index() <= index);
            let (mut tickets, others) = rest.split_at(own);
            rest = others;
            let mut kept = 0;
            for row in 0..lane.from.len() {
                let earlier = tickets.partition_point(|ticket| ticket.seq < lane.from[row]);
                tickets = &tickets[earlier..];
                let until = lane.from.get(row + 1).copied();
                let asks = |until| tickets.first().is_some_and(|ticket| ticket.seq < until);
                if until.is_none_or(asks) {
                    lane.from[kept] = lane.from[row];
                    lane.clocks.copy_within(row * width..(row + 1) * width, kept * width);
                    kept += 1;
                }
            }
            lane.from.truncate(kept);
            lane.clocks.truncate(kept * width);
            self.kept += kept;
        }
        self.sweep_at = SWEEP_AT_LEAST.max(2 * self.kept).max(self.kept + pending.len());
    }
}
