//! The machine: one call of one host thread in, an answer and events out.

mod outside;
mod transfer;

use super::{Chooser, Progress};
use crate::base::{
    Bytes, DeviceId, HostId, IndexVec, Nanos, PoolId, SignalId, StmtId, StreamId, reuse_on_clone,
};
use crate::model::{Allocator, Known, Request};
use crate::order::{Effect, Operation, Order, Runs, cycle};
use crate::trace::{
    Call, Cause, Detail, Event, Failure, HostCosts, Kind, PoolState, Reply, Setup, Sink, StreamKind,
    StreamSetup, Takes, Target, Ticket, Waiter, join,
};
use std::task::Poll;
use transfer::Returns;

/// Devices, their allocator, and the host threads that call them.
#[derive(Debug)]
pub struct Machine<A, P, C, S> {
    order: Order,
    model: A,
    progress: P,
    chooser: C,
    sink: S,
    streams: IndexVec<StreamId, StreamSetup>,
    pools: usize,
    costs: HostCosts,
    legacy_sync_releases: bool,
    hosts: IndexVec<HostId, Host>,
    signals: IndexVec<SignalId, Signal>,
    scratch: Scratch,
}

/// A host thread as the machine sees it.
#[derive(Debug)]
struct Host {
    now: Nanos,
    /// The call that blocks it, and the device whose pools give memory back when it returns.
    blocked: Option<Blocked>,
    /// What that call waits for.
    target: Vec<u32>,
    /// What the host may see complete: what was complete before now, and what it has waited for.
    visible: Vec<u32>,
}

/// A call that has not returned. What it waits for and what it will do was settled when it was made.
#[derive(Clone, Copy, Debug)]
struct Blocked {
    stmt: StmtId,
    target: Target,
    releases: Option<DeviceId>,
}

/// A signal, and the operations that run until it is given.
#[derive(Debug)]
struct Signal {
    given: bool,
    stalled: Vec<Ticket>,
}

/// Memory that is kept between calls, so that none is asked for in each.
#[derive(Debug, Default)]
struct Scratch {
    waits: Vec<(Ticket, Cause)>,
    ready: Vec<StreamId>,
    released: Vec<(PoolId, Bytes)>,
    pending: Vec<Ticket>,
    states: Vec<PoolState>,
    returned: Vec<(Ticket, DeviceId, Bytes)>,
}

reuse_on_clone!(Host { now, blocked, target, visible });
reuse_on_clone!(Signal { given, stalled });
reuse_on_clone!(Scratch { waits, ready, released, pending, states, returned });
reuse_on_clone!(Machine[A: Allocator; P: Progress; C: Chooser, Clone; S: Sink, Clone] {
    order, model, progress, chooser, sink, streams, pools, costs, legacy_sync_releases, hosts, signals, scratch,
});

/// Whose call it is, and of which statement.
#[derive(Clone, Copy)]
struct Caller {
    host: HostId,
    stmt: StmtId,
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// A machine before its first call.
    pub fn new(setup: &Setup, hosts: usize, model: A, progress: P, chooser: C, sink: S) -> Self {
        let host = || Host { now: Nanos::ZERO, blocked: None, target: Vec::new(), visible: Vec::new() };
        let signal = || Signal { given: false, stalled: Vec::new() };
        Self {
            order: Order::new(setup, hosts),
            model,
            progress,
            chooser,
            sink,
            streams: setup.streams.clone(),
            pools: setup.pools.len(),
            costs: setup.host,
            legacy_sync_releases: setup.rules.legacy_sync_releases,
            hosts: (0..hosts).map(|_| host()).collect(),
            signals: (0..setup.signals).map(|_| signal()).collect(),
            scratch: Scratch::default(),
        }
    }

    /// The allocator.
    pub fn model(&self) -> &A {
        &self.model
    }

    /// The order.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// The sink.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    /// The later of the times that the devices and the host threads have reached.
    pub fn now(&self) -> Nanos {
        self.hosts.iter().map(|host| host.now).fold(self.progress.now(), Nanos::max)
    }

