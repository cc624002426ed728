//! `millpond test` as it is used in a project of one's own: selection, threads, snapshots, and what machines read of it.

use super::cli::{Folder, err, out, status};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const HOLDS: &str = "stream s\ns: x = alloc 1MiB\ns: free x\nexpect gpu0.default_pool.used == 0B\n";
const FAILS: &str = "stream s\ns: x = alloc 1MiB\nexpect gpu0.default_pool.used == 0B\n";
const SILENT: &str = "stream s\ns: x = alloc 1MiB\n";
const MISTAKE: &str = "stream s\nsync ss\n";

/// A folder with scenarios that come out in every way.
fn mixed(name: &str) -> Folder {
    let folder = Folder::new(name);
    for n in 0..12 {
        folder.file(&format!("scenarios/many/{n:02}.scn"), HOLDS);
    }
    folder.file("scenarios/a fails.scn", FAILS);
    folder.file("scenarios/b_silent.scn", SILENT);
    folder.file("scenarios/c_mistake.scn", MISTAKE);
    folder.file("scenarios/d_latin.scn", b"# caf\xe9\n");
    folder.file("scenarios/e_new.scn", format!("{HOLDS}snapshot\n"));
    folder.file("scenarios/invalid/f.scn", MISTAKE);
    folder
}

/// The files below a folder with this extension, counted without the code under test.
fn count(folder: &Path, extension: &str) -> usize {
    let entries = fs::read_dir(folder).expect("a folder can be read");
    let paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let is_one = |path: &&PathBuf| path.extension().is_some_and(|found| found == extension);
    let below: usize = paths.iter().filter(|path| path.is_dir()).map(|path| count(path, extension)).sum();
    below + paths.iter().filter(is_one).count()
}

fn results(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("ok    ") || line.starts_with("FAIL  ")).count()
}

#[test]
fn every_file_is_one_test() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = count(&root.join("scenarios"), "scn");
    let folder = Folder::new("every");
    for arguments in [&["test", "scenarios/"] as &[&str], &["test", "scenarios/", "scenarios/guide"]] {
        let output = folder.command(arguments).current_dir(root).output().expect("millpond starts");
        let text = out(&output);
        assert_eq!(status(&output), 0, "{text}");
        assert_eq!(results(&text), files);
        assert!(text.contains(&format!("\n{files} passed, 0 failed")), "{text}");
    }
}

#[test]
fn threads_change_nothing() {
    let folder = mixed("threads");
    let run = |jobs: &str, xml: &str| {
        let arguments = ["test", "--jobs", jobs, "--annotations", "github", "--junit", xml];
        let output = folder.millpond(&arguments);
        assert_eq!(status(&output), 2, "one cannot be read: {}", err(&output));
        (out(&output), fs::read(folder.path(xml)).expect("it was written"))
    };
    let (text, xml) = run("1", "one.xml");
    assert_eq!(results(&text), count(&folder.path("scenarios"), "scn"));
    assert!(text.contains("\n13 passed, 5 failed, 1 of them without expectations\n"), "{text}");
    assert!(text.contains("FAIL  scenarios/d_latin.scn  ") && text.contains("is not UTF-8 text"), "{text}");
    for jobs in ["2", "3", "8", "64"] {
        assert!(run(jobs, "many.xml") == (text.clone(), xml.clone()), "{jobs} threads");
    }
    assert_eq!(status(&folder.millpond(&["test", "--jobs", "0"])), 2);
}

