//! Memory outside of pools: `cudaMalloc` and `cudaMallocManaged`, and how it goes back to its device.
//!
//! Such memory takes its size, rounded up to the alignment, from the device. Managed memory takes none of it: it moves, and
//! there may be more of it than a device has (CUDA Programming Guide, "Unified Memory", oversubscription). `cudaFree` gives
//! memory back at once; `cudaFreeAsync` when its operation completes, and into no pool (Programming Guide 4.3.2.2).

use super::Cuda;
use super::pool::Pool;
use super::reuse::Reach;
use crate::base::{Bytes, DeviceId, mix, reuse_on_clone};
use crate::trace::{AllocId, Cut, Decision, DeviceSetup, DeviceState, Failure, Range, Ticket};

/// So many of the latest returns are remembered. Where a host has not seen one of them complete, it may have been luck; of an
/// older one that is not said.
const RETURNED_MAX: usize = 1_024;

/// An allocation outside of pools.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    pub(super) device: DeviceId,
    /// The device as the process knows it.
    pub(super) seen_as: DeviceId,
    start: u64,
    size: u64,
    /// Whether it takes memory of the device.
    managed: bool,
}

impl Plain {
    /// The memory of the device that it takes.
    fn taken(&self) -> u64 {
        if self.managed { 0 } else { self.size }
    }
}

/// All allocations outside of pools.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// Freed by operations that have not completed.
    leaving: Vec<(Ticket, Plain)>,
    /// What went back when operations had completed, the latest ones.
    returned: Vec<(Ticket, DeviceId, u64)>,
    /// All managed bytes.
    managed: u64,
    digest: u128,
}

reuse_on_clone!(Outside { leaving, returned, managed, digest });

impl Outside {
    fn of(&self, device: DeviceId) -> impl Iterator<Item = &(Ticket, Plain)> {
        self.leaving.iter().filter(move |(_, plain)| plain.device == device)
    }

    /// The operations that freed what has not gone back.
    pub(super) fn leaving(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.leaving.iter().map(|(at, _)| *at)
    }

    /// What of a device goes back once the operations within the cut are complete.
    fn returning(&self, device: DeviceId, done: &Cut) -> u64 {
        self.of(device).filter(|(at, _)| at.within(done)).map(|(_, plain)| plain.taken()).sum()
    }

    pub(super) fn digest(&self) -> u128 {
        let leaving = self.leaving.iter().map(|(at, plain)| {
            let device = plain.device.index() as u64;
            let what = [plain.start, plain.size, device << 1 | u64::from(plain.managed)];
            mix(&[6, what[0], what[1], what[2], u64::from(at.seq), at.stream.index() as u64])
        });
        leaving.fold(self.digest, u128::wrapping_add)
    }
}

/// The part of the digest of a live allocation.
fn trace_of(plain: &Plain, alloc: AllocId) -> u128 {
    let device = plain.seen_as.index() as u64;
    mix(&[5, plain.start, plain.size, device << 1 | u64::from(plain.managed), u64::from(alloc.serial)])
}

impl Cuda {
    /// What can still be had of a device: what nobody holds, and of the system where it oversubscribes.
    pub(super) fn room_on(&self, device: DeviceId) -> u64 {
        let device = self.devices[device];
        device.most - device.reserved - device.outside
    }

    /// What a request could get, had no device got further than the host has seen, and had all of them got to the end of what
    /// was submitted.
    pub(super) fn reach_otherwise(&self, reach: Reach, pool: &Pool, size: u64, seen: &Cut) -> [Reach; 2] {
        let (free, device) = (self.room_on(pool.device), pool.device);
        let not_seen = |(at, on, _): &&(Ticket, DeviceId, u64)| *on == device && !at.within(seen);
        let lucky: u64 = self.outside.returned.iter().filter(not_seen).map(|(_, _, bytes)| bytes).sum();
        let leaving: u64 = self.outside.of(device).map(|(_, plain)| plain.taken()).sum();
        let could = |moved: u64, free: u64| match moved {
            0 => reach,
            _ => self.reach(pool, size, free),
        };
        [could(lucky, free.saturating_sub(lucky)), could(leaving, free + leaving)]
    }

    /// The next allocation has at least the number after this one.
    pub(in crate::model) fn count_on_from(&mut self, serial: u32) {
        self.serial = self.serial.max(serial);
    }

