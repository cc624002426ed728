//! The sink that records a run so that it can be compared with another one.
//!
//! It works from events alone, those of a simulation and those of a device alike. Its memory grows with the run, up to a limit.

use super::owners::{Allocation, Owners};
use super::trace::{Does, Got, Key, Made, Operation, Outcome, Read, StateTold, Told, TooLong, Trace};
use crate::base::{HostId, PoolId, StmtId};
use crate::trace::{
    AllocId, Call, Cut, Deadlock, Decision, Detail, Event, Kind, Operands, Policy, PoolState, Reading,
    Resource, Sink, Ticket, Waiter,
};
use std::collections::BTreeMap;

/// So many calls and operations are recorded, each.
const RECORDED_MAX: usize = 4_000_000;
/// And so many places that come before operations.
const ORDERED_MAX: usize = 100_000_000;

/// A run that is recorded.
#[derive(Clone, Debug)]
pub struct Recorder {
    trace: Trace,
    owners: Owners,
    /// How often each thread has made a call of each statement.
    times: BTreeMap<(HostId, StmtId), u32>,
    /// The call of each thread that was made last, by its place.
    latest: BTreeMap<HostId, u32>,
    operations: BTreeMap<Ticket, u32>,
    /// How many operations the latest call of each thread has submitted.
    submitted: BTreeMap<HostId, u32>,
    /// A free in progress, and whether its allocation was freed before.
    freeing: BTreeMap<HostId, (AllocId, bool)>,
    /// How many states were told.
    states: u32,
    /// How many places that come before operations.
    ordered: usize,
    is_too_long: bool,
}

impl Recorder {
    /// Records a simulation, which tells everything.
    pub fn of_simulation() -> Self {
        Self::new(Told::Whole)
    }

    /// Records the run of a device, which tells the states of its pools at some calls, and no order.
    pub fn of_device() -> Self {
        Self::new(Told::Parts)
    }

    fn new(told: Told) -> Self {
        let (calls, operations) = (Vec::new(), Vec::new());
        let (states, shrinks) = (BTreeMap::new(), BTreeMap::new());
        Self {
            trace: Trace { told, calls, states, shrinks, operations },
            owners: Owners::default(),
            times: BTreeMap::new(),
            latest: BTreeMap::new(),
            operations: BTreeMap::new(),
            submitted: BTreeMap::new(),
            freeing: BTreeMap::new(),
            states: 0,
            ordered: 0,
            is_too_long: false,
        }
    }

    /// What was recorded.
    ///
    /// # Errors
    ///
    /// A run that was too long to be recorded to its end.
    pub fn finish(self) -> Result<Trace, TooLong> {
        if self.is_too_long { Err(TooLong) } else { Ok(self.trace) }
    }

    fn made(&mut self, event: &Event<'_>, does: Does, pool: Option<PoolId>, outcome: Outcome) {
        let Event { host, stmt, .. } = *event;
        let nth = self.times.entry((host, stmt)).or_default();
        *nth += 1;
        let key = Key { host, stmt, nth: *nth };
        let (by_timing, got, read, until) = (false, None, None, self.states);
        self.latest.insert(host, self.trace.calls.len() as u32);
        self.submitted.remove(&host);
        self.freeing.remove(&host);
        self.trace.calls.push(Made { key, does, outcome, pool, by_timing, got, read, until });
    }

    /// The call that an event belongs to.
    fn call(&mut self, event: &Event<'_>) -> Option<&mut Made> {
        let at = *self.latest.get(&event.host)?;
        Some(&mut self.trace.calls[at as usize]).filter(|made| made.key.stmt == event.stmt)
    }

    fn calls(&mut self, event: &Event<'_>, call: &Call) {
        let pool = match call {
            Call::Free { alloc, .. } | Call::PlainFree { alloc } => self.owners.pool_of(*alloc),
            call => pool_of(call),
        };
        self.made(event, does(call), pool, Outcome::Succeeded);
        if let Call::Free { alloc, .. } | Call::PlainFree { alloc } = call {
            let was_freed = self.frees(event, *alloc);
            self.freeing.insert(event.host, (*alloc, was_freed));
        }
    }

    /// An allocation is freed; says whether it was before.
    fn frees(&mut self, event: &Event<'_>, alloc: AllocId) -> bool {
        let by = self.latest.get(&event.host).copied();
        let got = self.owners.call_of(alloc).and_then(|at| self.trace.calls[at as usize].got.as_mut());
        if let Some(got) = got {
            got.freed = by;
        }
        self.owners.set_freed(alloc, true)
    }

