//! Physical memory: growth in chunks, and which chunks can go back.
//!
//! A chunk is mapped and released alone. It can go when it holds no live and no pending byte.
//!
//! Rules: CUDA Programming Guide 4.3.4.2 (release threshold), `cuMemPoolTrimTo`; chunk sizes are measured (profile).

use super::pool::Pool;
use super::tiles::{NONE, Tile, TileId};
use crate::trace::Rules;

/// Idle chunks that follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// A tile at or before its start.
    pub(super) first: TileId,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// How much a pool maps for a request of `size` bytes when it may map `room`: whole chunks if they fit, else as many
/// granules as the request needs.
pub(super) fn growth(rules: &Rules, size: u64, room: u64) -> Option<u64> {
    let fits = |unit: u64| size.checked_next_multiple_of(unit).filter(|mapped| *mapped <= room);
    fits(rules.growth.0).or_else(|| fits(rules.granule.0))
}

/// The spans of wholly idle chunks, highest address first.
fn idle_spans(pool: &Pool, rules: &Rules) -> Vec<Span> {
    let unit = rules.growth.0;
    let runs = pool.free_runs(rules.granule.0.min(unit), Tile::is_idle);
    let spans = runs.map(|run| {
        let end = run.start + run.size;
        // The last chunk of a growth may be short: it ends where the mapping does.
        let is_short_end = pool.tiles[run.last].next == NONE;
        let end = if is_short_end { end } else { end - end % unit };
        Span { first: run.first, start: run.start.next_multiple_of(unit), end }
    });
    let mut spans: Vec<Span> = spans.filter(|span| span.start < span.end).collect();
    spans.sort_unstable_by_key(|span| std::cmp::Reverse(span.start));
    spans
}

/// The chunks that `pool` gives back so that at least `keep` bytes stay reserved.
pub(super) fn above(pool: &Pool, rules: &Rules, keep: u64) -> Vec<Span> {
    let mut budget = pool.reserved.saturating_sub(keep);
    choose(pool, rules, |chunk| {
        let goes = chunk <= budget;
        budget -= if goes { chunk } else { 0 };
        goes
    })
}

/// The chunks that `pool` gives back to make room for `missing` bytes; `None` when all of them would not do.
pub(super) fn room_for(pool: &Pool, rules: &Rules, mut missing: u64) -> Option<Vec<Span>> {
    let chosen = choose(pool, rules, |chunk| {
        let goes = missing > 0;
        missing = missing.saturating_sub(chunk);
        goes
    });
    (missing == 0).then_some(chosen)
}

/// Those idle chunks that `goes` says, which is asked for the size of each, highest address first.
fn choose(pool: &Pool, rules: &Rules, mut goes: impl FnMut(u64) -> bool) -> Vec<Span> {
    let mut chosen: Vec<Span> = Vec::new();
    if pool.ledger.cached.0 + pool.ledger.unused.0 < rules.granule.0.min(rules.growth.0) {
        return chosen;
    }
    for span in idle_spans(pool, rules) {
        let mut end = span.end;
        while end > span.start {
            let start = (end - 1) / rules.growth.0 * rules.growth.0;
            if goes(end - start) {
                match chosen.last_mut() {
                    Some(above) if above.first == span.first && above.start == end => above.start = start,
                    _ => chosen.push(Span { first: span.first, start, end }),
                }
            }
            end = start;
        }
    }
    chosen
}
