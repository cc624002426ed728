//! How much is not seen yet, from how often each outcome was.
//!
//! Rule: I. J. Good, "The population frequencies of species and the estimation of population parameters" (1953): the
//! probability that the next run has an outcome that none had so far is about the share of the runs whose outcome no other
//! run has.

use super::Campaign;

/// An exploration until it is stable makes at least so many runs, and is looked at after each multiple of it.
pub const STEP: u64 = 1_024;

/// At most one run in so many is then expected to bring something new.
pub const UNSEEN_MAX: u64 = 1_000;

impl Campaign {
    /// How many outcomes were those of a single run.
    pub fn seen_once(&self) -> u64 {
        self.outcomes.values().filter(|seen| seen.runs == 1).count() as u64
    }

    /// After how many runs the latest new outcome was seen.
    pub fn latest_new(&self) -> u64 {
        let latest = self.outcomes.values().map(|seen| seen.first.wrapping_sub(self.base)).max();
        latest.map_or(0, |nth| nth + 1)
    }

    /// Whether no new outcome is to be expected: by the estimate at most one run in a thousand would bring one, and the latter
    /// half of the runs brought none.
    pub fn is_stable(&self) -> bool {
        self.runs >= STEP
            && self.seen_once().saturating_mul(UNSEEN_MAX) <= self.runs
            && self.latest_new().saturating_mul(2) <= self.runs
    }
}
