//! Tests of reading: texts against what they say, and texts that say nothing.

use super::ast::{Content, Expression, ExpressionKind, Item, Sign, Statement};
use super::{FILE_BYTES_MAX, LINE_BYTES_MAX, NESTING_MAX, parse};
use crate::base::{Draws, LineIndex};

/// The diagnostics of a text, each as `line code: message; label`.
fn check(text: &str) -> Vec<String> {
    let lines = LineIndex::new(text);
    let show = |d: &crate::base::Diagnostic| {
        let line = lines.line(d.primary.span.start);
        format!("{line} {}: {}; {}", d.code, d.message, d.primary.message)
    };
    parse(text).1.iter().map(show).collect()
}

#[test]
fn mistakes_say_what_was_expected() {
    for (text, expected) in [
        ("a: x = aloc 1B", "1 unexpected: `aloc` is not expected here; expected `alloc`"),
        (
            "a: fre x",
            "1 unexpected: `fre` is no operation; expected `NAME = alloc ..`, `free`, `record`, `wait`, `copy`, `memset`, `host` or a call such as `fill(x)`",
        ),
        ("a: x = alloc", "1 unexpected: the line ends too early; expected a value"),
        ("a: x = alloc from p", "1 unexpected: `from` is not expected here; expected a value"),
        ("a free x", "1 unexpected: a colon is missing after `a`; expected `:`"),
        ("record x", "1 unexpected: an operation stands behind a stream; expected `STREAM: operation`"),
        ("x = alloc 1B", "1 unexpected: an operation stands behind a stream; expected `STREAM: operation`"),
        ("stream set", "1 unexpected: `set` is not expected here; expected a name"),
        (
            "thred t {\n}",
            "1 unknown_statement: unknown statement `thred`; expected a statement or `STREAM: operation`",
        ),
        ("kernel k(x) takes 1us", "1 unexpected: `)` is not expected here; expected `:`"),
        (
            "repeat i in 0..3 { sync a }",
            "1 unexpected: `sync` is not expected here; expected the end of the line",
        ),
        ("sync é", "1 unexpected: `é` is not expected here; expected `device` or a name"),
        ("let n = 1.5.2", "1 unexpected: `.` is not expected here; expected the end of the line"),
        ("scenario \"half", "1 unexpected: a title stands in quotes; "),
        (
            "a: x = alloc 1KB",
            "1 bad_number: `1KB` cannot be read as a number; expected a whole number, a size or a duration",
        ),
        (
            "sleep 0.5ns",
            "1 bad_number: `0.5ns` cannot be read as a number; not a whole number of bytes or nanoseconds",
        ),
        (
            "a: x = alloc 1B else {\n}",
            "1 unexpected: `{` is not expected here; expected an error such as `out_of_memory`",
        ),
        ("a: x = alloc 1B else out_of_memory", "1 unexpected: the line ends too early; expected `{`"),
        ("millpond", "1 unexpected: the line ends too early; expected the number of a version"),
        (
            "millpond 2\nwarp 3\n}",
            "1 unknown_version: this text is in version 2 of the language; expected 1, the only version that is read here",
        ),
        (
            "stream a\nmillpond 1",
            "2 misplaced_version: the version of the language stands before every other statement; too late",
        ),
        (
            "# ok\n\nmillpond 1\nmillpond 1",
            "4 misplaced_version: the version of the language is stated twice; the second time",
        ),
        (
            "repeat i in 0..1 {\n  millpond 1\n}",
            "2 misplaced_version: the version of the language stands before every other statement; too late",
        ),
        ("}", "1 unmatched_brace: this `}` closes no block; "),
        ("repeat i in 0..3 {", "1 unclosed_block: this block is never closed; opened here"),
    ] {
        assert_eq!(check(text), [expected], "{text}");
    }
}

#[test]
fn mistakes_in_expectations_say_what_was_expected() {
    for (text, expected) in [
        (
            "expect y ruses x",
            "1 unexpected: `ruses` is not expected here; expected `reuses`, `at`, `waits for free`, `ready on`, `depends on timing`, `fails`, `starts`, `ends`, `via` or a comparison such as `==`",
        ),
        (
            "expect x fails",
            "1 unexpected: the line ends too early; expected an error such as `out_of_memory`",
        ),
        ("expect x ready s", "1 unexpected: `s` is not expected here; expected `on`"),
        ("expect not x fails not_ready", "1 unexpected: `not` stands behind the buffer; "),
        (
            "expect gpu0 reaches p write",
            "1 unexpected: `write` is not expected here; expected `read_write`, `read` or the end of the line",
        ),
    ] {
        assert_eq!(check(text), [expected], "{text}");
    }
}

