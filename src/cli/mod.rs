//! The command line: the only place with files, environment, terminals, printing and exit statuses.
//!
//! One file a subcommand. It puts the parts together and decides nothing about a run.

mod check;
mod diagnostics;
mod explain;
mod fmt;
mod outside;
mod run;
mod scenario;
mod snapshots;
mod sweep;
mod test;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

pub use outside::{Complaint, Status};
pub use scenario::{Outcome, Scenario, Settings, find};
pub use snapshots::Place;

/// Simulates CUDA's stream-ordered memory allocator: scenarios in, verdicts out. No GPU needed.
#[derive(Debug, Parser)]
#[command(name = "millpond", version, after_help = HELP, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Check(check::Check),
    Test(test::Test),
    Fmt(fmt::Fmt),
    Explain(explain::Explain),
}

const HELP: &str = "\
Exit status:
  0  everything holds
  1  an expectation fails, a call fails unexpectedly, a deadlock, or a snapshot or a form differs
  2  the input is wrong or cannot be read
  3  an answer is not possible here";

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Run(run) => run.run(),
        Command::Check(check) => check.run(),
        Command::Test(test) => test.run(),
        Command::Fmt(fmt) => fmt.run(),
        Command::Explain(explain) => explain.run(),
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
}
