//! `millpond fix`: looks for the smallest edits that remove what is wrong with a scenario, and shows or writes them.

use super::Scenario;
use super::levels::LevelArguments;
use super::outside::{self, Complaint, Status};
use crate::explore::fix::{self, Fixed, Left, Limits, Search};
use crate::report;
use crate::scenario::{Names, Program};
use crate::trace::Model;
use clap::Args;
use similar::{ChangeTag, TextDiff};
use std::path::{Path, PathBuf};

/// Finds the smallest edits that make the findings of a scenario go away
#[derive(Debug, Args)]
#[command(after_help = "\
Each edit was tried: the edited scenario was run, the finding is gone and there
is no new one. An order that is missing is added by a record and a wait, as far
as possible by those that are there. Without -o and --in-place nothing is
written. A finding that an `expect` line is about stays, unless --expected is
given, which fixes it and removes the line. At most 64 edited scenarios are run.

Examples:
  millpond fix broken.scn
  millpond fix broken.scn -o mended.scn
  millpond fix broken.scn --in-place
  millpond fix - -o - < broken.scn > mended.scn

Exit status: 0 fixed, or nothing to fix; 1 a finding is left; 2 the input is
wrong, or a file cannot be read or written")]
pub(super) struct Fix {
    /// The scenario; - is standard input
    file: PathBuf,
    /// Writes the fixed scenario to a new file; - is standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "in_place")]
    output: Option<PathBuf>,
    /// Writes the fixed scenario in place of the old one
    #[arg(long)]
    in_place: bool,
    /// Fixes findings that a line expects, too, and removes the line
    #[arg(long)]
    expected: bool,
    /// Draws the durations of kernels
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Fixes a variant of the scenario rather than the scenario as it stands
    #[arg(long, value_name = "NAME")]
    variant: Option<String>,
    /// The allocator, rather than the one that the scenario states [default: cuda]
    #[arg(long, value_name = "MODEL", value_parser = super::models())]
    model: Option<Model>,
    /// The device and driver: default, data_centre, small_card, or a file like profiles/default.ron
    #[arg(long, value_name = "NAME|FILE", default_value = "default", hide_default_value = true)]
    profile: PathBuf,
    #[command(flatten)]
    levels: LevelArguments,
}

