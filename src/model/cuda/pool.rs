//! One pool: its tiles, the indexes over them, its counters and attributes.
//!
//! Every change of a tile takes it off all indexes (`lift`), changes it, and puts it back (`put`); so ledger, digest and
//! indexes cannot disagree with the tiles. Must not know devices, other pools, or which class is to serve.

use super::extents::Extents;
use super::pending::Pending;
use super::runs::Runs;
use super::shelf::{Entry, Shelf};
use super::tiles::{NONE, State, Tile, TileId, Tiles};
use crate::base::{Bytes, DeviceId, ProcessId, StreamId, mix, reuse_on_clone};
use crate::trace::{
    AllocId, Attribute, Attributes, Cut, Failure, Ledger, PendingFree, PoolSetup, PoolState, Ticket,
};

#[derive(Debug)]
pub(super) struct Pool {
    /// What its memory is taken from.
    pub(super) device: DeviceId,
    /// The device, as its process knows it. `None`: it is on the host.
    pub(super) home: Option<DeviceId>,
    pub(super) process: ProcessId,
    /// Whether other processes have or can have its memory, so that it gives none back.
    pub(super) is_shared: bool,
    pub(super) max_size: Option<u64>,
    pub(super) attributes: Attributes,
    pub(super) ledger: Ledger,
    pub(super) reserved: u64,
    reserved_high: u64,
    used_high: u64,
    maps: u64,
    unmaps: u64,
    pub(super) tiles: Tiles,
    /// Blocks exactly as they were freed, by the stream that freed them; last, those that the host freed at once.
    pub(super) blocks: Vec<Shelf>,
    /// The same, observed ones of all streams.
    pub(super) observed_blocks: Shelf,
    pub(super) unused: Shelf,
    /// Neighbouring freed tiles of one stream.
    pub(super) by_stream: Runs,
    /// Neighbouring observed tiles.
    pub(super) observed: Runs,
    /// Neighbouring tiles that are not live.
    extents: Extents,
    pending: Pending,
    /// Releasing down to so many bytes has left nothing that could go, and no tile has become idle since.
    settled: Option<u64>,
    /// For each stream, how many freed tiles it has.
    freed: Vec<u32>,
    /// The streams that have any, ascending.
    freeing: Vec<u32>,
    digest: u128,
}

/// Neighbouring free tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct FreeRun {
    pub(super) first: TileId,
    pub(super) last: TileId,
    pub(super) start: u64,
    pub(super) size: u64,
}

reuse_on_clone!(Pool {
    device,
    home,
    process,
    is_shared,
    max_size,
    attributes,
    ledger,
    reserved,
    reserved_high,
    used_high,
    maps,
    unmaps,
    tiles,
    blocks,
    observed_blocks,
    unused,
    by_stream,
    observed,
    extents,
    pending,
    digest,
    freed,
    freeing,
    settled,
});

impl Pool {
    pub(super) fn new(setup: &PoolSetup, device: DeviceId, granule: Bytes, streams: usize) -> Self {
        let rounded = |size: Bytes| size.checked_round_up(granule).unwrap_or(Bytes::MAX).0;
        Self {
            device,
            home: setup.location.device(),
            process: setup.process,
            is_shared: setup.is_shared(),
            max_size: setup.max_size.map(rounded),
            attributes: setup.attributes,
            ledger: Ledger::default(),
            reserved: 0,
            reserved_high: 0,
            used_high: 0,
            maps: 0,
            unmaps: 0,
            tiles: Tiles::default(),
            blocks: (0..=streams).map(|_| Shelf::default()).collect(),
            observed_blocks: Shelf::default(),
            unused: Shelf::default(),
            by_stream: Runs::new(streams + 1),
            observed: Runs::new(1),
            extents: Extents::new(),
            pending: Pending::new(streams + 1),
            settled: None,
            freed: vec![0; streams + 1],
            freeing: Vec::new(),
            digest: 0,
        }
    }

    /// How many streams may free its memory.
    pub(super) fn streams(&self) -> usize {
        self.blocks.len() - 1
    }

