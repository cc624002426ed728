//! What the analysis of hazards costs: a run of a million operations on 16 streams, without and with it.
//!
//! The mix is 40 % allocations and frees, 30 % kernels, 15 % records and 15 % waits, in a loop of 4,000 lines that a seed makes up.
//! `analysis` prints both times, taken in turns, and their difference an operation, beside a bare loop that answers the same
//! questions of the same operations: the median of some rounds. `analysis plain` and `analysis judged` run just one
//! of them once, for a counter of instructions: `valgrind --tool=callgrind target/release/analysis plain`. A further number is
//! how many turns the loop has, 250 without it.

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock; nothing of it is part of a run")]

mod bare;

use bare::Operation;
use millpond::base::Draws;
use millpond::engine;
use millpond::oracle::Expectations;
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::{Detail, Event, Sink};
use std::fmt::Write;
use std::time::{Duration, Instant};

const STREAMS: u64 = 16;
const LINES: u64 = 4_000;
/// Of each stream.
const NAMES: u64 = 8;
const TURNS: u64 = 250;
const ROUNDS: usize = 15;

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
    assert_eq!(bare::run(std::hint::black_box(operations), turns), 0, "the mix is in order");
    start.elapsed()
}

/// Half of the numbers are not below it.
fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
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
        _ => {
            let rounds: Vec<[f64; 3]> = (0..ROUNDS)
                .map(|_| [plain(&program), judged(&program), bare(&listed, turns)])
                .map(|times| times.map(|time| time.as_nanos() as f64 / operations as f64))
                .collect();
            let [plain, judged, bare] = [0, 1, 2].map(|nth| median(rounds.iter().map(|round| round[nth])));
            let more = median(rounds.iter().map(|[plain, judged, _]| judged - plain));
            println!("plain   {plain:7.1} ns an operation");
            println!("judged  {judged:7.1} ns an operation, {more:.1} more");
            println!("bare    {bare:7.1} ns an operation: a loop of its own with the same questions");
        }
    }
}
