//! What is wrong with a small program, found by trying out everything that may happen in it.
//!
//! It builds its own edges and walks through every state that a run may be in: how far the host is, and which operations have
//! been executed. Of two things one is before the other where no state has the other one without it. Nothing here knows how
//! Millpond finds the same.

use super::program::{Action, LEGACY, Operation, Small, Target, Thread, Use, are_one_queue};
use millpond::oracle::Certainty;
use millpond::trace::FindingKind;
use std::collections::BTreeSet;

/// Something that happens once: a call of the host returns, or an operation of a stream is executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// Of the line with this number.
    Call(usize),
    /// Of the line with this number.
    Execution(usize),
}

/// Happenings, a bit each: calls, then executions.
type Set = u32;

const EXECUTIONS: u32 = 16;

impl Happening {
    fn bit(self) -> Set {
        match self {
            Happening::Call(nth) => 1 << nth,
            Happening::Execution(nth) => 1 << (EXECUTIONS + nth as u32),
        }
    }
}

/// What orders one run, and not all of them, by the lines in the order of their calls.
#[derive(Default)]
pub(super) struct Luck {
    /// The queries that said that all is done.
    pub(super) succeeded: Vec<usize>,
    /// Frees whose memory went to an allocation by the timing or with a wait.
    pub(super) reused: Vec<(usize, usize)>,
}

/// What has to be there before each happening can be the next one.
pub(super) struct Edges {
    /// For each line: what its call waits for.
    calls: Vec<Set>,
    /// For each line: what its execution comes after; `None`: it puts nothing into a stream.
    executions: Vec<Option<Set>>,
}

impl Edges {
    /// The edges that the lines of a program make, and those of a run.
    pub(super) fn of(small: &Small, luck: &Luck) -> Self {
        let failed = failed_frees(small);
        let streams: Vec<Option<usize>> = small
            .operations
            .iter()
            .enumerate()
            .map(|(nth, operation)| operation.stream.filter(|_| !failed.contains(&nth)))
            .collect();
        // What is in the streams by the call of a line.
        let earlier = |nth: usize, is_meant: &dyn Fn(usize) -> bool| -> Set {
            let lines = (0..nth).filter(|line| streams[*line].is_some_and(is_meant));
            lines.map(|line| Happening::Execution(line).bit()).sum()
        };
        let latest_record = |nth: usize, event: usize| -> Set {
            let is_record =
                |line: &usize| matches!(small.operations[*line].action, Action::Record(of) if of == event);
            let record = (0..nth).rev().find(is_record);
            record.map_or(0, |line| Happening::Execution(line).bit())
        };
        let covered = |nth: usize, target: Target| match target {
            Target::Stream(stream) => {
                // Whoever waits for the legacy default stream waits for the blocking ones too.
                earlier(nth, &|other| other == stream || (stream == LEGACY && are_one_queue(other, stream)))
            }
            Target::Event(event) => latest_record(nth, event),
            Target::Device => earlier(nth, &|_| true),
        };
        let called = |nth: usize| -> Set { called_before(small, nth).map(Happening::bit).sum() };
        let signal = || {
            let is_signal = |operation: &Operation| matches!(operation.action, Action::Signal);
            small.operations.iter().position(is_signal).map_or(0, |line| Happening::Call(line).bit())
        };
        let calls = small.operations.iter().enumerate().map(|(nth, operation)| {
            called(nth)
                | match operation.action {
                    Action::Await => signal(),
                    Action::Sync(target) | Action::Poll(target) => covered(nth, target),
                    Action::Query(target) if luck.succeeded.contains(&nth) => covered(nth, target),
                    Action::Copy(_) => Happening::Execution(nth).bit(),
                    _ => 0,
                }
        });
        let executions = streams.iter().enumerate().map(|(nth, stream)| {
            let stream = (*stream)?;
            let waits_for = match small.operations[nth].action {
                Action::Wait(event) => latest_record(nth, event),
                _ => 0,
            };
            let queue = earlier(nth, &|other| are_one_queue(other, stream));
            // A call that waits for its own operation has not returned by then; the calls before it have.
            let call = match small.operations[nth].action {
                Action::Copy(_) => called(nth),
                _ => Happening::Call(nth).bit(),
            };
            let reused = luck.reused.iter().filter(|(_, alloc)| *alloc == nth);
            let freed: Set = reused.map(|(free, _)| happening(small, *free).bit()).sum();
            Some(queue | waits_for | call | freed)
        });
        Self { calls: calls.collect(), executions: executions.collect() }
    }

