//! Tests of meaning: texts against the diagnostics and the calls that they give.

use super::{Cursor, Step};
use crate::profile::Profile;
use std::path::{Path, PathBuf};

/// The diagnostics of a text, each as `line code: message`.
fn check(text: &str) -> Vec<String> {
    let lines = crate::base::LineIndex::new(text);
    let (program, diagnostics) = crate::load(text, &Profile::default());
    let is_wrong = diagnostics.iter().any(|d| d.severity == crate::base::Severity::Error);
    assert_eq!(program.is_none(), is_wrong, "{text}");
    let shown = diagnostics.iter().map(|d| {
        let line = lines.line(d.primary.span.start);
        format!("{line} {}: {}", d.code, d.message)
    });
    shown.collect()
}

fn scenarios(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scenarios(&path));
        } else if path.extension().is_some_and(|extension| extension == "scn") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every scenario beside `invalid` is right; every one in it shows the diagnostic that it is named after, and only
/// that: once, or more often where the name goes on behind that of the diagnostic.
#[test]
fn shipped_scenarios() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    for path in scenarios(&root) {
        let found = check(&std::fs::read_to_string(&path).unwrap());
        if path.starts_with(root.join("invalid")) {
            let name = path.file_stem().unwrap().to_str().unwrap();
            let code = |one: &String| one.split(' ').nth(1).unwrap().trim_end_matches(':').to_owned();
            let is_shown = |one: &String| name == code(one) || name.starts_with(&format!("{}_", code(one)));
            let is_more = found.first().is_some_and(|one| name != code(one));
            let shown = found.iter().all(is_shown) && (found.len() == 1 || is_more && !found.is_empty());
            assert!(shown, "{} gives {found:#?}", path.display());
        } else {
            assert_eq!(found, Vec::<String>::new(), "{}", path.display());
        }
    }
}

/// A text with five mistakes, each with the line that mends it.
const FIVE: [(&str, &str); 5] = [
    ("strem c", "stream c"),
    ("  a: y[i] = aloc 1MiB", "  a: y[i] = alloc 1MiB"),
    ("a: z = alloc 2MB", "a: z = alloc 2MiB"),
    ("b: wait dnoe", "b: wait done"),
    ("c: fill(y[0], z)", "c: fill(y[0])"),
];

fn five(mended: Option<usize>) -> String {
    let line = |nth: usize| if mended == Some(nth) { FIVE[nth].1 } else { FIVE[nth].0 };
    format!(
        "stream a, b\nevent done\nkernel fill(out: write) takes 10us\n{}\nrepeat i in 0..3 {{\n{}\n  a: fill(y[i])\n}}\n\
         {}\na: fill(z)\n{}\n{}\nsync c\n",
        line(0),
        line(1),
        line(2),
        line(3),
        line(4)
    )
}

#[test]
fn mending_one_mistake_removes_its_diagnostic_and_no_other() {
    let all = check(&five(None));
    assert_eq!(all.len(), 5, "{all:#?}");
    for mended in 0..5 {
        let mut expected = all.clone();
        expected.remove(mended);
        assert_eq!(check(&five(Some(mended))), expected, "{mended}");
    }
}

/// A text without a mistake of its own in front of the lines under test.
fn after_declarations(lines: &str) -> String {
    format!(
        "pool p\nstream a, b\nstream s[4]\nevent e, f[2]\nkernel k(x: write) takes 1us\nkernel two(x: read, y: write) takes 1us..2us\n{lines}"
    )
}

