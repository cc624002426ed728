//! Why a program cannot go on, in values and in words.

use crate::base::Bytes;
use std::fmt;

/// Why a program cannot go on: a value that depends on what was read cannot be computed, or does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// A division by zero.
    DivisionByZero,
    /// An intermediate value beyond 2^127.
    Overflow,
    /// A size, a duration or an attribute that is negative or above 2^64-1.
    OutOfRange(i128),
    /// A buffer that another thread is to allocate, and has not yet.
    NotAllocated,
    /// The address of a buffer whose allocation failed.
    NoAddress,
    /// A value that a call was to read, and the call failed.
    NoValue,
    /// A thread that is started again before it has ended.
    StillRuns,
    /// A part that ends where it begins, or before.
    EmptyPart {
        /// Its first byte.
        from: u64,
        /// The byte after its last one.
        to: u64,
    },
    /// A part that is not within its buffer.
    Outside {
        /// Its first byte.
        from: u64,
        /// The byte after its last one.
        to: u64,
        /// What the buffer has.
        size: u64,
    },
    /// Such memory cannot be reached by who touches it.
    OutOfReach(&'static str),
    /// The two sides of a copy have these sizes.
    Sizes {
        /// That of what is written.
        to: u64,
        /// That of what is read.
        from: u64,
    },
    /// The two sides of a copy have bytes in common.
    Overlap,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Broken::DivisionByZero => write!(f, "division by zero"),
            Broken::Overflow => write!(f, "a value beyond 2^127"),
            Broken::NotAllocated => write!(f, "another thread has not allocated this buffer yet"),
            Broken::NoAddress => write!(f, "the allocation of this buffer failed, so that it has no address"),
            Broken::NoValue => write!(f, "the call that reads this value failed, so that it has none"),
            Broken::StillRuns => write!(f, "this thread has been started before and still runs"),
            Broken::EmptyPart { from, to } => {
                write!(f, "the part {}..{} has no bytes", Bytes(from), Bytes(to))
            }
            Broken::Outside { from, to, size } => {
                write!(
                    f,
                    "the part {}..{} is not within the {} of the buffer",
                    Bytes(from),
                    Bytes(to),
                    Bytes(size)
                )
            }
            Broken::OutOfReach(kind) => write!(f, "this is {kind}, which cannot be reached from here"),
            Broken::Sizes { to, from } => write!(f, "{} are copied to {}", Bytes(from), Bytes(to)),
            Broken::Overlap => write!(f, "this copy writes bytes that it reads"),
            Broken::OutOfRange(value) => write!(f, "{value} is not within 0 and 2^64-1"),
        }
    }
}
