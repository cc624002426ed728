//! `docs/formats.md` has every kind of event and every field that is printed, and no other.

use super::cli::{Folder, out};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What no shipped scenario shows, since each of them holds: failures of every kind.
const WRONG: &str = "\
pool p { max_size = 64MiB }
stream a, b
kernel k(x: write) takes 10us
a: x = alloc 64MiB from p
a: k(x)
a: free x
b: y = alloc 64MiB from p
expect y not waits for free x
expect y waits for free y
expect y via growth
expect y not at x
expect p.used == 0
expect gpu0 not reaches p
expect gpu0.pool == p
a: huge = alloc 1GiB from p
a: k(huge)
expect huge via growth
expect huge not fails
expect y ready on a
expect y not depends on timing
b: free y
a: z = alloc 1KiB from p fails out_of_memory
b: v = alloc 1KiB from p
expect z reuses v
a: k(z) until go
sync a
signal go
";

/// A program that ends while a part of a collective waits for the other one.
const ALONE: &str = "\
stream a
collective both of 2 takes 1us
a: both()
";

/// A thread that waits for others that never come.
const LONELY: &str = "\
thread t {
  barrier b of 2
}
";

/// An exporter that frees before its importer.
const EARLY: &str = "\
pool p { handle = posix_fd }
stream s
s: x = alloc 1KiB from p
export p as hp
export x as hx
process other {
  q = import hp on gpu0
  y = import hx from q
}
join other
s: free x
expect no findings
";

/// Fields by section: a section is a heading of the page in lower case.
type Fields = BTreeMap<String, BTreeSet<String>>;

/// The page: its fields, and of each whether it is an object of another section.
struct Page {
    fields: Fields,
    links: BTreeMap<(String, String), String>,
}

fn page() -> Page {
    let text = fs::read_to_string(format!("{ROOT}/docs/formats.md")).expect("the page is there");
    let lines = text.split("\n## RON").next().expect("the page has a part about JSON lines");
    let (mut fields, mut links) = (Fields::new(), BTreeMap::new());
    let mut section = String::new();
    for line in lines.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            section = title.to_owned();
            fields.insert(section.clone(), BTreeSet::new());
        }
        let Some((field, rest)) = line.strip_prefix("| `").and_then(|row| row.split_once("` | ")) else {
            continue;
        };
        fields.entry(section.clone()).or_default().insert(field.to_owned());
        if let Some((_, link)) = rest.split(" | ").next().unwrap_or_default().split_once("](#") {
            let target = link.trim_end_matches(')').replace('-', " ");
            links.insert((section.clone(), field.to_owned()), target);
        }
    }
    Page { fields, links }
}

/// Adds the fields of an object to those of a section, and those of objects in it to theirs.
fn visit(page: &Page, section: &str, prefix: &str, value: &Value, seen: &mut Fields) {
    match value {
        Value::Array(values) => values.iter().for_each(|value| visit(page, section, prefix, value, seen)),
        // A word stands for an object without fields.
        Value::String(word) if prefix.is_empty() => {
            seen.entry(section.to_owned()).or_default().insert(word.clone());
        }
        Value::Object(object) => {
            let fields = seen.entry(section.to_owned()).or_default();
            fields.extend(object.keys().map(|key| format!("{prefix}{key}")));
            for (key, value) in object {
                let field = format!("{prefix}{key}");
                match page.links.get(&(section.to_owned(), field.clone())) {
                    Some(target) => visit(page, target, "", value, seen),
                    None if value.is_object() => visit(page, section, &format!("{field}."), value, seen),
                    None => {}
                }
            }
        }
        _ => {}
    }
}

/// Adds the call of an event, and what that captures.
fn visit_call(page: &Page, object: &mut serde_json::Map<String, Value>, seen: &mut Fields) {
    let Some(Value::Object(call)) = object.get_mut("call") else { return };
    let Some(Value::String(name)) = call.remove("kind") else { panic!("a call has a kind: {call:?}") };
    let mut call = std::mem::take(call);
    visit_call(page, &mut call, seen);
    visit(page, &format!("call {name}"), "", &Value::Object(call), seen);
}

/// Adds what a run prints.
fn visit_run(page: &Page, text: &str, seen: &mut Fields) {
    const COMMON: [&str; 5] = ["at", "line", "thread", "operation", "event"];
    let count = text.lines().count();
    for (nth, line) in text.lines().enumerate() {
        // A long run repeats itself; its start and its verdict have every field.
        if nth > 5_000 && nth + 1 < count {
            continue;
        }
        let mut value: Value = serde_json::from_str(line).expect("each line is an object");
        if nth == 0 {
            visit(page, "header", "", &value, seen);
            continue;
        }
        let kind = value["event"].as_str().expect("an event has a kind").to_owned();
        if kind == "verdict" {
            visit(page, "verdict", "", &value, seen);
            continue;
        }
        let object = value.as_object_mut().expect("an event is an object");
        let common = COMMON.iter().filter_map(|name| Some(((*name).to_owned(), object.remove(*name)?)));
        visit(page, "event", "", &Value::Object(common.collect()), seen);
        visit_call(page, object, seen);
        visit(page, &format!("`{kind}`"), "", &value, seen);
    }
}

