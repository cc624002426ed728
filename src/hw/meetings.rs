//! Where host threads meet: signals, barriers, the ends of threads, and whose turn it is. None of that is a call of CUDA.
//!
//! Nobody waits for ever: a wait during which nothing at all happens for long ends the run, unless somebody sleeps and will go on, or
//! devices may still be at work.

use super::turns::{Turn, Turns};
use crate::base::{BarrierId, HostId, SignalId, StmtId};
use crate::trace::{Setup, Ticket};
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Between two looks at whether time has passed.
const LOOK: Duration = Duration::from_micros(20);

/// The run was given up: what was waited for does not come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GivenUp;

/// Who has given a signal first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Giver {
    Thread,
    /// A function in a stream, which is this operation.
    Function(Ticket),
}

/// A function in a stream that waits for a signal, or has waited in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) signal: SignalId,
    pub(super) by: (HostId, StmtId),
    pub(super) at: Ticket,
}

#[derive(Debug, Default)]
struct State {
    given: Vec<Option<Giver>>,
    ended: Vec<bool>,
    /// For each barrier how many have come to it, and how often it has let go.
    barriers: BTreeMap<BarrierId, (u32, u64)>,
    /// The functions in streams that wait for a signal.
    waiting: Vec<Waiting>,
    turns: Turns,
    /// How many threads sleep.
    asleep: u32,
    /// For so long devices, or functions in streams, may be at work.
    work: Duration,
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
    /// After so long in which nothing happens, beyond what devices have to do, those that wait give up.
    patience: Duration,
}

impl Meetings {
    /// Nothing has happened. Threads take these turns, as far as they go.
    pub(super) fn new(setup: &Setup, turns: Vec<Turn>, patience: Duration) -> Self {
        let state = State {
            given: vec![None; setup.signals],
            ended: vec![false; setup.hosts],
            turns: Turns::new(turns),
            ..State::default()
        };
        let sizes = setup.barriers.iter().copied().collect();
        Self { state: Mutex::new(state), changed: Condvar::new(), sizes, patience }
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
        self.until_meanwhile(is_so, &|| false, &|state| {
            state.given_up = true;
        })
    }

