//! Lines that are put into a text, taken out of it or put elsewhere in it: every other line stays as it is, with its comments.
//!
//! A statement is named by its item in the tree of the text. Whether the new text makes sense is for others to check.

use crate::base::{Edit, Span};
use crate::syntax::ast::{Content, Created, Item, Settings, Statement};

/// Lines of their own directly before a statement, in its block.
pub fn before(text: &str, item: &Item, lines: &[String]) -> Edit {
    let at = line_start(text, item.span.start);
    let (indent, end) = (indent(text, item), line_break(text, at));
    let text = lines.iter().map(|line| format!("{indent}{line}{end}")).collect();
    Edit { span: Span::new(at, at), text }
}

/// Lines of their own directly after a statement and the blocks that it opens, in the block around it.
pub fn after(text: &str, item: &Item, lines: &[String]) -> Edit {
    let at = line_end(text, end(item));
    let (indent, end) = (indent(text, item), line_break(text, line_start(text, item.span.start)));
    let text = lines.iter().map(|line| format!("{end}{indent}{line}")).collect();
    Edit { span: Span::new(at, at), text }
}

/// The line of a statement taken out, with the blocks that it opens.
pub fn remove(text: &str, item: &Item) -> Edit {
    Edit { span: whole(text, item), text: String::new() }
}

/// The line of a statement, with the blocks that it opens, put directly before another one.
pub fn move_before(text: &str, item: &Item, other: &Item) -> Vec<Edit> {
    vec![remove(text, item), before(text, other, &lines_of(text, item))]
}

/// The same, directly after another one.
pub fn move_after(text: &str, item: &Item, other: &Item) -> Vec<Edit> {
    vec![remove(text, item), after(text, other, &lines_of(text, item))]
}

/// A line of its own after the declarations among these statements, as far as they stand before a place: after the last event,
/// or else the last stream, or else whatever is declared. Without any it comes before the first statement.
pub fn declare(text: &str, scope: &[Item], place: u32, line: String) -> Option<Edit> {
    let standing = scope.iter().filter(|item| item.span.start < place);
    let closest = standing.filter_map(|item| Some((declares(item)?, item)));
    // Of equal ones the last one wins.
    match closest.max_by_key(|(weight, _)| *weight) {
        Some((_, item)) => Some(after(text, item, &[line])),
        None => {
            let first = scope.iter().find(|item| matches!(item.content, Content::Statement(_)))?;
            Some(before(text, first, &[line]))
        }
    }
}

/// How near a declaration is to one of an event.
fn declares(item: &Item) -> Option<u8> {
    match &item.content {
        Content::Statement(Statement::Events(_)) => Some(2),
        Content::Statement(Statement::Streams(_)) => Some(1),
        Content::Statement(
            Statement::Version(_)
            | Statement::Scenario(_)
            | Statement::Model(_)
            | Statement::Profile(_)
            | Statement::Device(_)
            | Statement::Pool(_)
            | Statement::Kernel(_)
            | Statement::Collective(_)
            | Statement::HostBuffers(_),
        ) => Some(0),
        _ => None,
    }
}

/// A name that is no word of the text: this one, or else this one with a number.
pub fn fresh(text: &str, name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_taken = |name: &str| text.split(|c| !is_word(c)).any(|word| word == name);
    let numbered = (2..).map(|nth: u32| format!("{name}{nth}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !is_taken(name)).expect("a text has an end, and numbers have none")
}

/// Where a statement ends, with the blocks that it opens, their closing braces included.
pub fn end(item: &Item) -> u32 {
    let Content::Statement(statement) = &item.content else { return item.span.end };
    let settings = match statement {
        Statement::Device(device) => Some(&device.settings),
        Statement::Pool(pool) => Some(&pool.settings),
        Statement::Profile(settings) => Some(settings),
        Statement::Call(call) => match &call.kind {
            crate::syntax::ast::CallKind::Create(create) => match &create.resource {
                Created::Pool(pool) => Some(&pool.settings),
                Created::Stream { .. } | Created::Event { .. } => None,
            },
            _ => None,
        },
        _ => None,
    };
    let body = match (settings, statement) {
        (Some(Settings::Block(body)), _) => Some(body),
        (_, Statement::Variant(variant)) => Some(&variant.body),
        _ => statement.body(),
    };
    body.and_then(|body| body.close.as_ref()).map_or(item.span.end, |close| close.span.end)
}

/// The lines of a statement and its blocks, with the break at their end.
fn whole(text: &str, item: &Item) -> Span {
    let end = line_end(text, end(item)) as usize;
    let rest = &text[end..];
    let broken = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
    Span::new(line_start(text, item.span.start), (end + broken) as u32)
}

/// Those lines without the indentation of the first one.
fn lines_of(text: &str, item: &Item) -> Vec<String> {
    let indent = indent(text, item);
    let lines = text[whole(text, item).range()].lines();
    lines.map(|line| line.strip_prefix(indent).unwrap_or(line).to_owned()).collect()
}

fn indent<'t>(text: &'t str, item: &Item) -> &'t str {
    let start = line_start(text, item.span.start) as usize;
    let line = &text[start..item.span.start as usize];
    &line[..line.len() - line.trim_start().len()]
}

/// Where the line of a place begins, behind a byte order mark.
fn line_start(text: &str, at: u32) -> u32 {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    text[..at as usize].rfind('\n').map_or(mark, |at| at + 1) as u32
}

/// Where the line of a place ends, before its break.
fn line_end(text: &str, at: u32) -> u32 {
    let at = at as usize;
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    if text[at..end].ends_with('\r') { end as u32 - 1 } else { end as u32 }
}

/// How the line that begins at a place is broken.
fn line_break(text: &str, start: u32) -> &'static str {
    let line = text[start as usize..].split_inclusive('\n').next();
    if line.is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" }
}
