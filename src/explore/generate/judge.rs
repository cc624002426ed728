//! Whether the calls of a made-up scenario are in order: each use of memory after its allocation and before its free, and no two
//! of the same bytes apart of which one writes.
//!
//! It plays the calls one by one. What comes of it shares nothing with the analysis of a run, so that each can be held against
//! the other.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync`, `cuMemFreeAsync`; CUDA Programming Guide 4.3.2.1 and 4.3.2.2.

use super::clocks::{Clock, Clocks, Mark};
use super::program::{Call, Home, Program, Use};
use crate::trace::{Access, FindingKind};
use std::collections::BTreeMap;

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) kind: FindingKind,
    pub(super) statement: usize,
    /// The step of the other call that it is about.
    pub(super) since: usize,
    /// Whether it is so in every run, rather than in some.
    pub(super) is_certain: bool,
}

/// Bytes that were used.
#[derive(Clone, Copy, Debug)]
struct Touch {
    mark: Mark,
    part: (u64, u64),
    writes: bool,
    step: usize,
}

/// A buffer that lives.
#[derive(Clone, Debug)]
pub(super) struct Life {
    /// When it was allocated, and in which step; `None`: it is there all the time.
    allocated: Option<(Mark, usize)>,
    /// The statement that allocated it.
    pub(super) statement: usize,
    pool: Option<usize>,
    touches: Vec<Touch>,
    /// The parts that were written.
    written: Vec<(u64, u64)>,
}

impl Life {
    /// Whether each of these bytes was written.
    fn is_written(&self, (from, to): (u64, u64)) -> bool {
        let mut parts = self.written.clone();
        parts.sort_unstable();
        let reached = parts
            .iter()
            .filter(|part| part.1 > from)
            .fold(from, |reached, part| if part.0 <= reached { reached.max(part.1) } else { reached });
        reached >= to
    }

    /// Whether nothing was written to it.
    pub(super) fn is_blank(&self) -> bool {
        self.written.is_empty()
    }
}

/// The calls so far.
#[derive(Clone, Debug)]
pub(super) struct Judge {
    pub(super) clocks: Clocks,
    /// The buffers that live.
    lives: BTreeMap<usize, Life>,
    /// For each pool, what is before the memory that it may give again.
    given_back: BTreeMap<usize, Clock>,
    step: usize,
}

/// Who uses or frees memory.
#[derive(Clone, Copy, Debug)]
struct By {
    mark: Mark,
    statement: usize,
    step: usize,
}

impl Judge {
    pub(super) fn new(program: &Program) -> Self {
        let kinds = program.streams.iter().map(|stream| stream.kind).collect();
        let clocks = Clocks::new(kinds);
        let mut judge = Self { clocks, lives: BTreeMap::new(), given_back: BTreeMap::new(), step: 0 };
        for (number, buffer) in program.buffers.iter().enumerate() {
            if buffer.home == Home::Pinned {
                judge.lives.insert(number, Life { written: vec![(0, buffer.size)], ..blank(None, 0, None) });
            }
        }
        judge
    }

    /// How many calls there were.
    pub(super) fn step(&self) -> usize {
        self.step
    }

    /// A buffer, if it lives.
    pub(super) fn life(&self, buffer: usize) -> Option<&Life> {
        self.lives.get(&buffer)
    }

    /// What a use of a buffer, or its free, has to come after and does not, in a stream or at the host.
    pub(super) fn missing(
        &self,
        slot: usize,
        stream: Option<usize>,
        buffer: usize,
        used: Option<Use>,
    ) -> Option<Mark> {
        let life = self.lives.get(&buffer)?;
        let submitted = stream.map(|stream| self.clocks.before(slot, stream));
        let clock = submitted.as_ref().unwrap_or(self.clocks.host(slot));
        let touches = life.touches.iter().filter(|touch| used.is_none_or(|used| meet(touch, used)));
        let marks = life.allocated.map(|(mark, _)| mark).into_iter().chain(touches.map(|touch| touch.mark));
        // The latest one is ordered first, since others may be before it.
        marks.rev().find(|mark| !clock.has(*mark))
    }

    /// A call is made.
    pub(super) fn call(&mut self, slot: usize, call: &Call, statement: usize, wrong: &mut Vec<Wrong>) {
        self.step += 1;
        let now = self.clocks.call(slot);
        match call {
            Call::Alloc { stream, buffer, pool } => {
                let mut before = self.clocks.before(slot, *stream);
                if let Some(clock) = self.given_back.get(pool) {
                    before.join_perhaps(clock);
                }
                let mark = self.clocks.submit(slot, *stream, before);
                let life = blank(Some((mark, self.step)), statement, Some(*pool));
                self.lives.insert(*buffer, life);
            }
            Call::Malloc { buffer } => {
                self.lives.insert(*buffer, blank(Some((now, self.step)), statement, None));
            }
            Call::Free { stream, buffer } => self.free(slot, *stream, *buffer, statement, wrong),
            Call::Touch(used) => {
                let before = self.clocks.host(slot).clone();
                self.touch(*used, By { mark: now, statement, step: self.step }, &before, wrong);
            }
            Call::Wait { stream, event } => {
                let mut before = self.clocks.before(slot, *stream);
                if let Some(captured) = self.clocks.captured(slot, *event) {
                    before.join(captured);
                }
                self.clocks.submit(slot, *stream, before);
            }
            Call::Record { stream, event } => {
                let before = self.clocks.before(slot, *stream);
                self.clocks.submit(slot, *stream, before);
                self.clocks.record(slot, *stream, *event);
            }
            Call::Launch { .. } | Call::Copy { .. } | Call::Memset { .. } | Call::HostFunction { .. } => {
                self.operation(slot, call, statement, wrong);
            }
            call => self.meet(slot, call),
        }
    }

