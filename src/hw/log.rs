//! What a run on hardware has told: the events of its calls as they were made, and the times of its operations, which the device
//! tells only later. It is replayed to sinks in the order of time.
//!
//! It grows with the length of the run. It must not know the driver.

use crate::base::{BufferId, ExpectId, HostId, Nanos, PoolId, SnapshotId, StmtId, StreamId};
use crate::trace::{Call, Deadlock, Decision, Event, Failure, Kind, Operands, PoolState, Sink, Ticket};
use std::collections::{BTreeMap, BTreeSet};

/// One event.
#[derive(Clone, Debug)]
struct Entry {
    at: Nanos,
    host: HostId,
    stmt: StmtId,
    ticket: Option<Ticket>,
    /// Whether it was told, rather than inferred from what was.
    is_told: bool,
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
    Deadlock(Deadlock),
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
            What::Deadlock(deadlock) => Kind::Deadlock(deadlock),
        }
    }
}

/// All events of a run.
#[derive(Clone, Debug, Default)]
pub struct Log {
    calls: Vec<Entry>,
    /// Those of the device, as they became known.
    times: Vec<Entry>,
    /// The statements of operations whose times are inferred.
    untold: BTreeSet<StmtId>,
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
        self.calls.push(Entry { at, host, stmt, ticket, is_told: true, what });
    }

    /// A call has put an operation into a stream: while it was made, since the device may have begun before it returned.
    pub(super) fn submitted(&mut self, by: (HostId, StmtId), ticket: Ticket, call: &Call) {
        let at = self.calls.last().map_or(Nanos::ZERO, |last| last.at);
        self.host(at, by, Some(ticket), What::Submitted(call.clone()));
    }

    /// A call has failed that was said to have put this operation into a stream.
    pub(super) fn take_back(&mut self, ticket: Ticket) {
        let is_it = |entry: &Entry| entry.ticket == Some(ticket) && matches!(entry.what, What::Submitted(_));
        if let Some(place) = self.calls.iter().rposition(is_it) {
            self.calls.remove(place);
        }
    }

    /// When the device started or completed an operation.
    pub(super) fn device(&mut self, at: Nanos, (host, stmt): (HostId, StmtId), ticket: Ticket, what: What) {
        self.times.push(Entry { at, host, stmt, ticket: Some(ticket), is_told: true, what });
    }

    /// When it did, more or less.
    pub(super) fn about(&mut self, at: Nanos, (host, stmt): (HostId, StmtId), ticket: Ticket, what: What) {
        self.times.push(Entry { at, host, stmt, ticket: Some(ticket), is_told: false, what });
    }

    /// Puts the times of the device in their order, once all are known. Operations without times of their own take none: each is
    /// where the one before it in its stream has ended, and from a wait on where the next one starts, or what it waits for has ended.
    pub(super) fn close(&mut self) {
        let mut known: BTreeMap<Ticket, [Option<Nanos>; 2]> = BTreeMap::new();
        let mut vague = BTreeSet::new();
        for entry in self.times.drain(..) {
            let Some(ticket) = entry.ticket else { continue };
            vague.extend((!entry.is_told).then_some(ticket));
            known.entry(ticket).or_default()[usize::from(matches!(entry.what, What::End))] = Some(entry.at);
        }
        let known: BTreeMap<Ticket, (Nanos, Nanos)> =
            known.into_iter().filter_map(|(ticket, [start, end])| Some((ticket, (start?, end?)))).collect();
        let next = |ticket: Ticket| {
            let last = Ticket { seq: u32::MAX, ..ticket };
            known.range(ticket..=last).next().map(|(_, (start, _))| *start)
        };
        let (mut streams, mut records) = (BTreeMap::<StreamId, Nanos>::new(), BTreeMap::new());
        for entry in &self.calls {
            let (What::Submitted(call), Some(ticket)) = (&entry.what, entry.ticket) else { continue };
            let earliest = streams.entry(ticket.stream).or_default();
            let told = known.get(&ticket).copied();
            let (start, end) = told.unwrap_or_else(|| {
                let at = match call {
                    Call::Wait { event, .. } => next(ticket).or_else(|| records.get(event).copied()),
                    _ => None,
                };
                let at = at.unwrap_or(entry.at);
                (at, at)
            });
            // A stream goes on from one operation to the next, and no operation starts before its call, whatever the resolution of
            // the times is.
            let start = start.max(*earliest).max(entry.at);
            *earliest = end.max(start);
            if let Call::Record { event, .. } = call {
                records.insert(*event, *earliest);
            }
            let is_told = told.is_some() && !vague.contains(&ticket);
            if !is_told {
                self.untold.insert(entry.stmt);
            }
            let (host, stmt, ticket) = (entry.host, entry.stmt, entry.ticket);
            let at = |at, what| Entry { at, what, is_told, host, stmt, ticket };
            self.times.extend([at(start, What::Start), at(*earliest, What::End)]);
        }
        self.times.sort_by_key(|entry| entry.at);
    }

    /// The statements with operations of which no device has told when they were.
    pub(super) fn untold(&self) -> &BTreeSet<StmtId> {
        &self.untold
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
        self.tell(sink, |_| true);
    }

    /// The same, without the times of operations that no device has told: for who takes them for what has happened.
    pub fn replay_told(&self, sink: &mut impl Sink) {
        self.tell(sink, |entry| entry.is_told);
    }

    fn tell(&self, sink: &mut impl Sink, which: impl Fn(&Entry) -> bool) {
        let mut times = self.times.iter().filter(|entry| which(entry)).peekable();
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
    let Entry { at, host, stmt, ticket, ref what, .. } = *entry;
    sink.event(&Event { at, host, stmt, ticket, kind: what.kind() });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::EventId;
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

    const BY: (HostId, StmtId) = (HostId::from_raw_unchecked(0), StmtId::from_raw_unchecked(0));

    fn ticket(seq: u32) -> Ticket {
        Ticket { stream: StreamId::new(0), seq }
    }

    fn told(log: &mut Log) -> Vec<(u64, bool)> {
        log.close();
        let mut times = Times(Vec::new());
        log.replay(&mut times);
        times.0
    }

    #[test]
    fn device_and_host_are_told_in_the_order_of_time() {
        let mut log = Log::default();
        let call = Call::Record { stream: StreamId::new(0), event: EventId::new(0) };
        log.host(Nanos(5), BY, Some(ticket(1)), What::Submitted(call));
        log.host(Nanos(20), BY, None, What::Met);
        // A clock that went back.
        log.host(Nanos(19), BY, None, What::Met);
        log.device(Nanos(30), BY, ticket(1), What::End);
        log.device(Nanos(5), BY, ticket(1), What::Start);
        assert_eq!(told(&mut log), [(5, true), (5, true), (20, false), (20, false), (30, true)]);
        assert_eq!(log.end(), Nanos(30));
    }

    #[test]
    fn operations_that_take_no_time_are_beside_those_that_do() {
        let (stream, event) = (StreamId::new(0), EventId::new(0));
        let (record, wait) = (Call::Record { stream, event }, Call::Wait { stream, event });
        let mut log = Log::default();
        for (seq, call) in (1..).zip([&record, &record, &record, &wait, &record, &record, &wait]) {
            log.host(Nanos(u64::from(seq)), BY, Some(ticket(seq)), What::Submitted(call.clone()));
        }
        for (seq, start, end) in [(2, 10, 20), (6, 50, 60)] {
            log.device(Nanos(start), BY, ticket(seq), What::Start);
            log.device(Nanos(end), BY, ticket(seq), What::End);
        }
        log.close();
        let time = |entry: &Entry| (entry.ticket.map_or(0, |ticket| ticket.seq), entry.at.0);
        let expected = [
            (1, 1),
            (1, 1),
            (2, 10),
            (2, 20),
            (3, 20),
            (3, 20),
            (4, 50),
            (4, 50),
            (5, 50),
            (5, 50),
            (6, 50),
            (6, 60),
            (7, 60),
            (7, 60),
        ];
        assert_eq!(log.times.iter().map(time).collect::<Vec<_>>(), expected);
    }
}
