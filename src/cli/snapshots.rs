//! Where the accepted snapshot of a scenario lies, what its file looks like, and how a new one compares.
//!
//! The files are those of the crate insta: `cargo insta`, `cargo test` and `millpond test` read and write the same bytes.

use super::outside::{self, Complaint};
use crate::report::Compared;
use std::path::{Path, PathBuf};

/// So many lines of a difference are shown.
const DIFFERENCE_MAX: usize = 24;
/// Lines of a snapshot above which differences are looked for in the middle part as a whole.
const EXACT_MAX: usize = 1_500;

/// The places that belong to a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file of the accepted snapshot: `.../snapshots/guide/follow_event.snap`.
    pub file: PathBuf,
    /// The scenario, seen from the folder that holds `scenarios`: `scenarios/guide/follow_event.scn`.
    pub name: String,
    /// Whether the scenario lies below a folder `invalid`, so that it must be rejected.
    pub is_invalid: bool,
}

impl Place {
    /// The places of a scenario: below the nearest folder `scenarios` above it, or beside it without one.
    pub fn of(scenario: &Path) -> Self {
        let whole = std::path::absolute(scenario).unwrap_or_else(|_| scenario.to_owned());
        let is_scenarios = |folder: &&Path| folder.file_name().is_some_and(|name| name == "scenarios");
        let top = whole.ancestors().skip(1).find(is_scenarios);
        let base = top.or_else(|| whole.parent()).unwrap_or(Path::new(""));
        let inner = whole.strip_prefix(base).unwrap_or(&whole);
        let root = if top.is_some() { base.parent().unwrap_or(base) } else { base };
        let name = whole.strip_prefix(root).unwrap_or(&whole);
        let is_invalid = inner.parent().is_some_and(|folder| folder.iter().any(|part| part == "invalid"));
        Self {
            file: root.join("snapshots").join(inner).with_extension("snap"),
            name: name.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"),
            is_invalid,
        }
    }

    /// How a text compares with the accepted one.
    ///
    /// # Errors
    ///
    /// A snapshot file that is there and cannot be read.
    pub fn compare(&self, text: &str) -> Result<Compared, Complaint> {
        let Some(file) = outside::read_if_there(&self.file)? else { return Ok(Compared::Missing) };
        let accepted = normal(contents(&file));
        let text = normal(text);
        if accepted == text {
            return Ok(Compared::Equal);
        }
        Ok(Compared::Different(differences(&accepted, &text)))
    }

    /// Makes a text the accepted one.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn accept(&self, text: &str) -> Result<(), Complaint> {
        let header = format!("---\nsource: tests/scenarios.rs\ninput_file: {}\n---\n", scalar(&self.name));
        outside::write(&self.file, &format!("{header}{}\n", normal(text)))
    }
}

/// A path as a YAML scalar: plain where that is clear, else in quotes.
fn scalar(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if starts && name.chars().all(is_plain) { name.to_owned() } else { format!("{name:?}") }
}

/// What a snapshot file holds below its header.
fn contents(file: &str) -> &str {
    let after_line = |text: &str| text.find('\n').map_or(text.len(), |at| at + 1);
    if file.lines().next().is_none_or(|line| line.trim_end() != "---") {
        return file;
    }
    let mut at = after_line(file);
    while at < file.len() {
        let next = at + after_line(&file[at..]);
        if file[at..next].trim_end() == "---" {
            return &file[next..];
        }
        at = next;
    }
    file
}

/// As insta compares: without trailing white space, with line feeds alone.
fn normal(text: &str) -> String {
    text.trim_end().replace("\r\n", "\n")
}

/// The lines that differ, with a sign before each.
fn differences(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - after], &new[..new.len() - after]);
    let mut lines = Vec::new();
    if old.len().max(new.len()) > EXACT_MAX {
        lines.extend(old.iter().map(|line| format!("- {line}")));
        lines.extend(new.iter().map(|line| format!("+ {line}")));
    } else {
        signs(old, new, &mut lines);
    }
    let rest = lines.len().saturating_sub(DIFFERENCE_MAX);
    lines.truncate(DIFFERENCE_MAX);
    lines.extend((rest > 0).then(|| format!("    .. and {rest} more lines")));
    lines
}

/// The shortest script of removed and added lines: by the lengths of the longest common rests.
fn signs(old: &[&str], new: &[&str], lines: &mut Vec<String>) {
    let columns = new.len() + 1;
    let mut common = vec![0u32; (old.len() + 1) * columns];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * columns + j] = if old[i] == new[j] {
                common[(i + 1) * columns + j + 1] + 1
            } else {
                common[(i + 1) * columns + j].max(common[i * columns + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        let remove =
            j == new.len() || (i < old.len() && common[(i + 1) * columns + j] >= common[i * columns + j + 1]);
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if remove {
            lines.push(format!("- {}", old[i]));
            i += 1;
        } else {
            lines.push(format!("+ {}", new[j]));
            j += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_mirror_the_scenarios() {
        let place = Place::of(Path::new("/a/scenarios/b/scenarios/guide/x.scn"));
        assert_eq!(place.file, Path::new("/a/scenarios/b/snapshots/guide/x.snap"));
        assert_eq!(place.name, "scenarios/guide/x.scn");
        assert!(!place.is_invalid);
        assert!(Place::of(Path::new("/a/scenarios/invalid/deep/x.scn")).is_invalid);
        assert!(!Place::of(Path::new("/invalid/scenarios/x.scn")).is_invalid);
        let alone = Place::of(Path::new("/a/x.scn"));
        assert_eq!((alone.file.as_path(), alone.name.as_str()), (Path::new("/a/snapshots/x.snap"), "x.scn"));
    }

    #[test]
    fn headers_are_no_part_of_a_snapshot() {
        assert_eq!(contents("---\nsource: x\n---\n[\n]\n"), "[\n]\n");
        assert_eq!(contents("[\n]\n"), "[\n]\n");
        assert_eq!(normal("[\r\n]\r\n\n"), "[\n]");
    }

    #[test]
    fn differences_are_short() {
        assert_eq!(differences("a\nb\nc\nd\ne", "a\nB\nc\nd\nx\ne"), ["- b", "+ B", "+ x"]);
        let many: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(
            differences("", &many.join("\n")).last().map(String::as_str),
            Some("    .. and 76 more lines")
        );
    }
}
