//! What became of what a scenario expects, and what else went wrong: the data of a verdict.
//!
//! It says what was, and not how that is told or found out.

use super::findings::Finding;
use crate::base::{BufferId, ExpectId, IndexVec, PoolId, StmtId};
use crate::trace::{Deadlock, Ended, Failure, Policy, Reach, Readiness, Severity};

/// What became of an `expect` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// How often it was evaluated.
    pub times: u64,
    /// How often it did not hold.
    pub failed: u64,
    /// Why it did not hold, for the first time.
    pub first: Option<Mismatch>,
    /// Whether this run does not settle it, whatever was evaluated.
    pub is_open: bool,
    /// Whether the run was made on hardware, which does not tell whether it holds: it neither holds nor fails.
    pub is_untold: bool,
    /// What all timings say of it, where that was looked for.
    pub settled: Option<Settled>,
}

/// What a search through all timings says of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The answer.
    pub answer: Answer,
    /// What does not hold in the run that decided it, if it did not hold there.
    pub first: Option<Mismatch>,
    /// The schedule of the run that decided it, if one run did.
    pub schedule: Option<String>,
}

/// Whether a line holds that speaks of all timings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does.
    Holds,
    /// It does not.
    Fails,
    /// The search has not come far enough to say so.
    Undecided,
}

impl Answer {
    /// The word of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Answer::Holds => "holds",
            Answer::Fails => "fails",
            Answer::Undecided => "undecided",
        }
    }
}

/// The search through all timings that settled what it could.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Searched {
    /// How many calls it made.
    pub calls: u64,
    /// Why it has not gone through everything, in words, where that matters.
    pub stopped: Option<String>,
    /// What stands behind a schedule in a command that shows its run.
    pub shown_with: String,
}

impl Judged {
    /// Whether it was reached, and held each time. One that a run does not settle holds where nothing is known against it and all
    /// timings were not looked at.
    pub fn holds(&self) -> bool {
        match &self.settled {
            Some(settled) => settled.answer == Answer::Holds,
            None => !self.is_untold && (self.is_open || self.times > 0 && self.failed == 0),
        }
    }

    /// Whether it was reached and is not so, or not reached.
    pub fn fails(&self) -> bool {
        !self.holds() && !self.is_undecided() && !self.is_untold
    }

    /// Whether all timings were looked at in vain.
    pub fn is_undecided(&self) -> bool {
        self.settled.as_ref().is_some_and(|settled| settled.answer == Answer::Undecided)
    }
}

/// Why an expectation does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The two values.
    Values {
        /// The left one.
        left: i128,
        /// The right one.
        right: i128,
    },
    /// The subject, or else the object, does not exist: its allocation failed.
    Absent {
        /// Whether it is the subject that does not exist.
        subject: bool,
    },
    /// The two share no byte.
    NoByteShared,
    /// The subject was served by this class.
    ServedBy(Option<Policy>),
    /// The two are at these addresses.
    Addresses {
        /// Where the subject starts.
        subject: u64,
        /// Where the object starts.
        object: u64,
    },
    /// The stream of the subject was not made to wait for the free of the object.
    NoWait {
        /// Whether the object was freed at all.
        freed: bool,
    },
    /// The stream of the subject was made to wait for the free of the object.
    Waits,
    /// Whether the timing decides how the subject is served.
    Timing(bool),
    /// What the device may do.
    Reach(Reach),
    /// The current pool of the device is this one.
    CurrentPool(PoolId),
    /// The call ended so.
    Ended(Ended),
    /// Whether the stream may use the buffer.
    Readiness(Readiness),
    /// What was found.
    Findings {
        /// How often what the line speaks of.
        count: u64,
        /// How often anything of that kind.
        of_kind: u64,
    },
}

/// The calls of a statement that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    /// The statement.
    pub stmt: StmtId,
    /// How they failed.
    pub failure: Failure,
    /// How often.
    pub times: u64,
    /// Whether the statement says so.
    pub expected: bool,
    /// Whether a finding says why, which is then judged in its place.
    pub explained: bool,
}

/// A statement that says `fails`, and whose calls did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// The statement.
    pub stmt: StmtId,
    /// The failure that it demands.
    pub failure: Failure,
    /// How often its call succeeded.
    pub times: u64,
}

/// A statement that was skipped, since the allocation of a buffer of it had failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SkippedStatement {
    /// The statement.
    pub stmt: StmtId,
    /// The buffer.
    pub buffer: BufferId,
    /// How often.
    pub times: u64,
}

/// A demand that the run never came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotReached {
    /// The statement that makes it.
    pub stmt: StmtId,
    /// The `expect` line, if it is one; else it is a `fails`.
    pub expect: Option<ExpectId>,
}

/// Why a run was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The statement that could not be carried out.
    pub stmt: StmtId,
    /// Why, in words.
    pub reason: String,
}

/// Whether it was judged what nothing orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordering {
    /// It was: what is wrong by order is among the findings.
    #[default]
    Checked,
    /// It was not: hardware tells too little of it, so that findings are only what the run itself has met.
    NotJudged,
}

