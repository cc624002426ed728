//! The operations in flight: a queue a stream, and a graph of the edges across streams.
//!
//! An operation enters the graph with its first edge and leaves both on completion. Stream order needs no edges.

use crate::base::{CollectiveId, EventId, HostId, Nanos, SignalId, StmtId, StreamId, reuse_on_clone};
use crate::trace::{Cause, Ticket};
use petgraph::Direction::{Incoming, Outgoing};
use petgraph::graph::NodeIndex;
use petgraph::stable_graph::StableDiGraph;
use smallvec::SmallVec;

/// An operation that a host thread has submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Who submitted it.
    pub host: HostId,
    /// By which statement.
    pub stmt: StmtId,
    /// How long it will run.
    pub runs: Runs,
}

/// How long an operation runs, its duration drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// So long.
    For(Nanos),
    /// No time: it is a record of this event.
    Record(EventId),
    /// Until this signal is given.
    Until(SignalId),
    /// With the other parts of this round of a collective.
    Together(CollectiveId, u32),
}

#[derive(Debug)]
pub(super) struct Flight {
    queues: Vec<Queue>,
    graph: StableDiGraph<Ticket, Cause>,
    len: usize,
}

/// The operations of a stream: some that have completed, then those that have not.
#[derive(Debug, Default)]
struct Queue {
    retired: u32,
    /// So many of the entries have completed.
    gone: usize,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    operation: Operation,
    /// How many operations of other streams have to complete before it can start.
    blockers: u32,
    /// Its node; `NodeIndex::end()` while it has no edge.
    node: NodeIndex,
}

impl Clone for Queue {
    fn clone(&self) -> Self {
        Self { retired: self.retired, gone: 0, entries: self.in_flight().to_vec() }
    }
    fn clone_from(&mut self, source: &Self) {
        (self.retired, self.gone) = (source.retired, 0);
        self.entries.clear();
        self.entries.extend_from_slice(source.in_flight());
    }
}

reuse_on_clone!(Flight { queues, graph, len });

impl Flight {
    pub(super) fn new(width: usize) -> Self {
        Self {
            queues: (0..width).map(|_| Queue::default()).collect(),
            graph: StableDiGraph::default(),
            len: 0,
        }
    }

    pub(super) fn is_complete(&self, cut: &[u32], lacks: &mut usize) -> bool {
        let is_missing = |stream: usize| cut[stream] > self.queues[stream].retired;
        if *lacks < cut.len() && is_missing(*lacks) {
            return false;
        }
        let missing = (0..cut.len()).find(|stream| is_missing(*stream));
        *lacks = missing.unwrap_or(0);
        missing.is_none()
    }

    /// How many operations of each stream have completed.
    pub(super) fn completed(&self, into: &mut Vec<u32>) {
        into.clear();
        into.extend(self.queues.iter().map(|queue| queue.retired));
    }

