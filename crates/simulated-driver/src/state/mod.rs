//! The one driver of a process: the machine with everything that has a handle, behind one lock, and how virtual time moves.
//!
//! Calls of all threads are one sequence. Before a call the devices go on to its time, one completion after the other, and what
//! each does is carried out at once; a call that blocks lets them go on for as long as it has to.

pub(crate) mod allocations;
mod callbacks;
mod effects;
mod exports;
pub(crate) mod handles;
mod hosts;
pub(crate) mod limits;
mod things;

pub(crate) use allocations::{Allocation, Kind};
pub(crate) use effects::{Effect, Source, Written};
pub(crate) use hosts::in_kernel;
pub(crate) use things::{Context, Event, Function, Module, Pool, Stream};

use crate::error::Error;
use crate::kernel::Kernel;
use crate::{Configuration, DeviceMemory, Faults};
use allocations::Allocations;
use callbacks::Callbacks;
use effects::{Effects, Recorder};
use exports::Exports;
use handles::{Places, Table, Tag};
use hosts::{Hosts, Inside, is_inside};
use millpond::base::{DeviceId, HostId, IndexVec, Nanos, ProcessId, StmtId};
use millpond::engine::{Chooser, Machine, Timeline};
use millpond::model::cuda::Cuda;
use millpond::trace::{
    Call, DeviceSetup, EventSetup, Failure, Law, PoolSetup, Reply, Resource, Setup, StreamKind, StreamSetup,
};
use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

static STATE: LazyLock<Mutex<State>> = LazyLock::new(|| Mutex::new(State::new(Configuration::default(), 0)));
/// Something has changed that a thread may wait for.
static CHANGED: Condvar = Condvar::new();

/// All calls belong to one statement, which nobody reads.
const STMT: StmtId = StmtId::from_raw_unchecked(0);

/// Durations are told by those who know them.
pub(crate) struct Told;

impl Chooser for Told {
    fn duration(&mut self, _: StmtId, law: &Law) -> Nanos {
        match *law {
            Law::Constant(duration) => duration,
            Law::Uniform { low, .. } => low,
            Law::Normal { mean, .. } => mean,
        }
    }

    fn pick(&mut self, _: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        0
    }
}

/// The driver.
pub(crate) struct State {
    /// How often everything was reset.
    epoch: u64,
    pub(crate) is_initialised: bool,
    pub(crate) devices: IndexVec<DeviceId, DeviceSetup>,
    pub(crate) faults: Faults,
    pub(crate) machine: Machine<Cuda, Timeline, Told, Recorder>,
    /// Who has called last.
    last: HostId,
    pub(crate) hosts: Hosts,
    pub(crate) contexts: Vec<Context>,
    pub(crate) streams: Table<Stream>,
    stream_places: Places,
    pub(crate) events: Table<Event>,
    event_places: Places,
    pub(crate) pools: Table<Pool>,
    pool_places: Places,
    pub(crate) modules: Table<Module>,
    pub(crate) functions: Table<Function>,
    pub(crate) exports: Exports,
    pub(crate) allocations: Allocations,
    pub(crate) memory: DeviceMemory,
    pub(crate) kernels: BTreeMap<String, Arc<dyn Kernel>>,
    effects: Effects,
    callbacks: Callbacks,
}

/// The setup of a machine with these devices: what exists at the start, and places for what is created later. The first streams
/// are the legacy default streams, and the first pools the default pools.
fn setup(configuration: &Configuration, devices: &IndexVec<DeviceId, DeviceSetup>) -> Setup {
    let first = DeviceId::from_raw(0);
    let count = devices.len();
    let legacy = devices.indices().map(|device| StreamSetup::new(device, StreamKind::Legacy));
    let streams = std::iter::repeat_n(StreamSetup::new(first, StreamKind::NonBlocking), limits::STREAMS_MAX);
    let pools = std::iter::repeat_n(PoolSetup::on(first), limits::POOLS_MAX);
    let places = |from: usize, most: usize| from..from + most;
    let streams_to_come = places(count, limits::STREAMS_MAX).map(|nth| Resource::Stream(nth.into()));
    let events_to_come = places(0, limits::EVENTS_MAX).map(|nth| Resource::Event(nth.into()));
    let pools_to_come = places(count, limits::POOLS_MAX).map(|nth| Resource::Pool(nth.into()));
    Setup {
        devices: devices.clone(),
        pools: devices.indices().map(PoolSetup::on).chain(pools).collect(),
        streams: legacy.chain(streams).collect(),
        events: std::iter::repeat_n(EventSetup::default(), limits::EVENTS_MAX).collect(),
        signals: 1 + limits::EXPORTS_MAX,
        hosts: limits::THREADS_MAX,
        created: streams_to_come.chain(events_to_come).chain(pools_to_come).collect(),
        rules: configuration.rules,
        host: configuration.host,
        ..Setup::default()
    }
}

