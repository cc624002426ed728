//! What instructions touch: two that have nothing in common, or only look at it, come to the same in either order.
//!
//! It is coarse where that costs little: all memory is one thing, since pools share devices and addresses, and so is how far
//! devices have got. What is not spelled out touches everything.

use crate::base::{BufferId, EventId, StreamId};
use crate::scenario::{Action, Chosen, ImportInto, Instruction, Place, Program, SyncTarget};
use crate::trace::{Access, StreamKind, Takes};

/// A set of things.
type Things = Vec<u64>;

/// What an instruction touches, or several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Footprint {
    is_everything: bool,
    looks: Things,
    changes: Things,
}

impl Footprint {
    pub(super) const fn everything() -> Self {
        Self { is_everything: true, looks: Vec::new(), changes: Vec::new() }
    }

    fn is_empty(&self) -> bool {
        let is_zero = |things: &Things| things.iter().all(|word| *word == 0);
        !self.is_everything && is_zero(&self.looks) && is_zero(&self.changes)
    }

    /// Whether it is of something that is not spelled out.
    pub(super) fn is_everything(&self) -> bool {
        self.is_everything
    }

    /// The things, but for memory and progress, and whether they are changed.
    pub(super) fn things(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let word = |things: &Things, at: usize| things.get(at).copied().unwrap_or_default();
        let bit = move |things: &Things, thing: usize| word(things, thing / 64) >> (thing % 64) & 1 == 1;
        let count = self.looks.len().max(self.changes.len()) * 64;
        let meets = move |thing: &usize| bit(&self.looks, *thing) || bit(&self.changes, *thing);
        (SETTINGS..count).filter(meets).map(move |thing| (thing, bit(&self.changes, thing)))
    }

    /// Whether the order of the two makes a difference.
    pub(super) fn conflicts(&self, other: &Footprint) -> bool {
        if self.is_everything || other.is_everything {
            return !self.is_empty() && !other.is_empty();
        }
        let meet = |one: &Things, other: &Things| one.iter().zip(other).any(|(one, other)| one & other != 0);
        meet(&self.changes, &other.changes)
            || meet(&self.changes, &other.looks)
            || meet(&self.looks, &other.changes)
    }

    /// Adds another one; says whether that made a difference.
    fn add(&mut self, other: &Footprint) -> bool {
        let mut has_grown = other.is_everything && !self.is_everything;
        self.is_everything |= other.is_everything;
        for (into, from) in [(&mut self.looks, &other.looks), (&mut self.changes, &other.changes)] {
            if into.len() < from.len() {
                into.resize(from.len(), 0);
            }
            for (into, from) in into.iter_mut().zip(from) {
                has_grown |= *from & !*into != 0;
                *into |= from;
            }
        }
        has_grown
    }
}

fn put(things: &mut Things, thing: usize) {
    let word = thing / 64;
    if things.len() <= word {
        things.resize(word + 1, 0);
    }
    things[word] |= 1 << (thing % 64);
}

/// The footprints of the instructions of a program.
#[derive(Debug)]
pub(super) struct Footprints {
    own: Vec<Footprint>,
    /// From each instruction on, those up to the next call.
    next: Vec<Footprint>,
    /// The same where a name stands for nothing, so that calls about it are skipped.
    next_unskipped: Vec<Footprint>,
    /// From each instruction on, all of them, those of threads that are started included.
    ahead: Vec<Footprint>,
}

/// More words than this are not kept: such a program is too long to be searched anyway.
const WORDS_MAX: usize = 1 << 24;

