//! Times with a second or a third host thread: how they start, hand buffers to each other, and end.
//!
//! Who gets a buffer has waited for a signal that was given after its last use was called, and stands below its allocation in the
//! text. A shared event may come along: who gave it away leaves it alone.

use super::maker::{Crew, Handover, Maker};
use super::program::{Call, MAIN, SLOTS};

/// So many host threads are started at most.
const THREADS_MAX: usize = 24;

impl Maker {
    /// Starts one or two host threads, which get some of the first one's buffers.
    pub(super) fn begin_phase(&mut self) {
        if self.program.threads + SLOTS > THREADS_MAX {
            return self.step(MAIN);
        }
        self.phase = self.draws.between(12, 40);
        for slot in 1..=1 + self.below(2) {
            self.program.threads += 1;
            let (thread, since) = (self.program.threads, self.program.statements.len());
            let events = self.draws.between(1, 2) as usize;
            let events = (self.program.events..self.program.events + events).collect::<Vec<_>>();
            self.program.events += events.len();
            let buffers = std::mem::take(&mut self.crew(MAIN).buffers);
            let (given, kept) = buffers.into_iter().partition(|_| self.draws.below(3) == 0);
            self.crew(MAIN).buffers = kept;
            self.push(MAIN, Call::Spawn { slot, thread });
            self.crews[slot] = Some(Crew { thread, buffers: given, events, since });
        }
    }

    /// Lets everybody have what is on its way, and joins.
    pub(super) fn end_phase(&mut self) {
        while !self.handovers.is_empty() {
            self.receive(0);
        }
        self.phase = 0;
        for slot in 1..SLOTS {
            let Some(crew) = self.crews[slot].take() else { continue };
            self.push(MAIN, Call::Join { slot, thread: crew.thread });
            self.crew(MAIN).buffers.extend(crew.buffers);
        }
    }

    /// A host thread gets what was handed over to it, or hands something over; whether it did.
    pub(super) fn meet(&mut self, slot: usize) -> bool {
        if let Some(nth) = self.handovers.iter().position(|handover| handover.to == slot) {
            self.receive(nth);
            return true;
        }
        let pairs: Vec<(usize, usize)> = (0..SLOTS)
            .filter(|to| *to != slot && self.crews[*to].is_some())
            .flat_map(|to| {
                self.crews[slot]
                    .iter()
                    .flat_map(move |own| own.buffers.iter().map(move |buffer| (to, *buffer)))
            })
            .filter(|(to, buffer)| self.is_above(*buffer, *to))
            .collect();
        // The signal, and in a stream the record before it; that it is awaited is to come.
        if pairs.is_empty() || self.room() < 4 {
            return false;
        }
        let (to, buffer) = pairs[self.below(pairs.len())];
        self.hand_over(slot, to, buffer);
        true
    }

    fn hand_over(&mut self, slot: usize, to: usize, buffer: usize) {
        let last = self.last[buffer];
        let event = self.crew(slot).events.last().copied().filter(|_| self.one_in(2));
        let event = event.zip(last).map(|(event, stream)| {
            self.push(slot, Call::Record { stream, event });
            self.crew(slot).events.retain(|other| *other != event);
            event
        });
        self.program.signals += 1;
        let signal = self.program.signals;
        let call = match self.one_in(3) {
            true => self.function(Vec::new(), Some(signal)),
            false => Call::Signal(signal),
        };
        self.push(slot, call);
        self.crew(slot).buffers.retain(|other| *other != buffer);
        self.handovers.push(Handover { to, signal, buffer, event });
    }

    fn receive(&mut self, nth: usize) {
        let Handover { to, signal, buffer, event } = self.handovers.remove(nth);
        // It was counted as owed.
        self.push(to, Call::Await(signal));
        self.crew(to).buffers.push(buffer);
        self.crew(to).events.extend(event);
    }

    /// Whether the allocation of a buffer stands above the next line of a host thread.
    fn is_above(&self, buffer: usize, slot: usize) -> bool {
        let (thread, statement) = self.births[buffer];
        let Some(crew) = &self.crews[slot] else { return false };
        // The text of a host thread stands where it is started: those of later ones, and the rest of the first one, below it.
        slot == MAIN || thread != 0 && thread <= crew.thread || statement < crew.since
    }
}
