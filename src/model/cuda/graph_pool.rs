//! The physical memory of graphs on a device: pieces that graphs map, that live allocations hold, that launches use.
//!
//! A piece may be mapped by several graphs. It can serve a launch that runs at another time than everything that uses it.
//!
//! Rules: CUDA Programming Guide, "Graph memory nodes", physical memory management and footprint.

use super::address::AddressSpace;
use crate::base::{Bytes, mix, reuse_on_clone, words};
use crate::model::graphs::Launch;
use crate::trace::{Cut, Failure, GraphFigure, GraphPoolState, Ticket};
use smallvec::SmallVec;

/// The graph pool of a device.
#[derive(Debug)]
pub(super) struct GraphPool {
    /// By their starts.
    pieces: Vec<Piece>,
    /// Names for physical memory: like addresses, and never seen outside.
    names: AddressSpace,
    state: GraphPoolState,
}

/// Physical memory that is in one state.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) size: u64,
    /// How many graphs have it mapped.
    pub(super) maps: u32,
    /// How many live allocations are in it.
    pub(super) held: u32,
    /// The last operations that use it, one a stream.
    busy: SmallVec<[Ticket; 2]>,
}

reuse_on_clone!(GraphPool { pieces, names, state });

impl Piece {
    /// Whether everything that uses it has ended before a launch begins.
    pub(super) fn serves(&self, launch: &Launch<'_>) -> bool {
        let Launch { behind, known, .. } = launch;
        let is_behind = |at: &Ticket| {
            behind.is_some_and(|behind| behind.stream == at.stream && at.seq <= behind.seq)
                || at.within(known.ordered)
                || at.within(known.done)
        };
        self.held == 0 && self.busy.iter().all(is_behind)
    }

    /// It is used until this operation.
    pub(super) fn use_until(&mut self, at: Ticket) {
        match self.busy.iter_mut().find(|busy| busy.stream == at.stream) {
            Some(busy) => busy.seq = busy.seq.max(at.seq),
            None => self.busy.push(at),
        }
    }
}

impl GraphPool {
    pub(super) fn new(granule: u64) -> Self {
        Self { pieces: Vec::new(), names: AddressSpace::new(granule), state: GraphPoolState::default() }
    }

    pub(super) fn state(&self) -> GraphPoolState {
        self.state
    }

    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The place of the piece that begins here; one that reaches across is split.
    fn split(&mut self, at: u64) -> usize {
        let place = self.pieces.partition_point(|piece| piece.start + piece.size <= at);
        let Some(piece) = self.pieces.get_mut(place).filter(|piece| piece.start < at) else { return place };
        let after = Piece { start: at, size: piece.start + piece.size - at, ..piece.clone() };
        piece.size = at - piece.start;
        self.pieces.insert(place + 1, after);
        place + 1
    }

    /// The pieces of a range, which they make up wholly.
    pub(super) fn range(&mut self, start: u64, size: u64) -> &mut [Piece] {
        let first = self.split(start);
        let last = self.split(start + size);
        &mut self.pieces[first..last]
    }

    /// Takes new memory of the device. Nobody has mapped it yet.
    pub(super) fn grow(&mut self, size: u64) -> Option<u64> {
        let start = self.names.take(size)?;
        let place = self.pieces.partition_point(|piece| piece.start < start);
        self.pieces.insert(place, Piece { start, size, maps: 0, held: 0, busy: SmallVec::new() });
        self.state.reserved.0 += size;
        Some(start)
    }

    /// Takes the pieces out that nothing uses or holds; returns where they were.
    pub(super) fn trim(&mut self, done: &Cut) -> Vec<(u64, u64)> {
        let mut gone = Vec::new();
        self.pieces.retain(|piece| {
            let goes = piece.held == 0 && piece.busy.iter().all(|at| at.within(done));
            gone.extend(goes.then_some((piece.start, piece.size)));
            !goes
        });
        for (start, size) in &gone {
            self.names.give_back(*start, *size);
            self.state.reserved.0 -= size;
        }
        gone
    }

    /// Counts again what graphs have mapped.
    pub(super) fn settle(&mut self) {
        let mapped = self.pieces.iter().filter(|piece| piece.maps > 0);
        let GraphPoolState { used, used_high, reserved, reserved_high } = &mut self.state;
        *used = Bytes(mapped.map(|piece| piece.size).sum());
        *used_high = (*used_high).max(*used);
        *reserved_high = (*reserved_high).max(*reserved);
    }

    /// Only a high mark can be set, and only to 0, which means to what is so now.
    pub(super) fn set(&mut self, figure: GraphFigure, value: u64) -> Result<(), Failure> {
        match (figure, value) {
            (GraphFigure::UsedHigh, 0) => self.state.used_high = self.state.used,
            (GraphFigure::ReservedHigh, 0) => self.state.reserved_high = self.state.reserved,
            _ => return Err(Failure::InvalidValue),
        }
        Ok(())
    }

    pub(super) fn digest(&self) -> u128 {
        let piece = |piece: &Piece| {
            let busy = piece.busy.iter().fold(0, |sum: u128, at| {
                sum.wrapping_add(mix(&[8, u64::from(at.seq), at.stream.index() as u64]))
            });
            let counts = u64::from(piece.maps) << 32 | u64::from(piece.held);
            let [low, high] = words(busy);
            mix(&[7, piece.start, piece.size, counts, low, high])
        };
        let GraphPoolState { used, used_high, reserved, reserved_high } = self.state;
        let figures = mix(&[used.0, used_high.0, reserved.0, reserved_high.0]);
        self.pieces.iter().map(piece).fold(figures, u128::wrapping_add)
    }
}
