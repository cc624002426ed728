//! What is offered to other processes: each under a number, which importers name, and a signal of the machine. Of pools, importers
//! have descriptors that stand for the number; those are the caller's own, to close.

use super::handles::Places;
use millpond::base::SignalId;
use millpond::trace::Exported;
use std::collections::BTreeMap;
use std::ops::Range;
use std::os::fd::{IntoRawFd, RawFd};

/// The first number.
const FIRST: u64 = 1_000;

/// What a descriptor of a pool has open. Nobody reads it.
const NOTHING: &str = "/dev/null";

/// All exports.
#[derive(Debug)]
pub(crate) struct Exports {
    of: BTreeMap<u64, (Exported, SignalId)>,
    next: u64,
    signals: Places,
    /// The latest meaning of each descriptor, as the system gives a number again once it was closed.
    descriptors: BTreeMap<RawFd, u64>,
}

impl Exports {
    /// None, with these signals to be had.
    pub(super) fn new(signals: Range<usize>) -> Self {
        Self { of: BTreeMap::new(), next: FIRST, signals: Places::new(signals), descriptors: BTreeMap::new() }
    }

    /// The number and the signal of an export; the same ones if it was exported before. `None`: there are too many.
    pub(super) fn enter(&mut self, what: Exported) -> Option<(u64, SignalId)> {
        if let Some((number, (_, signal))) = self.of.iter().find(|(_, (known, _))| *known == what) {
            return Some((*number, *signal));
        }
        let signal = SignalId::from_usize(self.signals.take(|_| true)?);
        let number = self.next;
        self.next += 1;
        self.of.insert(number, (what, signal));
        Some((number, signal))
    }

    /// A new descriptor for an export. `None`: the process has too many.
    pub(crate) fn describe(&mut self, number: u64) -> Option<RawFd> {
        let descriptor = std::fs::File::open(NOTHING).ok()?.into_raw_fd();
        self.descriptors.insert(descriptor, number);
        Some(descriptor)
    }

    /// The number of the export that a descriptor stands for.
    pub(crate) fn described(&self, descriptor: u64) -> Option<u64> {
        self.descriptors.get(&RawFd::try_from(descriptor).ok()?).copied()
    }

    /// What was exported under a number, and the signal.
    pub(crate) fn get(&self, number: u64) -> Option<(Exported, SignalId)> {
        self.of.get(&number).copied()
    }

    /// Something is gone, and can be imported no more.
    pub(crate) fn forget(&mut self, what: Exported) {
        let Self { of, signals, .. } = self;
        of.retain(|_, (known, signal)| {
            let stays = *known != what;
            if !stays {
                signals.leave(signal.index());
            }
            stays
        });
    }
}