#[test]
fn a_call_of_the_host_has_no_stream_and_may_name_what_it_gives() {
    for (text, message, help) in [
        ("instantiate g", "`instantiate` stands behind a name and `=`", "write `NAME = instantiate GRAPH`"),
        (
            "import hp on gpu0",
            "`import` stands behind a name and `=`",
            "write `NAME = import NAME on DEVICE`",
        ),
        ("s: e = instantiate g", "`instantiate` stands in a line without a stream", "leave the stream out"),
        ("s: trim p to 0B", "`trim` stands in a line without a stream", "leave the stream out"),
        ("s: sync", "`sync` stands in a line without a stream", "write `sync STREAM`"),
        ("s: upload e", "`upload` is no operation", "it is a call of the host: `upload NAME on STREAM`"),
        (
            "trim gpu0.graph_pool to 0B",
            "`to` is not expected here",
            "such a line is written `trim gpu0.graph_pool`",
        ),
        ("reset device", "`device` is not expected here", "such a line is written `reset DEVICE`"),
        ("t = p.used", "`t` is given no value yet", "a value gets its name by `let`"),
        ("t = elapsed a to b", "`t` is given no value yet", "a value gets its name by `let`"),
        (
            "expect not finding freed_before_importer",
            "`finding` is not expected here",
            "that there is none of any kind, is written `expect no findings`",
        ),
        (
            "expect finding freed_before_importer at l on x",
            "`on` is not expected here",
            "such a line is written `expect finding freed_before_importer on NAME at LABEL`",
        ),
        ("model", "the line ends too early", "such a line is written `model oxicuda`"),
        ("profile  # none", "the line ends too early", "such a line is written `profile { remap = off }`"),
        ("upload 3", "`3` is not expected here", "such a line is written `upload NAME on STREAM`"),
        ("expect gpu0 reaches p write", "`write` is not expected here", "here that is `read_write`"),
        ("grant p to gpu1 write", "`write` is not expected here", "here that is `read_write`"),
        (
            "expect gpu0 reaches p none",
            "`none` is not expected here",
            "such a line is written `expect DEVICE reaches POOL`",
        ),
        ("expect x ready", "the line ends too early", "such a line is written `expect NAME ready on STREAM`"),
        (
            "reserve outside 1GiB",
            "`1GiB` is not expected here",
            "such a line is written `reserve 2GiB outside`",
        ),
    ] {
        let (_, diagnostics) = super::parse(text);
        let said: Vec<_> =
            diagnostics.iter().map(|found| (found.message.as_str(), found.help.as_ref())).collect();
        let [(said, Some(crate::base::Help { text: helps, .. }))] = said.as_slice() else {
            panic!("{text}: {said:?}")
        };
        assert_eq!((*said, helps.as_str()), (message, help), "{text}");
    }
}

#[test]
fn a_broken_block_costs_one_line() {
    for opener in ["repeat i on 0..3 {", "repat i in 0..3 {", "thred t {"] {
        assert_eq!(
            check(&format!("{opener}\n  sync a\n  repeat i in 0..2 {{\n  }}\n}}\nsync a\n")).len(),
            1,
            "{opener}"
        );
    }
    for opener in ["device 0gpu {", "pool p at gpu0 {", "pol p {"] {
        assert_eq!(
            check(&format!("{opener}\n  memory = 1GiB,\n  reuse = [internal]\n}}\nsync a\n")).len(),
            1,
            "{opener}"
        );
    }
    assert_eq!(check("repeat i in 0..3 {\n  sync\n} x\nsync a").len(), 2);
}

