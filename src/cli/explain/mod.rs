//! `millpond explain`: what a word of a report, of a diagnostic or of the language means, and what a rule says, with an
//! example.
//!
//! It owns the explanations alone. What the words do is decided elsewhere; tests hold the two together.

mod codes;
mod comparisons;
mod language;
mod rules;
mod words;

use super::outside::{self, Complaint, Status};
use crate::base::nearest;
use crate::syntax;
use clap::Args;
use codes::{EXAMPLES, Example};
use comparisons::COMPARISONS;
use language::{ENTRIES, Entry};
use words::{Kind, WORDS, Word};

pub use rules::{Rule, Standing, rules};

/// Columns of a page.
const WIDTH: usize = 80;

/// The reference of the language, whose examples are shown.
const REFERENCE: &str = include_str!("../../../grammar/README.md");

/// Explains a word: of the language, of a report, the code of a diagnostic, or a rule such as R41
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  millpond explain
  millpond explain follow_event
  millpond explain variant
  millpond explain cudaMallocAsync
  millpond explain still_live
  millpond explain R41

Exit status: 0 explained, 2 there is no such word")]
pub(super) struct Explain {
    /// The word; without it, the list of all words
    word: Option<String>,
}

impl Explain {
    pub(super) fn run(&self) -> Result<Status, Complaint> {
        let text = match &self.word {
            None => list(),
            Some(word) => about(word).ok_or_else(|| unknown(word))?,
        };
        outside::print(&text)?;
        Ok(Status::Holds)
    }
}

/// Everything about a word. One word may be of the language and of a report, such as `free`.
fn about(name: &str) -> Option<String> {
    if let Some(number) = rules::number(name) {
        return rules::about(number);
    }
    if let Some((_, meaning)) = crate::codes().find(|(code, _)| code.0 == name) {
        let example = EXAMPLES.iter().find(|example| example.code == name);
        return Some(diagnostic(name, meaning, example));
    }
    let of_language = ENTRIES.iter().find(|entry| entry.word == name).map(in_language);
    let of_report = words().find(|word| word.word == name).map(described);
    match (of_language, of_report) {
        (Some(language), Some(report)) => Some(format!("{language}\n{report}")),
        (None, None) => syntax::said_here(name).map(|usage| said_here(name, usage)),
        (language, report) => language.or(report),
    }
}

/// How the language says a word of another notation, and what the word for that means.
fn said_here(name: &str, usage: &str) -> String {
    let entry = ENTRIES.iter().find(|entry| usages(entry).contains(&usage));
    let meaning = entry.map(|entry| format!("\n{}", in_language(entry)));
    format!("{name} is said here:\n  {usage}\n{}", meaning.unwrap_or_default())
}

/// The lines that have a word of the language.
fn usages(entry: &Entry) -> Vec<&'static str> {
    if entry.usage.is_empty() { syntax::usages(entry.word).collect() } else { vec![entry.usage] }
}

fn in_language(entry: &Entry) -> String {
    let mut text = format!("{}: a word of the language\n\n", entry.word);
    text.extend(usages(entry).iter().map(|usage| format!("  {usage}\n")));
    text.push_str(&format!("\n{}", wrapped("", entry.text, 0)));
    if let Some(example) = example(entry) {
        text.push_str("\nFor example:\n");
        text.extend(example.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n"));
    }
    text.push_str(&format!("\nThe whole of it: grammar/README.md, \"{}\"\n", entry.section));
    text
}

/// The first scenario of the reference that has the word, those of its own section before others.
fn example(entry: &Entry) -> Option<&'static str> {
    let sections = || REFERENCE.split("\n## ");
    let own = sections().filter(|section| section.lines().next() == Some(entry.section));
    let mut scenarios = own.chain(sections()).flat_map(|section| {
        let blocks = section.split("```scn\n").skip(1);
        blocks.filter_map(|block| block.split_once("```").map(|(scenario, _)| scenario))
    });
    let has = |scenario: &&str| {
        let code = scenario.lines().map(|line| line.split('#').next().unwrap_or_default());
        let mut words = code.flat_map(|code| code.split(|sign: char| sign != '_' && !sign.is_alphanumeric()));
        words.any(|word| word == entry.word)
    };
    scenarios.find(has)
}

fn diagnostic(name: &str, meaning: &str, example: Option<&Example>) -> String {
    let mut text = format!("{name}: a diagnostic\n\n{}", wrapped("", meaning, 0));
    let mut block = |title: &str, lines: &str| {
        text.push_str(&format!("\n{title}\n"));
        text.extend(lines.lines().map(|line| format!("  {line}\n")));
    };
    if let Some(example) = example {
        if !example.wrong.is_empty() {
            block("Wrong:", example.wrong);
        }
        block("Right:", example.right);
    }
    text
}