    /// Takes a tile off all indexes, so that it may change.
    pub(super) fn lift(&mut self, id: TileId) {
        let tile = self.tiles[id];
        self.digest = self.digest.wrapping_sub(tile.counted);
        match tile.state {
            State::Live { requested, .. } => {
                self.ledger.live.0 -= requested;
                self.ledger.padding.0 -= tile.size - requested;
                return;
            }
            State::Freed { at, whole, observed, .. } => {
                if whole {
                    self.blocks[at.stream.index()].remove(tile.size, tile.start);
                }
                if observed {
                    self.ledger.cached.0 -= tile.size;
                    self.observed.remove(&self.tiles, id);
                    if whole {
                        self.observed_blocks.remove(tile.size, tile.start);
                    }
                } else {
                    self.ledger.pending.0 -= tile.size;
                }
                self.by_stream.remove(&self.tiles, id);
                self.count_freed(at.stream.index(), -1);
            }
            State::Unused => {
                self.ledger.unused.0 -= tile.size;
                self.unused.remove(tile.size, tile.start);
            }
            State::Vacant => unreachable!("a vacant tile is on no index"),
        }
        self.extents.remove(&self.tiles, id);
    }

    /// Puts a tile on all indexes.
    pub(super) fn put(&mut self, id: TileId) {
        self.count(id);
        let tile = self.tiles[id];
        let entry = |latest| Entry { size: tile.size, start: tile.start, latest, head: id };
        match tile.state {
            State::Live { requested, .. } => {
                self.ledger.live.0 += requested;
                self.ledger.padding.0 += tile.size - requested;
                return;
            }
            State::Freed { at, whole, observed, .. } => {
                if whole {
                    self.blocks[at.stream.index()].insert(entry(at.seq));
                }
                if observed {
                    self.ledger.cached.0 += tile.size;
                    self.observed.insert(&self.tiles, id, 0, 0);
                    if whole {
                        self.observed_blocks.insert(entry(0));
                    }
                } else {
                    self.ledger.pending.0 += tile.size;
                }
                self.by_stream.insert(&self.tiles, id, at.stream.index() as u32, at.seq);
                self.count_freed(at.stream.index(), 1);
            }
            State::Unused => {
                self.ledger.unused.0 += tile.size;
                self.unused.insert(entry(0));
            }
            State::Vacant => unreachable!("a vacant tile is on no index"),
        }
        self.extents.insert(&self.tiles, id);
    }

    /// Adds a tile to the digest.
    fn count(&mut self, id: TileId) {
        let tile = &mut self.tiles[id];
        tile.counted = tile.digest();
        self.digest = self.digest.wrapping_add(tile.counted);
    }

    fn count_freed(&mut self, stream: usize, change: i32) {
        let count = &mut self.freed[stream];
        let had_any = *count > 0;
        *count = count.wrapping_add_signed(change);
        if had_any != (*count > 0) {
            let rank = self.freeing.partition_point(|other| (*other as usize) < stream);
            match had_any {
                true => drop(self.freeing.remove(rank)),
                false => self.freeing.insert(rank, stream as u32),
            }
        }
    }