    /// Makes a call. `Pending`: it blocks; [`Machine::step`], then make the same call again, and no other for this host.
    /// Of several hosts that could call, one whose time is the earliest is to.
    ///
    /// # Panics
    /// On an id that the setup does not have, and at the 2^32nd operation of a stream; in debug builds also when the calls
    /// come in another order.
    pub fn call(&mut self, host: HostId, stmt: StmtId, call: &Call) -> Poll<Result<Reply, Failure>> {
        let caller = Caller { host, stmt };
        let now = self.hosts[host].now;
        let blocked = self.hosts[host].blocked;
        debug_assert!(
            blocked.is_none_or(|blocked| blocked.stmt == stmt),
            "a blocked host makes its call again"
        );
        debug_assert!(blocked.is_some() || now >= self.progress.now(), "the earliest host calls");
        while let Some(stream) = self.progress.next(Some(now)) {
            self.complete(stream);
        }
        self.progress.wait_until(now);
        if blocked.is_none() && !matches!(call, Call::Peek(_)) {
            self.emit(caller, None, Kind::Call(call));
        }
        if !call.only_looks() {
            self.complete_frees(caller);
        }
        match call {
            Call::Sync(target) => return self.synchronise(caller, *target),
            Call::Poll(target) => return self.poll(caller, *target),
            Call::Copy { stream, blocking, takes, to, from } => {
                let returns = Returns::of_copy(*blocking, to.memory, from.memory);
                return self.transfer(caller, *stream, takes, returns);
            }
            Call::Memset { stream, blocking, takes, at } => {
                return self.transfer(caller, *stream, takes, Returns::of_memset(*blocking, at.memory));
            }
            _ => {}
        }
        let result = self.perform(caller, call);
        if let Err(failure) = result {
            self.emit(caller, None, Kind::Failed(failure));
        }
        let pays = match call {
            Call::Sleep(duration) => *duration,
            Call::Touch(_) => Nanos::ZERO,
            _ if call.only_looks() => Nanos::ZERO,
            Call::Alloc { .. }
            | Call::Free { .. }
            | Call::Launch { .. }
            | Call::Record { .. }
            | Call::Wait { .. } => self.costs.submit,
            _ => self.costs.call,
        };
        self.hosts[host].now = now.after(pays);
        Poll::Ready(result)
    }

    /// Every call that does not block.
    fn perform(&mut self, caller: Caller, call: &Call) -> Result<Reply, Failure> {
        match call {
            Call::Alloc { stream, pool, size } => self.alloc(caller, *stream, *pool, *size),
            Call::Free { stream, alloc } => {
                let at = self.order.next_ticket(*stream).expect("a stream has less than 2^32 operations");
                self.free(caller, at, *alloc)
            }
            Call::Malloc { device, size, managed } => self.malloc(caller, *device, *size, *managed),
            Call::PlainFree { alloc } => self.plain_free(caller, *alloc),
            Call::Launch { stream, takes, .. } => {
                let runs = match takes {
                    Takes::For(law) => Runs::For(self.chooser.duration(caller.stmt, law)),
                    Takes::Until(signal) => Runs::Until(*signal),
                };
                self.submit(caller, *stream, runs, Effect::None);
                Ok(Reply::Done)
            }
            Call::Record { stream, event } => {
                self.submit(caller, *stream, Runs::For(Nanos::ZERO), Effect::Record(*event));
                Ok(Reply::Done)
            }
            Call::Wait { stream, event } => {
                self.submit(caller, *stream, Runs::For(Nanos::ZERO), Effect::Wait(*event));
                Ok(Reply::Done)
            }
            Call::Trim { pool, keep } => {
                let bytes = self.model.trim(*pool, *keep);
                if bytes > Bytes::ZERO {
                    self.emit(caller, None, Kind::Released { pool: *pool, bytes });
                    self.emit_state(caller, *pool);
                }
                Ok(Reply::Done)
            }
            Call::Set { pool, attribute, value } => {
                self.model.set(*pool, *attribute, *value)?;
                self.emit_state(caller, *pool);
                Ok(Reply::Done)
            }
            Call::Read(reading) => {
                let value = self.read(caller, *reading);
                self.emit(caller, None, Kind::Value(value));
                Ok(Reply::Value(value))
            }
            Call::Peek(reading) => Ok(Reply::Value(self.read(caller, *reading))),
            Call::Signal(signal) => {
                self.signals[*signal].given = true;
                for ticket in std::mem::take(&mut self.signals[*signal].stalled) {
                    self.progress.started(ticket, Nanos::ZERO);
                }
                Ok(Reply::Done)
            }
            Call::Expect { expect, operands } => {
                self.emit(caller, None, Kind::Expect { expect: *expect, operands });
                Ok(Reply::Done)
            }
            Call::Snapshot(snapshot) => {
                if self.sink.wants(Detail::Pictures) {
                    let pictures: Vec<_> =
                        (0..self.pools).map(|pool| self.model.picture(PoolId::new(pool))).collect();
                    self.emit(caller, None, Kind::Snapshot { snapshot: *snapshot, pools: &pictures });
                }
                Ok(Reply::Done)
            }
            Call::Query(target) => self.query(caller, *target),
            Call::Touch(_) | Call::Sleep(_) => Ok(Reply::Done),
            Call::Sync(_) | Call::Poll(_) | Call::Copy { .. } | Call::Memset { .. } => {
                unreachable!("what can block is not performed here")
            }
        }
    }

