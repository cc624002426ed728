//! `millpond explore --untimed` from outside: outcomes that are counted by hand, a schedule for each that shows it again, limits
//! that are told, and choices that are refused.

use super::{Explored, QUARTER, ROOT, TIE, TIMING, explore, many, millpond, number};
use crate::cli::{Folder, err, in_one_line, out, status};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

fn schedule(outcome: &Value) -> &str {
    outcome["schedule"].as_str().expect("a word")
}

/// One allocation that another stream may get or not; who of two comes first; ten allocations that are served in one of two ways.
#[test]
fn there_are_as_many_outcomes_as_counted_by_hand() {
    let folder = Folder::new("counted");
    let many = folder.file("many.scn", many()).display().to_string();
    for (file, count, least, most) in [(QUARTER, 2, 64, 128), (TIE, 2, 64, 64), (&many, 1_024, 32, 64)] {
        let Explored { status, header, outcomes, summary } = explore(&[file, "--untimed"]);
        assert_eq!(
            (status, header["strategy"].as_str(), outcomes.len()),
            (0, Some("untimed"), count),
            "{file}"
        );
        assert_eq!(summary["coverage"]["is_complete"], true);
        assert_eq!((number(&summary["outcomes"]), &summary["holds"]), (count as u64, &Value::Bool(true)));
        for high in summary["reserved_high"].as_object().expect("pools").values() {
            assert_eq!([&high[0], &high[1]].map(|bytes| number(bytes) >> 20), [least, most], "{file}");
        }
        let text = out(&millpond(&["explore", file, "--untimed"]));
        let said = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let exactly = format!(
            "covered: every timing, with exactly {} outcomes (",
            millpond::base::grouped(count as u64)
        );
        assert!(said.contains(&exactly) && text.lines().count() <= 60, "{text}");
        assert!(text.ends_with("holds: in every timing of this model and profile\n"), "{text}");
    }
}

#[test]
fn each_outcome_is_shown_again_by_its_schedule() {
    let twins = "scenarios/reuse/follow_event/twins.scn";
    let small = ["--profile", "small_card"];
    for (file, more) in [
        (QUARTER, &[][..]),
        (QUARTER, &small),
        (QUARTER, &["--model", "oxicuda"]),
        (TIE, &[]),
        (TIMING, &[]),
        (twins, &["--variant", "off"]),
        ("scenarios/hazards/use_after_free.scn", &[]),
        ("scenarios/guide/free_on_both_sides_in_the_wrong_order.scn", &[]),
        ("scenarios/hazards/cases/retry_behind_a_collective.scn", &[]),
    ] {
        let explored = explore(&[&[file, "--untimed"], more].concat());
        for outcome in &explored.outcomes {
            let replay = |format| {
                let output = millpond(&["replay", schedule(outcome), file, "--format", format]);
                assert!(status(&output) <= 1, "{}", err(&output));
                (status(&output), out(&output))
            };
            let (ended, lines) = replay("json");
            assert_eq!(ended == 0, outcome["holds"] == true, "{}", schedule(outcome));
            assert_eq!(super::replay::aspects_of(&lines), super::replay::aspects_in(outcome));
            assert!(
                lines.lines().next().is_some_and(|header| header.contains("\"untimed\":true")),
                "{lines}"
            );
            for format in ["text", "json", "ron", "csv", "sarif"] {
                assert_eq!(replay(format), replay(format), "{format}");
            }
            assert!(replay("text").1.contains(", untimed"));
        }
        let text = out(&millpond(&[&["explore", file, "--untimed"], more].concat()));
        let command = format!("     millpond replay {} {file}\n", schedule(&explored.outcomes[0]));
        assert!(text.contains(&command), "{command}: {text}");
    }
}

