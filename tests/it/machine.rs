//! The machine, called directly with random calls: clones, heap use, what becomes visible when.

use crate::budget;
use allocation_counter::measure;
use millpond::base::{
    Bytes, DeviceId, Draws, EventId, HostBufferId, HostId, KernelId, Nanos, PoolId, StmtId, StreamId,
    index_vec,
};
use millpond::engine::{Chooser, Machine, Timeline};
use millpond::model::Allocator;
use millpond::model::cuda::Cuda;
use millpond::oracle::Accounting;
use millpond::trace::{
    Access, AllocId, Attributes, BlockState, Call, Detail, DeviceSetup, Event, EventSetup, HostCosts, Law,
    Memory, Nothing, PoolSetup, Reply, Setup, Sink, StreamKind, StreamSetup, Takes, Target, Use,
};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::task::Poll;

const HOST: HostId = HostId::from_raw_unchecked(0);

/// Draws every duration from one sequence.
#[derive(Clone)]
struct Drawn(Draws);

impl Chooser for Drawn {
    fn duration(&mut self, _: StmtId, law: &Law) -> Nanos {
        match *law {
            Law::Constant(duration) => duration,
            Law::Uniform { low, high } => Nanos(self.0.between(low.0, high.0)),
            Law::Normal { mean, deviation } => Nanos(self.0.normal(mean.0, deviation.0)),
        }
    }

    fn pick(&mut self, among: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        self.0.below(among.len() as u64) as usize
    }
}

/// Keeps every event as text.
#[derive(Clone, Default)]
pub(crate) struct Recorder(pub(crate) Vec<String>);

impl Sink for Recorder {
    fn wants(&self, _: Detail) -> bool {
        true
    }
    fn event(&mut self, event: &Event<'_>) {
        self.0.push(format!("{event:?}"));
    }
}

fn setup() -> Setup {
    let device = DeviceId::new(0);
    let stream = |kind| StreamSetup::new(device, kind);
    let pool = |attributes| PoolSetup { attributes, ..PoolSetup::on(device) };
    Setup {
        devices: index_vec![DeviceSetup::new(Bytes::mib(160))],
        pools: index_vec![
            pool(Attributes::default()),
            pool(Attributes { release_threshold: Bytes::MAX, ..Attributes::default() }),
        ],
        streams: index_vec![
            stream(StreamKind::Blocking),
            stream(StreamKind::NonBlocking),
            stream(StreamKind::Legacy),
            stream(StreamKind::PerThread),
        ],
        events: index_vec![EventSetup::default(); 2],
        host: HostCosts { submit: Nanos(300), call: Nanos(50), queue_depth: None },
        ..Setup::default()
    }
}

type Tested<S> = Machine<Cuda, Timeline, Drawn, S>;

fn machine<S: Sink>(seed: u64, sink: S) -> Tested<S> {
    let setup = setup();
    let timeline = Timeline::new(setup.streams.len());
    Machine::new(&setup, Cuda::new(&setup), timeline, Drawn(Draws::new(seed, 9)), sink)
}

/// Draws calls, knowing which allocations are live.
struct Caller {
    draws: Draws,
    live: Vec<AllocId>,
}

impl Caller {
    fn new(seed: u64) -> Self {
        Self { draws: Draws::new(seed, 3), live: Vec::new() }
    }

