//! Scenarios, the snapshots that mirror them, and the diagnostics that they show.

use super::tree::File;
use super::{Check, Rule, Violation};
use proc_macro2::{TokenStream, TokenTree};
use std::str::FromStr;

/// Diagnostics that no file below `scenarios/invalid` can show, and what shows them.
const SHOWN_ELSEWHERE: &[(&str, &str)] = &[("file_too_large", "src/syntax/tests.rs")];

/// Snapshots that belong to no scenario, and whose they are.
const OTHER_SNAPSHOTS: &[(&str, &str)] = &[];

/// What a scenario says about where it comes from, in this order, in one comment line.
const FIELDS: [&str; 4] = ["rules:", "cases:", "guide:", "source:"];

const FULL: &str = "# Shows it.\n# rules: R3    cases: N6    guide: -    source: a, b\nscenario \"x\"\n";
const FULL_WITH_SNAPSHOT: &str =
    "# Shows it.\n# rules: -    cases: -    guide: -    source: a\n  snapshot \"half\"   # here\n";

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "diagnostics are shown",
        check: Check::Tree(diagnostics_are_shown),
        seeds: &[
            (
                &[
                    (
                        "src/scenario/codes.rs",
                        "//! Codes.\nconst A: Code = Code(\"bad_a\");\nconst B: Code = Code(\"bad_b\");\n",
                    ),
                    ("scenarios/invalid/bad_a.scn", "# Shows it.\n"),
                ],
                "src/scenario/codes.rs:3",
            ),
            (&[("src/syntax/a.rs", "fn f() { g(base::Code(\"bad\")) }\n")], "src/syntax/a.rs:1"),
        ],
        clean: &[
            &[
                ("src/scenario/codes.rs", "const A: Code = Code(\"bad_a\"); // Code(\"bad_b\")\n"),
                ("scenarios/invalid/bad_a.scn", "# Shows it.\n"),
            ],
            &[("src/base/diagnostic.rs", "struct Code(&'static str);\nfn f(x: &'static str) { Code(x); }\n")],
        ],
    },
    Rule {
        name: "no snapshot alone",
        check: Check::Tree(no_snapshot_alone),
        seeds: &[
            (&[("snapshots/guide/gone.snap", "")], "snapshots/guide/gone.snap:1"),
            (
                &[("snapshots/quiet.snap", ""), ("scenarios/quiet.scn", "# A snapshot is not asked for.\n")],
                "snapshots/quiet.snap:1",
            ),
            (&[("snapshots/stray.txt", "")], "snapshots/stray.txt:1"),
        ],
        clean: &[
            &[("snapshots/a/x.snap", ""), ("scenarios/a/x.scn", FULL_WITH_SNAPSHOT)],
            &[("snapshots/invalid/x.snap", ""), ("scenarios/invalid/x.scn", "# Shows it.\n")],
        ],
    },
    Rule {
        name: "no scenario without its snapshot",
        check: Check::Tree(no_snapshot_missing),
        seeds: &[
            (&[("scenarios/a/x.scn", FULL_WITH_SNAPSHOT)], "scenarios/a/x.scn:3"),
            (&[("scenarios/invalid/x.scn", "# Shows it.\n")], "scenarios/invalid/x.scn:1"),
        ],
        clean: &[&[("scenarios/a/x.scn", FULL)]],
    },
    Rule {
        name: "a scenario says what it shows",
        check: Check::File(header),
        seeds: &[
            (&[("scenarios/a/x.scn", "scenario \"x\"\n# Late.\n")], "scenarios/a/x.scn:1"),
            (&[("scenarios/invalid/x.scn", "\n# Late.\n")], "scenarios/invalid/x.scn:1"),
            (&[("scenarios/a/x.scn", "#\n# rules: - cases: - guide: - source: a\n")], "scenarios/a/x.scn:1"),
            (
                &[("scenarios/a/x.scn", "# Shows it.\n\n# rules: - cases: - guide: - source: a\n")],
                "scenarios/a/x.scn:2",
            ),
            (&[("scenarios/a/x.scn", "# Shows it.\n# rules: - cases: - guide: G1\n")], "scenarios/a/x.scn:2"),
            (
                &[("scenarios/a/x.scn", "# Shows it.\n# rules: - cases: guide: - source: a\n")],
                "scenarios/a/x.scn:2",
            ),
            (&[("scenarios/a/x.scn", "# rules: - cases: - guide: - source: a\n")], "scenarios/a/x.scn:1"),
        ],
        clean: &[
            &[("scenarios/a/x.scn", FULL)],
            &[(
                "scenarios/a/x.scn",
                "# Shows it\n# in two lines.\n# rules: R1 R2 cases: - guide: - source: a\n",
            )],
            &[("scenarios/invalid/x.scn", "# Shows it.\nscenario\n"), ("docs/x.scn", "")],
        ],
    },
];

