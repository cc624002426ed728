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

/// Goes through the operations so many times. Returns how many were out of order, so that none is left out.
pub(super) fn run(operations: &[Operation], turns: u64) -> u64 {
    let nothing = Clock([[0; STREAMS]; 2]);
    let mut streams = [nothing; STREAMS];
    let mut events: [(Mark, Clock); STREAMS] = [((0, 0), nothing); STREAMS];
    let mut submitted = [0; STREAMS];
    let mut names = [[Named { allocated: (0, 0), touched: (0, 0), freed: (0, 0) }; NAMES]; STREAMS];
    let mut freed: VecDeque<Freed> = VecDeque::new();
    let mut wrong = 0;
    for operation in (0..turns).flat_map(|_| operations) {
        let (Operation::Alloc { stream, .. }
        | Operation::Free { stream, .. }
        | Operation::Use { stream, .. }
        | Operation::Record { stream }
        | Operation::Wait { stream, .. }) = *operation;
        submitted[stream] += 1;
        let mark = (stream, submitted[stream]);
        let clock = &mut streams[stream];
        match *operation {
            Operation::Alloc { name, .. } => {
                if freed.len() > STREAMS
                    && let Some(old) = freed.pop_front()
                    && clock.0[1][old.mark.0] < old.mark.1
                {
                    clock.0[1].iter_mut().zip(old.clock.0[1]).for_each(|(own, old)| *own = (*own).max(old));
                }
                names[stream][name] = Named { allocated: mark, touched: (0, 0), freed: (0, 0) };
                clock.set(mark);
            }
            Operation::Free { name, .. } => {
                let named = &mut names[stream][name];
                wrong += u64::from(!clock.has(named.allocated) || !clock.has(named.touched));
                named.freed = mark;
                clock.set(mark);
                freed.push_back(Freed { mark, clock: *clock });
            }
            Operation::Use { name, .. } => {
                let named = &mut names[stream][name];
                let is_sound = named.freed.1 == 0 && clock.has(named.allocated) && clock.has(named.touched);
                wrong += u64::from(!is_sound);
                named.touched = mark;
                clock.set(mark);
            }
            Operation::Record { .. } => {
                clock.set(mark);
                events[stream] = (mark, *clock);
            }
            Operation::Wait { event, .. } => {
                let (record, captured) = &events[event];
                if !clock.has(*record) {
                    clock.join(captured);
                }
                clock.set(mark);
            }
        }
    }
    wrong
}
