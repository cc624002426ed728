//! How long all that takes that was put into streams and not seen complete, one after the other: for so long devices may be at work.

use crate::base::{Nanos, StreamId};
use crate::trace::{Cut, Ticket};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What is not seen complete.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    lengths: BTreeMap<StreamId, VecDeque<(Ticket, Duration)>>,
    total: Duration,
}

impl Outstanding {
    /// An operation takes so long.
    pub(super) fn put(&mut self, ticket: Ticket, length: Nanos) {
        let length = Duration::from_nanos(length.0);
        self.lengths.entry(ticket.stream).or_default().push_back((ticket, length));
        self.total = self.total.saturating_add(length);
    }

    /// Everything in a cut is complete.
    pub(super) fn seen(&mut self, cut: &Cut) {
        for lengths in self.lengths.values_mut() {
            while let Some((_, length)) = lengths.front().copied().filter(|(ticket, _)| ticket.within(cut)) {
                lengths.pop_front();
                self.total = self.total.saturating_sub(length);
            }
        }
    }

    /// How long the rest takes.
    pub(super) fn total(&self) -> Duration {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_takes_no_time_any_more() {
        let ticket = |stream, seq| Ticket { stream: StreamId::new(stream), seq };
        let mut outstanding = Outstanding::default();
        for (at, length) in [(ticket(0, 1), 5), (ticket(0, 4), 10), (ticket(1, 1), 100)] {
            outstanding.put(at, Nanos(length));
        }
        assert_eq!(outstanding.total(), Duration::from_nanos(115));
        outstanding.seen(&[3, 0]);
        outstanding.seen(&[3, 0]);
        assert_eq!(outstanding.total(), Duration::from_nanos(110));
        outstanding.seen(&[4, 1]);
        assert_eq!(outstanding.total(), Duration::ZERO);
    }
}