    /// What can happen next where these have happened.
    fn next(&self, happened: Set) -> impl Iterator<Item = Set> + '_ {
        let is_there = move |before: Set| before & !happened == 0;
        let calls = self.calls.iter().enumerate().filter_map(move |(nth, before)| {
            let new = Happening::Call(nth);
            (is_there(*before) && happened & new.bit() == 0).then_some(new)
        });
        let executions = self.executions.iter().enumerate().filter_map(move |(nth, before)| {
            let new = Happening::Execution(nth);
            (is_there((*before)?) && happened & new.bit() == 0).then_some(new)
        });
        calls.chain(executions).map(Happening::bit)
    }

    /// Everything that happens in a run.
    fn all(&self) -> Set {
        let executions = self.executions.iter().enumerate().filter(|(_, before)| before.is_some());
        let executions: Set = executions.map(|(nth, _)| Happening::Execution(nth).bit()).sum();
        executions | ((1 << self.calls.len()) - 1)
    }
}

/// What is before what, whatever the timing is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// For each happening: what has happened in every state that has it.
    with: Vec<Set>,
}

impl Order {
    /// By walking through all states.
    pub(super) fn by_states(edges: &Edges) -> Self {
        let mut order = Order { with: vec![edges.all(); Set::BITS as usize] };
        let (mut known, mut open) = (BTreeSet::from([0]), vec![0]);
        while let Some(state) = open.pop() {
            order.see(state);
            open.extend(edges.next(state).map(|new| state | new).filter(|next| known.insert(*next)));
        }
        assert!(known.contains(&edges.all()), "every program comes to its end");
        order
    }

    /// By listing every sequence of happenings one by one; `None`: there are more than `most`.
    pub(super) fn by_sequences(edges: &Edges, most: usize) -> Option<Self> {
        let mut order = Order { with: vec![edges.all(); Set::BITS as usize] };
        let mut left = most;
        order.go_on(edges, 0, &mut left).then_some(order)
    }

    fn go_on(&mut self, edges: &Edges, state: Set, left: &mut usize) -> bool {
        self.see(state);
        if state == edges.all() {
            let is_left = *left > 0;
            *left = left.saturating_sub(1);
            return is_left;
        }
        edges.next(state).all(|new| self.go_on(edges, state | new, left))
    }

    fn see(&mut self, state: Set) {
        for (bit, with) in self.with.iter_mut().enumerate() {
            if state & (1 << bit) != 0 {
                *with &= state;
            }
        }
    }

    pub(super) fn is_before(&self, one: Happening, other: Happening) -> bool {
        one != other && self.with[other.bit().trailing_zeros() as usize] & one.bit() != 0
    }
}

/// Something that is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    pub(super) kind: FindingKind,
    pub(super) certainty: Option<Certainty>,
    /// The line that is wrong.
    pub(super) line: usize,
    /// The name of the memory.
    pub(super) buffer: usize,
    /// What should be before what.
    pub(super) missing: Option<(Happening, Happening)>,
}

/// What happens to an allocation, by the lines.
#[derive(Default)]
struct Life {
    buffer: usize,
    /// `None`: it is always there.
    alloc: Option<usize>,
    uses: Vec<(usize, Use)>,
    free: Option<usize>,
    failed: Vec<usize>,
}

/// The calls before a line: a thread makes one after the other, and the second one begins where the first one started it.
fn called_before(small: &Small, nth: usize) -> impl Iterator<Item = Happening> + '_ {
    let thread = small.operations[nth].thread;
    let is_before = move |line: &usize| {
        let other = small.operations[*line].thread;
        other == Thread::Alone || other == thread
    };
    (0..nth).filter(is_before).map(Happening::Call)
}

/// What a line does happens in its stream, or by its call.
fn happening(small: &Small, line: usize) -> Happening {
    match small.operations[line].stream {
        Some(_) => Happening::Execution(line),
        None => Happening::Call(line),
    }
}

/// The line that frees what a line allocates.
pub(super) fn free_of(small: &Small, alloc: usize) -> Option<usize> {
    lives(small).into_iter().find(|life| life.alloc == Some(alloc))?.free
}

