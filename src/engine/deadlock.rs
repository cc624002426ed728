//! Who waits for whom, when nothing can advance any more although something should.

use super::machine::Caller;
use super::threads::{Awaited, Blocked};
use super::{Chooser, Machine, Progress};
use crate::base::{HostId, StmtId};
use crate::model::Allocator;
use crate::order::cycle;
use crate::trace::{Deadlock, Kind, Sink, Ticket, Waiter};

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Tells the sink who waits for whom, when nothing can advance any more although something should: a cycle, or all that
    /// wait for what nobody is left to bring. Says whether there was anything to tell.
    pub fn tell_deadlock(&mut self, host: HostId, stmt: StmtId) -> bool {
        let mut waiters = cycle(&self.wait_for_edges());
        let is_cycle = !waiters.is_empty();
        if !is_cycle {
            waiters = self.waiting_in_vain();
        }
        if !waiters.is_empty() {
            self.emit(Caller { host, stmt }, None, Kind::Deadlock(&Deadlock { waiters, is_cycle }));
            return true;
        }
        false
    }

    fn waiting_in_vain(&self) -> Vec<Waiter> {
        let mut waiters: Vec<(Waiter, Waiter)> = Vec::new();
        for (signal, state) in self.threads.signals.iter_enumerated() {
            let stalled = state.stalled.iter();
            waiters.extend(stalled.map(|ticket| (Waiter::Signal(signal), Waiter::Operation(*ticket))));
        }
        for (part, _, lacks) in self.collectives.waiting() {
            waiters.extend(lacks.map(|lacks| (Waiter::Parts(lacks), Waiter::Operation(part))));
        }
        for (host, blocked) in self.blocked() {
            match blocked.awaited {
                Awaited::Signal(signal) => waiters.push((Waiter::Signal(signal), Waiter::Host(host))),
                Awaited::Barrier(barrier) => waiters.push((Waiter::Barrier(barrier), Waiter::Host(host))),
                Awaited::Work { .. } | Awaited::End(_) => {}
            }
        }
        waiters.sort();
        let mut told = Vec::new();
        for of_one in waiters.chunk_by(|a, b| a.0 == b.0) {
            told.extend(of_one.iter().map(|(_, waiter)| *waiter));
            told.push(of_one[0].0);
        }
        told
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
            let others = self.blocked().filter(
                |(_, blocked)| !matches!(blocked.awaited, Awaited::Signal(awaited) if awaited == signal),
            );
            edges.extend(others.map(|(host, _)| (Waiter::Signal(signal), Waiter::Host(host))));
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
                    edges.push((Waiter::Host(id), Waiter::Barrier(barrier)));
                    let others = self.blocked().filter(|(_, blocked)| {
                        !matches!(blocked.awaited, Awaited::Barrier(other) if other == barrier)
                    });
                    edges.extend(others.map(|(other, _)| (Waiter::Barrier(barrier), Waiter::Host(other))));
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
