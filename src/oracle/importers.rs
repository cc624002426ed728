//! Whether importers free first: the free of an import is ordered before the free of what was imported
//! (CUDA driver API, `cuMemPoolImportPointer`; CUDA Programming Guide 4.3.3.4.3).
//!
//! Judged by order, whatever the timing was. For each import that was freed it keeps from where on in each stream, and in which
//! threads, signals and barriers, that is known; the events bring the edges. It forgets an import with its exporter's free.

use super::findings::{Findings, Found, Role};
use crate::base::{BufferId, EventId, HostId, IndexVec, PoolId, SignalId, StmtId, StreamId};
use crate::trace::{
    AllocId, Call, Cut, Event, Exported, FindingKind, Imported, Kind, Setup, StreamKind, StreamSetup, Target,
    Ticket,
};
use std::collections::BTreeMap;

/// The sink that judges.
#[derive(Clone, Debug)]
pub(super) struct Importers {
    streams: IndexVec<StreamId, StreamSetup>,
    signals: usize,
    barriers: usize,
    /// Whether the first free of an import ends all imports of the same memory in its process.
    first_free_ends_all: bool,
    hosts: IndexVec<HostId, Thread>,
    /// What is exported under each signal.
    exported: BTreeMap<SignalId, Exported>,
    /// The event of another process that each imported one is.
    events: BTreeMap<EventId, EventId>,
    /// The record that each event captured last.
    records: BTreeMap<EventId, Ticket>,
    imports: BTreeMap<AllocId, Import>,
    /// What the allocations of pools that live are called: no other memory is shared.
    names: BTreeMap<AllocId, BufferId>,
}

/// A host thread, in the call that it made last.
#[derive(Clone, Debug, Default)]
struct Thread {
    call: Option<(Call, StmtId)>,
    /// Its operation, once it is submitted.
    ticket: Option<Ticket>,
    /// What it allocated or imported.
    alloc: Option<AllocId>,
    failed: bool,
}

/// An import.
#[derive(Clone, Debug)]
struct Import {
    of: AllocId,
    pool: PoolId,
    stmt: StmtId,
    name: Option<BufferId>,
    freed: Option<Known>,
}

/// Who knows that an import is freed.
#[derive(Clone, Debug)]
struct Known {
    stmt: StmtId,
    /// Its operation; `None`: a host freed it at once.
    at: Option<Ticket>,
    /// For each stream, the first operation that is ordered after it.
    after: Vec<Option<u32>>,
    hosts: Vec<bool>,
    signals: Vec<bool>,
    barriers: Vec<bool>,
}

impl Known {
    fn covers(&self, ticket: Ticket) -> bool {
        self.after[ticket.stream.index()].is_some_and(|first| first <= ticket.seq)
    }

    fn reaches(&mut self, ticket: Ticket) {
        let first = &mut self.after[ticket.stream.index()];
        *first = Some(first.map_or(ticket.seq, |first| first.min(ticket.seq)));
    }

    /// Whether a synchronise with this target waits for it, when called now.
    fn is_awaited(
        &self,
        target: Target,
        streams: &IndexVec<StreamId, StreamSetup>,
        record: Option<Ticket>,
    ) -> bool {
        let reached = |stream: StreamId| self.after[stream.index()].is_some();
        match target {
            Target::Event(_) => record.is_some_and(|at| self.covers(at)),
            Target::Device(device) => {
                streams.iter_enumerated().any(|(id, stream)| stream.device == device && reached(id))
            }
            Target::Stream(stream) => {
                let StreamSetup { device, kind, .. } = streams[stream];
                let joins = |other: &StreamSetup| {
                    other.device == device
                        && matches!(other.kind, StreamKind::Blocking | StreamKind::PerThread)
                };
                let is_legacy = kind == StreamKind::Legacy;
                let joined = streams.iter_enumerated().filter(|(_, other)| is_legacy && joins(other));
                reached(stream) || joined.map(|(id, _)| id).any(reached)
            }
        }
    }
}

