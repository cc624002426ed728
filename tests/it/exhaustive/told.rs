//! What a run comes to, for comparison: how each call was answered, how the pools stand in the end, and the verdict.

use millpond::base::{HostId, IndexVec, PoolId, StmtId};
use millpond::engine::Ending;
use millpond::explore::campaign::{Looked, Onlooker, Outcome};
use millpond::scenario::Program;
use millpond::trace::{AllocId, Attribute, Detail, Event, Figure, Kind, PoolState, Sink};
use std::collections::BTreeMap;

/// The figures whose greatest values are looked for: with a bound on what is still to come, and without one.
pub(super) const FIGURES: [Figure; 4] = [
    Figure::Attribute(Attribute::ReservedHigh),
    Figure::Attribute(Attribute::Used),
    Figure::Pending,
    Figure::Maps,
];

/// What a run has come to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Story {
    /// For each host thread, what its calls were answered.
    pub(super) answers: BTreeMap<HostId, Vec<String>>,
    pub(super) stop: String,
    pub(super) verdict: String,
    pub(super) outcome: Outcome,
    /// The figures of the pools in the end.
    pub(super) pools: Vec<String>,
    /// For each pool, those of [`FIGURES`].
    pub(super) figures: Vec<[u64; 4]>,
}

/// Listens to a run.
pub(super) struct Told<'p> {
    judge: Onlooker<'p>,
    answers: BTreeMap<HostId, Vec<String>>,
    /// For each allocation, the call that made it.
    makers: BTreeMap<u32, (HostId, usize, StmtId)>,
}

impl<'p> Told<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self { judge: Onlooker::new(program), answers: BTreeMap::new(), makers: BTreeMap::new() }
    }

    pub(super) fn story(
        self,
        program: &Program,
        pools: IndexVec<PoolId, PoolState>,
        ending: &Ending,
    ) -> Story {
        let Looked { outcome, verdict, .. } = self.judge.finish(ending);
        let mut findings: Vec<String> =
            verdict.findings.iter().map(|finding| format!("{finding:?}")).collect();
        findings.sort();
        let mut failed: Vec<String> = verdict.failed.iter().map(|failed| format!("{failed:?}")).collect();
        failed.sort();
        let verdict = format!("{findings:?} {failed:?} {:?} {:?}", verdict.expectations, verdict.skipped);
        // Threads of one program are told apart, but not whose calls came first.
        let verdict = if program.setup.hosts == 1 { verdict } else { failed.concat() };
        Story {
            answers: self.answers,
            stop: format!("{:?}", ending.stop),
            verdict,
            outcome,
            pools: pools.iter().map(|state| format!("{state:?}")).collect(),
            figures: pools.iter().map(|state| FIGURES.map(|figure| state.figure(figure))).collect(),
        }
    }

    fn maker(&self, alloc: AllocId) -> String {
        format!("{:?}", self.makers.get(&alloc.serial))
    }
}

impl Sink for Told<'_> {
    fn wants(&self, detail: Detail) -> bool {
        self.judge.wants(detail)
    }

    fn event(&mut self, event: &Event<'_>) {
        self.judge.event(event);
        let what = match &event.kind {
            Kind::Decided(decision) => {
                let before = self.answers.get(&event.host).map_or(0, Vec::len);
                self.makers.insert(decision.alloc.serial, (event.host, before, event.stmt));
                let takes: Vec<_> =
                    decision.takes.iter().map(|part| (self.maker(part.alloc), part.size.0)).collect();
                let of = decision.reuses.map(|alloc| self.maker(alloc));
                let (policy, waits) = (decision.policy, &decision.waits);
                format!("{policy:?} {of:?} {takes:?} {waits:?} {} {}", decision.mapped.0, decision.unmapped.0)
            }
            Kind::Failed { failure, .. } => format!("{failure:?}"),
            Kind::Value(value) => format!("{value}"),
            Kind::Skipped(buffer) => format!("skipped {buffer:?}"),
            _ => return,
        };
        let line = format!("{:?} {what}", event.stmt);
        self.answers.entry(event.host).or_default().push(line);
    }
}
