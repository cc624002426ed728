//! Mistakes of an input as people read them: the place underlined, notes, and the mend as a change of the text.

use super::excerpt::{Excerpt, column};
use crate::base::{Diagnostic, Edit, Fact, Help, Label, LineIndex, MISTAKES_MAX, Severity, Span};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Message, Patch, Renderer, Snippet};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// So many mistakes of a file are shown; a reader mends the first ones first.
const SHOWN_MAX: usize = 50;
/// What is said fits a page of so many columns; a path may be longer.
const COLUMNS: usize = 80;
/// A longer word of the text is cut where it is quoted.
const WORD_MAX: usize = 40;
/// A space that does not end a word.
const TIE: &str = "\u{a0}";
/// So many lines of one message are shown.
const LINES_MAX: usize = 8;
/// A place that is further away, in lines, is told and not shown.
const NEAR_MAX: u32 = 1_000;
/// A longer name of a fact stands out of line.
const NAME_MAX: usize = 8;
/// A mend with a longer text is told and not shown.
const EDIT_MAX: usize = COLUMNS / 2;

/// All mistakes of a file, with a count at the end. `path` is what the file is called there.
pub(super) fn render(path: &str, text: &str, diagnostics: &[Diagnostic], colour: bool) -> String {
    let renderer = renderer(colour);
    let index = LineIndex::new(text);
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        out.push_str(&rendered(&renderer, path, text, &index, diagnostic));
        out.push_str("\n\n");
    }
    if diagnostics.len() > SHOWN_MAX {
        out.push_str(&format!(".. and {} more\n\n", diagnostics.len() - SHOWN_MAX));
    }
    out.push_str(&count(path, diagnostics));
    out.push_str(&more(diagnostics));
    out
}

/// What was found in a run, each as the lines of a report.
pub(super) fn found(path: &str, text: &str, diagnostics: &[Diagnostic], colour: bool) -> Vec<String> {
    let (renderer, index) = (renderer(colour), LineIndex::new(text));
    let one = |found: &Diagnostic| rendered(&renderer, path, text, &index, found);
    diagnostics.iter().map(one).collect()
}

fn renderer(colour: bool) -> Renderer {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    // Lines are cut before they are rendered.
    renderer.term_width(10 * COLUMNS)
}

/// Where to read more: for the kind of the first mistake, with as many other kinds as fit the line.
fn more(diagnostics: &[Diagnostic]) -> String {
    let mut codes: Vec<&str> = Vec::new();
    for diagnostic in diagnostics.iter().take(SHOWN_MAX) {
        if !codes.contains(&diagnostic.code.0) {
            codes.push(diagnostic.code.0);
        }
    }
    let Some((code, others)) = codes.split_first() else { return String::new() };
    let line = |others: &[&str]| match others {
        [] => format!("for more: millpond explain {code}"),
        others => format!("for more: millpond explain {code} (or {})", others.join(", ")),
    };
    let lines = (0..=others.len()).rev().map(|count| line(&others[..count]));
    lines.into_iter().find(|line| line.width() <= COLUMNS).unwrap_or_else(|| line(&[])) + "\n"
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
    let more = if diagnostics.len() >= MISTAKES_MAX { " or more" } else { "" };
    format!("{}{more} in {path}\n", parts.join(", "))
}

