//! Finds what is wrong with a program: the order that its uses, frees and allocations lack, judged whatever the timing was; calls
//! that make no sense; and what it does in vain.
//!
//! It reads events alone and keeps what lives, is named or waits, so that a long loop costs no more memory than a short one.
//!
//! Rules: CUDA driver API, `cuMemAllocAsync` and `cuMemFreeAsync`; CUDA Programming Guide 4.3.2 and 4.3.3.4; Compute Sanitizer,
//! "Stream-ordered race detection".

mod blocks;
mod calls;
mod clock;
mod clocks;
mod court;
mod extent;
mod judge;
mod lifetimes;
mod lints;
mod meetings;
mod memory;
mod misuse;
mod operations;

use super::findings::{Findings, Found, Role};
use crate::base::{BufferId, EventId, ExecId, HostId, IndexVec, SignalId, StmtId, reuse_on_clone};
use crate::scenario::{Instruction, Program};
use crate::trace::{
    AllocId, Call, Event, Exported, FindingKind, Imported, Kind, Model, Resource, Setup, Takes, Target,
    Ticket,
};
use blocks::Blocks;
use calls::{Caller, Doing, is_in_operation};
use clock::{Clock, Gate};
use clocks::Clocks;
use extent::Extent;
use judge::Judge;
use lints::Lints;
use meetings::Meetings;
use memory::{Memory, Record};
use misuse::Misuse;
pub(super) use misuse::{freed, named, touched};
use std::collections::BTreeMap;

/// Of a longer program with views, memory is let go of that only a view may still stand for: a use of it is known to be one of
/// freed memory, and no more than that.
const KEPT_MAX: u64 = 100_000;

/// The analysis of a run.
#[derive(Debug)]
pub(super) struct Hazards {
    clocks: Clocks,
    meetings: Meetings,
    memory: Memory,
    blocks: Blocks,
    lints: Lints,
    judge: Judge,
    misuse: Misuse,
    callers: IndexVec<HostId, Caller>,
    /// The host thread whose call counts once it is known not to have failed, which the next event tells.
    unconfirmed: Option<HostId>,
    /// An operation of a graph, which may still be told what it waits for.
    deferred: Option<(Operation, Call)>,
    /// Whether there is one of these two.
    is_open: bool,
    /// What is before the ends of the operations of the launch in progress.
    launched: BTreeMap<Ticket, Clock>,
    /// The last operation of each executable graph's last launch.
    last_launches: IndexVec<ExecId, Option<(Ticket, Clock)>>,
    exported: BTreeMap<SignalId, Exported>,
    /// The event of another process that each imported one is.
    imported_events: BTreeMap<EventId, EventId>,
    /// Whether an operation may be one of a graph.
    has_graphs: bool,
    rules: Switches,
}

reuse_on_clone!(Hazards {
    clocks,
    meetings,
    memory,
    blocks,
    lints,
    judge,
    misuse,
    callers,
    unconfirmed,
    deferred,
    is_open,
    launched,
    last_launches,
    exported,
    imported_events,
    has_graphs,
    rules
});

/// What of the world makes a difference.
#[derive(Clone, Copy, Debug)]
struct Switches {
    first_free_ends_imports: bool,
    plain_free_syncs: bool,
    /// Whether reuse is to be sound: not of a model that is known to be otherwise.
    is_sound: bool,
}

/// An operation: who submits it, in which statement.
#[derive(Clone, Copy, Debug)]
struct Operation {
    host: HostId,
    stmt: StmtId,
    ticket: Ticket,
}

/// What an event says about the call before it.
#[derive(Clone, Copy, Debug)]
enum Tells {
    Nothing,
    /// The call of this host thread has failed.
    Failed(HostId),
    Held,
}

