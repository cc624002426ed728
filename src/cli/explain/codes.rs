//! For each kind of diagnostic, a text that has it and the same text without it. A test tries both.

/// What shows a kind of diagnostic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Example {
    /// The kind.
    pub(super) code: &'static str,
    /// A text that has the mistake; empty where that would be too long to read.
    pub(super) wrong: &'static str,
    /// A text without the mistake, or else in words what to do.
    pub(super) right: &'static str,
}

const fn example(code: &'static str, wrong: &'static str, right: &'static str) -> Example {
    Example { code, wrong, right }
}

/// All of them, in the order of the language reference.
pub(super) const EXAMPLES: &[Example] = &[
    example(
        "unexpected",
        "stream s\ns: x = alloc 1MiB fom gpu0.default_pool\n",
        "stream s\ns: x = alloc 1MiB from gpu0.default_pool\n",
    ),
    example("unknown_statement", "strem s\n", "stream s\n"),
    example("bad_number", "stream s\ns: x = alloc 2MB\n", "stream s\ns: x = alloc 2MiB\n"),
    example(
        "unclosed_block",
        "stream s\nrepeat i in 0..3 {\n  sync s\n",
        "stream s\nrepeat i in 0..3 {\n  sync s\n}\n",
    ),
    example("unmatched_brace", "stream s\nsync s\n}\n", "stream s\nsync s\n"),
    example("nesting_too_deep", "", "let half = 7 * (3 + 4)\nlet whole = half * 2\n"),
    example("line_too_long", "", "# A long comment goes\n# over several lines.\n"),
    example("file_too_large", "", "stream s\nrepeat i in 0..1000000 {\n  sync s\n}\n"),
    example("unknown_version", "millpond 2\nstream s\n", "millpond 1\nstream s\n"),
    example("misplaced_version", "stream s\nmillpond 1\n", "millpond 1\nstream s\n"),
    example(
        "unknown_name",
        "stream s\nevent done\ns: record dnoe\n",
        "stream s\nevent done\ns: record done\n",
    ),
    example(
        "wrong_kind",
        "stream a, b\na: wait b\n",
        "stream a, b\nevent done\nb: record done\na: wait done\n",
    ),
    example("duplicate_name", "stream s\nevent s\n", "stream s\nevent done\n"),
    example(
        "used_before_declaration",
        "stream s\ns: record done\nevent done\n",
        "stream s\nevent done\ns: record done\n",
    ),
    example(
        "used_before_allocation",
        "stream s\ns: free x\ns: x = alloc 1MiB\n",
        "stream s\ns: x = alloc 1MiB\ns: free x\n",
    ),
    example(
        "still_exists",
        "create stream s\ncreate stream s\n",
        "create stream s\ndestroy s\ncreate stream s\n",
    ),
    example(
        "still_live",
        "stream s\nrepeat i in 0..2 {\n  s: x = alloc 1MiB\n}\n",
        "stream s\nrepeat i in 0..2 {\n  s: x[i] = alloc 1MiB\n}\n",
    ),
    example(
        "wrong_argument_count",
        "stream s\nkernel sum(src: read, dst: write) takes 5us\ns: x = alloc 1MiB\ns: sum(x)\n",
        "stream s\nkernel sum(src: read, dst: write) takes 5us\ns: x = alloc 1MiB\ns: y = alloc 1MiB\ns: sum(x, y)\n",
    ),
    example("wrong_unit", "stream s\ns: x = alloc 4096\n", "stream s\ns: x = alloc 4096B\n"),
    example("unknown_attribute", "pool p\nexpect p.size == 0B\n", "pool p\nexpect p.reserved == 0B\n"),
    example(
        "unknown_policy",
        "pool p { reuse = [follow_events] }\n",
        "pool p { reuse = [follow_event, internal] }\n",
    ),
    example(
        "unknown_error",
        "stream s\ns: x = alloc 200GiB fails no_memory\n",
        "stream s\ns: x = alloc 200GiB fails out_of_memory\n",
    ),
    example(
        "unknown_finding",
        "expect finding freed_before_import\n",
        "expect finding freed_before_importer\n",
    ),
    example("not_allowable", "allow race\n", "expect finding race\n"),
    example("unknown_setting", "device gpu0 { memroy = 80GiB }\n", "device gpu0 { memory = 80GiB }\n"),
    example(
        "duplicate_setting",
        "device gpu0 {\n  memory = 80GiB\n  memory = 40GiB\n}\n",
        "device gpu0 {\n  memory = 80GiB\n}\n",
    ),
    example(
        "not_constant",
        "pool p\nlet held = p.reserved\nstream s[held / 1MiB]\n",
        "let count = 4\nstream s[count]\n",
    ),
    example(
        "value_out_of_range",
        "stream s\ns: x = alloc 1MiB - 2MiB\n",
        "stream s\ns: x = alloc 2MiB - 1MiB\n",
    ),
    example(
        "value_overflow",
        "let huge = 18446744073709551615 * 18446744073709551615 * 4\n",
        "let large = 18446744073709551615 * 4\n",
    ),
    example(
        "division_by_zero",
        "stream s\nrepeat i in 0..4 {\n  s: x = alloc 1MiB / i\n  s: free x\n}\n",
        "stream s\nrepeat i in 1..4 {\n  s: x = alloc 1MiB / i\n  s: free x\n}\n",
    ),
    example(
        "empty_range",
        "kernel work(x: write) takes 20us..5us\n",
        "kernel work(x: write) takes 5us..20us\n",
    ),
    example(
        "reversed_bounds",
        "repeat i in 10..0 {\n  sync device\n}\n",
        "repeat i in 0..10 {\n  sync device\n}\n",
    ),
    example(
        "index_out_of_range",
        "stream s[4]\nrepeat i in 0..5 {\n  sync s[i]\n}\n",
        "stream s[4]\nrepeat i in 0..4 {\n  sync s[i]\n}\n",
    ),
    example("wrong_index", "stream s[4]\nsync s\n", "stream s[4]\nsync s[0]\n"),
    example(
        "device_needed",
        "device gpu0\ndevice gpu1\npool p\n",
        "device gpu0\ndevice gpu1\npool p on gpu1\n",
    ),
    example(
        "wrong_part_count",
        "thread t {\n  barrier ready of 2\n}\nbarrier ready of 3\n",
        "thread t {\n  barrier ready of 2\n}\nbarrier ready of 2\n",
    ),
    example(
        "allocated_by_two_threads",
        "stream s\nthread t {\n  s: x = alloc 1MiB\n}\ns: x = alloc 1MiB\n",
        "stream s\nthread t {\n  s: x = alloc 1MiB\n}\ns: y = alloc 1MiB\n",
    ),
    example("unknown_model", "variant other {\n  model cude\n}\n", "variant other {\n  model cuda\n}\n"),
    example(
        "impossible_pool",
        "pool h on host { handle = posix_fd }\n",
        "pool h on host_numa 0 { handle = posix_fd }\n",
    ),
    example(
        "misplaced_declaration",
        "repeat i in 0..3 {\n  event done\n}\n",
        "event done[3]\nrepeat i in 0..3 {\n  legacy: record done[i]\n}\n",
    ),
    example(
        "not_in_a_graph",
        "stream s\ngraph g {\n  s: x = alloc 1MiB\n  sync s\n}\n",
        "stream s\ngraph g {\n  s: x = alloc 1MiB\n}\nsync s\n",
    ),
    example(
        "run_too_long",
        "repeat i in 0..100000 {\n  repeat j in 0..100000 {\n    sync device\n  }\n}\n",
        "repeat i in 0..1000 {\n  repeat j in 0..1000 {\n    sync device\n  }\n}\n",
    ),
    example("too_many_names", "event e[2000000]\n", "event e[2000]\n"),
    example(
        "unclear_launch",
        "stream s\nkernel k() takes 1us\ns: k()\ns: k()\nexpect k ends < 3us\n",
        "stream s\nkernel k() takes 1us\ns: k()\ns: k() as second\nexpect second ends < 3us\n",
    ),
    example(
        "untimed_moment",
        "stream s\nkernel k() takes 1us\ns: k()\nexpect always k ends < 3us\n",
        "stream s\nkernel k() takes 1us\ns: k()\nexpect k ends < 3us\n",
    ),
    example(
        "empty_part",
        "stream s\ns: x = alloc 1MiB\ns: memset x[8KiB..4KiB]\n",
        "stream s\ns: x = alloc 1MiB\ns: memset x[4KiB..8KiB]\n",
    ),
    example(
        "part_out_of_range",
        "stream s\ns: x = alloc 1MiB\ns: memset x[0..2MiB]\n",
        "stream s\ns: x = alloc 1MiB\ns: memset x[0..1MiB]\n",
    ),
    example(
        "out_of_reach",
        "stream s\ns: x = alloc 1MiB\nsync s\nread x\n",
        "host_buffer h 1MiB pinned\nstream s\ns: x = alloc 1MiB\ncopy h from x\nread h\n",
    ),
    example(
        "size_mismatch",
        "host_buffer h 4KiB pinned\nstream s\ns: x = alloc 1MiB\ns: copy h from x\n",
        "host_buffer h 4KiB pinned\nstream s\ns: x = alloc 1MiB\ns: copy h from x[0..4KiB]\n",
    ),
    example(
        "overlapping_copy",
        "stream s\ns: x = alloc 1MiB\ns: copy x[4KiB..12KiB] from x[0..8KiB]\n",
        "stream s\ns: x = alloc 1MiB\ns: copy x[8KiB..16KiB] from x[0..8KiB]\n",
    ),
    example(
        "unawaited_signal",
        "signal go\n",
        "stream s\nkernel spin() takes 1us\ns: spin() until go\nsignal go\n",
    ),
    example(
        "opportunistic_on_old_driver",
        "device gpu0 { driver = 11.4 }\nstream s\ns: x = alloc 1MiB\n",
        "device gpu0 { driver = 11.4 }\nstream s\nset gpu0.default_pool.opportunistic = off\ns: x = alloc 1MiB\n",
    ),
];
