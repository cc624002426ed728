//! A run on hardware: what exists before its first call, what its calls share, and how all of it is given back.
//!
//! Everything that host threads share is behind one lock, under which all calls are made that are not meant to block. So the order in
//! which the log has them is the order in which the driver got them, but for copies that wait and frees outside of pools.

use super::driver::{self, Answer, CudaError, Event, Function, Pool, Stream};
use super::host::{Durations, Host, Observe};
use super::kernels::{KERNEL, Launches, MODULE};
use super::log::{Log, What};
use super::marks::Marks;
use super::meetings::Meetings;
use super::memory::Memory;
use super::order::Order;
use super::outstanding::Outstanding;
use super::structures::{Location, PoolProperties};
use super::waits::Tail;
use crate::base::{
    Bytes, DeviceId, EventId, HostBufferId, HostId, IndexVec, Nanos, PoolId, SignalId, StmtId, StreamId,
};
use crate::scenario::{Cursor, Program};
use crate::trace::{
    Attribute, Failure, HandleType, Location as Place, PoolSetup, Resource, StreamKind, Ticket,
};
use cust::context::Context;
use cust::device::Device;
use cust::module::Module;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_int;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A device of the machine, as a call needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gpu {
    pub(super) ordinal: c_int,
    pub(super) context: usize,
    pub(super) kernel: Function,
}

/// The devices that a run uses, which lets go of them at its end.
#[derive(Debug)]
pub(super) struct Machine {
    held: Vec<(Module, Context)>,
    gpus: Vec<Gpu>,
}

impl Drop for Machine {
    /// A module goes while its context is there and current.
    fn drop(&mut self) {
        for (gpu, (module, context)) in self.gpus.drain(..).zip(self.held.drain(..)) {
            driver::set_current(gpu.context).ok();
            drop(module);
            drop(context);
        }
    }
}

impl Machine {
    /// The first so many devices, each with the kernel.
    pub(super) fn open(devices: usize) -> Answer<Self> {
        let mut machine = Self { held: Vec::new(), gpus: Vec::new() };
        for nth in 0..devices as u32 {
            let device = Device::get_device(nth)?;
            let context = Context::new(device)?;
            cust::context::CurrentContext::set_current(&context)?;
            let module = Module::from_ptx(MODULE, &[])?;
            let kernel = Function(module.get_function(KERNEL)?.to_raw() as usize);
            machine.gpus.push(Gpu { ordinal: device.as_raw(), context: context.as_raw() as usize, kernel });
            machine.held.push((module, context));
        }
        Ok(machine)
    }

    /// The first device of those that were opened.
    pub(super) fn first(&self) -> Gpu {
        self.gpus[0]
    }
}

/// What stands behind a name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Held<H> {
    /// Nothing has created it yet, or the call that was to create it failed so.
    Not(Failure),
    /// It exists.
    Here(H),
    /// It was destroyed. To use a handle then could end the process, so the driver is not asked.
    Gone,
}

impl<H: Copy> Held<H> {
    /// The handle, of what exists.
    pub(super) fn here(self) -> Option<H> {
        match self {
            Held::Here(handle) => Some(handle),
            Held::Not(_) | Held::Gone => None,
        }
    }

    /// The handle; or how a call fails that names what was destroyed.
    pub(super) fn or(self, gone: Failure) -> Result<H, Failure> {
        match self {
            Held::Here(handle) => Ok(handle),
            Held::Not(failure) => Err(failure),
            Held::Gone => Err(gone),
        }
    }
}

/// An event, which belongs to the device that it was made on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recorded {
    pub(super) event: Event,
    pub(super) device: DeviceId,
    /// The latest record.
    pub(super) latest: Option<Ticket>,
    /// Whether it is shared with another process.
    pub(super) is_shared: bool,
    /// The event of another process that this one is.
    pub(super) same_as: Option<EventId>,
}

/// What one process has exported.
#[derive(Clone)]
pub(super) enum Shared {
    Pool(Arc<OwnedFd>),
    /// With its size, which a program sends along, and where it is.
    Memory(driver::PointerData, Bytes, u64),
    /// A driver opens no event in the process that it is of, so that it is shared itself.
    Event(EventId),
}

