//! Devices that get as far as they are told: progress without time.

use crate::base::{HostId, Nanos, StmtId, StreamId, reuse_on_clone};
use crate::engine::{Chooser, Progress};
use crate::trace::{Cut, Law, Ticket, join};

/// Progress up to a cut that is known to be complete, the floor.
#[derive(Debug)]
pub(super) struct Frontier {
    /// What may complete.
    goal: Vec<u32>,
    /// What has.
    done: Vec<u32>,
    /// The streams with an operation that has started.
    running: Vec<StreamId>,
}

reuse_on_clone!(Frontier { goal, done, running });

impl Frontier {
    pub(super) fn new(streams: usize) -> Self {
        Self { goal: vec![0; streams], done: vec![0; streams], running: Vec::new() }
    }

    /// Everything in the cut may complete.
    pub(super) fn reach(&mut self, cut: &Cut) {
        join(&mut self.goal, cut);
    }

    /// An operation and those before it in its stream may complete.
    pub(super) fn reach_ticket(&mut self, ticket: Ticket) {
        let goal = &mut self.goal[ticket.stream.index()];
        *goal = (*goal).max(ticket.seq);
    }

    /// Everything may complete.
    pub(super) fn reach_all(&mut self) {
        self.goal.fill(u32::MAX);
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

    fn next(&mut self, _: Option<Nanos>) -> Option<StreamId> {
        let may = |stream: &StreamId| self.done[stream.index()] < self.goal[stream.index()];
        let stream = self.running.remove(self.running.iter().position(may)?);
        self.done[stream.index()] += 1;
        Some(stream)
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
