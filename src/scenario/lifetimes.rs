//! The life of each name in the order of the program: a buffer is allocated before it is used, and not again while it is
//! live; a stream, an event or a pool is not created again while it exists.
//!
//! The code is walked without running it. A loop whose turns all name the same buffers is walked twice, since a third turn
//! finds what the second found; any other loop is walked in full. A block that handles a failure is walked once more: what
//! holds after it holds whether the call failed or not.

use super::check::Checker;
use super::extents::{self, Extents, Wrong};
use super::held::{By, Kind};
use super::life::Named;
use super::{
    Action, Called, Chosen, ExportOf, Formula, GraphAction, Handle, ImportInto, Instruction, Outcome, Place,
    codes,
};
use crate::base::{BufferId, DeviceId, Diagnostic, StmtId};
use crate::trace::Resource;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Nothing of that name so far.
    Never,
    /// There from the start.
    Declared,
    /// Allocated or created by this statement.
    Live(StmtId),
    /// Freed or destroyed, or not certainly there.
    Gone,
}

impl Life {
    /// What is certain when it is one or the other.
    fn or(self, other: Life) -> Life {
        match (self, other) {
            (one, other) if one == other => one,
            (Life::Declared | Life::Live(_), Life::Declared | Life::Live(_)) => self,
            _ => Life::Gone,
        }
    }
}

/// A size that only the run tells.
const UNKNOWN: Formula = Formula::Register(super::Register(0));

/// A block that handles a failure, while it is walked.
struct Handler {
    /// Where it ends in the code.
    end: usize,
    /// What each buffer was that has changed since, had the call succeeded.
    unfailed: BTreeMap<usize, Life>,
}

/// A mistake, to be told once for each statement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mistake {
    NotAllocated,
    StillLive(StmtId),
    OtherThread(StmtId),
    /// What is to be created exists: since this statement, or from the start.
    StillExists(Option<StmtId>),
    /// What is to leave its handle exists.
    KeepsHandle,
    Place(Wrong),
}

/// The mistakes of each mention of a name, with that name.
type Found = BTreeMap<(StmtId, usize), (Mistake, usize)>;

/// Checks the whole code; `bases` has the first id of each name. Returns the buffers that only the block of an `else`
/// allocates first, so that they may be missing after it.
pub(super) fn check(checker: &mut Checker<'_>, bases: &[usize]) -> Vec<BufferId> {
    let (found, conditional) = Walk::new(checker, bases).run();
    let mut told = BTreeSet::new();
    for ((stmt, nth), (mistake, slot)) in found {
        if told.insert((stmt, mistake == Mistake::NotAllocated, slot)) {
            let diagnostic = explain(checker, stmt, nth, mistake, slot);
            checker.tell(diagnostic);
        }
    }
    conditional.into_iter().map(BufferId::from_usize).collect()
}

