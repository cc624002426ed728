//! `millpond run`: runs one scenario and reports.

use super::backend::{self, Backend, Observe};
use super::levels::LevelArguments;
use super::outside::{self, Complaint, Output, Status};
use super::scenario::RECORDED_MAX;
use super::{Accepted, Outcome, Remedies, Scenario, Settings, sweep};
use crate::base::grouped;
use crate::explore::Strategy;
use crate::report::{Notation, Options};
use crate::scenario::Program;
use crate::trace::Model;
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;

/// Runs a scenario and reports what happened
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond run scenarios/guide/follow_event.scn
  millpond run scenarios/guide/basic.scn --seed 7 --format json -o run.jsonl
  millpond run scenarios/guide/basic.scn --format csv > pools.csv
  millpond run - < draft.scn
  millpond run scenarios/reuse/follow_event/twins.scn --variant off
  millpond run scenarios/guide/follow_event.scn --set model=cuda,oxicuda
  millpond run FILE --set scratch.release_threshold=0B,max --set turns=10,100
  millpond run FILE --allow leak --deny warnings
  millpond run FILE --format sarif -o findings.sarif
  millpond run FILE --backend cuda

--set runs every combination of the values, at most 1,000, and prints a row for
each. NAME is
  POOL.release_threshold, POOL.max_size          a size; `max` too
  POOL.follow_event, .opportunistic, .internal   `on` or `off`
  gpu0.default_pool.release_threshold            and its three policies
  gpu0.memory                                    a size
  gpu0.driver                                    `11.2`
  gpu0.memory_pools, gpu0.oversubscribe          `on` or `off`
  profile.remap, profile.unused_first, ..        `millpond explain profile`
  NAME                                           the value of a `let NAME`
  profile                                        a name or a file, as --profile
  model                                          `cuda` or `oxicuda`
Expectations that do not hold with other values are counted in the column
`fails` and do not change the exit status of such a table; an unexpected error
and a finding that is one do. Snapshots are not compared.

`expect always`, `sometimes` and `never` are about every timing of the model and
profile, whatever takes how long. A search decides them, or comes to its limit.

--backend cuda makes the calls on the devices of this machine, with kernels that
run for as long as the seed draws and look for what others have written into
their memory. Expectations about what only a simulation knows are open, and so
are those about every timing and findings that the run has not met: they neither
hold nor fail, and leave the exit status as it is. `millpond compare` sets the
two side by side. Without a driver, a device or a build with feature `cuda` the
exit status is 3.

A finding is an error, a warning or a lint: `millpond explain` lists them. Only
an error that no line expects fails a run. --deny makes others errors; what is
allowed, by --allow or by a line, is not told whatever is denied.

Formats: docs/formats.md has every field.
Exit status: 0 holds, 1 fails, 2 the input is wrong or cannot be read, 3 does
not fail, but a line about all timings is undecided; on hardware such lines are
open, and 0 says that nothing fails")]
pub(super) struct Run {
    /// The scenario; - is standard input
    pub(super) file: PathBuf,
    /// Draws the durations of kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,
    /// Lets constant durations and what calls cost the host vary by so many percents, drawn by the seed
    #[arg(long, value_name = "P%", value_parser = super::jitter, default_value = "0%", hide_default_value = true)]
    pub(super) jitter: u8,
    /// How choices are made, which only a schedule says
    #[arg(skip)]
    pub(super) strategy: Strategy,
    /// A report for people; or data for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(super) format: Format,
    /// Runs a variant of the scenario rather than the scenario as it stands
    #[arg(long, value_name = "NAME")]
    pub(super) variant: Option<String>,
    /// What it runs on
    #[arg(long, value_enum, default_value_t = Backend::Simulation)]
    pub(super) backend: Backend,
    /// How often a run on hardware reads the figures of pools, which takes time [default: sync]
    #[arg(long, value_enum)]
    pub(super) observe: Option<Observe>,
    /// The allocator, rather than the one that the scenario states [default: cuda]
    #[arg(long, value_name = "MODEL", value_parser = super::models())]
    pub(super) model: Option<Model>,
    /// Runs with other values and prints a row for each; may be given several times
    #[arg(long, value_name = "NAME=V,V,..")]
    pub(super) set: Vec<String>,
    /// The device and driver: default, data_centre, small_card, or a file like profiles/default.ron
    #[arg(long, value_name = "NAME|FILE", default_value = "default", hide_default_value = true)]
    pub(super) profile: PathBuf,
    #[command(flatten)]
    pub(super) levels: LevelArguments,
    /// Makes at most so many calls for `expect always`, `sometimes` and `never`, and remembers so many states [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) limit: Option<u64>,
    /// The folder of accepted snapshots [default: `snapshots` beside `scenarios`]
    #[arg(long, value_name = "DIR")]
    pub(super) snapshots: Option<PathBuf>,
    /// Writes to a file, once it is whole
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A report, or a table, for people
    Text,
    /// JSON lines: a header, an object an event, a verdict
    Json,
    /// The same as one RON document
    Ron,
    /// The state of each pool over time
    Csv,
    /// SARIF 2.1.0: the findings, and what else fails
    Sarif,
}

