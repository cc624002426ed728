//! The arguments `--allow` and `--deny`: what becomes of findings in this run, beside what the text says.

use crate::base::nearest;
use crate::scenario::{Allowed, Levels};
use crate::trace::{FindingKind, Severity};
use clap::Args;
use std::fmt;

/// What becomes of findings.
#[derive(Debug, Args)]
pub(super) struct LevelArguments {
    /// Does not tell findings of this kind, a warning or a lint; may be given several times
    #[arg(long, value_name = "CODE", value_parser = allowed)]
    allow: Vec<FindingKind>,
    /// Fails by findings of this kind, by all `warnings`, which lints are too, or by all `lints`
    #[arg(long, value_name = "CODE", value_parser = denied)]
    deny: Vec<Denied>,
}

impl LevelArguments {
    pub(super) fn levels(&self) -> Levels {
        Levels {
            allowed: self.allow.iter().map(|kind| Allowed { kind: *kind, on: None }).collect(),
            denied: self.deny.iter().flat_map(|denied| denied.kinds()).collect(),
        }
    }
}

impl fmt::Display for LevelArguments {
    /// As they are written, with a blank before each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.allow.iter().try_for_each(|kind| write!(f, " --allow {kind}"))?;
        self.deny.iter().try_for_each(|denied| match denied {
            Denied::One(kind) => write!(f, " --deny {kind}"),
            Denied::From(severity) => write!(f, " --deny {}s", severity.name()),
        })
    }
}

/// What an argument denies.
#[derive(Clone, Copy, Debug)]
enum Denied {
    One(FindingKind),
    /// All that are so bad, and those that are less bad.
    From(Severity),
}

impl Denied {
    fn kinds(self) -> impl Iterator<Item = FindingKind> {
        FindingKind::ALL.into_iter().filter(move |kind| match self {
            Denied::One(one) => *kind == one,
            Denied::From(severity) => kind.severity() >= severity,
        })
    }
}

fn allowed(word: &str) -> Result<FindingKind, String> {
    let kind = known(word, |kind| kind.severity() != Severity::Error, &[])?;
    match kind.severity() {
        Severity::Error => Err(format!(
            "it is an error, which cannot be allowed; a line `expect finding {kind}` in the scenario expects it"
        )),
        Severity::Warning | Severity::Lint => Ok(kind),
    }
}

fn denied(word: &str) -> Result<Denied, String> {
    match word {
        "warnings" => Ok(Denied::From(Severity::Warning)),
        "lints" => Ok(Denied::From(Severity::Lint)),
        _ => known(word, |_| true, &["warnings", "lints"]).map(Denied::One),
    }
}

/// The kind of that name; `fits` are those to suggest, with some other words.
fn known(word: &str, fits: fn(FindingKind) -> bool, others: &[&'static str]) -> Result<FindingKind, String> {
    if let Some(kind) = FindingKind::ALL.into_iter().find(|kind| kind.name() == word) {
        return Ok(kind);
    }
    let names = FindingKind::ALL.into_iter().filter(|kind| fits(*kind)).map(FindingKind::name);
    let near = nearest(word, names.chain(others.iter().copied()));
    let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Err(format!("there is no such finding; {near}`millpond explain` lists all of them"))
}
