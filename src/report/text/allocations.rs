//! Which block served which allocation, by which class, and why the classes before could not.

use super::reasons::{self, Explanation, Trail};
use super::table::{Align, Row, Section, Table, shorten};
use crate::base::{Bytes, HostId, SignalId, StmtId, StreamId};
use crate::report::names::Book;
use crate::trace::{Call, Decision, Event, Failure, GraphCall, Imported, Kind, Policy, Refusals, Ticket};
use std::collections::BTreeMap;

/// Rows beyond these are only counted, so that a report stays small.
const ROWS_MAX: usize = 512;
/// Explanations beyond these are not made.
const EXPLANATIONS_MAX: usize = 6;

/// How wide a name may be: the first width with which the table fits the page.
const NAMES_WIDEST: [usize; 5] = [16, 12, 9, 7, 5];

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Served {
    By(Option<Policy>),
    /// By another process.
    Import,
    /// Outside of pools.
    Malloc {
        managed: bool,
    },
    /// By a node of a graph.
    Graph,
    Failed(Failure),
}

/// Allocations of one statement that were served alike.
#[derive(Clone, Debug)]
struct Line {
    stmt: StmtId,
    /// None for memory outside of pools.
    stream: Option<StreamId>,
    served: Served,
    /// The block, while all had the same name.
    name: String,
    sizes: (Bytes, Bytes),
    origin: String,
    times: u64,
    timing: bool,
}

/// The allocation call in progress.
#[derive(Clone, Debug)]
struct Pending {
    stmt: StmtId,
    by: Asked,
    size: Bytes,
    ticket: Option<Ticket>,
    refusals: Option<Refusals>,
    served: Option<(Served, Origin)>,
    explanation: Option<Explanation>,
}

/// How memory is asked for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    On(StreamId),
    Import,
    Malloc {
        managed: bool,
    },
    /// As a node of a graph, in a stream of that.
    Node(StreamId),
}

/// Whose bytes an allocation got.
#[derive(Clone, Debug, Default)]
struct Origin {
    text: String,
    /// The same, for blocks of several names.
    general: String,
    /// The statement that had asked for them.
    stmt: Option<StmtId>,
}

impl Origin {
    fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { general: text.clone(), text, stmt: None }
    }
}

/// Collects the allocations of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Allocations {
    lines: Vec<Line>,
    places: BTreeMap<(StmtId, Served, Option<StmtId>), usize>,
    lost: u64,
    pending: Option<Pending>,
    /// The threads that import memory, and under which name.
    importing: BTreeMap<HostId, SignalId>,
    trail: Trail,
    explanations: Vec<(StmtId, Explanation)>,
    unexplained: u64,
}

impl Allocations {
    /// Takes an event, before the book does.
    pub(super) fn event(&mut self, book: &Book<'_>, event: &Event<'_>) {
        if self.explanations.len() < EXPLANATIONS_MAX {
            self.trail.event(event);
        }
        match event.kind {
            Kind::Call(call) => {
                self.settle(book);
                let (by, size) = match call {
                    Call::Graph(GraphCall::Node { node, .. }) => match **node {
                        Call::Alloc { stream, size, .. } => (Asked::Node(stream), size),
                        _ => return,
                    },
                    Call::Alloc { stream, size, .. } => (Asked::On(*stream), *size),
                    Call::Malloc { size, managed, .. } => (Asked::Malloc { managed: *managed }, *size),
                    Call::Import { into: Imported::Memory(_), under } => {
                        self.importing.insert(event.host, *under);
                        return;
                    }
                    _ => return,
                };
                let (ticket, refusals, served, explanation) = (None, None, None, None);
                let stmt = event.stmt;
                self.pending = Some(Pending { stmt, by, size, ticket, refusals, served, explanation });
            }
            Kind::Refused(refusals) => {
                if let Some(pending) = &mut self.pending {
                    pending.refusals = Some(*refusals);
                }
            }
            Kind::Submitted(_) => {
                if let Some(pending) = self.pending.as_mut().filter(|pending| pending.stmt == event.stmt) {
                    pending.ticket = pending.ticket.or(event.ticket);
                }
            }
            Kind::Decided(decision) => match self.importing.remove(&event.host) {
                Some(under) => self.imported(book, event.stmt, under, decision),
                None => self.decided(book, event, decision),
            },
            Kind::Failed { failure, .. } => {
                self.importing.remove(&event.host);
                self.failed(book, event, failure);
            }
            _ => {}
        }
    }