fn diagnostics_are_shown(files: &[File]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with("src/") && file.is_rust()) {
        let tokens = TokenStream::from_str(&file.text).unwrap_or_default();
        let mut codes = Vec::new();
        find_codes(tokens, &mut codes);
        for (code, line) in codes {
            let shown = format!("scenarios/invalid/{code}.scn");
            let is_shown = files.iter().any(|file| file.path == shown)
                || SHOWN_ELSEWHERE.iter().any(|(known, _)| *known == code);
            if !is_shown {
                let message = format!("nothing shows the diagnostic `{code}`: write {shown}");
                violations.push(Violation::new(&file.path, line, message));
            }
        }
    }
    violations
}

/// Every `Code("name")`, with its line.
fn find_codes(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let mut after_code = false;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            let inside: Vec<TokenTree> = group.stream().into_iter().collect();
            if let (true, [TokenTree::Literal(literal)]) = (after_code, inside.as_slice()) {
                let name = literal.to_string().trim_matches('"').to_owned();
                found.push((name, literal.span().start().line));
            }
            find_codes(group.stream(), found);
        }
        after_code = matches!(&token, TokenTree::Ident(word) if word == "Code");
    }
}

fn no_snapshot_alone(files: &[File]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for snapshot in files.iter().filter(|file| file.path.starts_with("snapshots/")) {
        if OTHER_SNAPSHOTS.iter().any(|(path, _)| *path == snapshot.path) {
            continue;
        }
        let name = snapshot.path.strip_prefix("snapshots/").and_then(|path| path.strip_suffix(".snap"));
        let owner = name.map(|name| format!("scenarios/{name}.scn"));
        let message = match files.iter().find(|file| Some(&file.path) == owner.as_ref()) {
            Some(scenario) if snapshot_line(scenario).is_some() => continue,
            Some(scenario) => format!("{} has no `snapshot` line: remove the file or add one", scenario.path),
            None => {
                "no scenario has this snapshot: remove the file, or give it the name of its scenario".into()
            }
        };
        violations.push(Violation::new(&snapshot.path, 1, message));
    }
    violations
}

fn no_snapshot_missing(files: &[File]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for scenario in files.iter().filter(|file| is_scenario(file)) {
        let Some(line) = snapshot_line(scenario) else { continue };
        let name = scenario.path.trim_start_matches("scenarios/").trim_end_matches(".scn");
        let path = format!("snapshots/{name}.snap");
        if !files.iter().any(|file| file.path == path) {
            let message =
                format!("{path} is missing: write it with `millpond test --bless {}`", scenario.path);
            violations.push(Violation::new(&scenario.path, line, message));
        }
    }
    violations
}

fn header(file: &File) -> Vec<Violation> {
    if !is_scenario(file) {
        return Vec::new();
    }
    let comments: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix('#')).collect();
    let says_something = comments.first().is_some_and(|line| !line.trim().is_empty() && !is_origin(line));
    if !says_something {
        return vec![Violation::new(&file.path, 1, "open the file with `# ` and what the scenario shows")];
    }
    if is_invalid(file) || comments.iter().any(|line| is_full_origin(line)) {
        return Vec::new();
    }
    let message = "the opening comment needs a line `# rules: R1 R2    cases: N1    guide: G1    source: TEXT`, \
                   with `-` where there is none";
    let started = comments.iter().position(|line| is_origin(line)).unwrap_or(comments.len());
    vec![Violation::new(&file.path, started + 1, message)]
}

fn is_origin(comment: &str) -> bool {
    comment.trim_start().starts_with(FIELDS[0])
}

/// Whether a comment has all fields in order, each with a value.
fn is_full_origin(comment: &str) -> bool {
    let mut rest = comment.trim_start();
    for (at, field) in FIELDS.iter().enumerate() {
        let Some(after) = rest.strip_prefix(field) else { return false };
        let end = FIELDS.get(at + 1).map_or(Some(after.len()), |next| after.find(next));
        let Some(end) = end else { return false };
        if after[..end].trim().is_empty() {
            return false;
        }
        rest = &after[end..];
    }
    true
}

fn is_scenario(file: &File) -> bool {
    file.path.starts_with("scenarios/") && file.path.ends_with(".scn")
}

fn is_invalid(file: &File) -> bool {
    file.path.starts_with("scenarios/invalid/")
}

/// The line that asks for a snapshot. A file below `invalid` need not ask: what is said about it is always kept.
fn snapshot_line(scenario: &File) -> Option<usize> {
    if is_invalid(scenario) {
        return Some(1);
    }
    let asks = |line: &str| line.split_whitespace().next() == Some("snapshot");
    scenario.text.lines().position(asks).map(|at| at + 1)
}