#[test]
fn filters_choose_by_words_of_the_path() {
    let folder = mixed("filters");
    let output = folder.millpond(&["test", "--filter", "many/1", "-f", "silent"]);
    let text = out(&output);
    assert_eq!((status(&output), results(&text)), (0, 3), "{text}");
    assert!(
        text.ends_with("\n3 passed, 0 failed, 1 of them without expectations, 15 filtered out\n"),
        "{text}"
    );
    let listed = out(&folder.millpond(&["test", "--list", "-f", "many/1"]));
    assert_eq!(listed, "scenarios/many/10.scn\nscenarios/many/11.scn\n");
    let nothing = folder.millpond(&["test", "--filter", "flow", "-f", "flaw"]);
    assert_eq!(status(&nothing), 2);
    assert!(
        err(&nothing).contains("no path of 18 scenarios has `flow` or `flaw` in it"),
        "{}",
        err(&nothing)
    );
    let meant = folder.millpond(&["test", "many/0"]);
    assert_eq!((status(&meant), out(&meant).as_str()), (2, ""));
    let said = err(&meant);
    assert!(
        said.contains("many/0: no such file") && said.contains("millpond test --filter many/0"),
        "{said}"
    );
    let wrong = folder.millpond(&["test", "scenarois"]);
    assert_eq!(err(&wrong), "error: cannot read scenarois: no such file or directory\n");
    let empty = Folder::new("nothing");
    empty.file("scenarios/readme.txt", "");
    assert_eq!(err(&empty.millpond(&["test"])), "error: no scenario (*.scn) below scenarios\n");
}

#[test]
fn code_hosts_get_the_place_of_each_failure() {
    let folder = mixed("annotations");
    let arguments = ["test", "-f", "fails", "-f", "mistake", "-f", "e_new", "-f", "latin"];
    let mut command = folder.command(&arguments);
    let text = out(&command.env("GITHUB_ACTIONS", "true").output().expect("millpond starts"));
    for line in [
        "::error file=scenarios/a fails.scn,line=3,title=scenario fails::gpu0.default_pool.used == 0B   fails: \
         it is 1MiB, not 0B",
        "::error file=scenarios/c_mistake.scn,line=2,col=6,title=unknown_name::nothing is called `ss`: \
         expected the name of a stream, an event or a device",
        "::error file=scenarios/e_new.scn,line=5,title=snapshot::there is no accepted snapshot",
    ] {
        assert!(text.lines().any(|found| found == line), "{text}\nhas no {line}");
    }
    assert!(text.contains("::error file=scenarios/d_latin.scn,title="), "{text}");
    let mut quiet = folder.command(&arguments);
    let quiet = quiet.args(["--annotations", "none"]).env("GITHUB_ACTIONS", "true");
    assert!(!out(&quiet.output().expect("millpond starts")).contains("::error"));
    assert!(!out(&folder.millpond(&arguments)).contains("::error"));
}

#[test]
fn junit_is_xml_whatever_a_file_is_called() {
    let folder = Folder::new("junit");
    folder.file("scenarios/<a> & \"b\" 'c'.scn", FAILS);
    folder.file("scenarios/]]>.scn", HOLDS);
    folder.file("scenarios/bell\u{7}.scn", MISTAKE);
    let output = folder.millpond(&["test", "--junit", "deep/results.xml"]);
    assert_eq!(status(&output), 2, "{}", err(&output));
    let xml = fs::read_to_string(folder.path("deep/results.xml")).expect("it was written");
    for part in [
        "<testsuites name=\"millpond\" tests=\"3\" skipped=\"0\" failures=\"1\" errors=\"1\">",
        "name=\"&lt;a&gt; &amp; &quot;b&quot; &apos;c&apos;.scn\"",
        "classname=\"scenarios\"",
        "name=\"]]&gt;.scn\"",
        "name=\"bell.scn\"",
        "<failure message=\"gpu0.default_pool.used == 0B   fails: it is 1MiB, not 0B\"",
        "<error message=\"nothing is called `ss`",
    ] {
        assert!(xml.contains(part), "{xml}\nhas no {part}");
    }
    assert!(!xml.contains("time"), "nothing was measured: {xml}");
    let unwritable = folder.millpond(&["test", "--junit", "scenarios"]);
    assert_eq!(status(&unwritable), 2);
    assert!(err(&unwritable).contains("cannot write scenarios: it is a directory"), "{}", err(&unwritable));
}

