//! What fails a run and what does not: errors, warnings and lints, what is allowed, denied and expected. From outside.

use super::cli::{Folder, err, out, status};
use millpond::profile::Profile;

/// Two warnings.
const LEAKS: &str = "\
stream s
s: x = alloc 1MiB
s: y = alloc 1MiB
";

/// Nothing can advance any more; a lint or a warning beside it is not looked at.
const HANGS: &str = "\
stream s
kernel spin() takes 1us
s: spin() until go as stalled
sync s
signal go
";

/// A program, further lines, arguments, the exit status, and how the last line begins.
type Run = (&'static str, &'static str, &'static [&'static str], i32, &'static str);

const RUNS: &[Run] = &[
    (LEAKS, "", &[], 0, "holds: no expectations, 2 warnings "),
    (LEAKS, "", &["--deny", "warnings"], 1, "fails: 2 errors "),
    (LEAKS, "", &["--deny", "leak"], 1, "fails: 2 errors "),
    (LEAKS, "", &["--deny", "lints"], 0, "holds: no expectations, 2 warnings "),
    (LEAKS, "", &["--allow", "leak"], 0, "holds: no expectations, no findings, 2 warnings muted "),
    (LEAKS, "allow leak on x", &[], 0, "holds: no expectations, 1 warning, 1 warning muted "),
    (LEAKS, "allow leak on x", &["--deny", "warnings"], 1, "fails: 1 error, 1 warning muted "),
    (LEAKS, "allow leak", &["--deny", "leak"], 0, "holds: no expectations, no findings, 2 warnings muted "),
    (LEAKS, "allow overlap", &[], 0, "holds: no expectations, 2 warnings "),
    (LEAKS, "expect no leaks", &[], 1, "fails: 1 of 1 expectation, 2 errors "),
    (
        LEAKS,
        "expect no leaks\nallow leak on y",
        &[],
        1,
        "fails: 1 of 1 expectation, 1 error, 1 warning muted ",
    ),
    (LEAKS, "expect no leaks\nallow leak", &[], 0, "holds: 1 expectation, no findings, 2 warnings muted "),
    (
        LEAKS,
        "expect finding leak on y",
        &["--deny", "leak"],
        1,
        "fails: 1 error, 1 finding, expected at line 4 ",
    ),
    (
        LEAKS,
        "expect finding leak",
        &["--deny", "leak"],
        0,
        "holds: 1 expectation, 2 findings, expected at line 4 ",
    ),
    (HANGS, "", &[], 1, "fails: 1 error "),
    (HANGS, "expect finding deadlock", &[], 0, "holds: 1 expectation, 1 finding, expected at line 6 "),
    (HANGS, "expect finding deadlock at stalled 1 times", &[], 0, "holds: 1 expectation, 1 finding"),
    (HANGS, "expect no findings", &[], 1, "fails: 1 of 1 expectation, 1 error "),
    // What the run did not reach is not known.
    (
        HANGS,
        "expect finding deadlock\nexpect gpu0.default_pool.used == 0B",
        &[],
        1,
        "fails: 1 of 2 expectations, 1 finding, expected at line 6 ",
    ),
];

fn last_line(report: &str) -> &str {
    let line = report.lines().find(|line| line.starts_with("holds:") || line.starts_with("fails:"));
    line.unwrap_or_else(|| panic!("{report}"))
}

#[test]
fn severity_decides_the_exit_status() {
    let folder = Folder::new("levels");
    for (text, lines, arguments, exit, last) in RUNS {
        let path = folder.file("told.scn", format!("{text}{lines}\n"));
        let path = path.to_str().expect("a path in UTF-8");
        let output = folder.millpond(&[&["run", path], *arguments].concat());
        let report = out(&output);
        assert!(last_line(&report).starts_with(last), "{lines} {arguments:?}\n{report}");
        assert_eq!(status(&output), *exit, "{lines} {arguments:?}\n{report}");
        let tested = folder.millpond(&[&["test", path], *arguments].concat());
        assert_eq!(status(&tested), *exit, "{lines} {arguments:?}\n{}", out(&tested));
    }
}

