//! What the answer to a call hangs on, as far as devices are concerned: which operations may have completed by then or not.
//!
//! A host observes progress in few calls: an allocation that may reuse opportunistically, a query, whatever looks at the
//! memory of a device. All other calls are answered alike however far devices have got. It must not know who asks.

use super::graphs::Graphs;
use super::threads::{Awaited, Blocked};
use super::{Chooser, Machine, Progress};
use crate::base::{HostId, SignalId, StreamId, reuse_on_clone};
use crate::model::{Allocator, Candidates, Known, Request};
use crate::order::{Operation, Runs};
use crate::trace::{Attribute, Call, Cut, Figure, GraphCall, Reading, Resource, Sink, Target, Ticket, join};

/// Cuts of equal width, one after the other.
#[derive(Debug, Default)]
pub struct Cuts {
    width: usize,
    counters: Vec<u32>,
}

reuse_on_clone!(Cuts { width, counters });

impl Cuts {
    /// None, for so many streams.
    pub fn clear(&mut self, width: usize) {
        self.width = width;
        self.counters.clear();
    }

    /// Adds one.
    pub fn push(&mut self, cut: &Cut) {
        self.counters.extend_from_slice(cut);
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.counters.len().checked_div(self.width).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.counters.is_empty()
    }

    /// One of them.
    pub fn get(&self, at: usize) -> &Cut {
        &self.counters[at * self.width..][..self.width]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Cut> {
        self.counters.chunks_exact(self.width.max(1))
    }

    /// Takes one of them away; the last one gets its place.
    pub fn swap_remove(&mut self, at: usize) {
        let last = self.counters.len() - self.width;
        self.counters.copy_within(last.., at * self.width);
        self.counters.truncate(last);
    }

    /// Adds the join of two, unless it is there already.
    pub fn push_joined(&mut self, one: &Cut, other: &Cut) {
        self.counters.extend(one.iter().zip(other).map(|(one, other)| *one.max(other)));
        self.drop_last_if_known();
    }

    /// Adds the join of one of them and another cut, unless it is there already.
    pub fn push_join_of(&mut self, at: usize, other: &Cut) {
        let from = at * self.width;
        self.counters.extend_from_within(from..from + self.width);
        let last = self.counters.len() - self.width;
        join(&mut self.counters[last..], other);
        self.drop_last_if_known();
    }

    fn drop_last_if_known(&mut self) {
        let last = self.counters.len() - self.width;
        let (before, new) = self.counters.split_at(last);
        if before.chunks_exact(self.width.max(1)).any(|cut| cut == new) {
            self.counters.truncate(last);
        }
    }
}

/// What an answer hangs on. All cuts are closed: with an operation they hold what must have completed before it.
#[derive(Debug, Default)]
pub struct Asks {
    /// Whether the call cannot go on before all of one of `ways` is complete. Without any it cannot go on at all for now.
    pub is_held: bool,
    /// What lets it go on.
    pub ways: Cuts,
    /// As soon as all of one of these is complete, nothing of `together` matters any more.
    pub alone: Cuts,
    /// Any of these may be complete, with others or without.
    pub together: Cuts,
    /// Whether what only a judge can tell apart counts, too; it is for who asks to say.
    pub is_judged: bool,
    /// Whether there is such, so that the answer alone does not tell all.
    pub only_judged: bool,
    candidates: Candidates,
    cut: Vec<u32>,
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Whether the next call of this host is one of those that are answered alike however far devices have got. Most calls are.
    pub(super) fn asks_nothing(&self, host: HostId, call: &Call) -> bool {
        let is_plain =
            matches!(call, Call::Launch { .. } | Call::Free { .. } | Call::Record { .. } | Call::Wait { .. });
        is_plain && !self.is_blocked(host)
    }

    /// What the answer to the next call of this host hangs on.
    pub(super) fn asks(&mut self, host: HostId, call: &Call, asks: &mut Asks) {
        let width = self.streams.len();
        asks.is_held = false;
        asks.only_judged = false;
        for cuts in [&mut asks.ways, &mut asks.alone, &mut asks.together] {
            cuts.clear(width);
        }
        match self.threads.hosts[host].blocked {
            Some(Blocked { awaited, .. }) => self.asks_of_blocked(host, call, awaited, asks),
            None => match self.shares.with_events(call) {
                Some(call) => self.asks_of(host, &call, asks),
                None => self.asks_of(host, call, asks),
            },
        }
    }

    fn asks_of_blocked(&mut self, host: HostId, call: &Call, awaited: Awaited, asks: &mut Asks) {
        let Asks { is_held, ways, cut, .. } = asks;
        match awaited {
            Awaited::Work { target, releases } => {
                match call {
                    Call::Poll(_) => self.order.target(target, cut),
                    _ => cut.clone_from(&self.threads.hosts[host].target),
                }
                *is_held = true;
                self.close(cut, ways);
                if releases.is_some() {
                    self.asks_of_ending_pools(asks);
                }
            }
            Awaited::Signal(signal) => {
                *is_held = self.threads.over(host, awaited).is_none();
                self.promises_of(signal, asks);
            }
            Awaited::End(_) | Awaited::Barrier(_) => *is_held = self.threads.over(host, awaited).is_none(),
        }
    }

