//! Which bytes serve a request: the classes of memory, and the pick within a class.
//!
//! Within a class: a block exactly as it was freed and of equal size, then the smallest range of the class that fits, then
//! neighbours that became usable in different ways; of equals the lowest address.
//!
//! Rules: CUDA Programming Guide 4.3.4.4 (reuse policies) and 4.3.4.5 (observed frees); the order and the pick are Millpond's.

use super::pool::Pool;
use super::shelf::Entry;
use super::tiles::{NONE, State, Tile, TileId};
use crate::base::Bytes;
use crate::model::Known;
use crate::trace::{Candidate, Cut, Policy, Refusal, Refusals, Ticket};
use smallvec::SmallVec;

/// The classes in the order in which they are asked.
pub(super) const fn order(unused_first: bool) -> [Policy; 7] {
    let [same_stream, observed, follow_event, opportunistic, unused, growth, internal] = Policy::ALL;
    match unused_first {
        false => Policy::ALL,
        true => [unused, same_stream, observed, follow_event, opportunistic, growth, internal],
    }
}

const fn rank(class: Policy, unused_first: bool) -> u8 {
    if unused_first && matches!(class, Policy::Unused) { 0 } else { class as u8 + 1 }
}

/// What a request could get beyond the memory that its pool has.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    /// Whether the pool can grow for it.
    pub(super) grows: bool,
    /// Whether the class `internal` is asked where the pool cannot.
    pub(super) waits: bool,
}

/// A request as the search sees it.
#[derive(Clone, Copy)]
pub(super) struct Search<'a> {
    pub(super) pool: &'a Pool,
    /// The size, rounded up.
    pub(super) size: u64,
    pub(super) at: Ticket,
    pub(super) known: Known<'a>,
    /// Whether the class `unused` is asked before all others.
    pub(super) unused_first: bool,
}

