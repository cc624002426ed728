//! How the report of a run shows what is wrong with the program.

use super::cli::{Folder, out, status};
use millpond::cli::{Accepted, Remedies, Scenario, Settings, find};
use millpond::report::Options;
use std::path::{Path, PathBuf};

const COLUMNS: usize = 80;
const HEAD: &str = "\
stream compute, cleanup
event ready
kernel train(x: read_write) takes 50us

";
const LINES: &str = "\
compute: x = alloc 1MiB
compute: memset x takes 1us
compute: record ready
cleanup: wait ready
compute: train(x)
cleanup: free x
cleanup: y = alloc 1MiB
cleanup: memset y takes 1us
cleanup: free y
sync device
";

/// The part of a report about findings: from the first one to the tables, or to the end.
fn findings(report: &str) -> String {
    let lines = report.lines().skip_while(|line| !line.contains("]: "));
    let tables = ["Allocations", "Time-line"];
    let lines = lines.take_while(|line| !tables.iter().any(|table| line.starts_with(table)));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn a_hazard_is_explained_with_its_lines_its_order_its_run_and_a_fix() {
    let folder = Folder::new("explained");
    folder.file("hazard.scn", format!("{HEAD}{LINES}"));
    let output = folder.millpond(&["run", "hazard.scn"]);
    assert_eq!(status(&output), 1);
    let expected = "\
error[use_after_free]: `x` is freed on cleanup while `train(x)` may still use it
  --> hazard.scn:10:10
   |
 5 | compute: x = alloc 1MiB
   |          -------------- allocates x on compute
 6 | compute: memset x takes 1us
 7 | compute: record ready
   |          ------------ recorded before line 9, so it does not cover it
 8 | cleanup: wait ready
   |          ---------- waits for that record
 9 | compute: train(x)
   |          -------- uses x on compute
10 | cleanup: free x
   |          ^^^^^^ frees x on cleanup; not ordered after line 9
   |
   = missing:  9 train(x) -> 10 free x
   = nearest:  7 record ready -> 8 wait ready -> 10 free x
   = timing:   possible: nothing orders the two, so that some timing breaks
   = this run: train(x) ran from 1us to 51us, free x at 1us: in the wrong
               order; line 11 gave x's memory to y (same_stream); train(x) and
               memset y both had it from 1us to 2us
   = rule:     every use must be ordered before the free
               (CUDA Programming Guide 4.3.2.2; `millpond explain R16`)
   = mute or expect: `expect finding use_after_free on x`
help: record after the use and wait before the free
   |
 9 ~ compute: train(x)
10 + compute: record ready
11 + cleanup: wait ready
   |
   = tried: 0 findings left, none new; cleanup ends at 52us instead of 2us,
            reserved_high unchanged (32 MiB)
   = apply: millpond fix hazard.scn -o FILE

warning[overlap]: `y = alloc 1MiB` gets bytes of `x` that are still in use
  --> hazard.scn:11:10
   |
 9 | compute: train(x)
   |          -------- uses x on compute
10 | cleanup: free x
11 | cleanup: y = alloc 1MiB
   |          ^^^^^^^^^^^^^^ gets bytes of x; not ordered after line 9
   |
   = missing:  9 train(x) -> 11 y = alloc 1MiB
   = this run: train(x) ran from 1us to 51us, y = alloc 1MiB at 1us: in the
               wrong order; line 11 gave x's memory to y (same_stream);
               train(x) and memset y both had it from 1us to 2us
   = rule:     memory serves again only where uses of both cannot overlap
               (CUDA Programming Guide 4.3.4.4; `millpond explain R46`)
   = mute or expect: `allow overlap on x`, or `expect finding overlap on x`
   = help: the fix above removes it, too

";
    assert_eq!(findings(&out(&output)), expected);
    assert!(
        out(&output).contains("\nfails: 1 error, 1 warning   (2 allocations, 51us)\n"),
        "{}",
        out(&output)
    );
}

#[test]
fn what_a_line_expects_is_told_in_short() {
    let folder = Folder::new("expected");
    folder.file(
        "hazard.scn",
        format!("{HEAD}{LINES}expect finding use_after_free on x\nexpect finding overlap\n"),
    );
    let output = folder.millpond(&["run", "hazard.scn"]);
    assert_eq!(status(&output), 0);
    let expected = "\
note[use_after_free]: `x` is freed on cleanup while `train(x)` may still use it
  line 10: cleanup: free x   expected at line 15
note[overlap]: `y = alloc 1MiB` gets bytes of `x` that are still in use
  line 11: cleanup: y = alloc 1MiB   expected at line 16

";
    assert_eq!(findings(&out(&output)), expected);
}

#[test]
fn the_worst_eight_are_shown_and_the_others_counted() {
    let folder = Folder::new("many");
    let leaks: String = (0..9).map(|nth| format!("compute: leaked{nth} = alloc 1MiB\n")).collect();
    folder.file("many.scn", format!("{HEAD}{leaks}{LINES}"));
    let told = out(&folder.millpond(&["run", "many.scn", "--deny", "leak"]));
    let titles: Vec<&str> = told.lines().filter(|line| line.contains("]: ")).collect();
    assert_eq!(titles.len(), 8, "{told}");
    assert!(titles[0].starts_with("error[use_after_free]") && titles[7].starts_with("error[leak]"), "{told}");
    assert!(told.contains("    .. and 3 more findings\n"), "{told}");
}

#[test]
fn memory_that_is_left_over_is_told_in_one_line() {
    let folder = Folder::new("left_over");
    folder.file("two.scn", "stream s\ns: x = alloc 1MiB\ns: y = alloc 2MiB\n");
    let told = out(&folder.millpond(&["run", "two.scn"]));
    let expected = "
warning[leak]: never freed: x (line 2), y (line 3)
  `millpond fix FILE` frees it; `allow leak` says that it is to be so
";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_long_run_is_not_recorded() {
    let folder = Folder::new("long_run");
    let text = format!("{HEAD}{LINES}repeat i in 0..1000000 {{\n  sleep 1ns\n}}\n");
    folder.file("long.scn", text);
    let told = out(&folder.millpond(&["run", "long.scn"]));
    assert!(told.contains("   = this run: not recorded: it is too long\n"), "{told}");
}

#[test]
fn colours_are_for_terminals() {
    let scenario = Scenario::of_text(PathBuf::from("hazard.scn"), format!("{HEAD}{LINES}"));
    let (program, _) = scenario.load().expect("a valid scenario");
    let report = |colour| {
        let options = Options { width: COLUMNS, colour };
        let settings = Settings { seed: 0, options, accepted: Accepted::Ignored, remedies: Remedies::Tried };
        scenario.run(&program, &settings).expect("it runs").report
    };
    let (plain, coloured) = (report(false), report(true));
    assert!(!plain.contains('\u{1b}'));
    let title = coloured.lines().find(|line| line.contains("error")).expect("a finding");
    assert!(title.starts_with('\u{1b}'), "{title}");
    // Colours are all that differs.
    let mut bare = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        bare += before;
        rest = after.split_once('m').expect("a colour ends").1;
    }
    assert_eq!(bare + rest, plain);
}

