//! What `compare --backend cuda` says beside the differences, and what it refuses.

use crate::command::{Ran, millpond, scenario};
use simulated_driver::VARIABLE;
use std::path::PathBuf;

fn compare(file: &str, input: &str, more: &[&str]) -> Ran {
    millpond(&[&["compare", file, "--backend", "cuda"], more].concat(), input, &[])
}

/// The last line of `--format json`.
fn summary(file: &str, input: &str, more: &[&str]) -> String {
    let ran = compare(file, input, &[&["--format", "json"], more].concat());
    ran.out.lines().last().unwrap_or_default().to_owned()
}

/// How many overlaps the data have.
fn overlaps(file: &str, input: &str) -> u64 {
    let summary = summary(file, input, &[]);
    let all = summary.split_once(r#""overlaps":["#).map_or("", |(_, overlaps)| overlaps);
    all.matches(r#""expected":"#).count() as u64
}

/// Writers in two streams without an order, in so many lines each, and each line so often.
fn writers(lines: usize, turns: usize) -> String {
    let declared = "stream a, b\nkernel fill(out: write) takes 10us\na: x = alloc 1MiB\nsync a\n";
    let meeting = "a: fill(x)\nb: fill(x)\n".repeat(lines);
    format!("{declared}repeat i in 0..{turns} {{\n{meeting}}}\nsync gpu0\na: free x\n")
}

/// In `text`, how often each overlap is told of.
fn told(text: &str) -> Vec<u64> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("error[overlap]: line "));
    let often = lines.map(|line| match line.split_once(": ").and_then(|(line, _)| line.split_once(" x ")) {
        Some((_, times)) => times.parse().expect("it is a number"),
        None => 1,
    });
    often.collect()
}

/// `docs/compare.md`: whatever is allowed, and the last lines begin with their number.
#[test]
fn overlaps_fail_and_are_counted() {
    let file = scenario("hazards/race.scn");
    for allow in ["unspecified", "differs"] {
        let ran = compare(&file, "", &["--allow", allow]);
        assert_eq!((ran.status, ran.err.as_str()), (1, ""), "{}", ran.out);
        assert!(ran.out.contains("\n1 overlap, no difference: "), "{}", ran.out);
    }
    let text = writers(1, 40);
    let ran = compare("-", &text, &[]);
    let all = overlaps("-", &text);
    assert!(all > 40, "{all}");
    assert_eq!(told(&ran.out).iter().sum::<u64>(), all, "{}", ran.out);
    assert!(told(&ran.out).len() <= 8 && !ran.out.contains(".. and"), "{}", ran.out);
    assert!(ran.out.contains(&format!("\n{all} overlaps, no difference: ")), "{}", ran.out);
}

#[test]
fn overlaps_that_are_left_out_are_counted_too() {
    let text = writers(12, 3);
    let ran = compare("-", &text, &[]);
    let all = overlaps("-", &text);
    let shown = told(&ran.out);
    assert_eq!(shown.len(), 8, "{}", ran.out);
    let rest = all - shown.iter().sum::<u64>();
    assert!(
        ran.out.contains(&format!("    .. and {rest} more overlaps; --format json has all\n")),
        "{}",
        ran.out
    );
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
}

