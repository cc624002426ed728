//! Runs on the simulated driver beside runs of the simulation; one at a time, since there is one driver in a process.

use millpond::compare::{self, Common, Comparison, Recorder, Trace};
use millpond::engine::{self, Chooser, Seeded};
use millpond::hw::{self, Host, Options, Run};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::Law;
use millpond_simulated::SimulatedHost;
use simulated_driver::Faults;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Whose turn it is.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of the scenarios.
pub(crate) fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// The scenario files below a folder, by name.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<_> = fs::read_dir(folder).expect("the folder is there").flatten().collect();
    entries.sort_by_key(fs::DirEntry::path);
    for path in entries.into_iter().map(|entry| entry.path()) {
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false if path.extension().is_some_and(|extension| extension == "scn") => found.push(path),
            false => {}
        }
    }
    found
}

/// The program of a text, and its variants.
pub(crate) fn programs(text: &str) -> Vec<Program> {
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert!(!programs.is_empty(), "{diagnostics:?}\n{text}");
    programs
}

/// The programs of a file, each with what it is called.
pub(crate) fn programs_of(file: &Path) -> Vec<(String, Program)> {
    let text = fs::read_to_string(file).expect("it can be read");
    let name = file.strip_prefix(scenarios()).unwrap_or(file).display().to_string();
    let programs = programs(&text).into_iter();
    let named = programs.map(|program| match &program.variant {
        None => (name.clone(), program),
        Some(variant) => (format!("{name}, variant {variant}"), program),
    });
    named.collect()
}

/// A host with a sound driver.
pub(crate) fn sound() -> Arc<dyn Host> {
    Arc::new(SimulatedHost::new(Faults::default()))
}

/// What the backend does beside the program: host threads take turns as in the simulation, and nobody waits long for what does not come.
pub(crate) fn options(program: &Program, seed: u64) -> Options {
    let turns = millpond::cli::hardware_turns(program, seed);
    Options { turns, patience: Duration::from_millis(300), ..Options::default() }
}

/// Whether the program asks a driver again and again: it then goes on a moment after what it asks for is so.
pub(crate) fn polls(program: &Program) -> bool {
    program.statements.iter().any(|statement| statement.text.starts_with("poll "))
}

/// A run through the backend.
pub(crate) fn play(program: &Program, seed: u64, host: &Arc<dyn Host>, options: Options) -> Run {
    let mut chooser = Seeded::new(program, seed);
    let mut durations = |stmt, law: &Law| chooser.duration(stmt, law);
    hw::run(program, Arc::clone(host), &mut durations, options).expect("the driver is there")
}

/// What a run through the backend has shown, as it is compared.
pub(crate) fn recorded(run: &Run) -> Trace {
    let mut recorder = Recorder::of_device();
    run.log.replay_told(&mut recorder);
    recorder.finish().expect("it is short")
}

/// The same run, simulated.
pub(crate) fn simulated(program: &Program, seed: u64) -> Trace {
    let mut recorder = Recorder::of_simulation();
    engine::run(program, seed, &mut recorder);
    recorder.finish().expect("it is short")
}

/// The run beside its simulation.
pub(crate) fn compared(program: &Program, seed: u64, run: &Run) -> Comparison {
    compare::compare(&simulated(program, seed), &recorded(run), program, &Common::all())
}

/// What differs, a line each.
pub(crate) fn differing(program: &Program, comparison: &Comparison) -> Vec<String> {
    let told = comparison.differences.iter().map(|difference| {
        let statement = &program.statements[difference.key.stmt];
        format!(
            "{} {:?} line {}: {}: {:?} | {:?}",
            difference.class.name(),
            difference.what,
            statement.line,
            statement.text,
            difference.left,
            difference.right
        )
    });
    told.collect()
}