    fn fails(&mut self, event: &Event<'_>, outcome: Outcome) {
        if let Some((alloc, was_freed)) = self.freeing.remove(&event.host) {
            self.owners.set_freed(alloc, was_freed);
        }
        if let Some(made) = self.call(event) {
            made.outcome = outcome;
        }
    }

    /// What an import names, or a node of a graph, is no memory of its own.
    fn decides(&mut self, event: &Event<'_>, decision: &Decision) {
        let Some(made) = self.call(event) else { return };
        let (key, pool) = (made.key, made.pool);
        made.by_timing |= decision.by_timing;
        if decision.alloc == AllocId::NULL || !matches!(made.does, Does::Allocate | Does::Malloc) {
            return;
        }
        let is_new = decision.policy == Some(Policy::Growth);
        let Decision { alloc, range, requested, policy, mapped, .. } = *decision;
        let Some(call) = self.latest.get(&event.host).copied() else { return };
        let reuses = self.owners.take(alloc, range, Allocation::new(key, call, pool), is_new);
        let waits = decision.waits.to_vec();
        if let Some(made) = self.call(event) {
            let freed = None;
            made.got = Some(Box::new(Got { range, requested, reuses, policy, mapped, waits, freed }));
        }
    }

    fn state(&mut self, event: &Event<'_>, pool: PoolId, state: &PoolState) {
        let by = self.latest.get(&event.host).copied();
        let by = by.filter(|at| self.trace.calls[*at as usize].key.stmt == event.stmt);
        let (figures, attributes) = (state.into(), state.attributes);
        let told = StateTold { number: self.states, by, figures, attributes };
        let states = self.trace.states.entry(pool).or_default();
        let shrinks = states.last().is_some_and(|before| before.figures.reserved > figures.reserved);
        states.push(told);
        self.states += 1;
        if figures.reserved.0 == 0 {
            self.owners.empties(pool);
        }
        if shrinks {
            self.shrinks(event, pool);
        }
    }

    fn shrinks(&mut self, event: &Event<'_>, pool: PoolId) {
        if let Some(at) = self.latest.get(&event.host) {
            self.trace.shrinks.entry(pool).or_default().push(*at);
        }
    }

    fn submits(&mut self, event: &Event<'_>, ticket: Ticket, call: &Call) {
        let Some(by) = self.latest.get(&event.host).copied() else { return };
        let count = self.submitted.entry(event.host).or_default();
        let nth = std::mem::replace(count, *count + 1);
        self.operations.insert(ticket, self.trace.operations.len() as u32);
        let (runs, ended, after) = (runs(call), None, Vec::new());
        let tells = matches!(call, Call::HostFunction { gives: Some(_), .. });
        self.trace.operations.push(Operation { by, nth, ticket, runs, tells, ended, after });
    }

    fn operation(&mut self, event: &Event<'_>) -> Option<&mut Operation> {
        let at = *self.operations.get(&event.ticket?)?;
        Some(&mut self.trace.operations[at as usize])
    }

    fn orders(&mut self, event: &Event<'_>, before: &Cut) {
        let streams = before.iter().enumerate().filter(|(_, seq)| **seq > 0);
        let tickets = streams.map(|(stream, seq)| Ticket { stream: stream.into(), seq: *seq });
        let tickets: Vec<Ticket> =
            tickets.filter(|ticket| event.ticket.is_none_or(|own| own.stream != ticket.stream)).collect();
        self.ordered += tickets.len();
        if let Some(operation) = self.operation(event) {
            operation.after = tickets;
        }
    }

    /// The calls that wait in vain.
    fn hangs(&mut self, deadlock: &Deadlock) {
        for waiter in &deadlock.waiters {
            let Waiter::Host(host) = waiter else { continue };
            if let Some(at) = self.latest.get(host) {
                self.trace.calls[*at as usize].outcome = Outcome::Stuck;
            }
        }
    }

    fn reads(&mut self, event: &Event<'_>, read: Read) {
        if let Some(made) = self.call(event) {
            made.read = Some(read);
        }
    }

