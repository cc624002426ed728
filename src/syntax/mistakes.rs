//! What is wrong with a line that the grammar does not accept: what stands there, what was expected, what was meant.

use super::codes;
use super::grammar::{Grammar, Rule};
use super::line::Outline;
use crate::base::{Diagnostic, Span, nearest};
use pest::Parser;
use pest::error::{Error, ErrorVariant, InputLocation};

/// The words that begin a statement, in the order of the language reference.
const STATEMENTS: [&str; 35] = [
    "millpond",
    "scenario",
    "device",
    "pool",
    "stream",
    "event",
    "host_buffer",
    "view",
    "kernel",
    "collective",
    "let",
    "repeat",
    "thread",
    "variant",
    "async",
    "sync",
    "query",
    "poll",
    "sleep",
    "trim",
    "set",
    "reset",
    "create",
    "destroy",
    "signal",
    "await",
    "join",
    "barrier",
    "free",
    "copy",
    "memset",
    "read",
    "write",
    "expect",
    "snapshot",
];
/// The words of operations, which stand behind a stream.
const OPERATIONS: [&str; 7] = ["alloc", "free", "record", "wait", "copy", "memset", "host"];

/// A part of a line.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    span: Span,
}

/// The diagnostic for a line that begins at `start` of the text.
pub(super) fn explain(line: &str, start: u32, error: &Error<Rule>, outline: Outline) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let expected: &[Rule] = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives,
        ErrorVariant::CustomError { .. } => &[],
    };
    let found = word_at(line, at, start);
    let first = word_at(line, line.len() - line.trim_start().len(), start);
    let before = word_before(line, at, start);
    if Grammar::parse(Rule::operation, line.trim_start()).is_ok() {
        let message = "an operation stands behind a stream";
        return Diagnostic::error(codes::UNEXPECTED, message, first.span, "expected `STREAM: operation`");
    }
    if expected.contains(&Rule::colon) && before.is_some_and(|word| word.span == first.span) {
        return statement_mistake(line, start, first);
    }
    if let Some(word) = before.filter(|_| expected.contains(&Rule::left) && expected.contains(&Rule::equals))
    {
        let diagnostic = Diagnostic::error(
            codes::UNEXPECTED,
            format!("`{}` is no operation", word.text),
            word.span,
            "expected `NAME = alloc ..`, `free`, `record`, `wait`, `copy`, `memset`, `host` or a call such as `fill(x)`",
        );
        return meant(diagnostic, word, OPERATIONS);
    }
    let message = match found.text {
        "" => "the line ends too early".to_owned(),
        text => format!("`{text}` is not expected here"),
    };
    let diagnostic =
        Diagnostic::error(codes::UNEXPECTED, message, found.span, format!("expected {}", list(expected)));
    let described: Vec<String> = expected.iter().filter_map(|rule| describe(*rule)).collect();
    let diagnostic = meant(diagnostic, found, described.iter().flat_map(|words| quoted_words(words)));
    if diagnostic.help.is_some() {
        return diagnostic;
    }
    if expected.contains(&Rule::name) && Grammar::parse(Rule::word, found.text).is_ok() {
        return diagnostic.note(format!("`{}` is a word of the language and cannot be a name", found.text));
    }
    let is_behind = found.span != first.span;
    if is_behind && (outline.opens || line[..at].trim_end().ends_with('{')) {
        return diagnostic.note("the body of a block stands on lines of its own");
    }
    diagnostic
}

/// The first word begins no statement, or the colon behind a stream is missing.
fn statement_mistake(line: &str, start: u32, first: Word<'_>) -> Diagnostic {
    let rest_at = first.span.range().end - start as usize;
    let rest = line[rest_at..].trim();
    let is_operation = Grammar::parse(Rule::operation, rest).is_ok();
    let suggestion = nearest(first.text, STATEMENTS);
    if is_operation && suggestion.is_none() && !rest.is_empty() {
        let after = Span::new(first.span.end, first.span.end);
        let message = format!("a colon is missing after `{}`", first.text);
        return Diagnostic::error(codes::UNEXPECTED, message, after, "expected `:`").fix(
            "an operation is written `STREAM: operation`",
            after,
            ":",
        );
    }
    let diagnostic = Diagnostic::error(
        codes::UNKNOWN_STATEMENT,
        format!("unknown statement `{}`", first.text),
        first.span,
        "expected a statement or `STREAM: operation`",
    );
    let words = STATEMENTS.map(|word| format!("`{word}`"));
    meant(diagnostic.note(format!("a statement begins with one of {}", words.join(", "))), first, STATEMENTS)
}