impl Hazards {
    pub(super) fn new(program: &Program) -> Self {
        let setup: &Setup = &program.setup;
        let has_views = program.code.iter().any(|one| matches!(one, Instruction::View { .. }));
        let buffers = program.host_buffers.iter();
        let buffers = buffers.map(|buffer| (buffer.name, Extent::new(buffer.size.0, true)));
        Self {
            clocks: Clocks::new(setup),
            meetings: Meetings::new(setup),
            memory: Memory::new(buffers.collect(), has_views && program.length <= KEPT_MAX),
            blocks: Blocks::new(setup.streams.len(), setup.hosts),
            lints: Lints::new(setup, program.statements.len()),
            judge: Judge::default(),
            misuse: Misuse::default(),
            callers: (0..setup.hosts).map(|_| Caller::new()).collect(),
            unconfirmed: None,
            deferred: None,
            is_open: false,
            launched: BTreeMap::new(),
            last_launches: (0..setup.execs).map(|_| None).collect(),
            exported: BTreeMap::new(),
            imported_events: BTreeMap::new(),
            has_graphs: setup.execs > 0,
            rules: Switches {
                first_free_ends_imports: setup.rules.first_free_ends_imports,
                plain_free_syncs: setup.rules.plain_free_syncs,
                is_sound: setup.model == Model::Cuda,
            },
        }
    }

    /// Whether most events can be taken as most are: nothing is left open by those before, and nothing is there that few programs
    /// have. Only what is not taken so can change that.
    pub(super) fn is_usual(&self) -> bool {
        let is_unusual =
            self.is_open || self.has_graphs || self.misuse.is_possible() || self.meetings.has_promises();
        !is_unusual
    }

    /// Takes an event as most are taken, while that may be; says whether it is one that can be. Whoever tells one knows its kind:
    /// inlined, it is told apart when this is compiled.
    #[inline(always)]
    pub(super) fn takes(&mut self, event: &Event<'_>, findings: &mut Findings) -> bool {
        let by = (event.host, event.stmt);
        match (&event.kind, event.ticket) {
            (Kind::Call(call), _) => match call {
                Call::Alloc { pool, .. } => self.callers[event.host].doing = Doing::Alloc(*pool),
                // All that these do is in their operation.
                Call::Launch { .. } | Call::Record { .. } | Call::Wait { .. } | Call::Free { .. } => {}
                _ => return false,
            },
            (Kind::Submitted(call), Some(ticket)) => match call {
                // It was submitted when it was placed.
                Call::Alloc { .. } => return !self.clocks.has_more(),
                Call::Launch { takes: Takes::For(_), uses, .. } => {
                    return self.launches_again(by, ticket, uses, findings);
                }
                Call::Record { event, .. } => return self.records_again(by, ticket, *event, findings),
                Call::Wait { event, .. } => return self.waits_again(by, ticket, *event),
                Call::Free { alloc, .. } => return self.frees_again(by, ticket, *alloc, findings),
                _ => return false,
            },
            (Kind::Decided(decision), Some(ticket)) => self.decided(by, ticket, decision, findings),
            (Kind::Ordered { before }, _) => self.clocks.compare(event.ticket, before),
            (Kind::Named(name), _) => self.named(event.host, *name),
            (Kind::End, Some(ticket)) => self.completes(ticket),
            (Kind::Start | Kind::Waits { .. }, _) => {}
            _ => return false,
        }
        true
    }

    /// Takes any event.
    pub(super) fn event(&mut self, event: &Event<'_>, findings: &mut Findings) {
        match &event.kind {
            // Nothing is learnt from these, least of all whether a call has failed.
            Kind::Start | Kind::State { .. } | Kind::Returned { .. } | Kind::OtherDevice { .. } => return,
            Kind::Waits { on, .. } => {
                if self.deferred.is_some() {
                    self.waits(*on);
                }
                return;
            }
            _ => {}
        }
        if self.is_open {
            let tells = match event.kind {
                Kind::OutOfReach { .. } => Tells::Nothing,
                Kind::Failed { .. } => Tells::Failed(event.host),
                _ => Tells::Held,
            };
            self.settle(tells, findings);
        }
        match &event.kind {
            Kind::Call(call) => self.call(event, call, findings),
            Kind::End => {
                if let Some(ticket) = event.ticket {
                    self.completes(ticket);
                    if self.meetings.has_promises() {
                        self.ended(ticket, findings);
                    }
                }
            }
            Kind::Submitted(call) => self.submitted(event, call, findings),
            Kind::Ordered { before } => self.clocks.compare(event.ticket, before),
            Kind::Decided(decision) => match event.ticket {
                Some(ticket) => {
                    self.decided((event.host, event.stmt), ticket, decision, findings);
                }
                None => self.placed_at_once(event.host, event.stmt, decision),
            },
            Kind::Grown { visible } => self.blocks.visible.copy_from_slice(visible),
            Kind::Named(name) => self.named(event.host, *name),
            Kind::OutOfReach { pool, device, .. } => self.misuse.out_of_reach(*pool, *device),
            Kind::Failed { failure, call } => self.failed((event.host, event.stmt), *failure, call, findings),
            Kind::Synchronised { observed } => self.synchronised(event.host, observed),
            Kind::Seen { .. } => self.seen(event.host, event.stmt),
            Kind::Met => self.met(event.host),
            Kind::Released { pool, .. } => {
                let caller = &self.callers[event.host];
                if let (Doing::Sync(_), true) = (caller.doing, caller.stmt == event.stmt) {
                    self.lints.gave_back(*pool, event.stmt);
                }
            }
            Kind::Node { alloc, .. } => self.callers[event.host].placed = *alloc,
            Kind::Freed(alloc) => self.reset_frees(event.host, event.stmt, *alloc),
            _ => {}
        }
    }

