//! `millpond compare`: one scenario twice, side by side, and where the two runs differ.
//!
//! It makes the two sides. What counts as a difference, and of which class one is, is not its affair.

mod with;

use super::backend::{self, Backend, Observe, Played};
use super::outside::{self, Complaint, Output, Status};
use super::scenario::RECORDED_MAX;
use super::sweep::{Changed, Sweeping, Values};
use super::{Accepted, Remedies, Scenario, Settings};
use crate::base::grouped;
use crate::compare::{Class, Common, Comparison, Recorder, Trace};
use crate::edit;
use crate::engine::Stop;
use crate::oracle::{Broken, Met};
use crate::report::{ComparedSide, Notation, Options, Origin, SIMULATION, SideBySide};
use crate::scenario::{Levels, Program};
use crate::trace::Model;
use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::path::PathBuf;
use with::With;

/// Runs a scenario twice, side by side, and shows where the two runs differ
#[derive(Debug, Args)]
#[command(after_help = "\
The left side is the scenario as `run` would run it. --with says what is another
one on the right side, and may be given several times:
  seed=N, model=MODEL, profile=NAME|FILE, variant=NAME
  NAME=VALUE      any value that `millpond run --set` knows, such as
                  scratch.follow_event=off or turns=10
With --backend cuda the right side runs on the devices of this machine; --with
is then not needed, and takes seed, variant, settings of pools and names of
`let`: what a device or its allocator is cannot be set there. Where its kernels
find what others have written into their memory, that fails too. --calibrate
measures the device first, writes a profile, and simulates the left side on it.
docs/hardware.md has more.

Compared are how each call ends, which earlier allocations a new one takes the
memory of, what pools hold, which values are read, and in which order operations
end. Addresses never are.

At the end of each difference stands what documents say about it:
  differs      they leave no room: the sides are not the same allocator with the
               same settings, or one of them is wrong
  timing       another timing of the same program does this
  unspecified  they leave it open
What comes after a difference in the same pool may come from it, and is judged
as that is. A note at the end names what the backend for hardware does otherwise
than a machine, where that may be the cause. docs/compare.md has the rules.

Examples:
  millpond compare scenarios/reuse/opportunistic/twins.scn --with variant=off
  millpond compare scenarios/guide/follow_event.scn --with model=oxicuda
  millpond compare FILE --seed 1 --with seed=2 --allow timing
  millpond compare FILE --with scratch.release_threshold=max --format json
  millpond compare FILE --backend cuda
  millpond compare FILE --backend cuda --calibrate measured.ron

