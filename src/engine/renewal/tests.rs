//! What another stream, event or pool in the place of an old one has to do with that, which is nothing; and threads that call
//! one after the other.

use crate::base::{
    Bytes, DeviceId, EventId, HostId, KernelId, Nanos, PoolId, SignalId, StmtId, StreamId, index_vec,
};
use crate::engine::{Chooser, Machine, Timeline};
use crate::model::cuda::Cuda;
use crate::trace::{
    AllocId, Attribute, Call, Decision, DeviceSetup, EventSetup, Failure, Figure, HandleType, HostCosts, Law,
    Location, Nothing, Policy, PoolSetup, Reading, Reply, Resource, Setup, StreamKind, StreamSetup, Takes,
    Target, Ticket,
};
use smallvec::SmallVec;
use std::task::Poll;

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

type Tested = Machine<Cuda, Timeline, Constant, Nothing>;

const GPU: DeviceId = DeviceId::from_raw_unchecked(0);
const FIRST: HostId = HostId::from_raw_unchecked(0);
const SECOND: HostId = HostId::from_raw_unchecked(1);
const DEFAULT: PoolId = PoolId::from_raw_unchecked(0);
const PLACE: PoolId = PoolId::from_raw_unchecked(1);
const STREAMS: [StreamId; 2] = [StreamId::from_raw_unchecked(0), StreamId::from_raw_unchecked(1)];
const EVENT: EventId = EventId::from_raw_unchecked(0);
const NON_BLOCKING: StreamSetup = StreamSetup::new(GPU, StreamKind::NonBlocking);

fn machine() -> Tested {
    let setup = Setup {
        devices: index_vec![DeviceSetup::new(Bytes::gib(1)); 2],
        pools: index_vec![PoolSetup::on(GPU); 2],
        streams: index_vec![NON_BLOCKING; 2],
        events: index_vec![EventSetup::default()],
        signals: 1,
        hosts: 2,
        created: vec![Resource::Pool(PLACE)],
        host: HostCosts { submit: Nanos(10), call: Nanos(10), queue_depth: None },
        ..Setup::default()
    };
    Machine::new(&setup, Cuda::new(&setup), Timeline::new(2), Constant, Nothing)
}

fn call_of(machine: &mut Tested, host: HostId, call: &Call) -> Result<Reply, Failure> {
    loop {
        match machine.call(host, StmtId::from_raw(0), call) {
            Poll::Ready(answer) => return answer,
            Poll::Pending => assert!(machine.step(None), "something can advance"),
        }
    }
}

fn call(machine: &mut Tested, call: &Call) -> Result<Reply, Failure> {
    call_of(machine, FIRST, call)
}

fn alloc(machine: &mut Tested, stream: StreamId, pool: PoolId, size: Bytes) -> Decision {
    match call(machine, &Call::Alloc { stream, pool: Some(pool), size }) {
        Ok(Reply::Allocated(decision)) => decision,
        other => panic!("{other:?}"),
    }
}

fn free(machine: &mut Tested, stream: StreamId, alloc: AllocId) {
    assert!(matches!(call(machine, &Call::Free { stream, alloc }), Ok(Reply::Freed(Some(_)))));
}

fn launch(stream: StreamId, takes: u64) -> Call {
    let takes = Takes::For(Law::Constant(Nanos(takes)));
    Call::Launch { stream, kernel: KernelId::from_raw(0), takes, uses: SmallVec::new() }
}

fn create(resource: Resource) -> Call {
    Call::Create { resource, reusing: None }
}

