//! What ran when, as lanes of characters: the host, each stream, and who held which addresses.
//!
//! A long run is drawn from its start up to a point that still can be read, and the report says so.

use super::reasons::short;
use super::table::{Row, Section, columns_of, shorten, time};
use crate::base::{Bytes, HostId, Nanos, StmtId, StreamId};
use crate::report::names::Book;
use crate::trace::{AllocId, Call, Event, GraphCall, Kind, Range, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// After so many operations that take time, the drawing ends.
const DRAWN_MAX: usize = 20;
/// So many operations are kept.
const KEPT_MAX: usize = 400;
/// So many addresses have a lane.
const ADDRESSES_MAX: usize = 4;

/// An operation of a stream.
#[derive(Clone, Copy, Debug)]
struct Operation {
    stmt: StmtId,
    submitted: Nanos,
    start: Option<Nanos>,
    end: Option<Nanos>,
}

/// A block over time.
#[derive(Clone, Debug)]
struct Held {
    name: String,
    from: Since,
    until: Option<Since>,
}

/// When a block begins or ends to be held.
#[derive(Clone, Copy, Debug)]
enum Since {
    /// When this operation starts.
    Start(Ticket),
    /// In a call of the host.
    At(Nanos),
}

/// A free by the host.
#[derive(Clone, Copy, Debug)]
struct PlainFree {
    stmt: StmtId,
    alloc: AllocId,
    start: u64,
    at: Nanos,
}

/// Collects what the drawing needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    operations: BTreeMap<Ticket, Operation>,
    /// For each host thread, the statements in which it spent time.
    hosts: BTreeMap<HostId, Vec<(StmtId, Nanos, Nanos)>>,
    calls: BTreeMap<HostId, (StmtId, Nanos)>,
    /// The host threads whose latest call waits for time to pass.
    waiting: BTreeSet<HostId>,
    addresses: BTreeMap<u64, Vec<(u32, Held)>>,
    lowest: Option<u64>,
    /// Whether the call in progress adds a node to a graph.
    is_node: bool,
    /// The statement that allocates or frees.
    acting: Option<StmtId>,
    allocating: Option<(AllocId, u64)>,
    freeing: Option<(AllocId, u64)>,
    /// The free by each host in its latest call, until that is known not to have failed.
    freeing_at: BTreeMap<HostId, PlainFree>,
    /// When the operation that a stream runs now was started.
    running: BTreeMap<StreamId, Nanos>,
    ended: usize,
    took_time: usize,
    took_time_in_all: u64,
    /// Where the drawing ends, if that is before the end of the run.
    closed: Option<Nanos>,
}

impl Timeline {
    /// Takes an event, before the book does.
    pub(super) fn event(&mut self, book: &Book<'_>, event: &Event<'_>) {
        match (event.kind, event.ticket) {
            (Kind::Start, Some(ticket)) => {
                self.running.insert(ticket.stream, event.at);
            }
            (Kind::End, Some(ticket)) => {
                let start = self.running.remove(&ticket.stream);
                self.took_time_in_all += u64::from(start.is_some_and(|start| start < event.at));
            }
            _ => {}
        }
        if self.closed.is_some() {
            return;
        }
        match event.kind {
            Kind::Call(call) => self.call(book, event, call),
            Kind::Submitted(_) => self.submitted(event),
            Kind::Node { call, alloc } => self.node(book, event, call, alloc),
            // A node gives its allocation an address, and a launch gives it life.
            Kind::Decided(_) if self.is_node => {}
            Kind::Decided(decision) if decision.alloc != AllocId::NULL => {
                let start = decision.range.start;
                self.lowest = Some(self.lowest.map_or(start, |lowest| lowest.min(start)));
                self.allocating = Some((decision.alloc, start));
                if event.ticket.is_none() {
                    self.hold(Since::At(event.at));
                }
            }
            // A call that waited for its copy has returned.
            Kind::Seen { .. } => self.host_goes_on(event.host, event.at),
            Kind::Freed(alloc) => {
                let known = book.known(alloc).map(|known| known.range.start);
                known.into_iter().for_each(|start| self.let_go(alloc, start, Since::At(event.at)));
            }
            // A free that waits lasts until then.
            Kind::Device { .. } => {
                let free = self.freeing_at.get_mut(&event.host).filter(|free| free.stmt == event.stmt);
                free.into_iter().for_each(|free| free.at = event.at);
            }
            Kind::Failed { .. } => {
                (self.allocating, self.freeing) = (None, None);
                self.freeing_at.remove(&event.host);
            }
            Kind::Start => {
                if let Some(operation) = event.ticket.and_then(|ticket| self.operations.get_mut(&ticket)) {
                    operation.start = Some(event.at);
                }
            }
            Kind::End => self.ended(event),
            _ => {}
        }
        let is_over = self.operations.len() == KEPT_MAX && self.ended == KEPT_MAX;
        if self.took_time >= DRAWN_MAX || is_over {
            let waiting = std::mem::take(&mut self.waiting);
            waiting.into_iter().for_each(|host| self.host_goes_on(host, event.at));
            self.closed = Some(event.at);
        }
    }

