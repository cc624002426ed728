//! Whether the faults recorded in `tests/mutants` can still be put into the code; `.ci/mutants` says whether they are noticed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Whether `git apply` takes a patch, as `.ci/mutants` calls it; `None` where there is no git.
fn applied(root: &Path, patch: &Path) -> Option<Output> {
    let arguments = ["apply", "-C1", "--check"];
    Command::new("git").arg("-C").arg(root).args(arguments).arg(patch).output().ok()
}

#[test]
fn every_mutant_applies() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join(".git").exists() {
        return;
    }
    let entries = fs::read_dir(root.join("tests/mutants")).expect("tests/mutants is there");
    let mut patches: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    patches.sort();
    assert!(!patches.is_empty(), "tests/mutants is empty");
    let mut stale = String::new();
    for patch in &patches {
        let Some(output) = applied(root, patch) else { return };
        if !output.status.success() {
            let name = patch.file_name().unwrap_or_default().display();
            stale += &format!("{name}\n{}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert!(
        stale.is_empty(),
        "these in tests/mutants do not apply any more; record each again, so that it breaks the same rule:\n{stale}"
    );
}
