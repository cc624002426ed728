//! What a program does in vain, or more slowly than it could: the lints.
//!
//! What adds no order, or waits for nothing, is told of a statement only where it is so each time: the first turn of a loop may
//! wait for an event that the loop records later.

use super::blocks::Blocks;
use super::clock::{Clock, Mark};
use super::memory::Memory;
use crate::base::{BufferId, EventId, IndexVec, PoolId, StmtId, reuse_on_clone};
use crate::oracle::findings::{Findings, Found, Missing, Role};
use crate::trace::{Attribute, Attributes, FindingKind, Setup, Ticket};
use std::collections::BTreeMap;

/// How often a wait or a synchronise was called that was never of use, as long as it was the same each time.
#[derive(Clone, Copy, Debug, Default)]
enum Tally {
    #[default]
    NotCalled,
    /// The event was never recorded.
    Unrecorded(u64),
    /// With the record that brought no order, the last time.
    InVain(u64, Option<StmtId>),
    Mixed,
}

/// The latest record of an event.
#[derive(Clone, Copy, Debug)]
struct Record {
    stmt: StmtId,
    mark: Mark,
    is_used: bool,
}

/// What a pool gave back and took again.
#[derive(Clone, Copy, Debug, Default)]
struct Trips {
    /// The synchronise that gave memory back since the pool grew last.
    given_back: Option<StmtId>,
    trips: u64,
    /// The allocation and the synchronise of the latest trip.
    last: Option<(StmtId, StmtId, Option<BufferId>)>,
}

/// What the lints keep.
#[derive(Debug)]
pub(super) struct Lints {
    /// Whether it was of use at least once: then nothing more is kept of it.
    is_useful: IndexVec<StmtId, bool>,
    waits: IndexVec<StmtId, Tally>,
    records: IndexVec<EventId, Option<Record>>,
    trips: IndexVec<PoolId, Trips>,
    attributes: IndexVec<PoolId, Attributes>,
    /// The pool that grew for the allocation in progress, whose name is not known yet.
    growing: Option<PoolId>,
}

reuse_on_clone!(Lints { is_useful, waits, records, trips, attributes, growing });

/// How a wait or a synchronise came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// It orders something.
    Usefully,
    /// What it waits for is before it anyway.
    InVain,
    /// The event was never recorded.
    ForNothing,
}

/// A growth of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growth {
    pub(super) stmt: StmtId,
    pub(super) pool: PoolId,
    pub(super) size: u64,
    pub(super) ticket: Ticket,
}

impl Lints {
    pub(super) fn new(setup: &Setup, statements: usize) -> Self {
        Self {
            is_useful: (0..statements).map(|_| false).collect(),
            waits: (0..statements).map(|_| Tally::default()).collect(),
            records: setup.events.iter().map(|_| None).collect(),
            trips: setup.pools.iter().map(|_| Trips::default()).collect(),
            attributes: setup.pools.iter().map(|pool| pool.attributes).collect(),
            growing: None,
        }
    }

    /// A wait, a poll or a synchronise; `event`: of this one.
    #[inline(always)]
    pub(super) fn waited(&mut self, stmt: StmtId, event: Option<EventId>, how: Waited) {
        let record = event.and_then(|event| self.records[event].as_mut());
        let by = record.map(|record| {
            record.is_used = true;
            record.stmt
        });
        let is_useful = &mut self.is_useful[stmt];
        *is_useful |= how == Waited::Usefully;
        if !*is_useful {
            let tally = &mut self.waits[stmt];
            *tally = match (*tally, how) {
                (Tally::NotCalled, Waited::InVain) => Tally::InVain(1, by),
                (Tally::InVain(calls, _), Waited::InVain) => Tally::InVain(calls + 1, by),
                (Tally::NotCalled, Waited::ForNothing) => Tally::Unrecorded(1),
                (Tally::Unrecorded(calls), Waited::ForNothing) => Tally::Unrecorded(calls + 1),
                _ => Tally::Mixed,
            };
        }
    }

    /// Somebody looks at an event.
    pub(super) fn looked_at(&mut self, event: EventId) {
        if let Some(record) = &mut self.records[event] {
            record.is_used = true;
        }
    }

    /// An event is recorded, and this is what the record captures. What the one before it captured is lost to those who wait
    /// later, unless it is among that.
    #[inline(always)]
    pub(super) fn recorded(
        &mut self,
        event: EventId,
        (stmt, mark): (StmtId, Mark),
        clock: &Clock,
        findings: &mut Findings,
    ) {
        let new = Record { stmt, mark, is_used: false };
        let old = self.records[event].replace(new).filter(|old| !old.is_used && !clock.has(old.mark));
        if let Some(old) = old {
            findings.add(Found {
                others: &[(Role::Record, Some(old.stmt))],
                ..Found::plain(FindingKind::OverwrittenRecord, stmt)
            });
        }
    }

    /// An attribute of a pool has a new value.
    pub(super) fn set(&mut self, pool: PoolId, attribute: Attribute, value: u64) {
        let Attributes { release_threshold, reuse } = &mut self.attributes[pool];
        match attribute {
            Attribute::FollowEvent => reuse.follow_event = value != 0,
            Attribute::Opportunistic => reuse.opportunistic = value != 0,
            Attribute::Internal => reuse.internal = value != 0,
            Attribute::ReleaseThreshold => release_threshold.0 = value,
            _ => {}
        }
    }

