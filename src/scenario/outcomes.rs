//! Expectations about how calls ended: which call a line means, and what a run remembers for such lines and others.
//!
//! What is expected of a call is the oracle's affair.

use super::check::Checker;
use super::names::{Kind, Meaning, Missing};
use super::{Action, Called, Demand, Expect, Instruction, Program};
use crate::base::{BufferId, StmtId, reuse_on_clone};
use crate::syntax::ast::{Name, Path};
use crate::trace::{Ended, Failure, Ticket};
use smallvec::SmallVec;

impl Checker<'_> {
    pub(super) fn fails(&mut self, stmt: StmtId, call: &Path, not: bool, error: Option<&Name>) {
        let call = self.called(call);
        let failure = error.map(|error| self.failure(error));
        let (Some(call), None | Some(Some(_))) = (call, failure) else { return };
        let expect = self.expects.push(Expect::new(stmt, Demand::Fails { not, failure: failure.flatten() }));
        self.code.push(Instruction::Call { stmt, action: Action::ExpectEnded { expect, call } });
    }

    /// The call with a label, or the one that allocates a buffer.
    fn called(&mut self, path: &Path) -> Option<Called> {
        const WANTED: [Kind; 3] = [Kind::CallLabel, Kind::Label, Kind::Buffer];
        let segment = self.only_segment(path, Kind::Label)?;
        let name = &segment.name.text;
        let is_buffer = match self.table.get(name) {
            Some(binding) => binding.kind == Kind::Buffer,
            None => matches!(self.table.missing(name), Missing::Later(Kind::Buffer, _)),
        };
        if is_buffer {
            return self.buffer(path).map(Called::Allocation);
        }
        match self.resolve(&segment.name, &WANTED)? {
            Meaning::Label(stmt) | Meaning::CallLabel(stmt) => {
                self.no_index(segment)?;
                Some(Called::Statement(stmt))
            }
            _ => None,
        }
    }
}

/// How the latest calls of statements and allocations of names ended, as far as expectations ask.
#[derive(Debug)]
pub(super) struct Outcomes {
    /// By statement; empty where no expectation asks.
    statements: Vec<Ended>,
    /// By name, with the statement; empty where no expectation asks.
    allocations: Vec<Option<(StmtId, Ended)>>,
    /// By name, what the stream of its latest allocation was made to wait for; empty where no expectation asks.
    waits: Vec<Waits>,
}

type Waits = SmallVec<[Ticket; 2]>;

reuse_on_clone!(Outcomes { statements, allocations, waits });

impl Outcomes {
    /// Before the first call.
    pub(super) fn new(program: &Program) -> Self {
        let (mut statements, mut allocations, mut waits) = (0, 0, 0);
        for instruction in &program.code {
            let Instruction::Call { action, .. } = instruction else { continue };
            match action {
                Action::ExpectEnded { call: Called::Statement(_), .. } => {
                    statements = program.statements.len();
                }
                Action::ExpectEnded { call: Called::Allocation(_), .. } => {
                    allocations = program.names.buffers.len();
                }
                Action::Relate { .. } => waits = program.names.buffers.len(),
                _ => {}
            }
        }
        Self {
            statements: vec![Ended::NotMade; statements],
            allocations: vec![None; allocations],
            waits: vec![Waits::new(); waits],
        }
    }

    /// A statement was skipped.
    pub(super) fn skipped(&mut self, stmt: StmtId) {
        if let Some(ended) = self.statements.get_mut(stmt.index()) {
            *ended = Ended::Skipped;
        }
    }

    /// A call of a statement was answered; where it allocates, that is the latest allocation of this name.
    pub(super) fn answered(&mut self, stmt: StmtId, names: Option<BufferId>, failed: Option<Failure>) {
        let ended = failed.map_or(Ended::Succeeded, Ended::Failed);
        if let Some(latest) = self.statements.get_mut(stmt.index()) {
            *latest = ended;
        }
        if let Some(latest) = names.and_then(|name| self.allocations.get_mut(name.index())) {
            *latest = Some((stmt, ended));
        }
    }

    /// An allocation of this name has made its stream wait for these.
    pub(super) fn placed(&mut self, name: BufferId, waits: &Waits) {
        if let Some(latest) = self.waits.get_mut(name.index()) {
            latest.clone_from(waits);
        }
    }

    /// What the stream of the latest allocation of a name was made to wait for.
    pub(super) fn waits_of(&self, name: BufferId) -> &[Ticket] {
        &self.waits[name.index()]
    }

    /// How the latest call of a statement ended.
    pub(super) fn of_statement(&self, stmt: StmtId) -> (Option<StmtId>, Ended) {
        match self.statements[stmt.index()] {
            Ended::NotMade => (None, Ended::NotMade),
            ended => (Some(stmt), ended),
        }
    }

    /// How the latest allocation of a name ended.
    pub(super) fn of_allocation(&self, name: BufferId) -> (Option<StmtId>, Ended) {
        self.allocations[name.index()].map_or((None, Ended::NotMade), |(stmt, ended)| (Some(stmt), ended))
    }
}