impl State {
    fn new(configuration: Configuration, epoch: u64) -> Self {
        let most = millpond::trace::DeviceSet::DEVICES_MAX;
        let own = |device| DeviceSetup { process: ProcessId::from_raw(0), same_as: None, ..device };
        let devices: IndexVec<DeviceId, DeviceSetup> =
            configuration.devices.iter().copied().take(most).map(own).collect();
        // Without a device no call gets as far as the machine.
        let driven = if devices.is_empty() {
            Configuration::default().devices.into_iter().collect()
        } else {
            devices.clone()
        };
        let setup = setup(&configuration, &driven);
        let timeline = Timeline::new(setup.streams.len());
        let machine = Machine::new(&setup, Cuda::new(&setup), timeline, Told, Recorder::default());
        let count = driven.len();
        let mut pools = Table::new(Tag::Pool);
        for (id, pool) in setup.pools.iter_enumerated().take(count) {
            pools.insert(Pool::new(id, pool));
        }
        Self {
            epoch,
            is_initialised: false,
            faults: configuration.faults,
            machine,
            last: HostId::from_raw(0),
            hosts: Hosts::new(limits::THREADS_MAX),
            contexts: Context::of_devices(devices.len()),
            devices,
            streams: Table::new(Tag::Stream),
            stream_places: Places::new(count..count + limits::STREAMS_MAX),
            events: Table::new(Tag::Event),
            event_places: Places::new(0..limits::EVENTS_MAX),
            pools,
            pool_places: Places::new(count..count + limits::POOLS_MAX),
            modules: Table::new(Tag::Module),
            functions: Table::new(Tag::Function),
            exports: Exports::new(1..1 + limits::EXPORTS_MAX),
            allocations: Allocations::default(),
            memory: DeviceMemory::default(),
            kernels: BTreeMap::new(),
            effects: Effects::default(),
            callbacks: Callbacks::default(),
        }
    }
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wait_for_change(state: MutexGuard<'static, State>) -> MutexGuard<'static, State> {
    CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner)
}

/// A call of a thread of the host, with the lock.
pub(crate) struct Caller {
    /// Always there but while the lock is let go of.
    state: Option<MutexGuard<'static, State>>,
    host: HostId,
    epoch: u64,
}

impl Deref for Caller {
    type Target = State;

    fn deref(&self) -> &State {
        self.state.as_deref().expect("the lock is held between waits")
    }
}

impl DerefMut for Caller {
    fn deref_mut(&mut self) -> &mut State {
        self.state.as_deref_mut().expect("the lock is held between waits")
    }
}

impl Caller {
    /// A call that needs no initialisation. It goes on once no function of the host runs.
    pub(crate) fn uninitialised() -> Result<Self, Error> {
        if is_inside() {
            return Err(Error::NOT_PERMITTED);
        }
        let mut state = lock();
        let epoch = state.epoch;
        let host = state.hosts.seat(epoch).ok_or(Error::OUT_OF_MEMORY)?;
        let mut caller = Self { state: Some(state), host, epoch };
        caller.wait_for_callbacks()?;
        Ok(caller)
    }

    /// Any other call.
    pub(crate) fn new() -> Result<Self, Error> {
        let caller = Self::uninitialised()?;
        if caller.is_initialised { Ok(caller) } else { Err(Error::NOT_INITIALIZED) }
    }

    /// The thread.
    pub(crate) fn host(&self) -> HostId {
        self.host
    }

    /// Lets go of the lock until something has changed.
    fn wait(&mut self) -> Result<(), Error> {
        self.state = self.state.take().map(wait_for_change);
        let state: &State = self;
        if state.epoch == self.epoch { Ok(()) } else { Err(Error::DEINITIALIZED) }
    }

    fn wait_for_callbacks(&mut self) -> Result<(), Error> {
        while self.callbacks.is_running() {
            self.wait()?;
        }
        Ok(())
    }

