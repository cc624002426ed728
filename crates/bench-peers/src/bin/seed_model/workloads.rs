//! The workloads. What is drawn is drawn before the clock starts.

use super::{Model, Row, Run, Workload, millpond_model, oxicuda};
use millpond::base::Draws;
use std::hint::black_box;
use std::time::Instant;

const KEEP: usize = usize::MAX;

/// All of them; each as long as usual divided by `shorter`.
pub(super) fn all(shorter: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    macro_rules! row {
        ($name:expr, $workload:ident($($argument:expr),*)) => {
            rows.push(Row {
                name: $name,
                theirs: Box::new(move || $workload::<oxicuda::StreamOrderModel>($($argument),*)) as Workload,
                ours: Box::new(move || $workload::<millpond_model::StreamOrderModel>($($argument),*)) as Workload,
            });
        };
    }
    for (threshold, text) in [(KEEP, "most"), (0, "0")] {
        row!(format!("a/{text}: 1 stream, 32 last-in-first-out"), stack(threshold, 20_000 / shorter));
    }
    let churns = [
        ("b/1: 8 streams, 10k live, 1 synchronised in 32", 20_000, Some((32, 1))),
        ("b/8: 8 streams, 10k live, 8 synchronised in 512", 20_000, Some((512, 8))),
        ("b/4k: 8 streams, 10k live, never, 4k pairs", 4_000, None),
        ("b/8k: 8 streams, 10k live, never, 8k pairs", 8_000, None),
    ];
    for (name, pairs, synchronize) in churns {
        row!(name.to_owned(), churn(pairs / shorter, synchronize));
    }
    for free in [1_000, 10_000, 100_000] {
        for (is_exact, text) in [(true, "fits exactly"), (false, "fits none exactly")] {
            row!(
                format!("c/{free}: free blocks of as many sizes, {text}"),
                search(free, 500 / shorter, is_exact)
            );
        }
    }
    let turnovers = [
        ("d0", "synchronised each pair", 100_000, 1, false),
        ("d1", "each 32 pairs", 100_000, 32, false),
        ("d2", "each 32 pairs, n/2 free", 2_000, 32, true),
    ];
    for (name, text, pairs, every, has_free) in turnovers {
        for live in [1_000, 10_000, 100_000] {
            row!(format!("{name}/{live}: live, {text}"), turnover(live, pairs / shorter, every, has_free));
        }
    }
    for pending in [100, 1_000, 10_000] {
        row!(format!("p/{pending}: pending elsewhere"), beside_pending(pending, 500 / shorter));
    }
    rows
}

/// One of 16 powers of two: 512 bytes to 16 MiB.
fn size(draws: &mut Draws) -> usize {
    512 << draws.below(16)
}

fn shuffle<T>(items: &mut [T], draws: &mut Draws) {
    for last in (1..items.len()).rev() {
        items.swap(last, draws.below(last as u64 + 1) as usize);
    }
}

/// Times the last part of a workload.
fn time<M: Model>(mut model: M, operations: u64, work: impl FnOnce(&mut M)) -> Run {
    let start = Instant::now();
    work(&mut model);
    let time = start.elapsed();
    Run { time, operations, figures: black_box(model).figures() }
}

/// (a) One stream: 32 allocations, as many frees in the opposite order, a synchronisation.
fn stack<M: Model>(release_threshold: usize, rounds: u64) -> Run {
    let mut draws = Draws::new(1, 0);
    let sizes: Vec<usize> = (0..rounds * 32).map(|_| size(&mut draws)).collect();
    let mut got = Vec::with_capacity(32);
    time(M::new(0, release_threshold), rounds * 64, |model| {
        for round in sizes.chunks(32) {
            got.extend(round.iter().map(|size| model.alloc(*size, 1)));
            while let Some(ptr) = got.pop() {
                model.free(ptr, 1);
            }
            model.synchronize(1);
        }
    })
}

