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

use base::{Code, Diagnostic, Severity};
use profile::Profile;
use scenario::Program;

/// Reads a scenario. There is a program if no diagnostic is an error; all diagnostics of a text come at once, in its order.
pub fn load(text: &str, profile: &Profile) -> (Option<Program>, Vec<Diagnostic>) {
    let (programs, diagnostics) = load_all(text, profile);
    (programs.into_iter().next(), diagnostics)
}

/// Reads a scenario with its variants: the program as it stands comes first. There are programs if no diagnostic, of any of
/// them, is an error.
pub fn load_all(text: &str, profile: &Profile) -> (Vec<Program>, Vec<Diagnostic>) {
    let (file, mut diagnostics) = syntax::parse(text);
    let (twins, of_variants) = edit::twins(&file, text);
    diagnostics.extend(of_variants);
    let mut programs = Vec::new();
    let names = twins.iter().filter_map(|twin| twin.variant).map(|variant| variant.name.text.clone());
    let names: Vec<String> = names.collect();
    for twin in &twins {
        let (program, found) = scenario::check(&twin.file, text, profile);
        // What is wrong with the program as it stands is not told once more for each variant.
        let is_told = |new: &Diagnostic| {
            let same = |old: &&Diagnostic| old.message == new.message && old.primary.span == new.primary.span;
            diagnostics.iter().any(|old| old.code == new.code && same(&old))
        };
        let new: Vec<Diagnostic> = found.into_iter().filter(|diagnostic| !is_told(diagnostic)).collect();
        diagnostics.extend(new.into_iter().map(|diagnostic| in_twin(diagnostic, twin, text)));
        programs.extend(program.map(|mut program| {
            program.variant = twin.variant.map(|variant| variant.name.text.clone());
            program.variants.clone_from(&names);
            program
        }));
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.span);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        programs.clear();
    }
    (programs, diagnostics)
}

/// A mistake that is one in a variant only, with the line whose omission makes it one.
fn in_twin(diagnostic: Diagnostic, twin: &edit::Twin<'_>, text: &str) -> Diagnostic {
    let Some(variant) = twin.variant else { return diagnostic };
    let place = text.get(diagnostic.primary.span.range()).unwrap_or_default();
    let name = place.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let diagnostic = match twin.omits(name) {
        Some(line) => diagnostic.also(line, "this variant omits it"),
        None => diagnostic,
    };
    diagnostic.note(format!("in the variant `{}`", variant.name.text))
}

/// Every diagnostic that [`load`] can give, with what it means.
pub fn codes() -> impl Iterator<Item = (Code, &'static str)> {
    syntax::CODES.iter().chain(edit::CODES).chain(scenario::CODES).copied()
}