    pub(super) fn place_outside(
        &mut self,
        seen_as: DeviceId,
        requested: Bytes,
        managed: bool,
    ) -> Result<Decision, Failure> {
        let device = self.graphs.physical(seen_as);
        if requested == Bytes::ZERO {
            return if managed { Err(Failure::InvalidValue) } else { Ok(Decision::null()) };
        }
        let size = self.rounded(requested).ok_or(Failure::OutOfMemory)?;
        // Managed memory has a limit too, so that addresses are left for devices.
        let room = match managed {
            true => DeviceSetup::MEMORY_MAX.0 - self.outside.managed,
            false => self.room_on(device),
        };
        if size > room {
            return Err(Failure::OutOfMemory);
        }
        let start = self.addresses.take(size).ok_or(Failure::OutOfMemory)?;
        let plain = Plain { device, seen_as, start, size, managed };
        let alloc = self.next_id();
        self.devices[device].outside += plain.taken();
        self.outside.managed += size - plain.taken();
        self.outside.digest = self.outside.digest.wrapping_add(trace_of(&plain, alloc));
        self.enter(alloc, super::Owner::Outside(plain));
        let range = Range { start, size: Bytes(size) };
        Ok(Decision::plain(alloc, range, requested, Bytes(plain.taken())))
    }

    /// Other programs hold so much of a device, whatever they held before.
    pub(super) fn hold_by_others(&mut self, device: DeviceId, size: u64) -> Result<(), Failure> {
        let before = self.devices[device].others;
        if size > self.room_on(device) + before {
            return Err(Failure::OutOfMemory);
        }
        let of_digest = |size| mix(&[8, device.index() as u64, size]);
        let digest = self.outside.digest.wrapping_sub(of_digest(before));
        self.outside.digest = digest.wrapping_add(of_digest(size));
        let device = &mut self.devices[device];
        device.outside = device.outside - before + size;
        device.others = size;
        Ok(())
    }

    /// An allocation outside of pools is live no more; with an operation its memory goes back when that is complete.
    pub(super) fn leave(&mut self, plain: Plain, alloc: AllocId, at: Option<Ticket>) {
        self.outside.digest = self.outside.digest.wrapping_sub(trace_of(&plain, alloc));
        match at {
            Some(at) => self.outside.leaving.push((at, plain)),
            None => self.give_back(&plain),
        }
    }

    /// All of a device is live no more.
    pub(super) fn leave_all(&mut self, seen_as: DeviceId, freed: &mut Vec<AllocId>) {
        for slot in 0..self.live.len() {
            let super::Live { serial, owner } = self.live[slot];
            let alloc = AllocId { slot: slot as u32, serial };
            if let super::Owner::Outside(plain) = owner
                && plain.seen_as == seen_as
                && self.remove(alloc).is_ok()
            {
                self.leave(plain, alloc, None);
                freed.push(alloc);
            }
        }
    }

    fn give_back(&mut self, plain: &Plain) {
        self.addresses.give_back(plain.start, plain.size);
        self.devices[plain.device].outside -= plain.taken();
        self.outside.managed -= plain.size - plain.taken();
    }

    pub(super) fn has_leaving(&self) -> bool {
        !self.outside.leaving.is_empty()
    }

    pub(super) fn take_completions(&mut self, done: &Cut, returned: &mut Vec<(Ticket, DeviceId, Bytes)>) {
        let mut leaving = std::mem::take(&mut self.outside.leaving);
        leaving.retain(|(at, plain)| {
            let stays = !at.within(done);
            if !stays {
                self.give_back(plain);
                returned.push((*at, plain.device, Bytes(plain.taken())));
                self.outside.returned.push((*at, plain.device, plain.taken()));
            }
            stays
        });
        self.outside.leaving = leaving;
        let forgotten = self.outside.returned.len().saturating_sub(RETURNED_MAX);
        self.outside.returned.drain(..forgotten);
    }

    pub(super) fn device_state(&self, id: DeviceId, done: &Cut) -> DeviceState {
        let device = self.devices[id];
        let returning = self.outside.returning(id, done);
        let leaving: u64 = self.outside.of(id).map(|(_, plain)| plain.taken()).sum();
        DeviceState {
            memory: Bytes(device.memory),
            pools: Bytes(device.reserved),
            outside: Bytes(device.outside - returning),
            leaving: Bytes(leaving - returning),
        }
    }
}
