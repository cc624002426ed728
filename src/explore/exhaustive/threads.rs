//! Which host threads have to be tried at a point.

use super::branches::{Branches, Led};
use crate::base::HostId;
use crate::model::Allocator;
use crate::scenario::{Action, Instruction, Program};

/// What is known about the threads of a program before it runs.
#[derive(Debug)]
pub(super) struct Threads {
    /// Whether a call may ask about any operation, and not only about frees.
    pub(super) asks_about_all: bool,
    hosts: Vec<HostId>,
}

impl Threads {
    pub(super) fn new(program: &Program) -> Self {
        let asks = |instruction: &Instruction| {
            matches!(instruction, Instruction::Call { action, .. } if asks_about_all(action))
        };
        Self { asks_about_all: program.code.iter().any(asks), hosts: Vec::new() }
    }

    /// The threads whose turns have to be tried; none where nobody can go on, `None` where all of them have ended.
    pub(super) fn to_try<A: Allocator>(
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
        Some(&self.hosts)
    }
}

/// Whether its answer may hang on any operation.
fn asks_about_all(action: &Action) -> bool {
    match action {
        Action::Query(_) | Action::Elapsed { .. } | Action::Graph(_) | Action::Collective { .. } => true,
        Action::HostFunction { gives, .. } => gives.is_some(),
        Action::Launch { takes, .. } => matches!(takes, crate::trace::Takes::Until(_)),
        _ => false,
    }
}
