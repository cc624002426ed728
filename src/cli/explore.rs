//! `millpond explore`: runs one scenario with many seeds, and says what can happen and how often.
//!
//! The clock and the key that stops it are here; the runs are the library's.

use super::levels::LevelArguments;
use super::maximise::{self, What};
use super::outside::{self, Complaint, Output, Status};
use super::progress::Progress;
use super::shrink::{self, ShrinkArguments};
use super::untimed::{self, UntimedArguments};
use super::{Scenario, parallel};
use crate::base::{Nanos, grouped};
use crate::explore::campaign::{self, Campaign, Plan};
use crate::explore::exhaustive::Witness;
use crate::explore::shrink::Choices as Drawn;
use crate::explore::{Choices, Schedule, Strategy};
use crate::report::{Ended, Explored, Notation, Timings};
use crate::scenario::Program;
use crate::trace::Model;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How many runs there are where nothing says it.
const RUNS: u64 = 1_000;
/// The most runs that are made until it is stable, where nothing else says it.
const RUNS_MAX: u64 = 1_000_000;
/// How often it is looked whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// Runs a scenario with many seeds: what can happen, how often, and how to see it again
#[derive(Debug, Args)]
#[command(after_help = "\
From run to run vary the durations that are not constant, and which of several
host threads calls first when several could. --jitter lets what is constant vary
too: 20% means from 8us to 12us for 10us, each nanosecond with the same
probability; of kernels, copies and functions, of `sleep`, and of what calls
cost the host.

With --strategy pct (probabilistic concurrency testing) priorities of the host
threads settle which of them calls first. They are drawn before a run, and so
are --depth less one calls before which a thread gets a lower one. What takes so
many orderings of calls of different threads is found by a run with at least the
probability 1/(n k^(d-1)): n host threads, k calls that they make at most once
there are several, depth d. The report has the numbers. Of durations it changes
nothing, nor does it bring together calls that these keep apart.

Two runs have different outcomes when something else is found or fails, another
expectation does not hold, or an allocation is served by another class of
memory. Each outcome comes with a command that shows its first run. Times and
figures are spread over all runs. Snapshots are not compared.

Of the outcomes that no run had so far, the estimate (Good-Turing) is the share
of the runs whose outcome no other run has. --until-stable stops, looking after
each 1,024 runs, once that is at most 1 in 1,000 and the latter half of the runs
had no new outcome; without --seeds it gives up after 1,000,000 runs.

--untimed goes through every timing: durations are unknown, so that operations
end in any order that the program allows, and host threads call in any order.
It says \"covered\" where it has gone through everything, and then how many
outcomes there are, exactly. At its limit it says how far it came.

--maximise p.reserved_high says what that can come to at most at the end of the
program, of all timings, with a run that does; at the limit it is the most that
was found. --maximise end looks for the latest end in the runs that are made.

The same seeds give the same report, whatever the number of threads. With --time
and after Ctrl-C the report has the command that repeats it.

--shrink takes the first run that fails, a plain run first of all, and writes
the smallest scenario that fails in the same way: by the same kind of finding,
as possible or as definite and about the same kinds of statements, by the same
error or by the same `expect` line. Whatever does not matter goes: statements,
declarations, loops, threads, parameters, sizes, durations, the seed. No line
of it can go without the failure, or without another one that was not there
before. Ctrl-C ends the search, and what there is by then is written. Without
-o it is printed.

Examples:
  millpond explore scenarios/reuse/opportunistic/depends_on_timing.scn
  millpond explore FILE --seeds 100000 --jitter 10%
  millpond explore FILE --strategy pct --depth 2
  millpond explore FILE --until-stable --format json -o outcomes.jsonl
  millpond explore FILE --time 30s
  millpond explore FILE --untimed --limit 100000000
  millpond explore FILE --maximise p.reserved_high
  millpond explore FILE --maximise end --seeds 100000 --jitter 10%
  millpond explore FILE --shrink -o min.scn
  millpond explore FILE --shrink --finding use_after_free -o min.scn

