//! What the analysis of hazards costs: a run of a million operations on 16 streams, without and with it.
//!
//! The mix is 40 % allocations and frees, 30 % kernels, 15 % records and 15 % waits, in a loop of 4,000 lines that a seed makes up.
//! `analysis` prints both times, taken in turns, and their difference an operation, beside a bare loop that answers the same
//! questions of the same operations, alone and within a run: the least of some rounds and the median. `analysis plain`, `analysis
//! judged` and `analysis shadowed`, the bare loop within a run, make just one of the runs, for a counter of instructions:
//! `valgrind --tool=callgrind target/release/analysis plain`. A further number is how many turns the loop has, 250 without it.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock; nothing of it is part of a run")]

mod bare;

use bare::{Bare, Operation};
use millpond::base::Draws;
use millpond::engine;
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Detail, Event, Kind, Sink};
use std::fmt::Write;
use std::time::{Duration, Instant};

const STREAMS: u64 = 16;
const LINES: u64 = 4_000;
/// Of each stream.
const NAMES: u64 = 8;
const TURNS: u64 = 250;
const ROUNDS: usize = 25;

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

/// A loop of the mix, as text and as its operations. Each stream has buffers of its own.
fn text(turns: u64) -> (String, Vec<Operation>) {
    let mut draws = Draws::new(1, 0);
    let mut text = format!(
        "device gpu0 {{ memory = 64GiB }}\npool p on gpu0 {{ release_threshold = max }}\nstream s[{STREAMS}] non_blocking\n\
         event e[{STREAMS}]\nkernel work(x: read_write) takes 1us..5us\nrepeat turn in 0..{turns} {{\n"
    );
    // The live buffers of each stream, newest last; names are given again.
    let mut live: Vec<Vec<u64>> = vec![Vec::new(); STREAMS as usize];
    let mut fresh: Vec<u64> = vec![0; STREAMS as usize];
    let mut operations = Vec::new();
    let mut line = |line: String, operation: Operation| {
        writeln!(text, "  {line}").expect("a text grows");
        operations.push(operation);
    };
    let mut written = 0;
    let left = |live: &[Vec<u64>]| live.iter().map(Vec::len).sum::<usize>() as u64;
    while written + left(&live) < LINES {
        let stream = draws.below(STREAMS);
        let at = stream as usize;
        let own = &mut live[at];
        match draws.below(100) {
            0..40 if own.len() < 2 || own.len() < 6 && draws.below(2) == 0 => {
                let name = fresh[at];
                fresh[at] = (name + 1) % NAMES;
                if own.contains(&name) {
                    continue;
                }
                let size = draws.between(1, 64) * 64;
                let text = format!("s[{stream}]: x{stream}_{name} = alloc {size}KiB from p");
                line(text, Operation::Alloc { stream: at, name: name as usize });
                own.push(name);
            }
            0..40 => {
                let name = own.remove(draws.below(own.len() as u64) as usize);
                let text = format!("s[{stream}]: free x{stream}_{name}");
                line(text, Operation::Free { stream: at, name: name as usize });
            }
            40..70 if own.is_empty() => continue,
            40..70 => {
                let name = own[draws.below(own.len() as u64) as usize];
                let text = format!("s[{stream}]: work(x{stream}_{name})");
                line(text, Operation::Use { stream: at, name: name as usize });
            }
            70..85 => {
                line(format!("s[{stream}]: record e[{stream}]"), Operation::Record { stream: at });
            }
            _ => {
                let other = draws.below(STREAMS);
                let operation = Operation::Wait { stream: at, event: other as usize };
                line(format!("s[{stream}]: wait e[{other}]"), operation);
            }
        }
        written += 1;
    }
    for (stream, names) in live.iter().enumerate() {
        for name in names {
            let operation = Operation::Free { stream, name: *name as usize };
            line(format!("s[{stream}]: free x{stream}_{name}"), operation);
        }
    }
    text.push_str("  sync gpu0\n}\n");
    (text, operations)
}

fn plain(program: &Program) -> Duration {
    let start = Instant::now();
    let mut listener = Listener(0);
    engine::run(program, 0, &mut listener);
    assert!(listener.0 > 0);
    start.elapsed()
}

fn judged(program: &Program) -> Duration {
    let start = Instant::now();
    let mut judge = Expectations::new(program);
    engine::run(program, 0, &mut judge);
    let elapsed = start.elapsed();
    let verdict = judge.finish(None);
    assert!(verdict.allocations > 0);
    elapsed
}

fn bare(operations: &[Operation], turns: u64) -> Duration {
    let start = Instant::now();
    let mut bare = Bare::new();
    let operations = std::hint::black_box(operations);
    (0..turns).flat_map(|_| operations).for_each(|operation| bare.step(*operation));
    assert_eq!(bare.wrong, 0, "the mix is in order");
    start.elapsed()
}

/// The bare loop as a sink, which takes its next step at each submission: what so little costs within a run, whose code and data
/// take the caches of the processor for themselves.
struct Shadow<'o> {
    bare: Bare,
    operations: std::iter::Cycle<std::slice::Iter<'o, Operation>>,
}

impl Sink for Shadow<'_> {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    #[inline(always)]
    fn event(&mut self, event: &Event<'_>) {
        if let Kind::Submitted(_) = event.kind
            && let Some(operation) = self.operations.next()
        {
            self.bare.step(*operation);
        }
    }
}

fn shadowed(program: &Program, operations: &[Operation]) -> Duration {
    let start = Instant::now();
    let mut shadow = Shadow { bare: Bare::new(), operations: operations.iter().cycle() };
    engine::run(program, 0, &mut shadow);
    assert_eq!(shadow.bare.wrong, 0, "the mix is in order");
    start.elapsed()
}

/// Half of the numbers are not below it.
fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// What it takes where nothing else is in the way.
fn least(numbers: Vec<f64>) -> f64 {
    numbers.into_iter().fold(f64::INFINITY, f64::min)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let turns = arguments.get(1).and_then(|turns| turns.parse().ok()).unwrap_or(TURNS);
    let (text, listed) = text(turns);
    let (program, diagnostics) = millpond::load(&text, &Profile::default());
    let program = program.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let operations = turns * LINES;
    match arguments.first().map(String::as_str) {
        Some("plain") => drop(plain(&program)),
        Some("judged") => drop(judged(&program)),
        Some("shadowed") => drop(shadowed(&program, &listed)),
        _ => {
            let rounds: Vec<[f64; 4]> = (0..ROUNDS)
                .map(|_| {
                    let shadowed = shadowed(&program, &listed);
                    [plain(&program), judged(&program), shadowed, bare(&listed, turns)]
                })
                .map(|times| times.map(|time| time.as_nanos() as f64 / operations as f64))
                .collect();
            println!("ns an operation   plain  judged    more   bare within a run    more   bare alone");
            for (name, statistic) in [("least", least as fn(_) -> _), ("median", median)] {
                let of = |nth: usize| statistic(rounds.iter().map(|round| round[nth]).collect());
                let [plain, judged, shadowed, bare] = [of(0), of(1), of(2), of(3)];
                println!(
                    "{name:15} {plain:7.1} {judged:7.1} {:7.1} {shadowed:19.1} {:7.1} {bare:12.1}",
                    judged - plain,
                    shadowed - plain
                );
            }
        }
    }
}
