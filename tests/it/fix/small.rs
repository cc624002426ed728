//! Small texts with one mistake each, and the lines that mend it: what is expected follows from the rule that is broken.

use super::{findings, fixed, read};
use millpond::explore::fix::{Left, Limits, Mark, Search, fix, suggest, without_expected_findings};

const HEAD: &str = "\
stream a, b
event e
kernel fill(x: write) takes 10us
kernel sum(x: read) takes 5us
host_buffer h 1MiB pinned
kernel spin() takes 1us
";

/// The lines that a fix removes and adds, in the order of the text, with their signs.
fn changes(old: &str, new: &str) -> Vec<String> {
    let diff = similar::TextDiff::from_lines(old, new);
    let changes = diff.iter_all_changes().filter(|change| change.tag() != similar::ChangeTag::Equal);
    changes.map(|change| format!("{}{}", change.tag(), change.value().trim_end())).collect()
}

/// Checks that these lines, behind the declarations, are fixed by these changes and nothing else.
fn check(lines: &str, expected: &[&str]) {
    let text = format!("{HEAD}{lines}");
    let fixed = fixed(&text);
    assert_eq!(changes(&text, &fixed.text), expected, "{}", fixed.text);
    assert_eq!((fixed.left.as_slice(), findings(&fixed.text).len()), (&[][..], 0), "{}", fixed.text);
}

#[test]
fn a_clean_text_stays() {
    check("a: x = alloc 1MiB\na: fill(x)\na: free x\n", &[]);
}

#[test]
fn an_order_is_added_by_as_few_lines_as_possible() {
    // The event is recorded late enough, so that a wait is all that is missing.
    check("a: x = alloc 1MiB\na: fill(x)\na: record e\nb: free x\n", &["+b: wait e"]);
    // The wait is there, so that a record is all that is missing.
    check("a: x = alloc 1MiB\na: fill(x)\nb: wait e\nb: free x\n", &["+a: record e"]);
    // Nobody waits for the event any more, so that it can be recorded again.
    check(
        "a: x = alloc 1MiB\na: record e\nb: wait e\na: fill(x)\nb: free x\n",
        &["+a: record e", "+b: wait e"],
    );
    // It is not recorded again where another stream still waits for what it has captured.
    check(
        "stream c\na: x = alloc 1MiB\na: record e\nb: wait e\na: fill(x)\nb: free x\n\
         a: y = alloc 1MiB\nc: wait e\na: free y\n",
        &["+event fixed", "+a: record fixed", "+b: wait fixed"],
    );
}

#[test]
fn the_first_comes_before_the_second_and_no_more() {
    check(
        "a: x = alloc 1MiB\na: fill(x)\na: memset h takes 9us\nb: sum(x)\na: record e\nb: wait e\nb: free x\nb: memset h\n",
        &["+a: record e", "+b: wait e"],
    );
}

#[test]
fn the_host_synchronises_with_what_it_touches() {
    check("a: x = alloc 1MiB\na: fill(x)\na: copy h from x\nread h\na: free x\n", &["+sync a"]);
    check("x = malloc 1MiB\na: fill(x)\nfree x\n", &["+sync a"]);
    // The stream has other work behind the use.
    check("x = malloc 1MiB\na: fill(x)\na: memset h takes 9us\nfree x\n", &["+a: record e", "+sync e"]);
}

#[test]
fn what_ends_too_early_ends_later() {
    check("a: x = alloc 1MiB\na: fill(x)\na: free x\na: sum(x)\n", &["+a: sum(x)", "-a: sum(x)"]);
    check("a: x = alloc 1MiB\na: fill(x)\na: free x\na: free x\n", &["-a: free x"]);
    check(
        "create event late\na: x = alloc 1MiB\na: fill(x)\ndestroy late\na: record late\na: free x\n",
        &["+a: record late", "-a: record late"],
    );
}

#[test]
fn memory_that_is_never_freed_is_freed_after_its_last_use() {
    check("a: x = alloc 1MiB\na: fill(x)\nb: y = alloc 1MiB\nb: free y\n", &["+a: free x"]);
    check("repeat i in 0..4 {\n  a: x[i] = alloc 1MiB\n  a: fill(x[i])\n}\n", &["+  a: free x[i]"]);
}

#[test]
fn loops_get_an_event_for_each_turn() {
    check(
        "stream worker[4]\nrepeat i in 0..4 {\n  worker[i]: x[i] = alloc 1MiB\n  worker[i]: fill(x[i])\n}\n\
         repeat j in 0..4 {\n  a: sum(x[j])\n  a: free x[j]\n}\n",
        &["+event fixed[4]", "+  worker[i]: record fixed[i]", "+  a: wait fixed[j]"],
    );
    check(
        "stream worker[4]\na: x = alloc 4MiB\na: fill(x)\na: record e\nrepeat i in 0..4 {\n  worker[i]: wait e\n  worker[i]: sum(x)\n}\na: free x\n",
        &[
            "+event fixed[4]",
            "+  worker[i]: record fixed[i]",
            "+}",
            "+repeat i in 0..4 {",
            "+  a: wait fixed[i]",
        ],
    );
}

