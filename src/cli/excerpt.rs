//! The lines of a text around some places, cut so that they fit a page.
//!
//! It knows columns and bytes. It must not know what is wrong there.

use crate::base::{Edit, LineIndex, Span};
use std::ops::Range;
use unicode_width::UnicodeWidthChar;

/// What stands for the part of a line that is left out.
const CUT: &str = "..";
/// So many columns before a place are kept where the beginning of its line is cut.
const BEFORE: usize = 20;

/// Whole lines of a text, and where their bytes have gone.
pub(super) struct Excerpt {
    /// What is shown.
    pub(super) text: String,
    /// The number of its first line.
    pub(super) line: usize,
    lines: Vec<Line>,
}

/// What is kept of a line.
struct Line {
    /// In the whole text.
    kept: Range<usize>,
    /// Where it begins in what is shown.
    shown: usize,
}

impl Excerpt {
    /// The lines that hold the spans, each at most `columns` wide with its number; `spare` of them stay free.
    pub(super) fn around(
        text: &str,
        index: &LineIndex,
        spans: &[Span],
        columns: usize,
        spare: usize,
    ) -> Self {
        let whole = spans.iter().copied().reduce(Span::to).unwrap_or_default();
        let (first, last) = (floor(text, whole.start as usize), floor(text, whole.end as usize));
        let mut start = text[..first].rfind('\n').map_or(0, |at| at + 1);
        let end = text[last..].find('\n').map_or(text.len(), |at| last + at + 1);
        let number = index.line(start as u32) as usize;
        let mut excerpt = Self { text: String::new(), line: number, lines: Vec::new() };
        let room = columns.saturating_sub(excerpt.gutter_of(text[start..end].lines().count()) + spare);
        for line in text[start..end].split_inclusive('\n') {
            let inside =
                |span: &&Span| (start..start + line.len()).contains(&floor(text, span.start as usize));
            let place = spans.iter().find(inside).map_or(0..0, |span| {
                let range = span.range();
                floor(text, range.start) - start..(floor(text, range.end) - start).min(line.len())
            });
            excerpt.push(line, start, place, room);
            start += line.len();
        }
        excerpt
    }

    /// Adds a line that begins at `start` of the text; `place` is the part of it to be seen.
    fn push(&mut self, line: &str, start: usize, place: Range<usize>, room: usize) {
        let content = line.trim_end_matches(['\n', '\r']);
        let kept = if width(content) <= room {
            0..line.len()
        } else {
            let inner = room.saturating_sub(2 * CUT.len());
            let fits_from_the_start = width(&line[..place.end]) <= inner;
            let from = if fits_from_the_start { 0 } else { before(line, place.start) };
            from..from + fitting(&content[from.min(content.len())..], inner)
        };
        self.text.push_str(if kept.start > 0 { CUT } else { "" });
        self.lines.push(Line { kept: start + kept.start..start + kept.end, shown: self.text.len() });
        self.text.push_str(&line[kept.clone()]);
        if kept.end < content.len() {
            self.text.push_str(CUT);
        }
        if !self.text.ends_with('\n') && line.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Columns before a line: the largest number, and ` | `.
    pub(super) fn gutter(&self) -> usize {
        self.gutter_of(self.lines.len())
    }

    /// The same where edits add lines; all that follow the first edit count.
    pub(super) fn gutter_with(&self, edits: &[Edit]) -> usize {
        let added = edits.iter().map(|edit| edit.text.matches('\n').count());
        self.gutter_of(self.lines.len() + 1 + added.sum::<usize>())
    }

    fn gutter_of(&self, lines: usize) -> usize {
        (self.line + lines.saturating_sub(1)).to_string().len() + " | ".len()
    }

    /// A span of the text in what is shown.
    pub(super) fn range(&self, span: Span) -> Range<usize> {
        let start = self.shown(span.start as usize);
        start..self.shown(span.end as usize).max(start)
    }

    fn shown(&self, byte: usize) -> usize {
        let at = self.lines.partition_point(|line| line.kept.start <= byte).saturating_sub(1);
        let Some(Line { kept, shown }) = self.lines.get(at) else { return 0 };
        floor(&self.text, shown + byte.clamp(kept.start, kept.end) - kept.start)
    }

    /// How far into its line, in columns, a place reaches; one without any width is marked by one column.
    pub(super) fn columns_before_end(&self, span: Span) -> usize {
        let range = self.range(span);
        let before = &self.text[..range.end];
        width(&before[before.rfind('\n').map_or(0, |at| at + 1)..])
            + usize::from(width(&self.text[range]) == 0)
    }

    /// The character of its line at which a span begins, from 1, in what is shown.
    pub(super) fn column(&self, span: Span) -> usize {
        column(&self.text, self.range(span).start)
    }
}

/// The character of its line at which a byte stands, from 1.
pub(super) fn column(text: &str, byte: usize) -> usize {
    let before = &text[..floor(text, byte)];
    before[before.rfind('\n').map_or(0, |at| at + 1)..].chars().count() + 1
}

/// Columns of a part of a line, as it is shown: a tab as four, and a sign that steers the terminal as one.
pub(super) fn width(line: &str) -> usize {
    line.chars().map(sign_width).sum()
}

fn sign_width(sign: char) -> usize {
    if sign == '\t' { 4 } else { sign.width().unwrap_or(1) }
}

/// A byte some columns before a place.
fn before(line: &str, place: usize) -> usize {
    let mut columns = 0;
    let near = |sign: &char| {
        columns += sign_width(*sign);
        columns <= BEFORE
    };
    place - line[..place].chars().rev().take_while(near).map(char::len_utf8).sum::<usize>()
}

/// How many bytes of a line fit some columns.
fn fitting(line: &str, room: usize) -> usize {
    let mut columns = 0;
    let fits = |sign: &char| {
        columns += sign_width(*sign);
        columns <= room
    };
    line.chars().take_while(fits).map(char::len_utf8).sum()
}

/// The byte, or the nearest one before it at which a character starts.
fn floor(text: &str, byte: usize) -> usize {
    let byte = byte.min(text.len());
    (0..=byte).rev().find(|byte| text.is_char_boundary(*byte)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Span, columns: usize) -> (String, String) {
        let excerpt = Excerpt::around(text, &LineIndex::new(text), &[span], columns, 0);
        let marked = excerpt.text[excerpt.range(span)].to_owned();
        (excerpt.text, marked)
    }

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("first\n{}mark{}\nlast\n", "a".repeat(100), "b".repeat(100));
        let span = Span::new(106, 110);
        let cut = format!("..{}mark{}..\n", "a".repeat(20), "b".repeat(28));
        assert_eq!(shown(&text, span, 60), (cut, "mark".to_owned()));
        let (whole, marked) = shown(&text, span, 300);
        assert_eq!((whole.len(), marked.as_str()), (205, "mark"));
        let start = format!("first{}\n", " x".repeat(100));
        assert_eq!(shown(&start, Span::new(0, 5), 20).0, "first x x x ..\n");
    }

    #[test]
    fn a_place_without_width_takes_a_column() {
        let text = "wait e\u{301}";
        let excerpt = Excerpt::around(text, &LineIndex::new(text), &[], 80, 0);
        for span in [Span::new(6, 8), Span::new(8, 8)] {
            assert_eq!(excerpt.columns_before_end(span), 7);
        }
    }

    #[test]
    fn columns_are_those_of_a_terminal() {
        assert_eq!((width("a\tb"), width("日本"), width("\u{1b}e\u{301}")), (6, 4, 2));
        assert_eq!(column("ab\ncäd", 6), 3);
    }
}
