//! `millpond compare` from outside: what it prints and how it ends.

use crate::cli::{Folder, err, in_one_line, out, status};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn millpond(arguments: &[&str]) -> (i32, String, String) {
    let folder = Folder::new("compare");
    let output = folder.command(arguments).current_dir(ROOT).output().expect("millpond starts");
    (status(&output), out(&output), err(&output))
}

fn compare(arguments: &[&str]) -> (i32, String, String) {
    millpond(&[&["compare"], arguments].concat())
}

const TIMING: &str = "scenarios/reuse/opportunistic/depends_on_timing.scn";
const FOLLOW_EVENT: &str = "scenarios/guide/follow_event.scn";

#[test]
fn the_status_says_whether_there_is_a_difference() {
    let (status, text, said) = compare(&[FOLLOW_EVENT, "--with", "seed=3"]);
    assert_eq!((status, said.as_str()), (0, ""), "{text}");
    assert!(text.contains("no difference: 10 calls, 2 allocations"), "{text}");
    assert_eq!(compare(&[TIMING, "--with", "seed=6"]).0, 1);
    assert_eq!(compare(&[TIMING, "--with", "seed=6", "--allow", "timing"]).0, 0);
    assert_eq!(compare(&[FOLLOW_EVENT, "--with", "model=oxicuda", "--allow", "timing"]).0, 1);
    assert_eq!(compare(&[FOLLOW_EVENT, "--with", "model=oxicuda", "--allow", "differs"]).0, 0);
}

/// Whatever `run --set` knows; a value that puts a line into the text moves the others.
#[test]
fn either_side_takes_other_values() {
    for with in [
        "gpu0.memory=64GiB",
        "profile=small_card",
        "profile.unused_first=on",
        "gpu0.default_pool.release_threshold=max",
    ] {
        let (status, text, said) = compare(&["scenarios/reuse/relations.scn", "--with", with]);
        assert!(status <= 1 && said.is_empty(), "{with}: {said}");
        assert!(!text.contains("on the left only"), "{with}: {text}");
    }
    let set = ["--set", "scratch.follow_event=off"];
    let (status, text, _) =
        compare(&[&[FOLLOW_EVENT], &set[..], &["--with", "scratch.follow_event=on"]].concat());
    assert_eq!(status, 1);
    assert!(text.contains("line 16: consumer: y = alloc 64MiB from scratch"), "{text}");
    let (status, text, _) = compare(&[&[FOLLOW_EVENT], &set[..], &["--with", "seed=1"]].concat());
    assert_eq!((status, text.contains("no difference")), (0, true), "{text}");
    let twins = "scenarios/reuse/follow_event/twins.scn";
    let (there, back) = (
        compare(&[twins, "--with", "variant=off"]).1,
        compare(&[twins, "--variant", "off", "--with", "variant="]).1,
    );
    assert!(
        there.contains("left   reuses a (line 12)") && back.contains("right  reuses a (line 12)"),
        "{back}"
    );
}

