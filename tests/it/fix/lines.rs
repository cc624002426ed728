//! Lines put into texts, taken out and moved: the text parses as before, and every other line is what it was.

use millpond::base::{Edit, Span};
use millpond::edit::{apply, insert};
use millpond::syntax::ast::{Content, Item, Statement};
use millpond::syntax::parse;
use std::fs;
use std::path::{Path, PathBuf};

/// The texts of all scenarios that have no mistake of syntax.
fn texts() -> Vec<(PathBuf, String)> {
    fn read(folder: &Path, texts: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            if entry.is_dir() {
                read(&entry, texts);
            } else if let Ok(text) = fs::read_to_string(&entry) {
                texts.push((entry, text));
            }
        }
    }
    let mut texts = Vec::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"), &mut texts);
    // The short ones have all there is, beside the one with every construct.
    let is_short = |path: &Path, text: &str| text.len() < 600 || path.ends_with("readme.scn");
    texts.retain(|(path, text)| is_short(path, text) && parse(text).1.is_empty());
    assert!(texts.len() > 50, "{}", texts.len());
    texts
}

/// All statements with the depth of their blocks, those of calls that stand in a block of statements.
fn statements<'f>(items: &'f [Item], depth: usize, out: &mut Vec<(&'f Item, usize)>) {
    for item in items {
        let Content::Statement(statement) = &item.content else { continue };
        // The version comes before everything.
        if !matches!(statement, Statement::Version(_)) {
            out.push((item, depth));
        }
        if !matches!(statement, Statement::Variant(_)) {
            statements(statement.body().map_or(&[], |body| &body.items), depth + 1, out);
        }
    }
}

/// Of a long text not every statement has its turn.
fn stride(statements: usize) -> usize {
    1 + statements / 15
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

/// The lines without one that is said to be new; it has to be there once, with the indentation of its neighbour.
fn without<'t>(new: &'t str, line: &str, item: &Item, old: &str, path: &Path) -> Vec<&'t str> {
    let at = new.lines().position(|other| other.trim() == line);
    let at = at.unwrap_or_else(|| panic!("{}: no `{line}` in\n{new}", path.display()));
    let first = old[..item.span.start as usize].rfind('\n').map_or(0, |at| at + 1);
    let own = old[first..].lines().next().unwrap_or_default().trim_start_matches('\u{feff}');
    assert_eq!(indent(new.lines().nth(at).expect("it is there").trim_start_matches('\u{feff}')), indent(own));
    let (before, after) = (new.lines().take(at), new.lines().skip(at + 1));
    before.chain(after).collect()
}

#[test]
fn lines_that_are_put_in_leave_the_others_alone() {
    for (path, text) in texts() {
        let (file, _) = parse(&text);
        let mut all = Vec::new();
        statements(&file.items, 0, &mut all);
        let line = "sync put_in_by_a_test";
        for (item, depth) in all.iter().step_by(stride(all.len())) {
            for is_after in [false, true] {
                let put = if is_after { insert::after } else { insert::before };
                let new = apply(&text, &[put(&text, item, &[line.to_owned()])]);
                let (parsed, diagnostics) = parse(&new);
                assert_eq!(diagnostics, [], "{}\n{new}", path.display());
                let old: Vec<&str> = text.lines().collect();
                let rest: Vec<&str> = without(&new, line, item, &text, &path);
                let bare = |lines: Vec<&str>| -> Vec<String> {
                    lines.iter().map(|line| line.trim_start_matches('\u{feff}').to_owned()).collect()
                };
                assert_eq!(bare(rest), bare(old), "{}", path.display());
                let mut with = Vec::new();
                statements(&parsed.items, 0, &mut with);
                let (_, own) =
                    with.iter().find(|(item, _)| new[item.span.range()] == *line).expect("it is a statement");
                assert_eq!(own, depth, "{}\n{new}", path.display());
            }
        }
    }
}

