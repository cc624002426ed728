//! The host threads of a program, each a thread of this process.
//!
//! A call that waits does so without the lock that the others share. What such a call proves is known once it has returned.

use super::calls::{By, Made, Trouble, Wait, Work};
use super::driver;
use super::host::Observe;
use super::log::What;
use super::meetings::GivenUp;
use super::session::{Session, State};
use crate::base::{HostId, Nanos};
use crate::scenario::Step;
use crate::trace::{Call, Deadlock, Failure, Reply, Waiter, join};
use std::thread::Scope;

/// Between two queries of a poll.
const PAUSE: Nanos = Nanos(100);

/// The host thread that begins the program.
pub(super) const MAIN: HostId = HostId::from_raw_unchecked(0);

impl Session<'_> {
    /// Runs a host thread to its end; those that it starts run beside it.
    pub(super) fn thread<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, host: HostId) {
        self.meetings.begins(host);
        let mut call = Call::Exit;
        while self.turn(scope, host, &mut call) {}
        self.meetings.ends(host);
    }

    /// One step. `false`: the thread has ended, or the run has.
    fn turn<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, host: HostId, call: &mut Call) -> bool {
        let is_turn = self.meetings.turn(host);
        let mut state = self.lock();
        if state.stop.is_some() {
            return false;
        }
        if is_turn.is_err() || state.hangs {
            return false;
        }
        let stmt = match state.cursor.next(self.program, host, call) {
            Step::Call(stmt) => stmt,
            Step::Skipped(stmt, buffer) => {
                state.log.host(self.now(), (host, stmt), None, What::Skipped(buffer));
                return true;
            }
            Step::Broken(stmt, broken) => {
                self.stop(&mut state, (host, stmt), broken.to_string());
                return false;
            }
            Step::Done => return false,
        };
        let by = (host, stmt);
        if let Call::Alloc { stream, pool: pool @ None, .. } = call {
            *pool = state.current[self.program.setup.streams[*stream].device];
        }
        if !matches!(call, Call::Peek(_)) {
            state.log.host(self.now(), by, None, What::Call(call.clone()));
        }
        let made = self.make(&mut state, by, call);
        if !matches!(call, Call::Peek(_)) {
            self.meetings.called(host);
            self.host.called();
        }
        let result = match made {
            Ok(Made::Reply(reply)) => Ok(reply),
            Ok(Made::Waits(wait)) => {
                drop(state);
                let waited = self.wait_for(&wait);
                state = self.lock();
                waited.and_then(|()| self.returns(&mut state, by, wait))
            }
            Err(trouble) => Err(trouble),
        };
        let result = match result {
            Ok(reply) => Ok(reply),
            Err(Trouble::Fails(failure)) => {
                state.log.host(self.now(), by, None, What::Failed(failure, call.clone()));
                Err(failure)
            }
            Err(Trouble::Hangs) => {
                self.hangs(&mut state, by);
                return false;
            }
            Err(Trouble::Ends(reason)) => {
                self.stop(&mut state, by, reason);
                return false;
            }
        };
        self.answer(&mut state, by, call, &result);
        drop(state);
        match call {
            Call::Spawn(child) => {
                let child = *child;
                self.meetings.begins(child);
                scope.spawn(move || self.thread(scope, child));
                true
            }
            call => !matches!(call, Call::Exit),
        }
    }

    /// What a thread waits for does not come: it, and whoever else waits, stays where it is.
    fn hangs(&self, state: &mut State<'_>, by: By) {
        let deadlock =
            Deadlock { waiters: vec![Waiter::Host(by.0)], statements: vec![Some(by.1)], is_cycle: false };
        state.hangs = true;
        state.log.host(self.now(), by, None, What::Deadlock(deadlock));
        self.meetings.give_up();
    }

    /// Nobody goes on.
    fn stop(&self, state: &mut State<'_>, (_, stmt): By, reason: String) {
        state.stop.get_or_insert(super::Stop { stmt, reason });
        self.meetings.give_up();
    }

    fn answer(&self, state: &mut State<'_>, by: By, call: &Call, result: &Result<Reply, Failure>) {
        if let (Ok(Reply::Allocated(_)), Some(buffer)) = (result, state.cursor.naming(by.0)) {
            state.log.host(self.now(), by, None, What::Named(buffer));
        }
        state.cursor.answer(by.0, result);
        let is_told = match self.observe {
            Observe::End => false,
            Observe::Sync => matches!(
                call,
                Call::Sync(_)
                    | Call::Trim { .. }
                    | Call::Set { .. }
                    | Call::SetPool { .. }
                    | Call::Destroy(_)
            ),
            Observe::Every => !call.only_looks(),
        };
        if is_told {
            self.tell_states(state, by);
        }
    }

    /// Waits, without the lock.
    fn wait_for(&self, wait: &Wait) -> Result<(), Trouble> {
        match wait {
            Wait::Work(Work::Stream(device, stream), _) => {
                self.enter(*device)?;
                driver::synchronise_stream(*stream)?;
            }
            Wait::Work(Work::Event(event), _) => driver::synchronise_event(*event)?,
            Wait::Work(Work::Device(device, _), _) => {
                self.enter(*device)?;
                driver::synchronise_context()?;
            }
            Wait::Poll(work, _) => {
                while !self.is_complete(work)? {
                    self.host.sleep(PAUSE);
                }
            }
            Wait::Copy(transfer, _) => {
                self.enter(transfer.device)?;
                transfer.make()?;
            }
            Wait::Sleep(duration) => self.host.sleep(*duration),
            Wait::Signal(signal) | Wait::Import(signal, _) => {
                // What a function in a stream gives comes once its stream has got there.
                let by_function = self.given_by_functions.contains(signal);
                let passes = || by_function && self.host.passes(PAUSE);
                self.meetings.await_signal(*signal, &passes)?;
            }
            Wait::End(host) => self.meetings.join(*host)?,
            Wait::Barrier(barrier) => self.meetings.come_to(*barrier)?,
        }
        Ok(())
    }

    /// A call that has waited returns.
    fn returns(&self, state: &mut State<'_>, by: By, wait: Wait) -> Result<Reply, Trouble> {
        if self.meetings.has_given_up() {
            return Err(GivenUp.into());
        }
        let now = self.now();
        match wait {
            Wait::Work(_, cut) => {
                self.saw(state, &cut);
                join(&mut state.observed, &cut);
                let observed = state.observed.clone();
                state.log.host(now, by, None, What::Synchronised(observed));
                let State { marks, log, .. } = state;
                marks.tell(log);
            }
            Wait::Poll(_, cut) => {
                self.saw(state, &cut);
                state.log.host(now, by, None, What::Seen(cut));
            }
            // An event behind it would be one more operation that has not completed.
            Wait::Copy(_, ticket) => state.log.device(now, by, ticket, What::End),
            Wait::Import(under, into) => return self.import(state, by, under, into),
            Wait::Signal(_) | Wait::End(_) | Wait::Barrier(_) => state.log.host(now, by, None, What::Met),
            Wait::Sleep(_) => {}
        }
        Ok(Reply::Done)
    }
}

impl From<GivenUp> for Trouble {
    fn from(GivenUp: GivenUp) -> Self {
        Trouble::Hangs
    }
}
