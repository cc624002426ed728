//! Assignments to small texts: what the text becomes, and that no line moves that need not.

use super::{apply, assign, moved, read_assignment};
use crate::base::{Edit, Span};
use crate::syntax::parse;

const PROFILE: &[&str] = &["remap", "call"];

/// The text after the first value is assigned, and what stands where the value is said to be.
fn assigned(text: &str, to: &str) -> (String, Option<String>) {
    let to = read_assignment(to).expect("it is an assignment");
    let (file, diagnostics) = parse(text);
    assert_eq!(diagnostics, [], "{text}");
    let (edits, place) = assign(&file, text, PROFILE, &to, 0).expect("it can be assigned");
    let new = apply(text, &edits);
    assert_eq!(parse(&new).1, [], "{new}");
    let value = place.map(|span| new[span.range()].to_owned());
    (new, value)
}

#[test]
fn settings_are_replaced_or_added_in_their_line() {
    let cases = [
        ("pool p", "pool p { max_size = 1GiB }"),
        ("pool p # c", "pool p { max_size = 1GiB } # c"),
        ("pool p on gpu0 {}", "pool p on gpu0 {max_size = 1GiB }"),
        ("pool p { max_size = 2MiB }", "pool p { max_size = 1GiB }"),
        ("pool p { reuse = [], }", "pool p { max_size = 1GiB, reuse = [], }"),
        ("pool p { # c\n  reuse = [] # d\n}\n", "pool p { # c\n  max_size = 1GiB, reuse = [] # d\n}\n"),
        ("pool p {\n  max_size = 0 # d\n}\n", "pool p {\n  max_size = 1GiB # d\n}\n"),
        ("pool p { # c\n\n} # d\n", "pool p { max_size = 1GiB } # c\n\n # d\n"),
    ];
    for (text, expected) in cases {
        let (new, value) = assigned(text, "p.max_size=1GiB");
        assert_eq!((new.as_str(), value.as_deref()), (expected, Some("1GiB")));
    }
}

#[test]
fn switches_change_the_list_of_policies() {
    let cases = [
        ("pool p", "p.internal=off", "pool p { reuse = [follow_event, opportunistic] }"),
        ("pool p { reuse = [internal] }", "p.follow_event=on", "pool p { reuse = [follow_event, internal] }"),
        ("pool p { reuse = [internal] }", "p.internal=off", "pool p { reuse = [] }"),
        ("pool p { reuse = [internal] }", "p.internal=on", "pool p { reuse = [internal] }"),
    ];
    for (text, to, expected) in cases {
        assert_eq!(assigned(text, to), (expected.to_owned(), None));
    }
}

#[test]
fn what_no_line_declares_gets_a_line() {
    let cases = [
        ("stream s\n", "gpu0.memory=1GiB", "device gpu0 { memory = 1GiB }\nstream s\n"),
        ("device gpu0\n", "profile.remap=full", "profile { remap = full }\ndevice gpu0\n"),
        ("profile { call = 1us }\n", "profile.call=2us", "profile { call = 2us }\n"),
        ("device gpu1 # c\n", "gpu1.memory=1GiB", "device gpu1 { memory = 1GiB } # c\n"),
        (
            "stream s\n",
            "gpu0.default_pool.release_threshold=1GiB",
            "set gpu0.default_pool.release_threshold = 1GiB\nstream s\n",
        ),
        (
            "device a {\n  memory = 4GiB\n} # c\nstream s",
            "a.default_pool.internal=off",
            "device a {\n  memory = 4GiB\n} # c\nset a.default_pool.internal = off\nstream s",
        ),
        ("device a", "a.default_pool.internal=off", "device a\nset a.default_pool.internal = off"),
    ];
    for (text, to, expected) in cases {
        let (new, value) = assigned(text, to);
        assert_eq!(new, expected);
        assert_eq!(value.as_deref(), to.split_once('=').map(|(_, value)| value));
    }
}

#[test]
fn named_values_are_replaced_wherever_they_stand() {
    let text = "let n = 4 * 2 # c\nrepeat i in 0..n {\n  let m = n + i\n}\n";
    assert_eq!(assigned(text, "n=16").0, text.replace("4 * 2", "16"));
    assert_eq!(assigned(text, "m= 2*n ").0, text.replace("n + i", "2*n"));
}

#[test]
fn wrong_names_are_told_where_they_stand() {
    let text = "device gpu0\npool scratch\nlet turns = 4\n";
    let cases = [
        ("turn=4", "turn", Some("turns")),
        ("scratch=4", "scratch", None),
        ("scrtch.max_size=0", "scrtch", Some("scratch")),
        ("scratch.max_sze=0", "max_sze", Some("max_size")),
        ("gpu0.memry=1GiB", "memry", Some("memory")),
        ("gpu0.default_pool.max_size=1GiB", "max_size", None),
        ("gpu1.memory=1GiB", "gpu1", Some("gpu0")),
        ("scratch.internal=maybe", "maybe", None),
    ];
    let (file, _) = parse(text);
    for (to, wrong, mend) in cases {
        let assignment = read_assignment(to).expect("it is an assignment");
        let diagnostic = assign(&file, text, PROFILE, &assignment, 0).expect_err(to);
        assert_eq!(&to[diagnostic.primary.span.range()], wrong);
        let edits = diagnostic.help.map(|help| help.edits).unwrap_or_default();
        assert_eq!(edits.first().map(|edit| edit.text.as_str()), mend, "{to}");
    }
    for to in ["turns", "turns=", "turns=1,,2", "turns=1\n2", "turns=[1]", "turns=1 } # x"] {
        assert!(read_assignment(to).is_err(), "{to}");
    }
}

#[test]
fn edits_are_made_in_the_order_of_the_text() {
    let edit = |start, end, text: &str| Edit { span: Span::new(start, end), text: text.to_owned() };
    let edits = [edit(4, 7, "three"), edit(0, 3, "1"), edit(7, 7, "!")];
    assert_eq!(apply("one two", &edits), "1 three!");
    assert_eq!(moved(Span::new(8, 9), &edits), Span::new(9, 10));
    assert_eq!(moved(Span::new(0, 0), &edits), Span::new(0, 0));
}
