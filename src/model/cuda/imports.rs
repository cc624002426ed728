//! Memory of other processes: imported pools, and what is imported to them.
//!
//! An import has addresses of its own. It counts in the figures of its pool with the bytes of the block that it stands for, and
//! takes nothing of a device. Freeing it touches only the import (CUDA Programming Guide 4.3.3.4.5).

use super::{Cuda, Owner};
use crate::base::{Bytes, PoolId, mix};
use crate::trace::{AllocId, Decision, Failure, Range, Ticket};

/// An allocation of another process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Import {
    /// The imported pool.
    pub(super) pool: PoolId,
    /// The allocation itself.
    of: AllocId,
    start: u64,
    size: u64,
    requested: u64,
    /// The operation that allocated it.
    pub(super) allocated: Ticket,
}

impl Import {
    fn digest(&self) -> u128 {
        mix(&[7, self.start, self.size, self.requested, u64::from(self.of.serial)])
    }
}

impl Cuda {
    pub(super) fn place_import(&mut self, alloc: AllocId, pool: PoolId) -> Result<Decision, Failure> {
        let Some(Owner::Pool(owner, tile, allocated)) = self.owner(alloc) else {
            return Err(Failure::InvalidValue);
        };
        let (size, requested) = self.pools[owner].sizes(tile);
        let start = self.addresses.take(size).ok_or(Failure::OutOfMemory)?;
        let import = Import { pool, of: alloc, start, size, requested, allocated };
        self.pools[pool].import(size, requested, import.digest());
        let id = self.next_id();
        self.enter(id, Owner::Import(import));
        self.check(pool);
        let range = Range { start, size: Bytes(size) };
        Ok(Decision::plain(id, range, Bytes(requested), Bytes::ZERO))
    }

    /// An import is live no more, and where the driver does not count them, nor are the others of the same memory.
    pub(super) fn end_import(&mut self, import: Import) {
        self.forget_import(import);
        if !self.rules.first_free_ends_imports {
            return;
        }
        for slot in 0..self.live.len() {
            let live = &mut self.live[slot];
            if let Owner::Import(other) = live.owner
                && live.serial != 0
                && (other.pool, other.of) == (import.pool, import.of)
            {
                live.serial = 0;
                self.vacant.push(slot as u32);
                self.forget_import(other);
            }
        }
    }

    fn forget_import(&mut self, import: Import) {
        self.addresses.give_back(import.start, import.size);
        self.pools[import.pool].end_import(import.size, import.requested, import.digest());
        self.check(import.pool);
    }
}
