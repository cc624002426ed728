//! `millpond completions` and `millpond man`: what a package of millpond installs beside the program.

use super::outside::{self, Complaint, Status};
use clap::{Args, Command};

/// Prints the completions of a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond completions bash > ~/.local/share/bash-completion/completions/millpond
  millpond completions fish > ~/.config/fish/completions/millpond.fish")]
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

/// Prints the manual page
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond man > millpond.1")]
pub(super) struct Manual {}

impl Manual {
    pub(super) fn run(&self, command: Command) -> Result<Status, Complaint> {
        let mut bytes = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut bytes);
        rendered.map_err(|error| Complaint::wrong(format!("cannot write: {error}")))?;
        printed(&bytes)
    }
}

fn printed(bytes: &[u8]) -> Result<Status, Complaint> {
    outside::print(&String::from_utf8_lossy(bytes))?;
    Ok(Status::Holds)
}
