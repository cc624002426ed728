//! The life of memory: what must be before what for an allocation, its uses and its free, and what a synchronise adds to that.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync` ("the allocation must not be accessed until .. the allocation operation completes"),
//! `cuMemFreeAsync` (accesses after the call returns are undefined); CUDA Programming Guide 4.3.2.1 and 4.3.2.2.

use super::clock::{Clock, Mark, Stands};
use super::clocks::Clocks;
use super::judge::{Demand, Judge};
use super::lints::{Growth, Waited};
use super::memory::{Birth, Free, Handle, Record, Touch};
use super::{Doing, Hazards, Operation};
use crate::base::{BufferId, Bytes, EventId, HostId, PoolId, StmtId, StreamId};
use crate::oracle::findings::{Certainty, Findings, Found, Missing, Moment, Role};
use crate::trace::{
    Access, AllocId, Cut, Decision, Exported, FindingKind, Imported, Memory as Place, Policy, Target, Ticket,
    Use,
};
use smallvec::SmallVec;

/// Who touches or frees memory, by which statement: an operation of a stream, or a host thread at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    host: HostId,
    stream: Option<StreamId>,
    mark: Mark,
    stmt: StmtId,
}

impl Operation {
    /// Who touches or frees memory with it.
    pub(super) fn by(self) -> By {
        let Self { host, stmt, ticket } = self;
        By { host, stream: Some(ticket.stream), mark: Clocks::of_operation(ticket), stmt }
    }
}

impl By {
    /// What is before it.
    fn clock(self, clocks: &Clocks) -> &Clock {
        match self.stream {
            Some(stream) => clocks.stream(stream),
            None => clocks.host(self.host),
        }
    }
}

/// What a finding is about beside its statement: others, names, and the allocation.
type About<'a> = (&'a [(Role, Option<StmtId>)], &'a [Option<BufferId>], Option<AllocId>);

/// Who judges, by which clocks, and what is found.
struct Court<'a> {
    judge: &'a mut Judge,
    clocks: &'a Clocks,
    findings: &'a mut Findings,
}

