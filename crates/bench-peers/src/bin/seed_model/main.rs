//! Measures `millpond::model::stream_order` beside the crate that it answers like, oxicuda-driver 0.5.5.
//!
//! `cargo run --release -p bench-peers --bin seed_model` prints a line for each workload: nanoseconds per allocation or free, the
//! median of several runs of each, taken in turns. Synchronisations are inside the time and not counted. `--quick` makes fewer and
//! shorter runs, which shows that everything works and no more. Words after it choose workloads by how their names begin: `b c/10`.
#![allow(clippy::disallowed_types, reason = "a benchmark reads the clock; nothing of it is part of a run")]

mod workloads;

use millpond::model::stream_order as millpond_model;
use oxicuda_driver::stream_ordered_model as oxicuda;
use std::time::Duration;

/// What the workloads need of a model.
trait Model {
    fn new(max_pool_size: usize, release_threshold: usize) -> Self;
    fn alloc(&mut self, size: usize, stream: u64) -> u64;
    fn free(&mut self, ptr: u64, stream: u64);
    fn synchronize(&mut self, stream: u64);
    /// Figures that depend on every answer so far.
    fn figures(&self) -> [usize; 5];
}

macro_rules! implement {
    ($module:ident) => {
        impl Model for $module::StreamOrderModel {
            fn new(max_pool_size: usize, release_threshold: usize) -> Self {
                Self::new($module::ModelLimits { max_pool_size, release_threshold })
            }
            fn alloc(&mut self, size: usize, stream: u64) -> u64 {
                self.alloc(size, $module::StreamOrderId(stream)).expect("there is no limit").ptr
            }
            fn free(&mut self, ptr: u64, stream: u64) {
                self.free(ptr, $module::StreamOrderId(stream)).expect("the pointer is live");
            }
            fn synchronize(&mut self, stream: u64) {
                self.synchronize($module::StreamOrderId(stream));
            }
            fn figures(&self) -> [usize; 5] {
                let counts = [self.active(), self.free_block_count(), self.pending_free_count()];
                [self.reserved(), self.used(), counts[0], counts[1], counts[2]]
            }
        }
    };
}
implement!(millpond_model);
implement!(oxicuda);

/// One run of a workload.
struct Run {
    time: Duration,
    /// Allocations and frees.
    operations: u64,
    figures: [usize; 5],
}

type Workload = Box<dyn Fn() -> Run>;

/// The same work for both.
struct Row {
    name: String,
    theirs: Workload,
    ours: Workload,
}

fn main() {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let is_quick = words.iter().any(|word| word == "--quick");
    words.retain(|word| word != "--quick");
    let runs = if is_quick { 1 } else { 9 };
    println!("{:<56} {:>12} {:>12} {:>8}", "ns per allocation or free", "oxicuda", "millpond", "ratio");
    for Row { name, theirs, ours } in workloads::all(if is_quick { 20 } else { 1 }) {
        if !words.is_empty() && !words.iter().any(|word| name.starts_with(word)) {
            continue;
        }
        let (mut of_theirs, mut of_ours) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let [theirs, ours] = [theirs(), ours()];
            assert_eq!(theirs.figures, ours.figures, "{name}: the models went different ways");
            of_theirs.push(theirs);
            of_ours.push(ours);
        }
        let [theirs, ours] = [of_theirs, of_ours].map(median);
        println!("{name:<56} {theirs:>12.1} {ours:>12.1} {:>7.1}x", theirs / ours);
    }
}

/// Nanoseconds an operation.
fn median(runs: Vec<Run>) -> f64 {
    let each = runs.iter().map(|run| run.time.as_nanos() as f64 / run.operations as f64);
    let mut each: Vec<f64> = each.collect();
    each.sort_by(f64::total_cmp);
    each[each.len() / 2]
}
