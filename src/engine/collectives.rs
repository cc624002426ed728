//! Collectives: operations of several streams that start when every one of them could, and run equally long.
//!
//! The parts of one stream belong to one round after the other. It must not know why a part could start.

use crate::base::{CollectiveId, IndexVec, reuse_on_clone};
use crate::trace::{CollectiveSetup, Law, Setup, Ticket};
use std::collections::VecDeque;

/// The collectives of a run.
#[derive(Debug)]
pub(super) struct Collectives {
    all: IndexVec<CollectiveId, Collective>,
}

#[derive(Debug)]
struct Collective {
    setup: CollectiveSetup,
    /// The rounds from the first one that has not started, and the number of that one.
    rounds: VecDeque<Round>,
    first: u32,
    /// Every round before this one has all its parts.
    open: u32,
    /// For each stream, the round after the one of its last part.
    next: Vec<u32>,
}

/// Parts that run together.
#[derive(Debug, Default)]
struct Round {
    submitted: Vec<Ticket>,
    waiting: Vec<Ticket>,
    has_started: bool,
}

reuse_on_clone!(Collectives { all });
reuse_on_clone!(Collective { setup, rounds, first, open, next });
reuse_on_clone!(Round { submitted, waiting, has_started });

impl Collectives {
    pub(super) fn new(setup: &Setup) -> Self {
        let collective = |setup: &CollectiveSetup| Collective {
            setup: *setup,
            rounds: VecDeque::new(),
            first: 0,
            open: 0,
            next: Vec::new(),
        };
        Self { all: setup.collectives.iter().map(collective).collect() }
    }

    /// A part is submitted: the round that it belongs to is the first one with room that has none of its stream.
    pub(super) fn submit(&mut self, collective: CollectiveId, part: Ticket) -> u32 {
        let Collective { setup, rounds, first, open, next } = &mut self.all[collective];
        let stream = part.stream.index();
        if next.len() <= stream {
            next.resize(stream + 1, 0);
        }
        let has_room = |round: &Round| round.submitted.len() < setup.parts as usize;
        // The rounds before that of its last part had no room for that one, and have none now.
        let from = next[stream].max(*open).max(*first) - *first;
        let later = rounds.iter().skip(from as usize).position(has_room);
        let at = later.map_or(rounds.len(), |later| from as usize + later);
        if at == rounds.len() {
            rounds.push_back(Round::default());
        }
        rounds[at].submitted.push(part);
        next[stream] = *first + at as u32 + 1;
        let is_full = |open: u32| rounds.get((open - *first) as usize).is_some_and(|round| !has_room(round));
        *open = (*open).max(*first);
        while is_full(*open) {
            *open += 1;
        }
        *first + at as u32
    }

    /// A part could start. When it is the last one of its round, all of them, in the order in which they came to wait.
    pub(super) fn ready(&mut self, collective: CollectiveId, round: u32, part: Ticket) -> Vec<Ticket> {
        let Collective { setup, rounds, first, .. } = &mut self.all[collective];
        let round = &mut rounds[(round - *first) as usize];
        round.waiting.push(part);
        if round.waiting.len() < setup.parts as usize {
            return Vec::new();
        }
        round.has_started = true;
        let together = std::mem::take(&mut round.waiting);
        // Among more streams than a round has parts, a later round may start before an earlier one.
        while rounds.front().is_some_and(|round| round.has_started) {
            rounds.pop_front();
            *first += 1;
        }
        together
    }

    /// The parts of a round that has not started; `Some(None)`: some of them are not submitted.
    pub(super) fn parts(&self, collective: CollectiveId, round: u32) -> Option<Option<&[Ticket]>> {
        let Collective { setup, rounds, first, .. } = &self.all[collective];
        let round = rounds.get(round.checked_sub(*first)? as usize).filter(|round| !round.has_started)?;
        Some((round.submitted.len() == setup.parts as usize).then_some(&round.submitted))
    }

    /// How long the parts of a round run.
    pub(super) fn takes(&self, collective: CollectiveId) -> Law {
        self.all[collective].setup.takes
    }

    /// The rounds of which some parts wait: those parts, all that are submitted, and the collective if some are not.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (&[Ticket], &[Ticket], Option<CollectiveId>)> {
        let rounds = self.all.iter_enumerated().flat_map(|(id, collective)| {
            let lacks = |round: &Round| round.submitted.len() < collective.setup.parts as usize;
            collective.rounds.iter().map(move |round| (round, lacks(round).then_some(id)))
        });
        let waiting = rounds.filter(|(round, _)| !round.waiting.is_empty());
        waiting.map(|(round, lacks)| (round.waiting.as_slice(), round.submitted.as_slice(), lacks))
    }
}