impl Fix {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        if self.in_place && outside::is_standard_input(&self.file) {
            return Err(Complaint::wrong(
                "standard input (-) has no place: write to standard output with `-o -`",
            ));
        }
        let scenario = Scenario::read(&self.file)?.with_profile(&self.profile)?;
        let Some(programs) = scenario.programs() else { return Ok(Status::Wrong) };
        let names = scenario.chosen(programs, self.variant.as_deref())?.names;
        let read = |text: &str| self.program(&scenario, text);
        let search = Search { read: &read, seed: self.seed, limits: Limits::default() };
        let removed = if self.expected { fix::without_expected_findings(&scenario.text) } else { Vec::new() };
        let fixed = fix::fix(&scenario.text, &removed, &search);
        let Some(fixed) = fixed else {
            return Err(Complaint::wrong("without the lines that expect findings this is no scenario"));
        };
        let is_changed = fixed.text != scenario.text;
        let to_standard_output = self.output.as_deref().is_some_and(outside::is_standard_input);
        let told = self.told(&scenario, &fixed, &names);
        match &self.output {
            Some(_) if to_standard_output => outside::print(&fixed.text)?,
            Some(place) => outside::create(place, &fixed.text)?,
            None if self.in_place && is_changed => outside::rewrite(&self.file, &fixed.text)?,
            None => {}
        }
        match to_standard_output {
            true => outside::print_error(&told),
            false => outside::print(&told)?,
        }
        Ok(if fixed.left.is_empty() { Status::Holds } else { Status::Fails })
    }

    fn program(&self, scenario: &Scenario, text: &str) -> Option<Program> {
        let scenario = scenario.with_text(text.to_owned());
        let (programs, _) = scenario.load_all().ok()?;
        let program = scenario.chosen(programs, self.variant.as_deref()).ok()?;
        Some(super::with_levels(super::on_model(program, self.model), &self.levels.levels()))
    }

    /// What was done, and what is left.
    fn told(&self, scenario: &Scenario, fixed: &Fixed, names: &Names) -> String {
        let mut out = String::new();
        for (fix, removed) in fixed.fixes.iter().zip(&fixed.removed) {
            out.push_str(&wrapped("fix: ", &fix.help));
            out.push_str(&wrapped("   = removes: ", &listed(removed)));
            out.push_str(&wrapped("   = tried: ", &report::tried(fix, names)));
        }
        if fixed.text != scenario.text {
            out.push_str(&format!("\n{}", difference(&scenario.text, &fixed.text)));
        }
        out.push_str(&self.summary(scenario, fixed));
        out
    }

    fn summary(&self, scenario: &Scenario, fixed: &Fixed) -> String {
        let file = scenario.shown();
        let mut out = match (fixed.fixes.len(), fixed.left.len()) {
            (0, 0) => format!("{file}: nothing to fix\n"),
            (0, _) => format!("{file}: no fix found\n"),
            (1, _) => format!("\n{file}: 1 fix\n"),
            (several, _) => format!("\n{file}: {several} fixes\n"),
        };
        if fixed.expected > 0 {
            let what = if fixed.expected == 1 {
                "1 finding is"
            } else {
                &format!("{} findings are", fixed.expected)
            };
            out.push_str(&format!("{what} expected and not fixed: --expected does that\n"));
        }
        if !fixed.left.is_empty() {
            out.push_str(&wrapped("left: ", &listed(&fixed.left)));
        }
        if fixed.limit_reached {
            out.push_str(&format!("the search ended at its limit, after {} edited scenarios\n", fixed.tries));
        }
        match (&self.output, self.in_place) {
            _ if fixed.text == scenario.text && self.output.is_none() => {}
            (Some(place), _) if !outside::is_standard_input(place) => {
                out.push_str(&format!("wrote {}\n", place.display()));
            }
            (None, true) => out.push_str(&format!("wrote {}\n", self.file.display())),
            (None, false) => out.push_str(&format!("apply: {}\n", apply(&self.file, self.expected))),
            _ => {}
        }
        out
    }
}

/// The command that writes the fixed scenario to a file.
pub(super) fn apply(file: &Path, expected: bool) -> String {
    let option = if expected { " --expected" } else { "" };
    format!("millpond fix {}{option} -o FILE", outside::quoted(file))
}

/// A text behind a beginning, in lines that fit the terminal.
fn wrapped(beginning: &str, text: &str) -> String {
    super::explain::wrapped_at(beginning, text, beginning.len(), outside::width())
}

/// `use_after_free at line 13, race at line 14`
fn listed(findings: &[Left]) -> String {
    let all: Vec<String> =
        findings.iter().map(|left| format!("{} at line {}", left.kind, left.line)).collect();
    all.join(", ")
}

/// The lines that change, each group with a line around it, and with the numbers that they had.
fn difference(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    let groups = diff.grouped_ops(1);
    let width = old.lines().count().to_string().len();
    let mut out = String::new();
    for (nth, group) in groups.iter().enumerate() {
        if nth > 0 {
            out.push_str(&format!("{:>width$} ..\n", ""));
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let number = match change.tag() {
                ChangeTag::Insert => String::new(),
                ChangeTag::Equal | ChangeTag::Delete => {
                    change.old_index().map_or(String::new(), |index| (index + 1).to_string())
                }
            };
            let text = change.value().trim_end_matches(['\n', '\r']);
            out.push_str(format!("{number:>width$} {} {text}", change.tag()).trim_end());
            out.push('\n');
        }
    }
    out
}
