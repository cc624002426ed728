//! Mistakes that the calls of a run on hardware have answered for: what they name was freed or destroyed before, or is out of reach;
//! and who waits where nothing goes on.
//!
//! It reads what was called and how it ended, and asks for no order, of which hardware tells too little. It keeps a record for each
//! allocation, as the run itself is kept.
//!
//! Rules: CUDA runtime API, `cudaFree` and `cudaFreeAsync`; CUDA driver API, `cuMemFreeAsync`, `cuEventDestroy`; CUDA Programming Guide
//! 4.3.3.3.

use super::findings::{Findings, Found, Role};
use super::hazards::{freed, named, touched};
use crate::base::{BufferId, HostId, SignalId, StmtId};
use crate::trace::{AllocId, Call, Event, Failure, FindingKind, Kind, Resource, Takes};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of the memory and the things that calls name.
#[derive(Clone, Debug, Default)]
pub(super) struct Mistakes {
    memory: BTreeMap<AllocId, Known>,
    /// The allocation that each host thread was given last.
    placed: BTreeMap<HostId, AllocId>,
    /// What was destroyed and not created again, and by which statement.
    destroyed: BTreeMap<Resource, StmtId>,
    /// What was so before the call of each host thread.
    before: BTreeMap<HostId, Before>,
    given: BTreeSet<SignalId>,
    /// For each signal that was not given, the operations that end with it.
    waiting: BTreeMap<SignalId, BTreeSet<StmtId>>,
}

/// An allocation.
#[derive(Clone, Copy, Debug)]
struct Known {
    name: Option<BufferId>,
    allocated: StmtId,
    freed: Option<StmtId>,
}

/// What was freed and destroyed before a call that names it.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    freed: Option<StmtId>,
    destroyed: Option<StmtId>,
}

impl Mistakes {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>, findings: &mut Findings) {
        match event.kind {
            Kind::Call(call) => self.call(event.host, event.stmt, call),
            Kind::Submitted(call) => self.submitted(event.stmt, call),
            Kind::Decided(decision) => {
                let alloc = decision.alloc;
                self.memory.insert(alloc, Known { name: None, allocated: event.stmt, freed: None });
                self.placed.insert(event.host, alloc);
            }
            Kind::Named(name) => {
                let placed = self.placed.get(&event.host);
                if let Some(known) = placed.and_then(|alloc| self.memory.get_mut(alloc)) {
                    known.name = Some(name);
                }
            }
            Kind::Failed { failure, call } => self.failed((event.host, event.stmt), failure, call, findings),
            _ => {}
        }
    }

    /// The operations that wait for a signal which nobody has given.
    pub(super) fn waiting(&self) -> impl Iterator<Item = StmtId> + '_ {
        self.waiting.values().flatten().copied()
    }

    /// A call counts at once, until it is known to have failed.
    fn call(&mut self, host: HostId, stmt: StmtId, call: &Call) {
        let destroyed = named(call).into_iter().flatten().find_map(|one| self.destroyed.get(&one).copied());
        let mut before = Before { freed: None, destroyed };
        if let Some(known) = freed(call).and_then(|(alloc, _)| self.memory.get_mut(&alloc)) {
            before.freed = known.freed;
            known.freed.get_or_insert(stmt);
        }
        match call {
            Call::Create { resource, .. } => {
                self.destroyed.remove(resource);
            }
            Call::Destroy(resource) => {
                self.destroyed.entry(*resource).or_insert(stmt);
            }
            Call::Signal(signal) => self.gives(*signal),
            _ => {}
        }
        self.before.insert(host, before);
    }

    fn submitted(&mut self, stmt: StmtId, call: &Call) {
        let (takes, gives) = match *call {
            Call::HostFunction { takes, gives, .. } => (takes, gives),
            Call::Launch { takes, .. } => (takes, None),
            _ => return,
        };
        // It may have been given by now, for all that is known.
        gives.into_iter().for_each(|signal| self.gives(signal));
        if let Takes::Until(signal) = takes
            && !self.given.contains(&signal)
        {
            self.waiting.entry(signal).or_default().insert(stmt);
        }
    }

    fn gives(&mut self, signal: SignalId) {
        self.given.insert(signal);
        self.waiting.remove(&signal);
    }

    /// A call has changed nothing; what that means.
    fn failed(
        &mut self,
        (host, stmt): (HostId, StmtId),
        failure: Failure,
        call: &Call,
        findings: &mut Findings,
    ) {
        let before = self.before.remove(&host).unwrap_or_default();
        if let (Call::Destroy(resource), None) = (call, before.destroyed) {
            self.destroyed.remove(resource);
        }
        let freed = freed(call).map(|(alloc, _)| alloc);
        if let Some(known) = freed.and_then(|alloc| self.memory.get_mut(&alloc)) {
            known.freed = before.freed;
        }
        if let Some(destroyed) = before.destroyed {
            let others = [(Role::Destroy, Some(destroyed))];
            findings.add(Found { others: &others, ..Found::plain(FindingKind::UseOfDestroyed, stmt) });
        } else if let (Some(alloc), Failure::InvalidValue) = (freed, failure) {
            self.no_free(stmt, alloc, before.freed, findings);
        } else if let Some(touched) = touched(call) {
            let touched: Vec<AllocId> = touched.iter().filter_map(|used| used.memory.alloc()).collect();
            self.no_access(stmt, failure, &touched, findings);
        }
    }

    /// What a call is to free is freed already, or nothing that can be freed so.
    fn no_free(&self, stmt: StmtId, alloc: AllocId, before: Option<StmtId>, findings: &mut Findings) {
        let known = self.memory.get(&alloc);
        let allocation = known.map(|known| (Role::Allocation, Some(known.allocated)));
        let freed = before.map(|before| (Role::Free, Some(before)));
        let others: Vec<_> = freed.into_iter().chain(allocation).collect();
        let kind = if before.is_some() { FindingKind::DoubleFree } else { FindingKind::InvalidFree };
        let names = [known.and_then(|known| known.name)];
        findings.add(Found { others: &others, names: &names, ..Found::plain(kind, stmt) });
    }

    /// A device may not touch some of this memory so. A driver may refuse what was freed, too, which is something else.
    fn no_access(&self, stmt: StmtId, failure: Failure, touched: &[AllocId], findings: &mut Findings) {
        let known: Vec<&Known> = touched.iter().filter_map(|alloc| self.memory.get(alloc)).collect();
        let is_access = match failure {
            Failure::IllegalAddress => true,
            Failure::InvalidValue => known.iter().all(|known| known.freed.is_none()),
            _ => false,
        };
        if is_access {
            let allocations = known.iter().map(|known| (Role::Allocation, Some(known.allocated)));
            let others: Vec<_> = allocations.collect();
            let names: Vec<_> = known.iter().map(|known| known.name).collect();
            let kind = FindingKind::AccessDenied;
            findings.add(Found { others: &others, names: &names, ..Found::plain(kind, stmt) });
        }
    }
}
