//! Calls about what exists, what is shared, and what can be read and set: none of them puts anything into a stream.

use super::calls::{Answer, By, Trouble};
use super::driver;
use super::log::What;
use super::meetings::Giver;
use super::readings::{attribute_of, is_told, of_device, reach};
use super::session::{Held, Recorded, Session, Shared, State};
use super::structures::{Access, Location};
use crate::base::{DeviceId, EventId, HostId, PoolId, SignalId, StreamId};
use crate::trace::{Call, Exported, Failure, Imported, Reading, Reply, Resource};
use std::ffi::c_uint;
use std::os::fd::AsFd;
use std::sync::Arc;

impl Session<'_> {
    /// Makes such a call.
    pub(super) fn manage(&self, state: &mut State<'_>, by: By, call: &Call) -> Answer<Reply> {
        match call {
            Call::Trim { pool, keep } => driver::trim(self.pool(state, *pool)?, keep.0)?,
            Call::Set { pool, attribute, value } => {
                driver::set_pool_attribute(self.pool(state, *pool)?, attribute_of(*attribute), *value)?;
            }
            // What another process calls its current pool is known here alone.
            Call::SetPool { device, pool } if self.program.setup.devices[*device].same_as.is_some() => {
                self.pool(state, *pool)?;
                let setup = &self.program.setup.pools[*pool];
                if setup.imported || setup.location.device() != Some(*device) {
                    return Err(Failure::InvalidValue.into());
                }
                state.current[*device] = Some(*pool);
            }
            Call::SetPool { device, pool } => {
                driver::set_current_pool(self.gpus[*device].ordinal, self.pool(state, *pool)?)?;
                state.current[*device] = Some(*pool);
            }
            Call::Grant { pool, device, reach } => {
                let location = Location::device(self.gpus[*device].ordinal);
                let flags = c_uint::try_from(reach.flag()).unwrap_or_default();
                driver::set_access(self.pool(state, *pool)?, Access { location, flags })?;
            }
            // What no driver tells is only compared, by expectations that are not judged.
            Call::Read(reading) | Call::Peek(reading) if !is_told(*reading) => return Ok(Reply::Value(0)),
            Call::Read(reading) => {
                let value = self.read(state, by.0, *reading)?;
                state.log.host(self.now(), by, None, What::Value(value.into()));
                return Ok(Reply::Value(value.into()));
            }
            Call::Peek(reading) => return self.peek(state, by, *reading),
            Call::Elapsed { from, to } => return self.elapsed(state, by, *from, *to),
            Call::Create { resource, .. } => self.create(state, *resource)?,
            Call::Destroy(resource) => self.destroy(state, *resource)?,
            Call::Export { what, under } => self.export(state, *what, *under)?,
            other => return Err(Trouble::Ends(format!("hardware does not run this: {other:?}"))),
        }
        Ok(Reply::Done)
    }

    fn pool(&self, state: &State<'_>, pool: PoolId) -> Answer<driver::Pool> {
        Ok(state.pools[pool].or(Failure::InvalidValue)?)
    }

    /// For an expectation. Of what was destroyed a driver tells nothing more, so that it is not judged.
    fn peek(&self, state: &mut State<'_>, by: By, reading: Reading) -> Answer<Reply> {
        if let Reading::Pool(pool, _) = reading
            && state.pools[pool].here().is_none()
        {
            state.silent.push(by.1);
            return Ok(Reply::Value(0));
        }
        Ok(Reply::Value(self.read(state, by.0, reading)?.into()))
    }

    fn read(&self, state: &State<'_>, host: HostId, reading: Reading) -> Answer<u64> {
        Ok(match reading {
            Reading::Pool(pool, figure) => {
                let figures = super::readings::figures(self.pool(state, pool)?)?;
                figures.figure(figure)
            }
            Reading::Device(device, figure) => of_device(self.enter(device)?, figure)?,
            Reading::Access(pool, device) => reach(self.pool(state, pool)?, self.gpus[device])?.into(),
            Reading::Peer(device, of) => {
                let (device, of) = (self.gpus[device].ordinal, self.gpus[of].ordinal);
                let can = device == of || driver::can_access_peer(device, of)?;
                if can { 3 } else { 0 }
            }
            Reading::CurrentPool(device) => self.current_pool(state, host, device)?,
            Reading::PoolItself(pool) => pool.index() as u64,
            Reading::Graphs(..) => return Err(Failure::NotSupported.into()),
        })
    }

    /// The number of the current pool of a device, of the names that the process has for pools.
    fn current_pool(&self, state: &State<'_>, host: HostId, device: DeviceId) -> Answer<u64> {
        let setup = &self.program.setup;
        if setup.devices[device].same_as.is_some() {
            return Ok(state.current[device].map_or(u64::MAX, |pool| pool.index() as u64));
        }
        let current = driver::current_pool(self.gpus[device].ordinal)?;
        let process = setup.process_of(host);
        let is_it = |pool: &PoolId| {
            setup.pools[*pool].process == process && state.pools[*pool].here() == Some(current)
        };
        Ok(setup.pools.indices().find(is_it).map_or(u64::MAX, |pool| pool.index() as u64))
    }

    fn elapsed(&self, state: &mut State<'_>, by: By, from: EventId, to: EventId) -> Answer<Reply> {
        let [first, last] = [from, to].map(|event| self.event(state, event));
        let (first, last) = (first?, last?);
        self.enter(first.device)?;
        let milliseconds = driver::elapsed(first.event, last.event)?;
        let value = (f64::from(milliseconds) * 1e6).round() as i128;
        state.log.host(self.now(), by, None, What::Value(value));
        Ok(Reply::Value(value))
    }

    fn create(&self, state: &mut State<'_>, resource: Resource) -> Answer<()> {
        match resource {
            Resource::Stream(stream) => state.streams[stream] = Held::Here(self.make_stream(stream)?),
            Resource::Event(event) => {
                state.events[event] = Held::Here(self.make_event(event, None)?);
                state.order.renew(event);
                state.captured[event] = None;
            }
            Resource::Pool(pool) => {
                let made = self.make_pool(pool)?;
                state.pools[pool] = Held::Here(made);
                self.dress(pool, made)?;
            }
            Resource::Graph(_) | Resource::Exec(_) => return Err(Failure::NotSupported.into()),
        }
        Ok(())
    }

    fn destroy(&self, state: &mut State<'_>, resource: Resource) -> Answer<()> {
        match resource {
            Resource::Stream(stream) => self.destroy_stream(state, stream)?,
            Resource::Event(event) => {
                let recorded = self.event(state, event)?;
                let is_same =
                    |held: &Held<Recorded>| held.here().and_then(|other| other.same_as) == Some(event);
                let heir = state.events.position(is_same);
                match heir {
                    // Another process goes on with it.
                    Some(heir) => {
                        let is_other = |held: &&mut Held<Recorded>| is_same(held);
                        state.events.iter_mut().filter(is_other).for_each(|held| {
                            *held = Held::Here(Recorded { same_as: Some(heir), ..recorded });
                        });
                        state.events[heir] = Held::Here(Recorded { same_as: None, ..recorded });
                        state.order.inherit(event, heir);
                        state.captured[heir] = state.captured[event].take();
                    }
                    None if recorded.same_as.is_none() => driver::destroy_event(recorded.event)?,
                    None => {}
                }
                state.events[event] = Held::Gone;
            }
            Resource::Pool(pool) => {
                let handle = self.pool(state, pool)?;
                let reaches = self.gpus.iter_enumerated().filter_map(|(device, gpu)| {
                    let flag = reach(handle, *gpu).ok()?;
                    Some(((pool, device), flag))
                });
                let reaches: Vec<_> = reaches.collect();
                driver::destroy_pool(handle)?;
                state.last_reach.extend(reaches);
                state.pools[pool] = Held::Gone;
                for (device, current) in state.current.iter_mut_enumerated() {
                    if *current == Some(pool) {
                        *current = state.defaults[device];
                    }
                }
            }
            Resource::Graph(_) | Resource::Exec(_) => return Err(Failure::NotSupported.into()),
        }
        Ok(())
    }

    fn destroy_stream(&self, state: &mut State<'_>, stream: StreamId) -> Answer<()> {
        let handle = state.streams[stream].or(Failure::InvalidResourceHandle)?;
        self.enter(self.program.setup.streams[stream].device)?;
        self.leaves_tail(state, stream)?;
        driver::destroy_stream(handle)?;
        state.streams[stream] = Held::Gone;
        Ok(())
    }

    fn export(&self, state: &mut State<'_>, what: Exported, under: SignalId) -> Answer<()> {
        let shared = match what {
            Exported::Pool(pool) => Shared::Pool(Arc::new(driver::export_pool(self.pool(state, pool)?)?)),
            Exported::Memory(alloc) => {
                let live = state.memory.of(alloc).ok_or(Failure::InvalidValue)?;
                Shared::Memory(driver::export_pointer(live.range.start)?, live.requested, live.range.start)
            }
            Exported::Event(event) => {
                let recorded = self.event(state, event)?;
                // So that it fails where it would.
                driver::event_handle(recorded.event)?;
                state.events[event] = Held::Here(Recorded { is_shared: true, ..recorded });
                Shared::Event(event)
            }
        };
        state.exported.insert(under, shared);
        self.meetings.give(under, Giver::Thread);
        Ok(())
    }

    /// Makes something of what was exported under a signal, which was given.
    pub(super) fn import(
        &self,
        state: &mut State<'_>,
        by: By,
        under: SignalId,
        into: Imported,
    ) -> Answer<Reply> {
        match (state.exported.get(&under).cloned(), into) {
            (Some(Shared::Pool(descriptor)), Imported::Pool(pool)) => {
                state.pools[pool] = Held::Here(driver::import_pool(descriptor.as_fd())?);
                Ok(Reply::Done)
            }
            (Some(Shared::Event(source)), Imported::Event(event)) => {
                let recorded = self.event(state, source)?;
                state.events[event] = Held::Here(Recorded { same_as: Some(source), ..recorded });
                Ok(Reply::Done)
            }
            (Some(Shared::Memory(data, size, origin)), Imported::Memory(pool)) => {
                let address = driver::import_pointer(self.pool(state, pool)?, data)?;
                let decision = state.memory.import(address, size, pool, origin);
                state.log.host(self.now(), by, None, What::Decided(decision.clone()));
                Ok(Reply::Allocated(decision))
            }
            _ => Err(Failure::InvalidValue.into()),
        }
    }
}
