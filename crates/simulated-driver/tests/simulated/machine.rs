//! The driver decides as its machine does: the same random calls, through the entries and to a machine without them, get the
//! same addresses, figures, answers and times.

use crate::basics::{kernels, launch};
use crate::calls::Draws;
use crate::driver::*;
use millpond::base::{Bytes, DeviceId, EventId, HostId, KernelId, Nanos, PoolId, StmtId, StreamId};
use millpond::engine::{Chooser, Machine, Timeline};
use millpond::model::cuda::Cuda;
use millpond::trace::{
    AllocId, Attribute, Call, DeviceFigure, DeviceSetup, EventSetup, Failure, Figure, HostCosts, Law,
    Nothing, PoolSetup, Reading, Reply, Resource, Setup, StreamKind, StreamSetup, Takes, Target,
};
use simulated_driver::{Configuration, now, pass};
use smallvec::SmallVec;
use std::ffi::c_int;
use std::task::Poll;

const HOST: HostId = HostId::from_raw_unchecked(0);
const KINDS: [StreamKind; 4] =
    [StreamKind::Blocking, StreamKind::NonBlocking, StreamKind::NonBlocking, StreamKind::Blocking];
const COSTS: HostCosts = HostCosts { submit: Nanos(300), call: Nanos(70), queue_depth: Some(6) };

struct Constant;

impl Chooser for Constant {
    fn duration(&mut self, _: StmtId, law: &Law) -> Nanos {
        let Law::Constant(duration) = *law else { panic!("only constant durations are asked for") };
        duration
    }

    fn pick(&mut self, _: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        0
    }
}

/// A machine with the legacy default stream, four streams, three events and two pools beside the default one.
struct Bare(Machine<Cuda, Timeline, Constant, Nothing>);

impl Bare {
    fn new() -> Self {
        let gpu = DeviceId::from_raw(0);
        let own = KINDS.map(|kind| StreamSetup::new(gpu, kind));
        let streams: Vec<_> = [StreamSetup::new(gpu, StreamKind::Legacy)].into_iter().chain(own).collect();
        let created = (1..5).map(|nth: usize| Resource::Stream(nth.into()));
        let created = created.chain((0..3).map(|nth: usize| Resource::Event(nth.into())));
        let created = created.chain((1..3).map(|nth: usize| Resource::Pool(nth.into())));
        let setup = Setup {
            devices: [DeviceSetup::new(Bytes::gib(1))].into_iter().collect(),
            pools: [PoolSetup::on(gpu); 3].into_iter().collect(),
            streams: streams.into_iter().collect(),
            events: [EventSetup::default(); 3].into_iter().collect(),
            created: created.collect(),
            host: COSTS,
            ..Setup::default()
        };
        let mut bare = Self(Machine::new(&setup, Cuda::new(&setup), Timeline::new(5), Constant, Nothing));
        for resource in &setup.created {
            bare.call(&Call::Create { resource: *resource, reusing: None }).expect("created");
        }
        bare
    }

    fn call(&mut self, call: &Call) -> Result<Reply, Failure> {
        loop {
            match self.0.call(HOST, StmtId::from_raw(0), call) {
                Poll::Ready(answer) => return answer,
                Poll::Pending => assert!(self.0.step(None), "something can advance"),
            }
        }
    }

    fn answer(&mut self, call: &Call) -> c_int {
        match self.call(call) {
            Ok(_) => SUCCESS,
            Err(Failure::NotReady) => NOT_READY,
            Err(Failure::OutOfMemory) => OUT_OF_MEMORY,
            Err(failure) => panic!("{failure}"),
        }
    }
}

/// Both of them, with what is live: addresses and ids.
struct Both {
    bare: Bare,
    streams: Vec<u64>,
    events: Vec<u64>,
    pools: Vec<u64>,
    work: u64,
    live: Vec<(u64, AllocId)>,
}

impl Both {
    fn new() -> Self {
        let [work, _] = kernels();
        let flags = KINDS.map(|kind| u32::from(kind == StreamKind::NonBlocking));
        let own = flags.map(|flags| made(|stream| stream_create(stream, flags)));
        let streams = [0].into_iter().chain(own).collect();
        let events = (0..3).map(|_| event()).collect();
        let pools = [made(|pool| default_pool(pool, 0)), pool(), pool()].to_vec();
        Self { bare: Bare::new(), streams, events, pools, work, live: Vec::new() }
    }

    fn alloc(&mut self, draws: &mut Draws, nth: usize) -> (c_int, c_int) {
        let (pool, size) =
            (draws.below(3) as usize, draws.one_of(&[1, 600, 1 << 20, 3 << 20, 40 << 20, 300 << 20]));
        let mut pointer = 0;
        let answer = alloc_from_pool(&mut pointer, size as usize, self.pools[pool], self.streams[nth]);
        let call =
            Call::Alloc { stream: nth.into(), pool: Some(PoolId::from_usize(pool)), size: Bytes(size) };
        match self.bare.call(&call) {
            Ok(Reply::Allocated(decision)) => {
                assert_eq!(pointer, decision.range.start);
                self.live.push((pointer, decision.alloc));
                (answer, SUCCESS)
            }
            other => (answer, if other == Err(Failure::OutOfMemory) { OUT_OF_MEMORY } else { INVALID_VALUE }),
        }
    }

