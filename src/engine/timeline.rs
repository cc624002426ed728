//! The progress of devices in virtual time.

use crate::base::{Nanos, StreamId, reuse_on_clone};
use crate::trace::{Cut, Ticket};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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
    /// Of these, apart from the others, the streams of those that started now and end now, in that order.
    instant: VecDeque<StreamId>,
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

reuse_on_clone!(Timeline { now, running, instant, started, done, fresh });

impl Timeline {
    /// Time 0, for so many streams.
    pub fn new(streams: usize) -> Self {
        Self {
            now: Nanos::ZERO,
            running: BinaryHeap::new(),
            instant: VecDeque::new(),
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
        let ends = self.now.after(takes);
        if ends == self.now {
            return self.instant.push_back(ticket.stream);
        }
        self.running.push(Reverse(Running::new(ends, self.started, ticket.stream)));
        self.started += 1;
    }

    #[inline]
    fn next(&mut self, until: Option<Nanos>) -> Option<StreamId> {
        let first = self.running.peek().map(|Reverse(first)| *first);
        // What has been running for a while and ends now started before what is instant.
        let is_instant = !self.instant.is_empty() && first.is_none_or(|first| first.ends() > self.now);
        let ends = if is_instant { self.now } else { first?.ends() };
        if until.is_some_and(|until| ends >= until) {
            return None;
        }
        let stream = match is_instant {
            true => self.instant.pop_front()?,
            false => self.running.pop()?.0.stream(),
        };
        self.wait_until(ends);
        self.fresh.push(stream);
        Some(stream)
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

    #[test]
    fn what_takes_no_time_ends_after_what_was_running() {
        let mut timeline = Timeline::new(3);
        timeline.started(ticket(0), Nanos(10));
        timeline.started(ticket(1), Nanos(10));
        assert_eq!(timeline.next(None), Some(StreamId::new(0)));
        timeline.started(ticket(0), Nanos::ZERO);
        timeline.started(ticket(2), Nanos(5));
        let order = [1, 0, 2].map(|stream| Some(StreamId::new(stream)));
        assert_eq!([timeline.next(None), timeline.next(Some(Nanos(11))), timeline.next(None)], order);
        assert_eq!((timeline.next(None), timeline.now()), (None, Nanos(15)));
    }
}