#[test]
fn threads_wait_for_each_other() {
    check("thread t {\n  write h\n}\nread h\n", &["+join t"]);
    check(
        "async r = host_write h takes 5us\na: x = alloc 1MiB\na: copy x from h\na: free x\nawait r\n",
        &["+await r", "-await r"],
    );
    check("thread t {\n  write h\n}\nthread u {\n  read h\n}\n", &["+  signal passed", "+  await passed"]);
}

#[test]
fn what_a_thread_waits_for_comes_before_that() {
    check("a: spin() until go\nsync a\nsignal go\n", &["+signal go", "-signal go"]);
}

#[test]
fn a_line_that_adds_no_order_any_more_goes() {
    check(
        "a: x = alloc 1MiB\na: fill(x)\na: copy h from x\nread h\nsync a\nb: free x\n",
        &["+sync a", "-sync a"],
    );
}

#[test]
fn access_is_granted() {
    let text = "device gpu0\ndevice gpu1 { peers = [gpu0] }\nstream a on gpu0\nstream far on gpu1\nevent e\n\
                kernel fill(x: write) takes 1us\na: x = alloc 1MiB\na: record e\nfar: wait e\nfar: fill(x)\nfar: free x\n";
    let fixed = fixed(text);
    assert_eq!(changes(text, &fixed.text), ["+grant gpu0.default_pool to gpu1"]);
    assert!(findings(&fixed.text).is_empty());
}

#[test]
fn what_is_in_vain_is_removed_or_set() {
    check("a: x = alloc 1MiB\na: fill(x)\nb: wait e\na: free x\n", &["-b: wait e"]);
    check(
        "repeat i in 0..4 {\n  a: x = alloc 64MiB\n  a: fill(x)\n  a: free x\n  sync a\n}\n",
        &["+set gpu0.default_pool.release_threshold = max"],
    );
    check(
        "pool p { release_threshold = max }\na: x = alloc 64MiB from p\na: fill(x)\na: free x\ntrim p to 0B\n",
        &["+sync a"],
    );
}

#[test]
fn what_a_line_expects_stays_unless_asked() {
    let lines = "a: x = alloc 1MiB\na: fill(x)\na: record e\nb: free x\n";
    let text =
        format!("{HEAD}{lines}expect finding use_after_free on x\nexpect finding free_before_alloc on x\n");
    let kept = fixed(&text);
    assert_eq!((kept.fixes.len(), kept.left.len(), kept.text.as_str()), (0, 0, text.as_str()));
    assert!(kept.expected > 0);
    let without = millpond::edit::apply(&text, &without_expected_findings(&text));
    assert_eq!(without, format!("{HEAD}{lines}"));
}

#[test]
fn limits_are_kept_and_told() {
    let text = format!("{HEAD}a: x = alloc 1MiB\na: fill(x)\nb: free x\n");
    let limits = |tries, statements| Limits { tries, statements };
    for limits in [limits(0, 1_000), limits(64, 2)] {
        let search = Search { read: &read, seed: 0, limits };
        let fixed = fix(&text, &[], &search).expect("a program");
        assert!(fixed.limit_reached && fixed.fixes.is_empty() && !fixed.left.is_empty(), "{fixed:?}");
    }
    let search = Search { read: &read, seed: 0, limits: limits(64, 1_000) };
    let fixed = fix(&text, &[], &search).expect("a program");
    assert!(!fixed.limit_reached && fixed.tries > 0 && fixed.left.is_empty());
    assert!(fix("a: free x\n", &[], &search).is_none());
}

#[test]
fn suggestions_say_what_they_change_and_cost() {
    let text = "stream compute, cleanup\nevent ready\nkernel train(x: write) takes 50us\n\
                compute: x = alloc 1MiB\ncompute: record ready\ncleanup: wait ready\ncompute: train(x)\ncleanup: free x\n";
    let search = Search { read: &read, seed: 0, limits: Limits::default() };
    let suggestions = suggest(text, &search, 3).expect("a program");
    let [fix] = suggestions.fixes.as_slice() else { panic!("{suggestions:?}") };
    assert_eq!((fix.removes.as_slice(), fix.left, fix.expectations), (&[0][..], 0, 0));
    assert_eq!(fix.help, "record after the use and wait before the free");
    let lines: Vec<_> = fix.lines.iter().map(|line| (line.number, line.mark, line.text.as_str())).collect();
    let expected = [
        (Some(7), Mark::Stays, "compute: train(x)"),
        (None, Mark::Added, "compute: record ready"),
        (None, Mark::Added, "cleanup: wait ready"),
        (Some(8), Mark::Stays, "cleanup: free x"),
    ];
    assert_eq!(lines, expected);
    let program = read(text).expect("a program");
    let cleanup = program.names.streams.iter().position(|name| name == "cleanup").expect("a stream");
    let end = |cost: &millpond::explore::fix::Cost| cost.streams.as_slice()[cleanup].map(|end| end.0);
    assert_eq!((end(&fix.before), end(&fix.after)), (Some(0), Some(50_000)));
    let words = millpond::report::tried(fix, &program.names);
    let expected =
        "0 findings left, none new; cleanup ends at 50us instead of 0us, reserved_high unchanged (32 MiB)";
    assert_eq!(words, expected);
}