#[test]
fn valid_lines() {
    for lines in [
        "a: x = alloc 0 from p\na: free x\na: free x\na: k(x)",
        "a: x = alloc 1MiB\na: free x\na: x = alloc 1MiB",
        "a: x = alloc 1TiB fails out_of_memory\na: k(x)\na: free x\na: x = alloc 1B",
        "a: x = alloc 1MiB or_fails out_of_memory\na: x = alloc 1MiB",
        "repeat i in 0..4 {\n s[i]: x[i] = alloc (i + 1) * 1MiB\n}\nrepeat i in 0..4 {\n s[3 - i]: free x[i]\n}",
        "repeat i in 0..9 {\n let j = i % 2\n a: x[j] = alloc 1MiB\n a: free x[j]\n}",
        "let n = 4\nrepeat i in 0..n * 2 {\n  sync f[i / 4]\n}",
        "let r0 = p.reserved\ntrim p to r0 / 2\nexpect p.reserved - r0 == 0",
        "set p.follow_event = off\nexpect p.follow_event == off\nset gpu0.default_pool.release_threshold = max",
        "a: x[0] = alloc 1KiB\nlet at = x[0].address\nset p.release_threshold = at\nexpect x[0].address / 512B * 512B == at",
        "set p.reserved = 5B fails invalid_value\nset p.used_high = 1B fails invalid_value\nreset p.used_high",
        "a: x = alloc 1B\na: k(x) until go\nsignal go\na: k(x) takes 3us\na: k(x) takes uniform(1us, 3us)",
        "legacy: x = alloc 1B\ngpu0.per_thread: k(x)\nsync legacy\nsync gpu0\nsync device\nsync e",
        "a: x = alloc 1B\na: y = alloc 1B\nexpect y not at x\nexpect y waits for free x\nexpect y via growth",
        "a: depends = alloc 1B\nexpect depends not depends on timing\nexpect depends depends on timing",
        "a: x[0] = alloc 1B\nexpect x[0] ready on s[1]\nexpect x[0] not ready on gpu0.legacy\nexpect x[0] not fails",
        "x = malloc 1B as l or_fails out_of_memory\na: record e as r\nexpect l fails out_of_memory\nexpect r not fails invalid_value",
        "a: x = alloc 1B else out_of_memory {\n sync a\n a: x = alloc 1B\n}\na: k(x)\na: free x\na: x = alloc 1B",
        "a: x = alloc 1B else out_of_memory {\n}\na: x = alloc 1B or_fails out_of_memory",
        "a: x = alloc 1B else out_of_memory {\n a: y = alloc 1B\n}\na: k(y)\na: y = alloc 1B\na: free x\na: x = alloc 1B",
        "a: x = alloc 1B\na: free x else invalid_value {\n}\na: x = alloc 1B",
        "a: x = alloc 1B\nquery a else not_ready {\n a: free x\n a: x = alloc 1B\n}\na: free x",
        "repeat i in 0..9 {\n a: x = alloc 1B else out_of_memory {\n  repeat j in 0..2 {\n   a: y = alloc 1B\n   a: free y\n  }\n }\n a: free x\n}",
        "create stream c\nc: x = alloc 1B\ndestroy c\nc: free x\ncreate stream c on gpu0 non_blocking\ndestroy c",
        "destroy s[1]\nrepeat i in 0..4 {\n destroy f[i / 2]\n}\ncreate stream c reusing s[1]\nsync s[1]",
        "repeat i in 0..9 {\n create event c\n create pool q { max_size = 1GiB }\n a: record c\n destroy c\n destroy q\n}\ncreate event c",
        "destroy a\ncreate stream a\ndestroy p\ncreate pool p on gpu0 reusing p",
        "destroy a\ncreate stream c reusing a\ndestroy a\ncreate stream d reusing c\ndestroy a\ncreate stream c\ncreate stream d",
        "create stream c\nquery a else not_ready {\n destroy c\n}\ncreate stream c",
        "create stream c or_fails invalid_value\ncreate stream c\ncreate stream d reusing c fails invalid_value",
        "set gpu0.pool = p\nset gpu0.pool = gpu0.default_pool\ndestroy gpu0.default_pool fails invalid_value",
        "repeat i in 0..0 {\n create stream c\n}\nsync c fails invalid_resource_handle\ncreate stream c",
        "let n = 3\na: x = alloc 1B\na: k(x)\na: free x as given\nexpect k ends <= 2us * n\nexpect given starts >= end k",
        "a: x = alloc 1B\nrepeat i in 0..3 {\n a: k(x)\n}\nexpect k starts > 1us",
        "x = malloc 1KiB\na: k(x)\nfree x\nx = malloc 1MiB managed on gpu0\na: free x\nexpect gpu0.free == gpu0.memory",
        "a: x = alloc 1KiB\na: k(x[0..512B])\nview v = x[512B..1KiB]\nview v = x\na: two(v, v[1B..2B])\na: free x",
        "host_buffer h, g[2] 1KiB pinned\nx = malloc 1KiB\ncopy h from x\na: copy x from g[1] takes 1us..2us as c\nread h[0..1B]\nwrite g[0]\na: k(h)",
        "host_buffer h 1KiB pageable\ncopy h[0..512B] from h[512B..1KiB]",
        "repeat i in 0..3 {\n a: x = alloc (i + 1) * 1KiB\n a: memset x[0..2KiB]\n a: free x\n}",
        "sleep 1ms\nsleep 2 * 3us + 0\nsnapshot \"here\"\nsnapshot",
    ] {
        assert_eq!(check(&after_declarations(lines)), Vec::<String>::new(), "{lines}");
    }
}

