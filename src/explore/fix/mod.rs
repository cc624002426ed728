//! Fixes that were tried: the smallest edit of a text that removes a finding of its run and brings none.
//!
//! Whether an edit is one, only a run of the edited text says. It must not know how a text is read into a program, nor how
//! a fix is shown.

mod candidate;
mod events;
mod lines;
mod order;
mod search;
mod shown;
mod trial;

pub use shown::{Line, Mark};
pub use trial::Cost;

use crate::base::Edit;
use crate::edit;
use crate::edit::insert;
use crate::oracle::Finding;
use crate::scenario::Program;
use crate::syntax;
use crate::syntax::ast::{Content, Expect, Item, Statement};
use crate::trace::FindingKind;
use candidate::Candidate;
use search::{Step, Turn};
use std::collections::BTreeMap;
use std::fmt;

/// How fixes are looked for.
#[derive(Clone, Copy)]
pub struct Search<'r> {
    /// Makes a program of a text, if there is no mistake in it.
    pub read: &'r dyn Fn(&str) -> Option<Program>,
    /// The seed of each run.
    pub seed: u64,
    /// How much may be tried.
    pub limits: Limits,
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search")
            .field("seed", &self.seed)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// How much may be tried, in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most runs of edited texts.
    pub tries: u32,
    /// The most statements in all runs, by the longest that each can be.
    pub statements: u64,
}

impl Default for Limits {
    /// A second or two.
    fn default() -> Self {
        Self { tries: 64, statements: 2_000_000 }
    }
}

/// An edit that removes findings and brings none.
#[derive(Clone, Debug)]
pub struct Fix {
    /// The findings that it removes, by their places in the verdict over the text before.
    pub removes: Vec<usize>,
    /// What it does, in words: `record after the use and wait before the free`.
    pub help: String,
    /// The edits of the text before.
    pub edits: Vec<Edit>,
    /// The text after them.
    pub text: String,
    /// The lines that change, with one line around them.
    pub lines: Vec<Line>,
    /// How many findings that no line expects are left.
    pub left: usize,
    /// How many expectations hold no longer.
    pub expectations: usize,
    /// Where the statements of the text after stood in the text before.
    places: BTreeMap<u32, u32>,
    /// What a run cost before.
    pub before: Cost,
    /// What it costs after.
    pub after: Cost,
}

/// What fixes there are for the findings of one run.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    /// The fixes, each for at least one finding; each is an edit of the text as it stands.
    pub fixes: Vec<Fix>,
    /// Whether a limit ended the search.
    pub limit_reached: bool,
}

/// A finding that is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// What it is.
    pub kind: FindingKind,
    /// The line of the statement that is wrong, in the text as it was before all edits.
    pub line: u32,
}

/// What came of fixing a text as far as possible.
#[derive(Clone, Debug)]
pub struct Fixed {
    /// The fixes, each an edit of the text that the one before has left.
    pub fixes: Vec<Fix>,
    /// What each of them removes: kinds, and lines of the text before all edits.
    pub removed: Vec<Vec<Left>>,
    /// The text at the end.
    pub text: String,
    /// The findings that no line expects at the end.
    pub left: Vec<Left>,
    /// How many findings a line expects at the end.
    pub expected: usize,
    /// How many edited texts were run.
    pub tries: u32,
    /// Whether a limit ended the search.
    pub limit_reached: bool,
}

/// Looks for a fix for each of the first findings of a text, as it stands. `most`: so many of them are looked at.
///
/// `None`: the text is no program.
pub fn suggest(text: &str, search: &Search<'_>, most: usize) -> Option<Suggestions> {
    let mut step = Step::new(search);
    let turn = step.begin(text)?;
    let mut suggestions = Suggestions::default();
    for target in turn.targets().into_iter().take(most) {
        if suggestions.fixes.iter().all(|fix: &Fix| !fix.removes.contains(&target)) {
            suggestions.fixes.extend(step.fix(&turn, target));
        }
    }
    suggestions.limit_reached = step.limit_reached;
    Some(suggestions)
}

/// Fixes one finding after the other until none is left, or nothing helps. `first`: edits that come before all fixes.
///
/// `None`: the text is no program, or none after the first edits.
pub fn fix(text: &str, first: &[Edit], search: &Search<'_>) -> Option<Fixed> {
    let mut step = Step::new(search);
    let mut lines = lines_after(&(search.read)(text)?, first);
    let (mut fixes, mut removed, mut text) = (Vec::new(), Vec::new(), edited(text, first));
    loop {
        let turn = step.begin(&text)?;
        let told = |nth: usize| turn.told(nth, &lines);
        let next = turn.targets().into_iter().find_map(|target| step.fix(&turn, target));
        let Some(next) = next else {
            let left = turn.targets().into_iter().map(told).collect();
            let expected = turn.trial.verdict.findings.iter().filter(|finding| finding.expected.is_some());
            let expected = expected.count();
            let Step { tries, limit_reached, .. } = step;
            return Some(Fixed { fixes, removed, text, left, expected, tries, limit_reached });
        };
        removed.push(next.removes.iter().map(|nth| told(*nth)).collect());
        lines = next.places.iter().filter_map(|(new, old)| Some((*new, *lines.get(old)?))).collect();
        text.clone_from(&next.text);
        fixes.push(next);
    }
}

/// The lines of the statements of a program, by where these stand after edits of its text.
fn lines_after(program: &Program, edits: &[Edit]) -> BTreeMap<u32, u32> {
    let lines: BTreeMap<u32, u32> =
        program.statements.iter().map(|statement| (statement.span.start, statement.line)).collect();
    let candidate = Candidate::new("", edits.to_vec(), 0);
    candidate.places(program).filter_map(|(new, old)| Some((new, *lines.get(&old)?))).collect()
}

/// The edits that take out the lines of a text which expect a finding, so that these are there to be fixed.
pub fn without_expected_findings(text: &str) -> Vec<Edit> {
    fn read(text: &str, items: &[Item], edits: &mut Vec<Edit>) {
        for item in items {
            let Content::Statement(statement) = &item.content else { continue };
            if let Statement::Expect(Expect::Finding { .. }) = statement {
                edits.push(insert::remove(text, item));
            }
            read(text, statement.body().map_or(&[], |body| &body.items), edits);
        }
    }
    let mut edits = Vec::new();
    read(text, &syntax::parse(text).0.items, &mut edits);
    edits
}

impl Turn {
    /// A finding, by what is told of it; `lines` are those of the text before all edits, by where the statements are now.
    fn told(&self, nth: usize, lines: &BTreeMap<u32, u32>) -> Left {
        let finding: &Finding = &self.trial.verdict.findings[nth];
        let statement = &self.trial.program.statements[finding.stmt];
        // What is new stood in no line.
        let line = lines.get(&statement.span.start).copied().unwrap_or(statement.line);
        Left { kind: finding.kind, line }
    }
}

/// The text that came of edits.
fn edited(text: &str, edits: &[Edit]) -> String {
    edit::apply(text, edits)
}