#[test]
fn at_its_limit_it_says_how_far_it_came() {
    let folder = Folder::new("limit");
    let many = folder.file("many.scn", many()).display().to_string();
    let Explored { status: ended, summary, .. } = explore(&[&many, "--untimed", "--limit", "500"]);
    let coverage = &summary["coverage"];
    assert_eq!((ended, &coverage["is_complete"], &coverage["reached"]), (3, &false.into(), &"nodes".into()));
    assert!(number(&coverage["nodes"]) <= 500, "{coverage}");
    let text = out(&millpond(&["explore", &many, "--untimed", "--limit", "500"]));
    assert!(text.contains("\nnot covered: ") && text.contains("\nundecided: "), "{text}");

    // What is found before a limit is true.
    let text = fs::read_to_string(&many).expect("it is there");
    let failing = folder.file("failing.scn", format!("{text}expect p0.reserved_high == 1B\n"));
    let failing = failing.display().to_string();
    assert_eq!(explore(&[&failing, "--untimed", "--limit", "500"]).status, 1);
    let output = millpond(&["explore", &failing, "--untimed"]);
    assert!(
        status(&output) == 1 && out(&output).ends_with("\nfails: 1,024 of 1,024 outcomes\n"),
        "{}",
        out(&output)
    );

    let timed =
        folder.file("timed.scn", "stream s\nkernel k() takes 1us\ns: k() as one\nexpect one ends == 1us\n");
    let timed = timed.display().to_string();
    let Explored { status: ended, outcomes, summary, .. } = explore(&[&timed, "--untimed"]);
    assert_eq!((ended, outcomes.len()), (3, 1));
    assert_eq!((&outcomes[0]["holds"], &summary["coverage"]["asks_for_times"]), (&true.into(), &true.into()));
    assert!(out(&millpond(&["explore", &timed, "--untimed"])).contains("\ntimes: the scenario asks "));
}

#[test]
fn choices_of_another_run_are_refused() {
    let Explored { outcomes, .. } = explore(&[TIMING, "--untimed"]);
    let longest = outcomes.iter().map(schedule).max_by_key(|word| word.len()).expect("there is one");
    let (own, choices) = longest.rsplit_once(':').expect("choices stand last");
    assert_eq!(choices, "12,4s0-3");
    for (wrong, why) in [
        ("12,4s0-4", "by turn 4, operation 4 of stream 0 cannot be complete"),
        ("12,4s7-1", "by turn 4, operation 1 of stream 7 cannot be complete"),
        ("12,4s0-3,5s0-2", "by turn 5, operation 2 of stream 0 cannot be complete"),
        ("12,4t1", "at turn 4, thread 1 of this scenario cannot go on"),
        ("11,4s0-3", "does not end with turn 11"),
        ("13,4s0-3", "does not end with turn 13"),
        ("12,4s0-3,13", "does not end with turn 12"),
        ("12,04s0-3", "`12,04s0-3` is not what `explore --untimed` prints there"),
        ("12,4s0", "`12,4s0` is not what"),
        ("12,4s0-3,", "`12,4s0-3,` is not what"),
        ("99999999999", "`99999999999` is not what"),
        ("", "`` is not what"),
    ] {
        let output = millpond(&["replay", &format!("{own}:{wrong}"), TIMING]);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{wrong}");
        assert!(in_one_line(&err(&output)).contains(why), "{wrong}: {}", err(&output));
    }
    let stale = millpond(&["replay", longest, QUARTER]);
    assert!(status(&stale) == 2 && err(&stale).contains("explore again"), "{}", err(&stale));
    for more in [["--seeds", "3"], ["--jitter", "3%"], ["--time", "1s"], ["--base-seed", "3"], ["-j", "3"]] {
        assert_eq!(
            status(&millpond(&[&["explore", TIMING, "--untimed"], &more[..]].concat())),
            2,
            "{more:?}"
        );
    }
    assert_eq!(status(&millpond(&["explore", TIMING, "--limit", "3"])), 2, "only with --untimed");
    assert_eq!(status(&millpond(&["explore", TIMING, "--untimed", "--limit", "0"])), 2);
}

/// The greatest value, as data.
fn greatest(arguments: &[&str]) -> (i32, Value) {
    let output = millpond(&[&["explore"], arguments, &["--format", "json"]].concat());
    let text = out(&output);
    let last = text.lines().nth(1).unwrap_or_else(|| panic!("{}", err(&output)));
    (status(&output), serde_json::from_str(last).expect("it is an object"))
}

