//! Which device may touch the memory of which pool, and the calls that fail since it may not.
//!
//! Peer access between devices (`cudaDeviceEnablePeerAccess`) plays no part in it. It must not know what pools hold, beyond
//! whether one holds anything.
//!
//! Rules: CUDA Programming Guide 4.3.3.3; CUDA driver API, `cuMemPoolSetAccess`, `cuMemPoolGetAccess`.

use super::machine::Caller;
use super::{Chooser, Machine, Progress};
use crate::base::{DeviceId, IndexVec, PoolId, StreamId, reuse_on_clone};
use crate::model::{Allocator, Origin};
use crate::trace::{
    AllocId, Call, DeviceSet, Failure, GraphCall, Kind, Memory, Reach, Reply, Setup, Sink, Use,
};
use std::collections::BTreeMap;

/// Who may touch the memory of a pool.
#[derive(Clone, Copy, Debug)]
struct Granted {
    /// The device that the memory is on, which always may. `None`: it is on the host.
    home: Option<DeviceId>,
    readers: DeviceSet,
    writers: DeviceSet,
}

/// What devices may touch.
#[derive(Debug)]
pub(super) struct Grants {
    pools: IndexVec<PoolId, Granted>,
    /// For the place of an allocation that a graph has captured, the access that its pool gave by then, if it gave any.
    captured: BTreeMap<u32, Granted>,
    peers: IndexVec<DeviceId, DeviceSet>,
    late_check: bool,
}

reuse_on_clone!(Grants { pools, captured, peers, late_check });

impl Granted {
    /// Memory that nobody but its device may touch.
    fn of(home: Option<DeviceId>) -> Self {
        let mut own = DeviceSet::NONE;
        home.into_iter().for_each(|home| own.set(home, true));
        Self { home, readers: own, writers: own }
    }

    fn reach(self, device: DeviceId) -> Reach {
        match (self.readers.contains(device), self.writers.contains(device)) {
            (_, true) => Reach::ReadWrite,
            (true, false) => Reach::Read,
            (false, false) => Reach::None,
        }
    }
}

impl Grants {
    pub(super) fn new(setup: &Setup) -> Self {
        Self {
            pools: setup.pools.iter().map(|pool| Granted::of(pool.location.device())).collect(),
            captured: BTreeMap::new(),
            peers: setup.devices.iter().map(|device| device.peers).collect(),
            late_check: setup.rules.late_access_check,
        }
    }

    /// Gives or takes access; `is_empty`: the pool holds no memory.
    fn grant(&mut self, pool: PoolId, device: DeviceId, reach: Reach, is_empty: bool) -> Result<(), Failure> {
        let granted = &mut self.pools[pool];
        if granted.home == Some(device) {
            return if reach == Reach::ReadWrite { Ok(()) } else { Err(Failure::InvalidDevice) };
        }
        // Every device can reach memory of the host.
        let is_able = granted.home.is_none_or(|home| self.peers[home].contains(device));
        if reach != Reach::None && !is_able && !(self.late_check && is_empty) {
            return Err(Failure::InvalidDevice);
        }
        granted.readers.set(device, reach != Reach::None);
        granted.writers.set(device, reach == Reach::ReadWrite);
        Ok(())
    }

    /// A pool is another one, at home on this device.
    pub(super) fn renew(&mut self, pool: PoolId, home: Option<DeviceId>) {
        self.pools[pool] = Granted::of(home);
    }

    /// What a device may do with the memory of a pool.
    pub(super) fn reach(&self, pool: PoolId, device: DeviceId) -> Reach {
        self.pools[pool].reach(device)
    }

    /// The access of a captured allocation is that of its pool at the capture (CUDA Programming Guide, "Graph memory nodes", peer
    /// access).
    pub(super) fn capture(&mut self, pool: PoolId, alloc: AllocId) {
        let granted = self.pools[pool];
        match granted.readers.without(Granted::of(granted.home).readers).is_empty() {
            true => self.captured.remove(&alloc.slot),
            false => self.captured.insert(alloc.slot, granted),
        };
    }

    /// What a device may do with an allocation of a graph.
    fn reach_of_captured(&self, alloc: AllocId, home: DeviceId, device: DeviceId) -> Reach {
        self.captured.get(&alloc.slot).copied().unwrap_or(Granted::of(Some(home))).reach(device)
    }

