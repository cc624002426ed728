//! Keeps the house rules true: architecture, sizes, forbidden words, scenarios and their snapshots, clean texts.
//!
//! A rule is a function from files to violations. It comes with made-up files that break it, so that each run proves
//! that the rule still catches what it is for, and with made-up files that look suspicious but are fine.
//! To let one file off a rule, add a line with a reason to [`EXEMPTIONS`]; it must go when it is no longer needed.

mod imports;
mod rust;
mod scenarios;
mod shape;
mod texts;
pub(crate) mod tree;
mod words;

use std::fmt;
use tree::File;

/// A rule, with the proof that it works.
struct Rule {
    name: &'static str,
    check: Check,
    seeds: &'static [Seed],
    clean: &'static [Made],
}

/// What a rule looks at.
enum Check {
    /// One file at a time.
    File(fn(&File) -> Vec<Violation>),
    /// The names and texts of all files together.
    Tree(fn(&[File]) -> Vec<Violation>),
}

/// Made-up files: path and text.
type Made = &'static [(&'static str, &'static str)];

/// Made-up files that break a rule, at the one place `path:line`.
type Seed = (Made, &'static str);

/// One breach of a rule: where, and what to do about it.
struct Violation {
    path: String,
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    fn place(&self) -> String {
        format!("{}:{}", self.path, self.line)
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.message)
    }
}

/// A file that one rule leaves alone, and why.
struct Exemption {
    rule: &'static str,
    path: &'static str,
    reason: &'static str,
}

const EXEMPTIONS: &[Exemption] = &[
    Exemption {
        rule: "no hash order, no clock",
        path: "src/model/stream_order/table.rs",
        reason: "the hash has no seed, and whoever looks at all entries sorts them",
    },
    Exemption {
        rule: "diagnostics are shown",
        path: "src/cli/backend/here.rs",
        reason: "nothing is wrong with a scenario that hardware does not run",
    },
];

fn rules() -> impl Iterator<Item = &'static Rule> {
    [imports::RULES, words::RULES, shape::RULES, scenarios::RULES, texts::RULES].into_iter().flatten()
}

impl Rule {
    fn violations(&self, files: &[File]) -> Vec<Violation> {
        match self.check {
            Check::File(check) => files.iter().flat_map(check).collect(),
            Check::Tree(check) => check(files),
        }
    }
}

fn made_up(files: Made) -> Vec<File> {
    files.iter().map(|(path, text)| File::new(path, text)).collect()
}

#[test]
fn the_tree_is_tidy() {
    let files = tree::tracked();
    let mut report = String::new();
    for rule in rules() {
        let exempt = |path: &str| EXEMPTIONS.iter().any(|line| line.rule == rule.name && line.path == path);
        for violation in rule.violations(&files) {
            if !exempt(&violation.path) {
                report += &format!("{violation}   [{}]\n", rule.name);
            }
        }
    }
    assert!(report.is_empty(), "house rules are broken:\n{report}");
}

#[test]
fn every_rule_catches_its_seeded_violations() {
    for rule in rules() {
        assert!(!rule.seeds.is_empty(), "the rule {} has no seeded violation", rule.name);
        for (files, at) in rule.seeds {
            let mut places: Vec<String> =
                rule.violations(&made_up(files)).iter().map(Violation::place).collect();
            places.dedup();
            assert_eq!(places, [*at], "what the rule {} finds in {files:?}", rule.name);
        }
    }
}

#[test]
fn no_rule_objects_to_what_is_fine() {
    for rule in rules() {
        for files in rule.clean {
            let found: Vec<String> =
                rule.violations(&made_up(files)).iter().map(|found| found.to_string()).collect();
            assert!(found.is_empty(), "the rule {} objects to {files:?}: {found:?}", rule.name);
        }
        assert!(rule.violations(&[]).is_empty(), "the rule {} objects to an empty tree", rule.name);
    }
}

#[test]
fn every_exemption_is_needed_and_says_why() {
    let files = tree::tracked();
    for exemption in EXEMPTIONS {
        let Exemption { rule, path, reason } = exemption;
        let rule = rules().find(|known| known.name == *rule).expect("an exemption names a rule that exists");
        assert!(
            rule.violations(&files).iter().any(|violation| violation.path == *path),
            "remove the exemption of {path} from {}: it is not needed",
            rule.name
        );
        assert!(!reason.is_empty(), "say why {path} is exempt from {}", rule.name);
    }
}
