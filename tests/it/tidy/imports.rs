//! Who may import whom: the modules of the crate, and the crates of others.

use super::rust::{Path, Rust, module_of};
use super::tree::File;
use super::{Check, Rule, Violation};

/// What each module may import of this crate; `*` is everything, `syntax::ast` only what is below it.
const LAYOUT: &[(&str, &[&str])] = &[
    ("base", &[]),
    ("trace", &["base"]),
    ("profile", &["base"]),
    ("syntax", &["base"]),
    ("scenario", &["base", "trace", "profile", "syntax::ast"]),
    ("order", &["base", "trace"]),
    ("model", &["base", "trace"]),
    ("oracle", &["base", "trace", "scenario"]),
    ("engine", &["base", "trace", "profile", "scenario", "order", "model"]),
    ("edit", &["base", "syntax"]),
    (
        "explore",
        &["base", "trace", "profile", "syntax", "scenario", "order", "model", "engine", "oracle", "edit"],
    ),
    ("compare", &["base", "trace", "scenario"]),
    ("hw", &["base", "trace", "scenario", "order"]),
    ("report", &["base", "trace", "scenario", "oracle", "explore", "compare"]),
    ("cli", &["*"]),
];

/// Where each crate of others may be used.
const CRATES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["cli"]),
    ("anyhow", &["cli"]),
    ("clap", &["cli"]),
    ("clap_complete", &["cli"]),
    ("clap_mangen", &["cli"]),
    ("csv", &["report"]),
    ("ctrlc", &["cli"]),
    ("cuda_link", &["hw"]),
    ("cust", &["hw"]),
    ("hashbrown", &["model::stream_order"]),
    ("index_vec", &["base"]),
    ("indicatif", &["cli"]),
    ("pest", &["syntax"]),
    ("pest_derive", &["syntax"]),
    ("petgraph", &["order"]),
    ("quick_junit", &["cli"]),
    ("rand", &["base"]),
    ("rand_chacha", &["base"]),
    ("rayon", &["explore"]),
    ("ron", &["report", "profile", "explore::schedule"]),
    ("rustc_hash", &["model::stream_order"]),
    ("serde", &["report", "profile", "explore::schedule", "model::stream_order"]),
    ("serde_json", &["report", "profile", "explore::schedule"]),
    ("smallvec", &["trace", "order", "model", "scenario", "engine", "oracle", "hw"]),
    ("similar", &["cli"]),
    ("terminal_size", &["cli"]),
    ("unicode_width", &["cli"]),
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "import direction",
        check: Check::File(directions),
        seeds: &[
            (&[("src/model/pool.rs", "//! Made up.\nuse crate::engine::Machine;\n")], "src/model/pool.rs:2"),
            (
                &[(
                    "src/trace/call.rs",
                    "//! Made up.\nuse crate::{\n    base::Bytes,\n    model::{Pool, pool::*},\n};\n",
                )],
                "src/trace/call.rs:4",
            ),
            (&[("src/base/a.rs", "fn f(x: &crate::trace::Call) {}\n")], "src/base/a.rs:1"),
            (&[("src/base/a.rs", "fn f() { assert!(crate::model::is(1)) }\n")], "src/base/a.rs:1"),
            (&[("src/base/a.rs", "macro_rules! m { () => { $crate::cli::run() } }\n")], "src/base/a.rs:1"),
            (
                &[("src/order/clock/mod.rs", "use super::super::engine::Machine;\n")],
                "src/order/clock/mod.rs:1",
            ),
            (&[("src/order/mod.rs", "mod a { use super::super::engine::X; }\n")], "src/order/mod.rs:1"),
            (&[("src/order/mod.rs", "use super::*;\n")], "src/order/mod.rs:1"),
            (&[("src/order/mod.rs", "use crate as all;\n")], "src/order/mod.rs:1"),
            (&[("src/order/mod.rs", "use millpond::model::Pool;\n")], "src/order/mod.rs:1"),
            (&[("src/scenario/check.rs", "use crate::syntax::{ast, parse};\n")], "src/scenario/check.rs:1"),
            (&[("src/scenario/check.rs", "use crate::syntax;\n")], "src/scenario/check.rs:1"),
            (&[("src/base/a.rs", "#[cfg(not(test))]\nuse crate::cli::run;\n")], "src/base/a.rs:2"),
            (&[("src/extra/mod.rs", "//! Not in the layout.\n")], "src/extra/mod.rs:1"),
        ],
        clean: &[
            &[("src/scenario/check.rs", "use crate::syntax::ast::{self, Line};\npub(crate) fn f() {}\n")],
            &[("src/order/clock.rs", "use super::{Order, cut::join};\npub(super) fn f(s: &self::X) {}\n")],
            &[("src/base/a.rs", "#[cfg(test)]\nmod tests { use crate::cli::run; }\n")],
            &[("src/base/a.rs", "#[cfg(test)]\nuse crate::cli::{run};\nuse crate::base::Bytes;\n")],
            &[("src/base/tests.rs", "use crate::cli::run;\n")],
            &[(
                "src/base/a.rs",
                "//! Links to [`crate::model`] in comments.\nconst S: &str = \"crate::cli\";\n",
            )],
            &[
                ("src/lib.rs", "pub use crate::model::Pool;\n"),
                ("src/cli/mod.rs", "use crate::hw::Device;\n"),
            ],
        ],
    },
    Rule {
        name: "crates in their place",
        check: Check::File(crates),
        seeds: &[
            (&[("src/engine/a.rs", "use petgraph::graph::DiGraph;\n")], "src/engine/a.rs:1"),
            (&[("src/engine/a.rs", "fn f(g: &::petgraph::Graph<u8, u8>) {}\n")], "src/engine/a.rs:1"),
            (&[("src/engine/a.rs", "use {std::fmt, rayon};\n")], "src/engine/a.rs:1"),
            (&[("src/engine/a.rs", "extern crate rayon;\n")], "src/engine/a.rs:1"),
            (&[("src/engine/a.rs", "#[derive(serde::Serialize)]\nstruct S;\n")], "src/engine/a.rs:1"),
            (&[("src/explore/run.rs", "use serde::Serialize;\n")], "src/explore/run.rs:1"),
            (&[("src/main.rs", "use clap::Parser;\n")], "src/main.rs:1"),
        ],
        clean: &[
            &[("src/order/a.rs", "use petgraph::graph::DiGraph;\n")],
            &[("src/explore/schedule.rs", "use serde::Serialize;\n")],
            &[(
                "src/engine/a.rs",
                "#[cfg(test)]\nmod tests { use proptest::prelude::*; use petgraph::*; }\n",
            )],
            &[("src/engine/a.rs", "use std::fmt;\nfn f() { let rand = g::<u8>(); rand.x() }\n")],
        ],
    },
    Rule {
        name: "crates have a place",
        check: Check::File(dependencies),
        seeds: &[(
            &[(
                "Cargo.toml",
                "[dependencies]\npest = \"2\"\nleft-pad = \"1\"\n[dev-dependencies]\nsyn = \"3\"\n",
            )],
            "Cargo.toml:3",
        )],
        clean: &[&[(
            "Cargo.toml",
            "[package]\nname = \"x\"\n[dependencies]\n# Why.\nrand = { version = \"0\" }\n",
        )]],
    },
    Rule {
        name: "test modules are marked",
        check: Check::File(test_modules),
        seeds: &[(&[("src/base/mod.rs", "mod span;\nmod tests;\n")], "src/base/mod.rs:2")],
        clean: &[&[("src/base/mod.rs", "mod span;\n#[cfg(test)]\nmod tests;\n")]],
    },
];