#[test]
fn invalid_lines() {
    for (lines, expected) in [
        ("a: x = alloc 1us", "7 wrong_unit: a size is needed here, and this is a duration"),
        ("let n = 1MiB * 2MiB", "7 wrong_unit: a size and a size do not go together here"),
        ("expect p.used == 1us", "7 wrong_unit: a size cannot be compared with a duration"),
        ("expect p.internal < on", "7 wrong_unit: `on` and `off` have no order"),
        ("set p.padding = 0", "7 unknown_attribute: `padding` is a figure that can only be read"),
        ("reset p.used", "7 unknown_attribute: only a high mark can be reset"),
        ("reset p", "7 unknown_attribute: a pool and its attribute are needed here"),
        ("reset a", "7 wrong_kind: `a` is a stream, but a device is needed here"),
        ("reset gpu1", "7 unknown_name: nothing is called `gpu1`"),
        ("a: x = alloc 1MiB from a", "7 wrong_kind: `a` is a stream, but a pool is needed here"),
        ("a: x = alloc p.used", "7 not_constant: `p.used` is known only when the run gets here"),
        ("a: e = alloc 1MiB", "7 duplicate_name: `e` is already the name of an event"),
        ("sync s[4]", "7 index_out_of_range: the index can be 4, and `s` has 4 elements"),
        ("repeat i in 0..4 {\n sync s[i - 1]\n}", "8 index_out_of_range: the index can be -1"),
        ("sync a[0]", "7 wrong_index: `a` is not an array"),
        (
            "a: x = alloc 1B\na: x[0] = alloc 1B",
            "8 wrong_index: `x` has an index here and no index elsewhere",
        ),
        ("a: x = alloc 1B\na: x = alloc 1B", "8 still_live: `x` gets a new allocation while it is live"),
        (
            "repeat i in 0..3 {\n a: x[i % 2] = alloc 1B\n}",
            "8 still_live: `x[0]` gets a new allocation while it is live",
        ),
        (
            "repeat i in 0..3 {\n a: k(x)\n a: x = alloc 1B\n a: free x\n}",
            "8 used_before_allocation: `x` is used before it is allocated",
        ),
        (
            "a: x = alloc 1B else out_of_memory {\n a: x = alloc 1B\n}\na: x = alloc 1B",
            "10 still_live: `x` gets a new allocation while it is live",
        ),
        (
            "query a else not_ready {\n a: x = alloc 1B else out_of_memory {\n  a: k(y)\n }\n a: y = alloc 1B\n}\na: k(x)",
            "9 used_before_allocation: `y` is used before it is allocated",
        ),
        (
            "a: x = alloc 1B\nquery a else not_ready {\n a: x = alloc 1B\n}",
            "9 still_live: `x` gets a new allocation while it is live",
        ),
        (
            "query a else not_ready {\n event g\n}",
            "8 misplaced_declaration: a declaration cannot stand in a block",
        ),
        ("query a else not_raedy {\n sync b\n}", "7 unknown_error: there is no error called `not_raedy`"),
        ("stream legacy", "7 duplicate_name: `legacy` is already the name of a stream"),
        (
            "a: legacy = alloc 1B\na: free legacy",
            "7 duplicate_name: `legacy` is already the name of a stream",
        ),
        ("a: k(y)", "7 unknown_name: nothing is called `y`"),
        (
            "a: x = alloc 1B\na: y = alloc 1B\nexpect y reuses x via growth",
            "9 unknown_policy: there is no class of reuse called `growth`",
        ),
        (
            "a: x[18446744073709551615] = alloc 1B",
            "7 too_many_names: `x` brings the number of buffers above 1,000,000",
        ),
    ] {
        assert_eq!(check(&after_declarations(lines)), [expected], "{lines}");
    }
}