    fn call(&mut self) -> Call {
        let mut below = |count| self.draws.below(count) as usize;
        let (stream, event, pool) = (StreamId::new(below(4)), EventId::new(below(2)), PoolId::new(below(2)));
        match below(26) {
            0..5 => Call::Alloc { stream, pool: Some(pool), size: Bytes::mib(1 + below(20) as u64) },
            5..9 if !self.live.is_empty() => {
                let alloc = self.live.swap_remove(self.draws.below(self.live.len() as u64) as usize);
                Call::Free { stream, alloc }
            }
            5..12 => {
                let takes = Takes::For(Law::Uniform { low: Nanos(0), high: Nanos(2_000) });
                Call::Launch { stream, kernel: KernelId::new(0), takes, uses: SmallVec::new() }
            }
            12..14 => Call::Record { stream, event },
            14..16 => Call::Wait { stream, event },
            16 => Call::Sync(match below(4) {
                0 => Target::Device(DeviceId::new(0)),
                1 => Target::Event(event),
                _ => Target::Stream(stream),
            }),
            17 => Call::Sleep(Nanos(below(3_000) as u64)),
            18 => Call::Trim { pool, keep: Bytes::mib(32) },
            19..21 => {
                let (size, managed) = (Bytes::mib(1 + below(40) as u64), below(4) == 0);
                Call::Malloc { device: DeviceId::new(0), size, managed }
            }
            21..23 if !self.live.is_empty() => {
                let alloc = self.live.swap_remove(self.draws.below(self.live.len() as u64) as usize);
                Call::PlainFree { alloc }
            }
            21..25 => {
                let takes = Law::Uniform { low: Nanos(0), high: Nanos(2_000) };
                let mut touch = |access| {
                    let host = HostBufferId::new(0);
                    let kinds = [Memory::Device(AllocId::NULL), Memory::Pinned(host), Memory::Pageable(host)];
                    Use { memory: kinds[below(3)], from: Bytes::ZERO, size: Bytes(1), access }
                };
                let (to, from) = (touch(Access::Write), touch(Access::Read));
                let blocking = below(2) == 0;
                let stream = if blocking { StreamId::new(2) } else { stream };
                Call::Copy { stream, blocking, takes, to, from }
            }
            _ => Call::Free { stream, alloc: AllocId { slot: 0, serial: u32::MAX } },
        }
    }
}

/// Of the order, with the frees that the allocator still holds.
fn digest<S: Sink>(machine: &Tested<S>) -> u128 {
    let mut pending = Vec::new();
    machine.model().pending(&mut pending);
    machine.order().digest(&pending)
}

fn complete<S: Sink>(machine: &mut Tested<S>, call: &Call) -> Option<AllocId> {
    loop {
        match machine.call(HOST, StmtId::new(0), call) {
            Poll::Ready(Ok(Reply::Allocated(decision))) => return Some(decision.alloc),
            Poll::Ready(_) => return None,
            Poll::Pending => assert!(machine.step(None), "nothing keeps these calls from completing"),
        }
    }
}

/// One machine runs through; the other is cloned at every call, into a used machine, and goes on as the clone.
#[test]
fn a_clone_goes_on_like_the_original() {
    for seed in 0..budget(60) {
        let mut caller = Caller::new(seed);
        let mut straight = machine(seed, Recorder::default());
        let mut cloned = machine(seed, Recorder::default());
        let mut spare = machine(seed, Recorder::default());
        for _ in 0..150 {
            let call = caller.call();
            spare.clone_from(&cloned);
            std::mem::swap(&mut spare, &mut cloned);
            let alloc = complete(&mut straight, &call);
            assert_eq!(alloc, complete(&mut cloned, &call));
            assert_eq!(straight.model().digest(), cloned.model().digest());
            assert_eq!(digest(&straight), digest(&cloned));
            caller.live.extend(alloc);
        }
        while straight.step(None) {}
        while cloned.step(None) {}
        assert_eq!(straight.sink().0, cloned.sink().0);
    }
}

/// Exploration copies states all the time: a copy into a machine that has been as large does not touch the heap.
#[test]
fn a_warm_clone_asks_for_no_memory() {
    for seed in 0..budget(20) {
        let mut caller = Caller::new(seed);
        let mut original = machine(seed, Nothing);
        let mut copy = machine(seed, Nothing);
        for _ in 0..150 {
            let call = caller.call();
            caller.live.extend(complete(&mut original, &call));
            copy.clone_from(&original);
            let again = measure(|| copy.clone_from(&original));
            assert_eq!(again.count_total, 0);
        }
    }
}

/// A host that never synchronises: what is kept of the past is what frees in flight still need, however long it goes on.
#[test]
fn running_ahead_keeps_only_what_is_in_flight() {
    let peak = |calls: u64| {
        measure(|| {
            let mut caller = Caller::new(1);
            let mut machine = machine(1, Nothing);
            let mut made = 0;
            while made < calls {
                let call = caller.call();
                if matches!(call, Call::Sync(_)) {
                    continue;
                }
                made += 1;
                let alloc = complete(&mut machine, &call);
                caller.live.extend(alloc);
            }
            while machine.step(None) {}
            assert_eq!(machine.order().in_flight(), 0);
        })
        .bytes_max
    };
    let (few, many) = (peak(10_000), peak(80_000));
    assert!(many < 2 * few, "{few} bytes become {many}");
}