/// A kind, and a line.
type At = (String, u32);

/// What is removed by each fix and what is left, by kinds and lines.
fn told(text: &str) -> (Vec<At>, Vec<At>) {
    let fixed = fixed(text);
    let words = |all: &[Left]| all.iter().map(|left| (left.kind.to_string(), left.line)).collect();
    (words(&fixed.removed.concat()), words(&fixed.left))
}

fn at(kind: &str, line: u32) -> At {
    (kind.to_owned(), line)
}

#[test]
fn lines_are_told_as_they_were_before_all_fixes() {
    // The order comes first and puts lines before the second free of y, which goes afterwards.
    let text = "stream a, b\nkernel fill(x: write) takes 1us\na: x = alloc 1MiB\na: fill(x)\nb: free x\n\
                a: y = alloc 1MiB\na: record_nothing\n";
    let text = text.replace("a: record_nothing\n", "sync a\nsync a\na: free y\n");
    let (removed, left) = told(&text);
    assert_eq!(removed.first(), Some(&at("free_before_alloc", 5)), "{removed:?}");
    assert!(removed.contains(&at("redundant_wait", 8)), "{removed:?}");
    assert_eq!(left, []);
    // What cannot be fixed stands below a line that is new.
    let stuck = "stream a, b\nevent e\nkernel fill(x: write) takes 1us\nkernel sum(x: read) takes 1us\n\
                 a: x = alloc 1MiB\na: fill(x)\na: record e\nb: free x\na: y = alloc 1MiB\na: sum(y)\na: free y\n";
    assert_eq!(told(stuck).1, [at("uninitialised_read", 10)]);
}

#[test]
fn lines_are_told_as_they_were_before_expectations_went() {
    let text = "stream a, b\nevent e\nkernel fill(x: write) takes 1us\nkernel sum(x: read) takes 1us\n\
                a: x = alloc 1MiB\na: fill(x)\na: record e\nb: free x\nexpect finding free_before_alloc on x\n\
                expect finding use_after_free on x\na: y = alloc 1MiB\na: sum(y)\na: free y\n";
    let search = Search { read: &read, seed: 0, limits: Limits::default() };
    let fixed = fix(text, &without_expected_findings(text), &search).expect("a program");
    let left: Vec<_> = fixed.left.iter().map(|left| (left.kind.to_string(), left.line)).collect();
    assert_eq!(left, [at("uninitialised_read", 12)]);
}

#[test]
fn what_stays_wrong_is_not_ordered() {
    // The view is that of memory that is freed before the use with every timing; the use lacks an order with the allocation, too.
    let text = "stream s\nkernel w(x: write) takes 5us\npool p { reuse = [] }\nstream t\n\
                s: slab = alloc 32MiB from p\nview v = slab[0..1MiB]\ns: free slab\n\
                t: slab = alloc 32MiB from p\nt: w(v)\nt: free slab\n";
    let kinds: Vec<_> = findings(text).iter().map(|finding| finding.kind.to_string()).collect();
    assert!(kinds.contains(&"use_before_alloc".to_owned()), "{kinds:?}");
    let fixed = fixed(text);
    assert_eq!((fixed.fixes.len(), fixed.text.as_str()), (0, text));
}

#[test]
fn a_wait_goes_only_where_every_run_is_alike() {
    // In another order of the threads the event is recorded before the wait.
    let threads = "stream s, t\nevent e\nthread a {\n  s: host takes 1us\n  s: record e\n}\n\
                   thread b {\n  t: wait e\n  t: host takes 1us\n}\njoin a\njoin b\n";
    assert_eq!(told(threads), (vec![], vec![at("unrecorded_wait", 8)]));
    // With one thread the same wait goes.
    check("a: wait e\na: spin()\na: record e\n", &["-a: wait e"]);
    // The work that the synchronise would wait for was skipped.
    let failing = "pool p { max_size = 32MiB }\nstream t\nkernel w(x: write) takes 1us\n\
                   t: x = alloc 64MiB from p\nt: w(x)\nt: free x\nsync t\n";
    let (removed, left) = told(failing);
    assert_eq!((removed, left), (vec![], vec![at("redundant_wait", 7)]));
}
