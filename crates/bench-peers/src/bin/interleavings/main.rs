//! What it costs to run a program once more with other choices, beside crate `shuttle`: three threads, of which each makes 11 steps
//! that all touch one thing, 33 in all, and a scheduler that chooses before each of them.
//!
//! To shuttle a step is an addition to one atomic number. Here it is an operation of one of three streams, the order of which is
//! settled by how long they take (`stream`), or a call of one of three host threads that records one event, each thread into a
//! stream of its own (`record`), or notes the threshold of one pool (`set`): no memory is allocated. `interleavings` prints
//! nanoseconds an execution for both, each choice drawn for itself (`random`) and by priority (`pct`, depth 3), and the ratio:
//! of runs without a judge, with one, and as an exploration makes them, which follows runs whose course is known. `--quick` makes
//! few. `interleavings explored 1000` explores so many runs of the streams and nothing else, for a counter of instructions.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock; nothing of it is part of a run")]

use millpond::engine::Runner;
use millpond::explore::Strategy;
use millpond::explore::campaign::{self, Plan};
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::Nothing;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use std::num::NonZeroUsize;
use std::time::Instant;

const THREADS: usize = 3;
const STEPS: usize = 11;
const DEPTH: u8 = 3;

/// The program as a scenario of streams.
fn streams() -> Program {
    program(&format!(
        "stream s[{THREADS}] non_blocking\nkernel step() takes 1us..5us\n\
         repeat turn in 0..{STEPS} {{\n  repeat n in 0..{THREADS} {{\n    s[n]: step()\n  }}\n}}\nsync gpu0\n"
    ))
}

fn program(text: &str) -> Program {
    let (program, diagnostics) = millpond::load(text, &Profile::default());
    program.unwrap_or_else(|| panic!("{diagnostics:?}"))
}

/// The same as a scenario of host threads, each step of thread `n` being this line.
fn scenario(step: impl Fn(usize) -> String) -> Program {
    let thread = |n: usize| {
        let steps: String = (0..STEPS).map(|_| format!("  {}\n", step(n))).collect();
        format!("thread t{n} {{\n{steps}}}\n")
    };
    let threads: String = (0..THREADS).map(thread).collect();
    let joins: String = (0..THREADS).map(|n| format!("join t{n}\n")).collect();
    program(&format!("pool p on gpu0\nstream s[{THREADS}] non_blocking\nevent e\n{threads}{joins}"))
}

/// The same for shuttle.
fn body() {
    let number = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let number = number.clone();
            shuttle::thread::spawn(move || {
                for _ in 0..STEPS {
                    number.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("it adds"));
}

/// The best of several measurements, in nanoseconds a run.
fn best(runs: u64, mut run: impl FnMut()) -> u64 {
    let times = (0..5).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as u64 / runs
    });
    times.min().unwrap_or_default().max(1)
}

fn shuttle(scheduler: impl Fn() -> Box<dyn Scheduler + Send>, runs: u64) -> u64 {
    let mut config = shuttle::Config::new();
    config.failure_persistence = shuttle::FailurePersistence::None;
    best(runs, || {
        shuttle::Runner::new(scheduler(), config.clone()).run(body);
    })
}

fn plain(program: &Program, runs: u64) -> u64 {
    let mut runner = Runner::new(program);
    best(runs, || (0..runs).for_each(|seed| assert!(runner.run(seed, Nothing).stop.is_none())))
}

fn judged(program: &Program, runs: u64) -> u64 {
    let mut runner = Runner::new(program);
    let fresh = Expectations::new(program);
    let mut judge = fresh.clone();
    best(runs, || {
        for seed in 0..runs {
            judge.clone_from(&fresh);
            runner.run(seed, &mut judge);
            assert!(judge.finish(None).holds());
        }
    })
}

fn explored(program: &Program, runs: u64) -> u64 {
    let plan = Plan { base: 0, runs, until_stable: false, jobs: NonZeroUsize::MIN };
    best(runs, || assert_eq!(campaign::run(program, &plan, &|| true).failing, 0))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, runs] = arguments.as_slice()
        && what == "explored"
    {
        let runs = runs.parse().expect("a number of runs");
        explored(&streams(), runs);
        return;
    }
    let runs = if arguments.iter().any(|argument| argument == "--quick") { 20 } else { 20_000 };
    let programs = [
        ("stream", streams()),
        ("record", scenario(|n| format!("s[{n}]: record e"))),
        ("set", scenario(|_| "set p.release_threshold = 0B".to_owned())),
    ];
    println!(
        "{:8} {:7} {:>10} {:>10} {:>7} {:>10} {:>7} {:>10} {:>7}",
        "", "step", "shuttle", "millpond", "times", "judged", "times", "explored", "times"
    );
    let times = |theirs: u64, own: u64| format!("{}.{:02}", theirs / own, theirs * 100 / own % 100);
    for strategy in [Strategy::Random, Strategy::Pct { depth: DEPTH }] {
        let scheduler = || -> Box<dyn Scheduler + Send> {
            match strategy {
                Strategy::Random => Box::new(RandomScheduler::new_from_seed(1, runs as usize)),
                Strategy::Pct { depth } => {
                    Box::new(PctScheduler::new_from_seed(1, depth.into(), runs as usize))
                }
            }
        };
        let theirs = shuttle(scheduler, runs);
        for (step, program) in &programs {
            let program = strategy.applied(program.clone());
            let own = [plain, judged, explored].map(|made| made(&program, runs));
            let columns: String =
                own.iter().map(|own| format!(" {own:>7} ns {:>7}", times(theirs, *own))).collect();
            println!("{:8} {step:7} {theirs:>7} ns{columns}", strategy.name());
        }
    }
}
