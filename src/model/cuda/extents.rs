//! Maximal runs of neighbouring tiles that are not live, found by size without being sorted by it.
//!
//! An extent is known by its first and its last tile, each of which knows the other one. Those of one magnitude are a list, so
//! that a tile comes and goes without a search.

use super::tiles::{NONE, TileId, Tiles};
use crate::base::reuse_on_clone;

/// The extents of a pool.
#[derive(Debug)]
pub(super) struct Extents {
    /// For each tile, its membership.
    tags: Vec<Tag>,
    /// The first extent of each magnitude, a power of two.
    lists: [TileId; MAGNITUDES],
    /// A bit for each magnitude of which there are extents.
    present: u64,
}

const MAGNITUDES: usize = u64::BITS as usize;

reuse_on_clone!(Extents { tags, lists, present });

/// The membership of a tile.
#[derive(Clone, Copy, Debug)]
struct Tag {
    is_member: bool,
    /// Of the first and the last tile of an extent: the other one.
    other: TileId,
    /// Of the first tile: the magnitude of the extent, and its neighbours in the list.
    magnitude: u32,
    before: TileId,
    after: TileId,
}

const NO_MEMBER: Tag = Tag { is_member: false, other: NONE, magnitude: 0, before: NONE, after: NONE };

impl Extents {
    pub(super) const fn new() -> Self {
        Self { tags: Vec::new(), lists: [NONE; MAGNITUDES], present: 0 }
    }

    /// The first and the last tile of each extent that may have so many bytes, in no particular order.
    pub(super) fn of_about(&self, size: u64) -> impl Iterator<Item = (TileId, TileId)> + '_ {
        let mut larger = self.present >> magnitude(size) << magnitude(size);
        let mut head = NONE;
        std::iter::from_fn(move || {
            if head == NONE {
                let magnitude = larger.trailing_zeros();
                head = *self.lists.get(magnitude as usize)?;
                larger &= larger - 1;
            }
            let Tag { other, after, .. } = self.tags[head as usize];
            Some((std::mem::replace(&mut head, after), other))
        })
    }

    /// A tile is not live any more.
    pub(super) fn insert(&mut self, tiles: &Tiles, id: TileId) {
        if self.tags.len() <= id as usize {
            self.tags.resize(id as usize + 1, NO_MEMBER);
        }
        self.tags[id as usize].is_member = true;
        let tile = &tiles[id];
        let (mut head, mut tail) = (id, id);
        if self.is_member(tile.prev) {
            head = self.tags[tile.prev as usize].other;
            self.unlist(head);
        }
        if self.is_member(tile.next) {
            tail = self.tags[tile.next as usize].other;
            self.unlist(tile.next);
        }
        self.list(tiles, head, tail);
    }

    /// A tile that is not live leaves its extent, which may fall in two.
    pub(super) fn remove(&mut self, tiles: &Tiles, id: TileId) {
        let (head, tail) = self.around(tiles, id);
        self.unlist(head);
        self.tags[id as usize].is_member = false;
        if head != id {
            self.list(tiles, head, tiles[id].prev);
        }
        if tail != id {
            self.list(tiles, tiles[id].next, tail);
        }
    }

    /// The ends of the extent of a tile. Looks in both directions at once, since the nearer end knows the farther one.
    fn around(&self, tiles: &Tiles, id: TileId) -> (TileId, TileId) {
        let (mut left, mut right) = (id, id);
        loop {
            let (before, after) = (tiles[left].prev, tiles[right].next);
            if !self.is_member(before) {
                return (left, self.tags[left as usize].other);
            }
            if !self.is_member(after) {
                return (self.tags[right as usize].other, right);
            }
            (left, right) = (before, after);
        }
    }

    fn is_member(&self, id: TileId) -> bool {
        self.tags.get(id as usize).is_some_and(|tag| tag.is_member)
    }

    /// Makes these the ends of an extent, and lists it.
    fn list(&mut self, tiles: &Tiles, head: TileId, tail: TileId) {
        let magnitude = magnitude(tiles[tail].end() - tiles[head].start);
        let first = &mut self.lists[magnitude as usize];
        let after = std::mem::replace(first, head);
        self.present |= 1 << magnitude;
        if after != NONE {
            self.tags[after as usize].before = head;
        }
        self.tags[tail as usize].other = head;
        self.tags[head as usize] = Tag { is_member: true, other: tail, magnitude, before: NONE, after };
    }

    fn unlist(&mut self, head: TileId) {
        let Tag { magnitude, before, after, .. } = self.tags[head as usize];
        match before {
            NONE => {
                self.lists[magnitude as usize] = after;
                self.present &= !(u64::from(after == NONE) << magnitude);
            }
            before => self.tags[before as usize].after = after,
        }
        if after != NONE {
            self.tags[after as usize].before = before;
        }
    }
}

/// The exponent of the power of two at or below a size, which is not 0.
const fn magnitude(size: u64) -> u32 {
    size.ilog2()
}