/// What host threads share.
pub(super) struct State<'r> {
    pub(super) cursor: Cursor,
    pub(super) log: Log,
    pub(super) durations: &'r mut dyn Durations,
    pub(super) streams: IndexVec<StreamId, Held<Stream>>,
    pub(super) events: IndexVec<EventId, Held<Recorded>>,
    pub(super) pools: IndexVec<PoolId, Held<Pool>>,
    pub(super) defaults: IndexVec<DeviceId, Option<PoolId>>,
    pub(super) current: IndexVec<DeviceId, Option<PoolId>>,
    /// Behind the last operation of each stream, where there are several threads, or of one that was destroyed.
    pub(super) tails: IndexVec<StreamId, Option<Arc<Tail>>>,
    /// Of each event the tail of its stream when it was recorded.
    pub(super) captured: IndexVec<EventId, Option<Arc<Tail>>>,
    /// How devices reached the pools that were destroyed.
    pub(super) last_reach: BTreeMap<(PoolId, DeviceId), u32>,
    pub(super) order: Order,
    pub(super) outstanding: Outstanding,
    pub(super) memory: Memory,
    pub(super) launches: Launches,
    pub(super) marks: Marks,
    pub(super) exported: BTreeMap<SignalId, Shared>,
    /// The page-locked and the other buffers of the host.
    pinned: Vec<u64>,
    pageable: Vec<Box<[u64]>>,
    /// The pools that were not always empty.
    told: BTreeSet<PoolId>,
    /// The statements of expectations that hardware says nothing about.
    pub(super) silent: Vec<StmtId>,
    /// Whether what somebody waits for does not come.
    pub(super) hangs: bool,
    /// Why the run has stopped.
    pub(super) stop: Option<super::Stop>,
}

impl State<'_> {
    /// The event itself, of one that another process has exported.
    pub(super) fn source(&self, event: EventId) -> EventId {
        self.events[event].here().and_then(|recorded| recorded.same_as).unwrap_or(event)
    }
}

/// A run.
pub(super) struct Session<'r> {
    pub(super) program: &'r Program,
    pub(super) host: Arc<dyn Host>,
    pub(super) observe: Observe,
    pub(super) gpus: IndexVec<DeviceId, Gpu>,
    pub(super) meetings: Arc<Meetings>,
    /// The signals that functions in streams give.
    pub(super) given_by_functions: BTreeSet<SignalId>,
    /// The statements of which expectations ask when their operations started or ended.
    pub(super) timed: BTreeSet<StmtId>,
    began: Nanos,
    state: Mutex<State<'r>>,
}

