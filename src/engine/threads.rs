//! Host threads as the machine sees them, and what makes them wait apart from the device: signals, barriers, each other.
//!
//! What a thread has seen complete is kept by the order; the cuts here are what signals carry from one thread
//! to another. It must not know streams or allocators.

use crate::base::{BarrierId, DeviceId, HostId, IndexVec, Nanos, SignalId, StmtId, reuse_on_clone};
use crate::trace::{Cut, Setup, Target, Ticket, join};
use std::collections::VecDeque;

/// The host threads of a run, its signals and its barriers.
#[derive(Debug)]
pub(super) struct Threads {
    pub(super) hosts: IndexVec<HostId, Host>,
    pub(super) signals: IndexVec<SignalId, Signal>,
    barriers: IndexVec<BarrierId, Barrier>,
    promises: Promises,
}

/// For each stream, the functions in it that will give a signal when they return, in their order.
#[derive(Debug)]
struct Promises {
    of: Vec<VecDeque<Promise>>,
    count: usize,
}

/// A host thread.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) now: Nanos,
    /// The call that blocks it.
    pub(super) blocked: Option<Blocked>,
    /// What that call waits for, if it waits for work.
    pub(super) target: Vec<u32>,
    /// A stream in which some of that was missing when it was looked at last, so that few have to be looked at again.
    pub(super) lacks: usize,
    /// What the host may see complete: what was complete before now, and what it has waited for.
    pub(super) visible: Vec<u32>,
    /// When it ended, if it has.
    ended: Option<Nanos>,
    /// When the barrier that it came to let it go on.
    passed: Option<Nanos>,
}

/// A call that has not returned. What it waits for and what it will do was settled when it was made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocked {
    pub(super) stmt: StmtId,
    pub(super) awaited: Awaited,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Awaited {
    /// Work; when the call returns, the pools of this device give memory back.
    Work { target: Target, releases: Option<DeviceId> },
    /// A signal.
    Signal(SignalId),
    /// The end of a thread.
    End(HostId),
    /// The other threads that come to a barrier.
    Barrier(BarrierId),
}

/// A signal.
#[derive(Debug)]
pub(super) struct Signal {
    pub(super) given: Option<Nanos>,
    /// The operations that run until it is given.
    pub(super) stalled: Vec<Ticket>,
    /// What was known to be complete where it was given; empty before.
    clock: Vec<u32>,
}

/// A function in a stream that gives a signal when it returns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub(super) ticket: Ticket,
    pub(super) signal: SignalId,
}

#[derive(Debug)]
struct Barrier {
    size: u32,
    arrived: Vec<HostId>,
}

reuse_on_clone!(Host { now, blocked, target, lacks, visible, ended, passed });
reuse_on_clone!(Signal { given, stalled, clock });
reuse_on_clone!(Barrier { size, arrived });
reuse_on_clone!(Threads { hosts, signals, barriers, promises });

impl Clone for Promises {
    fn clone(&self) -> Self {
        Self { of: self.of.clone(), count: self.count }
    }

    /// Most programs promise nothing.
    fn clone_from(&mut self, source: &Self) {
        if self.count + source.count > 0 {
            self.of.clone_from(&source.of);
            self.count = source.count;
        }
    }
}

impl Threads {
    pub(super) fn new(setup: &Setup) -> Self {
        let host = |_| Host {
            now: Nanos::ZERO,
            blocked: None,
            target: Vec::new(),
            lacks: 0,
            visible: Vec::new(),
            ended: None,
            passed: None,
        };
        let signal = |_| Signal { given: None, stalled: Vec::new(), clock: Vec::new() };
        let barrier = |size: &u32| Barrier { size: *size, arrived: Vec::new() };
        Self {
            hosts: (0..setup.hosts).map(host).collect(),
            signals: (0..setup.signals).map(signal).collect(),
            barriers: setup.barriers.iter().map(barrier).collect(),
            promises: Promises { of: setup.streams.iter().map(|_| VecDeque::new()).collect(), count: 0 },
        }
    }

    /// A thread begins, at the time of the one that starts it.
    pub(super) fn spawn(&mut self, by: HostId, host: HostId) {
        let now = self.hosts[by].now;
        let host = &mut self.hosts[host];
        (host.now, host.ended, host.passed) = (now, None, None);
    }

    /// A thread ends.
    pub(super) fn end(&mut self, host: HostId) {
        let host = &mut self.hosts[host];
        host.ended = Some(host.now);
    }

    /// A signal is given by somebody who knows that everything in the cut is complete. Returns the operations that it ends.
    pub(super) fn give(&mut self, signal: SignalId, at: Nanos, clock: &Cut) -> Vec<Ticket> {
        let signal = &mut self.signals[signal];
        signal.given.get_or_insert(at);
        signal.clock.resize(clock.len(), 0);
        join(&mut signal.clock, clock);
        std::mem::take(&mut signal.stalled)
    }

    /// A function is submitted that will give a signal.
    pub(super) fn promise(&mut self, promise: Promise) {
        self.promises.of[promise.ticket.stream.index()].push_back(promise);
        self.promises.count += 1;
    }

    /// The promise of an operation that has completed, if it made one.
    #[inline]
    pub(super) fn kept(&mut self, ticket: Ticket) -> Option<Promise> {
        if self.promises.count == 0 {
            return None;
        }
        let promises = &mut self.promises.of[ticket.stream.index()];
        promises.front().filter(|promise| promise.ticket == ticket)?;
        self.promises.count -= 1;
        promises.pop_front()
    }

    /// The promises that are not kept yet.
    pub(super) fn promises(&self) -> impl Iterator<Item = &Promise> {
        let streams = if self.promises.count == 0 { &[] } else { self.promises.of.as_slice() };
        streams.iter().flatten()
    }

    /// What a signal carries.
    pub(super) fn carried(&self, signal: SignalId) -> &Cut {
        &self.signals[signal].clock
    }

    /// A thread comes to a barrier. Where it is the last one, those that go on together.
    pub(super) fn arrive(&mut self, barrier: BarrierId, host: HostId) -> Vec<HostId> {
        let Barrier { size, arrived } = &mut self.barriers[barrier];
        arrived.push(host);
        if arrived.len() < *size as usize {
            return Vec::new();
        }
        let together = std::mem::take(arrived);
        let now = self.hosts[host].now;
        together.iter().for_each(|host| self.hosts[*host].passed = Some(now));
        together
    }

    /// Since when a thread need not wait for this any more. Work is not known here.
    pub(super) fn over(&self, host: HostId, awaited: Awaited) -> Option<Nanos> {
        match awaited {
            Awaited::Work { .. } => None,
            Awaited::Signal(signal) => self.signals[signal].given,
            Awaited::End(other) => self.hosts[other].ended,
            Awaited::Barrier(_) => self.hosts[host].passed,
        }
    }

    /// The thread is blocked by this statement, which waits for something.
    pub(super) fn block(&mut self, host: HostId, stmt: StmtId, awaited: Awaited) {
        self.hosts[host].blocked = Some(Blocked { stmt, awaited });
    }

    /// The call of a thread returns; it goes on from the time since when it could.
    pub(super) fn go_on(&mut self, host: HostId, since: Nanos) {
        let host = &mut self.hosts[host];
        (host.blocked, host.passed) = (None, None);
        host.now = host.now.max(since);
    }
}
