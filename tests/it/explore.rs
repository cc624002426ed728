//! `millpond explore` and `millpond replay` from outside: the same bytes from any number of threads, shares that are known by
//! counting, a command for each outcome that shows it again, and schedules that are refused.

mod interleavings;
mod pct;
mod rare;
mod replay;
mod threads;
mod untimed;

use super::cli::{Folder, err, out, status};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Output;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

const QUARTER: &str = "scenarios/explore/a_quarter_of_the_runs.scn";
const TIE: &str = "scenarios/explore/who_calls_first.scn";
const TIMING: &str = "scenarios/reuse/opportunistic/depends_on_timing.scn";

/// Ten allocations from pools of their own, each of which is served in one of two ways that are about as likely: 1,024
/// outcomes.
fn many() -> String {
    let each = |part: &dyn Fn(usize) -> String| (0..10).map(part).collect::<String>();
    let pools = each(&|n| format!("pool p{n} {{ reuse = [opportunistic], release_threshold = max }}\n"));
    let first = each(&|n| format!("s{n}: x{n} = alloc 32MiB from p{n}\ns{n}: work(x{n})\ns{n}: free x{n}\n"));
    let second = each(&|n| format!("a: y{n} = alloc 32MiB from p{n}\n"));
    let streams = each(&|n| format!("stream s{n} non_blocking\n"));
    let kernel = "stream a non_blocking\nkernel work(x: read_write) takes 1us..19us\n";
    format!("{pools}{streams}{kernel}{first}sleep 10us\n{second}")
}

fn millpond(arguments: &[&str]) -> Output {
    let folder = Folder::new("explore");
    folder.command(arguments).current_dir(ROOT).output().expect("millpond starts")
}

/// An exploration as data: the header, the outcomes and the summary.
struct Explored {
    status: i32,
    header: Value,
    outcomes: Vec<Value>,
    summary: Value,
}

fn explore(arguments: &[&str]) -> Explored {
    let output = millpond(&[&["explore"], arguments, &["--format", "json"]].concat());
    let text = out(&output);
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("each line is an object"));
    let mut lines: Vec<Value> = lines.collect();
    assert!(lines.len() >= 2, "{text}{}", err(&output));
    let summary = lines.pop().expect("there is a last line");
    let header = lines.remove(0);
    Explored { status: status(&output), header, outcomes: lines, summary }
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

#[test]
fn threads_do_not_matter() {
    let folder = Folder::new("threads");
    let many = folder.file("many.scn", many()).display().to_string();
    for (file, more) in [
        (QUARTER, &["--seeds", "1500"][..]),
        (TIE, &["--seeds", "1500", "--base-seed", "18446744073709551000"]),
        (TIE, &["--seeds", "1500", "--strategy", "pct"]),
        (TIMING, &["--until-stable", "--jitter", "10%"]),
        (&many, &["--seeds", "1100"]),
    ] {
        for format in ["text", "json"] {
            let run = |jobs| {
                let arguments = [&["explore", file, "--format", format, "--jobs", jobs], more].concat();
                let output = millpond(&arguments);
                assert_eq!(status(&output), 0, "{}", err(&output));
                out(&output)
            };
            let one = run("1");
            assert!(!one.is_empty());
            assert_eq!(one, run(if format == "text" { "2" } else { "5" }), "{file}");
        }
    }
}

/// Four standard deviations are 4 sqrt(n p (1 - p)).
fn is_near(found: u64, runs: u64, part: u64, of: u64) -> bool {
    let (found, runs, part, of) = (u128::from(found), u128::from(runs), u128::from(part), u128::from(of));
    (found * of).abs_diff(runs * part).pow(2) <= 16 * runs * part * (of - part)
}

#[test]
fn shares_are_those_that_counting_gives() {
    let served = |explored: &Explored, line: u64, class: &str| {
        let lines = explored.summary["served"].as_array().expect("a list");
        let own = lines.iter().find(|served| served["line"] == line).expect("the line allocates");
        number(&own["by"][class])
    };
    let runs = super::budget(4_000);
    let seeds = runs.to_string();
    let quarter = explore(&[QUARTER, "--seeds", &seeds]);
    assert_eq!(quarter.outcomes.len(), 2);
    let (early, late) = (served(&quarter, 13, "opportunistic"), served(&quarter, 13, "growth"));
    assert_eq!(early + late, runs);
    assert!(is_near(early, runs, 1_000, 4_001), "{early} of {runs}");

    let tie = explore(&[TIE, "--seeds", &seeds]);
    assert_eq!(tie.outcomes.len(), 2);
    let (left, right) = (served(&tie, 10, "growth"), served(&tie, 15, "growth"));
    assert_eq!(left + right, runs);
    assert!(is_near(left, runs, 1, 2), "{left} of {runs}");

    // 1us..100us against 50us: of 99,001 durations, 49,000 are shorter.
    let timing = explore(&[TIMING, "--seeds", &seeds]);
    assert!(is_near(served(&timing, 13, "opportunistic"), runs, 49_000, 99_001));
}

