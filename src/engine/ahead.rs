//! How far streams may be ahead of their devices: a launch beyond the depth of the queue blocks the host.
//!
//! It keeps the last launches of each stream, as many as the depth says, and nothing where there is none.

use super::machine::Caller;
use super::threads::Awaited;
use super::{Chooser, Machine, Progress};
use crate::base::{StreamId, reuse_on_clone};
use crate::model::Allocator;
use crate::trace::{Call, GraphCall, Setup, Sink, Target, Ticket};
use std::collections::VecDeque;

/// The launches that may not have completed.
#[derive(Debug)]
pub(super) struct Ahead {
    /// How many of one stream there may be; `None`: any number.
    depth: Option<u32>,
    /// For each stream, the places of its launches, oldest first.
    launches: Vec<VecDeque<u32>>,
    completed: Vec<u32>,
}

reuse_on_clone!(Ahead { depth, launches, completed });

impl Ahead {
    pub(super) fn new(setup: &Setup) -> Self {
        let depth = setup.host.queue_depth;
        let streams = if depth.is_some() { setup.streams.len() } else { 0 };
        Self { depth, launches: vec![VecDeque::new(); streams], completed: Vec::new() }
    }
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Whether the host may make a call now; otherwise it is a launch, of a kernel or of a graph, and blocked until the
    /// oldest launch of its stream has completed.
    pub(super) fn may_launch(&mut self, caller: Caller, call: &Call) -> bool {
        let Some(depth) = self.ahead.depth else { return true };
        let (Call::Launch { stream, .. } | Call::Graph(GraphCall::Launch { stream, .. })) = *call else {
            return true;
        };
        let Self { ahead: Ahead { launches, completed, .. }, order, threads, progress, .. } = self;
        let launches = &mut launches[stream.index()];
        order.completed(completed);
        while launches.front().is_some_and(|seq| *seq <= completed[stream.index()]) {
            launches.pop_front();
        }
        let host = &mut threads.hosts[caller.host];
        let was_blocked = host.blocked.is_some();
        if launches.len() < depth as usize {
            if was_blocked {
                threads.go_on(caller.host, progress.now());
            }
            return true;
        }
        host.target.clear();
        host.target.resize(completed.len(), 0);
        host.target[stream.index()] = launches[0];
        threads.block(
            caller.host,
            caller.stmt,
            Awaited::Work { target: Target::Stream(stream), releases: None },
        );
        false
    }

    /// The host is about to launch into a stream.
    pub(super) fn launches(&mut self, stream: StreamId) {
        if self.ahead.depth.is_some()
            && let Some(ticket) = self.order.next_ticket(stream)
        {
            self.launches_until(ticket);
        }
    }

    /// The host is about to launch what ends with this operation.
    pub(super) fn launches_until(&mut self, end: Ticket) {
        if self.ahead.depth.is_some() {
            self.ahead.launches[end.stream.index()].push_back(end.seq);
        }
    }
}
