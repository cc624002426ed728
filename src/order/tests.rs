//! The order by itself: which waits, records and synchronises order what.

use super::*;
use crate::base::{Bytes, DeviceId, StmtId, index_vec};
use crate::trace::{DeviceSetup, EventSetup, StreamSetup, Waiter};

const HOST: HostId = HostId::from_raw_unchecked(0);

fn setup(kinds: &[StreamKind], events: usize) -> Setup {
    let device = DeviceId::new(0);
    Setup {
        devices: index_vec![DeviceSetup::new(Bytes::gib(1))],
        streams: kinds.iter().map(|kind| StreamSetup::new(device, *kind)).collect(),
        events: index_vec![EventSetup::default(); events],
        ..Setup::default()
    }
}

struct Line {
    order: Order,
    waits: Vec<(Ticket, Cause)>,
}

impl Line {
    fn new(kinds: &[StreamKind]) -> Self {
        Self { order: Order::new(&setup(kinds, 2)), waits: Vec::new() }
    }

    fn submit(&mut self, stream: usize, effect: Effect<'_>) -> Ticket {
        let runs = Runs::For(crate::base::Nanos(1));
        let operation = Operation { host: HOST, stmt: StmtId::new(0), runs };
        self.order.submit(StreamId::new(stream), operation, effect, &mut self.waits)
    }

    fn ordered(&mut self, stream: usize) -> Vec<u32> {
        self.order.ordered(HOST, StreamId::new(stream)).to_vec()
    }
}

use StreamKind::{Blocking, Legacy, NonBlocking, PerThread};

fn event(n: usize) -> EventId {
    EventId::new(n)
}

#[test]
fn a_wait_takes_the_record_that_is_latest_at_its_call() {
    let mut line = Line::new(&[NonBlocking, NonBlocking]);
    line.submit(0, Effect::Record(event(0)));
    line.submit(1, Effect::Wait(event(0)));
    line.submit(0, Effect::None);
    line.submit(0, Effect::Record(event(0)));
    assert_eq!(line.ordered(1), [1, 1], "R3: a later record does not move an earlier wait");
    line.submit(1, Effect::Wait(event(0)));
    assert_eq!(line.ordered(1), [3, 2]);
}

#[test]
fn an_event_without_a_record_is_no_wait() {
    let mut line = Line::new(&[NonBlocking, NonBlocking]);
    line.submit(0, Effect::None);
    line.submit(1, Effect::Wait(event(0)));
    assert_eq!(line.ordered(1), [0, 1]);
    assert!(line.order.ready(StreamId::new(1)).is_some());
}

#[test]
fn order_is_transitive_only_in_call_order() {
    let mut line = Line::new(&[NonBlocking; 3]);
    line.submit(0, Effect::Record(event(0)));
    line.submit(1, Effect::Wait(event(0)));
    line.submit(1, Effect::Record(event(1)));
    line.submit(2, Effect::Wait(event(1)));
    assert_eq!(line.ordered(2), [1, 2, 1]);
}

#[test]
fn the_legacy_stream_orders_blocking_streams_both_ways() {
    let mut line = Line::new(&[Blocking, Legacy, PerThread, NonBlocking]);
    line.submit(0, Effect::None);
    line.submit(3, Effect::None);
    assert_eq!(line.ordered(1), [1, 0, 0, 0], "R8: blocking streams first, non-blocking ones exempt");
    assert_eq!(line.ordered(2), [0, 0, 0, 0], "asking for the legacy stream's order is no operation of it");
    line.submit(1, Effect::None);
    assert_eq!(line.ordered(2), [1, 1, 0, 0], "R8, R9: then all blocking streams wait on it");
    assert_eq!(line.ordered(3), [0, 0, 0, 1]);
    line.submit(2, Effect::None);
    assert_eq!(line.waits, [(Ticket { stream: StreamId::new(1), seq: 1 }, Cause::Legacy)]);
    line.submit(2, Effect::None);
    assert_eq!(line.waits, []);
}