#[test]
fn invalid_lives() {
    for (lines, expected) in [
        (
            "repeat i in 0..30000000 {\n query a else not_ready {\n  sync a\n  sync a\n }\n}",
            "10 run_too_long: the run has more than 100,000,000 statements, all loops unrolled",
        ),
        ("expect k ends < 1us", "7 unclear_launch: no line launches `k`"),
        (
            "expect k ends < 1us\na: x = alloc 1B\na: k(x)",
            "7 unclear_launch: the line that launches `k` stands below",
        ),
        (
            "a: x = alloc 1B\na: k(x)\nb: k(x) as late\nexpect late starts >= end k",
            "10 unclear_launch: 2 lines launch `k`",
        ),
        (
            "a: x = alloc 1B\na: k(x)\nexpect k ends < 1MiB",
            "9 wrong_unit: a duration is needed here, and this is a size",
        ),
        (
            "a: x = alloc 1B\na: k(x)\nexpect k ends < p.used",
            "9 not_constant: `p.used` is known only when the run gets here",
        ),
        ("create stream a", "7 still_exists: `a` is created while it exists"),
        ("create pool p", "7 still_exists: `p` is created while it exists"),
        ("repeat i in 0..2 {\n create event c\n}", "8 still_exists: `c` is created while it exists"),
        (
            "create stream c\nquery a else not_ready {\n destroy c\n create stream c\n}\ncreate stream c",
            "12 still_exists: `c` is created while it exists",
        ),
        (
            "create stream c\ncreate stream d reusing c",
            "8 still_exists: `c` exists, and does not leave its handle to another one",
        ),
        ("create stream c reusing e", "7 wrong_kind: `e` is an event, but a stream is needed here"),
        ("create event a", "7 wrong_kind: `a` is a stream, but an event is needed here"),
        ("create stream s", "7 wrong_index: `s` is an array, which exists from the start"),
        ("destroy legacy", "7 wrong_kind: `legacy` is a default stream, which exists always"),
        ("create stream legacy", "7 duplicate_name: `legacy` is already the name of a stream"),
        (
            "destroy gpu0",
            "7 wrong_kind: `gpu0` is a device, but a stream, an event, a pool, a graph or an executable graph is needed here",
        ),
        ("sync c\ncreate stream c", "7 used_before_declaration: `c` is used before its declaration"),
        (
            "repeat i in 0..5000 {\n create stream c\n destroy c\n}",
            "8 too_many_names: `c` brings the number of streams above 4096",
        ),
        ("set gpu0.pool = a", "7 wrong_kind: `a` is a stream, but a pool is needed here"),
        ("destroy c", "7 unknown_name: nothing is called `c`"),
        ("destroy gpu0.pool", "7 unknown_name: the current pool can only be set and compared"),
    ] {
        assert_eq!(check(&after_declarations(lines)), [expected], "{lines}");
    }
}

