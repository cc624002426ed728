//! What the backend's kernel does, as its module says it: `src/hw/kernel.ptx`.

use simulated_driver::{DeviceMemory, Kernel, Parameters};

/// The kernel: it looks at the words that it was told of, runs for the stated time, and looks at them again. Its parameters are that
/// time in nanoseconds, the address of its report, the number of words, and what it is told of each.
#[derive(Clone, Copy, Debug)]
pub struct Spin;

/// A word that it looks at.
#[derive(Clone, Copy)]
struct Stamp {
    address: u64,
    holds: u64,
    writes: u64,
    flags: u64,
}

const COMPARE_BEFORE: u64 = 1;
const WRITE: u64 = 2;
const COMPARE_AFTER: u64 = 4;

impl Kernel for Spin {
    fn takes(&self, parameters: &Parameters) -> u64 {
        parameters.u64(0).unwrap_or_default()
    }

    fn starts(&self, parameters: &Parameters, memory: &mut DeviceMemory) {
        for (nth, stamp) in stamps(parameters).enumerate() {
            if stamp.flags & COMPARE_BEFORE != 0 {
                compare(parameters, memory, (nth, stamp.address, stamp.holds), false);
            }
            if stamp.flags & WRITE != 0 {
                memory.set_u64_at(stamp.address, stamp.writes);
            }
        }
    }

    fn ends(&self, parameters: &Parameters, memory: &mut DeviceMemory) {
        for (nth, stamp) in
            stamps(parameters).enumerate().filter(|(_, stamp)| stamp.flags & COMPARE_AFTER != 0)
        {
            let holds = if stamp.flags & WRITE != 0 { stamp.writes } else { stamp.holds };
            compare(parameters, memory, (nth, stamp.address, holds), true);
        }
    }
}

fn stamps(parameters: &Parameters) -> impl Iterator<Item = Stamp> + '_ {
    let count = parameters.u64(2).unwrap_or_default() as usize;
    let bytes = parameters.bytes(3).unwrap_or_default();
    bytes.chunks_exact(32).take(count).map(|stamp| {
        let word = |nth: usize| {
            let bytes = stamp[8 * nth..8 * nth + 8].try_into();
            bytes.map(u64::from_le_bytes).unwrap_or_default()
        };
        Stamp { address: word(0), holds: word(1), writes: word(2), flags: word(3) }
    })
}

/// Reports what a word holds, if that is something else and nothing was reported before.
fn compare(
    parameters: &Parameters,
    memory: &mut DeviceMemory,
    (nth, address, holds): (usize, u64, u64),
    late: bool,
) {
    let report = parameters.u64(1).unwrap_or_default();
    let found = memory.u64_at(address);
    if found == holds || memory.u64_at(report) != 0 {
        return;
    }
    for (word, value) in [1, nth as u64, found, u64::from(late)].into_iter().enumerate() {
        memory.set_u64_at(report + 8 * word as u64, value);
    }
}
