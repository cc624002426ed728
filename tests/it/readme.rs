//! What `README.md` shows is what the program prints.
//!
//! A block below `<!-- file: F -->` is that file; below `<!-- output: ARGUMENTS -->` what `millpond ARGUMENTS` prints, below
//! `errors:` what it says on standard error; `| lines A to B` takes a part. With `MILLPOND_BLESS` set the blocks are rewritten.

use std::fs;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What the block below a mark should hold.
fn expected(mark: &str) -> Option<String> {
    let mark = mark.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let (kind, what) = mark.split_once(": ")?;
    let (what, part) = what.split_once(" | lines ").map_or((what, None), |(what, part)| (what, Some(part)));
    let text = match kind {
        "file" => fs::read_to_string(format!("{ROOT}/{what}")).expect("README.md names files that are there"),
        "output" | "errors" => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
            command.args(what.split(' ')).current_dir(ROOT).env_remove("GITHUB_ACTIONS");
            let output = command.output().expect("millpond starts");
            String::from_utf8(if kind == "output" { output.stdout } else { output.stderr }).expect("text")
        }
        _ => return None,
    };
    let Some(part) = part else { return Some(text) };
    let (from, to) = part.split_once(" to ").expect("`lines A to B`");
    let [from, to]: [usize; 2] = [from, to].map(|number| number.parse().expect("the number of a line"));
    Some(text.lines().take(to).skip(from - 1).map(|line| format!("{line}\n")).collect())
}

#[test]
fn the_readme_shows_what_is_printed() {
    let path = format!("{ROOT}/README.md");
    let old = fs::read_to_string(&path).expect("README.md is there");
    let mut new = String::new();
    let mut marks = 0;
    let mut lines = old.lines();
    while let Some(line) = lines.next() {
        new.push_str(line);
        new.push('\n');
        let Some(text) = expected(line) else { continue };
        marks += 1;
        let fence = lines.next().filter(|fence| ["```text", "```rust"].contains(fence));
        let fence = fence.unwrap_or_else(|| panic!("a block follows {line}"));
        new.push_str(&format!("{fence}\n{}\n```\n", text.trim_end()));
        lines.by_ref().take_while(|line| *line != "```").for_each(drop);
    }
    assert!(marks >= 5, "README.md shows real output");
    if std::env::var_os("MILLPOND_BLESS").is_some() {
        fs::write(&path, &new).expect("README.md can be written");
        return;
    }
    assert!(
        old == new,
        "README.md is behind; MILLPOND_BLESS=1 cargo test readme rewrites its blocks:\n{new}"
    );
}

/// The workflow for a user's project is what it is said to be, and its commands are those that the example is tested by.
#[test]
fn the_workflow_has_eight_lines() {
    let readme = fs::read_to_string(format!("{ROOT}/README.md")).expect("README.md is there");
    let blocks: Vec<&str> = readme.split("```yaml\n").skip(1).collect();
    let [block] = blocks.as_slice() else { panic!("there is one workflow") };
    let workflow = block.split("```").next().expect("it ends");
    assert_eq!(workflow.lines().count(), 8, "{workflow}");

    let documents = yaml_rust2::YamlLoader::load_from_str(workflow).expect("it is YAML");
    let [workflow] = documents.as_slice() else { panic!("it is one document") };
    let events: Vec<&str> =
        workflow["on"].as_vec().into_iter().flatten().flat_map(|on| on.as_str()).collect();
    assert_eq!(events, ["push", "pull_request"]);
    let jobs = workflow["jobs"].as_hash().expect("it has jobs");
    let job = jobs.values().next().expect("it has one job");
    assert_eq!(job["runs-on"].as_str(), Some("ubuntu-latest"));
    let steps = job["steps"].as_vec().expect("the job has steps");
    let said = |key: &str| steps.iter().filter_map(|step| step[key].as_str()).collect::<Vec<_>>();

    // The same action as this repository's own workflow, whose version stands behind its hash.
    let own = fs::read_to_string(format!("{ROOT}/.github/workflows/ci.yml")).expect("there is a workflow");
    let own = own.split("actions/checkout@").nth(1).and_then(|rest| rest.split("# ").nth(1));
    let major = own.and_then(|version| version.split('.').next()).expect("a version such as v4.2.2");
    assert_eq!(said("uses"), [format!("actions/checkout@{major}")]);

    assert_eq!(said("run"), ["cargo test"]);
    let checks = fs::read_to_string(format!("{ROOT}/.ci/run")).expect("there are checks");
    assert!(checks.contains("cargo test --workspace --exclude millpond"), "the example is tested");
}