    fn call(&mut self, book: &Book<'_>, event: &Event<'_>, call: &Call) {
        self.settle(book);
        self.host_has_freed(event.host);
        self.host_goes_on(event.host, event.at);
        self.calls.insert(event.host, (event.stmt, event.at));
        if call.can_wait() {
            self.waiting.insert(event.host);
        } else {
            self.waiting.remove(&event.host);
        }
        (self.allocating, self.freeing) = (None, None);
        self.acting = Some(event.stmt);
        self.is_node = matches!(call, Call::Graph(GraphCall::Node { .. }));
        match call {
            Call::Free { alloc, .. } => {
                self.freeing = book.known(*alloc).map(|known| (*alloc, known.range.start));
            }
            Call::PlainFree { alloc } => {
                let free = |start| PlainFree { stmt: event.stmt, alloc: *alloc, start, at: event.at };
                let free = book.known(*alloc).map(|known| free(known.range.start));
                self.freeing_at.extend(free.map(|free| (event.host, free)));
            }
            _ => {}
        }
    }

    /// The operation that comes next is a node of a graph.
    fn node(&mut self, book: &Book<'_>, event: &Event<'_>, call: &Call, alloc: Option<(AllocId, Range)>) {
        self.settle(book);
        self.acting = Some(event.stmt);
        self.allocating = alloc.map(|(alloc, range)| (alloc, range.start));
        if let Some((_, start)) = self.allocating {
            self.lowest = Some(self.lowest.map_or(start, |lowest| lowest.min(start)));
        }
        self.freeing = match call {
            Call::Free { alloc, .. } => book.known(*alloc).map(|known| (*alloc, known.range.start)),
            _ => None,
        };
    }

    /// Writes down the time that the host spent in its call.
    fn host_goes_on(&mut self, host: HostId, at: Nanos) {
        if let Some((stmt, since)) = self.calls.remove(&host)
            && since < at
        {
            self.hosts.entry(host).or_default().push((stmt, since, at));
        }
    }

    fn submitted(&mut self, event: &Event<'_>) {
        let Some(ticket) = event.ticket.filter(|_| self.operations.len() < KEPT_MAX) else { return };
        let operation = Operation { stmt: event.stmt, submitted: event.at, start: None, end: None };
        self.operations.insert(ticket, operation);
        // What begins and ends the launch of a graph does neither.
        if self.acting != Some(event.stmt) {
            return;
        }
        self.hold(Since::Start(ticket));
        if let Some((alloc, start)) = self.freeing {
            self.let_go(alloc, start, Since::Start(ticket));
        }
    }

