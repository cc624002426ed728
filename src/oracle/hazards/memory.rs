//! Memory as a program knows it: each allocation with the bytes that were touched, by whom and how, whatever its address is.
//!
//! Of what one stream or host thread did to a byte, the latest read and the latest write say everything: what is after these is
//! after the others. What is before a later write, whatever the timing is, is let go of. So a range keeps no more than two
//! touches a stream. It must not know what is right or wrong.

use super::blocks::Block;
use super::clock::{Clock, Mark, Stands};
use crate::base::{BufferId, DeviceId, HostBufferId, IndexVec, PoolId, StmtId};
use crate::trace::{Access, AllocId, Range};
use smallvec::SmallVec;

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

/// The bytes of an allocation, or of a buffer of the host. Most are touched as a whole.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    first: Segment,
    rest: Vec<Segment>,
}

impl Extent {
    pub(super) fn new(size: u64, is_written: bool) -> Self {
        Self { first: Segment { end: size, touches: SmallVec::new(), is_written }, rest: Vec::new() }
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
        for segment in self.segments_mut().skip(first).take(last - first) {
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

    /// All of it is touched by the stream or the host thread that alone has touched it so far: then this is all there is to keep,
    /// and nothing can be wrong with it. Says whether it is so.
    pub(super) fn touch_again(&mut self, (from, to): (u64, u64), touch: Touch) -> bool {
        let Segment { end, touches, is_written } = &mut self.first;
        if (from, to) != (0, *end) || !self.rest.is_empty() {
            return false;
        }
        match touches.as_mut_slice() {
            [] if touch.writes => {
                touches.push(touch);
                *is_written = true;
                true
            }
            [known]
                if known.mark.agent == touch.mark.agent && (touch.writes || *is_written && !known.writes) =>
            {
                *known = touch;
                *is_written |= touch.writes;
                true
            }
            _ => false,
        }
    }

    /// The bytes of another allocation, which nothing has touched.
    fn renew(&mut self, size: u64) {
        let Segment { end, touches, is_written } = &mut self.first;
        (*end, *is_written) = (size, false);
        touches.clear();
        self.rest.clear();
    }

    /// Everything that touched it, as far as it is kept.
    pub(super) fn touches(&self) -> impl Iterator<Item = &Touch> {
        let rest = self.rest.iter().flat_map(|segment| &segment.touches);
        self.first.touches.iter().chain(rest)
    }

    fn segments_mut(&mut self) -> impl Iterator<Item = &mut Segment> {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }

    fn segment_mut(&mut self, nth: usize) -> &mut Segment {
        match nth.checked_sub(1) {
            None => &mut self.first,
            Some(nth) => &mut self.rest[nth],
        }
    }

    /// The number of the segment that begins at this byte.
    fn split(&mut self, at: u64) -> usize {
        let nth = match self.first.end <= at {
            true => 1 + self.rest.partition_point(|segment| segment.end <= at),
            false => 0,
        };
        let start = nth.checked_sub(1).map_or(0, |before| self.segment_mut(before).end);
        if start == at || nth > self.rest.len() {
            return nth;
        }
        let segment = self.segment_mut(nth);
        let after = segment.clone();
        segment.end = at;
        self.rest.insert(nth, after);
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
    pub(super) extent: Extent,
    pub(super) freed: Option<Free>,
    /// The allocation that has got some of its bytes since it was freed.
    pub(super) taken: Option<AllocId>,
    /// What is left of its bytes since its free, as long as no host has observed that.
    pub(super) block: Option<Block>,
    /// Touches that may come after its free.
    pub(super) astray: SmallVec<[Touch; 1]>,
    extras: Option<Box<Extras>>,
    /// The one that had the same place in the allocator's table before.
    before: Option<u32>,
    is_forgotten: bool,
}

/// What few allocations have: those outside of pools, of graphs, and shared between processes.
#[derive(Clone, Debug, Default)]
pub(super) struct Extras {
    /// The device whose memory it is outside of pools.
    pub(super) outside: Option<DeviceId>,
    /// The allocation of another process that it is.
    pub(super) of: Option<AllocId>,
    /// Whether the exporter's free will ask for it.
    pub(super) is_awaited: bool,
    /// What other processes have imported it as.
    pub(super) imports: SmallVec<[AllocId; 1]>,
    /// Where a graph frees it that is being built.
    pub(super) freed_in_graph: Option<StmtId>,
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

/// How an allocation begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Birth {
    pub(super) id: AllocId,
    /// By which operation or call, of which statement.
    pub(super) by: (Mark, StmtId),
    pub(super) range: Range,
    pub(super) pool: Option<PoolId>,
}

impl Record {
    fn new(Birth { id, by, range, pool }: Birth) -> Self {
        Self {
            id,
            allocated: by,
            name: None,
            range,
            pool,
            extent: Extent::new(range.size.0, false),
            freed: None,
            taken: None,
            block: None,
            astray: SmallVec::new(),
            extras: None,
            before: None,
            is_forgotten: false,
        }
    }

    /// Makes it that of another allocation, which has its name; keeps the memory that it has itself.
    fn renew(&mut self, birth: Birth, new_name: Option<BufferId>) {
        let Self {
            id,
            allocated,
            name,
            range,
            pool,
            extent,
            freed,
            taken,
            block,
            astray,
            extras,
            before: _,
            is_forgotten,
        } = self;
        (*id, *allocated, *name, *range, *pool) = (birth.id, birth.by, new_name, birth.range, birth.pool);
        (*freed, *taken, *block, *extras, *is_forgotten) = (None, None, None, None, false);
        extent.renew(birth.range.size.0);
        astray.clear();
    }

    /// What few allocations have, if this one has any of it.
    pub(super) fn extras(&self) -> Option<&Extras> {
        self.extras.as_deref()
    }

    /// The same, to be changed.
    pub(super) fn extras_mut(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    /// Whether it is not freed, and of this process.
    pub(super) fn is_plain(&self) -> bool {
        self.freed.is_none() && self.of().is_none()
    }

    /// The device whose memory it is outside of pools.
    pub(super) fn outside(&self) -> Option<DeviceId> {
        self.extras().and_then(|extras| extras.outside)
    }

    /// The allocation of another process that it is.
    pub(super) fn of(&self) -> Option<AllocId> {
        self.extras().and_then(|extras| extras.of)
    }

    /// What other processes have imported it as.
    pub(super) fn imports(&self) -> &[AllocId] {
        self.extras().map_or(&[], |extras| &extras.imports)
    }

    /// Whether it is freed, its bytes are accounted for and no other process has it.
    fn is_over(&self) -> bool {
        let is_shared = |extras: &Extras| extras.is_awaited || !extras.imports.is_empty();
        self.freed.is_some() && self.block.is_none() && !self.extras().is_some_and(is_shared)
    }
}

/// Where the record of an allocation is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handle {
    pub(super) id: AllocId,
    at: u32,
}

/// All memory that a program can name.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    records: Vec<Record>,
    /// Places in `records` that are free.
    vacant: Vec<u32>,
    /// By the place in the allocator's table, the record of what has had it last.
    slots: Vec<Option<u32>>,
    names: Vec<Option<Handle>>,
    /// The greatest serial number so far.
    newest: u32,
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

    /// Where the record of an allocation is, if it lives or is still named. Those that had the same place in the allocator's table
    /// are chained.
    #[inline]
    pub(super) fn find(&self, id: AllocId) -> Option<Handle> {
        let at = (*self.slots.get(Self::slot(id))?)?;
        match self.records[at as usize].id == id {
            true => Some(Handle { id, at }),
            false => self.find_before(at, id),
        }
    }

    /// The same among those before one.
    #[inline(never)]
    fn find_before(&self, mut at: u32, id: AllocId) -> Option<Handle> {
        loop {
            at = self.records[at as usize].before?;
            if self.records[at as usize].id == id {
                return Some(Handle { id, at });
            }
        }
    }

    /// An allocation, if it lives or is still named.
    pub(super) fn get(&self, id: AllocId) -> Option<&Record> {
        self.find(id).map(|handle| &self.records[handle.at as usize])
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, id: AllocId) -> Option<&mut Record> {
        self.find(id).map(|handle| &mut self.records[handle.at as usize])
    }

    /// What was found before, if it is not let go of since.
    pub(super) fn at(&self, handle: Handle) -> Option<&Record> {
        let record = &self.records[handle.at as usize];
        (record.id == handle.id && !record.is_forgotten).then_some(record)
    }

    /// The same, to be changed.
    pub(super) fn at_mut(&mut self, handle: Handle) -> Option<&mut Record> {
        let record = &mut self.records[handle.at as usize];
        (record.id == handle.id && !record.is_forgotten).then_some(record)
    }

    /// An allocation begins to live, or lives once more under the name that it had.
    pub(super) fn insert(&mut self, birth: Birth) -> Handle {
        let Birth { id, .. } = birth;
        if id.serial > self.newest {
            self.newest = id.serial;
        } else if let Some(handle) = self.find(id) {
            let record = &mut self.records[handle.at as usize];
            record.renew(birth, record.name);
            return handle;
        }
        let at = match self.vacant.pop() {
            Some(at) => {
                self.records[at as usize].renew(birth, None);
                at
            }
            None => {
                self.records.push(Record::new(birth));
                (self.records.len() - 1) as u32
            }
        };
        let slot = Self::slot(id);
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.records[at as usize].before = self.slots[slot].replace(at);
        Handle { id, at }
    }

    /// The exporter's free will not ask for an allocation any more, nor for what it was imported as.
    pub(super) fn release(&mut self, id: AllocId) {
        if let Some(handle) = self.find(id) {
            let record = &mut self.records[handle.at as usize];
            if record.extras.is_some() {
                record.extras_mut().is_awaited = false;
            }
            self.let_go(handle);
        }
    }

    /// The bytes of freed memory are accounted for.
    pub(super) fn settle(&mut self, handle: Handle) {
        if let Some(record) = self.at_mut(handle) {
            record.block = None;
            self.let_go(handle);
        }
    }

    /// A name stands for an allocation from now on, or for a null allocation.
    pub(super) fn name(&mut self, handle: Option<Handle>, name: BufferId) {
        if let Some(record) = handle.and_then(|handle| self.at_mut(handle)) {
            record.name = Some(name);
        }
        if self.names.len() <= name.index() {
            self.names.resize(name.index() + 1, None);
        }
        if let Some(old) = std::mem::replace(&mut self.names[name.index()], handle) {
            self.let_go(old);
        }
    }

    /// Lets go of an allocation that no name stands for and nothing asks for any more.
    pub(super) fn let_go(&mut self, handle: Handle) {
        if self.at(handle).is_some_and(Record::is_over) && !self.keeps_all {
            self.forget(handle.at);
        }
    }

    /// The same for one that is over.
    fn forget(&mut self, at: u32) {
        let record = &self.records[at as usize];
        let named = record.name.and_then(|name| self.names[name.index()]);
        if named.is_some_and(|named| named.id == record.id) {
            return;
        }
        let before = record.before;
        let slot = &mut self.slots[Self::slot(record.id)];
        if *slot == Some(at) {
            *slot = before;
        } else {
            let mut next = *slot;
            while let Some(other) = next {
                let other = &mut self.records[other as usize];
                next = other.before;
                if next == Some(at) {
                    other.before = before;
                    break;
                }
            }
        }
        self.records[at as usize].is_forgotten = true;
        self.vacant.push(at);
    }

    /// Everything that lives or is still named, in an order that every run has.
    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| !record.is_forgotten)
    }
}
