//! What is offered to other processes: each under a number, which importers name, and a signal of the machine.

use super::handles::Places;
use millpond::base::SignalId;
use millpond::trace::Exported;
use std::collections::BTreeMap;
use std::ops::Range;

/// The first number. They look like file descriptors that no program has opened.
const FIRST: u64 = 1_000;

/// All exports.
#[derive(Debug)]
pub(crate) struct Exports {
    of: BTreeMap<u64, (Exported, SignalId)>,
    next: u64,
    signals: Places,
}

impl Exports {
    /// None, with these signals to be had.
    pub(super) fn new(signals: Range<usize>) -> Self {
        Self { of: BTreeMap::new(), next: FIRST, signals: Places::new(signals) }
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
