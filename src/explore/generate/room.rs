//! How much memory a made-up scenario may hold at most, whatever is reused and whenever: so no allocation of it can fail.
//!
//! A pool that has seen all its frees complete and is trimmed keeps the chunks that a live buffer lies in, of which it may begin in
//! one and end in another. Each allocation since then may have made it grow.
//!
//! Rules: CUDA Programming Guide 4.3.4.2; CUDA driver API, `cuMemPoolTrimTo`, `CUmemPoolProps::maxSize`.

use super::program::{Buffer, Home, Pool};

/// In such chunks pools grow, by the default profile.
const CHUNK: u64 = 32 << 20;

/// What is held at most.
#[derive(Clone, Debug)]
pub(super) struct Room {
    /// For each pool, and last for memory outside of pools.
    parts: Vec<Part>,
    /// What all may hold.
    most: u64,
}

#[derive(Clone, Copy, Debug)]
struct Part {
    held: u64,
    /// What live buffers keep.
    kept: u64,
    most: u64,
}

/// What a buffer may keep a pool from giving back.
pub(super) fn kept(size: u64) -> u64 {
    (size.div_ceil(CHUNK) + 1) * CHUNK
}

impl Room {
    /// That of a device with this memory, of which no more than half is counted on.
    pub(super) fn new(memory: u64, pools: &[Pool]) -> Self {
        let most = memory / 2;
        let part = |most| Part { held: 0, kept: 0, most };
        let parts = pools.iter().map(|pool| part(pool.max_size.unwrap_or(most))).chain([part(most)]);
        Self { parts: parts.collect(), most }
    }

    fn part(&self, home: Home) -> Option<usize> {
        match home {
            Home::Pool(pool) => Some(pool),
            Home::Outside => Some(self.parts.len() - 1),
            Home::Managed | Home::Pinned => None,
        }
    }

    /// Whether there is room for a buffer that is allocated so many times, one after the other.
    pub(super) fn has(&self, buffer: Buffer, times: u64) -> bool {
        let Some(part) = self.part(buffer.home) else { return true };
        let all: u64 = self.parts.iter().map(|part| part.held).sum();
        let part = self.parts[part];
        let growth = kept(buffer.size) * times;
        part.held + growth <= part.most && all + growth <= self.most
    }

    pub(super) fn take(&mut self, buffer: Buffer) {
        self.grow(buffer, 1);
        if let Some(part) = self.part(buffer.home) {
            self.parts[part].kept += kept(buffer.size);
        }
    }

    /// What the further allocations of a loop may add, each of which is freed in its turn.
    pub(super) fn grow(&mut self, buffer: Buffer, times: u64) {
        if let Some(part) = self.part(buffer.home) {
            self.parts[part].held += kept(buffer.size) * times;
        }
    }

    pub(super) fn give(&mut self, buffer: Buffer) {
        if let Some(part) = self.part(buffer.home) {
            self.parts[part].kept -= kept(buffer.size);
        }
    }

    /// Everything that was freed is back.
    pub(super) fn drained(&mut self) {
        self.parts.iter_mut().for_each(|part| part.held = part.kept);
    }
}
