//! `expect always`, `sometimes` and `never` from outside: what settles them, what does not, and how that is told.

use super::cli::{Folder, err, out, status};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Output;

/// A block of another stream, which the second stream gets or not: 64 or 128 MiB.
const TWO_WAYS: &str = "\
pool p on gpu0 { reuse = [opportunistic] }
stream first, second non_blocking
kernel work(x: write) takes 5us
first: x = alloc 64MiB from p
first: work(x)
first: free x
second: y = alloc 64MiB from p
second: free y
allow stranded_cache
";

/// The status of `millpond run` and its verdict, for the program above with these lines behind it.
fn run(folder: &Folder, lines: &str, more: &[&str]) -> (i32, Value) {
    let file = folder.file("one.scn", format!("{TWO_WAYS}{lines}")).display().to_string();
    let output = folder.millpond(&[&["run", &file, "--format", "json"], more].concat());
    let text = out(&output);
    let last = text.lines().last().unwrap_or_else(|| panic!("{}", err(&output)));
    (status(&output), serde_json::from_str(last).expect("it is an object"))
}

fn answers(verdict: &Value) -> Vec<&str> {
    let lines = verdict["expectations"].as_array().expect("a list").iter();
    lines.map(|line| line["timings"]["answer"].as_str().expect("a word")).collect()
}

/// Each line with what it says of a block that is there in some timings.
#[test]
fn lines_are_decided_as_counted_by_hand() {
    let folder = Folder::new("decided");
    for (line, holds) in [
        ("always y reuses x", false),
        ("sometimes y reuses x", true),
        ("never y reuses x", false),
        ("sometimes y not reuses x", true),
        ("always p.reserved_high <= 128MiB", true),
        ("always p.reserved_high <= 127MiB", false),
        ("never p.reserved_high > 128MiB", true),
        ("sometimes p.reserved_high == 64MiB", true),
        ("sometimes p.reserved_high == 96MiB", false),
        ("never p.reserved_high == 128MiB", false),
        ("always no findings", true),
        ("sometimes no findings", true),
        ("never no findings", false),
        ("always no leaks", true),
        ("sometimes finding leak", false),
        ("sometimes leak", false),
        ("never leak", true),
        ("always no leak", true),
        ("always leak", false),
        ("sometimes no leak", true),
        ("never finding use_after_free on x", true),
        ("sometimes out_of_memory", false),
        ("never out_of_memory", true),
        ("always y via growth", false),
        ("always y depends on timing", true),
        ("sometimes y at x", true),
        ("always y at x", false),
        ("always x not fails", true),
    ] {
        let (ended, verdict) = run(&folder, &format!("expect {line}\n"), &[]);
        let expected = if holds { (0, "holds") } else { (1, "fails") };
        assert_eq!((ended, answers(&verdict)), (expected.0, vec![expected.1]), "{line}: {verdict}");
    }
}

#[test]
fn what_can_happen_is_no_error_where_a_line_says_so() {
    let folder = Folder::new("expected");
    let short =
        "device gpu0 { memory = 64MiB }\nstream s\ns: x = alloc 64MiB\ns: y = alloc 64MiB\ns: free x\n";
    let check = |line: &str| {
        let file = folder.file("short.scn", format!("{short}{line}")).display().to_string();
        let output = folder.millpond(&["run", &file]);
        (status(&output), out(&output))
    };
    assert_eq!(check("").0, 1, "the second allocation fails");
    let (ended, text) = check("expect sometimes out_of_memory\n");
    assert_eq!(ended, 0, "{text}");
    assert_eq!(check("expect never out_of_memory\n").0, 1);
    assert_eq!(check("expect sometimes no out_of_memory\n").0, 1, "it does not speak of it");
}

