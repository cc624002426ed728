#![doc = include_str!("ARCHITECTURE.md")]

pub mod base;
#[cfg(feature = "cli")]
pub mod cli;
pub mod edit;
pub mod engine;
pub mod model;
pub mod oracle;
pub mod order;
pub mod profile;
pub mod report;
pub mod scenario;
pub mod syntax;
pub mod trace;

use base::{Code, Diagnostic, MISTAKES_MAX};
use profile::Profile;
use scenario::Program;

/// Reads a scenario. There is a program if no diagnostic is an error; all diagnostics of a text come at once, in its order.
/// A text with [`MISTAKES_MAX`] mistakes is not read to its end.
pub fn load(text: &str, profile: &Profile) -> (Option<Program>, Vec<Diagnostic>) {
    let (file, mut diagnostics) = syntax::parse(text);
    if diagnostics.len() >= MISTAKES_MAX {
        return (None, diagnostics);
    }
    let (program, of_meaning) = scenario::check(&file, text, profile);
    let is_readable = diagnostics.is_empty();
    diagnostics.extend(of_meaning);
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.span);
    (program.filter(|_| is_readable), diagnostics)
}

/// Every diagnostic that [`load`] can give, with what it means.
pub fn codes() -> impl Iterator<Item = (Code, &'static str)> {
    syntax::CODES.iter().chain(scenario::CODES).copied()
}
