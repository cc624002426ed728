//! Where host threads and streams meet: signals, barriers, imports, collectives. What each brings is a clock.
//!
//! A signal that operations await before it is given, and a collective that lacks parts, are gates: what comes to be before
//! them is known later. A part of a collective starts when every part of its round could, so that it comes after what is before
//! the others; that one part ends says nothing about the others.

use super::clock::{Clock, Gate, pass};
use super::clocks::Clocks;
use crate::base::{BarrierId, CollectiveId, HostId, IndexVec, SignalId, StreamId, reuse_on_clone};
use crate::trace::{Setup, Ticket};
use std::collections::BTreeMap;

/// Who meets whom.
#[derive(Debug)]
pub(super) struct Meetings {
    signals: IndexVec<SignalId, Signal>,
    barriers: IndexVec<BarrierId, (u32, Vec<HostId>)>,
    collectives: IndexVec<CollectiveId, Collective>,
    /// The functions in streams that give a signal when they return, with what is before that.
    promises: BTreeMap<Ticket, (SignalId, Clock)>,
}

reuse_on_clone!(Meetings { signals, barriers, collectives, promises });

#[derive(Debug, Default)]
struct Signal {
    /// What is before it, once it is given.
    clock: Option<Clock>,
    /// What operations wait for that were submitted before.
    gate: Option<Gate>,
}

reuse_on_clone!(Signal { clock, gate });

#[derive(Debug)]
struct Collective {
    parts: usize,
    /// The rounds that lack parts.
    rounds: Vec<(Gate, Vec<StreamId>)>,
}

reuse_on_clone!(Collective { parts, rounds });

impl Meetings {
    pub(super) fn new(setup: &Setup) -> Self {
        let collective = |setup: &crate::trace::CollectiveSetup| Collective {
            parts: setup.parts as usize,
            rounds: Vec::new(),
        };
        Self {
            signals: (0..setup.signals).map(|_| Signal::default()).collect(),
            barriers: setup.barriers.iter().map(|size| (*size, Vec::new())).collect(),
            collectives: setup.collectives.iter().map(collective).collect(),
            promises: BTreeMap::new(),
        }
    }

    /// What a signal brings to who awaits it; `None`: it was not given.
    pub(super) fn carried(&self, signal: SignalId) -> Option<&Clock> {
        self.signals[signal].clock.as_ref()
    }

    /// A host thread gives a signal. Returns the gate that this closes, if one was open, and what is before it.
    pub(super) fn give(
        &mut self,
        clocks: &mut Clocks,
        host: HostId,
        signal: SignalId,
    ) -> Option<(Gate, Clock)> {
        let mut clock = self.signals[signal].clock.take().unwrap_or_else(|| clocks.empty());
        clocks.carry(host, &mut clock);
        self.given(clocks, signal, clock)
    }

    fn given(&mut self, clocks: &mut Clocks, signal: SignalId, clock: Clock) -> Option<(Gate, Clock)> {
        let gate = self.signals[signal].gate.take();
        self.signals[signal].clock = Some(clock.clone());
        gate.map(|gate| self.close(clocks, gate, &clock))
    }

    fn close(&mut self, clocks: &mut Clocks, gate: Gate, clock: &Clock) -> (Gate, Clock) {
        let all = clocks.close(gate, clock);
        let signals = self.signals.iter_mut().filter_map(|signal| signal.clock.as_mut());
        let promises = self.promises.values_mut().map(|(_, clock)| clock);
        signals.chain(promises).for_each(|known| {
            pass(known, gate, &all);
        });
        (gate, all)
    }

    /// The latest operation of a stream runs until a signal is given.
    pub(super) fn runs_until(&mut self, clocks: &mut Clocks, stream: StreamId, signal: SignalId) {
        let Signal { clock, gate } = &mut self.signals[signal];
        match clock {
            Some(clock) => clocks.wait_unseen(stream, clock),
            None => {
                let gate = *gate.get_or_insert_with(|| clocks.open());
                clocks.put_behind(stream, gate);
            }
        }
    }

    /// The latest operation of a stream gives a signal when it ends.
    pub(super) fn promise(&mut self, clocks: &Clocks, ticket: Ticket, signal: SignalId) {
        let mut clock = clocks.empty();
        clocks.carry_stream(ticket.stream, &mut clock);
        self.promises.insert(ticket, (signal, clock));
    }

    /// Whether any operation in flight gives a signal when it ends.
    pub(super) fn has_promises(&self) -> bool {
        !self.promises.is_empty()
    }

    /// An operation has ended. Returns the gate that this closes, if one was open, and what is before it.
    pub(super) fn ended(&mut self, clocks: &mut Clocks, ticket: Ticket) -> Option<(Gate, Clock)> {
        let (signal, mut clock) = self.promises.remove(&ticket)?;
        if let Some(given) = &self.signals[signal].clock {
            clock.join(given);
        }
        self.given(clocks, signal, clock)
    }

    /// A host thread comes to a barrier. The last one takes the others along.
    pub(super) fn arrive(&mut self, clocks: &mut Clocks, barrier: BarrierId, host: HostId) {
        let (size, arrived) = &mut self.barriers[barrier];
        arrived.push(host);
        if arrived.len() < *size as usize {
            return;
        }
        let together = std::mem::take(arrived);
        let mut clock = clocks.empty();
        together.iter().for_each(|host| clocks.carry(*host, &mut clock));
        together.iter().for_each(|host| clocks.learns(*host, &clock));
    }

    /// The next operation of a stream is part of a collective. Returns the gate that the last part of a round closes.
    pub(super) fn part(
        &mut self,
        clocks: &mut Clocks,
        stream: StreamId,
        collective: CollectiveId,
    ) -> Option<(Gate, Clock)> {
        let Collective { parts, rounds } = &mut self.collectives[collective];
        let nth = rounds.iter().position(|(_, streams)| !streams.contains(&stream)).unwrap_or(rounds.len());
        if nth == rounds.len() {
            rounds.push((clocks.open(), Vec::new()));
        }
        let (gate, streams) = &mut rounds[nth];
        let gate = *gate;
        clocks.gate_takes(gate, stream);
        clocks.put_behind(stream, gate);
        streams.push(stream);
        if streams.len() < *parts {
            return None;
        }
        rounds.remove(nth);
        let nothing = clocks.empty();
        Some(self.close(clocks, gate, &nothing))
    }
}
