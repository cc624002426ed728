//! What fails in a run, told so that it can be known again in a smaller text, wherever it stands there: the one place that says
//! when two runs fail in the same way.

use super::Which;
use crate::base::{BufferId, StmtId};
use crate::oracle::{Certainty, FailedCall, Finding, Mismatch, Role, Verdict};
use crate::scenario::Program;
use crate::trace::{Detail, Event, Failure, FindingKind, Kind, Policy, Refusal, Sink};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::mem::{Discriminant, discriminant};

/// Something that fails in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signature {
    /// Something is found. Whether the order is one of the program or of this run is part of the kind.
    Finding {
        /// What.
        kind: FindingKind,
        /// Whether it happens whatever the timing is.
        certainty: Option<Certainty>,
        /// What other statements it is about, and whether there is one of each.
        others: BTreeSet<(Role, bool)>,
    },
    /// A call fails without a word about it.
    Failed {
        /// How.
        failure: Failure,
        /// Why no memory could serve it.
        served: Option<Served>,
    },
    /// A statement says `fails`, and its call does not.
    Missed(Failure),
    /// An `expect` line does not hold.
    Mismatch {
        /// The line.
        line: String,
        /// In which way.
        way: Way,
        /// How the allocation was served that it is about.
        served: Option<Served>,
    },
    /// The run never comes to a line that demands something.
    NotReached(String),
    /// The run is given up.
    Stopped,
}

/// In which way an expectation does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// How the left value stands to the right one, and whether it is nothing at all.
    Values(Ordering, bool),
    /// Another one.
    Other(Discriminant<Mismatch>),
}

/// By which class an allocation was served, if it was, and why the classes before could not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    by: Option<Policy>,
    refused: [Option<Discriminant<Refusal>>; 7],
}

impl Signature {
    /// A finding, as far as it is the same in another text.
    pub fn of(finding: &Finding) -> Self {
        let Finding { kind, certainty, ref others, .. } = *finding;
        Self::Finding {
            kind,
            certainty,
            others: others.iter().map(|(role, stmt)| (*role, stmt.is_some())).collect(),
        }
    }

    /// Whether it is about something that is found, of this kind.
    pub fn is_finding(&self, wanted: FindingKind) -> bool {
        matches!(self, Signature::Finding { kind, .. } if *kind == wanted)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Signature::Finding { kind, certainty: None, .. } => kind.fmt(f),
            Signature::Finding { kind, certainty: Some(certainty), .. } => {
                write!(f, "{kind} ({})", certainty.name())
            }
            Signature::Failed { failure, .. } => failure.fmt(f),
            Signature::Missed(failure) => write!(f, "a call that should fail with {failure} and does not"),
            Signature::Mismatch { line, .. } => write!(f, "`{line}` does not hold"),
            Signature::NotReached(line) => write!(f, "`{line}` is never reached"),
            Signature::Stopped => f.write_str("the run is given up"),
        }
    }
}

/// What a run says of itself that is compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Signatures {
    /// What fails it, the gravest first.
    pub(super) failing: Vec<Signature>,
    /// What else is told: what is no error, and what lines expect.
    pub(super) told: Vec<Signature>,
}

impl Signatures {
    pub(super) fn of(program: &Program, verdict: &Verdict, services: &Services) -> Self {
        let told = verdict.findings.iter().filter(|finding| !finding.muted);
        let (failing, told): (Vec<_>, Vec<_>) = told.partition(|finding| finding.fails());
        let call = |failed: &FailedCall| Signature::Failed {
            failure: failed.failure,
            served: services.failed.get(&failed.stmt).copied(),
        };
        let expected = verdict.failed.iter().filter(|failed| failed.expected).map(call);
        let told = told.into_iter().map(Signature::of).chain(expected).collect();
        let line = |stmt: StmtId| program.statements[stmt].text.clone();
        let mut all: Vec<Signature> = verdict.broken.iter().map(|_| Signature::Stopped).collect();
        all.extend(failing.into_iter().map(Signature::of));
        all.extend(verdict.unexpected_failures().map(call));
        all.extend(verdict.missed.iter().map(|missed| Signature::Missed(missed.failure)));
        for (expect, judged) in verdict.expectations.iter_enumerated() {
            let Some(first) = judged.first else { continue };
            let line = line(program.expects[expect].stmt);
            let served = services.of_subject(program, &line);
            all.push(Signature::Mismatch { way: Way::of(first), served, line });
        }
        all.extend(verdict.not_reached.iter().map(|never| Signature::NotReached(line(never.stmt))));
        Self { failing: all, told }
    }

    /// What is meant, if it fails or, being asked for by name, is told.
    pub(super) fn aim(&self, which: Which) -> Option<Signature> {
        let is_meant = |signature: &&Signature| match (which, signature) {
            (Which::First, _) => true,
            (Which::Finding(kind), _) => signature.is_finding(kind),
            (Which::Failure(wanted), Signature::Failed { failure, .. }) => *failure == wanted,
            (Which::Expectation, Signature::Mismatch { .. } | Signature::NotReached(_)) => true,
            _ => false,
        };
        let told = self.told.iter().filter(|_| which != Which::First);
        self.failing.iter().chain(told).find(is_meant).cloned()
    }

    pub(super) fn has(&self, signature: &Signature) -> bool {
        self.failing.contains(signature) || self.told.contains(signature)
    }
}

impl Way {
    fn of(mismatch: Mismatch) -> Self {
        match mismatch {
            Mismatch::Values { left, right } => Way::Values(left.cmp(&right), left == 0),
            other => Way::Other(discriminant(&other)),
        }
    }
}

/// The sink that keeps how allocations were served, of each name and each statement the last one.
#[derive(Clone, Debug, Default)]
pub(super) struct Services {
    latest: Served,
    named: BTreeMap<BufferId, Served>,
    failed: BTreeMap<StmtId, Served>,
}

impl Services {
    /// How the memory was served that an `expect` line is about, if it is about such.
    fn of_subject(&self, program: &Program, line: &str) -> Option<Served> {
        let subject = line.strip_prefix("expect ")?.split(' ').next()?;
        let id = program.names.buffers.iter().position(|name| name == subject)?;
        self.named.get(&BufferId::from_usize(id)).copied()
    }
}

impl Sink for Services {
    fn wants(&self, detail: Detail) -> bool {
        matches!(detail, Detail::Events | Detail::Refusals)
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(_) => self.latest = Served::default(),
            Kind::Refused(refusals) => {
                self.latest.refused =
                    refusals.reasons.map(|reason| reason.map(|reason| discriminant(&reason)));
            }
            Kind::Decided(decision) => self.latest.by = decision.policy,
            Kind::Named(name) => {
                self.named.insert(name, self.latest);
            }
            Kind::Failed { .. } => {
                self.failed.insert(event.stmt, self.latest);
            }
            _ => {}
        }
    }
}
