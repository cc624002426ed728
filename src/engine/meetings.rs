//! What host threads and streams do with each other: signals, barriers, ends of threads, functions in streams, collectives.

use super::machine::Caller;
use super::threads::{Awaited, Promise};
use super::{Chooser, Machine, Progress};
use crate::base::{BarrierId, CollectiveId, HostId, Nanos, SignalId, StreamId};
use crate::model::Allocator;
use crate::order::{Effect, Runs};
use crate::trace::{Failure, Kind, Reply, Sink, Ticket};
use std::task::Poll;

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// What it gives carries everything that is ordered before it.
    pub(super) fn host_function(
        &mut self,
        caller: Caller,
        stream: StreamId,
        runs: Runs,
        gives: Option<SignalId>,
    ) {
        let ticket = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        if let Some(signal) = gives {
            self.threads.promise(Promise { ticket, signal });
        }
        self.submit(caller, stream, runs, Effect::None);
    }

    pub(super) fn part(&mut self, caller: Caller, stream: StreamId, collective: CollectiveId) {
        let at = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        let round = self.collectives.submit(collective, at);
        self.submit(caller, stream, Runs::Together(collective, round), Effect::None);
    }

    pub(super) fn spawn(&mut self, by: HostId, host: HostId) -> Reply {
        self.threads.spawn(by, host);
        self.order.follow(by, host);
        Reply::Done
    }

    pub(super) fn signal(&mut self, host: HostId, signal: SignalId) -> Reply {
        let Machine { threads, order, progress, .. } = self;
        let now = threads.hosts[host].now;
        for ticket in threads.give(signal, now, order.seen(host)) {
            progress.started(ticket, Nanos::ZERO);
        }
        Reply::Done
    }

    /// A thread comes to a barrier. The last one takes the others along: each has seen what any of them has.
    pub(super) fn arrive(&mut self, caller: Caller, barrier: BarrierId) {
        let together = self.threads.arrive(barrier, caller.host);
        for host in &together {
            self.order.follow(*host, caller.host);
        }
        for host in &together {
            self.order.follow(caller.host, *host);
        }
    }

    /// A caller whose threads call one after the other has another one of them call: that one goes on no earlier than the
    /// first one and the devices have got, and has seen what that one has.
    pub fn hand_over(&mut self, from: HostId, to: HostId) {
        let now = self.threads.hosts[from].now.max(self.progress.now());
        let host = &mut self.threads.hosts[to];
        host.now = host.now.max(now);
        self.order.follow(from, to);
    }

    /// An operation that runs until a signal is given ends at this time without it, or now where that is over. `false`: no such
    /// operation has started.
    pub fn end_at(&mut self, ticket: Ticket, time: Nanos) -> bool {
        let Some(Runs::Until(signal)) = self.order.operation(ticket).map(|operation| operation.runs) else {
            return false;
        };
        let stalled = &mut self.threads.signals[signal].stalled;
        let Some(nth) = stalled.iter().position(|other| *other == ticket) else { return false };
        stalled.remove(nth);
        let left = time.0.saturating_sub(self.progress.now().0);
        self.progress.started(ticket, Nanos(left));
        true
    }

    /// Waits for other threads.
    pub(super) fn meet(&mut self, caller: Caller, awaited: Awaited) -> Poll<Result<Reply, Failure>> {
        let Caller { host, stmt, .. } = caller;
        let Some(since) = self.threads.over(host, awaited) else {
            self.threads.block(host, stmt, awaited);
            return Poll::Pending;
        };
        self.threads.go_on(host, since);
        match awaited {
            Awaited::Signal(signal) => self.order.see(host, self.threads.carried(signal)),
            Awaited::End(other) => self.order.follow(other, host),
            Awaited::Barrier(_) | Awaited::Work { .. } => {}
        }
        self.emit(caller, None, Kind::Met);
        Poll::Ready(Ok(Reply::Done))
    }

    /// An operation has completed; if it is a function that gives a signal, it gives it with all that is complete by then.
    pub(super) fn keep_promise(&mut self, ticket: Ticket) {
        let Some(Promise { signal, .. }) = self.threads.kept(ticket) else { return };
        let clock = self.order.ended(ticket);
        for stalled in self.threads.give(signal, self.progress.now(), clock) {
            self.progress.started(stalled, Nanos::ZERO);
        }
    }

    /// The last part that could start starts all of them; how long they run is drawn once, for the first one.
    pub(super) fn start_together(&mut self, collective: CollectiveId, round: u32, part: Ticket) {
        let parts = self.collectives.ready(collective, round, part);
        let mut takes = None;
        for part in parts {
            let (_, operation) = self.order.head(part.stream).expect("a part that waits is at the head");
            let law = self.collectives.takes(collective);
            let takes = *takes.get_or_insert_with(|| self.chooser.duration(operation.stmt, &law));
            self.emit_device(part, operation, Kind::Start);
            self.progress.started(part, takes);
        }
    }
}
