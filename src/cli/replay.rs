//! `millpond replay`: makes the run of a schedule again, and reports it as `millpond run` does.

use super::Scenario;
use super::backend::Backend;
use super::levels::LevelArguments;
use super::outside::{Complaint, Status};
use super::run::{Format, Run};
use crate::explore::{Choices, Schedule, Strategy, exhaustive};
use crate::trace::Nothing;
use clap::Args;
use std::fmt::Display;
use std::path::PathBuf;

/// Makes one run of an exploration again, and reports it as `run` does
#[derive(Debug, Args)]
#[command(after_help = "\
A schedule is what `explore` prints for each outcome: the version of Millpond, a
hash of the scenario, model, profile, strategy and seed, or the choices that
`explore --untimed` found. The same schedule and scenario print the same bytes.
Comments, blank lines and spaces of the scenario may change. A schedule that
does not belong to the scenario, the profile or this version is refused.

Examples:
  millpond replay millpond-0.1.0:9f86d081:cuda:default-3c1f0a22:random:42 FILE
  millpond replay SCHEDULE FILE --format json -o run.jsonl

Exit status: 0 the run holds; 1 it fails; 2 the schedule or the input is wrong
or cannot be read")]
pub(super) struct Replay {
    /// The schedule, as it was printed
    schedule: String,
    /// The scenario that it was made for; - is standard input
    file: PathBuf,
    /// A report for people; or data for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file of the profile, for a schedule that was made with one
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    #[command(flatten)]
    levels: LevelArguments,
    /// The folder of accepted snapshots [default: `snapshots` beside `scenarios`]
    #[arg(long, value_name = "DIR")]
    snapshots: Option<PathBuf>,
    /// Writes to a file, once it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Replay {
    pub(super) fn run(self) -> Result<Status, Complaint> {
        let wrong = |why: &dyn Display| Complaint::wrong(format!("cannot replay {}: {why}", self.schedule));
        let schedule: Schedule = self.schedule.parse().map_err(|error| wrong(&error))?;
        schedule.check_version().map_err(|stale| wrong(&stale))?;
        let profile = self.profile.clone().or_else(|| schedule.profile.as_ref().map(PathBuf::from));
        let Some(profile) = profile else {
            return Err(wrong(&"it was made with the profile of a file: name that file with --profile"));
        };
        let scenario = Scenario::read(&self.file)?.with_profile(&profile)?;
        schedule.check_profile(&scenario.profile().1).map_err(|stale| wrong(&stale))?;
        schedule.check_text(&scenario.text).map_err(|stale| wrong(&stale))?;
        let (strategy, seed, choices) = match schedule.choices {
            Choices::Drawn { strategy, seed } => (strategy, seed, None),
            Choices::Untimed(choices) => (Strategy::default(), 0, Some(choices)),
        };
        let scenario = match choices {
            None => scenario,
            Some(choices) => {
                let Some(programs) = scenario.programs() else { return Ok(Status::Wrong) };
                let program = scenario.chosen(programs, schedule.variant.as_deref())?;
                let program = super::on_model(program, Some(schedule.model));
                exhaustive::follow(&program, &choices, Nothing).map_err(|astray| wrong(&astray))?;
                scenario.with_choices(choices)
            }
        };
        let run = Run {
            file: self.file,
            seed,
            jitter: schedule.jitter,
            strategy,
            format: self.format,
            variant: schedule.variant,
            model: Some(schedule.model),
            set: Vec::new(),
            profile,
            levels: self.levels,
            limit: None,
            snapshots: self.snapshots,
            output: self.output,
            backend: Backend::default(),
            observe: None,
        };
        run.on(scenario)
    }
}
