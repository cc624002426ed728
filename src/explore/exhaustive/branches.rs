//! How far devices may have got at a call, as far as that makes a difference: the cuts that an exploration goes on with.
//!
//! A cut that it goes on with is the least one, or one of several least ones, with which the call is answered so. What a run
//! with a later cut does from there on, a run with the least one can do too, since devices may get on before the next call; and
//! each is a run by itself, in which devices had got exactly so far. So nothing has to be remembered of what was *not* complete,
//! not even after a query that found nothing: the next call may find more.

use super::Keeps;
use super::frontier::{Frontier, Untimed};
use crate::base::HostId;
use crate::engine::{Asks, Cuts, Progress, Stop, Walk};
use crate::model::Allocator;
use crate::scenario::Program;
use crate::trace::{Cut, Nothing, Sink};

/// The walk of an exploration.
pub(super) type Led<A> = Walk<A, Frontier, Untimed, Nothing>;

/// More cuts than this at one call are too many to go through.
const CUTS_MAX: usize = 1 << 14;

/// Finds the cuts at a call. Kept, so that no memory is asked for at each.
#[derive(Debug, Default)]
pub(super) struct Branches {
    asks: Asks,
    /// What has to be looked at.
    reachable: Cuts,
    answers: Vec<u64>,
}

/// There are too many cuts at one call.
pub(super) struct TooMany;

impl Branches {
    /// For a search that keeps this.
    pub(super) fn new(keeps: Keeps) -> Self {
        let mut branches = Self::default();
        branches.asks.is_judged = keeps == Keeps::Decisions;
        branches
    }

    /// Whether, of the latest call that was asked about, a judge can tell apart more than its answer does.
    pub(super) fn only_judged(&self) -> bool {
        self.asks.only_judged
    }

    /// The cuts that make a difference to the next call of a host, beginning with the floor where that is one; none where the call
    /// cannot go on, or is answered alike however far devices have got.
    pub(super) fn of<A: Allocator>(
        &mut self,
        walk: &mut Led<A>,
        host: HostId,
        into: &mut Cuts,
    ) -> Result<(), TooMany> {
        walk.asks(host, &mut self.asks);
        let Asks { is_held, ways, alone, together, .. } = &self.asks;
        let floor = walk.progress().done();
        into.clear(floor.len());
        if !is_held && alone.is_empty() && together.is_empty() {
            return Ok(());
        }
        match is_held {
            false => into.push(floor),
            true => ways.iter().for_each(|way| into.push_joined(floor, way)),
        }
        if into.is_empty() || alone.is_empty() && together.is_empty() {
            return Ok(());
        }
        self.lattice(into)?;
        std::mem::swap(into, &mut self.reachable);
        into.clear(self.reachable.get(0).len());
        self.answers.clear();
        for at in 0..self.reachable.len() {
            let cut = self.reachable.get(at);
            let foretold = if self.asks.only_judged { None } else { walk.foretell(host, cut) };
            match foretold {
                None => into.push(cut),
                Some(answer) => keep_least(cut, answer, into, &mut self.answers),
            }
        }
        Ok(())
    }

    /// Nobody can go on, however far devices get: they get to the end of what they have, and it is told who waits for whom.
    pub(super) fn hang<A: Allocator, S: Sink>(
        walk: &mut Walk<A, Frontier, Untimed, S>,
        program: &Program,
    ) -> Stop {
        walk.progress().reach_all();
        walk.advance();
        walk.hang(program)
    }

    /// Whether the next call of a host, or the one that blocks it, can go on as soon as devices let it.
    pub(super) fn can_go_on<A: Allocator, S: Sink>(
        &mut self,
        walk: &mut Walk<A, Frontier, Untimed, S>,
        host: HostId,
    ) -> bool {
        if !walk.is_blocked(host) {
            return true;
        }
        walk.asks(host, &mut self.asks);
        !self.asks.is_held || !self.asks.ways.is_empty()
    }

    /// Adds what can be complete by then beyond each of the cuts.
    fn lattice(&self, cuts: &mut Cuts) -> Result<(), TooMany> {
        let Asks { alone, together, .. } = &self.asks;
        let from = cuts.len();
        for any in together.iter() {
            let is_settled = |one: &Cut| is_within(one, any, cuts.get(0));
            if alone.iter().any(is_settled) {
                continue;
            }
            for at in 0..cuts.len() {
                cuts.push_join_of(at, any);
            }
            if cuts.len() > CUTS_MAX {
                return Err(TooMany);
            }
        }
        for one in alone.iter() {
            for at in 0..from {
                cuts.push_join_of(at, one);
            }
        }
        Ok(())
    }
}

/// Whether a cut is within the join of two others.
fn is_within(cut: &Cut, one: &Cut, other: &Cut) -> bool {
    cut.iter().zip(one.iter().zip(other)).all(|(cut, (one, other))| cut <= one.max(other))
}

/// Adds a cut with its answer, unless a lesser one has that answer; those that are greater go.
fn keep_least(cut: &Cut, answer: u64, cuts: &mut Cuts, answers: &mut Vec<u64>) {
    let mut at = 0;
    while at < answers.len() {
        if answers[at] == answer {
            if is_within(cuts.get(at), cut, cut) {
                return;
            }
            if is_within(cut, cuts.get(at), cuts.get(at)) {
                cuts.swap_remove(at);
                answers.swap_remove(at);
                continue;
            }
        }
        at += 1;
    }
    cuts.push(cut);
    answers.push(answer);
}
