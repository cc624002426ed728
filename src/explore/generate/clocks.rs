//! What is before what in a made-up scenario, as far as each host thread can rely on it.
//!
//! Calls of different threads have an order only where the threads meet. So each thread has a view of its own: the streams as
//! far as the calls go that surely precede its next one. What holds in a view holds for every interleaving and every timing. A second
//! half of each clock has what may be before a point in some run, for those who want to be sure of the opposite.
//!
//! Rules: CUDA driver API, `cuEventRecord`, `cuStreamWaitEvent`, "Stream synchronization behavior", `cuStreamSynchronize`.

use super::program::{SLOTS, Target};
use crate::trace::StreamKind;
use std::collections::BTreeMap;

/// A point: the `at`-th operation of a stream that a host thread has submitted, or the `at`-th call of a host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    agent: usize,
    at: u32,
}

/// What is before a point.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    always: Vec<u32>,
    perhaps: Vec<u32>,
}

impl Clock {
    fn new(width: usize) -> Self {
        Self { always: vec![0; width], perhaps: vec![0; width] }
    }

    pub(super) fn has(&self, mark: Mark) -> bool {
        self.always[mark.agent] >= mark.at
    }

    pub(super) fn may_have(&self, mark: Mark) -> bool {
        self.perhaps[mark.agent] >= mark.at
    }

    fn set(&mut self, mark: Mark) {
        self.always[mark.agent] = mark.at;
        self.perhaps[mark.agent] = mark.at;
    }

    pub(super) fn join(&mut self, other: &Clock) {
        join(&mut self.always, &other.always);
        self.join_perhaps(other);
    }

    /// Joins another one, which is only perhaps before it.
    pub(super) fn join_perhaps(&mut self, other: &Clock) {
        join(&mut self.perhaps, &other.perhaps);
    }
}

fn join(into: &mut [u32], from: &[u32]) {
    into.iter_mut().zip(from).for_each(|(into, from)| *into = (*into).max(*from));
}

/// What a host thread can rely on at its next call.
#[derive(Clone, Debug)]
pub(super) struct View {
    host: Clock,
    /// For each stream, what is before its next operation.
    lanes: Vec<Clock>,
    /// What the legacy default stream puts before the next operation of a blocking stream.
    barrier: Clock,
    /// What each event has captured last, and when that was.
    records: BTreeMap<usize, (u32, Clock)>,
}

impl View {
    fn join(&mut self, other: &View) {
        self.host.join(&other.host);
        self.lanes.iter_mut().zip(&other.lanes).for_each(|(own, other)| own.join(other));
        self.barrier.join(&other.barrier);
        for (event, (when, clock)) in &other.records {
            if self.records.get(event).is_none_or(|(own, _)| own < when) {
                self.records.insert(*event, (*when, clock.clone()));
            }
        }
    }
}

/// The views of all host threads.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    kinds: Vec<StreamKind>,
    views: Vec<Option<View>>,
    /// How many operations or calls each has made.
    counts: Vec<u32>,
    signals: BTreeMap<usize, View>,
    records: u32,
}

impl Clocks {
    pub(super) fn new(kinds: Vec<StreamKind>) -> Self {
        let width = SLOTS * (kinds.len() + 1);
        let clock = || Clock::new(width);
        let view = View {
            host: clock(),
            lanes: kinds.iter().map(|_| clock()).collect(),
            barrier: clock(),
            records: BTreeMap::new(),
        };
        let views = std::iter::once(Some(view)).chain((1..SLOTS).map(|_| None)).collect();
        Self { kinds, views, counts: vec![0; width], signals: BTreeMap::new(), records: 0 }
    }

    pub(super) fn empty(&self) -> Clock {
        Clock::new(self.counts.len())
    }

    /// Whether the first host thread is the only one.
    pub(super) fn is_alone(&self) -> bool {
        self.views[1..].iter().all(Option::is_none)
    }

    fn view(&self, slot: usize) -> &View {
        self.views[slot].as_ref().expect("who makes a call was started")
    }

    fn view_mut(&mut self, slot: usize) -> &mut View {
        self.views[slot].as_mut().expect("who makes a call was started")
    }

    fn next(&mut self, agent: usize) -> Mark {
        self.counts[agent] += 1;
        Mark { agent, at: self.counts[agent] }
    }

