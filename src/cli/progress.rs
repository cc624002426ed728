//! How far a long command is, for who waits for it at a terminal. Nothing that it shows is output.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::Duration;

/// What takes no longer shows no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// A line on standard error that appears after two seconds, if that is a terminal.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Nothing done of so many things.
    pub(super) fn of(count: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{wide_bar} {pos}/{len}");
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// No run made of so many, or in so much time.
    pub(super) fn of_runs(count: Option<u64>, time: Option<Duration>) -> Self {
        let template = match count {
            Some(_) => "{wide_bar} {human_pos}/{human_len} runs, {per_sec}, {eta} left",
            None => "{spinner} {human_pos} runs, {per_sec}, {elapsed}{msg}",
        };
        let bar = ProgressBar::with_draw_target(count, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template(template);
        let message = time.map(|time| format!(" of {time:?}")).unwrap_or_default();
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())).with_message(message))
    }

    /// No call made of a run that takes as long as it takes.
    #[cfg(feature = "cuda")]
    pub(super) fn of_calls() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {human_pos} calls, {elapsed}");
        Self(bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar())))
    }

    /// One more thing is done.
    #[cfg(feature = "cuda")]
    pub(super) fn one_more(&self) {
        self.done(usize::try_from(self.0.position()).unwrap_or_default() + 1);
    }

    /// So many things are done.
    pub(super) fn done(&self, count: usize) {
        if self.0.is_hidden() && self.0.elapsed() >= PATIENCE {
            self.0.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.0.set_position(count as u64);
    }

    /// Says something beside how far it is.
    pub(super) fn tell(&self, message: String) {
        self.0.set_message(message);
    }

    /// Does something that writes to the terminal.
    pub(super) fn aside<R>(&self, print: impl FnOnce() -> R) -> R {
        self.0.suspend(print)
    }

    /// Removes the line.
    pub(super) fn end(self) {
        self.0.finish_and_clear();
    }

    /// The same, for who does not own it alone.
    #[cfg(feature = "cuda")]
    pub(super) fn clear(&self) {
        self.0.finish_and_clear();
    }
}
