//! Words that the code must not use, and where they are allowed after all.

use super::rust::{Path, Rust};
use super::tree::File;
use super::{Check, Rule, Violation};

/// The only places that may talk to the world outside.
const OUTSIDE: &[&str] = &["src/cli/", "src/cli.rs", "src/main.rs"];
/// The only places that may promise what the compiler cannot check.
const UNSAFE: &[&str] = &["src/hw/", "src/hw.rs", "crates/cuda-link/", "crates/simulated-driver/"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "readable Rust",
        check: Check::File(readable),
        seeds: &[(&[("src/base/a.rs", "//! Made up.\nfn f( {}\n")], "src/base/a.rs:2")],
        clean: &[&[("src/base/a.rs", "fn f() {}\n"), ("docs/a.md", "fn f( {}\n")]],
    },
    Rule {
        name: "no hash order, no clock",
        check: Check::File(order_and_clock),
        seeds: &[
            (&[("src/model/a.rs", "use std::collections::{BTreeMap, HashMap};\n")], "src/model/a.rs:1"),
            (&[("src/model/a.rs", "fn f(x: std::collections::HashSet<u8>) {}\n")], "src/model/a.rs:1"),
            (&[("src/model/a.rs", "fn f() {\n    let t = Instant::now();\n}\n")], "src/model/a.rs:2"),
            (&[("src/engine/a.rs", "use std::time::SystemTime as T;\n")], "src/engine/a.rs:1"),
        ],
        clean: &[
            &[
                ("src/cli/a.rs", "use std::time::Instant;\n"),
                ("src/model/a.rs", "use std::time::Duration;\n"),
            ],
            &[("src/model/a.rs", "//! No HashMap here.\nconst S: &str = \"Instant\";\n")],
        ],
    },
    Rule {
        name: "only the command line talks",
        check: Check::File(outside),
        seeds: &[
            (&[("src/engine/a.rs", "fn f() {\n    println!(\"x\");\n}\n")], "src/engine/a.rs:2"),
            (&[("src/engine/a.rs", "fn f() { std::eprint!(\"x\") }\n")], "src/engine/a.rs:1"),
            (&[("src/report/a.rs", "use std::{fmt, fs::File};\n")], "src/report/a.rs:1"),
            (&[("src/report/a.rs", "fn f() { std::env::var(\"X\").ok(); }\n")], "src/report/a.rs:1"),
            (&[("src/report/a.rs", "use std::process;\n")], "src/report/a.rs:1"),
            (&[("src/report/a.rs", "use std::io;\nfn f() { io::stdout(); }\n")], "src/report/a.rs:2"),
        ],
        clean: &[
            &[("src/cli/a.rs", "use std::fs;\nfn f() { println!() }\n")],
            &[("src/main.rs", "use std::process::ExitCode;\n"), ("tests/it/a.rs", "use std::fs;\n")],
            &[(
                "src/report/a.rs",
                "use std::io::Write;\nfn f() { writeln!(g, \"x\"); let print = env!(\"X\"); }\n",
            )],
            &[("src/report/a.rs", "#[cfg(test)]\nmod tests { fn f() { std::fs::read(\"x\"); } }\n")],
        ],
    },
    Rule {
        name: "no unsafe code",
        check: Check::File(no_unsafe),
        seeds: &[
            (&[("src/model/a.rs", "fn f() {\n    unsafe { g() }\n}\n")], "src/model/a.rs:2"),
            (&[("src/model/a.rs", "unsafe impl Send for X {}\n")], "src/model/a.rs:1"),
            (
                &[("crates/other/src/lib.rs", "#[unsafe(no_mangle)]\nfn f() {}\n")],
                "crates/other/src/lib.rs:1",
            ),
        ],
        clean: &[
            &[("src/hw/a.rs", "fn f() { unsafe { g() } }\n")],
            &[("crates/cuda-link/src/lib.rs", "unsafe fn f() {}\n")],
            &[("src/model/a.rs", "#![deny(unsafe_code)]\n//! Not unsafe.\n")],
        ],
    },
    Rule {
        name: "nothing unfinished",
        check: Check::File(unfinished),
        seeds: &[
            (&[("src/model/a.rs", "fn f() {\n    todo!()\n}\n")], "src/model/a.rs:2"),
            (&[("src/model/a.rs", "fn f() { std::unimplemented!() }\n")], "src/model/a.rs:1"),
            (&[("tests/it/a.rs", "fn f() { g(dbg!(1)) }\n")], "tests/it/a.rs:1"),
            (&[("src/a.rs", "#[cfg(test)]\nmod tests {\n#[test]\n#[ignore]\nfn f() {}\n}\n")], "src/a.rs:4"),
            (&[("src/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn f() {}\n")], "src/a.rs:2"),
        ],
        clean: &[&[("src/a.rs", "fn f(todo: u8, ignore: bool) -> bool { todo != 0 && ignore }\n")]],
    },
];