#[test]
fn figures_are_spread_and_counted() {
    let quarter = explore(&[QUARTER, "--seeds", "2000", "--base-seed", "7"]);
    let reserved = &quarter.summary["reserved_high"]["p"];
    assert_eq!((number(&reserved["least"]), number(&reserved["most"])), (64 << 20, 128 << 20));
    assert_eq!(number(&reserved["p50"]), 128 << 20, "three quarters of the runs have that much");
    // The run ends with the host, or with the kernel that is longer than 2us.
    let end = &quarter.summary["end"];
    assert_eq!(number(&end["least"]), 2_000);
    assert!(number(&end["p99"]) <= number(&end["most"]) && number(&end["most"]) <= 5_000);
    assert!((2_850..=3_150).contains(&number(&end["p50"])), "the median of 1us to 5us is 3us: {end}");
    let runs: u64 = quarter.outcomes.iter().map(|outcome| number(&outcome["runs"])).sum();
    assert_eq!(runs, 2_000);
    // The first seeds are those of the runs themselves.
    for extreme in ["least", "most"] {
        let seed = end[format!("{extreme}_seed")].to_string();
        let run = out(&millpond(&["run", QUARTER, "--seed", &seed, "--format", "json"]));
        let verdict: Value = serde_json::from_str(run.lines().last().expect("a verdict")).expect("an object");
        assert_eq!(verdict["end"], end[extreme]);
    }
}

#[test]
fn what_is_unseen_is_estimated_from_what_was_seen_once() {
    let folder = Folder::new("unseen");
    let many = folder.file("many.scn", many()).display().to_string();
    let explored = explore(&[&many, "--seeds", "500"]);
    let runs = explored.outcomes.iter().map(|outcome| number(&outcome["runs"]));
    let once = runs.clone().filter(|runs| *runs == 1).count() as u64;
    assert!(once > 0, "there are many outcomes");
    assert_eq!(number(&explored.summary["seen_once"]), once);
    assert_eq!(number(&explored.summary["outcomes"]), runs.clone().count() as u64);
    assert!(runs.is_sorted_by(|one, next| one >= next), "those of the most runs come first");
    let first = explored.outcomes.iter().map(|outcome| number(&outcome["seed"]));
    assert_eq!(number(&explored.summary["latest_new"]), first.max().expect("there are some") + 1);
    let text = out(&millpond(&["explore", &many, "--seeds", "500"]));
    let share = format!("{}.{:02} %", once * 100 / 500, once * 10_000 / 500 % 100);
    assert!(text.contains(&share.replace(".00", "")), "{share}: {text}");
    assert!(text.contains("more outcomes, of ") && text.lines().count() <= 60, "{text}");
}

#[test]
fn until_stable_goes_as_far_as_it_says() {
    let quarter = explore(&[QUARTER, "--until-stable"]);
    let Explored { summary, status, .. } = quarter;
    assert_eq!((status, summary["ended"].as_str(), number(&summary["runs"])), (0, Some("stable"), 1_024));
    assert!(number(&summary["latest_new"]) * 2 <= 1_024 && number(&summary["seen_once"]) <= 1);

    let folder = Folder::new("stable");
    let many = folder.file("many.scn", many()).display().to_string();
    let Explored { summary, status, .. } = explore(&[&many, "--until-stable", "--seeds", "2000"]);
    assert_eq!((status, summary["ended"].as_str(), number(&summary["runs"])), (3, Some("not_stable"), 2_000));
    assert_eq!(summary["is_stable"], false);
    let text = out(&millpond(&["explore", &many, "--until-stable", "--seeds", "2000"]));
    assert!(text.contains("\nnot stable: ") && text.contains(" --seeds 2000\n"), "{text}");
}

