//! Expectations that do not hold, each with its line, both values, and the line since which it is so.
//!
//! It keeps one record for each figure that an expectation reads, and one for each expectation that fails: nothing that
//! grows with the run. Whether an expectation holds is the oracle's affair.

use super::judgement::{rest, value, why};
use super::table::{columns_of, shorten};
use crate::base::{Bytes, ExpectId, StmtId};
use crate::oracle::{Mismatch, Verdict, mismatch};
use crate::report::held::Held;
use crate::report::names::Book;
use crate::scenario::{Action, Demand, Instruction, Names, Program, Unit};
use crate::trace::{
    Call, Comparison, DeviceFigure, Event, Figure, GraphFigure, Kind, Ledger, Operands, PoolSetup, PoolState,
    Reach, Readiness, Reading as Read, Resource,
};
use std::collections::BTreeMap;

/// So many expectations are shown; the table below has all.
const SHOWN_MAX: usize = 8;

/// Since when a value is what it is.
#[derive(Clone, Copy, Debug)]
struct Since {
    /// The figure; `None` for an allocation.
    read: Option<Read>,
    /// The statement; `None` for the start of the run.
    stmt: Option<StmtId>,
}

/// Collects what the expectations that fail need.
#[derive(Clone, Debug)]
pub(super) struct Mismatches {
    /// What each expectation reads where it stands.
    reads: BTreeMap<StmtId, Vec<Read>>,
    /// Each of these figures, and the statement that changed it last.
    figures: BTreeMap<Read, (u64, Option<StmtId>)>,
    held: Held,
    /// What the call in progress makes of a figure, and its statement; it counts once it did not fail.
    setting: Option<(Read, u64, StmtId)>,
    /// For each expectation that fails, since when, at the first time.
    failing: BTreeMap<ExpectId, Vec<Since>>,
}

impl Mismatches {
    /// Before the first event.
    pub(super) fn new(program: &Program) -> Self {
        let mut reads: BTreeMap<StmtId, Vec<Read>> = BTreeMap::new();
        for instruction in &program.code {
            if let Instruction::Call { stmt, action: Action::Peek { reading, .. } } = instruction
                && !matches!(reading, Read::PoolItself(_))
            {
                let read = reads.entry(*stmt).or_default();
                if !read.contains(reading) {
                    read.push(*reading);
                }
            }
        }
        let figures =
            reads.values().flatten().map(|read| (*read, (at_start(program, *read), None))).collect();
        Self { reads, figures, held: Held::new(&program.setup), setting: None, failing: BTreeMap::new() }
    }

    /// Takes an event.
    pub(super) fn event(&mut self, book: &Book<'_>, event: &Event<'_>) {
        if let Some((device, held)) = self.held.event(event) {
            let memory = book.program.setup.devices[device].memory.0;
            let of = |figure| Read::Device(device, figure);
            self.becomes(of(DeviceFigure::Free), event.stmt, memory.saturating_sub(held));
            self.becomes(of(DeviceFigure::Beyond), event.stmt, held.saturating_sub(memory));
        }
        match event.kind {
            Kind::Call(call) => {
                if let Some((read, value, stmt)) = self.setting.take() {
                    self.becomes(read, stmt, value);
                }
                let set = self.set_by(book.program, call);
                self.setting = set.map(|(read, value)| (read, value, event.stmt));
            }
            Kind::Failed { .. } => self.setting = None,
            Kind::State { pool, state } => {
                for figure in Figure::ALL {
                    self.becomes(Read::Pool(pool, figure), event.stmt, state.figure(figure));
                }
            }
            Kind::GraphPool { device, state } => {
                for figure in GraphFigure::ALL {
                    self.becomes(Read::Graphs(device, figure), event.stmt, state.figure(figure));
                }
            }
            Kind::Expect { expect, operands }
                if !self.failing.contains_key(&expect)
                    && mismatch(book.program.expects[expect].demand, operands).is_some() =>
            {
                self.failing.insert(expect, self.since(book, event.stmt, operands));
            }
            _ => {}
        }
    }

    /// The figure that a call sets, if it does not fail.
    fn set_by(&self, program: &Program, call: &Call) -> Option<(Read, u64)> {
        match call {
            Call::Grant { pool, device, reach } => Some((Read::Access(*pool, *device), reach.flag())),
            Call::SetPool { device, pool } => Some((Read::CurrentPool(*device), pool.index() as u64)),
            Call::Destroy(Resource::Pool(pool)) => {
                let device = program.setup.pools[*pool].location.device()?;
                let (current, _) = self.figures.get(&Read::CurrentPool(device))?;
                let default = at_start(program, Read::CurrentPool(device));
                (*current == pool.index() as u64).then_some((Read::CurrentPool(device), default))
            }
            _ => None,
        }
    }

    fn becomes(&mut self, read: Read, by: StmtId, now: u64) {
        let Some((value, stmt)) = self.figures.get_mut(&read) else { return };
        if std::mem::replace(value, now) != now {
            *stmt = Some(by);
        }
    }

    fn since(&self, book: &Book<'_>, stmt: StmtId, operands: &Operands) -> Vec<Since> {
        let by = |stmt: Option<StmtId>| stmt.map(|_| Since { read: None, stmt }).into_iter().collect();
        match operands {
            Operands::Values { .. } => {
                let reads = self.reads.get(&stmt).into_iter().flatten();
                let changed = |read: &Read| self.figures.get(read).and_then(|(_, stmt)| *stmt);
                reads.map(|read| Since { read: Some(*read), stmt: changed(read) }).collect()
            }
            Operands::Placements { subject, .. } => {
                let known = subject.as_ref().and_then(|subject| book.known(subject.alloc));
                by(known.map(|known| known.stmt))
            }
            Operands::Ended { stmt, .. } => by(*stmt),
            Operands::Readiness { readiness: Readiness::NoStream, .. } => Vec::new(),
            Operands::Readiness { alloc, .. } => {
                let known = book.known(*alloc);
                by(known.map(|known| known.freed.map_or(known.stmt, |freed| freed.stmt)))
            }
        }
    }