#[test]
fn mistakes_are_told() {
    let cases: &[(&[&str], &str)] = &[
        (&[FOLLOW_EVENT], "give --with seed=N, model=MODEL"),
        (&[FOLLOW_EVENT, "--with", "seed=x"], "a seed is a whole number"),
        (&[FOLLOW_EVENT, "--with", "variant=off"], "has no variants"),
        (&[FOLLOW_EVENT, "--with", "model=cude"], "cude"),
        (&[FOLLOW_EVENT, "--with", "profile=none"], "there is no profile `none`"),
        (&[FOLLOW_EVENT, "--with", "scratch.follow_event"], "--with"),
        (&[FOLLOW_EVENT, "--with", "scratch.follow_evnt=off"], "--with"),
        (&[FOLLOW_EVENT, "--with", "scratch.release_threshold=1"], "--with"),
        (&[FOLLOW_EVENT, "--with", "scratch.follow_event=on,off"], "--with takes one value"),
        (
            &[FOLLOW_EVENT, "--set", "scratch.follow_event=on,off", "--with", "seed=1"],
            "--set takes one value",
        ),
        (&[FOLLOW_EVENT, "--with", "model=cuda", "--with", "model=oxicuda"], "`model` is given 2"),
        (&[FOLLOW_EVENT, "--with", "model=cuda,oxicuda"], "`model` is given 2"),
        (&[FOLLOW_EVENT, "--with", "seed=1", "--with", "seed=2"], "`seed` is given 2"),
        (
            &[FOLLOW_EVENT, "--with", "variant=", "--with", "seed=1", "--with", "variant="],
            "`variant` is given 2",
        ),
        (
            &[FOLLOW_EVENT, "--set", "model=cuda", "--set", "model=cuda", "--with", "seed=1"],
            "--set takes one value for each name, and `model` is given 2",
        ),
        (&[FOLLOW_EVENT, "--with", ""], "--with '' sets nothing: write NAME=VALUE"),
        (&[FOLLOW_EVENT, "--with", "seed=1", "--observe", "every"], "give --backend cuda with it"),
        (&[FOLLOW_EVENT, "--with", "seed=1", "--calibrate", "new.ron"], "give --backend cuda with it"),
        (&["nothing.scn", "--with", "seed=1"], "no such file"),
        (&["scenarios/invalid/unknown_name.scn", "--with", "seed=1"], "unknown_name"),
    ];
    for (arguments, expected) in cases {
        let (status, text, said) = compare(arguments);
        assert_eq!((status, text.as_str()), (2, ""), "{arguments:?}: {said}");
        let said = in_one_line(&said);
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn a_run_that_is_too_long_is_refused() {
    let folder = Folder::new("compare");
    folder.file("long.scn", "repeat i in 0..2000000 {\n  sleep 1ns\n}\n");
    let output = folder.millpond(&["compare", "long.scn", "--with", "seed=1"]);
    assert_eq!(status(&output), 3);
    let said = in_one_line(&err(&output));
    assert!(said.contains("too long to be compared: 1,000,000 are the most"), "{said}");
}

#[test]
fn the_report_is_as_wide_as_a_page() {
    for file in
        ["guide/follow_event", "oxicuda/two_pools", "readme", "reuse/relations", "reuse/internal/twins"]
    {
        for with in ["model=oxicuda", "profile=small_card", "seed=7"] {
            let (_, text, _) = compare(&[&format!("scenarios/{file}.scn"), "--with", with]);
            let wide = text.lines().find(|line| line.chars().count() > 80);
            assert_eq!(wide, None, "{file}, {with}");
            assert!(text.contains("compared"), "{text}");
            assert_eq!(
                text,
                compare(&[&format!("scenarios/{file}.scn"), "--with", with]).1,
                "the same again"
            );
        }
    }
}

#[test]
fn a_file_appears_once_it_is_whole() {
    let folder = Folder::new("compare");
    let file = format!("{ROOT}/{FOLLOW_EVENT}");
    let output = folder.millpond(&["compare", &file, "--with", "model=oxicuda", "-o", "out.txt"]);
    assert_eq!((status(&output), out(&output).as_str()), (1, ""));
    let text = fs::read_to_string(folder.path("out.txt")).expect("it is written");
    assert!(text.contains("line 16: consumer: y = alloc 64MiB from scratch"), "{text}");
}

/// Of so many pairs some end the other way round.
const ENDS: &str = "\
stream a, b
repeat i in 0..50 {
  a: host takes 1us..100us
  b: host takes 1us..100us
  sync gpu0
}
";

/// A wait that the allocator inserts makes ready what the stream was not ordered after.
const READY: &str = "\
device gpu0 { memory = 64MiB }
pool p { reuse = [internal] }
stream a, b
kernel work(x: write) takes 10us
a: y = alloc 1MiB
a: x = alloc 32MiB from p
a: work(x)
a: free x
b: w = alloc 32MiB from p or_fails out_of_memory
expect y ready on b
";

/// The fields of each part of the page, without those of objects in them.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let page = fs::read_to_string(format!("{ROOT}/docs/formats.md")).expect("the page is there");
    let part = page.split("\n## Comparisons").nth(1).expect("it has a part about comparisons");
    let mut fields = BTreeMap::<String, BTreeSet<String>>::new();
    let mut section = String::new();
    for line in part.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            section = title.to_owned();
        }
        if let Some((field, _)) = line.strip_prefix("| `").and_then(|row| row.split_once('`')) {
            fields.entry(section.clone()).or_default().insert(field.to_owned());
        }
    }
    fields
}

