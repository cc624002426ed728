//! What must hold of any text at all. It knows nothing of where a text comes from: tests and the fuzzer bring theirs.

use millpond::base::Diagnostic;
use millpond::cli::{Accepted, Remedies, Scenario, Settings};
use millpond::profile::Profile;
use millpond::report::{Notation, Options};
use millpond::scenario::Program;
use millpond::syntax::format;
use serde_json::Value;
use std::path::PathBuf;
use unicode_width::UnicodeWidthStr;

/// Longer runs are checked and not made, so that no text takes long.
const STATEMENTS_MAX: u64 = 5_000;
const COLUMNS: usize = 80;
const SETTINGS: Settings = Settings {
    seed: 0,
    options: Options { width: COLUMNS, colour: false },
    accepted: Accepted::Compared,
    remedies: Remedies::Tried,
};

/// How far a text came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Came {
    /// It is no scenario.
    Rejected,
    /// Its form is that of a scenario; its meaning is not.
    Formatted,
    /// It is a scenario that is too long to be run here.
    Valid,
    /// It was run.
    Run,
}

/// Checks, formats and runs a text.
///
/// # Panics
///
/// Where something does not hold. A scenario that fails is no fault.
pub(crate) fn examine(text: &str) -> Came {
    let scenario = scenario(text);
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert_eq!(!programs.is_empty(), scenario.load().is_ok(), "a text is valid if it has no errors");
    told_well(&scenario, &diagnostics);
    let Ok(formatted) = format(text) else {
        assert!(programs.is_empty(), "what can be run has a form");
        return Came::Rejected;
    };
    assert_eq!(format(&formatted).as_ref(), Ok(&formatted), "formatting twice changes nothing");
    let formatted = self::scenario(&formatted);
    let (same, again) = millpond::load_all(&formatted.text, &Profile::default());
    let codes = |found: &[Diagnostic]| found.iter().map(|found| found.code).collect::<Vec<_>>();
    assert_eq!(codes(&diagnostics), codes(&again), "the usual form has the same mistakes");
    assert_eq!(programs.len(), same.len(), "the usual form has the same variants");
    if programs.is_empty() {
        return Came::Formatted;
    }
    if programs.iter().any(|program| program.length > STATEMENTS_MAX) {
        return Came::Valid;
    }
    for (program, same) in programs.iter().zip(&same) {
        let report = scenario.run(program, &SETTINGS).expect("standard input has no snapshots").report;
        assert!(!report.is_empty(), "a run has a report");
        assert_eq!(events(&scenario, program), events(&formatted, same), "the usual form runs differently");
    }
    Came::Run
}

/// A text as if it came from standard input.
fn scenario(text: &str) -> Scenario {
    Scenario::of_text(PathBuf::from("-"), text.to_owned())
}

/// Mistakes lie inside of the text, each has a place of its own, and all fit the page.
fn told_well(scenario: &Scenario, diagnostics: &[Diagnostic]) {
    let text = &scenario.text;
    for (nth, diagnostic) in diagnostics.iter().enumerate() {
        let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
        let edits = diagnostic.help.iter().flat_map(|help| &help.edits);
        let spans = labels.map(|label| label.span).chain(edits.map(|edit| edit.span));
        for span in spans {
            assert!(text.get(span.range()).is_some(), "a place outside of the text: {diagnostic:?}");
        }
        assert!(!diagnostics[..nth].contains(diagnostic), "told twice: {diagnostic:?}");
    }
    if diagnostics.is_empty() {
        return;
    }
    let rendered = scenario.rendered(diagnostics, false);
    for line in rendered.lines() {
        assert!(line.width() <= COLUMNS, "{} columns: {line}", line.width());
    }
}

/// The events of a run, but for what they say about lines.
fn events(scenario: &Scenario, program: &Program) -> Vec<Value> {
    let run = scenario.run_as_lines(program, &SETTINGS, Notation::Json, Vec::new());
    let bytes = run.expect("standard input has no snapshots").1.expect("a list can be written to");
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| without_lines(serde_json::from_slice(line).expect("each line is JSON"))).collect()
}

/// What says where something stands in the text.
const ABOUT_LINES: [&str; 4] = ["line", "text", "not_reached", "handled_by"];

fn without_lines(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(name, _)| !ABOUT_LINES.contains(&name.as_str()));
            Value::Object(fields.map(|(name, value)| (name, without_lines(value))).collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(without_lines).collect()),
        value => value,
    }
}