#[test]
fn other_ways_to_write_lines() {
    for text in [
        "",
        "\n\n",
        "\u{feff}sync a",
        "sync a\r\nsync b\r\n",
        "\tsync\ta\t# comment",
        "scenario \"a # b\" # comment",
        "pool p {\n\n  # why\n  reuse = [internal], # last\n  max_size = 1GiB\n}",
        "a: x = alloc 64KiB from gpu0.default_pool or_fails out_of_memory",
        "w[i + 1]: f(b[i % 4], b[(i + 1) % 4]) until go",
        "expect y not waits for free x",
        "expect ready ready on ready",
        "expect x[i + 1] not ready on gpu0.legacy",
        "expect x fails out_of_memory",
        "expect x[i] not fails",
        "expect x not fails fails_so",
        "expect always p.reserved_high <= 256MiB",
        "expect sometimes always reuses never",
        "expect never no out_of_memory",
        "expect always no findings",
        "expect never finding race on x at l 2 times",
        "expect always == never",
        "expect always starts >= end never",
        "expect sometimes fails sometimes",
        "kernel k(in: read, to: write) takes uniform(1us, 2us)",
        "stream a, b[4] on gpu0 non_blocking",
    ] {
        assert_eq!(check(text), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn the_tree_keeps_comments_and_blank_lines() {
    let (file, _) = parse("# top\n\nrepeat i in 0..2 { # turn\n  # inside\n  sync a # here\n} # end\n");
    let comments = |items: &[Item]| -> Vec<String> {
        items.iter().map(|item| item.comment.as_ref().map(|c| c.text.clone()).unwrap_or_default()).collect()
    };
    assert_eq!(comments(&file.items), ["# top", "", "# turn"]);
    let Content::Statement(Statement::Repeat(repeat)) = &file.items[2].content else { panic!("a loop") };
    assert_eq!(comments(&repeat.body.items), ["# inside", "# here"]);
    assert_eq!(repeat.body.close.as_ref().unwrap().comment.as_ref().unwrap().text, "# end");
}

#[test]
fn products_bind_before_sums_and_all_to_the_left() {
    fn show(expression: &Expression) -> String {
        match &expression.kind {
            ExpressionKind::Binary(sign, sides) => {
                let sign = match sign {
                    Sign::Plus => "+",
                    Sign::Minus => "-",
                    Sign::Times => "*",
                    Sign::Over => "/",
                    Sign::Modulo => "%",
                };
                format!("({}{sign}{})", show(&sides.0), show(&sides.1))
            }
            ExpressionKind::Parentheses(inner) => show(inner),
            ExpressionKind::Literal(text, _) => text.clone(),
            other => format!("{other:?}"),
        }
    }
    for (text, grouped) in [
        ("1 - 2 - 3", "((1-2)-3)"),
        ("1 + 2 * 3 / 4 - 5", "((1+((2*3)/4))-5)"),
        ("2 * (3 + 4) % 5", "((2*(3+4))%5)"),
    ] {
        let (file, _) = parse(&format!("let n = {text}"));
        let Content::Statement(Statement::Let(value)) = &file.items[0].content else { panic!("a value") };
        assert_eq!(show(&value.value), grouped);
    }
}

#[test]
fn limits_are_told() {
    let deep = |depth| format!("let n = {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(check(&deep(NESTING_MAX)).len(), 0);
    assert!(check(&deep(NESTING_MAX + 1))[0].contains("nesting_too_deep"));
    assert!(check(&format!("sync {}", "s[".repeat(2000)))[0].contains("nesting_too_deep"));
    let blocks = |depth| format!("{}{}", "repeat i in 0..1 {\n".repeat(depth), "}\n".repeat(depth));
    assert_eq!(check(&blocks(NESTING_MAX)).len(), 0);
    assert_eq!(check(&blocks(10_000)).len(), 1);
    assert!(check(&"x".repeat(LINE_BYTES_MAX + 1))[0].contains("line_too_long"));
    assert!(check(&" ".repeat(FILE_BYTES_MAX + 1))[0].contains("file_too_large"));
    let long = format!("let n = 1{}", " + 1".repeat((LINE_BYTES_MAX - 10) / 4));
    assert_eq!(check(&long).len(), 0);
}

const SOUP: &str = "scenario device pool stream event kernel let repeat variant model omit allow as in sync sleep trim to set reset signal expect \
    snapshot millpond 1 else create destroy reusing alloc malloc managed free copy memset read write view host_buffer pinned pageable record wait from fails takes until via not reuses at waits for max on x s gpu0 default_pool used \
    0 64KiB 10us 1.5 ( ) [ ] { } : = == .. \" é #";

/// Whatever stands in a text, it is read, and every place that is underlined lies on letter boundaries.
#[test]
fn any_soup_of_words_is_read() {
    let words: Vec<&str> = SOUP.split(' ').collect();
    let profile = crate::profile::Profile::default();
    let mut draws = Draws::new(1, 0);
    for _ in 0..2_000 {
        let mut text = String::new();
        for _ in 0..draws.below(40) {
            text.push_str(words[draws.below(words.len() as u64) as usize]);
            text.push_str(["", " ", " ", "\t", "\n", "\r\n", ", "][draws.below(7) as usize]);
        }
        let (_, diagnostics) = crate::load(&text, &profile);
        for diagnostic in &diagnostics {
            assert!(text.get(diagnostic.primary.span.range()).is_some(), "{text:?} {diagnostic:?}");
        }
    }
}
