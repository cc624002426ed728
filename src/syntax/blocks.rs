//! From lines to blocks. A line whose statement is wrong still opens or closes what its braces say.

use super::ast::{Body, Close, Content, File, Item, Settings, Statement};
use super::line::{self, Outline, Place};
use super::version::Version;
use super::{FILE_BYTES_MAX, NESTING_MAX, codes};
use crate::base::{Diagnostic, MISTAKES_MAX, Span};

/// Reads a text. The tree has a [`Content::Broken`] for each line with a mistake, and ends early where they are too many.
pub fn parse(text: &str) -> (File, Vec<Diagnostic>) {
    if text.len() > FILE_BYTES_MAX {
        let message = format!("this text has more than {FILE_BYTES_MAX} bytes");
        let diagnostic = Diagnostic::error(codes::FILE_TOO_LARGE, message, Span::default(), "");
        return (File::default(), vec![diagnostic.help("use `repeat` for what recurs")]);
    }
    let mut blocks = Blocks::default();
    let mut start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    for line in text[start..].split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        blocks.line(content.strip_suffix('\r').unwrap_or(content), start as u32);
        start += line.len();
        if blocks.diagnostics.len() >= MISTAKES_MAX {
            return (File::default(), blocks.diagnostics);
        }
    }
    blocks.end()
}

#[derive(Default)]
struct Blocks {
    /// The lines of the innermost block.
    items: Vec<Item>,
    /// The blocks around, from the outermost.
    open: Vec<Open>,
    /// How many blocks are open beyond the limit. Their lines are not read.
    too_deep: usize,
    version: Version,
    diagnostics: Vec<Diagnostic>,
}

/// A block that is not closed yet.
struct Open {
    /// The line that opened it; it gets the body.
    header: Item,
    /// The lines before it in the block around.
    before: Vec<Item>,
    /// What may stand in it.
    place: Place,
}

impl Blocks {
    fn line(&mut self, text: &str, start: u32) {
        if self.too_deep > 0 {
            let outline = line::outline(text);
            self.too_deep -= usize::from(outline.closes);
            self.too_deep += usize::from(outline.opens);
            return;
        }
        let place = self.open.last().map_or(Place::Statements, |open| open.place);
        let line = line::read(text, start, place, &mut self.diagnostics);
        let item = |content| Item { span: line.span, content, comment: None };
        self.version(&line);
        match line.content {
            line::Content::Blank => self.push(Item { comment: line.comment, ..item(Content::Blank) }),
            line::Content::Settings(settings) => {
                self.push(Item { comment: line.comment, ..item(Content::Settings(settings)) });
            }
            line::Content::Change(change) => {
                self.push(Item { comment: line.comment, ..item(Content::Change(change)) });
            }
            line::Content::Statement(statement) => {
                let place = opens(&statement);
                let item = Item { comment: line.comment, ..item(Content::Statement(*statement)) };
                match place {
                    Some(place) => self.open(item, place),
                    None => self.push(item),
                }
            }
            line::Content::Close => {
                if self.open.is_empty() {
                    self.diagnostics.push(unmatched(line.span));
                }
                self.close(Some(Close { span: line.span, comment: line.comment }));
            }
            line::Content::Broken(outline) => {
                if outline.closes {
                    self.close(None);
                }
                self.broken(item(Content::Broken(None)), text, outline);
            }
        }
    }

    fn version(&mut self, line: &line::Line) {
        let statement = match &line.content {
            line::Content::Blank => return,
            line::Content::Statement(statement) => Some(&**statement),
            line::Content::Close
            | line::Content::Settings(_)
            | line::Content::Change(_)
            | line::Content::Broken(_) => None,
        };
        self.diagnostics.extend(self.version.line(line.span, statement));
    }

    fn broken(&mut self, item: Item, text: &str, outline: Outline) {
        if !outline.opens {
            return self.push(item);
        }
        let place = match text.split_whitespace().next() {
            Some("device" | "pool") => Place::Settings,
            Some("create") => Place::Unknown,
            Some("repeat" | "thread" | "process" | "graph") => Place::Statements,
            Some("variant") => Place::Variant,
            _ => Place::Unknown,
        };
        self.open(item, place);
    }

    fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    fn open(&mut self, header: Item, place: Place) {
        if self.open.len() == NESTING_MAX {
            let message = format!("blocks are nested more than {NESTING_MAX} deep");
            self.diagnostics.push(Diagnostic::error(codes::NESTING_TOO_DEEP, message, header.span, ""));
            self.too_deep = 1;
            return;
        }
        self.open.push(Open { header, before: std::mem::take(&mut self.items), place });
    }

    fn close(&mut self, close: Option<Close>) {
        let Some(Open { mut header, before, .. }) = self.open.pop() else { return };
        let body = Body { items: std::mem::replace(&mut self.items, before), close };
        match &mut header.content {
            Content::Statement(Statement::Repeat(repeat)) => repeat.body = body,
            Content::Statement(Statement::Call(call)) => call.fill(body),
            Content::Statement(Statement::Thread(thread)) => thread.body = body,
            Content::Statement(Statement::Process(process)) => process.body = body,
            Content::Statement(Statement::Graph(graph)) => graph.body = body,
            Content::Statement(Statement::Variant(variant)) => variant.body = body,
            Content::Statement(Statement::Device(device)) => device.settings = Settings::Block(body),
            Content::Statement(Statement::Pool(pool)) => pool.settings = Settings::Block(body),
            content => *content = Content::Broken(Some(body)),
        }
        self.items.push(header);
    }

    fn end(mut self) -> (File, Vec<Diagnostic>) {
        if let Some(unknown) = self.version.unknown {
            return (File::default(), vec![unknown]);
        }
        for open in &self.open {
            let message = "this block is never closed";
            let diagnostic =
                Diagnostic::error(codes::UNCLOSED_BLOCK, message, open.header.span, "opened here");
            self.diagnostics
                .push(diagnostic.help("write `}` on a line of its own after the last line of the block"));
        }
        while !self.open.is_empty() {
            self.close(None);
        }
        (File { items: self.items }, self.diagnostics)
    }
}

/// Whether a statement opens a block, and what may stand in it.
fn opens(statement: &Statement) -> Option<Place> {
    match statement {
        Statement::Repeat(_) | Statement::Thread(_) | Statement::Process(_) | Statement::Graph(_) => {
            Some(Place::Statements)
        }
        Statement::Call(call) if call.handler().is_some() => Some(Place::Statements),
        Statement::Call(call) if call.body().is_some() => Some(Place::Settings),
        Statement::Variant(_) => Some(Place::Variant),
        Statement::Device(device) if matches!(device.settings, Settings::Block(_)) => Some(Place::Settings),
        Statement::Pool(pool) if matches!(pool.settings, Settings::Block(_)) => Some(Place::Settings),
        _ => None,
    }
}

fn unmatched(span: Span) -> Diagnostic {
    Diagnostic::error(codes::UNMATCHED_BRACE, "this `}` closes no block", span, "").fix("remove it", span, "")
}
