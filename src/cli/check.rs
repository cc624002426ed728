//! `millpond check`: reads scenarios and shows all their mistakes, without running anything.

use super::Scenario;
use super::outside::{self, Complaint, Status};
use clap::Args;
use std::io;
use std::path::PathBuf;

/// Checks scenarios without running them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond check scenarios/guide/follow_event.scn
  millpond check - < draft.scn

Exit status: 0 all are valid, 2 one is not or cannot be read")]
pub(super) struct Check {
    /// The scenarios; - is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Check {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let colour = outside::colour(&io::stderr());
        let mut status = Status::Holds;
        for file in &self.files {
            let scenario = match Scenario::read(file) {
                Ok(scenario) => scenario,
                Err(complaint) => {
                    outside::complain(&complaint);
                    status = status.worse(complaint.status);
                    continue;
                }
            };
            match scenario.load() {
                Ok((_, warnings)) if warnings.is_empty() => {
                    outside::print(&format!("{}: no mistakes\n", scenario.shown()))?;
                }
                Ok((_, warnings)) => outside::print_error(&scenario.rendered(&warnings, colour)),
                Err(diagnostics) => {
                    outside::print_error(&scenario.rendered(&diagnostics, colour));
                    status = status.worse(Status::Wrong);
                }
            }
        }
        Ok(status)
    }
}
