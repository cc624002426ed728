//! What is wrong with a line that the grammar does not accept: what stands there, what was expected, what was meant.
//!
//! A mend is shown where it is the obvious one, and where the grammar accepts the line with it.

use super::codes;
use super::grammar::{Grammar, Rule};
use super::line::Outline;
use super::usage::{OPERATIONS, STATEMENTS, form, named, said_here, usage};
use crate::base::{Diagnostic, Span, nearest};
use pest::Parser;
use pest::error::{Error, ErrorVariant, InputLocation};
use std::ops::Range;

/// Words of other languages where this one has another word in the middle of a statement.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("by", "via"),
    ("using", "via"),
    ("through", "via"),
    ("out", "write"),
    ("in", "read"),
    ("inout", "read_write"),
    ("rw", "read_write"),
    ("readwrite", "read_write"),
    ("write", "read_write"),
    ("of", "from"),
    ("inf", "max"),
    ("infinite", "max"),
    ("unlimited", "max"),
    ("true", "on"),
    ("false", "off"),
    ("duration", "takes"),
    ("lasts", "takes"),
    ("raises", "fails"),
    ("throws", "fails"),
    ("nonblocking", "non_blocking"),
];

/// A part of a line.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    span: Span,
}

/// A line that the grammar does not accept.
struct Refused<'t> {
    line: &'t str,
    /// Where it begins in the text.
    start: u32,
    /// What it should have been.
    rule: Rule,
    /// How far the grammar came.
    at: usize,
    expected: &'t [Rule],
    outline: Outline,
    /// What stands where the grammar stopped.
    found: Word<'t>,
    first: Word<'t>,
}

/// The diagnostic for a line that begins at `start` of the text and should have been a `rule`.
pub(super) fn explain(
    line: &str,
    start: u32,
    rule: Rule,
    error: &Error<Rule>,
    outline: Outline,
) -> Diagnostic {
    let at = match error.location {
        InputLocation::Pos(at) | InputLocation::Span((at, _)) => at,
    };
    let expected: &[Rule] = match &error.variant {
        ErrorVariant::ParsingError { positives, .. } => positives,
        ErrorVariant::CustomError { .. } => &[],
    };
    let found = word_at(line, at, start);
    let first = word_at(line, line.len() - line.trim_start().len(), start);
    let refused = Refused { line, start, rule, at, expected, outline, found, first };
    refused
        .other_notation()
        .or_else(|| refused.host_call())
        .or_else(|| refused.without_stream())
        .or_else(|| refused.statement())
        .or_else(|| refused.operation())
        .unwrap_or_else(|| refused.unexpected())
}

impl<'t> Refused<'t> {
    fn span(&self, range: Range<usize>) -> Span {
        Span::new(self.start + range.start as u32, self.start + range.end as u32)
    }