    /// A call that touches no memory.
    fn meet(&mut self, slot: usize, call: &Call) {
        match call {
            Call::Sync(target) | Call::Poll(target) => {
                let awaited = self.clocks.awaited(slot, *target);
                self.clocks.learn(slot, &awaited);
            }
            Call::Query(target) => {
                let awaited = self.clocks.awaited(slot, *target);
                self.clocks.learn_perhaps(slot, &awaited);
            }
            Call::Signal(signal) => self.clocks.signal(slot, *signal, None),
            Call::Await(signal) => self.clocks.receive(slot, *signal),
            Call::Spawn { slot: new, .. } => self.clocks.spawn(slot, *new),
            Call::Join { slot: ended, .. } => self.clocks.join(slot, *ended),
            _ => {}
        }
    }

    fn operation(&mut self, slot: usize, call: &Call, statement: usize, wrong: &mut Vec<Wrong>) {
        let Some(stream) = call.stream() else { return };
        let before = self.clocks.before(slot, stream);
        let mark = self.clocks.submit(slot, stream, before.clone());
        let by = By { mark, statement, step: self.step };
        for used in call.uses() {
            self.touch(used, by, &before, wrong);
        }
        if let Call::HostFunction { gives: Some(signal), .. } = call {
            self.clocks.signal(slot, *signal, Some(stream));
        }
    }

    fn touch(&mut self, used: Use, by: By, before: &Clock, wrong: &mut Vec<Wrong>) {
        let By { mark, statement, step } = by;
        let Some(life) = self.lives.get_mut(&used.buffer) else {
            wrong.push(Wrong { kind: FindingKind::UseAfterFree, statement, since: step, is_certain: true });
            return;
        };
        let mut demand = |kind, other: Mark, since| {
            if !before.has(other) {
                wrong.push(Wrong { kind, statement, since, is_certain: !before.may_have(other) });
            }
        };
        if let Some((allocated, since)) = life.allocated {
            demand(FindingKind::UseBeforeAlloc, allocated, since);
        }
        let is_host = |mark| self.clocks.stream_of(mark).is_none();
        for touch in life.touches.iter().filter(|touch| meet(touch, used)) {
            let of_host = is_host(touch.mark) || is_host(mark);
            let kind = if of_host { FindingKind::HostRace } else { FindingKind::Race };
            demand(kind, touch.mark, touch.step);
        }
        let (writes, reads) = (used.access != Access::Read, used.access == Access::Read);
        if reads && !life.is_written(used.part) {
            let kind = FindingKind::UninitialisedRead;
            wrong.push(Wrong { kind, statement, since: step, is_certain: true });
        }
        if writes && !life.is_written(used.part) {
            life.written.push(used.part);
        }
        // What is before this one, and conflicts with no more than it does, says nothing beside it.
        let says_more = |touch: &Touch| {
            let covers = used.part.0 <= touch.part.0 && touch.part.1 <= used.part.1;
            !covers || touch.writes && !writes || !before.has(touch.mark)
        };
        life.touches.retain(says_more);
        life.touches.push(Touch { mark, part: used.part, writes, step });
    }

    fn free(
        &mut self,
        slot: usize,
        stream: Option<usize>,
        buffer: usize,
        statement: usize,
        wrong: &mut Vec<Wrong>,
    ) {
        let Some(life) = self.lives.remove(&buffer) else {
            let (kind, since) = (FindingKind::DoubleFree, self.step);
            wrong.push(Wrong { kind, statement, since, is_certain: true });
            return;
        };
        let before = match stream {
            Some(stream) => self.clocks.before(slot, stream),
            None => self.clocks.host(slot).clone(),
        };
        let touches = life.touches.iter().map(|touch| (touch.mark, touch.step));
        let touches = touches.map(|(mark, step)| (FindingKind::UseAfterFree, mark, step));
        let allocated = life.allocated.map(|(mark, step)| (FindingKind::FreeBeforeAlloc, mark, step));
        for (kind, mark, since) in allocated.into_iter().chain(touches) {
            if !before.has(mark) {
                wrong.push(Wrong { kind, statement, since, is_certain: !before.may_have(mark) });
            }
        }
        let Some(stream) = stream else { return };
        self.clocks.submit(slot, stream, before);
        if let Some(pool) = life.pool {
            let after = self.clocks.before(slot, stream);
            let empty = self.clocks.empty();
            self.given_back.entry(pool).or_insert(empty).join(&after);
        }
    }
}

fn blank(allocated: Option<(Mark, usize)>, statement: usize, pool: Option<usize>) -> Life {
    Life { allocated, statement, pool, touches: Vec::new(), written: Vec::new() }
}

/// Whether a use meets an earlier one: they have bytes in common, and one of them writes.
fn meet(touch: &Touch, used: Use) -> bool {
    let writes = touch.writes || used.access != Access::Read;
    writes && touch.part.0 < used.part.1 && used.part.0 < touch.part.1
}