#[test]
fn invalid_expectations_of_calls_and_streams() {
    for (lines, expected) in [
        ("expect l not fails\nsync a as l", "7 used_before_declaration: `l` is used before its declaration"),
        ("expect l not fails", "7 unknown_name: nothing is called `l`"),
        (
            "expect x not fails\na: x = alloc 1B",
            "7 used_before_allocation: `x` is used before it is allocated",
        ),
        (
            "repeat i in 0..2 {\n expect x[i] not fails\n a: x[i] = alloc 1B\n}",
            "8 used_before_allocation: `x[0]` is used before it is allocated",
        ),
        (
            "expect e not fails",
            "7 wrong_kind: `e` is an event, but a label of a host call, an operation or a buffer is needed here",
        ),
        ("sync a as l\nexpect l[0] not fails", "8 wrong_index: `l` is not an array"),
        ("sync a as l\nexpect l fails twice", "8 unknown_error: there is no error called `twice`"),
        ("expect p.used not fails", "7 wrong_kind: `p.used` is not the name of an operation"),
        ("expect finding rice", "7 unknown_finding: there is no finding called `rice`"),
        ("expect finding freed_before_importer on y", "7 unknown_name: nothing is called `y`"),
        ("expect finding freed_before_importer at y", "7 unknown_name: nothing is called `y`"),
        (
            "expect finding freed_before_importer at e",
            "7 wrong_kind: `e` is an event, but a label of a host call or an operation is needed here",
        ),
        (
            "expect finding freed_before_importer 0 times",
            "7 value_out_of_range: a finding is expected at least once",
        ),
        (
            "repeat i in 0..2 {\na: y[i] = alloc 1B\nexpect finding freed_before_importer on y[i]\n}",
            "9 not_constant: findings are judged once a run",
        ),
        (
            "repeat i in 0..2 {\nexpect finding freed_before_importer i times\n}",
            "8 not_constant: this value must be the same in every run and every turn",
        ),
        (
            "expect x ready on a\na: x = alloc 1B",
            "7 used_before_allocation: `x` is used before it is allocated",
        ),
        (
            "a: x = alloc 1B\nexpect x ready on e",
            "8 wrong_kind: `e` is an event, but a stream is needed here",
        ),
        ("expect a ready on b", "7 wrong_kind: `a` is a stream, but a buffer is needed here"),
    ] {
        assert_eq!(check(&after_declarations(lines)), [expected], "{lines}");
    }
}

#[test]
fn lines_about_graphs() {
    let graph = "graph g {\n a: y = alloc 1KiB\n}\nr = instantiate g\n";
    for lines in [
        "a: launch r\nupload r on s[1]\ntrim gpu0.graph_pool\ndestroy r\nr = instantiate g auto_free",
        "repeat i in 0..2 {\n graph h {\n s[i]: z = alloc 1KiB\n }\n destroy h\n}",
        "graph h[0] {\n repeat i in 0..4 {\n s[i]: z[i] = alloc 1KiB\n s[i]: k(z[i]) takes 1us\n }\n}",
        "graph h {\n a: free y fails invalid_value\n let n = 2\n view v = y[0..512B]\n a: k(v)\n}",
    ] {
        assert_eq!(check(&after_declarations(&format!("{graph}{lines}"))), Vec::<String>::new(), "{lines}");
    }
    for (lines, expected) in [
        ("graph a {\n}", "11 wrong_kind: `a` is a stream, but a graph is needed here"),
        ("graph g {\n}", "11 still_exists: `g` is created while it exists"),
        ("r = instantiate g", "11 still_exists: `r` is created while it exists"),
        ("h = instantiate a", "11 wrong_kind: `a` is a stream, but a graph is needed here"),
        ("g = instantiate g", "11 wrong_kind: `g` is a graph, but an executable graph is needed here"),
        ("h = instantiate nothing", "11 unknown_name: nothing is called `nothing`"),
        ("a: launch g", "11 wrong_kind: `g` is a graph, but an executable graph is needed here"),
        ("upload r on p", "11 wrong_kind: `p` is a pool, but a stream is needed here"),
        (
            "a: launch late\nlate = instantiate g",
            "11 used_before_declaration: `late` is used before its declaration",
        ),
        ("graph h {\n legacy: memset y\n}", "12 not_in_a_graph: `legacy` cannot be captured here"),
        (
            "graph h {\n gpu0.per_thread: memset y\n}",
            "12 not_in_a_graph: `per_thread` cannot be captured here",
        ),
        ("graph h {\n a: launch r\n}", "12 not_in_a_graph: a graph cannot launch another graph"),
        ("graph h {\n graph i {\n }\n}", "12 not_in_a_graph: this is no node of a graph"),
        ("graph h {\n expect p.used == 0\n}", "12 not_in_a_graph: this is no node of a graph"),
        ("graph h {\n free y\n}", "12 not_in_a_graph: a call of the host is no node of a graph"),
        ("repeat i in 0..2 {\n graph h {\n }\n}", "12 still_exists: `h` is created while it exists"),
        (
            "repeat i in 0..2 {\n graph h[i] {\n }\n}\nh1 = instantiate h[2]",
            "15 index_out_of_range: the index can be 2, and `h` has 2 elements",
        ),
        (
            "expect gpu0.graph_pool.cached == 0",
            "11 unknown_attribute: there is no figure of a graph pool called `cached`",
        ),
        ("reset gpu0.graph_pool.used", "11 unknown_attribute: only a high mark can be reset"),
        (
            "graph h {\n repeat i in 0..70000 {\n a: k(y)\n }\n}",
            "11 too_many_names: `h` has more than 65,536 nodes",
        ),
    ] {
        assert_eq!(check(&after_declarations(&format!("{graph}{lines}"))), [expected], "{lines}");
    }
}

