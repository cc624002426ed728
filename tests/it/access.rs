//! Access of devices and what processes share: what a profile decides about it, and what a report says about it.

use super::cli::{Folder, out, status};

const NO_PEER: &str = "\
device gpu0 { memory = 1GiB }
device gpu1 { memory = 1GiB }
pool p on gpu0 { release_threshold = max }
stream s on gpu0
grant p to gpu1
expect gpu1 reaches p
s: x = alloc 1MiB from p fails invalid_device
revoke p from gpu1
s: y = alloc 1MiB from p
grant p to gpu1 fails invalid_device
expect gpu1 not reaches p
s: free y
sync s
trim p to 0B
grant p to gpu1
s: z = alloc 1MiB from p fails invalid_device
";

/// Both answers to a grant for a device that is no peer are documented (CUDA Programming Guide 4.3.3.3); the profile decides.
#[test]
fn a_profile_may_let_the_next_allocation_fail() {
    let embedded = include_str!("../../profiles/default.ron");
    let folder = Folder::new("access");
    folder.file("late.ron", embedded.replace("late_access_check: false", "late_access_check: true"));
    folder.file("no_peer.scn", NO_PEER);
    let late = folder.millpond(&["run", "no_peer.scn", "--profile", "late.ron"]);
    assert_eq!(status(&late), 0, "{}", out(&late));
    let early = folder.millpond(&["run", "no_peer.scn"]);
    assert_eq!(status(&early), 1);
    assert!(out(&early).contains("error[invalid_device]: line 5: grant p to gpu1"), "{}", out(&early));
}

/// The report says what the device may do, and since which line; a call that failed is not that line.
#[test]
fn a_report_says_who_gave_access() {
    let folder = Folder::new("reach");
    let text = "\
device gpu0 { peers = [gpu1] }
device gpu1
pool p on gpu0
expect gpu1 reaches p
grant p to gpu1 read
revoke p from gpu0 fails invalid_device
expect gpu1 reaches p read_write
";
    folder.file("reach.scn", text);
    let run = folder.millpond(&["run", "reach.scn"]);
    assert_eq!(status(&run), 1);
    let report = out(&run);
    let says = |line: &str| assert!(report.contains(line), "{line}\n{report}");
    says("  actual    it does not reach it\n  since     the start of the run");
    let text = "\
device gpu0
device gpu1
stream s on gpu0
stream t on gpu1
s: x = alloc 1MiB
t: memset x
";
    folder.file("early.scn", text);
    let early = out(&folder.millpond(&["run", "early.scn"]));
    let access = "  access     gpu1 has no access to the memory of gpu0.default_pool
             it gets more by `grant gpu0.default_pool to gpu1`\n";
    assert!(early.contains(access), "{early}");
    says("  actual    it may only read it\n  since     line 5: grant p to gpu1 read");
}

/// The report says which device an event belongs to, for a record and for a time.
#[test]
fn a_report_says_of_which_device_an_event_is() {
    let folder = Folder::new("event_device");
    let text = "\
device gpu0
device gpu1
stream s on gpu0
stream t on gpu1
event e, f
t: record e
s: record e
s: record f
sync device
sync gpu1
let time = elapsed f to e
";
    folder.file("event.scn", text);
    let report = out(&folder.millpond(&["run", "event.scn"]));
    for line in ["line 7: s: record e", "line 11: let time = elapsed f to e"] {
        let found = format!(
            "error[invalid_resource_handle]: {line}
  device     e belongs to gpu1, and would have to belong to gpu0
             it was declared on gpu1, or recorded there first\n"
        );
        assert!(report.contains(&found), "{found}\n{report}");
    }
}

const TWICE: &str = "\
pool p { handle = posix_fd }
stream s
s: x = alloc 1MiB from p
export p as hp
export x as hx
process other {
  stream t
  q = import hp on gpu0
  y = import hx from q
  z = import hx from q
  expect q.used == 2MiB
  t: free y
  expect q.used == 1MiB
  t: free z
  expect q.used == 0B
}
join other
expect p.used == 1MiB
";

/// Drivers have been seen to end all imports of a pointer with the first free of one (NVIDIA/cuda-python#2783).
#[test]
fn a_profile_may_let_the_first_free_end_all_imports() {
    let embedded = include_str!("../../profiles/default.ron");
    let folder = Folder::new("imports");
    let on = embedded.replace("first_free_ends_imports: false", "first_free_ends_imports: true");
    folder.file("ends_all.ron", on);
    folder.file("counted.scn", TWICE);
    let ended =
        TWICE.replace("q.used == 1MiB", "q.used == 0B").replace("free z", "free z fails invalid_value");
    folder.file("ended.scn", ended);
    let run = |arguments: &[&str]| status(&folder.millpond(&[&["run"], arguments].concat()));
    assert_eq!(run(&["counted.scn"]), 0);
    assert_eq!(run(&["counted.scn", "--profile", "ends_all.ron"]), 1);
    assert_eq!(run(&["ended.scn", "--profile", "ends_all.ron"]), 0);
    assert_eq!(run(&["ended.scn"]), 1);
}

