//! The text as small as it is by now, and the attempts to make it smaller: each is a whole program that is run and judged.

use super::names;
use super::signature::{Services, Signature, Signatures};
use super::{Choices, Search, So, Which};
use crate::base::{Diagnostic, Edit, Severity};
use crate::edit;
use crate::engine::Runner;
use crate::explore::broken;
use crate::explore::site::Sites;
use crate::oracle::{Expectations, Verdict};
use crate::scenario::Program;
use crate::syntax::{self, ast::File};
use crate::trace::{Nothing, Sink};
use std::collections::BTreeSet;

/// So often lines are taken out that are in the way of a program.
const REPAIRS_MAX: u32 = 16;

/// A search, and what it has come to.
pub(super) struct Hunt<'s, 'r> {
    search: &'s Search<'r>,
    pub(super) target: Signature,
    /// What fails beside it from the beginning: nothing else may.
    company: Vec<Signature>,
    /// The text, in the form of [`syntax::bare`].
    pub(super) text: String,
    /// The tree of it.
    pub(super) file: File,
    pub(super) choices: Choices,
    tried: BTreeSet<String>,
    pub(super) runs: u64,
    /// Whether somebody ends it.
    pub(super) is_over: bool,
}

/// What a search has come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    text: String,
    choices: Choices,
}

impl State {
    pub(super) fn lines(&self) -> usize {
        self.text.lines().count()
    }
}

impl<'s, 'r> Hunt<'s, 'r> {
    /// Runs a text and takes aim at what fails in it. `None`: it is no program, or nothing of that fails.
    pub(super) fn begin(text: &str, which: Which, search: &'s Search<'r>) -> Option<Self> {
        let program = (search.read)(text).ok()?;
        let (_, mut signatures) = observe(program, search.choices, Nothing);
        let target = signatures.aim(which)?;
        signatures.failing.retain(|other| *other != target);
        Some(Self {
            search,
            target,
            company: signatures.failing,
            text: text.to_owned(),
            file: syntax::parse(text).0,
            choices: search.choices,
            tried: BTreeSet::new(),
            runs: 1,
            is_over: false,
        })
    }

    /// What it has come to.
    pub(super) fn state(&self) -> State {
        State { text: self.text.clone(), choices: self.choices }
    }

    /// Goes back to what it had come to before.
    pub(super) fn restore(&mut self, state: State) {
        self.file = syntax::parse(&state.text).0;
        State { text: self.text, choices: self.choices } = state;
    }

    /// Makes edits, if what comes of them is another program that fails in the same way.
    pub(super) fn attempt(&mut self, edits: &[Edit]) -> bool {
        if edits.is_empty() || self.is_over {
            return false;
        }
        let Some((text, program)) = self.repaired(edit::apply(&self.text, edits)) else { return false };
        let is_smaller = text != self.text && self.counts(&text, program, self.choices);
        if is_smaller {
            self.file = syntax::parse(&text).0;
            self.text = text;
        }
        is_smaller
    }

    /// Makes choices in another way, if the text fails with them too.
    pub(super) fn choose(&mut self, choices: Choices) -> bool {
        let text = self.text.clone();
        let Ok(program) = (self.search.read)(&text) else { return false };
        let counts = self.counts(&text, program, choices);
        if counts {
            self.choices = choices;
        }
        counts
    }

    /// Runs the text once more with a sink that looks at it.
    pub(super) fn watch<S: Sink>(
        &mut self,
        sink: impl FnOnce(&Program) -> S,
    ) -> Option<(Program, Verdict, S)> {
        let program = (self.search.read)(&self.text).ok()?;
        let mut sink = sink(&program);
        let (verdict, _) = observe(program.clone(), self.choices, &mut sink);
        self.runs += 1;
        Some((program, verdict, sink))
    }

    /// Whether a program that was not tried yet fails in the same way, and in no other than the first one did.
    fn counts(&mut self, text: &str, program: Program, choices: Choices) -> bool {
        if program.statements.is_empty() || !self.tried.insert(format!("{choices:?}\n{text}")) {
            return false;
        }
        let so = So { runs: self.runs, lines: self.text.lines().count() };
        self.is_over |= !(self.search.goes_on)(so);
        if self.is_over {
            return false;
        }
        self.runs += 1;
        let (_, signatures) = observe(program, choices, Nothing);
        let is_known = |other: &Signature| *other == self.target || self.company.contains(other);
        signatures.has(&self.target) && signatures.failing.iter().all(is_known)
    }

    /// A text without what it does not name and without the lines that are in the way of a program, and that program.
    fn repaired(&self, mut text: String) -> Option<(String, Program)> {
        for _ in 0..REPAIRS_MAX {
            let (file, _) = syntax::parse(&text);
            let unnamed = names::unnamed(&Sites::of(&file, &text));
            if !unnamed.is_empty() {
                text = edit::apply(&text, &unnamed);
                continue;
            }
            text = syntax::statements(&file, &text);
            match (self.search.read)(&text) {
                Ok(program) => return Some((text, program)),
                Err(diagnostics) => text = without_mistakes(&text, &diagnostics)?,
            }
        }
        None
    }
}

/// The text without the lines that have mistakes.
fn without_mistakes(text: &str, diagnostics: &[Diagnostic]) -> Option<String> {
    let (file, _) = syntax::parse(text);
    let sites = Sites::of(&file, text);
    let errors = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
    let lines = errors.filter_map(|error| names::line_of(&sites, error.primary.span.start));
    let gone: BTreeSet<usize> = lines.map(|line| line.nth).collect();
    (!gone.is_empty()).then(|| edit::apply(text, &names::without(&sites, &gone)))
}

/// Runs a program and judges, with what is compared of that.
fn observe(mut program: Program, choices: Choices, sink: impl Sink) -> (Verdict, Signatures) {
    program = choices.strategy.applied(program);
    program.setup.jitter = choices.jitter;
    let (mut judge, mut services) = (Expectations::new(&program), Services::default());
    let mut runner = Runner::new(&program);
    let ending = runner.run(choices.seed, ((&mut judge, &mut services), sink));
    let verdict = judge.finish(broken(&ending));
    let signatures = Signatures::of(&program, &verdict, &services);
    (verdict, signatures)
}
