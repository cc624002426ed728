//! Which statements of a text give a name to something, and which others name it: so that what is left of a text names nothing
//! that has gone.
//!
//! Names are compared as words. Whether a text is a program, only the compiler of the language says.

use crate::base::Edit;
use crate::edit::insert;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{CallKind, GraphCall, Operation, Path, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// The words of a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

fn first(path: &Path) -> &str {
    &path.segments[0].name.text
}

/// The names that a statement gives to something, from there on or in the whole text. A record gives its event something to wait
/// for, and a signal is what others wait for.
pub(super) fn given<'f>(site: &Site<'f>) -> Vec<&'f str> {
    let Some(statement) = site.statement() else { return Vec::new() };
    let mut names: Vec<&str> = match statement {
        Statement::Streams(streams) => streams.names.iter().map(|one| one.name.text.as_str()).collect(),
        Statement::Events(events) => events.names.iter().map(|one| one.name.text.as_str()).collect(),
        Statement::HostBuffers(buffers) => buffers.names.iter().map(|one| one.name.text.as_str()).collect(),
        Statement::Device(device) => vec![&device.name.text],
        Statement::Pool(pool) => vec![&pool.name.text],
        Statement::Kernel(kernel) => vec![&kernel.name.text],
        Statement::Collective(collective) => vec![&collective.name.text],
        Statement::View(view) => vec![first(&view.name)],
        Statement::Let(value) => vec![&value.name.text],
        Statement::Thread(thread) => vec![&thread.name.name.text],
        Statement::Process(process) => vec![&process.name.text],
        Statement::Asynchronous(own) => vec![&own.name.text],
        Statement::Graph(graph) => vec![&graph.name.name.text],
        Statement::Call(call) => by_call(&call.kind),
        _ => Vec::new(),
    };
    names.extend(site.call().and_then(|call| call.label.as_ref()).map(|label| label.text.as_str()));
    names
}

fn by_call(call: &CallKind) -> Vec<&str> {
    match call {
        CallKind::Queued { operation: Operation::Alloc { buffer, .. }, .. } => vec![first(buffer)],
        CallKind::Queued { operation: Operation::Record(event), .. } => vec![first(event)],
        CallKind::Queued { operation: Operation::Host(function), .. } => {
            function.gives.iter().map(|signal| signal.text.as_str()).collect()
        }
        CallKind::Malloc(malloc) => vec![first(&malloc.buffer)],
        CallKind::Elapsed { name, .. } | CallKind::Signal(name) => vec![&name.text],
        CallKind::Create(create) => vec![&create.resource.name().text],
        CallKind::Import(import) => vec![first(&import.name)],
        CallKind::Export { under, .. } => vec![&under.text],
        CallKind::Graph(GraphCall::Instantiate { exec, .. }) => vec![first(exec)],
        _ => Vec::new(),
    }
}

/// A statement with all that names what it gives a name to, as far as nothing else gives it that name again.
pub(super) fn with_users(sites: &Sites<'_>, nth: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([nth]);
    let mut left = vec![nth];
    while let Some(nth) = left.pop() {
        for name in given(&sites.all[nth]) {
            let later = sites.all[nth + 1..].iter().take_while(|other| !given(other).contains(&name));
            let users = later.filter(|other| sites.names(other, name)).map(|other| other.nth);
            left.extend(users.filter(|user| found.insert(*user)));
        }
    }
    found
}

/// The edits that take statements out of a text, with the blocks that they open.
pub(super) fn without(sites: &Sites<'_>, gone: &BTreeSet<usize>) -> Vec<Edit> {
    let starts: BTreeSet<u32> = gone.iter().map(|nth| sites.all[*nth].item.span.start).collect();
    let is_inside = |site: &Site<'_>| site.blocks.iter().any(|block| starts.contains(&block.span.start));
    let outermost = gone.iter().map(|nth| &sites.all[*nth]).filter(|site| !is_inside(site));
    outermost.map(|site| insert::remove(sites.text, site.item)).collect()
}

/// The edits that take out what is declared and never named.
pub(super) fn unnamed(sites: &Sites<'_>) -> Vec<Edit> {
    let mut count: BTreeMap<&str, u32> = BTreeMap::new();
    words(sites.text).for_each(|word| *count.entry(word).or_default() += 1);
    let is_named = |name: &str| count.get(name).is_some_and(|count| *count > 1);
    let mut edits = Vec::new();
    for site in &sites.all {
        let declares = matches!(
            site.statement(),
            Some(
                Statement::Streams(_)
                    | Statement::Events(_)
                    | Statement::HostBuffers(_)
                    | Statement::Pool(_)
                    | Statement::Kernel(_)
                    | Statement::Collective(_)
                    | Statement::Let(_)
            )
        );
        let names = if declares { given(site) } else { Vec::new() };
        let gone: Vec<&str> = names.iter().copied().filter(|name| !is_named(name)).collect();
        if gone.len() == names.len() {
            edits.extend(names.first().map(|_| insert::remove(sites.text, site.item)));
        } else {
            edits.extend((!gone.is_empty()).then(|| without_names(site, &gone)).flatten());
        }
    }
    edits
}

/// The edit that takes some names out of a statement that declares more of them.
pub(super) fn without_names(site: &Site<'_>, gone: &[&str]) -> Option<Edit> {
    let mut statement = site.statement()?.clone();
    let names = match &mut statement {
        Statement::Streams(streams) => &mut streams.names,
        Statement::Events(events) => &mut events.names,
        Statement::HostBuffers(buffers) => &mut buffers.names,
        _ => return None,
    };
    let before = names.len();
    names.retain(|one| !gone.contains(&one.name.text.as_str()));
    let is_some = names.len() < before && !names.is_empty();
    is_some.then(|| Edit { span: site.item.span, text: statement.to_string() })
}

/// The statement whose line a place is in, or the nearest one above it.
pub(super) fn line_of<'s, 'f>(sites: &'s Sites<'f>, place: u32) -> Option<&'s Site<'f>> {
    let above = sites.all.partition_point(|site| site.item.span.start <= place);
    sites.all.get(above.checked_sub(1)?)
}

/// Whether a statement does nothing by itself: it goes once nothing names it, or is one of those that say how the world is.
pub(super) fn is_declaration(site: &Site<'_>) -> bool {
    let does = |statement: &Statement| {
        matches!(
            statement,
            Statement::Call(_)
                | Statement::Expect(_)
                | Statement::Allow(_)
                | Statement::Snapshot(_)
                | Statement::Thread(_)
                | Statement::Process(_)
                | Statement::Repeat(_)
                | Statement::Graph(_)
                | Statement::Asynchronous(_)
                | Statement::View(_)
        )
    };
    site.blocks.is_empty() && !site.statement().is_some_and(does)
}