    /// The block that was placed last is held from now on.
    fn hold(&mut self, from: Since) {
        let Some((alloc, start)) = self.allocating else { return };
        let full = self.addresses.len() == ADDRESSES_MAX && !self.addresses.contains_key(&start);
        if !full {
            let held = Held { name: String::new(), from, until: None };
            self.addresses.entry(start).or_default().push((alloc.serial, held));
        }
    }

    fn let_go(&mut self, alloc: AllocId, start: u64, until: Since) {
        let blocks = self.addresses.get_mut(&start).into_iter().flatten();
        let block = blocks.rev().find(|(serial, _)| *serial == alloc.serial);
        block.into_iter().for_each(|(_, held)| held.until = Some(until));
    }

    /// The latest call of a host has not failed.
    fn host_has_freed(&mut self, host: HostId) {
        if let Some(PlainFree { alloc, start, at, .. }) = self.freeing_at.remove(&host) {
            self.let_go(alloc, start, Since::At(at));
        }
    }

    /// Fills in what is known only after a call: the name of the block that was placed last.
    fn settle(&mut self, book: &Book<'_>) {
        if let Some((alloc, start)) = self.allocating
            && let Some(blocks) = self.addresses.get_mut(&start)
        {
            let block = blocks.iter_mut().rfind(|(serial, _)| *serial == alloc.serial);
            block.into_iter().for_each(|(_, held)| held.name = book.block(alloc));
        }
    }

    fn ended(&mut self, event: &Event<'_>) {
        let Some(operation) = event.ticket.and_then(|ticket| self.operations.get_mut(&ticket)) else {
            return;
        };
        operation.end = Some(event.at);
        self.ended += 1;
        if operation.start.is_some_and(|start| start < event.at) {
            self.took_time += 1;
        }
    }

    /// The drawing; nothing for a run that takes no time.
    pub(super) fn section(mut self, book: &Book<'_>, end: Nanos, width: usize) -> Option<Section> {
        self.settle(book);
        let frees: Vec<HostId> = self.freeing_at.keys().copied().collect();
        frees.into_iter().for_each(|host| self.host_has_freed(host));
        // A thread whose last call does not wait has ended with it.
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().for_each(|host| self.host_goes_on(host, end));
        let until = self.closed.unwrap_or(end);
        if until == Nanos::ZERO || self.operations.is_empty() {
            return None;
        }
        let lanes = self.lanes(book, until);
        let label = lanes.iter().map(|(name, _)| columns_of(name)).max().unwrap_or(0).clamp(6, 16);
        let scale = Scale::new(until, width.saturating_sub(label + 5).max(20));
        let title = format!("Time-line, 1 column = {}   # runs  . waits", Nanos(scale.slice).human());
        let rest = self.took_time_in_all - self.took_time as u64;
        let bottom = self.closed.map(|closed| {
            let more = match rest {
                0 => "the rest takes no time".to_owned(),
                rest => format!("{rest} more operations that take time follow"),
            };
            format!("  Up to {} only; {more}.", time(closed))
        });
        let ruler = format!("  {}  {}", " ".repeat(label), scale.ruler());
        let rows = lanes.into_iter().map(|(name, lane)| {
            let name = shorten(&name, label);
            let blank = " ".repeat(label - columns_of(&name));
            let text = format!("  {name}{blank}  {}", lane.draw(&scale));
            Row { text: text.trim_end().to_owned(), pinned: false }
        });
        let rows = rows.collect();
        let bottom = bottom.into_iter().collect();
        Some(Section { top: vec![title, ruler], rows, bottom, noun: "lanes", lost: 0, wants: 6 })
    }

