//! The steps of one host thread: it allocates, uses, frees, looks at what is done, and changes pools.

use super::maker::Maker;
use super::program::{Buffer, Call, Change, DEFAULT_POOL, Home, MAIN, Target, Use};
use super::world;
use crate::trace::Access;

/// So many buffers of a host thread live at a time.
const LIVE_MAX: usize = 8;
const MICROSECOND: u64 = 1_000;
const MIB: u64 = 1 << 20;

impl Maker {
    /// One step of a host thread, for which there is room.
    pub(super) fn step(&mut self, slot: usize) {
        let (room, live) = (self.room(), self.crew(slot).buffers.len());
        let needs = if live == 0 { 3 } else { 2 };
        let what = self.below(100);
        match what {
            _ if room >= needs && live == 0 && what < 90 => self.alloc(slot),
            0..18 if room >= needs && live < LIVE_MAX => self.alloc(slot),
            18..34 if live > 0 => {
                let buffers = self.crew(slot).buffers.clone();
                let buffer = self.pick(&buffers);
                self.free(slot, buffer);
            }
            34..82 if live > 0 && room >= 2 => {
                let buffers = self.crew(slot).buffers.clone();
                let buffer = self.pick(&buffers);
                self.use_buffer(slot, buffer);
            }
            82..92 => self.look(slot),
            92..95 => self.change(slot),
            95.. if room >= 2 => self.touch_pinned(slot),
            _ => {
                let call = self.function(Vec::new(), None);
                self.push(slot, call);
            }
        }
    }

    /// A buffer for which there is room, so many times.
    pub(super) fn a_buffer(&mut self, times: u64) -> Option<Buffer> {
        let home = match self.below(20) {
            0 => Home::Outside,
            1 => Home::Managed,
            _ => Home::Pool(self.below(self.program.pools.len())),
        };
        let size = world::size(&mut self.draws);
        [Buffer { size, home }, Buffer { size: MIB, home: Home::Pool(DEFAULT_POOL) }]
            .into_iter()
            .find(|buffer| self.room.has(*buffer, times))
    }

    fn alloc(&mut self, slot: usize) {
        let needed = 4 + self.program.pools.len() as u64;
        let mut buffer = self.a_buffer(1);
        if buffer.is_none() && self.judge.clocks.is_alone() && self.room() >= needed {
            self.drain();
            buffer = self.a_buffer(1);
        }
        match buffer {
            Some(buffer) => {
                self.allocate(slot, buffer);
            }
            None => self.look(slot),
        }
    }

    pub(super) fn allocate(&mut self, slot: usize, buffer: Buffer) -> usize {
        let number = self.declare(slot, buffer);
        self.room.take(buffer);
        let call = match buffer.home {
            Home::Pool(pool) => Call::Alloc { stream: self.any_stream(), buffer: number, pool },
            Home::Outside | Home::Managed | Home::Pinned => Call::Malloc { buffer: number },
        };
        self.last[number] = call.stream();
        self.push(slot, call);
        self.crew(slot).buffers.push(number);
        number
    }

    pub(super) fn free(&mut self, slot: usize, buffer: usize) {
        let by_host = match self.home(buffer) {
            Home::Pool(_) => self.one_in(8),
            Home::Outside | Home::Managed | Home::Pinned => self.one_in(2),
        };
        let stream = (!by_host).then(|| self.near(buffer));
        // Its free and the synchronise before it are reserved.
        let at_most = self.room() + 1;
        self.order(slot, stream, buffer, None, at_most);
        self.crew(slot).buffers.retain(|other| *other != buffer);
        self.push(slot, Call::Free { stream, buffer });
        self.room.give(self.program.buffers[buffer]);
    }

    /// A stream, often the one that used a buffer last, and mostly where that one has allocated it.
    fn near(&mut self, buffer: usize) -> usize {
        let (any, others) = (self.any_stream(), if self.is_blank(buffer) { 6 } else { 2 });
        self.last[buffer].filter(|_| self.draws.below(others) > 0).unwrap_or(any)
    }

    /// All of a buffer, or half of it.
    fn part(&mut self, buffer: usize, access: Access) -> Use {
        let size = self.program.buffers[buffer].size;
        let half = size / 2;
        let part = match self.below(6) {
            0 if half > 0 => (0, half),
            1 if half > 0 => (half, size),
            _ => (0, size),
        };
        Use { buffer, part, access }
    }

    fn is_blank(&self, buffer: usize) -> bool {
        self.judge.life(buffer).is_some_and(|life| life.is_blank())
    }

    /// Some operation that uses a buffer; the first one writes all of it. There is room for two calls.
    pub(super) fn use_buffer(&mut self, slot: usize, buffer: usize) {
        let stream = self.near(buffer);
        let call = match (self.home(buffer), self.is_blank(buffer)) {
            (Home::Managed, false) if self.one_in(3) => {
                let access = if self.one_in(2) { Access::Write } else { Access::Read };
                Call::Touch(self.part(buffer, access))
            }
            (_, true) => self.first_write(slot, stream, buffer),
            (_, false) => self.operation(slot, stream, buffer),
        };
        self.perform(slot, call);
    }

    /// Makes a call that uses memory, and the order before it. There is room for two calls.
    fn perform(&mut self, slot: usize, call: Call) {
        let stream = call.stream();
        for used in call.uses() {
            // A call in vain is made up for by the synchronise of everything.
            let at_most = self.room() - 1;
            self.order(slot, stream, used.buffer, Some(used), at_most);
            self.last[used.buffer] = stream.or(self.last[used.buffer]);
        }
        self.push(slot, call);
    }

    fn takes(&mut self) -> u64 {
        500 * self.draws.between(1, 24)
    }