impl Importers {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            streams: setup.streams.clone(),
            signals: setup.signals,
            barriers: setup.barriers.len(),
            first_free_ends_all: setup.rules.first_free_ends_imports,
            hosts: (0..setup.hosts).map(|_| Thread::default()).collect(),
            exported: BTreeMap::new(),
            events: BTreeMap::new(),
            records: BTreeMap::new(),
            imports: BTreeMap::new(),
            names: BTreeMap::new(),
        }
    }

    /// The end of the run: each thread has returned from its last call.
    pub(super) fn finish(mut self, findings: &mut Findings) {
        self.hosts.indices().for_each(|host| self.settle(host, findings));
    }

    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>, findings: &mut Findings) {
        match (event.kind, event.ticket) {
            (Kind::Call(call), _) => {
                self.settle(event.host, findings);
                self.made(event.host, call);
                let call = Some((call.clone(), event.stmt));
                self.hosts[event.host] = Thread { call, ..Thread::default() };
            }
            (Kind::Failed(_), _) => self.hosts[event.host].failed = true,
            (Kind::Submitted, Some(ticket)) => {
                self.hosts[event.host].ticket = Some(ticket);
                for known in self.known().filter(|known| known.hosts[event.host.index()]) {
                    known.reaches(ticket);
                }
            }
            (Kind::Waits { on, .. }, Some(ticket)) => {
                for known in self.known().filter(|known| known.covers(on)) {
                    known.reaches(ticket);
                }
            }
            (Kind::Seen { seen }, _) => self.seen(event.host, seen),
            (Kind::Decided(decision), _) => {
                self.hosts[event.host].alloc = Some(decision.alloc);
                let Some((Call::Import { under, into }, stmt)) = self.hosts[event.host].call else { return };
                if let (Some(Exported::Memory(of)), Imported::Memory(pool)) =
                    (self.exported.get(&under), into)
                {
                    let import = Import { of: *of, pool, stmt, name: None, freed: None };
                    self.imports.insert(decision.alloc, import);
                }
            }
            (Kind::Named(name), _) => {
                let Thread { call, alloc, .. } = &self.hosts[event.host];
                if let (Some((Call::Alloc { .. } | Call::Import { .. }, _)), Some(alloc)) = (call, alloc) {
                    self.names.insert(*alloc, name);
                }
            }
            _ => {}
        }
    }

    fn known(&mut self) -> impl Iterator<Item = &mut Known> {
        self.imports.values_mut().filter_map(|import| import.freed.as_mut())
    }

    fn seen(&mut self, host: HostId, seen: &Cut) {
        for known in self.known() {
            let is_seen = known.at.is_some_and(|at| at.within(seen));
            known.hosts[host.index()] |= is_seen;
        }
    }

    fn root(&self, event: EventId) -> EventId {
        self.events.get(&event).copied().unwrap_or(event)
    }

    /// What counts when a call is made.
    fn made(&mut self, host: HostId, call: &Call) {
        let own = host.index();
        match *call {
            Call::Spawn(child) => {
                self.known().for_each(|known| known.hosts[child.index()] |= known.hosts[own])
            }
            Call::Signal(signal) | Call::Export { under: signal, .. } => {
                self.known().for_each(|known| known.signals[signal.index()] |= known.hosts[own]);
            }
            Call::Barrier(barrier) => {
                self.known().for_each(|known| known.barriers[barrier.index()] |= known.hosts[own]);
            }
            // It returns only once all that is in the streams by now is complete.
            Call::Sync(target) => {
                let record = match target {
                    Target::Event(event) => self.records.get(&self.root(event)).copied(),
                    Target::Stream(_) | Target::Device(_) => None,
                };
                let streams = std::mem::take(&mut self.streams);
                for known in self.known().filter(|known| known.is_awaited(target, &streams, record)) {
                    known.hosts[own] = true;
                }
                self.streams = streams;
            }
            _ => {}
        }
    }

    /// What counts once a call has returned.
    fn settle(&mut self, host: HostId, findings: &mut Findings) {
        let Thread { call: Some((call, stmt)), ticket, failed: false, .. } =
            std::mem::take(&mut self.hosts[host])
        else {
            return;
        };
        let own = host.index();
        match (call, ticket) {
            (Call::Await(signal), _) => self.learns(own, |known| known.signals[signal.index()]),
            (Call::Join(other), _) => self.learns(own, |known| known.hosts[other.index()]),
            (Call::Barrier(barrier), _) => self.learns(own, |known| known.barriers[barrier.index()]),
            (Call::Import { under, into }, _) => {
                self.learns(own, |known| known.signals[under.index()]);
                if let (Imported::Event(event), Some(Exported::Event(of))) = (into, self.exported.get(&under))
                {
                    self.events.insert(event, *of);
                }
            }
            (Call::Export { what, under }, _) => {
                self.exported.insert(under, what);
            }
            (Call::Record { event, .. }, Some(ticket)) => {
                let event = self.root(event);
                self.records.insert(event, ticket);
            }
            (Call::HostFunction { gives: Some(signal), .. }, Some(ticket)) => {
                let given = self.known().filter(|known| known.covers(ticket));
                given.for_each(|known| known.signals[signal.index()] = true);
            }
            (Call::Free { alloc, .. } | Call::PlainFree { alloc }, ticket) => {
                self.freed(host, stmt, alloc, ticket, findings);
            }
            _ => {}
        }
    }

    fn learns(&mut self, host: usize, from: impl Fn(&Known) -> bool) {
        for known in self.known() {
            known.hosts[host] |= from(known);
        }
    }

    fn freed(
        &mut self,
        host: HostId,
        stmt: StmtId,
        alloc: AllocId,
        at: Option<Ticket>,
        findings: &mut Findings,
    ) {
        let name = self.names.remove(&alloc);
        let (streams, hosts) = (self.streams.len(), self.hosts.len());
        let (signals, barriers) = (self.signals, self.barriers);
        if let Some(import) = self.imports.get_mut(&alloc) {
            let none = vec![None; streams];
            let [mut hosts, signals, barriers] = [hosts, signals, barriers].map(|count| vec![false; count]);
            hosts[host.index()] = at.is_none();
            let mut known = Known { stmt, at, after: none, hosts, signals, barriers };
            at.into_iter().for_each(|at| known.reaches(at));
            import.name = name;
            let (of, pool) = (import.of, import.pool);
            if self.first_free_ends_all {
                let same =
                    |other: &&mut Import| (other.of, other.pool) == (of, pool) && other.freed.is_none();
                self.imports.values_mut().filter(same).for_each(|other| other.freed = Some(known.clone()));
            } else {
                import.freed = Some(known);
            }
            return;
        }
        let imports = std::mem::take(&mut self.imports);
        let (ended, others) = imports.into_iter().partition(|(_, import)| import.of == alloc);
        self.imports = others;
        let ended: BTreeMap<AllocId, Import> = ended;
        for (id, Import { stmt: import, name: of_import, freed, .. }) in ended {
            let is_after = freed.as_ref().is_some_and(|known| match at {
                Some(at) => known.covers(at),
                None => known.hosts[host.index()],
            });
            if !is_after {
                let others =
                    [(Role::Import, Some(import)), (Role::FreeOfImport, freed.map(|known| known.stmt))];
                let of_import = of_import.or_else(|| self.names.get(&id).copied());
                findings.add(Found {
                    kind: FindingKind::FreedBeforeImporter,
                    certainty: None,
                    stmt,
                    others: &others,
                    names: &[name, of_import],
                    missing: None,
                });
            }
        }
    }
}