impl Search<'_> {
    /// The first tile of the bytes with which a class can serve; `None` for growth, which has no tiles yet.
    pub(super) fn pick(&self, class: Policy) -> Option<TileId> {
        let pool = self.pool;
        let reuse = pool.attributes.reuse;
        let own = self.at.stream.index();
        let pick = match class {
            Policy::SameStream if !self.unused_first => {
                return self.pick_of_stream(own, u32::MAX).map(|(_, entry)| entry.head);
            }
            Policy::SameStream => self.pick_of_stream(own, u32::MAX).map(|(_, entry)| entry),
            Policy::Observed if pool.ledger.cached == Bytes::ZERO => return None,
            Policy::Observed => (pool.observed_blocks.exact(self.size, u32::MAX).copied())
                .or_else(|| pool.observed.fit(&pool.tiles, 0, self.size, u32::MAX)),
            // A class that adds no tile to those before it cannot serve what they could not.
            Policy::FollowEvent if reuse.follow_event && pool.has_pending_within(self.known.ordered, own) => {
                self.pick_of_others(self.known.ordered)
            }
            Policy::Opportunistic if reuse.opportunistic && pool.has_pending_within(self.known.done, own) => {
                self.pick_of_others(self.known.done)
            }
            Policy::Unused if pool.ledger.unused == Bytes::ZERO => return None,
            Policy::Unused => pool.unused.at_least(self.size).copied(),
            Policy::Internal if reuse.internal => self.pick_of_others(&[]),
            Policy::Growth | Policy::FollowEvent | Policy::Opportunistic | Policy::Internal => return None,
        };
        pick.map(|entry| entry.head).or_else(|| self.pick_mixed(class))
    }

    /// A block of equal size, else the smallest range that fits, among the frees of one stream up to `until`.
    fn pick_of_stream(&self, stream: usize, until: u32) -> Option<(bool, Entry)> {
        let pool = self.pool;
        if !pool.has_frees_of(stream) {
            return None;
        }
        let block = pool.blocks[stream].exact(self.size, until).map(|entry| (false, *entry));
        block.or_else(|| pool.by_stream.fit(&pool.tiles, stream, self.size, until).map(|entry| (true, entry)))
    }

    /// The best over all other streams, each up to its counter in the cut; an empty cut sets no limit.
    fn pick_of_others(&self, cut: &Cut) -> Option<Entry> {
        let own = self.at.stream.index();
        let others = self.pool.streams_with_frees().filter(|stream| *stream != own);
        let picks = others
            .filter_map(|stream| self.pick_of_stream(stream, cut.get(stream).copied().unwrap_or(u32::MAX)));
        picks.min_by_key(|(is_range, entry)| (*is_range, entry.size, entry.start)).map(|(_, entry)| entry)
    }

    /// The smallest run of neighbours that are each usable by this class or one before it.
    fn pick_mixed(&self, class: Policy) -> Option<TileId> {
        if !self.pool.may_have_run(self.size) {
            return None;
        }
        let is_usable = self.usable(class);
        let runs = self.pool.free_runs(self.size, &is_usable);
        runs.map(|run| (run.size, run.start, run.first)).min().map(|(.., first)| first)
    }

    /// Whether a free tile is usable by this class or one before it.
    fn usable(&self, class: Policy) -> impl Fn(&Tile) -> bool {
        let reuse = self.pool.attributes.reuse;
        let reaches = |other| self.rank(class) >= self.rank(other);
        let follows = reuse.follow_event && reaches(Policy::FollowEvent);
        let takes_done = reuse.opportunistic && reaches(Policy::Opportunistic);
        let waits = reuse.internal && reaches(Policy::Internal);
        let own = reaches(Policy::SameStream).then_some(self.at.stream.index());
        // Of each stream, the last free that will do.
        let until = self.known.ordered.iter().zip(self.known.done).enumerate();
        let until = until.map(|(stream, (ordered, done))| match waits || own == Some(stream) {
            true => u32::MAX,
            false => (if follows { *ordered } else { 0 }).max(if takes_done { *done } else { 0 }),
        });
        let until: SmallVec<[u32; 16]> = until.collect();
        let (every_observed, every_unused) = (reaches(Policy::Observed), reaches(Policy::Unused));
        move |tile| match tile.state {
            State::Freed { observed: true, .. } if every_observed => true,
            State::Freed { at, .. } => until.get(at.stream.index()).is_some_and(|until| at.seq <= *until),
            State::Unused => every_unused,
            State::Live { .. } | State::Vacant => false,
        }
    }

    fn rank(&self, class: Policy) -> u8 {
        rank(class, self.unused_first)
    }

    /// The class that would serve, and the first tile of its bytes unless it is growth.
    pub(super) fn serving(&self, reach: impl Fn() -> Reach) -> Option<(Policy, Option<TileId>)> {
        self.serving_of(order(self.unused_first), reach)
    }

    /// Of these classes.
    fn serving_of(
        &self,
        classes: impl IntoIterator<Item = Policy>,
        reach: impl Fn() -> Reach,
    ) -> Option<(Policy, Option<TileId>)> {
        classes.into_iter().find_map(|class| match class {
            Policy::Growth => reach().grows.then_some((class, None)),
            Policy::Internal if !reach().waits => None,
            class => self.pick(class).map(|first| (class, Some(first))),
        })
    }

    /// Which bytes would serve, as a word, where completion has candidates: then none of the classes before it can.
    pub(super) fn foretell(&self, reach: impl Fn() -> Reach) -> u64 {
        let mut rest = order(self.unused_first).into_iter().peekable();
        while let Some(class) = rest.next_if(|class| *class != Policy::Opportunistic) {
            debug_assert!(self.pick(class).is_none(), "what hangs on completion, nothing serves before");
        }
        match self.serving_of(rest, reach) {
            None => 0,
            Some((class, first)) => u64::from(first.unwrap_or(NONE)) << 8 | (class as u64 + 1),
        }
    }

    /// Whether the request would be served otherwise if no device had got further than the host has seen, or if all of them
    /// had got to the end of what was submitted.
    fn depends_on_timing(&self, serving: Option<(Policy, Option<TileId>)>, otherwise: [Reach; 2]) -> bool {
        let everything = vec![u32::MAX; self.known.done.len()];
        [self.known.seen, &everything].into_iter().zip(otherwise).any(|(done, reach)| {
            let known = Known { done, ..self.known };
            Search { known, ..*self }.serving(|| reach) != serving
        })
    }

    /// Why the classes before the one that would serve could not. `room`: what the pool could still map; `otherwise`: what it
    /// could get by the two other timings.
    pub(super) fn refusals(&self, room: Bytes, reach: Reach, otherwise: [Reach; 2]) -> Refusals {
        let serving = self.serving(|| reach);
        let best = self.best_of_all();
        let reason = |class| {
            let is_before = serving.is_none_or(|(by, _)| self.rank(class) < self.rank(by));
            is_before.then(|| self.refusal(class, best, room, reach))
        };
        let by_timing = self.depends_on_timing(serving, otherwise);
        Refusals { reasons: Policy::ALL.map(reason), by_timing }
    }

    fn refusal(&self, class: Policy, best: Option<TileId>, room: Bytes, reach: Reach) -> Refusal {
        let reuse = self.pool.attributes.reuse;
        let candidate = best.and_then(|first| self.first_unusable(first, class));
        let because = |reason: fn(Candidate) -> Refusal| candidate.map_or(Refusal::NoFit, reason);
        match class {
            Policy::SameStream => because(Refusal::OtherStream),
            Policy::Observed => because(Refusal::NotObserved),
            Policy::FollowEvent if !reuse.follow_event => Refusal::Off,
            Policy::FollowEvent => because(Refusal::NotOrdered),
            Policy::Opportunistic if !reuse.opportunistic => Refusal::Off,
            Policy::Opportunistic => because(Refusal::NotDone),
            Policy::Unused => Refusal::NoFit,
            Policy::Growth
                if self.pool.max_size.is_some_and(|max| max.saturating_sub(self.pool.reserved) == room.0) =>
            {
                Refusal::PoolCapacity(room)
            }
            Policy::Growth => Refusal::Capacity(room),
            Policy::Internal if !reuse.internal => Refusal::Off,
            Policy::Internal if !reach.waits => Refusal::MaxSize,
            Policy::Internal => Refusal::NoFit,
        }
    }

    /// The freed bytes that would serve if order, progress and switches were no matter.
    fn best_of_all(&self) -> Option<TileId> {
        self.pick_of_others(&[]).map(|entry| entry.head).or_else(|| {
            let runs = self.pool.free_runs(self.size, |tile| matches!(tile.state, State::Freed { .. }));
            runs.map(|run| (run.size, run.start, run.first)).min().map(|(.., first)| first)
        })
    }

    /// Of the bytes that start with this tile, the first that the class may not use.
    fn first_unusable(&self, first: TileId, class: Policy) -> Option<Candidate> {
        let mut covered = 0;
        let (tiles, is_usable) = (&self.pool.tiles, self.usable(class));
        let needed = tiles.walk(first).map(|id| &tiles[id]).take_while(|tile| {
            let needed = covered < self.size;
            covered += tile.size;
            needed
        });
        let mut unusable = needed.filter(|tile| !is_usable(tile));
        unusable.find_map(|tile| match tile.state {
            // It was freed on no stream that could be named.
            _ if self.pool.is_freed_by_host(tile) => None,
            State::Freed { alloc, at, .. } => Some(Candidate { alloc, freed: at }),
            _ => None,
        })
    }
}
