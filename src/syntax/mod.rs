//! From text to a syntax tree, one line at a time, so that one mistake costs one line and all come at once; and back.
//!
//! It knows words, signs and braces. It must not know what a name refers to, nor anything about CUDA.

pub mod ast;
mod blocks;
mod codes;
mod grammar;
mod line;
mod mistakes;
mod print;
#[cfg(test)]
mod tests;
mod tree;
mod usage;
mod version;

pub use blocks::parse;
pub use codes::TABLE as CODES;
pub use print::{bare, format, statements};
pub use usage::{said_here, usages, words};

/// The version of the language that is read, as in `millpond 1`.
pub const VERSION: &str = "1";
/// The largest text that is read, in bytes.
pub const FILE_BYTES_MAX: usize = 16 << 20;
/// The longest line that is read, in bytes.
pub const LINE_BYTES_MAX: usize = 4096;
/// How deep blocks, or parentheses and brackets of one line, may be nested.
pub const NESTING_MAX: usize = 64;