/// The lines of a report that are too wide; a path stays whole.
fn wide(scenario: &Scenario, remedies: Remedies) -> Vec<String> {
    let Ok((programs, _)) = scenario.load_all() else { return Vec::new() };
    let options = Options { width: COLUMNS, colour: false };
    let settings = Settings { seed: 0, options, accepted: Accepted::Ignored, remedies };
    let path = scenario.path.display().to_string();
    let mut wide = Vec::new();
    for program in programs {
        let report = scenario.run(&program, &settings).expect("it runs").report;
        let lines = report.lines().filter(|line| line.chars().count() > COLUMNS && !line.contains(&path));
        wide.extend(lines.map(|line| format!("{path}: {line}")));
    }
    wide
}

/// Also with everything that is found unexpected, and so told in full.
#[test]
fn every_report_fits_the_page() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut lines = Vec::new();
    let mut count = 0;
    for path in find(&[root]).expect("the scenarios are there") {
        if path.components().any(|part| part.as_os_str() == "invalid" || part.as_os_str() == "stress") {
            continue;
        }
        let scenario = Scenario::read(&path).expect("it is there");
        let is_kept = |line: &&str| {
            !["expect finding", "expect no ", "allow "].iter().any(|word| line.trim().starts_with(word))
        };
        let unexpected: String =
            scenario.text.lines().filter(is_kept).map(|line| format!("{line}\n")).collect();
        // Fixes are looked for where scenarios are about findings; elsewhere that would only take long.
        let is_about_findings = path.components().any(|part| part.as_os_str() == "hazards");
        let remedies = if is_about_findings { Remedies::Tried } else { Remedies::Ignored };
        lines.extend(wide(&scenario, remedies));
        if unexpected != scenario.text {
            lines.extend(wide(&Scenario::of_text(PathBuf::from("unexpected.scn"), unexpected), remedies));
        }
        count += 1;
    }
    assert!(count > 200, "{count}");
    assert!(lines.is_empty(), "{lines:#?}");
}