    fn alloc(
        &mut self,
        caller: Caller,
        stream: StreamId,
        pool: PoolId,
        size: Bytes,
    ) -> Result<Reply, Failure> {
        let at = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        let request = Request { pool, size, at };
        let wants_refusals = self.sink.wants(Detail::Refusals);
        self.look(caller.host);
        let done = &self.hosts[caller.host].visible;
        let (ordered, seen, observed) = self.order.known(caller.host, stream);
        let known = Known { ordered, done, seen, observed };
        let refusals = wants_refusals.then(|| self.model.refused(request, known));
        let result = self.model.alloc(request, known);
        if let Some(refusals) = refusals {
            self.emit(caller, None, Kind::Refused(&refusals));
        }
        let decision = match result {
            Ok(decision) => decision,
            Err(failure) => {
                if self.sink.wants(Detail::States) {
                    let account = self.model.account(pool);
                    self.emit(caller, None, Kind::Account { pool, account: &account });
                }
                return Err(failure);
            }
        };
        self.emit(caller, Some(at), Kind::Decided(&decision));
        if decision.unmapped > Bytes::ZERO {
            self.emit(caller, None, Kind::Released { pool, bytes: decision.unmapped });
        }
        self.submit(caller, stream, Runs::For(Nanos::ZERO), Effect::Allocator(&decision.waits));
        self.emit_state(caller, pool);
        Ok(Reply::Allocated(decision))
    }

    fn synchronise(&mut self, caller: Caller, target: Target) -> Poll<Result<Reply, Failure>> {
        let Some(Blocked { releases, .. }) = self.awaited(caller, target) else { return Poll::Pending };
        self.order.observe(caller.host, &self.hosts[caller.host].target);
        self.settle(caller, releases);
        Poll::Ready(Ok(Reply::Done))
    }

    /// Polling sees what it waits for, but proves nothing to the allocator (CUDA Programming Guide 4.3.4.5 speaks of
    /// synchronisation alone).
    fn poll(&mut self, caller: Caller, target: Target) -> Poll<Result<Reply, Failure>> {
        if self.awaited(caller, target).is_none() {
            return Poll::Pending;
        }
        self.see(caller);
        Poll::Ready(Ok(Reply::Done))
    }

    /// The call as it was made, once everything that it waits for is complete; until then the host is blocked.
    fn awaited(&mut self, caller: Caller, target: Target) -> Option<Blocked> {
        let call = self.hosts[caller.host].blocked.unwrap_or_else(|| {
            let releases = self.releases(target);
            self.order.target(target, &mut self.hosts[caller.host].target);
            Blocked { stmt: caller.stmt, target, releases }
        });
        self.wait(caller, call)
    }

    /// The same for a call whose target is settled.
    fn wait(&mut self, caller: Caller, call: Blocked) -> Option<Blocked> {
        let host = &mut self.hosts[caller.host];
        let blocked = host.blocked.take();
        if !self.order.is_complete(&host.target) {
            host.blocked = Some(call);
            return None;
        }
        if blocked.is_some() {
            host.now = host.now.max(self.progress.now());
        }
        host.now = host.now.after(self.costs.call);
        Some(call)
    }

