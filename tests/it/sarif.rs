//! `--format sarif`: documents that the published schema accepts, with what the report says.

use super::cli::{Folder, err, out, status};
use millpond::cli::find;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const SCHEMA: &str = include_str!("sarif/sarif-schema-2.1.0.json");

fn validator() -> jsonschema::Validator {
    let mut schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    // A pattern of the published schema has a bracket too many, which the validator does not take.
    for name in ["run", "toolComponent"] {
        let language = schema["definitions"][name]["properties"]["language"].as_object_mut();
        let pattern = language.expect("a property").remove("pattern").expect("a pattern");
        assert_eq!(pattern, "^[a-zA-Z]{2}|^[a-zA-Z]{2}-[a-zA-Z]{2}]?$");
    }
    jsonschema::validator_for(&schema).expect("the schema is one")
}

fn assert_valid(validator: &jsonschema::Validator, document: &Value, of: &str) {
    let wrong: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{error} at {}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{of}: {wrong:#?}");
}

/// The document of a scenario in a folder, and the exit status.
fn document(folder: &Folder, path: &str, arguments: &[&str]) -> (Value, i32) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let arguments = [&["run", path, "--format", "sarif"], arguments].concat();
    let mut command = folder.command(&arguments);
    let in_tree = path.starts_with("scenarios/");
    let output = if in_tree { command.current_dir(root).output() } else { command.output() };
    let output = output.expect("millpond starts");
    let document = serde_json::from_str(&out(&output));
    (document.unwrap_or_else(|error| panic!("{path}: {error}: {}", err(&output))), status(&output))
}

fn results(document: &Value) -> &[Value] {
    document["runs"][0]["results"].as_array().expect("a list of results")
}

#[test]
fn documents_of_all_hazards_are_valid() {
    let (validator, folder) = (validator(), Folder::new("sarif_all"));
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    for file in find(&[root.join("scenarios/hazards")]).expect("the scenarios are there") {
        let path = file.strip_prefix(root).expect("it is below").display().to_string();
        let (document, status) = document(&folder, &path, &[]);
        assert_valid(&validator, &document, &path);
        assert_eq!(document["runs"][0]["invocations"][0]["exitCode"], status, "{path}");
        let rules = document["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
        for result in results(&document) {
            let index = result["ruleIndex"].as_u64().expect("an index") as usize;
            assert_eq!(rules[index]["id"], result["ruleId"], "{path}");
            found.insert(result["ruleId"].as_str().unwrap_or_default().to_owned());
        }
    }
    assert!(found.contains("deadlock") && found.contains("freed_before_importer"), "{found:?}");
}

#[test]
fn the_schema_rejects_what_is_none() {
    let (validator, folder) = (validator(), Folder::new("sarif_wrong"));
    folder.file("a.scn", "stream s\ns: x = alloc 1MiB\nexpect gpu0.default_pool.used == 0B\n");
    let (mut document, _) = document(&folder, "a.scn", &[]);
    assert_valid(&validator, &document, "as it is");
    document["runs"][0]["results"][0]["level"] = "severe".into();
    assert!(!validator.is_valid(&document));
}

#[test]
fn whatever_fails_is_a_result_at_its_place() {
    let folder = Folder::new("sarif_fails");
    folder.file(
        "a b.scn",
        "stream s\ns: x = alloc 1MiB\nexpect gpu0.default_pool.used == 0B\ns: y = alloc 9TiB\nsync s\n",
    );
    let (document, status) = document(&folder, "a b.scn", &[]);
    assert_eq!(status, 1);
    let run = &document["runs"][0];
    assert_eq!(run["artifacts"][0]["location"]["uri"], "a%20b.scn");
    assert_eq!(run["invocations"][0]["exitCode"], 1);
    let of = |code: &str| {
        let one = results(&document).iter().find(|result| result["ruleId"] == code);
        one.unwrap_or_else(|| panic!("no {code}: {document:#}"))
    };
    for (code, line, text) in [
        ("out_of_memory", 4, "s: y = alloc 9TiB   fails with out_of_memory"),
        ("expectation", 3, "gpu0.default_pool.used == 0B   fails: it is 1MiB, not 0B"),
    ] {
        let result = of(code);
        assert_eq!((&result["message"]["text"], &result["level"]), (&text.into(), &"error".into()));
        assert_eq!(result["locations"][0]["physicalLocation"]["region"]["startLine"], line);
    }
}

#[test]
fn an_expected_finding_is_suppressed_by_its_line() {
    let folder = Folder::new("sarif_expected");
    let (document, status) = document(&folder, "scenarios/hazards/freed_before_importer.scn", &[]);
    assert_eq!(status, 0);
    let [result] = results(&document) else { panic!("{document:#}") };
    let text = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/hazards/freed_before_importer.scn"),
    );
    let text = text.expect("it is there");
    let line = |location: &Value| {
        let region = &location["physicalLocation"]["region"];
        let number = |name: &str| region[name].as_u64().expect("a number") as usize;
        let line = text.lines().nth(number("startLine") - 1).unwrap_or_default();
        line.chars().take(number("endColumn") - 1).skip(number("startColumn") - 1).collect::<String>()
    };
    assert_eq!(line(&result["locations"][0]), "free x");
    assert_eq!(
        line(&result["suppressions"][0]["location"]),
        "expect finding freed_before_importer on x at early"
    );
    let related: Vec<String> =
        result["relatedLocations"].as_array().expect("a list").iter().map(line).collect();
    assert_eq!(related, ["y = import hx from q", "free y"]);
}

#[test]
fn a_file_is_written_whole_and_a_table_is_none() {
    let folder = Folder::new("sarif_file");
    folder.file("a.scn", "let n = 1\nstream s\ns: x = alloc 1MiB\ns: free x\nsync s\n");
    let output = folder.millpond(&["run", "a.scn", "--format", "sarif", "-o", "found.sarif"]);
    assert_eq!((status(&output), out(&output).as_str()), (0, ""));
    let written = fs::read_to_string(folder.path("found.sarif")).expect("it was written");
    let document: Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(results(&document), [] as [Value; 0]);
    let output = folder.millpond(&["run", "a.scn", "--format", "sarif", "--set", "n=1,2"]);
    assert_eq!((status(&output), out(&output).as_str()), (2, ""));
    assert!(err(&output).contains("--format sarif is about the findings of one run"), "{}", err(&output));
}
