//! What is ordered before what, as far as it decides which writer a kernel should find in its memory.
//!
//! One clock a stream, as in the analysis, of which only a part is needed here: who has written is known by a ticket, and the
//! question is whether that is before an operation. What a thread of the host has seen complete is before everything that is
//! submitted from then on, whoever submits it, since all calls of the process are made one after the other.
//!
//! Rules: CUDA driver API, `cuEventRecord`, `cuStreamWaitEvent`, "Stream synchronization behavior".

use crate::base::{EventId, StreamId};
use crate::trace::{Call, Cut, Setup, StreamKind, Ticket, join};
use std::collections::BTreeMap;

/// A stream.
#[derive(Clone, Debug)]
struct Lane {
    device: usize,
    kind: StreamKind,
    clock: Vec<u32>,
    /// Whether something in it waits for a signal: then it is behind whatever comes before that.
    is_held: bool,
}

/// The order of one run so far.
#[derive(Debug)]
pub(super) struct Order {
    lanes: Vec<Lane>,
    records: BTreeMap<EventId, (Vec<u32>, bool)>,
    seen: Vec<u32>,
}

impl Order {
    pub(super) fn new(setup: &Setup) -> Self {
        let width = setup.streams.len();
        let physical = |device| setup.physical(device).index();
        let lane = |stream: &crate::trace::StreamSetup| Lane {
            device: physical(stream.device),
            kind: stream.kind,
            clock: vec![0; width],
            is_held: false,
        };
        Self {
            lanes: setup.streams.iter().map(lane).collect(),
            records: BTreeMap::new(),
            seen: vec![0; width],
        }
    }

    /// What is before an operation that is submitted to a stream now; `None`: more than can be known now.
    pub(super) fn before(&mut self, stream: StreamId) -> Option<&Cut> {
        self.catch_up(stream);
        let lane = &self.lanes[stream.index()];
        (!lane.is_held).then_some(&lane.clock)
    }

    /// A call has put this operation into its stream.
    pub(super) fn submitted(&mut self, ticket: Ticket, call: &Call) {
        self.catch_up(ticket.stream);
        if let Call::Wait { event, .. } = call
            && let Some((clock, is_held)) = self.records.get(event)
        {
            let lane = &mut self.lanes[ticket.stream.index()];
            join(&mut lane.clock, clock);
            lane.is_held |= is_held;
        }
        let lane = &mut self.lanes[ticket.stream.index()];
        lane.clock[ticket.stream.index()] = ticket.seq;
        lane.is_held |= waits_for_signal(call);
        if let Call::Record { event, .. } = call {
            self.records.insert(*event, (lane.clock.clone(), lane.is_held));
        }
        // Blocking streams go on after what is in the legacy default stream.
        let Lane { device, kind, ref clock, is_held } = *lane;
        if kind == StreamKind::Legacy {
            let clock = clock.clone();
            for other in self.lanes.iter_mut().filter(|other| other.is_blocking_on(device)) {
                join(&mut other.clock, &clock);
                other.is_held |= is_held;
            }
        }
    }

    fn catch_up(&mut self, stream: StreamId) {
        let Lane { device, kind, .. } = self.lanes[stream.index()];
        if kind == StreamKind::Legacy {
            let others: Vec<(Vec<u32>, bool)> = self
                .lanes
                .iter()
                .filter(|other| other.is_blocking_on(device))
                .map(|other| (other.clock.clone(), other.is_held))
                .collect();
            let lane = &mut self.lanes[stream.index()];
            for (clock, is_held) in others {
                join(&mut lane.clock, &clock);
                lane.is_held |= is_held;
            }
        }
        join(&mut self.lanes[stream.index()].clock, &self.seen);
    }

    /// What the host has seen complete.
    pub(super) fn seen(&self) -> &Cut {
        &self.seen
    }

    /// The host has seen this much complete.
    pub(super) fn saw(&mut self, cut: &Cut) {
        join(&mut self.seen, cut);
        for (stream, lane) in self.lanes.iter_mut().enumerate() {
            // What its last operation was behind is complete with it.
            if lane.clock[stream] <= self.seen[stream] {
                lane.is_held = false;
            }
        }
    }

