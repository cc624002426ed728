//! Every test but the scenarios, as modules of one binary, so that they are linked once.

#[cfg(feature = "cli")]
mod access;
#[cfg(feature = "cli")]
mod cli;
#[cfg(feature = "cli")]
mod colours;
mod compare;
#[cfg(feature = "cli")]
mod conformance;
mod courses;
mod crossed;
mod events;
mod exhaustive;
mod expectations;
#[cfg(feature = "cli")]
mod explained;
#[cfg(feature = "cli")]
mod explore;
#[cfg(feature = "cli")]
mod fix;
#[cfg(feature = "cli")]
mod fmt;
#[cfg(feature = "cli")]
mod formats;
mod generate;
#[cfg(feature = "cli")]
mod graph;
mod graphs;
mod handles;
#[cfg(feature = "cli")]
mod harness;
mod hazards;
#[cfg(feature = "cli")]
mod levels;
mod loops;
mod machine;
mod mutants;
mod naive;
mod order;
mod oxicuda;
#[cfg(feature = "cli")]
mod readme;
mod ready;
#[cfg(feature = "cli")]
mod recovery;
mod reports;
#[cfg(feature = "cli")]
mod sarif;
mod seed_model;
mod shrink;
#[cfg(feature = "cli")]
mod soup;
#[cfg(feature = "cli")]
mod soup_check;
#[cfg(feature = "cli")]
mod soup_files;
#[cfg(feature = "cli")]
mod soup_texts;
#[cfg(feature = "cli")]
mod sweep;
mod threads;
mod tidy;
#[cfg(feature = "cli")]
mod timings;
#[cfg(feature = "cli")]
mod variants;

/// How many rounds a randomised test makes: a small budget by default, fifty times as many with `MILLPOND_FULL=1`.
fn budget(small: u64) -> u64 {
    match std::env::var_os("MILLPOND_FULL") {
        Some(_) => small * 50,
        None => small,
    }
}
