//! Where the accepted snapshot of a scenario lies, what its file looks like, and how a new one compares.
//!
//! The files are those of the crate insta: `cargo insta`, `cargo test` and `millpond test` read and write the same bytes.

use super::outside::{self, Complaint};
use crate::report::Compared;
use similar::{ChangeTag, TextDiff};
use std::path::{Path, PathBuf};

/// So many lines of a difference are shown.
const DIFFERENCE_MAX: usize = 24;

/// The places that belong to a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file of the accepted snapshot: `.../snapshots/guide/follow_event.snap`.
    pub file: PathBuf,
    /// The scenario, seen from the folder that holds `scenarios`: `scenarios/guide/follow_event.scn`.
    pub name: String,
    /// Whether the scenario lies below a folder `invalid`, so that it must be rejected.
    pub is_invalid: bool,
    /// The folder that holds `scenarios`.
    root: PathBuf,
    /// The scenario, seen from its folder `scenarios`: `guide/follow_event.scn`.
    inner: PathBuf,
    /// The folder of all snapshots.
    folder: PathBuf,
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
        let folder = root.join("snapshots");
        Self {
            file: folder.join(inner).with_extension("snap"),
            name: name.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/"),
            is_invalid,
            root: root.to_owned(),
            inner: inner.to_owned(),
            folder,
        }
    }

    /// The same, with the snapshots in another folder.
    #[must_use]
    pub fn with_snapshots_in(self, folder: &Path) -> Self {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Self { file: folder.join(&self.inner).with_extension("snap"), folder, ..self }
    }

    /// Snapshots beside this one whose scenarios are gone: the file, and what its scenario was called. Other tests may keep
    /// snapshots there too.
    pub(super) fn orphans(&self) -> Result<Vec<(PathBuf, String)>, Complaint> {
        let mut files = Vec::new();
        if self.folder.is_dir() {
            outside::files_below(&self.folder, "snap", &mut files)?;
        }
        let mut orphans = Vec::new();
        for file in files {
            let inner = file.strip_prefix(&self.folder).unwrap_or(&file).with_extension("scn");
            let place = Self::of(&self.root.join("scenarios").join(inner));
            let text = outside::read_if_there(&file).ok().flatten().unwrap_or_default();
            if scenario_of(&text) == Some(place.name.as_str()) && !self.root.join(&place.name).exists() {
                orphans.push((file, place.name));
            }
        }
        Ok(orphans)
    }

    /// The folder of all snapshots, which scenarios have in common.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How the snapshots of one run compare with its part of the accepted ones: those of a variant, or of the program as it
    /// stands.
    ///
    /// # Errors
    ///
    /// A snapshot file that is there and cannot be read.
    pub fn compare_part(&self, text: &str, variant: Option<&str>) -> Result<Compared, Complaint> {
        let text = normal(text);
        let file = outside::read_if_there(&self.file)?;
        let accepted = file.as_deref().and_then(|file| part(&normal(contents(file)), variant));
        Ok(match accepted {
            None => Compared::Missing,
            Some(accepted) if accepted == text => Compared::Equal,
            Some(accepted) => Compared::Different(differences(&accepted, &text)),
        })
    }

    /// How a text compares with the accepted one. With `bless`, one that differs becomes the accepted one.
    ///
    /// # Errors
    ///
    /// A snapshot file that is there and cannot be read, or one that cannot be written.
    pub fn compare(&self, text: &str, bless: bool) -> Result<Compared, Complaint> {
        let text = normal(text);
        let file = outside::read_if_there(&self.file)?;
        let accepted = file.as_deref().map(|file| normal(contents(file)));
        if accepted.as_ref() == Some(&text) {
            return Ok(Compared::Equal);
        }
        let changes = accepted.as_ref().map(|accepted| differences(accepted, &text));
        if bless {
            self.accept(&text)?;
            return Ok(Compared::Accepted(changes.unwrap_or_default()));
        }
        Ok(changes.map_or(Compared::Missing, Compared::Different))
    }

    fn accept(&self, text: &str) -> Result<(), Complaint> {
        let header = format!("---\nsource: tests/scenarios.rs\ninput_file: {}\n---\n", scalar(&self.name));
        outside::write(&self.file, &format!("{header}{}\n", normal(text)))
    }
}

/// What the header of a snapshot file calls its scenario.
fn scenario_of(file: &str) -> Option<&str> {
    let mut header = file.lines().skip(1).take_while(|line| line.trim_end() != "---");
    let name = header.find_map(|line| line.strip_prefix("input_file: "))?;
    Some(name.trim().trim_matches('"'))
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

/// The snapshots of a scenario and its variants as one text; `None` where there are none.
pub(super) fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let inner = texts.map(|text| text.trim_end().trim_start_matches("[\n").trim_end_matches(']'));
    inner.map(str::to_owned).reduce(|all, text| all + &text).map(|all| format!("[\n{all}]\n"))
}

/// The part of a joined text that belongs to a variant, or to the program as it stands.
fn part(text: &str, variant: Option<&str>) -> Option<String> {
    let mut found = String::new();
    let mut is_wanted = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let begins = line == "    Snapshot(";
        if begins || line.starts_with("    //") {
            // What belongs to a variant says so at its beginning.
            let head = if begins { lines.peek().copied().unwrap_or_default() } else { &line[4..] };
            let owner = head.trim_start_matches([' ', '/']).strip_prefix("variant");
            let owner = owner.and_then(|owner| owner.split('"').nth(1));
            is_wanted = owner == variant;
        }
        if is_wanted && line.starts_with(' ') {
            found.push_str(line);
            found.push('\n');
        }
    }
    (!found.is_empty()).then(|| format!("[\n{found}]"))
}

/// As insta compares: without trailing white space, with line feeds alone.
fn normal(text: &str) -> String {
    text.trim_end().replace("\r\n", "\n")
}

/// The lines that differ, with a sign before each.
fn differences(old: &str, new: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != ChangeTag::Equal);
    let mut lines: Vec<String> =
        changes.map(|change| format!("{} {}", change.tag(), change.value().trim_end_matches('\n'))).collect();
    let rest = lines.len().saturating_sub(DIFFERENCE_MAX);
    lines.truncate(DIFFERENCE_MAX);
    lines.extend((rest > 0).then(|| format!("    .. and {rest} more lines")));
    lines
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
        let elsewhere = place.with_snapshots_in(Path::new("/accepted"));
        assert_eq!(elsewhere.file, Path::new("/accepted/guide/x.snap"));
        assert_eq!(elsewhere.name, "scenarios/guide/x.scn");
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
    fn each_variant_finds_its_part() {
        let base = "[\n    Snapshot(\n        nth: 1,\n    ),\n    // nth 1: 4 more times\n]\n";
        let entry = "    Snapshot(\n        variant: \"off\",\n        nth: 1,\n    ),\n";
        let off = format!("[\n{entry}    // variant \"off\", nth 1: 4 more times\n]\n");
        let on = off.replace("off", "on");
        let all = joined([base, &off, &on].into_iter()).expect("there are three");
        assert_eq!(all.matches("Snapshot(").count(), 3);
        for (text, variant) in [(base, None), (&off, Some("off")), (&on, Some("on"))] {
            assert_eq!(part(&all, variant).as_deref(), Some(text.trim_end()));
        }
        assert_eq!(part(&all, Some("other")), None);
        assert_eq!(joined(std::iter::empty()), None);
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