#[test]
fn lines_that_are_taken_out_or_moved_leave_the_others_alone() {
    for (path, text) in texts() {
        let (file, _) = parse(&text);
        let mut all = Vec::new();
        statements(&file.items, 0, &mut all);
        let single = |item: &Item| insert::end(item) == item.span.end;
        let all: Vec<&Item> = all.into_iter().map(|(item, _)| item).filter(|item| single(item)).collect();
        for (nth, item) in all.iter().enumerate().step_by(stride(all.len())) {
            let line = text[..item.span.start as usize].matches('\n').count();
            let old: Vec<&str> = text.lines().collect();
            let rest: Vec<&str> =
                old.iter().enumerate().filter(|(at, _)| *at != line).map(|(_, text)| *text).collect();
            let new = apply(&text, &[insert::remove(&text, item)]);
            assert_eq!(new.lines().collect::<Vec<_>>(), rest, "{}", path.display());
            assert!(
                parse(&new).1.is_empty() || item.span.start == file.items[0].span.start,
                "{}\n{new}",
                path.display()
            );
            let Some(other) = all.get(nth + 1) else { continue };
            let moved = apply(&text, &insert::move_after(&text, item, other));
            let mut sorted: Vec<&str> = moved.lines().map(str::trim).collect();
            let mut expected: Vec<&str> = text.lines().map(str::trim).collect();
            sorted.sort_unstable();
            expected.sort_unstable();
            assert_eq!(sorted, expected, "{}", path.display());
            let back = |text: &str, word: &str| text.lines().position(|line| line.trim() == word);
            let (first, second) = (old[line].trim(), &text[other.span.range()]);
            if text.matches(first).count() == 1
                && text.matches(second).count() == 1
                && second.lines().count() == 1
            {
                let behind = moved.lines().position(|line| line.contains(second));
                assert!(back(&moved, first) > behind, "{}\n{moved}", path.display());
            }
        }
    }
}

#[test]
fn what_is_declared_stands_behind_what_is_declared_already() {
    let cases = [
        ("stream a\nevent e # c\na: record e\n", "stream a\nevent e # c\nevent f\na: record e\n"),
        ("stream a\r\na: record e\r\n", "stream a\r\nevent f\r\na: record e\r\n"),
        ("pool p {\n  max_size = 0\n}\n\nsync device", "pool p {\n  max_size = 0\n}\nevent f\n\nsync device"),
        ("# header\nsync device", "# header\nevent f\nsync device"),
        ("\u{feff}sync device\n", "\u{feff}event f\nsync device\n"),
        ("sync device\nevent late\n", "event f\nsync device\nevent late\n"),
    ];
    for (text, expected) in cases {
        let (file, diagnostics) = parse(text);
        assert_eq!(diagnostics, [], "{text}");
        let place = text.find("a: ").or(text.find("sync")).expect("a call") as u32;
        let edit = insert::declare(text, &file.items, place, "event f".to_owned()).expect("there is a place");
        assert_eq!(apply(text, &[edit]), expected);
    }
}

#[test]
fn fresh_names_are_no_words_of_the_text() {
    assert_eq!(insert::fresh("event fixed_one\n", "fixed"), "fixed");
    assert_eq!(insert::fresh("a: wait fixed\n# fixed2[0]\n", "fixed"), "fixed3");
}

#[test]
fn lines_before_the_same_statement_keep_their_order() {
    let text = "repeat i in 0..2 {\n\tsync device  # c\n}\n";
    let (file, _) = parse(text);
    let Content::Statement(Statement::Repeat(repeat)) = &file.items[0].content else { panic!("a loop") };
    let item = &repeat.body.items[0];
    let edits = [
        insert::before(text, item, &["query a".to_owned(), "query b".to_owned()]),
        insert::after(text, item, &["query c".to_owned()]),
        Edit { span: Span::new(0, 0), text: "# d\n".to_owned() },
    ];
    let expected = "# d\nrepeat i in 0..2 {\n\tquery a\n\tquery b\n\tsync device  # c\n\tquery c\n}\n";
    assert_eq!(apply(text, &edits), expected);
}
