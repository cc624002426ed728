//! What an operation does when it is submitted, as most are or otherwise.

use super::calls::{Doing, Returns, is_at_once, is_in_operation, returns};
use super::clocks::Clocks;
use super::memory::Free;
use super::{Hazards, Operation};
use crate::base::{CollectiveId, EventId, HostId, SignalId, StmtId};
use crate::oracle::findings::Findings;
use crate::trace::{AllocId, Call, Event, Takes, Ticket, Use};

impl Hazards {
    /// An operation is submitted.
    pub(super) fn submitted(&mut self, event: &Event<'_>, call: &Call, findings: &mut Findings) {
        let Some(ticket) = event.ticket else { return };
        let operation = Operation { host: event.host, stmt: event.stmt, ticket };
        match call {
            call if self.has_graphs => self.submitted_otherwise(operation, call, findings),
            // It was submitted when it was placed.
            Call::Alloc { .. } => self.clocks.ends(ticket),
            call if is_at_once(call) => self.operates(operation, true, call, findings),
            call => {
                if is_in_operation(call) {
                    self.callers[event.host].doing = Doing::Other;
                }
                self.submitted_otherwise(operation, call, findings);
            }
        }
    }

    /// The same for one that may belong to a graph, that meets others, or lets its call return later.
    fn submitted_otherwise(&mut self, operation: Operation, call: &Call, findings: &mut Findings) {
        let Operation { host, ticket, .. } = operation;
        match self.callers[host].doing {
            Doing::Alloc(_) => self.clocks.ends(ticket),
            // It may be told what it comes after.
            Doing::Launch(_) => {
                self.clocks.begin(host, ticket.stream);
                self.deferred = Some((operation, call.clone()));
                self.is_open = true;
            }
            _ => {
                // A kernel that runs until a signal; the others are counted with what they do.
                if let Call::Launch { takes: Takes::Until(_), .. } = call {
                    self.clocks.calls(host);
                }
                self.clocks.begin(host, ticket.stream);
                self.operates(operation, true, call, findings);
            }
        }
    }

    /// An operation of a graph comes after another one.
    pub(super) fn waits(&mut self, on: Ticket) {
        let Some((operation, _)) = &self.deferred else { return };
        let last = self.last_launches.iter().flatten().find(|(last, _)| *last == on);
        if let Some(clock) = self.launched.get(&on).or(last.map(|(_, clock)| clock)) {
            self.clocks.wait_for(operation.ticket.stream, clock);
        }
    }

    /// An operation of a graph has all that it waits for.
    pub(super) fn complete(&mut self, findings: &mut Findings) {
        let Some((operation, call)) = self.deferred.take() else { return };
        let ticket = operation.ticket;
        if let Call::Alloc { .. } = call {
            self.allocates(operation);
        }
        self.operates(operation, false, &call, findings);
        let clock = self.clocks.stream(ticket.stream).clone();
        if let Doing::Launch(exec) = self.callers[operation.host].doing {
            self.last_launches[exec] = Some((ticket, clock.clone()));
        }
        self.launched.insert(ticket, clock);
    }

    /// What an operation does, once what is before it is known but for what it does itself. `is_call`: it is all that its call
    /// does; not a node of a graph.
    fn operates(&mut self, operation: Operation, is_call: bool, call: &Call, findings: &mut Findings) {
        if !is_at_once(call) {
            return self.operates_otherwise(operation, call, findings);
        }
        self.clocks.submits(operation.host, operation.ticket, is_call);
        self.works(operation, call, findings);
        self.clocks.ends(operation.ticket);
    }

    /// The same for one that is in its stream at once.
    fn works(&mut self, operation: Operation, call: &Call, findings: &mut Findings) {
        match call {
            Call::Launch { uses, .. } => self.launches(operation, uses, findings),
            Call::Record { event, .. } => self.records(operation, *event, findings),
            Call::Wait { event, .. } => self.waits_for(operation, *event),
            Call::Free { alloc, .. } => self.frees(operation, *alloc, findings),
            _ => {}
        }
    }

    /// The same for one that meets others, or lets its call return later.
    fn operates_otherwise(&mut self, operation: Operation, call: &Call, findings: &mut Findings) {
        match call {
            Call::Launch { takes, uses, .. } => self.runs(operation, uses, takes, None, findings),
            Call::HostFunction { takes, gives, uses, .. } => {
                self.runs(operation, uses, takes, *gives, findings);
            }
            Call::Copy { blocking, to, from, .. } => {
                let returns = returns(*blocking, to.memory, Some(from.memory));
                self.transfers(operation, &[*to, *from], returns, findings);
            }
            Call::Memset { blocking, at, .. } => {
                self.transfers(operation, &[*at], returns(*blocking, at.memory, None), findings);
            }
            Call::Collective { collective, uses, .. } => {
                self.takes_part(operation, *collective, uses, findings);
            }
            _ => self.clocks.end(operation.ticket),
        }
    }

    /// A kernel that takes its time, submitted as most are; says whether it is.
    #[inline(never)]
    pub(super) fn launches_again(
        &mut self,
        (host, stmt): (HostId, StmtId),
        ticket: Ticket,
        uses: &[Use],
        findings: &mut Findings,
    ) -> bool {
        let is_so = self.clocks.submits_again(host, ticket);
        if is_so {
            self.launches(Operation { host, stmt, ticket }, uses, findings);
        }
        is_so
    }

