//! The progress of devices in virtual time.

use crate::base::{Nanos, StreamId, reuse_on_clone};
use crate::trace::{Cut, Ticket};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How devices make progress: in virtual time, or as an exploration chooses.
pub trait Progress: Clone {
    /// What a host call made now may see as complete.
    fn done(&self) -> &Cut;
    /// The time up to which devices have got.
    fn now(&self) -> Nanos;
    /// The operation has started now and runs this long.
    fn started(&mut self, ticket: Ticket, takes: Nanos);
    /// Goes to the next completion, if there is one before `until` (without `until`: any).
    fn next(&mut self, until: Option<Nanos>) -> Option<StreamId>;
    /// Lets time pass up to `time`, where it is not later already. All completions before it have been taken.
    fn wait_until(&mut self, time: Nanos);
}

/// An event queue in virtual time. What completes at a time is visible to host calls only after it; operations that end at
/// the same time complete in the order in which they started.
#[derive(Debug)]
pub struct Timeline {
    now: Nanos,
    /// The running operations, at most one a stream.
    running: BinaryHeap<Reverse<Running>>,
    started: u64,
    /// What was complete before `now`.
    done: Vec<u32>,
    /// What completed at `now`.
    fresh: Vec<StreamId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    /// When it ends, and the how-manieth start it was: first in, first out among equals. As one number, which compares faster.
    rank: u128,
    stream: StreamId,
}

impl Running {
    fn ends(self) -> Nanos {
        Nanos((self.rank >> 64) as u64)
    }
}

reuse_on_clone!(Timeline { now, running, started, done, fresh });

impl Timeline {
    /// Time 0, for so many streams.
    pub fn new(streams: usize) -> Self {
        Self {
            now: Nanos::ZERO,
            running: BinaryHeap::new(),
            started: 0,
            done: vec![0; streams],
            fresh: Vec::new(),
        }
    }
}

impl Progress for Timeline {
    fn done(&self) -> &Cut {
        &self.done
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn started(&mut self, ticket: Ticket, takes: Nanos) {
        let rank = u128::from(self.now.after(takes).0) << 64 | u128::from(self.started);
        self.started += 1;
        self.running.push(Reverse(Running { rank, stream: ticket.stream }));
    }

    fn next(&mut self, until: Option<Nanos>) -> Option<StreamId> {
        let Reverse(first) = *self.running.peek()?;
        if until.is_some_and(|until| first.ends() >= until) {
            return None;
        }
        self.running.pop();
        self.wait_until(first.ends());
        self.fresh.push(first.stream);
        Some(first.stream)
    }

    fn wait_until(&mut self, time: Nanos) {
        if time > self.now {
            self.now = time;
            for stream in self.fresh.drain(..) {
                self.done[stream.index()] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(stream: usize) -> Ticket {
        Ticket { stream: StreamId::new(stream), seq: 1 }
    }

    #[test]
    fn completions_are_visible_only_after_their_time() {
        let mut timeline = Timeline::new(2);
        timeline.started(ticket(0), Nanos(10));
        timeline.started(ticket(1), Nanos(10));
        assert_eq!(timeline.next(Some(Nanos(10))), None);
        assert_eq!(timeline.next(None), Some(StreamId::new(0)), "first in, first out");
        assert_eq!((timeline.now(), timeline.done()), (Nanos(10), &[0, 0][..]));
        assert_eq!(timeline.next(None), Some(StreamId::new(1)));
        timeline.wait_until(Nanos(10));
        assert_eq!(timeline.done(), [0, 0]);
        timeline.wait_until(Nanos(11));
        assert_eq!(timeline.done(), [1, 1]);
    }
}
