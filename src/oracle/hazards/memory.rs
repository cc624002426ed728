//! Memory as a program knows it: each allocation with the bytes that were touched, by whom and how, whatever its address is.
//!
//! Of what one stream or host thread did to a byte, the latest read and the latest write say everything: what is after these is
//! after the others. What is before a later write, whatever the timing is, is let go of. So a range keeps no more than two
//! touches a stream. It must not know what is right or wrong.

use super::blocks::Block;
use super::clocks::{Clock, Mark, Stands};
use crate::base::{BufferId, DeviceId, HostBufferId, IndexVec, PoolId, StmtId};
use crate::trace::{Access, AllocId, Range};
use smallvec::{SmallVec, smallvec};

/// That memory was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub(super) mark: Mark,
    pub(super) stmt: StmtId,
    pub(super) writes: bool,
    /// Whether by another process, which has imported the memory.
    pub(super) is_imported: bool,
}

/// Bytes that were touched alike.
#[derive(Clone, Debug)]
struct Segment {
    /// The byte after the last one.
    end: u64,
    touches: SmallVec<[Touch; 2]>,
    is_written: bool,
}

/// The bytes of an allocation, or of a buffer of the host.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    segments: SmallVec<[Segment; 1]>,
}

impl Extent {
    pub(super) fn new(size: u64, is_written: bool) -> Self {
        Self { segments: smallvec![Segment { end: size, touches: SmallVec::new(), is_written }] }
    }

    /// Bytes are touched by what has this clock; `meets` is told of each touch that conflicts with it, and how the two stand.
    /// Says whether bytes are read that nothing has written.
    pub(super) fn touch(
        &mut self,
        (from, to): (u64, u64),
        access: Access,
        touch: Touch,
        clock: &Clock,
        mut meets: impl FnMut(Touch, Stands),
    ) -> bool {
        let mut is_unwritten = false;
        let first = self.split(from);
        let last = if from < to { self.split(to) } else { first };
        for segment in &mut self.segments[first..last] {
            is_unwritten |= access == Access::Read && !segment.is_written;
            segment.is_written |= touch.writes;
            segment.touches.retain(|known| {
                let stands = if known.mark.agent == touch.mark.agent {
                    Stands::Before
                } else {
                    clock.stands(known.mark)
                };
                if stands != Stands::Before && (known.writes || touch.writes) {
                    meets(*known, stands);
                }
                // What comes after this one comes after that one too, and meets this one where it would meet that one.
                stands != Stands::Before || known.writes && !touch.writes
            });
            segment.touches.push(touch);
        }
        is_unwritten
    }

    /// All of it was touched last, and in no other way that is kept, by the stream or the host thread that touches it now: then that
    /// is all there is to keep. Says whether it is so.
    pub(super) fn touch_again(&mut self, (from, to): (u64, u64), touch: Touch) -> bool {
        let [Segment { end, touches, is_written: true }] = self.segments.as_mut_slice() else { return false };
        let [known] = touches.as_mut_slice() else { return false };
        let is_so = (from, to) == (0, *end)
            && known.mark.agent == touch.mark.agent
            && (touch.writes || !known.writes);
        if is_so {
            *known = touch;
        }
        is_so
    }

    /// Everything that touched it, as far as it is kept.
    pub(super) fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.segments.iter().flat_map(|segment| &segment.touches)
    }

    /// The number of the segment that begins at this byte.
    fn split(&mut self, at: u64) -> usize {
        let nth = self.segments.partition_point(|segment| segment.end <= at);
        let start = nth.checked_sub(1).map_or(0, |before| self.segments[before].end);
        if start == at || nth == self.segments.len() {
            return nth;
        }
        let before = Segment { end: at, ..self.segments[nth].clone() };
        self.segments.insert(nth, before);
        nth + 1
    }
}

/// An allocation that lives, or whose name still stands for it.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) id: AllocId,
    pub(super) allocated: (Mark, StmtId),
    pub(super) name: Option<BufferId>,
    pub(super) range: Range,
    pub(super) pool: Option<PoolId>,
    /// The device whose memory it is outside of pools.
    pub(super) outside: Option<DeviceId>,
    pub(super) extent: Extent,
    pub(super) freed: Option<Free>,
    /// The allocation of another process that it is.
    pub(super) of: Option<AllocId>,
    /// Whether the exporter's free will ask for it.
    pub(super) is_awaited: bool,
    /// What other processes have imported it as.
    pub(super) imports: SmallVec<[AllocId; 1]>,
    /// The allocation that has got some of its bytes since it was freed.
    pub(super) taken: Option<AllocId>,
    /// Where a graph frees it that is being built.
    pub(super) freed_in_graph: Option<StmtId>,
    /// What is left of its bytes since its free, as long as no host has observed that.
    pub(super) block: Option<Block>,
    /// Touches that may come after its free.
    pub(super) astray: SmallVec<[Touch; 1]>,
    /// Whether it is a node of a graph that was not launched.
    pub(super) is_planned: bool,
    /// The one that had the same place in the allocator's table before.
    before: Option<u32>,
    is_forgotten: bool,
}