/// (b) Eight streams with 10,000 live blocks: a free of any of them in its stream and an allocation in any stream, and after so
/// many pairs so many streams are synchronised.
fn churn<M: Model>(pairs: u64, synchronize: Option<(u64, u64)>) -> Run {
    let mut draws = Draws::new(2, 0);
    let mut model = M::new(0, KEEP);
    let mut alloc = |_| {
        let stream = draws.below(8);
        (model.alloc(size(&mut draws), stream), stream)
    };
    let mut live: Vec<(u64, u64)> = (0..10_000).map(&mut alloc).collect();
    let plan: Vec<(usize, usize, u64)> =
        (0..pairs).map(|_| (draws.below(10_000) as usize, size(&mut draws), draws.below(8))).collect();
    time(model, pairs * 2, |model| {
        for (nth, (at, size, stream)) in (1..).zip(&plan) {
            let (ptr, of) = live[*at];
            model.free(ptr, of);
            live[*at] = (model.alloc(*size, *stream), *stream);
            if let Some((every, streams)) = synchronize.filter(|(every, _)| nth % every == 0) {
                (0..streams).for_each(|stream| model.synchronize((nth / every + stream) % 8));
            }
        }
    })
}

/// (c) Free blocks of as many sizes, in any order, and allocations that take some of them.
fn search<M: Model>(free: u64, allocations: u64, is_exact: bool) -> Run {
    let mut draws = Draws::new(3, 0);
    let mut model = M::new(0, KEEP);
    let mut sizes: Vec<usize> = (1..=free as usize).map(|nth| nth * 1_024).collect();
    shuffle(&mut sizes, &mut draws);
    let got: Vec<u64> = sizes.iter().map(|size| model.alloc(*size, 1)).collect();
    for (nth, ptr) in (1..).zip(got) {
        model.free(ptr, 1);
        // Not all at once: the crate looks at all pending frees at each call.
        if nth % 64 == 0 || nth == free {
            model.synchronize(1);
        }
    }
    // Each size once, so that it is there; none near the largest, so that no new block is needed.
    let mut asked: Vec<usize> = (1..=free as usize * 3 / 4).map(|nth| nth * 1_024).collect();
    shuffle(&mut asked, &mut draws);
    let less = if is_exact { 0 } else { 512 };
    time(model, allocations, |model| {
        for size in asked.iter().take(allocations as usize) {
            black_box(model.alloc(size - less, 1));
        }
    })
}

/// (d) One stream: a free of any live block and an allocation, and a synchronisation after so many pairs.
fn turnover<M: Model>(count: u64, pairs: u64, every: u64, has_free: bool) -> Run {
    let mut draws = Draws::new(4, 0);
    let mut model = M::new(0, KEEP);
    let mut live: Vec<u64> = (0..count).map(|_| model.alloc(size(&mut draws), 1)).collect();
    if has_free {
        let more: Vec<u64> = (0..count / 2).map(|_| model.alloc(size(&mut draws), 1)).collect();
        for (nth, ptr) in (1..).zip(more) {
            model.free(ptr, 1);
            if nth % 64 == 0 || nth == count / 2 {
                model.synchronize(1);
            }
        }
    }
    let plan: Vec<(usize, usize)> =
        (0..pairs).map(|_| (draws.below(count) as usize, size(&mut draws))).collect();
    time(model, pairs * 2, |model| {
        for (nth, (at, size)) in (1..).zip(&plan) {
            model.free(live[*at], 1);
            if every == 1 {
                model.synchronize(1);
            }
            live[*at] = model.alloc(*size, 1);
            if every > 1 && nth % every == 0 {
                model.synchronize(1);
            }
        }
    })
}

/// (p) Frees that stay pending in one stream, while another allocates, frees and is synchronised.
fn beside_pending<M: Model>(pending: u64, pairs: u64) -> Run {
    let mut model = M::new(0, KEEP);
    let got: Vec<u64> = (0..pending).map(|_| model.alloc(512, 9)).collect();
    got.iter().for_each(|ptr| model.free(*ptr, 9));
    time(model, pairs * 2, |model| {
        for _ in 0..pairs {
            let ptr = model.alloc(512, 1);
            model.free(ptr, 1);
            model.synchronize(1);
        }
    })
}
