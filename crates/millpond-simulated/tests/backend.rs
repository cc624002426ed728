//! The hardware backend through crate `cust`, on the simulated driver: what a scenario does there is what the simulation says.
//!
//! That proves the plumbing, and nothing about a real driver, since the simulated one decides by the same model.

use millpond::compare::{self, Class, Common, Comparison, Outcome, Recorder, Trace};
use millpond::engine::{self, Chooser, Seeded};
use millpond::hw::{self, Host, Observe, Options};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::Law;
use millpond_simulated::SimulatedHost;
use simulated_driver::Faults;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// There is one driver in a process.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
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

/// The program and its variants.
fn programs(text: &str) -> Vec<Program> {
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert!(!programs.is_empty(), "{diagnostics:?}");
    programs
}

fn simulated(program: &Program, seed: u64) -> Trace {
    let mut recorder = Recorder::of_simulation();
    engine::run(program, seed, &mut recorder);
    recorder.finish().expect("it is short")
}

fn played(program: &Program, seed: u64, host: Arc<dyn Host>, observe: Observe) -> (hw::Run, Trace) {
    let mut chooser = Seeded::new(program, seed);
    let mut durations = |stmt, law: &Law| chooser.duration(stmt, law);
    let simulated = simulated(program, seed);
    let order = simulated.calls.iter().filter(|made| made.outcome != Outcome::Skipped);
    let order = order.map(|made| made.key.host).collect();
    let run =
        hw::run(program, host, &mut durations, Options { observe, order, patience: Duration::from_millis(300) }).expect("the driver is there");
    let mut recorder = Recorder::of_device();
    run.log.replay_told(&mut recorder);
    (run, recorder.finish().expect("it is short"))
}

fn compared(program: &Program, host: Arc<dyn Host>, observe: Observe) -> (hw::Run, Comparison) {
    let (run, trace) = played(program, 0, host, observe);
    (run, compare::compare(&simulated(program, 0), &trace, program, &Common::all()))
}

fn sound() -> Arc<dyn Host> {
    Arc::new(SimulatedHost::new(Faults::default()))
}

/// Every line that differs, as a person would look for it.
fn lines(program: &Program, comparison: &Comparison) -> Vec<String> {
    let told = comparison.differences.iter().map(|difference| {
        let statement = &program.statements[difference.key.stmt];
        format!(
            "{:?} {:?} line {}: {}: {:?} | {:?}",
            difference.class,
            difference.what,
            statement.line,
            statement.text,
            difference.left,
            difference.right
        )
    });
    told.collect()
}

#[test]
fn guide_and_reuse_do_what_the_simulation_says() {
    let _turn = one_at_a_time();
    let mut count = 0;
    let mut wrong = Vec::new();
    for folder in ["guide", "reuse"] {
        for file in files_below(&scenarios().join(folder)) {
            let text = fs::read_to_string(&file).expect("it can be read");
            for program in programs(&text) {
                let what = format!("{} {:?}", file.display(), program.variant);
                assert_eq!(hw::unsupported(&program), [], "{what}");
                for observe in [Observe::End, Observe::Sync, Observe::Every] {
                    let (run, comparison) = compared(&program, sound(), observe);
                    assert_eq!(run.stop, None, "{what}");
                    let differing = comparison.differences.iter().filter(|it| it.class != Class::Unspecified);
                    if differing.count() > 0 {
                        wrong.push(format!(
                            "{what} {observe:?}\n  {}",
                            lines(&program, &comparison).join("\n  ")
                        ));
                    }
                    count += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 150, "{count}");
}

#[test]
fn survey() {
    let _turn = one_at_a_time();
    for file in files_below(&scenarios()) {
        if file.to_string_lossy().contains("/invalid/") || file.to_string_lossy().contains("/guide/") || file.to_string_lossy().contains("/reuse/") { continue; }
        let text = fs::read_to_string(&file).expect("it can be read");
        for program in programs(&text) {
            let what = format!("{} {:?}", file.display(), program.variant);
            let what = what.split("scenarios/").last().unwrap_or_default();
            if program.length > 5000 { println!("LONG {what}"); continue; }
            if !hw::unsupported(&program).is_empty() { println!("UNSUPPORTED {what} {}", hw::unsupported(&program)[0].reason); continue; }
            if std::env::var("ONLY").is_ok_and(|only| !what.contains(&only)) { continue; }
            eprintln!("RUN {what}");
            let (run, comparison) = compared(&program, sound(), Observe::Sync);
            if run.stop.is_some() || !comparison.differences.is_empty() || !run.overlaps.is_empty() {
                println!("DIFF {what} stop {:?} overlaps {}\n  {}", run.stop, run.overlaps.len(), lines(&program, &comparison).join("\n  "));
            } else { println!("SAME {what}"); }
        }
    }
}
