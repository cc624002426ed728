//! Files that no editor would write, through the binary: bytes, sizes and kinds of files.

use crate::cli::{Folder, err, out, status};
use std::fs::File;
use std::io::Write;
use std::process::Stdio;

const MIB: usize = 1 << 20;

#[test]
fn bytes_that_are_no_text_are_told_in_one_line() {
    let folder = Folder::new("bytes");
    folder.file("latin.scn", b"stream s\n# caf\xe9\n");
    folder.file("cut.scn", b"# \xe2\x82");
    folder.file("utf16.scn", b"\xff\xfes\0t\0r\0e\0a\0m\0");
    for (name, byte) in [("latin.scn", 14), ("cut.scn", 2), ("utf16.scn", 0)] {
        for command in ["check", "fmt", "run", "test", "graph"] {
            let output = folder.millpond(&[command, name]);
            let said = err(&output) + &out(&output);
            assert_eq!(status(&output), 2, "{command} {name}: {said}");
            let expected = format!("{name} is not UTF-8 text: byte {byte} is not part of a character");
            assert!(said.contains(&expected), "{command}: {said}");
        }
    }
}

#[test]
fn signs_that_steer_a_terminal_are_shown_and_not_sent() {
    let folder = Folder::new("signs");
    folder.file("nul.scn", "stream s\0\nsync s\u{1b}[31m\n: \u{7}\n");
    let output = folder.millpond(&["check", "nul.scn"]);
    let said = err(&output);
    assert_eq!(status(&output), 2);
    assert!(said.contains("3 errors in nul.scn"), "{said}");
    assert!(said.contains("1 | stream s␀") && said.contains("2 | sync s␛[31m"), "{said}");
    assert!(!said.contains(|sign: char| sign.is_control() && sign != '\n'), "{said:?}");
}

/// Begins with `piece` again and again, and is 100 MB long.
fn large(folder: &Folder, name: &str, piece: &[u8]) {
    let path = folder.file(name, "");
    let mut file = File::create(path).expect("a file can be written");
    file.write_all(&piece.repeat(17 * MIB / piece.len())).expect("there is room");
    file.set_len(100_000_000).expect("the rest needs no room");
}

#[test]
fn large_files_are_refused_at_once() {
    let folder = Folder::new("large");
    // The last one ends inside of a character where reading stops.
    for (name, piece) in
        [("letters.scn", b"x" as &[u8]), ("lines.scn", b"{\n"), ("umlauts.scn", "ä".as_bytes())]
    {
        large(&folder, name, piece);
        let output = folder.millpond(&["check", name]);
        let said = err(&output);
        assert_eq!(status(&output), 2, "{name}: {said}");
        assert!(said.contains("error[file_too_large]: this text has more than 16777216 bytes"), "{said}");
        assert!(said.lines().count() < 12 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
    }
}

#[test]
fn a_file_of_mistakes_is_not_read_to_its_end() {
    let folder = Folder::new("mistaken");
    for (name, line) in [("words.scn", "x\n"), ("braces.scn", "}\n"), ("open.scn", "repeat i in 0..1 {\n")] {
        folder.file(name, line.repeat(15 * MIB / line.len()));
        let output = folder.millpond(&["check", name]);
        let said = err(&output);
        assert_eq!(status(&output), 2, "{name}");
        let expected = if name == "open.scn" { "128 errors in" } else { "500 errors or more in" };
        assert!(said.contains(expected), "{name}: {}", &said[said.len().saturating_sub(500)..]);
    }
    let unknown = format!("{}{}", "event e[1000000]\n", "sync s\n".repeat(1_000));
    folder.file("unknown.scn", unknown);
    assert!(err(&folder.millpond(&["check", "unknown.scn"])).contains("500 errors or more in"));
}

#[cfg(unix)]
#[test]
fn devices_are_files_like_others() {
    let folder = Folder::new("devices");
    for (arguments, expected) in [
        (["run", "/dev/null"], 0),
        (["check", "/dev/null"], 0),
        (["fmt", "/dev/null"], 0),
        (["graph", "/dev/null"], 0),
        (["check", "/dev/zero"], 2),
        (["run", "/dev/zero"], 2),
    ] {
        let output = folder.millpond(&arguments);
        assert_eq!(status(&output), expected, "{arguments:?}: {}", err(&output));
    }
    for (arguments, word) in [
        (["run", "."], ". is a directory"),
        (["check", "missing.scn"], "missing.scn: no such file"),
        (["check", "missing/deep.scn"], "missing/deep.scn: no such file"),
        (["fmt", "."], "no scenario (*.scn) below ."),
        (["test", "missing.scn"], "missing.scn: no such file"),
    ] {
        let output = folder.millpond(&arguments);
        assert_eq!(status(&output), 2, "{arguments:?}: {}", err(&output));
        assert!(err(&output).contains(word), "{arguments:?}: {}", err(&output));
    }
}

#[test]
fn standard_input_may_be_anything() {
    let folder = Folder::new("input");
    for (bytes, expected) in [
        (b"" as &[u8], 0),
        (b"\n\n", 0),
        (b"\xef\xbb\xbfstream s\r\nsync s\r\n", 0),
        (b"\xff", 2),
        (b"\0", 2),
        (b"stream s", 0),
    ] {
        for command in ["run", "check", "fmt"] {
            let mut command = folder.command(&[command, "-"]);
            let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = command.spawn().expect("millpond starts");
            child.stdin.take().expect("it is a pipe").write_all(bytes).expect("it reads");
            let output = child.wait_with_output().expect("millpond ends");
            assert_eq!(status(&output), expected, "{bytes:?}: {}", err(&output));
        }
    }
    let mut closed = folder.command(&["check", "-"]);
    assert_eq!(status(&closed.stdin(Stdio::null()).output().expect("millpond starts")), 0);
}