Exit status: 0 every run holds; 1 a run fails, or what --shrink is asked for was
found; 2 the input is wrong or cannot be read, or the file of --shrink exists;
3 every run holds, but it did not become stable, did not cover every timing or
was interrupted; --shrink was interrupted")]
pub(super) struct Explore {
    /// The scenario; - is standard input
    pub(super) file: PathBuf,
    /// Makes so many runs [default: 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seeds: Option<u64>,
    /// Stops after so much time, such as `30s`
    #[arg(long, value_name = "T", value_parser = time)]
    time: Option<Duration>,
    /// Stops once no new outcome is to be expected
    #[arg(long)]
    until_stable: bool,
    /// How choices are made
    #[arg(long, value_parser = strategies(), default_value = Strategy::Random.name())]
    strategy: Strategy,
    /// Of `pct`: how many orderings of calls what it looks for takes [default: 3]
    #[arg(long, value_name = "D", value_parser = clap::value_parser!(u8).range(1..))]
    depth: Option<u8>,
    /// The seed of the first run; the others follow it
    #[arg(long, value_name = "N", default_value_t = 0)]
    base_seed: u64,
    /// Lets constant durations and what calls cost the host vary by so many percents
    #[arg(long, value_name = "P%", value_parser = super::jitter, default_value = "0%", hide_default_value = true)]
    jitter: u8,
    #[command(flatten)]
    pub(super) untimed: UntimedArguments,
    /// A report for people; or data for programs
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Explores a variant of the scenario rather than the scenario as it stands
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// The allocator, rather than the one that the scenario states [default: cuda]
    #[arg(long, value_name = "MODEL", value_parser = super::models())]
    model: Option<Model>,
    /// The device and driver: default, data_centre, small_card, or a file like profiles/default.ron
    #[arg(long, value_name = "NAME|FILE", default_value = "default", hide_default_value = true)]
    profile: PathBuf,
    #[command(flatten)]
    levels: LevelArguments,
    /// So many runs at once [default: as many as the machine can]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Writes to a file, once it is whole; with --shrink to a new one
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    shrink: ShrinkArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A report for people
    Text,
    /// JSON lines: a header, an object an outcome, a summary
    Json,
    /// The same as one RON document
    Ron,
}

/// The argument of `--strategy`.
fn strategies() -> impl TypedValueParser<Value = Strategy> {
    let one_of = PossibleValuesParser::new(Strategy::ALL.map(Strategy::name));
    one_of.map(|name| Strategy::named(&name).expect("the parser knows no other names"))
}

/// Reads the argument of `--time`.
fn time(text: &str) -> Result<Duration, String> {
    let time = text.parse::<Nanos>().map_err(|_| "expected a time with a unit, such as `30s` or `500ms`")?;
    Ok(Duration::from_nanos(time.0))
}