impl Court<'_> {
    fn demand(&mut self, demand: &Demand<'_>, clock: &Clock, stands: Stands) -> bool {
        self.judge.demand(demand, clock, stands, self.clocks, self.findings)
    }

    /// An allocation is before what touches or frees it.
    fn is_allocated(&mut self, record: &Record, kind: FindingKind, by: By) {
        let clock = by.clock(self.clocks);
        if clock.has(record.allocated.0) {
            return;
        }
        let stands = clock.stands(record.allocated.0);
        let demand = Demand {
            kind,
            from: record.allocated,
            to: (by.mark, by.stmt),
            either_way: false,
            stmt: by.stmt,
            others: &[Hazards::allocation(record)],
            names: &[record.name],
            alloc: Some(record.id),
        };
        self.demand(&demand, clock, stands);
    }

    /// Memory is touched: what touched the same bytes before is before it or after it.
    fn touches(&mut self, record: &mut Record, by: By, used: &Use, is_imported: bool) {
        let allocation = Hazards::allocation(record);
        let (names, alloc) = ([record.name], Some(record.id));
        let clock = by.clock(self.clocks);
        let touch = touch(by, used, is_imported);
        let bytes = (used.from.0, used.end().0);
        let is_unwritten = record.extent.touch(bytes, used.access, touch, clock, |known, stands| {
            let others = [(Role::Use, Some(known.stmt)), allocation];
            self.meets(by, known, clock, stands, (&others, &names, alloc));
        });
        if is_unwritten && record.freed.is_none() {
            self.findings.add(Found {
                others: &[allocation],
                names: &names,
                ..Found::plain(FindingKind::UninitialisedRead, by.stmt)
            });
        }
    }

    /// Two touches of the same bytes, one of which writes, are in an order.
    fn meets(
        &mut self,
        by: By,
        known: Touch,
        clock: &Clock,
        stands: Stands,
        (others, names, alloc): About<'_>,
    ) {
        let is_of_host = self.clocks.is_host(known.mark) || self.clocks.is_host(by.mark);
        let demand = Demand {
            kind: if is_of_host { FindingKind::HostRace } else { FindingKind::Race },
            from: (known.mark, known.stmt),
            to: (by.mark, by.stmt),
            either_way: true,
            stmt: by.stmt,
            others,
            names,
            alloc,
        };
        self.demand(&demand, clock, stands);
    }

    /// Memory is touched after the call that freed it returned, whatever the order of the operations is (CUDA driver API,
    /// `cuMemFreeAsync`). Says whether it was freed.
    fn is_freed(&mut self, record: &mut Record, by: By, used: &Use) -> bool {
        let Some(free) = record.freed else { return false };
        let is_certain = self.clocks.has_called(by.host, free.call) || by.clock(self.clocks).has(free.mark);
        let missing = Missing {
            from: Moment { stmt: by.stmt, point: self.clocks.point(by.mark) },
            to: Moment { stmt: free.stmt, point: self.clocks.point(free.mark) },
            alloc: Some(record.id),
        };
        self.findings.add(Found {
            certainty: Some(if is_certain { Certainty::Definite } else { Certainty::Possible }),
            others: &[(Role::Free, Some(free.stmt)), Hazards::allocation(record)],
            names: &[record.name],
            missing: Some(missing),
            ..Found::plain(FindingKind::UseAfterFree, by.stmt)
        });
        if record.taken.is_none() {
            record.astray.push(touch(by, used, false));
        }
        true
    }

    /// Memory is touched that nothing is known about any more, since it was freed long ago.
    fn is_forgotten(&mut self, alloc: AllocId, by: By) {
        if alloc != AllocId::NULL {
            self.findings.add(Found {
                certainty: Some(Certainty::Definite),
                ..Found::plain(FindingKind::UseAfterFree, by.stmt)
            });
        }
    }

    /// What touched memory is before its free.
    fn are_over(&mut self, record: &mut Record, by: By) {
        let clock = by.clock(self.clocks);
        if !record.extent.touches().all(|touch| touch.is_imported || clock.has(touch.mark)) {
            self.is_used_after(record, by);
        }
    }

    /// Something that touched memory is not before its free.
    #[cold]
    fn is_used_after(&mut self, record: &mut Record, by: By) {
        let clock = by.clock(self.clocks);
        let allocation = Hazards::allocation(record);
        let (names, alloc) = ([record.name], Some(record.id));
        for touch in record.extent.touches().filter(|touch| !touch.is_imported) {
            let stands = clock.stands(touch.mark);
            if stands == Stands::Before || record.astray.contains(touch) {
                continue;
            }
            let demand = Demand {
                kind: FindingKind::UseAfterFree,
                from: (touch.mark, touch.stmt),
                to: (by.mark, by.stmt),
                either_way: false,
                stmt: by.stmt,
                others: &[(Role::Use, Some(touch.stmt)), allocation],
                names: &names,
                alloc,
            };
            if !self.demand(&demand, clock, stands) {
                record.astray.push(*touch);
            }
        }
    }
}

fn touch(by: By, used: &Use, is_imported: bool) -> Touch {
    Touch { mark: by.mark, stmt: by.stmt, writes: used.access != Access::Read, is_imported }
}

impl Hazards {
    /// A host thread waits for work.
    pub(super) fn synchronise(&mut self, host: HostId, stmt: StmtId, target: Target) {
        let target = self.rooted(target);
        self.tell_waited(host, stmt, target);
        self.clocks.synchronise(host, target, true);
    }

    fn rooted(&self, target: Target) -> Target {
        match target {
            Target::Event(event) => Target::Event(self.root(event)),
            target => target,
        }
    }