fn described(word: &Word) -> String {
    let kind = match word.kind {
        Kind::Class => "a class of memory that can serve an allocation",
        Kind::Figure => "a figure of a pool, in bytes",
        Kind::Count => "a figure of a pool, a count",
        Kind::DeviceFigure => "a figure of a device",
        Kind::Outside => "what serves an allocation outside of pools",
        Kind::Failure => "a failure",
        Kind::Finding => "a finding",
        Kind::Exploration => "what an exploration tells",
        Kind::Comparison => "a word of comparisons",
    };
    let mut text = format!("{}: {kind}\n\n{}", word.word, wrapped("", word.text, 0));
    if word.kind == Kind::Class {
        let classes: Vec<&str> = of(Kind::Class).map(|word| word.word).collect();
        text.push_str(&format!("\nClasses are asked in this order:\n  {}\n", classes.join(", ")));
    }
    let command = match word.kind {
        Kind::Exploration => "explore",
        Kind::Comparison => "compare",
        _ => "run",
    };
    let command = format!("millpond {command} {} {}", word.shown, word.more);
    text.push_str(&format!("\nShown by:\n  {}\n", command.trim_end()));
    text
}

/// The words of all reports.
fn words() -> impl Iterator<Item = &'static Word> {
    WORDS.iter().chain(COMPARISONS)
}

fn of(kind: Kind) -> impl Iterator<Item = &'static Word> {
    words().filter(move |word| word.kind == kind)
}

/// Every word, with the first sentence about it.
fn list() -> String {
    let mut text = String::new();
    for (title, kind) in [
        ("Classes of memory, in the order in which they are asked", Kind::Class),
        ("Figures of a pool", Kind::Figure),
        ("Counts of a pool", Kind::Count),
        ("Figures of a device", Kind::DeviceFigure),
        ("Outside of pools", Kind::Outside),
        ("Failures", Kind::Failure),
        ("Findings", Kind::Finding),
        ("Explorations", Kind::Exploration),
        ("Comparisons, and runs on hardware", Kind::Comparison),
    ] {
        text.push_str(&format!("{title}\n"));
        let lines = of(kind).map(|word| (word.word, word.text.lines().next().unwrap_or_default()));
        text.extend(lines.map(|(word, sentence)| line(word, sentence)));
        text.push('\n');
    }
    text.push_str("Words of the language\n");
    let first = |text: &'static str| text.lines().next().unwrap_or_default();
    text.extend(ENTRIES.iter().map(|entry| line(entry.word, first(entry.text))));
    text.push_str("\nDiagnostics\n");
    text.extend(crate::codes().map(|(code, meaning)| line(code.0, meaning)));
    text.push_str("\nRules of stream-ordered allocation\n");
    text.push_str(&line(
        &rule_names(),
        "What documents, tests and reports say that the allocator does, each with its source.",
    ));
    text.push_str("\nnext: millpond explain WORD\n");
    text
}

/// A line of the list, broken where it would be too long.
fn line(word: &str, sentence: &str) -> String {
    wrapped(&format!("  {word:<24}  "), sentence, 28)
}

/// A text behind a beginning, broken between words; lines after the first are indented.
fn wrapped(beginning: &str, text: &str, indent: usize) -> String {
    wrapped_at(beginning, text, indent, WIDTH)
}

/// The same, at a width.
pub(super) fn wrapped_at(beginning: &str, text: &str, indent: usize, width: usize) -> String {
    let mut lines = beginning.to_owned();
    let mut column = beginning.chars().count();
    // What stands between two backquotes is one word.
    let mut quoted = false;
    let ends = |sign: char| {
        quoted ^= sign == '`';
        sign.is_whitespace() && !quoted
    };
    for word in text.split(ends) {
        if column + word.chars().count() > width {
            lines.truncate(lines.trim_end().len());
            lines.push_str(&format!("\n{:indent$}", ""));
            column = indent;
        }
        lines.push_str(word);
        lines.push(' ');
        column += word.chars().count() + 1;
    }
    lines.trim_end().to_owned() + "\n"
}

/// Every word that is explained.
fn all_words() -> impl Iterator<Item = &'static str> {
    let of_language = ENTRIES.iter().map(|entry| entry.word);
    let of_reports = words().map(|word| word.word);
    of_language.chain(of_reports).chain(crate::codes().map(|(code, _)| code.0))
}

/// The first and the last rule.
fn rule_names() -> String {
    let numbers = || rules().map(|rule| rule.number);
    format!("R{} to R{}", numbers().min().unwrap_or_default(), numbers().max().unwrap_or_default())
}

