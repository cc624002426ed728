//! The command line: the only place with files, environment, terminals, printing and exit statuses.
//!
//! One file a subcommand. It puts the parts together and decides nothing about a run.

#![allow(
    clippy::disallowed_types,
    reason = "it measures how long a person waits; a run knows only virtual time"
)]

mod annotations;
mod backend;
mod check;
mod compare;
mod diagnostics;
mod excerpt;
mod explain;
mod explore;
mod fix;
mod fmt;
mod generate;
mod graph;
mod junit;
mod levels;
mod maximise;
mod new;
mod outside;
mod parallel;
mod progress;
mod replay;
mod run;
mod scenario;
mod shell;
mod shrink;
mod snapshots;
mod sweep;
mod test;
mod tested;
mod untimed;

use crate::scenario::{Levels, Program};
use crate::trace::Model;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

pub use annotations::for_this_machine as annotations;
#[cfg(feature = "cuda")]
pub use backend::{hardware_turns, on_host};
pub use explain::{Rule, Standing, rules};
pub use outside::{Complaint, Status, find};
pub use scenario::{Accepted, Outcome, Remedies, Scenario, Settings};
pub use snapshots::Place;
pub use tested::{Remark, TestSettings, Tested, test as test_scenario};

/// Simulates CUDA's stream-ordered memory allocator: scenarios in, verdicts out. No GPU needed.
#[derive(Debug, Parser)]
#[command(name = "millpond", version = VERSION, after_help = HELP, max_term_width = 80)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Explore(explore::Explore),
    Replay(replay::Replay),
    Compare(compare::Compare),
    Check(check::Check),
    Test(test::Test),
    Fmt(fmt::Fmt),
    Fix(fix::Fix),
    #[command(name = "graph")]
    Operations(graph::Operations),
    Explain(explain::Explain),
    New(new::New),
    Generate(generate::Generate),
    #[command(hide = true)]
    Completions(shell::Completions),
    #[command(hide = true, name = "man")]
    Manual(shell::Manual),
}

/// With the allocator model, and the versions of the language and of what `--format json` writes.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (language 1, models cuda and oxicuda, JSON lines schema 3)");

const HELP: &str = "\
Exit status:
  0  everything holds
  1  an expectation fails, a call fails unexpectedly, something is found that is
     an error and that no line expects, or something differs from what it should
     be: a snapshot, the form of a file
  2  the input is wrong or cannot be read
  3  an answer is not possible here";

/// The argument of `--model`.
fn models() -> impl TypedValueParser<Value = Model> {
    let one_of = PossibleValuesParser::new(Model::ALL.map(Model::name));
    one_of.map(|name| Model::named(&name).expect("the parser knows no other names"))
}

/// A program with what arguments say about findings.
fn with_levels(mut program: Program, levels: &Levels) -> Program {
    program.levels.extend(levels);
    program
}

/// A program on another model than its text states, if one was asked for.
fn on_model(mut program: Program, model: Option<Model>) -> Program {
    program.setup.model = model.unwrap_or(program.setup.model);
    program
}

/// A program whose constant durations vary by so many percents.
fn with_jitter(mut program: Program, percent: u8) -> Program {
    program.setup.jitter = percent;
    program
}

/// Reads the argument of `--jitter`.
fn jitter(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').ok_or("expected a whole number of percents, such as `20%`")?;
    let percent = number.parse::<u8>().ok().filter(|percent| *percent <= 100);
    percent.ok_or("expected whole percents from `0%` to `100%`".to_owned())
}

/// What there is to try, for who gives no command.
const GREETING: &str = "\
Millpond simulates CUDA's stream-ordered memory allocator. No GPU needed.

Write a first scenario of a few lines, and change it as you like:
  millpond new first.scn

See what each allocation got and why, and whether what you expect holds:
  millpond run first.scn

Ask what a word means, of a report, of the language or of CUDA:
  millpond explain same_stream

All commands: millpond --help
";

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let Some(command) = Arguments::parse().command else {
        return outside::print(GREETING).map_or(Status::Wrong, |()| Status::Holds).into();
    };
    let result = match command {
        Command::Run(run) => run.run(),
        Command::Explore(explore) => explore.run(),
        Command::Replay(replay) => replay.run(),
        Command::Compare(compare) => compare.run(),
        Command::Check(check) => check.run(),
        Command::Test(test) => test.run(),
        Command::Fmt(fmt) => fmt.run(),
        Command::Fix(fix) => fix.run(),
        Command::Operations(operations) => operations.run(),
        Command::Explain(explain) => explain.run(),
        Command::New(new) => new.run(),
        Command::Generate(generate) => generate.run(),
        Command::Completions(completions) => completions.run(Arguments::command()),
        Command::Manual(manual) => manual.run(Arguments::command()),
    };
    match result {
        Ok(status) => status.into(),
        Err(complaint) => {
            outside::complain(&complaint);
            complaint.status.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn arguments_are_sound() {
        super::Arguments::command().debug_assert();
    }

    #[test]
    fn help_fits_the_page_and_has_examples() {
        let command = super::Arguments::command();
        for command in command.get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("Examples:\n  millpond "), "{}", command.get_name());
            let wide = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{}", command.get_name());
        }
    }

    #[test]
    fn the_version_names_language_and_schema() {
        assert!(super::VERSION.contains(&format!("(language {},", crate::syntax::VERSION)));
        assert!(super::VERSION.ends_with(&format!("schema {})", crate::report::SCHEMA)));
    }
}
