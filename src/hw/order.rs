//! What is ordered before what, as far as it decides which writer a kernel should find in its memory: the order that simulations
//! follow too, fed with what the host has submitted and seen.
//!
//! All calls of the process are made one after the other, so what one of its threads has seen complete comes before everything that
//! any of them submits from then on.
//!
//! Rules: those of [`crate::order`].

use crate::base::{EventId, HostId, Nanos, SignalId, StmtId, StreamId};
use crate::order::{Effect, Operation, Runs};
use crate::trace::{Call, Cause, Cut, Setup, Takes, Target, Ticket, join};

/// The order of one run so far.
#[derive(Debug)]
pub(super) struct Order {
    order: crate::order::Order,
    streams: usize,
    hosts: usize,
    /// What waits for a signal, and was not seen complete: whatever is behind it, is behind what comes before that signal too.
    held: Vec<(Ticket, SignalId)>,
    /// The operation that was submitted last, in whichever stream.
    last: Option<Ticket>,
    /// What the host has seen complete.
    seen: Vec<u32>,
    waits: Vec<(Ticket, Cause)>,
}

/// Any thread: all have seen the same.
const ANY: HostId = HostId::from_raw_unchecked(0);

/// What it does makes no difference here.
const SOME: Operation =
    Operation { host: ANY, stmt: StmtId::from_raw_unchecked(0), runs: Runs::For(Nanos::ZERO) };

impl Order {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            order: crate::order::Order::new(setup),
            streams: setup.streams.len(),
            hosts: setup.hosts,
            held: Vec::new(),
            last: None,
            seen: vec![0; setup.streams.len()],
            waits: Vec::new(),
        }
    }

    /// The place of the next operation in its stream.
    pub(super) fn next(&self, stream: StreamId) -> Ticket {
        // A run has far fewer operations than a stream can have.
        self.order.next_ticket(stream).unwrap_or(Ticket { stream, seq: u32::MAX })
    }

    /// The place of the latest operation in its stream; the number is 0 where there is none.
    pub(super) fn latest(&self, stream: StreamId) -> Ticket {
        let next = self.next(stream);
        Ticket { seq: next.seq - 1, ..next }
    }

    /// What is before an operation that is submitted to a stream now; `None`: more than can be known now.
    pub(super) fn before(&mut self, stream: StreamId) -> Option<&Cut> {
        let Self { order, held, .. } = self;
        let before = order.ordered(ANY, stream);
        (!held.iter().any(|(ticket, _)| ticket.within(before))).then_some(before)
    }

    /// A call has put an operation into a stream.
    pub(super) fn submitted(&mut self, stream: StreamId, call: &Call) -> Ticket {
        let effect = match *call {
            Call::Record { event, .. } => Effect::Record(event),
            Call::Wait { event, .. } => Effect::Wait(event),
            _ => Effect::None,
        };
        let ticket = self.order.submit(stream, SOME, effect, &mut self.waits);
        self.last = Some(ticket);
        self.held.extend(awaited_signal(call).map(|signal| (ticket, signal)));
        ticket
    }

    /// The operation that was submitted last, in whichever stream.
    pub(super) fn last(&self) -> Option<Ticket> {
        self.last
    }

    /// What is complete once a synchronise or a query with this target returns that is made now.
    pub(super) fn target(&self, target: Target) -> Vec<u32> {
        let mut cut = Vec::new();
        self.order.target(target, &mut cut);
        cut
    }

    /// The streams that such a call waits for.
    pub(super) fn awaited(&self, target: Target) -> Vec<StreamId> {
        self.order.awaited(target).collect()
    }

    /// What is complete once an operation runs, up to and with it.
    pub(super) fn until(&mut self, ticket: Ticket) -> Vec<u32> {
        self.order.ended(ticket).to_vec()
    }

    /// An event is a new one.
    pub(super) fn renew(&mut self, event: EventId) {
        self.order.renew_event(event);
    }

    /// An event is what another one was.
    pub(super) fn inherit(&mut self, from: EventId, to: EventId) {
        self.order.inherit_event(from, to);
    }

    /// What the host has seen complete.
    pub(super) fn seen(&self) -> &Cut {
        &self.seen
    }

    /// What the synchronises of the host have proven complete.
    pub(super) fn observed(&self) -> &Cut {
        self.order.observed()
    }

    /// A thread has waited for everything in a cut, which it has seen then.
    pub(super) fn observe(&mut self, host: HostId, cut: &Cut) {
        self.order.observe(host, cut);
    }

    /// The host has seen that everything in a cut is complete. The signals for which operations in it have waited: they were given.
    pub(super) fn saw(&mut self, cut: &Cut) -> Vec<SignalId> {
        join(&mut self.seen, cut);
        (0..self.hosts).for_each(|host| self.order.see(HostId::from_usize(host), cut));
        let Self { order, seen, held, .. } = self;
        let over = held.extract_if(.., |(ticket, _)| ticket.within(seen));
        let signals = over.map(|(_, signal)| signal).collect();
        // What is complete need not be kept; one stream may have to wait for another one.
        let mut freed = Vec::new();
        loop {
            let before = order.in_flight();
            for stream in (0..self.streams).map(StreamId::from_usize) {
                while order.ready(stream).is_some_and(|(ticket, _)| ticket.within(seen)) {
                    order.retire(stream, &mut freed);
                }
            }
            if order.in_flight() == before {
                break;
            }
        }
        signals
    }
}