#[test]
fn a_stream_leaves_its_place_once_all_of_it_is_observed() {
    let mut machine = machine();
    let [first, second] = STREAMS;
    assert!(!machine.renew_stream(first, NON_BLOCKING), "it exists");
    call(&mut machine, &launch(first, 1_000)).expect("launched");
    call(&mut machine, &Call::Destroy(Resource::Stream(first))).expect("destroyed");
    assert!(!machine.renew_stream(first, NON_BLOCKING), "its kernel runs");
    call(&mut machine, &Call::Sleep(Nanos(2_000))).expect("slept");
    call(&mut machine, &Call::Query(Target::Stream(second))).expect("nothing is in the other one");
    assert!(!machine.renew_stream(first, NON_BLOCKING), "its kernel has run, which nobody has observed");
    call(&mut machine, &Call::Sync(Target::Device(GPU))).expect("synchronised");
    assert!(!machine.renew_stream(first, StreamSetup::new(GPU, StreamKind::Legacy)));
    assert!(machine.renew_stream(first, NON_BLOCKING));
    assert_eq!(call(&mut machine, &launch(first, 1)), Err(Failure::InvalidResourceHandle), "not created yet");
    call(&mut machine, &create(Resource::Stream(first))).expect("created");
    call(&mut machine, &launch(first, 1)).expect("launched");
    assert!(!machine.renew_stream(first, NON_BLOCKING), "it exists");
}

#[test]
fn another_stream_is_of_its_own_device() {
    let mut machine = machine();
    let [first, _] = STREAMS;
    let other = DeviceId::from_raw(1);
    call(&mut machine, &Call::Destroy(Resource::Stream(first))).expect("destroyed");
    assert!(machine.renew_stream(first, StreamSetup::new(other, StreamKind::Blocking)));
    call(&mut machine, &create(Resource::Stream(first))).expect("created");
    call(&mut machine, &launch(first, 1_000)).expect("launched");
    call(&mut machine, &Call::Sync(Target::Device(GPU))).expect("synchronised");
    assert_eq!(call(&mut machine, &Call::Query(Target::Stream(first))), Err(Failure::NotReady));
    call(&mut machine, &Call::Sync(Target::Device(other))).expect("synchronised");
    assert_eq!(call(&mut machine, &Call::Query(Target::Stream(first))), Ok(Reply::Done));
}

/// The wait for the old event's record stays; one for the new event, which has none, is none.
#[test]
fn another_event_has_no_record() {
    let mut machine = machine();
    let [first, second] = STREAMS;
    let (record, wait) =
        (Call::Record { stream: first, event: EVENT }, Call::Wait { stream: second, event: EVENT });
    call(&mut machine, &launch(first, 1_000)).expect("launched");
    call(&mut machine, &record).expect("recorded");
    assert!(!machine.renew_event(EVENT, EventSetup::default()), "it exists");
    call(&mut machine, &Call::Destroy(Resource::Event(EVENT))).expect("destroyed");
    assert!(machine.renew_event(EVENT, EventSetup::default()));
    assert_eq!(call(&mut machine, &wait), Err(Failure::InvalidResourceHandle), "not created yet");
    call(&mut machine, &create(Resource::Event(EVENT))).expect("created");
    call(&mut machine, &wait).expect("no wait");
    call(&mut machine, &Call::Sync(Target::Stream(second))).expect("synchronised");
    assert_eq!(machine.now(), Nanos(70), "seven calls of 10 ns, none of which has waited");
    assert_eq!(call(&mut machine, &Call::Query(Target::Event(EVENT))), Ok(Reply::Done));
    assert_eq!(call(&mut machine, &Call::Query(Target::Stream(first))), Err(Failure::NotReady));
}

#[test]
fn a_pool_leaves_its_place_once_it_has_ended() {
    let mut machine = machine();
    let [first, second] = STREAMS;
    let pool = |max| PoolSetup { max_size: max, ..PoolSetup::on(GPU) };
    assert!(!machine.renew_pool(DEFAULT, &pool(None)), "it exists");
    assert!(machine.renew_pool(PLACE, &pool(Some(Bytes::mib(64)))), "nothing has created it");
    call(&mut machine, &create(Resource::Pool(PLACE))).expect("created");
    let held = alloc(&mut machine, first, PLACE, Bytes::mib(40));
    let set = Call::Set { pool: PLACE, attribute: Attribute::ReleaseThreshold, value: u64::MAX };
    call(&mut machine, &set).expect("set");
    call(&mut machine, &Call::Destroy(Resource::Pool(PLACE))).expect("destroyed");
    assert!(!machine.renew_pool(PLACE, &pool(None)), "an allocation is live");
    call(&mut machine, &launch(first, 1_000)).expect("launched");
    free(&mut machine, first, held.alloc);
    assert!(!machine.renew_pool(PLACE, &pool(None)), "the free has not completed");
    call(&mut machine, &Call::Sync(Target::Device(GPU))).expect("synchronised");
    assert!(machine.renew_pool(PLACE, &pool(None)));
    call(&mut machine, &create(Resource::Pool(PLACE))).expect("created");
    let figure = |machine: &mut Tested, attribute| {
        call(machine, &Call::Peek(Reading::Pool(PLACE, Figure::Attribute(attribute))))
    };
    for attribute in [Attribute::ReleaseThreshold, Attribute::UsedHigh, Attribute::ReservedHigh] {
        assert_eq!(figure(&mut machine, attribute), Ok(Reply::Value(0)), "{attribute:?} begins anew");
    }
    let fresh = alloc(&mut machine, second, PLACE, Bytes::mib(128));
    assert_eq!((fresh.policy, fresh.reuses), (Some(Policy::Growth), None));
}