    /// With everything that comes before it.
    pub(super) fn closed(&self, cut: &Cut) -> Vec<u32> {
        let mut closed = cut.to_vec();
        for (stream, lane) in self.lanes.iter().enumerate() {
            if cut[stream] >= lane.clock[stream] {
                join(&mut closed, &lane.clock);
            }
        }
        closed
    }
}

impl Lane {
    fn is_blocking_on(&self, device: usize) -> bool {
        self.device == device && matches!(self.kind, StreamKind::Blocking | StreamKind::PerThread)
    }
}

fn waits_for_signal(call: &Call) -> bool {
    use crate::trace::Takes;
    matches!(
        call,
        Call::Launch { takes: Takes::Until(_), .. } | Call::HostFunction { takes: Takes::Until(_), .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Bytes, DeviceId, SignalId};
    use crate::trace::{DeviceSetup, StreamSetup, Takes};
    use smallvec::SmallVec;

    fn order(kinds: &[StreamKind]) -> Order {
        let device = DeviceId::new(0);
        let streams = kinds.iter().map(|kind| StreamSetup::new(device, *kind)).collect();
        let devices = [DeviceSetup::new(Bytes::gib(1))].into_iter().collect();
        Order::new(&Setup { devices, streams, ..Setup::default() })
    }

    fn stream(nth: usize) -> StreamId {
        StreamId::new(nth)
    }

    fn ticket(nth: usize, seq: u32) -> Ticket {
        Ticket { stream: stream(nth), seq }
    }

    #[test]
    fn a_wait_is_after_what_was_recorded() {
        let mut order = order(&[StreamKind::NonBlocking; 2]);
        let event = EventId::new(0);
        order.submitted(ticket(0, 1), &Call::Record { stream: stream(0), event });
        assert_eq!(order.before(stream(1)), Some(&[0, 0][..]));
        order.submitted(ticket(1, 1), &Call::Wait { stream: stream(1), event });
        order.submitted(ticket(0, 2), &Call::Record { stream: stream(0), event });
        assert_eq!(order.before(stream(1)), Some(&[1, 1][..]));
        // A synchronise of the second one has seen the first one up to there.
        let closed = order.closed(&[0, 1]);
        assert_eq!(closed, [1, 1]);
        order.saw(&closed);
        assert_eq!(order.before(stream(0)), Some(&[2, 1][..]));
    }

    #[test]
    fn the_legacy_stream_is_between_blocking_ones() {
        use StreamKind::{Blocking, Legacy, NonBlocking};
        let mut order = order(&[Blocking, Legacy, Blocking, NonBlocking]);
        let free = |nth| Call::Free { stream: stream(nth), alloc: crate::trace::AllocId::NULL };
        for nth in [0, 3, 1] {
            order.submitted(ticket(nth, 1), &free(nth));
        }
        assert_eq!(order.before(stream(2)), Some(&[1, 1, 0, 0][..]));
        assert_eq!(order.before(stream(3)), Some(&[0, 0, 0, 1][..]));
    }

    #[test]
    fn behind_a_signal_nothing_is_known() {
        let mut order = order(&[StreamKind::NonBlocking; 2]);
        let (takes, uses) = (Takes::Until(SignalId::new(0)), SmallVec::new());
        let held = Call::HostFunction { stream: stream(0), takes, gives: None, uses };
        order.submitted(ticket(0, 1), &held);
        assert_eq!(order.before(stream(0)), None);
        assert_eq!(order.before(stream(1)), Some(&[0, 0][..]));
        let event = EventId::new(0);
        order.submitted(ticket(0, 2), &Call::Record { stream: stream(0), event });
        order.submitted(ticket(1, 1), &Call::Wait { stream: stream(1), event });
        assert_eq!(order.before(stream(1)), None);
        order.saw(&[2, 1]);
        assert_eq!(order.before(stream(1)), Some(&[2, 1][..]));
    }
}