/// Adds what runs print of which one knows all timings, and of which one is found among them.
fn visit_timings(page: &Page, folder: &Folder, seen: &mut Fields) {
    let text = "stream s\ns: x = alloc 1MiB\ns: free x\nexpect always gpu0.default_pool.maps == 2\nexpect never leak\n";
    let file = folder.file("timings.scn", text).display().to_string();
    visit_run(page, &out(&folder.millpond(&["run", &file, "--format", "json"])), seen);
    visit_run(page, &out(&folder.millpond(&["run", &file, "--limit", "1", "--format", "json"])), seen);
    let all = out(&folder.millpond(&["explore", &file, "--untimed", "--format", "json"]));
    let outcome: Value = serde_json::from_str(all.lines().nth(1).expect("an outcome")).expect("an object");
    let schedule = outcome["schedule"].as_str().expect("a word");
    visit_run(page, &out(&folder.millpond(&["replay", schedule, &file, "--format", "json"])), seen);
}

fn scenarios(folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the scenarios are there") {
        let path = entry.expect("a folder can be read").path().display().to_string();
        match () {
            () if path.ends_with("invalid") => {}
            () if path.ends_with(".scn") => found.push(path),
            () => scenarios(&path, found),
        }
    }
}

#[test]
fn the_page_has_what_is_printed() {
    let page = page();
    let folder = Folder::new("formats");
    let own = [("wrong.scn", WRONG), ("alone.scn", ALONE), ("lonely.scn", LONELY), ("early.scn", EARLY)];
    let mut files: Vec<_> =
        own.iter().map(|(name, text)| folder.file(name, text).display().to_string()).collect();
    scenarios(&format!("{ROOT}/scenarios"), &mut files);
    let mut seen = Fields::new();
    for file in files {
        visit_run(&page, &out(&folder.millpond(&["run", &file, "--format", "json"])), &mut seen);
    }
    let variant = ["run", "scenarios/reuse/internal/twins.scn", "--variant", "off", "--format", "json"];
    let output = folder.command(&variant).current_dir(ROOT).output().expect("millpond starts");
    visit_run(&page, &out(&output), &mut seen);
    let tie = "scenarios/explore/who_calls_first.scn";
    let explored = ["explore", tie, "--strategy", "pct", "--seeds", "1", "--format", "json"];
    let output = folder.command(&explored).current_dir(ROOT).output().expect("millpond starts");
    let explored = out(&output);
    let outcome: Value =
        explored.lines().nth(1).and_then(|line| serde_json::from_str(line).ok()).expect("an outcome");
    let schedule = outcome["schedule"].as_str().expect("a word");
    let replayed = ["replay", schedule, tie, "--format", "json"];
    let output = folder.command(&replayed).current_dir(ROOT).output().expect("millpond starts");
    visit_run(&page, &out(&output), &mut seen);
    let varied = ["run", "scenarios/readme.scn", "--jitter", "5%", "--format", "json"];
    let output = folder.command(&varied).current_dir(ROOT).output().expect("millpond starts");
    visit_run(&page, &out(&output), &mut seen);
    visit_timings(&page, &folder, &mut seen);
    let mut wrong = String::new();
    for section in page.fields.keys().chain(seen.keys()).collect::<BTreeSet<_>>() {
        let (none, is_there) = (BTreeSet::new(), page.fields.contains_key(section));
        let documented = page.fields.get(section).unwrap_or(&none);
        match seen.get(section) {
            None => wrong += &format!("nothing prints what `{section}` describes\n"),
            Some(_) if !is_there => wrong += &format!("there is no section {section}\n"),
            Some(printed) => {
                printed.difference(documented).for_each(|f| wrong += &format!("{section}: {f} is missing\n"));
                documented
                    .difference(printed)
                    .for_each(|f| wrong += &format!("{section}: {f} is never printed\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "docs/formats.md is wrong:\n{wrong}");
}

#[test]
fn the_document_and_the_lines_say_the_same() {
    let folder = Folder::new("ron");
    folder.file("wrong.scn", WRONG);
    let lines = out(&folder.millpond(&["run", "wrong.scn", "--format", "json"]));
    let text = out(&folder.millpond(&["run", "wrong.scn", "--format", "ron"]));
    let document: ron::Value = ron::from_str(&text).expect("it is one RON document");
    let value = serde_json::to_value(&document).expect("RON has no more than JSON has");
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("an object")).collect();
    assert_eq!(value["header"], lines[0]);
    assert_eq!(value["verdict"]["holds"], lines[lines.len() - 1]["holds"]);
    let events = value["events"].as_array().expect("a list");
    assert_eq!(events.len(), lines.len() - 2);
    for (event, line) in events.iter().zip(&lines[1..]) {
        assert_eq!(
            (&event["at"], &event["event"], &event["line"]),
            (&line["at"], &line["event"], &line["line"])
        );
    }
}

#[test]
fn states_are_a_row_for_each_change() {
    let run = |format| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
        command.args(["run", "scenarios/guide/follow_event.scn", "--format", format]).current_dir(ROOT);
        out(&command.output().expect("millpond starts"))
    };
    let (table, lines) = (run("csv"), run("json"));
    let mut rows = table.lines();
    let page = fs::read_to_string(format!("{ROOT}/docs/formats.md")).expect("the page is there");
    let part = page.split("\n## CSV").nth(1).and_then(|part| part.split("\n## ").next()).expect("a part");
    let columns = part.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(rows.next(), Some(columns.collect::<Vec<_>>().join(",").as_str()));
    assert_eq!(rows.clone().count(), lines.matches("\"event\":\"state\"").count());
    assert_eq!(rows.next(), Some("0,11,scratch,67108864,67108864,67108864,0,0,0,0"));
}
