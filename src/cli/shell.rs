//! `millpond completions` and `millpond man`: what a package of millpond installs beside the program.

use super::outside::{self, Complaint, Status};
use clap::{Args, Command};

/// Prints the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond completions fish > ~/.config/fish/completions/millpond.fish
  source <(millpond completions bash)")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: clap_complete::Shell,
}

impl Completions {
    pub(super) fn run(&self, mut command: Command) -> Result<Status, Complaint> {
        let mut bytes = Vec::new();
        clap_complete::generate(self.shell, &mut command, "millpond", &mut bytes);
        printed(&bytes)
    }
}

/// Prints the manual page, of millpond or of one of its commands
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond man > millpond.1
  millpond man run > millpond-run.1")]
pub(super) struct Manual {
    /// A command, such as run; without it, the page of millpond itself
    command: Option<String>,
}

impl Manual {
    pub(super) fn run(&self, command: Command) -> Result<Status, Complaint> {
        let page = self.page(command)?;
        let mut bytes = Vec::new();
        let rendered = clap_mangen::Man::new(page).render(&mut bytes);
        rendered.map_err(|error| Complaint::wrong(format!("cannot write: {error}")))?;
        printed(&bytes)
    }

    fn page(&self, mut millpond: Command) -> Result<Command, Complaint> {
        let Some(name) = &self.command else { return Ok(millpond) };
        // Gives the page of `run` the name `millpond-run`, by which the page of the whole refers to it.
        millpond.build();
        let found = millpond.find_subcommand(name).cloned();
        found.ok_or_else(|| Complaint::wrong(format!("there is no command `{name}`: see millpond --help")))
    }
}

fn printed(bytes: &[u8]) -> Result<Status, Complaint> {
    outside::print(&String::from_utf8_lossy(bytes))?;
    Ok(Status::Holds)
}
