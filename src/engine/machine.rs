//! The machine: one call of one host thread in, an answer and events out.

mod again;
mod asking;
mod outside;
mod readiness;
mod reset;
mod synchronise;
mod transfer;

use super::access::Grants;
use super::ahead::Ahead;
use super::collectives::Collectives;
use super::events::{Happening, events};
use super::graphs::Graphs;
use super::resources::Resources;
use super::shares::Shares;
use super::threads::{Awaited, Blocked, Host, Threads};
use super::{Chooser, Progress};
use crate::base::{
    Bytes, DeviceId, EventId, HostId, IndexVec, Nanos, PoolId, SnapshotId, StmtId, StreamId, reuse_on_clone,
};
use crate::model::{Allocator, Denied, Known, Request};
use crate::order::{Effect, Operation, Order, Runs};
use crate::trace::{
    Call, Cause, Decision, Detail, DeviceSetup, Event, Failure, HostCosts, Kind, Policy, PoolSetup,
    PoolState, Reply, Returns, Setup, Sink, StreamSetup, Takes, Ticket, join,
};
use std::task::Poll;

/// Devices, their allocator, and the host threads that call them.
#[derive(Debug)]
pub struct Machine<A, P, C, S> {
    pub(super) order: Order,
    pub(super) model: A,
    pub(super) progress: P,
    pub(super) chooser: C,
    pub(super) sink: S,
    pub(super) streams: IndexVec<StreamId, StreamSetup>,
    pools: usize,
    pub(super) costs: HostCosts,
    legacy_sync_releases: bool,
    pub(super) plain_free_syncs: bool,
    pub(super) threads: Threads,
    pub(super) collectives: Collectives,
    pub(super) graphs: Graphs,
    pub(super) resources: Resources,
    pub(super) grants: Grants,
    pub(super) devices: IndexVec<DeviceId, DeviceSetup>,
    /// Whether a device lacks pools, or memory of graphs.
    pub(super) is_any_lacking: bool,
    /// Whether anything may be out of reach or not supported: there are several devices, or not all pools are on the one, or it
    /// lacks something.
    pub(super) is_restricted: bool,
    pub(super) ahead: Ahead,
    pub(super) shares: Shares,
    pub(super) events: IndexVec<EventId, Happening>,
    scratch: Scratch,
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

impl Clone for Scratch {
    fn clone(&self) -> Self {
        Self::default()
    }

