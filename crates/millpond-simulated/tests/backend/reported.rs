//! What `millpond run --backend cuda` says of what hardware does not tell, and of what the run itself has met (`docs/hardware.md`).

use crate::command::{Ran, millpond};
use crate::played::scenarios;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Runs a text on hardware.
fn run(text: &str, format: &str) -> Ran {
    millpond(&["run", "-", "--backend", "cuda", "--format", format], text, &[])
}

fn shipped(name: &str) -> String {
    fs::read_to_string(scenarios().join(name)).expect("the scenario is there")
}

/// The line that says how a run has ended.
fn last(report: &str) -> &str {
    let is_last = |line: &&str| ["holds:", "fails:", "open:"].iter().any(|word| line.starts_with(word));
    report.lines().rfind(is_last).unwrap_or_default()
}

/// The verdict, of a run as JSON lines.
fn verdict(ran: &Ran) -> Value {
    serde_json::from_str(ran.out.lines().next_back().unwrap_or_default()).expect("the last line is an object")
}

/// Nothing of it is told by a driver.
const OPEN: &str = "\
stream s
pool p
kernel k(x: write) takes 1us
s: x = alloc 1MiB from p
s: k(x)
s: free x
sync s
expect x via growth
expect finding leak
expect always p.used == 0B
expect p.pending == 7B
";

#[test]
fn what_is_not_settled_is_open_and_does_not_hold() {
    let ran = run(OPEN, "text");
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.out);
    for part in [
        "     8  x via growth         open: such a run does not tell\n",
        "     9  finding leak         open: such a run does not tell\n",
        "    10  always p.used == 0B  open: one run does not settle it\n",
        "    11  p.pending == 7B      open: such a run does not tell\n",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert!(last(&ran.out).starts_with("open: 4 expectations  "), "{}", ran.out);
    assert!(!ran.out.contains("no findings"), "{}", ran.out);
    let verdict = verdict(&run(OPEN, "json"));
    assert_eq!((&verdict["holds"], &verdict["open"]), (&true.into(), &4.into()));
    for line in verdict["expectations"].as_array().expect("a list") {
        let told = (&line["holds"], &line["open"], &line["times"]);
        assert_eq!(told, (&false.into(), &true.into(), &0.into()), "{line}");
    }
}

#[test]
fn what_is_open_is_counted_apart() {
    for (lines, status, expected) in [
        ("expect p.used == 0B\nexpect x via growth\n", 0, "holds: 1 expectation, 1 open  "),
        ("expect p.used == 1B\nexpect x via growth\n", 1, "fails: 1 of 2 expectations, 1 expectation open  "),
        ("expect no findings\n", 0, "open: 1 expectation  "),
        ("expect no leaks\nexpect never deadlock\n", 0, "open: 2 expectations  "),
        ("", 0, "holds: no expectations  "),
    ] {
        let text = format!("stream s\npool p\ns: x = alloc 1MiB from p\ns: free x\n{lines}");
        let ran = run(&text, "text");
        assert_eq!(ran.status, status, "{}", ran.out);
        assert!(last(&ran.out).starts_with(expected), "{expected}\n{}", ran.out);
        let verdict = verdict(&run(&text, "json"));
        assert_eq!(verdict["holds"], status == 0, "{verdict}");
    }
}

#[test]
fn the_help_says_what_open_lines_do() {
    let help = millpond(&["run", "--help"], "", &[]).out;
    assert!(help.contains("and leave the exit status as it is."), "{help}");
    assert!(help.contains("on hardware such lines are\nopen, and 0 says that nothing fails"), "{help}");
}

/// Each finding that a run meets itself, by a scenario that expects it.
#[test]
fn a_line_holds_that_expects_what_the_run_has_met() {
    for (name, finding) in [
        ("hazards/deadlock.scn", "deadlock"),
        ("hazards/double_free.scn", "double_free"),
        ("hazards/access_denied.scn", "access_denied"),
        ("hazards/use_of_destroyed.scn", "use_of_destroyed"),
        ("hazards/cases/freed_on_a_destroyed_stream.scn", "use_of_destroyed"),
        ("hazards/use_after_free_through_a_view.scn", "overlap"),
    ] {
        let text = shipped(name);
        let ran = run(&text, "text");
        assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{name}: {}", ran.out);
        assert!(ran.out.contains(&format!("\nnote[{finding}]: ")), "{name}: {}", ran.out);
        assert!(!ran.out.contains("expected?"), "{name}: {}", ran.out);
        let is_it = |line: &&str| line.contains(&format!("  finding {finding}"));
        let lines: Vec<&str> = ran.out.lines().filter(is_it).collect();
        assert!(
            !lines.is_empty() && lines.iter().all(|line| line.ends_with("  holds")),
            "{name}: {}",
            ran.out
        );
    }
}

