//! The memory of a run: where allocations are, whose bytes they had before, and what the words that kernels stamp should hold.
//!
//! What a kernel finds in a word is compared with what the last writer that is ordered before it has put there. It must not know the
//! driver.

use crate::base::{Bytes, DeviceId, HostBufferId, PoolId, StmtId};
use crate::trace::{Access, AllocId, Cut, Decision, Memory as Named, Part, Range, Ticket, Use};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// An allocation that was not freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    pub(super) range: Range,
    pub(super) requested: Bytes,
    /// The pool; `None`: outside of pools.
    pub(super) pool: Option<PoolId>,
    /// The device that alone reaches it, of memory outside of pools.
    pub(super) device: Option<DeviceId>,
    /// Where the memory itself is, of which an import is another name.
    origin: u64,
}

/// Bytes that an allocation had, and nobody has got since.
#[derive(Clone, Copy, Debug)]
struct Freed {
    end: u64,
    alloc: AllocId,
}

/// What a word holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) pattern: u64,
    /// Who has put it there.
    pub(super) by: StmtId,
    /// When.
    pub(super) at: Ticket,
}

/// A word that a kernel looks at or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    /// Where the device finds it.
    pub(super) address: u64,
    /// Where it is, whatever it is called.
    pub(super) origin: u64,
    /// What it should hold before, where that is known.
    pub(super) holds: Option<Stamp>,
    pub(super) writes: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Memory {
    live: BTreeMap<AllocId, Live>,
    /// Where allocations were that are freed, for programs that go on with them.
    gone: BTreeMap<AllocId, Live>,
    freed: BTreeMap<u64, Freed>,
    /// What has been written to a word, by those that are not ordered before one another, in the order of submission.
    stamps: BTreeMap<u64, Vec<Stamp>>,
    hosts: BTreeMap<HostBufferId, u64>,
    serial: u32,
}

/// Of the bytes of a use so many words are looked at: the first, the last, and some between.
const WORDS: u64 = 4;

/// Allocations start at a multiple of so many bytes, and take as many of them as they need.
const ALIGNMENT: Bytes = Bytes(512);

impl Memory {
    /// A buffer of the host is at this address.
    pub(super) fn is_at(&mut self, host: HostBufferId, address: u64) {
        self.hosts.insert(host, address);
    }

    /// A new allocation. Of a pool, it says whose bytes it has got.
    pub(super) fn place(
        &mut self,
        address: u64,
        requested: Bytes,
        pool: Option<PoolId>,
        device: Option<DeviceId>,
    ) -> Decision {
        self.serial += 1;
        let alloc = AllocId { slot: self.serial, serial: self.serial };
        let size = requested.checked_round_up(ALIGNMENT).unwrap_or(requested);
        let range = Range { start: address, size };
        self.forget_stamps(range);
        let takes = self.take(range);
        self.live.insert(alloc, Live { range, requested, pool, device, origin: address });
        let decision = Decision::plain(alloc, range, requested, Bytes::ZERO);
        match pool {
            None => decision,
            Some(_) => Decision { reuses: takes.first().map(|part| part.alloc), takes, ..decision },
        }
    }

    /// The memory of another allocation under another name, which has nobody's bytes but its own.
    pub(super) fn import(&mut self, address: u64, requested: Bytes, pool: PoolId, origin: u64) -> Decision {
        self.serial += 1;
        let alloc = AllocId { slot: self.serial, serial: self.serial };
        let size = requested.checked_round_up(ALIGNMENT).unwrap_or(requested);
        let range = Range { start: address, size };
        self.live.insert(alloc, Live { range, requested, pool: Some(pool), device: None, origin });
        Decision::plain(alloc, range, requested, Bytes::ZERO)
    }

    /// Whose bytes these were; they are nobody's any more.
    fn take(&mut self, range: Range) -> SmallVec<[Part; 2]> {
        let before = self.freed.range(..range.start).next_back().map(|(start, freed)| (*start, *freed));
        let inside = self.freed.range(range.start..range.end()).map(|(start, freed)| (*start, *freed));
        let found: Vec<(u64, Freed)> =
            before.filter(|(_, freed)| freed.end > range.start).into_iter().chain(inside).collect();
        let mut takes = SmallVec::new();
        for (start, Freed { end, alloc }) in found {
            self.freed.remove(&start);
            if start < range.start {
                self.freed.insert(start, Freed { end: range.start, alloc });
            }
            if end > range.end() {
                self.freed.insert(range.end(), Freed { end, alloc });
            }
            takes.push(Part { alloc, size: Bytes(end.min(range.end()) - start.max(range.start)) });
        }
        takes
    }

