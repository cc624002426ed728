//! The machine that the process runs on, as the backend needs it: its clock, and ways to wait.

use crate::base::Nanos;
use crate::cli::progress::Progress;
use crate::hw::Host;
use std::time::{Duration, Instant};

/// This machine, during one run.
#[derive(Debug)]
pub(super) struct ThisMachine {
    began: Instant,
    progress: Progress,
}

impl Default for ThisMachine {
    fn default() -> Self {
        Self { began: Instant::now(), progress: Progress::of_calls() }
    }
}

impl Drop for ThisMachine {
    fn drop(&mut self) {
        self.progress.clear();
    }
}

/// A system wakes a thread up only so exactly; the rest is waited for by looking at the clock.
const EXACT: Duration = Duration::from_micros(200);

impl Host for ThisMachine {
    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn called(&self) {
        self.progress.one_more();
    }

    fn sleep(&self, duration: Nanos) {
        let (began, duration) = (Instant::now(), Duration::from_nanos(duration.0));
        if let Some(most) = duration.checked_sub(EXACT) {
            std::thread::sleep(most);
        }
        while began.elapsed() < duration {
            std::hint::spin_loop();
        }
    }

    fn waits(&self, wait: &mut dyn FnMut()) {
        wait();
    }
}