#[test]
fn the_worst_case_is_found_with_a_run_that_has_it() {
    let folder = Folder::new("worst");
    let many = folder.file("many.scn", many()).display().to_string();
    for (file, what, most) in [
        (QUARTER, "p.reserved_high", 128 << 20),
        (QUARTER, "p.used", 0),
        (QUARTER, "p.maps", 2),
        (TIE, "p.used_high", 64 << 20),
        (&many, "p3.reserved_high", 64 << 20),
        (&many, "p9.used", 32 << 20),
    ] {
        let (ended, found) = greatest(&[file, "--maximise", what]);
        assert_eq!(
            (ended, number(&found["value"]), &found["is_exact"]),
            (0, most, &true.into()),
            "{file} {what}"
        );
        let replayed = millpond(&["replay", schedule(&found), file, "--format", "csv"]);
        assert_eq!(status(&replayed), 0, "{}", err(&replayed));
        let text = out(&millpond(&["explore", file, "--maximise", what]));
        let command = format!("\n  millpond replay {} {file}\n", schedule(&found));
        assert!(text.contains(&command) && text.contains(&format!("\n{what} is at most ")), "{text}");
        assert!(text.ends_with("\nexact: no timing of this model and profile has more\n"), "{text}");
    }
    let (ended, found) = greatest(&[&many, "--maximise", "p3.maps", "--limit", "200"]);
    assert_eq!(
        (ended, &found["is_exact"], &found["coverage"]["reached"]),
        (3, &false.into(), &"nodes".into())
    );
    let text = out(&millpond(&["explore", &many, "--maximise", "p3.maps", "--limit", "200"]));
    assert!(text.contains(", the most that was found:\n") && text.ends_with("\nfound: there may be more\n"));

    // 30 % of 2us, and what nobody can know.
    let sleeps = folder.file("sleeps.scn", "sleep 2us\n").display().to_string();
    let (ended, found) = greatest(&[&sleeps, "--maximise", "end", "--jitter", "30%", "--seeds", "500"]);
    let runs = out(&millpond(&["replay", schedule(&found), &sleeps, "--format", "json"]));
    assert_eq!((ended, number(&found["runs"]), &found["is_exact"]), (0, 500, &false.into()));
    assert!((2_500..=2_600).contains(&number(&found["value"])), "{found}");
    assert!(runs.contains(&format!("\"end\":{}", found["value"])), "{runs}");
}

#[test]
fn what_cannot_be_maximised_is_refused() {
    for (what, more, why) in [
        ("p.resrved_high", &[][..], "did you mean `reserved_high`?"),
        ("q.used", &[], "there is no pool `q`"),
        ("used", &[], "give `end`, or a figure such as"),
        ("p.used", &["--seeds", "3"], "not in runs"),
        ("end", &["--untimed"], "leave out --untimed"),
    ] {
        let output = millpond(&[&["explore", QUARTER, "--maximise", what], more].concat());
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{what}");
        assert!(err(&output).contains(why), "{what}: {}", err(&output));
    }
    let output = millpond(&["explore", QUARTER, "--maximise", "p.used", "--limit", "1"]);
    assert!(status(&output) == 3 && err(&output).contains("before the limit"), "{}", err(&output));
}

#[test]
fn the_page_has_the_fields() {
    let page = fs::read_to_string(format!("{ROOT}/docs/formats.md")).expect("the page is there");
    let fields = |section: &str| -> BTreeSet<String> {
        let title = format!("\n### {section}\n");
        let part = page.split(&title).nth(1).and_then(|part| part.split("\n### ").next()).expect("a part");
        let rows = part.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let rows = rows.filter(|row| row.starts_with('`'));
        rows.flat_map(|row| row.split(", ").map(|field| field.trim_matches('`').to_owned())).collect()
    };
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    let all = explore(&["scenarios/reuse/follow_event/twins.scn", "--variant", "off", "--untimed"]);
    assert_eq!(keys(&all.header), fields("header of all timings"));
    assert_eq!(keys(&all.summary), fields("summary of all timings"));
    assert_eq!(keys(&all.summary["coverage"]), fields("coverage of all timings"));
    assert!(all.outcomes.iter().all(|outcome| keys(outcome) == fields("outcome of all timings")));

    let (_, figure) = greatest(&[QUARTER, "--maximise", "p.used"]);
    let (_, end) = greatest(&[QUARTER, "--maximise", "end"]);
    let all: BTreeSet<String> = keys(&figure).union(&keys(&end)).cloned().collect();
    assert_eq!(all, fields("greatest value of the worst case"));

    let text = out(&millpond(&["explore", TIE, "--untimed", "--format", "ron"]));
    let document: ron::Value = ron::from_str(&text).expect("it is one RON document");
    let value = serde_json::to_value(&document).expect("RON has no more than JSON has");
    assert_eq!(value["outcomes"].as_array().map(Vec::len), Some(2));
}
