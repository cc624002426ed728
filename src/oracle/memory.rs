//! Memory as a program knows it: each allocation with the bytes that were touched, by whom and how, whatever its address is.
//!
//! Of what one stream or host thread did to a byte, the latest read and the latest write say everything: what is after these is
//! after the others. What is before a later write, whatever the timing is, is let go of. So a range keeps no more than two
//! touches a stream. It must not know what is right or wrong.

use super::clocks::{Clock, Mark, Stands};
use crate::base::{BufferId, DeviceId, HostBufferId, IndexVec, PoolId, StmtId};
use crate::trace::{Access, AllocId, Range};
use smallvec::{SmallVec, smallvec};
use std::collections::BTreeMap;

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
    /// What other processes have imported it as.
    pub(super) imports: SmallVec<[AllocId; 1]>,
    /// The allocation that has got some of its bytes since it was freed.
    pub(super) taken: Option<AllocId>,
    /// Where a graph frees it that is being built.
    pub(super) freed_in_graph: Option<StmtId>,
    /// Touches that may come after its free.
    pub(super) astray: SmallVec<[Touch; 1]>,
    /// Whether it is a node of a graph that was not launched.
    pub(super) is_planned: bool,
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
            imports: SmallVec::new(),
            taken: None,
            freed_in_graph: None,
            astray: SmallVec::new(),
            is_planned: false,
        }
    }
}

/// All memory that a program can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    /// By the place in the allocator's table.
    records: Vec<Option<Record>>,
    /// Those whose place was given again, and whose name still stands for them.
    gone: BTreeMap<AllocId, Record>,
    names: Vec<Option<AllocId>>,
    pub(super) host: IndexVec<HostBufferId, (BufferId, Extent)>,
}

impl Memory {
    /// Memory with these buffers of the host.
    pub(super) fn new(host: IndexVec<HostBufferId, (BufferId, Extent)>) -> Self {
        Self { host, ..Self::default() }
    }

    /// An allocation, if it lives or is still named.
    pub(super) fn get(&self, id: AllocId) -> Option<&Record> {
        match self.records.get(id.slot as usize) {
            Some(Some(record)) if record.id == id => Some(record),
            _ => self.gone.get(&id),
        }
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, id: AllocId) -> Option<&mut Record> {
        match self.records.get_mut(id.slot as usize) {
            Some(Some(record)) if record.id == id => Some(record),
            _ => self.gone.get_mut(&id),
        }
    }

    /// An allocation begins to live.
    pub(super) fn insert(&mut self, record: Record) {
        let slot = record.id.slot as usize;
        if self.records.len() <= slot {
            self.records.resize_with(slot + 1, || None);
        }
        let id = record.id;
        let Some(old) = self.records[slot].replace(record).filter(|old| old.id != id) else { return };
        let is_named = old.name.is_some_and(|name| self.names[name.index()] == Some(old.id));
        if is_named || old.freed.is_none() || !old.imports.is_empty() {
            self.gone.insert(old.id, old);
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
        let Some(old) = self.names[name.index()].replace(id).filter(|old| *old != id) else { return };
        if self.gone.get(&old).is_some_and(|record| record.freed.is_some() && record.imports.is_empty()) {
            self.gone.remove(&old);
        }
    }

    /// What an allocation is called.
    pub(super) fn name_of(&self, id: AllocId) -> Option<BufferId> {
        self.get(id).and_then(|record| record.name)
    }

    /// Everything that lives or is still named, in an order that every run has.
    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().flatten().chain(self.gone.values())
    }
}
