//! Texts that hold on every machine: no folder of one machine, no host of a package registry.
//!
//! The forbidden words are put together from halves, so that this file does not contain them.

use super::tree::File;
use super::{Check, Rule, Violation};

/// Where folders of one machine begin.
const FOLDERS: &[&str] = &[
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/fa", "rm/"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
];

/// Hosts that serve packages. What is downloaded from where is the affair of each machine's own settings.
const HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("npmjs", ".org"),
    concat!("proxy.gol", "ang.org"),
    concat!("deb.deb", "ian.org"),
    concat!("artif", "actory"),
];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "no folder of one machine",
        check: Check::File(folders),
        seeds: &[
            (&[("README.md", concat!("# Millpond\nSee /wo", "rk/notes.\n"))], "README.md:2"),
            (&[(".ci/run", concat!("cd /ro", "ot/x\n"))], ".ci/run:1"),
            (&[("docs/a.md", concat!("\"/fa", "rm/x\"\n"))], "docs/a.md:1"),
        ],
        clean: &[&[("docs/a.md", concat!("src/wo", "rk/x and $HOME/wo", "rk/x and a/ro", "ot/b\n"))]],
    },
    Rule {
        name: "no host of packages",
        check: Check::File(hosts),
        seeds: &[
            (&[(".ci/run", concat!("#!/bin/sh\ncurl index.crates", ".io\n"))], ".ci/run:2"),
            (&[("docs/a.md", concat!("https://PyPI", ".org/simple\n"))], "docs/a.md:1"),
        ],
        // Cargo writes the name of its registry into the lock file itself.
        clean: &[&[
            ("Cargo.lock", concat!("source = \"crates", ".io\"\n")),
            ("docs/a.md", "crates in io.\n"),
        ]],
    },
];

fn folders(file: &File) -> Vec<Violation> {
    // Inside a longer path it is a folder of the repository or of a variable.
    let begins_there = |line: &str, at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|before| before.is_alphanumeric() || "_-.}~*".contains(before))
    };
    let named = |line: &str| {
        FOLDERS
            .iter()
            .find(|folder| line.match_indices(**folder).any(|(at, _)| begins_there(line, at)))
            .copied()
    };
    lines(file, |line| {
        named(line).map(|folder| format!("`{folder}` exists on one machine only: write a relative path"))
    })
}

fn hosts(file: &File) -> Vec<Violation> {
    if file.path.ends_with("Cargo.lock") {
        return Vec::new();
    }
    lines(file, |line| {
        let lower = line.to_lowercase();
        let host = HOSTS.iter().find(|host| lower.contains(**host))?;
        Some(format!("`{host}` names a host of packages: leave that to the settings of the machine"))
    })
}

fn lines(file: &File, message: impl Fn(&str) -> Option<String>) -> Vec<Violation> {
    let found = file.text.lines().enumerate().filter_map(|(line, text)| Some((line + 1, message(text)?)));
    found.map(|(line, message)| Violation::new(&file.path, line, message)).collect()
}
