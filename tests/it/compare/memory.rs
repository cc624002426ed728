//! Whose memory an allocation takes, by addresses: held against a count of every single byte.

use crate::budget;
use millpond::base::{Bytes, DeviceId, Draws, HostId, Nanos, PoolId, StmtId};
use millpond::compare::{Key, Recorder};
use millpond::trace::{
    AllocId, Attributes, Call, Decision, Event, Kind, Ledger, Policy, PoolState, Range, Sink,
};
use std::collections::BTreeMap;

/// One byte after the other: its latest allocation.
#[derive(Default)]
struct Naive {
    owners: BTreeMap<u64, usize>,
    allocations: Vec<Known>,
}

#[derive(Clone, Copy)]
struct Known {
    id: AllocId,
    range: Range,
    pool: Option<PoolId>,
    is_freed: bool,
    is_kept: bool,
}

impl Naive {
    fn take(&mut self, known: Known, is_new: bool) -> BTreeMap<u32, u64> {
        let mut reuses = BTreeMap::new();
        let nth = self.allocations.len();
        for byte in known.range.start..known.range.end() {
            if let Some(owner) = self.owners.insert(byte, nth) {
                let Known { id, pool, is_freed, is_kept, .. } = self.allocations[owner];
                if is_freed && is_kept && !is_new && pool == known.pool && pool.is_some() {
                    *reuses.entry(id.serial).or_default() += 1;
                }
            }
        }
        self.allocations.push(known);
        reuses
    }
}

fn event<'a>(nth: u32, kind: Kind<'a>) -> Event<'a> {
    Event { at: Nanos(0), host: HostId::from_raw(0), stmt: StmtId::from_raw(nth), ticket: None, kind }
}

fn state(reserved: u64) -> PoolState {
    PoolState {
        reserved: Bytes(reserved),
        reserved_high: Bytes(reserved),
        used: Bytes::ZERO,
        used_high: Bytes::ZERO,
        maps: 0,
        unmaps: 0,
        ledger: Ledger::default(),
        attributes: Attributes::default(),
    }
}

/// Any events, also such as no allocator tells: memory that is handed out twice, or freed twice.
fn run(number: u64) -> usize {
    let mut draws = Draws::new(number, 11);
    let (mut recorder, mut naive) = (Recorder::of_device(), Naive::default());
    let mut expected = Vec::new();
    for nth in 0..60u32 {
        let pool = PoolId::from_raw(draws.below(2) as u32);
        match draws.below(10) {
            0 => {
                let empty = state(draws.below(2) * 512);
                recorder.event(&event(nth, Kind::Call(&Call::Trim { pool, keep: Bytes::ZERO })));
                recorder.event(&event(nth, Kind::State { pool, state: &empty }));
                if empty.reserved == Bytes::ZERO {
                    let of_pool = naive.allocations.iter_mut().filter(|known| known.pool == Some(pool));
                    of_pool.for_each(|known| known.is_kept = false);
                }
            }
            1..=3 if !naive.allocations.is_empty() => {
                let which = draws.below(naive.allocations.len() as u64) as usize;
                let known = &mut naive.allocations[which];
                let (stream, alloc) = (0.into(), known.id);
                let free = Call::Free { stream, alloc };
                recorder.event(&event(nth, Kind::Call(&free)));
                if draws.below(4) == 0 {
                    let failure = millpond::trace::Failure::InvalidValue;
                    recorder.event(&event(nth, Kind::Failed { failure, call: &free }));
                } else {
                    known.is_freed = true;
                }
            }
            kind => {
                let range = Range { start: draws.below(40), size: Bytes(draws.below(20)) };
                let serial = naive.allocations.len() as u32 + 1;
                let (id, size) = (AllocId { slot: serial, serial }, range.size);
                let is_new = draws.below(5) == 0;
                let policy = is_new.then_some(Policy::Growth);
                let decision = Decision { policy, ..Decision::plain(id, range, size, Bytes::ZERO) };
                let (call, pool) = match kind {
                    4 => (Call::Malloc { device: DeviceId::from_raw(0), size, managed: false }, None),
                    _ => (Call::Alloc { stream: 0.into(), pool: Some(pool), size }, Some(pool)),
                };
                recorder.event(&event(nth, Kind::Call(&call)));
                recorder.event(&event(nth, Kind::Decided(&decision)));
                let known = Known { id, range, pool, is_freed: false, is_kept: true };
                expected.push((nth, serial, naive.take(known, is_new)));
            }
        }
    }
    let trace = recorder.finish().expect("it is short");
    let stmt_of: BTreeMap<u32, u32> = expected.iter().map(|(nth, serial, _)| (*serial, *nth)).collect();
    for (nth, _, reuses) in &expected {
        let mut got = trace.calls.iter().filter_map(|made| made.got.as_ref().map(|got| (made.key, got)));
        let (_, got) = got.find(|(key, _)| key.stmt.raw() == *nth).expect("it is recorded");
        let wanted: Vec<(Key, Bytes)> = reuses
            .iter()
            .map(|(serial, bytes)| {
                let stmt = StmtId::from_raw(stmt_of[serial]);
                (Key { host: HostId::from_raw(0), stmt, nth: 1 }, Bytes(*bytes))
            })
            .collect();
        assert_eq!(got.reuses, wanted, "program {number}, call {nth}");
    }
    expected.iter().filter(|(_, _, reuses)| !reuses.is_empty()).count()
}

#[test]
fn reuse_by_address_is_what_a_count_of_bytes_says() {
    let reuses: usize = (0..budget(400)).map(run).sum();
    assert!(reuses > 400, "{reuses}");
}