    /// What stands from there on, without the comment.
    fn rest(&self) -> &'t str {
        self.line[self.at..self.outline.end.max(self.at)].trim_end()
    }

    /// Whether the grammar accepts the line with another text at a place.
    fn accepts(&self, place: Range<usize>, text: &str) -> bool {
        let line = [&self.line[..place.start], text, &self.line[place.end..]].concat();
        Grammar::parse(self.rule, &line).is_ok()
    }

    /// An error with its mend, if the mend is all that is needed.
    fn mended(&self, message: &str, place: Range<usize>, text: &str, help: &str) -> Option<Diagnostic> {
        let span = self.span(place.clone());
        let diagnostic = || Diagnostic::error(codes::UNEXPECTED, message, span, "");
        self.accepts(place, text).then(|| diagnostic().fix(help, span, text))
    }

    /// Signs that other languages use where this one has another sign, or none.
    fn other_notation(&self) -> Option<Diagnostic> {
        let Self { line, at, .. } = *self;
        let rest = &line[at..];
        let comment = line.find("//").and_then(|slashes| {
            self.mended("`//` begins no comment", slashes..slashes + 2, "#", "a comment begins with `#`")
        });
        let sign = rest.chars().next().unwrap_or(' ');
        comment
            .or_else(|| match sign {
                ';' => {
                    self.mended("`;` is not expected here", at..at + 1, "", "a statement ends with its line")
                }
                '=' if rest.starts_with("==") => {
                    self.mended("`==` compares", at..at + 2, "=", "a value is given with `=`")
                }
                '=' => self.mended("`=` does not compare", at..at + 1, "==", "equality is written `==`"),
                ':' if rest.starts_with(":=") => {
                    self.mended("`:=` is not expected here", at..at + 2, "=", "a value is given with `=`")
                }
                'µ' | 'μ' => {
                    let place = at..at + sign.len_utf8();
                    self.mended(
                        &format!("`{sign}` is not expected here"),
                        place,
                        "u",
                        "microseconds are written `us`",
                    )
                }
                '(' => self.without_parentheses(),
                sign if sign.is_ascii_alphabetic() && line[..at].ends_with('.') => self.mended(
                    "an operation stands behind a colon",
                    at - 1..at,
                    ": ",
                    "it is written `STREAM: operation`",
                ),
                sign if sign.is_ascii_alphabetic() => self.unit_apart(),
                sign if sign.is_ascii() => None,
                sign => self.odd_sign(sign),
            })
            .or_else(|| self.quotes())
            .or_else(|| self.not_in_front())
            .or_else(|| self.no_finding())
            .or_else(|| self.without_let())
    }

    /// `sync(s)`
    fn without_parentheses(&self) -> Option<Diagnostic> {
        let end = self.line.trim_end().strip_suffix(')')?.len();
        let inside = format!(" {}", self.line[self.at + 1..end].trim());
        let message = format!("`{}` takes no parentheses", self.first.text);
        self.mended(&message, self.at..end + 1, &inside, "a blank is enough")
    }

    /// `5 us`
    fn unit_apart(&self) -> Option<Diagnostic> {
        let number = self.line[..self.at].trim_end().len();
        let unit = super::tree::unit(self.found.text).filter(|_| number < self.at)?;
        word_before(self.line, self.at, self.start)
            .filter(|word| word.text.starts_with(|c: char| c.is_ascii_digit()))?;
        let place = number..self.at + self.found.text.len();
        self.mended("a unit stands right behind its number", place, unit, "remove the blank")
    }

    /// A sign that the language does not have, and may not even be seen.
    fn odd_sign(&self, sign: char) -> Option<Diagnostic> {
        let place = self.at..self.at + sign.len_utf8();
        let is_blank =
            sign.is_whitespace() || matches!(sign, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
        if !is_blank {
            return None;
        }
        let message =
            format!("U+{:04X}, which looks like a blank or like nothing, is not expected here", sign as u32);
        let plain: String =
            self.line[self.at..].chars().map(|other| if other == sign { ' ' } else { other }).collect();
        let span = self.span(place);
        let diagnostic = Diagnostic::error(codes::UNEXPECTED, message, span, "");
        Some(match self.accepts(self.at..self.line.len(), &plain) {
            true => diagnostic.fix("write a plain blank", span, " "),
            false => diagnostic.help("write a plain blank, or none"),
        })
    }

    /// A title in other quotes, or in none.
    fn quotes(&self) -> Option<Diagnostic> {
        if !self.expected.contains(&Rule::quoted) {
            return None;
        }
        let text = self.rest();
        let bare = text.trim_matches(|sign| "\"'`“”„‟‘’«»".contains(sign));
        let message = "a title stands in quotes";
        self.mended(message, self.at..self.at + text.len(), &format!("\"{bare}\""), "write it so")
    }

    /// `expect not y reuses x`
    fn not_in_front(&self) -> Option<Diagnostic> {
        let not = self.line[..self.at].trim_end().strip_suffix("not")?.len();
        let place = not..self.at + self.found.text.len();
        self.mended("`not` stands behind the buffer", place, &format!("{} not", self.found.text), "move it")
    }

    /// `expect not finding freed_before_importer`
    fn no_finding(&self) -> Option<Diagnostic> {
        let mut words = self.words().skip_while(|word| word.is_empty());
        let is_meant = words.next() == Some("expect")
            && matches!(words.next(), Some("no" | "not"))
            && matches!(words.next(), Some("finding" | "findings"));
        let message = format!("`{}` is not expected here", self.found.text);
        let diagnostic = || Diagnostic::error(codes::UNEXPECTED, message, self.found.span, "");
        is_meant.then(|| diagnostic().help("that there is none of any kind, is written `expect no findings`"))
    }

    /// `t = p.used`
    fn without_let(&self) -> Option<Diagnostic> {
        let begin = self.line.len() - self.line.trim_start().len();
        let message = format!("`{}` is given no value yet", self.first.text);
        self.mended(&message, begin..begin, "let ", "a value gets its name by `let`")
    }

    /// A call of the host without the name that it gives, or behind a stream.
    fn host_call(&self) -> Option<Diagnostic> {
        let Self { line, found, first, .. } = *self;
        if let Some(usage) = named(first.text) {
            let message = format!("`{}` stands behind a name and `=`", first.text);
            let diagnostic = Diagnostic::error(codes::UNEXPECTED, message, first.span, "");
            return Some(diagnostic.help(format!("write `{usage}`")));
        }
        let behind = line[..self.at].find(':')? + 1;
        let is_first = line[behind..self.at].trim().is_empty();
        let is_operation = OPERATIONS.iter().any(|(word, _)| *word == found.text);
        let usage = named(found.text).or_else(|| usage(found.text).filter(|_| is_first && !is_operation))?;
        let begin = line.len() - line.trim_start().len();
        let behind = behind + line[behind..].len() - line[behind..].trim_start().len();
        let message = format!("`{}` stands in a line without a stream", found.text);
        let without = self.mended(&message, begin..behind, "", "leave the stream out");
        Some(without.unwrap_or_else(|| {
            Diagnostic::error(codes::UNEXPECTED, message, found.span, "").help(format!("write `{usage}`"))
        }))
    }

    /// An operation at the beginning of a line.
    fn without_stream(&self) -> Option<Diagnostic> {
        let Self { line, first, .. } = *self;
        let is_operation = Grammar::parse(Rule::operation, line.trim_start()).is_ok();
        let begins_one = OPERATIONS.iter().any(|(word, _)| *word == first.text);
        if !is_operation && !begins_one {
            return None;
        }
        let foreign = said_here(first.text).filter(|_| !begins_one);
        let message = match foreign {
            Some(_) => format!("`{}` is no operation", first.text),
            None => "an operation stands behind a stream".to_owned(),
        };
        let diagnostic =
            Diagnostic::error(codes::UNEXPECTED, message, first.span, "expected `STREAM: operation`");
        Some(match foreign.or_else(|| usage(first.text).filter(|_| begins_one)) {
            Some(usage) => diagnostic.help(format!("write `{usage}`")),
            None => diagnostic.help(format!("write `STREAM: {}`", line[..self.outline.end].trim())),
        })
    }

    /// The first word begins no statement, or the colon behind a stream is missing.
    fn statement(&self) -> Option<Diagnostic> {
        let Self { line, start, first, .. } = *self;
        let before = word_before(line, self.at, start)?;
        if !self.expected.contains(&Rule::colon) || before.span != first.span {
            return None;
        }
        let rest = line[first.span.range().end - start as usize..].trim();
        if let Some((word, line)) = STATEMENTS.iter().find(|(word, _)| *word == first.text) {
            let message = match self.rest() {
                "" => "the line ends too early".to_owned(),
                _ => format!("`{}` is not expected here", self.found.text),
            };
            let label = format!("expected what belongs to `{word}`");
            let diagnostic = Diagnostic::error(codes::UNEXPECTED, message, self.found.span, label);
            return Some(diagnostic.help(format!("such a line is written `{line}`")));
        }
        let words = STATEMENTS.iter().map(|(word, _)| *word);
        let suggestion = nearest(first.text, words.clone());
        let is_operation = !rest.is_empty() && Grammar::parse(Rule::operation, rest).is_ok();
        if is_operation && suggestion.is_none() && said_here(first.text).is_none() {
            let after = Span::new(first.span.end, first.span.end);
            let message = format!("a colon is missing after `{}`", first.text);
            let help = "an operation is written `STREAM: operation`";
            return Some(
                Diagnostic::error(codes::UNEXPECTED, message, after, "expected `:`").fix(help, after, ":"),
            );
        }
        let diagnostic = Diagnostic::error(
            codes::UNKNOWN_STATEMENT,
            format!("unknown statement `{}`", first.text),
            first.span,
            "expected a statement or `STREAM: operation`",
        );
        Some(match (said_here(first.text), suggestion) {
            (Some(usage), _) => diagnostic.help(format!("write `{usage}`")),
            (None, Some(_)) => meant(diagnostic, first, words),
            (None, None) => {
                let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
                diagnostic.note(format!("a statement begins with one of {}", words.join(", ")))
            }
        })
    }

    /// The word behind a stream is no operation.
    fn operation(&self) -> Option<Diagnostic> {
        if !(self.expected.contains(&Rule::left) && self.expected.contains(&Rule::equals)) {
            return self.foreign_call();
        }
        let word = word_before(self.line, self.at, self.start)?;
        let end = word.span.range().end - self.start as usize;
        let place = end..self.at + self.rest().len();
        let known = OPERATIONS.iter().map(|(word, _)| *word);
        let diagnostic = no_operation(word);
        if said_here(word.text).is_some() || nearest(word.text, known).is_some() {
            return Some(diagnostic);
        }
        if let Some(usage) = usage(word.text) {
            return Some(diagnostic.help(format!("it is a call of the host: `{usage}`")));
        }
        let mends = [
            (format!("({})", self.rest()), "a launch has parentheses around its buffers"),
            (
                self.rest().split_once(">>>").map_or("", |(_, call)| call).to_owned(),
                "a launch has no sizes here",
            ),
        ];
        let mend = mends.into_iter().find(|(text, _)| !text.is_empty() && self.accepts(place.clone(), text));
        Some(match mend {
            Some((text, help)) => diagnostic.fix(help, self.span(place), text),
            None => diagnostic,
        })
    }

    /// A call such as `cudaFreeAsync(x, 0)` looks like a launch until something in it is no buffer.
    fn foreign_call(&self) -> Option<Diagnostic> {
        let behind = self.line[..self.at].find(':')? + 1;
        let at = behind + self.line[behind..].len() - self.line[behind..].trim_start().len();
        let word = word_at(self.line, at, self.start);
        said_here(word.text).map(|_| no_operation(word))
    }

    fn unexpected(&self) -> Diagnostic {
        let Self { found, expected, .. } = *self;
        let message = match found.text {
            "" => "the line ends too early".to_owned(),
            text => format!("`{text}` is not expected here"),
        };
        let diagnostic =
            Diagnostic::error(codes::UNEXPECTED, message, found.span, format!("expected {}", list(expected)));
        let described: Vec<String> = expected.iter().filter_map(|rule| describe(*rule)).collect();
        let words: Vec<&str> = described.iter().flat_map(|words| quoted_words(words)).collect();
        let other = OTHER_WORDS.iter().find(|(other, here)| *other == found.text && words.contains(here));
        if let Some((_, here)) = other {
            return diagnostic.fix(format!("here that is `{here}`"), found.span, *here);
        }
        let diagnostic = meant(diagnostic, found, words);
        if diagnostic.help.is_some() {
            return diagnostic;
        }
        let is_word = Grammar::parse(Rule::word, found.text).is_ok();
        let diagnostic = if expected.contains(&Rule::name) && is_word {
            diagnostic.note(format!("`{}` is a word of the language and cannot be a name", found.text))
        } else if found.text.chars().any(|sign| sign.is_alphanumeric() && !sign.is_ascii()) {
            diagnostic.note("names have the letters a to z and A to Z, digits and `_`")
        } else if !self.line[..self.at].trim().is_empty()
            && (self.outline.opens || self.line[..self.at].trim_end().ends_with('{'))
        {
            return diagnostic.note("the body of a block stands on lines of its own");
        } else {
            diagnostic
        };
        if let Some((help, place, text)) = self.obvious() {
            return diagnostic.fix(help, self.span(place), text);
        }
        let form = || form(self.first.text, self.words());
        match form().or_else(|| usage(self.first.text)).or_else(|| self.usage_of_operation()) {
            Some(usage) => diagnostic.help(format!("such a line is written `{usage}`")),
            None => diagnostic,
        }
    }

    /// The one word or sign with which the grammar accepts the line: put in, put in the place of another, or taken out.
    fn obvious(&self) -> Option<(String, Range<usize>, String)> {
        let fixed = |rule: &Rule| {
            let text = describe(*rule)?;
            let inner = text.strip_prefix('`')?.strip_suffix('`')?;
            // A dot makes one name of two words, which are two for a reason.
            (rule.is_fixed() && *rule != Rule::dot && !inner.contains('`')).then(|| inner.to_owned())
        };
        let found = self.at..self.at + self.found.text.len();
        let ends = self.line[..self.at].trim_end().len();
        let mut ways = Vec::new();
        let before = word_before(self.line, self.at, self.start).map_or("", |word| word.text);
        // A word that may be a name would be taken for the value that is missing.
        let is_open = self.expected.iter().any(|rule| describe(*rule).as_deref() == Some("a value"));
        let is_name = |text: &str| is_open && Grammar::parse(Rule::name, text).is_ok();
        let words = self.expected.iter().filter_map(fixed);
        for text in words.filter(|text| text != before && !is_name(text)) {
            let is_sign = !text.starts_with(|sign: char| sign.is_ascii_alphabetic());
            let (place, padded) = match (self.found.text, is_sign) {
                ("", false) => (ends..ends, format!(" {text}")),
                ("", true) if text == "{" => (ends..ends, format!(" {text}")),
                ("", true) => (ends..ends, text.clone()),
                (_, true) if "),]:".contains(&text) => (ends..ends, text.clone()),
                _ => (self.at..self.at, format!("{text} ")),
            };
            if self.accepts(place.clone(), &padded) {
                ways.push((format!("put `{text}` here"), place, padded));
            }
            let are_words = !is_sign && self.found.text.bytes().all(is_letter);
            if !found.is_empty() && are_words && self.accepts(found.clone(), &text) {
                ways.push((format!("write `{text}` instead"), found.clone(), text));
            }
        }
        // A word, or the sign of a value, has been written for a reason.
        let may_go = !found.is_empty()
            && !self.found.text.starts_with(|c: char| c.is_alphanumeric() || "+-*/%".contains(c));
        if may_go && self.accepts(found.clone(), "") {
            ways.push(("remove it".to_owned(), found, String::new()));
        }
        if ways.len() == 1 { ways.pop() } else { None }
    }

    fn words(&self) -> impl Iterator<Item = &'t str> {
        self.line[..self.outline.end].split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '_')
    }

    /// How the operation behind a stream is written.
    fn usage_of_operation(&self) -> Option<&'static str> {
        let operation = OPERATIONS.iter().find(|(known, _)| self.words().any(|word| word == *known));
        operation.map(|(_, usage)| *usage)
    }
}

