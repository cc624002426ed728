//! What a run has been told so far, as hashes: by them two runs that have come to one state are known to be one.
//!
//! The state of a run is that of its allocator, its order, its devices and its threads. Of the rest only answers can differ
//! between two ways to one place in the program, so these are remembered, in sums that do not depend on who was first.

use super::Keeps;
use super::footprints::Footprint;
use super::turns::Turns;
use crate::base::{HostId, fold, fold_counters, mix, reuse_on_clone, words};
use crate::scenario::{Demand, Expect, Program};
use crate::trace::{AllocId, Call, Cut, Decision, Failure, Reply, Takes};

/// The memory of a run.
#[derive(Debug)]
pub(super) struct Memory {
    /// What later calls hang on.
    told: u128,
    /// The calls that count in their order.
    rolled: u128,
    in_order: InOrder,
    /// Whether a line asks for addresses.
    has_addresses: bool,
    /// What an outcome is made of.
    kept: u128,
    /// For each host thread, how many of its calls have returned.
    ordinals: Vec<u32>,
    /// For each allocation, by its number, the call that made it.
    makers: Vec<u64>,
    /// The order of what several threads did, as far as an outcome hangs on it.
    order: Turns,
    /// How many turns there were, and whose the last one was.
    pub(super) turns: u32,
    pub(super) last: HostId,
}

reuse_on_clone!(Memory { told, rolled, in_order, has_addresses, kept, ordinals, makers, order, turns, last });

impl Memory {
    pub(super) fn new(program: &Program) -> Self {
        let setup = &program.setup;
        let asks_for_addresses = |line: &Expect| matches!(line.demand, Demand::At { .. });
        let in_order =
            InOrder { launches: setup.host.queue_depth.is_some(), records: setup.devices.len() > 1 };
        Self {
            told: 0,
            rolled: 0,
            in_order,
            has_addresses: program.expects.iter().any(asks_for_addresses),
            kept: 0,
            ordinals: vec![0; setup.hosts],
            makers: vec![0],
            order: Turns::default(),
            turns: 0,
            last: HostId::from_raw(0),
        }
    }

    /// Whether there are several threads.
    pub(super) fn has_others(&self) -> bool {
        self.ordinals.len() > 1
    }

    /// What later calls hang on.
    pub(super) fn told(&self) -> [u128; 2] {
        [self.told, self.rolled]
    }

    /// What an outcome is made of.
    pub(super) fn kept(&self) -> u128 {
        self.kept.wrapping_add(self.order.sum())
    }

    /// One of several threads has had a turn, at this place of the program, with what it touches there.
    pub(super) fn had_turn(&mut self, host: HostId, place: usize, footprint: &Footprint) {
        self.order.turn(host.index(), place, self.ordinals[host.index()], footprint);
    }

    /// A call has returned. `seen`: what its host has seen complete by now.
    pub(super) fn answered(
        &mut self,
        host: HostId,
        call: &Call,
        reply: &Result<Reply, Failure>,
        seen: &Cut,
        keeps: Keeps,
    ) {
        let ordinal = &mut self.ordinals[host.index()];
        *ordinal += 1;
        let maker = (host.index() as u64) << 32 | u64::from(*ordinal);
        let are_several = self.has_others();
        match reply {
            Err(failure) => self.tell(&[maker, 1, *failure as u64]),
            Ok(Reply::Value(value)) => self.tell(&[maker, 2, *value as u64, (*value >> 64) as u64]),
            Ok(Reply::Allocated(decision)) => {
                if decision.alloc != AllocId::NULL {
                    self.makers.resize(decision.alloc.serial as usize + 1, 0);
                    self.makers[decision.alloc.serial as usize] = maker;
                }
                if are_several {
                    self.told = self.told.wrapping_add(mix(&[maker, 3, u64::from(decision.alloc.serial)]));
                }
                if keeps == Keeps::Decisions {
                    self.keep(maker, decision);
                }
            }
            Ok(Reply::Done | Reply::Freed(_)) => {}
        }
        if are_several && self.in_order.counts(call) {
            self.rolled = fold_counters(fold(self.rolled, &[maker]), seen);
        }
        if are_several && matches!(call, Call::Signal(_) | Call::Export { .. }) {
            self.told = self.told.wrapping_add(fold_counters(mix(&[maker, 7]), seen));
        }
    }

    /// A thread makes a call of which a judge can tell apart so much more than its answer does.
    pub(super) fn judged(&mut self, host: HostId, what: u128) {
        let maker = (host.index() as u64) << 32 | u64::from(self.ordinals[host.index()]);
        self.kept = self.kept.wrapping_add(fold(mix(&[maker, 8]), &words(what)));
    }

    /// What the host goes on with.
    fn tell(&mut self, what: &[u64]) {
        let hash = mix(what);
        self.told = self.told.wrapping_add(hash);
        self.kept = self.kept.wrapping_add(hash);
    }

    /// Allocations are known by the calls that made them, since their numbers say who was first.
    fn keep(&mut self, maker: u64, decision: &Decision) {
        let Decision { policy, reuses, takes, waits, mapped, unmapped, .. } = decision;
        let made = |alloc: &AllocId| self.makers.get(alloc.serial as usize).copied().unwrap_or_default();
        let policy = policy.map_or(0, |policy| policy as u64 + 1);
        let mut kept = mix(&[maker, 4, policy, reuses.as_ref().map_or(0, made), mapped.0, unmapped.0]);
        for part in takes {
            kept = kept.wrapping_add(mix(&[maker, 5, made(&part.alloc), part.size.0]));
        }
        for wait in waits {
            kept = kept.wrapping_add(mix(&[maker, 6, wait.stream.index() as u64, u64::from(wait.seq)]));
        }
        if self.has_addresses {
            kept = kept.wrapping_add(mix(&[maker, 9, decision.range.start]));
        }
        self.kept = self.kept.wrapping_add(kept);
    }
}

/// Which calls change something of which only the calls themselves tell, so that the order in which several threads make them
/// counts.
#[derive(Clone, Copy, Debug)]
struct InOrder {
    /// Launches, of which there may be so many ahead of a device.
    launches: bool,
    /// Records, the first of which makes an event one of a device.
    records: bool,
}

impl InOrder {
    fn counts(self, call: &Call) -> bool {
        match call {
            Call::Launch { takes, .. } => self.launches || matches!(takes, Takes::Until(_)),
            Call::Record { .. } => self.records,
            Call::HostFunction { .. }
            | Call::Collective { .. }
            | Call::SetPool { .. }
            | Call::Grant { .. }
            | Call::Create { .. }
            | Call::Destroy(_)
            | Call::ResetDevice(_)
            | Call::Export { .. }
            | Call::Import { .. }
            | Call::Graph(_) => true,
            _ => false,
        }
    }
}