    /// Where an allocation is or was.
    pub(super) fn of(&self, alloc: AllocId) -> Option<Live> {
        self.live.get(&alloc).or_else(|| self.gone.get(&alloc)).copied()
    }

    /// The driver has taken an allocation back.
    pub(super) fn free(&mut self, alloc: AllocId) {
        let Some(live) = self.live.remove(&alloc) else { return };
        self.gone.insert(alloc, live);
        if live.pool.is_some() && live.range.size > Bytes::ZERO {
            // Another import of the same memory may have been freed before.
            self.take(live.range);
            self.freed.insert(live.range.start, Freed { end: live.range.end(), alloc });
        }
    }

    /// The address of a use; `None`: of memory that was never allocated.
    pub(super) fn address(&self, touched: &Use) -> Option<u64> {
        let start = match touched.memory {
            Named::Pinned(buffer) | Named::Pageable(buffer) => *self.hosts.get(&buffer)?,
            memory => self.of(memory.alloc()?)?.range.start,
        };
        start.checked_add(touched.from.0)
    }

    /// Where the bytes of a use are, whatever they are called.
    fn origin(&self, touched: &Use) -> Option<u64> {
        let start = match touched.memory {
            Named::Pinned(buffer) | Named::Pageable(buffer) => *self.hosts.get(&buffer)?,
            memory => self.of(memory.alloc()?)?.origin,
        };
        start.checked_add(touched.from.0)
    }

    /// The words that stand for the bytes of a use by a device, with what they should hold to an operation after all this;
    /// `None`: it is not known what that is after.
    pub(super) fn words(&self, touched: &Use, before: Option<&Cut>) -> Vec<Word> {
        let (Some(start), Some(origin)) = (self.address(touched), self.origin(touched)) else {
            return Vec::new();
        };
        let first = start.next_multiple_of(8);
        let last = (start + touched.size.0).checked_sub(8).map(|last| last & !7);
        let Some(last) = last.filter(|last| first <= *last) else { return Vec::new() };
        let step = ((last - first) / (WORDS - 1)) & !7;
        let mut addresses: Vec<u64> = (0..WORDS - 1).map(|nth| first + nth * step).chain([last]).collect();
        addresses.dedup();
        let writes = touched.access != Access::Read;
        // What is only written need not hold anything before, but what it does hold shows an overlap as well.
        let word = |address| {
            let origin = origin + (address - start);
            Word { address, origin, holds: self.holds(origin, before), writes }
        };
        addresses.into_iter().map(word).collect()
    }

    /// What the last writer has put into a word that is within a cut. Of two that are not ordered, nobody knows who was last.
    fn holds(&self, origin: u64, before: Option<&Cut>) -> Option<Stamp> {
        let (stamps, before) = (self.stamps.get(&origin)?, before?);
        let mut within = stamps.iter().filter(|stamp| stamp.at.within(before));
        within.next().filter(|_| within.next().is_none()).copied()
    }

    /// A word is written by an operation that is after all this.
    pub(super) fn stamp(&mut self, origin: u64, stamp: Stamp, before: Option<&Cut>) {
        let stamps = self.stamps.entry(origin).or_default();
        if let Some(before) = before {
            stamps.retain(|earlier| !earlier.at.within(before));
        }
        stamps.push(stamp);
    }

    fn forget_stamps(&mut self, range: Range) {
        // The first word may begin before.
        let inside = self.stamps.range(range.start & !7..range.end()).map(|(address, _)| *address);
        for address in inside.collect::<Vec<_>>() {
            self.stamps.remove(&address);
        }
    }

    /// These bytes hold something else from now on, that is not known.
    pub(super) fn overwritten(&mut self, touched: &Use) {
        if let Some(start) = self.origin(touched) {
            self.forget_stamps(Range { start, size: touched.size });
        }
    }

    /// These bytes hold what those held, to an operation that is after all this.
    pub(super) fn copied(&mut self, to: &Use, from: &Use, at: Ticket, before: Option<&Cut>) {
        let (Some(target), Some(source)) = (self.origin(to), self.origin(from)) else { return };
        let end = source.saturating_add(from.size.0).saturating_sub(7);
        let words: Vec<u64> = self.stamps.range(source..end.max(source)).map(|(word, _)| *word).collect();
        let held = words.iter().filter_map(|word| Some((*word, self.holds(*word, before)?)));
        let held: Vec<(u64, Stamp)> = held.collect();
        self.overwritten(to);
        for (word, stamp) in held {
            let moved = target + (word - source);
            if moved.is_multiple_of(8) {
                self.stamps.insert(moved, vec![Stamp { at, ..stamp }]);
            }
        }
    }

