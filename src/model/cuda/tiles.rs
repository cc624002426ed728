//! The mapped bytes of a pool as tiles: each byte in exactly one, neighbours linked by address.
//!
//! Tiles of different growths are never neighbours, even at adjacent addresses; nor are those on two sides of a hole.

use crate::base::{mix, reuse_on_clone};
use crate::trace::{AllocId, Ticket};

/// The index of a tile.
pub(super) type TileId = u32;

/// No tile.
pub(super) const NONE: TileId = TileId::MAX;

/// A range of bytes in one state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tile {
    pub(super) start: u64,
    pub(super) size: u64,
    pub(super) prev: TileId,
    pub(super) next: TileId,
    pub(super) state: State,
    /// The neighbours in the list of pending tiles of one stream; used only while it is pending.
    pub(super) older: TileId,
    pub(super) newer: TileId,
    /// What it has added to the digest of its pool.
    pub(super) counted: u128,
}

/// The state of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Handed out.
    Live { alloc: AllocId, requested: u64 },
    /// Freed by the operation `at`; `whole` as long as none of its bytes went elsewhere.
    Freed { alloc: AllocId, at: Ticket, whole: bool, observed: bool },
    /// Mapped, and not handed out since.
    Unused,
    /// No tile any more; its place in the arena is free.
    Vacant,
}

impl Tile {
    pub(super) fn end(&self) -> u64 {
        self.start + self.size
    }

    /// Whether its physical memory could go: no live and no pending byte.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, State::Unused | State::Freed { observed: true, .. })
    }

    /// A hash of what it is; the digest of a pool is the sum over its tiles.
    pub(super) fn digest(&self) -> u128 {
        let words = match self.state {
            State::Live { alloc, requested } => [1 | u64::from(alloc.serial) << 32, requested],
            State::Freed { alloc, at, whole, observed } => [
                2 | u64::from(whole) << 8 | u64::from(observed) << 9 | u64::from(alloc.serial) << 32,
                u64::from(at.seq) << 32 | at.stream.index() as u64,
            ],
            State::Unused | State::Vacant => [3, 0],
        };
        mix(&[self.start, self.size, words[0], words[1]])
    }
}

/// The arena of a pool's tiles.
#[derive(Debug, Default)]
pub(super) struct Tiles {
    arena: Vec<Tile>,
    vacant: Vec<TileId>,
}

reuse_on_clone!(Tiles { arena, vacant });

impl std::ops::Index<TileId> for Tiles {
    type Output = Tile;
    fn index(&self, id: TileId) -> &Tile {
        &self.arena[id as usize]
    }
}

impl std::ops::IndexMut<TileId> for Tiles {
    fn index_mut(&mut self, id: TileId) -> &mut Tile {
        &mut self.arena[id as usize]
    }
}

impl Tiles {
    /// Adds a tile between two neighbours.
    pub(super) fn insert(
        &mut self,
        start: u64,
        size: u64,
        state: State,
        prev: TileId,
        next: TileId,
    ) -> TileId {
        let tile = Tile { start, size, prev, next, state, older: NONE, newer: NONE, counted: 0 };
        let id = match self.vacant.pop() {
            Some(id) => {
                self[id] = tile;
                id
            }
            None => {
                self.arena.push(tile);
                self.arena.len() as TileId - 1
            }
        };
        if prev != NONE {
            self[prev].next = id;
        }
        if next != NONE {
            self[next].prev = id;
        }
        id
    }

    /// Takes a tile away and makes its neighbours neighbours of each other.
    pub(super) fn remove(&mut self, id: TileId) {
        let Tile { prev, next, .. } = self[id];
        if prev != NONE {
            self[prev].next = next;
        }
        if next != NONE {
            self[next].prev = prev;
        }
        self[id].state = State::Vacant;
        self.vacant.push(id);
    }

    /// Cuts the link between a tile and the next one.
    pub(super) fn part_after(&mut self, id: TileId) {
        let next = std::mem::replace(&mut self[id].next, NONE);
        if next != NONE {
            self[next].prev = NONE;
        }
    }

    /// The tile and those that follow it without a gap.
    pub(super) fn walk(&self, from: TileId) -> impl Iterator<Item = TileId> + '_ {
        std::iter::successors((from != NONE).then_some(from), |id| {
            let next = self[*id].next;
            (next != NONE).then_some(next)
        })
    }

    /// All tiles, in no particular order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TileId, &Tile)> + '_ {
        let all = self.arena.iter().enumerate().map(|(id, tile)| (id as TileId, tile));
        all.filter(|(_, tile)| tile.state != State::Vacant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StreamId;
    use std::collections::BTreeSet;

    #[test]
    fn tiles_that_differ_have_two_digests() {
        let alloc = |serial| AllocId { slot: 0, serial };
        let at = |stream, seq| Ticket { stream: StreamId::new(stream), seq };
        let freed = |serial, at, whole, observed| State::Freed { alloc: alloc(serial), at, whole, observed };
        let states = [
            State::Unused,
            State::Live { alloc: alloc(1), requested: 1 },
            State::Live { alloc: alloc(2), requested: 1 },
            State::Live { alloc: alloc(1), requested: 2 },
            freed(1, at(1, 1), false, false),
            freed(2, at(1, 1), false, false),
            freed(1, at(2, 1), false, false),
            freed(1, at(1, 2), false, false),
            freed(1, at(1, 1), true, false),
            freed(1, at(1, 1), false, true),
        ];
        let places = [(0, 512), (512, 512), (0, 1024)];
        let tiles = states.into_iter().flat_map(|state| places.map(|(start, size)| (start, size, state)));
        let digests = tiles.map(|(start, size, state)| {
            let (prev, next, older, newer) = (NONE, NONE, NONE, NONE);
            Tile { start, size, prev, next, state, older, newer, counted: 0 }.digest()
        });
        assert_eq!(digests.collect::<BTreeSet<_>>().len(), 30);
    }
}