Exit status: 0 no difference but what is unspecified or allowed, 1 there is one,
or kernels of the right side have met in their memory (error[overlap]), whatever
is allowed, 2 the input is wrong or cannot be read, 3 the run has more than
1,000,000 statements, is not one for hardware, or has no device to run on")]
pub(super) struct Compare {
    /// The scenario; - is standard input
    file: PathBuf,
    /// What is another one on the right side; may be given several times
    #[arg(long, value_name = "WHAT=VALUE")]
    with: Vec<String>,
    /// What the right side runs on
    #[arg(long, value_enum, default_value_t = Backend::Simulation)]
    backend: Backend,
    /// How often a run on hardware reads the figures of pools, which takes time [default: sync]
    #[arg(long, value_enum)]
    observe: Option<Observe>,
    /// Measures the device, writes a profile of it to a new file, and simulates on that
    #[arg(long, value_name = "FILE", conflicts_with = "profile")]
    calibrate: Option<PathBuf>,
    /// Draws the durations of kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// A variant of the scenario rather than the scenario as it stands
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// The allocator, rather than the one that the scenario states [default: cuda]
    #[arg(long, value_name = "MODEL", value_parser = super::models())]
    model: Option<Model>,
    /// Another value on both sides; may be given several times
    #[arg(long, value_name = "NAME=V")]
    set: Vec<String>,
    /// The device and driver: default, data_centre, small_card, or a file like profiles/default.ron
    #[arg(long, value_name = "NAME|FILE", default_value = "default", hide_default_value = true)]
    profile: PathBuf,
    /// Lets differences of this class and of better ones pass
    #[arg(long, value_name = "CLASS", value_enum, default_value_t = Passing(Class::Unspecified), hide_default_value = true)]
    allow: Passing,
    /// A report for people; or data for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Writes to a file, once it is whole
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// A class that does not fail a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passing(Class);

impl ValueEnum for Passing {
    fn value_variants<'a>() -> &'a [Self] {
        &[Passing(Class::Unspecified), Passing(Class::Timing), Passing(Class::Differs)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.0.name()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A report for people
    Text,
    /// JSON lines: a header, an object a difference, a summary
    Json,
}

/// One side: a program, and what came of its run.
struct Side {
    program: Program,
    origin: Origin,
    backend: &'static str,
    with: Vec<String>,
    trace: Trace,
    /// Where kernels have met in their memory.
    met: Vec<Met>,
    /// Why it was given up, if it was.
    stopped: Option<Broken>,
}

impl Compare {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        self.check_arguments()?;
        let with = With::read(&self.with)?;
        with::once("--set", &self.set)?;
        if self.backend == Backend::Cuda {
            with.check_for_hardware()?;
        }
        let set = [&self.set, &with.set].into_iter().filter_map(|set| with::profile(set));
        let read = [self.file.as_path(), self.profile.as_path()].into_iter().chain(set);
        outside::check_output(self.output.as_deref(), read)?;
        let scenario = Scenario::read(&self.file)?.with_profile(&self.profile)?;
        let Some(sides) = self.sides(&scenario, &with)? else { return Ok(Status::Wrong) };
        // What is wrong with the scenario is told before anything is measured or written.
        let sides = match &self.calibrate {
            Some(file) if backend::can_run(&sides[1].program) => {
                outside::create(file, &backend::measured_profile()?)?;
                self.sides(&scenario.with_profile(file)?, &with)?
            }
            _ => Some(sides),
        };
        let Some([left, right]) = sides else { return Ok(Status::Wrong) };
        let common = Common::of(&left.program, &right.program, |start| {
            right
                .edits
                .iter()
                .fold(start, |start, edits| edit::moved(crate::base::Span::new(start, start), edits).start)
        });
        let left = simulated(left, self.seed, &self.set)?;
        let seed = with.seed.unwrap_or(self.seed);
        let right = match self.backend {
            Backend::Simulation => simulated(right, seed, &self.with)?,
            Backend::Cuda => {
                let observe = self.observe.unwrap_or_default();
                match backend::play(&right.scenario, &right.program, seed, observe)? {
                    Ok(played) => on_hardware(right, seed, &self.with, &played)?,
                    Err(status) => return Ok(status),
                }
            }
        };
        self.report(left, right, &common)
    }

    /// Whether the arguments go together.
    fn check_arguments(&self) -> Result<(), Complaint> {
        if self.with.is_empty() && self.backend == Backend::Simulation {
            return Err(Complaint::wrong(
                "nothing says what is another one on the right side: give --with seed=N, model=MODEL, \
                 profile=NAME, variant=NAME, or NAME=VALUE as `millpond run --set` has them, or --backend cuda",
            ));
        }
        backend::check_observe(self.backend, self.observe)?;
        let Some(file) = &self.calibrate else { return Ok(()) };
        let shown = outside::quoted(file);
        let wrong = |message: String| Err(Complaint::wrong(message));
        if self.backend == Backend::Simulation {
            return wrong("--calibrate measures a device: give --backend cuda with it".to_owned());
        }
        if outside::is_standard_input(file) {
            return wrong(
                "--calibrate writes a profile to a file: give it a name, such as measured.ron".to_owned(),
            );
        }
        if self.output.as_ref().is_some_and(|output| outside::is_same(output, file)) {
            return wrong(format!("--calibrate and --output both name {shown}: give them two names"));
        }
        if file.exists() {
            return wrong(format!(
                "{shown} exists already: give --calibrate another name, or `--profile {shown}` to use what was \
                 measured before"
            ));
        }
        Ok(())
    }

    /// The scenario of the left side, and that of the right one; `None` for mistakes that were shown.
    fn sides(&self, scenario: &Scenario, with: &With) -> Result<Option<[Changed; 2]>, Complaint> {
        let Some(left) = self.changed("--set", scenario, &self.set, self.variant.as_deref(), self.model)?
        else {
            return Ok(None);
        };
        let variant = with.variant.as_ref().map_or(self.variant.as_deref(), |variant| variant.as_deref());
        let model = Some(left.program.setup.model);
        let right = self.changed("--with", &left.scenario, &with.set, variant, model)?;
        let Some(right) = right else { return Ok(None) };
        check_length(&left.program)?;
        check_length(&right.program)?;
        Ok(Some([left, right]))
    }

    /// The scenario with other values; `None` for mistakes that were shown.
    fn changed(
        &self,
        argument: &'static str,
        scenario: &Scenario,
        set: &[String],
        variant: Option<&str>,
        model: Option<Model>,
    ) -> Result<Option<Changed>, Complaint> {
        let Some(programs) = scenario.programs() else { return Ok(None) };
        scenario.chosen(programs, variant)?;
        let Some(values) = Values::read(argument, set)? else { return Ok(None) };
        let choice = vec![0; set.len()];
        let options = Options { width: 80, colour: false };
        let (accepted, remedies) = (Accepted::Ignored, Remedies::Ignored);
        let settings = Settings { seed: self.seed, options, accepted, remedies };
        let (jitter, levels) = (0, Levels::default());
        values.scenario(scenario, &choice, &Sweeping { settings, variant, model, jitter, levels })
    }

    fn report(&self, left: Side, right: Side, common: &Common) -> Result<Status, Complaint> {
        let right = Side { trace: common.of_right(right.trace), ..right };
        let comparison = crate::compare::compare(&left.trace, &right.trace, &left.program, common);
        let sides = [&left, &right].map(|side| ComparedSide {
            program: &side.program,
            origin: side.origin.clone(),
            backend: side.backend,
            with: side.with.clone(),
            stopped: side.stopped.clone(),
        });
        let report = SideBySide::new(sides, common, &comparison, &right.met);
        let mut output = Output::open(self.output.as_deref())?;
        let to_terminal = self.output.is_none();
        let options = Options {
            width: if to_terminal { outside::width() } else { 80 },
            colour: to_terminal && outside::colour(&io::stdout()),
        };
        let written = match self.format {
            Format::Text => output.write_all(report.text(options).as_bytes()),
            Format::Json => report.write(Notation::Json, &mut output).map(drop),
        };
        if let Err(error) = written {
            output.give_up();
            return Err(Complaint::wrong(format!("cannot write the report: {error}")));
        }
        output.close()?;
        if self.format != Format::Text || !to_terminal {
            self.explain([&left, &right]);
        }
        Ok(if right.met.is_empty() { self.status(&comparison) } else { Status::Fails })
    }

    /// Which run was given up, for whoever does not read the report itself.
    fn explain(&self, sides: [&Side; 2]) {
        for (name, side) in ["left", "right"].into_iter().zip(sides) {
            let Some(Broken { stmt, reason }) = &side.stopped else { continue };
            let (file, line) = (outside::quoted(&self.file), side.program.statements[*stmt].line);
            let message = format!("{file}: the {name} side stopped at line {line}: {reason}");
            outside::complain(&Complaint::wrong(message));
        }
    }

    fn status(&self, comparison: &Comparison) -> Status {
        let fails = comparison.differences.iter().any(|difference| difference.class > self.allow.0);
        if fails { Status::Fails } else { Status::Holds }
    }
}

fn check_length(program: &Program) -> Result<(), Complaint> {
    if program.length <= RECORDED_MAX {
        return Ok(());
    }
    Err(Complaint::impossible(format!(
        "a run of {} statements is too long to be compared: {} are the most",
        grouped(program.length),
        grouped(RECORDED_MAX)
    )))
}

/// A side that is simulated.
fn simulated(changed: Changed, seed: u64, with: &[String]) -> Result<Side, Complaint> {
    let Changed { scenario, program, .. } = changed;
    let mut recorder = Recorder::of_simulation();
    let ending = crate::engine::run(&program, seed, &mut recorder);
    let stopped = match ending.stop {
        Some(Stop::Broken { stmt, reason }) => Some(Broken { stmt, reason }),
        _ => None,
    };
    let trace = recorder.finish().map_err(|error| Complaint::impossible(error.to_string()))?;
    let origin = scenario.origin(&program, seed);
    let (with, met) = (with.to_vec(), Vec::new());
    Ok(Side { program, origin, backend: SIMULATION, with, trace, met, stopped })
}

/// A side that was run on hardware.
fn on_hardware(changed: Changed, seed: u64, with: &[String], played: &Played) -> Result<Side, Complaint> {
    let Changed { scenario, program, .. } = changed;
    let scenario = scenario.with_played(played.clone());
    let mut recorder = Recorder::of_device();
    played.events.replay_told(&mut recorder);
    let trace = recorder.finish().map_err(|error| Complaint::impossible(error.to_string()))?;
    let origin = scenario.origin(&program, seed);
    let (with, met, stopped) = (with.to_vec(), played.met.clone(), played.broken.clone());
    Ok(Side { program, origin, backend: "cuda", with, trace, met, stopped })
}