#[test]
fn invalid_lines_about_memory() {
    for (lines, expected) in [
        ("x = malloc 1KiB on a", "7 wrong_kind: `a` is a stream, but a device is needed here"),
        ("x = malloc 1KiB\nx = malloc 1KiB", "8 still_live: `x` gets a new allocation while it is live"),
        ("expect gpu0.used == 0", "7 unknown_attribute: there is no figure of a device called `used`"),
        ("a: x = alloc 1KiB\na: k(x[0..0])", "8 empty_part: this part has no bytes"),
        ("a: x = alloc 1KiB\na: k(x[0..4])", "8 wrong_unit: a size is needed here, and this is a number"),
        (
            "a: x = alloc 1KiB\nview v = x[0..2KiB]",
            "8 part_out_of_range: `x` has 1KiB, and this part ends at 2KiB",
        ),
        ("a: x = alloc 1KiB\nview v = x\nfree v", "9 wrong_kind: `v` is a view, but a buffer is needed here"),
        (
            "a: x = alloc 1KiB\nview v = x\na: v = alloc 1B",
            "9 duplicate_name: `v` is already the name of a view",
        ),
        (
            "a: k(v)\na: x = alloc 1KiB\nview v = x",
            "7 used_before_allocation: `v` is used before it is allocated",
        ),
        (
            "host_buffer h 1KiB pageable\na: k(h)",
            "8 out_of_reach: `h` is pageable memory of the host, which a device cannot reach",
        ),
        (
            "host_buffer h 1KiB pinned\na: h = alloc 1KiB",
            "8 duplicate_name: `h` is already the name of a buffer of the host",
        ),
        (
            "host_buffer h[2] 1KiB pinned\nread h[2]",
            "8 index_out_of_range: the index can be 2, and `h` has 2 elements",
        ),
        (
            "a: x = alloc 1KiB\nview v = x[0..512B]\na: copy x[256B..768B] from v",
            "9 overlapping_copy: this copy writes bytes of `x` that it reads",
        ),
        (
            "repeat i in 0..2 {\n host_buffer h 1KiB pinned\n}",
            "8 misplaced_declaration: a declaration cannot stand in a block",
        ),
    ] {
        assert_eq!(check(&after_declarations(lines)), [expected], "{lines}");
    }
}

#[test]
fn invalid_lines_about_access_and_processes() {
    for (lines, expected) in [
        ("grant p to a", "7 wrong_kind: `a` is a stream, but a device is needed here"),
        ("revoke e from gpu0", "7 wrong_kind: `e` is an event, but a pool is needed here"),
        ("expect a reaches p", "7 wrong_kind: `a` is a stream, but a device is needed here"),
        ("expect gpu0 reaches a", "7 wrong_kind: `a` is a stream, but a pool or a device is needed here"),
        ("pool h on host { handle = fabric }", "7 impossible_pool: there is no such pool as `h`"),
        ("pool h on host_numa_current", "7 impossible_pool: there is no such pool as `h`"),
        ("pool h { handle = posix }", "7 unknown_setting: there is no type of handles called `posix`"),
        (
            "pool h on host\na: x = alloc 1B from h\nread x\npool n on host_numa 4294967296",
            "10 value_out_of_range: there is no such node",
        ),
        ("export a as h", "7 wrong_kind: `a` is a stream, but a pool, a buffer or an event is needed here"),
        ("export p as h\nexport e as h", "8 duplicate_name: two lines export something as `h`"),
        ("q = import h on gpu0", "7 unknown_name: nothing is exported as `h`"),
        ("export e as h\nq = import h on gpu0", "8 wrong_kind: `h` is an event, and a pool is imported here"),
        ("export p as h\nq = import h on host_numa 0", "8 wrong_kind: the pool `h` is not there"),
        ("process o {\n sync a\n}", "8 unknown_name: nothing is called `a`"),
        ("process o {\n stream t\n}\nsync t", "10 unknown_name: nothing is called `t`"),
        ("thread t {\n process o {\n }\n}", "8 misplaced_declaration: a process cannot stand in a block"),
        ("process o {\n device d\n}", "8 misplaced_declaration: a declaration cannot stand in a block"),
        ("process a {\n}", "7 duplicate_name: `a` is already the name of a stream"),
        ("process o {\n}\nstream o", "9 duplicate_name: `o` is already the name of a process"),
        (
            "process o {\n}\nsync o",
            "9 wrong_kind: `o` is a process, but a stream, an event or a device is needed here",
        ),
        ("join a", "7 wrong_kind: `a` is a stream, but a thread or a process is needed here"),
    ] {
        assert_eq!(check(&after_declarations(lines)), [expected], "{lines}");
    }
    let fine = "process o {\n stream a\n event e\n pool p\n a: x = alloc 1B from p\n a: k(x)\n a: free x\n signal go\n}\nawait go";
    assert_eq!(check(&after_declarations(fine)), Vec::<String>::new());
    let itself = "device gpu0 { peers = [gpu0] }";
    assert_eq!(check(itself), ["1 wrong_kind: `gpu0` is no peer of its own"]);
}