    /// Brings up to date what the host may see complete.
    fn look(&mut self, host: HostId) {
        let visible = &mut self.hosts[host].visible;
        visible.clear();
        visible.extend_from_slice(self.progress.done());
        join(visible, self.order.seen(host));
    }

    /// Asks once. Progress at this very time is not visible yet, as for every call.
    fn query(&mut self, caller: Caller, target: Target) -> Result<Reply, Failure> {
        let host = &mut self.hosts[caller.host];
        self.order.target(target, &mut host.target);
        self.look(caller.host);
        let host = &self.hosts[caller.host];
        if host.target.iter().zip(&host.visible).any(|(asked, done)| asked > done) {
            return Err(Failure::NotReady);
        }
        self.see(caller);
        Ok(Reply::Done)
    }

    fn see(&mut self, caller: Caller) {
        let Caller { host, stmt } = caller;
        let Host { target: seen, now, .. } = &self.hosts[host];
        self.order.see(host, seen);
        if self.sink.wants(Detail::Events) {
            self.sink.event(&Event { at: *now, host, stmt, ticket: None, kind: Kind::Seen { seen } });
        }
    }

    /// The device whose pools a synchronise makes give memory back.
    fn releases(&self, target: Target) -> Option<DeviceId> {
        match target {
            Target::Device(device) => Some(device),
            Target::Event(event) => self.order.recorded_on(event).map(|stream| self.streams[stream].device),
            Target::Stream(stream) => {
                let StreamSetup { device, kind } = self.streams[stream];
                (kind != StreamKind::Legacy || self.legacy_sync_releases).then_some(device)
            }
        }
    }

    /// The allocator learns what the host has observed.
    fn settle(&mut self, caller: Caller, releases: Option<DeviceId>) {
        let wants_states = self.sink.wants(Detail::States);
        let mut states = std::mem::take(&mut self.scratch.states);
        let mut released = std::mem::take(&mut self.scratch.released);
        states.clear();
        if wants_states {
            states.extend((0..self.pools).map(|pool| self.model.state(PoolId::new(pool))));
        }
        released.clear();
        let observed = self.order.observed();
        self.model.synchronised(releases, observed, &mut released);
        if self.sink.wants(Detail::Events) {
            let Caller { host, stmt } = caller;
            let kind = Kind::Synchronised { observed };
            self.sink.event(&Event { at: self.hosts[host].now, host, stmt, ticket: None, kind });
        }
        for (pool, bytes) in &released {
            self.emit(caller, None, Kind::Released { pool: *pool, bytes: *bytes });
        }
        for (pool, before) in states.iter().enumerate() {
            if self.model.state(PoolId::new(pool)) != *before {
                self.emit_state(caller, PoolId::new(pool));
            }
        }
        (self.scratch.states, self.scratch.released) = (states, released);
    }

    fn submit(&mut self, caller: Caller, stream: StreamId, runs: Runs, effect: Effect<'_>) {
        let operation = Operation { host: caller.host, stmt: caller.stmt, runs };
        let mut waits = std::mem::take(&mut self.scratch.waits);
        let ticket = self.order.submit(stream, operation, effect, &mut waits);
        self.emit(caller, Some(ticket), Kind::Submitted);
        for (on, cause) in &waits {
            self.emit(caller, Some(ticket), Kind::Waits { on: *on, cause: *cause });
        }
        self.scratch.waits = waits;
        // Only now: the operation may wait for a free that the allocator has just let go of.
        if self.order.wants_sweep() {
            self.scratch.pending.clear();
            self.model.pending(&mut self.scratch.pending);
            self.order.sweep(&mut self.scratch.pending);
        }
        if self.order.ready(stream).is_some_and(|(head, _)| head == ticket) {
            self.start(stream);
        }
    }

    /// Goes to the next completion on a device. `false`: nothing runs that could complete.
    pub fn step(&mut self) -> bool {
        match self.progress.next(None) {
            Some(stream) => {
                self.complete(stream);
                true
            }
            None => false,
        }
    }