fn no_operation(word: Word<'_>) -> Diagnostic {
    let known = OPERATIONS.iter().map(|(word, _)| *word);
    let diagnostic = Diagnostic::error(
        codes::UNEXPECTED,
        format!("`{}` is no operation", word.text),
        word.span,
        "expected `NAME = alloc ..`, `free`, `record`, `wait`, `copy`, `memset`, `host` or a call such as `fill(x)`",
    );
    match said_here(word.text) {
        Some(usage) => diagnostic.help(format!("write `{usage}`")),
        None => meant(diagnostic, word, known),
    }
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
    let mut words: Vec<&str> = words.iter().flat_map(|words| words.split(", ")).collect();
    words.dedup();
    // What is said in words stands last, so that it is not taken for an example.
    words.sort_by_key(|words| !words.starts_with('`'));
    match words.as_slice() {
        [] => "something else".to_owned(),
        [one] => (*one).to_owned(),
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
        Rule::access => "`read`, `write`, `read_write`",
        Rule::reach => "`read_write`, `read`",
        Rule::stream_kind => "`non_blocking`, `blocking`",
        Rule::level => "a number such as `-1`",
        Rule::priority => "`priority`",
        Rule::law | Rule::uniform => "a duration such as `10us` or `5us..20us`",
        Rule::expression | Rule::number | Rule::constant | Rule::parentheses => "a value",
        Rule::operator => "a sign such as `+`",
        Rule::comparator => "a comparison such as `==`",
        Rule::comparison | Rule::relation => "an expectation",
        Rule::about => "`on`",
        Rule::labelled => "`at`",
        Rule::times => "how often, such as `2 times`",
        Rule::finding => "`finding`",
        Rule::no_findings => "`no findings`",
        Rule::no_leaks => "`no leaks`",
        Rule::over_timings | Rule::quantifier => "`always`, `sometimes`, `never`",
        Rule::created_stream => "`stream`",
        Rule::created_event => "`event`",
        Rule::created_pool => "`pool`",
        Rule::reusing => "`reusing`",
        Rule::outcome => "`fails`, `or_fails`, `else`",
        Rule::reuses => "`reuses`",
        Rule::placed_at => "`at`",
        Rule::waits_for => "`waits for free`",
        Rule::ready_on => "`ready on`",
        Rule::depends => "`depends on timing`",
        Rule::fails => "`fails`",
        Rule::error | Rule::occurs => "an error such as `out_of_memory`",
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
        Rule::variant_line => "`model`, `set`, `omit`, `expect`, `allow`, `snapshot` or `}`",
        Rule::model => "`model`",
        Rule::profile => "`profile`",
        Rule::assign => "`set`",
        Rule::omit => "`omit`",
        Rule::allow => "`allow`",
        _ => return None,
    };
    Some(words.to_owned())
}
