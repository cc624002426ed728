//! `millpond fmt`: writes scenarios in the usual form, or says where they are not in it.

use super::outside::{self, Complaint, Status};
use super::{Place, Scenario, find};
use crate::syntax;
use clap::Args;
use similar::{ChangeTag, TextDiff};
use std::io;
use std::path::{Path, PathBuf};

/// So many lines of a difference are shown.
const SHOWN_MAX: usize = 12;

/// Writes scenarios in the usual form
#[derive(Debug, Args)]
#[command(after_help = "\
Only spaces, indentation, blank lines and trailing commas change. A file with a
syntax error is left as it is, and so are files below a folder `invalid`, unless
they are named.

Examples:
  millpond fmt scenarios
  millpond fmt --check scenarios/guide
  millpond fmt - < draft.scn

Exit status: 0 done, 1 a file differs (with --check), 2 a file has a syntax
error or cannot be read or written")]
pub(super) struct Fmt {
    /// Files, folders with everything below them, or - for standard input to standard output
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Changes nothing, and shows what would change
    #[arg(long)]
    check: bool,
}

impl Fmt {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        if self.paths.len() == 1 && outside::is_standard_input(&self.paths[0]) {
            return self.standard_input();
        }
        if self.paths.iter().any(|path| outside::is_standard_input(path)) {
            return Err(Complaint::wrong("standard input (-) stands alone, without other paths"));
        }
        let files = self.files()?;
        let (mut status, mut differing) = (Status::Holds, 0);
        for file in &files {
            match self.file(file) {
                Ok(false) => {}
                Ok(true) => {
                    differing += 1;
                    status = status.worse(if self.check { Status::Fails } else { Status::Holds });
                }
                Err(complaint) => {
                    complaint.iter().for_each(outside::complain);
                    status = Status::Wrong;
                }
            }
        }
        if differing > 0 {
            let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            outside::print(&match (self.check, differing) {
                (true, 1) => format!("\n1 file differs, mended by: millpond fmt {}\n", paths.join(" ")),
                (true, _) => {
                    format!("\n{differing} files differ, mended by: millpond fmt {}\n", paths.join(" "))
                }
                (false, _) => format!("{differing} of {} changed\n", files.len()),
            })?;
        }
        Ok(status)
    }

    fn files(&self) -> Result<Vec<PathBuf>, Complaint> {
        let mut files = find(&self.paths)?;
        files.retain(|file| self.paths.contains(file) || !Place::of(file).is_invalid);
        if files.is_empty() {
            let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Complaint::wrong(format!("no scenario (*.scn) below {}", paths.join(", "))));
        }
        Ok(files)
    }

    /// Whether the file is not in the usual form, or was not. Its mistakes are already shown when the error is `None`.
    fn file(&self, file: &Path) -> Result<bool, Option<Complaint>> {
        let scenario = Scenario::read(file).map_err(Some)?;
        let formatted = formatted(&scenario).ok_or(None)?;
        if formatted == scenario.text {
            return Ok(false);
        }
        if self.check {
            outside::print(&difference(&scenario, &formatted)).map_err(Some)?;
        } else {
            outside::rewrite(file, &formatted).map_err(Some)?;
            outside::print(&format!("wrote {}\n", file.display())).map_err(Some)?;
        }
        Ok(true)
    }

    fn standard_input(&self) -> Result<Status, Complaint> {
        let scenario = Scenario::read(Path::new(outside::STANDARD_INPUT))?;
        let Some(formatted) = formatted(&scenario) else { return Ok(Status::Wrong) };
        if !self.check {
            outside::print(&formatted)?;
            return Ok(Status::Holds);
        }
        if formatted == scenario.text {
            return Ok(Status::Holds);
        }
        outside::print(&difference(&scenario, &formatted))?;
        Ok(Status::Fails)
    }
}

/// The text of a scenario in the usual form; its mistakes are shown when it has any.
fn formatted(scenario: &Scenario) -> Option<String> {
    match syntax::format(&scenario.text) {
        Ok(formatted) => Some(formatted),
        Err(diagnostics) => {
            let colour = outside::colour(&io::stderr());
            outside::print_error(&scenario.rendered(&diagnostics, colour));
            None
        }
    }
}

/// The lines that change, with the numbers that they have now.
fn difference(scenario: &Scenario, formatted: &str) -> String {
    let diff = TextDiff::from_lines(scenario.text.as_str(), formatted);
    let changes: Vec<_> = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal).collect();
    let mut lines = format!("{}: - is, + should be\n", scenario.shown());
    for change in changes.iter().take(SHOWN_MAX) {
        let number = change.old_index().map_or(String::new(), |index| (index + 1).to_string());
        let text = change.value();
        let end = if text.ends_with('\n') { "" } else { "   (no line break at its end)" };
        let text = text.trim_end_matches('\n').replace('\r', "\\r");
        lines.push_str(&format!("{number:>6} {} {text}{end}\n", change.tag()));
    }
    if changes.len() > SHOWN_MAX {
        lines.push_str(&format!("       .. and {} more lines\n", changes.len() - SHOWN_MAX));
    }
    lines
}