impl Footprints {
    /// `None`: there is one thread, or too much.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let code = &program.code;
        let numbers = Numbers::of(program);
        let words = numbers.names.saturating_add(program.names.buffers.len()) / 64 + 1;
        if program.setup.hosts < 2 || words.saturating_mul(code.len()) > WORDS_MAX {
            return None;
        }
        let mut own: Vec<Footprint> = code.iter().map(|instruction| numbers.footprint(instruction)).collect();
        own.push(Footprint::default());
        let next = closed(code, &own, is_call);
        let next_unskipped =
            closed(code, &own, |instruction| is_call(instruction) && !may_be_skipped(instruction));
        let ahead = closed(code, &own, |_| false);
        Some(Self { own, next, next_unskipped, ahead })
    }

    /// What the call at a place touches.
    pub(super) fn at(&self, place: usize) -> &Footprint {
        &self.own[place]
    }

    /// What the next turn of a thread may touch. `place`: the instruction that it comes to; `has_call`: it has a call from before;
    /// `is_any_absent`: a name stands for nothing.
    pub(super) fn next(&self, place: usize, has_call: bool, is_any_absent: bool) -> &Footprint {
        match (has_call, is_any_absent) {
            (true, _) => &self.own[place.saturating_sub(1)],
            (false, false) => &self.next[place],
            (false, true) => &self.next_unskipped[place],
        }
    }

    /// Whether a footprint conflicts with what a thread may still do.
    pub(super) fn conflicts(&self, footprint: &Footprint, place: usize, has_call: bool) -> bool {
        footprint.conflicts(&self.ahead[place])
            || has_call && footprint.conflicts(&self.own[place.saturating_sub(1)])
    }
}

/// Whether an instruction gives memory another name.
fn names_again(instruction: &Instruction) -> bool {
    let Instruction::Call { action, .. } = instruction else {
        return matches!(instruction, Instruction::View { .. });
    };
    matches!(action, Action::Import { into: ImportInto::Memory { .. }, .. })
}

fn is_call(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Call { .. } | Instruction::Spawn { .. } | Instruction::Exit { .. })
}

/// Whether a call is not made where memory that it names is not there.
fn may_be_skipped(instruction: &Instruction) -> bool {
    let Instruction::Call { action, .. } = instruction else { return false };
    match action {
        Action::Launch { uses, .. } => !uses.is_empty(),
        Action::Alloc { .. }
        | Action::Malloc { .. }
        | Action::Record { .. }
        | Action::Wait { .. }
        | Action::Sync(_)
        | Action::Query(_)
        | Action::Poll(_)
        | Action::Sleep(_)
        | Action::Trim { .. }
        | Action::Set { .. }
        | Action::Read { .. }
        | Action::Peek { .. }
        | Action::Signal(_)
        | Action::Await(_)
        | Action::Join(_)
        | Action::Barrier(_) => false,
        _ => true,
    }
}

/// The footprints from each instruction on, up to those where `ends` says so.
fn closed(code: &[Instruction], own: &[Footprint], ends: impl Fn(&Instruction) -> bool) -> Vec<Footprint> {
    let mut closed = own.to_vec();
    let mut has_grown = true;
    while has_grown {
        has_grown = false;
        for at in (0..code.len()).rev().filter(|at| !ends(&code[*at])) {
            let ways = match &code[at] {
                Instruction::Exit { .. } => [None, None],
                Instruction::Spawn { end, .. } | Instruction::Repeat { end, .. } => {
                    [Some(at + 1), Some(end + 1)]
                }
                Instruction::Otherwise { end, .. } => [Some(at + 1), Some(*end)],
                Instruction::Again { start, .. } => [Some(at + 1), Some(start + 1)],
                _ => [Some(at + 1), None],
            };
            for way in ways.into_iter().flatten() {
                let more = closed[way].clone();
                has_grown |= closed[at].add(&more);
            }
        }
    }
    closed
}

/// The numbers of things: memory, the progress of devices, the settings of pools, then streams, events, signals and names.
struct Numbers {
    events: usize,
    signals: usize,
    names: usize,
    /// Whether streams order each other by themselves, so that all of them are one thing.
    is_one_stream: bool,
    /// Whether memory may have several names, so that all names are one thing.
    is_one_name: bool,
    /// Whether a launch may have to wait for devices.
    may_launches_wait: bool,
}

const MEMORY: usize = 0;
const PROGRESS: usize = 1;
const SETTINGS: usize = 2;
const STREAMS: usize = 3;

impl Numbers {
    fn of(program: &Program) -> Self {
        let setup = &program.setup;
        let events = STREAMS + setup.streams.len();
        let signals = events + setup.events.len();
        Self {
            events,
            signals,
            names: signals + setup.signals,
            is_one_stream: setup.streams.iter().any(|stream| stream.kind == StreamKind::Legacy),
            is_one_name: program.code.iter().any(names_again),
            may_launches_wait: setup.host.queue_depth.is_some(),
        }
    }