    /// What the event before has left open is known now: an operation of a graph has all that it waits for, and a call has not
    /// failed, unless this event says so.
    #[cold]
    fn settle(&mut self, tells: Tells, findings: &mut Findings) {
        self.complete(findings);
        match tells {
            Tells::Nothing => {}
            Tells::Failed(host) if self.unconfirmed == Some(host) => self.unconfirmed = None,
            Tells::Failed(_) | Tells::Held => self.confirm(findings),
        }
        self.is_open = self.unconfirmed.is_some();
    }

    /// The call of a host thread counts once it is known not to have failed.
    fn leaves_open(&mut self, host: HostId) {
        self.unconfirmed = Some(host);
        self.is_open = true;
    }

    /// The end of the run; `is_whole`: the program came to its end.
    pub(super) fn finish(&mut self, is_whole: bool, findings: &mut Findings) {
        self.complete(findings);
        self.confirm(findings);
        let Self { memory, lints, blocks, clocks, .. } = self;
        lints.finish(blocks, |mark| clocks.is_last(mark), memory, findings);
        if !is_whole {
            return;
        }
        let mut left: Vec<&Record> = memory
            .all()
            .filter(|record| record.freed().is_none())
            .filter(|record| record.extras().is_none_or(|extras| extras.of.is_none() && !extras.is_planned))
            .collect();
        left.sort_by_key(|record| (record.allocated.1, record.id.serial));
        for record in left {
            findings.add(Found {
                names: &[record.name()],
                ..Found::plain(FindingKind::Leak, record.allocated.1)
            });
        }
    }

    fn call(&mut self, event: &Event<'_>, call: &Call, findings: &mut Findings) {
        match call {
            // All that these do is in their operation, by which they are counted too.
            call if is_in_operation(call) => {
                if self.has_graphs {
                    self.callers[event.host].doing = Doing::Other;
                }
            }
            Call::Alloc { pool, .. } => self.callers[event.host].doing = Doing::Alloc(*pool),
            call => {
                self.clocks.calls(event.host);
                self.does(event.host, event.stmt, Doing::of(call));
            }
        }
        if self.misuse.is_possible() {
            self.callers[event.host].destroyed = self.misuse.names_destroyed(call);
            self.misuse.names_destroyed_export(event.stmt, call, &self.imported_events, findings);
        }
    }

    fn does(&mut self, host: HostId, stmt: StmtId, doing: Doing) {
        let caller = &mut self.callers[host];
        (caller.stmt, caller.doing) = (stmt, doing);
        if doing.counts_at_once() && !self.waits_first(doing) {
            self.leaves_open(host);
        }
        if let Doing::Launch(_) = doing {
            self.launched.clear();
        }
    }

    /// Whether a plain free is a synchronise first, by the profile, and may fail after it.
    fn waits_first(&self, doing: Doing) -> bool {
        let Doing::PlainFree(alloc) = doing else { return false };
        let record = self.memory.get(alloc).filter(|_| self.rules.plain_free_syncs);
        record.is_some_and(|record| record.outside().is_some() && record.freed().is_none())
    }

