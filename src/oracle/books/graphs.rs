//! Keeps the books of the memory of graphs a second time, from the events alone: what lives, and that the figures fit.
//!
//! What is shared follows from order and cannot be counted here. What can: live allocations are in used memory, used memory is
//! reserved, and high marks are the highest figures that were told.

use super::Violation;
use crate::base::{Bytes, DeviceId, IndexVec};
use crate::trace::{GraphFigure, GraphPoolState, Setup};

/// The books of the graph pools.
#[derive(Clone, Debug)]
pub(super) struct GraphPools {
    books: IndexVec<DeviceId, Book>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Book {
    live: u64,
    told: GraphPoolState,
}

impl GraphPools {
    /// The books before the first call.
    pub(super) fn new(setup: &Setup) -> Self {
        Self { books: setup.devices.iter().map(|_| Book::default()).collect() }
    }

    /// An allocation of a graph begins to live, which takes so many bytes.
    pub(super) fn begins(&mut self, device: DeviceId, bytes: u64) {
        self.books[device].live += bytes;
    }

    /// It ends.
    pub(super) fn ends(&mut self, device: DeviceId, bytes: u64) {
        self.books[device].live = self.books[device].live.saturating_sub(bytes);
    }

    /// A high mark is reset.
    pub(super) fn reset(&mut self, device: DeviceId, figure: GraphFigure) {
        let told = &mut self.books[device].told;
        match figure {
            GraphFigure::UsedHigh => told.used_high = told.used,
            GraphFigure::ReservedHigh => told.reserved_high = told.reserved,
            GraphFigure::Used | GraphFigure::Reserved => {}
        }
    }

    /// Compares what the allocator says with the books.
    pub(super) fn state(&mut self, device: DeviceId, state: &GraphPoolState) -> Result<(), Violation> {
        let Book { live, told } = &mut self.books[device];
        told.used_high = told.used_high.max(state.used);
        told.reserved_high = told.reserved_high.max(state.reserved);
        (told.used, told.reserved) = (state.used, state.reserved);
        let wrong = |name, told, counted| Violation::Device { device, name, told, counted };
        if state.used.0 < *live {
            return Err(wrong("graph used", state.used, Bytes(*live)));
        }
        if state.reserved < state.used {
            return Err(wrong("graph reserved", state.reserved, state.used));
        }
        if state.used_high != told.used_high {
            return Err(wrong("graph used_high", state.used_high, told.used_high));
        }
        if state.reserved_high != told.reserved_high {
            return Err(wrong("graph reserved_high", state.reserved_high, told.reserved_high));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(used: u64, used_high: u64, reserved: u64, reserved_high: u64) -> GraphPoolState {
        let [used, used_high, reserved, reserved_high] =
            [used, used_high, reserved, reserved_high].map(Bytes);
        GraphPoolState { used, used_high, reserved, reserved_high }
    }

    #[test]
    fn figures_that_do_not_fit_are_told() {
        let device = DeviceId::new(0);
        let mut books = GraphPools { books: [Book::default()].into_iter().collect() };
        let right = told(4, 4, 8, 8);
        let name = |result: Result<(), Violation>| match result {
            Err(Violation::Device { name, .. }) => name,
            _ => "",
        };
        books.begins(device, 4);
        assert_eq!(books.state(device, &right), Ok(()));
        for (wrong, of) in [
            (told(3, 4, 8, 8), "graph used"),
            (told(4, 4, 3, 8), "graph reserved"),
            (told(4, 5, 8, 8), "graph used_high"),
            (told(4, 4, 8, 9), "graph reserved_high"),
        ] {
            assert_eq!(name(books.clone().state(device, &wrong)), of);
        }
        books.ends(device, 4);
        assert_eq!(books.state(device, &told(0, 4, 8, 8)), Ok(()));
        books.reset(device, GraphFigure::UsedHigh);
        assert_eq!(books.state(device, &told(0, 0, 8, 8)), Ok(()));
    }
}
