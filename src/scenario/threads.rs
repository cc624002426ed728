//! What threads do with each other: threads and their ends, signals, barriers, functions in streams, collectives.

use super::blocks::Block;
use super::check::{Checker, Collective, Signal};
use super::names::{Binding, Kind, Meaning, Row};
use super::{Action, Chosen, Formula, Instruction, Operator, Outcome, Place, Register, Unit, codes};
use crate::base::{
    BarrierId, CollectiveId, Diagnostic, HostId, SignalId, Span, StmtId, StreamId, grouped, nearest,
};
use crate::syntax::ast::{self, Path};
use crate::trace::{Access, CollectiveSetup, Law, Takes};
use std::collections::BTreeMap;
use std::ops::Range;

/// How many host threads there may be. Each keeps a counter a stream.
const THREADS_MAX: u64 = 1_024;

/// How many values all threads together may know: each has its own of every `let` that the run reads.
const VALUES_MAX: u64 = 1 << 26;

/// The thread whose body is being read.
#[derive(Clone)]
pub(super) struct Within {
    pub(super) row: Row<HostId>,
    /// Which of the row, as the thread itself knows it.
    pub(super) index: Option<Formula>,
    /// The loops in which it is started, from the outermost: the variable, and its values.
    pub(super) loops: Vec<(Register, Range<u64>)>,
}

impl Within {
    /// Which of all starts of the row it is, as the thread itself knows it. `None`: there is only one.
    pub(super) fn start(&self) -> Option<Formula> {
        let combine = |operator, left, right| Formula::Binary(operator, Box::new((left, right)));
        let number = |value: u64| Formula::Constant(i128::from(value));
        self.loops.iter().fold(None, |outer, (variable, turns)| {
            let turn = combine(Operator::Subtract, Formula::Register(*variable), number(turns.start));
            Some(match outer {
                None => turn,
                Some(outer) => {
                    let before = combine(Operator::Multiply, outer, number(turns.end - turns.start));
                    combine(Operator::Add, before, turn)
                }
            })
        })
    }

    /// The thread that begins at a start of the row.
    pub(super) fn host(&self, start: u64) -> HostId {
        let mut left = start;
        let turns = self.loops.iter().rev().map(|(variable, turns)| {
            let count = (turns.end - turns.start).max(1);
            let turn = turns.start + left % count;
            left /= count;
            (*variable, i128::from(turn))
        });
        let turns: BTreeMap<_, _> = turns.collect();
        let value = |register| Ok(turns.get(&register).copied().unwrap_or(0));
        let offset = self.index.as_ref().and_then(|index| index.value(&value).ok()).unwrap_or(0);
        HostId::from_usize(self.row.base.index() + usize::try_from(offset).unwrap_or(0))
    }
}

