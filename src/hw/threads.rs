//! The host threads of a program, each a thread of this process.
//!
//! A call that waits does so without the lock that the others share. What such a call proves is known once it has returned.

use super::calls::{Answer, By, Made, Trouble, Wait};
use super::driver::{self, Stream};
use super::host::Observe;
use super::log::What;
use super::meetings::{GivenUp, Meetings};
use super::session::{Session, State};
use crate::base::{HostId, Nanos, SignalId};
use crate::scenario::Step;
use crate::trace::{Call, Deadlock, Failure, Reply, Waiter};
use std::collections::BTreeSet;
use std::thread::Scope;

/// Between two queries of a poll.
const PAUSE: Nanos = Nanos(100);

/// The host thread that begins the program.
pub(super) const MAIN: HostId = HostId::from_raw_unchecked(0);

impl Session<'_> {
    /// Runs a host thread to its end; those that it starts run beside it.
    pub(super) fn thread<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, host: HostId) {
        let _guard = GivesUp(&self.meetings);
        self.meetings.begins(host);
        // Some calls of the driver need a context, whichever it is.
        if let Some(device) = self.gpus.indices().next() {
            self.enter(device).ok();
        }
        let mut thread = Thread { host, call: Call::Exit, sleeps_until: None };
        while self.turn(scope, &mut thread) {}
        self.meetings.ends(host);
    }

    /// One step. `false`: the thread has ended, or the run has.
    fn turn<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>, thread: &mut Thread) -> bool {
        let host = thread.host;
        if self.meetings.turn_to_call(host).is_err() {
            return false;
        }
        self.sleep(thread);
        let call = &mut thread.call;
        let mut state = self.lock();
        if state.stop.is_some() || state.hangs {
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
            self.meetings.called(host, stmt);
            self.host.called();
        }
        let result = match made {
            Ok(Made::Reply(reply)) => Ok(reply),
            Ok(Made::Sleeps(duration)) => {
                thread.sleeps_until = Some(self.host.now().after(duration));
                Ok(Reply::Done)
            }
            Ok(Made::Waits(mut wait)) => {
                drop(state);
                let waited = self.wait_in_turn(by, &mut wait);
                state = self.lock();
                waited.and_then(|()| self.returns(&mut state, by, wait))
            }
            Err(trouble) => Err(trouble),
        };
        let goes_on = self.over(&mut state, by, call, result);
        drop(state);
        self.meetings.returned(host);
        match call {
            _ if !goes_on => false,
            Call::Spawn(child) => {
                let child = *child;
                self.meetings.begins(child);
                scope.spawn(move || self.thread(scope, child));
                true
            }
            call => !matches!(call, Call::Exit),
        }
    }

    /// A thread that sleeps does so before its next call, for as long as is left: others may have their turns meanwhile.
    fn sleep(&self, thread: &mut Thread) {
        let Some(until) = thread.sleeps_until.take() else { return };
        let left = until.0.saturating_sub(self.host.now().0);
        if left > 0 {
            self.meetings.asleep(|| self.host.sleep(Nanos(left)));
        }
    }

    /// A call is over. `false`: so is the run.
    fn over(&self, state: &mut State<'_>, by: By, call: &Call, result: Answer<Reply>) -> bool {
        let result = match result {
            Ok(reply) => Ok(reply),
            Err(Trouble::Fails(failure)) => {
                state.log.host(self.now(), by, None, What::Failed(failure, call.clone()));
                Err(failure)
            }
            Err(Trouble::Hangs) => {
                self.hangs(state, Some(by));
                return false;
            }
            Err(Trouble::Ends(reason)) => {
                self.stop(state, by, reason);
                return false;
            }
        };
        self.answer(state, by, call, &result);
        true
    }

    /// What a thread, or a function in a stream, waits for does not come: it, and whoever else waits, stays where it is. The first
    /// thread to notice is told, and all functions.
    pub(super) fn hangs(&self, state: &mut State<'_>, thread: Option<By>) {
        if state.hangs || state.stop.is_some() {
            return;
        }
        let main = || (MAIN, state.cursor.latest(MAIN));
        let by = thread.unwrap_or_else(main);
        // After an error of a device, functions in its streams are not called any more.
        for device in self.gpus.indices() {
            let asked = self.enter(device).and_then(|_| driver::query_stream(Stream::LEGACY));
            if let Err(error) = asked {
                return self.stop(state, by, format!("the device reports {error}"));
            }
        }
        let functions = self.meetings.waiting();
        let threads = thread.map(|(host, stmt)| (Waiter::Host(host), Some(stmt)));
        let operations =
            functions.iter().map(|function| (Waiter::Operation(function.at), Some(function.by.1)));
        let signals: BTreeSet<SignalId> = functions.iter().map(|function| function.signal).collect();
        let signals = signals.into_iter().map(|signal| (Waiter::Signal(signal), None));
        let (waiters, statements) = threads.into_iter().chain(operations).chain(signals).unzip();
        state.hangs = true;
        let deadlock = Deadlock { waiters, statements, is_cycle: false };
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

    /// Waits, without the lock, and returns when it is its turn. What others do before that is done before the driver is asked,
    /// where that is possible.
    fn wait_in_turn(&self, by: By, wait: &mut Wait) -> Answer<()> {
        let is_whole = matches!(wait, Wait::Copy(..) | Wait::PlainFree(..) | Wait::Barrier(_));
        if !is_whole {
            self.meetings.turn_to_return(by.0)?;
        }
        self.wait_for(by, wait)?;
        if is_whole {
            self.meetings.turn_to_return(by.0)?;
        }
        Ok(())
    }

    fn wait_for(&self, by: By, wait: &mut Wait) -> Answer<()> {
        match wait {
            Wait::Work(work, _, fence) => {
                self.synchronise(work, fence.as_ref())?;
            }
            Wait::Poll(target, fence, cut) => {
                *cut = loop {
                    if let Some(complete) = self.polls(*target, fence.as_ref(), cut)? {
                        break complete;
                    }
                    if self.meetings.has_given_up() {
                        return Err(Trouble::Hangs);
                    }
                    self.host.sleep(PAUSE);
                };
            }
            Wait::Copy(transfer, ticket, _) => self.waiting_transfer(by, transfer, *ticket)?,
            Wait::PlainFree(address, _) => driver::plain_free(*address)?,
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
    fn returns(&self, state: &mut State<'_>, by: By, wait: Wait) -> Answer<Reply> {
        if self.meetings.has_given_up() {
            return Err(GivenUp.into());
        }
        let now = self.now();
        match wait {
            Wait::Work(_, cut, _) => {
                self.observed(state, by.0, &cut);
                let observed = state.order.observed().to_vec();
                state.log.host(now, by, None, What::Synchronised(observed));
                let State { marks, log, order, .. } = state;
                marks.tell(log, Some(order.seen()));
            }
            Wait::Poll(.., cut) => {
                self.saw(state, &cut);
                state.log.host(now, by, None, What::Seen(cut));
            }
            Wait::Copy(_, _, cut) => {
                if cut.iter().any(|seq| *seq > 0) {
                    self.saw(state, &cut);
                    state.log.host(now, by, None, What::Seen(cut));
                }
            }
            Wait::PlainFree(_, alloc) => {
                state.memory.free(alloc);
                return Ok(Reply::Freed(None));
            }
            Wait::Import(under, into) => {
                state.log.host(now, by, None, What::Met);
                return self.import(state, by, under, into);
            }
            Wait::Signal(signal) => {
                state.log.host(now, by, None, What::Met);
                // What comes before a function is complete when it gives a signal.
                if let Some(ticket) = self.meetings.given_by(signal) {
                    let complete = state.order.until(ticket);
                    self.saw(state, &complete);
                }
            }
            Wait::End(_) | Wait::Barrier(_) => state.log.host(now, by, None, What::Met),
        }
        Ok(Reply::Done)
    }
}

/// A host thread.
struct Thread {
    host: HostId,
    call: Call,
    sleeps_until: Option<Nanos>,
}

/// Where a thread panics, the others do not wait for it.
struct GivesUp<'m>(&'m Meetings);

impl Drop for GivesUp<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up();
        }
    }
}

impl From<GivenUp> for Trouble {
    fn from(GivenUp: GivenUp) -> Self {
        Trouble::Hangs
    }
}
