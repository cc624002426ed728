//! What the words of `millpond compare` and of runs on hardware mean.
//!
//! Sources: `docs/compare.md`, `docs/hardware.md`.

use super::words::{Kind, Word};

/// `more`: what the command that shows it takes beside the scenario.
const fn comparison(word: &'static str, text: &'static str, shown: &'static str, more: &'static str) -> Word {
    Word { word, kind: Kind::Comparison, text, shown, more }
}

/// All of them.
pub(super) const COMPARISONS: &[Word] = &[
    comparison(
        "compare",
        "Two runs of one scenario side by side: `millpond compare FILE --with WHAT=VALUE`.
The right side has another seed, model, profile, variant or value, or runs on hardware. Compared are how calls end, whose memory an
allocation takes, what pools hold, what is read, and in which order operations end; addresses never are. Each difference has
its line, what it was on either side, and one of the words `differs`, `timing` and `unspecified`. Runs of more than
1,000,000 statements are too long for it. docs/compare.md has the rules.",
        "scenarios/guide/follow_event.scn",
        "--with model=oxicuda",
    ),
    comparison(
        "differs",
        "A difference for which documents leave no room.
With the same model and settings on both sides one of the two is wrong; with others, this is what the other one does. It makes the
exit status of `millpond compare` 1, unless `--allow differs` is given. With `follows line N` it may come from the difference there.",
        "scenarios/guide/follow_event.scn",
        "--with model=oxicuda",
    ),
    comparison(
        "timing",
        "A difference that another timing of the same program makes too.
It hangs on how far a device is, or on which host thread calls first. It makes the exit status of `millpond compare` 1, unless
`--allow timing` is given.",
        "scenarios/threads/workers.scn",
        "--with seed=1",
    ),
    comparison(
        "unspecified",
        "A difference that documents leave open, so that both sides are right.
Such are which of several freed blocks is taken, which of two operations without an order ends first, and facts of the machine. It
fails no comparison.",
        "scenarios/threads/workers.scn",
        "--with seed=1",
    ),
    comparison(
        "hardware",
        "The devices of this machine, through its CUDA driver: `--backend cuda`.
`millpond run` and `millpond compare` run a scenario there, in a build with feature `cuda`, with kernels that look for what others have
written into their memory. What a driver does not tell is left open. Where the backend does otherwise than the machine of a program,
a note of a comparison says so. docs/hardware.md has what is run, what is not, and where it has been run so far.",
        "scenarios/guide/follow_event.scn",
        "--backend cuda",
    ),
    comparison(
        "calibrate",
        "Measures the first device and writes a profile of it: `--calibrate new.ron`.
`millpond compare FILE --backend cuda` takes it. Measured are the chunk by which a pool grows, its smallest piece, the alignment of allocations, what calls cost the host, and how long
a launch takes until the host sees it complete. The left side is simulated on that. The file must not be there yet; later
`--profile new.ron` takes it.",
        "scenarios/guide/basic.scn",
        "--backend cuda --calibrate new.ron",
    ),
    comparison(
        "observe",
        "How often a run on hardware reads the figures of pools: `--observe end`, `sync` or `every`.
That is once at the end; after each synchronise, trim and change of an attribute too, which is usual; or after every call. To
read them takes time, and so changes what opportunistic reuse finds.",
        "scenarios/guide/basic.scn",
        "--backend cuda --observe every",
    ),
];
