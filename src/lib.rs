#![doc = include_str!("ARCHITECTURE.md")]

pub mod base;
#[cfg(feature = "cli")]
pub mod cli;
pub mod compare;
pub mod edit;
pub mod engine;
pub mod explore;
#[cfg(feature = "cuda")]
pub mod hw;
pub mod model;
pub mod oracle;
pub mod order;
pub mod profile;
pub mod report;
pub mod scenario;
pub mod syntax;
pub mod trace;

use base::{Code, Diagnostic, MISTAKES_MAX, Severity};
use profile::Profile;
use scenario::Program;
use std::collections::BTreeSet;

/// Its examples are tested with those of the crate.
#[cfg(doctest)]
#[doc = include_str!("../docs/oxicuda.md")]
struct OxicudaDocument;

/// Reads a scenario. There is a program if no diagnostic is an error; all diagnostics of a text come at once, in its order.
pub fn load(text: &str, profile: &Profile) -> (Option<Program>, Vec<Diagnostic>) {
    let (programs, diagnostics) = load_all(text, profile);
    (programs.into_iter().next(), diagnostics)
}

/// Reads a scenario with its variants: the program as it stands comes first. There are programs if no diagnostic, of any of
/// them, is an error. A text with [`MISTAKES_MAX`] mistakes is not read to its end.
pub fn load_all(text: &str, profile: &Profile) -> (Vec<Program>, Vec<Diagnostic>) {
    let (file, mut diagnostics) = syntax::parse(text);
    if diagnostics.len() >= MISTAKES_MAX {
        return (Vec::new(), diagnostics);
    }
    let (variants, misplaced) = edit::Variants::of(&file, text, &Profile::SETTINGS);
    diagnostics.extend(misplaced);
    let (base, found) = scenario::check(&variants.base(), text, profile);
    diagnostics.extend(found);
    let mut programs: Vec<Program> = base.into_iter().collect();
    // What is wrong with the program as it stands is not told once more for each variant.
    let key =
        |diagnostic: &Diagnostic| (diagnostic.code, diagnostic.primary.span, diagnostic.message.clone());
    let mut told: BTreeSet<_> = diagnostics.iter().map(key).collect();
    for variant in variants.iter() {
        if diagnostics.len() >= MISTAKES_MAX {
            break;
        }
        let (twin, of_changes) = variants.twin(variant);
        diagnostics.extend(of_changes);
        let (program, found) = scenario::check(&twin.file, text, profile);
        let new = found.into_iter().filter(|diagnostic| told.insert(key(diagnostic)));
        diagnostics.extend(new.map(|diagnostic| in_twin(diagnostic, &variant.name.text, &twin, text)));
        programs
            .extend(program.map(|program| Program { variant: Some(variant.name.text.clone()), ..program }));
    }
    if let Some(base) = programs.first_mut() {
        base.variants = variants.iter().map(|variant| variant.name.text.clone()).collect();
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.primary.span);
    if diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        programs.clear();
    }
    (programs, diagnostics)
}

/// A mistake that is one in a variant only, with the line whose omission makes it one.
fn in_twin(diagnostic: Diagnostic, variant: &str, twin: &edit::Twin<'_>, text: &str) -> Diagnostic {
    let place = text.get(diagnostic.primary.span.range()).unwrap_or_default();
    let name = place.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    let diagnostic = match twin.omitted.get(name) {
        Some(line) => diagnostic.also(*line, "this variant omits it"),
        None => diagnostic,
    };
    diagnostic.note(format!("in the variant `{variant}`"))
}

/// Every diagnostic that [`load`] can give, with what it means.
pub fn codes() -> impl Iterator<Item = (Code, &'static str)> {
    syntax::CODES.iter().chain(scenario::CODES).copied()
}
