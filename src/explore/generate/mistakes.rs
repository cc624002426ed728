//! The mistakes that a made-up scenario can have, and what they are called.

use std::fmt;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// A stream does not wait for an event.
    MissingWait,
    /// An event is not recorded.
    MissingRecord,
    /// The host does not synchronise, or does not poll.
    MissingSync,
    /// What is freed is freed once more.
    SecondFree,
    /// Memory is used after the call that frees it.
    LateUse,
    /// Memory is not freed.
    MissingFree,
    /// Memory is not written before it is read.
    MissingWrite,
}

impl Mistake {
    /// All of them.
    pub const ALL: [Mistake; 7] = [
        Mistake::MissingWait,
        Mistake::MissingRecord,
        Mistake::MissingSync,
        Mistake::SecondFree,
        Mistake::LateUse,
        Mistake::MissingFree,
        Mistake::MissingWrite,
    ];

    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Mistake::MissingWait => "missing_wait",
            Mistake::MissingRecord => "missing_record",
            Mistake::MissingSync => "missing_sync",
            Mistake::SecondFree => "second_free",
            Mistake::LateUse => "late_use",
            Mistake::MissingFree => "missing_free",
            Mistake::MissingWrite => "missing_write",
        }
    }

    /// The mistake of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mistake| mistake.name() == name)
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
