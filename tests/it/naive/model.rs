//! The naive model: mapped bytes as flat lists of pieces, and every question answered by a scan over them.
//!
//! Written from the rules (CUDA Programming Guide 4.3.4 and the pick within a class), sharing no code with the model.

use millpond::base::StreamId;
use millpond::trace::{Attributes, Ledger, Policy, PoolSetup, Reuse, Ticket};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const ALIGN: u64 = 512;
pub(super) const CHUNK: u64 = 32 << 20;
pub(super) const GRANULE: u64 = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Is {
    Live {
        serial: u32,
        asked: u64,
    },
    /// `at` is `None` where the host freed it, on no stream.
    Freed {
        serial: u32,
        at: Option<Ticket>,
        whole: bool,
        seen: bool,
    },
    Unused,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) is: Is,
}

impl Piece {
    pub(super) fn end(&self) -> u64 {
        self.start + self.size
    }
}

/// Mapped bytes without a gap, from one growth.
pub(super) type Mapping = Vec<Piece>;

pub(super) struct NaivePool {
    pub(super) mappings: Vec<Mapping>,
    pub(super) attributes: Attributes,
    pub(super) max_size: u64,
    pub(super) reserved_high: u64,
    pub(super) used_high: u64,
    pub(super) maps: u64,
    pub(super) unmaps: u64,
}

pub(super) struct Naive {
    pub(super) memory: u64,
    pub(super) remap: bool,
    /// Whether the allocator inserts waits also where only the maximum size forbids growth.
    pub(super) waits_for_itself: bool,
    pub(super) pools: Vec<NaivePool>,
    pub(super) serial: u32,
    pub(super) live: BTreeMap<u32, usize>,
    pub(super) outside: Vec<Plain>,
}

/// Memory outside of pools.
#[derive(Clone, Copy)]
pub(super) struct Plain {
    pub(super) serial: u32,
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) managed: bool,
    /// The free in a stream, if there was one, and whether the device has got that far.
    pub(super) leaves: Option<(Ticket, bool)>,
}

#[derive(Clone)]
pub(super) struct Cuts {
    pub(super) ordered: Vec<u32>,
    pub(super) done: Vec<u32>,
    pub(super) seen: Vec<u32>,
}

pub(super) struct Placed {
    pub(super) start: u64,
    pub(super) policy: Policy,
    pub(super) reuses: Option<u32>,
    pub(super) waits: BTreeSet<Ticket>,
}

impl NaivePool {
    pub(super) fn new(setup: &PoolSetup) -> Self {
        Self {
            mappings: Vec::new(),
            attributes: setup.attributes,
            max_size: setup.max_size.map_or(u64::MAX, |max| max.0.next_multiple_of(GRANULE)),
            reserved_high: 0,
            used_high: 0,
            maps: 0,
            unmaps: 0,
        }
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.mappings.iter().flatten()
    }

    pub(super) fn reserved(&self) -> u64 {
        self.pieces().map(|piece| piece.size).sum()
    }

    pub(super) fn ledger(&self) -> Ledger {
        let mut ledger = Ledger::default();
        for piece in self.pieces() {
            match piece.is {
                Is::Live { asked, .. } => {
                    ledger.live.0 += asked;
                    ledger.padding.0 += piece.size - asked;
                }
                Is::Freed { seen: false, .. } => ledger.pending.0 += piece.size,
                Is::Freed { .. } => ledger.cached.0 += piece.size,
                Is::Unused => ledger.unused.0 += piece.size,
            }
        }
        ledger
    }

    /// Maximal runs of pieces that belong, as (size, start).
    pub(super) fn runs(&self, belongs: impl Fn(&Piece) -> bool) -> Vec<(u64, u64)> {
        let mut runs = Vec::new();
        for mapping in &self.mappings {
            for run in mapping.split(|piece| !belongs(piece)).filter(|run| !run.is_empty()) {
                runs.push((run.iter().map(|piece| piece.size).sum(), run[0].start));
            }
        }
        runs
    }

