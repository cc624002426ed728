//! The life of each buffer name in the order of the program: allocated before it is used, and not again while it is live.
//!
//! The code is walked without running it. A loop whose turns all name the same buffers is walked twice, since a third turn
//! finds what the second found; any other loop is walked in full.

use super::check::Checker;
use super::extents::{self, Extents, Wrong};
use super::held::{By, Kind};
use super::{Action, Chosen, Formula, Instruction, Outcome, Place, codes};
use crate::base::{BufferId, Diagnostic, Span, StmtId};
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a buffer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// No allocation of that name so far.
    Never,
    /// Allocated by this statement.
    Live(StmtId),
    /// Freed, or not certainly allocated.
    Gone,
}

/// A mistake, to be told once for each statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mistake {
    NotAllocated,
    StillLive(StmtId),
    OtherThread(StmtId),
    Place(Wrong),
}

/// Checks the whole code; `bases` has the first id of each name.
pub(super) fn check(checker: &mut Checker<'_>, bases: &[usize]) {
    let found = Walk::new(checker, bases).run();
    let mut told = BTreeSet::new();
    for ((stmt, nth), (mistake, buffer)) in found {
        if told.insert((stmt, mistake == Mistake::NotAllocated, buffer)) {
            let diagnostic = explain(checker, stmt, checker.mention(stmt, nth), mistake, buffer);
            checker.tell(diagnostic);
        }
    }
}

fn explain(checker: &Checker<'_>, stmt: StmtId, at: Span, mistake: Mistake, buffer: BufferId) -> Diagnostic {
    let name = &checker.names.buffers[buffer];
    match mistake {
        Mistake::NotAllocated => {
            let message = format!("`{name}` is used before it is allocated");
            Diagnostic::error(codes::USED_BEFORE_ALLOCATION, message, at, "no allocation comes before")
        }
        Mistake::StillLive(first) => {
            let message = format!("`{name}` gets a new allocation while it is live");
            let diagnostic =
                Diagnostic::error(codes::STILL_LIVE, message, at, "its memory would have no name");
            let diagnostic = match first == stmt {
                true => diagnostic.note("the turn of the loop before allocated it"),
                false => {
                    diagnostic.also(checker.mention(first, 0), "allocated here, and not freed in between")
                }
            };
            diagnostic.help("free it first, use another name, or an array such as `x[i]`")
        }
        Mistake::Place(wrong) => {
            let diagnostic = extents::explain(name, at, wrong);
            match wrong {
                Wrong::Sizes { .. } | Wrong::Overlap => {
                    diagnostic.also(checker.mention(stmt, 1), "read here")
                }
                Wrong::Outside { .. } | Wrong::OutOfReach(_) => diagnostic,
            }
        }
        Mistake::OtherThread(first) => {
            let message = format!("two threads allocate `{name}`");
            let label = "which one does the name stand for?";
            let diagnostic = Diagnostic::error(codes::ALLOCATED_BY_TWO_THREADS, message, at, label);
            let diagnostic = match first == stmt {
                true => diagnostic.note("a thread that runs the same lines allocates it too"),
                false => diagnostic.also(checker.mention(first, 0), "another thread allocates it here"),
            };
            diagnostic.help("give each thread names of its own, such as `x[i]` in the thread `t[i]`")
        }
    }
}

struct Walk<'c> {
    code: &'c [Instruction],
    outcomes: Box<dyn Fn(StmtId) -> Outcome + 'c>,
    choosing: BTreeSet<usize>,
    registers: Vec<i128>,
    lives: Vec<Life>,
    extents: Extents,
    uncertain: Vec<bool>,
    /// The threads around, from the outermost. A thread is walked where it starts.
    threads: Vec<usize>,
    /// For each buffer, the thread that allocates it and by which statement.
    owners: Vec<Option<(usize, StmtId)>>,
    /// For each buffer, the first thread that names it, and whether another one does too.
    users: Vec<(Option<usize>, bool)>,
    found: BTreeMap<(StmtId, usize), (Mistake, BufferId)>,
}

