//! A diagnostic as data: what is wrong, where, what was expected, what to do. How it looks is the renderer's affair.

use super::Span;
use std::fmt;

/// Reading a text stops after so many mistakes, so that no text costs more than a reader could use.
pub const MISTAKES_MAX: usize = 500;

/// The name of a kind of diagnostic, such as `unknown_name`. Stable: people search for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// How grave a diagnostic is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// To be known, no more.
    Note,
    /// Something is done in vain, or more slowly than it could.
    Lint,
    /// Worth a look; the input is still valid.
    Warning,
    /// The input is wrong.
    Error,
}

/// A marked place of the source text with a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What there is to say about it; may be empty.
    pub message: String,
}

/// One obvious mend: the text of `span` becomes `text`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty to insert.
    pub span: Span,
    /// What stands there instead.
    pub text: String,
}

/// Something to know under a name: `missing: 12 train(x) -> 13 free x`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name.
    pub name: &'static str,
    /// What there is to know; may have several lines.
    pub text: String,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// In words.
    pub text: String,
    /// The edits that do it, where they are obvious or were tried; in the order of their places.
    pub edits: Vec<Edit>,
    /// What to know about them.
    pub facts: Vec<Fact>,
}

/// One mistake of an input, or of what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its kind.
    pub code: Code,
    /// Its gravity.
    pub severity: Severity,
    /// What is wrong, in one line without a full stop.
    pub message: String,
    /// The place that is wrong, underlined.
    pub primary: Label,
    /// Further places that explain it.
    pub secondary: Vec<Label>,
    /// What to know, a line each.
    pub notes: Vec<String>,
    /// The same under names, below them.
    pub facts: Vec<Fact>,
    /// What to do.
    pub help: Option<Help>,
}

impl Diagnostic {
    /// An error at a place; `label` says what was expected there and may be empty.
    pub fn error(code: Code, message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        let primary = Label { span, message: label.into() };
        Self {
            code,
            severity: Severity::Error,
            message: message.into(),
            primary,
            secondary: Vec::new(),
            notes: Vec::new(),
            facts: Vec::new(),
            help: None,
        }
    }

    /// Marks a further place.
    #[must_use]
    pub fn also(mut self, span: Span, message: impl Into<String>) -> Self {
        self.secondary.push(Label { span, message: message.into() });
        self
    }

    /// Adds a line of explanation.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a line of explanation with a name.
    #[must_use]
    pub fn fact(mut self, name: &'static str, text: impl Into<String>) -> Self {
        self.facts.push(Fact { name, text: text.into() });
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(Help { text: help.into(), edits: Vec::new(), facts: Vec::new() });
        self
    }

    /// Says what to do, and gives the edit that does it.
    #[must_use]
    pub fn fix(mut self, help: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        let edits = vec![Edit { span, text: text.into() }];
        self.help = Some(Help { text: help.into(), edits, facts: Vec::new() });
        self
    }
}