    pub(super) fn pick(&self, class: Policy, size: u64, own: StreamId, cuts: &Cuts) -> Option<u64> {
        let Reuse { follow_event, opportunistic, internal } = self.attributes.reuse;
        let within = |at: Option<Ticket>, cut: &[u32]| at.is_some_and(|at| at.seq <= cut[at.stream.index()]);
        // What the class itself accepts, and what it accepts beside the classes before it.
        let accepts = |piece: &Piece, class: Policy| match (class, piece.is) {
            (Policy::SameStream, Is::Freed { at, .. }) => at.is_some_and(|at| at.stream == own),
            (Policy::Observed, Is::Freed { seen, .. }) => seen,
            (Policy::FollowEvent, Is::Freed { at, .. }) => follow_event && within(at, &cuts.ordered),
            (Policy::Opportunistic, Is::Freed { at, .. }) => opportunistic && within(at, &cuts.done),
            (Policy::Unused, Is::Unused) => true,
            (Policy::Internal, Is::Freed { .. }) => internal,
            _ => false,
        };
        let is_whole =
            |piece: &&Piece| matches!(piece.is, Is::Freed { whole: true, .. }) && piece.size == size;
        let blocks = self.pieces().filter(is_whole).filter(|piece| accepts(piece, class));
        if let Some(start) = blocks.map(|piece| piece.start).min() {
            return Some(start);
        }
        let best = |runs: Vec<(u64, u64)>| runs.into_iter().filter(|(fits, _)| *fits >= size).min();
        let single = match class {
            Policy::SameStream | Policy::Observed | Policy::Unused => {
                self.runs(|piece| accepts(piece, class))
            }
            Policy::Growth => return None,
            _ => {
                let all = |run: &(u64, u64)| {
                    let inside = |piece: &&Piece| piece.start >= run.1 && piece.end() <= run.1 + run.0;
                    self.pieces().filter(inside).all(|piece| accepts(piece, class))
                };
                let of = |stream: usize| {
                    self.runs(
                        |p| matches!(p.is, Is::Freed { at: Some(at), .. } if at.stream.index() == stream),
                    )
                };
                let others = (0..cuts.seen.len()).filter(|stream| *stream != own.index());
                others.flat_map(of).filter(all).collect()
            }
        };
        let usable =
            |piece: &Piece| Policy::ALL.iter().any(|before| *before <= class && accepts(piece, *before));
        let mixed = || self.runs(usable);
        best(single).or_else(|| best(mixed())).map(|(_, start)| start)
    }

    /// Replaces `start..start+size` by one piece; tells which pieces lost bytes.
    pub(super) fn replace(&mut self, start: u64, size: u64, is: Is) -> Vec<Is> {
        let mut lost = Vec::new();
        let holds = |m: &&mut Mapping| m.iter().any(|piece| piece.start == start);
        let mapping = self.mappings.iter_mut().find(holds).expect("the pick is mapped");
        let mut pieces = Vec::new();
        for piece in mapping.drain(..) {
            if piece.end() <= start || piece.start >= start + size {
                pieces.push(piece);
                continue;
            }
            lost.push(piece.is);
            if piece.start == start {
                pieces.push(Piece { start, size, is });
            }
            if piece.end() > start + size {
                let rest = match piece.is {
                    Is::Freed { serial, at, seen, .. } => Is::Freed { serial, at, whole: false, seen },
                    other => other,
                };
                pieces.push(Piece { start: start + size, size: piece.end() - start - size, is: rest });
            }
        }
        *mapping = pieces;
        lost
    }

    pub(super) fn idle_chunks(&self) -> Vec<(u64, u64)> {
        let mut chunks = Vec::new();
        for mapping in &self.mappings {
            let end = mapping.last().expect("not empty").end();
            let mut from = mapping[0].start;
            assert_eq!(from % CHUNK, 0);
            while from < end {
                let to = end.min(from + CHUNK);
                let inside = mapping.iter().filter(|piece| piece.start < to && piece.end() > from);
                let busy =
                    |piece: &Piece| matches!(piece.is, Is::Live { .. } | Is::Freed { seen: false, .. });
                if !inside.into_iter().any(busy) {
                    chunks.push((from, to));
                }
                from = to;
            }
        }
        chunks.sort_unstable_by(|a, b| b.cmp(a));
        chunks
    }

    pub(super) fn unmap(&mut self, from: u64, to: u64) {
        let mut mappings = Vec::new();
        for mapping in self.mappings.drain(..) {
            let (mut below, mut above) = (Mapping::new(), Mapping::new());
            for piece in mapping {
                if piece.end() <= from {
                    below.push(piece);
                } else if piece.start >= to {
                    above.push(piece);
                } else {
                    let is = match piece.is {
                        Is::Freed { serial, at, seen, .. } if piece.start < from || piece.end() > to => {
                            Is::Freed { serial, at, whole: false, seen }
                        }
                        other => other,
                    };
                    if piece.start < from {
                        below.push(Piece { size: from - piece.start, is, ..piece });
                    }
                    if piece.end() > to {
                        above.push(Piece { start: to, size: piece.end() - to, is });
                    }
                }
            }
            mappings.extend([below, above].into_iter().filter(|mapping| !mapping.is_empty()));
        }
        self.mappings = mappings;
    }