impl Explore {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let scenario = Scenario::read(&self.file)?.with_profile(&self.profile)?;
        let Some(programs) = scenario.programs() else { return Ok(Status::Wrong) };
        let program = super::on_model(scenario.chosen(programs, self.variant.as_deref())?, self.model);
        let program = super::with_jitter(super::with_levels(program, &self.levels.levels()), self.jitter);
        let program = self.strategy()?.applied(program);
        if self.shrink.is_asked_for() {
            return self.shrink(&scenario, &program);
        }
        outside::check_output(self.output.as_deref(), [self.file.as_path(), self.profile.as_path()])?;
        if let Some(word) = &self.untimed.maximise {
            return self.worst(word, &scenario, &program);
        }
        if self.untimed.untimed {
            return self.all_timings(&scenario, &program);
        }
        if self.untimed.limit.is_some() {
            return Err(Complaint::wrong("--limit is one of --untimed: --seeds says how many runs are made"));
        }
        let output = Output::open(self.output.as_deref())?;
        let (campaign, ended) = self.explore(&program);
        let choices = Choices::Drawn { strategy: Strategy::of(&program), seed: self.base_seed };
        let schedule = scenario.schedule(&program, choices);
        let explored = Explored {
            program: &program,
            campaign: &campaign,
            origin: scenario.origin(&program, self.base_seed),
            shown_with: self.shown_with(&schedule),
            schedule,
            file: outside::quoted(&self.file),
            options: self.options(self.base_seed),
            ended,
        };
        let data = |notation, output: &mut Output| explored.write(notation, output).map(drop);
        self.report(output, |width| explored.text(width), data)?;
        Ok(match ended {
            _ if !explored.holds() => Status::Fails,
            Ended::NotStable | Ended::Interrupted => Status::Impossible,
            _ if campaign.runs == 0 => Status::Impossible,
            Ended::Complete | Ended::Stable | Ended::TimeIsUp => Status::Holds,
        })
    }

    fn shrink(&self, scenario: &Scenario, program: &Program) -> Result<Status, Complaint> {
        let levels = self.levels.levels();
        let read = |text: &str| {
            let (program, _) = scenario.with_text(text.to_owned()).load()?;
            Ok(super::with_levels(super::on_model(program, self.model), &levels))
        };
        let task = shrink::Task {
            scenario,
            program,
            read: &read,
            plan: self.plan(),
            until: self.time.map(|time| Instant::now() + time),
            made_by: &|seed| format!("{}{}", outside::quoted(&self.file), self.options(seed)),
            run_with: &|choices| self.run_with(choices),
            output: self.output.as_deref(),
        };
        self.shrink.run(&task)
    }

    /// The command that makes a run with these choices, and what it needs beside the file, as arguments.
    fn run_with(&self, choices: Drawn) -> (&'static str, String) {
        let (command, seed) = match choices.strategy {
            Strategy::Random => ("run", (choices.seed > 0).then(|| format!(" --seed {}", choices.seed))),
            Strategy::Pct { depth } => {
                let seed = format!(" --strategy pct --depth {depth} --base-seed {} --seeds 1", choices.seed);
                ("explore", Some(seed))
            }
        };
        let jitter = (choices.jitter > 0).then(|| format!(" --jitter {}%", choices.jitter));
        let model = self.model.map(|model| format!(" --model {}", model.name()));
        let profile = outside::quoted(&self.profile);
        let profile = (profile != "default").then(|| format!(" --profile {profile}"));
        let all: String = [seed, jitter, model, profile].into_iter().flatten().collect();
        (command, format!("{all}{}", self.levels))
    }

    /// The strategy, with its depth.
    fn strategy(&self) -> Result<Strategy, Complaint> {
        match (self.strategy, self.depth) {
            (Strategy::Pct { .. }, Some(depth)) => Ok(Strategy::Pct { depth }),
            (strategy, None) => Ok(strategy),
            (Strategy::Random, Some(_)) => {
                Err(Complaint::wrong("only `--strategy pct` has a --depth".to_owned()))
            }
        }
    }

    /// Looks for the worst case.
    fn worst(&self, word: &str, scenario: &Scenario, program: &Program) -> Result<Status, Complaint> {
        let what = What::of(word, program)?;
        let output = Output::open(self.output.as_deref())?;
        let found = match what {
            What::Figure(..) if self.makes_runs() => Err(Complaint::wrong(
                "a figure of a pool is looked for among all timings, not in runs: leave out --seeds, --time and --until-stable",
            )),
            What::Figure(pool, figure) => maximise::of_all(self, (word, pool, figure), scenario, program),
            What::End if self.untimed.untimed => {
                Err(Complaint::wrong("without durations a run ends at no time: leave out --untimed"))
            }
            What::End => maximise::of_runs(self, &self.explore(program).0, scenario, program),
        };
        let worst = match found {
            Ok(worst) => worst,
            Err(complaint) => {
                output.give_up();
                return Err(complaint);
            }
        };
        let data = |notation, output: &mut Output| worst.write(notation, output).map(drop);
        self.report(output, |width| worst.text(width), data)?;
        let is_open = what != What::End && !worst.is_exact();
        Ok(if is_open { Status::Impossible } else { Status::Holds })
    }

    fn makes_runs(&self) -> bool {
        self.seeds.is_some() || self.time.is_some() || self.until_stable
    }

    /// Goes through every timing.
    fn all_timings(&self, scenario: &Scenario, program: &Program) -> Result<Status, Complaint> {
        let output = Output::open(self.output.as_deref())?;
        let untimed = self.untimed.search(program);
        let schedule = scenario.schedule(program, Choices::Untimed(Witness::default()));
        let timings = Timings {
            program,
            untimed: &untimed,
            limits: self.untimed.limits(),
            origin: scenario.origin(program, 0),
            shown_with: self.shown_with(&schedule),
            schedule,
            file: outside::quoted(&self.file),
        };
        let data = |notation, output: &mut Output| timings.write(notation, output).map(drop);
        self.report(output, |width| timings.text(width), data)?;
        Ok(untimed::status(&timings))
    }

    /// Writes what was found, as it was asked for.
    fn report(
        &self,
        mut output: Output,
        text: impl FnOnce(usize) -> String,
        data: impl FnOnce(Notation, &mut Output) -> io::Result<()>,
    ) -> Result<(), Complaint> {
        let width = if self.output.is_none() { outside::width() } else { 80 };
        let written = match self.format {
            Format::Text => output.write_all(text(width).as_bytes()),
            Format::Json => data(Notation::Json, &mut output),
            Format::Ron => data(Notation::Ron, &mut output),
        };
        if let Err(error) = written {
            output.give_up();
            return Err(Complaint::wrong(format!("cannot write the report: {error}")));
        }
        output.close()
    }

    /// What a replay needs beside the schedule and the file, as arguments.
    pub(super) fn shown_with(&self, schedule: &Schedule) -> String {
        let is_file = schedule.profile.is_none();
        let profile = is_file.then(|| format!(" --profile {}", outside::quoted(&self.profile)));
        format!("{}{}", profile.unwrap_or_default(), self.levels)
    }

    /// What else than the number of runs they depend on, as arguments, from a first seed on.
    fn options(&self, base_seed: u64) -> String {
        let strategy =
            (self.strategy != Strategy::Random).then(|| format!("--strategy {}", self.strategy.name()));
        let depth = self.depth.map(|depth| format!("--depth {depth}"));
        let base = (base_seed > 0).then(|| format!("--base-seed {base_seed}"));
        let jitter = (self.jitter > 0).then(|| format!("--jitter {}%", self.jitter));
        let variant = self.variant.as_ref().map(|variant| format!("--variant {variant}"));
        let model = self.model.map(|model| format!("--model {}", model.name()));
        let profile = outside::quoted(&self.profile);
        let profile = (profile != "default").then(|| format!("--profile {profile}"));
        let all = [strategy, depth, base, jitter, variant, model, profile].into_iter().flatten();
        let all: String = all.map(|option| format!(" {option}")).collect();
        format!("{all}{}", self.levels)
    }

    fn plan(&self) -> Plan {
        let runs = match (self.seeds, self.time, self.until_stable) {
            (Some(runs), ..) => runs,
            (None, Some(_), _) => u64::MAX,
            (None, None, true) => RUNS_MAX,
            (None, None, false) => RUNS,
        };
        Plan {
            base: self.base_seed,
            runs,
            until_stable: self.until_stable,
            jobs: self.jobs.unwrap_or_else(parallel::available),
        }
    }

    /// The runs, until they are made, the time is over, or somebody stops them.
    fn explore(&self, program: &Program) -> (Campaign, Ended) {
        let (plan, started) = (self.plan(), Instant::now());
        let stopped = listen();
        let progress = Progress::of_runs(self.seeds, self.time);
        let (begun, is_over) = (AtomicU64::new(0), AtomicBool::new(false));
        let goes_on = || {
            begun.fetch_add(1, Ordering::Relaxed);
            !is_over.load(Ordering::Relaxed)
        };
        let watch = thread::current();
        let campaign = thread::scope(|scope| {
            let work = scope.spawn(|| {
                let campaign = campaign::run(program, &plan, &goes_on);
                watch.unpark();
                campaign
            });
            while !work.is_finished() {
                thread::park_timeout(PATIENCE);
                let is_late = self.time.is_some_and(|time| started.elapsed() >= time);
                if is_late || stopped.get().is_some() {
                    is_over.store(true, Ordering::Relaxed);
                }
                progress.done(begun.load(Ordering::Relaxed) as usize);
            }
            work.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        progress.end();
        tell_rate(campaign.runs, "runs", started.elapsed());
        let ended = match () {
            () if plan.until_stable && campaign.is_stable() => Ended::Stable,
            () if campaign.runs < plan.runs && stopped.get().is_some() => Ended::Interrupted,
            () if campaign.runs < plan.runs => Ended::TimeIsUp,
            () if plan.until_stable => Ended::NotStable,
            () => Ended::Complete,
        };
        (campaign, ended)
    }
}

/// When the key was pressed that stops it. Who presses it again, once there was time for a report, wants none.
pub(super) fn listen() -> &'static OnceLock<Instant> {
    static STOPPED: OnceLock<Instant> = OnceLock::new();
    let stop = || {
        if STOPPED.get_or_init(Instant::now).elapsed() > Duration::from_secs(1) {
            std::process::exit(Status::Impossible as i32);
        }
    };
    // Where the machine has no such key, there is nothing to listen to.
    ctrlc::set_handler(stop).ok();
    &STOPPED
}

/// How quick it was, which is no part of the report.
pub(super) fn tell_rate(count: u64, noun: &str, took: Duration) {
    let (millis, micros) = (took.as_millis(), took.as_micros().max(1));
    let rate = u64::try_from(u128::from(count) * 1_000_000 / micros).unwrap_or(u64::MAX);
    let (seconds, rest) = (millis / 1_000, millis % 1_000);
    let count = grouped(count);
    outside::print_error(&format!("{count} {noun} in {seconds}.{rest:03} s, {} a second\n", grouped(rate)));
}