fn directions(file: &File) -> Vec<Violation> {
    let module = module_of(&file.path);
    let (true, Some(owner)) = (is_source(file), module.first()) else { return Vec::new() };
    let Some((_, allowed)) = LAYOUT.iter().find(|(name, _)| name == owner) else {
        let message =
            format!("`{owner}` has no place in the layout: add it there with what it may import, or move it");
        return vec![Violation::new(&file.path, 1, message)];
    };
    let mut violations = Vec::new();
    for path in outside_tests(file) {
        let Some(target) = inside_crate(&path) else { continue };
        let is_own = target.first() == Some(owner);
        if !is_own && !allowed.iter().any(|allowed| is_below(&target, allowed)) {
            let message = format!(
                "`{owner}` may not use `crate::{}`; it may use: {}",
                target.join("::"),
                if allowed.is_empty() { "nothing of this crate".to_owned() } else { allowed.join(", ") }
            );
            violations.push(Violation::new(&file.path, path.line, message));
        }
    }
    violations
}

fn crates(file: &File) -> Vec<Violation> {
    let module = module_of(&file.path);
    let mut violations = Vec::new();
    for path in outside_tests(file) {
        let names_a_crate = path.imported || path.segments.len() > 1;
        let pinned = CRATES.iter().find(|(name, _)| names_a_crate && path.segments[0] == *name);
        let Some((name, places)) = pinned else { continue };
        if !places.iter().any(|place| is_below(&module, place)) {
            let message =
                format!("`{name}` belongs in {}: ask that module for what you need", places.join(", "));
            violations.push(Violation::new(&file.path, path.line, message));
        }
    }
    violations
}