impl Checker<'_> {
    // ---- Threads

    pub(super) fn thread(&mut self, span: Span, thread: &ast::Thread) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let row = self.new_threads(&thread.name, Kind::Thread);
        let Some((row, index)) = row else {
            self.enter(Block::Broken);
            self.items(&thread.body.items);
            return self.leave();
        };
        let chosen = Chosen { base: row.base, index: index.clone().map(Box::new) };
        self.spawned(stmt, chosen, |checker| {
            checker.enter(Block::Thread);
            let loops = checker.loops_around();
            checker.within.push(Within { row, index, loops });
            checker.items(&thread.body.items);
            checker.within.pop();
            checker.leave();
        });
    }

    /// The code of a thread, which stands where it is started.
    pub(super) fn spawned(&mut self, stmt: StmtId, thread: Chosen<HostId>, body: impl FnOnce(&mut Self)) {
        let start = self.code.len();
        self.code.push(Instruction::Spawn { stmt, thread: thread.clone(), end: 0 });
        body(self);
        let end = self.code.len();
        self.code.push(Instruction::Exit { stmt });
        self.code[start] = Instruction::Spawn { stmt, thread, end };
    }

    fn loops_around(&self) -> Vec<(Register, Range<u64>)> {
        let turns = self.blocks.iter().filter_map(|around| match around.block {
            Block::Loop(start) => match &self.code[start] {
                Instruction::Repeat { register, from, to, .. } => Some((*register, *from..*to)),
                _ => None,
            },
            _ => None,
        });
        turns.collect()
    }

    /// A thread that touches memory of the host, which takes it some time.
    pub(super) fn asynchronous(&mut self, span: Span, asynchronous: &ast::Asynchronous) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let touch = self.touch(&asynchronous.at, asynchronous.access);
        let takes = asynchronous.takes.as_ref().map(|takes| self.runtime_value(takes, Unit::Nanos));
        let name = ast::Segment { name: asynchronous.name.clone(), index: None };
        let Some((row, _)) = self.new_threads(&name, Kind::Thread) else { return };
        let (Some(touch), false) = (touch, matches!(takes, Some(None))) else { return };
        self.spawned(stmt, Chosen { base: row.base, index: None }, |checker| {
            checker.code.push(Instruction::Call { stmt, action: touch });
            if let Some(Some(takes)) = takes {
                checker.code.push(Instruction::Call { stmt, action: Action::Sleep(takes) });
            }
        });
    }

    /// `await` waits for a signal, or for the end of a thread.
    pub(super) fn waited_for(&mut self, name: &ast::Name) -> Option<Action> {
        if self.table.get(&name.text).is_some_and(|other| matches!(other.kind, Kind::Thread | Kind::Process))
        {
            let segment = ast::Segment { name: name.clone(), index: None };
            return self.join(&Path { segments: vec![segment], span: name.span });
        }
        self.awaited(name).map(Action::Await)
    }

    /// The ids of a thread or a process, or of an array of threads: as many as its index can choose.
    pub(super) fn new_threads(
        &mut self,
        segment: &ast::Segment,
        kind: Kind,
    ) -> Option<(Row<HostId>, Option<Formula>)> {
        let index = match &segment.index {
            Some(index) => Some(self.index(index)?),
            None => None,
        };
        let last = index.as_ref().and_then(|index| index.bounds).map(|bounds| bounds.high);
        let count = last.map(|last| u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1));
        let name = &segment.name;
        if count.unwrap_or(1) > THREADS_MAX.saturating_sub(self.setup.hosts as u64) {
            let message = format!("`{}` brings the number of threads above {THREADS_MAX}", name.text);
            self.error(codes::TOO_MANY_NAMES, message, segment.name.span, "");
            return None;
        }
        let row = Row { base: HostId::from_usize(self.setup.hosts), count };
        if !self.bind(name, kind, Some(Meaning::Thread(row))) {
            return None;
        }
        let called = self.reported(&name.text);
        let names = (0..count.unwrap_or(1)).map(|nth| match count {
            Some(_) => format!("{called}[{nth}]"),
            None => called.clone(),
        });
        self.names.hosts.extend(names);
        self.setup.hosts = self.names.hosts.len();
        self.setup.processes.extend((0..count.unwrap_or(1)).map(|_| self.process.id));
        Some((row, index.map(|index| index.formula)))
    }

    pub(super) fn join(&mut self, path: &Path) -> Option<Action> {
        let segment = self.only_segment(path, Kind::Thread)?;
        let Meaning::Thread(row) = self.resolve(&segment.name, &[Kind::Thread, Kind::Process])? else {
            return None;
        };
        self.element(row, segment).map(Action::Join)
    }

    /// The count is part of the name: every line that names a barrier says the same one.
    pub(super) fn barrier(&mut self, name: &ast::Name, of: &ast::Expression) -> Option<BarrierId> {
        let count = self.constant_count(of)?;
        let size = u32::try_from(count).ok().filter(|size| (1..=THREADS_MAX).contains(&u64::from(*size)));
        let Some(size) = size else {
            let label = format!("expected 1 to {THREADS_MAX}");
            self.error(codes::VALUE_OUT_OF_RANGE, "no such number of threads can meet", of.span, &label);
            return None;
        };
        if self.table.get(&name.text).is_none() {
            let barrier = self.names.barriers.push(name.text.clone());
            self.setup.barriers.push(size);
            let meaning = Some(Meaning::Barrier(barrier));
            self.table.bind(&name.text, Binding { kind: Kind::Barrier, meaning, span: Some(name.span) });
        }
        let Meaning::Barrier(barrier) = self.resolve(name, &[Kind::Barrier])? else { return None };
        let first = self.setup.barriers[barrier];
        if first != size {
            let message =
                format!("`{}` is a barrier of {first} threads elsewhere, and of {size} here", name.text);
            let diagnostic =
                Diagnostic::error(codes::WRONG_PART_COUNT, message, of.span, format!("expected {first}"));
            let elsewhere = self.table.get(&name.text).and_then(|binding| binding.span);
            self.tell(match elsewhere {
                Some(elsewhere) => diagnostic.also(elsewhere, "first named here"),
                None => diagnostic,
            });
            return None;
        }
        Some(barrier)
    }

    // ---- Functions and collectives in streams

    pub(super) fn host_function(
        &mut self,
        stmt: StmtId,
        path: &Path,
        stream: Option<Chosen<StreamId>>,
        function: &ast::HostFunction,
    ) -> Option<Action> {
        let ast::HostFunction { uses, takes, gives } = function;
        let uses: Vec<_> = uses
            .iter()
            .map(|used| self.place(&used.at).map(|at| (at, super::declare::access(used.access))))
            .collect();
        let takes = match takes {
            Some(takes) => self.takes(takes),
            None => Some(Takes::For(Law::Constant(crate::base::Nanos::ZERO))),
        };
        let gives = match gives {
            Some(gives) => self.give(gives).map(Some),
            None => Some(None),
        };
        self.statements[stmt].draws = self.draws_of(path, "host");
        let uses = uses.into_iter().collect::<Option<_>>();
        Some(Action::HostFunction { stream: stream?, uses: uses?, takes: takes?, gives: gives? })
    }

    pub(super) fn declare_collective(&mut self, declared: &ast::Collective) {
        let takes = self.law(&declared.takes);
        let parts = self.constant_count(&declared.parts);
        let size = parts.map(|parts| u32::try_from(parts).ok().filter(|parts| *parts >= 1));
        if size == Some(None) {
            let label = "expected 1 or more";
            self.error(
                codes::VALUE_OUT_OF_RANGE,
                "a collective has at least one part",
                declared.parts.span,
                label,
            );
        }
        let parameters = declared.parameters.as_ref().map(|parameters| self.parameters(parameters));
        let meaning = size.flatten().zip(takes).map(|(parts, takes)| {
            self.names.collectives.push(declared.name.text.clone());
            let last = declared.parameters.iter().flatten().last();
            let place = last.map_or(declared.name.span, |last| declared.name.span.to(last.name.span));
            self.collectives.push(Collective { parameters, place });
            Meaning::Collective(self.setup.collectives.push(CollectiveSetup { parts, takes }))
        });
        self.bind(&declared.name, Kind::Collective, meaning);
    }

    /// A part of a collective in a stream.
    pub(super) fn part(
        &mut self,
        collective: CollectiveId,
        name: &ast::Name,
        stream: Chosen<StreamId>,
        buffers: Vec<Place>,
        parentheses: Span,
    ) -> Option<Action> {
        let Collective { parameters, place } = &self.collectives[collective.index()];
        let accesses = parameters.clone().unwrap_or_else(|| vec![Access::ReadWrite; buffers.len()]);
        let place = *place;
        self.argument_count(name, accesses.len(), place, buffers.len(), parentheses)?;
        let uses = buffers.into_iter().zip(accesses).collect();
        Some(Action::Collective { stream, collective, uses })
    }

    /// All parts run equally long.
    pub(super) fn no_duration_of_its_own(&mut self, name: &ast::Name, takes: &ast::Takes) {
        let span = match takes {
            ast::Takes::Until(signal) => signal.span,
            ast::Takes::For(_) => name.span,
        };
        let message = format!("a part of the collective `{}` has no duration of its own", name.text);
        let diagnostic = Diagnostic::error(codes::WRONG_KIND, message, span, "");
        self.tell(diagnostic.help("its declaration says how long all parts run"));
    }

    // ---- Signals, which need no declaration

    pub(super) fn give(&mut self, name: &ast::Name) -> Option<SignalId> {
        let signal = self.signal(name)?;
        self.signals[signal.index()].given.get_or_insert(name.span);
        Some(signal)
    }

    pub(super) fn awaited(&mut self, name: &ast::Name) -> Option<SignalId> {
        let signal = self.signal(name)?;
        self.signals[signal.index()].awaited = true;
        Some(signal)
    }

    fn signal(&mut self, name: &ast::Name) -> Option<SignalId> {
        if self.table.get(&name.text).is_none() {
            let signal = self.names.signals.push(name.text.clone());
            self.signals.push(Signal::default());
            let meaning = Some(Meaning::Signal(signal));
            self.table.bind(&name.text, Binding { kind: Kind::Signal, meaning, span: Some(name.span) });
        }
        match self.resolve(name, &[Kind::Signal])? {
            Meaning::Signal(signal) => Some(signal),
            _ => None,
        }
    }

    pub(super) fn values_of_threads(&mut self) {
        let (threads, values) = (self.setup.hosts as u64, u64::from(self.registers));
        if threads.saturating_mul(values) <= VALUES_MAX {
            return;
        }
        let spawn = self.code.iter().find_map(|instruction| match instruction {
            Instruction::Spawn { stmt, .. } => Some(*stmt),
            _ => None,
        });
        let Some(span) = spawn.map(|stmt| self.statements[stmt].span) else { return };
        let message = format!("{threads} threads that each know {values} values are too many");
        let diagnostic = Diagnostic::error(codes::TOO_MANY_NAMES, message, span, "the first of them");
        let most = grouped(VALUES_MAX);
        self.tell(diagnostic.note(format!("threads times values read by `let` and `expect` may be {most}")));
    }

    pub(super) fn unawaited_signals(&mut self) {
        if self.table.has_broken_lines {
            return;
        }
        for (at, signal) in self.signals.iter().enumerate() {
            let Some(span) = signal.given.filter(|_| !signal.awaited) else { continue };
            let name = &self.names.signals[SignalId::from_usize(at)];
            let message = format!("nothing waits for `{name}`");
            let mut diagnostic = Diagnostic::error(codes::UNAWAITED_SIGNAL, message, span, "has no effect");
            diagnostic.severity = crate::base::Severity::Warning;
            let is_open = |(signal, _): &(&Signal, _)| signal.awaited && signal.given.is_none();
            let open = self.signals.iter().zip(&self.names.signals).filter(is_open);
            self.diagnostics.push(match nearest(name, open.map(|(_, name)| name.as_str())) {
                Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), span, meant),
                None => diagnostic.help(format!(
                    "a launch waits for it by `S: K(x) until {name}`, a thread by `await {name}`"
                )),
            });
        }
    }
}