/// The keywords of the grammar, which are its rules `kw_..`.
fn keywords() -> Vec<String> {
    let grammar = include_str!("../../grammar/millpond.pest");
    let rules = grammar.lines().filter(|line| line.starts_with("kw_"));
    rules.map(|rule| rule.split('"').nth(1).expect("a keyword stands in quotes").to_owned()).collect()
}

#[test]
fn one_scenario_shows_every_word_of_the_language() {
    // What is so in all timings, is shown where it takes no long search to know it.
    let all_timings = include_str!("../../scenarios/explore/always_and_never.scn");
    let text = [include_str!("../../scenarios/readme.scn"), all_timings].concat();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    let words: Vec<&str> =
        lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).collect();
    let missing: Vec<_> = keywords().into_iter().filter(|word| !words.contains(&word.as_str())).collect();
    assert!(missing.is_empty(), "scenarios/readme.scn does not show {missing:?}");
    assert!(keywords().len() > 70);
}

/// What the lines of the table of CUDA calls stand in.
const AROUND: &str = "\
device gpu0 { memory = 8GiB, peers = [gpu1] }
device gpu1
stream S on gpu0
event e
pool p on gpu0 { handle = posix_fd }
pool shared on gpu0 { handle = posix_fd }
event ipc { interprocess }
kernel k(x: read_write) takes 5us
host_buffer h 1MiB pinned
S: x = alloc 1MiB
export shared as shared_pool
export x as shared_x
export ipc as shared_e
graph G {
  S: inside = alloc 1MiB
}
E = instantiate G
";

/// Each line of the table is one of a valid scenario; each call of the allocator is in it once.
#[test]
fn the_table_of_cuda_calls_is_true() {
    let page = include_str!("../../grammar/README.md");
    let table = page.split("## From CUDA calls to lines").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rows = table.expect("a table").lines().filter(|line| line.starts_with("| `"));
    let (mut lines, mut calls) = (0, Vec::new());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [runtime, _, line] = cells[..] else { panic!("a row has three cells: {row}") };
        calls.extend(quoted(runtime));
        for line in quoted(line).filter(|line| *line != "alloc" && *line != "from") {
            let block = if line.ends_with('{') { "}\n" } else { "" };
            let text = format!("{AROUND}{line}\n{block}");
            let (_, found) = millpond::load(&text, &millpond::profile::Profile::default());
            assert!(found.is_empty(), "{line}: {found:?}");
            lines += 1;
        }
    }
    for call in [
        "cudaMallocAsync",
        "cudaMallocFromPoolAsync",
        "cudaFreeAsync",
        "cudaMemPoolCreate",
        "cudaMemPoolDestroy",
        "cudaMemPoolTrimTo",
        "cudaMemPoolSetAttribute",
        "cudaMemPoolGetAttribute",
        "cudaMemPoolSetAccess",
        "cudaMemPoolGetAccess",
        "cudaDeviceCanAccessPeer",
        "cudaMemPoolExportToShareableHandle",
        "cudaMemPoolImportFromShareableHandle",
        "cudaMemPoolExportPointer",
        "cudaMemPoolImportPointer",
        "cudaDeviceGetDefaultMemPool",
        "cudaDeviceGetMemPool",
        "cudaDeviceSetMemPool",
        "cudaMemGetDefaultMemPool",
        "cudaMemGetMemPool",
        "cudaMemSetMemPool",
        "cudaGraphAddMemAllocNode",
        "cudaGraphAddMemFreeNode",
        "cudaGraphInstantiate",
        "cudaGraphLaunch",
        "cudaGraphUpload",
        "cudaDeviceGraphMemTrim",
        "cudaDeviceGetGraphMemAttribute",
        "cudaDeviceSetGraphMemAttribute",
    ] {
        assert!(calls.contains(&call), "the table has no row for {call}");
    }
    assert!(lines >= 40, "{lines}");
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}