    fn lanes(&self, book: &Book<'_>, until: Nanos) -> Vec<(String, Lane)> {
        let mut lanes = Vec::new();
        let label = |stmt: StmtId| format!("{} {}", book.line(stmt), short(book.operation(stmt)));
        for (host, spans) in &self.hosts {
            let name = if host.index() == 0 { "host" } else { book.thread(*host) }.to_owned();
            let mut lane = Lane::default();
            for (stmt, from, to) in spans {
                lane.spans.push(Span { from: *from, to: Some(*to), label: label(*stmt), fill: '.' });
            }
            lanes.push((name, lane));
        }
        let mut streams: BTreeMap<StreamId, Lane> = BTreeMap::new();
        for (ticket, operation) in &self.operations {
            let lane = streams.entry(ticket.stream).or_default();
            let before = ticket.seq.checked_sub(1).map(|seq| Ticket { stream: ticket.stream, seq });
            let before = before.and_then(|before| self.operations.get(&before));
            let free_from = before.map_or(Some(Nanos::ZERO), |before| before.end);
            let Some(ready) = free_from.map(|from| from.max(operation.submitted)) else { continue };
            let start = operation.start.unwrap_or(until);
            if ready < start {
                let to = operation.start;
                lane.spans.push(Span { from: ready, to, label: label(operation.stmt), fill: '.' });
            }
            match (operation.start, operation.end) {
                (Some(start), end) if end.is_none_or(|end| start < end) => {
                    let waited = ready < start;
                    let label =
                        if waited { book.line(operation.stmt).to_string() } else { label(operation.stmt) };
                    lane.spans.push(Span { from: start, to: end, label, fill: '#' });
                }
                (Some(start), _) if ready == start => lane.marks.push((start, book.line(operation.stmt))),
                _ => {}
            }
        }
        let streams = streams.into_iter();
        lanes.extend(streams.map(|(stream, lane)| (book.stream(stream).to_owned(), lane)));
        lanes.extend(self.address_lanes());
        lanes
    }

    fn address_lanes(&self) -> impl Iterator<Item = (String, Lane)> + '_ {
        let moment = |since: Since| match since {
            Since::Start(ticket) => self.operations.get(&ticket)?.start,
            Since::At(at) => Some(at),
        };
        let lowest = self.lowest.unwrap_or(0);
        self.addresses.iter().map(move |(start, blocks)| {
            let mut lane = Lane::default();
            for (_, held) in blocks {
                let Some(from) = moment(held.from) else { continue };
                let to = held.until.and_then(moment);
                lane.spans.push(Span { from, to, label: held.name.clone(), fill: ' ' });
            }
            (format!("at +{}", Bytes(start - lowest)), lane)
        })
    }
}

/// How virtual time maps to columns.
struct Scale {
    /// Nanoseconds a column.
    slice: u64,
    columns: usize,
}

impl Scale {
    fn new(until: Nanos, room: usize) -> Self {
        // A few columns stay behind the end, for operations that take no time there.
        let least = until.0.div_ceil(room as u64 - 6).max(1);
        let slice = round_up(least, &[10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100]);
        Self { slice, columns: room }
    }

    fn column(&self, at: Nanos) -> usize {
        usize::try_from(at.0 / self.slice).unwrap_or(usize::MAX).min(self.columns - 1)
    }

    fn ruler(&self) -> String {
        let step = round_up(self.slice.saturating_mul(10), &[10, 20, 50, 100]);
        let mut ruler = String::new();
        let mut at = 0u64;
        while at / self.slice < self.columns as u64 {
            let column = (at / self.slice) as usize;
            let label = if at == 0 { zero_like(step) } else { Nanos(at).human() };
            if column + label.len() > self.columns {
                break;
            }
            ruler.push_str(&" ".repeat(column.saturating_sub(columns_of(&ruler))));
            ruler.push_str(&label);
            match at.checked_add(step) {
                Some(next) => at = next,
                None => break,
            }
        }
        ruler
    }
}