#[test]
fn the_page_has_every_field_that_is_printed() {
    let mut printed = BTreeMap::<String, BTreeSet<String>>::new();
    let mut see = |section: &str, value: &Value| {
        let keys = value.as_object().expect("an object").keys().cloned();
        printed.entry(section.to_owned()).or_default().extend(keys);
    };
    let made: &[&[&str]] = &[
        &["scenarios/reuse/internal/twins.scn", "--with", "variant=off"],
        &["scenarios/reuse/internal/twins.scn", "--with", "model=oxicuda"],
        &[TIMING, "--with", "seed=6"],
        &["scenarios/readme.scn", "--with", "model=oxicuda"],
        &["scenarios/oxicuda/ready_in_its_own_stream.scn", "--with", "model=cuda"],
        &["scenarios/oxicuda/ready_by_a_foreign_event.scn", "--with", "model=cuda"],
        &["scenarios/explore/who_calls_first.scn", "--with", "seed=1"],
        &["scenarios/explore/who_calls_first.scn", "--with", "seed=2"],
        &["scenarios/threads/workers.scn", "--with", "seed=1"],
        &[STOPS, "--set", "profile.remap=off", "--with", "seed=1"],
    ];
    let folder = Folder::new("compare");
    let own = [
        ("ends.scn", ENDS, "seed=1"),
        (
            "thread.scn",
            "device gpu0 { memory = 1GiB }\nthread t {\n  x = malloc 2GiB else out_of_memory {\n    sleep 1us\n  }\n}\n",
            "gpu0.memory=4GiB",
        ),
        ("ready.scn", READY, "p.internal=off"),
    ];
    let mut texts: Vec<String> =
        made.iter().map(|made| compare(&[made, &["--format", "json"][..]].concat()).1).collect();
    for (name, text, with) in own {
        folder.file(name, text);
        let output = folder.millpond(&["compare", name, "--with", with, "--format", "json"]);
        assert_eq!(err(&output), "", "{name}");
        texts.push(out(&output));
    }
    for text in &texts {
        let lines: Vec<Value> =
            text.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
        let [header, differences @ .., summary] = &lines[..] else { panic!("{text}") };
        see("header of a comparison", header);
        see("side of a comparison", &header["left"]);
        see("side of a comparison", &header["right"]);
        see("summary of a comparison", summary);
        for stopped in ["left_stopped", "right_stopped"].iter().filter_map(|side| summary.get(side)) {
            see("stop of a side", stopped);
        }
        assert_eq!(summary["differences"], differences.len());
        for difference in differences {
            see("difference", difference);
            for side in ["left", "right"] {
                see("side of a difference", &difference[side]);
                for reused in difference[side]["reuses"].as_array().into_iter().flatten() {
                    see("reused block", reused);
                }
            }
        }
    }
    // Those of hardware: `crates/millpond-simulated` has a run there.
    for (section, fields) in
        [("side of a comparison", &["hardware"][..]), ("summary of a comparison", &["notes", "overlaps"])]
    {
        printed.entry(section.to_owned()).or_default().extend(fields.iter().map(ToString::to_string));
    }
    assert_eq!(printed, documented());
}

/// Two things that are not the same do not look the same, in text or as data.
#[test]
fn the_two_sides_of_a_difference_are_told_apart() {
    for (file, with) in [
        ("guide/usage_statistics", "model=oxicuda"),
        ("threads/workers", "seed=1"),
        ("threads/five_threads", "seed=1"),
        ("explore/who_calls_first", "seed=2"),
    ] {
        let file = format!("scenarios/{file}.scn");
        let (_, text, _) = compare(&[&file, "--with", with]);
        let blocks: Vec<&str> = text.split("\n\n").filter(|block| block.starts_with("line ")).collect();
        assert!(!blocks.is_empty(), "{text}");
        for block in blocks {
            let (before, right) = block.split_once("\n  right").expect("two sides");
            let (_, left) = before.split_once("\n  left").expect("two sides");
            assert_ne!(left.trim(), right.trim(), "{file}: {block}");
        }
        let (_, json, _) = compare(&[&file, "--with", with, "--format", "json"]);
        for line in json.lines() {
            let line: Value = serde_json::from_str(line).expect("an object");
            assert!(line.get("class").is_none() || line["left"] != line["right"], "{file}: {line}");
        }
    }
}

