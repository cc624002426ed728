//! Memory as a program knows it: each allocation with the bytes that were touched, whatever its address is.
//!
//! It must not know what is right or wrong.

use super::blocks::Block;
use super::clock::Mark;
use super::extent::{Extent, Touch};
use crate::base::{BufferId, DeviceId, HostBufferId, Idx, IndexVec, PoolId, StmtId, reuse_on_clone};
use crate::trace::AllocId;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// An id, or none, in no more space than an id takes. No id has the greatest number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Perhaps<I>(u32, PhantomData<I>);

impl<I: Idx> Perhaps<I> {
    pub(super) const NONE: Self = Self(u32::MAX, PhantomData);

    #[inline(always)]
    pub(super) fn get(self) -> Option<I> {
        (self.0 != u32::MAX).then(|| I::from_usize(self.0 as usize))
    }
}

impl<I: Idx> From<Option<I>> for Perhaps<I> {
    #[inline(always)]
    fn from(id: Option<I>) -> Self {
        id.map_or(Self::NONE, |id| Self(id.index() as u32, PhantomData))
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
    is_freed: bool,
    /// Whether its name still stands for it.
    is_named: bool,
    is_forgotten: bool,
    pub(super) extent: Extent,
    extras: Option<Box<Extras>>,
    /// The free that ended it, if it is freed.
    free: Free,
    /// The one that had the same place in the index before.
    before: u32,
    /// What is left of its bytes since its free, as long as no host has observed that.
    pub(super) block: Option<Block>,
    name: Perhaps<BufferId>,
    pool: Perhaps<PoolId>,
    /// The allocation that has got some of its bytes since it was freed.
    pub(super) taken: AllocId,
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
            is_freed: false,
            is_named: false,
            is_forgotten: false,
            extent: Extent::new(size, false),
            extras: None,
            // It stands for none until it is freed.
            free: Free { mark: by.0, stmt: by.1, call: by.0 },
            before: NOWHERE,
            block: None,
            name: Perhaps::NONE,
            pool: pool.into(),
            taken: AllocId::NULL,
        }
    }

    /// Makes it that of another allocation, or of the same one that lives again; keeps the memory that it has itself, and the name.
    #[inline(always)]
    fn renew(&mut self, birth: Birth) {
        let Birth { id, by, size, pool } = birth;
        (self.id, self.allocated, self.pool, self.taken) = (id, by, pool.into(), AllocId::NULL);
        (self.is_plain, self.is_freed, self.is_forgotten) = (true, false, false);
        (self.block, self.extras) = (None, None);
        self.extent.renew(size);
    }

    /// What the program calls it.
    pub(super) fn name(&self) -> Option<BufferId> {
        self.name.get()
    }

    /// Calls it otherwise; returns what it was called.
    pub(super) fn rename(&mut self, name: Option<BufferId>) -> Option<BufferId> {
        std::mem::replace(&mut self.name, name.into()).get()
    }

    pub(super) fn pool(&self) -> Option<PoolId> {
        self.pool.get()
    }

    /// In bytes.
    pub(super) fn size(&self) -> u64 {
        self.extent.size()
    }

    /// The allocation that has got some of its bytes since it was freed.
    pub(super) fn taken(&self) -> Option<AllocId> {
        Some(self.taken).filter(|taken| *taken != AllocId::NULL)
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
        self.is_freed.then_some(self.free)
    }

    /// Whether it is memory of a pool that lives and that no other process knows.
    pub(super) fn is_of_pool_alone(&self) -> bool {
        self.is_plain && self.extras.is_none() && self.pool != Perhaps::NONE
    }

    /// It is freed.
    #[inline]
    pub(super) fn free(&mut self, free: Free) {
        self.free = free;
        (self.is_freed, self.is_plain) = (true, false);
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

    /// Whether it is freed, its bytes are accounted for, no name stands for it and no other process has it.
    #[inline(always)]
    pub(super) fn is_over(&self) -> bool {
        let is_shared = |extras: &Extras| extras.is_awaited || !extras.imports.is_empty();
        self.is_freed && !self.is_named && self.block.is_none() && !self.extras().is_some_and(is_shared)
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
/// The place of a record that there is not.
const NOWHERE: u32 = u32::MAX;

/// All memory that a program can name.
#[derive(Debug, Default)]
pub(super) struct Memory {
    records: Vec<Record>,
    /// Places in `records` that are free.
    vacant: Vec<u32>,
    /// By the last bits of the serial number, the record of what has had them last. Its length is a power of two.
    index: Vec<u32>,
    /// The records of what names stand for.
    names: Vec<u32>,
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
        Self { host, keeps_all, index: vec![NOWHERE; INDEX_MIN], ..Self::default() }
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
        self.index.resize(longer, NOWHERE);
        for at in 0..self.records.len() {
            let place = self.place(self.records[at].id);
            if !self.records[at].is_forgotten {
                self.records[at].before = std::mem::replace(&mut self.index[place], at as u32);
            }
        }
    }

    /// Where the record of an allocation is, if it lives or is still named. Those with the same place in the index are chained.
    #[inline]
    pub(super) fn find(&self, id: AllocId) -> Option<Handle> {
        let at = self.index[self.place(id)];
        match self.records.get(at as usize)?.id == id {
            true => Some(Handle { id, at }),
            false => match self.find_before(at, id) {
                NOWHERE => None,
                at => Some(Handle { id, at }),
            },
        }
    }

    /// The same among those before one.
    #[inline(never)]
    fn find_before(&self, mut at: u32, id: AllocId) -> u32 {
        while let Some(record) = self.records.get(at as usize) {
            if record.id == id {
                return at;
            }
            at = record.before;
        }
        NOWHERE
    }

    /// Where the record of an allocation is, and the record, if it lives or is still named.
    #[inline(always)]
    pub(super) fn find_mut(&mut self, id: AllocId) -> Option<(Handle, &mut Record)> {
        let at = self.index[self.place(id)];
        if self.records.get(at as usize)?.id == id {
            return Some((Handle { id, at }, &mut self.records[at as usize]));
        }
        let at = self.find_before(at, id);
        Some((Handle { id, at }, self.records.get_mut(at as usize)?))
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
            record.renew(birth);
            return handle;
        }
        let at = match self.vacant.pop() {
            Some(at) => at,
            None => self.push(birth),
        };
        let place = self.place(id);
        let record = &mut self.records[at as usize];
        record.renew(birth);
        record.name = Perhaps::NONE;
        record.before = std::mem::replace(&mut self.index[place], at);
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
        let record = self.at_mut(handle)?;
        let block = record.block.take();
        if record.is_over() {
            self.forget(handle.at);
        }
        block
    }

    /// A name stands for an allocation from now on, or for a null allocation.
    #[inline(always)]
    pub(super) fn name(&mut self, handle: Option<Handle>, name: BufferId) {
        let own = Perhaps::from(Some(name));
        let mut new = NOWHERE;
        if let Some(handle) = handle
            && let Some(record) = self.at_mut(handle)
        {
            (record.name, record.is_named, new) = (own, true, handle.at);
        }
        if name.index() >= self.names.len() {
            self.names.resize(name.index() + 1, NOWHERE);
        }
        let old = std::mem::replace(&mut self.names[name.index()], new);
        // Another name may stand for the old one since.
        if let Some(record) = self.records.get_mut(old as usize)
            && record.name == own
            && old != new
        {
            record.is_named = false;
            if record.is_over() {
                self.forget(old);
            }
        }
    }

    /// Lets go of an allocation that no name stands for and nothing asks for any more.
    pub(super) fn let_go(&mut self, handle: Handle) {
        if self.at(handle).is_some_and(Record::is_over) {
            self.forget(handle.at);
        }
    }

    /// The same for one that is over.
    #[inline]
    fn forget(&mut self, at: u32) {
        if self.keeps_all {
            return;
        }
        let record = &mut self.records[at as usize];
        record.is_forgotten = true;
        let (before, id) = (record.before, record.id);
        let place = self.place(id);
        let newest = &mut self.index[place];
        if *newest == at {
            *newest = before;
        } else {
            let mut next = *newest;
            while let Some(other) = self.records.get_mut(next as usize) {
                next = other.before;
                if next == at {
                    other.before = before;
                    break;
                }
            }
        }
        self.vacant.push(at);
    }

    /// Everything that lives or is still named, in an order that every run has.
    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| !record.is_forgotten)
    }
}