/// An export that does not happen is what its importer waits for in vain.
#[test]
fn an_import_without_its_export_is_a_deadlock() {
    let folder = Folder::new("exports");
    let text = "\
pool p { handle = posix_fd }
process other {
  q = import hp on gpu0
}
join other
export p as hp
";
    folder.file("late.scn", text);
    let run = folder.millpond(&["run", "late.scn"]);
    let report = out(&run);
    assert_eq!(status(&run), 1);
    assert!(report.contains("error[deadlock]"), "{report}");
    assert!(report.contains("an export as hp, which did not happen"), "{report}");
}

/// The importer is to free before the exporter, by order and whatever the timing (CUDA driver API, `cuMemPoolImportPointer`).
#[test]
fn exporters_that_free_first_are_found() {
    let clean = include_str!("../../scenarios/guide/free_on_both_sides.scn");
    let folder = Folder::new("early");
    let run = |text: &str| {
        folder.file("early.scn", text);
        let run = folder.millpond(&["run", "early.scn"]);
        (status(&run), out(&run))
    };
    assert_eq!(run(clean).0, 0);
    // Neither the wait for the importer nor anything else is left, though it has long been done.
    let late = clean.replace("s: wait f\n", "sleep 1ms\n");
    let (failed, report) = run(&late);
    assert_eq!(failed, 1, "{report}");
    assert!(report.contains("error[freed_before_importer]: `x` is freed while an importer may"), "{report}");
    assert!(report.contains("--> early.scn:33:4\n"), "{report}");
    assert!(report.contains("------ freed by the importer; not ordered before line 33\n"), "{report}");
    // The exporter's host waits instead: for the event, for the process, for a query that succeeds.
    for waits in ["sync f\n", "sleep 1ms\nquery f\n", "poll f until done\n"] {
        assert_eq!(run(&clean.replace("s: wait f\n", waits)).0, 0, "{waits}");
    }
    let (failed, report) = run(&clean.replace("s: wait f\n", "join importer\n"));
    assert_eq!(failed, 1, "the importer did not wait for its free: {report}");
    let waited = clean.replace("  t: record finished\n", "  t: record finished\n  sync t\n");
    assert_eq!(run(&waited.replace("s: wait f\n", "join importer\n")).0, 0);
    // A record before the free does not carry it; nor does an import that is never freed.
    let before = "  t: record finished\n  t: free y\n";
    let (failed, _) = run(&clean.replace("  t: free y\n  t: record finished\n", before));
    assert_eq!(failed, 1);
    let (failed, report) = run(&clean.replace("  t: free y\n", ""));
    assert_eq!(failed, 1);
    assert!(report.contains("the importer had not called its free by then"), "{report}");
}

/// What a run says about failures fits the page, and names what processes have apart.
#[test]
fn failures_of_processes_fit_the_page() {
    let folder = Folder::new("wide");
    let text = "\
device gpu0 { memory = 1GiB }
device gpu1
kernel accumulate(x: read_write, y: read) takes 10us
event forked
process consumer {
  pool scratch_memory on gpu1 { release_threshold = 32MiB, reuse = [follow_event, opportunistic] }
  stream main_stream, side_stream on gpu0
  main_stream: accumulated = alloc 1MiB from scratch_memory or_fails invalid_resource_handle
  main_stream: accumulate(accumulated, accumulated) or_fails invalid_resource_handle
  graph g {
    main_stream: x = alloc 1MiB
    side_stream: y = alloc 1MiB
  }
  e = instantiate g
  main_stream: launch e
}
join consumer
await never
";
    folder.file("wide.scn", text);
    let run = folder.millpond(&["run", "wide.scn"]);
    let report = out(&run);
    let says = |line: &str| assert!(report.contains(line), "{line}\n{report}");
    says("error[access_denied]: `accumulate(accumulated, accumulated)` touches\n");
    says("Pool consumer.gpu0.graph_pool ");
    let lines = out(&folder.millpond(&["run", "wide.scn", "--format", "json"]));
    assert!(lines.contains("\"stream\":\"consumer.g.side_stream\""), "{lines}");
    assert!(lines.contains("\"event\":\"graph_pool\",\"device\":\"consumer.gpu0\""), "{lines}");
    for line in report.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}
