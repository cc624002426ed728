//! What a node of the exhaustive search costs, on made-up programs of some streams by some operations each.
//!
//! `exhaustive [STREAMS OPERATIONS [NODES]]`

#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock; nothing of it is part of a run")]

use millpond::explore::exhaustive::{Keeps, Limits, explore};
use millpond::profile::Profile;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::time::Instant;

/// Of a search with fewer nodes than this, the best of some rounds counts.
const FEW: u64 = 50_000;
const ROUNDS: u32 = 9;

/// The programs of the prototype whose nodes are counted in the paper: blocks of a few sizes, kernels, one event, drawn by its own
/// generator.
fn text(streams: u64, operations: u64, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for _ in 0..5 {
        draw();
    }
    let mut text =
        "pool p on gpu0 { release_threshold = max, reuse = [follow_event, opportunistic] }\n".to_owned();
    for stream in 0..streams {
        writeln!(text, "stream s{stream} non_blocking").expect("a text takes all");
    }
    text.push_str("event e\nkernel k() takes 1us\n");
    let mut live: Vec<Vec<u64>> = vec![Vec::new(); streams as usize];
    let (mut fresh, mut is_recorded) = (0, false);
    for _ in 0..streams * operations {
        let stream = draw() % streams;
        let roll = draw() % 100;
        let of = &mut live[stream as usize];
        let line = if roll < 30 || of.is_empty() && roll < 70 {
            fresh += 1;
            of.push(fresh);
            format!("x{fresh} = alloc {}MiB from p", 32 << (draw() % 3))
        } else if roll < 55 {
            format!("free x{}", of.swap_remove((draw() % of.len() as u64) as usize))
        } else if roll < 80 || of.is_empty() {
            "k()".to_owned()
        } else if roll < 90 || !is_recorded {
            is_recorded = true;
            "record e".to_owned()
        } else {
            "wait e".to_owned()
        };
        writeln!(text, "s{stream}: {line}").expect("a text takes all");
    }
    text
}

fn main() {
    let numbers: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = match numbers[..] {
        [streams, operations, ..] => vec![(streams, operations)],
        _ => vec![(2, 6), (3, 10), (4, 8), (4, 12), (6, 10), (8, 12)],
    };
    let limits = Limits { nodes: numbers.get(2).copied().unwrap_or(1_000_000), ..Limits::default() };
    for (streams, operations) in sizes {
        for keeps in [Keeps::Decisions, Keeps::State] {
            let (mut nodes, mut states, mut outcomes, mut complete, mut nanos) = (0, 0, 0, 0, 0);
            for seed in 1..=10 {
                let text = text(streams, operations, seed);
                let (program, diagnostics) = millpond::load(&text, &Profile::default());
                let Some(program) = program else { panic!("{diagnostics:?}\n{text}") };
                let search = || {
                    let (start, mut found) = (Instant::now(), 0);
                    let coverage = explore(&program, limits, keeps, &|_| true, &mut |_| {
                        found += 1;
                        ControlFlow::Continue(())
                    });
                    (start.elapsed().as_nanos(), coverage, found)
                };
                let (mut least, coverage, found) = search();
                if coverage.nodes < FEW {
                    least = (0..ROUNDS).map(|_| search().0).fold(least, u128::min);
                }
                nanos += least;
                outcomes += found;
                nodes += coverage.nodes;
                states += coverage.states;
                complete += u32::from(coverage.is_complete());
            }
            println!(
                "{streams} streams x {operations}, {keeps:?}: {nodes} nodes, {states} states, {outcomes} outcomes, \
                 {complete} of 10 complete, {} ns a node, {} us a program",
                nanos / u128::from(nodes),
                nanos / 10_000
            );
        }
    }
}