    /// Nothing of it is handed out, and each free is complete.
    pub(super) fn is_idle(&self, done: &[u32]) -> bool {
        self.pieces().all(|piece| match piece.is {
            Is::Live { .. } => false,
            Is::Freed { at, seen, .. } => seen || at.is_none_or(|at| at.seq <= done[at.stream.index()]),
            Is::Unused => true,
        })
    }

    pub(super) fn release_down_to(&mut self, keep: u64) {
        let before = self.reserved();
        for (from, to) in self.idle_chunks() {
            if self.reserved() - (to - from) >= keep {
                self.unmap(from, to);
            }
        }
        self.unmaps += u64::from(self.reserved() < before);
    }
}

impl Naive {
    /// What nobody holds, where plain memory is held as `holds` says.
    pub(super) fn free_if(&self, holds: impl Fn(&Plain) -> bool) -> u64 {
        let pools: u64 = self.pools.iter().map(NaivePool::reserved).sum();
        let outside = self.outside.iter().filter(|plain| !plain.managed && holds(plain));
        let outside: u64 = outside.map(|plain| plain.size).sum();
        self.memory.saturating_sub(pools + outside)
    }

    pub(super) fn free_memory(&self) -> u64 {
        self.free_if(is_held)
    }

    pub(super) fn room(&self, pool: usize) -> u64 {
        self.room_with(pool, self.free_memory())
    }

    pub(super) fn room_with(&self, pool: usize, free: u64) -> u64 {
        free.min(self.pools[pool].max_size - self.pools[pool].reserved())
    }

    pub(super) fn can_grow(&self, pool: usize, size: u64) -> bool {
        self.can_grow_into(pool, size, self.free_memory())
    }

    pub(super) fn can_grow_into(&self, pool: usize, size: u64, free: u64) -> bool {
        let idle: u64 = self.pools[pool].idle_chunks().iter().map(|(from, to)| to - from).sum();
        let room = self.room_with(pool, free) + if self.remap { idle } else { 0 };
        size.next_multiple_of(GRANULE) <= room
    }

    /// The class that would serve, and where, unless it is growth.
    pub(super) fn would(
        &self,
        pool: usize,
        size: u64,
        own: StreamId,
        cuts: &Cuts,
        free: u64,
    ) -> Option<(Policy, Option<u64>)> {
        Policy::ALL.into_iter().find_map(|class| match class {
            Policy::Growth => self.can_grow_into(pool, size, free).then_some((class, None)),
            Policy::Internal if !self.may_wait(size, free) => None,
            class => self.pools[pool].pick(class, size, own, cuts).map(|start| (class, Some(start))),
        })
    }

    /// Whether the profile lets the allocator insert waits; the switch of the pool is another matter.
    pub(super) fn may_wait(&self, size: u64, free: u64) -> bool {
        self.waits_for_itself || size.next_multiple_of(GRANULE) > free
    }

    pub(super) fn grow(&mut self, pool: usize, size: u64) -> Option<u64> {
        if !self.can_grow(pool, size) {
            return None;
        }
        let (chunks, granules) = (size.next_multiple_of(CHUNK), size.next_multiple_of(GRANULE));
        let mapped = [chunks, granules].into_iter().find(|mapped| *mapped <= self.room(pool));
        if mapped.is_none() {
            for (from, to) in self.pools[pool].idle_chunks() {
                if self.room(pool) < granules {
                    self.pools[pool].unmap(from, to);
                }
            }
            self.pools[pool].unmaps += 1;
        }
        self.pools[pool].maps += 1;
        let mapped = mapped.unwrap_or(granules);
        let start = self.gap(mapped);
        self.pools[pool].mappings.push(vec![Piece { start, size: mapped, is: Is::Unused }]);
        let reserved = self.pools[pool].reserved();
        self.pools[pool].reserved_high = self.pools[pool].reserved_high.max(reserved);
        Some(start)
    }

    /// The lowest addresses, in whole chunks, that nobody has.
    pub(super) fn gap(&self, size: u64) -> u64 {
        let pieces = self.pools.iter().flat_map(|p| p.pieces()).map(|piece| (piece.start, piece.end()));
        let outside = self.outside.iter().filter(|plain| is_held(plain));
        let outside = outside.map(|plain| (plain.start, plain.start + plain.size));
        let taken: BTreeSet<u64> = pieces.chain(outside).flat_map(units).collect();
        let count = size.div_ceil(CHUNK);
        let first = 0x3_0200_0000_u64.div_ceil(CHUNK);
        let fits = |unit: &u64| (*unit..unit + count).all(|unit| !taken.contains(&unit));
        (first..).find(fits).expect("there are more addresses than memory") * CHUNK
    }

