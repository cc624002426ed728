//! Physical memory: growth in chunks, and which chunks can go back.
//!
//! A chunk is mapped and released alone. It can go when it holds no live and no pending byte.
//!
//! Rules: CUDA Programming Guide 4.3.4.2 (release threshold), `cuMemPoolTrimTo`; chunk sizes are measured (profile).

use super::pool::Pool;
use super::tiles::{NONE, Tile, TileId};
use crate::trace::{Remap, Rules};

/// Idle chunks, or granules, that follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// A tile at or before its start.
    pub(super) first: TileId,
    pub(super) start: u64,
    pub(super) end: u64,
    /// The end of the addresses that become free with it.
    pub(super) until: u64,
}

/// How much a pool maps for a request of `size` bytes when it may map `room`: whole chunks if they fit, else as many
/// granules as the request needs.
pub(super) fn growth(rules: &Rules, size: u64, room: u64) -> Option<u64> {
    let fits = |unit: u64| size.checked_next_multiple_of(unit).filter(|mapped| *mapped <= room);
    fits(rules.growth.0).or_else(|| fits(rules.granule.0))
}

/// The spans of wholly idle pieces of a size, highest address first. Where none fits, a span ends before it starts.
fn idle_spans(pool: &Pool, rules: &Rules, unit: u64) -> Vec<Span> {
    let runs = pool.free_runs(rules.granule.0.min(unit), Tile::is_idle);
    let spans = runs.map(|run| {
        let end = run.start + run.size;
        // The first and the last piece of a mapping may be short: they end where the mapping does.
        let (is_first, is_last) = (pool.tiles[run.first].prev == NONE, pool.tiles[run.last].next == NONE);
        let start = if is_first { run.start } else { run.start.next_multiple_of(unit) };
        let end = if is_last { end } else { end - end % unit };
        // Behind a mapping nobody else has the addresses of its last chunk.
        let until = if is_last { end.next_multiple_of(rules.growth.0) } else { end };
        Span { first: run.first, start, end, until }
    });
    let mut spans: Vec<Span> = spans.collect();
    spans.sort_unstable_by_key(|span| std::cmp::Reverse(span.start));
    spans
}

/// The chunks that `pool` gives back so that at least `keep` bytes stay reserved.
pub(super) fn above(pool: &Pool, rules: &Rules, keep: u64) -> Vec<Span> {
    let mut budget = pool.reserved.saturating_sub(keep);
    if budget == 0 {
        return Vec::new();
    }
    choose(pool, rules, rules.growth.0, |chunk| {
        let goes = chunk <= budget;
        budget -= if goes { chunk } else { 0 };
        goes
    })
}

/// The pieces that `pool` gives back to make room for `missing` bytes; `None` when all of them would not do.
pub(super) fn room_for(pool: &Pool, rules: &Rules, mut missing: u64) -> Option<Vec<Span>> {
    let unit = match rules.remap {
        Remap::Off => return None,
        Remap::Idle => rules.growth.0,
        Remap::Full => rules.granule.0,
    };
    let chosen = choose(pool, rules, unit, |piece| {
        let goes = missing > 0;
        missing = missing.saturating_sub(piece);
        goes
    });
    (missing == 0).then_some(chosen)
}

/// Those idle pieces that `goes` says, which is asked for the size of each, highest address first.
fn choose(pool: &Pool, rules: &Rules, unit: u64, mut goes: impl FnMut(u64) -> bool) -> Vec<Span> {
    let mut chosen: Vec<Span> = Vec::new();
    if pool.ledger.cached.0 + pool.ledger.unused.0 < rules.granule.0.min(unit) {
        return chosen;
    }
    for span in idle_spans(pool, rules, unit) {
        let mut end = span.end;
        while end > span.start {
            let start = ((end - 1) / unit * unit).max(span.start);
            if goes(end - start) {
                let until = if end == span.end { span.until } else { end };
                match chosen.last_mut() {
                    Some(above) if above.first == span.first && above.start == end => above.start = start,
                    _ => chosen.push(Span { first: span.first, start, end, until }),
                }
            }
            end = start;
        }
    }
    chosen
}
