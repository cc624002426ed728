//! The life of memory: what must be before what for an allocation, its uses and its free, and what a synchronise adds to that.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync` ("the allocation must not be accessed until .. the allocation operation completes"),
//! `cuMemFreeAsync` (accesses after the call returns are undefined); CUDA Programming Guide 4.3.2.1 and 4.3.2.2.

use super::clock::Mark;
use super::clocks::Clocks;
use super::court::{By, Court, touch};
use super::judge::Demand;
use super::lints::{Growth, Waited};
use super::memory::{Birth, Extras, Free, Record};
use super::{Doing, Hazards, Operation};
use crate::base::{BufferId, Bytes, EventId, HostId, PoolId, StmtId};
use crate::oracle::findings::{Findings, Found, Missing, Moment, Role};
use crate::trace::{
    Access, AllocId, Cut, Decision, Exported, FindingKind, Imported, Memory as Place, Part, Policy, Target,
    Ticket, Use,
};
use smallvec::SmallVec;

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
            self.leaves_open(host);
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
    #[inline(always)]
    pub(super) fn waits_for(&mut self, operation: Operation, event: EventId) {
        let event = self.root(event);
        let how = match self.clocks.wait(operation.ticket.stream, event) {
            None => Waited::ForNothing,
            Some(true) => Waited::Usefully,
            Some(false) => Waited::InVain,
        };
        self.lints.waited(operation.stmt, Some(event), how);
    }

    /// The operation of an allocation, which is submitted with it, places it.
    #[inline(never)]
    pub(super) fn decided(
        &mut self,
        (host, stmt): (HostId, StmtId),
        ticket: Ticket,
        decision: &Decision,
        findings: &mut Findings,
    ) {
        let Doing::Alloc(pool) = self.callers[host].doing else {
            return self.placed_at_once(host, stmt, decision);
        };
        if !self.clocks.submits_again(host, ticket) {
            self.clocks.submits(host, ticket, true);
        }
        if let Some(pool) = pool.filter(|_| self.rules.is_sound && decision.alloc != AllocId::NULL) {
            self.served((stmt, pool), ticket, decision, findings);
        }
        self.lives(host, (Clocks::of_operation(ticket), stmt), decision, pool);
    }

    /// Memory outside of pools and imports live from the call on.
    #[cold]
    pub(super) fn placed_at_once(&mut self, host: HostId, stmt: StmtId, decision: &Decision) {
        let by = (self.clocks.mark(host), stmt);
        match self.callers[host].doing {
            Doing::Malloc(device) => {
                self.lives(host, by, decision, None);
                if let Some(extras) = self.extras_of_new(host) {
                    extras.outside = Some(device);
                }
            }
            // It lives once it is launched; until then it has a name.
            Doing::NodeAlloc => {
                self.lives(host, by, decision, None);
                if let Some(extras) = self.extras_of_new(host) {
                    extras.is_planned = true;
                }
            }
            Doing::Import(under, Imported::Memory(pool)) => {
                self.lives(host, by, decision, Some(pool));
                let Some(Exported::Memory(of)) = self.exported.get(&under).copied() else { return };
                let Some(source) = self.memory.get_mut(of) else { return };
                source.extras_mut().imports.push(decision.alloc);
                if let Some(record) = self.memory.get_mut(decision.alloc) {
                    record.import(of);
                }
            }
            _ => {}
        }
    }

    /// An allocation that the call in progress makes begins to live, unless it is a null allocation.
    #[inline(always)]
    fn lives(&mut self, host: HostId, by: (Mark, StmtId), decision: &Decision, pool: Option<PoolId>) {
        let (id, size) = (decision.alloc, decision.range.size.0);
        let handle = (id != AllocId::NULL).then(|| self.memory.insert(Birth { id, by, size, pool }));
        self.callers[host].alloc = handle;
    }

    /// What few allocations have, of the one that the call in progress makes.
    fn extras_of_new(&mut self, host: HostId) -> Option<&mut Extras> {
        self.memory.at_mut(self.callers[host].alloc?).map(Record::extras_mut)
    }

    /// A node of a graph allocates.
    pub(super) fn allocates(&mut self, Operation { host, stmt, ticket, .. }: Operation) {
        if let Some((alloc, range)) = self.callers[host].placed.take() {
            let decision = Decision::plain(alloc, range, range.size, Bytes::ZERO);
            self.lives(host, (Clocks::of_operation(ticket), stmt), &decision, None);
        }
    }

    /// A pool serves an allocation.
    #[inline(always)]
    fn served(
        &mut self,
        (stmt, pool): (StmtId, PoolId),
        ticket: Ticket,
        decision: &Decision,
        findings: &mut Findings,
    ) {
        let Self { blocks, clocks, memory, .. } = self;
        let stream = ticket.stream;
        if !decision.waits.is_empty() {
            blocks.wait(stream, &decision.waits, clocks, memory);
        }
        let mut is_touched = false;
        for part in &decision.takes {
            is_touched |= blocks.take(part, (decision.alloc, stream), clocks, memory);
        }
        if is_touched {
            self.taken_over(&decision.takes, stmt, ticket, findings);
        }
        if decision.policy == Some(Policy::Growth) {
            self.grows(stmt, pool, ticket, decision, findings);
        }
    }

    /// A pool grows for an allocation.
    #[inline(never)]
    fn grows(
        &mut self,
        stmt: StmtId,
        pool: PoolId,
        ticket: Ticket,
        decision: &Decision,
        findings: &mut Findings,
    ) {
        let growth = Growth { stmt, pool, size: decision.range.size.0, ticket };
        let clock = self.clocks.stream(ticket.stream);
        self.lints.grew(growth, clock, &self.blocks, &mut self.memory, findings);
    }

    /// A new allocation has bytes of old ones: a use of those which nothing orders before the new one meets it.
    #[cold]
    fn taken_over(&mut self, parts: &[Part], stmt: StmtId, ticket: Ticket, findings: &mut Findings) {
        for part in parts {
            self.part_taken_over(part.alloc, stmt, ticket, findings);
        }
    }

    /// The same for one of several old ones.
    fn part_taken_over(&mut self, old: AllocId, stmt: StmtId, ticket: Ticket, findings: &mut Findings) {
        let Some(record) = self.memory.get(old) else { return };
        let clock = self.clocks.stream(ticket.stream);
        let name = record.name();
        let allocated = record.allocated.1;
        for touch in record.astray().iter().filter(|touch| !clock.has(touch.mark)) {
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

    /// An operation touches memory as most memory is touched: nothing can be wrong with that. Says whether it is so.
    #[inline(always)]
    pub(super) fn touches_again(&mut self, operation: Operation, used: &Use) -> bool {
        let Some(alloc) = used.memory.alloc() else { return false };
        let Some((_, record)) = self.memory.find_mut(alloc) else { return false };
        record.is_plain()
            && self.clocks.stream(operation.ticket.stream).has(record.allocated.0)
            && record.extent.touch_again((used.from.0, used.end().0), touch(operation.by(), used, false))
    }

    /// Memory is touched.
    #[inline(never)]
    pub(super) fn touch(&mut self, by: By, used: &Use, findings: &mut Findings) {
        match used.memory.alloc() {
            Some(alloc) => self.touch_alloc(by, alloc, used, findings),
            None => self.touch_of_host(by, used, findings),
        }
    }

    /// A buffer of the host is touched.
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
    fn touch_alloc(&mut self, by: By, alloc: AllocId, used: &Use, findings: &mut Findings) {
        let (mut court, memory) = self.court(findings);
        let Some(record) = memory.get_mut(alloc) else {
            court.is_forgotten(alloc, by);
            return;
        };
        let (mut is_freed, mut taken) = (court.is_freed(record, by, used), record.taken());
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
                let name = record.name();
                let Some(source) = memory.get_mut(of) else { return };
                let of_source = source.rename(name);
                is_freed |= court.is_freed(source, by, used);
                taken = taken.or(source.taken());
                court.is_allocated(source, FindingKind::UseBeforeAlloc, by);
                court.touches(source, by, used, true);
                source.rename(of_source);
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
            names: &[old.name(), new.name()],
            ..Found::plain(FindingKind::Overlap, by.stmt)
        });
    }

    /// A host thread frees memory at once. Whether the driver waits for its device first is not to be relied on.
    pub(super) fn plain_free(&mut self, host: HostId, stmt: StmtId, alloc: AllocId, findings: &mut Findings) {
        let mark = self.clocks.mark(host);
        self.free(By { host, stream: None, mark, stmt }, alloc, findings);
    }

    /// Memory is freed. If its pool may give it to others, the free is in its stream already.
    pub(super) fn free(&mut self, by: By, alloc: AllocId, findings: &mut Findings) {
        let Self { judge, clocks, memory, blocks, rules, .. } = self;
        let mut court = Court { judge, clocks, findings };
        let Some((handle, record)) = memory.find_mut(alloc) else { return };
        let is_own = record.of().is_none();
        if is_own {
            court.is_allocated(record, FindingKind::FreeBeforeAlloc, by);
        }
        court.are_over(record, by);
        let free = Free { mark: by.mark, stmt: by.stmt, call: clocks.of_host(by.host) };
        record.free(free);
        let is_given_back = rules.is_sound && is_own && record.pool().is_some();
        let is_shared = record.extras().is_some();
        // That of a graph lives again with its next launch.
        let is_over = !is_given_back && (record.pool().is_some() || record.outside().is_some());
        if is_given_back && by.stream.is_some() && blocks.insert(handle, record, by.mark, by.clock(clocks)) {
            blocks.tidy(by.mark, memory);
        }
        if is_shared {
            self.free_shared(by, alloc, free, findings);
        }
        if is_over {
            self.memory.let_go(handle);
        }
    }

    /// Memory is freed that other processes have, or that another process has.
    #[cold]
    fn free_shared(&mut self, by: By, alloc: AllocId, free: Free, findings: &mut Findings) {
        let memory = &mut self.memory;
        let Some(record) = memory.get(alloc) else { return };
        let imports = |record: &Record| SmallVec::<[AllocId; 1]>::from_slice(record.imports());
        let (of, pool, name, own) = (record.of(), record.pool(), record.name(), imports(record));
        if let Some(of) = of.filter(|_| self.rules.first_free_ends_imports) {
            let others = memory.get(of).map(imports).unwrap_or_default();
            for other in others {
                if let Some(other) = memory.get_mut(other).filter(|other| other.pool() == pool) {
                    other.free(other.freed().unwrap_or(free));
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
        let is_over = record.freed().is_some();
        let is_settled = |import: &AllocId| {
            let freed = memory.get(*import).and_then(|record| record.freed());
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
            (Role::FreeOfImport, record.freed().map(|free| free.stmt)),
        ];
        let names = [name, record.name()];
        let kind = FindingKind::FreedBeforeImporter;
        let Some(freed) = record.freed() else {
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