impl<'r> Session<'r> {
    /// Makes what exists before the first call.
    pub(super) fn begin(
        program: &'r Program,
        host: Arc<dyn Host>,
        durations: &'r mut dyn Durations,
        options: super::Options,
        machine: &Machine,
    ) -> Answer<Self> {
        let setup = &program.setup;
        let own = setup.devices.iter_enumerated().filter(|(_, device)| device.same_as.is_none());
        let places: Vec<DeviceId> = own.map(|(device, _)| device).collect();
        let gpu = |device| {
            let physical = setup.physical(device);
            machine.gpus[places.iter().position(|place| *place == physical).unwrap_or_default()]
        };
        let gpus: IndexVec<DeviceId, Gpu> = setup.devices.indices().map(gpu).collect();
        let state = State {
            cursor: Cursor::new(program),
            log: Log::default(),
            durations,
            streams: setup.streams.iter().map(|_| Held::Not(Failure::InvalidResourceHandle)).collect(),
            events: setup.events.iter().map(|_| Held::Not(Failure::InvalidResourceHandle)).collect(),
            pools: setup.pools.iter().map(|_| Held::Not(Failure::InvalidValue)).collect(),
            defaults: setup.devices.iter().map(|_| None).collect(),
            current: setup.devices.iter().map(|_| None).collect(),
            tails: setup.streams.iter().map(|_| None).collect(),
            captured: setup.events.iter().map(|_| None).collect(),
            last_reach: BTreeMap::new(),
            order: Order::new(setup),
            outstanding: Outstanding::default(),
            memory: Memory::default(),
            launches: Launches::default(),
            marks: Marks::default(),
            exported: BTreeMap::new(),
            pinned: Vec::new(),
            pageable: Vec::new(),
            told: BTreeSet::new(),
            silent: super::limits::silent(program),
            hangs: false,
            stop: None,
        };
        let began = host.now();
        let meetings = Arc::new(Meetings::new(setup, options.turns, options.patience));
        let given_by_functions = program.given_by_functions();
        let session = Self {
            given_by_functions,
            timed: super::limits::timed(program),
            program,
            host,
            observe: options.observe,
            gpus,
            meetings,
            began,
            state: Mutex::new(state),
        };
        session.make_everything()?;
        Ok(session)
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State<'r>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The time of the run.
    pub(super) fn now(&self) -> Nanos {
        Nanos(self.host.now().0.saturating_sub(self.began.0))
    }

    /// Makes a device the current one of the calling thread.
    pub(super) fn enter(&self, device: DeviceId) -> Answer<Gpu> {
        let gpu = self.gpus[device];
        driver::set_current(gpu.context)?;
        Ok(gpu)
    }

    fn make_everything(&self) -> Answer<()> {
        let setup = &self.program.setup;
        let mut state = self.lock();
        let launches = usize::try_from(self.program.length).unwrap_or(usize::MAX);
        state.launches = Launches::new(launches.saturating_add(setup.devices.len()))?;
        for (device, _) in setup.devices.iter_enumerated() {
            let gpu = self.enter(device)?;
            // A kernel is loaded with its first launch, which may wait for everything else.
            state.launches.warm_up(gpu.kernel)?;
            driver::synchronise_context()?;
            state.marks.begin(device, &|| self.now())?;
        }
        let is_later = |resource| setup.created.contains(&resource);
        for (stream, _) in setup.streams.iter_enumerated().filter(|(id, _)| !is_later(Resource::Stream(*id)))
        {
            state.streams[stream] = Held::Here(self.make_stream(stream)?);
        }
        for (event, _) in setup.events.iter_enumerated().filter(|(id, _)| !is_later(Resource::Event(*id))) {
            state.events[event] = Held::Here(self.make_event(event, None)?);
        }
        for (pool, _) in setup.pools.iter_enumerated().filter(|(id, _)| !is_later(Resource::Pool(*id))) {
            let is_default = self.default_of(pool);
            let made = match is_default {
                Some(device) => driver::default_pool(self.gpus[device].ordinal),
                None => self.make_pool(pool),
            };
            match made {
                Ok(made) => {
                    state.pools[pool] = Held::Here(made);
                    self.dress(pool, made)?;
                }
                Err(code) => state.pools[pool] = Held::Not(failure_of(code).ok_or(code)?),
            }
            if let Some(device) = self.first_of(pool) {
                (state.defaults[device], state.current[device]) = (Some(pool), Some(pool));
            }
        }
        self.make_buffers(&mut state)
    }

    fn make_buffers(&self, state: &mut State<'_>) -> Answer<()> {
        for (id, buffer) in self.program.host_buffers.iter_enumerated() {
            let id: HostBufferId = id;
            let bytes = buffer.size.0.max(8);
            let address = if buffer.pinned {
                let address = driver::malloc_host(bytes)?;
                state.pinned.push(address);
                address
            } else {
                let words = usize::try_from(bytes.div_ceil(8)).map_err(|_| CudaError(2))?;
                state.pageable.push(vec![0; words].into_boxed_slice());
                state.pageable.last_mut().map_or(0, |words| words.as_mut_ptr() as u64)
            };
            state.memory.is_at(id, address);
        }
        Ok(())
    }

    /// The device whose default pool the driver has for it. That of another process is its own.
    fn default_of(&self, pool: PoolId) -> Option<DeviceId> {
        let devices = &self.program.setup.devices;
        self.first_of(pool).filter(|device| devices[*device].same_as.is_none())
    }

    /// The device whose default pool it is to its process.
    fn first_of(&self, pool: PoolId) -> Option<DeviceId> {
        let setup = &self.program.setup;
        let device = setup.pools[pool].location.device()?;
        let is_on =
            |(_, other): &(PoolId, &PoolSetup)| other.location.device() == Some(device) && !other.imported;
        let first = setup.pools.iter_enumerated().find(is_on);
        first.filter(|(first, _)| *first == pool).map(|_| device)
    }

    pub(super) fn make_stream(&self, stream: StreamId) -> Answer<Stream> {
        let setup = self.program.setup.streams[stream];
        self.enter(setup.device)?;
        match setup.kind {
            StreamKind::Legacy => Ok(Stream::LEGACY),
            StreamKind::PerThread => Ok(Stream::PER_THREAD),
            kind => driver::create_stream(kind == StreamKind::NonBlocking, setup.priority),
        }
    }

    /// An event on a device; where none is stated, on that of the stream that records it first.
    pub(super) fn make_event(&self, event: EventId, on: Option<DeviceId>) -> Answer<Recorded> {
        let setup = &self.program.setup;
        let own = setup.events[event];
        let is_own = |device: &DeviceId| setup.devices[*device].process == own.process;
        let first = || setup.devices.indices().find(is_own);
        let device = own.device.or(on).or_else(first).unwrap_or_else(|| DeviceId::from_raw(0));
        self.enter(device)?;
        let event = driver::create_event(!own.interprocess, own.interprocess)?;
        Ok(Recorded { event, device, latest: None, is_shared: false, same_as: None })
    }

    pub(super) fn make_pool(&self, pool: PoolId) -> Answer<Pool> {
        let setup = &self.program.setup.pools[pool];
        let location = match setup.location {
            Place::Device(device) => Location::device(self.gpus[device].ordinal),
            Place::Host => Location::HOST,
            Place::HostNuma(node) => Location::host_numa(c_int::try_from(node).unwrap_or(c_int::MAX)),
            Place::HostNumaCurrent => Location::HOST_NUMA_CURRENT,
        };
        let handles = match setup.handle {
            HandleType::None => 0,
            HandleType::PosixFd => 1,
            HandleType::Fabric => 8,
        };
        let max_size = setup.max_size.map_or(0, |size| usize::try_from(size.0).unwrap_or(usize::MAX));
        driver::create_pool(&PoolProperties::new(location, handles, max_size))
    }

    /// Gives a pool the attributes that the program states, and high marks as of a new one.
    pub(super) fn dress(&self, pool: PoolId, made: Pool) -> Answer<()> {
        let attributes = self.program.setup.pools[pool].attributes;
        let reuse = attributes.reuse;
        for (attribute, value) in [
            (Attribute::ReleaseThreshold, attributes.release_threshold.0),
            (Attribute::FollowEvent, reuse.follow_event.into()),
            (Attribute::Opportunistic, reuse.opportunistic.into()),
            (Attribute::Internal, reuse.internal.into()),
        ] {
            driver::set_pool_attribute(made, super::calls::attribute_of(attribute), value)?;
        }
        for high in [Attribute::ReservedHigh, Attribute::UsedHigh] {
            driver::set_pool_attribute(made, super::calls::attribute_of(high), 0)?;
        }
        Ok(())
    }

    /// Waits for all devices, reads what is known only then, and gives everything back.
    pub(super) fn end(self) -> super::Run {
        let mut state = self.lock();
        // What pools hold when the program ends; to wait for its devices may give memory back.
        let last = (HostId::from_raw(0), state.cursor.latest(HostId::from_raw(0)));
        self.tell_states(&mut state, last);
        let wait = |device| self.enter(device).and_then(|_| driver::synchronise_context());
        // All of them, also where one fails: copies may still be on their way.
        let waited: Vec<Answer<()>> = self.gpus.indices().map(wait).collect();
        let waited: Answer<()> = waited.into_iter().collect();
        // A function in a stream has waited in vain.
        if self.meetings.has_given_up() {
            self.hangs(&mut state, None);
        }
        if let (Err(code), None) = (waited, &state.stop) {
            state.stop = Some(super::Stop { stmt: last.1, reason: format!("the device reports {code}") });
        }
        let State { marks, log, order, launches, hangs, .. } = &mut *state;
        // What ran only because waits were given up, the program has never done.
        let given_up = if *hangs { self.meetings.waiting() } else { Vec::new() };
        let mut is_behind = |ticket| {
            let before = order.until(ticket);
            given_up.iter().any(|function| function.at.within(&before))
        };
        if !given_up.is_empty() {
            marks.forget(&mut is_behind);
            launches.forget(&mut is_behind);
        }
        marks.tell(log, None);
        log.close();
        let untold = super::limits::of_untold(self.program, log.untold());
        state.silent.extend(untold);
        let overlaps = if waited.is_ok() { state.launches.overlaps() } else { Vec::new() };
        self.give_back(&mut state);
        let (log, stop) = (std::mem::take(&mut state.log), state.stop.take());
        super::Run { devices: Vec::new(), log, overlaps, silent: std::mem::take(&mut state.silent), stop }
    }

    /// What cannot be given back, of a device that reports an error, goes with the process.
    fn give_back(&self, state: &mut State<'_>) {
        state.marks.end();
        state.launches.end();
        for live in state.memory.take_live() {
            driver::plain_free(live.range.start).ok();
        }
        for stream in &state.streams {
            match stream {
                Held::Here(Stream::LEGACY | Stream::PER_THREAD) => {}
                Held::Here(stream) => {
                    driver::destroy_stream(*stream).ok();
                }
                Held::Not(_) | Held::Gone => {}
            }
        }
        state.tails.iter_mut().chain(&mut state.captured).for_each(|tail| *tail = None);
        state.exported.clear();
        for event in &state.events {
            if let Held::Here(recorded) = event
                && recorded.same_as.is_none()
            {
                driver::destroy_event(recorded.event).ok();
            }
        }
        // Imports go before what they are of.
        let is_own = |pool: &PoolId| !self.program.setup.pools[*pool].imported;
        let mut pools: Vec<PoolId> = self.program.setup.pools.indices().collect();
        pools.sort_by_key(is_own);
        for pool in pools {
            match (state.pools[pool], self.default_of(pool)) {
                (Held::Here(made), Some(device)) => {
                    driver::set_current_pool(self.gpus[device].ordinal, made).ok();
                    driver::trim(made, 0).ok();
                }
                (Held::Here(made), None) => {
                    driver::destroy_pool(made).ok();
                }
                (Held::Not(_) | Held::Gone, _) => {}
            }
        }
        state.pinned.drain(..).for_each(|address| {
            driver::free_host(address).ok();
        });
    }

    /// Tells the figures of every pool that exists, and has held something.
    pub(super) fn tell_states(&self, state: &mut State<'_>, by: (HostId, StmtId)) {
        for pool in self.program.setup.pools.indices() {
            let Held::Here(made) = state.pools[pool] else { continue };
            if let Ok(figures) = super::calls::figures(made)
                && (state.told.contains(&pool) || figures.reserved_high > Bytes::ZERO)
            {
                state.told.insert(pool);
                state.log.host(self.now(), by, None, What::State(pool, figures));
            }
        }
    }
}

/// How a call fails with this code, if a program can meet it.
pub(super) fn failure_of(code: CudaError) -> Option<Failure> {
    Some(match code.0 {
        // A thread always has a current context, so that 201 is no fault of the program.
        1 => Failure::InvalidValue,
        2 => Failure::OutOfMemory,
        101 | 217 => Failure::InvalidDevice,
        400 | 709 => Failure::InvalidResourceHandle,
        600 => Failure::NotReady,
        800 | 801 => Failure::NotSupported,
        _ => return None,
    })
}
