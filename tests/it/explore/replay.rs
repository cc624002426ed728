//! Schedules: each repeats its run byte for byte, and none is taken for what it was not made for.

use super::{Explored, QUARTER, ROOT, TIE, TIMING, explore, millpond};
use crate::cli::{Folder, err, in_one_line, out, status};
use millpond::syntax::{bare, format};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// What tells a run from others, read from its events and its verdict alone.
pub(super) fn aspects_of(run: &str) -> BTreeSet<String> {
    let lines = run.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let mut aspects = BTreeSet::new();
    let mut served = std::collections::BTreeMap::<u64, BTreeSet<String>>::new();
    for line in lines {
        match line["event"].as_str() {
            Some("decided") if line["policy"].is_string() => {
                let number = line["line"].as_u64().expect("a number");
                served.entry(number).or_default().insert(line["policy"].to_string());
            }
            Some("verdict") => {
                let list = |name: &str| line[name].as_array().cloned().unwrap_or_default();
                aspects.extend(
                    list("findings")
                        .iter()
                        .filter(|found| found["muted"] != true)
                        .map(|found| format!("finding {} {}", found["line"], found["code"])),
                );
                aspects.extend(
                    list("failed").iter().map(|call| format!("failed {} {}", call["line"], call["failure"])),
                );
                aspects.insert(format!("holds {}", line["holds"]));
            }
            _ => {}
        }
    }
    aspects.extend(served.into_iter().map(|(line, by)| format!("served {line} {by:?}")));
    aspects
}

/// The same of what an exploration says about an outcome.
pub(super) fn aspects_in(outcome: &Value) -> BTreeSet<String> {
    let aspects = outcome["aspects"].as_array().expect("a list").iter();
    let mut aspects: BTreeSet<String> = aspects
        .map(|aspect| match aspect["what"].as_str() {
            Some("served") => {
                let by = aspect["by"].as_array().expect("a list").iter().map(Value::to_string);
                format!("served {} {:?}", aspect["line"], by.collect::<BTreeSet<_>>())
            }
            _ => {
                format!("{} {} {}", aspect["what"].as_str().expect("a word"), aspect["line"], aspect["code"])
            }
        })
        .filter(|aspect| !aspect.starts_with("mismatch"))
        .collect();
    aspects.insert(format!("holds {}", outcome["holds"]));
    aspects
}

#[test]
fn each_outcome_is_shown_again_by_its_schedule() {
    let folder = Folder::new("replay");
    let small = fs::read_to_string(format!("{ROOT}/profiles/default.ron")).expect("it is there");
    let small = folder.file("my profile.ron", small.replace("growth: \"32MiB\"", "growth: \"4MiB\""));
    let small = small.display().to_string();
    let twins = "scenarios/reuse/follow_event/twins.scn";
    for (file, more) in [
        (QUARTER, &[][..]),
        (QUARTER, &["--jitter", "30%"]),
        (QUARTER, &["--profile", "small_card"]),
        (QUARTER, &["--profile", &small]),
        (QUARTER, &["--model", "oxicuda"]),
        (TIE, &["--base-seed", "18446744073709551615"]),
        (TIMING, &[]),
        (twins, &["--variant", "off"]),
        ("scenarios/hazards/use_after_free.scn", &["--jitter", "50%"]),
    ] {
        let explored = explore(&[&[file, "--seeds", "40"], more].concat());
        let has_file = more.contains(&small.as_str());
        let own = if has_file { more } else { &[] };
        for outcome in &explored.outcomes {
            let schedule = outcome["schedule"].as_str().expect("a word");
            let replay = |format| {
                let arguments = [&["replay", schedule, file, "--format", format], own].concat();
                let output = millpond(&arguments);
                assert!(status(&output) <= 1, "{schedule}: {}", err(&output));
                (status(&output), out(&output))
            };
            let (ended, lines) = replay("json");
            assert_eq!(ended == 0, outcome["holds"] == true, "{schedule}");
            assert_eq!(aspects_of(&lines), aspects_in(outcome), "{schedule}");
            let seed = outcome["seed"].to_string();
            let others: Vec<&str> = more.iter().copied().filter(|word| *word != "--base-seed").collect();
            let others: Vec<&str> =
                others.into_iter().filter(|word| !word.starts_with("1844674407")).collect();
            for format in ["text", "json", "csv"] {
                let arguments = [&["run", file, "--seed", &seed, "--format", format], others.as_slice()];
                assert_eq!(replay(format).1, out(&millpond(&arguments.concat())), "{schedule}");
            }
        }
        // As people are told it.
        let text = out(&millpond(&[&["explore", file, "--seeds", "40"], more].concat()));
        for outcome in explored.outcomes.iter().take(3) {
            let schedule = outcome["schedule"].as_str().expect("a word");
            let profile = if has_file { format!(" --profile '{small}'") } else { String::new() };
            let command = format!("     millpond replay {schedule} {file}{profile}\n");
            assert!(text.contains(&command), "{command}: {text}");
        }
    }
}

