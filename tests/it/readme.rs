//! What `README.md` shows is what the program prints.
//!
//! A block below `<!-- file: F -->` is that file; below `<!-- output: ARGUMENTS -->` what `millpond ARGUMENTS` prints, below
//! `errors:` what it says on standard error; `| lines A to B` takes a part. With `MILLPOND_BLESS` set the blocks are rewritten.

use std::fs;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What the block below a mark should hold.
fn expected(mark: &str) -> Option<String> {
    let mark = mark.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let (kind, what) = mark.split_once(": ")?;
    let (what, part) = what.split_once(" | lines ").map_or((what, None), |(what, part)| (what, Some(part)));
    let text = match kind {
        "file" => fs::read_to_string(format!("{ROOT}/{what}")).expect("README.md names files that are there"),
        "output" | "errors" => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
            command.args(what.split(' ')).current_dir(ROOT).env_remove("GITHUB_ACTIONS");
            let output = command.output().expect("millpond starts");
            String::from_utf8(if kind == "output" { output.stdout } else { output.stderr }).expect("text")
        }
        _ => return None,
    };
    let Some(part) = part else { return Some(text) };
    let (from, to) = part.split_once(" to ").expect("`lines A to B`");
    let [from, to]: [usize; 2] = [from, to].map(|number| number.parse().expect("the number of a line"));
    Some(text.lines().take(to).skip(from - 1).map(|line| format!("{line}\n")).collect())
}

#[test]
fn the_readme_shows_what_is_printed() {
    let path = format!("{ROOT}/README.md");
    let old = fs::read_to_string(&path).expect("README.md is there");
    let mut new = String::new();
    let mut marks = 0;
    let mut lines = old.lines();
    while let Some(line) = lines.next() {
        new.push_str(line);
        new.push('\n');
        let Some(text) = expected(line) else { continue };
        marks += 1;
        assert_eq!(lines.next(), Some("```text"), "a block follows {line}");
        new.push_str(&format!("```text\n{}\n```\n", text.trim_end()));
        lines.by_ref().take_while(|line| *line != "```").for_each(drop);
    }
    assert!(marks >= 5, "README.md shows real output");
    if std::env::var_os("MILLPOND_BLESS").is_some() {
        fs::write(&path, &new).expect("README.md can be written");
        return;
    }
    assert!(
        old == new,
        "README.md is behind; MILLPOND_BLESS=1 cargo test readme rewrites its blocks:\n{new}"
    );
}