#[test]
fn what_the_run_has_met_is_an_error_without_such_a_line() {
    for (name, finding) in [
        ("hazards/double_free.scn", "double_free"),
        ("hazards/access_denied.scn", "access_denied"),
        ("hazards/use_of_destroyed.scn", "use_of_destroyed"),
    ] {
        let text = shipped(name);
        let without: Vec<&str> = text.lines().filter(|line| !line.starts_with("expect ")).collect();
        let without = without.join("\n") + "\n";
        let ran = run(&without, "text");
        assert_eq!((ran.status, last(&ran.out).starts_with("fails: 1 error  ")), (1, true), "{}", ran.out);
        assert!(ran.out.contains(&format!("\nerror[{finding}]: ")), "{name}: {}", ran.out);
        // What is met settles these lines, too.
        let ran = run(&format!("{without}expect no findings\nexpect never {finding}\n"), "text");
        let expected = "fails: 1 of 2 expectations, 1 error, 1 expectation open";
        assert!(last(&ran.out).starts_with(expected), "{name}: {}", ran.out);
    }
}

#[test]
fn a_line_about_another_place_is_open() {
    let text =
        "stream s, t\nkernel spin() takes 1us\nt: spin() as other\ns: spin() until go\nsync s\nsignal go\n";
    let ran = run(&format!("{text}expect finding deadlock at other\n"), "text");
    assert_eq!(ran.status, 1, "{}", ran.out);
    for part in [
        "  expected?  line 7 expects it elsewhere\n",
        "finding deadlock at other  open: such a run does not tell\n",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    for (line, expected) in [
        ("expect finding double_free 1 times", "holds: 1 expectation"),
        ("expect finding double_free on x at again 1 times", "holds: 1 expectation"),
        // One may not have been met.
        ("expect finding double_free 2 times", "fails: 1 error, 1 expectation open"),
        ("expect finding double_free on y", "fails: 1 error, 1 expectation open"),
        ("expect finding invalid_free", "fails: 1 error, 1 expectation open"),
        ("expect sometimes double_free", "open: 1 expectation, 1 finding"),
        ("expect never double_free", "fails: 1 error, 1 expectation open"),
    ] {
        let text =
            "stream s\ns: x = alloc 1MiB\ns: y = alloc 1MiB\ns: free x\ns: free x as again\ns: free y\n";
        let ran = run(&format!("{text}{line}\n"), "text");
        assert!(last(&ran.out).starts_with(expected), "{line}\n{}", ran.out);
    }
}

/// Two kernels that write the same bytes at once, three times.
const RACE: &str = "\
stream a, b
event allocated
kernel fill(x: write) takes 10us
a: x = alloc 1MiB
a: record allocated
b: wait allocated
repeat i in 0..3 {
  a: fill(x) as one
  b: fill(x)
  sync a
  sync b
}
a: free x
";

#[test]
fn overlaps_are_counted_and_expected_at_their_lines() {
    let ran = run(RACE, "text");
    assert_eq!(ran.status, 1, "{}", ran.out);
    assert_eq!(ran.out.matches("error[overlap]: line 8 x 3: a: fill(x) as one\n").count(), 1, "{}", ran.out);
    assert!(last(&ran.out).starts_with("fails: 3 overlaps  "), "{}", ran.out);
    for (line, status, expected) in [
        ("expect finding overlap at one", 0, "holds: 1 expectation, 3 overlaps, expected at line 14"),
        ("expect finding overlap 3 times", 0, "holds: 1 expectation, 3 overlaps, expected at line 14"),
        // Of which buffer is not told; and another finding is not accounted for.
        ("expect finding overlap on x", 1, "fails: 3 overlaps, 1 expectation open"),
        ("expect finding race on x", 1, "fails: 3 overlaps, 1 expectation open"),
        ("expect no findings", 1, "fails: 1 of 1 expectation, 3 overlaps"),
    ] {
        let text = format!("{RACE}{line}\n");
        let ran = run(&text, "text");
        assert_eq!((ran.status, last(&ran.out).starts_with(expected)), (status, true), "{line}\n{}", ran.out);
        let verdict = verdict(&run(&text, "json"));
        let overlaps = verdict["overlaps"].as_array().expect("a list");
        let at = if status == 0 { Some(14) } else { None };
        assert!(overlaps.iter().all(|met| met["expected_at"].as_u64() == at), "{line}: {verdict}");
    }
}

#[test]
fn an_overlap_is_a_result_with_who_has_written_there() {
    let path = scenarios().join("hazards/race.scn").display().to_string();
    let ran = millpond(&["run", &path, "--backend", "cuda", "--format", "sarif"], "", &[]);
    assert_eq!(ran.status, 1, "{}", ran.err);
    let document: Value = serde_json::from_str(&ran.out).expect("it is JSON");
    let run = &document["runs"][0];
    assert_eq!(run["invocations"][0]["exitCode"], 1);
    let results = run["results"].as_array().expect("a list");
    assert_eq!(results.len(), 1, "{}", ran.out);
    let result = &results[0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"overlap".into(), &"error".into()), "{result}");
    let line = |location: &Value| location["physicalLocation"]["region"]["startLine"].as_u64();
    assert_eq!(line(&result["locations"][0]), Some(12), "{result}");
    assert_eq!(line(&result["relatedLocations"][0]), Some(13), "{result}");
    assert_eq!(result["suppressions"].as_array().map(Vec::len), Some(0), "{result}");
    let rule = &run["tool"]["driver"]["rules"][result["ruleIndex"].as_u64().expect("a number") as usize];
    let usual = &rule["defaultConfiguration"]["level"];
    assert_eq!((&rule["id"], usual), (&"overlap".into(), &"error".into()), "{rule}");
}

