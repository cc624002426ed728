//! The command line from outside: exit statuses, files, pipes, and what is said about mistakes.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

const HOLDS: &str = "\
stream s
s: x = alloc 1MiB
s: free x
expect gpu0.default_pool.used == 0B
";
const FAILS: &str = "\
stream s
s: x = alloc 1MiB
expect gpu0.default_pool.used == 0B
";
const MISTAKES: &str = "\
stream s
s: x = aloc 1MiB
s: free y
s: z = alloc 1MB
t: w = alloc 1MiB
expect gpu0.default_pool.usd == 0B
";

/// A folder of its own that is removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{name}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).expect("a folder for a test can be made");
        Self(path)
    }

    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder can be made");
        fs::write(&path, text).expect("a file can be written");
        path
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn millpond(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("millpond starts")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
        command.args(arguments).current_dir(&self.0).env_remove("NO_COLOR").env_remove("GITHUB_ACTIONS");
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

pub(crate) fn status(output: &Output) -> i32 {
    output.status.code().expect("millpond ends by itself")
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

pub(crate) fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is text")
}

/// What is said, wherever its lines are broken.
pub(crate) fn in_one_line(said: &str) -> String {
    said.replace("\n  ", " ")
}

#[test]
fn the_status_says_what_came_of_it() {
    let folder = Folder::new("status");
    folder.file("holds.scn", HOLDS);
    folder.file("fails.scn", FAILS);
    folder.file("mistakes.scn", MISTAKES);
    let cases: [(&[&str], i32); 12] = [
        (&["run", "holds.scn"], 0),
        (&["run", "fails.scn"], 1),
        (&["run", "fails.scn", "--format", "json"], 1),
        (&["run", "mistakes.scn"], 2),
        (&["run", "missing.scn"], 2),
        (&["run", "."], 2),
        (&["run", "holds.scn", "--seed", "minus"], 2),
        (&["fly"], 2),
        (&["check", "holds.scn", "fails.scn"], 0),
        (&["check", "mistakes.scn", "holds.scn"], 2),
        (&["test", "holds.scn"], 0),
        (&["test", "holds.scn", "fails.scn"], 1),
    ];
    for (arguments, expected) in cases {
        let output = folder.millpond(arguments);
        assert_eq!(status(&output), expected, "{arguments:?}\n{}{}", out(&output), err(&output));
    }
}

/// A build without the backend; one with it is looked at where there is no driver.
#[cfg(not(feature = "cuda"))]
#[test]
fn a_build_without_hardware_says_so() {
    let folder = Folder::new("hardware");
    folder.file("holds.scn", HOLDS);
    for arguments in
        [&["run", "holds.scn", "--backend", "cuda"], &["compare", "holds.scn", "--backend", "cuda"]]
    {
        let output = folder.millpond(arguments);
        assert_eq!((status(&output), out(&output).as_str()), (3, ""), "{arguments:?}");
        let said = "error: this build has no hardware backend: build it with\n  `cargo build --release --features cuda`\n";
        assert_eq!(err(&output), said);
    }
    let output = folder.millpond(&["run", "holds.scn", "--backend", "cuda", "--set", "profile=small_card"]);
    assert_eq!(status(&output), 2, "{}", err(&output));
}

#[test]
fn fmt_writes_what_differs_and_nothing_else() {
    let folder = Folder::new("fmt");
    folder.file("scenarios/plain.scn", HOLDS);
    let odd = folder.file("scenarios/odd.scn", "stream s\r\ns:x=alloc 1MiB\n\n\n  s: free x #done");
    let mistakes = folder.file("scenarios/mistakes.scn", MISTAKES);
    folder.file("scenarios/invalid/odd.scn", "sync   device\n");
    let formatted = "stream s\ns: x = alloc 1MiB\n\ns: free x  #done\n";

    let checked = folder.millpond(&["fmt", "--check", "scenarios/odd.scn", "scenarios/plain.scn"]);
    let said = out(&checked);
    assert_eq!(status(&checked), 1);
    assert!(said.starts_with("scenarios/odd.scn: - is, + should be\n"), "{said}");
    assert!(said.contains("     2 - s:x=alloc 1MiB\n") && said.contains("+ s: x = alloc 1MiB\n"), "{said}");
    assert!(
        said.ends_with("1 file differs, mended by: millpond fmt scenarios/odd.scn scenarios/plain.scn\n"),
        "{said}"
    );

    let output = folder.millpond(&["fmt", "scenarios"]);
    assert_eq!(status(&output), 2, "one has mistakes");
    assert!(err(&output).contains("scenarios/mistakes.scn:2:8"), "{}", err(&output));
    assert_eq!(out(&output), "wrote scenarios/odd.scn\n1 of 3 changed\n");
    assert_eq!(fs::read_to_string(odd).expect("still there"), formatted);
    assert_eq!(fs::read_to_string(mistakes).expect("still there"), MISTAKES);
    let left = fs::read_dir(folder.0.join("scenarios")).expect("the folder is there").count();
    assert_eq!(left, 4, "nothing else is left behind");

    let again = folder.millpond(&["fmt", "--check", "scenarios/odd.scn"]);
    assert_eq!((status(&again), out(&again)), (0, String::new()));
    assert_eq!(status(&folder.millpond(&["fmt", "--check", "scenarios/invalid/odd.scn"])), 1, "it is named");
}

#[test]
fn words_are_explained() {
    let folder = Folder::new("explain");
    let list = out(&folder.millpond(&["explain"]));
    let still_live = out(&folder.millpond(&["explain", "still_live"]));
    assert!(list.contains("\n  still_live ") && list.contains("\n  follow_event "), "{list}");
    assert!(still_live.contains("Wrong:\n  stream s") && still_live.contains("Right:\n"), "{still_live}");
    let unknown = folder.millpond(&["explain", "stil_live"]);
    assert_eq!((status(&unknown), out(&unknown).as_str()), (2, ""));
    assert!(err(&unknown).contains("did you mean `still_live`?"), "{}", err(&unknown));
    let rule = out(&folder.millpond(&["explain", "r41"]));
    assert!(rule.starts_with("R41: ") && rule.contains("\nSource: CUDA driver API, "), "{rule}");
    let no_rule = folder.millpond(&["explain", "R96"]);
    let complaint = "error: there is no rule R96; rules are R1 to R95\n";
    assert_eq!((status(&no_rule), err(&no_rule).as_str()), (2, complaint));
}

#[test]
fn a_new_scenario_runs_and_holds() {
    let folder = Folder::new("new");
    let written = folder.millpond(&["new", "my_first.scn"]);
    assert_eq!(status(&written), 0);
    assert!(out(&written).contains("millpond run my_first.scn"), "{}", out(&written));
    let text = fs::read_to_string(folder.0.join("my_first.scn")).expect("it was written");
    assert!(text.contains("\nscenario \"my first\" "), "{text}");
    let commented =
        text.lines().filter(|line| line.split_once('#').is_some_and(|(code, _)| !code.is_empty()));
    assert_eq!(commented.count(), 15, "{text}");
    let seeds: [&[&str]; 2] = [&["run", "my_first.scn"], &["run", "my_first.scn", "--seed", "7"]];
    for arguments in seeds.into_iter().chain([&["fmt", "--check", "my_first.scn"] as &[&str]]) {
        let output = folder.millpond(arguments);
        assert_eq!(status(&output), 0, "{}{}", out(&output), err(&output));
        assert!(err(&output).is_empty(), "no warning: {}", err(&output));
    }
    let again = folder.millpond(&["new", "my_first.scn"]);
    assert_eq!((status(&again), err(&again).as_str()), (2, "error: my_first.scn exists already\n"));
    assert_eq!(fs::read_to_string(folder.0.join("my_first.scn")).expect("still there"), text);
    assert_eq!(status(&folder.millpond(&["new", "missing/first.scn"])), 2);
}

#[test]
fn without_a_command_there_is_something_to_try() {
    let folder = Folder::new("greeting");
    let greeting = folder.millpond(&[]);
    assert_eq!(status(&greeting), 0);
    let text = out(&greeting);
    assert_eq!(text.lines().count(), 12, "{text}");
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  millpond ")).collect();
    assert_eq!(commands.len(), 3, "{text}");
    for command in commands {
        let arguments: Vec<&str> = command.split(' ').collect();
        assert_eq!(status(&folder.millpond(&arguments)), 0, "{command}");
    }
    assert!(out(&folder.millpond(&["--version"])).contains("models cuda and oxicuda"));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        assert!(out(&folder.millpond(&["completions", shell])).contains("explain"), "{shell}");
    }
    assert!(out(&folder.millpond(&["man"])).starts_with(".ie"), "{}", out(&folder.millpond(&["man"])));
    assert!(out(&folder.millpond(&["man", "run"])).contains(".TH millpond-run 1"));
    assert_eq!(status(&folder.millpond(&["man", "walk"])), 2);
}

