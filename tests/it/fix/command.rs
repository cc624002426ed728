//! `millpond fix`: what it prints and writes, and how it ends.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BROKEN: &str = "stream a, b\nevent e\nkernel fill(x: write) takes 10us\n\
                      a: x = alloc 1MiB\na: fill(x)\na: record e\nb: free x\n";

/// A folder of its own for one test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fix").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("it is ours");
    }
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("broken.scn"), BROKEN).expect("a file");
    folder
}

fn millpond(folder: &Path, arguments: &str, input: &str) -> (i32, String, String) {
    called("fix", folder, arguments, input)
}

fn called(name: &str, folder: &Path, arguments: &str, input: &str) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
    command.arg(name).args(arguments.split_whitespace()).current_dir(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("millpond starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).ok();
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (status.code().expect("it ends by itself"), text(stdout), text(stderr))
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).expect("a file")
}

#[test]
fn a_fix_is_shown_and_nothing_is_written() {
    let folder = folder("shown");
    let (status, out, error) = millpond(&folder, "broken.scn", "");
    assert_eq!((status, error.as_str()), (0, ""));
    let expected = "\
fix: wait for e before the free
   = removes: free_before_alloc at line 7, use_after_free at line 7
   = tried: 0 findings left, none new; b ends at 10us instead of 0us,
            reserved_high unchanged (32 MiB)

6   a: record e
  + b: wait e
7   b: free x

broken.scn: 1 fix
apply: millpond fix broken.scn -o FILE
";
    assert_eq!(out, expected);
    assert_eq!(read(&folder, "broken.scn"), BROKEN);
}

#[test]
fn a_fix_is_written_where_that_is_asked_for() {
    let folder = folder("written");
    let mended = BROKEN.replace("b: free", "b: wait e\nb: free");
    let (status, out, _) = millpond(&folder, "broken.scn -o mended.scn", "");
    assert_eq!((status, read(&folder, "mended.scn")), (0, mended.clone()));
    assert!(out.ends_with("wrote mended.scn\n"), "{out}");
    // What is there is not written over.
    let (status, out, error) = millpond(&folder, "broken.scn -o mended.scn", "");
    assert_eq!((status, out.as_str(), error.as_str()), (2, "", "error: mended.scn exists already\n"));
    let (status, out, _) = millpond(&folder, "- -o -", BROKEN);
    assert_eq!((status, out), (0, mended.clone()));
    assert_eq!(read(&folder, "broken.scn"), BROKEN);
    let (status, out, _) = millpond(&folder, "broken.scn --in-place", "");
    assert_eq!((status, read(&folder, "broken.scn")), (0, mended));
    assert!(out.ends_with("wrote broken.scn\n"), "{out}");
    let (status, out, _) = millpond(&folder, "broken.scn", "");
    assert_eq!((status, out.as_str()), (0, "broken.scn: nothing to fix\n"));
}

#[test]
fn the_status_says_what_is_left_or_wrong() {
    let folder = folder("status");
    let stuck = "stream a\nkernel sum(x: read) takes 1us\na: x = alloc 1MiB\na: sum(x)\na: free x\n";
    let (status, out, _) = millpond(&folder, "-", stuck);
    assert_eq!(status, 1);
    assert_eq!(out, "<stdin>: no fix found\nleft: uninitialised_read at line 4\n");
    let (status, out, error) = millpond(&folder, "-", "a: free x\n");
    assert_eq!((status, out.as_str()), (2, ""));
    assert!(error.contains("unknown_name"), "{error}");
    assert_eq!(millpond(&folder, "missing.scn", "").0, 2);
    assert_eq!(millpond(&folder, "- --in-place", BROKEN).0, 2);
    assert_eq!(millpond(&folder, "broken.scn --in-place -o out.scn", "").0, 2);
}

#[test]
fn findings_that_a_line_expects_are_fixed_when_asked() {
    let folder = folder("expected");
    let text = format!("{BROKEN}expect finding free_before_alloc on x\nexpect finding use_after_free on x\n");
    let (status, out, _) = millpond(&folder, "-", &text);
    assert_eq!(status, 0);
    assert_eq!(out, "<stdin>: nothing to fix\n2 findings are expected and not fixed: --expected does that\n");
    let (status, out, _) = millpond(&folder, "- --expected -o -", &text);
    assert_eq!((status, out), (0, BROKEN.replace("b: free", "b: wait e\nb: free")));
}

#[test]
fn every_line_fits_the_page() {
    let many: String =
        ('a'..='h').map(|name| format!("a: {name}{name} = alloc 1MiB\na: fill({name}{name})\n")).collect();
    let frees: String = ('a'..='h').map(|name| format!("b: free {name}{name}\n")).collect();
    let text = format!("stream a, b\nkernel fill(x: write) takes 10us\n{many}{frees}");
    let (status, out, _) = millpond(&folder("page"), "-", &text);
    assert_eq!(status, 0, "{out}");
    assert!(out.contains("\n   = tried: ") && out.contains(",\n              free_before_alloc at"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
}

/// A wait that the new synchronise makes redundant: the edit that was tried takes it out, so that it is shown.
#[test]
fn a_help_shows_the_lines_that_it_takes_out() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fix/importer.scn"));
    let (_, out, _) = called("run", &folder("taken_out"), "-", &text.expect("a file"));
    assert!(out.contains("\n16 +   sync t\n") && out.contains("\n26 - s: wait done\n"), "{out}");
}
