//! Memory as a program knows it: each allocation with the bytes that were touched, by whom and how, whatever its address is.
//!
//! Of what one stream or host thread did to a byte, the latest read and the latest write say everything: what is after these is
//! after the others. What is before a later write, whatever the timing is, is let go of. So a range keeps no more than two
//! touches a stream. It must not know what is right or wrong.

use super::blocks::Block;
use super::clock::{Clock, Mark, Stands};
use crate::base::{BufferId, DeviceId, HostBufferId, IndexVec, PoolId, StmtId, reuse_on_clone};
use crate::trace::{Access, AllocId};
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
#[repr(C)]
struct Segment {
    touches: SmallVec<[Touch; 1]>,
    /// The byte after the last one.
    end: u64,
    is_written: bool,
}

/// The bytes of an allocation, or of a buffer of the host. Most are touched as a whole.
#[derive(Clone, Debug)]
#[repr(C)]
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

    /// What was touched alike from the first byte on is touched by the stream or the host thread that alone has touched it so far:
    /// then this is all there is to keep, and nothing can be wrong with it. Says whether it is so.
    #[inline(always)]
    pub(super) fn touch_again(&mut self, (from, to): (u64, u64), touch: Touch) -> bool {
        let Segment { end, touches, is_written } = &mut self.first;
        if (from, to) != (0, *end) {
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

    /// Whether this holds of everything that touched it, as far as it is kept.
    #[inline(always)]
    pub(super) fn all(&self, mut holds: impl FnMut(&Touch) -> bool) -> bool {
        for touch in &self.first.touches {
            if !holds(touch) {
                return false;
            }
        }
        self.rest.iter().all(|segment| segment.touches.iter().all(&mut holds))
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

/// An allocation that lives, or whose name still stands for it. What a use asks is in the first cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Record {
    pub(super) id: AllocId,
    pub(super) allocated: (Mark, StmtId),
    /// Whether it is not freed, and of this process.
    is_plain: bool,
    is_forgotten: bool,
    pub(super) extent: Extent,
    freed: Option<Free>,
    extras: Option<Box<Extras>>,
    /// The one that had the same place in the index before.
    before: Option<u32>,
    /// What is left of its bytes since its free, as long as no host has observed that.
    pub(super) block: Option<Block>,
    pub(super) name: Option<BufferId>,
    pub(super) pool: Option<PoolId>,
    /// In bytes.
    pub(super) size: u64,
    /// The allocation that has got some of its bytes since it was freed.
    pub(super) taken: Option<AllocId>,
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
    /// Touches that may come after its free.
    astray: Vec<Touch>,
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
    /// In bytes.
    pub(super) size: u64,
    pub(super) pool: Option<PoolId>,
}

impl Record {
    fn new(Birth { id, by, size, pool }: Birth) -> Self {
        Self {
            id,
            allocated: by,
            is_plain: true,
            is_forgotten: false,
            extent: Extent::new(size, false),
            freed: None,
            extras: None,
            before: None,
            block: None,
            name: None,
            pool,
            size,
            taken: None,
        }
    }

    /// Makes it that of another allocation, which has its name; keeps the memory that it has itself.
    #[inline(always)]
    fn renew(&mut self, birth: Birth, new_name: Option<BufferId>) {
        let Self {
            id,
            allocated,
            is_plain,
            is_forgotten,
            extent,
            freed,
            extras,
            before: _,
            block,
            name,
            pool,
            size,
            taken,
        } = self;
        (*id, *allocated, *name, *size, *pool) = (birth.id, birth.by, new_name, birth.size, birth.pool);
        (*freed, *taken, *block, *extras) = (None, None, None, None);
        (*is_plain, *is_forgotten) = (true, false);
        extent.renew(birth.size);
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
        self.is_plain
    }

    /// The free that ended it.
    pub(super) fn freed(&self) -> Option<Free> {
        self.freed
    }

    /// Whether it is memory of a pool that lives and that no other process knows.
    pub(super) fn is_of_pool_alone(&self) -> bool {
        self.is_plain && self.extras.is_none() && self.pool.is_some()
    }

    /// It is freed.
    #[inline]
    pub(super) fn free(&mut self, free: Free) {
        self.freed = Some(free);
        self.is_plain = false;
    }

    /// It is what another process knows as this allocation, whose free asks for it.
    pub(super) fn import(&mut self, of: AllocId) {
        let extras = self.extras_mut();
        (extras.of, extras.is_awaited) = (Some(of), true);
        self.is_plain = false;
    }

    /// Touches that may come after its free.
    pub(super) fn astray(&self) -> &[Touch] {
        self.extras().map_or(&[], |extras| &extras.astray)
    }

    /// A touch may come after its free.
    pub(super) fn goes_astray(&mut self, touch: Touch) {
        self.extras_mut().astray.push(touch);
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

/// The shortest index.
const INDEX_MIN: usize = 64;

/// All memory that a program can name.
#[derive(Debug, Default)]
pub(super) struct Memory {
    records: Vec<Record>,
    /// Places in `records` that are free.
    vacant: Vec<u32>,
    /// By the last bits of the serial number, the record of what has had them last. Its length is a power of two.
    index: Vec<Option<u32>>,
    names: Vec<Option<Handle>>,
    /// The greatest serial number so far.
    newest: u32,
    /// Whether nothing is let go of, since views may still stand for what no name does.
    keeps_all: bool,
    pub(super) host: IndexVec<HostBufferId, (BufferId, Extent)>,
}

reuse_on_clone!(Memory { records, vacant, index, names, newest, keeps_all, host });

impl Memory {
    /// Memory with these buffers of the host.
    pub(super) fn new(host: IndexVec<HostBufferId, (BufferId, Extent)>, keeps_all: bool) -> Self {
        Self { host, keeps_all, index: vec![None; INDEX_MIN], ..Self::default() }
    }

    /// The place of an allocation in the index.
    fn place(&self, id: AllocId) -> usize {
        id.serial as usize & (self.index.len() - 1)
    }

    /// Makes the index long enough for its chains to be short.
    #[cold]
    fn grow_index(&mut self) {
        let longer = 2 * self.index.len();
        self.index.clear();
        self.index.resize(longer, None);
        for at in 0..self.records.len() {
            let place = self.place(self.records[at].id);
            if !self.records[at].is_forgotten {
                self.records[at].before = self.index[place].replace(at as u32);
            }
        }
    }

    /// Where the record of an allocation is, if it lives or is still named. Those with the same place in the index are chained.
    #[inline]
    pub(super) fn find(&self, id: AllocId) -> Option<Handle> {
        let at = self.index[self.place(id)]?;
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

    /// Where the record of an allocation is, and the record, if it lives or is still named.
    #[inline(always)]
    pub(super) fn find_mut(&mut self, id: AllocId) -> Option<(Handle, &mut Record)> {
        let at = self.index[self.place(id)]?;
        let handle = match self.records[at as usize].id == id {
            true => Handle { id, at },
            false => self.find_before(at, id)?,
        };
        Some((handle, &mut self.records[handle.at as usize]))
    }

    /// An allocation, if it lives or is still named.
    pub(super) fn get(&self, id: AllocId) -> Option<&Record> {
        self.find(id).map(|handle| &self.records[handle.at as usize])
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, id: AllocId) -> Option<&mut Record> {
        self.find_mut(id).map(|(_, record)| record)
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
    #[inline(always)]
    pub(super) fn insert(&mut self, birth: Birth) -> Handle {
        let Birth { id, .. } = birth;
        if id.serial > self.newest {
            self.newest = id.serial;
        } else if let Some((handle, record)) = self.find_mut(id) {
            record.renew(birth, record.name);
            return handle;
        }
        let at = match self.vacant.pop() {
            Some(at) => {
                self.records[at as usize].renew(birth, None);
                at
            }
            None => self.push(birth),
        };
        let place = self.place(id);
        self.records[at as usize].before = self.index[place].replace(at);
        Handle { id, at }
    }

    /// A record more.
    #[inline(never)]
    fn push(&mut self, birth: Birth) -> u32 {
        if self.records.len() >= self.index.len() / 2 {
            self.grow_index();
        }
        self.records.push(Record::new(birth));
        (self.records.len() - 1) as u32
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

    /// The bytes of freed memory are accounted for. Returns what was left of them.
    pub(super) fn settle(&mut self, handle: Handle) -> Option<Block> {
        let keeps_all = self.keeps_all;
        let record = self.at_mut(handle)?;
        let block = record.block.take();
        if record.is_over() && !keeps_all {
            self.forget(handle.at);
        }
        block
    }

    /// A name stands for an allocation from now on, or for a null allocation.
    pub(super) fn name(&mut self, handle: Option<Handle>, name: BufferId) {
        if let Some(record) = handle.and_then(|handle| self.at_mut(handle)) {
            record.name = Some(name);
        }
        match self.names.get_mut(name.index()) {
            Some(named) => {
                if let Some(old) = std::mem::replace(named, handle) {
                    self.let_go(old);
                }
            }
            None => {
                self.names.resize(name.index() + 1, None);
                self.names[name.index()] = handle;
            }
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
        let place = self.place(record.id);
        let newest = &mut self.index[place];
        if *newest == Some(at) {
            *newest = before;
        } else {
            let mut next = *newest;
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