fn rendered(
    renderer: &Renderer,
    path: &str,
    text: &str,
    index: &LineIndex,
    diagnostic: &Diagnostic,
) -> String {
    let (level, word) = match diagnostic.severity {
        Severity::Error => (Level::ERROR, "error"),
        Severity::Warning => (Level::WARNING, "warning"),
        Severity::Lint => (Level::WARNING.with_name("lint"), "lint"),
        Severity::Note => (Level::NOTE, "note"),
    };
    let line = |label: &Label| index.line(label.span.start);
    let is_near = |label: &&Label| line(label).abs_diff(line(&diagnostic.primary)) <= NEAR_MAX;
    let labels = || std::iter::once(&diagnostic.primary).chain(diagnostic.secondary.iter().filter(is_near));
    let spans: Vec<Span> = labels().map(|label| label.span).collect();
    let excerpt = Excerpt::around(text, index, &spans, COLUMNS, 0);
    let edits = diagnostic.help.as_ref().map_or(&[][..], |help| &help.edits);
    let places: Vec<Span> = edits.iter().map(|edit| edit.span).collect();
    let longest = edits.iter().map(|edit| edit.text.width()).max().unwrap_or_default();
    let changed = Excerpt::around(text, index, &places, COLUMNS, longest);
    let is_shown = !edits.is_empty() && longest <= EDIT_MAX;
    // All groups have their lines behind the widest number.
    let gutter = if is_shown { changed.gutter_with(edits).max(excerpt.gutter()) } else { excerpt.gutter() };
    let annotations = labels().enumerate().map(|(nth, label)| annotation(&excerpt, gutter, label, nth == 0));
    let snippet = Snippet::source(&excerpt.text).line_start(excerpt.line).path(path).annotations(annotations);
    let indent = word.len() + "[]: ".len() + diagnostic.code.0.len();
    let title = level.primary_title(wrapped(&diagnostic.message, indent)).id(diagnostic.code.0);
    let mut group = title.element(snippet);
    let indent = gutter + "= note: ".len();
    // A label that does not fit behind its place stands below.
    let below = labels().filter(|label| !fits(&excerpt, gutter, label));
    let far = diagnostic.secondary.iter().filter(|label| !is_near(label));
    let told = |label: &Label| format!("line {}: {}", line(label), label.message);
    let below = below.enumerate().map(|(nth, label)| match spans.len() {
        1 if nth == 0 => label.message.clone(),
        _ => told(label),
    });
    for note in below.chain(diagnostic.notes.iter().cloned()).chain(far.map(told)) {
        group = group.element(Level::NOTE.message(wrapped(&note, indent)));
    }
    for message in facts(&diagnostic.facts, gutter) {
        group = group.element(message);
    }
    let groups = match &diagnostic.help {
        None => vec![group],
        Some(help) if is_shown => vec![group, change_of(path, help, &changed, gutter)],
        Some(help) => vec![group.element(Level::HELP.message(wrapped(&help.text, indent)))],
    };
    let shown = renderer.render(&groups);
    // Where the beginning of the line is cut, the place in the file is still that of the whole line.
    let place = |column| format!("{path}:{}:{column}", index.line(diagnostic.primary.span.start));
    let column = column(text, diagnostic.primary.span.start as usize);
    shown.replacen(&place(excerpt.column(diagnostic.primary.span)), &place(column), 1)
}

fn fits(excerpt: &Excerpt, gutter: usize, label: &Label) -> bool {
    gutter + excerpt.columns_before_end(label.span) + 1 + label.message.width() <= COLUMNS
}

fn annotation<'a>(excerpt: &Excerpt, gutter: usize, label: &'a Label, is_primary: bool) -> Annotation<'a> {
    let kind = if is_primary { AnnotationKind::Primary } else { AnnotationKind::Context };
    let annotation = kind.span(excerpt.range(label.span));
    match !label.message.is_empty() && fits(excerpt, gutter, label) {
        true => annotation.label(label.message.as_str()),
        false => annotation,
    }
}

/// Facts below each other, with what they say in one column.
fn facts(facts: &[Fact], gutter: usize) -> Vec<Message<'static>> {
    let widest = facts.iter().map(|fact| fact.name.width()).filter(|width| *width <= NAME_MAX).max();
    let widest = widest.unwrap_or_default();
    let message = |fact: &Fact| {
        let pad = widest.saturating_sub(fact.name.width());
        let indent = gutter + "= : ".len() + fact.name.width().max(widest);
        let lines = fact.text.split('\n').map(|line| wrapped(&together(line), indent).replace(TIE, " "));
        let text = lines.collect::<Vec<_>>().join("\n");
        let text: Vec<String> = text.lines().map(|line| format!("{}{line}", " ".repeat(pad))).collect();
        Level::NOTE.with_name(fact.name).message(text.join("\n"))
    };
    facts.iter().map(message).collect()
}

