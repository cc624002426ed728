//! The command `millpond generate`.

use crate::cli::{Folder, err, out, status};
use millpond::explore::generate::{OPERATIONS_MAX, RATE_MAX, STREAMS_MAX};
use std::fs;

#[test]
fn what_it_writes_is_accepted_by_the_other_commands() {
    let folder = Folder::new("generate");
    let written = folder.millpond(&["generate", "--seed", "7", "--ops", "80", "-o", "made.scn"]);
    assert_eq!((status(&written), err(&written).as_str()), (0, ""));
    assert_eq!(out(&written), "wrote made.scn\nnext: millpond run made.scn\n");
    for arguments in [&["check", "made.scn"], &["run", "made.scn"]] as [&[&str]; 2] {
        let output = folder.millpond(arguments);
        assert_eq!(status(&output), 0, "{}{}", out(&output), err(&output));
    }
    assert_eq!(status(&folder.millpond(&["fmt", "--check", "made.scn"])), 0);
    // The first line says how it was made.
    let text = fs::read_to_string(folder.path("made.scn")).expect("it was written");
    let command = text.lines().next().and_then(|line| line.strip_prefix("# Made by: millpond "));
    let words: Vec<&str> = command.expect("it names the command").split(' ').collect();
    assert_eq!(words, ["generate", "--seed", "7", "--ops", "80", "--streams", "3"]);
    for arguments in [words.clone(), [words, vec!["-o", "-"]].concat()] {
        let again = folder.millpond(&arguments);
        assert_eq!((status(&again), out(&again)), (0, text.clone()));
    }
}

#[test]
fn bugs_are_announced_and_found() {
    let folder = Folder::new("generate");
    let written = folder.millpond(&["generate", "--ops", "200", "--plant", "missing_wait", "-o", "bug.scn"]);
    assert_eq!(out(&written), "wrote bug.scn, with 1 bug\nnext: millpond run bug.scn\n", "{}", err(&written));
    let run = folder.millpond(&["run", "bug.scn"]);
    assert_eq!(status(&run), 1);
    assert!(out(&run).contains("# bug 1: "), "the report shows the line: {}", out(&run));
    let text = fs::read_to_string(folder.path("bug.scn")).expect("it was written");
    assert!(
        text.starts_with(
            "# Made by: millpond generate --seed 0 --ops 200 --streams 3 --plant missing_wait\n"
        )
    );
    let several = out(&folder.millpond(&["generate", "--ops", "200", "--bugs", "2"]));
    assert!(
        several.starts_with("# Made by: millpond generate --seed 0 --ops 200 --streams 3 --bugs 2\n"),
        "{several}"
    );
    assert!(several.contains("# bug 4: "), "{several}");
}

#[test]
fn wrong_arguments_are_told_and_nothing_is_overwritten() {
    let folder = Folder::new("generate");
    for (arguments, complaint) in [
        (&["--ops", "0"] as &[&str], "error: 0 operations: a scenario is made with 1 to 100000\n"),
        (&["--streams", "65"], "error: 65 streams: a scenario is made with 1 to 64\n"),
        (&["--bugs", "21"], "error: 21 bugs for each 100 operations: there can be 0 to 20\n"),
        (
            &["--ops", "2", "--bugs", "20"],
            "error: there is no place for a bug in so few operations: ask for more, or for\n  another seed\n",
        ),
    ] {
        let refused = folder.millpond(&[&["generate", "-o", "new.scn"], arguments].concat());
        assert_eq!((status(&refused), err(&refused).as_str()), (2, complaint));
        assert!(!folder.path("new.scn").exists());
    }
    let unknown = folder.millpond(&["generate", "--plant", "missing_wit"]);
    assert!(status(&unknown) == 2 && err(&unknown).contains("missing_wait"), "{}", err(&unknown));
    folder.file("there.scn", "stream s\n");
    let refused = folder.millpond(&["generate", "-o", "there.scn"]);
    assert_eq!((status(&refused), err(&refused).as_str()), (2, "error: there.scn exists already\n"));
    assert_eq!(fs::read_to_string(folder.path("there.scn")).expect("it is still there"), "stream s\n");
}

#[test]
fn the_help_says_the_limits() {
    let help = out(&Folder::new("generate").millpond(&["generate", "--help"]));
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for limits in
        [format!("1 to {OPERATIONS_MAX}"), format!("1 to {STREAMS_MAX}"), format!("0 to {RATE_MAX}")]
    {
        assert!(words.contains(&limits), "{limits}: {help}");
    }
}
