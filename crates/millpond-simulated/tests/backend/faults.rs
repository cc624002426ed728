//! A driver that is wrong is noticed, at the line where it is.

use crate::command::{Ran, millpond};
use simulated_driver::{Faults, VARIABLE};

/// For each fault a scenario, and the line where it shows first.
const SHOWN: [(&str, u32, &str); 8] = [
    (
        "wait_dropped",
        8,
        "pool p { reuse = [follow_event] }
stream a, b
event freed
a: x = alloc 64MiB from p
a: free x
a: record freed
b: wait freed
b: y = alloc 64MiB from p
b: free y
",
    ),
    (
        "free_at_once",
        7,
        "pool p { reuse = [] }
stream a, b non_blocking
kernel work(x: write) takes 10us
a: x = alloc 64MiB from p
a: work(x)
a: free x
b: y = alloc 64MiB from p
b: free y
",
    ),
    (
        "policy_ignored",
        8,
        "pool p { reuse = [follow_event] }
stream a, b non_blocking
kernel work(x: write) takes 10us
a: x = alloc 64MiB from p
a: work(x)
a: free x
sleep 20us
b: y = alloc 64MiB from p
b: free y
",
    ),
    (
        "wrong_attribute",
        3,
        "stream a
pool p
a: x = alloc 1MiB from p
sync a
a: free x
",
    ),
    (
        "threshold_ignored",
        5,
        "stream a
pool p { release_threshold = max }
a: x = alloc 1MiB from p
a: free x
sync a
",
    ),
    (
        "trim_ignored",
        6,
        "stream a
pool p { release_threshold = max }
a: x = alloc 1MiB from p
a: free x
sync a
trim p to 0B
",
    ),
    (
        "sync_observes_nothing",
        6,
        "pool p { reuse = [], release_threshold = max }
stream a, b non_blocking
a: x = alloc 64MiB from p
a: free x
sync a
b: y = alloc 64MiB from p
b: free y
",
    ),
    (
        "double_free_accepted",
        5,
        "stream a
a: x = alloc 1MiB
a: free x
sync a
a: free x fails invalid_value
",
    ),
];

#[test]
fn every_fault_is_reported_at_its_line() {
    assert_eq!(SHOWN.map(|(fault, ..)| fault).as_slice(), Faults::NAMES);
    for (fault, line, text) in SHOWN {
        let arguments = ["compare", "-", "--backend", "cuda", "--observe", "every"];
        let sound = millpond(&arguments, text, &[]);
        assert_eq!(sound.status, 0, "{fault}: {}{}", sound.out, sound.err);
        assert!(sound.out.contains("\nno difference: "), "{fault}: {}", sound.out);
        let Ran { status, out, err } = millpond(&arguments, text, &[(VARIABLE, fault)]);
        assert_eq!(status, 1, "{fault}: {out}{err}");
        let first = out.lines().find(|line| line.starts_with("line ")).unwrap_or_default();
        assert!(first.starts_with(&format!("line {line}: ")) && first.ends_with("differs"), "{fault}: {out}");
    }
}

/// A free at once hands memory on that a kernel still writes to. The kernels notice it themselves.
#[test]
fn kernels_notice_that_they_share_memory() {
    let text = "pool p { reuse = [] }
stream a, b non_blocking
kernel work(x: write) takes 10us
a: x = alloc 1MiB from p
a: work(x)
a: free x
b: y = alloc 1MiB from p
b: work(y)
b: free y
sync gpu0
";
    let run = ["run", "-", "--backend", "cuda"];
    let sound = millpond(&run, text, &[]);
    assert_eq!((sound.status, sound.out.contains("overlap")), (0, false), "{}", sound.out);
    let Ran { status, out, .. } = millpond(&run, text, &[(VARIABLE, "free_at_once")]);
    assert_eq!(status, 1, "{out}");
    let expected = "
error[overlap]: line 5: a: work(x)
  expected   when it ends, its memory holds what it has written
  found      what `b: work(y)` (line 8) has written
";
    assert!(out.contains(expected), "{out}");
    let json =
        millpond(&["run", "-", "--backend", "cuda", "--format", "json"], text, &[(VARIABLE, "free_at_once")]);
    let overlaps = r#""overlaps":[{"line":5,"expected":5,"found":8,"when":"end"}]"#;
    assert!(json.out.trim_end().ends_with(&format!("{overlaps}}}")), "{}", json.out);
}

/// Where something else has written meanwhile, that is in order, kernels expect what it has written, however it is ordered.
const ORDERED: [(&str, &str); 5] = [
    ("what the host has seen", "sync a\nb: work(x)\nsync b\na: look(x)\n"),
    ("events", "a: record first\nb: wait first\nb: work(x)\nb: record second\na: wait second\na: look(x)\n"),
    ("the legacy default stream", "legacy: work(x)\na: look(x)\n"),
    ("a copy of what nobody has written", "a: copy x from buffer\na: look(x)\n"),
    ("a copy of what a kernel has written", "a: y = alloc 1MiB\na: work(y)\na: copy x from y\na: look(x)\n"),
];

#[test]
fn kernels_in_order_find_what_was_written_last() {
    for (what, rest) in ORDERED {
        let text = format!(
            "stream a, b\nevent first, second\nhost_buffer buffer 1MiB pinned\nkernel work(x: write) takes 10us\n\
             kernel look(x: read) takes 5us\na: x = alloc 1MiB\na: work(x)\n{rest}sync gpu0\n"
        );
        let ran = millpond(&["run", "-", "--backend", "cuda"], &text, &[]);
        assert_eq!((ran.status, ran.out.contains("overlap")), (0, false), "{what}: {}{}", ran.out, ran.err);
    }
}

#[test]
fn an_unknown_fault_is_an_error() {
    let ran = millpond(&["run", "-", "--backend", "cuda"], "stream a\n", &[(VARIABLE, "no_such")]);
    assert_eq!(ran.status, 2, "{}", ran.err);
    assert!(
        ran.err.starts_with("error: there is no fault `no_such`; there are: wait_dropped, "),
        "{}",
        ran.err
    );
}