    fn complete(&mut self, stream: StreamId) {
        let mut ready = std::mem::take(&mut self.scratch.ready);
        let (ticket, operation) = self.order.retire(stream, &mut ready);
        self.emit_device(ticket, operation, Kind::End);
        for stream in ready.drain(..) {
            self.start(stream);
        }
        self.scratch.ready = ready;
    }

    fn start(&mut self, stream: StreamId) {
        let (ticket, operation) = self.order.ready(stream).expect("only what is ready starts");
        self.emit_device(ticket, operation, Kind::Start);
        match operation.runs {
            Runs::For(duration) => self.progress.started(ticket, duration),
            Runs::Until(signal) if self.signals[signal].given => self.progress.started(ticket, Nanos::ZERO),
            Runs::Until(signal) => self.signals[signal].stalled.push(ticket),
        }
    }

    /// Tells the sink who waits for whom, when nothing can advance any more although something should: a cycle, or the
    /// operations that wait for a signal which nobody is left to give. Says whether there was anything to tell.
    pub fn tell_deadlock(&mut self, host: HostId, stmt: StmtId) -> bool {
        let mut waiters = cycle(&self.wait_for_edges());
        if waiters.is_empty() {
            for (signal, state) in self.signals.iter_enumerated() {
                waiters.extend(state.stalled.iter().map(|ticket| Waiter::Operation(*ticket)));
                waiters.extend((!state.stalled.is_empty()).then_some(Waiter::Signal(signal)));
            }
        }
        if !waiters.is_empty() {
            self.emit(Caller { host, stmt }, None, Kind::Deadlock(&waiters));
        }
        !waiters.is_empty()
    }

    fn wait_for_edges(&self) -> Vec<(Waiter, Waiter)> {
        let mut edges = Vec::new();
        let wait_in_stream = |edges: &mut Vec<_>, ticket: Ticket| {
            if let Some((head, _)) = self.order.head(ticket.stream).filter(|(head, _)| head.seq < ticket.seq)
            {
                edges.push((Waiter::Operation(ticket), Waiter::Operation(head)));
            }
        };
        let blocked = || self.hosts.iter_enumerated().filter(|(_, host)| host.blocked.is_some());
        for (id, host) in blocked() {
            let streams = host.blocked.into_iter().flat_map(|blocked| self.order.awaited(blocked.target));
            for stream in streams {
                let last = Ticket { stream, seq: host.target[stream.index()] };
                if self.order.head(last.stream).is_some_and(|(head, _)| head.seq <= last.seq) {
                    edges.push((Waiter::Host(id), Waiter::Operation(last)));
                    wait_in_stream(&mut edges, last);
                }
            }
        }
        for stream in self.streams.indices() {
            let Some((head, _)) = self.order.head(stream) else { continue };
            for blocker in self.order.blockers(stream) {
                edges.push((Waiter::Operation(head), Waiter::Operation(blocker)));
                wait_in_stream(&mut edges, blocker);
            }
        }
        for (signal, state) in self.signals.iter_enumerated() {
            edges.extend(
                state.stalled.iter().map(|ticket| (Waiter::Operation(*ticket), Waiter::Signal(signal))),
            );
            edges.extend(blocked().map(|(host, _)| (Waiter::Signal(signal), Waiter::Host(host))));
        }
        edges
    }

    fn emit(&mut self, caller: Caller, ticket: Option<Ticket>, kind: Kind<'_>) {
        if self.sink.wants(Detail::Events) {
            let Caller { host, stmt } = caller;
            self.sink.event(&Event { at: self.hosts[host].now, host, stmt, ticket, kind });
        }
    }

    fn emit_device(&mut self, ticket: Ticket, operation: Operation, kind: Kind<'_>) {
        if self.sink.wants(Detail::Events) {
            let Operation { host, stmt, .. } = operation;
            self.sink.event(&Event { at: self.progress.now(), host, stmt, ticket: Some(ticket), kind });
        }
    }

    fn emit_state(&mut self, caller: Caller, pool: PoolId) {
        if self.sink.wants(Detail::States) {
            let state = self.model.state(pool);
            self.emit(caller, None, Kind::State { pool, state: &state });
        }
    }
}