fn lives(small: &Small) -> Vec<Life> {
    let mut lives: Vec<Life> = Vec::new();
    for (nth, operation) in small.operations.iter().enumerate() {
        match &operation.action {
            Action::Alloc(buffer) => {
                lives.push(Life { buffer: *buffer, alloc: Some(nth), ..Life::default() });
            }
            Action::Free(buffer) => {
                let life = latest(&mut lives, *buffer);
                match life.free {
                    None => life.free = Some(nth),
                    Some(_) => life.failed.push(nth),
                }
            }
            _ => {
                for one in operation.uses() {
                    latest(&mut lives, one.buffer).uses.push((nth, *one));
                }
            }
        }
    }
    lives
}

/// The latest life of a buffer; the host's own has but one, without an allocation.
fn latest(lives: &mut Vec<Life>, buffer: usize) -> &mut Life {
    let at = lives.iter().rposition(|life| life.buffer == buffer).unwrap_or_else(|| {
        lives.push(Life { buffer, ..Life::default() });
        lives.len() - 1
    });
    &mut lives[at]
}

/// The lines that free what is freed already: such a call fails, and does nothing.
fn failed_frees(small: &Small) -> BTreeSet<usize> {
    lives(small).into_iter().flat_map(|life| life.failed).collect()
}

/// Everything that is wrong, in every pair, with the lines in the order of their calls.
pub(super) fn judge(small: &Small, luck: &Luck) -> BTreeSet<Fault> {
    let order = Order::by_states(&Edges::of(small, &Luck::default()));
    let of_run = Order::by_states(&Edges::of(small, luck));
    let mut judge = Judge { small, order, of_run, faults: BTreeSet::new() };
    for life in lives(small) {
        judge.window(&life);
        judge.races(&life);
    }
    judge.faults
}

struct Judge<'p> {
    small: &'p Small,
    order: Order,
    /// What is before what in the run.
    of_run: Order,
    faults: BTreeSet<Fault>,
}

impl Judge<'_> {
    /// Demands that one line is before another one.
    fn demand(&mut self, kind: FindingKind, buffer: usize, lines: (usize, usize)) {
        let [from, to] = [lines.0, lines.1].map(|line| happening(self.small, line));
        let is_late = kind == FindingKind::UseAfterFree && lines.0 > lines.1;
        if self.order.is_before(from, to) && !is_late {
            return;
        }
        let is_wrong =
            self.order.is_before(to, from) || (is_late && self.is_submitted_after(lines.0, lines.1));
        let is_lucky = !is_late && self.of_run.is_before(from, to);
        let has_certainty = !is_lucky && !matches!(kind, FindingKind::Race | FindingKind::HostRace);
        let certainty = if is_wrong { Certainty::Definite } else { Certainty::Possible };
        self.faults.insert(Fault {
            kind: if is_lucky { FindingKind::OrderedByLuck } else { kind },
            certainty: has_certainty.then_some(certainty),
            line: lines.0.max(lines.1),
            buffer,
            missing: Some((from, to)),
        });
    }

    /// Whether the call of a line begins once that of another one has returned, in whatever order the threads call.
    fn is_submitted_after(&self, line: usize, other: usize) -> bool {
        let other = Happening::Call(other);
        called_before(self.small, line).any(|call| call == other || self.order.is_before(other, call))
    }

    /// Every use is after the allocation and before the free, and its call is before that of the free.
    fn window(&mut self, life: &Life) {
        for (line, _) in &life.uses {
            if let Some(alloc) = life.alloc {
                self.demand(FindingKind::UseBeforeAlloc, life.buffer, (alloc, *line));
            }
            if let Some(free) = life.free {
                self.demand(FindingKind::UseAfterFree, life.buffer, (*line, free));
            }
        }
        if let (Some(alloc), Some(free)) = (life.alloc, life.free) {
            self.demand(FindingKind::FreeBeforeAlloc, life.buffer, (alloc, free));
        }
        for line in &life.failed {
            let kind = FindingKind::DoubleFree;
            self.faults.insert(Fault {
                kind,
                certainty: None,
                line: *line,
                buffer: life.buffer,
                missing: None,
            });
        }
    }

    /// Two uses of a byte, one of which writes, are ordered.
    fn races(&mut self, life: &Life) {
        for (nth, (later, one)) in life.uses.iter().enumerate() {
            for (earlier, other) in &life.uses[..nth] {
                let touch = one.part.0 < other.part.1 && other.part.0 < one.part.1;
                if earlier == later || !touch || !(one.writes || other.writes) {
                    continue;
                }
                let by_host =
                    [earlier, later].into_iter().any(|line| self.small.operations[*line].stream.is_none());
                let kind = if by_host { FindingKind::HostRace } else { FindingKind::Race };
                self.demand(kind, life.buffer, (*earlier, *later));
            }
        }
    }
}
