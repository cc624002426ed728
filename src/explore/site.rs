//! Where the statements of a text stand: in which blocks, in which host thread, on which stream.
//!
//! It reads the tree alone: what is where is all that an edit has to know.

use crate::base::Span;
use crate::syntax::ast::{Call, CallKind, Content, File, Item, Operation, Path, Repeat, Statement, Thread};
use std::collections::BTreeMap;

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Site<'f> {
    /// Its line.
    pub(super) item: &'f Item,
    /// The blocks around it, from the outermost.
    pub(super) blocks: Vec<&'f Item>,
    /// Its place among all statements.
    pub(super) nth: usize,
}

/// All statements of a text, in its order. Variants are not among them.
#[derive(Debug)]
pub(super) struct Sites<'f> {
    pub(super) text: &'f str,
    file: &'f File,
    pub(super) all: Vec<Site<'f>>,
    starts: BTreeMap<u32, usize>,
}

impl<'f> Sites<'f> {
    pub(super) fn of(file: &'f File, text: &'f str) -> Self {
        let mut sites = Self { text, file, all: Vec::new(), starts: BTreeMap::new() };
        sites.read(&file.items, &mut Vec::new());
        sites
    }

    fn read(&mut self, items: &'f [Item], blocks: &mut Vec<&'f Item>) {
        for item in items {
            let Content::Statement(statement) = &item.content else { continue };
            if matches!(statement, Statement::Variant(_)) {
                continue;
            }
            let nth = self.all.len();
            self.all.push(Site { item, blocks: blocks.clone(), nth });
            self.starts.insert(item.span.start, nth);
            if let Some(body) = statement.body() {
                blocks.push(item);
                self.read(&body.items, blocks);
                blocks.pop();
            }
        }
    }

    /// The statement that begins at a place.
    pub(super) fn at(&self, span: Span) -> Option<&Site<'f>> {
        self.starts.get(&span.start).map(|nth| &self.all[*nth])
    }

    /// The statements among which one may be declared that this one can name: those of its process, or of the file.
    pub(super) fn scope(&self, site: &Site<'f>) -> (&'f [Item], u32) {
        let process = site.blocks.iter().rposition(|block| is_process(block));
        let items = match process.map(|at| &site.blocks[at].content) {
            Some(Content::Statement(Statement::Process(process))) => &process.body.items,
            _ => &self.file.items,
        };
        let around = site.blocks.get(process.map_or(0, |at| at + 1)).copied().unwrap_or(site.item);
        (items, around.span.start)
    }

    /// The text of something in it.
    pub(super) fn of_span(&self, span: Span) -> &'f str {
        &self.text[span.range()]
    }

    /// The stream that a statement queues its operation to, as written.
    pub(super) fn stream(&self, site: &Site<'f>) -> Option<&'f str> {
        match &site.call()?.kind {
            CallKind::Queued { stream, .. } => Some(self.of_span(stream.span)),
            _ => None,
        }
    }

    /// How many operations the text has on a stream between two statements.
    pub(super) fn between(&self, stream: &str, from: usize, to: usize) -> u32 {
        let inner = self.all.get(from + 1..to).unwrap_or_default();
        let queued = |site: &&Site<'f>| {
            self.stream(site) == Some(stream) && !matches!(site.operation(), Some(Operation::Record(_)))
        };
        inner.iter().filter(queued).count() as u32
    }

    /// Whether a statement names something, whatever stands in brackets behind the name.
    pub(super) fn names(&self, site: &Site<'f>, name: &str) -> bool {
        let line = self.of_span(site.item.span);
        line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name)
    }
}

impl<'f> Site<'f> {
    pub(super) fn statement(&self) -> Option<&'f Statement> {
        match &self.item.content {
            Content::Statement(statement) => Some(statement),
            _ => None,
        }
    }

    pub(super) fn call(&self) -> Option<&'f Call> {
        match self.statement()? {
            Statement::Call(call) => Some(call),
            _ => None,
        }
    }

    pub(super) fn operation(&self) -> Option<&'f Operation> {
        match &self.call()?.kind {
            CallKind::Queued { operation, .. } => Some(operation),
            _ => None,
        }
    }

    /// Whether it is the host's own free or that of a stream, and of what.
    pub(super) fn frees(&self) -> Option<&'f Path> {
        match &self.call()?.kind {
            CallKind::Free(path) | CallKind::Queued { operation: Operation::Free(path), .. } => Some(path),
            _ => None,
        }
    }

    /// The block of the host thread that makes the call: where it begins; 0 for the main one.
    pub(super) fn host(&self) -> u32 {
        if matches!(self.statement(), Some(Statement::Asynchronous(_))) {
            return self.item.span.start;
        }
        let own = self.blocks.iter().rev().find(|block| is_process(block) || thread(block).is_some());
        own.map_or(0, |block| block.span.start)
    }

    /// The block of the process that makes the call; 0 for the first one.
    pub(super) fn process(&self) -> u32 {
        self.blocks.iter().find(|block| is_process(block)).map_or(0, |block| block.span.start)
    }

    /// The loops around it, from the outermost.
    pub(super) fn loops(&self) -> impl Iterator<Item = (&'f Item, &'f Repeat)> + '_ {
        self.blocks.iter().filter_map(|block| match &block.content {
            Content::Statement(Statement::Repeat(repeat)) => Some((*block, repeat)),
            _ => None,
        })
    }

    /// Whether a block is one of those around it.
    pub(super) fn is_in(&self, block: &Item) -> bool {
        self.blocks.iter().any(|own| std::ptr::eq(*own, block))
    }

    /// The outermost loop around it that the other statement is not in: the place to be out of that loop.
    pub(super) fn outside_of_loops_without(&self, other: &Site<'f>) -> Option<&'f Item> {
        self.loops().map(|(block, _)| block).find(|block| !other.is_in(block))
    }

    /// The name of the thread or the process that makes the call, if it is one of its own.
    pub(super) fn thread_name(&self) -> Option<&'f str> {
        if let Some(Statement::Asynchronous(own)) = self.statement() {
            return Some(&own.name.text);
        }
        let own = self.blocks.iter().rev().find(|block| is_process(block) || thread(block).is_some())?;
        match &own.content {
            Content::Statement(Statement::Process(process)) => Some(&process.name.text),
            _ => thread(own)
                .filter(|thread| thread.name.index.is_none())
                .map(|own| own.name.name.text.as_str()),
        }
    }

    /// The block of the host thread that makes the call.
    fn own_block(&self) -> Option<&'f Item> {
        if let Some(Statement::Asynchronous(_)) = self.statement() {
            return Some(self.item);
        }
        self.blocks.iter().rev().find(|block| is_process(block) || thread(block).is_some()).copied()
    }

    /// Whether another statement is one of the thread that starts the thread of this one.
    pub(super) fn is_started_by(&self, other: &Site<'f>) -> bool {
        let Some(own) = self.own_block() else { return false };
        let around = self.blocks.iter().take_while(|block| !std::ptr::eq(**block, own));
        let starter = around.filter(|block| is_process(block) || thread(block).is_some()).last();
        starter.map_or(0, |block| block.span.start) == other.host() && own.span.start < other.item.span.start
    }
}

fn is_process(item: &Item) -> bool {
    matches!(item.content, Content::Statement(Statement::Process(_)))
}

fn thread(item: &Item) -> Option<&Thread> {
    match &item.content {
        Content::Statement(Statement::Thread(thread)) => Some(thread),
        _ => None,
    }
}
