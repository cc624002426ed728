//! Draws what a made-up scenario declares: the device, its pools, streams of several kinds, kernels.

use super::program::{Buffer, Home, Kernel, Pool, Program, Stream, Takes};
use crate::base::Draws;
use crate::trace::{Access, StreamKind};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const MICROSECOND: u64 = 1_000;

/// The parameters of a kernel.
type Parameters = &'static [(&'static str, Access)];

/// The kernels, with what they do to their arguments.
const KERNELS: [(&str, Parameters); 5] = [
    ("fill", &[("out", Access::Write)]),
    ("sum", &[("src", Access::Read)]),
    ("scale", &[("x", Access::ReadWrite)]),
    ("add", &[("src", Access::Read), ("out", Access::Write)]),
    ("blend", &[("src", Access::Read), ("x", Access::ReadWrite)]),
];

/// A scenario without calls. `has_threads`: there will be more than one host thread.
pub(super) fn declare(draws: &mut Draws, streams: usize, has_threads: bool) -> Program {
    let memory = [16, 24, 40, 80][draws.below(4) as usize] * GIB;
    let pools = std::iter::once(Pool { threshold: None, reuse: None, max_size: None })
        .chain((0..draws.below(4)).map(|_| pool(draws)))
        .collect();
    let kernels = KERNELS.map(|(name, parameters)| Kernel { name, parameters, takes: takes(draws) });
    let mut program = Program {
        memory,
        pools,
        kernels: kernels.into(),
        events: streams + 1 + draws.below(3) as usize,
        ..Program::default()
    };
    let mixes = draws.below(3) > 0;
    for nth in 0..streams {
        program.streams.push(stream(draws, nth, mixes, has_threads));
    }
    for _ in 0..draws.below(3) {
        let size = [64 * KIB, MIB, 8 * MIB][draws.below(3) as usize];
        program.buffers.push(Buffer { size, home: Home::Pinned });
    }
    program
}

/// A stream. The first one is always declared; of the default streams there is at most one each.
fn stream(draws: &mut Draws, nth: usize, mixes: bool, has_threads: bool) -> Stream {
    let has_priority = mixes && draws.below(8) == 0;
    let kind = match draws.below(10) {
        0 if nth == 1 => StreamKind::Legacy,
        // Each host thread has a per-thread default stream of its own.
        0 if nth == 2 && !has_threads => StreamKind::PerThread,
        1..4 if mixes => StreamKind::NonBlocking,
        _ => StreamKind::Blocking,
    };
    let is_declared = matches!(kind, StreamKind::Blocking | StreamKind::NonBlocking);
    Stream { kind, has_priority: has_priority && is_declared }
}

fn pool(draws: &mut Draws) -> Pool {
    let threshold = match draws.below(4) {
        0 => None,
        1 => Some(0),
        2 => Some(draws.between(1, 8) * 32 * MIB),
        _ => Some(u64::MAX),
    };
    let reuse = (draws.below(3) > 0).then(|| [(); 3].map(|()| draws.below(2) == 0));
    let max_size = (draws.below(4) == 0).then(|| [512 * MIB, GIB, 2 * GIB][draws.below(3) as usize]);
    Pool { threshold, reuse, max_size }
}

fn takes(draws: &mut Draws) -> Takes {
    let short = draws.between(1, 20) * MICROSECOND;
    let long = short + draws.between(1, 30) * MICROSECOND;
    match draws.below(6) {
        0 | 1 => Takes::Constant(short),
        2 => Takes::Range(short, long),
        3 => Takes::Uniform(short, long),
        4 => Takes::Around(long, [10, 20, 50][draws.below(3) as usize]),
        _ => Takes::Normal(long, draws.between(1, 4) * MICROSECOND / 2),
    }
}

/// The size of a buffer: mostly large and round, as those of frameworks are.
pub(super) fn size(draws: &mut Draws) -> u64 {
    match draws.below(8) {
        0 => draws.between(1, 16) * 256,
        1 => draws.between(1, 64) * KIB,
        2 | 3 => draws.between(1, 16) * 256 * KIB,
        4..7 => draws.between(1, 16) * 2 * MIB,
        _ => [MIB, 16 * MIB, 64 * MIB, 96 * MIB][draws.below(4) as usize],
    }
}