fn meant<'w>(diagnostic: Diagnostic, word: Word<'_>, words: impl IntoIterator<Item = &'w str>) -> Diagnostic {
    match nearest(word.text, words) {
        Some(meant) if meant != word.text => {
            diagnostic.fix(format!("did you mean `{meant}`?"), word.span, meant)
        }
        _ => diagnostic,
    }
}

/// The words of the language in a description: `a` and `b` of "`a`, `b`".
fn quoted_words(description: &str) -> impl Iterator<Item = &str> {
    let quoted = description.split('`').skip(1).step_by(2).flat_map(|quoted| quoted.split(' '));
    quoted.filter(|word| !word.is_empty() && word.bytes().all(is_letter))
}

/// The word, number or sign at a byte of the line; empty at its end.
fn word_at(line: &str, at: usize, start: u32) -> Word<'_> {
    let rest = &line[at..];
    let letters = rest.bytes().take_while(|byte| is_letter(*byte)).count();
    let length = match letters {
        0 => rest.chars().next().filter(|sign| !sign.is_whitespace()).map_or(0, char::len_utf8),
        letters => letters,
    };
    Word { text: &rest[..length], span: Span::new(start + at as u32, start + (at + length) as u32) }
}

/// The word that ends right before a byte of the line, but for spaces.
fn word_before(line: &str, at: usize, start: u32) -> Option<Word<'_>> {
    let end = line[..at].trim_end().len();
    let letters = line[..end].bytes().rev().take_while(|byte| is_letter(*byte)).count();
    let begin = end - letters;
    let span = Span::new(start + begin as u32, start + end as u32);
    (letters > 0).then(|| Word { text: &line[begin..end], span })
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What was expected, in words. What may merely go on (a qualifier, a sign, a comment) is told only if nothing else is.
fn list(expected: &[Rule]) -> String {
    let goes_on = [Rule::dot, Rule::left_bracket, Rule::operator, Rule::comment, Rule::comma];
    let mut words: Vec<String> =
        expected.iter().filter(|rule| !goes_on.contains(rule)).filter_map(|rule| describe(*rule)).collect();
    if words.is_empty() {
        words = expected.iter().filter_map(|rule| describe(*rule)).collect();
    }
    words.dedup();
    match words.as_slice() {
        [] => "something else".to_owned(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}

fn describe(rule: Rule) -> Option<String> {
    if let Some(keyword) = rule.keyword() {
        return Some(format!("`{keyword}`"));
    }
    let words = match rule {
        Rule::EOI => "the end of the line",
        Rule::name | Rule::word | Rule::segment | Rule::path | Rule::place | Rule::declared => "a name",
        Rule::quoted => "a text in quotes",
        Rule::edition => "the number of a version",
        Rule::setting => "a setting such as `memory = 80GiB`",
        Rule::list => "a list such as `[follow_event, internal]`",
        Rule::parameter => "a parameter such as `x: read`",
        Rule::access => "`read`, `write` or `read_write`",
        Rule::stream_kind => "`non_blocking`, `blocking`",
        Rule::law | Rule::uniform => "a duration such as `10us` or `5us..20us`",
        Rule::expression | Rule::number | Rule::constant | Rule::parentheses => "a value",
        Rule::operator => "a sign such as `+`",
        Rule::comparator => "a comparison such as `==`",
        Rule::comparison | Rule::relation => "an expectation",
        Rule::created_stream => "`stream`",
        Rule::created_event => "`event`",
        Rule::created_pool => "`pool`",
        Rule::reusing => "`reusing`",
        Rule::outcome => "`fails`, `or_fails`, `else`",
        Rule::reuses => "`reuses`",
        Rule::placed_at => "`at`",
        Rule::waits_for => "`waits for free`",
        Rule::via => "`via`",
        Rule::inline | Rule::open => "`{`",
        Rule::close => "`}`",
        Rule::left => "`(`",
        Rule::right => "`)`",
        Rule::host_kind => "`pinned`, `pageable`",
        Rule::part | Rule::left_bracket => "`[`",
        Rule::right_bracket => "`]`",
        Rule::comma => "`,`",
        Rule::colon => "`:`",
        Rule::equals => "`=`",
        Rule::dots => "`..`",
        Rule::dot => "`.`",
        Rule::comment => return None,
        Rule::launch | Rule::alloc => "an operation",
        Rule::queued => "`STREAM: operation`",
        Rule::statement_line => "a statement",
        Rule::setting_line => "a setting or `}`",
        Rule::variant_line => "`model`, `set`, `omit`, `expect`, `snapshot` or `}`",
        Rule::model => "`model`",
        Rule::assign => "`set`",
        Rule::omit => "`omit`",
        _ => return None,
    };
    Some(words.to_owned())
}
