//! From events and verdicts to bytes: the report for people, JSON lines, RON, CSV and SARIF for programs, RON for snapshots,
//! DOT for graphs.
//!
//! It decides how things look and nothing else. It opens no files, asks no clock and knows no terminal.

mod aspects;
mod campaign;
mod compare;
mod document;
mod findings;
mod graph;
mod held;
mod json;
mod meetings;
mod names;
mod sarif;
mod snapshot;
mod states;
mod sweep;
mod text;
mod timings;
mod tried;
mod worst;

use crate::explore::Strategy;
pub use campaign::{Ended, Explored};
pub use compare::{ComparedSide, SIMULATION, SideBySide};
pub use document::Notation;
pub use findings::{Told, explained, shown};
pub use graph::Graph;
pub use json::{Lines, SCHEMA};
pub use sarif::Sarif;
pub use snapshot::Snapshots;
pub use states::States;
pub use sweep::{Sweep, SweepRow, Tally};
pub use text::{Closing, Compared, Failing, Options, Text, failures, stopped};
pub use timings::Timings;
pub use tried::{remedy, tried};
pub use worst::{Measure, Searched, Worst};

/// What a report says about where the run came from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The path of the scenario, as the user gave it.
    pub path: String,
    /// The allocator model.
    pub model: String,
    /// The profile.
    pub profile: String,
    /// The seed; 0 where nothing is drawn.
    pub seed: u64,
    /// Whether durations are unknown, and choices told.
    pub untimed: bool,
    /// By how many percents constant durations vary.
    pub jitter: u8,
    /// How choices are made.
    pub strategy: Strategy,
    /// The devices of a run that was made on hardware, with their driver.
    pub hardware: Option<String>,
}

impl Origin {
    /// What a run depends on beside the text.
    fn facts(&self) -> String {
        let Self { model, profile, seed, jitter, strategy, untimed, hardware, .. } = self;
        if let Some(hardware) = hardware {
            return format!("on {hardware}, seed {seed}");
        }
        let jitter = if *jitter > 0 { format!(", jitter {jitter}%") } else { String::new() };
        let strategy = if *strategy == Strategy::Random { String::new() } else { format!(", {strategy}") };
        let drawn = if *untimed { "untimed".to_owned() } else { format!("seed {seed}") };
        format!("{model}, {profile}, {drawn}{jitter}{strategy}")
    }
}