#[test]
fn a_dash_is_standard_input() {
    let folder = Folder::new("dash");
    let run = |arguments: &[&str], text: &str| {
        let mut command = folder.command(arguments);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("millpond starts");
        child.stdin.take().expect("it is a pipe").write_all(text.as_bytes()).expect("it reads");
        child.wait_with_output().expect("millpond ends")
    };
    let formatted = run(&["fmt", "-"], "stream   s");
    assert_eq!((status(&formatted), out(&formatted).as_str()), (0, "stream s\n"));
    assert_eq!(status(&run(&["fmt", "--check", "-"], "stream   s")), 1);
    assert_eq!(status(&run(&["fmt", "-"], MISTAKES)), 2);
    assert_eq!(out(&run(&["check", "-"], HOLDS)), "<stdin>: no mistakes\n");
    assert!(err(&run(&["check", "-"], MISTAKES)).contains("--> <stdin>:2:8"));
    let held = run(&["run", "-"], &format!("{HOLDS}snapshot\n"));
    assert_eq!(status(&held), 0, "there is no accepted snapshot to compare with: {}", out(&held));
    assert_eq!(status(&run(&["run", "-"], FAILS)), 1);
}

#[test]
fn what_cannot_be_read_is_said_in_one_line() {
    let folder = Folder::new("unreadable");
    folder.file("latin.scn", b"# caf\xe9\n");
    for (name, word) in [("missing.scn", "no such file"), (".", "directory"), ("latin.scn", "not UTF-8")] {
        let output = folder.millpond(&["run", name]);
        assert_eq!((status(&output), out(&output)), (2, String::new()), "{name}");
        let said = err(&output);
        assert!(said.contains(word) && said.lines().count() == 1, "{name}: {said}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_shown_at_once() {
    let folder = Folder::new("mistakes");
    folder.file("mistakes.scn", MISTAKES);
    for command in ["run", "check"] {
        let output = folder.millpond(&[command, "mistakes.scn"]);
        let said = err(&output);
        assert_eq!(out(&output), "");
        assert!(
            said.contains("\n5 errors in mistakes.scn\nfor more: millpond explain unexpected (or "),
            "{said}"
        );
        assert_eq!(said.matches("--> mistakes.scn:").count(), 5, "{said}");
        assert!(!said.contains('\x1b'), "no colours in a pipe: {said}");
    }
}

#[test]
fn a_report_in_a_file_is_the_report() {
    let folder = Folder::new("output");
    folder.file("holds.scn", HOLDS);
    let printed = folder.millpond(&["run", "holds.scn"]);
    let written = folder.millpond(&["run", "holds.scn", "-o", "report.txt"]);
    assert_eq!(out(&written), "");
    assert_eq!(fs::read_to_string(folder.0.join("report.txt")).expect("it was written"), out(&printed));
    let left = fs::read_dir(&folder.0).expect("the folder is there").count();
    assert_eq!(left, 2, "nothing else is left behind");
}

#[test]
fn a_wrong_input_leaves_the_output_file_alone() {
    let folder = Folder::new("untouched");
    folder.file("mistakes.scn", MISTAKES);
    let kept = folder.file("report.txt", "as it was");
    for input in ["mistakes.scn", "missing.scn"] {
        assert_eq!(status(&folder.millpond(&["run", input, "-o", "report.txt"])), 2);
        assert_eq!(fs::read_to_string(&kept).expect("it is still there"), "as it was");
    }
    folder.file("holds.scn", HOLDS);
    assert_eq!(status(&folder.millpond(&["run", "holds.scn", "-o", "missing/report.txt"])), 2);
    assert_eq!(status(&folder.millpond(&["run", "holds.scn", "-o", "."])), 2);
}

#[test]
fn json_lines_have_a_header_and_a_verdict() {
    let folder = Folder::new("json");
    folder.file("fails.scn", FAILS);
    let text = out(&folder.millpond(&["run", "fails.scn", "--format", "json", "--seed", "7"]));
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect();
    assert_eq!(lines[0]["schema"], 3);
    assert_eq!(lines[0]["seed"], 7);
    let verdict = lines.last().expect("there is a verdict");
    assert_eq!(verdict["event"], "verdict");
    assert_eq!(verdict["holds"], false);
    assert_eq!(verdict["ordering"], "checked");
    assert_eq!(verdict["expectations"][0]["first"]["values"]["left"], 1 << 20);
    assert!(lines.iter().any(|line| line["event"] == "decided" && line["policy"] == "growth"));
}

#[test]
fn an_expectation_that_fails_says_since_when() {
    let folder = Folder::new("since");
    folder.file(
        "fails.scn",
        "stream s
pool p { release_threshold = max }
s: x = alloc 1MiB from p
sync s
expect p.used == 0B
expect p.follow_event == off
repeat i in 0..3 {
  s: z[i] = alloc 1MiB from p
  expect p.used <= 3MiB
}
expect z[2] reuses x
",
    );
    let text = out(&folder.millpond(&["run", "fails.scn"]));
    for finding in [
        "
error[expectation]: line 5: p.used == 0B
                            ^^^^^^^^^^^^
  expected  0B
  actual    1MiB
  since     line 3: s: x = alloc 1MiB from p
",
        "
error[expectation]: line 6: p.follow_event == off
                            ^^^^^^^^^^^^^^^^^^^^^
  expected  off
  actual    on
  since     the start of the run
",
        "
error[expectation]: line 9: p.used <= 3MiB
                            ^^^^^^^^^^^^^^
  fails     1 of 3 times, at first:
  expected  at most 3MiB
  actual    4MiB
  since     line 8: s: z[i] = alloc 1MiB from p
",
        "
  expected  reuses x
  actual    no byte shared
  since     line 8: s: z[i] = alloc 1MiB from p
",
    ] {
        assert!(text.contains(finding), "{text}\n has no {finding}");
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    let many: String = (0..3_000).map(|_| "s: x = alloc 1MiB\ns: free x\n").collect();
    folder.file("long.scn", format!("stream s\n{many}"));
    let mut command = folder.command(&["run", "long.scn", "--format", "json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("millpond starts");
    let mut first = [0; 16];
    child.stdout.take().expect("it is a pipe").read_exact(&mut first).expect("there is output");
    let output = child.wait_with_output().expect("millpond ends");
    assert_eq!((status(&output), err(&output)), (0, String::new()));
}

#[test]
fn snapshots_are_accepted_on_demand_only() {
    let folder = Folder::new("bless");
    folder.file("scenarios/deep/a.scn", format!("{HOLDS}snapshot\n"));
    let snapshot = folder.0.join("snapshots/deep/a.snap");
    let before = folder.millpond(&["test"]);
    assert_eq!(status(&before), 1);
    assert!(out(&before).contains("millpond test --bless scenarios/deep/a.scn"), "{}", out(&before));
    assert!(!snapshot.exists());
    let blessed = folder.millpond(&["test", "--bless", "scenarios/deep/a.scn"]);
    assert_eq!(status(&blessed), 0);
    assert!(out(&blessed).contains("wrote snapshots/deep/a.snap"), "{}", out(&blessed));
    let text = fs::read_to_string(&snapshot).expect("it was written");
    assert!(
        text.starts_with("---\nsource: tests/scenarios.rs\ninput_file: scenarios/deep/a.scn\n---\n["),
        "{text}"
    );
    assert_eq!(status(&folder.millpond(&["run", "scenarios/deep/a.scn"])), 0);
    fs::write(&snapshot, text.replace("31MiB", "30MiB")).expect("it can be changed");
    let changed = folder.millpond(&["run", "scenarios/deep/a.scn"]);
    assert_eq!(status(&changed), 1);
    assert!(
        out(&changed).contains("\n- ") && out(&changed).contains("the snapshot differs"),
        "{}",
        out(&changed)
    );
    assert!(!out(&folder.millpond(&["test", "--list"])).contains("snap"));
}

#[test]
fn scenarios_that_must_be_rejected_are() {
    let folder = Folder::new("invalid");
    folder.file("scenarios/invalid/a.scn", MISTAKES);
    folder.file("scenarios/invalid/b.scn", HOLDS);
    let output = folder.millpond(&["test", "--bless"]);
    assert_eq!(status(&output), 1);
    assert!(out(&output).contains("has no mistake, but lies below `invalid`"), "{}", out(&output));
    assert!(out(&output).contains("1 passed, 1 failed"), "{}", out(&output));
    assert_eq!(status(&folder.millpond(&["test", "scenarios/invalid/a.scn"])), 0);
}

/// Nothing that a command reads is replaced by what it writes, whatever the two paths look like.
#[test]
fn what_is_read_is_not_written_over() {
    let folder = Folder::new("written_over");
    let text = "stream s\ns: x = alloc 1MiB\ns: free x\n";
    let profile = fs::read_to_string(format!("{}/profiles/default.ron", env!("CARGO_MANIFEST_DIR")));
    let profile = profile.expect("the profile is there");
    folder.file("k.scn", text);
    folder.file("p.ron", &profile);
    let commands: [&[&str]; 9] = [
        &["run", "k.scn", "-o", "k.scn"],
        &["run", "k.scn", "-o", "./k.scn"],
        &["run", "k.scn", "--set", "model=cuda,oxicuda", "-o", "k.scn"],
        &["run", "k.scn", "--profile", "p.ron", "-o", "p.ron"],
        &["explore", "k.scn", "--seeds", "2", "-o", "k.scn"],
        &["explore", "k.scn", "--untimed", "-o", "k.scn"],
        &["compare", "k.scn", "--with", "seed=1", "-o", "k.scn"],
        &["compare", "k.scn", "--with", "profile=p.ron", "-o", "p.ron"],
        &["test", "k.scn", "--junit", "k.scn"],
    ];
    for command in commands {
        let output = folder.millpond(command);
        assert_eq!((status(&output), out(&output).as_str()), (2, ""), "{command:?}: {}", err(&output));
        assert!(err(&output).contains(": this command reads it; give another name"), "{}", err(&output));
    }
    let read = |name: &str| fs::read_to_string(folder.path(name)).expect("it is still there");
    assert_eq!((read("k.scn"), read("p.ron")), (text.to_owned(), profile));
}
