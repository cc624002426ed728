//! Everything that is found to be wrong with a program, whoever found it, and what `expect` lines say about it.
//!
//! One list: each finding stands in it once, by its kind and its statements, with how often it was. What a finding looks
//! like is the report's affair; whether there is one, that of who adds it.

use super::verdict::Mismatch;
use crate::base::{BufferId, HostId, StmtId};
use crate::scenario::{Demand, Expect};
use crate::trace::{AllocId, FindingKind, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// Something that is wrong with the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// Whether it happens whatever the timing is; `None`: the kind is always so or so.
    pub certainty: Option<Certainty>,
    /// The statement that is wrong: of several the one that was called last.
    pub stmt: StmtId,
    /// The other statements that it is about; `None`: there was none by then.
    pub others: Vec<(Role, Option<StmtId>)>,
    /// What the first memory that it is about is called where that statement stands.
    pub name: Option<BufferId>,
    /// How often.
    pub times: u64,
    /// The order that is missing, the first time.
    pub missing: Option<Missing>,
    /// The line that expects it: an `expect`, or the statement itself where it says that it fails.
    pub expected: Option<StmtId>,
    /// How often it is about the memory of each name.
    names: BTreeMap<BufferId, u64>,
}

/// Whether a finding happens whatever the timing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// It depends on the timing.
    Possible,
    /// It does not: the order is the wrong one, rather than none.
    Definite,
}

impl Certainty {
    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Certainty::Possible => "possible",
            Certainty::Definite => "definite",
        }
    }
}

/// An order that is missing: the first one should come before the second one, whatever the timing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What should come first.
    pub from: Moment,
    /// What should come after it.
    pub to: Moment,
    /// The memory that both are about, as the second one knows it.
    pub alloc: Option<AllocId>,
}

/// What happens at one point of a run, by what statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// The statement.
    pub stmt: StmtId,
    /// The point.
    pub point: Point,
}

/// A point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// An operation of a stream.
    Operation(Ticket),
    /// A call of a host thread that happens at once: its how manyeth, counted from 1.
    Host(HostId, u32),
}

/// What another statement of a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// The allocation of the memory.
    Allocation,
    /// A use of it.
    Use,
    /// A free of it.
    Free,
    /// The allocation that has got the same bytes.
    Reuse,
    /// The record that is replaced, or whose order is there already.
    Record,
    /// The synchronise that gives memory back.
    Synchronise,
    /// What has destroyed it.
    Destroy,
    /// The import of the memory.
    Import,
    /// The free of that import.
    FreeOfImport,
}

impl Role {
    /// The word of reports for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Allocation => "allocation",
            Role::Use => "use",
            Role::Free => "free",
            Role::Reuse => "reuse",
            Role::Record => "record",
            Role::Synchronise => "synchronise",
            Role::Destroy => "destroy",
            Role::Import => "import",
            Role::FreeOfImport => "free_of_import",
        }
    }
}

impl Finding {
    /// All names of memory that it is about, those of each process.
    pub fn names(&self) -> impl Iterator<Item = BufferId> + '_ {
        self.names.keys().copied()
    }

    fn is_at(&self, stmt: StmtId) -> bool {
        self.stmt == stmt || self.others.iter().any(|(_, other)| *other == Some(stmt))
    }

    /// How often it is what a line speaks of.
    fn meets(&self, kind: FindingKind, on: Option<BufferId>, at: Option<StmtId>) -> u64 {
        if self.kind != kind || at.is_some_and(|at| !self.is_at(at)) {
            return 0;
        }
        on.map_or(self.times, |name| self.names.get(&name).copied().unwrap_or(0))
    }
}

/// Something that was found, once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub(super) kind: FindingKind,
    pub(super) certainty: Option<Certainty>,
    pub(super) stmt: StmtId,
    pub(super) others: &'a [(Role, Option<StmtId>)],
    /// The first name is that of the memory where the statement stands.
    pub(super) names: &'a [Option<BufferId>],
    pub(super) missing: Option<Missing>,
    pub(super) times: u64,
}

/// What tells a finding from others: two of the same kind and the same statements are one.
type Identity = (FindingKind, StmtId, Vec<(Role, Option<StmtId>)>);

/// The findings of a run so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    found: Vec<Finding>,
    /// Where each of them is.
    known: BTreeMap<Identity, usize>,
}

impl Findings {
    /// Adds one.
    pub(super) fn add(&mut self, new: Found<'_>) {
        let Found { kind, certainty, stmt, others, names, missing, times } = new;
        let identity = (kind, stmt, others.to_vec());
        let nth = *self.known.entry(identity).or_insert(self.found.len());
        if nth == self.found.len() {
            self.found.push(Finding {
                kind,
                certainty,
                stmt,
                others: others.to_vec(),
                name: names.first().copied().flatten(),
                times: 0,
                missing,
                expected: None,
                names: BTreeMap::new(),
            });
        }
        let finding = &mut self.found[nth];
        finding.times += times;
        finding.certainty = finding.certainty.max(certainty);
        let names: BTreeSet<BufferId> = names.iter().copied().flatten().collect();
        names.into_iter().for_each(|name| *finding.names.entry(name).or_default() += times);
    }

    /// Judges a line about the whole run. What a line that holds speaks of is expected by it.
    ///
    /// `None`: the line is not about findings. Else why it does not hold, if it does not.
    pub(super) fn judge(&mut self, line: &Expect) -> Option<Option<Mismatch>> {
        match line.demand {
            Demand::NoFindings => {
                let count = self.found.iter().map(|finding| finding.times).sum();
                Some((count > 0).then_some(Mismatch::Findings { count, of_kind: count }))
            }
            Demand::Finding { kind, on, at, times } => {
                let on = on.map(|on| on.id());
                let count: u64 = self.found.iter().map(|finding| finding.meets(kind, on, at)).sum();
                if times.map_or(count == 0, |times| count != times) {
                    let of_kind = self.found.iter().map(|finding| finding.meets(kind, None, None)).sum();
                    return Some(Some(Mismatch::Findings { count, of_kind }));
                }
                let met = self.found.iter_mut().filter(|finding| finding.meets(kind, on, at) > 0);
                met.for_each(|finding| finding.expected = finding.expected.or(Some(line.stmt)));
                Some(None)
            }
            _ => None,
        }
    }

    /// All of them, in the order in which they were found.
    pub(super) fn finish(self) -> Vec<Finding> {
        self.found
    }
}
