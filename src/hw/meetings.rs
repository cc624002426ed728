//! Where host threads meet: signals, barriers, the ends of threads, and whose turn it is to call. None of that is a call of CUDA.
//!
//! Nobody waits for ever: a wait during which nothing at all has happened for long ends the run.

use crate::base::{BarrierId, HostId, SignalId};
use crate::trace::Setup;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two looks at whether time has passed.
const LOOK: Duration = Duration::from_micros(20);

/// The run was given up: what was waited for does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivenUp;

#[derive(Debug, Default)]
struct State {
    given: Vec<bool>,
    ended: Vec<bool>,
    /// For each barrier how many have come to it, and how often it has let go.
    barriers: BTreeMap<BarrierId, (u32, u64)>,
    /// For each signal, how many functions in streams wait for it.
    waiting: Vec<u32>,
    /// How many calls have been made, of those whose order is stated.
    called: usize,
    /// Counts what happens.
    happened: u64,
    given_up: bool,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Meetings {
    state: Mutex<State>,
    changed: Condvar,
    sizes: Vec<u32>,
    /// After so long in which nothing happens, those that wait give up.
    patience: Duration,
    /// Whose call is next, for each; after these, whoever comes first.
    order: Vec<HostId>,
}

impl Meetings {
    /// Nothing has happened. Threads make their calls in this order, as far as it goes.
    pub(super) fn new(setup: &Setup, order: Vec<HostId>, patience: Duration) -> Self {
        let (given, ended) = (vec![false; setup.signals], vec![false; setup.hosts]);
        let waiting = vec![0; setup.signals];
        let state = Mutex::new(State { given, ended, waiting, ..State::default() });
        Self {
            state,
            changed: Condvar::new(),
            sizes: setup.barriers.iter().copied().collect(),
            patience,
            order,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn happens(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        state.happened += 1;
        drop(state);
        self.changed.notify_all();
    }

    fn until(&self, is_so: impl Fn(&State) -> bool) -> Result<(), GivenUp> {
        self.until_meanwhile(is_so, &|| false)
    }

    /// The same; `passes` lets time pass where it does not by itself, and says so.
    fn until_meanwhile(
        &self,
        is_so: impl Fn(&State) -> bool,
        passes: &dyn Fn() -> bool,
    ) -> Result<(), GivenUp> {
        let mut waited = Duration::ZERO;
        let mut state = self.lock();
        while !is_so(&state) {
            if state.given_up {
                return Err(GivenUp);
            }
            let before = state.happened;
            drop(state);
            let pause = if passes() { LOOK } else { self.patience };
            state = self.lock();
            if state.happened == before {
                let (woken, _) =
                    self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
                state = woken;
            }
            waited = if state.happened == before { waited + pause } else { Duration::ZERO };
            if waited >= self.patience {
                state.given_up = true;
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    /// Waits until it is a thread's turn. One that makes more calls than the order has goes on as it comes.
    pub(super) fn turn(&self, host: HostId) -> Result<(), GivenUp> {
        if self.order.is_empty() {
            return Ok(());
        }
        self.until(|state| {
            // Who has ended earlier than the order has it leaves its turns to the others.
            let mut rest = self.order[state.called..].iter().filter(|host| !state.ended[host.index()]);
            rest.next().is_none_or(|next| *next == host) || rest.all(|other| *other != host)
        })
    }

    /// A thread has made the call that its turn was for.
    pub(super) fn called(&self, host: HostId) {
        if self.order.is_empty() {
            return;
        }
        self.happens(|state| {
            let rest = &self.order[state.called..];
            let next = rest.iter().position(|next| !state.ended[next.index()]);
            if let Some(next) = next.filter(|next| rest[*next] == host) {
                state.called += next + 1;
            }
        });
    }

    /// A signal is given, and stays so.
    pub(super) fn give(&self, signal: SignalId) {
        self.happens(|state| state.given[signal.index()] = true);
    }

    /// Waits for a signal; `passes` as for what a function in a stream may give.
    pub(super) fn await_signal(&self, signal: SignalId, passes: &dyn Fn() -> bool) -> Result<(), GivenUp> {
        self.until_meanwhile(|state| state.given[signal.index()], passes)
    }

    /// A function in a stream begins to wait for a signal, or goes on.
    pub(super) fn function_waits(&self, signal: SignalId, waits: bool) {
        self.happens(|state| {
            let waiting = &mut state.waiting[signal.index()];
            *waiting = if waits { *waiting + 1 } else { waiting.saturating_sub(1) };
        });
    }

    /// Waits until the functions in streams that have waited for a signal go on, which was given.
    pub(super) fn functions_go_on(&self, signal: SignalId) -> Result<(), GivenUp> {
        self.until(|state| state.waiting[signal.index()] == 0)
    }

    /// Whether what is waited for is not expected any more.
    pub(super) fn has_given_up(&self) -> bool {
        self.lock().given_up
    }

    /// A thread begins; it may have run before.
    pub(super) fn begins(&self, host: HostId) {
        self.happens(|state| state.ended[host.index()] = false);
    }

    pub(super) fn ends(&self, host: HostId) {
        self.happens(|state| state.ended[host.index()] = true);
    }

    pub(super) fn join(&self, host: HostId) -> Result<(), GivenUp> {
        self.until(|state| state.ended[host.index()])
    }

    /// Waits until as many as it counts have come to a barrier.
    pub(super) fn come_to(&self, barrier: BarrierId) -> Result<(), GivenUp> {
        let size = self.sizes[barrier.index()];
        let mut round = 0;
        self.happens(|state| {
            let (come, rounds) = state.barriers.entry(barrier).or_default();
            round = *rounds;
            *come += 1;
            if *come == size {
                (*come, *rounds) = (0, *rounds + 1);
            }
        });
        self.until(|state| state.barriers[&barrier].1 > round)
    }

    /// Everybody who waits gives up.
    pub(super) fn give_up(&self) {
        self.happens(|state| state.given_up = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::IndexVec;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn threads_meet() {
        let barriers = IndexVec::from_vec(vec![2]);
        let setup = Setup { signals: 1, hosts: 2, barriers, ..Setup::default() };
        let meetings = Meetings::new(&setup, Vec::new(), PATIENCE);
        let (signal, barrier, child) = (SignalId::new(0), BarrierId::new(0), HostId::new(1));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                meetings.await_signal(signal, &|| false).expect("it is given");
                for _ in 0..100 {
                    meetings.come_to(barrier).expect("both come");
                }
                meetings.ends(child);
            });
            meetings.give(signal);
            for _ in 0..100 {
                meetings.come_to(barrier).expect("both come");
            }
            meetings.join(child).expect("it ends");
        });
        meetings.give_up();
        assert_eq!(meetings.come_to(barrier), Err(GivenUp));
    }

    #[test]
    fn calls_are_made_in_order() {
        let setup = Setup { hosts: 2, ..Setup::default() };
        let [main, child] = [0, 1].map(HostId::new);
        let order = vec![main, child, child, main, child, main];
        let meetings = Meetings::new(&setup, order, PATIENCE);
        let made = Mutex::new(Vec::new());
        let call = |host: HostId| {
            meetings.turn(host).expect("it is its turn");
            made.lock().expect("no thread panics").push(host);
            meetings.called(host);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                (0..2).for_each(|_| call(child));
                // It ends one call too early.
                meetings.ends(child);
            });
            // Two calls more than the order has.
            (0..5).for_each(|_| call(main));
        });
        let order = [main, child, child, main, main, main, main];
        assert_eq!(made.into_inner().expect("no thread panics"), order);
    }
}
