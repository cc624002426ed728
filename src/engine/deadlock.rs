//! Who waits for whom, when nothing can advance any more although something should.

use super::threads::{Awaited, Blocked};
use super::{Chooser, Machine, Progress};
use crate::base::{HostId, StmtId};
use crate::model::Allocator;
use crate::order::cycle;
use crate::trace::{Deadlock, Detail, Event, Kind, Sink, Ticket, Waiter};

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Tells the sink who waits for whom, when nothing can advance any more although something should: a cycle, or all that
    /// wait for what nobody is left to bring. Says whether there was anything to tell. `brings`: whether a thread that is
    /// blocked would bring that signal, those parts or itself to that barrier, could it go on.
    pub fn tell_deadlock(
        &mut self,
        host: HostId,
        stmt: StmtId,
        brings: &dyn Fn(HostId, Waiter) -> bool,
    ) -> bool {
        let mut waiters = cycle(&self.wait_for_edges(brings));
        let is_cycle = !waiters.is_empty();
        if !is_cycle {
            waiters = self.waiting_in_vain();
        }
        if !waiters.is_empty() {
            let statements = waiters.iter().map(|waiter| self.waits_in(*waiter)).collect();
            let deadlock = Deadlock { waiters, statements, is_cycle };
            if self.sink.wants(Detail::Events) {
                let (at, kind) = (self.threads.hosts[host].now, Kind::Deadlock(&deadlock));
                self.sink.event(&Event { at, host, stmt, ticket: None, kind });
            }
            return true;
        }
        false
    }

    fn waits_in(&self, waiter: Waiter) -> Option<StmtId> {
        match waiter {
            Waiter::Host(host) => self.threads.hosts[host].blocked.map(|blocked| blocked.stmt),
            Waiter::Operation(ticket) => self.order.operation(ticket).map(|operation| operation.stmt),
            Waiter::Signal(_) | Waiter::Parts(_) | Waiter::Barrier(_) => None,
        }
    }

    fn waiting_in_vain(&self) -> Vec<Waiter> {
        let mut waiters: Vec<(Waiter, Waiter)> = Vec::new();
        for (signal, state) in self.threads.signals.iter_enumerated() {
            let stalled = state.stalled.iter();
            waiters.extend(stalled.map(|ticket| (Waiter::Signal(signal), Waiter::Operation(*ticket))));
        }
        for (parts, _, lacks) in self.collectives.waiting() {
            let Some(lacks) = lacks.map(Waiter::Parts) else { continue };
            waiters.extend(parts.iter().map(|part| (lacks, Waiter::Operation(*part))));
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

    fn wait_for_edges(&self, brings: &dyn Fn(HostId, Waiter) -> bool) -> Vec<(Waiter, Waiter)> {
        let mut edges = Vec::new();
        self.host_edges(&mut edges, brings);
        for stream in self.streams.indices() {
            let Some((head, _)) = self.order.head(stream) else { continue };
            for blocker in self.order.blockers(stream) {
                edges.push((Waiter::Operation(head), Waiter::Operation(blocker)));
                self.in_stream(&mut edges, blocker);
            }
        }
        self.collective_edges(&mut edges, brings);
        for (signal, state) in self.threads.signals.iter_enumerated() {
            edges.extend(state.stalled.iter().map(|op| (Waiter::Operation(*op), Waiter::Signal(signal))));
            let is_awaited = |(_, b): (_, Blocked)| matches!(b.awaited, Awaited::Signal(it) if it == signal);
            if !state.stalled.is_empty() || self.blocked().any(is_awaited) {
                self.bringers(&mut edges, Waiter::Signal(signal), brings);
            }
        }
        for promise in self.threads.promises() {
            edges.push((Waiter::Signal(promise.signal), Waiter::Operation(promise.ticket)));
            self.in_stream(&mut edges, promise.ticket);
        }
        edges
    }

    /// Parts that could start wait for the others: for those that could not, and for those that nobody has submitted.
    fn collective_edges(&self, edges: &mut Vec<(Waiter, Waiter)>, brings: &dyn Fn(HostId, Waiter) -> bool) {
        for (parts, submitted, lacks) in self.collectives.waiting() {
            for other in submitted.iter().filter(|other| !parts.contains(other)) {
                edges.extend(parts.iter().map(|part| (Waiter::Operation(*part), Waiter::Operation(*other))));
                self.in_stream(edges, *other);
            }
            let Some(lacks) = lacks.map(Waiter::Parts) else { continue };
            for (host, _) in self.blocked().filter(|(host, _)| brings(*host, lacks)) {
                edges.extend(parts.iter().map(|part| (Waiter::Operation(*part), Waiter::Host(host))));
            }
        }
    }

    /// The blocked threads that would bring this.
    fn bringers(
        &self,
        edges: &mut Vec<(Waiter, Waiter)>,
        what: Waiter,
        brings: &dyn Fn(HostId, Waiter) -> bool,
    ) {
        let bringers = self.blocked().filter(|(host, _)| brings(*host, what));
        edges.extend(bringers.map(|(host, _)| (what, Waiter::Host(host))));
    }

    fn blocked(&self) -> impl Iterator<Item = (HostId, Blocked)> {
        let hosts = self.threads.hosts.iter_enumerated();
        hosts.filter_map(|(id, host)| Some((id, host.blocked?)))
    }

    fn host_edges(&self, edges: &mut Vec<(Waiter, Waiter)>, brings: &dyn Fn(HostId, Waiter) -> bool) {
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
                    let is_here =
                        |other: &Blocked| matches!(other.awaited, Awaited::Barrier(it) if it == barrier);
                    let others = self.blocked().filter(|(_, other)| !is_here(other));
                    let others = others.filter(|(other, _)| brings(*other, Waiter::Barrier(barrier)));
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