impl Run {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        backend::check_observe(self.backend, self.observe)?;
        if self.backend == Backend::Cuda && self.model.is_some() {
            return Err(Complaint::wrong(
                "--model does nothing on hardware, which has an allocator of its own: leave it out, or set the \
                 two side by side with `millpond compare FILE --model MODEL --backend cuda`",
            ));
        }
        self.on(Scenario::read(&self.file)?)
    }

    /// Runs a scenario that was read from the file.
    pub(super) fn on(&self, scenario: Scenario) -> Result<Status, Complaint> {
        outside::check_output(self.output.as_deref(), [self.file.as_path(), self.profile.as_path()])?;
        let scenario = scenario.with_snapshots_in(self.snapshots.as_deref());
        let scenario = scenario.with_profile(&self.profile)?.with_limit(self.limit);
        let colour = outside::colour(&io::stderr());
        let (programs, warnings) = match scenario.load_all() {
            Ok(loaded) => loaded,
            Err(diagnostics) => {
                outside::print_error(&scenario.rendered(&diagnostics, colour));
                return Ok(Status::Wrong);
            }
        };
        if !warnings.is_empty() {
            outside::print_error(&scenario.rendered(&warnings, colour));
        }
        let program = scenario.chosen(programs, self.variant.as_deref())?;
        // Accepted snapshots are those of the model and the durations that the text states, each choice drawn for itself.
        let is_other = self.jitter > 0
            || self.backend != Backend::Simulation
            || scenario.is_untimed()
            || self.strategy != Strategy::Random
            || self.model.is_some_and(|model| model != program.setup.model);
        let accepted = if is_other { Accepted::Ignored } else { Accepted::Compared };
        let levels = self.levels.levels();
        let program = super::with_levels(super::on_model(program, self.model), &levels);
        let program = self.strategy.applied(super::with_jitter(program, self.jitter));
        let to_terminal = self.output.is_none();
        let options = Options {
            width: if to_terminal { outside::width() } else { 80 },
            colour: to_terminal && outside::colour(&io::stdout()),
        };
        let settings = Settings { seed: self.seed, options, accepted, remedies: Remedies::Tried };
        if !self.set.is_empty() {
            if self.backend != Backend::Simulation {
                return Err(Complaint::wrong(
                    "--set goes through simulations: give it without --backend cuda",
                ));
            }
            let Some(values) = sweep::Values::read("--set", &self.set)? else { return Ok(Status::Wrong) };
            let variant = self.variant.as_deref();
            let settings =
                sweep::Sweeping { settings, variant, model: self.model, jitter: self.jitter, levels };
            return sweep::run(&scenario, &values, &settings, self.format, self.output.as_deref());
        }
        let scenario = match self.backend {
            Backend::Simulation => scenario,
            Backend::Cuda if program.length > RECORDED_MAX => {
                return Err(Complaint::impossible(format!(
                    "a run of {} statements is too long for hardware, where it is recorded: {} are the most",
                    grouped(program.length),
                    grouped(RECORDED_MAX)
                )));
            }
            Backend::Cuda => {
                match backend::play(&scenario, &program, self.seed, self.observe.unwrap_or_default())? {
                    Ok(played) => scenario.with_played(played),
                    Err(status) => return Ok(status),
                }
            }
        };
        let outcome = self.report(&scenario, &program, &settings)?;
        if self.format != Format::Text || !to_terminal {
            self.explain(&scenario, &outcome);
        }
        Ok(outcome.status())
    }

    /// Runs and writes what was asked for.
    fn report(
        &self,
        scenario: &Scenario,
        program: &Program,
        settings: &Settings,
    ) -> Result<Outcome, Complaint> {
        let mut output = Output::open(self.output.as_deref())?;
        let lines = |notation, output: &mut Output| {
            let result = scenario.run_as_lines(program, settings, notation, output);
            result.map(|(outcome, written)| (outcome, written.map(drop)))
        };
        let result = match self.format {
            Format::Text => scenario.run(program, settings).map(|outcome| {
                let written = output.write_all(outcome.report.as_bytes());
                (outcome, written)
            }),
            Format::Json => lines(Notation::Json, &mut output),
            Format::Ron => lines(Notation::Ron, &mut output),
            Format::Csv => scenario
                .run_as_csv(program, settings, &mut output)
                .map(|(outcome, written)| (outcome, written.map(drop))),
            Format::Sarif => scenario.run_as_sarif(program, settings).map(|(outcome, document)| {
                let written = output.write_all(document.as_bytes());
                (outcome, written)
            }),
        };
        let (outcome, written) = match result {
            Ok(result) => result,
            Err(complaint) => {
                output.give_up();
                return Err(complaint);
            }
        };
        if let Err(error) = written {
            output.give_up();
            return Err(Complaint::wrong(format!("cannot write the report: {error}")));
        }
        output.close()?;
        Ok(outcome)
    }

    /// What fails, for whoever does not read the report itself.
    fn explain(&self, scenario: &Scenario, outcome: &Outcome) {
        for failure in &outcome.failures {
            outside::print_error(&format!("{}: {failure}\n", self.file.display()));
        }
        if outcome.compared.fails() {
            let first = if outcome.verdict.holds() { "" } else { "once the rest holds, " };
            outside::print_error(&format!("{first}accept it with: {}\n", scenario.accept()));
        }
    }
}