/// A mistake is told where it is made, not again where the name is used.
#[test]
fn no_mistake_follows_from_another() {
    for lines in [
        "pool q on gpu7\na: x = alloc 1B from q\ntrim q to 0B",
        "export z as h\nprocess o {\n y = import h\n sync y\n}",
        "pool h on host { handle = fabric }\na: x = alloc 1B from h\ngrant h to gpu0",
        "let n = 1MiB + 1us\na: x = alloc n\na: free x",
        "a: x = alloc 5\na: k(x)\na: free x\na: x = alloc 1B",
        "a: x = alloc 1B\na: fre x\na: x = alloc 1B",
        "kernel bad(x: write) takes 5us..1us\na: x = alloc 1B\na: bad(x)",
        "repeat i in 0..a {\n sync s[i]\n}",
        "repeat i into 0..3 {\n sync s[i]\n}",
        "event g[0]\nsync g[0]",
        "a: e = alloc 1B\na: k(e)\na: free e",
        "x = alloc 1B\na: k(x)",
        "create stream c on gpu7\nsync c\ndestroy c\ncreate stream c",
        "create stream c\ndestroy c fails nothing\ncreate stream c",
        "create stream c\ndestoy c\ncreate stream c",
        "create pool q { max_size = 1 }\na: x = alloc 1B from q\ndestroy q",
        "create stream c reusing d\nsync c",
        "a: x = alloc 1B\na: k(x\nexpect k ends < 3us",
    ] {
        assert_eq!(
            check(&after_declarations(lines)).len(),
            1,
            "{lines} {:#?}",
            check(&after_declarations(lines))
        );
    }
}

/// What the walk over the program cannot know, the cursor finds: with the same words, and it goes no further.
#[test]
fn a_run_breaks_off_at_a_place_that_is_wrong() {
    for (lines, reason) in [
        ("let n = p.used\na: memset x[n..n]", "the part 0B..0B has no bytes"),
        (
            "let n = p.used + 2KiB\na: memset x[0..n]",
            "the part 0B..2KiB is not within the 1KiB of the buffer",
        ),
        ("let n = p.used\nview v = x[n..n + 2KiB]", "the part 0B..2KiB is not within the 1KiB of the buffer"),
        ("let n = p.used + 1B\na: copy x[0..n] from x[8B..10B]", "2B are copied to 1B"),
        ("let n = p.used\na: copy x[n..n + 8B] from x[4B..12B]", "this copy writes bytes that it reads"),
        ("let n = p.used + 1KiB\na: y = alloc n\na: memset y[512B..1KiB]", ""),
        (
            "a: y = alloc 1TiB fails out_of_memory\nlet at = y.address",
            "the allocation of this buffer failed, so that it has no address",
        ),
    ] {
        let text = after_declarations(&format!("x = malloc 1KiB\n{lines}"));
        let program = crate::load(&text, &Profile::default()).0.expect(lines);
        let ending = crate::engine::run(&program, 0, crate::trace::Nothing);
        let found = match ending.stop {
            Some(crate::engine::Stop::Broken { reason, .. }) => reason,
            _ => String::new(),
        };
        assert_eq!(found, reason, "{lines}");
    }
}

