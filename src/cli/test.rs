//! `millpond test`: which scenarios are tested, by how many threads, and how the results are shown.

use super::annotations::Annotations;
use super::levels::LevelArguments;
use super::outside::{self, Complaint, Status};
use super::progress::Progress;
use super::tested::{self, TestSettings, Tested, counted};
use super::{Place, find, junit, parallel};
use clap::Args;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// Runs scenarios as tests: expectations hold, snapshots are equal
#[derive(Debug, Args)]
#[command(after_help = "\
Scenarios below a folder `invalid` must have a mistake; their snapshot is what
is said about it.

`expect always`, `sometimes` and `never` are about every timing of the model and
profile, whatever takes how long. They are decided by a search with a limit; at
the limit a line is undecided, which counts as neither passed nor failed. A run
that was found before decides it all the same.

Examples:
  millpond test
  millpond test scenarios/guide scenarios/sync/query.scn
  millpond test --filter follow_event --filter internal
  millpond test --bless scenarios/guide
  millpond test --deny warnings --allow leak
  millpond test --junit target/scenarios.xml

Exit status: 0 all pass, 1 one fails, 2 one is wrong or cannot be read, 3 none
fails, but one is undecided")]
pub(super) struct Test {
    /// Files, and folders with everything below them
    #[arg(value_name = "PATH", default_value = "scenarios")]
    paths: Vec<PathBuf>,
    /// Only scenarios with WORD in their path; several WORDs add up
    #[arg(short, long, value_name = "WORD")]
    filter: Vec<String>,
    /// Makes the snapshots of scenarios that hold the accepted ones, and prints each change
    #[arg(long)]
    bless: bool,
    /// Only lists the scenarios
    #[arg(long, conflicts_with_all = ["bless", "junit"])]
    list: bool,
    /// So many scenarios at once [default: as many as the machine can]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// The folder of accepted snapshots [default: `snapshots` beside `scenarios`]
    #[arg(long, value_name = "DIR")]
    snapshots: Option<PathBuf>,
    #[command(flatten)]
    levels: LevelArguments,
    /// Makes at most so many calls for `expect always`, `sometimes` and `never`, and remembers so many states [default: 1000000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Writes the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Lines that a code host shows beside the text [default: by the machine]
    #[arg(long, value_enum)]
    annotations: Option<Annotations>,
}

/// How many scenarios there are of each kind.
#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    undecided: usize,
    /// Without anything to expect.
    silent: usize,
    blessed: usize,
}