#[test]
fn snapshots_may_lie_elsewhere() {
    let folder = Folder::new("elsewhere");
    folder.file("my scenarios/scenarios/deep/a.scn", format!("{HOLDS}snapshot\n"));
    let arguments = ["test", "my scenarios", "--snapshots", "accepted here"];
    let before = folder.millpond(&arguments);
    let command = "--bless --snapshots 'accepted here' 'my scenarios/scenarios/deep/a.scn'";
    assert_eq!(status(&before), 1);
    assert!(out(&before).contains(&format!("accept it with: millpond test {command}\n")), "{}", out(&before));
    let run = ["run", "my scenarios/scenarios/deep/a.scn", "--snapshots", "accepted here"];
    assert!(out(&folder.millpond(&run)).contains(&format!("next: millpond test {command}\n")));
    let blessed = folder.millpond(&["test", "my scenarios", "--snapshots", "accepted here", "--bless"]);
    assert_eq!(status(&blessed), 0);
    assert!(out(&blessed).contains("wrote accepted here/deep/a.snap\n"), "{}", out(&blessed));
    assert!(out(&blessed).ends_with("\n1 passed, 0 failed, 1 snapshot written\n"), "{}", out(&blessed));
    assert_eq!(status(&folder.millpond(&arguments)), 0);
    assert_eq!(status(&folder.millpond(&run)), 0);
    assert_eq!(status(&folder.millpond(&["test", "my scenarios"])), 1, "there is none in the usual place");
}

#[test]
fn what_fails_is_not_accepted() {
    let folder = Folder::new("unaccepted");
    let scenario = folder.file("scenarios/a.scn", format!("{FAILS}snapshot\n"));
    let text = fs::read(&scenario).expect("it is there");
    let output = folder.millpond(&["test", "--bless"]);
    assert_eq!(status(&output), 1);
    assert!(out(&output).contains("not accepted, since the scenario fails"), "{}", out(&output));
    assert!(!folder.path("snapshots").exists());
    assert_eq!(fs::read(&scenario).expect("it is there"), text, "an expectation is never touched");
}

#[test]
fn snapshots_without_scenarios_are_told() {
    let folder = Folder::new("orphans");
    let header = |name: &str| format!("---\nsource: x\ninput_file: {name}\n---\n[\n]\n");
    folder.file("scenarios/a.scn", HOLDS);
    folder.file("snapshots/gone.snap", header("scenarios/gone.scn"));
    folder.file("snapshots/other.snap", "---\nsource: tests/other.rs\nexpression: x\n---\n1\n");
    folder.file("snapshots/foreign.snap", header("inputs/foreign.scn"));
    let output = folder.millpond(&["test"]);
    let notes: Vec<String> =
        out(&output).lines().filter(|line| line.starts_with("note")).map(str::to_owned).collect();
    assert_eq!(status(&output), 0);
    assert_eq!(notes, ["note: snapshots/gone.snap can go, since there is no scenarios/gone.scn any more"]);
    folder.file("snapshots/a.snap", header("scenarios/a.scn"));
    let output = folder.millpond(&["test"]);
    assert_eq!(status(&output), 1);
    assert!(out(&output).contains("no line asks for the snapshot snapshots/a.snap"), "{}", out(&output));
}

#[test]
fn two_scenarios_never_share_a_snapshot() {
    let folder = Folder::new("shared");
    folder.file("one/scenarios/a.scn", HOLDS);
    folder.file("two/scenarios/a.scn", HOLDS);
    assert_eq!(status(&folder.millpond(&["test", "one", "two"])), 0);
    let output = folder.millpond(&["test", "one", "two", "--snapshots", "accepted"]);
    assert_eq!(status(&output), 2);
    let said = err(&output);
    assert!(said.contains("one/scenarios/a.scn and two/scenarios/a.scn would have one snapshot"), "{said}");
}

#[test]
fn who_stops_reading_stops_nothing() {
    let folder = Folder::new("reader");
    for n in 0..40 {
        folder.file(&format!("scenarios/{n:02}.scn"), format!("{HOLDS}snapshot\n"));
    }
    folder.file("scenarios/zz.scn", FAILS);
    let mut command = folder.command(&["test", "--bless", "--jobs", "2"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("millpond starts");
    let mut first = [0; 4];
    child.stdout.take().expect("it is a pipe").read_exact(&mut first).expect("there is output");
    let output = child.wait_with_output().expect("millpond ends");
    assert_eq!((status(&output), err(&output)), (1, String::new()), "the last one fails");
    assert_eq!(count(&folder.path("snapshots"), "snap"), 40, "all are written, and nothing half");
    assert_eq!(fs::read_dir(folder.path("snapshots")).expect("a folder").count(), 40);
}
