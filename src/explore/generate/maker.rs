//! Draws the calls of a made-up scenario, one step after the other, so that nothing is wrong with them.
//!
//! Before a call is made, the order that it needs is made, unless it is there. How much a step may cost is known before it, so that
//! what lives is freed with the last calls.

use super::judge::Judge;
use super::program::{Buffer, Call, Home, MAIN, Program, SLOTS, Statement, Target, Use};
use super::room::Room;
use super::world;
use crate::base::Draws;
use crate::trace::Access;

/// A host thread, with what it alone uses.
#[derive(Clone, Debug)]
pub(super) struct Crew {
    pub(super) thread: usize,
    /// Its buffers that live.
    pub(super) buffers: Vec<usize>,
    pub(super) events: Vec<usize>,
    /// How many statements there were when it was started.
    pub(super) since: usize,
}

/// A buffer on its way from one host thread to another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handover {
    pub(super) to: usize,
    pub(super) signal: usize,
    pub(super) buffer: usize,
    /// The shared event, which the other one may wait for and record.
    pub(super) event: Option<usize>,
}

/// A scenario while it is made.
pub(super) struct Maker {
    pub(super) draws: Draws,
    pub(super) program: Program,
    pub(super) judge: Judge,
    pub(super) room: Room,
    pub(super) crews: [Option<Crew>; SLOTS],
    pub(super) handovers: Vec<Handover>,
    /// For each buffer, the thread whose text allocates it and the statement that does.
    pub(super) births: Vec<(usize, usize)>,
    /// The stream that used each buffer last.
    pub(super) last: Vec<Option<usize>>,
    /// How many calls are still to be made.
    left: u64,
    /// How many of them are for something else.
    pub(super) reserved: u64,
    /// How many more steps there are several host threads.
    pub(super) phase: u64,
    /// Whether a loop is open.
    pub(super) in_loop: bool,
    has_threads: bool,
}

impl Maker {
    pub(super) fn make(mut draws: Draws, operations: u64, streams: usize) -> Program {
        let has_threads = draws.below(3) == 0;
        let program = world::declare(&mut draws, streams, has_threads);
        let buffers = (0..program.buffers.len()).collect::<Vec<_>>();
        let crew = Crew { thread: 0, buffers: Vec::new(), events: (0..program.events).collect(), since: 0 };
        let mut maker = Self {
            draws,
            judge: Judge::new(&program),
            room: Room::new(program.memory, &program.pools),
            crews: [Some(crew), None, None],
            handovers: Vec::new(),
            births: buffers.iter().map(|_| (0, 0)).collect(),
            last: buffers.iter().map(|_| None).collect(),
            left: operations,
            reserved: 0,
            phase: 0,
            in_loop: false,
            has_threads,
            program,
        };
        while maker.room() > 0 {
            maker.any_step();
        }
        maker.end_phase();
        maker.close();
        maker.program
    }