#[test]
fn each_overlap_that_differs_is_one_result() {
    let document = |text: &str| {
        let ran = run(text, "sarif");
        serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
    };
    let result = &document(RACE)["runs"][0]["results"];
    assert_eq!((result.as_array().map(Vec::len), &result[0]["properties"]["times"]), (Some(1), &3.into()));
    let expected = document(&format!("{RACE}expect finding overlap at one\n"));
    let (result, ended) = (&expected["runs"][0]["results"][0], &expected["runs"][0]["invocations"][0]);
    assert_eq!(result["suppressions"][0]["kind"], "inSource", "{result}");
    assert_eq!(
        (&ended["exitCode"], &ended["exitCodeDescription"]),
        (&0.into(), &"the scenario holds".into())
    );
    let open = &document(OPEN)["runs"][0];
    assert_eq!(open["results"].as_array().map(Vec::len), Some(0), "{open}");
    assert_ne!(open["invocations"][0]["exitCodeDescription"], "the scenario holds");
}

/// The fields that `docs/formats.md` marks as those of a simulation only, with their sections.
fn simulated_only() -> Vec<(String, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let (mut section, mut found) = (String::new(), Vec::new());
    for line in fs::read_to_string(file).expect("the page is there").lines() {
        if let Some(title) = line.strip_prefix("### ") {
            section = title.to_owned();
        }
        let field = line.strip_prefix("| `").and_then(|row| row.split_once('`'));
        if let Some((field, _)) = field.filter(|(_, rest)| rest.contains("only in a simulation")) {
            found.push((section.clone(), field.to_owned()));
        }
    }
    found
}

#[test]
fn what_no_driver_tells_is_missing_in_data() {
    let fields = simulated_only();
    let text = shipped("guide/follow_event.scn");
    let ran = run(&text, "json");
    let told: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let simulated = millpond(&["run", "-", "--format", "json"], &text, &[]).out;
    let simulated: Vec<Value> =
        simulated.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    let of = |lines: &[Value], event: &str| lines.iter().find(|line| line["event"] == event).cloned();
    for (section, event) in
        [("`decided`", "decided"), ("`snapshot`", "snapshot"), ("state of a pool", "state")]
    {
        let inside = |value: Option<Value>| {
            let value = value.unwrap_or_else(|| panic!("no {event}: {}", ran.out));
            if event == "state" { value["state"].clone() } else { value }
        };
        let (told, simulated) = (inside(of(&told, event)), inside(of(&simulated, event)));
        let fields: Vec<&String> =
            fields.iter().filter(|(of, _)| of == section).map(|(_, field)| field).collect();
        assert!(!fields.is_empty(), "{section}");
        for (field, _) in simulated.as_object().expect("an object") {
            assert_eq!(told.get(field).is_none(), fields.contains(&field), "{section}, {field}: {told}");
        }
    }
    let verdict = told.last().expect("a verdict");
    assert_eq!(verdict["ordering"], "not_judged");
    // As the text says: 1 snapshot not compared.
    assert_eq!(verdict["snapshots"], "not_compared");
    assert_eq!(verdict["expectations"][0]["open"], false);
}

#[test]
fn what_no_driver_tells_is_empty_in_tables() {
    let ran = run(&shipped("guide/follow_event.scn"), "csv");
    let mut rows = ran.out.lines();
    assert_eq!(
        rows.next(),
        Some("time_ns,line,pool,reserved,used,live,padding,pending,cached,unused"),
        "{}",
        ran.err
    );
    let rows: Vec<Vec<&str>> = rows.map(|row| row.split(',').collect()).collect();
    assert!(!rows.is_empty(), "{}", ran.out);
    for row in rows {
        assert!(row[3..5].iter().all(|figure| figure.parse::<u64>().is_ok()), "{row:?}");
        assert_eq!(row[5..], [""; 5], "{row:?}");
    }
}

#[test]
fn a_document_has_no_invented_figures() {
    let ran = run(&shipped("guide/follow_event.scn"), "ron");
    assert_eq!(ran.status, 0, "{}", ran.err);
    for field in ["\"maps\"", "\"pending\"", "\"mapped\"", "\"policy\"", "graph_pools"] {
        assert!(!ran.out.contains(field), "{field}\n{}", ran.out);
    }
    assert!(ran.out.contains("ordering:\"not_judged\",snapshots:\"not_compared\""), "{}", ran.out);
}
