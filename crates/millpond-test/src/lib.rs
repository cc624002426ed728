//! Scenarios of Millpond as tests: a folder with one test a file ([`run`]), and the state of pools for a snapshot of one's own
//! ([`Scenario`]). What makes a scenario pass is `millpond`'s affair; how tests are run and told is that of `libtest-mimic`.
//!
//! For `tests/scenarios.rs` with `harness = false`:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     millpond_test::run("scenarios")
//! }
//! ```
//!
//! In any other test:
//!
//! ```
//! # fn main() -> Result<(), millpond_test::Error> {
//! let text = "stream s\ns: x = alloc 64MiB\ns: free x\nsync s\nsnapshot\n";
//! let run = millpond_test::Scenario::text(text).run()?;
//! assert!(run.snapshots().contains("reserved_high: \"64MiB\""));
//! # Ok(())
//! # }
//! ```

use libtest_mimic::{Arguments, Failed, Trial};
use millpond::cli::{self, Accepted, Remedies, Settings, TestSettings};
use millpond::report::Options;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Runs every scenario below a folder, named from the root of the package, as a test of its own, under the arguments that
/// `cargo test` passes on. What `main` of a test with `harness = false` returns.
///
/// With `INSTA_UPDATE=always` the snapshots of scenarios that hold become the accepted ones.
pub fn run(folder: impl AsRef<Path>) -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = folder.as_ref();
    let files = match cli::find(&[folder.to_owned()]) {
        Ok(files) if files.is_empty() => Err(format!("no scenario (*.scn) below {}", folder.display())),
        Ok(files) => Ok(files),
        Err(complaint) => Err(complaint.to_string()),
    };
    match files {
        Ok(files) => {
            let trials = files.into_iter().map(|file| Trial::test(name(&file), move || test(&file)));
            libtest_mimic::run(&arguments, trials.collect()).exit_code()
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// A path with `/` on every system, so that filters are the same everywhere.
fn name(file: &Path) -> String {
    file.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/")
}

fn test(file: &Path) -> Result<(), Failed> {
    let bless = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always" || update == "force");
    let tested = cli::test_scenario(file, &TestSettings { bless, ..TestSettings::default() });
    if tested.passed() {
        return Ok(());
    }
    let mut lines = vec![tested.words.clone()];
    lines.extend(tested.details.iter().cloned());
    if tested.unaccepted && !bless {
        lines.push("or with: INSTA_UPDATE=always cargo test".to_owned());
    }
    lines.push(cli::annotations(&tested));
    Err(lines.join("\n").trim_end().into())
}

/// A scenario to run.
#[derive(Clone, Debug)]
pub struct Scenario {
    scenario: cli::Scenario,
    seed: u64,
    variant: Option<String>,
}

impl Scenario {
    /// Reads a scenario, named from the root of the package.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let scenario =
            cli::Scenario::read(path.as_ref()).map_err(|complaint| Error(complaint.to_string()))?;
        Ok(Self { scenario, seed: 0, variant: None })
    }

    /// A scenario that is written down here, or put together by a program.
    pub fn text(text: impl Into<String>) -> Self {
        let scenario = cli::Scenario::of_text(PathBuf::from("<text>"), text.into());
        Self { scenario, seed: 0, variant: None }
    }

    /// Draws other durations for kernels; the seed is 0 otherwise.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Runs one of its variants rather than the scenario as it stands.
    #[must_use]
    pub fn variant(self, name: impl Into<String>) -> Self {
        Self { variant: Some(name.into()), ..self }
    }

    /// Runs it. Accepted snapshots are not looked at.
    ///
    /// # Errors
    ///
    /// Mistakes in the text, all at once; no such variant; or what does not hold, with the report of the run.
    pub fn run(&self) -> Result<Run, Error> {
        let complaint = |complaint: cli::Complaint| Error(complaint.to_string());
        let loaded = self.scenario.load_all();
        let (programs, _) = loaded.map_err(|found| Error(self.scenario.rendered(&found, false)))?;
        let program = self.scenario.chosen(programs, self.variant.as_deref()).map_err(complaint)?;
        let options = Options { width: 80, colour: false };
        let settings =
            Settings { seed: self.seed, options, accepted: Accepted::Ignored, remedies: Remedies::Ignored };
        let outcome = self.scenario.run(&program, &settings).map_err(complaint)?;
        match outcome.holds() {
            true => Ok(Run { snapshots: outcome.snapshots.unwrap_or_default(), report: outcome.report }),
            false => Err(Error(outcome.report)),
        }
    }
}

/// What came of a run that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    snapshots: String,
    report: String,
}

impl Run {
    /// What the `snapshot` lines saw, as RON: the figures of each pool, and a line for each block. Empty without such a line.
    pub fn snapshots(&self) -> &str {
        &self.snapshots
    }

    /// The report for people.
    pub fn report(&self) -> &str {
        &self.report
    }
}

/// Why there is no run to look at, as people read it: also where a test returns it.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.trim_end())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Error {}
