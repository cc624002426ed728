//! Whose turn it is by priority: probabilistic concurrency testing (S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte: "A
//! Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS 2010).
//!
//! Before a run the n host threads get priorities in a random order, and d - 1 times one of the k calls is drawn that threads may
//! make once there are several. Of those threads that could call, the one of the highest priority does. A thread that comes to
//! a drawn call has a lower priority from there on, below all those of the beginning: d - 1 for the call that was drawn first, 1
//! for the last one. The calls of a thread are counted where it is chosen among several; elsewhere a priority decides nothing.
//!
//! **The bound.** A fault has depth d if there are a thread and d - 1 calls so that every run comes to it where that thread is the
//! last one in the beginning and those calls are the ones drawn, in this order. Each run finds it with a probability of at least
//! 1 / (n k^(d - 1)):
//! - Durations and delays are drawn apart from priorities. Take them as given, those with which the fault can happen: what
//!   happens then is settled by who is chosen, time after time.
//! - The thread is the last one with a probability of 1 / n. Take the order of the others as given too.
//! - Each draw hits its call with a probability of 1 / k, for itself, since [`Program::turns`] gives each thread no fewer calls
//!   than it can be chosen for.
//! - A fault that needs less is found as often. The last call of a run is made by the only thread that is left, which is not
//!   chosen for it; a draw beyond those that are needed, of this call, changes nothing.
//!
//! d orderings, each of a call of one thread before a call of another, make a fault of depth d at most, where the times of calls
//! do not hang on who is chosen, and nobody who waits can be kept waiting by what comes later (a signal, a join and a barrier
//! are so). Take a run that keeps them, and their second calls in the order of that run. The thread of the first one is the last
//! one in the beginning; the draws hit the others. Let a thread be chosen for one of them before the first call of that ordering
//! was made. Whoever stands higher has ended, waits or is further on in time; whoever stands lower has come to a later one of
//! them. So to follow who waits for whom, from the thread of that first call on, leads to this second call or a later one: it has
//! to come before that first call in every run. In the run that was taken it does not.
//!
//! Streams have no priority: how far devices are follows from times, and these are drawn as without priorities. Nor does one bring
//! together two calls that times keep apart. What a call that has blocked does on its return goes with the call.

use crate::base::{Draws, HostId, IndexVec, reuse_on_clone};
use crate::scenario::Program;
use crate::trace::Turns;

/// What a run is promised to find, and how it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// n: the host threads of the program.
    pub threads: u64,
    /// k: the calls that threads make at most once there are several, the loops unrolled and every `else` block carried out.
    pub calls: u64,
    /// d: the depth of faults that it holds for, or less.
    pub depth: u8,
}

impl Bound {
    /// That of a program whose turns are settled by priority. `None`: they are not, or there is one host thread.
    pub fn of(program: &Program) -> Option<Self> {
        let Turns::ByPriority { depth } = program.setup.turns else { return None };
        let calls = program.turns().iter().fold(0u64, |sum, turns| sum.saturating_add(*turns));
        let threads = program.setup.hosts as u64;
        (threads > 1 && calls > 0).then_some(Self { threads, calls, depth })
    }

    /// One run in so many finds such a fault, or more often: n k^(d - 1). `None`: in 2^64 or more.
    pub fn runs(&self) -> Option<u64> {
        let Self { threads, calls, depth } = *self;
        let changes = u32::from(depth.saturating_sub(1));
        calls.checked_pow(changes)?.checked_mul(threads)
    }
}

/// The priorities of host threads in a run.
#[derive(Debug)]
pub(super) struct Priorities {
    depth: u8,
    /// How many calls may be drawn of a thread and of those before it.
    until: IndexVec<HostId, u64>,
    /// The higher, the earlier.
    now: IndexVec<HostId, usize>,
    changes: Vec<Change>,
    /// For how many calls a thread was chosen.
    chosen: IndexVec<HostId, u64>,
}

reuse_on_clone!(Priorities { depth, until, now, changes, chosen });

/// A thread that comes to a call gets another priority.
#[derive(Clone, Copy, Debug)]
struct Change {
    host: HostId,
    /// For how many calls it was chosen before.
    after: u64,
    priority: usize,
}

impl Priorities {
    /// Before they are drawn. `None`: the program wants none.
    pub(super) fn of(program: &Program) -> Option<Self> {
        let Turns::ByPriority { depth } = program.setup.turns else { return None };
        let mut all = 0u64;
        let until = program.turns().into_iter().map(|turns| {
            all = all.saturating_add(turns);
            all
        });
        let hosts = program.setup.hosts;
        Some(Self {
            depth,
            until: until.collect(),
            now: (0..hosts).collect(),
            changes: Vec::new(),
            chosen: (0..hosts).map(|_| 0).collect(),
        })
    }

    /// Draws those of another run.
    pub(super) fn draw(&mut self, draws: &mut Draws) {
        let Self { depth, until, now, changes, chosen } = self;
        chosen.iter_mut().for_each(|chosen| *chosen = 0);
        let lowest = usize::from(*depth);
        now.iter_mut().enumerate().for_each(|(nth, priority)| *priority = lowest + nth);
        for last in (1..now.len()).rev() {
            let other = draws.below(last as u64 + 1) as usize;
            now.swap(HostId::from_usize(last), HostId::from_usize(other));
        }
        changes.clear();
        let calls = until.last().copied().unwrap_or(0);
        for priority in (1..lowest).rev().filter(|_| calls > 0) {
            let drawn = draws.below(calls);
            let host = HostId::from_usize(until.iter().take_while(|until| **until <= drawn).count());
            let before = if host.index() == 0 { 0 } else { until[host - 1] };
            changes.push(Change { host, after: drawn - before, priority });
        }
        now.indices().for_each(|host| self.comes_to_its_next_call(host));
    }

    /// The place of the thread whose turn it is.
    pub(super) fn pick(&mut self, among: &[HostId], returns: &dyn Fn(HostId) -> bool) -> usize {
        let first = among.iter().enumerate().max_by_key(|(_, host)| self.now[**host]);
        let Some((place, host)) = first else { return 0 };
        if !returns(*host) {
            self.chosen[*host] += 1;
            self.comes_to_its_next_call(*host);
        }
        place
    }

    fn comes_to_its_next_call(&mut self, host: HostId) {
        let Self { now, changes, chosen, .. } = self;
        let own = changes.iter().filter(|change| change.host == host && change.after == chosen[host]);
        own.for_each(|change| now[host] = change.priority);
    }
}