    fn footprint(&self, instruction: &Instruction) -> Footprint {
        match instruction {
            Instruction::Call { action, .. } => self.of_action(action).unwrap_or(Footprint::everything()),
            Instruction::Address { of, .. } => {
                let mut footprint = Footprint::default();
                self.name(of, &mut footprint.looks).map_or(Footprint::everything(), |()| footprint)
            }
            Instruction::View { .. } => Footprint::everything(),
            Instruction::Let { .. }
            | Instruction::Otherwise { .. }
            | Instruction::Repeat { .. }
            | Instruction::Again { .. }
            | Instruction::Spawn { .. }
            | Instruction::Exit { .. } => Footprint::default(),
        }
    }

    /// `None`: everything.
    fn of_action(&self, action: &Action) -> Option<Footprint> {
        let mut footprint = Footprint::default();
        let Footprint { looks, changes, .. } = &mut footprint;
        match action {
            Action::Alloc { stream, buffer, .. } => {
                self.stream(stream, changes)?;
                self.name(buffer, changes)?;
                put(changes, MEMORY);
                put(changes, PROGRESS);
                put(looks, SETTINGS);
            }
            Action::Free { stream, buffer } => {
                self.stream(stream, changes)?;
                self.name(buffer, changes)?;
                put(changes, MEMORY);
                put(looks, SETTINGS);
            }
            Action::Launch { stream, takes, uses, .. } => {
                self.stream(stream, changes)?;
                uses.iter().try_for_each(|(place, access)| self.touches(place, *access, &mut footprint))?;
                let Footprint { changes, .. } = &mut footprint;
                if matches!(takes, Takes::Until(_)) {
                    return None;
                }
                if self.may_launches_wait {
                    put(changes, PROGRESS);
                }
            }
            Action::Record { stream, event } => {
                self.stream(stream, changes)?;
                self.event(event, changes)?;
            }
            Action::Wait { stream, event } => {
                self.stream(stream, changes)?;
                self.event(event, looks)?;
            }
            Action::Sync(target) => {
                self.target(target, looks)?;
                put(changes, MEMORY);
                put(changes, PROGRESS);
                put(looks, SETTINGS);
            }
            Action::Query(target) | Action::Poll(target) => {
                self.target(target, looks)?;
                put(changes, PROGRESS);
            }
            Action::Trim { .. } | Action::Set { .. } => {
                put(changes, MEMORY);
                put(changes, SETTINGS);
            }
            Action::Read { .. } | Action::Peek { .. } => {
                put(looks, MEMORY);
                put(changes, PROGRESS);
            }
            Action::Touch { at, access } => self.touches(at, *access, &mut footprint)?,
            Action::Signal(signal) => put(changes, self.signals + signal.index()),
            Action::Await(signal) => {
                put(looks, self.signals + signal.index());
                put(changes, PROGRESS);
            }
            Action::Sleep(_) | Action::Join(_) | Action::Compare { .. } => {}
            _ => return None,
        }
        Some(footprint)
    }

    fn stream(&self, stream: &Chosen<StreamId>, things: &mut Things) -> Option<()> {
        let stream = stream.index.is_none().then_some(stream.base)?;
        put(things, STREAMS + if self.is_one_stream { 0 } else { stream.index() });
        Some(())
    }

    fn event(&self, event: &Chosen<EventId>, things: &mut Things) -> Option<()> {
        let event = event.index.is_none().then_some(event.base)?;
        put(things, self.events + event.index());
        Some(())
    }

    fn name(&self, name: &Chosen<BufferId>, things: &mut Things) -> Option<()> {
        let name = name.index.is_none().then_some(name.base)?;
        put(things, self.names + if self.is_one_name { 0 } else { name.index() });
        Some(())
    }

    /// Whoever comes second is to blame, if one of the two writes.
    fn touches(&self, place: &Place, access: Access, footprint: &mut Footprint) -> Option<()> {
        let Footprint { looks, changes, .. } = footprint;
        self.name(&place.buffer, if access == Access::Read { looks } else { changes })
    }

    fn target(&self, target: &SyncTarget, things: &mut Things) -> Option<()> {
        match target {
            SyncTarget::Stream(stream) => self.stream(stream, things),
            SyncTarget::Event(event) => self.event(event, things),
            SyncTarget::Device(_) => None,
        }
    }
}
