//! Variants: what they change and what not, what is said about mistakes in them, and how they are run and tested.

use super::cli::{Folder, err, out, status};
use millpond::base::LineIndex;
use millpond::profile::Profile;
use millpond::trace::Remap;
use std::fs;

const BASE: &str = "\
pool p { reuse = [follow_event] }
stream a, b
event freed
let size = 32MiB
kernel work(x: write) takes 10us
a: x = alloc size from p as birth
a: work(x)
a: free x
a: record freed
b: wait freed as edge
b: y = alloc size from p
expect y reuses x via follow_event
";

/// Line, code and message of each diagnostic, with its notes and where else it points.
fn said(text: &str) -> Vec<String> {
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert_eq!(programs.is_empty(), !diagnostics.is_empty(), "{diagnostics:#?}");
    let index = LineIndex::new(text);
    let line = |at| index.line(at);
    let shown = diagnostics.iter().map(|diagnostic| {
        let place = &text[diagnostic.primary.span.range()];
        let also = diagnostic
            .secondary
            .iter()
            .map(|label| format!("; {} {}", line(label.span.start), label.message));
        let notes = diagnostic.notes.iter().map(|note| format!("; {note}"));
        let rest: String = also.chain(notes).collect();
        let at = line(diagnostic.primary.span.start);
        format!("{at} {} `{place}`: {}{rest}", diagnostic.code, diagnostic.message)
    });
    shown.collect()
}

fn with(lines: &str) -> Vec<String> {
    said(&format!("{BASE}{lines}"))
}

