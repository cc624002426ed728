//! Devices that get as far as they are told: progress without time.

use crate::base::{HostId, Nanos, StmtId, StreamId, reuse_on_clone};
use crate::engine::{Chooser, Progress};
use crate::trace::{Cut, Law, Ticket};

/// Progress up to a cut that is known to be complete, the floor.
#[derive(Debug)]
pub(super) struct Frontier {
    /// What has completed.
    done: Vec<u32>,
    /// Of each stream, how much more may.
    left: Vec<u32>,
    /// The streams with an operation that has started.
    running: Vec<StreamId>,
    /// How many streams may get further.
    behind: usize,
}

reuse_on_clone!(Frontier { done, left, running, behind });

impl Frontier {
    pub(super) fn new(streams: usize) -> Self {
        Self { done: vec![0; streams], left: vec![0; streams], running: Vec::new(), behind: 0 }
    }

    /// Everything in the cut may complete.
    pub(super) fn reach(&mut self, cut: &Cut) {
        for ((left, done), seq) in self.left.iter_mut().zip(&self.done).zip(cut) {
            *left = (*left).max(seq.saturating_sub(*done));
        }
        self.count();
    }

    /// An operation and those before it in its stream may complete.
    pub(super) fn reach_ticket(&mut self, ticket: Ticket) {
        let at = ticket.stream.index();
        self.left[at] = self.left[at].max(ticket.seq.saturating_sub(self.done[at]));
        self.count();
    }

    /// Everything may complete.
    pub(super) fn reach_all(&mut self) {
        self.left.fill(u32::MAX);
        self.count();
    }

    /// The first stream to have started of those that may get further does.
    fn complete(&mut self) -> Option<StreamId> {
        let rank = self.running.iter().position(|stream| self.left[stream.index()] > 0)?;
        let stream = self.running.remove(rank);
        self.done[stream.index()] += 1;
        let left = &mut self.left[stream.index()];
        *left -= 1;
        self.behind -= usize::from(*left == 0);
        Some(stream)
    }

    fn count(&mut self) {
        self.behind = self.left.iter().filter(|left| **left > 0).count();
    }
}

impl Progress for Frontier {
    fn done(&self) -> &Cut {
        &self.done
    }

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn started(&mut self, ticket: Ticket, _: Nanos) {
        self.running.push(ticket.stream);
    }

    #[inline]
    fn next(&mut self, _: Option<Nanos>) -> Option<StreamId> {
        if self.behind == 0 { None } else { self.complete() }
    }

    fn wait_until(&mut self, _: Nanos) {}
}

/// Durations do not exist, and nobody asks who is first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Untimed;

impl Chooser for Untimed {
    fn duration(&mut self, _: StmtId, _: &Law) -> Nanos {
        Nanos::ZERO
    }

    fn pick(&mut self, _: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        0
    }
}