    /// What a device could be given of the memory of another one.
    pub(super) fn peer(&self, device: DeviceId, of: DeviceId) -> Reach {
        let reaches = device == of || self.peers[of].contains(device);
        if reaches { Reach::ReadWrite } else { Reach::None }
    }

    /// Whether a pool is accessible to devices alone that can reach it.
    fn is_sound(&self, pool: PoolId) -> bool {
        let Granted { home, readers, .. } = self.pools[pool];
        home.is_none_or(|home| {
            let mut able = self.peers[home];
            able.set(home, true);
            readers.without(able).is_empty()
        })
    }
}

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn grant(&mut self, pool: PoolId, device: DeviceId, reach: Reach) -> Result<Reply, Failure> {
        let is_empty = self.model.state(pool).reserved.0 == 0;
        self.grants.grant(pool, device, reach, is_empty)?;
        Ok(Reply::Done)
    }

    /// Fails a call that names what does not exist, or touches what it may not.
    pub(super) fn check(&mut self, caller: Caller, call: &Call) -> Result<(), Failure> {
        if !self.is_restricted {
            return self.resources.check(call);
        }
        self.supports(call)?;
        self.resources.check(call)?;
        self.shares.check(call)?;
        self.check_record(caller, call)?;
        let Some((failure, out_of_reach)) = self.out_of_reach(call) else { return Ok(()) };
        if let Some((pool, device)) = out_of_reach {
            let reach = self.grants.reach(pool, device);
            self.emit(caller, None, Kind::OutOfReach { pool, device, reach });
        }
        Err(failure)
    }

    /// How a call fails that touches memory out of reach, with the pool and the device: a copy or a memset as the driver refuses
    /// it, and a launch as the device would once the kernel runs. Also an allocation from a pool that is accessible to a
    /// device which cannot reach it.
    fn out_of_reach(&self, call: &Call) -> Option<(Failure, Option<(PoolId, DeviceId)>)> {
        let look = |stream: StreamId, uses: &[Use], failure| {
            let device = self.streams[stream].device;
            let pool = uses.iter().find_map(|used| self.barred(device, used))?;
            Some((failure, pool.map(|pool| (pool, device))))
        };
        match call {
            Call::Launch { stream, uses, .. } | Call::Collective { stream, uses, .. } => {
                look(*stream, uses, Failure::IllegalAddress)
            }
            Call::Memset { stream, at, .. } => look(*stream, &[*at], Failure::InvalidValue),
            Call::Copy { stream, to, from, .. } if !self.is_between_devices(to, from) => {
                look(*stream, &[*to, *from], Failure::InvalidValue)
            }
            Call::Alloc { pool: Some(pool), .. } if !self.grants.is_sound(*pool) => {
                Some((Failure::InvalidDevice, None))
            }
            Call::Graph(GraphCall::Node { node, .. }) => self.out_of_reach(node),
            _ => None,
        }
    }

    /// Whether the device may not touch the memory so, with the pool whose memory it is. Memory outside of pools is not looked
    /// at.
    fn barred(&self, device: DeviceId, used: &Use) -> Option<Option<PoolId>> {
        let alloc = used.memory.alloc()?;
        let (reach, pool) = match self.model.origin(alloc)? {
            Origin::Pool(pool) => (self.grants.reach(pool, device), Some(pool)),
            Origin::Graph(home) => (self.grants.reach_of_captured(alloc, home, device), None),
            Origin::Outside(_) => return None,
        };
        (!reach.allows(used.access)).then_some(pool)
    }

    /// Whether a copy goes from one device to another one: `cudaMemcpyPeerAsync` names both of them, and each touches its own
    /// memory.
    fn is_between_devices(&self, to: &Use, from: &Use) -> bool {
        let home = |used: &Use| {
            let Memory::Device(alloc) = used.memory else { return None };
            let home = match self.model.origin(alloc)? {
                Origin::Pool(pool) => self.grants.pools[pool].home?,
                Origin::Outside(device) | Origin::Graph(device) => device,
            };
            Some(self.physical(home))
        };
        home(to).zip(home(from)).is_some_and(|(to, from)| to != from)
    }
}