fn awaited_signal(call: &Call) -> Option<SignalId> {
    match call {
        Call::Launch { takes: Takes::Until(signal), .. }
        | Call::HostFunction { takes: Takes::Until(signal), .. } => Some(*signal),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Bytes, DeviceId, SignalId};
    use crate::trace::{AllocId, DeviceSetup, EventSetup, StreamKind, StreamSetup};
    use smallvec::SmallVec;

    const EVENT: EventId = EventId::from_raw_unchecked(0);
    const OTHER: EventId = EventId::from_raw_unchecked(1);

    fn order(kinds: &[StreamKind]) -> Order {
        let device = DeviceId::new(0);
        let streams = kinds.iter().map(|kind| StreamSetup::new(device, *kind)).collect();
        let devices = [DeviceSetup::new(Bytes::gib(1))].into_iter().collect();
        let events = [EventSetup::default(); 2].into_iter().collect();
        Order::new(&Setup { devices, streams, events, hosts: 2, ..Setup::default() })
    }

    fn stream(nth: usize) -> StreamId {
        StreamId::new(nth)
    }

    fn record(order: &mut Order, nth: usize) {
        order.submitted(stream(nth), &Call::Record { stream: stream(nth), event: EVENT });
    }

    fn wait(order: &mut Order, nth: usize) {
        order.submitted(stream(nth), &Call::Wait { stream: stream(nth), event: EVENT });
    }

    fn free(order: &mut Order, nth: usize) -> Ticket {
        order.submitted(stream(nth), &Call::Free { stream: stream(nth), alloc: AllocId::NULL })
    }

    #[test]
    fn what_is_seen_is_before_whatever_comes() {
        let mut order = order(&[StreamKind::NonBlocking; 3]);
        record(&mut order, 0);
        assert_eq!(order.before(stream(1)), Some(&[0, 0, 0][..]));
        wait(&mut order, 1);
        // One more behind the event, and one behind the wait.
        record(&mut order, 0);
        free(&mut order, 1);
        assert_eq!(order.before(stream(1)), Some(&[1, 2, 0][..]));
        assert_eq!(order.target(Target::Stream(stream(1))), [1, 2, 0]);
        assert_eq!(order.until(Ticket { stream: stream(1), seq: 1 }), [1, 1, 0]);
        order.saw(&[1, 1, 0]);
        assert_eq!(order.before(stream(0)), Some(&[2, 1, 0][..]));
        assert_eq!(order.latest(stream(0)).seq, 2);
        // What another process goes on with is what it was.
        order.inherit(EVENT, OTHER);
        order.renew(EVENT);
        order.submitted(stream(2), &Call::Wait { stream: stream(2), event: OTHER });
        free(&mut order, 2);
        assert_eq!(order.before(stream(2)), Some(&[2, 1, 2][..]));
        // A new event has no record, so that a wait for it is none.
        order.renew(EVENT);
        wait(&mut order, 1);
        assert_eq!(order.before(stream(1)), Some(&[1, 3, 0][..]));
    }

    #[test]
    fn the_legacy_stream_is_between_blocking_ones() {
        use StreamKind::{Blocking, Legacy, NonBlocking};
        let mut order = order(&[Blocking, Legacy, Blocking, NonBlocking]);
        for nth in [0, 3, 1] {
            free(&mut order, nth);
        }
        assert_eq!(order.before(stream(2)), Some(&[1, 1, 0, 0][..]));
        assert_eq!(order.before(stream(3)), Some(&[0, 0, 0, 1][..]));
        free(&mut order, 2);
        // Who waits for it, waits for those too.
        let legacy = Target::Stream(stream(1));
        assert_eq!(order.target(legacy), [1, 1, 1, 0]);
        assert_eq!(order.awaited(legacy), [0, 1, 2].map(stream));
    }

    #[test]
    fn behind_a_signal_nothing_is_known() {
        let mut order = order(&[StreamKind::NonBlocking; 2]);
        let (takes, uses) = (Takes::Until(SignalId::new(0)), SmallVec::new());
        order.submitted(stream(0), &Call::HostFunction { stream: stream(0), takes, gives: None, uses });
        assert_eq!(order.before(stream(0)), None);
        assert_eq!(order.before(stream(1)), Some(&[0, 0][..]));
        record(&mut order, 0);
        wait(&mut order, 1);
        assert_eq!(order.before(stream(1)), None);
        assert_eq!(order.saw(&[2, 1]), [SignalId::new(0)]);
        assert_eq!(order.before(stream(1)), Some(&[2, 1][..]));
    }
}