/// The books that the oracle keeps from the events alone agree with the allocator, memory outside of pools included.
#[test]
fn the_books_add_up() {
    let (mut outside, mut returned) = (0, 0);
    for seed in 0..budget(100) {
        let mut caller = Caller::new(seed);
        let mut machine = machine(seed, (Accounting::new(&setup()), Recorder::default()));
        for _ in 0..150 {
            let call = caller.call();
            caller.live.extend(complete(&mut machine, &call));
            assert_eq!(machine.sink().0.violations(), []);
        }
        let events = &machine.sink().1.0;
        outside += events.iter().filter(|event| event.contains("Device {")).count();
        returned += events.iter().filter(|event| event.contains("Returned {")).count();
    }
    assert!(outside > 1_000 && returned > 20, "{outside} {returned}");
}

/// A call that fails changes nothing that later calls could notice.
#[test]
fn a_failed_call_changes_nothing() {
    let mut failures = 0;
    for seed in 0..budget(60) {
        let mut caller = Caller::new(seed);
        let mut machine = machine(seed, Nothing);
        for _ in 0..150 {
            let call = caller.call();
            // Plain memory comes back at any call, since its free has completed before.
            let awaits = machine.model().awaits_completion();
            let before = (machine.model().digest(), digest(&machine), machine.order().in_flight());
            let Poll::Ready(result) = machine.call(HOST, StmtId::new(0), &call) else {
                complete(&mut machine, &call);
                continue;
            };
            match result {
                Ok(Reply::Allocated(decision)) => caller.live.push(decision.alloc),
                Ok(_) => {}
                Err(_) => {
                    failures += 1;
                    if !awaits {
                        assert_eq!(before.0, machine.model().digest());
                    }
                    assert_eq!(before.1, digest(&machine));
                    assert!(machine.order().in_flight() <= before.2, "only completions may have happened");
                }
            }
        }
    }
    assert!(failures > 500, "{failures}");
}

/// A digest stands for a state in an exploration: two states of which something different can be told have two digests. Counts
/// of the past and places of handles aside.
#[test]
fn what_differs_has_two_digests() {
    let (mut models, mut orders) = (BTreeMap::new(), BTreeMap::new());
    let mut states = 0;
    for seed in 0..budget(40) {
        let mut caller = Caller::new(seed);
        let mut machine = machine(seed, Nothing);
        for _ in 0..100 {
            let call = caller.call();
            caller.live.extend(complete(&mut machine, &call));
            let (model, order) = (machine.model(), machine.order());
            let mut pending = Vec::new();
            model.pending(&mut pending);
            let pools = setup().pools;
            let pictures = pools.indices().map(|pool| {
                let mut picture = model.picture(pool);
                (picture.state.maps, picture.state.unmaps) = (0, 0);
                for block in &mut picture.blocks {
                    if let BlockState::Live { alloc, .. } | BlockState::Freed { alloc, .. } = &mut block.state
                    {
                        alloc.slot = 0;
                    }
                }
                picture
            });
            let pictures: Vec<_> = pictures.collect();
            // What has completed is none of its state.
            let nothing = vec![0; order.observed().len()];
            let told = format!("{pictures:?} {:?}", model.device(DeviceId::new(0), &nothing));
            let first = models.entry(model.digest()).or_insert_with(|| told.clone());
            assert_eq!(*first, told);

            let recorded = [0, 1].map(|event| order.recorded_on(EventId::new(event)));
            let told = format!("{:?} {:?} {recorded:?}", order.seen(HOST), order.observed());
            let first = orders.entry(order.digest(&pending)).or_insert_with(|| told.clone());
            assert_eq!(*first, told);
            states += 1;
        }
    }
    assert!(3 * models.len() > states && 3 * orders.len() > states, "{} {}", models.len(), orders.len());
}