    /// Carries out what operations have done by now. After it nothing of that is left, and no function of the host runs.
    fn settle(&mut self) -> Result<(), Error> {
        loop {
            self.wait_for_callbacks()?;
            let Some(moment) = self.machine.sink().next() else { return Ok(()) };
            let state = &mut **self;
            if let Some(job) = state.effects.carry_out(moment, &mut state.memory) {
                let epoch = state.epoch;
                state.callbacks.begin(job, epoch);
            }
        }
    }

    /// The devices go on to the time of this thread, which goes on no earlier than the one that has called last.
    fn catch_up(&mut self) -> Result<(), Error> {
        loop {
            self.settle()?;
            let host = self.host;
            let state = &mut **self;
            state.machine.hand_over(state.last, host);
            state.last = host;
            let time = state.machine.time(host);
            if !state.machine.step(time) {
                return Ok(());
            }
        }
    }

    /// The devices go on to their next completion; where there is none, a function of the host waits for another thread.
    fn advance(&mut self) -> Result<(), Error> {
        if !self.machine.step(None) {
            self.wait()?;
        }
        self.settle()
    }

    /// Makes a call to the machine, and lets time move as far as it needs.
    pub(crate) fn make(&mut self, call: &Call) -> Result<Reply, Error> {
        self.make_with(call, None)
    }

    /// Makes a call that submits an operation with an effect.
    pub(crate) fn submit(&mut self, call: &Call, effect: Effect) -> Result<Reply, Error> {
        self.make_with(call, Some(effect))
    }

    fn make_with(&mut self, call: &Call, mut effect: Option<Effect>) -> Result<Reply, Error> {
        self.catch_up()?;
        loop {
            let host = self.host;
            let state = &mut **self;
            let answer = state.machine.call(host, STMT, call);
            if let Some(ticket) = state.machine.sink().submitted()
                && let Some(effect) = effect.take()
            {
                state.effects.insert(ticket, effect);
            }
            match answer {
                Poll::Ready(answer) => {
                    // Others may have called while this one was blocked.
                    state.machine.hand_over(state.last, host);
                    state.last = host;
                    self.settle()?;
                    return answer.map_err(Error::from);
                }
                Poll::Pending => {
                    self.settle()?;
                    while self.machine.time(host).is_none() {
                        self.advance()?;
                    }
                }
            }
        }
    }

    /// What a query or a reading answers.
    pub(crate) fn value(&mut self, call: &Call) -> Result<u64, Error> {
        match self.make(call)? {
            Reply::Value(value) => u64::try_from(value).map_err(|_| Error::from(Failure::InvalidValue)),
            _ => Err(Error::INVALID_VALUE),
        }
    }
}

/// See [`crate::reset`].
pub(crate) fn reset(configuration: Configuration) {
    let mut state = lock();
    let fresh = State::new(configuration, state.epoch + 1);
    let old = std::mem::replace(&mut *state, fresh);
    CHANGED.notify_all();
    drop(state);
    // What kernels of the program do when they go is done without the lock.
    drop(old);
}

/// See [`crate::pass`].
pub(crate) fn pass(nanos: u64) {
    match hosts::inside() {
        Inside::Callback(epoch) => {
            let mut state = lock();
            if state.epoch == epoch {
                state.callbacks.pass(Nanos(nanos));
            }
        }
        Inside::Kernel(_) => {}
        Inside::Nothing => {
            // Whoever has no place among the threads has no time either.
            if let Ok(mut caller) = Caller::uninitialised() {
                let _ = caller.make(&Call::Sleep(Nanos(nanos))).and_then(|_| caller.catch_up());
            }
        }
    }
}

/// See [`crate::now`].
pub(crate) fn now() -> u64 {
    match hosts::inside() {
        Inside::Kernel(at) => at.0,
        Inside::Callback(epoch) => {
            let state = lock();
            let own = state.callbacks.time().filter(|_| state.epoch == epoch);
            own.unwrap_or_else(|| state.machine.now()).0
        }
        Inside::Nothing => lock().machine.now().0,
    }
}

/// See [`crate::define_kernel`].
pub(crate) fn define_kernel(name: &str, kernel: Arc<dyn Kernel>) {
    if !matches!(hosts::inside(), Inside::Kernel(_)) {
        let old = lock().kernels.insert(name.to_owned(), kernel);
        drop(old);
    }
}

/// See [`crate::waiting`].
pub(crate) fn waiting<T>(wait: impl FnOnce() -> T) -> T {
    let Inside::Callback(epoch) = hosts::inside() else { return wait() };
    let _waits = callbacks::Waits::begin(epoch);
    wait()
}