impl<'c> Walk<'c> {
    fn new(checker: &'c Checker<'_>, bases: &[usize]) -> Self {
        let count = checker.names.buffers.len();
        let mut lives = vec![Life::Never; count];
        for (buffer, base) in checker.buffers.iter().zip(bases).filter(|(buffer, _)| buffer.host.is_some()) {
            // It is there from the start.
            lives.iter_mut().skip(*base).take(buffer.last as usize + 1).for_each(|life| *life = Life::Gone);
        }
        let mut uncertain = vec![false; count];
        for (at, _) in checker.buffers.iter().enumerate().filter(|(_, buffer)| buffer.uncertain) {
            let end = bases.get(at + 1).copied().unwrap_or(count);
            uncertain[bases[at]..end].fill(true);
        }
        Self {
            code: &checker.code,
            outcomes: Box::new(|stmt| checker.statements[stmt].outcome),
            choosing: checker.choosing.iter().copied().collect(),
            registers: vec![0; checker.registers as usize],
            lives,
            extents: Extents::new(checker, bases),
            uncertain,
            threads: vec![0],
            owners: vec![None; count],
            users: vec![(None, false); count],
            found: BTreeMap::new(),
        }
    }

    fn run(mut self) -> BTreeMap<(StmtId, usize), (Mistake, BufferId)> {
        let mut at = 0;
        while let Some(instruction) = self.code.get(at) {
            at += 1;
            match instruction {
                Instruction::Call { stmt, action } => self.call(*stmt, action),
                Instruction::View { stmt, name, of } => self.view(*stmt, name, of),
                Instruction::Let { register, value, .. } => {
                    // A value that depends on the run chooses no buffer, so that any stand-in will do.
                    self.registers[register.0 as usize] = self.evaluate(value).unwrap_or(0);
                }
                Instruction::Repeat { register, from, to, end } => {
                    self.registers[register.0 as usize] = i128::from(*from);
                    if from >= to {
                        at = end + 1;
                    }
                }
                Instruction::Again { register, to, start } => {
                    let value = &mut self.registers[register.0 as usize];
                    *value += 1;
                    let from = match &self.code[*start] {
                        Instruction::Repeat { from, .. } => *from,
                        _ => 0,
                    };
                    let last =
                        if self.choosing.contains(start) { *to } else { (*to).min(from.saturating_add(2)) };
                    if *value < i128::from(last) {
                        at = start + 1;
                    }
                }
                Instruction::Spawn { thread, .. } => {
                    let offset = thread.index.as_ref().and_then(|index| self.evaluate(index)).unwrap_or(0);
                    self.threads.push(thread.base.index() + usize::try_from(offset).unwrap_or(0));
                }
                Instruction::Exit { .. } => {
                    self.threads.pop();
                }
            }
        }
        // When one thread comes to a buffer of another one, only the run can tell.
        let users = self.users;
        self.found.retain(|_, (mistake, buffer)| {
            let is_shared = users[buffer.index()].1;
            !is_shared || matches!(mistake, Mistake::OtherThread(_))
        });
        self.found
    }

    fn thread(&self) -> usize {
        self.threads.last().copied().unwrap_or(0)
    }

    fn names(&mut self, buffer: BufferId) {
        let thread = self.thread();
        let (first, shared) = &mut self.users[buffer.index()];
        *shared |= *first.get_or_insert(thread) != thread;
    }

    fn call(&mut self, stmt: StmtId, action: &Action) {
        match action {
            Action::Alloc { buffer, size, .. } => self.alloc(stmt, buffer, size, Kind::Device),
            Action::Malloc { buffer, size, managed, .. } => {
                self.alloc(stmt, buffer, size, if *managed { Kind::Managed } else { Kind::Device });
            }
            Action::Free { buffer, .. } | Action::PlainFree(buffer) => {
                if let Some(buffer) = self.used(stmt, 0, buffer)
                    && !matches!((self.outcomes)(stmt), Outcome::Fails(_))
                {
                    self.lives[buffer.index()] = Life::Gone;
                }
            }
            Action::Launch { uses, .. } | Action::Collective { uses, .. } => {
                for (nth, (place, _)) in uses.iter().enumerate() {
                    self.touched(stmt, nth, place, By::Device);
                }
            }
            Action::HostFunction { uses, .. } => {
                for (nth, (place, _)) in uses.iter().enumerate() {
                    self.touched(stmt, nth, place, By::Host);
                }
            }
            Action::Copy { to, from, .. } => {
                let sides = [(0, to), (1, from)].map(|(nth, place)| self.touched(stmt, nth, place, By::Copy));
                if let [Some(left), Some(right)] = sides
                    && let Some(wrong) = self.extents.copied((left, to), (right, from))
                {
                    self.mistake(stmt, 0, Mistake::Place(wrong), left);
                }
            }
            Action::Memset { at, .. } => {
                self.touched(stmt, 0, at, By::Device);
            }
            Action::Touch { at, .. } => {
                self.touched(stmt, 0, at, By::Host);
            }
            Action::Relate { subject, object, .. } => {
                self.used(stmt, 0, subject);
                self.used(stmt, 1, object);
            }
            _ => {}
        }
    }

