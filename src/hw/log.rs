//! What a run on hardware has told: the events of its calls as they were made, and the times of its operations, which the device
//! tells only later. It is replayed to sinks in the order of time.
//!
//! It grows with the length of the run. It must not know the driver.

use crate::base::{BufferId, ExpectId, HostId, Nanos, PoolId, SnapshotId, StmtId};
use crate::trace::{Call, Decision, Event, Failure, Kind, Operands, PoolState, Sink, Ticket};

/// One event.
#[derive(Clone, Debug)]
struct Entry {
    at: Nanos,
    host: HostId,
    stmt: StmtId,
    ticket: Option<Ticket>,
    what: What,
}

/// What happened, as it is kept.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// The host made a call.
    Call(Call),
    /// This call put an operation into a stream.
    Submitted(Call),
    Start,
    End,
    Decided(Decision),
    Named(BufferId),
    Failed(Failure, Call),
    Synchronised(Vec<u32>),
    Seen(Vec<u32>),
    Met,
    State(PoolId, PoolState),
    Value(i128),
    Expect(ExpectId, Operands),
    Snapshot(SnapshotId),
    Skipped(BufferId),
}

impl What {
    fn kind(&self) -> Kind<'_> {
        match self {
            What::Call(call) => Kind::Call(call),
            What::Submitted(call) => Kind::Submitted(call),
            What::Start => Kind::Start,
            What::End => Kind::End,
            What::Decided(decision) => Kind::Decided(decision),
            What::Named(buffer) => Kind::Named(*buffer),
            What::Failed(failure, call) => Kind::Failed { failure: *failure, call },
            What::Synchronised(observed) => Kind::Synchronised { observed },
            What::Seen(seen) => Kind::Seen { seen },
            What::Met => Kind::Met,
            What::State(pool, state) => Kind::State { pool: *pool, state },
            What::Value(value) => Kind::Value(*value),
            What::Expect(expect, operands) => Kind::Expect { expect: *expect, operands },
            What::Snapshot(snapshot) => Kind::Snapshot { snapshot: *snapshot, pools: &[], graphs: &[] },
            What::Skipped(buffer) => Kind::Skipped(*buffer),
        }
    }
}

/// All events of a run.
#[derive(Clone, Debug, Default)]
pub struct Log {
    calls: Vec<Entry>,
    /// Those of the device, as they became known.
    times: Vec<Entry>,
}

impl Log {
    /// What the host did, at a time that is not before the ones told before.
    pub(super) fn host(
        &mut self,
        at: Nanos,
        (host, stmt): (HostId, StmtId),
        ticket: Option<Ticket>,
        what: What,
    ) {
        let at = self.calls.last().map_or(at, |last| last.at.max(at));
        self.calls.push(Entry { at, host, stmt, ticket, what });
    }

    /// When the device started or completed an operation.
    pub(super) fn device(&mut self, at: Nanos, (host, stmt): (HostId, StmtId), ticket: Ticket, what: What) {
        self.times.push(Entry { at, host, stmt, ticket: Some(ticket), what });
    }

    /// Puts the times of the device in their order, once all are known.
    pub(super) fn close(&mut self) {
        self.times.sort_by_key(|entry| entry.at);
    }

    /// The time of the last event.
    pub fn end(&self) -> Nanos {
        let ends =
            [&self.calls, &self.times].map(|entries| entries.last().map_or(Nanos::ZERO, |last| last.at));
        ends[0].max(ends[1])
    }

    /// Tells everything to a sink, in the order of time. What the device and the host did at the same time is told of the host
    /// first, as the devices' progress at a time is visible only after it.
    pub fn replay(&self, sink: &mut impl Sink) {
        let mut times = self.times.iter().peekable();
        for entry in &self.calls {
            while let Some(earlier) = times.next_if(|time| time.at < entry.at) {
                tell(earlier, sink);
            }
            tell(entry, sink);
        }
        times.for_each(|entry| tell(entry, sink));
    }
}

fn tell(entry: &Entry, sink: &mut impl Sink) {
    let Entry { at, host, stmt, ticket, ref what } = *entry;
    sink.event(&Event { at, host, stmt, ticket, kind: what.kind() });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::StreamId;
    use crate::trace::Detail;

    struct Times(Vec<(u64, bool)>);

    impl Sink for Times {
        fn wants(&self, _: Detail) -> bool {
            true
        }

        fn event(&mut self, event: &Event<'_>) {
            self.0.push((event.at.0, event.ticket.is_some()));
        }
    }

    #[test]
    fn device_and_host_are_told_in_the_order_of_time() {
        let (by, ticket) = ((HostId::new(0), StmtId::new(0)), Ticket { stream: StreamId::new(0), seq: 1 });
        let mut log = Log::default();
        log.host(Nanos(5), by, None, What::Met);
        log.host(Nanos(20), by, None, What::Met);
        // A clock that went back.
        log.host(Nanos(19), by, None, What::Met);
        log.device(Nanos(30), by, ticket, What::End);
        log.device(Nanos(5), by, ticket, What::Start);
        log.close();
        let mut times = Times(Vec::new());
        log.replay(&mut times);
        assert_eq!(times.0, [(5, false), (5, true), (20, false), (20, false), (30, true)]);
        assert_eq!(log.end(), Nanos(30));
    }
}
