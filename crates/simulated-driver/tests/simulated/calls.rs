//! Random calls: entries with random arguments, and what each may answer.

use crate::driver::*;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

/// Random numbers (splitmix64).
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    pub(crate) fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// What entries have answered, by kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Of {
    Context,
    Stream,
    Event,
    Pool,
    Module,
    Function,
    Pointer,
    Host,
    Number,
}

pub(crate) const KINDS: [Of; 9] = [
    Of::Context,
    Of::Stream,
    Of::Event,
    Of::Pool,
    Of::Module,
    Of::Function,
    Of::Pointer,
    Of::Host,
    Of::Number,
];

#[derive(Default)]
pub(crate) struct Known {
    pub(crate) values: BTreeMap<Of, Vec<u64>>,
    pub(crate) words: Vec<Words>,
}

/// A caller that knows what all callers were answered.
pub(crate) struct Caller {
    pub(crate) draws: Draws,
    pub(crate) known: Arc<Mutex<Known>>,
    /// Whether it asks for memory of the host, whose addresses are never the same.
    pub(crate) has_host: bool,
}

pub(crate) const BUFFER: usize = 4_096;

impl Caller {
    pub(crate) fn known<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.known.lock().expect("nobody panics"))
    }

    /// Something of a kind, or nonsense.
    pub(crate) fn some(&mut self, of: Of) -> u64 {
        let (draw, other) = (self.draws.next(), self.draws.next());
        let kind = if other.is_multiple_of(12) { self.draws.one_of(&KINDS) } else { of };
        if other % 12 == 1 {
            let random = self.draws.next();
            return self.draws.one_of(&[0, 1, 2, 3, u64::MAX, 1 << 46, random, random >> 17]);
        }
        self.known(|known| {
            let values = known.values.entry(kind).or_default();
            if values.is_empty() { 0 } else { values[draw as usize % values.len()] }
        })
    }

    pub(crate) fn stream(&mut self) -> u64 {
        if self.draws.below(4) == 0 { self.draws.below(3) } else { self.some(Of::Stream) }
    }

    /// A pointer to a value, or none.
    pub(crate) fn out<T>(&mut self, value: &mut T) -> *mut T {
        if self.draws.below(25) == 0 { null_mut() } else { value }
    }

    /// Calls an entry that answers something of a kind.
    pub(crate) fn make(&mut self, of: Of, call: impl FnOnce(&mut Self, *mut u64) -> c_int) -> c_int {
        let mut value = 0;
        let out = self.out(&mut value);
        let answer = call(self, out);
        if answer == SUCCESS && value != 0 {
            self.known(|known| {
                let values = known.values.entry(of).or_default();
                values.push(value);
                if values.len() > 40 {
                    values.remove(0);
                }
            });
        }
        answer
    }

    pub(crate) fn device(&mut self) -> c_int {
        self.draws.one_of(&[0, 0, 0, 1, 1, 1, 2, -1, c_int::MAX])
    }

    pub(crate) fn size(&mut self) -> usize {
        let small = self.draws.below(100_000) as usize;
        self.draws.one_of(&[small, small, small, 0, MIB, 40 * MIB, 12 << 30, usize::MAX])
    }

    /// How many bytes a copy with the host has: as many as the test's buffer, or more than there can be.
    pub(crate) fn count(&mut self) -> usize {
        let small = self.draws.below(BUFFER as u64) as usize;
        self.draws.one_of(&[small, small, small, BUFFER, 0, usize::MAX, usize::MAX / 2])
    }

    pub(crate) fn props(&mut self) -> Props {
        let mut props = Props::on(self.device());
        props.handle_types = self.draws.one_of(&[0, 1, 1, 8, 3]);
        props.max_size = self.draws.one_of(&[0, 0, 1, MIB, usize::MAX]);
        props.location.kind = self.draws.one_of(&[1, 1, 1, 1, 2, 3, 4, 0]);
        props.alloc_type = self.draws.one_of(&[1, 1, 1, 1, 1, 2, 0]);
        props
    }

    pub(crate) fn flags(&mut self) -> u32 {
        self.draws.one_of(&[0, 0, 1, 2, 4, 6, 7, 8, u32::MAX])
    }

    /// A range of the devices' memory may be known to have this pointer's address.
    pub(crate) fn host_pointer(&mut self, buffer: &mut [u8; BUFFER]) -> *mut u8 {
        match self.draws.below(8) {
            0 => null_mut(),
            _ => buffer.as_mut_ptr(),
        }
    }
}