/// The same text, with what stands between two backquotes and is short as one word.
fn together(text: &str) -> String {
    let parts =
        text.split('`').enumerate().map(|(nth, part)| match nth % 2 == 1 && part.width() < WORD_MAX - 2 {
            true => part.replace(' ', TIE),
            false => part.to_owned(),
        });
    parts.collect::<Vec<_>>().join("`")
}

/// The mend as a change of the text.
fn change_of<'a>(path: &'a str, help: &'a Help, excerpt: &'a Excerpt, gutter: usize) -> Group<'a> {
    let patch = |edit: &&'a Edit| Patch::new(excerpt.range(edit.span), edit.text.as_str());
    let title = Level::HELP.secondary_title(wrapped(&help.text, "help: ".len()));
    // Beside what is added, what is taken out would be shown as nothing: it has a picture of its own.
    let (gone, written): (Vec<_>, Vec<_>) = help.edits.iter().partition(|edit| edit.text.is_empty());
    let pictures = [written, gone].into_iter().filter(|edits| !edits.is_empty()).map(|edits| {
        let patches: Vec<_> = edits.iter().map(patch).collect();
        Snippet::source(&excerpt.text).line_start(excerpt.line).path(path).patches(patches)
    });
    let group = title.elements(pictures);
    facts(&help.facts, gutter).into_iter().fold(group, Group::element)
}

/// A message in lines that fit the page behind an indentation. What stands between backquotes and is short stays together.
fn wrapped(message: &str, indent: usize) -> String {
    let most = COLUMNS.saturating_sub(indent);
    let mut lines = vec![String::new()];
    for word in message.split(' ') {
        let word = shortened(word);
        let line = lines.last_mut().expect("there is a first one");
        if line.is_empty() {
            line.push_str(&word);
        } else if line.width() + 1 + word.width() <= most {
            line.extend([" ", &word]);
        } else {
            lines.push(word);
        }
    }
    if lines.len() > LINES_MAX {
        lines.truncate(LINES_MAX);
        lines.push("..".to_owned());
    }
    lines.join("\n")
}

/// The beginning of a word that is too long to be read, with its closing quote.
fn shortened(word: &str) -> String {
    if word.width() <= WORD_MAX {
        return word.to_owned();
    }
    let mut columns = 0;
    let fits = |sign: &char| {
        columns += sign.width().unwrap_or(1);
        columns < WORD_MAX
    };
    let beginning: String = word.chars().take_while(fits).collect();
    format!("{beginning}..{}", if beginning.starts_with('`') { "`" } else { "" })
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

    #[test]
    fn a_label_that_does_not_fit_stands_below() {
        // Lines of one digit, and a change that goes on to line 11, so that all numbers take two columns.
        let text = format!("stream s\n{}s: free x\n", "sync s\n".repeat(7));
        let span = Span::new(text.len() as u32 - 10, text.len() as u32 - 1);
        let edits = |added: usize| {
            vec![Edit { span: Span::new(span.start, span.start), text: "sync s\n".repeat(added) }]
        };
        // Made up: a kind of its own would have to be shown by a scenario.
        const NAME: &str = "made_up";
        let mark = |message: usize, added: usize| {
            let mut found = Diagnostic::error(Code(NAME), "a label", span, "x".repeat(message));
            let (text, facts) = ("a change".to_owned(), Vec::new());
            found.help = (added > 0).then(|| Help { text, edits: edits(added), facts });
            found
        };
        for (added, gutter) in [(0, 4), (2, 5)] {
            let most = COLUMNS - gutter - "s: free x ".len();
            for (message, is_below) in [(most, false), (most + 1, true)] {
                let shown = render("a.scn", &text, &[mark(message, added)], false);
                let widest = shown.lines().map(str::width).max();
                assert!(widest <= Some(COLUMNS), "{shown}");
                assert_eq!(shown.contains("= note: x"), is_below, "{shown}");
                assert!(is_below || widest == Some(COLUMNS), "{shown}");
            }
        }
    }
}
