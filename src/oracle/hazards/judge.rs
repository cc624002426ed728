//! Whether an order that must be there is there, and what is found where it is not.
//!
//! What may still come to be ordered, since one of the two is behind a gate, is judged when the gate closes. What waits behind a
//! gate that never closes never happens.

use super::clock::{Clock, Gate, Mark, Stands};
use super::clocks::Clocks;
use crate::base::{BufferId, StmtId, reuse_on_clone};
use crate::oracle::findings::{Certainty, Findings, Found, Missing, Moment, Role};
use crate::trace::{AllocId, FindingKind};
use smallvec::SmallVec;

/// An order that must be there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand<'a> {
    /// What is found where it is not.
    pub(super) kind: FindingKind,
    pub(super) from: (Mark, StmtId),
    pub(super) to: (Mark, StmtId),
    /// Whether the other way round will do as well.
    pub(super) either_way: bool,
    /// The statement that is wrong, and the others.
    pub(super) stmt: StmtId,
    pub(super) others: &'a [(Role, Option<StmtId>)],
    pub(super) names: &'a [Option<BufferId>],
    pub(super) alloc: Option<AllocId>,
}

/// A demand that a gate may still meet.
#[derive(Clone, Debug)]
struct Pending {
    ways: SmallVec<[Way; 2]>,
    kind: FindingKind,
    certainty: Option<Certainty>,
    stmt: StmtId,
    others: SmallVec<[(Role, Option<StmtId>); 2]>,
    names: SmallVec<[Option<BufferId>; 2]>,
    missing: Missing,
}

/// A gate, and what may be before it.
#[derive(Clone, Copy, Debug)]
struct Way {
    gate: Gate,
    mark: Mark,
    /// Whether that is the order that must be there. Else it is the wrong one.
    is_right: bool,
}

/// What is not judged yet.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pending: Vec<Pending>,
}

reuse_on_clone!(Judge { pending });

/// Whether a finding of this kind says that it is certain or possible.
fn has_certainty(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::UseBeforeAlloc | FindingKind::FreeBeforeAlloc | FindingKind::UseAfterFree)
}

impl Judge {
    /// Demands that `from` is before what has this clock, which stands to it so. Says whether nothing is wrong so far.
    #[cold]
    pub(super) fn demand(
        &mut self,
        demand: &Demand<'_>,
        clock: &Clock,
        stands: Stands,
        clocks: &Clocks,
        findings: &mut Findings,
    ) -> bool {
        if stands == Stands::Before {
            return true;
        }
        let Demand { from, to, either_way, stmt, others, names, alloc, .. } = *demand;
        let moment = |(mark, stmt): (Mark, StmtId)| Moment { stmt, point: clocks.point(mark) };
        let missing = Missing { from: moment(from), to: moment(to), alloc };
        let kind = if stands == Stands::ByLuck { FindingKind::OrderedByLuck } else { demand.kind };
        let certainty = has_certainty(kind).then_some(Certainty::Possible);
        let right = clock.gates.iter().map(|gate| Way { gate: *gate, mark: from.0, is_right: true });
        let other = clocks.gates_of(from.0).map(|gate| Way { gate, mark: to.0, is_right: either_way });
        let ways: SmallVec<[Way; 2]> = right.chain(other).collect();
        if ways.is_empty() {
            let missing = Some(missing);
            findings.add(Found { kind, certainty, stmt, others, names, missing, times: 1 });
            return false;
        }
        let (others, names) = (others.into(), names.into());
        self.pending.push(Pending { ways, kind, certainty, stmt, others, names, missing });
        true
    }

    /// A gate has closed, and this is what is before it.
    pub(super) fn closed(&mut self, gate: Gate, before: &Clock, findings: &mut Findings) {
        self.pending.retain_mut(|pending| {
            let met = pending.ways.iter().filter(|way| way.gate == gate);
            let met: SmallVec<[Way; 2]> = met.copied().collect();
            if met.is_empty() {
                return true;
            }
            pending.ways.retain(|way| way.gate != gate);
            for way in met {
                match (before.has(way.mark), way.is_right) {
                    (true, true) => return false,
                    (true, false) => pending.certainty = Some(Certainty::Definite),
                    // What is before the gate may be behind others.
                    (false, _) => {
                        pending.ways.extend(before.gates.iter().map(|gate| Way { gate: *gate, ..way }));
                    }
                }
            }
            let is_judged = pending.ways.is_empty();
            if is_judged {
                findings.add(Found {
                    kind: pending.kind,
                    certainty: pending.certainty.filter(|_| has_certainty(pending.kind)),
                    stmt: pending.stmt,
                    others: &pending.others,
                    names: &pending.names,
                    missing: Some(pending.missing),
                    times: 1,
                });
            }
            !is_judged
        });
    }
}