    /// An import has its memory; others may have called since it was asked for.
    fn imported(&mut self, book: &Book<'_>, stmt: StmtId, under: SignalId, decision: &Decision) {
        self.settle(book);
        let origin = Origin::plain(book.program.names.signals[under].as_str());
        self.pending = Some(Pending {
            stmt,
            by: Asked::Import,
            size: decision.requested,
            ticket: None,
            refusals: None,
            served: Some((Served::Import, origin)),
            explanation: None,
        });
    }

    fn decided(&mut self, book: &Book<'_>, event: &Event<'_>, decision: &Decision) {
        let explain = self.explanations.len() < EXPLANATIONS_MAX;
        let Some(pending) = &mut self.pending else { return };
        pending.ticket = pending.ticket.or(event.ticket);
        let reused = decision.reuses.and_then(|alloc| Some((alloc, book.known(alloc)?)));
        let origin = match (reused, decision.policy) {
            (Some((alloc, known)), _) => {
                let freed = known.freed.map(|freed| format!(", freed at line {}", book.line(freed.stmt)));
                let freed = freed.unwrap_or_default();
                Origin {
                    text: format!("{}{freed}", book.block(alloc)),
                    general: format!("{}{}", book.asked_as(known.stmt), freed.replace("freed at ", "")),
                    stmt: Some(known.stmt),
                }
            }
            (None, Some(Policy::Growth)) if decision.unmapped > Bytes::ZERO => {
                Origin::plain(format!("new; {} remapped", decision.unmapped.human()))
            }
            (None, Some(Policy::Growth)) => Origin::plain("new"),
            (None, Some(Policy::Unused)) => Origin::plain("mapped before"),
            (None, _) => Origin::plain("-"),
        };
        let served = match pending.by {
            Asked::On(_) => Served::By(decision.policy),
            Asked::Import => Served::Import,
            Asked::Malloc { managed } => Served::Malloc { managed },
            Asked::Node(_) => Served::Graph,
        };
        let is_new = !self.places.contains_key(&(pending.stmt, served, origin.stmt));
        if let (true, Asked::On(stream)) = (explain && is_new, pending.by) {
            let stmt = pending.stmt;
            let refusals = pending.refusals.unwrap_or_default();
            pending.explanation = reasons::of_decision(book, stmt, stream, event.at, decision, &refusals);
        }
        pending.served = Some((served, origin));
    }

    fn failed(&mut self, book: &Book<'_>, event: &Event<'_>, failure: Failure) {
        let explain = self.explanations.len() < EXPLANATIONS_MAX;
        let Some(pending) = &mut self.pending else { return };
        let served = Served::Failed(failure);
        let is_new = !self.places.contains_key(&(pending.stmt, served, None));
        if let (true, Asked::On(stream)) = (explain && is_new, pending.by) {
            let refusals = pending.refusals.unwrap_or_default();
            pending.explanation =
                reasons::of_failure(book, pending.stmt, stream, event.at, failure, &refusals);
        }
        pending.served = Some((served, Origin::plain("-")));
    }

    /// Files the allocation call that has ended, now that its name is known.
    fn settle(&mut self, book: &Book<'_>) {
        let Some(pending) = self.pending.take() else { return };
        let Some((served, origin)) = pending.served else { return };
        let timing = pending.refusals.is_some_and(|refusals| refusals.by_timing);
        let name = match served {
            Served::By(_) | Served::Import | Served::Malloc { .. } | Served::Graph => {
                book.latest_name().unwrap_or_else(|| book.asked_as(pending.stmt))
            }
            Served::Failed(_) => book.asked_as(pending.stmt),
        };
        let key = (pending.stmt, served, origin.stmt);
        if let Some(place) = self.places.get(&key) {
            let line = &mut self.lines[*place];
            line.times += 1;
            line.timing |= timing;
            line.sizes = (line.sizes.0.min(pending.size), line.sizes.1.max(pending.size));
            if line.name != name {
                line.name = book.asked_as(pending.stmt);
            }
            if line.origin != origin.text {
                line.origin = origin.general;
            }
            return;
        }
        let worth = |explanation: &Explanation| {
            let (class, most) = explanation.class();
            self.explanations.iter().filter(|(_, known)| known.class().0 == class).count() < most
        };
        if let Some(mut explanation) = pending.explanation.filter(worth) {
            explanation.path(book, &self.trail, pending.ticket, &name);
            self.explanations.push((pending.stmt, explanation));
        } else if origin.stmt.is_some() {
            self.unexplained += 1;
        }
        if self.lines.len() == ROWS_MAX {
            self.lost += 1;
            return;
        }
        self.places.insert(key, self.lines.len());
        self.lines.push(Line {
            stmt: pending.stmt,
            stream: match pending.by {
                Asked::On(stream) | Asked::Node(stream) => Some(stream),
                Asked::Import | Asked::Malloc { .. } => None,
            },
            served,
            name,
            sizes: (pending.size, pending.size),
            origin: origin.text,
            times: 1,
            timing,
        });
    }