/// Figures that a formula doubles again and again stay small in the program, and large loops cost no memory.
#[test]
fn sizes_of_programs_follow_the_text() {
    let doubled: String = (1..100).map(|n| format!("let v{n} = v{} + v{}\n", n - 1, n - 1)).collect();
    assert_eq!(check(&format!("pool p\nlet v0 = p.used\n{doubled}")), Vec::<String>::new());
    let sum = format!(
        "let n = 1{}\npool p\nlet m = p.used{}\nexpect m == 0",
        "+1".repeat(2000),
        "+1B".repeat(1300)
    );
    assert_eq!(check(&sum), Vec::<String>::new());
    let (program, _) = crate::load(
        "stream s\nrepeat i in 0..1000000 {\n s: x = alloc 1MiB\n s: free x\n}\n",
        &Profile::default(),
    );
    assert_eq!(program.unwrap().code.len(), 4);
}

#[test]
fn a_cursor_unrolls_what_was_written() {
    let text = "stream s[2]\nrepeat i in 0..2 {\n  s[i]: x = alloc (i + 1) * 1KiB fails out_of_memory\n  s[i]: free x\n}\n";
    let (program, _) = crate::load(text, &Profile::default());
    let program = program.unwrap();
    let mut cursor = Cursor::new(&program);
    let main = crate::base::HostId::new(0);
    let (mut steps, mut call) = (Vec::new(), crate::trace::Call::Exit);
    loop {
        let step = cursor.next(&program, main, &mut call);
        cursor.answer(main, &Err(crate::trace::Failure::OutOfMemory));
        let line = |stmt: crate::base::StmtId| program.statements[stmt].text.clone();
        match step {
            Step::Call(stmt) => steps.push(format!("{} as {call:?}", line(stmt))),
            Step::Skipped(stmt, _) => steps.push(format!("{} skipped", line(stmt))),
            Step::Broken(_, broken) => panic!("{broken}"),
            Step::Done => break,
        }
    }
    assert_eq!(steps.len(), 4);
    assert!(steps[2].contains("size: Bytes(2048)"), "{steps:#?}");
    assert_eq!(steps[3], "s[i]: free x skipped");
}

/// Each start of a thread counts as a stream, if it uses its default stream.
#[test]
fn starts_of_threads_count() {
    let started = |times: u32| {
        format!(
            "kernel k() takes 1us\nrepeat i in 0..{times} {{\nthread t {{\nper_thread: k()\n}}\njoin t\n}}"
        )
    };
    assert_eq!(check(&started(4_096)), Vec::<String>::new());
    assert_eq!(
        check(&started(4_097)),
        ["4 too_many_names: `per_thread` brings the number of streams above 4096"]
    );
}

/// Every complete scenario in the language reference is right, and so is each word of it that names a diagnostic.
#[test]
fn the_language_reference_is_true() {
    let text = include_str!("../../grammar/README.md");
    let mut examples = 0;
    for block in text.split("```scn\n").skip(1) {
        let example = block.split("```").next().unwrap();
        assert_eq!(check(example), Vec::<String>::new(), "{example}");
        examples += 1;
    }
    assert!(examples >= 5);
    for (code, _) in crate::codes() {
        assert!(text.contains(&format!("`{code}`")), "the reference does not list {code}");
    }
}

/// What keeps a counter for each stream is counted together.
#[test]
fn counters_of_streams_are_limited() {
    let devices: String = (0..65).map(|nth| format!("device g{nth}\n")).collect();
    assert_eq!(check(&devices), ["65 too_many_names: `g64` brings the number of devices above 64"]);
    assert_eq!(check("stream s[4096]\nevent e[16000]\n"), Vec::<String>::new());
    let too_many = "2 too_many_names: there are too many events, pools and streams together";
    assert_eq!(check("stream s[4096]\nevent e[17000]\n"), [too_many]);
    assert_eq!(check("event e[1000000]\nstream s[68]\nsync s[0]\n"), [too_many]);
}
