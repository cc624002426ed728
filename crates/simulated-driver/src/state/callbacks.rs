//! Functions of the host that streams call, by one thread of the driver, without the lock. Whoever lets time move waits until
//! such a function has returned, or waits for another thread of the program itself.
//!
//! Rules: CUDA driver API, `cuLaunchHostFunc` (the function makes no call of CUDA; functions of several streams may be called
//! one after the other).

use super::hosts::{Inside, goes_inside};
use super::{CHANGED, lock, wait_for_change};
use crate::pointers::HostFunction;
use millpond::base::Nanos;
use millpond::trace::Ticket;
use std::collections::VecDeque;

/// A function whose operation has started.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) ticket: Ticket,
    pub(super) at: Nanos,
    pub(super) function: HostFunction,
}

/// The functions that have started.
#[derive(Default)]
pub(super) struct Callbacks {
    queue: VecDeque<Job>,
    current: Option<Running>,
    has_thread: bool,
}

/// The one that was called.
struct Running {
    ticket: Ticket,
    /// The time that it has got to.
    at: Nanos,
    /// How many waits for another thread it is in, one inside the other.
    waits: u32,
}

impl Callbacks {
    /// Whether one runs, or is about to, and does not wait for another thread.
    pub(super) fn is_running(&self) -> bool {
        self.current.as_ref().map_or(!self.queue.is_empty(), |running| running.waits == 0)
    }

    /// A function is to be called.
    pub(super) fn begin(&mut self, job: Job, epoch: u64) {
        if !self.has_thread {
            let name = "simulated driver".to_owned();
            let thread = std::thread::Builder::new().name(name).spawn(move || call_all(epoch));
            self.has_thread = thread.is_ok();
            assert!(self.has_thread, "the system has a thread for functions of the host");
        }
        self.queue.push_back(job);
        CHANGED.notify_all();
    }

    fn next(&mut self) -> Option<Job> {
        let job = self.queue.pop_front()?;
        self.current = Some(Running { ticket: job.ticket, at: job.at, waits: 0 });
        Some(job)
    }

    /// The one that runs goes on so much longer.
    pub(super) fn pass(&mut self, duration: Nanos) {
        if let Some(running) = &mut self.current {
            running.at = running.at.after(duration);
        }
    }

    /// The time that the one that runs has got to.
    pub(super) fn time(&self) -> Option<Nanos> {
        self.current.as_ref().map(|running| running.at)
    }
}

/// Calls one function after the other, until the next reset.
fn call_all(epoch: u64) {
    goes_inside(Inside::Callback(epoch));
    let mut state = lock();
    while state.epoch == epoch {
        let Some(job) = state.callbacks.next() else {
            state = wait_for_change(state);
            continue;
        };
        drop(state);
        job.function.call();
        state = lock();
        if state.epoch == epoch
            && let Some(Running { ticket, at, .. }) = state.callbacks.current.take()
        {
            state.machine.end_at(ticket, at);
            CHANGED.notify_all();
        }
    }
}

/// A function waits for another thread, until this goes.
pub(super) struct Waits {
    epoch: u64,
}

impl Waits {
    pub(super) fn begin(epoch: u64) -> Self {
        Self::change(epoch, 1);
        Self { epoch }
    }

    fn change(epoch: u64, by: i32) {
        let mut state = lock();
        if state.epoch != epoch {
            return;
        }
        let now = state.machine.now();
        if let Some(running) = &mut state.callbacks.current {
            running.waits = running.waits.saturating_add_signed(by);
            // What it has waited for was not there before.
            running.at = if by > 0 { running.at } else { running.at.max(now) };
        }
        CHANGED.notify_all();
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        Self::change(self.epoch, -1);
    }
}