    /// The table, and the explanations.
    pub(super) fn sections(mut self, book: &Book<'_>, width: usize) -> Vec<Section> {
        self.settle(book);
        if self.lines.is_empty() {
            return Vec::new();
        }
        let folded = self.lines.iter().any(|line| line.times > 1);
        let mut columns = vec![
            ("line", Align::Right),
            ("block", Align::Left),
            ("stream", Align::Left),
            ("size", Align::Right),
            ("served by", Align::Left),
        ];
        columns.extend(folded.then_some(("times", Align::Right)));
        columns.push(("memory of", Align::Flexible));
        let table = |widest| {
            let mut table = Table::new(&columns);
            self.lines.iter().for_each(|line| table.row(line.cells(book, folded, widest)));
            table
        };
        let narrower = NAMES_WIDEST.into_iter().map(table);
        let table = narrower.reduce(|wide, next| if wide.is_wider_than(width) { next } else { wide });
        let table = table.unwrap_or_else(|| Table::new(&columns));
        let mut section = Section::of_table("Allocations".to_owned(), &table, width, "kinds of allocation");
        section.lost = self.lost;
        section.wants = 8;
        if self.lines.iter().any(|line| line.timing) {
            section
                .bottom
                .push("  ~ depends on timing: another run may be served by another class".to_owned());
        }
        for (row, line) in section.rows.iter_mut().zip(&self.lines) {
            row.pinned = matches!(line.served, Served::Failed(_));
        }
        let pinned = section.rows.iter_mut().filter(|row| row.pinned);
        pinned.skip(4).for_each(|row| row.pinned = false);
        let mut sections = vec![section];
        sections.extend(self.explanations_section(book, width));
        sections
    }

    /// The first explanations, as many as take about a quarter of a report.
    fn explanations_section(self, book: &Book<'_>, width: usize) -> Option<Section> {
        let mut lines: Vec<String> = Vec::new();
        let mut shown = 0;
        let count = self.explanations.len();
        for (stmt, explanation) in self.explanations {
            let more = explanation.lines(book.line(stmt), width);
            if shown > 0 && lines.len() + more.len() > 14 {
                break;
            }
            lines.extend(more);
            shown += 1;
        }
        let rest = (count - shown) as u64 + self.unexplained;
        if rest > 0 && shown > 0 {
            let noun = if rest == 1 { "kind" } else { "kinds" };
            lines.push(format!("    .. and {rest} more {noun} of reuse"));
        }
        let wants = lines.len();
        let rows: Vec<Row> = lines.into_iter().map(|text| Row { text, pinned: false }).collect();
        (!rows.is_empty()).then(|| Section { rows, noun: "lines of reasons", wants, ..Section::default() })
    }
}

impl Line {
    /// Names are cut where they are wider than `widest`.
    fn cells(&self, book: &Book<'_>, folded: bool, widest: usize) -> Vec<String> {
        let size = match self.sizes {
            (low, high) if low == high => low.human(),
            (low, high) => format!("{}..{}", low.human(), high.human()),
        };
        let served = match self.served {
            Served::By(Some(policy)) => policy.name(),
            Served::By(None) => "-",
            Served::Import => "import",
            Served::Malloc { managed: false } => "malloc",
            Served::Malloc { managed: true } => "managed",
            Served::Graph => "graph",
            Served::Failed(failure) => failure.name(),
        };
        let mut cells = vec![
            book.line(self.stmt).to_string(),
            shorten(&self.name, widest),
            self.stream.map_or_else(|| "-".to_owned(), |stream| shorten(book.stream(stream), widest)),
            size,
            format!("{served}{}", if self.timing { " ~" } else { "" }),
        ];
        cells.extend(folded.then(|| self.times.to_string()));
        cells.push(self.origin.clone());
        cells
    }
}