#[test]
fn at_the_limit_a_line_is_undecided_unless_a_run_has_settled_it() {
    let folder = Folder::new("undecided");
    let file = |lines: &str| folder.file("one.scn", format!("{TWO_WAYS}{lines}")).display().to_string();
    // The first run has made 6 or 7 calls by its end, and has y where nothing is reused.
    let few = ["--limit", "7"];
    for (lines, ended, expected) in [
        ("expect always no findings\n", 3, vec!["undecided"]),
        ("expect sometimes y reuses x\n", 3, vec!["undecided"]),
        ("expect never out_of_memory\n", 3, vec!["undecided"]),
        ("expect always p.reserved_high == 64MiB\n", 1, vec!["fails"]),
        ("expect sometimes y not reuses x\n", 0, vec!["holds"]),
        ("expect sometimes y not reuses x\nexpect always no findings\n", 3, vec!["holds", "undecided"]),
        ("expect always y reuses x\nexpect always no findings\n", 1, vec!["fails", "undecided"]),
    ] {
        let (status_of_run, verdict) = run(&folder, lines, &few);
        assert_eq!((status_of_run, answers(&verdict)), (ended, expected), "{lines}");
        assert_eq!(verdict["holds"], ended == 0, "{lines}");
        let tested = folder.millpond(&[&["test", &file(lines)], &few[..]].concat());
        assert_eq!(status(&tested), ended, "{lines}: {}", out(&tested));
        let word = ["ok    ", "FAIL  ", "", "open  "][ended as usize];
        assert!(out(&tested).starts_with(word), "{}", out(&tested));
    }
    // Another line that fails is known to fail.
    let output = folder
        .millpond(&[&["run", &file("expect always no findings\nexpect p.used == 1B\n")], &few[..]].concat());
    assert_eq!(status(&output), 1);
    let text = out(&folder.millpond(&[&["run", &file("expect always no findings\n")], &few[..]].concat()));
    assert!(text.contains("\nundecided: 1 of 1 expectation undecided"), "{text}");
    assert!(text.contains("the limit of 7 calls is reached, --limit takes a larger one"), "{text}");

    // Several scenarios: one that fails is worse than one that is undecided.
    let failing =
        folder.file("failing.scn", format!("{TWO_WAYS}expect p.used == 1B\n")).display().to_string();
    let undecided = file("expect always no findings\n");
    let junit = folder.file("junit.xml", "").display().to_string();
    let output = folder.millpond(&["test", &undecided, &failing, "--limit", "9", "--junit", &junit]);
    assert_eq!(status(&output), 1, "{}", out(&output));
    assert!(out(&output).ends_with("\n0 passed, 1 failed, 1 undecided\n"), "{}", out(&output));
    let xml = fs::read_to_string(&junit).expect("it is written");
    assert!(
        xml.contains("type=\"undecided\"") && xml.contains("errors=\"1\"") && xml.contains("failures=\"1\""),
        "{xml}"
    );

    // How long something took, no search can say.
    let timed = "event e, f\nfirst: record e\nfirst: record f\nsync first\nlet t = elapsed e to f\nexpect always t >= 0ns\n";
    assert_eq!(run(&folder, timed, &[]).0, 3);
}

#[test]
fn a_run_that_settles_a_line_is_shown_again() {
    let folder = Folder::new("shown");
    let lines = "expect always p.reserved_high <= 100MiB\nexpect sometimes y reuses x\n";
    let (ended, verdict) = run(&folder, lines, &[]);
    assert_eq!(ended, 1);
    let file = folder.file("one.scn", format!("{TWO_WAYS}{lines}")).display().to_string();
    let of = |nth: usize| &verdict["expectations"][nth]["timings"];
    assert_eq!(of(0)["first"]["values"]["left"], 128 << 20);
    for (nth, reserved) in [(0, "134217728"), (1, "67108864")] {
        let schedule = of(nth)["schedule"].as_str().expect("a word");
        let replay = || folder.millpond(&["replay", schedule, &file, "--format", "json"]);
        let text = out(&replay());
        assert_eq!(text, out(&replay()));
        assert!(text.contains(&format!("\"reserved_high\":{reserved}")), "{schedule}: {text}");
        let last: Value = serde_json::from_str(text.lines().last().expect("a verdict")).expect("an object");
        assert_eq!(answers(&last), ["not_settled"; 2], "a single run settles nothing");
    }
    let shown = out(&folder.millpond(&["run", &file]));
    let command = format!("        millpond replay {} {file}\n", of(0)["schedule"].as_str().expect("a word"));
    assert!(shown.contains("a counterexample:\n") && shown.contains(&command), "{shown}");
    assert!(
        shown.contains("Timings: every one of this model and profile, whatever takes how long"),
        "{shown}"
    );
    let tested = out(&folder.millpond(&["test", &file]));
    let counterexample = of(0)["schedule"].as_str().expect("a word");
    assert!(tested.contains(&format!("against 100MiB: millpond replay {counterexample} ")), "{tested}");

    let sarif = |more: &[&str]| -> (i32, Value) {
        let output: Output = folder.millpond(&[&["run", &file, "--format", "sarif"], more].concat());
        (status(&output), serde_json::from_str(&out(&output)).expect("a document"))
    };
    let levels = |document: &Value| -> BTreeSet<(String, String)> {
        let results = document["runs"][0]["results"].as_array().expect("a list").clone();
        let word = |value: &Value| value.as_str().expect("a word").to_owned();
        let results = results.iter().filter(|result| result["suppressions"] == Value::Array(Vec::new()));
        results.map(|result| (word(&result["ruleId"]), word(&result["level"]))).collect()
    };
    let of = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    let (ended, document) = sarif(&[]);
    assert_eq!((ended, levels(&document)), (1, of(&[("expectation", "error")])));
    let (ended, document) = sarif(&["--limit", "3"]);
    assert_eq!((ended, levels(&document)), (3, of(&[("undecided", "warning")])));
}

#[test]
fn the_page_has_the_fields() {
    let page =
        fs::read_to_string(format!("{}/docs/formats.md", env!("CARGO_MANIFEST_DIR"))).expect("it is there");
    let part =
        page.split("\n### timings of an expectation\n").nth(1).and_then(|part| part.split("\n### ").next());
    let rows = part.expect("a part").lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let fields: BTreeSet<String> = rows.map(str::to_owned).collect();
    let folder = Folder::new("fields");
    let mut seen = BTreeSet::new();
    for more in [&[][..], &["--limit", "3"]] {
        let (_, verdict) = run(&folder, "expect always p.reserved_high <= 100MiB\n", more);
        seen.extend(verdict["expectations"][0]["timings"].as_object().expect("fields").keys().cloned());
    }
    assert_eq!(seen, fields);
}