#[test]
fn another_pool_may_contradict_itself_or_be_on_the_host() {
    let mut machine = machine();
    let on_host = PoolSetup { location: Location::Host, ..PoolSetup::on(GPU) };
    assert!(machine.renew_pool(PLACE, &PoolSetup { handle: HandleType::PosixFd, ..on_host }));
    assert_eq!(call(&mut machine, &create(Resource::Pool(PLACE))), Err(Failure::InvalidValue));
    assert!(machine.renew_pool(PLACE, &on_host));
    call(&mut machine, &create(Resource::Pool(PLACE))).expect("created");
    let set = Call::SetPool { device: GPU, pool: PLACE };
    assert_eq!(call(&mut machine, &set), Err(Failure::InvalidValue), "no device is its home");
}

/// What the first thread has seen complete is ordered before what the second one submits, and time does not go back.
#[test]
fn threads_that_call_one_after_the_other() {
    let mut machine = machine();
    let [first, second] = STREAMS;
    let held = alloc(&mut machine, first, DEFAULT, Bytes::mib(4));
    call(&mut machine, &launch(first, 1_000)).expect("launched");
    free(&mut machine, first, held.alloc);
    call(&mut machine, &Call::Poll(Target::Stream(first))).expect("complete");
    let time = machine.now();
    machine.hand_over(FIRST, SECOND);
    assert_eq!(machine.time(SECOND), Some(time));
    let opportunistic = Call::Set { pool: DEFAULT, attribute: Attribute::Opportunistic, value: 0 };
    call_of(&mut machine, SECOND, &opportunistic).expect("set");
    let again = Call::Alloc { stream: second, pool: Some(DEFAULT), size: Bytes::mib(4) };
    match call_of(&mut machine, SECOND, &again) {
        Ok(Reply::Allocated(decision)) => assert_eq!(decision.policy, Some(Policy::FollowEvent)),
        other => panic!("{other:?}"),
    }
    machine.hand_over(SECOND, FIRST);
    assert_eq!(machine.time(FIRST), machine.time(SECOND));
}

#[test]
fn a_function_ends_when_its_caller_says() {
    let mut machine = machine();
    let [first, _] = STREAMS;
    let takes = Takes::Until(SignalId::from_raw(0));
    let function = Call::HostFunction { stream: first, takes, gives: None, uses: SmallVec::new() };
    let ticket = |seq| Ticket { stream: first, seq };
    assert!(!machine.end_at(ticket(1), Nanos(5)), "nothing is there");
    call(&mut machine, &function).expect("submitted");
    call(&mut machine, &function).expect("submitted");
    assert!(!machine.end_at(ticket(2), Nanos(5)), "it has not started");
    assert!(!machine.step(None), "nobody ends the first one");
    assert!(machine.end_at(ticket(1), Nanos(500)));
    assert!(!machine.end_at(ticket(1), Nanos(500)), "it was ended");
    assert!(machine.step(None));
    assert!(machine.end_at(ticket(2), Nanos(100)), "a time that is over means now");
    machine.hand_over(FIRST, FIRST);
    call(&mut machine, &Call::Sync(Target::Stream(first))).expect("synchronised");
    assert_eq!(machine.now(), Nanos(510), "the end, and the call");
}