    /// The expectations that fail, as findings.
    pub(super) fn lines(&self, book: &Book<'_>, verdict: &Verdict, width: usize) -> Vec<String> {
        let failing = verdict.expectations.iter_enumerated();
        let failing = failing.filter(|(_, judged)| !judged.is_open);
        let failing = failing.filter_map(|(id, judged)| Some((id, judged, judged.first?)));
        let mut lines = Vec::new();
        for (id, judged, first) in failing.clone().take(SHOWN_MAX) {
            let expect = &book.program.expects[id];
            let text = &book.program.statements[expect.stmt].text;
            let text = text.strip_prefix("expect ").unwrap_or(text);
            let title = format!("error[expectation]: line {}: ", book.line(expect.stmt));
            let text = shorten(text, width.saturating_sub(columns_of(&title)).max(24));
            lines.push(String::new());
            lines.push(format!("{title}{text}"));
            lines.push(format!(
                "{:indent$}{}",
                "",
                "^".repeat(columns_of(&text)),
                indent = columns_of(&title)
            ));
            if judged.times > 1 {
                lines.push(format!("  fails     {} of {} times, at first:", judged.failed, judged.times));
            }
            let (expected, actual) = sides(&book.program.names, expect.demand, &first, &text);
            lines.push(shorten(&format!("  expected  {expected}"), width));
            lines.push(shorten(&format!("  actual    {actual}"), width));
            let sinces = self.failing.get(&id).map_or(&[][..], Vec::as_slice);
            lines.extend(sinces.iter().map(|since| since_line(book, *since, sinces.len() > 1, width)));
        }
        lines.extend(rest(failing.count(), SHOWN_MAX, "expectations that fail"));
        lines
    }
}

/// A figure of a pool before the first call.
fn at_start(program: &Program, read: Read) -> u64 {
    let (pool, figure) = match read {
        Read::Pool(pool, figure) => (pool, figure),
        // Nobody holds any of it.
        Read::Graphs(..) => return 0,
        Read::Device(_, DeviceFigure::Beyond) => return 0,
        Read::Device(device, figure) => {
            let setup = program.setup.devices[device];
            return setup.figure(figure).unwrap_or(setup.memory.0);
        }
        // Only what is given changes.
        Read::Access(..) | Read::Peer(..) => return Reach::None.flag(),
        Read::CurrentPool(device) => {
            let is_default = |pool: &PoolSetup| pool.location.device() == Some(device) && !pool.imported;
            let default = program.setup.pools.iter().position(is_default);
            return default.map_or(u64::MAX, |pool| pool as u64);
        }
        Read::PoolItself(pool) => return pool.index() as u64,
    };
    let (attributes, zero) = (program.setup.pools[pool].attributes, Bytes::ZERO);
    let ledger = Ledger::default();
    let [reserved, reserved_high, used, used_high] = [zero; 4];
    let [maps, unmaps] = [0; 2];
    PoolState { reserved, reserved_high, used, used_high, maps, unmaps, ledger, attributes }.figure(figure)
}

/// What is demanded, and what is.
fn sides(names: &Names, demand: Demand, first: &Mismatch, text: &str) -> (String, String) {
    match (demand, *first) {
        (
            Demand::Compare { comparison, .. } | Demand::Moments { comparison, .. },
            Mismatch::Values { left, right },
        ) => {
            let unit = match demand {
                Demand::Compare { unit, .. } => unit,
                _ => Unit::Nanos,
            };
            let sign = match comparison {
                Comparison::Equal => "",
                Comparison::NotEqual => "not ",
                Comparison::Less => "less than ",
                Comparison::LessEqual => "at most ",
                Comparison::Greater => "more than ",
                Comparison::GreaterEqual => "at least ",
            };
            (format!("{sign}{}", value(right, unit)), value(left, unit))
        }
        (Demand::CurrentPool { not }, Mismatch::CurrentPool(current)) => {
            let (_, pool) = text.split_once("= ").unwrap_or(("", text));
            (format!("{}{pool}", if not { "not " } else { "" }), names.pools[current].clone())
        }
        (Demand::Finding { .. } | Demand::NoFindings | Demand::NoLeaks, _) => {
            (text.to_owned(), why(names, first, demand))
        }
        _ => {
            let relation = text.split_once(' ').map_or(text, |(_, relation)| relation);
            (relation.to_owned(), why(names, first, demand))
        }
    }
}

fn since_line(book: &Book<'_>, since: Since, several: bool, width: usize) -> String {
    let figure = match since.read {
        Some(read) if several => {
            let names = &book.program.names;
            let of = match read {
                Read::Pool(pool, _) | Read::Access(pool, _) | Read::PoolItself(pool) => &names.pools[pool],
                Read::Device(device, _) | Read::Peer(device, _) | Read::CurrentPool(device) => {
                    &names.devices[device]
                }
                Read::Graphs(device, _) => &format!("{}.graph_pool", names.owners[device]),
            };
            format!("  ({of}.{})", read.name())
        }
        _ => String::new(),
    };
    let when = match since.stmt {
        Some(stmt) => format!("line {}: {}", book.line(stmt), book.program.statements[stmt].text),
        None => "the start of the run".to_owned(),
    };
    let room = width.saturating_sub(12 + columns_of(&figure));
    format!("  since     {}{figure}", shorten(&when, room))
}
