//! The part of the tree about memory outside of pools.

use super::{Expression, Name, Path};

/// `x = malloc 4KiB managed on gpu1`
#[derive(Clone, Debug, PartialEq)]
pub struct Malloc {
    /// The buffer.
    pub buffer: Path,
    /// Its size.
    pub size: Expression,
    /// Whether `managed` is written.
    pub managed: bool,
    /// The device after `on`.
    pub device: Option<Name>,
}