fn readable(file: &File) -> Vec<Violation> {
    match Rust::read(&file.path, &file.text) {
        Err(line) if file.is_rust() => {
            vec![Violation::new(&file.path, line, "this is no Rust: no rule can read the file until it is")]
        }
        _ => Vec::new(),
    }
}

fn order_and_clock(file: &File) -> Vec<Violation> {
    if !file.path.starts_with("src/") || file.path.starts_with("src/cli") {
        return Vec::new();
    }
    find(file, |path| {
        let advice = |word: &String| match word.as_str() {
            "HashMap" | "HashSet" | "RandomState" | "DefaultHasher" => {
                Some("has an order that differs between runs: use BTreeMap, BTreeSet or an IndexVec")
            }
            "Instant" | "SystemTime" => Some("reads a clock: a run knows only virtual time, in `Nanos`"),
            _ => None,
        };
        path.segments.iter().find_map(|word| advice(word).map(|advice| format!("`{word}` {advice}")))
    })
}

fn outside(file: &File) -> Vec<Violation> {
    if !file.path.starts_with("src/") || is_in(file, OUTSIDE) {
        return Vec::new();
    }
    let prints = ["print", "println", "eprint", "eprintln"];
    let worlds = [
        ["std", "fs"],
        ["std", "env"],
        ["std", "process"],
        ["io", "stdin"],
        ["io", "stdout"],
        ["io", "stderr"],
    ];
    find(file, |path| {
        let last = path.segments.last()?.as_str();
        let talks = (path.is_macro && prints.contains(&last))
            || path.segments.windows(2).any(|pair| worlds.iter().any(|world| pair == world));
        let message = || {
            let name = path.segments.join("::");
            format!("`{name}` talks to the world: return data, and let `cli` print it or read it")
        };
        (talks && !path.in_test).then(message)
    })
}

fn no_unsafe(file: &File) -> Vec<Violation> {
    if is_in(file, UNSAFE) {
        return Vec::new();
    }
    find(file, |path| {
        let message = || format!("`unsafe` is only for {}", UNSAFE.join(", "));
        (path.segments == ["unsafe"]).then(message)
    })
}

fn unfinished(file: &File) -> Vec<Violation> {
    find(file, |path| {
        let last = path.segments.last()?.as_str();
        let found =
            last == "#[ignore]" || (path.is_macro && ["todo", "unimplemented", "dbg"].contains(&last));
        found.then(|| format!("`{last}` must not be committed: finish it, or leave it out"))
    })
}

fn is_in(file: &File, places: &[&str]) -> bool {
    places.iter().any(|place| file.path.starts_with(place))
}

fn find(file: &File, message: impl Fn(&Path) -> Option<String>) -> Vec<Violation> {
    if !file.is_rust() {
        return Vec::new();
    }
    let paths = Rust::read(&file.path, &file.text).map(|rust| rust.paths).unwrap_or_default();
    let found = paths.iter().filter_map(|path| Some((path.line, message(path)?)));
    found.map(|(line, message)| Violation::new(&file.path, line, message)).collect()
}