    fn first_write(&mut self, slot: usize, stream: usize, buffer: usize) -> Call {
        let at = self.all(buffer, Access::Write);
        let is_managed = self.home(buffer) == Home::Managed;
        let pinned = self.pinned(slot).filter(|pinned| self.program.buffers[*pinned].size >= at.part.1);
        match (self.below(4), pinned) {
            (0, _) if !is_managed => Call::Memset { stream, at, takes: self.takes() },
            (1, Some(pinned)) if !is_managed => {
                let from = Use { buffer: pinned, access: Access::Read, ..at };
                Call::Copy { stream, to: at, from, takes: self.takes() }
            }
            _ => Call::Launch { stream, kernel: 0, uses: vec![at], takes: self.own_time() },
        }
    }

    /// A launch that does not take the time of its kernel.
    fn own_time(&mut self) -> Option<u64> {
        self.one_in(10).then(|| MICROSECOND * self.draws.between(1, 40))
    }

    /// The buffers of the host are the first thread's.
    fn pinned(&mut self, slot: usize) -> Option<usize> {
        let buffers = self.program.buffers.iter().enumerate();
        let pinned = buffers.filter(|(_, buffer)| buffer.home == Home::Pinned);
        let pinned: Vec<usize> = pinned.map(|(number, _)| number).collect();
        (slot == MAIN && !pinned.is_empty()).then(|| self.pick(&pinned))
    }

    /// An operation on a buffer that was written.
    fn operation(&mut self, slot: usize, stream: usize, buffer: usize) -> Call {
        let others = self.crew(slot).buffers.clone();
        let others: Vec<usize> =
            others.into_iter().filter(|other| *other != buffer && !self.is_blank(*other)).collect();
        let other = (!others.is_empty()).then(|| self.pick(&others));
        let is_managed = |buffer: usize| self.home(buffer) == Home::Managed;
        let can_copy = !is_managed(buffer) && other.is_none_or(|other| !is_managed(other));
        match (self.below(10), other) {
            (0, _) if can_copy => {
                let at = self.part(buffer, Access::Write);
                Call::Memset { stream, at, takes: self.takes() }
            }
            (1, Some(other)) if can_copy => self.copy(stream, buffer, other),
            (2, _) if can_copy && !self.in_loop => match self.pinned(slot) {
                Some(pinned) => self.copy(stream, buffer, pinned),
                None => self.launch(stream, &[buffer]),
            },
            (3..6, Some(other)) => self.launch(stream, &[buffer, other]),
            _ => self.launch(stream, &[buffer]),
        }
    }

    fn launch(&mut self, stream: usize, buffers: &[usize]) -> Call {
        let kernels = self.program.kernels.iter().enumerate();
        let fit = kernels.filter(|(_, kernel)| kernel.parameters.len() == buffers.len());
        let fit: Vec<usize> = fit.map(|(number, _)| number).collect();
        let kernel = self.pick(&fit);
        let parameters = self.program.kernels[kernel].parameters;
        let uses = buffers.iter().zip(parameters).map(|(buffer, (_, access))| self.part(*buffer, *access));
        let uses = uses.collect();
        Call::Launch { stream, kernel, uses, takes: self.own_time() }
    }

    /// Copies as much as both have.
    fn copy(&mut self, stream: usize, one: usize, other: usize) -> Call {
        let size = self.program.buffers[one].size.min(self.program.buffers[other].size);
        let (from, to) = if self.one_in(2) { (one, other) } else { (other, one) };
        let half = |buffer, access| Use { buffer, part: (0, size), access };
        let (from, to) = (half(from, Access::Read), half(to, Access::Write));
        Call::Copy { stream, to, from, takes: self.takes() }
    }

    /// The host, or a function of it, touches its own memory. There is room for two calls.
    fn touch_pinned(&mut self, slot: usize) {
        let Some(buffer) = self.pinned(slot) else { return self.look(slot) };
        let access = if self.one_in(2) { Access::Write } else { Access::Read };
        let at = self.part(buffer, access);
        let call = match self.one_in(3) {
            true => self.function(vec![Use { part: (0, self.program.buffers[buffer].size), ..at }], None),
            false => Call::Touch(at),
        };
        self.perform(slot, call);
    }

    /// A record, a wait, a query, or a synchronise that nothing may need.
    fn look(&mut self, slot: usize) {
        let stream = self.any_stream();
        let events = self.crew(slot).events.clone();
        let clocks = &self.judge.clocks;
        let recorded = events.iter().copied().filter(|event| clocks.captured(slot, *event).is_some());
        let recorded: Vec<usize> = recorded.collect();
        let target = match self.one_in(2) {
            true if !recorded.is_empty() => Target::Event(self.pick(&recorded)),
            _ => Target::Stream(stream),
        };
        let call = match self.below(12) {
            0..4 if !events.is_empty() => Call::Record { stream, event: self.pick(&events) },
            4 | 5 if !recorded.is_empty() => Call::Wait { stream, event: self.pick(&recorded) },
            6 | 7 => Call::Query(target),
            8 => Call::Poll(target),
            9 => Call::Sync(target),
            10 => Call::Sync(Target::Device),
            _ => Call::Sleep(MICROSECOND * self.draws.between(1, 60)),
        };
        self.push(slot, call);
    }

    fn change(&mut self, slot: usize) {
        let pool = self.below(self.program.pools.len());
        let change = match self.below(6) {
            0..3 => Change::Trim([0, 32 * MIB, 64 * MIB][self.below(3)]),
            3 => Change::Threshold([0, 64 * MIB, u64::MAX][self.below(3)]),
            4 => Change::Policy(self.below(3), self.one_in(2)),
            _ => Change::ResetHigh(["used_high", "reserved_high"][self.below(2)]),
        };
        self.push(slot, Call::Change { pool, change });
    }
}