    fn takes(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(call) => self.calls(event, call),
            Kind::Skipped(_) => self.made(event, Does::Other, None, Outcome::Skipped),
            Kind::Failed { failure, .. } => self.fails(event, Outcome::Failed(failure)),
            Kind::Refused(refusals) => {
                if let Some(made) = self.call(event) {
                    made.by_timing = refusals.by_timing;
                }
            }
            Kind::Decided(decision) => self.decides(event, decision),
            Kind::Freed(alloc) => {
                self.frees(event, alloc);
            }
            Kind::Node { call: Call::Free { alloc, .. }, .. } => {
                self.frees(event, *alloc);
            }
            Kind::Released { pool, .. } => self.shrinks(event, pool),
            Kind::State { pool, state } => self.state(event, pool, state),
            Kind::Submitted(call) => {
                if let Some(ticket) = event.ticket {
                    self.submits(event, ticket, call);
                }
            }
            Kind::Ordered { before } => self.orders(event, before),
            Kind::End => {
                if let Some(operation) = self.operation(event) {
                    operation.ended = Some(event.at);
                }
            }
            Kind::Value(value) => self.reads(event, Read::Value(value)),
            Kind::Expect { operands, .. } => {
                if let Some(read) = operands_read(operands) {
                    self.reads(event, read);
                }
            }
            Kind::Deadlock(deadlock) => self.hangs(deadlock),
            _ => {}
        }
    }
}

impl Sink for Recorder {
    fn wants(&self, detail: Detail) -> bool {
        match detail {
            Detail::Events | Detail::States | Detail::Refusals | Detail::Order => true,
            Detail::Pictures => false,
        }
    }

    fn event(&mut self, event: &Event<'_>) {
        let Trace { calls, operations, .. } = &self.trace;
        self.is_too_long |= calls.len().max(operations.len()) >= RECORDED_MAX || self.ordered >= ORDERED_MAX;
        if self.is_too_long {
            return;
        }
        self.takes(event);
        let states = self.states;
        if !matches!(event.kind, Kind::Start | Kind::End)
            && let Some(made) = self.call(event)
        {
            made.until = states;
        }
    }
}

/// What a call does, as far as that matters here.
fn does(call: &Call) -> Does {
    match call {
        Call::Alloc { .. } => Does::Allocate,
        Call::Malloc { .. } => Does::Malloc,
        Call::Read(reading) => Does::Read(*reading),
        Call::Elapsed { .. } => Does::Elapsed,
        Call::Query(_) => Does::Query,
        Call::Expect { expect, .. } | Call::ExpectReady { expect, .. } => Does::Expect(*expect),
        Call::Free { .. }
        | Call::PlainFree { .. }
        | Call::Reserve { .. }
        | Call::Sync(_)
        | Call::Poll(_)
        | Call::Trim { .. }
        | Call::Set { .. }
        | Call::Destroy(_)
        | Call::ResetDevice(_)
        | Call::Import { .. }
        | Call::Graph(_) => Does::Change,
        Call::Launch { .. }
        | Call::Copy { .. }
        | Call::Memset { .. }
        | Call::HostFunction { .. }
        | Call::Collective { .. }
        | Call::Record { .. }
        | Call::Wait { .. } => Does::Submit,
        _ => Does::Other,
    }
}

/// The pool that a call names.
fn pool_of(call: &Call) -> Option<PoolId> {
    match call {
        Call::Alloc { pool, .. } => *pool,
        Call::Trim { pool, .. }
        | Call::Set { pool, .. }
        | Call::Grant { pool, .. }
        | Call::Read(Reading::Pool(pool, _) | Reading::Access(pool, _))
        | Call::Create { resource: Resource::Pool(pool), .. }
        | Call::Destroy(Resource::Pool(pool)) => Some(*pool),
        _ => None,
    }
}

/// Whether the operation of a call runs for a time.
fn runs(call: &Call) -> bool {
    matches!(
        call,
        Call::Launch { .. }
            | Call::Copy { .. }
            | Call::Memset { .. }
            | Call::HostFunction { .. }
            | Call::Collective { .. }
    )
}

/// What an expectation is about, where that is not known from the calls before it.
fn operands_read(operands: &Operands) -> Option<Read> {
    match operands {
        Operands::Values { left, right } => Some(Read::Values(*left, *right)),
        Operands::Readiness { readiness, .. } => Some(Read::Readiness(*readiness)),
        Operands::Placements { .. } | Operands::Ended { .. } => None,
    }
}