impl Test {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let found = self.found()?;
        let all = found.len();
        let files = self.chosen(found)?;
        if self.list {
            let list: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
            outside::print(&list)?;
            return Ok(Status::Holds);
        }
        outside::check_output(self.junit.as_deref(), files.iter().map(PathBuf::as_path))?;
        let places = self.places(&files)?;
        let results = self.results(&files)?;
        let mut count = Count::default();
        for tested in &results {
            count.passed += usize::from(tested.passed());
            let is_undecided = tested.status == Status::Impossible;
            count.undecided += usize::from(is_undecided);
            count.failed += usize::from(!tested.passed() && !is_undecided);
            count.silent += usize::from(!tested.expects);
            count.blessed += usize::from(tested.blessed);
        }
        outside::print_if_read(&format!("\n{}{}\n", orphans(&places)?, count.line(all - files.len())))?;
        if let Some(file) = &self.junit {
            outside::write(file, &junit::report(&results)?)?;
        }
        Ok(results.iter().fold(Status::Holds, |worst, tested| worst.worse(tested.status)))
    }

    /// Each scenario once, in the order of the paths.
    fn found(&self) -> Result<Vec<PathBuf>, Complaint> {
        if let Some(missing) = self.paths.iter().find(|path| !path.exists()) {
            return Err(no_such_path(missing));
        }
        let mut seen = BTreeSet::new();
        let mut files = find(&self.paths)?;
        files.retain(|file| seen.insert(std::path::absolute(file).unwrap_or_else(|_| file.clone())));
        if files.is_empty() {
            let paths: Vec<String> = self.paths.iter().map(|path| path.display().to_string()).collect();
            return Err(Complaint::wrong(format!("no scenario (*.scn) below {}", paths.join(", "))));
        }
        Ok(files)
    }

    /// Those that the filters let through.
    fn chosen(&self, mut files: Vec<PathBuf>) -> Result<Vec<PathBuf>, Complaint> {
        if self.filter.is_empty() {
            return Ok(files);
        }
        let all = files.len();
        files
            .retain(|file| self.filter.iter().any(|word| file.display().to_string().contains(word.as_str())));
        if files.is_empty() {
            let words: Vec<String> = self.filter.iter().map(|word| format!("`{word}`")).collect();
            return Err(Complaint::wrong(format!(
                "no path of {} has {} in it; `millpond test --list` shows them",
                counted(all, "scenario"),
                words.join(" or ")
            )));
        }
        Ok(files)
    }

    /// Where their snapshots lie; no two may have the same.
    fn places(&self, files: &[PathBuf]) -> Result<Vec<Place>, Complaint> {
        let mut owners: BTreeMap<PathBuf, &Path> = BTreeMap::new();
        let mut places = Vec::new();
        for file in files {
            let place = Place::of(file);
            let place = match &self.snapshots {
                Some(folder) => place.with_snapshots_in(folder),
                None => place,
            };
            if let Some(other) = owners.insert(place.file.clone(), file) {
                let (other, file) = (other.display(), file.display());
                let snapshot = outside::shown(&place.file);
                return Err(Complaint::wrong(format!(
                    "{other} and {file} would have one snapshot, {snapshot}: test them one by one, or rename one"
                )));
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Tests the scenarios and prints what came of each, in their order.
    fn results(&self, files: &[PathBuf]) -> Result<Vec<Tested>, Complaint> {
        let levels = self.levels.levels();
        let (snapshots, limit) = (self.snapshots.clone(), self.limit);
        let settings = TestSettings { bless: self.bless, snapshots, levels, limit };
        let annotations = self.annotations.unwrap_or_else(Annotations::here);
        let colour = outside::colour(&io::stdout());
        let pad = files.iter().map(|file| file.display().to_string().chars().count()).max();
        let pad = pad.unwrap_or(0).min(64);
        let progress = Progress::of(files.len());
        let mut results = Vec::with_capacity(files.len());
        parallel::in_order(
            files,
            self.jobs.unwrap_or_else(parallel::available),
            |file| tested::test(file, &settings),
            |tested| {
                let lines = format!("{}{}", lines(&tested, pad, colour), annotations.of(&tested));
                results.push(tested);
                // A reader that has gone stops neither the tests nor what they write.
                progress.aside(|| outside::print_if_read(&lines)).map(drop)
            },
            |count| progress.done(count),
        )?;
        progress.end();
        Ok(results)
    }
}

impl Count {
    fn line(&self, filtered: usize) -> String {
        let mut line = format!("{} passed, {} failed", self.passed, self.failed);
        if self.undecided > 0 {
            line.push_str(&format!(", {} undecided", self.undecided));
        }
        if self.silent > 0 {
            line.push_str(&format!(", {} of them without expectations", self.silent));
        }
        if filtered > 0 {
            line.push_str(&format!(", {filtered} filtered out"));
        }
        if self.blessed > 0 {
            line.push_str(&format!(", {} written", counted(self.blessed, "snapshot")));
        }
        line
    }
}

/// What is printed about one scenario.
fn lines(tested: &Tested, pad: usize, colour: bool) -> String {
    let (word, style) = match tested.status {
        Status::Holds => ("ok  ", "\x1b[32m"),
        Status::Impossible => ("open", "\x1b[1;33m"),
        Status::Fails | Status::Wrong => ("FAIL", "\x1b[1;31m"),
    };
    let word = if colour { format!("{style}{word}\x1b[0m") } else { word.to_owned() };
    let mut lines = format!("{word}  {:<pad$}  {}\n", tested.path.display().to_string(), tested.words);
    lines.extend(tested.details.iter().map(|line| format!("      {line}").trim_end().to_owned() + "\n"));
    lines
}

/// Snapshots whose scenarios are gone, a line each.
fn orphans(places: &[Place]) -> Result<String, Complaint> {
    let mut folders = BTreeSet::new();
    let mut lines = String::new();
    for place in places.iter().filter(|place| folders.insert(place.folder().to_owned())) {
        for (file, scenario) in place.orphans()? {
            let file = outside::shown(&file);
            lines.push_str(&format!("note: {file} can go, since there is no {scenario} any more\n"));
        }
    }
    Ok(lines)
}

/// A path that is not there may have been meant as a part of a name.
fn no_such_path(path: &Path) -> Complaint {
    let word = path.display().to_string();
    let all = find(&[PathBuf::from("scenarios")]).unwrap_or_default();
    let named = all.iter().filter(|file| file.display().to_string().contains(&word)).count();
    let missing = format!("cannot read {word}: no such file or directory");
    Complaint::wrong(match named {
        0 if word == "scenarios" => format!("{missing}; name files or folders: millpond test PATH"),
        0 => missing,
        count => format!(
            "{missing}; {} below scenarios with that in the path: millpond test --filter {}",
            match count {
                1 => "there is 1 scenario".to_owned(),
                count => format!("there are {count} scenarios"),
            },
            outside::quoted(path)
        ),
    })
}
