//! The version of the language that a text is written in: `millpond 1`, before any other statement.
//!
//! A text without that line is in the version that is read here. It must not know what a version changes.

use super::ast::{Name, Statement};
use super::{VERSION, codes};
use crate::base::{Diagnostic, Span};

/// What a text says about its version so far.
#[derive(Default)]
pub(super) struct Version {
    /// The line that states it.
    stated: Option<Span>,
    /// The first statement.
    first: Option<Span>,
    /// The text is in a version that is not read here, so that nothing else can be said about it.
    pub(super) unknown: Option<Diagnostic>,
}

impl Version {
    /// Looks at the next line with a statement on it; `None` for one that could not be read.
    pub(super) fn line(&mut self, span: Span, statement: Option<&Statement>) -> Option<Diagnostic> {
        let first = *self.first.get_or_insert(span);
        let Some(Statement::Version(number)) = statement else { return None };
        if let Some(stated) = self.stated {
            let message = "the version of the language is stated twice";
            let diagnostic = Diagnostic::error(codes::MISPLACED_VERSION, message, span, "the second time");
            return Some(diagnostic.also(stated, "the first time").help("remove this line"));
        }
        self.stated = Some(span);
        if first != span {
            let message = "the version of the language stands before every other statement";
            let diagnostic = Diagnostic::error(codes::MISPLACED_VERSION, message, span, "too late");
            return Some(diagnostic.also(first, "the first statement").help("move this line to the top"));
        }
        self.unknown = (number.text != VERSION).then(|| unknown(number));
        None
    }
}

fn unknown(number: &Name) -> Diagnostic {
    let message = format!("this text is in version {} of the language", number.text);
    let label = format!("expected {VERSION}, the only version that is read here");
    Diagnostic::error(codes::UNKNOWN_VERSION, message, number.span, label)
        .note("nothing else in the text was read")
        .help("another release of Millpond may read it: `millpond --version` says what this one reads")
}
