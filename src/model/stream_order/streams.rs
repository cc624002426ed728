//! The streams: how far each was submitted and how far it got, and the frees in it that it has not reached.

use super::table::Table;
use super::{Block, StreamOrderId};
use crate::base::reuse_on_clone;

/// No free.
const NONE: usize = usize::MAX;

/// A stream's clock, and its frees as a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    pub(super) id: StreamOrderId,
    /// The sequence number of the next operation.
    pub(super) submitted: u64,
    /// Operations with lower sequence numbers are complete.
    pub(super) reached: u64,
    first: usize,
    last: usize,
}

impl Stream {
    fn submit(&mut self) -> u64 {
        let seq = self.submitted;
        self.submitted = seq.saturating_add(1);
        seq
    }
}

/// A free that is not complete.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) block: Block,
    pub(super) seq: u64,
    next: usize,
}

#[derive(Debug)]
pub(super) struct Streams {
    /// Where each is in `streams`.
    places: Table,
    /// In the order of their first use.
    streams: Vec<Stream>,
    /// The frees of all queues, and vacant places.
    frees: Vec<Pending>,
    /// The first vacant place in `frees`.
    vacant: usize,
    pending: usize,
    pending_bytes: usize,
}

reuse_on_clone!(Streams { places, streams, frees, vacant, pending, pending_bytes });

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            places: Table::default(),
            streams: Vec::new(),
            frees: Vec::new(),
            vacant: NONE,
            pending: 0,
            pending_bytes: 0,
        }
    }

    /// How many frees are pending.
    pub(super) fn pending(&self) -> usize {
        self.pending
    }

    /// The capacities of pending frees together, modulo the range of the type.
    pub(super) fn pending_bytes(&self) -> usize {
        self.pending_bytes
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter()
    }

    /// The pending frees of a stream, first submitted first.
    pub(super) fn pending_of(&self, stream: &Stream) -> impl Iterator<Item = &Pending> {
        let first = self.frees.get(stream.first);
        std::iter::successors(first, |free| self.frees.get(free.next))
    }

    /// Whether the operation with this sequence number is complete.
    pub(super) fn has_reached(&self, id: StreamOrderId, seq: u64) -> bool {
        self.places.get(&id.0).is_some_and(|place| self.streams[*place].reached > seq)
    }

    /// The sequence number that the next operation of a stream will have.
    pub(super) fn submitted(&mut self, id: StreamOrderId) -> u64 {
        self.stream(id).submitted
    }

    /// Submits an operation: its sequence number.
    pub(super) fn submit(&mut self, id: StreamOrderId) -> u64 {
        self.stream(id).submit()
    }

    /// Submits a free.
    pub(super) fn free(&mut self, id: StreamOrderId, block: Block) {
        let place = self.frees.get(self.vacant).map(|free| (self.vacant, free.next));
        let (place, vacant) = place.unwrap_or((self.frees.len(), NONE));
        let stream = self.stream(id);
        let free = Pending { block, seq: stream.submit(), next: NONE };
        let before = std::mem::replace(&mut stream.last, place);
        if stream.first == NONE {
            stream.first = place;
        } else {
            self.frees[before].next = place;
        }
        match self.frees.get_mut(place) {
            Some(vacant) => *vacant = free,
            None => self.frees.push(free),
        }
        self.vacant = vacant;
        self.pending += 1;
        self.pending_bytes = self.pending_bytes.wrapping_add(block.capacity);
    }

    /// Completes all that was submitted to a stream; `freed` gets the blocks of its frees, first submitted first.
    pub(super) fn synchronize(&mut self, id: StreamOrderId, mut freed: impl FnMut(Block)) {
        let stream = self.stream(id);
        stream.reached = stream.submitted;
        let (first, last) = (stream.first, stream.last);
        if first == NONE {
            return;
        }
        (stream.first, stream.last) = (NONE, NONE);
        let mut at = first;
        while let Some(free) = self.frees.get(at) {
            self.pending -= 1;
            self.pending_bytes = self.pending_bytes.wrapping_sub(free.block.capacity);
            freed(free.block);
            at = free.next;
        }
        self.frees[last].next = self.vacant;
        self.vacant = first;
    }

    /// The stream of an id; its first use makes it.
    fn stream(&mut self, id: StreamOrderId) -> &mut Stream {
        let new = self.streams.len();
        let place = *self.places.entry(id.0).or_insert(new);
        if place == new {
            self.streams.push(Stream { id, submitted: 0, reached: 0, first: NONE, last: NONE });
        }
        &mut self.streams[place]
    }
}
