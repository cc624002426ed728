//! The entries: C functions that look at their arguments and make calls. Each has the name, the arguments and the errors that
//! the documents of the CUDA driver API give it.
//!
//! They hold no state. What pointers among their arguments point to is read and written in `pointers` alone.
#![allow(unsafe_code)]

mod address;
mod allocate;
mod context;
mod copy;
mod device;
mod event;
mod general;
mod graph;
mod module;
mod pool;
mod share;
mod stream;

use std::ffi::c_void;

/// Defines entries, and the table of them. A body ends with what the entry answers; nothing in it is unsafe.
macro_rules! entries {
    ($( $(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block )*) => {
        $(
            $(#[$doc])*
            #[allow(non_snake_case, clippy::too_many_arguments)]
            unsafe extern "C" fn $name($($argument: $type),*) -> std::ffi::c_int {
                let answer = || -> Result<(), $crate::error::Error> { $body };
                $crate::error::status(answer())
            }
        )*

        /// The entries of this file.
        pub(super) const TABLE: &[super::Entry] = &[$((stringify!($name), $name as *const c_void)),*];
    };
}
use entries;

/// A name, and the address of the function.
pub(crate) type Entry = (&'static str, *const c_void);

const TABLES: &[&[Entry]] = &[
    general::TABLE,
    device::TABLE,
    context::TABLE,
    stream::TABLE,
    event::TABLE,
    allocate::TABLE,
    address::TABLE,
    copy::TABLE,
    pool::TABLE,
    share::TABLE,
    graph::TABLE,
    module::TABLE,
];

const fn count() -> usize {
    let (mut count, mut nth) = (0, 0);
    while nth < TABLES.len() {
        count += TABLES[nth].len();
        nth += 1;
    }
    count
}

/// The name of each entry.
pub(crate) const NAMES: [&str; count()] = {
    let mut names = [""; count()];
    let (mut at, mut nth) = (0, 0);
    while nth < TABLES.len() {
        let mut entry = 0;
        while entry < TABLES[nth].len() {
            names[at] = TABLES[nth][entry].0;
            (at, entry) = (at + 1, entry + 1);
        }
        nth += 1;
    }
    names
};

/// Every entry.
pub(crate) fn all() -> impl Iterator<Item = Entry> {
    TABLES.iter().flat_map(|table| table.iter().copied())
}
