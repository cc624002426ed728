//! What a run shows of its memory: where it was when allocations failed, whose frees were pending, how much there was at most.

use crate::base::{Bytes, DeviceId, HostId, Nanos, PoolId, StmtId};
use crate::oracle::Verdict;
use crate::scenario::Program;
use crate::trace::{Account, Call, Detail, DeviceState, Event, Failure, Kind, PoolState, Sink, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// A run with its verdict.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) verdict: Verdict,
    /// When it ended.
    pub(super) end: Nanos,
    pub(super) witness: Witness,
}

impl Ran {
    /// Runs a program.
    pub(super) fn of(program: &Program, seed: u64) -> Self {
        let mut witness = Witness::default();
        let (verdict, ending) = crate::explore::judged(program, seed, &mut witness);
        Self { verdict, end: ending.at, witness }
    }
}

/// The first failure of a statement that allocates.
#[derive(Clone, Debug)]
pub(super) struct Shortage {
    /// The thread that called.
    pub(super) host: HostId,
    pub(super) size: Bytes,
    pub(super) memory: Short,
    /// All pools that have any figures, as they were.
    pub(super) pools: BTreeMap<PoolId, PoolState>,
}

/// What memory it was that did not suffice.
#[derive(Clone, Debug)]
pub(super) enum Short {
    Pool(PoolId, Account),
    /// Outside of pools.
    Device(DeviceId, DeviceState),
}

/// The sink.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness {
    pub(super) shortages: BTreeMap<StmtId, Shortage>,
    /// The statement of each free.
    pub(super) frees: BTreeMap<Ticket, StmtId>,
    /// The statements whose calls got memory.
    pub(super) served: BTreeSet<StmtId>,
    /// The most that pools had reserved together.
    pub(super) reserved_high: Bytes,
    pools: BTreeMap<PoolId, PoolState>,
    reserved: u128,
    /// What the call in progress of a thread asks for.
    asked: BTreeMap<HostId, Bytes>,
    is_free: bool,
    /// Where memory is, told by the call in progress.
    looked: Option<(StmtId, Short)>,
}

impl Witness {
    fn fails(&mut self, event: &Event<'_>) {
        let looked = self.looked.take().filter(|(stmt, _)| *stmt == event.stmt);
        let (Some((stmt, memory)), Some(size)) = (looked, self.asked.get(&event.host)) else { return };
        if !self.shortages.contains_key(&stmt) {
            let shortage = Shortage { host: event.host, size: *size, memory, pools: self.pools.clone() };
            self.shortages.insert(stmt, shortage);
        }
    }
}

impl Sink for Witness {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::States)
    }

    fn event(&mut self, event: &Event<'_>) {
        match (event.kind, event.ticket) {
            (Kind::Call(call), _) => {
                self.looked = None;
                self.is_free = matches!(call, Call::Free { .. });
                match call {
                    Call::Alloc { size, .. } | Call::Malloc { size, .. } => {
                        self.asked.insert(event.host, *size)
                    }
                    _ => self.asked.remove(&event.host),
                };
            }
            (Kind::Submitted(_), Some(ticket)) if std::mem::take(&mut self.is_free) => {
                self.frees.insert(ticket, event.stmt);
            }
            (Kind::Decided(_), _) => {
                self.served.insert(event.stmt);
            }
            (Kind::State { pool, state }, _) => {
                let before = self.pools.insert(pool, *state).map_or(0, |before| before.reserved.0);
                self.reserved = self.reserved - u128::from(before) + u128::from(state.reserved.0);
                let reserved = u64::try_from(self.reserved).unwrap_or(u64::MAX);
                self.reserved_high = self.reserved_high.max(Bytes(reserved));
            }
            (Kind::Account { pool, account }, _) => {
                self.looked = Some((event.stmt, Short::Pool(pool, account.clone())));
            }
            (Kind::Device { device, state }, _) => {
                self.looked = Some((event.stmt, Short::Device(device, *state)));
            }
            (Kind::Failed { failure: Failure::OutOfMemory, .. }, _) => self.fails(event),
            _ => {}
        }
    }
}
