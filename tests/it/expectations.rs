//! Every form of an expectation, where it holds and where it does not.

use millpond::engine::run;
use millpond::oracle::Expectations;
use millpond::profile::Profile;

/// `x` and `y` share their memory by the order of a stream, `z` took it with a wait; `v` has memory of its own.
const BEFORE: &str = "\
device gpu0 { memory = 96MiB }
pool p { release_threshold = max, reuse = [internal], max_size = 64MiB }
stream a, b
kernel work(x: write) takes 10us
kernel other() takes 3us
a: x = alloc 32MiB from p
a: work(x) as first
a: free x
a: y = alloc 32MiB from p
a: other()
a: free y
b: v = alloc 32MiB from p
b: z = alloc 32MiB from p
b: work(z) as last
b: u = alloc 32MiB from p as big or_fails out_of_memory
b: free u as skipped
repeat i in 0..2 {
  a: w[i] = alloc 24MiB * i from p as turn or_fails out_of_memory
  a: free w[i] as back
}
query b as asked or_fails not_ready
free y as twice or_fails invalid_value
plain = malloc 4KiB managed
create stream brief
destroy brief
query b else not_ready {
  sync b as late
}
query a else invalid_value {
  sync a as never
}
b: young = alloc 4KiB
let before = p.used
set gpu0.pool = p
stream timed non_blocking
event start, stop
kernel pause() takes 3us
timed: record start
timed: pause()
timed: record stop
sync stop
let spent = elapsed start to stop
";

/// A form, with what meets it and what does not.
const FORMS: [(&str, &str); 44] = [
    ("p.used == 64MiB", "p.used == 0B"),
    ("p.used != 0B", "p.used != before"),
    ("p.pending < 1B", "p.used < 64MiB"),
    ("p.used <= 64MiB", "p.used <= 63MiB"),
    ("p.used > before - 1B", "p.used > before"),
    ("p.reserved >= 64MiB", "p.reserved >= 65MiB"),
    ("p.internal == on", "p.internal != on"),
    ("y reuses x", "v reuses x"),
    ("v not reuses y", "y not reuses x"),
    ("y reuses x via same_stream", "y reuses x via internal"),
    ("y not reuses x via internal", "z not reuses y via internal"),
    ("y at x", "v at x"),
    ("v not at x", "y not at x"),
    ("z waits for free y", "y waits for free x"),
    ("v not waits for free y", "z not waits for free y"),
    ("v via growth", "z via growth"),
    ("last starts >= end other", "last starts < end other"),
    ("first ends == start other", "first ends > start other"),
    ("other ends == 13us", "other ends == 12us"),
    ("first starts <= 0us", "last starts <= 12us"),
    ("last ends != end first", "last ends != 23us"),
    ("big fails out_of_memory", "big fails invalid_value"),
    ("big not fails not_ready", "big not fails out_of_memory"),
    ("u fails out_of_memory", "u not fails"),
    ("x not fails", "x fails out_of_memory"),
    ("first not fails", "first fails not_ready"),
    // Of a loop the latest turn; of an array each name has its own.
    ("turn fails out_of_memory", "turn not fails"),
    ("w[0] not fails", "w[0] fails out_of_memory"),
    ("w[0] not fails invalid_value", "back not fails"),
    ("w[1] fails out_of_memory", "w[1] not fails"),
    ("asked fails not_ready", "asked not fails"),
    ("twice fails invalid_value", "twice fails out_of_memory"),
    ("late not fails", "never not fails"),
    ("late not fails invalid_value", "never fails invalid_value"),
    ("turn fails out_of_memory", "skipped not fails invalid_value"),
    ("young ready on b", "young ready on a"),
    ("young ready on legacy", "young not ready on legacy"),
    ("plain ready on a", "plain not ready on a"),
    // The host has synchronised with its stream.
    ("z ready on a", "z not ready on a"),
    ("z not ready on brief", "z ready on brief"),
    ("y not ready on a", "x ready on a"),
    ("gpu0.pool == p", "gpu0.pool == gpu0.default_pool"),
    ("gpu0.pool != gpu0.default_pool", "gpu0.pool != p"),
    ("spent == 3us", "0us - spent == 3us"),
];