fn explain(checker: &Checker<'_>, stmt: StmtId, nth: usize, mistake: Mistake, slot: usize) -> Diagnostic {
    let buffers = &checker.names.buffers;
    if let Some(nth) = slot.checked_sub(buffers.len()) {
        return explain_resource(checker, stmt, mistake, &checker.resources.named[nth]);
    }
    // Without the process that it is of.
    let name = &buffers[BufferId::from_usize(slot)];
    let name = name.rsplit_once('.').map_or(name.as_str(), |(_, name)| name);
    let at = checker.mention(stmt, nth);
    match mistake {
        Mistake::StillExists(_) | Mistake::KeepsHandle => unreachable!("a buffer is not created"),
        Mistake::NotAllocated => {
            let message = format!("`{name}` is used before it is allocated");
            let diagnostic =
                Diagnostic::error(codes::USED_BEFORE_ALLOCATION, message, at, "no allocation comes before");
            diagnostic.help(format!("allocate it in a line before: `S: {name} = alloc 1MiB`"))
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

fn explain_resource(checker: &Checker<'_>, stmt: StmtId, mistake: Mistake, named: &Named) -> Diagnostic {
    let (name, at) = (&named.name, checker.statements[stmt].span);
    let Mistake::StillExists(first) = mistake else {
        let message = format!("`{name}` exists, and does not leave its handle to another one");
        let diagnostic = Diagnostic::error(codes::STILL_EXISTS, message, at, "");
        return diagnostic.help(format!("`destroy {name}` first"));
    };
    let message = format!("`{name}` is created while it exists");
    let diagnostic = Diagnostic::error(codes::STILL_EXISTS, message, at, "the one before would have no name");
    let diagnostic = match (first, named.declared) {
        (Some(first), _) if first == stmt => diagnostic.note("the turn of the loop before created it"),
        (Some(first), _) => diagnostic.also(checker.statements[first].span, "created here"),
        (None, Some(declared)) => {
            diagnostic.also(declared, "declared here, so that it exists from the start")
        }
        (None, None) => diagnostic,
    };
    diagnostic.help(format!("`destroy {name}` first, or use another name"))
}

struct Walk<'c> {
    code: &'c [Instruction],
    outcomes: Box<dyn Fn(StmtId) -> Outcome + 'c>,
    choosing: BTreeSet<usize>,
    registers: Vec<i128>,
    /// Of each buffer, then of each stream, event or pool that is created or destroyed somewhere.
    lives: Vec<Life>,
    /// Where these begin.
    buffers: usize,
    /// The place of each of them.
    resources: BTreeMap<Resource, usize>,
    /// The device of each buffer that has memory outside of pools.
    outside: BTreeMap<usize, DeviceId>,
    /// Two names that one handle may belong to: what is done to one may be done to the other.
    aliases: BTreeSet<(usize, usize)>,
    /// What the name that the latest call is about is if that call has failed.
    failed: Option<(usize, Life)>,
    handlers: Vec<Handler>,
    /// The buffers whose first allocation a block may or may not carry out.
    conditional: BTreeSet<usize>,
    extents: Extents,
    uncertain: Vec<bool>,
    /// The threads around, from the outermost. A thread is walked where it starts.
    threads: Vec<usize>,
    /// For each buffer, the thread that allocates it and by which statement.
    owners: Vec<Option<(usize, StmtId)>>,
    /// For each name, the first thread that names it, and whether another one does too.
    users: Vec<(Option<usize>, bool)>,
    found: Found,
}

impl<'c> Walk<'c> {
    fn new(checker: &'c Checker<'_>, bases: &[usize]) -> Self {
        let count = checker.names.buffers.len();
        let mut lives = vec![Life::Never; count];
        for (buffer, base) in checker.buffers.iter().zip(bases).filter(|(buffer, _)| buffer.host.is_some()) {
            // It is there from the start.
            lives.iter_mut().skip(*base).take(buffer.last as usize + 1).for_each(|life| *life = Life::Gone);
        }
        let named = &checker.resources.named;
        let of = |named: &Named| if named.declared.is_some() { Life::Declared } else { Life::Never };
        lives.extend(named.iter().map(of));
        let resources = named.iter().enumerate().map(|(nth, named)| (named.resource, count + nth));
        let mut uncertain = vec![false; count];
        for (at, _) in checker.buffers.iter().enumerate().filter(|(_, buffer)| buffer.uncertain) {
            let end = bases.get(at + 1).copied().unwrap_or(count);
            uncertain[bases[at]..end].fill(true);
        }
        uncertain.extend(named.iter().map(|named| checker.is_life_uncertain(named)));
        Self {
            code: &checker.code,
            outcomes: Box::new(|stmt| checker.statements[stmt].outcome),
            choosing: checker.choosing.iter().copied().collect(),
            registers: vec![0; checker.registers as usize],
            buffers: count,
            resources: resources.collect(),
            outside: BTreeMap::new(),
            aliases: BTreeSet::new(),
            failed: None,
            handlers: Vec::new(),
            conditional: BTreeSet::new(),
            extents: Extents::new(checker, bases),
            uncertain,
            threads: vec![0],
            owners: vec![None; count],
            users: vec![(None, false); lives.len()],
            lives,
            found: BTreeMap::new(),
        }
    }

    fn run(mut self) -> (Found, BTreeSet<usize>) {
        let mut at = 0;
        while let Some(instruction) = self.code.get(at) {
            self.end_handlers(at);
            at += 1;
            match instruction {
                Instruction::Call { stmt, action } => {
                    self.failed = None;
                    self.call(*stmt, action);
                }
                Instruction::Address { stmt, of, nth, .. } => {
                    self.used(*stmt, *nth, of);
                }
                Instruction::Otherwise { end, .. } => self.begin_handler(*end),
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
        self.found.retain(|_, (mistake, slot)| {
            let is_shared = users[*slot].1;
            !is_shared || matches!(mistake, Mistake::OtherThread(_))
        });
        (self.found, self.conditional)
    }

    fn begin_handler(&mut self, end: usize) {
        self.handlers.push(Handler { end, unfailed: BTreeMap::new() });
        if let Some((slot, life)) = self.failed.take() {
            self.becomes(slot, life);
        }
    }

    /// The blocks that end here: from now on the call may have failed or not.
    fn end_handlers(&mut self, at: usize) {
        while let Some(Handler { unfailed, .. }) = self.handlers.pop_if(|handler| handler.end == at) {
            for (slot, life) in unfailed {
                let after = self.lives[slot].or(life);
                if let Some(around) = self.handlers.last_mut() {
                    around.unfailed.entry(slot).or_insert(life);
                }
                self.lives[slot] = after;
                self.extents.forget(slot);
            }
        }
    }

    fn becomes(&mut self, slot: usize, life: Life) {
        let before = std::mem::replace(&mut self.lives[slot], life);
        if let Some(handler) = self.handlers.last_mut() {
            handler.unfailed.entry(slot).or_insert(before);
        }
    }

    fn thread(&self) -> usize {
        self.threads.last().copied().unwrap_or(0)
    }

    fn names(&mut self, slot: usize) {
        let thread = self.thread();
        let (first, shared) = &mut self.users[slot];
        *shared |= *first.get_or_insert(thread) != thread;
    }

    /// The name is about to stand for something; perhaps for the first time, and perhaps not.
    fn named_first(&mut self, slot: usize) {
        if self.lives[slot] == Life::Never && !self.handlers.is_empty() {
            self.conditional.insert(slot);
        }
    }

    fn call(&mut self, stmt: StmtId, action: &Action) {
        match action {
            Action::Alloc { buffer, size, pool, .. } => {
                self.alloc(stmt, buffer, size, self.extents.kind_of(*pool));
            }
            Action::Malloc { device, buffer, size, managed } => {
                let kind = if *managed { Kind::Managed } else { Kind::Device };
                self.alloc(stmt, buffer, size, Some(kind));
                self.outside.extend(self.chosen(buffer).map(|buffer| (buffer, *device)));
            }
            Action::Free { buffer, .. } | Action::PlainFree(buffer) => {
                if let Some(buffer) = self.used(stmt, 0, buffer)
                    && !matches!((self.outcomes)(stmt), Outcome::Fails(_))
                {
                    self.failed = Some((buffer, self.lives[buffer]));
                    self.becomes(buffer, Life::Gone);
                }
            }
            Action::Launch { uses, .. } | Action::Collective { uses, .. } => {
                for (nth, (place, _)) in uses.iter().enumerate() {
                    self.touched(stmt, nth, place, By::Device);
                }
            }
            Action::Import { into: ImportInto::Memory { buffer, pool }, .. } => {
                let kind = self.extents.kind_of(Some(*pool));
                self.alloc(stmt, buffer, &UNKNOWN, kind);
            }
            Action::Import { into: ImportInto::Resource { name, .. }, .. } => {
                self.create(stmt, *name, None);
            }
            Action::Export { what: ExportOf::Memory(buffer), .. } => {
                self.used(stmt, 0, buffer);
            }
            Action::Create { name, reusing, .. } => {
                let reusing = reusing.as_ref().and_then(|old| self.slot(old));
                self.create(stmt, *name, reusing);
            }
            Action::Destroy(handle) => {
                if let Some(slot) = self.slot(handle) {
                    self.destroy(stmt, slot);
                }
            }
            Action::ResetDevice(device) => self.reset(stmt, *device),
            Action::HostFunction { uses, .. } => {
                for (nth, (place, _)) in uses.iter().enumerate() {
                    self.touched(stmt, nth, place, By::Host);
                }
            }
            Action::Copy { to, from, .. } => self.copied(stmt, to, from),
            Action::Memset { at, .. } => {
                self.touched(stmt, 0, at, By::Device);
            }
            Action::Touch { at, .. } => {
                self.touched(stmt, 0, at, By::Host);
            }
            Action::Graph(action) => self.graph(stmt, action),
            Action::Relate { subject, object, .. } => {
                self.used(stmt, 0, subject);
                self.used(stmt, 1, object);
            }
            Action::ExpectReady { subject: buffer, .. }
            | Action::ExpectEnded { call: Called::Allocation(buffer), .. } => {
                self.used(stmt, 0, buffer);
            }
            _ => {}
        }
    }

    fn copied(&mut self, stmt: StmtId, to: &Place, from: &Place) {
        let sides = [(0, to), (1, from)].map(|(nth, place)| self.touched(stmt, nth, place, By::Copy));
        if let [Some(left), Some(right)] = sides
            && let Some(wrong) = self.extents.copied((left, to), (right, from))
        {
            self.mistake(stmt, 0, Mistake::Place(wrong), left);
        }
    }

    /// What a graph allocates and frees, it does when it is launched: of a name that is not known to be there, nothing is said.
    fn graph(&mut self, stmt: StmtId, action: &GraphAction) {
        match action {
            GraphAction::Begin(Chosen { base, index: None }) => {
                self.create(stmt, Resource::Graph(*base), None)
            }
            GraphAction::Instantiate { exec: Chosen { base, index: None }, .. } => {
                self.create(stmt, Resource::Exec(*base), None);
            }
            GraphAction::Node { node, .. } => match &**node {
                Action::Alloc { buffer, .. } => {
                    self.call(stmt, node);
                    if let Some(buffer) = self.chosen(buffer) {
                        self.becomes(buffer, Life::Gone);
                    }
                }
                Action::Free { buffer, .. } => {
                    self.used(stmt, 0, buffer);
                }
                _ => self.call(stmt, node),
            },
            _ => {}
        }
    }

    fn alloc(&mut self, stmt: StmtId, buffer: &Chosen<BufferId>, size: &Formula, kind: Option<Kind>) {
        let Some(buffer) = self.chosen(buffer) else { return };
        self.outside.remove(&buffer);
        self.extents.allocated(buffer, size, kind);
        self.names(buffer);
        self.named_first(buffer);
        let thread = self.thread();
        let (owner, first) = *self.owners[buffer].get_or_insert((thread, stmt));
        if owner != thread {
            return self.mistake(stmt, 0, Mistake::OtherThread(first), buffer);
        }
        if let Life::Live(first) = self.lives[buffer] {
            self.mistake(stmt, 0, Mistake::StillLive(first), buffer);
        }
        self.begins(stmt, buffer);
        self.failed = Some((buffer, Life::Gone));
    }

    /// The statement gives the name a new life, if it succeeds.
    fn begins(&mut self, stmt: StmtId, slot: usize) {
        let life = match (self.outcomes)(stmt) {
            Outcome::Succeeds | Outcome::Handled { .. } => Life::Live(stmt),
            Outcome::Fails(_) | Outcome::MayFail(_) => Life::Gone,
        };
        self.becomes(slot, life);
    }

    fn create(&mut self, stmt: StmtId, name: Resource, reusing: Option<usize>) {
        let Some(slot) = self.resources.get(&name).copied() else { return };
        self.names(slot);
        let before = self.lives[slot];
        match before {
            Life::Live(first) => self.mistake(stmt, 0, Mistake::StillExists(Some(first)), slot),
            Life::Declared => self.mistake(stmt, 0, Mistake::StillExists(None), slot),
            Life::Never | Life::Gone => {}
        }
        if let Some(old) = reusing {
            self.names(old);
            let exists = matches!(self.lives[old], Life::Live(_) | Life::Declared);
            if exists && !matches!((self.outcomes)(stmt), Outcome::Fails(_)) {
                self.mistake(stmt, 1, Mistake::KeepsHandle, old);
            }
            self.aliases.extend([(old, slot), (slot, old)]);
        }
        self.begins(stmt, slot);
        self.failed = Some((slot, before));
    }

    /// Where two names hold one handle, either of them may be the one that is destroyed.
    fn destroy(&mut self, stmt: StmtId, slot: usize) {
        self.names(slot);
        if matches!((self.outcomes)(stmt), Outcome::Fails(_)) {
            return;
        }
        let mut holders = vec![slot];
        let mut next = 0;
        while let Some(holder) = holders.get(next).copied() {
            next += 1;
            let others = self.aliases.range((holder, 0)..=(holder, usize::MAX)).map(|(_, other)| *other);
            let new: Vec<usize> = others.filter(|other| !holders.contains(other)).collect();
            new.iter().for_each(|other| self.becomes(*other, Life::Gone));
            holders.extend(new);
        }
        self.failed = Some((slot, self.lives[slot]));
        self.becomes(slot, Life::Gone);
    }

    /// Which of the streams, events and graphs go with a device, only the run can tell where there are several.
    fn reset(&mut self, stmt: StmtId, device: DeviceId) {
        if matches!((self.outcomes)(stmt), Outcome::Fails(_)) {
            return;
        }
        let resources = self.resources.iter().filter(|(resource, _)| !matches!(resource, Resource::Pool(_)));
        let outside = self.outside.iter().filter(|(_, on)| **on == device).map(|(buffer, _)| *buffer);
        let gone: Vec<usize> = resources.map(|(_, slot)| *slot).chain(outside).collect();
        for slot in gone {
            self.names(slot);
            self.becomes(slot, Life::Gone);
        }
    }

    /// The place of what a name without an index stands for.
    fn slot(&self, handle: &Handle) -> Option<usize> {
        let resource = match handle {
            Handle::Stream(Chosen { base, index: None }) => Resource::Stream(*base),
            Handle::Event(Chosen { base, index: None }) => Resource::Event(*base),
            Handle::Pool(pool) => Resource::Pool(*pool),
            Handle::Graph(Chosen { base, index: None }) => Resource::Graph(*base),
            Handle::Exec(Chosen { base, index: None }) => Resource::Exec(*base),
            Handle::Stream(_) | Handle::Event(_) | Handle::Graph(_) | Handle::Exec(_) => return None,
        };
        self.resources.get(&resource).copied()
    }

    /// A view may be given again at any time: nothing is lost by it.
    fn view(&mut self, stmt: StmtId, name: &Chosen<BufferId>, of: &Place) {
        let (name, whole) = (self.chosen(name), self.used(stmt, 1, &of.buffer));
        let Some((name, whole)) = name.zip(whole) else { return };
        self.names(name);
        self.named_first(name);
        self.becomes(name, Life::Gone);
        if let Some(wrong) = self.extents.viewed(name, whole, of) {
            self.mistake(stmt, 1, Mistake::Place(wrong), whole);
        }
    }

    fn touched(&mut self, stmt: StmtId, nth: usize, place: &Place, by: By) -> Option<usize> {
        let buffer = self.used(stmt, nth, &place.buffer)?;
        if let Some(wrong) = self.extents.touched(buffer, place, by) {
            self.mistake(stmt, nth, Mistake::Place(wrong), buffer);
        }
        Some(buffer)
    }

    fn used(&mut self, stmt: StmtId, nth: usize, buffer: &Chosen<BufferId>) -> Option<usize> {
        let buffer = self.chosen(buffer)?;
        self.names(buffer);
        if self.lives[buffer] == Life::Never {
            self.mistake(stmt, nth, Mistake::NotAllocated, buffer);
        }
        Some(buffer)
    }

    fn mistake(&mut self, stmt: StmtId, nth: usize, mistake: Mistake, slot: usize) {
        if !self.uncertain[slot] {
            self.found.entry((stmt, nth)).or_insert((mistake, slot));
        }
    }

    /// The buffer; `None` where the names were too many to get ids.
    fn chosen(&self, buffer: &Chosen<BufferId>) -> Option<usize> {
        let offset = match &buffer.index {
            None => 0,
            Some(index) => usize::try_from(self.evaluate(index)?).ok()?,
        };
        let at = buffer.base.index().checked_add(offset)?;
        (at < self.buffers).then_some(at)
    }

    fn evaluate(&self, formula: &Formula) -> Option<i128> {
        formula.value(&|register| Ok(self.registers[register.0 as usize])).ok()
    }
}