    pub(super) fn malloc(&mut self, asked: u64, managed: bool) -> Option<Plain> {
        let size = asked.next_multiple_of(ALIGN);
        if !managed && size > self.free_memory() {
            return None;
        }
        self.serial += 1;
        let plain = Plain { serial: self.serial, start: self.gap(size), size, managed, leaves: None };
        self.outside.push(plain);
        Some(plain)
    }

    /// Frees without a stream: of a pool as if observed, outside of pools at once.
    pub(super) fn plain_free(&mut self, serial: u32) {
        self.outside.retain(|plain| plain.serial != serial);
        let Some(pool) = self.live.remove(&serial) else { return };
        for piece in self.pools[pool].mappings.iter_mut().flatten() {
            if matches!(piece.is, Is::Live { serial: s, .. } if s == serial) {
                piece.is = Is::Freed { serial, at: None, whole: true, seen: true };
            }
        }
    }

    /// The device has got so far, of which the host has seen so much.
    pub(super) fn complete(&mut self, cuts: &Cuts) {
        for plain in &mut self.outside {
            if let Some((at, done)) = &mut plain.leaves {
                *done |= at.seq <= cuts.done[at.stream.index()];
            }
        }
        self.outside.retain(|plain| match plain.leaves {
            Some((at, _)) => at.seq > cuts.seen[at.stream.index()],
            None => true,
        });
    }

    pub(super) fn alloc(&mut self, pool: usize, asked: u64, own: StreamId, cuts: &Cuts) -> Option<Placed> {
        let size = asked.next_multiple_of(ALIGN);
        let (start, policy) = Policy::ALL.into_iter().find_map(|class| {
            let start = match class {
                Policy::Growth => self.grow(pool, size),
                Policy::Internal if !self.may_wait(size, self.free_memory()) => None,
                class => self.pools[pool].pick(class, size, own, cuts),
            };
            start.map(|start| (start, class))
        })?;
        self.serial += 1;
        let lost = self.pools[pool].replace(start, size, Is::Live { serial: self.serial, asked });
        let freed = || {
            lost.iter().filter_map(|is| match is {
                Is::Freed { serial, at, seen, .. } => Some((*serial, *at, *seen)),
                _ => None,
            })
        };
        let mut waits = BTreeMap::new();
        let pending = freed().filter(|(_, _, seen)| !*seen && policy == Policy::Internal);
        for at in pending.filter_map(|(_, at, _)| at).filter(|at| at.stream != own) {
            let latest = waits.entry(at.stream).or_insert(at);
            *latest = at.max(*latest);
        }
        self.live.insert(self.serial, pool);
        let used = self.pools[pool].ledger().live.0;
        self.pools[pool].used_high = self.pools[pool].used_high.max(used);
        let reuses = freed().next().map(|(serial, ..)| serial);
        Some(Placed { start, policy, reuses, waits: waits.into_values().collect() })
    }

    pub(super) fn free(&mut self, serial: u32, at: Ticket) {
        if let Some(plain) = self.outside.iter_mut().find(|plain| plain.serial == serial) {
            plain.leaves = Some((at, false));
            return;
        }
        let pool = self.live.remove(&serial).expect("live");
        for piece in self.pools[pool].mappings.iter_mut().flatten() {
            if matches!(piece.is, Is::Live { serial: s, .. } if s == serial) {
                piece.is = Is::Freed { serial, at: Some(at), whole: true, seen: false };
            }
        }
    }

    pub(super) fn synchronise(&mut self, seen_cut: &[u32], releases: bool) {
        for pool in &mut self.pools {
            for piece in pool.mappings.iter_mut().flatten() {
                if let Is::Freed { at: Some(at), seen, .. } = &mut piece.is {
                    *seen |= at.seq <= seen_cut[at.stream.index()];
                }
            }
            if releases {
                pool.release_down_to(pool.attributes.release_threshold.0);
            }
        }
    }
}

pub(super) fn units((start, end): (u64, u64)) -> std::ops::Range<u64> {
    start / CHUNK..end.div_ceil(CHUNK)
}

/// Whether plain memory is not back yet.
pub(super) fn is_held(plain: &Plain) -> bool {
    !matches!(plain.leaves, Some((_, true)))
}