impl Ordering {
    /// The word of reports for programs.
    pub const fn name(self) -> &'static str {
        match self {
            Ordering::Checked => "checked",
            Ordering::NotJudged => "not_judged",
        }
    }
}

/// How many findings a run has: each is in one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Errors that no line expects, and what is denied.
    pub errors: usize,
    /// Warnings that are told.
    pub warnings: usize,
    /// Lints that are told.
    pub lints: usize,
    /// Warnings that are allowed.
    pub muted_warnings: usize,
    /// Lints that are allowed.
    pub muted_lints: usize,
    /// Those that a line expects.
    pub expected: usize,
}

/// The verdict over a run.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// What became of each `expect` line.
    pub expectations: IndexVec<ExpectId, Judged>,
    /// How often each `snapshot` line was reached; by the order of the lines.
    pub snapshots: Vec<u64>,
    /// Statements whose calls failed, in the order of their first failure.
    pub failed: Vec<FailedCall>,
    /// Statements that should have failed and did not.
    pub missed: Vec<Missed>,
    /// Demands that were never reached.
    pub not_reached: Vec<NotReached>,
    /// Statements that were skipped.
    pub skipped: Vec<SkippedStatement>,
    /// The cycle in which each waits for the next.
    pub deadlock: Option<Deadlock>,
    /// What is wrong with the program, whatever its calls answered.
    pub findings: Vec<Finding>,
    /// Why the run was given up.
    pub broken: Option<Broken>,
    /// How many allocations were placed.
    pub allocations: u64,
    /// The search for lines that speak of all timings, if there was one.
    pub searched: Option<Searched>,
    /// Where kernels of a run on hardware have met in their memory.
    pub met: Vec<Met>,
    /// Whether it was judged what nothing orders.
    pub ordering: Ordering,
}

/// A kernel has found something else in its memory than what the last one has left that wrote there and is ordered before it. Only
/// hardware shows that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// The launch that has found it.
    pub stmt: StmtId,
    /// Who had written there last.
    pub expected: StmtId,
    /// Who has written what was found, if it was a launch of the run.
    pub found: Option<StmtId>,
    /// Whether that was at the end of the kernel, and not when it began.
    pub late: bool,
    /// The line that expects it.
    pub expected_at: Option<StmtId>,
}

impl Verdict {
    /// Whether the scenario holds: everything expected came true, and nothing else went wrong.
    pub fn holds(&self) -> bool {
        !self.fails() && self.undecided() == 0
    }

    /// Whether something is not as it should be, beside what is undecided.
    pub fn fails(&self) -> bool {
        self.broken.is_some()
            || self.unexpected_overlaps() > 0
            || self.findings.iter().any(Finding::fails)
            || !self.missed.is_empty()
            || !self.not_reached.is_empty()
            || self.unexpected_errors() > 0
            || self.failed_expectations() > 0
    }

    /// How many `expect` lines do not hold, the ones that were never reached included.
    pub fn failed_expectations(&self) -> usize {
        self.expectations.iter().filter(|judged| judged.fails()).count()
    }

    /// How many `expect` lines are open, since hardware does not tell whether they hold.
    pub fn open(&self) -> usize {
        self.expectations.iter().filter(|judged| judged.is_untold).count()
    }

    /// How often kernels have met in their memory, and no line expects it.
    pub fn unexpected_overlaps(&self) -> usize {
        self.met.iter().filter(|met| met.expected_at.is_none()).count()
    }

    /// Whether the run was made on hardware.
    pub fn is_of_hardware(&self) -> bool {
        self.ordering == Ordering::NotJudged
    }

    /// How many `expect` lines are undecided.
    pub fn undecided(&self) -> usize {
        self.expectations.iter().filter(|judged| judged.is_undecided()).count()
    }

    /// The calls that failed without a word about it: no line expects that, and no finding says why.
    pub fn unexpected_failures(&self) -> impl Iterator<Item = &FailedCall> {
        self.failed.iter().filter(|failed| !failed.expected && !failed.explained)
    }

    /// How many statements failed without a word about it.
    pub fn unexpected_errors(&self) -> usize {
        self.unexpected_failures().count()
    }

    /// How many findings there are of each sort.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for finding in &self.findings {
            let count = match (finding.severity, finding.kind.severity()) {
                _ if finding.expected.is_some() => &mut counts.expected,
                (_, Severity::Lint) if finding.muted => &mut counts.muted_lints,
                _ if finding.muted => &mut counts.muted_warnings,
                (Severity::Error, _) => &mut counts.errors,
                (Severity::Warning, _) => &mut counts.warnings,
                (Severity::Lint, _) => &mut counts.lints,
            };
            *count += 1;
        }
        counts
    }

    /// The demands that were met: `expect` lines that hold, and statements that failed as they say.
    pub fn expected_failures(&self) -> usize {
        self.failed.iter().filter(|failed| failed.expected).count()
    }
}
