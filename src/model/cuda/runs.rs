//! Maximal runs of neighbouring tiles that belong together, found by size.
//!
//! A run is known by tags at its two ends; each pool keeps two groupings: by the stream that freed, and by being observed.
//! Members come and go one at a time.

use super::shelf::{Entry, Shelf};
use super::tiles::{NONE, TileId, Tiles};
use crate::base::reuse_on_clone;

/// One grouping of the tiles of a pool.
#[derive(Debug)]
pub(super) struct Runs {
    /// For each tile, its membership.
    tags: Vec<Tag>,
    /// For each key, its runs.
    shelves: Vec<Shelf>,
}

reuse_on_clone!(Runs { tags, shelves });

/// The membership of a tile. All but `key` and `seq` is kept only at the two ends of a run.
#[derive(Clone, Copy, Debug)]
struct Tag {
    /// What the members of a run have in common; `NONE`: not a member.
    key: u32,
    /// The free of this tile.
    seq: u32,
    /// The other end of the run.
    other: TileId,
    /// The bytes of the run.
    size: u64,
    /// No member has a later free; `exact`: one has this one.
    latest: u32,
    exact: bool,
}

const NO_MEMBER: Tag = Tag { key: NONE, seq: 0, other: NONE, size: 0, latest: 0, exact: true };

impl Runs {
    pub(super) fn new(keys: usize) -> Self {
        Self { tags: Vec::new(), shelves: (0..keys).map(|_| Shelf::default()).collect() }
    }

    /// The smallest run of a key that has room for `size` and no free later than `until`; of equal ones the lowest.
    pub(super) fn fit(&self, tiles: &Tiles, key: usize, size: u64, until: u32) -> Option<Entry> {
        let usable = |entry: &Entry| self.is_within(tiles, entry.head, until);
        self.shelves[key].find(size, until, usable).copied()
    }

    /// Whether a run has no free later than `until`, looked up where only a bound is kept.
    fn is_within(&self, tiles: &Tiles, head: TileId, until: u32) -> bool {
        let Tag { key, exact, latest, .. } = self.tags[head as usize];
        let mut members = tiles.walk(head).map_while(|id| self.member(id, key));
        latest <= until || !exact && members.all(|tag| tag.seq <= until)
    }

    /// A tile joins the runs of a key.
    pub(super) fn insert(&mut self, tiles: &Tiles, id: TileId, key: u32, seq: u32) {
        if self.tags.len() <= id as usize {
            self.tags.resize(id as usize + 1, NO_MEMBER);
        }
        let tile = &tiles[id];
        let (mut head, mut tail) = (id, id);
        let mut run = Tag { key, seq, other: id, size: tile.size, latest: seq, exact: true };
        self.tags[id as usize] = run;
        for neighbour in [tile.prev, tile.next] {
            let Some(tag) = self.member(neighbour, key) else { continue };
            let (first, last) =
                if neighbour == tile.prev { (tag.other, neighbour) } else { (neighbour, tag.other) };
            self.shelves[key as usize].remove(tag.size, tiles[first].start);
            if neighbour == tile.prev {
                head = first;
            } else {
                tail = last;
            }
            run.size += tag.size;
            if tag.latest > run.latest {
                (run.latest, run.exact) = (tag.latest, tag.exact);
            }
        }
        self.close(tiles, head, tail, run);
    }

    /// A tile leaves its run, which may fall in two.
    pub(super) fn remove(&mut self, tiles: &Tiles, id: TileId) {
        let own = self.tags[id as usize];
        let (head, tail, left_is_near) = self.ends(tiles, id);
        let run = self.tags[head as usize];
        self.shelves[run.key as usize].remove(run.size, tiles[head].start);
        self.tags[id as usize] = NO_MEMBER;
        let tile = &tiles[id];
        let mut left = Tag { size: tile.start - tiles[head].start, ..run };
        let mut right = Tag { size: tiles[tail].end() - tile.end(), ..run };
        left.exact &= own.seq < run.latest;
        right.exact = left.exact;
        if left.size > 0 && right.size > 0 {
            let (near, far) = if left_is_near { (&mut left, &mut right) } else { (&mut right, &mut left) };
            let start = if left_is_near { head } else { tile.next };
            let members = tiles.walk(start).map_while(|id| self.member(id, run.key));
            // The walk to the left ends at the tile that has just left.
            near.latest = members.map(|tag| tag.seq).max().expect("a side of some size has a member");
            near.exact = true;
            // If the latest free is not on the near side, it is on the far one.
            far.exact &= near.latest < run.latest;
        }
        if left.size > 0 {
            self.close(tiles, head, tile.prev, left);
        }
        if right.size > 0 {
            self.close(tiles, tile.next, tail, right);
        }
    }

    /// The two ends of the run of a member, and whether the left one is nearer. Looks in both directions at once, since
    /// the nearer end knows the farther one.
    fn ends(&self, tiles: &Tiles, id: TileId) -> (TileId, TileId, bool) {
        let key = self.tags[id as usize].key;
        let (mut left, mut right) = (id, id);
        loop {
            let (before, after) = (tiles[left].prev, tiles[right].next);
            if self.member(before, key).is_none() {
                return (left, self.tags[left as usize].other, true);
            }
            if self.member(after, key).is_none() {
                return (self.tags[right as usize].other, right, false);
            }
            (left, right) = (before, after);
        }
    }

    /// Writes the tags of a run's ends and puts it on its shelf.
    fn close(&mut self, tiles: &Tiles, head: TileId, tail: TileId, run: Tag) {
        for (end, other) in [(head, tail), (tail, head)] {
            let seq = self.tags[end as usize].seq;
            self.tags[end as usize] = Tag { seq, other, ..run };
        }
        let latest = if run.exact { run.latest } else { 0 };
        let entry = Entry { size: run.size, start: tiles[head].start, latest, head };
        self.shelves[run.key as usize].insert(entry);
    }

    fn member(&self, id: TileId, key: u32) -> Option<Tag> {
        self.tags.get(id as usize).copied().filter(|tag| id != NONE && tag.key == key)
    }
}
