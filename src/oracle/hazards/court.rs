//! What must be before what for an allocation, its uses and its free: the demands, one by one.
//!
//! It must not know which call or operation makes them.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync` ("the allocation must not be accessed until .. the allocation operation completes"),
//! `cuMemFreeAsync` (accesses after the call returns are undefined); CUDA Programming Guide 4.3.2.1 and 4.3.2.2.

use super::clock::{Clock, Mark, Stands};
use super::clocks::Clocks;
use super::extent::Touch;
use super::judge::{Demand, Judge};
use super::memory::Record;
use super::{Hazards, Operation};
use crate::base::{BufferId, HostId, StmtId, StreamId};
use crate::oracle::findings::{Certainty, Findings, Found, Missing, Moment, Role};
use crate::trace::{Access, AllocId, FindingKind, Use};

/// Who touches or frees memory, by which statement: an operation of a stream, or a host thread at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct By {
    pub(super) host: HostId,
    pub(super) stream: Option<StreamId>,
    pub(super) mark: Mark,
    pub(super) stmt: StmtId,
}

impl Operation {
    /// Who touches or frees memory with it.
    #[inline(always)]
    pub(super) fn by(self) -> By {
        let Self { host, stmt, ticket, .. } = self;
        By { host, stream: Some(ticket.stream), mark: Clocks::of_operation(ticket), stmt }
    }
}

impl By {
    /// What is before it.
    #[inline(always)]
    pub(super) fn clock(self, clocks: &Clocks) -> &Clock {
        match self.stream {
            Some(stream) => clocks.stream(stream),
            None => clocks.host(self.host),
        }
    }
}

/// What a finding is about beside its statement: others, names, and the allocation.
pub(super) type About<'a> = (&'a [(Role, Option<StmtId>)], &'a [Option<BufferId>], Option<AllocId>);

/// Who judges, by which clocks, and what is found.
pub(super) struct Court<'a> {
    pub(super) judge: &'a mut Judge,
    pub(super) clocks: &'a Clocks,
    pub(super) findings: &'a mut Findings,
}

impl Court<'_> {
    pub(super) fn demand(&mut self, demand: &Demand<'_>, clock: &Clock, stands: Stands) -> bool {
        self.judge.demand(demand, clock, stands, self.clocks, self.findings)
    }

    /// An allocation is before what touches or frees it.
    pub(super) fn is_allocated(&mut self, record: &Record, kind: FindingKind, by: By) {
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
            names: &[record.name()],
            alloc: Some(record.id),
        };
        self.demand(&demand, clock, stands);
    }

    /// Memory is touched: what touched the same bytes before is before it or after it.
    pub(super) fn touches(&mut self, record: &mut Record, by: By, used: &Use, is_imported: bool) {
        let allocation = Hazards::allocation(record);
        let (names, alloc) = ([record.name()], Some(record.id));
        let clock = by.clock(self.clocks);
        let touch = touch(by, used, is_imported);
        let bytes = (used.from.0, used.end().0);
        let is_unwritten = record.extent.touch(bytes, used.access, touch, clock, |known, stands| {
            let others = [(Role::Use, Some(known.stmt)), allocation];
            self.meets(by, known, clock, stands, (&others, &names, alloc));
        });
        if is_unwritten && record.freed().is_none() {
            self.findings.add(Found {
                others: &[allocation],
                names: &names,
                ..Found::plain(FindingKind::UninitialisedRead, by.stmt)
            });
        }
    }

    /// Two touches of the same bytes, one of which writes, are in an order.
    pub(super) fn meets(
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
    pub(super) fn is_freed(&mut self, record: &mut Record, by: By, used: &Use) -> bool {
        let Some(free) = record.freed() else { return false };
        let is_certain = self.clocks.has_called(by.host, free.call) || by.clock(self.clocks).has(free.mark);
        let missing = Missing {
            from: Moment { stmt: by.stmt, point: self.clocks.point(by.mark) },
            to: Moment { stmt: free.stmt, point: self.clocks.point(free.mark) },
            alloc: Some(record.id),
        };
        self.findings.add(Found {
            certainty: Some(if is_certain { Certainty::Definite } else { Certainty::Possible }),
            others: &[(Role::Free, Some(free.stmt)), Hazards::allocation(record)],
            names: &[record.name()],
            missing: Some(missing),
            ..Found::plain(FindingKind::UseAfterFree, by.stmt)
        });
        if record.taken().is_none() {
            record.goes_astray(touch(by, used, false));
        }
        true
    }

    /// Memory is touched that nothing is known about any more, since it was freed long ago.
    pub(super) fn is_forgotten(&mut self, alloc: AllocId, by: By) {
        if alloc != AllocId::NULL {
            self.findings.add(Found {
                certainty: Some(Certainty::Definite),
                ..Found::plain(FindingKind::UseAfterFree, by.stmt)
            });
        }
    }

    /// What touched memory is before its free.
    pub(super) fn are_over(&mut self, record: &mut Record, by: By) {
        let clock = by.clock(self.clocks);
        if !record.extent.all(|touch| touch.is_imported || clock.has(touch.mark)) {
            self.is_used_after(record, by);
        }
    }

    /// Something that touched memory is not before its free.
    #[cold]
    fn is_used_after(&mut self, record: &mut Record, by: By) {
        let clock = by.clock(self.clocks);
        let allocation = Hazards::allocation(record);
        let (names, alloc) = ([record.name()], Some(record.id));
        let touches: Vec<Touch> = record.extent.touches().copied().collect();
        for touch in touches.into_iter().filter(|touch| !touch.is_imported) {
            let stands = clock.stands(touch.mark);
            if stands == Stands::Before || record.astray().contains(&touch) {
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
                record.goes_astray(touch);
            }
        }
    }
}

pub(super) fn touch(by: By, used: &Use, is_imported: bool) -> Touch {
    Touch { mark: by.mark, stmt: by.stmt, writes: used.access != Access::Read, is_imported }
}