#[test]
fn comments_and_form_do_not_matter_to_a_schedule() {
    let folder = Folder::new("form");
    let text = fs::read_to_string(format!("{ROOT}/{QUARTER}")).expect("it is there");
    let file = folder.file("one.scn", &text).display().to_string();
    let Explored { outcomes, .. } = explore(&[&file, "--seeds", "5"]);
    let schedule = outcomes[0]["schedule"].as_str().expect("a word").to_owned();
    let replay = |text: &str| {
        folder.file("one.scn", text);
        millpond(&["replay", &schedule, &file])
    };
    let whole = out(&replay(&text));
    let told =
        format!("# more\n\n{}", text.replace("\nfirst: ", "\n\nfirst:    ").replace("MiB\n", "MiB # so\n"));
    assert_eq!(status(&replay(&told)), 0);
    assert_ne!(out(&replay(&told)), whole, "its lines have other numbers");
    assert_eq!(out(&replay(&format(&text).expect("it has no mistake"))), whole);
    let said = |text: &str| {
        let output = replay(text);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""));
        in_one_line(&err(&output))
    };
    for (old, new) in [("2us", "3us"), ("second: free y\n", ""), ("128MiB", "129MiB"), ("64MiB", "64KiB")] {
        assert!(said(&text.replace(old, new)).contains("the scenario has changed since"), "{old}");
    }
}

/// The statements of every shipped scenario are the same whatever their form is.
#[test]
fn the_statements_of_a_text_do_not_depend_on_its_form() {
    let mut count = 0;
    let files = millpond::cli::find(&[std::path::PathBuf::from(format!("{ROOT}/scenarios"))]);
    for path in files.expect("the scenarios are there") {
        let text = fs::read_to_string(&path).expect("a text");
        let Ok(formatted) = format(&text) else { continue };
        assert_eq!(bare(&text), bare(&formatted), "{}", path.display());
        assert_eq!(bare(&bare(&text)), bare(&text), "{}", path.display());
        assert!(!bare(&text).lines().any(|line| line.trim().is_empty() || line.trim().starts_with('#')));
        count += 1;
    }
    assert!(count > 100);
}

#[test]
fn a_schedule_that_does_not_belong_is_refused_with_the_reason() {
    let Explored { outcomes, .. } = explore(&[QUARTER, "--seeds", "5", "--jitter", "5%"]);
    let whole = outcomes[0]["schedule"].as_str().expect("a word").to_owned();
    let parts: Vec<&str> = whole.split(':').collect();
    let [version, text, model, profile, strategy, seed, jitter] = parts.as_slice() else {
        panic!("{whole} has other parts");
    };
    let with = |at: usize, part: &str| {
        let mut parts = parts.clone();
        parts[at] = part;
        parts.join(":")
    };
    assert!(version.starts_with("millpond-") && (*model, *strategy, *seed) == ("cuda", "random", "0"));
    assert_eq!(*jitter, "jitter=5%");
    let cases = [
        (with(0, "millpond-0.0.1"), "it was made by millpond 0.0.1, and this is "),
        (with(1, "00000000"), "the scenario has changed since"),
        (
            with(3, "default-00000000"),
            "it was made with the profile `default`, and this one has other settings",
        ),
        (with(3, "file-00000000"), "name that file with --profile"),
        (with(0, "shuttle-0.1"), "`shuttle-0.1` is not a version of Millpond"),
        (with(0, "millpond-"), "`millpond-` is not a version of Millpond"),
        (with(1, text.to_uppercase().as_str()).replace(text, "0x12"), "is not the hash of a scenario"),
        (with(1, "123"), "`123` is not the hash of a scenario"),
        (with(2, "hip"), "`hip` is not a model"),
        (with(3, "default"), "`default` is not a profile with its hash"),
        (with(3, &profile.replace("default", "other")), "is not a profile with its hash"),
        (with(4, "luck"), "`luck` is not a strategy"),
        (with(4, "pct"), "`pct` is not a strategy such as"),
        (with(4, "pct-0"), "`pct-0` is not a strategy"),
        (with(4, "pct-03"), "`pct-03` is not a strategy"),
        (with(4, "pct-256"), "`pct-256` is not a strategy"),
        (with(4, "random-3"), "`random-3` is not a strategy"),
        (with(5, "-1"), "`-1` is not a seed"),
        (with(5, "+1"), "`+1` is not a seed"),
        (with(5, "18446744073709551616"), "is not a seed"),
        (with(6, "jitter=0%"), "is not a jitter"),
        (with(6, "jitter=101%"), "is not a jitter"),
        (with(6, "jitter"), "is not a part such as"),
        (with(6, ""), "`` is not a part such as"),
        (format!("{whole}:jitter=5%"), "`jitter=5%` is not a part such as"),
        (format!("{whole}:variant="), "is not a part such as"),
        (format!("{whole}:variant=off"), "has no variants"),
        (parts[..5].join(":"), "it has 5 of the parts"),
        ("42".to_owned(), "it has 1 of the parts"),
        (String::new(), "it has 1 of the parts"),
    ];
    let folder = Folder::new("stale");
    let kept = folder.file("kept.txt", "kept").display().to_string();
    for (schedule, reason) in cases {
        let output = millpond(&["replay", &schedule, QUARTER, "-o", &kept]);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{schedule}");
        assert!(in_one_line(&err(&output)).contains(reason), "{schedule}: {}", err(&output));
        assert_eq!(fs::read_to_string(&kept).expect("it is there"), "kept");
    }
    // A profile of another name and other settings.
    let other = millpond(&["replay", &whole, QUARTER, "--profile", "small_card"]);
    assert!(
        status(&other) == 2 && in_one_line(&err(&other)).contains("this one has other settings"),
        "{}",
        err(&other)
    );
    assert_eq!(status(&millpond(&["replay", &whole, QUARTER])), 0, "as it is, it is taken");
    assert_eq!(status(&millpond(&["replay", &whole, "missing.scn"])), 2);
}