    /// What a signal carries hangs on the functions that have given it by then.
    fn promises_of(&mut self, signal: SignalId, asks: &mut Asks) {
        let Asks { is_held, ways, together, cut, .. } = asks;
        for promise in self.threads.promises().filter(|promise| promise.signal == signal) {
            within(cut, self.streams.len(), promise.ticket);
            self.close(cut, together);
            if *is_held {
                self.close(cut, ways);
            }
        }
    }

    fn asks_of(&mut self, host: HostId, call: &Call, asks: &mut Asks) {
        match call {
            Call::Alloc { .. } => self.asks_of_allocation(host, call, asks),
            Call::Query(target) => {
                self.order.target(*target, &mut asks.cut);
                self.close(&mut asks.cut, &mut asks.together);
            }
            Call::Elapsed { from, to } => {
                let mut both = Vec::new();
                self.order.target(Target::Event(*from), &mut both);
                self.order.target(Target::Event(*to), &mut asks.cut);
                join(&mut asks.cut, &both);
                self.close(&mut asks.cut, &mut asks.together);
            }
            Call::Await(signal) | Call::Import { under: signal, .. }
                if self.threads.signals[*signal].given.is_some() =>
            {
                self.promises_of(*signal, asks);
            }
            Call::Graph(GraphCall::Begin(_) | GraphCall::Node { .. }) => {}
            Call::Graph(_) | Call::Destroy(Resource::Graph(_) | Resource::Exec(_)) => self.everything(asks),
            Call::Read(Reading::Graphs(..)) | Call::Peek(Reading::Graphs(..)) => self.everything(asks),
            Call::Snapshot(_) if self.graphs.are_any() => self.everything(asks),
            Call::Malloc { .. }
            | Call::Reserve { .. }
            | Call::Read(_)
            | Call::Peek(_)
            | Call::Snapshot(_) => self.asks_of_devices(asks),
            // These may return at once, and make pools give memory back.
            Call::Sync(_) | Call::PlainFree { .. } => self.asks_of_ending_pools(asks),
            _ => {}
        }
    }

    fn asks_of_allocation(&mut self, host: HostId, call: &Call, asks: &mut Asks) {
        self.asks_of_devices(asks);
        self.look(host);
        let mut candidates = std::mem::take(&mut asks.candidates);
        asks.only_judged = self.candidates_beyond(host, call, asks.is_judged, &mut candidates);
        let Asks { alone, together, cut, .. } = asks;
        for (tickets, cuts) in [(&candidates.alone, alone), (&candidates.together, together)] {
            for ticket in tickets {
                within(cut, self.streams.len(), *ticket);
                self.close(cut, cuts);
            }
        }
        asks.candidates = candidates;
    }

    /// The frees that the answer to the next call of a host and what a judge says of it hang on, of all that the host has not seen
    /// complete; for a call that memory of pools alone is about.
    pub(super) fn candidates(&mut self, host: HostId, call: &Call, into: &mut Candidates) {
        let visible = &mut self.threads.hosts[host].visible;
        visible.clear();
        visible.extend_from_slice(self.order.seen(host));
        self.candidates_beyond(host, call, true, into);
    }

    /// The same, of those beyond what was visible to the host last. Says whether some of them make a difference to a judge alone,
    /// if these are asked for too.
    fn candidates_beyond(
        &mut self,
        host: HostId,
        call: &Call,
        is_judged: bool,
        into: &mut Candidates,
    ) -> bool {
        into.clear();
        let named = self.with_pool(call);
        let Call::Alloc { stream, pool: Some(pool), size } = named.as_ref().unwrap_or(call) else {
            return false;
        };
        let Some(at) = self.order.next_ticket(*stream) else { return false };
        let done = &self.threads.hosts[host].visible;
        let (ordered, seen, observed) = self.order.known(host, *stream);
        let request = Request { pool: *pool, size: *size, at };
        self.model.candidates(request, Known { ordered, done, seen, observed }, into);
        // That memory would have been there, had the policy not been off, a lint tells.
        let opportunistic = Figure::Attribute(Attribute::Opportunistic);
        if !is_judged || self.model.state(*pool).figure(opportunistic) != 0 {
            return false;
        }
        let pending = self.model.account(*pool).pending.into_iter().map(|free| free.at);
        let before = into.together.len();
        into.together.extend(pending.filter(|free| free.stream != *stream));
        into.together.len() > before
    }

    /// What a device has left hangs on frees of memory outside of pools, and on what keeps destroyed pools.
    fn asks_of_devices(&mut self, asks: &mut Asks) {
        let Asks { together, candidates, cut, .. } = asks;
        candidates.clear();
        if self.model.awaits_completion() {
            self.model.leaving(&mut candidates.together);
        }
        if self.has_ending_pools() {
            self.model.pending(&mut candidates.together);
        }
        for ticket in &candidates.together {
            within(cut, self.streams.len(), *ticket);
            self.close(cut, together);
        }
    }

