//! What operations do besides taking their place in order and time: kernels, copies, memsets, functions of the host. Each is
//! kept under its ticket from its call to its end.

use super::callbacks::Job;
use super::hosts::in_kernel;
use crate::DeviceMemory;
use crate::kernel::{Kernel, Parameters};
use crate::pointers::{HostFunction, Raw};
use millpond::base::Nanos;
use millpond::trace::{Call, Detail, Event, Kind, Sink, Ticket};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What an operation does.
pub(crate) enum Effect {
    /// At its start and at its end what a kernel does.
    Kernel(Arc<dyn Kernel>, Parameters),
    /// At its end, that so many bytes are somewhere else too.
    Copy { to: Written, from: Source, size: u64 },
    /// At its end, that so many bytes from an address on are this value again and again.
    Fill { to: u64, value: Vec<u8>, size: u64 },
    /// Once it has started, a thread of the driver calls this.
    Function(HostFunction),
    /// At its end, that this memory of the host goes back.
    GiveBack(u64),
    /// Nothing.
    Nothing,
}

/// What a copy reads.
pub(crate) enum Source {
    /// Memory that devices see.
    Address(u64),
    /// Other memory of the host, as it was at the call.
    Bytes(Box<[u8]>),
}

/// What a copy writes.
pub(crate) enum Written {
    /// Memory that devices see.
    Address(u64),
    /// Other memory of the host; the copy returns only once it is done.
    Raw(Raw),
}

/// The effects of the operations in flight.
#[derive(Default)]
pub(super) struct Effects {
    of: BTreeMap<Ticket, Effect>,
}

/// The start or the end of an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    ticket: Ticket,
    at: Nanos,
    is_end: bool,
}

impl Effects {
    pub(super) fn insert(&mut self, ticket: Ticket, effect: Effect) {
        self.of.insert(ticket, effect);
    }

    /// Carries out what an operation does by now; a function is the affair of whoever asked.
    pub(super) fn carry_out(&mut self, moment: Moment, memory: &mut DeviceMemory) -> Option<Job> {
        let Moment { ticket, at, is_end } = moment;
        if is_end {
            self.of.remove(&ticket).into_iter().for_each(|effect| effect.ends(at, memory));
            return None;
        }
        match self.of.get(&ticket)? {
            Effect::Kernel(kernel, parameters) => {
                in_kernel(at, || kernel.starts(parameters, memory));
                None
            }
            Effect::Function(function) => Some(Job { ticket, at, function: *function }),
            Effect::Copy { .. } | Effect::Fill { .. } | Effect::GiveBack(_) | Effect::Nothing => None,
        }
    }
}

impl Effect {
    fn ends(self, at: Nanos, memory: &mut DeviceMemory) {
        match self {
            Effect::Kernel(kernel, parameters) => in_kernel(at, || kernel.ends(&parameters, memory)),
            Effect::Fill { to, value, size } => memory.fill(to, &value, size),
            Effect::GiveBack(start) => memory.free_host(start),
            Effect::Copy { to, from, size } => match (to, from) {
                (Written::Address(to), Source::Address(from)) => memory.copy(to, from, size),
                (Written::Address(to), Source::Bytes(bytes)) => memory.write(to, &bytes),
                (Written::Raw(to), Source::Address(from)) => {
                    memory.read_out(from, size, |at, piece| to.write(at, piece));
                }
                (Written::Raw(to), Source::Bytes(bytes)) => to.write(0, &bytes),
            },
            Effect::Function(_) | Effect::Nothing => {}
        }
    }
}

/// Keeps the starts and ends of operations that may do something.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    submitted: Option<Ticket>,
    watched: BTreeSet<Ticket>,
    moments: VecDeque<Moment>,
}

impl Recorder {
    /// The operation that the latest call has submitted, told once.
    pub(super) fn submitted(&mut self) -> Option<Ticket> {
        self.submitted.take()
    }

    /// The next start or end that nobody has been told of.
    pub(super) fn next(&mut self) -> Option<Moment> {
        self.moments.pop_front()
    }
}

impl Sink for Recorder {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        let Some(ticket) = event.ticket else { return };
        match event.kind {
            Kind::Submitted(
                Call::Launch { .. }
                | Call::Copy { .. }
                | Call::Memset { .. }
                | Call::HostFunction { .. }
                | Call::Free { .. },
            ) => {
                self.submitted = Some(ticket);
                self.watched.insert(ticket);
            }
            Kind::Start if self.watched.contains(&ticket) => {
                self.moments.push_back(Moment { ticket, at: event.at, is_end: false });
            }
            Kind::End if self.watched.remove(&ticket) => {
                self.moments.push_back(Moment { ticket, at: event.at, is_end: true });
            }
            _ => {}
        }
    }
}
