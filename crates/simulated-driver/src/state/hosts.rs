//! The threads of the host that call: which of the machine's host threads each is, and its stack of current contexts.
//!
//! A thread has a place from its first call to its end. The per-thread default streams go with it.

use super::lock;
use millpond::base::{HostId, IndexVec, Nanos, StreamId};
use std::cell::Cell;
use std::collections::BTreeMap;

/// What a thread does that has been called by the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// It has not been.
    Nothing,
    /// A kernel, with the lock held, at this time.
    Kernel(Nanos),
    /// Functions of the host, since so many resets.
    Callback(u64),
}

thread_local! {
    static INSIDE: Cell<Inside> = const { Cell::new(Inside::Nothing) };
    static SEAT: Seat = const { Seat { epoch: Cell::new(0), host: Cell::new(None) } };
}

/// What this thread does.
pub(crate) fn inside() -> Inside {
    INSIDE.get()
}

/// Whether the driver has called this thread.
pub(crate) fn is_inside() -> bool {
    inside() != Inside::Nothing
}

/// What this thread does from now on.
pub(super) fn goes_inside(what: Inside) {
    INSIDE.set(what);
}

/// Calls a kernel.
pub(crate) fn in_kernel<T>(at: Nanos, call: impl FnOnce() -> T) -> T {
    struct Leaves;
    impl Drop for Leaves {
        fn drop(&mut self) {
            INSIDE.set(Inside::Nothing);
        }
    }
    INSIDE.set(Inside::Kernel(at));
    let _leaves = Leaves;
    call()
}

/// The place of a thread, given back when it ends.
struct Seat {
    epoch: Cell<u64>,
    host: Cell<Option<HostId>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(host) = self.host.get() {
            let mut state = lock();
            if state.epoch == self.epoch.get() {
                state.hosts.threads[host].is_taken = false;
            }
        }
    }
}

/// All places.
#[derive(Debug)]
pub(crate) struct Hosts {
    threads: IndexVec<HostId, Thread>,
}

/// A place.
#[derive(Debug, Default)]
struct Thread {
    is_taken: bool,
    /// The contexts, the current one last.
    contexts: Vec<u64>,
    /// The per-thread default stream on each device where it was used.
    streams: BTreeMap<usize, StreamId>,
    /// Those of threads that had the place before.
    left: Vec<StreamId>,
}

impl Hosts {
    pub(super) fn new(count: usize) -> Self {
        Self { threads: (0..count).map(|_| Thread::default()).collect() }
    }

    /// The place of the calling thread. `None`: there is none left.
    pub(super) fn seat(&mut self, epoch: u64) -> Option<HostId> {
        SEAT.with(|seat| {
            if let Some(host) = seat.host.get().filter(|_| seat.epoch.get() == epoch) {
                return Some(host);
            }
            let host = self.threads.position(|thread| !thread.is_taken)?;
            let thread = &mut self.threads[host];
            thread.is_taken = true;
            thread.contexts.clear();
            thread.left.extend(std::mem::take(&mut thread.streams).into_values());
            seat.epoch.set(epoch);
            seat.host.set(Some(host));
            Some(host)
        })
    }

    /// The contexts of a thread, the current one last.
    pub(crate) fn contexts(&mut self, host: HostId) -> &mut Vec<u64> {
        &mut self.threads[host].contexts
    }

    /// The current context of a thread.
    pub(crate) fn current(&self, host: HostId) -> Option<u64> {
        self.threads[host].contexts.last().copied()
    }

    /// The per-thread default streams that threads have left in this place.
    pub(crate) fn left(&mut self, host: HostId) -> Vec<StreamId> {
        std::mem::take(&mut self.threads[host].left)
    }

    /// The per-thread default streams of a thread.
    pub(crate) fn streams(&mut self, host: HostId) -> &mut BTreeMap<usize, StreamId> {
        &mut self.threads[host].streams
    }
}