/// What is said about each finding of a text, in lines of at most a page.
fn told(name: &str, text: &str) -> String {
    let folder = Folder::new(name);
    folder.file("told.scn", text);
    let told = out(&folder.millpond(&["run", "told.scn"]));
    assert!(told.lines().all(|line| line.chars().count() <= COLUMNS), "{told}");
    told
}

fn has(told: &str, lines: &[&str]) {
    lines.iter().for_each(|line| assert!(told.contains(line), "{line}\n{told}"));
}

#[test]
fn a_use_is_ordered_after_the_free_only_where_the_operations_are() {
    let head = "stream s, t\nkernel use(x: write) takes 10us\ns: x = alloc 1MiB\ns: free x\n";
    has(
        &told("called_after", &format!("{head}t: use(x)\n")),
        &["uses x on t; called after line 4\n", "nearest:  none\n"],
    );
    has(
        &told("ordered_after", &format!("{head}s: use(x)\n")),
        &["uses x on s; ordered after line 4\n", "nearest:  the other way round: 4 free x -> 5 use(x)\n"],
    );
    let host = "stream s\nm = malloc 1MiB managed\nwrite m\ns: free m\nread m\n";
    has(&told("host_after", host), &["the host reads m; called after line 4\n", "nearest:  none\n"]);
}

#[test]
fn memory_of_a_process_is_named_with_it() {
    let text = "process q {\n  stream s\n  s: x = alloc 1MiB\n  s: free x\n  s: free x\n}\njoin q\n";
    has(
        &told("of_a_process", text),
        &["`q.x` is freed a second time\n", "`expect finding double_free on x` in process q\n"],
    );
}

#[test]
fn the_rule_cites_the_call_that_destroyed() {
    let graph =
        "stream s\nkernel k() takes 1us\ngraph g {\n  s: k()\n}\ne = instantiate g\ndestroy e\ns: launch e\n";
    let pool = "create pool p\nstream s\ndestroy p\ns: y = alloc 1MiB from p\n";
    for (name, text, call) in
        [("destroyed_exec", graph, "cuGraphExecDestroy"), ("destroyed_pool", pool, "cuMemPoolDestroy")]
    {
        has(&told(name, text), &[&format!("(CUDA driver API, {call}; `millpond explain R7`)\n")]);
    }
}

#[test]
fn nodes_are_told_on_the_stream_of_their_launch() {
    let text = "stream s, t\nkernel k(x: write) takes 5us\ngraph g {\n  s: x = alloc 1MiB\n  s: k(x)\n}\n\
                graph h {\n  s: k(x)\n  s: free x\n}\ne1 = instantiate g\ne2 = instantiate h\n\
                s: launch e1\nt: launch e2\n";
    has(
        &told("nodes", text),
        &[
            "`k(x)` on s and on t touch `x`, and nothing orders them\n",
            "uses x on s, by line 13\n",
            "uses x on t, by line 14; not ordered after line 5\n",
        ],
    );
}

#[test]
fn a_launch_that_frees_is_told_as_a_free() {
    let text = "stream s, t\nkernel k(x: write) takes 5us\ngraph g {\n  s: x = alloc 1MiB\n  s: k(x)\n}\n\
                e = instantiate g auto_free\ns: launch e\nt: k(x)\ns: launch e\n";
    has(
        &told("auto_free", text),
        &["frees x on s (auto_free); not ordered after line 9\n", "wait before the free\n"],
    );
}

#[test]
fn only_memory_that_is_out_has_an_account() {
    let text =
        "model oxicuda\npool p\nstream s\ns: x = alloc 1KiB from p\ns: free x\ns: z = alloc 0B from p\n";
    let told = told("no_account", text);
    has(&told, &["error[invalid_value]: line 6: s: z = alloc 0B from p\n  expected?"]);
}

/// What a thread calls is before what it submits after it: whoever waits for that comes after the call.
#[test]
fn a_call_of_another_thread_is_known_through_a_stream() {
    let folder = Folder::new("known_through_a_stream");
    let lines = "\
stream a, b
kernel look(x: read) takes 1us
x = malloc 1MiB managed
thread other {
  a: free x
  b: look(x)
}
sleep 5us
sync b
read x
join other
";
    folder.file("known.scn", lines);
    let output = folder.millpond(&["run", "known.scn"]);
    assert_eq!(status(&output), 1);
    let report = out(&output);
    assert!(report.contains("`x` is used by `read x` after its free"), "{report}");
    assert_eq!(report.matches("= timing:   definite").count(), 2, "{report}");
}