    /// The call did not fail.
    fn confirm(&mut self, findings: &mut Findings) {
        let Some(host) = self.unconfirmed.take() else { return };
        let stmt = self.callers[host].stmt;
        match self.callers[host].doing {
            Doing::PlainFree(alloc) => self.plain_free(host, stmt, alloc, findings),
            Doing::Touch(touched) => self.touches(host, stmt, &touched, findings),
            Doing::Sync(target) => self.synchronise(host, stmt, target),
            Doing::Signal(signal) => self.gives(host, signal, findings),
            Doing::Export(what, under) => {
                self.exported.insert(under, what);
                self.gives(host, under, findings);
            }
            Doing::Spawn(child) => self.clocks.follow(host, child),
            Doing::Barrier(barrier) => self.meetings.arrive(&mut self.clocks, barrier, host),
            Doing::Reset(device) => self.clocks.synchronise(host, Target::Device(device), true),
            Doing::Create(resource) => self.misuse.created(resource),
            Doing::Destroy(resource) => self.misuse.destroyed(resource, stmt),
            Doing::Set(pool, attribute, value) => self.lints.set(pool, attribute, value),
            Doing::Trim(pool) => {
                self.lints.trimmed(pool, stmt, &self.blocks, &self.memory, findings);
            }
            Doing::NodeFree(alloc) => {
                if let Some(record) = self.memory.get_mut(alloc) {
                    record.extras_mut().freed_in_graph = Some(stmt);
                }
            }
            Doing::Import(under, Imported::Event(event)) => {
                if let Some(Exported::Event(of)) = self.exported.get(&under) {
                    self.imported_events.insert(event, *of);
                }
                self.misuse.created(Resource::Event(event));
            }
            Doing::Import(_, Imported::Pool(pool)) => self.misuse.created(Resource::Pool(pool)),
            _ => {}
        }
    }

    fn failed(
        &mut self,
        (host, stmt): (HostId, StmtId),
        failure: crate::trace::Failure,
        call: &Call,
        findings: &mut Findings,
    ) {
        if is_in_operation(call) || matches!(call, Call::Alloc { .. }) {
            self.clocks.calls(host);
        }
        let caller = &mut self.callers[host];
        caller.doing = Doing::Other;
        let failed = misuse::FailedCall { stmt, failure, call, destroyed: caller.destroyed };
        self.misuse.failed(&failed, &self.memory, findings);
    }

    /// A gate has closed.
    fn closes(&mut self, (gate, clock): (Gate, Clock), findings: &mut Findings) {
        let launches = self.last_launches.iter_mut().flatten().map(|(_, clock)| clock);
        launches.chain(self.launched.values_mut()).for_each(|known| {
            clock::pass(known, gate, &clock);
        });
        self.judge.closed(gate, &clock, findings);
    }

    fn gives(&mut self, host: HostId, signal: SignalId, findings: &mut Findings) {
        if let Some(closed) = self.meetings.give(&mut self.clocks, host, signal) {
            self.closes(closed, findings);
        }
    }

    /// An operation has ended.
    #[inline(always)]
    fn completes(&mut self, ticket: Ticket) {
        self.blocks.done[ticket.stream.index()] = ticket.seq;
    }

    /// An operation has ended that may have given a signal.
    fn ended(&mut self, ticket: Ticket, findings: &mut Findings) {
        if let Some(closed) = self.meetings.ended(&mut self.clocks, ticket) {
            self.closes(closed, findings);
        }
    }

    /// The event that it is.
    fn root(&self, event: EventId) -> EventId {
        match self.imported_events.is_empty() {
            true => event,
            false => self.imported_events.get(&event).copied().unwrap_or(event),
        }
    }

    fn met(&mut self, host: HostId) {
        match self.callers[host].doing {
            Doing::Await(signal) | Doing::Import(signal, _) => {
                if let Some(clock) = self.meetings.carried(signal) {
                    self.clocks.learns(host, clock);
                }
                if let Doing::Import(..) = self.callers[host].doing {
                    self.leaves_open(host);
                }
            }
            Doing::Join(other) => self.clocks.follow(other, host),
            _ => {}
        }
    }

    #[inline(never)]
    fn named(&mut self, host: HostId, name: BufferId) {
        self.memory.name(self.callers[host].alloc.take(), name);
        self.lints.named(name);
    }

    /// The process ends the memory outside of pools with its device.
    fn reset_frees(&mut self, host: HostId, stmt: StmtId, alloc: AllocId) {
        let call = self.clocks.mark(host);
        if let Some(record) = self.memory.get_mut(alloc) {
            record.free(memory::Free { mark: call, stmt, call });
        }
    }

    /// The role of who allocated memory.
    fn allocation(record: &Record) -> (Role, Option<StmtId>) {
        (Role::Allocation, Some(record.allocated.1))
    }
}
