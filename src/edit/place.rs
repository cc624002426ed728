//! Where in a text something new is written, so that no line moves that need not.

use crate::base::{Edit, Span};
use crate::syntax::ast::{Item, Setting, SettingValue, Settings};

/// Other text at a place.
pub(super) fn replace(span: Span, text: &str) -> Edit {
    Edit { span, text: text.to_owned() }
}

/// A setting with another value; one that is not there is added.
pub(super) fn setting(text: &str, item: &Item, settings: &Settings, name: &str, value: &str) -> Vec<Edit> {
    if let Some(old) = settings.iter().find(|setting| setting.name.text == name) {
        return vec![replace(value_span(old), value)];
    }
    let new = format!("{name} = {value}");
    if let Some(first) = settings.iter().next() {
        let start = first.name.span.start;
        return vec![replace(Span::new(start, start), &format!("{new}, "))];
    }
    let insert = |at: u32, text: String| Edit { span: Span::new(at, at), text };
    match settings {
        Settings::None => vec![insert(item.span.end, format!(" {{ {new} }}"))],
        Settings::Inline(_) => {
            let brace =
                text[item.span.range()].rfind('}').map_or(item.span.end, |at| item.span.start + at as u32);
            vec![insert(brace, format!("{new} "))]
        }
        // An empty block becomes one line, with its other lines as they are.
        Settings::Block(body) => {
            let close = body.close.as_ref().map(|close| replace(close.span, ""));
            std::iter::once(insert(item.span.end, format!(" {new} }}"))).chain(close).collect()
        }
    }
}

fn value_span(setting: &Setting) -> Span {
    match &setting.value {
        SettingValue::List { span, .. } => *span,
        SettingValue::Expression(value) => value.span,
    }
}

/// The policies that are on: those of the list, or all without one.
pub(super) fn policies<'a>(settings: &'a Settings, all: &'a [&'a str]) -> Vec<&'a str> {
    let list = settings.iter().find(|setting| setting.name.text == "reuse").map(|setting| &setting.value);
    match list {
        Some(SettingValue::List { words, .. }) => words.iter().map(|word| word.text.as_str()).collect(),
        _ => all.to_vec(),
    }
}

/// A line of its own after that of a statement and its block.
pub(super) fn line_after(text: &str, item: &Item, line: &str) -> Edit {
    use crate::syntax::ast::{Content, Statement};
    let close = match &item.content {
        Content::Statement(Statement::Device(device)) => match &device.settings {
            Settings::Block(body) => body.close.as_ref().map(|close| close.span.end),
            _ => None,
        },
        _ => None,
    };
    let end = close.unwrap_or(item.span.end) as usize;
    let at = text[end..].find('\n').map_or(text.len(), |at| end + at) as u32;
    Edit { span: Span::new(at, at), text: format!("\n{line}") }
}

/// A line of its own at the top.
pub(super) fn line_before_all(text: &str, line: &str) -> Edit {
    let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() as u32 } else { 0 };
    Edit { span: Span::new(start, start), text: format!("{line}\n") }
}

/// Where the value stands once the edits are made. Only the first edit writes it.
pub(super) fn position(edits: &[Edit], value: &str) -> Option<Span> {
    let edit = edits.first()?;
    let start = edit.span.start + edit.text.rfind(value)? as u32;
    Some(Span::new(start, start + value.len() as u32))
}