    /// What a synchronise makes a destroyed pool give back hangs on whether the pool has come to its end by then.
    fn asks_of_ending_pools(&mut self, asks: &mut Asks) {
        if self.has_ending_pools() {
            self.asks_of_devices(asks);
        }
    }

    /// The memory of graphs hangs on all that launches use.
    fn everything(&mut self, asks: &mut Asks) {
        let Asks { together, cut, .. } = asks;
        let mut completed = Vec::new();
        self.order.completed(&mut completed);
        for (stream, completed) in completed.into_iter().enumerate() {
            let stream = StreamId::from(stream);
            let tickets = (completed + 1..).map(|seq| Ticket { stream, seq });
            for ticket in tickets.take_while(|ticket| self.order.operation(*ticket).is_some()) {
                within(cut, self.streams.len(), ticket);
                self.close(cut, together);
            }
        }
    }

    /// The answer to a call that is made with so much complete, as a word that tells answers apart, if that can be told without
    /// making it.
    pub fn foretell(&mut self, host: HostId, call: &Call, done: &Cut) -> Option<u64> {
        if self.model.awaits_completion() || self.has_ending_pools() || self.is_blocked(host) {
            return None;
        }
        let named = self.with_pool(call);
        let Call::Alloc { stream, pool: Some(pool), size } = named.as_ref().unwrap_or(call) else {
            return None;
        };
        let at = self.order.next_ticket(*stream)?;
        let (ordered, seen, observed) = self.order.known(host, *stream);
        let request = Request { pool: *pool, size: *size, at };
        Some(self.model.foretell(request, Known { ordered, done, seen, observed }))
    }

    /// Adds what must be complete for all of the cut to be complete, itself included; more than one where there are several
    /// ways, none where it cannot be for now.
    fn close(&self, cut: &mut [u32], into: &mut Cuts) {
        match self.order.close(cut, |operation, ticket, cut| self.brings(operation, ticket, cut)) {
            Ok(()) => into.push(cut),
            Err(Obstacle::Never) => {}
            Err(Obstacle::OneOf(tickets)) => {
                for ticket in tickets {
                    let mut way = cut.to_vec();
                    let seq = &mut way[ticket.stream.index()];
                    *seq = (*seq).max(ticket.seq);
                    self.close(&mut way, into);
                }
            }
        }
    }

    /// What an operation waits for beyond its stream and its edges.
    fn brings(&self, operation: Operation, _: Ticket, cut: &mut [u32]) -> Result<(), Obstacle> {
        match operation.runs {
            Runs::For(_) | Runs::Record(_) => Ok(()),
            Runs::Until(signal) => {
                if self.threads.signals[signal].given.is_some() {
                    return Ok(());
                }
                let promises = self.threads.promises().filter(|promise| promise.signal == signal);
                let tickets: Vec<Ticket> = promises.map(|promise| promise.ticket).collect();
                match tickets.iter().any(|ticket| ticket.within(cut)) {
                    true => Ok(()),
                    false if tickets.is_empty() => Err(Obstacle::Never),
                    false => Err(Obstacle::OneOf(tickets)),
                }
            }
            Runs::Together(collective, round) => {
                let Some(parts) = self.collectives.parts(collective, round) else { return Ok(()) };
                for part in parts.ok_or(Obstacle::Never)? {
                    self.order.reach(*part, cut);
                }
                Ok(())
            }
        }
    }

    /// Whether a call of this host has been made and blocks.
    pub fn is_blocked(&self, host: HostId) -> bool {
        self.threads.hosts[host].blocked.is_some()
    }

    /// The progress of devices.
    pub fn progress(&mut self) -> &mut P {
        &mut self.progress
    }

    /// What devices have completed, as a host sees it.
    pub fn done(&self) -> &Cut {
        self.progress.done()
    }

    /// The operations that later answers may hang on: frees that are not observed, and functions that will give a signal.
    pub fn asked_about(&self, into: &mut Vec<Ticket>) {
        self.model.pending(into);
        self.model.leaving(into);
        into.extend(self.threads.promises().map(|promise| promise.ticket));
    }

    /// What a blocked host waits for, if it waits for work.
    pub fn target(&self, host: HostId) -> Option<&Cut> {
        let host = &self.threads.hosts[host];
        matches!(host.blocked, Some(Blocked { awaited: Awaited::Work { .. }, .. })).then_some(&host.target)
    }
}

/// Why a cut cannot be complete.
pub(super) enum Obstacle {
    /// It waits for what nobody has promised.
    Never,
    /// One of these has to be in it.
    OneOf(Vec<Ticket>),
}

impl Graphs {
    fn are_any(&self) -> bool {
        self.of(|_| true).next().is_some()
    }
}

/// Makes a cut the one with an operation and nothing else.
fn within(cut: &mut Vec<u32>, width: usize, ticket: Ticket) {
    cut.clear();
    cut.resize(width, 0);
    cut[ticket.stream.index()] = ticket.seq;
}
