//! `millpond run --set` from outside: a row for each combination of values, and what is said about wrong ones.

use super::cli::{Folder, err, in_one_line, out, status};

const SWEPT: &str = "\
# A buffer a turn; what the pool keeps between the turns depends on its threshold.
pool scratch { release_threshold = 0B }
stream s
let turns = 2
repeat i in 0..turns {
  s: x = alloc 64MiB from scratch
  s: free x
  sync s
}
expect scratch.reserved == 0B
";

fn table(arguments: &[&str]) -> (i32, String, String) {
    let folder = Folder::new("sweep");
    folder.file("swept.scn", SWEPT);
    let output = folder.millpond(&[&["run", "swept.scn"], arguments].concat());
    (status(&output), out(&output), err(&output))
}

#[test]
fn a_row_for_each_combination() {
    let sets = ["--set", "scratch.release_threshold=0B,max", "--set", "turns=2,3", "--format", "csv"];
    let (status, text, _) = table(&sets);
    assert_eq!(status, 0, "an expectation about what is swept fails, and that is counted");
    let expected = "\
scratch.release_threshold,turns,reserved_high scratch,maps,unmaps,same_stream,observed,follow_event,\
opportunistic,unused,growth,internal,allocations,errors,findings,fails,deadlock,stopped,end_ns
0B,2,67108864,2,2,0,0,0,0,0,2,0,2,0,0,0,false,,0
0B,3,67108864,3,3,0,0,0,0,0,3,0,3,0,0,0,false,,0
max,2,67108864,1,0,1,0,0,0,0,1,0,2,0,0,1,false,,0
max,3,67108864,1,0,2,0,0,0,0,1,0,3,0,0,1,false,,0
";
    assert_eq!(text, expected);
}

#[test]
fn every_format_has_every_row() {
    for format in ["text", "json", "ron", "csv"] {
        let sets = ["--set", "turns=1,2,3", "--format", format];
        let (status, text, said) = table(&sets);
        assert_eq!((status, said.as_str()), (0, ""));
        assert_eq!(text, table(&sets).1, "the same bytes again");
        let rows = text.lines().filter(|line| line.contains("67108864") || line.contains("64 MiB"));
        assert_eq!(rows.count(), 3, "{text}");
        if format == "json" {
            for line in text.lines() {
                serde_json::from_str::<serde_json::Value>(line).expect("each line is an object");
            }
        }
        if format == "ron" {
            ron::from_str::<ron::Value>(&text).expect("it is one RON document");
        }
    }
}

#[test]
fn an_error_that_no_line_expects_is_a_failure() {
    let (status, text, _) = table(&["--set", "gpu0.memory=32MiB,1GiB"]);
    assert_eq!(status, 1);
    assert!(text.contains("1 of 2 rows"), "{text}");
}

#[test]
fn mistakes_have_their_place_and_leave_nothing_written() {
    let cases = [
        ("scratch.relase_threshold=0B", "did you mean `release_threshold`?", " --> --set:1:9"),
        ("scratch.release_threshold=0B,64MB", "did you mean `64MiB`?", " --> --set:1:30"),
        ("scratch.release_threshold=3us", "a size is needed", " --> --set:1:27"),
        ("turns=4MiB", "this is a size", "swept.scn with turns=4MiB:5:16"),
        ("turms=4", "did you mean `turns`?", " --> --set:1:1"),
        ("model=cuda,oxicda", "did you mean `oxicuda`?", " --> --set:1:12"),
        ("model=hip", "there are `cuda` and `oxicuda`", " --> --set:1:7"),
        ("profile.remp=off", "did you mean `remap`?", " --> --set:1:9"),
        ("turns=200000000", "run_too_long", "swept.scn with turns=200000000:5:1"),
    ];
    for (set, words, place) in cases {
        let (status, text, said) = table(&["--set", set]);
        assert_eq!((status, text.as_str()), (2, ""), "{set}");
        assert!(said.contains(words) && said.contains(place), "{set}: {said}");
    }
    let many = format!("turns={}", vec!["1"; 1_001].join(","));
    for (sets, words) in [([many.as_str(); 1].as_slice(), "1001 combinations"), (&["turns=1"; 2], "twice")] {
        let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let (status, text, said) = table(&arguments);
        assert_eq!((status, text.as_str()), (2, ""));
        assert!(said.contains(words), "{said}");
    }
}

/// A profile says what no text says; beside others it is a value like any.
#[test]
fn profiles_are_values_too() {
    let embedded = include_str!("../../profiles/default.ron");
    let folder = Folder::new("profiles");
    folder.file("small.ron", embedded.replace("growth: \"32MiB\"", "growth: \"4MiB\""));
    folder.file("wrong.ron", embedded.replace("growth: \"32MiB\"", "growth: \"4\""));
    folder.file("one.scn", "pool p\nstream s\ns: x = alloc 1MiB from p\nexpect p.reserved == 32MiB\n");
    let run = |arguments: &[&str]| {
        let output = folder.millpond(&[&["run", "one.scn"], arguments].concat());
        (status(&output), out(&output), err(&output))
    };
    let (holds, table, _) = run(&["--set", "profile=default,small.ron", "--format", "csv"]);
    assert_eq!(holds, 0);
    let reserved: Vec<&str> =
        table.lines().skip(1).map(|row| row.split(',').nth(1).expect("a cell")).collect();
    assert_eq!(reserved, ["33554432", "4194304"]);
    let (fails, report, _) = run(&["--profile", "small.ron"]);
    assert!(fails == 1 && report.contains("cuda, small.ron, seed 0") && report.contains("4 MiB"), "{report}");
    for arguments in [["--profile", "wrong.ron"], ["--set", "profile=wrong.ron"]] {
        let (wrong, _, said) = run(&arguments);
        assert!(wrong == 2 && said.contains("wrong.ron is no profile: rules.growth"), "{said}");
    }
    let here = folder.0.display().to_string();
    let (wrong, _, said) = run(&["--profile", &here]);
    assert!(wrong == 2 && in_one_line(&said).contains("is a directory, not a profile"), "{said}");
    let (fails, report, _) = run(&["--profile", "small_card"]);
    assert!(fails == 0 && report.contains("cuda, small_card, seed 0"), "{report}");
    let (_, table, _) = run(&["--set", "profile=default,data_centre,small_card", "--format", "csv"]);
    assert_eq!(table.lines().count(), 4, "{table}");
    for (name, near) in
        [("smal_card", "did you mean `small_card`?"), ("laptop", "there are default, data_centre")]
    {
        let (wrong, _, said) = run(&["--profile", name]);
        assert!(
            wrong == 2 && said.contains(&format!("there is no profile `{name}`")) && said.contains(near),
            "{said}"
        );
    }
    let (wrong, _, said) = run(&["--profile", "missing.ron"]);
    assert!(wrong == 2 && said.contains("missing.ron"), "{said}");
}