fn dependencies(file: &File) -> Vec<Violation> {
    if file.path != "Cargo.toml" {
        return Vec::new();
    }
    let mut violations = Vec::new();
    let mut in_dependencies = false;
    for (line, text) in file.text.lines().enumerate() {
        if text.starts_with('[') {
            in_dependencies = text == "[dependencies]" || text.ends_with(".dependencies]");
        }
        let name = text.split(['=', '.']).next().unwrap_or_default().trim().replace('-', "_");
        let is_entry = in_dependencies && text.starts_with(|first: char| first.is_ascii_alphabetic());
        if is_entry && !CRATES.iter().any(|(known, _)| *known == name) {
            let message = format!("`{name}` is in no row of CRATES: say which module it belongs in");
            violations.push(Violation::new(&file.path, line + 1, message));
        }
    }
    violations
}

/// Files named `tests.rs` may import everything, so a module of that name must not reach a build of the library.
fn test_modules(file: &File) -> Vec<Violation> {
    if !is_source(file) {
        return Vec::new();
    }
    let Ok(tree) = syn::parse_file(&file.text) else { return Vec::new() };
    let unmarked = tree.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.ident == "tests" => {
            let is_marked = module.attrs.iter().any(|attribute| attribute.path().is_ident("cfg"));
            (!is_marked).then(|| module.mod_token.span.start().line)
        }
        _ => None,
    });
    unmarked.map(|line| Violation::new(&file.path, line, "write `#[cfg(test)]` above `mod tests`")).collect()
}

fn is_source(file: &File) -> bool {
    file.is_rust() && file.path.starts_with("src/")
}

fn outside_tests(file: &File) -> Vec<Path> {
    if !is_source(file) {
        return Vec::new();
    }
    // A file that cannot be read is the affair of the rule "readable Rust".
    let paths = Rust::read(&file.path, &file.text).map(|rust| rust.paths).unwrap_or_default();
    paths.into_iter().filter(|path| !path.in_test).collect()
}

/// What a path names inside this crate, from its root; empty for the root itself, `None` for a path of another kind.
fn inside_crate(path: &Path) -> Option<Vec<String>> {
    // `pub(crate)`, `pub(super)` and the value `self` are single words and name nothing.
    if path.segments.len() == 1 && !path.imported {
        return None;
    }
    let mut base = path.module.clone();
    let mut rest = path.segments.as_slice();
    match rest.first()?.as_str() {
        "crate" | "millpond" => base.clear(),
        "self" => {}
        "super" => {
            while rest.first().is_some_and(|word| word == "super") {
                base.pop();
                rest = &rest[1..];
            }
            base.extend_from_slice(rest);
            return Some(base);
        }
        _ => return None,
    }
    base.extend_from_slice(&rest[1..]);
    Some(base)
}

fn is_below(path: &[String], place: &str) -> bool {
    place == "*"
        || place.split("::").enumerate().all(|(at, part)| path.get(at).is_some_and(|word| word == part))
}
