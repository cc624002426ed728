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
struct Span {
    /// A tile at or before its start.
    first: TileId,
    start: u64,
    end: u64,
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

/// Which chunks `pool` gives back, highest address first, so that at least `keep` bytes stay reserved.
/// Each is a range of addresses with a tile at or before its start.
pub(super) fn releasable(pool: &Pool, rules: &Rules, keep: u64) -> Vec<(TileId, u64, u64)> {
    if pool.reserved <= keep
        || pool.ledger.cached.0 + pool.ledger.unused.0 < rules.granule.0.min(rules.growth.0)
    {
        return Vec::new();
    }
    let mut budget = pool.reserved - keep;
    let mut chosen: Vec<(TileId, u64, u64)> = Vec::new();
    for span in idle_spans(pool, rules) {
        let mut to = span.end;
        while to > span.start {
            let from = (to - 1) / rules.growth.0 * rules.growth.0;
            if to - from <= budget {
                budget -= to - from;
                match chosen.last_mut() {
                    Some((first, above, _)) if *first == span.first && *above == to => *above = from,
                    _ => chosen.push((span.first, from, to)),
                }
            }
            to = from;
        }
    }
    chosen
}