    fn tell_waited(&mut self, host: HostId, stmt: StmtId, target: Target) {
        let event = match target {
            Target::Event(event) => Some(event),
            Target::Stream(_) | Target::Device(_) => None,
        };
        let how = match event.map(|event| self.clocks.record_of(event)) {
            Some(None) => Waited::ForNothing,
            _ if self.clocks.is_known(host, target, &self.blocks.observed) => Waited::InVain,
            _ => Waited::Usefully,
        };
        self.lints.waited(stmt, event, how);
    }

    /// A synchronise has returned. That a plain free was one is not to be relied on.
    pub(super) fn synchronised(&mut self, host: HostId, observed: &Cut) {
        self.blocks.observe(observed, &mut self.memory);
        if let Doing::PlainFree(alloc) = self.callers[host].doing
            && let Some(device) = self.memory.get(alloc).and_then(Record::outside)
        {
            self.clocks.synchronise(host, Target::Device(device), false);
            self.unconfirmed = Some(host);
        }
    }

    /// A query or a poll has found complete what it asked for.
    pub(super) fn seen(&mut self, host: HostId, stmt: StmtId) {
        match self.callers[host].doing {
            Doing::Poll(target) => {
                let target = self.rooted(target);
                self.tell_waited(host, stmt, target);
                self.clocks.synchronise(host, target, true);
            }
            Doing::Query(target) => {
                let target = self.rooted(target);
                if let Target::Event(event) = target {
                    self.lints.looked_at(event);
                }
                self.clocks.synchronise(host, target, false);
            }
            _ => {}
        }
    }

    /// A stream waits for an event.
    pub(super) fn waits_for(&mut self, stmt: StmtId, ticket: Ticket, event: EventId) {
        let event = self.root(event);
        let how = match self.clocks.record_of(event).is_some() {
            false => Waited::ForNothing,
            true if self.clocks.wait(ticket.stream, event) => Waited::Usefully,
            true => Waited::InVain,
        };
        self.lints.waited(stmt, Some(event), how);
    }

    /// An allocation is placed: memory outside of pools and imports live from now on, others with their operation.
    pub(super) fn decided(
        &mut self,
        host: HostId,
        stmt: StmtId,
        ticket: Option<Ticket>,
        decision: &Decision,
        findings: &mut Findings,
    ) {
        let doing = self.callers[host].doing;
        if let (Doing::Alloc(pool), Some(ticket)) = (doing, ticket) {
            self.clocks.begin(host, ticket.stream);
            self.lives(host, (Clocks::of_operation(ticket), stmt), decision, pool);
            if let Some(pool) = pool.filter(|_| self.rules.is_sound && decision.alloc != AllocId::NULL) {
                self.served(stmt, ticket, pool, decision, findings);
            }
        } else {
            self.placed_at_once(host, stmt, doing, decision);
        }
    }

    /// The same for memory that the operation of an allocation does not bring to life.
    #[cold]
    fn placed_at_once(&mut self, host: HostId, stmt: StmtId, doing: Doing, decision: &Decision) {
        let by = (self.clocks.mark(host), stmt);
        match doing {
            Doing::Malloc(device) => {
                if let Some(record) = self.lives(host, by, decision, None) {
                    record.extras_mut().outside = Some(device);
                }
            }
            // It lives once it is launched; until then it has a name.
            Doing::NodeAlloc => {
                if let Some(record) = self.lives(host, by, decision, None) {
                    record.extras_mut().is_planned = true;
                }
            }
            Doing::Import(under, Imported::Memory(pool)) => {
                self.lives(host, by, decision, Some(pool));
                let Some(Exported::Memory(of)) = self.exported.get(&under).copied() else { return };
                let Some(source) = self.memory.get_mut(of) else { return };
                source.extras_mut().imports.push(decision.alloc);
                if let Some(record) = self.memory.get_mut(decision.alloc) {
                    let extras = record.extras_mut();
                    (extras.of, extras.is_awaited) = (Some(of), true);
                }
            }
            _ => {}
        }
    }

