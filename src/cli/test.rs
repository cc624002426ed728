//! `millpond test`: runs every scenario below some paths, with its expectations and its snapshot.

use super::outside::{self, Complaint, Status};
use super::{Outcome, Scenario, Settings, find};
use crate::report::{Compared, Options};
use clap::Args;
use std::io;
use std::path::PathBuf;

/// Runs scenarios as tests: expectations hold, snapshots are equal
#[derive(Debug, Args)]
#[command(after_help = "\
Scenarios below a folder `invalid` must have a mistake; their snapshot is what
is said about it.

Examples:
  millpond test
  millpond test scenarios/guide scenarios/sync/deadlock.scn
  millpond test --bless scenarios/guide

Exit status: 0 all pass, 1 one fails, 2 one is wrong or cannot be read")]
pub(super) struct Test {
    /// Files, and folders with everything below them
    #[arg(value_name = "PATH", default_value = "scenarios")]
    paths: Vec<PathBuf>,
    /// Makes the snapshots of this run the accepted ones, and prints each change
    #[arg(long)]
    bless: bool,
    /// Only lists the scenarios
    #[arg(long, conflicts_with = "bless")]
    list: bool,
}

/// What came of one file.
struct Tested {
    status: Status,
    /// What there is to say on its line.
    words: String,
    /// Further lines.
    details: Vec<String>,
    /// Whether there was anything to expect.
    expects: bool,
}

impl Test {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let files = find(&self.paths)?;
        if files.is_empty() {
            let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Complaint::wrong(format!("no scenario (*.scn) below {}", paths.join(", "))));
        }
        if self.list {
            let list: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
            outside::print(&list)?;
            return Ok(Status::Holds);
        }
        let colour = outside::colour(&io::stdout());
        let pad =
            files.iter().map(|file| file.display().to_string().chars().count()).max().unwrap_or(0).min(64);
        let (mut status, mut passed, mut failed, mut silent) = (Status::Holds, 0, 0, 0);
        for file in &files {
            let tested = self.test(file).unwrap_or_else(|complaint| Tested {
                status: complaint.status,
                words: complaint.message,
                details: Vec::new(),
                expects: true,
            });
            status = status.max(tested.status);
            let (word, style) = match tested.status {
                Status::Holds => ("ok  ", "\x1b[32m"),
                _ => ("FAIL", "\x1b[1;31m"),
            };
            let word = if colour { format!("{style}{word}\x1b[0m") } else { word.to_owned() };
            let mut lines = format!("{word}  {:<pad$}  {}\n", file.display().to_string(), tested.words);
            lines.extend(tested.details.iter().map(|line| format!("      {line}\n")));
            outside::print(&lines)?;
            match tested.status {
                Status::Holds => passed += 1,
                _ => failed += 1,
            }
            silent += usize::from(!tested.expects);
        }
        let silent =
            if silent == 0 { String::new() } else { format!(", {silent} of them without expectations") };
        outside::print(&format!("\n{passed} passed, {failed} failed{silent}\n"))?;
        Ok(status)
    }

    fn test(&self, file: &std::path::Path) -> Result<Tested, Complaint> {
        let scenario = Scenario::read(file)?;
        match scenario.load() {
            Err(diagnostics) if scenario.place.is_invalid => {
                self.tested_rejection(&scenario, &scenario.rejection(&diagnostics), diagnostics.len())
            }
            Err(diagnostics) => {
                let rendered = scenario.rendered(&diagnostics, false);
                let words = "is no valid scenario".to_owned();
                let details = rendered.lines().map(str::to_owned).collect();
                Ok(Tested { status: Status::Wrong, words, details, expects: true })
            }
            Ok((_, warnings)) if scenario.place.is_invalid && !warnings.is_empty() => {
                self.tested_rejection(&scenario, &scenario.rejection(&warnings), warnings.len())
            }
            Ok(_) if scenario.place.is_invalid => {
                let words = "has no mistake, but lies below `invalid`".to_owned();
                Ok(Tested { status: Status::Fails, words, details: Vec::new(), expects: true })
            }
            Ok((program, _)) => {
                let options = Options { width: 80, colour: false };
                let settings = Settings { seed: 0, options, bless: self.bless };
                let outcome = scenario.run(&program, &settings)?;
                Ok(self.tested_run(&scenario, outcome))
            }
        }
    }

    fn tested_rejection(&self, scenario: &Scenario, said: &str, count: usize) -> Result<Tested, Complaint> {
        let compared = scenario.place.compare(said, self.bless)?;
        let words = format!("as it should be: {count} {}", if count == 1 { "mistake" } else { "mistakes" });
        let mut details = Vec::new();
        self.describe(scenario, &compared, &mut details);
        let status = if compared.fails() { Status::Fails } else { Status::Holds };
        Ok(Tested { status, words, details, expects: true })
    }

    fn tested_run(&self, scenario: &Scenario, outcome: Outcome) -> Tested {
        let verdict = &outcome.verdict;
        let status = if outcome.holds() { Status::Holds } else { Status::Fails };
        let demands = verdict.expectations.len() + verdict.expected_failures() + verdict.missed.len();
        let mut words = match demands {
            0 => "no expectations".to_owned(),
            1 => "1 expectation".to_owned(),
            count => format!("{count} expectations"),
        };
        match verdict.snapshots.len() {
            0 => {}
            1 => words.push_str(", 1 snapshot"),
            count => words.push_str(&format!(", {count} snapshots")),
        }
        let mut details = outcome.failures;
        self.describe(scenario, &outcome.compared, &mut details);
        if status != Status::Holds {
            details.push(format!("see: millpond run {}", scenario.path.display()));
        }
        Tested { status, words, details, expects: demands + verdict.snapshots.len() > 0 }
    }

    /// What there is to say about a snapshot.
    fn describe(&self, scenario: &Scenario, compared: &Compared, details: &mut Vec<String>) {
        let file = outside::shown(&scenario.place.file);
        let accept = format!("accept it with: millpond test --bless {}", scenario.path.display());
        match compared {
            Compared::None | Compared::Equal => {}
            Compared::Accepted(lines) => {
                details.push(format!("wrote {file}"));
                details.extend(lines.iter().map(|line| format!("  {line}")));
            }
            Compared::Missing => details.extend([format!("there is no {file}"), accept]),
            Compared::Different(lines) => {
                details.push(format!("{file} differs: - accepted, + now"));
                details.extend(lines.iter().map(|line| format!("  {line}")));
                details.push(accept);
            }
        }
    }
}