fn unknown(word: &str) -> Complaint {
    if rules::number(word).is_some() {
        return Complaint::wrong(format!("there is no rule {word}; rules are {}", rule_names()));
    }
    let meant = match nearest(word, all_words()) {
        Some(meant) => format!("did you mean `{meant}`? "),
        None => String::new(),
    };
    Complaint::wrong(format!("nothing to explain about `{word}`; {meant}`millpond explain` lists all words"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Severity;
    use crate::profile::Profile;
    use crate::trace::{DeviceFigure, Failure, Figure, FindingKind, Policy};

    fn found(text: &str) -> Vec<&'static str> {
        crate::load(text, &Profile::default()).1.iter().map(|found| found.code.0).collect()
    }

    #[test]
    fn every_diagnostic_has_a_wrong_and_a_right_example() {
        let shown_elsewhere = ["nesting_too_deep", "line_too_long", "file_too_large"];
        for (code, _) in crate::codes() {
            let example = EXAMPLES.iter().find(|example| example.code == code.0);
            let Example { wrong, right, .. } = example.expect(code.0);
            assert_eq!(wrong.is_empty(), shown_elsewhere.contains(&code.0), "{code}");
            assert!(wrong.is_empty() || found(wrong) == [code.0], "{code}: {:?}", found(wrong));
            assert_eq!(found(right), Vec::<&str>::new(), "{code}");
            assert_eq!(crate::syntax::format(right).as_deref(), Ok(*right), "the usual form of {code}");
        }
        assert_eq!(EXAMPLES.len(), crate::codes().count(), "no example is left over");
        assert!(crate::load("signal go\n", &Profile::default()).1[0].severity == Severity::Warning);
    }

    #[test]
    fn every_word_of_a_report_is_explained() {
        let policies = Policy::ALL.iter().map(|policy| policy.name());
        let figures = Figure::ALL.iter().map(|figure| figure.name());
        let failures = Failure::ALL.iter().map(|failure| failure.name());
        let of_devices = DeviceFigure::ALL.iter().map(|figure| figure.name());
        let findings = FindingKind::ALL.iter().map(|finding| finding.name());
        for word in policies.chain(figures).chain(of_devices).chain(failures).chain(findings.clone()) {
            assert!(about(word).is_some(), "{word}");
        }
        assert!(of(Kind::Finding).map(|word| word.word).eq(findings));
        let classes: Vec<&str> = of(Kind::Class).map(|word| word.word).collect();
        assert_eq!(classes, Policy::ALL.map(Policy::name));
        for word in words() {
            let path = format!("{}/{}", env!("CARGO_MANIFEST_DIR"), word.shown);
            assert!(std::fs::exists(&path).is_ok_and(|exists| exists), "{path}");
        }
    }

    #[test]
    fn explanations_fit_the_page() {
        // What stands in the reference is as wide as the reference.
        let explained = |text: &String| text.split("\nFor example:").next().unwrap_or_default().to_owned();
        for text in all_words().filter_map(about).map(|text| explained(&text)) {
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
        for text in words().map(|word| word.text).chain(ENTRIES.iter().map(|entry| entry.text)) {
            assert!(text.lines().next().is_some_and(|line| line.ends_with(['.', ':'])), "a sentence: {text}");
        }
        assert!(list().lines().all(|line| line.chars().count() <= WIDTH), "{}", list());
    }

    #[test]
    fn every_word_that_begins_a_statement_or_an_operation_is_explained() {
        for word in syntax::words() {
            assert!(ENTRIES.iter().any(|entry| entry.word == word), "{word}");
        }
        for entry in ENTRIES {
            let section = format!("\n## {}\n", entry.section);
            assert_eq!(REFERENCE.matches(&section).count(), 1, "{}: {section}", entry.word);
            assert!(!usages(entry).is_empty(), "{}", entry.word);
            assert!(
                entry.word == "label" || example(entry).is_some(),
                "the reference shows `{}`",
                entry.word
            );
            for usage in usages(entry).into_iter().filter(|_| entry.section != "Variants") {
                let block = if usage.ends_with('{') { "\n}" } else { "" };
                assert_eq!(syntax::parse(&format!("{usage}{block}\n")).1, [], "{usage}");
            }
        }
    }

    #[test]
    fn words_of_cuda_lead_to_words_of_the_language() {
        let wait = about("cudaStreamWaitEvent").unwrap_or_default();
        assert!(
            wait.starts_with("cudaStreamWaitEvent is said here:\n  STREAM: wait EVENT\n\nwait: a word"),
            "{wait}"
        );
        assert!(
            about("free")
                .is_some_and(|text| text.contains("STREAM: free NAME") && text.contains("gpu0.free"))
        );
    }

    #[test]
    fn a_near_word_is_suggested() {
        assert!(unknown("folow_event").message.contains("did you mean `follow_event`?"));
        assert!(!unknown("quite something").message.contains("did you mean"));
        assert_eq!(unknown("R96").message, "there is no rule R96; rules are R1 to R95");
    }
}
