//! What is before one point of a run: a clock, which an access asks for one counter.
//!
//! A clock counts, for each stream and each host thread, how many of its operations or calls are before a point, and it does so
//! twice: whatever the timing is, and in this run. What comes to be before a point only later stands in it as a gate.

use crate::base::reuse_on_clone;
use crate::trace::Cut;

/// A point of a run: the `at`-th operation of a stream, or call of a host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    /// The stream; a host thread comes after all streams.
    pub(super) agent: u32,
    /// Counted from 1.
    pub(super) at: u32,
}

/// Something that will come to be before operations that are submitted already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gate(pub(super) u32);

/// How a point stands to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stands {
    /// It is before it, whatever the timing is.
    Before,
    /// It is before it in this run.
    ByLuck,
    /// Nothing orders the two.
    Apart,
}

/// What is before a point.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// What is before it whatever the timing is, and then the same in this run.
    counters: Vec<u32>,
    /// What else will be, once these are known.
    pub(super) gates: Vec<Gate>,
}

reuse_on_clone!(Clock { counters, gates });

impl Clock {
    pub(super) fn new(width: usize) -> Self {
        Self { counters: vec![0; 2 * width], gates: Vec::new() }
    }

    pub(super) fn width(&self) -> usize {
        self.counters.len() / 2
    }

    /// How a point stands to this one.
    #[inline]
    pub(super) fn stands(&self, mark: Mark) -> Stands {
        let agent = mark.agent as usize;
        if self.counters[agent] >= mark.at {
            return Stands::Before;
        }
        match self.counters[self.width() + agent] >= mark.at {
            true => Stands::ByLuck,
            false => Stands::Apart,
        }
    }

    /// Whether a point is before this one, whatever the timing is.
    #[inline]
    pub(super) fn has(&self, mark: Mark) -> bool {
        self.counters[mark.agent as usize] >= mark.at
    }

    /// Whether a point is before this one in this run.
    #[inline]
    pub(super) fn has_here(&self, mark: Mark) -> bool {
        self.counters[self.width() + mark.agent as usize] >= mark.at
    }

    #[inline(always)]
    pub(super) fn set(&mut self, mark: Mark) {
        let (agent, width) = (mark.agent as usize, self.width());
        self.counters[agent] = mark.at;
        self.counters[width + agent] = mark.at;
    }

    /// The same for two.
    #[inline(always)]
    pub(super) fn set_both(&mut self, one: Mark, other: Mark) {
        let width = self.width();
        let (always, here) = self.counters.split_at_mut(width);
        let here = &mut here[..width];
        let (first, second) = (one.agent as usize, other.agent as usize);
        (always[first], here[first]) = (one.at, one.at);
        (always[second], here[second]) = (other.at, other.at);
    }

    /// Joins another one.
    pub(super) fn join(&mut self, other: &Clock) {
        join(&mut self.counters, &other.counters);
        for gate in &other.gates {
            if !self.gates.contains(gate) {
                self.gates.push(*gate);
            }
        }
    }

    /// Joins another one for this run alone.
    pub(super) fn join_here(&mut self, other: &[u32]) {
        let width = self.width();
        join(&mut self.counters[width..], other);
    }

    /// Whether everything in another one is in this one in this run.
    pub(super) fn covers_here(&self, other: &[u32]) -> bool {
        self.here().iter().zip(other).all(|(own, other)| own >= other)
    }

    /// What is before it in this run.
    pub(super) fn here(&self) -> &[u32] {
        &self.counters[self.width()..]
    }

    /// Whether everything in another one is in this one, whatever the timing is.
    pub(super) fn covers(&self, other: &Clock) -> bool {
        let width = self.width();
        self.counters[..width].iter().zip(&other.counters[..width]).all(|(own, other)| own >= other)
            && other.gates.iter().all(|gate| self.gates.contains(gate))
    }

    /// Whether each operation in it is within a cut.
    pub(super) fn is_within(&self, cut: &Cut) -> bool {
        self.counters.iter().zip(cut).all(|(own, cut)| own <= cut)
    }

    pub(super) fn copy(&mut self, other: &Clock) {
        self.counters.copy_from_slice(&other.counters);
        if !(self.gates.is_empty() && other.gates.is_empty()) {
            self.gates.clone_from(&other.gates);
        }
    }
}

/// Joins `from` into `into`.
fn join(into: &mut [u32], from: &[u32]) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

/// A clock that was behind a gate has now what was before the gate; says whether it was.
pub(super) fn pass(clock: &mut Clock, gate: Gate, all: &Clock) -> bool {
    let before = clock.gates.len();
    clock.gates.retain(|other| *other != gate);
    let was_behind = clock.gates.len() != before;
    if was_behind {
        clock.join(all);
    }
    was_behind
}