/// Bounds by hand: 20 % of 10us, 7us and 2us.
#[test]
fn jitter_keeps_its_bounds_and_reaches_them() {
    let folder = Folder::new("jitter");
    let cases = [
        ("stream s\nkernel k() takes 10us\ns: k()\n", 8_000, 12_000),
        ("sleep 7us\n", 5_600, 8_400),
        ("stream s\ns: host takes 7us\n", 5_600, 8_400),
        ("profile { submit = 2us }\nstream s\nevent e\ns: record e\n", 1_600, 2_400),
        ("profile { call = 2us }\nstream s\nsync s\n", 1_600, 2_400),
        ("stream s\ncollective c of 1 takes 10us\ns: c()\n", 8_000, 12_000),
        // What is drawn already is drawn as before.
        ("stream s\nkernel k() takes uniform(1us, 2us)\ns: k()\n", 1_000, 2_000),
        // Rounded towards the middle: 20 % of 7ns is 1.4ns.
        ("sleep 7ns\n", 6, 8),
        ("sleep 0ns\n", 0, 0),
    ];
    for (text, low, high) in cases {
        let file = folder.file("one.scn", text).display().to_string();
        let end = explore(&[&file, "--jitter", "20%", "--seeds", "1000"]).summary["end"].clone();
        let (least, most) = (number(&end["least"]), number(&end["most"]));
        assert!(low <= least && most <= high, "{text}: {end}");
        // Of a thousand even draws, one is within a fiftieth of each end.
        let near = (high - low).div_ceil(50);
        assert!(least <= low + near && high <= most + near, "{text}: {end}");
        let plain = explore(&[&file, "--jitter", "0%", "--seeds", "200"]).summary["end"].clone();
        assert_eq!(plain["least"] == plain["most"], !text.contains("uniform"), "{text}: {plain}");
    }
    for wrong in ["20", "101%", "-1%", "2.5%", "%"] {
        let output = millpond(&["explore", QUARTER, "--jitter", wrong]);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{wrong}");
    }
}

#[test]
fn the_status_says_what_came_of_the_runs() {
    let folder = Folder::new("status");
    let text = fs::read_to_string(format!("{ROOT}/{QUARTER}")).expect("it is there");
    let sometimes = folder.file("sometimes.scn", format!("{text}expect p.reserved_high == 128MiB\n"));
    let sometimes = sometimes.display().to_string();
    let Explored { status: fails, outcomes, summary, .. } = explore(&[&sometimes, "--seeds", "50"]);
    assert_eq!(fails, 1);
    let failing: u64 =
        outcomes.iter().filter(|outcome| outcome["holds"] == false).map(|one| number(&one["runs"])).sum();
    assert!(failing > 0 && failing < 50 && number(&summary["failing"]) == failing, "{summary}");
    let text = out(&millpond(&["explore", &sometimes, "--seeds", "50"]));
    assert!(text.contains(&format!("\nfails: {failing} of 50 runs, ")), "{text}");
    assert!(text.contains("line 17 does not hold: expect p.reserved_high == 128MiB"), "{text}");

    let lint = ["explore", QUARTER, "--seeds", "50", "--deny", "lints"];
    let denied = millpond(&lint);
    assert_eq!(status(&denied), 1, "what is denied fails");
    assert!(out(&denied).contains(":0 scenarios/explore/a_quarter_of_the_runs.scn --deny lints\n"));
    let allowed = ["explore", QUARTER, "--seeds", "50", "--deny", "lints", "--allow", "stranded_cache"];
    assert_eq!(status(&millpond(&allowed)), 0, "what is allowed does not");

    let mistaken = folder.file("mistaken.scn", "stream s\ns: x = aloc 1MiB\n").display().to_string();
    let kept = folder.file("kept.txt", "kept").display().to_string();
    for arguments in [
        &["explore", &mistaken, "-o", &kept][..],
        &["explore", "missing.scn", "-o", &kept],
        &["explore", QUARTER, "--seeds", "0", "-o", &kept],
        &["explore", QUARTER, "--depth", "2", "-o", &kept],
        &["explore", QUARTER, "--time", "5", "-o", &kept],
        &["explore", QUARTER, "--strategy", "luck", "-o", &kept],
        &["explore", QUARTER, "--variant", "off", "-o", &kept],
        &["explore", QUARTER, "--profile", "missing", "-o", &kept],
    ] {
        let output = millpond(arguments);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{arguments:?}");
        assert!(!err(&output).is_empty());
        assert_eq!(fs::read_to_string(&kept).expect("it is there"), "kept");
    }
    assert_eq!(status(&millpond(&["explore", QUARTER, "--seeds", "9", "-o", &kept])), 0);
    let written = fs::read_to_string(&kept).expect("it is there");
    assert_eq!(written, out(&millpond(&["explore", QUARTER, "--seeds", "9"])));
}

