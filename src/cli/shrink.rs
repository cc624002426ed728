//! `millpond explore --shrink`: writes the smallest scenario that fails as the first failing run does.
//!
//! What is tried is the library's; here is which run it begins with, how long it goes on, and where the result is written.

use super::outside::{self, Complaint, Status};
use super::progress::Progress;
use super::{Scenario, explore};
use crate::base::{Diagnostic, grouped, nearest};
use crate::explore::Strategy;
use crate::explore::campaign::{self, Aspect, Outcome, Plan, Standing};
use crate::explore::shrink::{self, Choices, Search, Shrunk, So, Which};
use crate::scenario::Program;
use crate::trace::{Failure, FindingKind};
use clap::Args;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// So many seeds are tried before it is looked whether one of them failed.
const BLOCK: u64 = 1_024;

/// What stands for a line that expects something.
const EXPECT: &str = "expect";

/// What is to be shrunk.
#[derive(Debug, Args)]
pub(super) struct ShrinkArguments {
    /// Writes the smallest scenario that fails as the first failing run does, rather than a report
    #[arg(long, conflicts_with_all = ["format", "until_stable", "untimed", "maximise"])]
    shrink: bool,
    /// What is to stay: a finding such as use_after_free, be it a warning or expected; an error such as out_of_memory; or `expect`
    #[arg(long, value_name = "WHAT", requires = "shrink", value_parser = which)]
    finding: Option<Which>,
}

/// Reads the argument of `--finding`.
fn which(word: &str) -> Result<Which, String> {
    let finding = FindingKind::ALL.into_iter().find(|kind| kind.name() == word).map(Which::Finding);
    let failure = Failure::ALL.into_iter().find(|failure| failure.name() == word).map(Which::Failure);
    let expectation = (word == EXPECT).then_some(Which::Expectation);
    finding.or(failure).or(expectation).ok_or_else(|| {
        let findings = FindingKind::ALL.into_iter().map(FindingKind::name);
        let names = findings.chain(Failure::ALL.into_iter().map(Failure::name)).chain([EXPECT]);
        let near = nearest(word, names).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        format!("there is no such finding and no such error; {near}`millpond explain` lists all of them")
    })
}

/// The word that [`which`] reads.
fn word(which: Which) -> Option<&'static str> {
    match which {
        Which::First => None,
        Which::Finding(kind) => Some(kind.name()),
        Which::Failure(failure) => Some(failure.name()),
        Which::Expectation => Some(EXPECT),
    }
}

/// A scenario that may fail.
pub(super) struct Task<'t> {
    pub(super) scenario: &'t Scenario,
    pub(super) program: &'t Program,
    /// Makes a program of another text, with all that arguments say.
    pub(super) read: &'t dyn Fn(&str) -> Result<Program, Vec<Diagnostic>>,
    /// The runs among which one is looked for that fails.
    pub(super) plan: Plan,
    /// When that ends, if it does.
    pub(super) until: Option<Instant>,
    /// What of the command begins with a seed, from the file on.
    pub(super) made_by: &'t dyn Fn(u64) -> String,
    /// The command that runs the result with choices, and its arguments.
    pub(super) run_with: &'t dyn Fn(Choices) -> (&'static str, String),
    pub(super) output: Option<&'t Path>,
}

/// The runs that were made until one failed.
struct Tried {
    runs: u64,
    /// The seed of that one.
    failing: Option<u64>,
    /// What happened in all of them.
    outcomes: BTreeSet<Outcome>,
    /// Whether runs fail, be it otherwise than is asked for.
    is_any_failing: bool,
    is_interrupted: bool,
}

impl ShrinkArguments {
    pub(super) fn is_asked_for(&self) -> bool {
        self.shrink
    }

    pub(super) fn run(&self, task: &Task<'_>) -> Result<Status, Complaint> {
        let file = task.output.filter(|file| !outside::is_standard_input(file));
        if let Some(file) = file.filter(|file| file.symlink_metadata().is_ok()) {
            return Err(Complaint::wrong(format!("{} exists already", file.display())));
        }
        let which = self.finding.unwrap_or(Which::First);
        let tried = task.first_failing(which);
        let Some(seed) = tried.failing else {
            let told = task.nothing(which, &tried);
            match file {
                Some(_) => outside::print(&told)?,
                None => outside::print_error(&told),
            }
            return Ok(match tried {
                _ if tried.is_any_failing => Status::Fails,
                _ if tried.is_interrupted || tried.runs == 0 => Status::Impossible,
                _ => Status::Holds,
            });
        };
        let shrunk = task.shrink(which, seed).ok_or_else(|| {
            Complaint::wrong(format!(
                "cannot shrink {}: without its comments it does not fail, which is a bug of millpond",
                task.scenario.shown()
            ))
        })?;
        let finding = word(which).map(|word| format!(" --finding {word}")).unwrap_or_default();
        let made_by = format!("millpond explore {} --shrink{finding}", (task.made_by)(seed));
        let (command, run_with) = (task.run_with)(shrunk.choices);
        let text = shrunk.text(&made_by, &run_with);
        let told = told(&shrunk);
        match file {
            None => {
                outside::print(&text)?;
                outside::print_error(&format!("{told}\n"));
            }
            Some(file) => {
                outside::create(file, &text)?;
                let file = outside::quoted(file);
                outside::print(&format!(
                    "wrote {file}: {told}\nnext: millpond {command} {file}{run_with}\n"
                ))?;
            }
        }
        Ok(if shrunk.is_minimal { Status::Fails } else { Status::Impossible })
    }
}

