//! The operations of a run as a graph in the DOT language: what is ordered before what, and why.
//!
//! A node is an operation that was put into a stream; an edge says by what it comes after another one. It keeps the first
//! operations only, so that a long run costs no more than a short one. It must not know how a graph is drawn.

use super::Origin;
use super::names::Book;
use crate::base::{StmtId, StreamId};
use crate::scenario::Program;
use crate::trace::{Cause, Detail, Event, Kind, Sink, Ticket};
use std::collections::BTreeMap;

/// So many operations are in the graph; nobody can read a larger one.
const OPERATIONS_MAX: usize = 500;

/// By what an operation comes after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edge {
    /// Both are in one stream.
    Stream,
    /// An event was recorded and waited for.
    Event,
    /// The legacy default stream.
    Legacy,
    /// A wait that the allocator inserted.
    Allocator,
    /// An edge of a graph, or an earlier launch of it.
    Graph,
    /// Not an order by itself: an allocation takes memory that this operation freed.
    Reuse,
}

impl Edge {
    const fn label(self) -> &'static str {
        match self {
            Edge::Stream => "stream order",
            Edge::Event => "event",
            Edge::Legacy => "legacy stream",
            Edge::Allocator => "allocator",
            Edge::Graph => "graph",
            Edge::Reuse => "reuse",
        }
    }

    const fn style(self) -> &'static str {
        match self {
            Edge::Stream => "color=gray40, fontcolor=gray40",
            Edge::Event => "color=blue, fontcolor=blue",
            Edge::Legacy => "color=purple, fontcolor=purple",
            Edge::Allocator => "color=red, fontcolor=red",
            Edge::Graph => "color=orange, fontcolor=orange",
            // Where memory goes says nothing about where a node stands.
            Edge::Reuse => "style=dashed, color=darkgreen, fontcolor=darkgreen, constraint=false",
        }
    }
}

/// The sink that collects the graph.
#[derive(Clone, Debug)]
pub struct Graph<'p> {
    origin: Origin,
    book: Book<'p>,
    /// The operations of each stream.
    streams: BTreeMap<StreamId, Vec<(Ticket, StmtId)>>,
    /// From the older operation to the newer one.
    edges: Vec<(Ticket, Ticket, Edge)>,
    /// The allocation in progress, and the free whose memory it takes.
    takes: Option<(Ticket, Ticket)>,
    /// How many operations there were, the ones left out included.
    operations: usize,
}

impl<'p> Graph<'p> {
    /// An empty graph.
    pub fn new(program: &'p Program, origin: Origin) -> Self {
        Self {
            origin,
            book: Book::new(program),
            streams: BTreeMap::new(),
            edges: Vec::new(),
            takes: None,
            operations: 0,
        }
    }

    fn submitted(&mut self, ticket: Ticket, stmt: StmtId) {
        let takes = self.takes.take();
        self.operations += 1;
        if self.operations > OPERATIONS_MAX {
            return;
        }
        let stream = self.streams.entry(ticket.stream).or_default();
        if let Some((before, _)) = stream.last() {
            self.edges.push((*before, ticket, Edge::Stream));
        }
        stream.push((ticket, stmt));
        if let Some((_, freed)) = takes.filter(|(taker, _)| *taker == ticket) {
            self.edges.push((freed, ticket, Edge::Reuse));
        }
    }

    /// The whole text.
    pub fn finish(self) -> String {
        let shown = self.operations.min(OPERATIONS_MAX);
        let mut lines = vec![
            format!("// {}: {}", comment(&self.origin.path), self.origin.facts()),
            match self.operations {
                operations if operations > shown => {
                    format!("// The first {shown} of {operations} operations; the others are left out.")
                }
                1 => "// 1 operation".to_owned(),
                operations => format!("// {operations} operations"),
            },
            "digraph operations {".to_owned(),
            "  rankdir = LR".to_owned(),
            "  node [shape = box, fontname = monospace]".to_owned(),
            "  edge [fontname = sans, fontsize = 10]".to_owned(),
        ];
        for (stream, operations) in &self.streams {
            lines.push(format!("  subgraph cluster_{} {{", stream.index()));
            lines.push(format!("    label = {}", quoted(self.book.stream(*stream))));
            for (ticket, stmt) in operations {
                let text = format!("{}  {}", self.book.line(*stmt), self.book.operation(*stmt));
                lines.push(format!("    {} [label = {}]", node(*ticket), quoted(&text)));
            }
            lines.push("  }".to_owned());
        }
        for (from, to, edge) in &self.edges {
            let (label, style) = (edge.label(), edge.style());
            lines.push(format!("  {} -> {} [label = \"{label}\", {style}]", node(*from), node(*to)));
        }
        lines.push("}".to_owned());
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

impl Sink for Graph<'_> {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        match (event.kind, event.ticket) {
            (Kind::Decided(decision), Some(ticket)) => {
                let earlier = decision.reuses.and_then(|alloc| self.book.known(alloc));
                let freed = earlier.and_then(|known| known.freed).and_then(|freed| freed.ticket);
                self.takes = freed.map(|freed| (ticket, freed));
            }
            (Kind::Submitted(_), Some(ticket)) => self.submitted(ticket, event.stmt),
            (Kind::Waits { on, cause }, Some(ticket)) if self.operations <= OPERATIONS_MAX => {
                let edge = match cause {
                    Cause::Event => Edge::Event,
                    Cause::Legacy => Edge::Legacy,
                    Cause::Allocator => Edge::Allocator,
                    Cause::Graph => Edge::Graph,
                };
                self.edges.push((on, ticket, edge));
            }
            _ => {}
        }
        self.book.event(event);
    }
}

/// The name of a node: `s0_3` is the third operation of the first stream.
fn node(ticket: Ticket) -> String {
    format!("s{}_{}", ticket.stream.index(), ticket.seq)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text that cannot end the line of a comment.
fn comment(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