/// The parts of a report that say how many runs there were and why are the only ones that may differ.
#[test]
fn after_a_time_the_same_is_had_by_seeds() {
    let timed =
        out(&millpond(&["explore", QUARTER, "--time", "300ms", "--jitter", "1%", "--base-seed", "3"]));
    let again = timed.lines().find_map(|line| line.strip_prefix("  millpond ")).expect("it says how");
    let arguments: Vec<&str> = again.split(' ').collect();
    assert_eq!(arguments[..3], ["explore", QUARTER, "--seeds"]);
    assert_eq!(arguments[4..], ["--base-seed", "3", "--jitter", "1%"]);
    let seeded = out(&millpond(&arguments));
    let own = ["the time is over", "the same again:", "  millpond explore "];
    let kept = timed.lines().filter(|line| !own.iter().any(|own| line.starts_with(own)));
    assert!(kept.eq(seeded.lines()), "{timed}{seeded}");
}

/// Who stops it gets what is known. The signal may come before anybody listens, and then ends the process: later, then.
#[cfg(unix)]
#[test]
fn a_key_stops_it_and_what_is_known_is_told() {
    use std::process::{Command, Stdio};
    let folder = Folder::new("key");
    let mut patience = std::time::Duration::from_millis(200);
    let output = loop {
        let mut command = folder.command(&["explore", QUARTER, "--seeds", "1000000000"]);
        let command = command.current_dir(ROOT).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("millpond starts");
        std::thread::sleep(patience);
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|sent| sent.success()));
        let output = child.wait_with_output().expect("it ends");
        if output.status.code().is_some() {
            break output;
        }
        patience *= 2;
    };
    assert_eq!(status(&output), 3);
    let text = out(&output);
    assert!(text.contains("\ninterrupted: ") && text.contains("\n  millpond explore "), "{text}");
}

#[test]
fn the_page_has_the_fields() {
    let page = fs::read_to_string(format!("{ROOT}/docs/formats.md")).expect("the page is there");
    let fields = |section: &str| -> BTreeSet<String> {
        let title = format!("\n### {section} of an exploration\n");
        let part = page.split(&title).nth(1).and_then(|part| part.split("\n### ").next()).expect("a part");
        let rows = part.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let rows = rows.filter(|row| row.starts_with('`'));
        rows.flat_map(|row| row.split(", ").map(|field| field.trim_matches('`').to_owned())).collect()
    };
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let explored = explore(&["scenarios/reuse/follow_event/twins.scn", "--variant", "off", "--seeds", "3"]);
    let headers = [&explored.header, &explore(&[TIE, "--seeds", "1", "--strategy", "pct"]).header].map(keys);
    assert_eq!(headers.into_iter().flatten().collect::<BTreeSet<_>>(), fields("header"));
    assert_eq!(keys(&explored.summary), fields("summary"));
    let tie = explore(&[TIE, "--seeds", "20", "--strategy", "pct"]);
    let bound = keys(&tie.header["bound"]);
    assert!(bound.iter().all(|field| page.contains(&format!("`{field}`"))), "{bound:?}");
    let hazard = explore(&["scenarios/hazards/use_after_free.scn", "--seeds", "2"]);
    let outcomes = || tie.outcomes.iter().chain(&hazard.outcomes).chain(&explored.outcomes);
    assert!(outcomes().all(|outcome| keys(outcome) == fields("outcome")));
    let aspects = outcomes().flat_map(|outcome| outcome["aspects"].as_array().expect("a list"));
    let seen: BTreeSet<String> = aspects.flat_map(keys).collect();
    assert_eq!(seen, fields("aspect"));

    let ron = ["explore", TIE, "--seeds", "20", "--strategy", "pct", "--format", "ron"];
    let text = out(&millpond(&ron));
    let document: ron::Value = ron::from_str(&text).expect("it is one RON document");
    let value = serde_json::to_value(&document).expect("RON has no more than JSON has");
    assert_eq!(value["header"], tie.header);
    assert_eq!(value["outcomes"].as_array().map(Vec::len), Some(tie.outcomes.len()));
    assert_eq!(value["summary"]["runs"], tie.summary["runs"]);
}
