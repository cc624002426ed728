//! One scenario as a test: what must hold of it, and what there is to say about it. How that is shown is not its business.

use super::outside::{self, Complaint, Status};
use super::{Accepted, Remedies, Scenario, Settings, snapshots};
use crate::base::{Diagnostic, LineIndex, Severity};
use crate::oracle::Counts;
use crate::report::{Compared, Options};
use crate::scenario::{Levels, Program};
use std::path::{Path, PathBuf};

/// A report nobody sees.
const OPTIONS: Options = Options { width: 80, colour: false };

/// What a test depends on, beside the scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestSettings {
    /// Whether the snapshot of a scenario that holds becomes the accepted one.
    pub bless: bool,
    /// The folder of accepted snapshots; `None` is `snapshots` beside the folder `scenarios`.
    pub snapshots: Option<PathBuf>,
    /// What becomes of findings, beside what the text says.
    pub levels: Levels,
    /// How many calls are made to decide lines about all timings; `None`: as many as usual.
    pub limit: Option<u64>,
}

/// What came of one scenario.
#[derive(Clone, Debug)]
pub struct Tested {
    /// Its path, as it was given.
    pub path: PathBuf,
    /// Whether it passed.
    pub status: Status,
    /// What there is to say in a few words: `2 expectations, 1 snapshot`.
    pub words: String,
    /// What fails and what was done, a line each.
    pub details: Vec<String>,
    /// What fails, with its place.
    pub remarks: Vec<Remark>,
    /// Whether there was anything to expect.
    pub expects: bool,
    /// Whether its snapshot was written.
    pub blessed: bool,
    /// Whether its snapshot is new, or another one than was accepted.
    pub unaccepted: bool,
}

/// One thing that fails, at its place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1; `None` for the file as a whole.
    pub line: Option<u32>,
    /// The column, from 1, where it is known.
    pub column: Option<u32>,
    /// What kind of thing it is.
    pub title: String,
    /// What fails, and how.
    pub message: String,
}

impl Tested {
    /// Whether it passed.
    pub fn passed(&self) -> bool {
        self.status == Status::Holds
    }

    fn new(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            status: Status::Holds,
            words: String::new(),
            details: Vec::new(),
            remarks: Vec::new(),
            expects: true,
            blessed: false,
            unaccepted: false,
        }
    }

    fn fails(&mut self, status: Status, title: &str, message: impl Into<String>) {
        self.status = self.status.worse(status);
        let message = message.into();
        self.remarks.push(Remark { line: None, column: None, title: title.to_owned(), message });
    }
}

/// Tests one scenario: below a folder `invalid` it must be rejected, elsewhere it must hold; its snapshot must be equal.
pub fn test(path: &Path, settings: &TestSettings) -> Tested {
    let mut tested = Tested::new(path);
    if let Err(complaint) = judge(path, settings, &mut tested) {
        tested.fails(complaint.status, "cannot be tested", complaint.message.clone());
        tested.words = complaint.message;
    }
    tested
}

fn judge(path: &Path, settings: &TestSettings, tested: &mut Tested) -> Result<(), Complaint> {
    let scenario = Scenario::read(path)?.with_snapshots_in(settings.snapshots.as_deref());
    let scenario = scenario.with_limit(settings.limit);
    match scenario.load_all() {
        Err(found) if scenario.place.is_invalid => rejected(&scenario, &found, settings, tested),
        Ok((_, found)) if scenario.place.is_invalid && !found.is_empty() => {
            rejected(&scenario, &found, settings, tested)
        }
        Err(found) => {
            tested.status = Status::Wrong;
            tested.words = "is no valid scenario".to_owned();
            tested.details = scenario.rendered(&found, false).lines().map(str::to_owned).collect();
            tested.remarks = remarks(&scenario, &found);
            Ok(())
        }
        Ok(_) if scenario.place.is_invalid => {
            tested.words = "has no mistake, but lies below `invalid`".to_owned();
            tested.fails(Status::Fails, "no mistake", tested.words.clone());
            Ok(())
        }
        Ok((programs, _)) => {
            let programs = programs.into_iter();
            let programs: Vec<Program> =
                programs.map(|program| super::with_levels(program, &settings.levels)).collect();
            ran(&scenario, &programs, settings, tested)
        }
    }
}

fn rejected(
    scenario: &Scenario,
    found: &[Diagnostic],
    settings: &TestSettings,
    tested: &mut Tested,
) -> Result<(), Complaint> {
    tested.words = format!("as it should be: {}", counted(found.len(), "mistake"));
    let compared = scenario.place.compare(&scenario.rejection(found), settings.bless)?;
    describe(scenario, &compared, settings.bless, tested);
    if compared.fails() {
        tested.fails(Status::Fails, "snapshot", "what is said about its mistakes is not what was accepted");
    }
    Ok(())
}