#[test]
fn each_form_is_judged_both_ways() {
    for (meets, misses) in FORMS {
        let text = format!("{BEFORE}expect {meets}\nexpect {misses}\nsync device\n");
        let (program, diagnostics) = millpond::load(&text, &Profile::default());
        assert_eq!(diagnostics, [], "{meets}");
        let program = program.expect("there is no mistake in it");
        let mut judge = Expectations::new(&program);
        assert_eq!(run(&program, 0, &mut judge).stop, None);
        let verdict = judge.finish(None);
        let held: Vec<bool> = verdict.expectations.iter().map(|judged| judged.holds()).collect();
        assert_eq!(held, [true, false], "{meets}; {misses}");
    }
}

/// An exporter that frees first, twice at one line and once at another; a third import is freed in time.
const FOUND: &str = "\
pool p { handle = posix_fd }
stream s
repeat i in 0..3 {
  s: x[i] = alloc 1MiB from p
}
s: z = alloc 1MiB from p
export p as hp
export x[0] as first
export x[1] as second
export z as third
process other {
  q = import hp on gpu0
  y = import first from q as taken
  v = import second from q
  w = import third from q
  free w
  HERE
}
join other
repeat i in 0..2 {
  s: free x[i] as early
}
s: free x[2] as unshared
s: free z as in_time
";

/// Lines about findings, at the end of the text or in the process, and whether they hold.
#[test]
fn findings_are_expected_by_name_memory_place_and_count() {
    let verdict = |here: &str, end: &str| {
        let text = format!("{}{end}\n", FOUND.replace("HERE", here));
        let (program, diagnostics) = millpond::load(&text, &Profile::default());
        assert_eq!(diagnostics, [], "{text}");
        let program = program.expect("there is no mistake in it");
        let mut judge = Expectations::new(&program);
        assert_eq!(run(&program, 0, &mut judge).stop, None);
        judge.finish(None)
    };
    assert_eq!(verdict("", "").findings.len(), 2, "each import has a line of its own");
    for (about, holds) in [
        ("", true),
        (" 2 times", true),
        (" 1 times", false),
        (" 3 times", false),
        (" on x[0]", true),
        (" on x[1] 1 times", true),
        (" on x[1] 2 times", false),
        (" on x[2]", false),
        (" on z", false),
        (" at early", true),
        (" at early 2 times", true),
        (" at in_time", false),
        (" on x[0] at early", true),
        (" on x[0] at unshared", false),
    ] {
        let line = format!("expect finding freed_before_importer{about}");
        assert_eq!(verdict("", &line).expectations.iter().all(|judged| judged.holds()), holds, "{line}");
    }
    for (about, holds) in [(" on y at taken", true), (" on v at taken", false), (" on w", false), ("", true)]
    {
        let line = format!("expect finding freed_before_importer{about}");
        assert_eq!(verdict(&line, "").expectations.iter().all(|judged| judged.holds()), holds, "{line}");
    }
    // Every finding has to be expected, by whichever line.
    let one = "expect finding freed_before_importer on x[0]";
    let other = "expect finding freed_before_importer on v";
    assert!(!verdict("", "").holds());
    assert!(!verdict("", one).holds());
    assert!(verdict(other, one).holds());
    // A line that does not hold expects nothing.
    assert_eq!(verdict("", &format!("{one} 2 times")).counts().errors, 2);
    assert!(!verdict("", &format!("{one}\nexpect no findings")).holds());
    assert!(!verdict(other, &format!("{one}\nexpect no findings")).expectations.iter().all(|j| j.holds()));
}

/// Nothing is known about the findings of a run that was given up.
#[test]
fn a_run_that_stops_does_not_come_to_its_findings() {
    let text = "stream s\nexpect no findings\nthread t {\n  await go\n  s: x = alloc 1MiB\n}\ns: free x\nsignal go\n";
    let (program, diagnostics) = millpond::load(text, &Profile::default());
    let program = program.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let mut judge = Expectations::new(&program);
    let stop = run(&program, 0, &mut judge).stop;
    assert!(stop.is_some());
    let broken = millpond::oracle::Broken {
        stmt: program.expects.iter().next().expect("one").stmt,
        reason: String::new(),
    };
    assert_eq!(judge.finish(Some(broken)).not_reached.len(), 1);
}