    /// A synchronise made a pool give memory back.
    pub(super) fn gave_back(&mut self, pool: PoolId, stmt: StmtId) {
        self.trips[pool].given_back = Some(stmt);
    }

    /// A pool has grown for an allocation, while this was freed.
    pub(super) fn grew(
        &mut self,
        growth: Growth,
        clock: &Clock,
        blocks: &Blocks,
        memory: &mut Memory,
        findings: &mut Findings,
    ) {
        let Growth { stmt, pool, size, ticket, .. } = growth;
        let trips = &mut self.trips[pool];
        if let Some(given_back) = trips.given_back.take() {
            trips.trips += 1;
            trips.last = Some((stmt, given_back, None));
            self.growing = Some(pool);
        }
        let reuse = self.attributes[pool].reuse;
        let mut served = None;
        for freed in blocks.freed() {
            let Some(record) = memory.at_mut(freed) else { continue };
            let (is_visible, of_pool) = (blocks.was_visible(record), record.pool());
            let (Some(free), Some(block)) = (record.freed(), &mut record.block) else { continue };
            let is_own = free.mark.agent as usize == ticket.stream.index();
            if of_pool != Some(pool) || block.left < size || is_own {
                continue;
            }
            let is_ordered = clock.has_here(free.mark);
            if !is_ordered && !is_visible {
                block.grown_beside = block.grown_beside.get().or(Some(stmt)).into();
            }
            if !reuse.follow_event && is_ordered || !reuse.opportunistic && is_visible {
                served = served.or(Some((free.stmt, record.name())));
            }
        }
        if let Some((freed, name)) = served {
            findings.add(Found {
                others: &[(Role::Free, Some(freed))],
                names: &[name],
                ..Found::plain(FindingKind::PolicyOff, stmt)
            });
        }
    }

    /// The allocation for which a pool grew has this name.
    #[inline]
    pub(super) fn named(&mut self, name: BufferId) {
        if let Some(pool) = self.growing.take()
            && let Some((.., unnamed)) = &mut self.trips[pool].last
        {
            *unnamed = Some(name);
        }
    }

    /// A pool is trimmed.
    pub(super) fn trimmed(
        &mut self,
        pool: PoolId,
        stmt: StmtId,
        blocks: &Blocks,
        memory: &Memory,
        findings: &mut Findings,
    ) {
        let mut kept = blocks.freed().filter_map(|freed| memory.at(freed));
        let kept = kept.find(|record| record.pool() == Some(pool) && record.block.is_some());
        if let Some(record) = kept {
            findings.add(Found {
                others: &[(Role::Free, record.freed().map(|free| free.stmt))],
                names: &[record.name()],
                ..Found::plain(FindingKind::UnobservedTrim, stmt)
            });
        }
    }

    /// The end of the run. `last` says whether an operation is the last one of its stream.
    pub(super) fn finish(
        &self,
        blocks: &Blocks,
        last: impl Fn(Mark) -> bool,
        memory: &Memory,
        findings: &mut Findings,
    ) {
        for (stmt, tally) in self.waits.iter_enumerated().filter(|(stmt, _)| !self.is_useful[*stmt]) {
            match *tally {
                Tally::Unrecorded(calls) => {
                    findings.add(Found { times: calls, ..Found::plain(FindingKind::UnrecordedWait, stmt) });
                }
                Tally::InVain(calls, record) => {
                    let record = [(Role::Record, record)];
                    let others = if record[0].1.is_some() { &record[..] } else { &[] };
                    findings.add(Found {
                        times: calls,
                        others,
                        ..Found::plain(FindingKind::RedundantWait, stmt)
                    });
                }
                Tally::NotCalled | Tally::Mixed => {}
            }
        }
        for Trips { trips, last, .. } in self.trips.iter().copied().filter(|trips| trips.trips > 1) {
            let Some((stmt, synchronise, name)) = last else { continue };
            findings.add(Found {
                times: trips,
                others: &[(Role::Synchronise, Some(synchronise))],
                names: &[name],
                ..Found::plain(FindingKind::ThresholdInLoop, stmt)
            });
        }
        let mut stranded = BTreeMap::new();
        for record in blocks.freed().filter_map(|freed| memory.at(freed)) {
            let (Some(free), Some(block)) = (record.freed(), record.block) else { continue };
            if let Some(stmt) = block.grown_beside.get().filter(|_| last(free.mark)) {
                stranded.entry((stmt, free.stmt)).or_insert(record.name());
            }
        }
        for ((stmt, freed), name) in stranded {
            findings.add(Found {
                others: &[(Role::Free, Some(freed))],
                names: &[name],
                ..Found::plain(FindingKind::StrandedCache, stmt)
            });
        }
    }
}

impl Found<'_> {
    /// One that is about a statement alone.
    pub(in crate::oracle) fn plain(kind: FindingKind, stmt: StmtId) -> Self {
        let missing: Option<Missing> = None;
        Self { kind, certainty: None, stmt, others: &[], names: &[], missing, times: 1 }
    }
}
