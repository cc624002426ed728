//! Which host threads have to be tried at a point.

use super::branches::{Branches, Led};
use super::footprints::{Footprint, Footprints};
use crate::base::HostId;
use crate::model::Allocator;
use crate::scenario::{Action, Handle, Instruction, Program};
use crate::trace::Takes;

/// What is known about the threads of a program before it runs.
#[derive(Debug)]
pub(super) struct Threads {
    /// Whether a call may ask about any operation, and not only about frees.
    pub(super) asks_about_all: bool,
    /// Whether what devices do after the last call makes a difference.
    pub(super) ends_matter: bool,
    footprints: Option<Footprints>,
    /// Of a call of which nothing is known.
    unknown: Footprint,
    are_several: bool,
    hosts: Vec<HostId>,
}

impl Threads {
    pub(super) fn new(program: &Program) -> Self {
        let has = |is_meant: fn(&Action) -> bool| {
            let is_one = |instruction: &Instruction| matches!(instruction, Instruction::Call { action, .. } if is_meant(action));
            program.code.iter().any(is_one)
        };
        let (asks_about_all, ends_matter) = (has(asks_about_all), has(may_hang_or_end));
        Self {
            asks_about_all,
            ends_matter,
            footprints: Footprints::of(program),
            unknown: Footprint::everything(),
            are_several: program.setup.hosts > 1,
            hosts: Vec::new(),
        }
    }

    /// What the latest call of a thread touches, whose cursor stands at a place. `None`: there is only one thread.
    pub(super) fn footprint(&self, place: usize) -> Option<&Footprint> {
        let known = self.footprints.as_ref();
        let footprint = known.map_or(&self.unknown, |known| known.at(place.saturating_sub(1)));
        self.are_several.then_some(footprint)
    }

    /// The threads whose turns have to be tried; none where nobody can go on, `None` where all of them have ended.
    pub(super) fn candidates<A: Allocator>(
        &mut self,
        walk: &mut Led<A>,
        branches: &mut Branches,
    ) -> Option<&[HostId]> {
        self.hosts.clear();
        self.hosts.extend_from_slice(walk.alive());
        if self.hosts.is_empty() {
            return None;
        }
        self.hosts.retain(|host| branches.can_go_on(walk, *host));
        if let Some(apart) = self.apart(walk) {
            self.hosts.clear();
            self.hosts.push(apart);
        }
        Some(&self.hosts)
    }

    /// A thread whose next turn comes to the same whatever the others do before it, and so may come first. Whoever is left out
    /// here is tried later, and a run has only so many turns, so that nobody is left out for ever.
    fn apart<A: Allocator>(&self, walk: &Led<A>) -> Option<HostId> {
        let footprints =
            self.footprints.as_ref().filter(|_| self.hosts.len() > 1 || walk.alive().len() > 1)?;
        let is_any_absent = walk.cursor().is_any_absent();
        let place = |host: HostId| (walk.cursor().place(host).0, walk.is_blocked(host));
        let is_apart = |host: &&HostId| {
            let (at, has_call) = place(**host);
            let next = footprints.next(at, has_call, is_any_absent);
            let mut others = walk.alive().iter().filter(|other| *other != *host);
            others.all(|other| {
                let (at, has_call) = place(*other);
                !footprints.conflicts(next, at, has_call)
            })
        };
        self.hosts.iter().find(is_apart).copied()
    }
}

/// Whether an operation of it may never complete, or a pool may go once all have.
fn may_hang_or_end(action: &Action) -> bool {
    match action {
        Action::Launch { takes, .. } | Action::HostFunction { takes, .. } => matches!(takes, Takes::Until(_)),
        Action::Collective { .. } | Action::Destroy(Handle::Pool(_)) | Action::Graph(_) => true,
        _ => false,
    }
}

/// Whether its answer may hang on any operation.
fn asks_about_all(action: &Action) -> bool {
    match action {
        Action::Query(_) | Action::Elapsed { .. } | Action::Graph(_) | Action::Collective { .. } => true,
        Action::HostFunction { gives, .. } => gives.is_some(),
        Action::Launch { takes, .. } => matches!(takes, Takes::Until(_)),
        _ => false,
    }
}
