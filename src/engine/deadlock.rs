//! Who waits for whom, when nothing can advance any more although something should.

use super::machine::Caller;
use super::threads::{Awaited, Blocked};
use super::{Chooser, Machine, Progress};
use crate::base::{HostId, StmtId};
use crate::model::Allocator;
use crate::order::cycle;
use crate::trace::{Kind, Sink, Ticket, Waiter};

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Tells the sink who waits for whom, when nothing can advance any more although something should: a cycle, or the
    /// operations that wait for a signal or a part of a collective which nobody is left to give. Says whether there was anything to tell.
    pub fn tell_deadlock(&mut self, host: HostId, stmt: StmtId) -> bool {
        let mut waiters = cycle(&self.wait_for_edges());
        if waiters.is_empty() {
            for (signal, state) in self.threads.signals.iter_enumerated() {
                waiters.extend(state.stalled.iter().map(|ticket| Waiter::Operation(*ticket)));
                waiters.extend((!state.stalled.is_empty()).then_some(Waiter::Signal(signal)));
            }
            for (part, _, lacks) in self.collectives.waiting() {
                waiters.push(Waiter::Operation(part));
                waiters.extend(lacks.map(Waiter::Parts));
            }
        }
        if !waiters.is_empty() {
            self.emit(Caller { host, stmt }, None, Kind::Deadlock(&waiters));
        }
        !waiters.is_empty()
    }

    fn wait_for_edges(&self) -> Vec<(Waiter, Waiter)> {
        let mut edges = Vec::new();
        self.host_edges(&mut edges);
        for stream in self.streams.indices() {
            let Some((head, _)) = self.order.head(stream) else { continue };
            for blocker in self.order.blockers(stream) {
                edges.push((Waiter::Operation(head), Waiter::Operation(blocker)));
                self.in_stream(&mut edges, blocker);
            }
        }
        for (part, others, lacks) in self.collectives.waiting() {
            for other in others.iter().filter(|other| **other != part) {
                edges.push((Waiter::Operation(part), Waiter::Operation(*other)));
                self.in_stream(&mut edges, *other);
            }
            let submitters = self.blocked().filter(|_| lacks.is_some());
            edges.extend(submitters.map(|(host, _)| (Waiter::Operation(part), Waiter::Host(host))));
        }
        for (signal, state) in self.threads.signals.iter_enumerated().filter(|(_, s)| s.given.is_none()) {
            let stalled = state.stalled.iter();
            edges.extend(stalled.map(|ticket| (Waiter::Operation(*ticket), Waiter::Signal(signal))));
            edges.extend(self.blocked().map(|(host, _)| (Waiter::Signal(signal), Waiter::Host(host))));
            for promise in self.threads.promises.iter().filter(|promise| promise.signal == signal) {
                edges.push((Waiter::Signal(signal), Waiter::Operation(promise.ticket)));
                self.in_stream(&mut edges, promise.ticket);
            }
        }
        edges
    }

    fn blocked(&self) -> impl Iterator<Item = (HostId, Blocked)> {
        let hosts = self.threads.hosts.iter_enumerated();
        hosts.filter_map(|(id, host)| Some((id, host.blocked?)))
    }

    fn host_edges(&self, edges: &mut Vec<(Waiter, Waiter)>) {
        for (id, blocked) in self.blocked() {
            match blocked.awaited {
                Awaited::Work { target, .. } => {
                    for stream in self.order.awaited(target) {
                        let seq = self.threads.hosts[id].target[stream.index()];
                        if self.order.head(stream).is_some_and(|(head, _)| head.seq <= seq) {
                            let last = Ticket { stream, seq };
                            edges.push((Waiter::Host(id), Waiter::Operation(last)));
                            self.in_stream(edges, last);
                        }
                    }
                }
                Awaited::Signal(signal) => edges.push((Waiter::Host(id), Waiter::Signal(signal))),
                Awaited::End(other) => edges.push((Waiter::Host(id), Waiter::Host(other))),
                Awaited::Barrier(barrier) => {
                    let elsewhere = |blocked: Blocked| !matches!(blocked.awaited, Awaited::Barrier(other) if other == barrier);
                    let others = self.blocked().filter(|(_, blocked)| elsewhere(*blocked));
                    let before = edges.len();
                    edges.extend(others.map(|(other, _)| (Waiter::Host(id), Waiter::Host(other))));
                    // Where nobody else is left to come, it waits in vain.
                    if edges.len() == before {
                        edges.push((Waiter::Host(id), Waiter::Host(id)));
                    }
                }
            }
        }
    }

    /// An operation that is not at the head of its stream waits for the one that is.
    fn in_stream(&self, edges: &mut Vec<(Waiter, Waiter)>, ticket: Ticket) {
        if let Some((head, _)) = self.order.head(ticket.stream).filter(|(head, _)| head.seq < ticket.seq) {
            edges.push((Waiter::Operation(ticket), Waiter::Operation(head)));
        }
    }
}