/// The table of a sweep tells errors that are findings, and fails by them unless they are expected.
#[test]
fn a_sweep_fails_by_findings() {
    let folder = Folder::new("levels");
    for (lines, arguments, exit, findings) in [
        ("", &[][..], 0, "0"),
        ("", &["--deny", "leak"], 1, "2"),
        ("expect finding leak", &["--deny", "leak"], 0, "0"),
        ("allow leak on x", &["--deny", "leak"], 1, "1"),
    ] {
        folder.file("swept.scn", format!("{LEAKS}{lines}\n"));
        let set = ["run", "swept.scn", "--set", "model=cuda", "--format", "csv"];
        let output = folder.millpond(&[&set, arguments].concat());
        let table = out(&output);
        let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let head = rows.next().expect("a head");
        let at = head.iter().position(|name| *name == "findings").expect("a column");
        assert_eq!(rows.next().expect("a row")[at], findings, "{lines} {arguments:?}");
        assert_eq!(status(&output), exit, "{lines} {arguments:?}");
    }
}

#[test]
fn arguments_about_what_is_no_finding_are_told() {
    let folder = Folder::new("levels");
    folder.file("told.scn", LEAKS);
    for (argument, word, said) in [
        ("--allow", "race", "cannot be allowed; a line `expect finding race` in the scenario expects it"),
        ("--allow", "lek", "did you mean `leak`?"),
        ("--allow", "warnings", "there is no such finding"),
        ("--deny", "warning", "did you mean `warnings`?"),
        ("--deny", "rce", "did you mean `race`?"),
    ] {
        for command in ["run", "test"] {
            let output = folder.millpond(&[command, "told.scn", argument, word]);
            assert_eq!(status(&output), 2);
            assert!(err(&output).contains(said), "{}", err(&output));
        }
    }
}

#[test]
fn lines_that_allow_what_cannot_be_are_told() {
    let declared = "stream a\nevent e\nhost_buffer h 1KiB pinned\n";
    for (lines, expected) in [
        (
            "allow leak on y[1]\nallow leak\nrepeat i in 0..2 {\n  allow overlap\n  a: y[i] = alloc 1B\n}",
            None,
        ),
        ("allow leak on h\nexpect finding host_race on h", None),
        ("allow rice", Some("unknown_finding: there is no warning or lint called `rice`")),
        ("allow race", Some("not_allowable: `race` is an error, which no line allows")),
        ("allow leak on y", Some("unknown_name: nothing is called `y`")),
        (
            "a: x[0] = alloc 1B\nallow leak on x",
            Some("wrong_index: `x` has no index here and an index elsewhere"),
        ),
        (
            "allow leak on e",
            Some("wrong_kind: `e` is an event, but a buffer or a buffer of the host is needed here"),
        ),
    ] {
        let (_, found) = millpond::load(&format!("{declared}{lines}\n"), &Profile::default());
        let found: Vec<String> =
            found.iter().map(|found| format!("{}: {}", found.code, found.message)).collect();
        assert_eq!(found.first().map(String::as_str), expected, "{lines}");
    }
}

/// A variant has what the text allows, and what it allows itself.
#[test]
fn variants_allow_what_their_text_does() {
    let text =
        format!("allow leak on x\n{LEAKS}\nvariant quiet {{\n  allow leak on y\n  expect no leaks\n}}\n");
    let folder = Folder::new("levels");
    folder.file("told.scn", text);
    for (arguments, last) in [
        (&[][..], "holds: no expectations, 1 warning, 1 warning muted "),
        (&["--variant", "quiet"], "holds: 1 expectation, no findings, 2 warnings muted "),
    ] {
        let report = out(&folder.millpond(&[&["run", "told.scn"], arguments].concat()));
        assert!(last_line(&report).starts_with(last), "{report}");
    }
}

/// A call that fails is told once, by the finding that says why; a line that lets it fail expects the finding.
#[test]
fn a_failed_call_is_told_by_what_explains_it() {
    let folder = Folder::new("levels");
    let text = "stream s\ns: x = alloc 1MiB\ns: free x\ns: free x";
    for (end, holds, errors) in [
        ("", false, 1),
        (" fails invalid_value", true, 0),
        (" or_fails invalid_value", true, 0),
        (" else invalid_value {\n}", true, 0),
        ("\nexpect finding double_free on x", true, 0),
    ] {
        folder.file("told.scn", format!("{text}{end}\n"));
        let output = folder.millpond(&["run", "told.scn"]);
        let report = out(&output);
        assert_eq!(status(&output) == 0, holds, "{report}");
        assert_eq!(report.lines().filter(|line| line.starts_with("error")).count(), errors, "{report}");
        assert!(holds || last_line(&report).starts_with("fails: 1 error "), "{report}");
    }
}
