//! The smallest text that fails as a larger one does: what shrinking of a failing scenario comes to.
//!
//! A smaller text counts only if it is a program, if its run fails in the same way ([`Signature`]), and if nothing fails in it that
//! did not fail before. Rules: A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing input" (2002), for what
//! is dropped and until when: of the result nothing more can go alone. Where a finding is about order, the first attempt
//! leaves its causes alone (`slice`).
//!
//! It must not know how a text is read into a program, nor where the result is written.

mod arguments;
mod blocks;
mod drop;
mod hunt;
mod names;
mod signature;
mod simpler;
mod slice;

pub use signature::{Served, Signature, Way};

use super::Strategy;
use super::site::{Site, Sites};
use crate::base::Diagnostic;
use crate::edit::Variants;
use crate::profile::Profile;
use crate::scenario::Program;
use crate::syntax;
use crate::trace::{Failure, FindingKind};
use hunt::Hunt;
use std::fmt;

/// By what a run decides what it is free to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// How choices are made.
    pub strategy: Strategy,
    /// What draws them.
    pub seed: u64,
    /// By how many percents constant durations vary.
    pub jitter: u8,
}

/// Which of the things that fail is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The gravest one.
    First,
    /// The first finding of a kind, even if it is no error or a line expects it.
    Finding(FindingKind),
    /// The first call that fails in this way, even if the text says so.
    Failure(Failure),
    /// The first `expect` line that does not hold.
    Expectation,
}

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct So {
    /// How many runs were made.
    pub runs: u64,
    /// How many lines the text has left.
    pub lines: usize,
}

/// How a smaller text is looked for.
#[derive(Clone, Copy)]
pub struct Search<'r> {
    /// Makes a program of a text, or says what is wrong with it.
    pub read: &'r dyn Fn(&str) -> Result<Program, Vec<Diagnostic>>,
    /// With which choices the text fails.
    pub choices: Choices,
    /// Asked before each run: whether to go on.
    pub goes_on: &'r dyn Fn(So) -> bool,
}

impl fmt::Debug for Search<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Search").field("choices", &self.choices).finish_non_exhaustive()
    }
}

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shrunk {
    /// The smaller text: statements alone, in the usual form.
    pub statements: String,
    /// What fails in it, as in the text that it came from.
    pub target: Signature,
    /// With which choices it fails.
    pub choices: Choices,
    /// How many runs were made.
    pub runs: u64,
    /// How many lines with statements the text had before.
    pub before: usize,
    /// How many it has.
    pub after: usize,
    /// Whether nothing more can go; else somebody ended the search.
    pub is_minimal: bool,
}

impl Shrunk {
    /// The smaller text with a comment that says how it came about. `made_by` is the command that makes it again, `fails_with` the
    /// arguments that a run of it needs to fail, as far as there are any.
    pub fn text(&self, made_by: &str, fails_with: &str) -> String {
        let Self { target, runs, before, after, .. } = self;
        let end = match self.is_minimal {
            true => "# Without any one of them that is gone, or another error comes.",
            false => "# The search was interrupted: more may go.",
        };
        let mut comment = format!("# Made by: {made_by}\n# Kept: {target}\n");
        comment.push_str(&format!("# {after} of {before} lines are left, after {runs} runs.\n{end}\n"));
        if !fails_with.is_empty() {
            comment.push_str(&format!("# Run it with:{fails_with}\n"));
        }
        // What a name of a file may have in it must not end the comment.
        let comment: String =
            comment.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect();
        let (file, _) = syntax::parse(&self.statements);
        let sites = Sites::of(&file, &self.statements);
        let does = |site: &&Site<'_>| !names::is_declaration(site);
        let first = sites.all.iter().find(does).map_or(0, |site| site.item.span.start as usize);
        let (declarations, rest) = self.statements.split_at(first);
        let text = [&comment, declarations, rest].map(str::trim_end).join("\n\n") + "\n";
        syntax::format(&text).unwrap_or(text)
    }
}

/// The statements of a text as it stands, or of one of its variants.
pub fn alone(text: &str, variant: Option<&str>) -> String {
    let (file, _) = syntax::parse(text);
    let (variants, _) = Variants::of(&file, text, &Profile::SETTINGS);
    let chosen = variants.iter().find(|own| Some(own.name.text.as_str()) == variant);
    match chosen {
        Some(chosen) => syntax::statements(&variants.twin(chosen).0.file, text),
        None => syntax::statements(&variants.base(), text),
    }
}

/// Makes a text smaller for as long as it fails in the same way. `None`: it is no program, or what is asked for does not fail.
pub fn shrink(text: &str, which: Which, search: &Search<'_>) -> Option<Shrunk> {
    let text = syntax::bare(text);
    let mut hunt = Hunt::begin(&text, which, search)?;
    choose(&mut hunt);
    if !slice::slice(&mut hunt) {
        drop::together(&mut hunt);
    }
    simplify(&mut hunt);
    // Fewer statements may do where turns of a loop need not be alike; but the loop may also be the shorter way to say it.
    let looped = hunt.state();
    if blocks::write_out(&mut hunt) {
        simplify(&mut hunt);
        if hunt.text.lines().count() >= looped.lines() {
            hunt.restore(looped);
        }
    }
    Some(Shrunk {
        before: text.lines().count(),
        after: hunt.text.lines().count(),
        statements: hunt.text,
        target: hunt.target,
        choices: hunt.choices,
        runs: hunt.runs,
        is_minimal: !hunt.is_over,
    })
}

/// Makes a text smaller in every way until none helps.
fn simplify(hunt: &mut Hunt<'_, '_>) {
    loop {
        let before = hunt.state();
        blocks::simplify(hunt);
        simpler::simplify(hunt);
        arguments::drop(hunt);
        drop::each(hunt);
        choose(hunt);
        if before == hunt.state() {
            return;
        }
    }
}

/// Makes the usual choices, or as many of them as possible.
fn choose(hunt: &mut Hunt<'_, '_>) {
    let Choices { strategy, seed, jitter } = hunt.choices;
    let usual = Strategy::Random;
    for choices in [
        Choices { strategy: usual, seed: 0, jitter: 0 },
        Choices { strategy, seed: 0, jitter: 0 },
        Choices { strategy, seed, jitter: 0 },
        Choices { strategy, seed: 0, jitter },
    ] {
        if choices == hunt.choices || hunt.choose(choices) {
            return;
        }
    }
}
