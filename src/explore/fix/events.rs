//! Where a text uses its events, and what a further use would change.

use crate::base::Span;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{CallKind, Content, Created, ImportPlace, Operation, Path, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// What a statement does with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Record,
    /// A wait of a stream.
    Wait,
    /// Something else that asks for its latest record.
    Asks,
    /// A synchronise of the host.
    Sync,
    /// It comes to exist or ends.
    Lives,
}

/// A use of an event.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventUse<'f> {
    /// The statement, among all.
    pub(super) nth: usize,
    pub(super) does: Does,
    pub(super) stream: Option<&'f str>,
    pub(super) host: u32,
}

/// The uses of all events of one process, each event as it is written.
#[derive(Debug, Default)]
pub(super) struct Events<'f> {
    pub(super) uses: BTreeMap<&'f str, Vec<EventUse<'f>>>,
    /// Those that only say a name: they are declared and never used.
    names: BTreeSet<&'f str>,
}

impl<'f> Events<'f> {
    /// Of the process whose block begins there.
    pub(super) fn of(sites: &Sites<'f>, process: u32) -> Self {
        let mut events = Self::default();
        let own = || sites.all.iter().filter(|site| site.process() == process);
        own().for_each(|site| events.declared(site));
        for site in own() {
            let Some((path, does)) = used(site) else { continue };
            let Some(first) = path.segments.first() else { continue };
            if !events.names.contains(first.name.text.as_str()) {
                continue;
            }
            let (stream, host) = (sites.stream(site), site.host());
            let key = sites.of_span(Span::new(path.span.start, path.span.end));
            events.uses.entry(key).or_default().push(EventUse { nth: site.nth, does, stream, host });
        }
        events
    }

    fn declared(&mut self, site: &Site<'f>) {
        match site.statement() {
            Some(Statement::Events(events)) => {
                self.names.extend(events.names.iter().map(|declared| declared.name.text.as_str()));
                let single = events.names.iter().filter(|declared| declared.count.is_none());
                self.uses.extend(single.map(|declared| (declared.name.text.as_str(), Vec::new())));
            }
            Some(Statement::Call(call)) => match &call.kind {
                CallKind::Create(create) => {
                    if let Created::Event { name, .. } = &create.resource {
                        self.names.insert(&name.text);
                    }
                }
                CallKind::Import(import) if import.place == ImportPlace::Nothing => {
                    self.names.extend(import.name.segments.first().map(|first| first.name.text.as_str()));
                }
                _ => {}
            },
            _ => {}
        }
    }
}

/// What a statement does with which path, if that is an event.
fn used<'f>(site: &Site<'f>) -> Option<(&'f Path, Does)> {
    let Content::Statement(Statement::Call(call)) = &site.item.content else { return None };
    Some(match &call.kind {
        CallKind::Queued { operation: Operation::Record(path), .. } => (path, Does::Record),
        CallKind::Queued { operation: Operation::Wait(path), .. } => (path, Does::Wait),
        CallKind::Sync(Some(path)) => (path, Does::Sync),
        CallKind::Query(path) | CallKind::Poll(path) | CallKind::Elapsed { to: path, .. } => {
            (path, Does::Asks)
        }
        CallKind::Destroy(path) | CallKind::Export { what: path, .. } => (path, Does::Lives),
        _ => return None,
    })
}

/// What one more record of an event behind a statement would change: the uses that would be bound to it.
pub(super) fn bound<'u, 'f>(
    uses: &'u [EventUse<'f>],
    behind: usize,
) -> impl Iterator<Item = &'u EventUse<'f>> + 'u {
    let later = uses.iter().filter(move |other| other.nth > behind);
    later.take_while(|other| other.does != Does::Record)
}