#[test]
fn a_synchronise_orders_what_the_host_submits_later() {
    let mut line = Line::new(&[NonBlocking; 3]);
    line.submit(0, Effect::Record(event(0)));
    line.submit(1, Effect::Wait(event(0)));
    let mut target = Vec::new();
    line.order.target(Target::Stream(StreamId::new(1)), &mut target);
    assert_eq!(
        target,
        [1, 1, 0],
        "R40: what is ordered before the synchronised point is proven complete too"
    );
    line.order.observe(HOST, &target);
    assert_eq!(line.ordered(2), [1, 1, 0]);
    line.submit(2, Effect::None);
    assert_eq!(line.ordered(2), [1, 1, 1]);
}

#[test]
fn a_wait_for_a_past_operation_brings_its_order_along() {
    let mut line = Line::new(&[NonBlocking; 3]);
    line.submit(0, Effect::Record(event(0)));
    line.submit(1, Effect::Wait(event(0)));
    let free = line.submit(1, Effect::None);
    line.submit(0, Effect::Record(event(0)));
    line.submit(1, Effect::Wait(event(0)));
    line.submit(2, Effect::Allocator(&[free]));
    assert_eq!(line.ordered(2), [1, 2, 1], "as of the free, not as of now");
}

#[test]
fn sweeping_keeps_the_clocks_of_pending_frees() {
    let mut line = Line::new(&[NonBlocking; 3]);
    let mut frees = Vec::new();
    for _ in 0..400 {
        line.submit(0, Effect::Record(event(0)));
        line.submit(1, Effect::Wait(event(0)));
        frees.push(line.submit(1, Effect::None));
    }
    assert!(line.order.wants_sweep());
    let mut swept = line.order.clone();
    swept.sweep(&mut [frees[7], frees[250]]);
    assert!(!swept.wants_sweep());
    for free in [frees[7], frees[250], frees[399]] {
        let [mut before, mut after] = [[0; 3], [0; 3]];
        line.order.history.join_into(free, &mut before);
        swept.history.join_into(free, &mut after);
        assert_eq!(before, after);
        assert_eq!(before, [free.seq / 2, free.seq, 0]);
    }
}

#[test]
fn completion_releases_whoever_waited_in_order() {
    let mut line = Line::new(&[NonBlocking; 3]);
    line.submit(0, Effect::Record(event(0)));
    line.submit(2, Effect::Wait(event(0)));
    line.submit(1, Effect::Wait(event(0)));
    assert!(line.order.ready(StreamId::new(1)).is_none());
    let mut ready = Vec::new();
    line.order.retire(StreamId::new(0), &mut ready);
    assert_eq!(ready, [StreamId::new(2), StreamId::new(1)]);
    assert_eq!(line.order.in_flight(), 2);
}

#[test]
fn a_cycle_is_found_and_told_in_order() {
    let operation = |seq| Waiter::Operation(Ticket { stream: StreamId::new(0), seq });
    let (host, signal) = (Waiter::Host(HOST), Waiter::Signal(crate::base::SignalId::new(0)));
    let edges = [(host, operation(3)), (operation(3), operation(1)), (operation(1), signal), (signal, host)];
    assert_eq!(cycle(&edges), [host, operation(3), operation(1), signal]);
    assert_eq!(cycle(&edges[..3]), []);
}

#[test]
fn a_synchronise_waits_for_the_streams_that_it_stands_for() {
    let mut line = Line::new(&[Legacy, Blocking, NonBlocking, PerThread]);
    line.submit(2, Effect::Record(event(0)));
    let awaited = |target| {
        let streams = line.order.awaited(target);
        streams.map(StreamId::index).collect::<Vec<_>>()
    };
    assert_eq!(awaited(Target::Stream(StreamId::new(2))), [2]);
    assert_eq!(awaited(Target::Stream(StreamId::new(0))), [0, 1, 3], "R8: blocking streams come before it");
    assert_eq!(awaited(Target::Event(event(0))), [2]);
    assert_eq!(awaited(Target::Event(event(1))), [0; 0], "R4: no record, no work");
    assert_eq!(awaited(Target::Device(DeviceId::new(0))), [0, 1, 2, 3]);
}