    /// What is not freed, for the end of the run; imports come before what they are of.
    pub(super) fn take_live(&mut self) -> Vec<Live> {
        std::mem::take(&mut self.live).into_values().rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StreamId;

    const MIB: u64 = 1 << 20;

    fn pool() -> Option<PoolId> {
        Some(PoolId::new(0))
    }

    fn touch(alloc: AllocId, from: u64, size: u64, access: Access) -> Use {
        Use { memory: Named::Device(alloc), from: Bytes(from), size: Bytes(size), access }
    }

    #[test]
    fn whose_bytes_an_allocation_has_is_known_by_address() {
        let mut memory = Memory::default();
        let x = memory.place(MIB, Bytes(1000), pool(), None);
        assert_eq!((x.range.size, x.reuses), (Bytes(1024), None));
        memory.free(x.alloc);
        let y = memory.place(MIB + 512, Bytes(2048), pool(), None);
        assert_eq!(y.takes.as_slice(), [Part { alloc: x.alloc, size: Bytes(512) }]);
        memory.free(y.alloc);
        let z = memory.place(MIB, Bytes(4096), pool(), None);
        let parts = [(x.alloc, 512), (y.alloc, 2048)].map(|(alloc, size)| Part { alloc, size: Bytes(size) });
        assert_eq!((z.reuses, z.takes.as_slice()), (Some(x.alloc), &parts[..]));
        assert_eq!(memory.place(MIB, Bytes(8), None, None).takes.len(), 0);
    }

    const FIRST: Ticket = Ticket { stream: StreamId::from_raw_unchecked(0), seq: 1 };
    const OTHER: Ticket = Ticket { stream: StreamId::from_raw_unchecked(1), seq: 1 };

    fn stamp(pattern: u64, at: Ticket) -> Stamp {
        Stamp { pattern, by: StmtId::new(3), at }
    }

    #[test]
    fn words_hold_what_was_written_last() {
        let mut memory = Memory::default();
        let x = memory.place(MIB, Bytes(4096), pool(), None).alloc;
        let whole = touch(x, 0, 4096, Access::Write);
        let words = memory.words(&whole, None);
        assert_eq!(words.iter().map(|word| word.address - MIB).collect::<Vec<_>>(), [0, 1360, 2720, 4088]);
        words.iter().for_each(|word| memory.stamp(word.origin, stamp(7, FIRST), None));
        let after: Option<&Cut> = Some(&[1, 0]);
        let holds = |memory: &Memory, touched: &Use, before: Option<&Cut>| {
            let mut held =
                memory.words(touched, before).into_iter().map(|word| word.holds.map(|stamp| stamp.pattern));
            let first = held.next().flatten();
            assert!(held.all(|other| other == first));
            first
        };
        assert_eq!(holds(&memory, &whole, after), Some(7));
        assert_eq!((holds(&memory, &whole, Some(&[0, 0])), holds(&memory, &whole, None)), (None, None));
        // Another writer that is not ordered: who comes after the first one only, should find that one's.
        words.iter().for_each(|word| memory.stamp(word.origin, stamp(8, OTHER), Some(&[0, 0])));
        assert_eq!(
            [Some(&[1, 0][..]), Some(&[1, 1][..])].map(|before| holds(&memory, &whole, before)),
            [Some(7), None]
        );
        // A part has words of its own, of which nothing is known.
        assert_eq!(holds(&memory, &touch(x, 8, 24, Access::Read), after), None);
        // A copy takes along what it copies, and what it overwrites is gone.
        let y = memory.place(2 * MIB, Bytes(4096), pool(), None).alloc;
        let copied = touch(y, 0, 4096, Access::Read);
        memory.copied(&copied, &whole, FIRST, after);
        assert_eq!(holds(&memory, &copied, after), Some(7));
        memory.overwritten(&touch(y, 4, 4092, Access::Write));
        assert_eq!(holds(&memory, &copied, after), None);
        // An import is another name for the same words.
        let again = memory.import(4 * MIB, Bytes(4096), PoolId::new(1), MIB).alloc;
        assert_eq!(holds(&memory, &touch(again, 0, 4096, Access::Read), after), Some(7));
        // What lies in a new allocation is not known.
        memory.free(x);
        let z = memory.place(MIB, Bytes(4096), pool(), None).alloc;
        assert_eq!(holds(&memory, &touch(z, 0, 4096, Access::Read), after), None);
    }

    #[test]
    fn a_use_of_few_bytes_has_few_words() {
        let mut memory = Memory::default();
        let x = memory.place(MIB, Bytes(64), pool(), None).alloc;
        let words = |from, size| memory.words(&touch(x, from, size, Access::Read), None).len();
        assert_eq!([words(0, 7), words(1, 8), words(0, 8), words(0, 16), words(3, 13)], [0, 0, 1, 2, 1]);
    }
}