    /// The stream of a mark, if it is one of an operation.
    pub(super) fn stream_of(&self, mark: Mark) -> Option<usize> {
        let streams = self.kinds.len();
        (mark.agent < SLOTS * streams).then_some(mark.agent % streams)
    }

    /// A host thread makes a call.
    pub(super) fn call(&mut self, slot: usize) -> Mark {
        let mark = self.next(SLOTS * self.kinds.len() + slot);
        self.view_mut(slot).host.set(mark);
        mark
    }

    /// What is before the next call of a host thread.
    pub(super) fn host(&self, slot: usize) -> &Clock {
        &self.view(slot).host
    }

    /// What would be before an operation that a host thread submitted now.
    pub(super) fn before(&self, slot: usize, stream: usize) -> Clock {
        let view = self.view(slot);
        let mut clock = view.lanes[stream].clone();
        clock.join(&view.host);
        match self.kinds[stream] {
            StreamKind::NonBlocking => {}
            StreamKind::Blocking | StreamKind::PerThread => clock.join(&view.barrier),
            StreamKind::Legacy => self.blocking().for_each(|other| clock.join(&view.lanes[other])),
        }
        clock
    }

    fn blocking(&self) -> impl Iterator<Item = usize> + '_ {
        let kinds = self.kinds.iter().enumerate();
        let blocking = kinds.filter(|(_, kind)| matches!(kind, StreamKind::Blocking | StreamKind::PerThread));
        blocking.map(|(stream, _)| stream)
    }

    /// An operation with this before it is in its stream.
    pub(super) fn submit(&mut self, slot: usize, stream: usize, mut before: Clock) -> Mark {
        let mark = self.next(slot * self.kinds.len() + stream);
        before.set(mark);
        let is_legacy = self.kinds[stream] == StreamKind::Legacy;
        let view = self.view_mut(slot);
        if is_legacy {
            view.barrier = before.clone();
        }
        view.lanes[stream] = before;
        mark
    }

    /// An event captures what a stream has so far.
    pub(super) fn record(&mut self, slot: usize, stream: usize, event: usize) {
        self.records += 1;
        let when = self.records;
        let view = self.view_mut(slot);
        view.records.insert(event, (when, view.lanes[stream].clone()));
    }

    /// What an event has captured last.
    pub(super) fn captured(&self, slot: usize, event: usize) -> Option<&Clock> {
        self.view(slot).records.get(&event).map(|(_, clock)| clock)
    }

    /// What a host thread waits for that waits for this.
    pub(super) fn awaited(&self, slot: usize, target: Target) -> Clock {
        let view = self.view(slot);
        let mut clock = view.host.clone();
        match target {
            Target::Event(event) => {
                self.captured(slot, event).into_iter().for_each(|other| clock.join(other));
            }
            Target::Stream(stream) => {
                clock.join(&view.lanes[stream]);
                if self.kinds[stream] == StreamKind::Legacy {
                    self.blocking().for_each(|other| clock.join(&view.lanes[other]));
                }
            }
            Target::Device => view.lanes.iter().for_each(|other| clock.join(other)),
        }
        clock
    }

    /// A host thread has waited for something.
    pub(super) fn learn(&mut self, slot: usize, clock: &Clock) {
        self.view_mut(slot).host.join(clock);
    }

    /// A host thread has perhaps found something complete.
    pub(super) fn learn_perhaps(&mut self, slot: usize, clock: &Clock) {
        self.view_mut(slot).host.join_perhaps(clock);
    }

    /// A signal carries what a host thread knows, and what is before the end of the latest operation of a stream.
    pub(super) fn signal(&mut self, slot: usize, signal: usize, stream: Option<usize>) {
        let mut view = self.view(slot).clone();
        if let Some(stream) = stream {
            let View { host, lanes, .. } = &mut view;
            host.join(&lanes[stream]);
        }
        self.signals.insert(signal, view);
    }

    /// Each signal is awaited once.
    pub(super) fn receive(&mut self, slot: usize, signal: usize) {
        if let Some(view) = self.signals.remove(&signal) {
            self.view_mut(slot).join(&view);
        }
    }

    pub(super) fn spawn(&mut self, slot: usize, new: usize) {
        self.views[new] = Some(self.view(slot).clone());
    }

    pub(super) fn join(&mut self, slot: usize, ended: usize) {
        if let Some(view) = self.views[ended].take() {
            self.view_mut(slot).join(&view);
        }
    }
}
