//! How data for programs is written: JSON lines, or the same parts as one RON document. A part at a time, so that nothing is kept.
//!
//! A document has a header, a list with a name, and perhaps an end. It must not know what these say.

use serde::Serialize;
use std::io::{self, Write};

/// In which notation a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notation {
    /// An object a line.
    Json,
    /// One value, with a line for each part.
    Ron,
}

/// A document in the making. A write that fails is kept, and nothing is written after it.
#[derive(Debug)]
pub(super) struct Document<W> {
    notation: Notation,
    out: W,
    failed: Option<io::Error>,
}

impl<W: Write> Document<W> {
    /// Writes the header and opens the list.
    pub(super) fn new(notation: Notation, header: &impl Serialize, list: &str, out: W) -> Self {
        let mut document = Self { notation, out, failed: None };
        match notation {
            Notation::Json => document.part("", header, "\n"),
            Notation::Ron => document.part("(\n    header: ", header, &format!(",\n    {list}: [\n")),
        }
        document
    }

    /// Writes an element of the list.
    pub(super) fn element(&mut self, element: &impl Serialize) {
        match self.notation {
            Notation::Json => self.part("", element, "\n"),
            Notation::Ron => self.part("        ", element, ",\n"),
        }
    }

    /// Closes the list, and writes what comes after it under a name.
    ///
    /// # Errors
    ///
    /// The first write that failed.
    pub(super) fn finish(mut self, end: Option<(&str, &impl Serialize)>) -> io::Result<W> {
        match (self.notation, end) {
            (Notation::Json, None) => {}
            (Notation::Json, Some((_, end))) => self.part("", end, "\n"),
            (Notation::Ron, None) => self.text("    ],\n)\n"),
            (Notation::Ron, Some((name, end))) => self.part(&format!("    ],\n    {name}: "), end, ",\n)\n"),
        }
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }

    fn part(&mut self, before: &str, value: &impl Serialize, after: &str) {
        self.text(before);
        if self.failed.is_none() {
            self.failed = self.value(value).err();
        }
        self.text(after);
    }

    fn value(&mut self, value: &impl Serialize) -> io::Result<()> {
        match self.notation {
            Notation::Json => serde_json::to_writer(&mut self.out, value).map_err(io::Error::from),
            Notation::Ron => {
                let text = ron::to_string(value).map_err(io::Error::other)?;
                self.out.write_all(text.as_bytes())
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.failed.is_none() {
            self.failed = self.out.write_all(text.as_bytes()).err();
        }
    }
}
