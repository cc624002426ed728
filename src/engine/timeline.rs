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

/// An operation that runs, as one number, which compares fast: when it ends, the how-manieth start it was, so that the first
/// one in is the first one out among equals, and its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running(u128);

impl Running {
    const START_BITS: u32 = 44;
    const STREAM_BITS: u32 = 20;

    fn new(ends: Nanos, started: u64, stream: StreamId) -> Self {
        debug_assert!(started >> Self::START_BITS == 0 && stream.index() >> Self::STREAM_BITS == 0);
        let order = u128::from(ends.0) << Self::START_BITS | u128::from(started);
        Self(order << Self::STREAM_BITS | stream.index() as u128)
    }

    fn ends(self) -> Nanos {
        Nanos((self.0 >> (Self::START_BITS + Self::STREAM_BITS)) as u64)
    }

    fn stream(self) -> StreamId {
        StreamId::from(self.0 as usize & ((1 << Self::STREAM_BITS) - 1))
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
    #[inline]
    fn done(&self) -> &Cut {
        &self.done
    }

    #[inline]
    fn now(&self) -> Nanos {
        self.now
    }

    #[inline]
    fn started(&mut self, ticket: Ticket, takes: Nanos) {
        let running = Running::new(self.now.after(takes), self.started, ticket.stream);
        self.started += 1;
        self.running.push(Reverse(running));
    }

    #[inline]
    fn next(&mut self, until: Option<Nanos>) -> Option<StreamId> {
        let Reverse(first) = *self.running.peek()?;
        if until.is_some_and(|until| first.ends() >= until) {
            return None;
        }
        self.running.pop();
        self.wait_until(first.ends());
        self.fresh.push(first.stream());
        Some(first.stream())
    }

    #[inline]
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