#[test]
fn mistakes_are_told_where_they_are_made() {
    let mut differences = Vec::new();
    for (lines, expected) in [
        ("variant v {\n  omit edg\n}", "14 unknown_name `edg`: no line is called `edg`"),
        ("variant v {\n  set q.reuse = []\n}", "14 unknown_name `q`: no pool and no device is called `q`"),
        ("variant v {\n  set sise = 4\n}", "14 unknown_name `sise`: no `let` is called `sise`"),
        (
            "variant v {\n  set p.reused = []\n}",
            "14 unknown_setting `reused`: a pool has no setting called `reused` that can be set here",
        ),
        (
            "variant v {\n  set gpu0.default_pool.max_size = 0\n}",
            "14 unknown_setting `max_size`: a default pool has no setting called `max_size` that can be set here",
        ),
        (
            "variant v {\n  set a[0].b = 1\n}",
            "14 unknown_name `a[0]`: no pool and no device is called `a[0]`",
        ),
        (
            "variant v {\n  model hip\n}",
            "14 unknown_model `hip`: there is no model called `hip`; in the variant `v`",
        ),
        ("variant v {\n  set size = [internal]\n}", "14 unexpected `[internal]`: a list is no value here"),
        ("variant v {\n  set p.reuse = 4KiB\n}", "14 unexpected `4KiB`: `reuse` is a list of policies"),
        ("variant v {\n  set p.internal = 1\n}", "14 unexpected `1`: `internal` is a switch"),
        (
            "variant v {\n  set p.reuse = [inernal]\n}",
            "14 unknown_policy `inernal`: there is no reuse policy `inernal`; in the variant `v`",
        ),
        (
            "variant v {\n  set p.max_size = 4us\n}",
            "14 wrong_unit `4us`: a size is needed here, and this is a duration; in the variant `v`",
        ),
        (
            "variant v {\n  set size = nope\n}",
            "14 unknown_name `nope`: nothing is called `nope`; in the variant `v`",
        ),
        (
            "variant v {\n  omit edge\n  set size = 1MiB\n  omit edge\n}",
            "16 duplicate_setting `omit edge`: this is changed already; 14 changed here",
        ),
        (
            "variant v {\n}\nvariant v {\n}",
            "15 duplicate_name `v`: there is a variant `v` already; 13 declared here",
        ),
        (
            "repeat i in 0..2 {\n  variant v {\n  }\n}",
            "14 misplaced_declaration `variant v {`: a variant cannot stand in a block",
        ),
        ("variant v {\n  variant w {\n  }\n}", "14 unexpected `variant`: `variant` is not expected here"),
        ("variant v {\n  stream s\n}", "14 unexpected `stream`: `stream` is not expected here"),
        ("variant v {\n  omit edge\n", "13 unclosed_block `variant v {`: this block is never closed"),
        (
            "variant v {\n  expect y starts >= end birth\n}",
            "14 wrong_kind `y`: `y` is a buffer, but an operation or a kernel is needed here; 11 declared as a buffer here; in the variant `v`",
        ),
    ] {
        let found = with(lines);
        if found != [expected] {
            differences.push(format!("{lines}\n  gives {found:#?}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// What follows from an omission is told with the line that is omitted.
#[test]
fn omissions_have_consequences() {
    let found = with("variant v {\n  omit birth\n  expect y reuses x\n}");
    let omitted = "6 this variant omits it; in the variant `v`";
    assert_eq!(
        found,
        [
            format!("7 unknown_name `x`: nothing is called `x`; {omitted}"),
            format!("8 unknown_name `x`: nothing is called `x`; {omitted}"),
            format!("15 unknown_name `x`: nothing is called `x`; {omitted}"),
        ]
    );
    let labels = "b: work(y) as late\na: work(x) as early\nvariant v {\n  omit early\n  expect late starts > end early\n}";
    let found = with(labels);
    assert_eq!(
        found,
        ["17 unknown_name `early`: nothing is called `early`; 14 this variant omits it; in the variant `v`"]
    );
}

#[test]
fn all_mistakes_come_at_once_and_none_twice() {
    let found =
        with("sync aa\nvariant v {\n  omit edg\n  model hip\n}\nvariant w {\n  expect z via growth\n}");
    let codes: Vec<&str> =
        found.iter().map(|line| line.split(':').next().expect("there is a first")).collect();
    assert_eq!(
        codes,
        ["13 unknown_name `aa`", "15 unknown_name `edg`", "16 unknown_model `hip`", "19 unknown_name `z`"]
    );
    // The line that has the label, or the name, may be the broken one.
    let broken = "b: wiat freed as other\nlet oter = = 3\nvariant v {\n  omit other\n  set oter = 4\n}";
    assert_eq!(with(broken).len(), 2, "{:#?}", with(broken));
}

#[test]
fn a_variant_changes_what_it_says_and_nothing_else() {
    let text = format!(
        "{BASE}snapshot\nrepeat i in 0..2 {{\n  sync a as pause\n  expect p.used >= 0\n  snapshot\n}}\n\
         variant v {{\n  set p.internal = on\n  set p.release_threshold = max\n  set size = 1MiB\n  omit pause\n}}\n\
         variant w {{\n  set gpu0.memory = 1GiB\n  set gpu0.default_pool.release_threshold = 4MiB\n  snapshot\n}}\n"
    );
    let (programs, diagnostics) = millpond::load_all(&text, &Profile::default());
    assert_eq!(diagnostics, []);
    let [base, v, w] = programs.as_slice() else { panic!("there are three") };
    assert_eq!(base.variants, ["v", "w"]);
    assert_eq!((base.expects.len(), base.snapshots.len()), (2, 2));
    assert_eq!((v.expects.len(), v.snapshots.len()), (0, 0));
    assert_eq!((w.expects.len(), w.snapshots.len()), (0, 1));
    let lines = |program: &millpond::scenario::Program| {
        program.statements.iter().map(|statement| statement.text.clone()).collect::<Vec<_>>()
    };
    let is_judgement = |line: &String| line.starts_with("expect") || line.starts_with("snapshot");
    let calls: Vec<String> = lines(base).into_iter().filter(|line| !is_judgement(line)).collect();
    let without_pause: Vec<String> = calls.iter().filter(|line| !line.contains("pause")).cloned().collect();
    assert_eq!(lines(v), without_pause);
    let set = "set gpu0.default_pool.release_threshold = 4MiB".to_owned();
    assert_eq!(lines(w), [vec![set], calls, vec!["snapshot".to_owned()]].concat());
    let switched = "pool p\nvariant v {\n  set p.internal = off\n  set p.follow_event = off\n  expect p.internal == off\n  \
         expect p.follow_event == off\n  expect p.opportunistic == on\n}\n";
    let folder = Folder::new("switched");
    folder.file("a.scn", switched);
    let output = folder.millpond(&["test", "a.scn"]);
    assert!(out(&output).contains("ok    a.scn  3 expectations, 1 variant\n"), "{}", out(&output));
    let formatted = millpond::syntax::format(&text).expect("it can be read");
    assert_eq!(formatted, text, "it is in the usual form");
}

/// A text of many lines and many changes takes no longer than one of few, line by line.
#[test]
fn limits_are_told() {
    let many = |count| (0..count).map(|n| format!("variant v{n} {{\n}}\n")).collect::<String>();
    assert_eq!(with(&many(32)), Vec::<String>::new());
    assert_eq!(with(&many(40)), ["77 too_many_names `variant v32 {`: this text has more than 32 variants"]);
    let lines: String = (0..2_000).map(|n| format!("sleep 0 as l{n}\nlet n{n} = {n}\n")).collect();
    let changes: String = (0..2_000).map(|n| format!("  omit l{n}\n  set n{n} = 1\n")).collect();
    let variants: String = (0..4).map(|n| format!("variant v{n} {{\n{changes}}}\n")).collect();
    let (programs, diagnostics) = millpond::load_all(&format!("{lines}{variants}"), &Profile::default());
    assert_eq!(diagnostics, []);
    assert_eq!(
        programs.iter().map(|program| program.statements.len()).collect::<Vec<_>>(),
        [4_000, 2_000, 2_000, 2_000, 2_000]
    );
}

#[test]
fn one_variant_is_run_by_its_name() {
    let folder = Folder::new("variant");
    folder.file("a.scn", format!("{BASE}variant off {{\n  set p.reuse = []\n  expect y via growth\n}}\n"));
    let base = folder.millpond(&["run", "a.scn"]);
    assert_eq!(status(&base), 0);
    assert!(
        out(&base).contains("\nvariants: off   run one: millpond run FILE --variant off\n"),
        "{}",
        out(&base)
    );
    let off = folder.millpond(&["run", "a.scn", "--variant", "off"]);
    assert_eq!(status(&off), 0);
    assert!(
        out(&off).contains("seed 0, variant off\n") && out(&off).contains("y via growth  holds"),
        "{}",
        out(&off)
    );
    let unknown = folder.millpond(&["run", "a.scn", "--variant", "of"]);
    assert_eq!(err(&unknown), "error: a.scn has no variant `of`: did you mean `off`?\n");
    assert_eq!(status(&unknown), 2);
    folder.file("b.scn", BASE);
    let none = folder.millpond(&["run", "b.scn", "--variant", "off"]);
    assert_eq!(err(&none), "error: b.scn has no variants\n");
    let swept = folder.millpond(&["run", "a.scn", "--variant", "off", "--set", "size=32MiB,64MiB"]);
    assert!(out(&swept).contains("variant off"), "{}", out(&swept));
    assert_eq!(out(&swept).matches("2 growth").count(), 2, "{}", out(&swept));
}

#[test]
fn a_file_with_variants_is_one_test_and_has_one_snapshot() {
    let folder = Folder::new("variants");
    let variants = "snapshot\nvariant off {\n  set p.reuse = []\n  expect y via growth\n  snapshot \"off\"\n}\n\
                    variant plain {\n  expect y reuses x\n}\n";
    folder.file("scenarios/a.scn", format!("{BASE}{variants}"));
    let blessed = folder.millpond(&["test", "--bless"]);
    let result = "a.scn  3 expectations, 2 snapshots, 2 variants, 3 warnings, 1 lint\n";
    assert!(out(&blessed).contains(result), "{}", out(&blessed));
    assert!(out(&blessed).contains("\n1 passed, 0 failed"), "{}", out(&blessed));
    let file = folder.path("snapshots/a.snap");
    let accepted = fs::read_to_string(&file).expect("it was written");
    assert_eq!(
        accepted.matches("    Snapshot(\n        variant: \"off\",\n        nth: 1,\n").count(),
        1,
        "{accepted}"
    );
    for arguments in
        [&["test"] as &[&str], &["run", "scenarios/a.scn"], &["run", "scenarios/a.scn", "--variant", "off"]]
    {
        assert_eq!(status(&folder.millpond(arguments)), 0, "{arguments:?}");
    }
    // Another snapshot of the variant alone.
    let at = accepted.find("variant: \"off\"").expect("it is there");
    let changed = accepted[..at].to_owned()
        + &accepted[at..].replacen("96MiB", "95MiB", 1).replacen("64MiB", "63MiB", 1);
    assert_ne!(changed, accepted);
    fs::write(&file, changed).expect("it can be changed");
    assert_eq!(status(&folder.millpond(&["run", "scenarios/a.scn"])), 0);
    assert_eq!(status(&folder.millpond(&["run", "scenarios/a.scn", "--variant", "off"])), 1);
    assert_eq!(status(&folder.millpond(&["test"])), 1);
    // A variant that fails is named, and nothing is accepted.
    folder.file("scenarios/a.scn", format!("{BASE}{}", variants.replace("y via growth", "y via internal")));
    let failing = folder.millpond(&["test", "--bless"]);
    let text = out(&failing);
    assert_eq!(status(&failing), 1);
    assert!(text.contains("variant off: line 16: y via internal   fails: served by growth\n"), "{text}");
    assert!(text.contains("see: millpond run scenarios/a.scn --variant off\n"), "{text}");
    assert!(text.contains("not accepted, since the scenario fails"), "{text}");
}

#[test]
fn labels_stand_on_calls_of_the_host_too() {
    let text =
        "stream s\ns: x = alloc 1MiB as a\ns: free x as b\nsync s as c\nsleep 1ms as d or_fails not_ready\n";
    assert_eq!(said(text), Vec::<String>::new());
    assert_eq!(
        said(&format!("{text}expect a starts <= end c\n")),
        [
            "6 wrong_kind `c`: `c` is a label of a host call, but an operation or a kernel is needed here; 4 declared as a label of a host call here"
        ]
    );
}

#[test]
fn lines_of_a_handler_can_be_omitted() {
    let text = "stream s\npool p\ns: x = alloc 1TiB from p else out_of_memory {\n  sync s as inner\n  expect p.used == 1B\n}\n\
                create stream t as birth\nt: y = alloc 1MiB from p as late\n";
    let variant = "variant v {\n  omit inner\n  omit late\n  omit birth\n  expect p.used == 0\n}\n";
    let (programs, diagnostics) = millpond::load_all(&format!("{text}{variant}"), &Profile::default());
    assert_eq!(diagnostics, []);
    let lines: Vec<&str> = programs[1].statements.iter().map(|statement| statement.text.as_str()).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(
        said(&format!("{text}variant v {{\n  omit birth\n}}\n")),
        ["8 unknown_name `t`: nothing is called `t`; 7 this variant omits it; in the variant `v`"]
    );
}

/// Whatever a profile has can be set, in its line, by a variant and from outside; a wrong value is told at its place.
#[test]
fn every_setting_of_the_profile_can_be_set() {
    for setting in Profile::SETTINGS {
        let here = said(&format!("profile {{ {setting} = x[0] }}\nstream s\n"));
        let there = said(&format!("stream s\nvariant v {{\n  set profile.{setting} = x[0]\n}}\n"));
        for found in [&here, &there] {
            assert_eq!(found.len(), 1, "{found:#?}");
            assert!(found[0].contains("`x[0]") || found[0].contains("`x`"), "{found:#?}");
        }
    }
    let found = said("profile {\n  wrong = 1\n}\n");
    assert!(found[0].contains("there is no setting of a profile called `wrong`"), "{found:#?}");
    let found = with("set profile.remap = off");
    assert!(found[0].contains("no call sets the profile"), "{found:#?}");
}

#[test]
fn a_variant_keeps_what_it_does_not_set_of_the_profile() {
    let text = "profile { memory = 4GiB, remap = off }\nstream s\n\
        variant v {\n  set profile.remap = full\n  set profile.call = 1us\n}\nvariant w {\n  set gpu0.memory = 1GiB\n}\n";
    let (programs, diagnostics) = millpond::load_all(text, &Profile::default());
    assert_eq!(diagnostics, []);
    let facts = programs.iter().map(|program| {
        let setup = &program.setup;
        (setup.devices[0].memory.human(), setup.rules.remap, setup.host.call.human())
    });
    let expected = [
        ("4 GiB".to_owned(), Remap::Off, "0ns".to_owned()),
        ("4 GiB".to_owned(), Remap::Full, "1us".to_owned()),
        ("1 GiB".to_owned(), Remap::Off, "0ns".to_owned()),
    ];
    assert_eq!(facts.collect::<Vec<_>>(), expected);
}