    /// Adds to a cut what each of its operations waits for.
    pub(super) fn close<E>(
        &self,
        cut: &mut [u32],
        mut brings: impl FnMut(Operation, Ticket, &mut [u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut looked_at: SmallVec<[u32; 16]> = self.queues.iter().map(|queue| queue.retired).collect();
        loop {
            let behind = (0..cut.len()).find(|stream| looked_at[*stream] < cut[*stream]);
            let Some(stream) = behind else { return Ok(()) };
            let queue = &self.queues[stream];
            let from = (looked_at[stream] - queue.retired) as usize;
            let entries = queue.in_flight();
            let until = ((cut[stream] - queue.retired) as usize).min(entries.len());
            looked_at[stream] = cut[stream];
            for (nth, entry) in entries[from.min(until)..until].iter().enumerate() {
                self.join_blockers(entry, cut);
                if !matches!(entry.operation.runs, Runs::For(_) | Runs::Record(_)) {
                    let seq = queue.retired + (from + nth) as u32 + 1;
                    brings(entry.operation, Ticket { stream: StreamId::from(stream), seq }, cut)?;
                }
            }
        }
    }

    /// Adds to a cut what an operation in flight waits for before it can start.
    pub(super) fn reach(&self, ticket: Ticket, cut: &mut [u32]) {
        let own = &mut cut[ticket.stream.index()];
        *own = (*own).max(ticket.seq - 1);
        let queue = &self.queues[ticket.stream.index()];
        let nth = ticket.seq.checked_sub(queue.retired + 1);
        if let Some(entry) = nth.and_then(|nth| queue.in_flight().get(nth as usize)) {
            self.join_blockers(entry, cut);
        }
    }

    fn join_blockers(&self, entry: &Entry, cut: &mut [u32]) {
        if entry.node == NodeIndex::end() {
            return;
        }
        for blocker in self.graph.neighbors_directed(entry.node, Incoming) {
            let Ticket { stream, seq } = self.graph[blocker];
            cut[stream.index()] = cut[stream.index()].max(seq);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Takes in an operation that waits for some others, of which those still in flight count.
    pub(super) fn push(&mut self, ticket: Ticket, operation: Operation, waits: &[(Ticket, Cause)]) {
        let mut node = NodeIndex::end();
        let mut blockers = 0;
        for (on, cause) in waits {
            if on.stream == ticket.stream {
                continue;
            }
            let Some(from) = self.node_of(*on) else { continue };
            if node == NodeIndex::end() {
                node = self.graph.add_node(ticket);
            }
            self.graph.add_edge(from, node, *cause);
            blockers += 1;
        }
        self.queues[ticket.stream.index()].entries.push(Entry { operation, blockers, node });
        self.len += 1;
    }

    /// The node of an operation, made on demand; `None` when it is not in flight.
    fn node_of(&mut self, ticket: Ticket) -> Option<NodeIndex> {
        let entry = self.queues[ticket.stream.index()].entry(ticket.seq)?;
        if entry.node == NodeIndex::end() {
            entry.node = self.graph.add_node(ticket);
        }
        Some(entry.node)
    }

    pub(super) fn head(&self, stream: StreamId) -> Option<(Ticket, Operation)> {
        let queue = &self.queues[stream.index()];
        queue.head().map(|entry| (Ticket { stream, seq: queue.retired + 1 }, entry.operation))
    }

    pub(super) fn operation(&self, ticket: Ticket) -> Option<Operation> {
        let queue = &self.queues[ticket.stream.index()];
        let nth = ticket.seq.checked_sub(queue.retired + 1)?;
        queue.in_flight().get(nth as usize).map(|entry| entry.operation)
    }

    pub(super) fn ready(&self, stream: StreamId) -> Option<(Ticket, Operation)> {
        let is_free = self.queues[stream.index()].is_free();
        is_free.then(|| self.head(stream)).flatten()
    }

    pub(super) fn is_ready(&self, ticket: Ticket) -> bool {
        let queue = &self.queues[ticket.stream.index()];
        ticket.seq == queue.retired + 1 && queue.is_free()
    }

    pub(super) fn blockers(&self, stream: StreamId) -> impl Iterator<Item = Ticket> + '_ {
        let head = self.queues[stream.index()].head();
        let node = head.map(|entry| entry.node).filter(|node| *node != NodeIndex::end());
        node.into_iter().flat_map(|node| self.graph.neighbors_directed(node, Incoming)).map(|n| self.graph[n])
    }

    pub(super) fn retire(&mut self, stream: StreamId, ready: &mut Vec<StreamId>) -> (Ticket, Operation) {
        let queue = &mut self.queues[stream.index()];
        let entry = queue.pop();
        self.len -= 1;
        if queue.is_free() {
            ready.push(stream);
        }
        let ticket = Ticket { stream, seq: queue.retired };
        if entry.node != NodeIndex::end() {
            self.release(entry.node, ready);
        }
        (ticket, entry.operation)
    }

    fn release(&mut self, node: NodeIndex, ready: &mut Vec<StreamId>) {
        let before = ready.len();
        let mut successors = self.graph.neighbors_directed(node, Outgoing).detach();
        while let Some(successor) = successors.next_node(&self.graph) {
            let Ticket { stream, seq } = self.graph[successor];
            let queue = &mut self.queues[stream.index()];
            let is_head = seq == queue.retired + 1;
            let entry = queue.entry(seq).expect("a successor is in flight");
            entry.blockers -= 1;
            if entry.blockers == 0 && is_head {
                ready.push(stream);
            }
        }
        // petgraph lists the newest edge first; whoever waited first shall start first.
        ready[before..].reverse();
        self.graph.remove_node(node);
    }
}

/// Fewer entries that have completed are kept.
const GONE_MIN: usize = 16;

impl Queue {
    fn in_flight(&self) -> &[Entry] {
        &self.entries[self.gone..]
    }

    fn head(&self) -> Option<&Entry> {
        self.entries.get(self.gone)
    }

    /// Whether there is a head that nothing keeps from starting.
    fn is_free(&self) -> bool {
        self.head().is_some_and(|head| head.blockers == 0)
    }

    fn entry(&mut self, seq: u32) -> Option<&mut Entry> {
        self.entries.get_mut(self.gone + seq.checked_sub(self.retired + 1)? as usize)
    }

    /// The head has completed.
    fn pop(&mut self) -> Entry {
        let head = *self.head().expect("only an operation in flight completes");
        self.retired += 1;
        self.gone += 1;
        if self.gone == self.entries.len() {
            self.entries.clear();
            self.gone = 0;
        } else if self.gone >= GONE_MIN && self.gone * 2 > self.entries.len() {
            // Fewer move than have gone since the last time.
            self.entries.drain(..self.gone);
            self.gone = 0;
        }
        head
    }
}
