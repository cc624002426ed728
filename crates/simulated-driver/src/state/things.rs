//! What handles stand for, and how streams, events and pools come and go.

use super::handles::Tag;
use super::{Caller, State};
use crate::error::Error;
use crate::ptx::Entry;
use millpond::base::{DeviceId, EventId, PoolId, StreamId};
use millpond::trace::{
    Call, EventSetup, Exported, HandleType, Imported, Location, PoolSetup, Resource, StreamKind, StreamSetup,
};

/// The primary context of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context {
    pub(crate) handle: u64,
    /// How often it is retained; it exists for as long as it is.
    pub(crate) retained: u32,
    pub(crate) flags: u32,
}

impl Context {
    pub(super) fn of_devices(count: usize) -> Vec<Self> {
        let mut handles = super::Table::new(Tag::Context);
        let contexts = (0..count).filter_map(|_| handles.insert(()));
        contexts.map(|handle| Self { handle, retained: 0, flags: 0 }).collect()
    }
}

/// A stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) id: StreamId,
    pub(crate) setup: StreamSetup,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) id: EventId,
    pub(crate) device: DeviceId,
    pub(crate) has_times: bool,
}

/// A pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub(crate) id: PoolId,
    pub(crate) setup: PoolSetup,
    /// What was set of attributes that have no effect by a fault: the policies, and the threshold.
    pub(crate) ignored: [Option<u64>; 4],
}

impl Pool {
    pub(super) fn new(id: PoolId, setup: &PoolSetup) -> Self {
        Self { id, setup: *setup, ignored: [None; 4] }
    }
}

/// A module, with the handles of its entries that were asked for.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) device: DeviceId,
    pub(crate) entries: Vec<(Entry, Option<u64>)>,
}

/// An entry of a module.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) device: DeviceId,
    pub(crate) entry: Entry,
}

impl State {
    /// A device by its number.
    pub(crate) fn device(&self, ordinal: i32) -> Option<DeviceId> {
        let nth = usize::try_from(ordinal).ok().filter(|nth| *nth < self.devices.len())?;
        Some(DeviceId::from_usize(nth))
    }

    /// The device of a context that exists.
    pub(crate) fn device_of_context(&self, handle: u64) -> Option<DeviceId> {
        let nth =
            self.contexts.iter().position(|context| context.handle == handle && context.retained > 0)?;
        Some(DeviceId::from_usize(nth))
    }

    /// A pool by its handle.
    pub(crate) fn pool(&self, handle: u64) -> Result<Pool, Error> {
        self.pools.get(handle).copied().ok_or(Error::INVALID_VALUE)
    }

    /// An event by its handle.
    pub(crate) fn event(&self, handle: u64) -> Result<Event, Error> {
        self.events.get(handle).copied().ok_or(Error::INVALID_HANDLE)
    }

    /// The handle of a pool.
    pub(crate) fn handle_of(&self, pool: PoolId) -> Option<u64> {
        self.pools.iter().find(|(_, known)| known.id == pool).map(|(handle, _)| handle)
    }

    fn place_for_stream(&mut self, setup: StreamSetup) -> Result<StreamId, Error> {
        let Self { stream_places, machine, .. } = self;
        let place = stream_places.take(|place| machine.renew_stream(place.into(), setup));
        place.map(StreamId::from).ok_or(Error::OUT_OF_MEMORY)
    }

    fn place_for_event(&mut self, setup: EventSetup) -> Result<EventId, Error> {
        let Self { event_places, machine, .. } = self;
        let place = event_places.take(|place| machine.renew_event(place.into(), setup));
        place.map(EventId::from).ok_or(Error::OUT_OF_MEMORY)
    }

    fn place_for_pool(&mut self, setup: &PoolSetup) -> Result<PoolId, Error> {
        let Self { pool_places, machine, .. } = self;
        let place = pool_places.take(|place| machine.renew_pool(place.into(), setup));
        place.map(PoolId::from).ok_or(Error::OUT_OF_MEMORY)
    }
}

