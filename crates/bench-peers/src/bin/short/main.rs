//! What a short run costs: programs of 40 and of 33 operations on 3 streams, each run many times, with another seed each time.
//!
//! `mixed` has allocations, frees, kernels, records and waits, and one synchronise; `ordered` has no memory, but kernels, records
//! and waits alone. `short` prints the time of one run of each: for a sink that only listens, with hazards and expectations
//! judged, and as an exploration makes it, which follows runs whose course is known. `short mixed plain`, `short ordered judged` or
//! `short mixed explored` make those runs alone, for a counter of instructions:
//! `valgrind --tool=callgrind target/release/short mixed plain`. A further number is how many runs, 100,000 without it.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock; nothing of it is part of a run")]

use millpond::base::Draws;
use millpond::engine::Runner;
use millpond::explore::campaign::{self, Plan};
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Detail, Event, Sink};
use std::fmt::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

const STREAMS: u64 = 3;
const RUNS: u64 = 100_000;

/// A sink that wants events and does nothing with them, as a run without analysis has one.
struct Listener(u64);

impl Sink for Listener {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, _: &Event<'_>) {
        self.0 += 1;
    }
}

const DECLARATIONS: &str = "device gpu0 { memory = 1GiB }\npool p on gpu0 { release_threshold = max }\n\
    stream s[3] non_blocking\nevent e[3]\nkernel work(x: read_write) takes 1us..5us\nkernel idle() takes 1us..5us\n";

/// 40 operations: each stream allocates, works on and frees memory of its own, again and again.
fn mixed() -> String {
    let mut draws = Draws::new(1, 0);
    let mut text = DECLARATIONS.to_owned();
    let mut live: Vec<Vec<u64>> = vec![Vec::new(); STREAMS as usize];
    let (mut written, mut fresh) = (0, 0);
    while written + live.iter().map(Vec::len).sum::<usize>() < 39 {
        let stream = draws.below(STREAMS);
        let own = &mut live[stream as usize];
        let line = match draws.below(10) {
            0..4 if own.len() < 2 => {
                fresh += 1;
                own.push(fresh);
                format!("s[{stream}]: x{fresh} = alloc {}KiB from p", draws.between(1, 4) * 512)
            }
            0..4 => format!("s[{stream}]: free x{}", own.remove(0)),
            4..7 if own.is_empty() => continue,
            4..7 => format!("s[{stream}]: work(x{})", own[draws.below(own.len() as u64) as usize]),
            7 => format!("s[{stream}]: record e[{stream}]"),
            _ => format!("s[{stream}]: wait e[{}]", draws.below(STREAMS)),
        };
        writeln!(text, "{line}").expect("a text grows");
        written += 1;
    }
    for (stream, name) in
        live.iter().enumerate().flat_map(|(stream, own)| own.iter().map(move |x| (stream, x)))
    {
        writeln!(text, "s[{stream}]: free x{name}").expect("a text grows");
    }
    text.push_str("sync gpu0\n");
    text
}

/// 33 operations without memory.
fn ordered() -> String {
    let mut draws = Draws::new(2, 0);
    let mut text = DECLARATIONS.to_owned();
    for _ in 0..33 {
        let (stream, other) = (draws.below(STREAMS), draws.below(STREAMS));
        match draws.below(4) {
            0..2 => writeln!(text, "s[{stream}]: idle()"),
            2 => writeln!(text, "s[{stream}]: record e[{stream}]"),
            _ => writeln!(text, "s[{stream}]: wait e[{other}]"),
        }
        .expect("a text grows");
    }
    text
}

fn plain(program: &Program, runs: u64) -> Duration {
    let start = Instant::now();
    let (mut runner, mut listener) = (Runner::new(program), Listener(0));
    (0..runs).for_each(|seed| drop(runner.run(seed, &mut listener)));
    assert!(listener.0 > 0);
    start.elapsed()
}

fn judged(program: &Program, runs: u64) -> Duration {
    let start = Instant::now();
    let mut runner = Runner::new(program);
    let fresh = Expectations::new(program);
    let mut judge = fresh.clone();
    for seed in 0..runs {
        judge.clone_from(&fresh);
        runner.run(seed, &mut judge);
        assert!(judge.finish(None).broken.is_none());
    }
    start.elapsed()
}

fn explored(program: &Program, runs: u64) -> Duration {
    let start = Instant::now();
    let plan = Plan { base: 0, runs, until_stable: false, jobs: NonZeroUsize::MIN };
    assert_eq!(campaign::run(program, &plan, &|| true).runs, runs);
    start.elapsed()
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |nth: usize| arguments.get(nth).map(String::as_str);
    let runs = argument(2).and_then(|runs| runs.parse().ok()).unwrap_or(RUNS);
    for (name, text) in [("mixed", mixed()), ("ordered", ordered())] {
        let (program, diagnostics) = millpond::load(&text, &Profile::default());
        let program = program.unwrap_or_else(|| panic!("{diagnostics:?}"));
        match (argument(0), argument(1)) {
            (Some(chosen), _) if chosen != name => {}
            (_, Some("plain")) => drop(plain(&program, runs)),
            (_, Some("judged")) => drop(judged(&program, runs)),
            (_, Some("explored")) => drop(explored(&program, runs)),
            _ => {
                let each = |time: Duration| time.as_nanos() as u64 / runs;
                let best = |run: fn(&Program, u64) -> Duration| (0..5).map(|_| run(&program, runs)).min();
                let times = [best(plain), best(judged), best(explored)];
                let [plain, judged, explored] = times.map(|time| each(time.unwrap_or_default()));
                println!(
                    "{name:8} {plain:6} ns a run, {judged:6} ns with hazards and expectations, {explored:6} ns explored"
                );
            }
        }
    }
}
