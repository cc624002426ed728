//! Places in a source text.

use std::ops::Range;

/// A range of bytes of a source text, half open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

impl Span {
    /// The span of `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// The span as a range of byte indices.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Finds the line of a byte of a text.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// Reads the text once.
    pub fn new(text: &str) -> Self {
        let after_breaks =
            text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at as u32 + 1);
        Self { starts: std::iter::once(0).chain(after_breaks).collect() }
    }

    /// The line of a byte, counted from 1.
    pub fn line(&self, byte: u32) -> u32 {
        self.starts.partition_point(|start| *start <= byte) as u32
    }
}