    /// The streams that freed tiles which are still free.
    pub(super) fn streams_with_frees(&self) -> impl Iterator<Item = usize> + '_ {
        self.freeing.iter().map(|stream| *stream as usize)
    }

    /// Whether a stream has freed tiles which are still free.
    pub(super) fn has_frees_of(&self, stream: usize) -> bool {
        self.freed[stream] > 0
    }

    /// Whether the cut contains a pending free of a stream other than `own`.
    pub(super) fn has_pending_within(&self, cut: &Cut, own: usize) -> bool {
        let is_within = |stream: usize| {
            let id = self.pending.oldest(stream);
            id != NONE && matches!(self.tiles[id].state, State::Freed { at, .. } if at.within(cut))
        };
        self.ledger.pending > Bytes::ZERO
            && self.streams_with_frees().any(|stream| stream != own && is_within(stream))
    }

    /// The size of a tile and, of a live one, the size that was asked for.
    pub(super) fn sizes(&self, id: TileId) -> (u64, u64) {
        let tile = self.tiles[id];
        match tile.state {
            State::Live { requested, .. } => (tile.size, requested),
            _ => (tile.size, tile.size),
        }
    }

    /// A block of another process's pool comes to this imported one.
    pub(super) fn import(&mut self, size: u64, requested: u64, digest: u128) {
        self.ledger.live.0 += requested;
        self.ledger.padding.0 += size - requested;
        self.reserved += size;
        self.reserved_high = self.reserved_high.max(self.reserved);
        self.used_high = self.used_high.max(self.ledger.live.0);
        self.digest = self.digest.wrapping_add(digest);
    }

    /// It goes again.
    pub(super) fn end_import(&mut self, size: u64, requested: u64, digest: u128) {
        self.ledger.live.0 -= requested;
        self.ledger.padding.0 -= size - requested;
        self.reserved -= size;
        self.digest = self.digest.wrapping_sub(digest);
    }

    /// A live tile is freed.
    pub(super) fn free(&mut self, id: TileId, alloc: AllocId, at: Ticket) {
        self.lift(id);
        self.tiles[id].state = State::Freed { alloc, at, whole: true, observed: false };
        self.pending.append(&mut self.tiles, id, at);
        self.put(id);
    }

    /// A live tile is freed by the host, which vouches for everything about it: it is observed from now on.
    pub(super) fn free_at_once(&mut self, id: TileId, alloc: AllocId) {
        self.settled = None;
        self.lift(id);
        let at = Ticket { stream: StreamId::new(self.blocks.len() - 1), seq: 0 };
        self.tiles[id].state = State::Freed { alloc, at, whole: true, observed: true };
        self.put(id);
    }

    /// Whether no stream freed the tile: the host did, at once.
    pub(super) fn is_freed_by_host(&self, tile: &Tile) -> bool {
        matches!(tile.state, State::Freed { at, .. } if at.stream.index() + 1 == self.blocks.len())
    }

    fn unlink_if_pending(&mut self, id: TileId, state: State) {
        if let State::Freed { at, observed: false, .. } = state {
            self.pending.unlink(&mut self.tiles, id, at);
        }
    }

    /// Frees within the cut are observed from now on.
    pub(super) fn observe(&mut self, observed: &Cut) {
        if self.ledger.pending == Bytes::ZERO {
            return;
        }
        for (stream, until) in observed.iter().enumerate() {
            loop {
                let id = self.pending.oldest(stream);
                if id == NONE {
                    break;
                }
                let State::Freed { alloc, at, whole, .. } = self.tiles[id].state else {
                    unreachable!("only freed tiles are pending")
                };
                if at.seq > *until {
                    break;
                }
                self.pending.unlink(&mut self.tiles, id, at);
                self.mark_observed(id, State::Freed { alloc, at, whole, observed: true });
            }
        }
    }

    /// A pending tile becomes an observed one. Its place on the indexes that do not care stays.
    fn mark_observed(&mut self, id: TileId, state: State) {
        self.settled = None;
        self.digest = self.digest.wrapping_sub(self.tiles[id].counted);
        self.tiles[id].state = state;
        self.count(id);
        let tile = self.tiles[id];
        self.ledger.pending.0 -= tile.size;
        self.ledger.cached.0 += tile.size;
        self.observed.insert(&self.tiles, id, 0, 0);
        if let State::Freed { whole: true, .. } = state {
            self.observed_blocks.insert(Entry { size: tile.size, start: tile.start, latest: 0, head: id });
        }
    }

    /// Whether every pending free is within the cut.
    pub(super) fn is_pending_within(&self, cut: &Cut) -> bool {
        self.pending.is_within(&self.tiles, cut)
    }

    /// The frees that are not observed.
    pub(super) fn pending(&self, into: &mut Vec<Ticket>) {
        if self.ledger.pending > Bytes::ZERO {
            self.pending.all(&self.tiles).for_each(|(_, at)| into.push(at));
        }
    }

    /// The frees that are not observed, by the stream that freed, oldest first.
    pub(super) fn pending_frees(&self) -> Vec<PendingFree> {
        let mut frees: Vec<PendingFree> = Vec::new();
        for (tile, at) in self.pending.all(&self.tiles) {
            let State::Freed { alloc, .. } = tile.state else { continue };
            match frees.last_mut().filter(|last| last.at == at) {
                // What is left of one block may be in several places.
                Some(last) => last.bytes.0 += tile.size,
                None => frees.push(PendingFree { alloc, at, bytes: Bytes(tile.size) }),
            }
        }
        frees
    }

    /// Hands out `size` bytes from the start of a tile on, across its neighbours where it is too small. `consumed` is told
    /// each tile that loses bytes, and how many. All of them must be free.
    pub(super) fn carve(
        &mut self,
        first: TileId,
        size: u64,
        live: State,
        mut consumed: impl FnMut(State, u64),
    ) -> TileId {
        let (mut last, mut covered) = (first, 0);
        loop {
            self.lift(last);
            let tile = self.tiles[last];
            consumed(tile.state, tile.size.min(size - covered));
            covered += tile.size;
            if covered >= size {
                break;
            }
            last = tile.next;
        }
        let Tile { start, prev, state, .. } = self.tiles[first];
        let rest = covered - size;
        if last == first && rest == 0 {
            self.unlink_if_pending(first, state);
            self.tiles[first].state = live;
            self.put(first);
            self.used_high = self.used_high.max(self.ledger.live.0);
            return first;
        }
        let mut next = first;
        loop {
            let id = next;
            if id == last && rest > 0 {
                self.shrink(id, rest);
                break;
            }
            let tile = self.tiles[id];
            next = tile.next;
            self.unlink_if_pending(id, tile.state);
            self.tiles.remove(id);
            if id == last {
                break;
            }
        }
        let given = self.tiles.insert(start, size, live, prev, next);
        self.put(given);
        if rest > 0 {
            self.put(next);
        }
        self.used_high = self.used_high.max(self.ledger.live.0);
        given
    }

    /// A lifted tile keeps only its upper bytes, and is no block as it was freed any more.
    fn shrink(&mut self, id: TileId, size: u64) {
        let tile = &mut self.tiles[id];
        tile.start += tile.size - size;
        tile.size = size;
        if let State::Freed { whole, .. } = &mut tile.state {
            *whole = false;
        }
    }

    /// The maximal runs of neighbouring free tiles that each satisfy `belongs` and together have at least `size` bytes, in no
    /// particular order.
    pub(super) fn free_runs(
        &self,
        size: u64,
        belongs: impl Fn(&Tile) -> bool + Copy,
    ) -> impl Iterator<Item = FreeRun> {
        let extents = self.extents.of_about(size);
        let runs = extents.flat_map(move |(head, tail)| self.runs_between(head, tail, belongs));
        runs.filter(move |run| run.size >= size)
    }

    /// Whether there may be neighbouring tiles that are not live and together have at least `size` bytes.
    pub(super) fn may_have_run(&self, size: u64) -> bool {
        self.extents.of_about(size).next().is_some()
    }

    fn runs_between(
        &self,
        head: TileId,
        tail: TileId,
        belongs: impl Fn(&Tile) -> bool,
    ) -> impl Iterator<Item = FreeRun> {
        let mut next = head;
        let mut step = move || {
            let id = Some(next).filter(|id| *id != NONE)?;
            let tile = &self.tiles[id];
            next = if id == tail { NONE } else { tile.next };
            Some((id, tile))
        };
        std::iter::from_fn(move || {
            let (first, Tile { start, size, .. }) =
                std::iter::from_fn(&mut step).find(|(_, tile)| belongs(tile))?;
            let mut run = FreeRun { first, last: first, start: *start, size: *size };
            while let Some((id, tile)) = step().filter(|(_, tile)| belongs(tile)) {
                (run.last, run.size) = (id, run.size + tile.size);
            }
            Some(run)
        })
    }

    /// Of the cached and unused bytes, those outside the largest range of such bytes.
    pub(super) fn fragmented(&self) -> Bytes {
        let largest = self.free_runs(1, Tile::is_idle).map(|run| run.size).max();
        Bytes(self.ledger.cached.0 + self.ledger.unused.0 - largest.unwrap_or(0))
    }

    /// Newly mapped bytes become an unused tile.
    pub(super) fn map(&mut self, start: u64, size: u64) -> TileId {
        self.settled = None;
        self.maps += 1;
        self.reserved += size;
        self.reserved_high = self.reserved_high.max(self.reserved);
        self.digest = self.digest.wrapping_add(opening(start));
        let id = self.tiles.insert(start, size, State::Unused, NONE, NONE);
        self.put(id);
        id
    }

    /// Whether releasing down to `keep` bytes is known to find nothing; asked once, it is known from then on.
    pub(super) fn settle(&mut self, keep: u64) -> bool {
        let is_settled = self.settled.is_some_and(|settled| settled <= keep);
        if !is_settled {
            self.settled = Some(keep);
        }
        is_settled
    }

    /// Some memory has gone back in one trip.
    pub(super) fn count_unmap(&mut self) {
        self.unmaps += 1;
    }

    /// Unmaps `from..to`, which only idle tiles cover, the first of them `first` or after it.
    pub(super) fn unmap(&mut self, first: TileId, from: u64, to: u64) {
        let mut id = first;
        while self.tiles[id].end() <= from {
            id = self.tiles[id].next;
        }
        if self.tiles[id].start < from {
            id = self.split(id, from);
        }
        loop {
            debug_assert!(self.tiles[id].is_idle(), "only idle memory goes back");
            if self.tiles[id].end() > to {
                self.split(id, to);
            }
            self.lift(id);
            let tile = self.tiles[id];
            self.reserved -= tile.size;
            match tile.prev {
                NONE => self.digest = self.digest.wrapping_sub(opening(tile.start)),
                prev => self.tiles.part_after(prev),
            }
            if tile.next != NONE {
                self.tiles.part_after(id);
                self.digest = self.digest.wrapping_add(opening(tile.end()));
            }
            self.tiles.remove(id);
            if tile.end() == to {
                return;
            }
            id = tile.next;
        }
    }

    /// Splits an idle tile; the upper part is the new tile. Neither is a block as it was freed any more.
    fn split(&mut self, id: TileId, at: u64) -> TileId {
        self.lift(id);
        let tile = self.tiles[id];
        let mut state = tile.state;
        if let State::Freed { whole, .. } = &mut state {
            *whole = false;
        }
        self.tiles[id].size = at - tile.start;
        self.tiles[id].state = state;
        let upper = self.tiles.insert(at, tile.end() - at, state, id, tile.next);
        self.put(id);
        self.put(upper);
        upper
    }

    pub(super) fn set(&mut self, attribute: Attribute, value: u64) -> Result<(), Failure> {
        let reuse = &mut self.attributes.reuse;
        match attribute {
            Attribute::FollowEvent => reuse.follow_event = value != 0,
            Attribute::Opportunistic => reuse.opportunistic = value != 0,
            Attribute::Internal => reuse.internal = value != 0,
            Attribute::ReleaseThreshold => self.attributes.release_threshold = Bytes(value),
            Attribute::ReservedHigh if value == 0 => self.reserved_high = self.reserved,
            Attribute::UsedHigh if value == 0 => self.used_high = self.ledger.live.0,
            Attribute::ReservedHigh | Attribute::UsedHigh | Attribute::Reserved | Attribute::Used => {
                return Err(Failure::InvalidValue);
            }
        }
        Ok(())
    }

    pub(super) fn state(&self) -> PoolState {
        PoolState {
            reserved: Bytes(self.reserved),
            reserved_high: Bytes(self.reserved_high),
            used: self.ledger.live,
            used_high: Bytes(self.used_high),
            maps: self.maps,
            unmaps: self.unmaps,
            ledger: self.ledger,
            attributes: self.attributes,
        }
    }

    pub(super) fn digest(&self) -> u128 {
        let reuse = &self.attributes.reuse;
        let switches = [reuse.follow_event, reuse.opportunistic, reuse.internal];
        let switches = switches.iter().fold(0, |bits, on| bits << 1 | u64::from(*on));
        let threshold = self.attributes.release_threshold.0;
        let counters = mix(&[self.reserved, self.reserved_high, self.used_high, threshold, switches]);
        self.digest.wrapping_add(counters)
    }
}

/// The part of the digest that says that mapped bytes begin here without a neighbour before them.
fn opening(start: u64) -> u128 {
    mix(&[start, 4])
}
