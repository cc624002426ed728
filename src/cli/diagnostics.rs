//! Mistakes of an input as people read them: the place underlined, notes, and the mend as a change of the text.

use crate::base::{Diagnostic, Edit, LineIndex, Severity, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Patch, Renderer, Snippet};

/// So many mistakes of a file are shown; a reader mends the first ones first.
const SHOWN_MAX: usize = 50;
/// So many further kinds are named where to read more.
const OTHERS_MAX: usize = 3;

/// All mistakes of a file, with a count at the end. `path` is what the file is called there.
pub(super) fn render(path: &str, text: &str, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let index = LineIndex::new(text);
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        out.push_str(&renderer.render(&groups(path, text, &index, diagnostic)));
        out.push_str("\n\n");
    }
    if diagnostics.len() > SHOWN_MAX {
        out.push_str(&format!(".. and {} more\n\n", diagnostics.len() - SHOWN_MAX));
    }
    out.push_str(&count(path, diagnostics));
    out.push_str(&more(diagnostics));
    out
}

/// Where to read more: for the kind of the first mistake, with the other kinds named.
fn more(diagnostics: &[Diagnostic]) -> String {
    let mut codes: Vec<&str> = Vec::new();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        if !codes.contains(&diagnostic.code.0) {
            codes.push(diagnostic.code.0);
        }
    }
    match codes.as_slice() {
        [] => String::new(),
        [code] => format!("for more: millpond explain {code}\n"),
        [code, others @ ..] => {
            let others = others.iter().take(OTHERS_MAX).copied().collect::<Vec<_>>().join(", ");
            format!("for more: millpond explain {code} (or {others})\n")
        }
    }
}

/// `2 errors in FILE`.
fn count(path: &str, diagnostics: &[Diagnostic]) -> String {
    let of = |severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let words = |count, noun| match count {
        0 => None,
        1 => Some(format!("1 {noun}")),
        count => Some(format!("{count} {noun}s")),
    };
    let parts = [words(of(Severity::Error), "error"), words(of(Severity::Warning), "warning")];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("{} in {path}\n", parts.join(", "))
}

fn groups<'a>(path: &'a str, text: &'a str, index: &LineIndex, diagnostic: &'a Diagnostic) -> Vec<Group<'a>> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.secondary);
    let window = Window::around(text, index, labels.clone().map(|label| label.span));
    let annotations = labels.enumerate().map(|(nth, label)| {
        let kind = if nth == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let annotation = kind.span(window.range(label.span));
        if label.message.is_empty() { annotation } else { annotation.label(label.message.as_str()) }
    });
    let snippet = Snippet::source(window.text).line_start(window.line).path(path).annotations(annotations);
    let title = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code.0);
    let mut group = title.element(snippet);
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    let mut groups = Vec::new();
    match &diagnostic.help {
        None => groups.push(group),
        Some((help, None)) => groups.push(group.element(Level::HELP.message(help.as_str()))),
        Some((help, Some(edit))) => {
            groups.push(group);
            groups.push(change(path, text, index, help, edit));
        }
    }
    groups
}

/// The mend as a change of the text.
fn change<'a>(path: &'a str, text: &'a str, index: &LineIndex, help: &'a str, edit: &'a Edit) -> Group<'a> {
    let window = Window::around(text, index, std::iter::once(edit.span));
    let patch = Patch::new(window.range(edit.span), edit.text.as_str());
    let snippet = Snippet::source(window.text).line_start(window.line).path(path).patch(patch);
    Level::HELP.secondary_title(help).element(snippet)
}

/// The whole lines of a text that hold some spans, so that rendering one mistake costs nothing for the rest of the text.
struct Window<'a> {
    text: &'a str,
    /// The first byte in the whole text.
    start: usize,
    /// The first line.
    line: usize,
}

impl<'a> Window<'a> {
    fn around(text: &'a str, index: &LineIndex, spans: impl Iterator<Item = Span>) -> Self {
        let span = spans.reduce(Span::to).unwrap_or_default();
        let first = floor(text, span.start as usize);
        let last = floor(text, span.end as usize);
        let start = text[..first].rfind('\n').map_or(0, |at| at + 1);
        let end = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
        Self { text: &text[start..end], start, line: index.line(start as u32) as usize }
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let inside = |byte: u32| floor(self.text, (byte as usize).saturating_sub(self.start));
        inside(span.start)..inside(span.end).max(inside(span.start))
    }
}

/// The byte, or the nearest one before it at which a character starts.
fn floor(text: &str, byte: usize) -> usize {
    let byte = byte.min(text.len());
    (0..=byte).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Code;

    #[test]
    fn a_mistake_is_underlined_where_it_is() {
        let text = "stream a\nä: x = aloc 4KiB\n";
        // Made up: a kind of its own would have to be shown by a scenario.
        const NAME: &str = "unknown_word";
        let span = Span::new(17, 21);
        let diagnostic = Diagnostic::error(Code(NAME), "no such operation", span, "not a word")
            .note("an operation of a stream")
            .fix("a similar one exists", span, "alloc");
        let expected = "\
error[unknown_word]: no such operation
 --> a.scn:2:8
  |
2 | ä: x = aloc 4KiB
  |        ^^^^ not a word
  |
  = note: an operation of a stream
help: a similar one exists
  |
2 | ä: x = alloc 4KiB
  |          +

1 error in a.scn
for more: millpond explain unknown_word
";
        assert_eq!(render("a.scn", text, &[diagnostic], false), expected);
    }
}