    fn free(&mut self, draws: &mut Draws, nth: usize) -> (c_int, c_int) {
        if self.live.is_empty() {
            return (SUCCESS, SUCCESS);
        }
        let (pointer, alloc) = self.live.swap_remove(draws.below(self.live.len() as u64) as usize);
        match draws.below(8) {
            0 => (mem_free(pointer), self.bare.answer(&Call::PlainFree { alloc })),
            _ => {
                let call = Call::Free { stream: nth.into(), alloc };
                (free_async(pointer, self.streams[nth]), self.bare.answer(&call))
            }
        }
    }

    fn attribute(&mut self, draws: &mut Draws) -> (c_int, c_int) {
        let nth = draws.below(3) as usize;
        let (number, attribute, value) = draws.one_of(&[
            (1, Attribute::FollowEvent, 0),
            (1, Attribute::FollowEvent, 1),
            (2, Attribute::Opportunistic, 0),
            (2, Attribute::Opportunistic, 1),
            (3, Attribute::Internal, 0),
            (3, Attribute::Internal, 1),
            (4, Attribute::ReleaseThreshold, 0),
            (4, Attribute::ReleaseThreshold, 64 << 20),
        ]);
        let call = Call::Set { pool: PoolId::from_usize(nth), attribute, value };
        (pool_set(self.pools[nth], number, &mut { value }), self.bare.answer(&call))
    }

    /// Makes one call to both.
    fn step(&mut self, draws: &mut Draws) -> (c_int, c_int) {
        let (nth, event) = (draws.below(5) as usize, draws.below(3) as usize);
        let (stream, recorded) = (self.streams[nth], self.events[event]);
        let (own, target) = (StreamId::from_usize(nth), EventId::from_usize(event));
        let bare = |both: &mut Self, call: Call| both.bare.answer(&call);
        match draws.below(16) {
            0..4 => self.alloc(draws, nth),
            4..7 => self.free(draws, nth),
            7 | 8 => {
                let nanos = draws.below(30_000);
                launch(self.work, stream, &[nanos]);
                let takes = Takes::For(Law::Constant(Nanos(nanos)));
                let kernel = KernelId::from_raw(0);
                let call = Call::Launch { stream: own, kernel, takes, uses: SmallVec::new() };
                (SUCCESS, bare(self, call))
            }
            9 => (event_record(recorded, stream), bare(self, Call::Record { stream: own, event: target })),
            10 => (
                stream_wait_event(stream, recorded, 0),
                bare(self, Call::Wait { stream: own, event: target }),
            ),
            11 => (stream_query(stream), bare(self, Call::Query(Target::Stream(own)))),
            12 => (event_synchronize(recorded), bare(self, Call::Sync(Target::Event(target)))),
            13 => match draws.below(3) {
                0 => (context_synchronize(), bare(self, Call::Sync(Target::Device(DeviceId::from_raw(0))))),
                _ => (stream_synchronize(stream), bare(self, Call::Sync(Target::Stream(own)))),
            },
            14 => self.attribute(draws),
            _ => {
                let nanos = draws.below(2_000);
                pass(nanos);
                (SUCCESS, bare(self, Call::Sleep(Nanos(nanos))))
            }
        }
    }

    /// What can be read of both.
    fn compare(&mut self) {
        for nth in 0..3 {
            for (number, attribute) in
                [(5, Attribute::Reserved), (7, Attribute::Used), (8, Attribute::UsedHigh)]
            {
                let reading = Reading::Pool(PoolId::from_usize(nth), Figure::Attribute(attribute));
                let expected = self.bare.call(&Call::Read(reading));
                assert_eq!(Ok(Reply::Value(figure(self.pools[nth], number).into())), expected);
            }
        }
        let reading = Reading::Device(DeviceId::from_raw(0), DeviceFigure::Free);
        let expected = self.bare.call(&Call::Read(reading));
        assert_eq!(Ok(Reply::Value(made(|free| mem_info(free, &mut 0)) as i128)), expected);
        assert_eq!(now(), self.bare.0.now().0);
    }
}

#[test]
fn the_driver_decides_as_a_machine() {
    let mut seen = [0; 2];
    for seed in 0..40 {
        let devices = vec![DeviceSetup::new(Bytes::gib(1))];
        let _turn = ready(Configuration { devices, host: COSTS, ..Configuration::default() });
        let (mut both, mut draws) = (Both::new(), Draws(seed));
        for nth in 0..200 {
            let (answer, expected) = both.step(&mut draws);
            assert_eq!(answer, expected, "call {nth} with seed {seed}");
            seen[0] += u32::from(answer == OUT_OF_MEMORY);
            seen[1] += u32::from(answer == NOT_READY);
            both.compare();
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "full memory and work that is not done came up: {seen:?}");
}