    /// No call leaves anything for another one.
    fn clone_from(&mut self, _: &Self) {}
}

reuse_on_clone!(Machine[A: Allocator; P: Progress; C: Chooser, Clone; S: Sink, Clone] {
    order, model, progress, chooser, sink, streams, pools, costs, legacy_sync_releases, plain_free_syncs,
    threads, collectives, graphs, resources, grants, devices, is_any_lacking, is_restricted, ahead, shares, events, scratch,
});

/// Whose call it is, of which statement, and the call as the sink is told of it.
#[derive(Clone, Copy)]
pub(super) struct Caller<'c> {
    pub(super) host: HostId,
    pub(super) stmt: StmtId,
    pub(super) call: &'c Call,
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// A machine before its first call.
    pub fn new(setup: &Setup, model: A, progress: P, chooser: C, sink: S) -> Self {
        let is_any_lacking = setup.devices.iter().any(|device| !device.has_graph_memory());
        let is_apart = |pool: &PoolSetup| pool.imported || pool.location.device().is_none();
        let are_some_apart = setup.devices.len() > 1 || setup.pools.iter().any(is_apart);
        Self {
            order: Order::new(setup),
            model,
            progress,
            chooser,
            sink,
            streams: setup.streams.clone(),
            pools: setup.pools.len(),
            costs: setup.host,
            legacy_sync_releases: setup.rules.legacy_sync_releases,
            plain_free_syncs: setup.rules.plain_free_syncs,
            threads: Threads::new(setup),
            collectives: Collectives::new(setup),
            graphs: Graphs::new(setup),
            resources: Resources::new(setup),
            grants: Grants::new(setup),
            ahead: Ahead::new(setup),
            devices: setup.devices.clone(),
            is_any_lacking,
            is_restricted: is_any_lacking || are_some_apart,
            shares: Shares::new(setup),
            events: events(setup),
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
        self.threads.hosts.iter().map(|host| host.now).fold(self.progress.now(), Nanos::max)
    }

    /// When a host thread can make its next call; for one in a call that blocks, when that call returns. `None`: not before
    /// something else happens.
    pub fn time(&mut self, host: HostId) -> Option<Nanos> {
        let Host { now, blocked, target, lacks, .. } = &mut self.threads.hosts[host];
        let (now, Some(Blocked { awaited, .. })) = (*now, *blocked) else { return Some(*now) };
        let since = match awaited {
            Awaited::Work { .. } => self.order.is_complete(target, lacks).then(|| self.progress.now()),
            awaited => self.threads.over(host, awaited),
        };
        since.map(|since| since.max(now))
    }

    /// Makes a call. `Pending`: it blocks; when [`Machine::time`] says that it returns, make the same call again, and no
    /// other for this host in between. Of several hosts that could call, one whose time is the earliest is to.
    ///
    /// # Panics
    /// On an id that the setup does not have, and at the 2^32nd operation of a stream; in debug builds also when the calls
    /// come in another order.
    pub fn call(&mut self, host: HostId, stmt: StmtId, call: &Call) -> Poll<Result<Reply, Failure>> {
        match self.with_pool(call) {
            Some(call) => self.make(Caller { host, stmt, call: &call }),
            None => self.make(Caller { host, stmt, call }),
        }
    }

    /// Makes a call that names its pool.
    fn make(&mut self, caller: Caller) -> Poll<Result<Reply, Failure>> {
        let call = caller.call;
        let Host { now, blocked, .. } = self.threads.hosts[caller.host];
        debug_assert!(
            blocked.is_none_or(|blocked| blocked.stmt == caller.stmt),
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
        // What a blocked call waits for was settled when it was made.
        if blocked.is_none()
            && let Err(failure) = self.check(caller, call)
        {
            self.over(caller, self.cost(call), Some(failure));
            return Poll::Ready(Err(failure));
        }
        match self.shares.with_events(call) {
            Some(call) => self.carry_out(caller, &call),
            None => self.carry_out(caller, call),
        }
    }

    /// Most calls are told apart from the others first, so that what those do is out of their way.
    fn carry_out(&mut self, caller: Caller, call: &Call) -> Poll<Result<Reply, Failure>> {
        let result = match call {
            Call::Alloc { stream, pool, size } => self.alloc(caller, *stream, *pool, *size),
            Call::Free { stream, alloc } => self.free(caller, *stream, *alloc),
            Call::Record { stream, event } => {
                self.belongs(*event, *stream);
                Ok(self.mark(caller, call, *stream, Effect::Record(*event)))
            }
            Call::Wait { stream, event } => Ok(self.mark(caller, call, *stream, Effect::Wait(*event))),
            Call::Launch { stream, takes, .. } => {
                if !self.may_launch(caller, call) {
                    return Poll::Pending;
                }
                Ok(self.launch(caller, *stream, takes))
            }
            call => return self.carry_out_other(caller, call),
        };
        self.over(caller, self.costs.submit, result.as_ref().err().copied());
        Poll::Ready(result)
    }

    #[inline(never)]
    fn carry_out_other(&mut self, caller: Caller, call: &Call) -> Poll<Result<Reply, Failure>> {
        match call {
            Call::Sync(target) => return self.synchronise(caller, *target),
            Call::Poll(target) => return self.poll(caller, *target),
            Call::PlainFree { alloc } if self.synchronises(caller.host, *alloc).is_some() => {
                return self.free_after_all(caller, *alloc);
            }
            Call::Copy { stream, blocking, takes, to, from } => {
                let returns = Returns::of_copy(*blocking, to.memory, from.memory);
                return self.transfer(caller, *stream, takes, returns);
            }
            Call::Memset { stream, blocking, takes, at } => {
                return self.transfer(caller, *stream, takes, Returns::of_memset(*blocking, at.memory));
            }
            call if !self.may_launch(caller, call) => return Poll::Pending,
            Call::ResetDevice(device) => return self.reset(caller, *device),
            Call::Await(signal) => return self.meet(caller, Awaited::Signal(*signal)),
            Call::Import { under, into } => return self.import(caller, *under, *into),
            Call::Join(other) => return self.meet(caller, Awaited::End(*other)),
            Call::Barrier(barrier) => {
                if self.threads.hosts[caller.host].blocked.is_none() {
                    self.arrive(caller, *barrier);
                }
                return self.meet(caller, Awaited::Barrier(*barrier));
            }
            _ => {}
        }
        let result = self.perform(caller, call);
        self.over(caller, self.cost(call), result.as_ref().err().copied());
        if matches!(call, Call::Exit) {
            self.threads.end(caller.host);
        }
        Poll::Ready(result)
    }

    /// A call that does not block is over, and costs so much.
    fn over(&mut self, caller: Caller, cost: Nanos, failed: Option<Failure>) {
        if let Some(failure) = failed {
            self.fails(caller, failure);
        }
        self.pays(caller, cost);
    }

    #[cold]
    fn fails(&mut self, caller: Caller, failure: Failure) {
        self.emit(caller, None, Kind::Failed { failure, call: caller.call });
    }

    /// How long a call that does not block takes the host.
    fn cost(&self, call: &Call) -> Nanos {
        match call {
            Call::Sleep(duration) => *duration,
            Call::Touch(_) | Call::Reserve { .. } | Call::Signal(_) | Call::Spawn(_) | Call::Exit => {
                Nanos::ZERO
            }
            _ if call.only_looks() => Nanos::ZERO,
            Call::Alloc { .. }
            | Call::Free { .. }
            | Call::Launch { .. }
            | Call::HostFunction { .. }
            | Call::Collective { .. }
            | Call::Record { .. }
            | Call::Wait { .. } => self.costs.submit,
            Call::Graph(call) if call.submits() => self.costs.submit,
            _ => self.costs.call,
        }
    }

    /// Every other call that does not block.
    fn perform(&mut self, caller: Caller, call: &Call) -> Result<Reply, Failure> {
        match call {
            Call::Malloc { device, size, managed } => self.malloc(caller, *device, *size, *managed),
            Call::PlainFree { alloc } => self.plain_free(caller, *alloc),
            Call::Reserve { device, size } => self.reserve(caller, *device, *size),
            Call::HostFunction { stream, takes, gives, .. } => {
                let runs = self.runs(caller, takes);
                self.host_function(caller, *stream, runs, *gives);
                Ok(Reply::Done)
            }
            Call::Collective { stream, collective, .. } => {
                self.part(caller, *stream, *collective);
                Ok(Reply::Done)
            }
            Call::Trim { pool, keep } => Ok(self.trim(caller, *pool, *keep)),
            Call::Set { pool, attribute, value } => {
                self.model.set(*pool, *attribute, *value)?;
                self.emit_state(caller, *pool);
                Ok(Reply::Done)
            }
            Call::SetPool { device, pool } => self.resources.set_pool(*device, *pool),
            Call::Export { what, under } => self.export(caller, *what, *under),
            Call::Grant { pool, device, reach } => self.grant(*pool, *device, *reach),
            Call::Create { resource, reusing } => self.resources.create(*resource, *reusing),
            Call::Destroy(resource) => self.destroy(caller, *resource),
            Call::Graph(call) => self.graph_call(caller, call),
            Call::Read(reading) => {
                let value = self.read(caller, *reading).into();
                self.emit(caller, None, Kind::Value(value));
                Ok(Reply::Value(value))
            }
            Call::Peek(reading) => Ok(Reply::Value(self.read(caller, *reading).into())),
            Call::Signal(signal) => Ok(self.signal(caller.host, *signal)),
            Call::Spawn(host) => Ok(self.spawn(caller.host, *host)),
            Call::Expect { expect, operands } => {
                self.emit(caller, None, Kind::Expect { expect: *expect, operands });
                Ok(Reply::Done)
            }
            Call::ExpectReady { expect, alloc, on } => Ok(self.expect_ready(caller, *expect, *alloc, *on)),
            Call::Snapshot(snapshot) => {
                self.snapshot(caller, *snapshot);
                Ok(Reply::Done)
            }
            Call::Query(target) => self.query(caller, *target),
            Call::Elapsed { from, to } => self.elapsed(caller, *from, *to),
            Call::Touch(_) | Call::Sleep(_) | Call::Exit => Ok(Reply::Done),
            Call::Sync(_)
            | Call::Poll(_)
            | Call::Await(_)
            | Call::Import { .. }
            | Call::Join(_)
            | Call::Barrier(_)
            | Call::ResetDevice(_)
            | Call::Copy { .. }
            | Call::Memset { .. }
            | Call::Alloc { .. }
            | Call::Free { .. }
            | Call::Record { .. }
            | Call::Wait { .. }
            | Call::Launch { .. } => {
                unreachable!("a call that may block is made elsewhere, and so are most calls")
            }
        }
    }

    /// A record or a wait, which take no time.
    fn mark(&mut self, caller: Caller, call: &Call, stream: StreamId, effect: Effect<'_>) -> Reply {
        self.model.heard(call);
        let runs = match effect {
            Effect::Record(event) => Runs::Record(event),
            _ => Runs::For(Nanos::ZERO),
        };
        self.submit(caller, stream, runs, effect);
        Reply::Done
    }

    fn launch(&mut self, caller: Caller, stream: StreamId, takes: &Takes) -> Reply {
        let runs = self.runs(caller, takes);
        self.launches(stream);
        self.submit(caller, stream, runs, Effect::None);
        Reply::Done
    }

    pub(super) fn runs(&mut self, caller: Caller, takes: &Takes) -> Runs {
        match takes {
            Takes::For(law) => Runs::For(self.chooser.duration(caller.stmt, law)),
            Takes::Until(signal) => Runs::Until(*signal),
        }
    }

    fn trim(&mut self, caller: Caller, pool: PoolId, keep: Bytes) -> Reply {
        let bytes = self.model.trim(pool, keep);
        self.emit_unmapped(caller, pool, bytes);
        Reply::Done
    }

    /// What a pool gave back to its device, if it did.
    pub(super) fn emit_unmapped(&mut self, caller: Caller, pool: PoolId, bytes: Bytes) {
        if bytes > Bytes::ZERO {
            self.emit(caller, None, Kind::Released { pool, bytes });
            self.emit_state(caller, pool);
        }
    }

    fn snapshot(&mut self, caller: Caller, snapshot: SnapshotId) {
        if self.sink.wants(Detail::Pictures) {
            let pools = (0..self.pools).map(PoolId::new);
            let pools = pools.filter(|pool| self.resources.is_there(*pool));
            let pictures: Vec<_> = pools.map(|pool| self.model.picture(pool)).collect();
            let graphs = self.graph_pools();
            self.emit(caller, None, Kind::Snapshot { snapshot, pools: &pictures, graphs: &graphs });
        }
    }

    fn alloc(
        &mut self,
        caller: Caller,
        stream: StreamId,
        pool: Option<PoolId>,
        size: Bytes,
    ) -> Result<Reply, Failure> {
        let pool = pool.ok_or(Failure::InvalidValue)?;
        let at = self.order.next_ticket(stream).expect("a stream has less than 2^32 operations");
        let request = Request { pool, size, at };
        let wants_refusals = self.sink.wants(Detail::Refusals);
        self.look(caller.host);
        let done = &self.threads.hosts[caller.host].visible;
        let (ordered, seen, observed) = self.order.known(caller.host, stream);
        let known = Known { ordered, done, seen, observed };
        let refusals = wants_refusals.then(|| self.model.refused(request, known));
        let result = self.model.alloc(request, known);
        if let Some(refusals) = &refusals {
            self.emit(caller, None, Kind::Refused(refusals));
        }
        let decision = match result {
            Ok(decision) => {
                Decision { by_timing: refusals.is_some_and(|refusals| refusals.by_timing), ..decision }
            }
            Err(Denied { failure, unmapped }) => {
                self.emit_unmapped(caller, pool, unmapped);
                if self.sink.wants(Detail::States) {
                    let account = self.model.account(pool);
                    self.emit(caller, None, Kind::Account { pool, account: &account });
                }
                return Err(failure);
            }
        };
        if decision.policy == Some(Policy::Growth) && self.sink.wants(Detail::Order) {
            let Host { now, visible, .. } = &self.threads.hosts[caller.host];
            let (kind, Caller { host, stmt, .. }) = (Kind::Grown { visible }, caller);
            self.sink.event(&Event { at: *now, host, stmt, ticket: Some(at), kind });
        }
        self.emit(caller, Some(at), Kind::Decided(&decision));
        if decision.unmapped > Bytes::ZERO {
            self.emit(caller, None, Kind::Released { pool, bytes: decision.unmapped });
        }
        self.submit(caller, stream, Runs::For(Nanos::ZERO), Effect::Allocator(&decision.waits));
        self.emit_state(caller, pool);
        Ok(Reply::Allocated(decision))
    }

    /// The host has been held up by a call that costs so much as stated; it may have been held up before, too.
    #[inline]
    pub(super) fn pays(&mut self, caller: Caller, cost: Nanos) {
        let takes = self.chooser.delay(caller.stmt, cost);
        let host = &mut self.threads.hosts[caller.host];
        host.now = host.now.after(takes);
    }

    /// Brings up to date what the host may see complete.
    pub(super) fn look(&mut self, host: HostId) {
        let visible = &mut self.threads.hosts[host].visible;
        visible.clear();
        visible.extend_from_slice(self.progress.done());
        join(visible, self.order.seen(host));
    }

    pub(super) fn submit(&mut self, caller: Caller, stream: StreamId, runs: Runs, effect: Effect<'_>) {
        let operation = Operation { host: caller.host, stmt: caller.stmt, runs };
        let mut waits = std::mem::take(&mut self.scratch.waits);
        let ticket = self.order.submit(stream, operation, effect, &mut waits);
        self.emit(caller, Some(ticket), Kind::Submitted(caller.call));
        for (on, cause) in &waits {
            self.emit(caller, Some(ticket), Kind::Waits { on: *on, cause: *cause });
        }
        self.scratch.waits = waits;
        if self.sink.wants(Detail::Order) {
            self.emit_order(caller, ticket);
        }
        // Only now: the operation may wait for a free that the allocator has just let go of.
        if self.order.wants_sweep() {
            self.scratch.pending.clear();
            self.model.pending(&mut self.scratch.pending);
            self.graphs.pending(&mut self.scratch.pending);
            self.scratch.pending.extend(self.threads.promises().map(|promise| promise.ticket));
            self.order.sweep(&mut self.scratch.pending);
        }
        if self.order.is_ready(ticket) {
            self.start(ticket, operation);
        }
    }

    fn emit_order(&mut self, caller: Caller, ticket: Ticket) {
        if let Some(before) = self.order.grown() {
            let Caller { host, stmt, .. } = caller;
            let (at, kind) = (self.threads.hosts[host].now, Kind::Ordered { before });
            self.sink.event(&Event { at, host, stmt, ticket: Some(ticket), kind });
        }
    }

    /// Goes to the next completion on a device, if there is one before `until` (without `until`: any). `false`: there is none.
    pub fn step(&mut self, until: Option<Nanos>) -> bool {
        match self.progress.next(until) {
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
        if let Runs::Record(event) = operation.runs {
            self.happened(event, ticket);
        }
        self.keep_promise(ticket);
        if self.has_ending_pools() {
            self.end_pools(operation);
        }
        for stream in ready.drain(..) {
            let (ticket, operation) = self.order.ready(stream).expect("only what is ready starts");
            self.start(ticket, operation);
        }
        self.scratch.ready = ready;
    }

    fn start(&mut self, ticket: Ticket, operation: Operation) {
        if let Runs::Together(collective, round) = operation.runs {
            return self.start_together(collective, round, ticket);
        }
        self.emit_device(ticket, operation, Kind::Start);
        match operation.runs {
            Runs::For(duration) => self.progress.started(ticket, duration),
            Runs::Record(_) => self.progress.started(ticket, Nanos::ZERO),
            Runs::Until(signal) if self.threads.signals[signal].given.is_some() => {
                self.progress.started(ticket, Nanos::ZERO);
            }
            Runs::Until(signal) => self.threads.signals[signal].stalled.push(ticket),
            Runs::Together(..) => {}
        }
    }

    /// One of several host threads that could call at the same time: its place among them. `returns`: whether one comes back
    /// from a call that has blocked.
    pub fn pick(&mut self, among: &[HostId], returns: &dyn Fn(HostId) -> bool) -> usize {
        self.chooser.pick(among, returns)
    }

    #[inline(always)]
    pub(super) fn emit(&mut self, caller: Caller, ticket: Option<Ticket>, kind: Kind<'_>) {
        if self.sink.wants(Detail::Events) {
            let Caller { host, stmt, .. } = caller;
            self.sink.event(&Event { at: self.threads.hosts[host].now, host, stmt, ticket, kind });
        }
    }

    #[inline(always)]
    pub(super) fn emit_device(&mut self, ticket: Ticket, operation: Operation, kind: Kind<'_>) {
        if self.sink.wants(Detail::Events) {
            let Operation { host, stmt, .. } = operation;
            self.sink.event(&Event { at: self.progress.now(), host, stmt, ticket: Some(ticket), kind });
        }
    }

    pub(super) fn emit_state(&mut self, caller: Caller, pool: PoolId) {
        if self.sink.wants(Detail::States) {
            let state = self.model.state(pool);
            self.emit(caller, None, Kind::State { pool, state: &state });
        }
    }
}
