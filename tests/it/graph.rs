//! `millpond graph`: what it prints has the shape of a graph, and each kind of edge where a scenario has it.

use std::collections::BTreeSet;
use std::process::Command;

/// A graph as it was read back.
struct Read {
    text: String,
    nodes: BTreeSet<String>,
    /// From, to, label.
    edges: Vec<(String, String, String)>,
}

impl Read {
    /// Of the arguments behind `millpond graph`.
    fn of(arguments: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
        command.arg("graph").args(arguments.split(' ')).current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = command.output().expect("millpond starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self::back(String::from_utf8(output.stdout).expect("text"))
    }

    /// Reads what the shape of the text allows, and nothing else.
    fn back(text: String) -> Self {
        let mut read = Self { text: String::new(), nodes: BTreeSet::new(), edges: Vec::new() };
        let mut depth = 0;
        let label = |line: &str| {
            let (_, rest) = line.split_once("label = \"").expect("a label");
            let end = rest.replace("\\\"", "..").find('"').expect("a closing quote");
            rest[..end].to_owned()
        };
        for line in text.lines().map(str::trim) {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["//", ..] | ["rankdir", ..] | ["label", "=", ..] => {}
                ["node" | "edge", ..] => assert!(line.ends_with(']'), "{line}"),
                ["digraph", "operations", "{"] | ["subgraph", _, "{"] => depth += 1,
                ["}"] => depth -= 1,
                [from, "->", to, ..] => {
                    assert!(read.nodes.contains(*from) && read.nodes.contains(*to), "{line}");
                    assert!(line.ends_with(']'), "{line}");
                    read.edges.push(((*from).to_owned(), (*to).to_owned(), label(line)));
                }
                [node, ..] => {
                    assert!(!label(line).is_empty() && line.ends_with(']') && depth == 2, "{line}");
                    assert!(read.nodes.insert((*node).to_owned()), "{line}");
                }
                [] => panic!("an empty line"),
            }
        }
        assert_eq!(depth, 0, "braces close");
        read.text = text;
        read
    }

    fn has(&self, label: &str) -> bool {
        self.edges.iter().any(|edge| edge.2 == label)
    }
}

#[test]
fn each_kind_of_edge_occurs() {
    for (scenario, label) in [
        ("scenarios/guide/follow_event.scn", "stream order"),
        ("scenarios/guide/follow_event.scn", "event"),
        ("scenarios/guide/follow_event.scn", "reuse"),
        ("scenarios/events/legacy_stream.scn", "legacy stream"),
        ("scenarios/reuse/internal/on.scn", "allocator"),
    ] {
        assert!(Read::of(scenario).has(label), "{scenario} has no edge `{label}`");
    }
    assert!(!Read::of("scenarios/guide/follow_event.scn").has("allocator"));
}

#[test]
fn an_operation_is_a_node_with_its_line_and_text() {
    let graph = Read::of("scenarios/guide/follow_event.scn");
    assert_eq!(graph.nodes.len(), 8);
    assert!(graph.text.contains("[label = \"16  y = alloc 64MiB from scratch\"]"), "{}", graph.text);
    assert!(graph.text.contains("\n// 8 operations\n"), "{}", graph.text);
    let reuse = graph.edges.iter().filter(|edge| edge.2 == "reuse").count();
    assert_eq!(reuse, 1);
}

#[test]
fn a_long_run_is_cut_and_says_so() {
    let graph = Read::of("scenarios/stress/two_streams_running_ahead.scn");
    assert_eq!(graph.nodes.len(), 500);
    assert!(graph.text.contains("\n// The first 500 of "), "it says so");
}

#[test]
fn a_variant_has_a_graph_of_its_own() {
    let twins = "scenarios/reuse/follow_event/twins.scn";
    assert!(Read::of(twins).has("reuse"));
    assert!(
        !Read::of(&format!("{twins} --variant off")).has("reuse"),
        "without the policy nothing is reused"
    );
}
