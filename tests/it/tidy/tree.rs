//! The files of the repository as the rules see them: a path from the root with `/`, and the text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file.
pub(crate) struct File {
    /// The path from the root of the repository.
    pub(crate) path: String,
    /// Its text; empty for a file that is no UTF-8.
    pub(crate) text: String,
}

impl File {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    pub(crate) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }
}

/// Every file that is tracked, or would be with `git add`; all files where there is no git, as in a packaged crate.
pub(crate) fn tracked() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = listed_by_git(root).unwrap_or_else(|| {
        let mut found = Vec::new();
        walk(root, root, &mut found);
        found
    });
    paths.sort();
    paths.dedup();
    // A tracked file that was deleted is still listed, so a file that cannot be read is passed over.
    let read = |path: String| {
        let bytes = fs::read(root.join(&path)).ok()?;
        Some(File { path, text: String::from_utf8(bytes).unwrap_or_default() })
    };
    paths.into_iter().filter_map(read).collect()
}

fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    let names = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (output.status.success() && !paths.is_empty()).then_some(paths)
}

fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        let inside = path.strip_prefix(root).expect("the walk starts at the root");
        let name: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
        match name.join("/").as_str() {
            ".git" | "target" => {}
            _ if path.is_dir() => walk(root, &path, found),
            name => found.push(name.to_owned()),
        }
    }
}

#[test]
fn the_walk_finds_what_git_lists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut walked = Vec::new();
    walk(root, root, &mut walked);
    let listed = listed_by_git(root).unwrap_or_default();
    for path in listed.iter().filter(|path| root.join(path).exists()) {
        assert!(walked.contains(path), "{path} is missing from the walk");
    }
}