/// The model of oxicuda counts multiples of the alignment, `docs/oxicuda.md`; 40 MiB either way.
#[test]
fn figures_are_exact_where_rounding_would_hide_a_difference() {
    let (_, text, _) = compare(&["scenarios/guide/usage_statistics.scn", "--with", "model=oxicuda"]);
    assert!(text.contains("\n  left   41,944,040 B\n  right  41,944,064 B\n"), "{text}");
    let (_, text, _) = compare(&[FOLLOW_EVENT, "--with", "model=oxicuda"]);
    assert!(text.contains("\n  left   64 MiB\n  right  128 MiB\n"), "{text}");
}

#[test]
fn the_thread_of_what_is_named_is_told() {
    let (_, text, _) = compare(&["scenarios/threads/five_threads.scn", "--with", "seed=1"]);
    let ends = text.lines().find(|line| line.contains("ends before line 16")).unwrap_or_default();
    assert!(ends.starts_with("  ") && ends.contains("ends before line 16 in apart["), "{text}");
    let file = "scenarios/threads/workers.scn";
    let (_, json, _) = compare(&[file, "--with", "seed=1", "--format", "json"]);
    let memory = json.lines().find(|line| line.contains(r#""what":"memory""#)).expect("one is there");
    let memory: Value = serde_json::from_str(memory).expect("an object");
    let thread = |side: &str| memory[side]["reuses"][0]["thread"].as_str().map(str::to_owned);
    assert!(thread("left").is_some_and(|thread| thread.starts_with("worker[")), "{memory}");
    assert_ne!(thread("left"), thread("right"), "{memory}");
}

/// An address is read of an allocation that has failed on one side.
const STOPS: &str = "scenarios/profile/remapped_parts_go_back.scn";

#[test]
fn a_run_that_stops_early_says_why() {
    let reason = "the allocation of this buffer failed, so that it has no address";
    let with = [STOPS, "--with", "profile.remap=off"];
    let (status, text, _) = compare(&with);
    assert_eq!(status, 1);
    let line = "\nerror: the right side stopped at line 22: expect new.address == at_first + 64MiB\n";
    assert!(text.contains(&format!("{line}  {reason}\n")), "{text}");
    assert!(text.contains("\nthe right side stopped early, 16 differences"), "{text}");
    let (_, json, said) = compare(&[&with[..], &["--format", "json"]].concat());
    let summary: Value = serde_json::from_str(json.lines().last().unwrap_or_default()).expect("an object");
    assert_eq!(summary["right_stopped"], serde_json::json!({ "line": 22, "reason": reason }));
    assert_eq!(summary.get("left_stopped"), None);
    assert!(said.starts_with(&format!("error: {STOPS}: the right side")), "{said}");
    assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let (status, text, _) = compare(&[STOPS, "--set", "profile.remap=off", "--with", "seed=1"]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("\nboth sides stopped early, no difference: "), "{text}");
}

/// A page has 80 columns, whether or not a terminal is known.
#[test]
fn one_line_errors_and_the_help_fit_the_page() {
    let cases: [&[&str]; 8] = [
        &["compare", FOLLOW_EVENT],
        &["compare", FOLLOW_EVENT, "--with", "model=cuda", "--with", "model=oxicuda"],
        &["compare", FOLLOW_EVENT, "--with", "profile=nowhere"],
        &["compare", "scenarios", "--with", "seed=1"],
        &["compare", "scenarios/reuse/follow_event/twins.scn", "--with", "variant=nothing_like_it"],
        &["run", "scenarios"],
        &["run", FOLLOW_EVENT, "--set", "model=cuda", "--set", "model=oxicuda"],
        &["explain", "nothing_like_this_word"],
    ];
    for arguments in cases {
        let (status, text, said) = millpond(arguments);
        assert_eq!((status, text.as_str()), (2, ""), "{arguments:?}: {said}");
        assert!(said.starts_with("error: "), "{said}");
        assert!(said.lines().skip(1).all(|line| line.starts_with("  ")), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
    for command in ["compare", "run", "explore", "test", "fix"] {
        let (_, help, _) = millpond(&[command, "--help"]);
        let wide = help.lines().find(|line| line.chars().count() > 80);
        assert_eq!(wide, None, "{command}");
    }
}
