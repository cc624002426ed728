//! Tests of meaning: texts against the diagnostics and the calls that they give.

use super::{Cursor, Step};
use crate::profile::Profile;
use std::path::{Path, PathBuf};

/// The diagnostics of a text, each as `line code: message`.
fn check(text: &str) -> Vec<String> {
    let lines = crate::base::LineIndex::new(text);
    let (program, diagnostics) = crate::load(text, &Profile::default());
    let is_wrong = diagnostics.iter().any(|d| d.severity == crate::base::Severity::Error);
    assert_eq!(program.is_none(), is_wrong, "{text}");
    let shown = diagnostics.iter().map(|d| {
        let line = lines.line(d.primary.span.start);
        format!("{line} {}: {}", d.code, d.message)
    });
    shown.collect()
}

fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scenarios(&path));
        } else if path.extension().is_some_and(|extension| extension == "scn") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every scenario beside `invalid` is right; every one in it shows the diagnostic that it is named after, and only that.
#[test]
fn shipped_scenarios() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for path in scenarios(&root) {
        let found = check(&std::fs::read_to_string(&path).unwrap());
        if path.starts_with(root.join("invalid")) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let shown = matches!(found.as_slice(), [one] if one.contains(&format!(" {name}: ")));
            assert!(shown, "{} gives {found:#?}", path.display());
        } else {
            assert_eq!(found, Vec::<String>::new(), "{}", path.display());
        }
    }
}