    /// The same for a record.
    #[inline(never)]
    pub(super) fn records_again(
        &mut self,
        (host, stmt): (HostId, StmtId),
        ticket: Ticket,
        event: EventId,
        findings: &mut Findings,
    ) -> bool {
        let is_so = self.clocks.submits_again(host, ticket);
        if is_so {
            self.records(Operation { host, stmt, ticket }, event, findings);
        }
        is_so
    }

    /// The same for a wait.
    #[inline(never)]
    pub(super) fn waits_again(
        &mut self,
        (host, stmt): (HostId, StmtId),
        ticket: Ticket,
        event: EventId,
    ) -> bool {
        let is_so = self.clocks.submits_again(host, ticket);
        if is_so {
            self.waits_for(Operation { host, stmt, ticket }, event);
        }
        is_so
    }

    /// The same for a free.
    #[inline(never)]
    pub(super) fn frees_again(
        &mut self,
        (host, stmt): (HostId, StmtId),
        ticket: Ticket,
        alloc: AllocId,
        findings: &mut Findings,
    ) -> bool {
        let is_so = self.clocks.submits_again(host, ticket);
        if is_so {
            self.frees(Operation { host, stmt, ticket }, alloc, findings);
        }
        is_so
    }

    /// A kernel that takes its time.
    #[inline(always)]
    fn launches(&mut self, operation: Operation, uses: &[Use], findings: &mut Findings) {
        for (nth, used) in uses.iter().enumerate() {
            if !self.touches_again(operation, used) {
                let Operation { host, stmt, ticket } = operation;
                return self.touches_otherwise((host, stmt), ticket, &uses[nth..], findings);
            }
        }
    }

    /// The same from the first use on that is not as most are.
    #[inline(never)]
    fn touches_otherwise(
        &mut self,
        (host, stmt): (HostId, StmtId),
        ticket: Ticket,
        uses: &[Use],
        findings: &mut Findings,
    ) {
        let operation = Operation { host, stmt, ticket };
        for used in uses {
            if !self.touches_again(operation, used) {
                self.touch(operation.by(), used, findings);
            }
        }
    }

    #[inline(always)]
    fn records(&mut self, operation: Operation, event: EventId, findings: &mut Findings) {
        let Operation { stmt, ticket, .. } = operation;
        let event = self.root(event);
        let clock = self.clocks.stream(ticket.stream);
        self.lints.recorded(event, (stmt, Clocks::of_operation(ticket)), clock, findings);
        self.clocks.record(ticket, event);
    }

    #[inline(always)]
    fn frees(&mut self, operation: Operation, alloc: AllocId, findings: &mut Findings) {
        let Operation { host, stmt, ticket } = operation;
        let Self { clocks, memory, blocks, rules, .. } = self;
        let clock = clocks.stream(ticket.stream);
        let (mark, call) = (Clocks::of_operation(ticket), clocks.of_host(host));
        if let Some((handle, record)) = memory.find_mut(alloc)
            && rules.is_sound
            && record.is_of_pool_alone()
            && clock.has(record.allocated.0)
            && record.extent.all(|touch| clock.has(touch.mark))
        {
            // As most memory is freed: nothing can be wrong with that.
            record.free(Free { mark, stmt, call });
            if blocks.insert(handle, record, mark, clock) {
                blocks.tidy(mark, memory);
            }
            return;
        }
        self.free(operation.by(), alloc, findings);
    }

    /// A part of a collective.
    fn takes_part(
        &mut self,
        operation: Operation,
        collective: CollectiveId,
        uses: &[Use],
        findings: &mut Findings,
    ) {
        let ticket = operation.ticket;
        let closed = self.meetings.part(&mut self.clocks, ticket.stream, collective);
        self.touch_all(operation.by(), uses, findings);
        self.clocks.end(ticket);
        if let Some(closed) = closed {
            self.closes(closed, findings);
        }
    }

    /// An operation that may run until a signal is given, and may give one.
    fn runs(
        &mut self,
        operation: Operation,
        uses: &[Use],
        takes: &Takes,
        gives: Option<SignalId>,
        findings: &mut Findings,
    ) {
        let ticket = operation.ticket;
        self.touch_all(operation.by(), uses, findings);
        self.clocks.end(ticket);
        if let Takes::Until(signal) = takes {
            self.meetings.runs_until(&mut self.clocks, ticket.stream, *signal);
        }
        if let Some(signal) = gives {
            self.meetings.promise(&self.clocks, ticket, signal);
        }
    }

    /// A copy or a memset. In a graph its call returns at once.
    fn transfers(&mut self, operation: Operation, uses: &[Use], returns: Returns, findings: &mut Findings) {
        let Operation { host, ticket, .. } = operation;
        let is_call = !matches!(self.callers[host].doing, Doing::Launch(_));
        match returns {
            Returns::OnceStaged if is_call => self.touch_staged(operation, uses, findings),
            _ => self.touch_all(operation.by(), uses, findings),
        }
        self.clocks.end(ticket);
        if returns == Returns::OnceComplete && is_call {
            self.clocks.learns_stream(host, ticket.stream);
        }
    }
}
