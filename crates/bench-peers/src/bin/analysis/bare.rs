//! A bare loop that answers the same questions of the same operations: flat clocks in two halves, one record a name, no findings,
//! no bytes, no events. What is slower than this pays for the rest.

use std::collections::VecDeque;

/// The counters of a half, one a stream.
const STREAMS: usize = super::STREAMS as usize;
/// The names of a stream.
const NAMES: usize = super::NAMES as usize;

/// An operation, of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operation {
    Alloc { stream: usize, name: usize },
    Free { stream: usize, name: usize },
    Use { stream: usize, name: usize },
    Record { stream: usize },
    Wait { stream: usize, event: usize },
}

/// What is before a point, whatever the timing is, and in this run.
#[derive(Clone, Copy)]
struct Clock([[u32; STREAMS]; 2]);

/// The operation of a stream, counted from 1.
type Mark = (usize, u32);

impl Clock {
    fn has(&self, (stream, at): Mark) -> bool {
        self.0[0][stream] >= at
    }

    fn set(&mut self, (stream, at): Mark) {
        self.0[0][stream] = at;
        self.0[1][stream] = at;
    }

    fn join(&mut self, other: &Clock) {
        for (own, other) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *own = (*own).max(*other);
        }
    }
}

/// What is known of the allocation that a name stands for.
#[derive(Clone, Copy)]
struct Named {
    allocated: Mark,
    touched: Mark,
    freed: Mark,
}

/// Freed memory, with what is before the end of its free.
struct Freed {
    mark: Mark,
    clock: Clock,
}

/// What the loop knows.
pub(super) struct Bare {
    streams: [Clock; STREAMS],
    events: [(Mark, Clock); STREAMS],
    submitted: [u32; STREAMS],
    names: [[Named; NAMES]; STREAMS],
    freed: VecDeque<Freed>,
    /// How many operations were out of order, so that none is left out.
    pub(super) wrong: u64,
}

impl Bare {
    pub(super) fn new() -> Self {
        let nothing = Clock([[0; STREAMS]; 2]);
        Self {
            streams: [nothing; STREAMS],
            events: [((0, 0), nothing); STREAMS],
            submitted: [0; STREAMS],
            names: [[Named { allocated: (0, 0), touched: (0, 0), freed: (0, 0) }; NAMES]; STREAMS],
            freed: VecDeque::new(),
            wrong: 0,
        }
    }

    /// Takes the next operation.
    #[inline]
    pub(super) fn step(&mut self, operation: Operation) {
        let (Operation::Alloc { stream, .. }
        | Operation::Free { stream, .. }
        | Operation::Use { stream, .. }
        | Operation::Record { stream }
        | Operation::Wait { stream, .. }) = operation;
        self.submitted[stream] += 1;
        let mark = (stream, self.submitted[stream]);
        let clock = &mut self.streams[stream];
        match operation {
            Operation::Alloc { name, .. } => {
                if self.freed.len() > STREAMS
                    && let Some(old) = self.freed.pop_front()
                    && clock.0[1][old.mark.0] < old.mark.1
                {
                    clock.0[1].iter_mut().zip(old.clock.0[1]).for_each(|(own, old)| *own = (*own).max(old));
                }
                self.names[stream][name] = Named { allocated: mark, touched: (0, 0), freed: (0, 0) };
                clock.set(mark);
            }
            Operation::Free { name, .. } => {
                let named = &mut self.names[stream][name];
                self.wrong += u64::from(!clock.has(named.allocated) || !clock.has(named.touched));
                named.freed = mark;
                clock.set(mark);
                self.freed.push_back(Freed { mark, clock: *clock });
            }
            Operation::Use { name, .. } => {
                let named = &mut self.names[stream][name];
                let is_sound = named.freed.1 == 0 && clock.has(named.allocated) && clock.has(named.touched);
                self.wrong += u64::from(!is_sound);
                named.touched = mark;
                clock.set(mark);
            }
            Operation::Record { .. } => {
                clock.set(mark);
                self.events[stream] = (mark, *clock);
            }
            Operation::Wait { event, .. } => {
                let (record, captured) = &self.events[event];
                if !clock.has(*record) {
                    clock.join(captured);
                }
                clock.set(mark);
            }
        }
    }
}