/// The streams that have no handle of their own (CUDA driver API, `CU_STREAM_LEGACY`, `CU_STREAM_PER_THREAD`).
const LEGACY: [u64; 2] = [0, 1];
const PER_THREAD: u64 = 2;

impl Caller {
    /// The device of the current context.
    pub(crate) fn current_device(&self) -> Result<DeviceId, Error> {
        let current = self.hosts.current(self.host()).ok_or(Error::INVALID_CONTEXT)?;
        self.device_of_context(current).ok_or(Error::CONTEXT_IS_DESTROYED)
    }

    /// The legacy default stream of the current context.
    pub(crate) fn legacy(&self) -> Result<Stream, Error> {
        let device = self.current_device()?;
        let setup = StreamSetup::new(device, StreamKind::Legacy);
        Ok(Stream { id: StreamId::from_usize(device.index()), setup })
    }

    /// A stream by its handle.
    pub(crate) fn stream(&mut self, handle: u64) -> Result<Stream, Error> {
        match handle {
            handle if LEGACY.contains(&handle) => self.legacy(),
            PER_THREAD => self.per_thread(),
            handle => self.streams.get(handle).copied().ok_or(Error::INVALID_HANDLE),
        }
    }

    /// The default stream of this thread on the current device, made when it is first used.
    fn per_thread(&mut self) -> Result<Stream, Error> {
        let device = self.current_device()?;
        let setup = StreamSetup::new(device, StreamKind::PerThread);
        let host = self.host();
        for left in self.hosts.left(host) {
            self.make(&Call::Destroy(Resource::Stream(left)))?;
            self.stream_places.leave(left.index());
        }
        if let Some(id) = self.hosts.streams(host).get(&device.index()) {
            return Ok(Stream { id: *id, setup });
        }
        let id = self.place_for_stream(setup)?;
        self.hosts.streams(host).insert(device.index(), id);
        self.make(&Call::Create { resource: Resource::Stream(id), reusing: None })?;
        Ok(Stream { id, setup })
    }

    /// Creates a stream, and gives it a handle.
    pub(crate) fn create_stream(&mut self, setup: StreamSetup) -> Result<u64, Error> {
        let id = self.place_for_stream(setup)?;
        self.make(&Call::Create { resource: Resource::Stream(id), reusing: None })?;
        self.streams.insert(Stream { id, setup }).ok_or(Error::OUT_OF_MEMORY)
    }

    /// Destroys a stream.
    pub(crate) fn destroy_stream(&mut self, handle: u64) -> Result<(), Error> {
        let stream = self.streams.remove(handle).ok_or(Error::INVALID_HANDLE)?;
        self.make(&Call::Destroy(Resource::Stream(stream.id)))?;
        self.stream_places.leave(stream.id.index());
        Ok(())
    }

    /// Creates an event of a device, and gives it a handle.
    pub(crate) fn create_event(
        &mut self,
        device: DeviceId,
        has_times: bool,
        shared: bool,
    ) -> Result<u64, Error> {
        let setup = EventSetup { device: Some(device), interprocess: shared, ..EventSetup::default() };
        let id = self.place_for_event(setup)?;
        self.make(&Call::Create { resource: Resource::Event(id), reusing: None })?;
        self.events.insert(Event { id, device, has_times }).ok_or(Error::OUT_OF_MEMORY)
    }

    /// Destroys an event.
    pub(crate) fn destroy_event(&mut self, handle: u64) -> Result<(), Error> {
        let event = self.events.remove(handle).ok_or(Error::INVALID_HANDLE)?;
        self.make(&Call::Destroy(Resource::Event(event.id)))?;
        self.exports.forget(Exported::Event(event.id));
        self.event_places.leave(event.id.index());
        Ok(())
    }