    /// An allocation that the call in progress makes begins to live; `None`: it is a null allocation.
    #[inline]
    fn lives(
        &mut self,
        host: HostId,
        by: (Mark, StmtId),
        decision: &Decision,
        pool: Option<PoolId>,
    ) -> Option<&mut Record> {
        let (id, range) = (decision.alloc, decision.range);
        let handle = (id != AllocId::NULL).then(|| self.memory.insert(Birth { id, by, range, pool }));
        self.callers[host].alloc = handle;
        self.memory.at_mut(handle?)
    }

    /// A node of a graph allocates.
    pub(super) fn allocates(&mut self, Operation { host, stmt, ticket }: Operation) {
        if let Some((alloc, range)) = self.callers[host].placed.take() {
            let decision = Decision::plain(alloc, range, range.size, Bytes::ZERO);
            self.lives(host, (Clocks::of_operation(ticket), stmt), &decision, None);
        }
    }

    /// A pool serves an allocation.
    fn served(
        &mut self,
        stmt: StmtId,
        ticket: Ticket,
        pool: PoolId,
        decision: &Decision,
        findings: &mut Findings,
    ) {
        if self.blocks.take(decision, ticket, &mut self.clocks, &mut self.memory) {
            for part in &decision.takes {
                self.taken_over(part.alloc, stmt, ticket, findings);
            }
        }
        if decision.policy == Some(Policy::Growth) {
            let growth = Growth { stmt, pool, size: decision.range.size.0, ticket };
            let clock = self.clocks.stream(ticket.stream);
            self.lints.grew(growth, clock, &self.blocks, &mut self.memory, findings);
        }
    }

    /// A new allocation has bytes of an old one: a use of that which nothing orders before the new one meets it.
    fn taken_over(&mut self, old: AllocId, stmt: StmtId, ticket: Ticket, findings: &mut Findings) {
        let Some(record) = self.memory.get(old) else { return };
        let clock = self.clocks.stream(ticket.stream);
        let name = record.name;
        let allocated = record.allocated.1;
        for touch in record.astray.iter().filter(|touch| !clock.has(touch.mark)) {
            let point = |mark: Mark| self.clocks.point(mark);
            findings.add(Found {
                others: &[(Role::Use, Some(touch.stmt)), (Role::Allocation, Some(allocated))],
                names: &[name],
                missing: Some(Missing {
                    from: Moment { stmt: touch.stmt, point: point(touch.mark) },
                    to: Moment { stmt, point: point(Clocks::of_operation(ticket)) },
                    alloc: Some(old),
                }),
                ..Found::plain(FindingKind::Overlap, stmt)
            });
        }
    }

