//! The freed tiles that are not observed: of each stream a list, in the order of their frees.

use super::tiles::{NONE, State, Tile, TileId, Tiles};
use crate::base::reuse_on_clone;
use crate::trace::{Cut, Ticket};

/// The lists of a pool. Their links are kept in the tiles.
#[derive(Debug)]
pub(super) struct Pending {
    streams: Vec<List>,
}

/// The ends of a list.
#[derive(Clone, Copy, Debug)]
struct List {
    oldest: TileId,
    newest: TileId,
}

reuse_on_clone!(Pending { streams });

impl Pending {
    pub(super) fn new(streams: usize) -> Self {
        Self { streams: vec![List { oldest: NONE, newest: NONE }; streams] }
    }

    /// The tile of a stream that was freed first, or `NONE`.
    pub(super) fn oldest(&self, stream: usize) -> TileId {
        self.streams[stream].oldest
    }

    /// A tile has been freed.
    pub(super) fn append(&mut self, tiles: &mut Tiles, id: TileId, at: Ticket) {
        let list = &mut self.streams[at.stream.index()];
        (tiles[id].older, tiles[id].newer) = (list.newest, NONE);
        match list.newest {
            NONE => list.oldest = id,
            newest => tiles[newest].newer = id,
        }
        list.newest = id;
    }

    /// A tile leaves the list of its stream.
    pub(super) fn unlink(&mut self, tiles: &mut Tiles, id: TileId, at: Ticket) {
        let (older, newer) = (tiles[id].older, tiles[id].newer);
        let list = &mut self.streams[at.stream.index()];
        match older {
            NONE => list.oldest = newer,
            older => tiles[older].newer = newer,
        }
        match newer {
            NONE => list.newest = older,
            newer => tiles[newer].older = older,
        }
    }

    /// The tiles of a stream with the ticket of their free, oldest first.
    pub(super) fn of<'t>(
        &self,
        tiles: &'t Tiles,
        stream: usize,
    ) -> impl Iterator<Item = (&'t Tile, Ticket)> + use<'t> {
        let present = |id: TileId| (id != NONE).then_some(id);
        let ids = std::iter::successors(present(self.oldest(stream)), move |id| present(tiles[*id].newer));
        ids.filter_map(|id| match &tiles[id] {
            tile @ Tile { state: State::Freed { at, .. }, .. } => Some((tile, *at)),
            _ => None,
        })
    }

    /// Those of all streams, one stream after the other.
    pub(super) fn all<'t>(&self, tiles: &'t Tiles) -> impl Iterator<Item = (&'t Tile, Ticket)> {
        (0..self.streams.len()).flat_map(move |stream| self.of(tiles, stream))
    }

    /// Whether all of them are within the cut.
    pub(super) fn is_within(&self, tiles: &Tiles, cut: &Cut) -> bool {
        let mut newest = self.streams.iter().map(|list| list.newest).filter(|id| *id != NONE);
        newest.all(|id| matches!(tiles[id].state, State::Freed { at, .. } if at.within(cut)))
    }
}