    /// Creates a pool, and gives it a handle.
    pub(crate) fn create_pool(&mut self, setup: &PoolSetup) -> Result<u64, Error> {
        let id = self.place_for_pool(setup)?;
        if let Err(error) = self.make(&Call::Create { resource: Resource::Pool(id), reusing: None }) {
            self.pool_places.leave(id.index());
            return Err(error);
        }
        self.pools.insert(Pool::new(id, setup)).ok_or(Error::OUT_OF_MEMORY)
    }

    /// Destroys a pool; its memory lives on for as long as something of it is in use.
    pub(crate) fn destroy_pool(&mut self, handle: u64) -> Result<(), Error> {
        let pool = self.pool(handle)?;
        self.make(&Call::Destroy(Resource::Pool(pool.id)))?;
        if self.pools.remove(handle).is_some() {
            self.exports.forget(Exported::Pool(pool.id));
            self.pool_places.leave(pool.id.index());
        }
        Ok(())
    }

    /// A number under which what is exported can be imported.
    pub(crate) fn export(&mut self, what: Exported) -> Result<u64, Error> {
        let (number, under) = self.exports.enter(what).ok_or(Error::OUT_OF_MEMORY)?;
        match self.make(&Call::Export { what, under }) {
            Ok(_) => Ok(number),
            Err(error) => {
                self.exports.forget(what);
                Err(error)
            }
        }
    }

    /// A pool that has the memory of an exported one, by the number of the export.
    pub(crate) fn import_pool(&mut self, number: u64) -> Result<u64, Error> {
        let (what, under) = self.exports.get(number).ok_or(Error::INVALID_VALUE)?;
        let Exported::Pool(source) = what else { return Err(Error::INVALID_VALUE) };
        let location =
            self.pools.iter().find(|(_, pool)| pool.id == source).map(|(_, pool)| pool.setup.location);
        let location = location.unwrap_or(Location::Host);
        let own = PoolSetup::on(DeviceId::from_raw(0));
        let setup = PoolSetup { location, imported: true, handle: HandleType::None, ..own };
        let id = self.place_for_pool(&setup)?;
        if let Err(error) = self.make(&Call::Import { under, into: Imported::Pool(id) }) {
            self.pool_places.leave(id.index());
            return Err(error);
        }
        self.pools.insert(Pool::new(id, &setup)).ok_or(Error::OUT_OF_MEMORY)
    }

    /// An event that is an exported one, by the number of the export.
    pub(crate) fn import_event(&mut self, device: DeviceId, number: u64) -> Result<u64, Error> {
        let (what, under) = self.exports.get(number).ok_or(Error::INVALID_HANDLE)?;
        let Exported::Event(_) = what else { return Err(Error::INVALID_HANDLE) };
        let id = self.place_for_event(EventSetup { device: Some(device), ..EventSetup::default() })?;
        if let Err(error) = self.make(&Call::Import { under, into: Imported::Event(id) }) {
            self.event_places.leave(id.index());
            return Err(error);
        }
        self.events.insert(Event { id, device, has_times: false }).ok_or(Error::OUT_OF_MEMORY)
    }

    /// Resets a device, and forgets what belongs to its context.
    pub(crate) fn reset_device(&mut self, device: DeviceId) -> Result<(), Error> {
        self.make(&Call::ResetDevice(device))?;
        for handle in self.streams.having(|stream| stream.setup.device == device) {
            if let Some(stream) = self.streams.remove(handle) {
                self.stream_places.leave(stream.id.index());
            }
        }
        for handle in self.events.having(|event| event.device == device) {
            if let Some(event) = self.events.remove(handle) {
                self.exports.forget(Exported::Event(event.id));
                self.event_places.leave(event.id.index());
            }
        }
        for handle in self.modules.having(|module| module.device == device) {
            self.modules.remove(handle);
        }
        for handle in self.functions.having(|function| function.device == device) {
            self.functions.remove(handle);
        }
        let state = &mut **self;
        for start in state.allocations.end_context(device) {
            state.memory.free_host(start);
        }
        Ok(())
    }
}