/// `docs/compare.md`, "On hardware": three causes, each in a scenario that has it alone, and none where nothing differs.
#[test]
fn what_the_backend_does_otherwise_is_noted() {
    for (name, word, said) in [
        (
            "threads/host_function",
            "signal_of_a_function",
            "note: a host thread awaits the signal of a function",
        ),
        ("ipc/not_observed_by_others", "one_process", "note: all processes share the one of the driver"),
        ("oxicuda/double_free", "second_free", "note: a driver knows memory by its address"),
    ] {
        let file = scenario(&format!("{name}.scn"));
        let ran = compare(&file, "", &[]);
        assert_eq!((ran.status, ran.out.matches("note: ").count()), (1, 1), "{name}: {}", ran.out);
        assert!(ran.out.contains(said) && ran.out.contains("(docs/hardware.md)\n"), "{name}: {}", ran.out);
        let notes = format!(r#""notes":["{word}"]"#);
        assert!(summary(&file, "", &[]).contains(&notes), "{name}");
    }
    let ran = compare("-", "stream s\ns: host signal done\nawait done\n", &[]);
    assert_eq!((ran.status, ran.out.contains("note: ")), (0, false), "{}", ran.out);
    // What differs for another reason has no such note.
    let differs = "stream s\npool p\ns: x = alloc 1MiB from p\nsync s\ns: free x\n";
    let fault = [(VARIABLE, "wrong_attribute")];
    let ran = millpond(&["compare", "-", "--backend", "cuda"], differs, &fault);
    assert_eq!((ran.status, ran.out.contains("note: ")), (1, false), "{}", ran.out);
}

#[test]
fn a_run_that_stops_on_hardware_says_why() {
    let arguments = ["compare", &scenario("profile/remapped_parts_go_back.scn"), "--backend", "cuda"];
    let fault = [(VARIABLE, "sync_observes_nothing")];
    let ran = millpond(&arguments, "", &fault);
    assert_eq!((ran.status, ran.err.as_str()), (1, ""), "{}", ran.out);
    assert!(ran.out.contains("\nerror: the right side stopped at line 22: "), "{}", ran.out);
    assert!(ran.out.contains("\nthe right side stopped early, "), "{}", ran.out);
    let json = millpond(&[&arguments[..], &["--format", "json"]].concat(), "", &fault);
    assert!(json.out.contains(r#""right_stopped":{"line":22,"reason":"the allocation of"#), "{}", json.out);
    assert!(json.err.starts_with("error: ") && json.err.contains("stopped at line 22"), "{}", json.err);
}

/// `docs/hardware.md`, "What is not run".
#[test]
fn a_run_that_is_too_long_is_no_fault_of_a_line() {
    let text = "stream s\nrepeat i in 0..2000000 {\n  sync s\n}\n";
    let ran = millpond(&["run", "-", "--backend", "cuda"], text, &[]);
    assert_eq!((ran.status, ran.out.as_str()), (3, ""), "{}", ran.err);
    assert!(ran.err.contains("too long for hardware"), "{}", ran.err);
}

/// `docs/compare.md`, "On hardware".
#[test]
fn what_does_nothing_on_hardware_is_refused() {
    let file = scenario("guide/opportunistic.scn");
    for with in [
        "model=oxicuda",
        "model=cuda",
        "profile=small_card",
        "profile.growth=2MiB",
        "gpu0.memory=64GiB",
        "gpu0.driver=12.4",
        "gpu0.memory_pools=off",
        "gpu0.oversubscribe=on",
    ] {
        let ran = compare(&file, "", &["--with", with]);
        assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{with}: {}", ran.err);
        assert!(
            ran.err.starts_with(&format!("error: --with {with} does nothing on hardware")),
            "{}",
            ran.err
        );
        let ran = compare(&file, "", &["--set", with]);
        assert!(ran.status <= 1 && ran.err.is_empty(), "{with}: {}", ran.err);
    }
    for with in ["seed=3", "variant=", "gpu0.default_pool.release_threshold=max"] {
        let ran = compare(&file, "", &["--with", with]);
        assert!(ran.status <= 1 && ran.err.is_empty(), "{with}: {}", ran.err);
    }
    let ran = millpond(&["run", &file, "--backend", "cuda", "--model", "oxicuda"], "", &[]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.starts_with("error: --model does nothing on hardware"), "{}", ran.err);
    let ran = millpond(&["run", &file, "--observe", "every"], "", &[]);
    assert_eq!((ran.status, ran.out.as_str()), (2, ""), "{}", ran.err);
    assert!(ran.err.starts_with("error: --observe is about a run on hardware"), "{}", ran.err);
}

/// A scenario that is wrong or refused is told of, and no profile is written then.
#[test]
fn a_profile_is_written_for_a_scenario_that_runs() {
    let file = std::env::temp_dir().join(format!("millpond-not-measured-{}.ron", std::process::id()));
    let name = file.display().to_string();
    let graph = std::fs::read_to_string(scenario("graphs/auto_free.scn")).expect("it is there");
    let long = "repeat i in 0..2000000 {\n  sleep 1ns\n}\n";
    let basic = "stream s\n";
    let cases: [(&str, &[&str], i32, &str); 7] = [
        ("strem s\n", &["--calibrate", &name], 2, "unknown_statement"),
        (basic, &["--calibrate", &name, "--with", "variant=off"], 2, "has no variants"),
        (&graph, &["--calibrate", &name], 3, "not_on_hardware"),
        (long, &["--calibrate", &name], 3, "too long to be compared"),
        (basic, &["--calibrate", "-"], 2, "error: --calibrate writes a profile to a file"),
        (basic, &["--calibrate", &name, "-o", &name], 2, "error: --calibrate and --output both name"),
        (basic, &["--calibrate", &name, "--profile", "default"], 2, "cannot be used with"),
    ];
    for (text, arguments, status, said) in cases {
        let ran = compare("-", text, arguments);
        assert_eq!((ran.status, ran.out.as_str()), (status, ""), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
        assert!(!file.exists() && !PathBuf::from("-").exists(), "{arguments:?}");
    }
}
