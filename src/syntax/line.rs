//! One line: looked at from outside for its limits and braces, then read by the grammar.

use super::ast::{Change, Comment, Setting, Statement};
use super::grammar::{Grammar, Rule};
use super::tree::Tree;
use super::{LINE_BYTES_MAX, NESTING_MAX, codes, mistakes};
use crate::base::{Diagnostic, Span};
use pest::Parser;

/// What may stand on a line, which depends on the block around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside of blocks, or in the body of a loop.
    Statements,
    /// In the block of a device or a pool.
    Settings,
    /// In a variant.
    Variant,
    /// In a block whose first line could not be read: either.
    Unknown,
}

/// A line as it was read.
pub(super) struct Line {
    /// Without its comment and the spaces around.
    pub(super) span: Span,
    pub(super) content: Content,
    pub(super) comment: Option<Comment>,
}

/// What a line says.
pub(super) enum Content {
    Blank,
    Close,
    Statement(Box<Statement>),
    Settings(Vec<Setting>),
    Change(Change),
    /// The braces are those that it has in spite of its mistake.
    Broken(Outline),
}

/// What can be said of a line without reading it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// Where its statement ends, before spaces and the comment.
    pub(super) end: usize,
    /// How deep its parentheses and brackets are nested.
    depth: usize,
    /// Whether it begins with `}`.
    pub(super) closes: bool,
    /// Whether it ends with `{`.
    pub(super) opens: bool,
}

/// Looks at a line from outside.
pub(super) fn outline(text: &str) -> Outline {
    let mut outline = Outline::default();
    let (mut quoted, mut depth) = (false, 0usize);
    let mut end = text.len();
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'#' => {
                end = at;
                break;
            }
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        outline.depth = outline.depth.max(depth);
    }
    let statement = text[..end].trim_end();
    outline.end = statement.len();
    outline.opens = statement.ends_with('{');
    outline.closes = statement.trim_start().starts_with('}');
    outline
}

/// Reads a line that begins at `start` of the text.
pub(super) fn read(text: &str, start: u32, place: Place, diagnostics: &mut Vec<Diagnostic>) -> Line {
    let outline = outline(text);
    let begin = text.len() - text.trim_start().len();
    let span = Span::new(start + begin.min(outline.end) as u32, start + outline.end as u32);
    let mut line = Line { span, content: Content::Blank, comment: None };
    if text.trim().is_empty() {
        return line;
    }
    if let Some(diagnostic) = limit(text, outline, span) {
        diagnostics.push(diagnostic);
        line.content = Content::Broken(outline);
        return line;
    }
    let rule = match place {
        Place::Settings => Rule::setting_line,
        Place::Variant => Rule::variant_line,
        Place::Statements | Place::Unknown => Rule::statement_line,
    };
    let pairs = match place {
        Place::Statements => Grammar::parse(Rule::statement_line, text),
        Place::Settings => Grammar::parse(Rule::setting_line, text),
        Place::Variant => Grammar::parse(Rule::variant_line, text),
        Place::Unknown => Grammar::parse(Rule::statement_line, text)
            .or_else(|error| Grammar::parse(Rule::setting_line, text).map_err(|_| error)),
    };
    let pairs = match pairs {
        Ok(pairs) => pairs,
        Err(error) => {
            diagnostics.push(mistakes::explain(text, start, rule, &error, outline));
            line.content = Content::Broken(outline);
            return line;
        }
    };
    let mistakes_before = diagnostics.len();
    let mut tree = Tree { start, diagnostics };
    for node in pairs.flat_map(|line| line.into_inner()) {
        match node.as_rule() {
            Rule::EOI => {}
            Rule::comment => line.comment = Some(tree.comment(&node)),
            Rule::close => line.content = Content::Close,
            Rule::setting => match (&mut line.content, tree.setting(node)) {
                (Content::Settings(settings), setting) => settings.push(setting),
                (content, setting) => *content = Content::Settings(vec![setting]),
            },
            Rule::assign | Rule::omit => line.content = Content::Change(tree.change(node)),
            Rule::model if place == Place::Variant => line.content = Content::Change(tree.change(node)),
            rule if rule.is_fixed() => {}
            _ => line.content = Content::Statement(Box::new(tree.statement(node))),
        }
    }
    if diagnostics.len() > mistakes_before {
        // One line, one mistake: the first number that is wrong.
        diagnostics.truncate(mistakes_before + 1);
        line.content = Content::Broken(outline);
    }
    line
}

fn limit(text: &str, outline: Outline, span: Span) -> Option<Diagnostic> {
    if text.len() > LINE_BYTES_MAX {
        let message = format!("this line has {} bytes, and {LINE_BYTES_MAX} are the most", text.len());
        return Some(Diagnostic::error(codes::LINE_TOO_LONG, message, span, "split this statement"));
    }
    if outline.depth > NESTING_MAX {
        let message = format!("parentheses and brackets are nested more than {NESTING_MAX} deep");
        let diagnostic = Diagnostic::error(codes::NESTING_TOO_DEEP, message, span, "");
        return Some(diagnostic.help("name parts of the value with `let`"));
    }
    None
}