/// What came of it, in a line.
fn told(shrunk: &Shrunk) -> String {
    let Shrunk { target, before, after, runs, is_minimal, .. } = shrunk;
    let end = if *is_minimal { "" } else { "; interrupted, so that more may go" };
    format!("{target}, {after} of {} lines, {} runs{end}", grouped(*before as u64), grouped(*runs))
}

impl Task<'_> {
    /// Runs one seed after the other until one fails in the way that is asked for.
    fn first_failing(&self, which: Which) -> Tried {
        let progress = Progress::of_runs(Some(self.plan.runs).filter(|runs| *runs < u64::MAX), None);
        let (stopped, begun, until) = (explore::listen(), AtomicU64::new(0), self.until);
        let goes_on = || {
            progress.done(begun.fetch_add(1, Ordering::Relaxed) as usize);
            stopped.get().is_none() && until.is_none_or(|until| Instant::now() < until)
        };
        let mut tried = Tried {
            runs: 0,
            failing: None,
            outcomes: BTreeSet::new(),
            is_any_failing: false,
            is_interrupted: false,
        };
        while tried.failing.is_none() && tried.runs < self.plan.runs && goes_on() {
            // What fails in each run is there at once.
            let runs = if tried.runs == 0 { 1 } else { BLOCK.min(self.plan.runs - tried.runs) };
            let base = self.plan.base.wrapping_add(tried.runs);
            let campaign = campaign::run(self.program, &Plan { base, runs, ..self.plan }, &goes_on);
            let meant =
                campaign.outcomes.iter().filter(|(outcome, seen)| is_meant(which, outcome, seen.holds));
            tried.failing = meant.map(|(_, seen)| seen.first).min_by_key(|seed| seed.wrapping_sub(base));
            tried.runs += campaign.runs;
            tried.is_any_failing |= campaign.failing > 0;
            tried.outcomes.extend(campaign.outcomes.into_keys());
        }
        tried.is_interrupted = stopped.get().is_some();
        progress.end();
        tried
    }

    fn shrink(&self, which: Which, seed: u64) -> Option<Shrunk> {
        let text = shrink::alone(&self.scenario.text, self.program.variant.as_deref());
        let (progress, stopped) = (Progress::of_runs(None, None), explore::listen());
        let goes_on = |so: So| {
            progress.tell(format!(", {} lines left", grouped(so.lines as u64)));
            progress.done(so.runs as usize);
            stopped.get().is_none()
        };
        let strategy = Strategy::of(self.program);
        let choices = Choices { strategy, seed, jitter: self.program.setup.jitter };
        let search = Search { read: self.read, choices, goes_on: &goes_on };
        let shrunk = shrink::shrink(&text, which, &search);
        progress.end();
        shrunk
    }

    /// What is said where there is nothing to shrink.
    fn nothing(&self, which: Which, tried: &Tried) -> String {
        let (file, runs) = (self.scenario.shown(), grouped(tried.runs));
        let base = self.plan.base;
        let seeds = match tried.runs {
            0 => "no run was made".to_owned(),
            1 => format!("1 run, seed {base}"),
            several => format!("{runs} runs, seeds {base} to {}", base.wrapping_add(several - 1)),
        };
        let what = word(which).map_or_else(|| "fails".to_owned(), |word| format!("fails with {word}"));
        let mut out = format!("{file}: nothing to shrink, since nothing {what} ({seeds})\n");
        let kinds = |wanted: Standing| {
            let aspects = tried.outcomes.iter().flat_map(|outcome| &outcome.0);
            let kinds = aspects.filter_map(|aspect| match aspect {
                Aspect::Finding { kind, standing, .. } if *standing == wanted => Some(kind.name()),
                Aspect::Failed { failure, standing, .. } if *standing == wanted => Some(failure.name()),
                _ => None,
            });
            kinds.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
        };
        if tried.is_interrupted {
            out.push_str("the search was interrupted\n");
        }
        for (standing, words) in [
            (Standing::Fails, "it fails with"),
            (Standing::Told, "found, and no error"),
            (Standing::Expected, "expected by a line"),
        ] {
            if let kinds @ [first, ..] = kinds(standing).as_slice() {
                let kinds = kinds.join(", ");
                out.push_str(&format!("{words}: {kinds} (to shrink that: --finding {first})\n"));
            }
        }
        out
    }
}

/// Whether runs with an outcome fail in the way that is asked for.
fn is_meant(which: Which, outcome: &Outcome, holds: bool) -> bool {
    let is_it = |aspect: &Aspect| match (which, aspect) {
        (Which::Finding(wanted), Aspect::Finding { kind, .. }) => *kind == wanted,
        (Which::Failure(wanted), Aspect::Failed { failure, .. }) => *failure == wanted,
        (Which::Expectation, Aspect::Mismatch(_) | Aspect::NotReached(_)) => true,
        _ => false,
    };
    match which {
        Which::First => !holds,
        _ => outcome.0.iter().any(is_it),
    }
}