    fn any_step(&mut self) {
        let is_alone = self.judge.clocks.is_alone();
        match self.room() {
            30.. if is_alone && self.has_threads && self.one_in(25) => return self.begin_phase(),
            12.. if is_alone && self.one_in(40) => return self.repeat(),
            _ if !is_alone && self.phase == 0 => return self.end_phase(),
            _ => {}
        }
        let slots: Vec<usize> = (0..SLOTS).filter(|slot| self.crews[*slot].is_some()).collect();
        let slot = self.pick(&slots);
        self.phase = self.phase.saturating_sub(1);
        if !is_alone && self.one_in(6) && self.meet(slot) {
            return;
        }
        self.step(slot);
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.draws.below(bound as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.draws.below(count) == 0
    }

    pub(super) fn pick(&mut self, of: &[usize]) -> usize {
        of[self.below(of.len())]
    }

    pub(super) fn any_stream(&mut self) -> usize {
        self.below(self.program.streams.len())
    }

    pub(super) fn crew(&mut self, slot: usize) -> &mut Crew {
        self.crews[slot].as_mut().expect("who makes a step was started")
    }

    /// How many calls may be made before what lives has to be freed.
    pub(super) fn room(&self) -> u64 {
        let live: usize = self.crews.iter().flatten().map(|crew| crew.buffers.len()).sum();
        let live = live + self.handovers.len();
        // A synchronise before the frees, and what is on its way has to arrive.
        let owed = live + usize::from(live > 0) + self.handovers.len();
        self.left.saturating_sub(owed as u64 + self.reserved)
    }

    /// Makes a call.
    pub(super) fn push(&mut self, slot: usize, call: Call) {
        self.left -= u64::from(call.counts());
        self.play(slot, &call, self.program.statements.len());
        self.program.statements.push(Statement { slot, call, stays: false });
    }

    fn play(&mut self, slot: usize, call: &Call, statement: usize) {
        let mut wrong = Vec::new();
        self.judge.call(slot, call, statement, &mut wrong);
        debug_assert_eq!(wrong, [], "{call:?}");
    }

    /// A new buffer, which is not allocated yet.
    pub(super) fn declare(&mut self, slot: usize, buffer: Buffer) -> usize {
        let thread = self.crew(slot).thread;
        self.program.buffers.push(buffer);
        self.births.push((thread, self.program.statements.len()));
        self.last.push(None);
        self.program.buffers.len() - 1
    }

    /// Makes the order that something has to come after: a use of a buffer, or its free. At most so many calls are made, one or more.
    pub(super) fn order(
        &mut self,
        slot: usize,
        stream: Option<usize>,
        buffer: usize,
        used: Option<Use>,
        mut at_most: u64,
    ) {
        while let Some(mark) = self.judge.missing(slot, stream, buffer, used) {
            let from = self.judge.clocks.stream_of(mark).filter(|_| at_most > 2);
            let Some(from) = from else { return self.push(slot, Call::Sync(Target::Device)) };
            let events = self.crew(slot).events.clone();
            let clocks = &self.judge.clocks;
            let has = |event: &usize| clocks.captured(slot, *event).is_some_and(|clock| clock.has(mark));
            let recorded: Vec<usize> = events.iter().copied().filter(has).collect();
            let before = at_most;
            let synchronises = self.one_in(6);
            match stream {
                Some(stream) if !synchronises && !recorded.is_empty() => {
                    let event = self.pick(&recorded);
                    self.push(slot, Call::Wait { stream, event });
                    at_most -= 1;
                }
                Some(stream) if !synchronises && !events.is_empty() => {
                    let event = self.pick(&events);
                    self.push(slot, Call::Record { stream: from, event });
                    self.push(slot, Call::Wait { stream, event });
                    at_most -= 2;
                }
                _ => {
                    let target = match recorded.as_slice() {
                        [] => Target::Stream(from),
                        events => Target::Event(self.pick(events)),
                    };
                    let call = match self.below(5) {
                        0 => Call::Poll(target),
                        1 => Call::Sync(Target::Device),
                        _ => Call::Sync(target),
                    };
                    self.push(slot, call);
                    at_most -= 1;
                }
            }
            debug_assert!(at_most < before);
        }
    }

    /// A loop, with a buffer of its own in each turn.
    fn repeat(&mut self) {
        let turns = self.draws.between(2, 5).min(self.room() / 6);
        let Some(buffer) = self.a_buffer(turns).filter(|_| turns > 1) else { return self.step(MAIN) };
        // So much for a turn, but for the frees that are reserved anyway.
        let (room, body) = (self.room(), (self.room() / turns).min(14));
        self.reserved += room - body;
        let (first, mine) = (self.program.statements.len(), std::mem::take(&mut self.crew(MAIN).buffers));
        // They live all the same.
        self.reserved += mine.len() as u64 + u64::from(!mine.is_empty());
        self.push(MAIN, Call::Repeat(turns));
        self.in_loop = true;
        let inner = self.allocate(MAIN, buffer);
        self.room.grow(buffer, turns - 1);
        for _ in 0..self.draws.between(1, 4) {
            if self.room() >= 2 {
                self.use_buffer(MAIN, inner);
            }
        }
        self.free(MAIN, inner);
        self.in_loop = false;
        self.reserved -= room - body + mine.len() as u64 + u64::from(!mine.is_empty());
        self.crew(MAIN).buffers = mine;
        let made = self.program.statements.len();
        for _ in 1..turns {
            for statement in first + 1..made {
                let call = self.program.statements[statement].call.clone();
                self.left -= 1;
                self.play(MAIN, &call, statement);
            }
        }
        self.push(MAIN, Call::EndRepeat);
    }

    /// Has all pools give back what was freed.
    pub(super) fn drain(&mut self) {
        let from = self.program.statements.len();
        self.push(MAIN, Call::Sync(Target::Device));
        for pool in 0..self.program.pools.len() {
            self.push(MAIN, Call::Change { pool, change: super::program::Change::Trim(0) });
        }
        self.program.statements[from..].iter_mut().for_each(|statement| statement.stays = true);
        self.room.drained();
    }

    /// Frees what lives, and makes the number of calls right.
    fn close(&mut self) {
        while let Some(buffer) = self.crew(MAIN).buffers.first().copied() {
            self.free(MAIN, buffer);
        }
        while self.left > 0 {
            let call = match self.below(3) {
                0 => Call::Sleep(1_000 * self.draws.between(1, 20)),
                _ => self.function(Vec::new(), None),
            };
            self.push(MAIN, call);
        }
    }

    /// A function of the host in a stream.
    pub(super) fn function(&mut self, uses: Vec<Use>, gives: Option<usize>) -> Call {
        let stream = self.any_stream();
        Call::HostFunction { stream, takes: 500 * self.draws.between(1, 20), uses, gives }
    }

    /// All of a buffer.
    pub(super) fn all(&self, buffer: usize, access: Access) -> Use {
        Use { buffer, part: (0, self.program.buffers[buffer].size), access }
    }

    /// Whose memory a buffer is.
    pub(super) fn home(&self, buffer: usize) -> Home {
        self.program.buffers[buffer].home
    }
}