    fn court<'a>(&'a mut self, findings: &'a mut Findings) -> (Court<'a>, &'a mut super::memory::Memory) {
        (Court { judge: &mut self.judge, clocks: &self.clocks, findings }, &mut self.memory)
    }

    /// An operation touches memory.
    pub(super) fn touch_all(&mut self, by: By, uses: &[Use], findings: &mut Findings) {
        for used in uses {
            self.touch(by, used, findings);
        }
    }

    /// The same, where the call reads the buffer of the host itself, once everything before the operation is complete.
    pub(super) fn touch_staged(&mut self, operation: Operation, uses: &[Use], findings: &mut Findings) {
        let by_host = |used: &&Use| matches!(used.memory, Place::Pageable(_)) && used.access == Access::Read;
        let by = operation.by();
        for used in uses.iter().filter(|used| !by_host(used)) {
            self.touch(by, used, findings);
        }
        self.clocks.learns_stream(by.host, operation.ticket.stream);
        let by = By { stream: None, mark: self.clocks.mark(by.host), ..by };
        for used in uses.iter().filter(by_host) {
            self.touch(by, used, findings);
        }
    }

    /// A host thread touches memory.
    pub(super) fn touches(&mut self, host: HostId, stmt: StmtId, used: &Use, findings: &mut Findings) {
        let by = By { host, stream: None, mark: self.clocks.mark(host), stmt };
        self.touch(by, used, findings);
    }

    fn touch(&mut self, by: By, used: &Use, findings: &mut Findings) {
        let Some(alloc) = used.memory.alloc() else {
            return self.touch_of_host(by, used, findings);
        };
        if let Some(record) = self.memory.get_mut(alloc)
            && record.is_plain()
            && by.clock(&self.clocks).has(record.allocated.0)
            && record.extent.touch_again((used.from.0, used.end().0), touch(by, used, false))
        {
            // As most memory is touched: nothing can be wrong with that.
            return;
        }
        self.touch_alloc(by, alloc, used, findings);
    }

    /// A buffer of the host is touched.
    #[inline(never)]
    fn touch_of_host(&mut self, by: By, used: &Use, findings: &mut Findings) {
        let (mut court, memory) = self.court(findings);
        let (Place::Pinned(buffer) | Place::Pageable(buffer)) = used.memory else { return };
        let (name, extent) = &mut memory.host[buffer];
        let clock = by.clock(court.clocks);
        let (names, bytes) = ([Some(*name)], (used.from.0, used.end().0));
        extent.touch(bytes, used.access, touch(by, used, false), clock, |known, stands| {
            let others = [(Role::Use, Some(known.stmt))];
            court.meets(by, known, clock, stands, (&others, &names, None));
        });
    }

    /// An allocation is touched.
    #[inline(never)]
    fn touch_alloc(&mut self, by: By, alloc: AllocId, used: &Use, findings: &mut Findings) {
        let (mut court, memory) = self.court(findings);
        let Some(record) = memory.get_mut(alloc) else {
            court.is_forgotten(alloc, by);
            return;
        };
        let (mut is_freed, mut taken) = (court.is_freed(record, by, used), record.taken);
        match record.of() {
            None => {
                court.is_allocated(record, FindingKind::UseBeforeAlloc, by);
                court.touches(record, by, used, false);
            }
            // What the importer does is seen in the memory of the exporter; the import keeps it for its own free.
            Some(of) => {
                let bytes = (used.from.0, used.end().0);
                let own = touch(by, used, false);
                record.extent.touch(bytes, Access::Write, own, by.clock(court.clocks), |_, _| {});
                let name = record.name;
                let Some(source) = memory.get_mut(of) else { return };
                let of_source = std::mem::replace(&mut source.name, name);
                is_freed |= court.is_freed(source, by, used);
                taken = taken.or(source.taken);
                court.is_allocated(source, FindingKind::UseBeforeAlloc, by);
                court.touches(source, by, used, true);
                source.name = of_source;
            }
        }
        if let Some(new) = taken.filter(|_| is_freed) {
            self.meets_the_next(alloc, new, by, findings);
        }
    }

    /// Memory is touched that another allocation has got.
    fn meets_the_next(&mut self, old: AllocId, new: AllocId, by: By, findings: &mut Findings) {
        let Some((old, new)) = self.memory.get(old).zip(self.memory.get(new)) else { return };
        findings.add(Found {
            others: &[(Role::Reuse, Some(new.allocated.1)), Hazards::allocation(old)],
            names: &[old.name, new.name],
            ..Found::plain(FindingKind::Overlap, by.stmt)
        });
    }

    /// A host thread frees memory at once. Whether the driver waits for its device first is not to be relied on.
    pub(super) fn plain_free(&mut self, host: HostId, stmt: StmtId, alloc: AllocId, findings: &mut Findings) {
        let mark = self.clocks.mark(host);
        self.free(By { host, stream: None, mark, stmt }, alloc, findings);
    }

    /// Memory is freed. Says where it is, if its pool may give it to others once the free is in its stream.
    pub(super) fn free(&mut self, by: By, alloc: AllocId, findings: &mut Findings) -> Option<Handle> {
        let is_sound = self.rules.is_sound;
        let (mut court, memory) = self.court(findings);
        let handle = memory.find(alloc)?;
        let record = memory.at_mut(handle)?;
        let free = Free { mark: by.mark, stmt: by.stmt, call: court.clocks.of_host(by.host) };
        let is_own = record.of().is_none();
        if is_own {
            court.is_allocated(record, FindingKind::FreeBeforeAlloc, by);
        }
        court.are_over(record, by);
        record.freed = Some(free);
        let is_given_back = is_sound && is_own && record.pool.is_some();
        // That of a graph lives again with its next launch.
        let lives_once = record.pool.is_some() || record.outside().is_some();
        if record.extras().is_some() {
            self.free_shared(by, alloc, free, findings);
        }
        if lives_once && !is_given_back {
            self.memory.let_go(handle);
        }
        is_given_back.then_some(handle)
    }

    /// Memory is freed that other processes have, or that another process has.
    #[cold]
    fn free_shared(&mut self, by: By, alloc: AllocId, free: Free, findings: &mut Findings) {
        let memory = &mut self.memory;
        let Some(record) = memory.get(alloc) else { return };
        let imports = |record: &Record| SmallVec::<[AllocId; 1]>::from_slice(record.imports());
        let (of, pool, name, own) = (record.of(), record.pool, record.name, imports(record));
        if let Some(of) = of.filter(|_| self.rules.first_free_ends_imports) {
            let others = memory.get(of).map(imports).unwrap_or_default();
            for other in others {
                if let Some(other) = memory.get_mut(other).filter(|other| other.pool == pool) {
                    other.freed = other.freed.or(Some(free));
                }
            }
        }
        for import in own {
            self.frees_after_importer(by, alloc, name, import, findings);
        }
        self.let_go_of_imports(by, alloc, of);
    }

    /// Imports that need not be looked at again: those that are freed with what they are of, and those that were freed before this
    /// import was, since whoever comes after this one comes after them.
    fn let_go_of_imports(&mut self, by: By, alloc: AllocId, of: Option<AllocId>) {
        let Self { memory, clocks, .. } = self;
        let source = of.unwrap_or(alloc);
        let Some(record) = memory.get(source).filter(|record| !record.imports().is_empty()) else { return };
        let clock = by.clock(clocks);
        let is_over = record.freed.is_some();
        let is_settled = |import: &AllocId| {
            let freed = memory.get(*import).and_then(|record| record.freed);
            freed.is_some_and(|freed| is_over || *import != alloc && clock.has(freed.mark))
        };
        let (settled, left): (SmallVec<[AllocId; 1]>, SmallVec<[AllocId; 1]>) =
            record.imports().iter().copied().partition(is_settled);
        if let Some(record) = memory.get_mut(source) {
            record.extras_mut().imports = left;
        }
        settled.into_iter().for_each(|import| memory.release(import));
        memory.release(source);
    }

    /// The free of an import is before the free of what was imported (CUDA driver API, `cuMemPoolImportPointer`).
    fn frees_after_importer(
        &mut self,
        by: By,
        alloc: AllocId,
        name: Option<BufferId>,
        import: AllocId,
        findings: &mut Findings,
    ) {
        let (mut court, memory) = self.court(findings);
        let Some(record) = memory.get(import) else { return };
        let others = [
            (Role::Import, Some(record.allocated.1)),
            (Role::FreeOfImport, record.freed.map(|free| free.stmt)),
        ];
        let names = [name, record.name];
        let kind = FindingKind::FreedBeforeImporter;
        let Some(freed) = record.freed else {
            findings.add(Found { others: &others, names: &names, ..Found::plain(kind, by.stmt) });
            return;
        };
        let clock = by.clock(court.clocks);
        let demand = Demand {
            kind,
            from: (freed.mark, freed.stmt),
            to: (by.mark, by.stmt),
            either_way: false,
            stmt: by.stmt,
            others: &others,
            names: &names,
            alloc: Some(alloc),
        };
        court.demand(&demand, clock, clock.stands(freed.mark));
    }
}