    /// The same; `passes` lets time pass where it does not by itself, and says so; `in_vain` is what becomes of a wait that has taken
    /// too long.
    fn until_meanwhile(
        &self,
        is_so: impl Fn(&State) -> bool,
        passes: &dyn Fn() -> bool,
        in_vain: &dyn Fn(&mut State),
    ) -> Result<(), GivenUp> {
        let mut waited = Duration::ZERO;
        let mut state = self.lock();
        while !is_so(&state) {
            if state.given_up {
                return Err(GivenUp);
            }
            let before = state.happened;
            drop(state);
            let passes = passes();
            state = self.lock();
            let patience = self.patience.saturating_add(state.work);
            let pause = if passes { LOOK } else { patience.saturating_sub(waited) };
            // A thread may be woken up for no reason, and one that was woken up late has not waited in vain.
            let mut is_over = false;
            if state.happened == before {
                let (woken, timeout) =
                    self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner);
                (state, is_over) = (woken, timeout.timed_out());
            }
            if state.happened != before || state.asleep > 0 {
                waited = Duration::ZERO;
            } else if is_over {
                waited += pause;
            }
            if waited >= patience {
                in_vain(&mut state);
                self.changed.notify_all();
            }
        }
        Ok(())
    }

    /// Waits until it is a thread's turn to call. Turns that do not come are given up: the run then goes another way.
    pub(super) fn turn_to_call(&self, host: HostId) -> Result<(), GivenUp> {
        self.turn(|turns| turns.may_call(host))
    }

    /// Waits until it is the turn of a thread's call to return.
    pub(super) fn turn_to_return(&self, host: HostId) -> Result<(), GivenUp> {
        self.turn(|turns| turns.may_return(host))
    }

    fn turn(&self, may: impl Fn(&Turns) -> bool) -> Result<(), GivenUp> {
        self.until_meanwhile(|state| may(&state.turns), &|| false, &|state| state.turns.give_up())
    }

    /// Whether threads take turns.
    #[cfg(test)]
    pub(super) fn has_turns(&self) -> bool {
        !self.lock().turns.are_over()
    }

    /// A thread has made a call.
    pub(super) fn called(&self, host: HostId, stmt: StmtId) {
        self.happens(|state| state.turns.called(host, stmt));
    }

    /// The call of a thread has returned.
    pub(super) fn returned(&self, host: HostId) {
        self.happens(|state| state.turns.returned(host));
    }

    /// A thread sleeps, and will go on.
    pub(super) fn asleep<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.happens(|state| state.asleep += 1);
        let waited = wait();
        self.happens(|state| state.asleep -= 1);
        waited
    }

    /// For so long devices, or functions in streams, may be at work from now on.
    pub(super) fn may_work(&self, length: Duration) {
        self.lock().work = length;
    }

    /// A signal is given, and stays so.
    pub(super) fn give(&self, signal: SignalId, by: Giver) {
        self.happens(|state| {
            state.given[signal.index()].get_or_insert(by);
        });
    }

    pub(super) fn is_given(&self, signal: SignalId) -> bool {
        self.lock().given[signal.index()].is_some()
    }

    /// The operation that has given a signal, if one has before any thread.
    pub(super) fn given_by(&self, signal: SignalId) -> Option<Ticket> {
        match self.lock().given[signal.index()] {
            Some(Giver::Function(ticket)) => Some(ticket),
            Some(Giver::Thread) | None => None,
        }
    }

    /// Waits for a signal; `passes` as for what a function in a stream may give.
    pub(super) fn await_signal(&self, signal: SignalId, passes: &dyn Fn() -> bool) -> Result<(), GivenUp> {
        self.until_meanwhile(|state| state.given[signal.index()].is_some(), passes, &|state| {
            state.given_up = true
        })
    }

    /// A function in a stream begins to wait for a signal. One that waits in vain never goes on.
    pub(super) fn function_waits(&self, function: Waiting) {
        self.happens(|state| state.waiting.push(function));
    }

    pub(super) fn function_goes_on(&self, at: Ticket) {
        self.happens(|state| state.waiting.retain(|other| other.at != at));
    }

    /// The functions in streams that wait, the one that began first before the others.
    pub(super) fn waiting(&self) -> Vec<Waiting> {
        self.lock().waiting.clone()
    }

    /// Waits until the functions in streams that have waited for a signal go on, which was given.
    pub(super) fn functions_go_on(&self, signal: SignalId) -> Result<(), GivenUp> {
        self.until(|state| state.waiting.iter().all(|function| function.signal != signal))
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

    fn meetings(hosts: u32, turns: Vec<Turn>) -> Meetings {
        let barriers = IndexVec::from_vec(vec![hosts]);
        Meetings::new(
            &Setup { signals: 1, hosts: hosts as usize, barriers, ..Setup::default() },
            turns,
            PATIENCE,
        )
    }

    #[test]
    fn threads_meet() {
        let (signal, barrier) = (SignalId::new(0), BarrierId::new(0));
        for _ in 0..20 {
            let meetings = meetings(3, Vec::new());
            std::thread::scope(|scope| {
                for child in [1, 2].map(HostId::new) {
                    let meetings = &meetings;
                    scope.spawn(move || {
                        meetings.await_signal(signal, &|| false).expect("it is given");
                        (0..100).for_each(|_| meetings.come_to(barrier).expect("all come"));
                        meetings.ends(child);
                    });
                }
                meetings.give(signal, Giver::Thread);
                (0..100).for_each(|_| meetings.come_to(barrier).expect("all come"));
                meetings.join(HostId::new(1)).expect("it ends");
                meetings.join(HostId::new(2)).expect("it ends");
            });
            meetings.give_up();
            assert_eq!(meetings.come_to(barrier), Err(GivenUp));
        }
    }

    #[test]
    fn calls_are_made_in_turn() {
        let [main, child] = [0, 1].map(HostId::new);
        let stmt = StmtId::new(0);
        let order = [main, child, child, main, child, main];
        let meetings = meetings(2, order.map(|host| Turn::Calls(host, stmt)).to_vec());
        let made = Mutex::new(Vec::new());
        let call = |host: HostId| {
            meetings.turn_to_call(host).expect("it is its turn");
            made.lock().expect("no thread panics").push(host);
            meetings.called(host, stmt);
        };
        std::thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| call(child)));
            // Two calls more than the order has.
            (0..5).for_each(|_| call(main));
        });
        let order = [main, child, child, main, child, main, main, main];
        assert_eq!(made.into_inner().expect("no thread panics"), order);
    }

    /// Nobody is given up while somebody sleeps, and turns that do not come are.
    #[test]
    fn patience_ends_only_where_nothing_happens() {
        let setup = Setup { signals: 1, hosts: 2, ..Setup::default() };
        let turns = vec![Turn::Calls(HostId::new(1), StmtId::new(0))];
        let meetings = Meetings::new(&setup, turns, Duration::from_millis(20));
        let signal = SignalId::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                meetings.asleep(|| std::thread::sleep(Duration::from_millis(120)));
                meetings.give(signal, Giver::Thread);
            });
            assert_eq!(meetings.await_signal(signal, &|| false), Ok(()));
        });
        meetings.begins(HostId::new(0));
        assert_eq!((meetings.turn_to_call(HostId::new(0)), meetings.has_turns()), (Ok(()), true));
        let turns = [0, 1].map(|host| Turn::Calls(HostId::new(1 - host), StmtId::new(0))).to_vec();
        let meetings = Meetings::new(&setup, turns, Duration::from_millis(20));
        assert_eq!((meetings.turn_to_call(HostId::new(0)), meetings.has_turns()), (Ok(()), false));
        assert_eq!((meetings.join(HostId::new(1)), meetings.has_given_up()), (Err(GivenUp), true));
    }
}