/// No time, in the unit in which a step is written.
fn zero_like(step: u64) -> String {
    let unit = Nanos(step).human();
    format!("0{}", unit.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'))
}

/// The smallest `step / 10 * 10^k` that is not below the value and a whole number.
fn round_up(value: u64, steps: &[u64]) -> u64 {
    let mut power = 1u64;
    loop {
        for step in steps {
            let Some(rounded) = step.checked_mul(power) else { return u64::MAX };
            if rounded.is_multiple_of(10) && rounded / 10 >= value {
                return rounded / 10;
            }
        }
        match power.checked_mul(10) {
            Some(next) => power = next,
            None => return u64::MAX,
        }
    }
}

/// A line of the drawing.
#[derive(Clone, Debug, Default)]
struct Lane {
    spans: Vec<Span>,
    /// Operations that take no time: when, and at which line.
    marks: Vec<(Nanos, u32)>,
}

#[derive(Clone, Debug)]
struct Span {
    from: Nanos,
    /// `None`: it goes on where the drawing ends.
    to: Option<Nanos>,
    label: String,
    fill: char,
}

impl Lane {
    fn draw(mut self, scale: &Scale) -> String {
        let mut cells = vec![' '; scale.columns];
        self.spans.sort_by_key(|span| span.from);
        for span in &self.spans {
            draw_span(&mut cells, span, scale);
        }
        self.draw_marks(&mut cells, scale);
        let line: String = cells.into_iter().collect();
        line.trim_end().to_owned()
    }

    fn draw_marks(&self, cells: &mut [char], scale: &Scale) {
        let mut at = 0;
        while at < self.marks.len() {
            let column = scale.column(self.marks[at].0);
            let here = self.marks[at..].iter().take_while(|(time, _)| scale.column(*time) == column);
            let lines: Vec<String> = here.map(|(_, line)| line.to_string()).collect();
            at += lines.len();
            let room = cells[(column + 1).min(cells.len())..].iter().take_while(|cell| **cell == ' ').count();
            let text = lines.join(" ");
            // One blank stays, so that two marks do not read as one.
            let text = if columns_of(&text) < room { text } else { format!("{}..", lines[0]) };
            if columns_of(&text) < room || (columns_of(&text) == room && column + 1 + room == cells.len()) {
                if cells[column] == ' ' {
                    cells[column] = '|';
                }
                for (cell, character) in cells[column + 1..].iter_mut().zip(text.chars()) {
                    *cell = character;
                }
            }
        }
    }
}

fn draw_span(cells: &mut [char], span: &Span, scale: &Scale) {
    let first = scale.column(span.from);
    let last = span.to.map_or(cells.len(), |to| scale.column(to));
    cells[first] = '|';
    if last < cells.len() {
        cells[last] = '|';
    }
    let Some(inside) = cells.get_mut(first + 1..last) else { return };
    inside.fill(span.fill);
    let number = span.label.split(' ').next().unwrap_or("");
    let label = [span.label.as_str(), number].into_iter().find(|label| columns_of(label) <= inside.len());
    let label =
        if inside.len() >= 10 { Some(shorten(&span.label, inside.len())) } else { label.map(str::to_owned) };
    for (cell, character) in inside.iter_mut().zip(label.unwrap_or_default().chars()) {
        *cell = character;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_round() {
        let scale = Scale::new(Nanos::us(20), 65);
        assert_eq!(scale.slice, 400);
        assert_eq!(scale.ruler(), "0us         5us          10us        15us         20us");
        assert_eq!(Scale::new(Nanos(1), 65).slice, 1);
        assert!(Scale::new(Nanos(u64::MAX), 65).slice > u64::MAX / 65);
    }

    #[test]
    fn lanes_show_labels_where_they_fit() {
        let scale = Scale { slice: 1, columns: 30 };
        let span = |from, to, label: &str, fill| Span {
            from: Nanos(from),
            to: Some(Nanos(to)),
            label: label.to_owned(),
            fill,
        };
        let lane = Lane {
            spans: vec![span(0, 12, "11 fill(x)", '#'), span(12, 15, "16 fill(y)", '.')],
            marks: vec![(Nanos(15), 17), (Nanos(15), 18), (Nanos(29), 19)],
        };
        assert_eq!(lane.draw(&scale), "|11 fill(x)#|16|17 18");
    }
}