/// Runs the program as it stands and its variants. They are one test, and have one snapshot.
fn ran(
    scenario: &Scenario,
    programs: &[Program],
    settings: &TestSettings,
    tested: &mut Tested,
) -> Result<(), Complaint> {
    let (mut demands, mut asked, mut warned) = (0, 0, [0; 2]);
    let mut texts = Vec::new();
    let mut sees = Vec::new();
    let run =
        Settings { seed: 0, options: OPTIONS, accepted: Accepted::Ignored, remedies: Remedies::Ignored };
    for program in programs {
        let outcome = scenario.outcome(program, &run)?;
        let (verdict, status) = (&outcome.verdict, outcome.status());
        demands += verdict.expectations.len() + verdict.expected_failures() + verdict.missed.len();
        asked += verdict.snapshots.len();
        let Counts { warnings, lints, .. } = verdict.counts();
        warned = [warned[0] + warnings, warned[1] + lints];
        texts.extend(outcome.snapshots);
        let (prefix, option) = match &program.variant {
            Some(name) => (format!("variant {name}: "), format!(" --variant {name}")),
            None => Default::default(),
        };
        if !verdict.holds() {
            tested.status = tested.status.worse(status);
            sees.push(format!("see: millpond run {}{option}", outside::quoted(&scenario.path)));
        }
        for failing in &outcome.failures {
            tested.details.push(format!("{prefix}{failing}"));
            let message = format!("{prefix}{}", failing.text);
            let title = if failing.code == "undecided" { "undecided" } else { "scenario fails" };
            let title = title.to_owned();
            tested.remarks.push(Remark { line: failing.line, column: None, title, message });
        }
    }
    tested.expects = demands + asked > 0;
    let [warnings, lints] = warned;
    let further =
        [(asked, "snapshot"), (programs.len() - 1, "variant"), (warnings, "warning"), (lints, "lint")];
    tested.words = words(demands, &further);
    match snapshots::joined(texts.iter().map(String::as_str)) {
        Some(text) => compare(scenario, programs, &text, settings.bless, tested)?,
        None => unasked(scenario, tested),
    }
    tested.details.append(&mut sees);
    Ok(())
}

fn words(demands: usize, further: &[(usize, &str)]) -> String {
    let mut words = match demands {
        0 => "no expectations".to_owned(),
        count => counted(count, "expectation"),
    };
    for (count, noun) in further {
        if *count > 0 {
            words.push_str(&format!(", {}", counted(*count, noun)));
        }
    }
    words
}

fn compare(
    scenario: &Scenario,
    programs: &[Program],
    text: &str,
    bless: bool,
    tested: &mut Tested,
) -> Result<(), Complaint> {
    // What fails is not accepted along with the rest.
    let compared = scenario.place.compare(text, bless && tested.passed())?;
    describe(scenario, &compared, bless, tested);
    if compared.fails() {
        tested.status = tested.status.worse(Status::Fails);
        let first = programs.iter().flat_map(|program| {
            program.snapshots.iter().map(|snapshot| program.statements[snapshot.stmt].line)
        });
        let message = match compared {
            Compared::Missing => "there is no accepted snapshot",
            _ => "the snapshot is not the accepted one",
        };
        let (title, message) = ("snapshot".to_owned(), message.to_owned());
        tested.remarks.push(Remark { line: first.min(), column: None, title, message });
    }
    Ok(())
}

/// A snapshot that no line asks for is one that would never be compared.
fn unasked(scenario: &Scenario, tested: &mut Tested) {
    if scenario.place.file.exists() {
        let file = outside::shown(&scenario.place.file);
        let message = format!("no line asks for the snapshot {file}: write `snapshot`, or remove that file");
        tested.details.push(message.clone());
        tested.fails(Status::Fails, "snapshot", message);
    }
}

/// What there is to say about a snapshot.
fn describe(scenario: &Scenario, compared: &Compared, bless: bool, tested: &mut Tested) {
    let file = outside::shown(&scenario.place.file);
    let accept = match bless {
        true => "not accepted, since the scenario fails".to_owned(),
        false if !tested.passed() => format!("once the rest holds, accept it with: {}", scenario.accept()),
        false => format!("accept it with: {}", scenario.accept()),
    };
    tested.unaccepted = compared.fails();
    let details = &mut tested.details;
    match compared {
        Compared::None | Compared::Equal => {}
        Compared::Accepted(lines) => {
            tested.blessed = true;
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

fn remarks(scenario: &Scenario, found: &[Diagnostic]) -> Vec<Remark> {
    let index = LineIndex::new(&scenario.text);
    let errors = found.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    errors
        .map(|diagnostic| {
            let start = diagnostic.primary.span.start as usize;
            let before = scenario.text.get(..start).unwrap_or_default();
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
            let label = Some(&diagnostic.primary.message).filter(|label| !label.is_empty());
            let label = label.map(|label| format!(": {label}")).unwrap_or_default();
            Remark {
                line: Some(index.line(diagnostic.primary.span.start)),
                column: Some(column),
                title: diagnostic.code.to_string(),
                message: format!("{}{label}", diagnostic.message),
            }
        })
        .collect()
}

/// `1 test`, `2 tests`.
pub(super) fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
