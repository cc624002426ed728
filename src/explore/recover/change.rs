//! Lines that are added to a text, or written instead of one: few enough to be told to a person.

use crate::base::Edit;
use crate::edit;

/// Where a line is written. Lines are counted from 1, in the text as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Above this line, indented as it is.
    Before(u32),
    /// Below this line, indented as it is.
    After(u32),
    /// In its place.
    Instead(u32),
}

impl Place {
    /// The line.
    pub const fn line(self) -> u32 {
        match self {
            Place::Before(line) | Place::After(line) | Place::Instead(line) => line,
        }
    }

    /// The words of every report.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Before(_) => "before",
            Place::After(_) => "after",
            Place::Instead(_) => "instead_of",
        }
    }
}

/// A line to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where.
    pub place: Place,
    /// The line, without its indentation.
    pub text: String,
}

impl Change {
    pub(super) fn before(line: u32, text: impl Into<String>) -> Self {
        Self { place: Place::Before(line), text: text.into() }
    }

    pub(super) fn after(line: u32, text: impl Into<String>) -> Self {
        Self { place: Place::After(line), text: text.into() }
    }

    /// What edits change, where that is one line.
    pub(super) fn of_edits(text: &str, edits: &[Edit]) -> Option<Self> {
        let new = edit::apply(text, edits);
        let (old, new): (Vec<&str>, Vec<&str>) = (text.lines().collect(), new.lines().collect());
        let at = old.iter().zip(&new).position(|(old, new)| old != new).unwrap_or(old.len().min(new.len()));
        let (line, written) = (at as u32 + 1, new.get(at)?.trim());
        if old.len() == new.len() && old[at + 1..] == new[at + 1..] {
            return Some(Self { place: Place::Instead(line), text: written.to_owned() });
        }
        match at {
            // There is no line that it could stand above.
            _ if new.len() != old.len() + 1 || old[at..] != new[at + 1..] => None,
            _ if at < old.len() => Some(Self::before(line, written)),
            _ => Some(Self::after(at as u32, written)),
        }
    }
}

/// The text with changes made; those at one place stand in their order.
pub fn applied(text: &str, changes: &[Change]) -> String {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut out = text[..mark].to_owned();
    for (line, number) in text[mark..].split_inclusive('\n').zip(1..) {
        let rest = line.trim_start_matches([' ', '\t']);
        let indent = &line[..line.len() - rest.len()];
        let mut write = |place: Place| {
            let here = changes.iter().filter(|change| change.place == place);
            here.for_each(|change| out.extend([indent, &change.text, "\n"]));
            out.len()
        };
        let before = write(Place::Before(number));
        if write(Place::Instead(number)) == before {
            out.push_str(line);
            if !line.ends_with('\n') {
                out.push('\n');
            }
        }
        let here = changes.iter().filter(|change| change.place == Place::After(number));
        here.for_each(|change| out.extend([indent, &change.text, "\n"]));
    }
    out
}

/// Where a line of the old text is once changes are made.
pub(super) fn moved(line: u32, changes: &[Change]) -> u32 {
    let above = changes.iter().filter(|change| match change.place {
        Place::Before(other) => other <= line,
        Place::After(other) => other < line,
        Place::Instead(_) => false,
    });
    line + above.count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Span;

    #[test]
    fn lines_are_written_where_they_are_said_to_be() {
        let text = "a\n  b\nc";
        let changes = [
            Change::before(2, "x"),
            Change::after(2, "y"),
            Change::before(2, "z"),
            Change { place: Place::Instead(3), text: "w".to_owned() },
        ];
        assert_eq!(applied(text, &changes), "a\n  x\n  z\n  b\n  y\nw\n");
        assert_eq!([1, 2, 3].map(|line| moved(line, &changes)), [1, 4, 6]);
        assert_eq!(applied("\u{feff}a", &[Change::before(1, "x")]), "\u{feff}x\na\n");
    }

    #[test]
    fn an_edit_of_one_line_is_a_change() {
        let edit = |start, end, text: &str| Edit { span: Span::new(start, end), text: text.to_owned() };
        let change = |start, end, new| Change::of_edits("one\n two\n", &[edit(start, end, new)]);
        assert_eq!(change(5, 8, "2"), Some(Change { place: Place::Instead(2), text: "2".to_owned() }));
        assert_eq!(change(0, 0, "0\n"), Some(Change::before(1, "0")));
        assert_eq!(change(3, 3, "\n1.5"), Some(Change::before(2, "1.5")));
        assert_eq!(change(8, 8, "\n3"), Some(Change::after(2, "3")));
        assert_eq!(change(0, 8, "x"), None);
    }
}
