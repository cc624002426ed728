//! The hash tables of the model. The hash has no seed, but the order of entries depends on the past: sort what it gives.

use rustc_hash::FxBuildHasher;

/// Numbers by words.
pub(super) type Table = hashbrown::HashMap<u64, usize, FxBuildHasher>;
