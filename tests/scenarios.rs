//! Every file below `scenarios` is a test: it holds, its snapshot is the accepted one, and it repeats itself.
//!
//! Snapshots go through insta, so that `cargo insta review` works; `millpond test` must agree with it byte for byte.

use libtest_mimic::{Arguments, Failed, Trial};
use millpond::cli::{Accepted, Remedies, Scenario, Settings, TestSettings, find, test_scenario};
use millpond::report::{Compared, Notation, Options};
use millpond::scenario::Program;
use std::path::{Path, PathBuf};

const SETTINGS: Settings = Settings {
    seed: 0,
    options: Options { width: 80, colour: false },
    accepted: Accepted::Compared,
    remedies: Remedies::Ignored,
};

fn main() {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let files = find(std::slice::from_ref(&folder)).expect("the scenarios can be read");
    assert_eq!(files.len(), count(&folder), "one test a file");
    let trials = files.into_iter().map(|file| {
        let name = file.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&file);
        let name = name.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        Trial::test(name, move || test(file))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

/// The scenarios below a folder, counted without the code under test.
fn count(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).expect("a folder can be read");
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let files = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "scn"));
    files.count() + paths.iter().filter(|path| path.is_dir()).map(|path| count(path)).sum::<usize>()
}

/// Compares through insta first, which may write; then `millpond test` must be content as well.
fn test(file: PathBuf) -> Result<(), Failed> {
    let scenario = Scenario::read(&file)?;
    let programs = match scenario.load_all() {
        Err(found) if scenario.place.is_invalid => {
            compare(&scenario, &scenario.rejection(&found));
            Vec::new()
        }
        Ok((_, found)) if scenario.place.is_invalid && !found.is_empty() => {
            compare(&scenario, &scenario.rejection(&found));
            Vec::new()
        }
        Err(_) => Vec::new(),
        Ok((programs, _)) => programs,
    };
    if let Some(snapshots) = scenario.snapshots(&programs, &SETTINGS)? {
        compare(&scenario, &snapshots);
    }
    let tested = test_scenario(&file, &TestSettings::default());
    if !tested.passed() {
        return Err([vec![tested.words], tested.details].concat().join("\n").into());
    }
    programs.iter().try_for_each(|program| reported(&scenario, program))
}

fn reported(scenario: &Scenario, program: &Program) -> Result<(), Failed> {
    let outcome = scenario.run(program, &SETTINGS)?;
    if outcome.snapshots.is_some() && outcome.compared != Compared::Equal {
        return Err(format!("insta accepts the snapshot, and millpond says {:?}", outcome.compared).into());
    }
    // What is found is told in paragraphs of their own, and has no limit.
    let words = ["error[", "warning[", "lint[", "note[", "skipped: "];
    let is_finding = |paragraph: &&str| words.iter().any(|word| paragraph.starts_with(word));
    let findings = outcome.report.split("\n\n").filter(is_finding).map(|finding| finding.lines().count() + 1);
    let lines = outcome.report.lines().count() - findings.sum::<usize>();
    if lines > 60 {
        return Err(format!("the report has {lines} lines").into());
    }
    if let Some(line) =
        outcome.report.lines().find(|line| line.chars().count() > 80 && !line.contains(".scn"))
    {
        return Err(format!("the report has a line that is wider than 80 columns:\n{line}").into());
    }
    repeats(scenario, program, &outcome.report)
}

/// The same seed gives the same bytes, as text and as JSON lines, and each of these is JSON.
fn repeats(scenario: &Scenario, program: &Program, report: &str) -> Result<(), Failed> {
    if scenario.run(program, &SETTINGS)?.report != report {
        return Err("a second run reports something else".into());
    }
    let json = || -> Result<Vec<u8>, Failed> {
        Ok(scenario.run_as_lines(program, &SETTINGS, Notation::Json, Vec::new())?.1?)
    };
    let first = json()?;
    if json()? != first {
        return Err("a second run gives other JSON lines".into());
    }
    // A longer output is checked at its start; its objects come from one place.
    for line in first.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).take(10_000) {
        serde_json::from_slice::<serde_json::Value>(line)?;
    }
    Ok(())
}

/// Compares through insta, which honours `INSTA_UPDATE`, writes what is to be reviewed, and panics where there is a
/// difference; the harness makes a failed test of that.
fn compare(scenario: &Scenario, text: &str) {
    let file = &scenario.place.file;
    let folder = file.parent().expect("a snapshot lies in a folder").to_owned();
    let name = file.file_stem().expect("a snapshot has a name").to_string_lossy().into_owned();
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_input_file(&scenario.path);
    settings.bind(|| insta::assert_snapshot!(name, text));
}
