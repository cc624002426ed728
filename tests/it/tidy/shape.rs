//! How large files and functions may be, how a file begins, and what lies at the top of the repository.

use super::rust::Rust;
use super::tree::File;
use super::{Check, Rule, Violation};

const FILE_LINES_BELOW: usize = 600;
const FUNCTION_LINES_BELOW: usize = 70;

/// What a visitor of the repository sees first. Everything else is hidden or inside one of these.
const TOP_LEVEL: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "README.md",
    "crates",
    "docs",
    "fuzz",
    "grammar",
    "profiles",
    "scenarios",
    "snapshots",
    "src",
    "tests",
];

/// Ten empty lines.
macro_rules! ten {
    () => {
        "\n\n\n\n\n\n\n\n\n\n"
    };
}
/// A hundred empty lines.
macro_rules! hundred {
    () => {
        concat!(ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), ten!())
    };
}
/// A function of 70 lines, after one empty line.
macro_rules! long_function {
    () => {
        concat!("\nfn f() {", ten!(), ten!(), ten!(), ten!(), ten!(), ten!(), "\n\n\n\n\n\n\n\n\n}\n")
    };
}
const LONG_FILE: &str = concat!(hundred!(), hundred!(), hundred!(), hundred!(), hundred!(), hundred!());
const LONG_FUNCTION: &str = long_function!();

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "file length",
        check: Check::File(file_length),
        seeds: &[(&[("src/base/a.rs", LONG_FILE)], "src/base/a.rs:600")],
        clean: &[&[("scenarios/stress/a.scn", LONG_FILE)], &[("src/base/a.rs", LONG_FUNCTION)]],
    },
    Rule {
        name: "function length",
        check: Check::File(function_length),
        seeds: &[
            (&[("src/base/a.rs", LONG_FUNCTION)], "src/base/a.rs:2"),
            (&[("src/base/a.rs", concat!("impl X {\n", long_function!(), "}\n"))], "src/base/a.rs:3"),
            (&[("src/base/a.rs", concat!("trait X {\n", long_function!(), "}\n"))], "src/base/a.rs:3"),
        ],
        clean: &[&[("src/base/a.rs", LONG_FILE)]],
    },
    Rule {
        name: "opening words",
        check: Check::File(opening),
        seeds: &[
            (&[("src/base/a.rs", "use std::fmt;\n//! Late.\n")], "src/base/a.rs:1"),
            (&[("tests/it/a.rs", "")], "tests/it/a.rs:1"),
        ],
        clean: &[
            &[("src/base/a.rs", "//! What it owns.\n"), ("README.md", "# Millpond\n")],
            &[("src/lib.rs", "#![doc = include_str!(\"ARCHITECTURE.md\")]\n")],
        ],
    },
    Rule {
        name: "top level",
        check: Check::File(top_level),
        seeds: &[
            (&[("notes.txt", "")], "notes.txt:1"),
            (&[("scripts/run", "")], "scripts/run:1"),
            (&[("clippy.toml", "")], "clippy.toml:1"),
        ],
        clean: &[&[(".clippy.toml", ""), (".ci/run", ""), ("Cargo.lock", ""), ("src/lib.rs", "")]],
    },
];

fn file_length(file: &File) -> Vec<Violation> {
    let lines = file.text.lines().count();
    if !file.is_rust() || lines < FILE_LINES_BELOW {
        return Vec::new();
    }
    let message = format!("{lines} lines; a file has under {FILE_LINES_BELOW}: split it by what it owns");
    vec![Violation::new(&file.path, FILE_LINES_BELOW, message)]
}

fn function_length(file: &File) -> Vec<Violation> {
    if !file.is_rust() {
        return Vec::new();
    }
    let functions = Rust::read(&file.path, &file.text).map(|rust| rust.functions).unwrap_or_default();
    let long = functions.into_iter().filter(|function| function.lines >= FUNCTION_LINES_BELOW);
    long.map(|function| {
        let message = format!(
            "`{}` has {} lines; a function has under {FUNCTION_LINES_BELOW}: give its parts names",
            function.name, function.lines
        );
        Violation::new(&file.path, function.line, message)
    })
    .collect()
}

fn opening(file: &File) -> Vec<Violation> {
    let opens = file.text.starts_with("//!") || file.text.starts_with("#![doc = include_str!(");
    if !file.is_rust() || opens {
        return Vec::new();
    }
    vec![Violation::new(&file.path, 1, "open the file with `//!`: what it owns and what it must not know")]
}

fn top_level(file: &File) -> Vec<Violation> {
    let first = file.path.split('/').next().unwrap_or_default();
    if first.starts_with('.') || TOP_LEVEL.contains(&first) {
        return Vec::new();
    }
    let message = format!(
        "`{first}` is not part of the visible top level: move it below one of the folders there, or hide it"
    );
    vec![Violation::new(&file.path, 1, message)]
}