/// A free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Free {
    pub(super) mark: Mark,
    pub(super) stmt: StmtId,
    /// The call.
    pub(super) call: Mark,
}

impl Record {
    pub(super) fn new(id: AllocId, allocated: (Mark, StmtId), range: Range, pool: Option<PoolId>) -> Self {
        Self {
            id,
            allocated,
            name: None,
            range,
            pool,
            outside: None,
            extent: Extent::new(range.size.0, false),
            freed: None,
            of: None,
            is_awaited: false,
            imports: SmallVec::new(),
            taken: None,
            freed_in_graph: None,
            block: None,
            astray: SmallVec::new(),
            is_planned: false,
            before: None,
            is_forgotten: false,
        }
    }
}

/// All memory that a program can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    records: Vec<Record>,
    /// Places in `records` that are free.
    vacant: Vec<u32>,
    /// By the place in the allocator's table, the record of what has had it last.
    slots: Vec<Option<u32>>,
    names: Vec<Option<AllocId>>,
    /// Whether nothing is let go of, since views may still stand for what no name does.
    keeps_all: bool,
    pub(super) host: IndexVec<HostBufferId, (BufferId, Extent)>,
}

impl Memory {
    /// Memory with these buffers of the host.
    pub(super) fn new(host: IndexVec<HostBufferId, (BufferId, Extent)>, keeps_all: bool) -> Self {
        Self { host, keeps_all, ..Self::default() }
    }

    /// The place of an allocation in `slots`. Some models tell two kinds of memory apart by the highest bit.
    fn slot(id: AllocId) -> usize {
        id.slot.rotate_left(1) as usize
    }

    /// Where the record of an allocation is. Those that had the same place in the allocator's table are chained.
    fn place(&self, id: AllocId) -> Option<usize> {
        let mut at = *self.slots.get(Self::slot(id))?;
        while let Some(place) = at {
            let record = &self.records[place as usize];
            if record.id == id {
                return Some(place as usize);
            }
            at = record.before;
        }
        None
    }

    /// An allocation, if it lives or is still named.
    pub(super) fn get(&self, id: AllocId) -> Option<&Record> {
        self.place(id).map(|place| &self.records[place])
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, id: AllocId) -> Option<&mut Record> {
        self.place(id).map(|place| &mut self.records[place])
    }

    /// An allocation begins to live.
    pub(super) fn insert(&mut self, record: Record) {
        let (id, slot) = (record.id, Self::slot(record.id));
        if let Some(place) = self.place(id) {
            let before = self.records[place].before;
            self.records[place] = Record { before, ..record };
            return;
        }
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        let old = self.slots[slot];
        let place = match self.vacant.pop() {
            Some(place) => {
                self.records[place as usize] = Record { before: old, ..record };
                place
            }
            None => {
                self.records.push(Record { before: old, ..record });
                (self.records.len() - 1) as u32
            }
        };
        self.slots[slot] = Some(place);
        if let Some(old) = old.map(|old| self.records[old as usize].id) {
            self.release_unnamed(old);
        }
    }

    /// The exporter's free will not ask for an allocation any more, nor for what it was imported as.
    pub(super) fn release(&mut self, id: AllocId) {
        if let Some(record) = self.get_mut(id) {
            record.is_awaited = false;
            self.release_unnamed(id);
        }
    }

    /// Lets go of an allocation that nothing asks for any more.
    pub(super) fn release_unnamed(&mut self, id: AllocId) {
        let Some(record) = self.get(id) else { return };
        let is_named = record.name.is_some_and(|name| self.names[name.index()] == Some(id));
        if !is_named {
            self.forget(id);
        }
    }

    /// A name stands for an allocation from now on.
    pub(super) fn name(&mut self, id: AllocId, name: BufferId) {
        if let Some(record) = self.get_mut(id) {
            record.name = Some(name);
        }
        if self.names.len() <= name.index() {
            self.names.resize(name.index() + 1, None);
        }
        if let Some(old) = self.names[name.index()].replace(id).filter(|old| *old != id) {
            self.forget(old);
        }
    }

    /// Lets go of an allocation that no name stands for, if it is freed, no other process has it and its bytes are accounted for.
    fn forget(&mut self, id: AllocId) {
        let Some(place) = self.place(id).filter(|_| !self.keeps_all) else { return };
        let record = &self.records[place];
        if record.freed.is_none() || record.is_awaited || record.block.is_some() || !record.imports.is_empty()
        {
            return;
        }
        let before = record.before;
        let mut at = self.slots[Self::slot(id)];
        match at {
            Some(first) if first as usize == place => self.slots[Self::slot(id)] = before,
            _ => {
                while let Some(other) = at {
                    let other = &mut self.records[other as usize];
                    at = other.before;
                    if at == Some(place as u32) {
                        other.before = before;
                        break;
                    }
                }
            }
        }
        self.records[place].is_forgotten = true;
        self.vacant.push(place as u32);
    }

    /// Everything that lives or is still named, in an order that every run has.
    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| !record.is_forgotten)
    }
}