    fn alloc(&mut self, stmt: StmtId, buffer: &Chosen<BufferId>, size: &Formula, kind: Kind) {
        let Some(buffer) = self.chosen(buffer) else { return };
        self.extents.allocated(buffer, size, kind);
        self.names(buffer);
        let thread = self.thread();
        let (owner, first) = *self.owners[buffer.index()].get_or_insert((thread, stmt));
        if owner != thread {
            return self.mistake(stmt, 0, Mistake::OtherThread(first), buffer);
        }
        if let Life::Live(first) = self.lives[buffer.index()] {
            self.mistake(stmt, 0, Mistake::StillLive(first), buffer);
        }
        self.lives[buffer.index()] = match (self.outcomes)(stmt) {
            Outcome::Succeeds => Life::Live(stmt),
            Outcome::Fails(_) | Outcome::MayFail(_) => Life::Gone,
        };
    }

    /// A view may be given again at any time: nothing is lost by it.
    fn view(&mut self, stmt: StmtId, name: &Chosen<BufferId>, of: &Place) {
        let (name, whole) = (self.chosen(name), self.used(stmt, 1, &of.buffer));
        let Some((name, whole)) = name.zip(whole) else { return };
        self.names(name);
        self.lives[name.index()] = Life::Gone;
        if let Some(wrong) = self.extents.viewed(name, whole, of) {
            self.mistake(stmt, 1, Mistake::Place(wrong), whole);
        }
    }

    fn touched(&mut self, stmt: StmtId, nth: usize, place: &Place, by: By) -> Option<BufferId> {
        let buffer = self.used(stmt, nth, &place.buffer)?;
        if let Some(wrong) = self.extents.touched(buffer, place, by) {
            self.mistake(stmt, nth, Mistake::Place(wrong), buffer);
        }
        Some(buffer)
    }

    fn used(&mut self, stmt: StmtId, nth: usize, buffer: &Chosen<BufferId>) -> Option<BufferId> {
        let buffer = self.chosen(buffer)?;
        self.names(buffer);
        if self.lives[buffer.index()] == Life::Never {
            self.mistake(stmt, nth, Mistake::NotAllocated, buffer);
        }
        Some(buffer)
    }

    fn mistake(&mut self, stmt: StmtId, nth: usize, mistake: Mistake, buffer: BufferId) {
        if !self.uncertain[buffer.index()] {
            self.found.entry((stmt, nth)).or_insert((mistake, buffer));
        }
    }

    /// The buffer; `None` where the names were too many to get ids.
    fn chosen(&self, buffer: &Chosen<BufferId>) -> Option<BufferId> {
        let offset = match &buffer.index {
            None => 0,
            Some(index) => usize::try_from(self.evaluate(index)?).ok()?,
        };
        let at = buffer.base.index().checked_add(offset)?;
        (at < self.lives.len()).then(|| BufferId::from_usize(at))
    }

    fn evaluate(&self, formula: &Formula) -> Option<i128> {
        match formula {
            Formula::Constant(value) => Some(*value),
            Formula::Register(register) => Some(self.registers[register.0 as usize]),
            Formula::Binary(operator, sides) => {
                operator.apply(self.evaluate(&sides.0)?, self.evaluate(&sides.1)?).ok()
            }
        }
    }
}
