//! What may bring an order that is missing: a record and a wait, a synchronise, a signal.
//!
//! As much as possible of what is there is used again; what is new stands as close as possible to the two statements.

use super::candidate::{Candidate, moving, word};
use super::events::{Does, EventUse, Events, bound};
use crate::base::Edit;
use crate::edit::insert;
use crate::explore::site::{Site, Sites};
use crate::syntax::ast::{CallKind, Item, Statement};

/// So many of those with the least order are tried for each way to use what is there.
const OF_ONE_KIND_MAX: usize = 6;

/// One of the two ends of the order that is missing.
#[derive(Clone, Debug)]
pub(super) struct End<'s, 'f> {
    pub(super) site: &'s Site<'f>,
    /// The stream of its operation, as a line names it; `None`: the host does it.
    pub(super) stream: Option<String>,
}

/// How one host thread comes to know of what another one has done.
#[derive(Clone, Debug)]
enum Bridge {
    /// They are one, or something there does it already.
    None,
    /// A new signal.
    Signal(String),
    /// The second one waits for the end of the first one.
    Line(String),
}

/// Where a line is put.
#[derive(Clone, Copy)]
enum Put<'f> {
    After(&'f Item),
    Before(&'f Item),
}

impl Put<'_> {
    fn edit(self, text: &str, lines: &[String]) -> Edit {
        match self {
            Put::After(item) => insert::after(text, item, lines),
            Put::Before(item) => insert::before(text, item, lines),
        }
    }
}

/// What is to be ordered, in its text.
pub(super) struct Ordering<'s, 'f> {
    pub(super) sites: &'s Sites<'f>,
    pub(super) from: End<'s, 'f>,
    pub(super) to: End<'s, 'f>,
    /// The memory that both are about, without an index.
    pub(super) buffer: Option<String>,
}

impl<'s, 'f> Ordering<'s, 'f> {
    /// All that may bring the order.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let mut out = Vec::new();
        let (from, to) = (self.from.site, self.to.site);
        let is_same_host = from.host() == to.host();
        if is_same_host && from.nth > to.nth && !self.is_carried() {
            return out;
        }
        let Some(stream) = &self.from.stream else {
            self.of_hosts(&mut out);
            return out;
        };
        if from.process() == to.process() {
            let events = Events::of(self.sites, from.process());
            for (event, uses) in &events.uses {
                self.one_wait(event, uses, &mut out);
                self.one_record(event, uses, &mut out);
                self.both_with(event, uses, &mut out);
            }
            self.both_with_a_new_event(&mut out);
        }
        self.synchronise(stream, &mut out);
        out
    }

    /// Whether the second one is that of a later turn of a loop.
    fn is_carried(&self) -> bool {
        let (from, to) = (self.from.site, self.to.site);
        from.nth >= to.nth && from.loops().any(|(block, _)| to.is_in(block))
    }

    /// What the second end does to wait for an event.
    fn ask(&self, event: &str) -> String {
        match &self.to.stream {
            Some(stream) => format!("{stream}: wait {event}"),
            None => format!("sync {event}"),
        }
    }

    fn asking(&self) -> &'static str {
        if self.to.stream.is_some() { "wait" } else { "synchronise with it" }
    }

    fn help_for_both(&self) -> String {
        let (from, to) = (word(self.from.site), word(self.to.site));
        format!("record after the {from} and {} before the {to}", self.asking())
    }

    /// How many operations stand between a statement and the second end, in the stream of that.
    fn before_to(&self, nth: usize) -> u32 {
        match &self.to.stream {
            Some(stream) => self.sites.between(stream, nth, self.to.site.nth),
            None => 0,
        }
    }

    fn after_from(&self, nth: usize) -> u32 {
        let stream = self.from.stream.as_deref().unwrap_or_default();
        self.sites.between(stream, self.from.site.nth, nth)
    }

    /// A wait for a record that is there.
    fn one_wait(&self, event: &str, uses: &[EventUse<'f>], out: &mut Vec<Candidate>) {
        let (from, to) = (self.from.site, self.to.site);
        let records =
            uses.iter().filter(|used| used.does == Does::Record && used.nth > from.nth && used.nth < to.nth);
        for record in records.take(OF_ONE_KIND_MAX) {
            let site = &self.sites.all[record.nth];
            let Some(event) = self.event_as_seen_by_to(event, site) else { continue };
            let again = uses
                .iter()
                .find(|used| used.does == Does::Record && used.nth > record.nth && used.nth < to.nth);
            let (put, order) = match again {
                Some(again) => (Put::Before(self.sites.all[again.nth].item), self.before_to(again.nth)),
                None => (Put::Before(to.item), 0),
            };
            let order = order + self.slack_of_record(record);
            let edit = put.edit(self.sites.text, &[self.ask(&event)]);
            let help = format!("{} before the {}", self.asking_for(&event), word(to));
            out.push(Candidate::new(help, vec![edit], order));
        }
    }

    fn asking_for(&self, event: &str) -> String {
        match self.to.stream {
            Some(_) => format!("wait for {event}"),
            None => format!("synchronise with {event}"),
        }
    }

    /// How much more than the first end a record that is there captures.
    fn slack_of_record(&self, record: &EventUse<'f>) -> u32 {
        match record.stream == self.from.stream.as_deref() {
            true => self.after_from(record.nth),
            // It captures the first end, if it does, by the work of another stream.
            false => 1 + record.stream.map_or(0, |stream| self.sites.between(stream, 0, record.nth)),
        }
    }

    /// A record for a wait that is there.
    fn one_record(&self, event: &str, uses: &[EventUse<'f>], out: &mut Vec<Candidate>) {
        let (from, to) = (self.from.site, self.to.site);
        let Some(stream) = &self.from.stream else { return };
        let put = |lines: &[String]| insert::after(self.sites.text, from.item, lines);
        let bound: Vec<_> = bound(uses, from.nth).collect();
        let asks = |used: &&&EventUse<'f>| matches!(used.does, Does::Wait | Does::Sync) && used.nth < to.nth;
        let Some(wait) = bound.iter().find(asks) else { return };
        let own = self.to.stream.as_deref();
        let order = match wait.stream {
            stream if stream.is_some() && stream == own => self.before_to(wait.nth),
            None if own.is_none() => 0,
            // It orders the second end, if it does, by the work of another stream.
            _ => 1 + self.sites.all[wait.nth..to.nth].len() as u32,
        };
        let others = bound.len() as u32 - 1;
        let Some(event) = self.event_as_seen_by_from(event, &self.sites.all[wait.nth]) else { return };
        let edit = put(&[format!("{stream}: record {event}")]);
        let help = format!("record {event} after the {}", word(from));
        out.push(Candidate::new(help, vec![edit], order + others));
    }

    /// A record and a wait, with an event that nobody else waits for any more.
    fn both_with(&self, event: &str, uses: &[EventUse<'f>], out: &mut Vec<Candidate>) {
        let (from, to) = (self.from.site, self.to.site);
        let lives = uses.iter().any(|used| used.does == Does::Lives);
        let is_of_this_host = uses.iter().all(|used| used.host == from.host()) && from.host() == to.host();
        let first = from.nth.min(to.nth);
        let is_free = bound(uses, first).next().is_none();
        let between = uses.iter().any(|used| used.nth > first && used.nth < from.nth.max(to.nth));
        if lives || !is_of_this_host || !is_free || between || event.contains('[') {
            return;
        }
        // The turn of a loop comes before the next one.
        let in_loop = |used: &EventUse<'f>| {
            let site = &self.sites.all[used.nth];
            from.loops().chain(to.loops()).any(|(block, _)| site.is_in(block))
        };
        if uses.iter().any(in_loop) {
            return;
        }
        self.pairs(event, &[], 0, out);
    }

    /// The same with an event that is declared for that.
    fn both_with_a_new_event(&self, out: &mut Vec<Candidate>) {
        let name = insert::fresh(self.sites.text, "fixed");
        if let Some(declared) = self.declared(format!("event {name}")) {
            self.pairs(&name, &[declared], 0, out);
        }
        self.rows(&name, out);
    }

    fn declared(&self, line: String) -> Option<Edit> {
        let (scope, place) = self.sites.scope(self.from.site);
        let (of_to, other) = self.sites.scope(self.to.site);
        let is_shared = std::ptr::eq(scope, of_to);
        is_shared.then(|| insert::declare(self.sites.text, scope, place.min(other), line)).flatten()
    }

    /// Where a line about the first end can stand, with how much more it orders: directly behind it; or behind the loop, if
    /// there is one without the second end.
    fn places_behind(&self) -> Vec<(Put<'f>, u32)> {
        let (from, stream) = (self.from.site, self.from.stream.as_deref().unwrap_or_default());
        let mut places = vec![(Put::After(from.item), 0)];
        if let Some(around) = from.outside_of_loops_without(self.to.site)
            && !varies(from, around, stream)
        {
            places.push((Put::After(around), 1));
        }
        places
    }

    fn places_before(&self) -> Vec<(Put<'f>, u32)> {
        let (to, stream) = (self.to.site, self.to.stream.as_deref().unwrap_or_default());
        let mut places = vec![(Put::Before(to.item), 0)];
        if let Some(around) = to.outside_of_loops_without(self.from.site)
            && !varies(to, around, stream)
        {
            places.push((Put::Before(around), 1));
        }
        places
    }

    /// Each way to record one event and to wait for it.
    fn pairs(&self, event: &str, declared: &[Edit], order: u32, out: &mut Vec<Candidate>) {
        let text = self.sites.text;
        let Some(stream) = &self.from.stream else { return };
        let (record, ask) = (format!("{stream}: record {event}"), self.ask(event));
        if self.is_carried() {
            let to_varies = self.to.site.outside_of_loops_without(self.from.site).is_some();
            if !to_varies {
                let both = Put::After(self.from.site.item).edit(text, &[record, ask]);
                let help = format!("record and {} after the {}", self.asking(), word(self.from.site));
                let edits = declared.iter().cloned().chain([both]).collect();
                out.push(Candidate::new(help, edits, order + 1));
            }
            return;
        }
        for (behind, slack_behind) in self.places_behind() {
            for (before, slack_before) in self.places_before() {
                for bridge in self.bridges() {
                    let (mut first, mut second) = (vec![record.clone()], Vec::new());
                    bridge.extend(&mut first, &mut second);
                    second.push(ask.clone());
                    let edits = [behind.edit(text, &first), before.edit(text, &second)];
                    let edits = declared.iter().cloned().chain(edits).collect();
                    out.push(Candidate::new(
                        self.help_for_both(),
                        edits,
                        order + slack_behind + slack_before,
                    ));
                }
            }
        }
    }

    /// How the host thread of the second end can know of the first one.
    fn bridges(&self) -> Vec<Bridge> {
        let (from, to) = (self.from.site, self.to.site);
        let mut bridges = vec![Bridge::None];
        if from.host() == to.host() {
            return bridges;
        }
        let is_alone = matches!(from.statement(), Some(Statement::Asynchronous(_)));
        if let Some(name) = from.thread_name().filter(|_| from.is_started_by(to)) {
            let word = if is_alone { "await" } else { "join" };
            bridges.push(Bridge::Line(format!("{word} {name}")));
        }
        if !is_alone && !matches!(to.statement(), Some(Statement::Asynchronous(_))) {
            bridges.push(Bridge::Signal(insert::fresh(self.sites.text, "passed")));
        }
        bridges
    }

    /// Arrays of events, recorded in one loop and waited for in another one.
    fn rows(&self, name: &str, out: &mut Vec<Candidate>) {
        let (from, to) = (self.from.site, self.to.site);
        let Some(around) = from.outside_of_loops_without(to) else { return };
        let Some((_, repeat)) = from.loops().find(|(block, _)| std::ptr::eq(*block, around)) else { return };
        let (Some(stream), text) = (&self.from.stream, self.sites.text) else { return };
        let (variable, count) = (&repeat.variable.text, self.sites.of_span(repeat.to.span));
        let Some(declared) = self.declared(format!("event {name}[{count}]")) else { return };
        let record = insert::after(text, from.item, &[format!("{stream}: record {name}[{variable}]")]);
        if let (Some(index), Some(other)) = (self.index(from), self.index(to))
            && index == variable.as_str()
        {
            let wait = insert::before(text, to.item, &[self.ask(&format!("{name}[{other}]"))]);
            out.push(Candidate::new(self.help_for_both(), vec![declared.clone(), record.clone(), wait], 0));
        }
        let turn = match to.loops().any(|(_, other)| other.variable.text == *variable) {
            true => insert::fresh(text, "turn"),
            false => variable.clone(),
        };
        let bounds = (self.sites.of_span(repeat.from.span), count);
        let lines = [
            format!("repeat {turn} in {}..{} {{", bounds.0, bounds.1),
            format!("  {}", self.ask(&format!("{name}[{turn}]"))),
            "}".to_owned(),
        ];
        for (before, order) in self.places_before() {
            let edits = vec![declared.clone(), record.clone(), before.edit(text, &lines)];
            out.push(Candidate::new(self.help_for_both(), edits, order + 1));
        }
    }

    /// The index of the memory that both are about, where a statement names it, or else that of its stream.
    fn index(&self, site: &Site<'f>) -> Option<&'f str> {
        let line = self.sites.of_span(site.item.span);
        let of_buffer = self.buffer.as_deref().and_then(|name| index_behind(line, name));
        of_buffer.or_else(|| {
            let stream = self.sites.stream(site)?;
            index_behind(stream, stream.split('[').next().unwrap_or(stream))
        })
    }

    /// An event of a row, by the index that the second end has in place of that of the record.
    fn event_as_seen_by_to(&self, event: &str, record: &Site<'f>) -> Option<String> {
        self.seen(event, record, self.from.site, self.to.site)
    }

    fn event_as_seen_by_from(&self, event: &str, wait: &Site<'f>) -> Option<String> {
        self.seen(event, wait, self.to.site, self.from.site)
    }

    /// What stands for an event, written at one site, at the end `there`; `here` is the other end, in the loops of that site.
    fn seen(&self, event: &str, site: &Site<'f>, here: &Site<'f>, there: &Site<'f>) -> Option<String> {
        let name = event.split('[').next().unwrap_or(event);
        let Some(index) = index_behind(event, name) else { return Some(event.to_owned()) };
        let is_constant = index.bytes().all(|byte| byte.is_ascii_digit());
        if is_constant || site.loops().all(|(block, _)| there.is_in(block)) {
            return Some(event.to_owned());
        }
        let (own, other) = (self.index(here)?, self.index(there)?);
        (own == index).then(|| format!("{name}[{other}]"))
    }

    /// The host waits: for the stream of the first end.
    fn synchronise(&self, stream: &str, out: &mut Vec<Candidate>) {
        let (from, to, text) = (self.from.site, self.to.site, self.sites.text);
        let sync = format!("sync {stream}");
        let help = format!("synchronise {stream} before the {}", word(to));
        if from.host() == to.host() {
            let slack = self.after_from(to.nth);
            for (before, order) in self.places_before() {
                let candidate = Candidate::new(
                    &help,
                    vec![before.edit(text, std::slice::from_ref(&sync))],
                    slack + order,
                );
                let adds_no_more = self.to.stream.is_none() && slack == 0 && !self.is_carried();
                out.push(if adds_no_more { candidate } else { candidate.last_resort() });
            }
            return;
        }
        let synced = self.sites.all[from.nth + 1..].iter().find(|site| {
            site.host() == from.host()
                && matches!(site.call().map(|call| &call.kind), Some(CallKind::Sync(_)))
        });
        for (anchor, bridge) in
            synced.into_iter().flat_map(|at| self.bridges().into_iter().map(move |b| (at, b)))
        {
            out.extend(self.bridged(anchor.item, &bridge));
        }
        let help = format!("synchronise {stream} after the {}", word(from));
        for bridge in self.bridges() {
            let (mut first, mut second) = (vec![sync.clone()], Vec::new());
            bridge.extend(&mut first, &mut second);
            let mut edits = vec![insert::after(text, from.item, &first)];
            if !second.is_empty() {
                edits.push(insert::before(text, to.item, &second));
            }
            let candidate = Candidate::new(bridge.said(&help, word(to)), edits, 1);
            let is_last = self.to.stream.is_some() && from.process() == to.process();
            out.push(if is_last { candidate.last_resort() } else { candidate });
        }
    }

    /// The first end is a host's own work.
    fn of_hosts(&self, out: &mut Vec<Candidate>) {
        let (from, to) = (self.from.site, self.to.site);
        out.extend(self.bridges().iter().filter_map(|bridge| self.bridged(from.item, bridge)));
        // A line that waits for the other thread, but too late.
        let joins = |site: &&Site<'f>| {
            let word = match site.call().map(|call| &call.kind) {
                Some(CallKind::Join(path)) => self.sites.of_span(path.span),
                Some(CallKind::Await(name)) => &name.text,
                _ => return false,
            };
            site.host() == to.host() && Some(word) == from.thread_name()
        };
        if let Some(late) = self.sites.all[to.nth + 1..].iter().find(joins) {
            let help = format!("{} before the {}", self.sites.of_span(late.item.span), word(to));
            let mut candidate = moving(self.sites, late, to, false, help);
            candidate.lines = 0;
            out.push(candidate);
        }
    }

    /// A bridge from directly behind a line to the second end.
    fn bridged(&self, behind: &Item, bridge: &Bridge) -> Option<Candidate> {
        let (from, to, text) = (self.from.site, self.to.site, self.sites.text);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        bridge.extend(&mut first, &mut second);
        let help = match bridge {
            Bridge::None => return None,
            Bridge::Line(line) => format!("{line} before the {}", word(to)),
            Bridge::Signal(_) => format!("signal after the {} and await before the {}", word(from), word(to)),
        };
        let behind = (!first.is_empty()).then(|| insert::after(text, behind, &first));
        let edits = behind.into_iter().chain([insert::before(text, to.item, &second)]).collect();
        Some(Candidate::new(help, edits, 0))
    }
}

impl Bridge {
    /// The lines behind the first end and before the second one.
    fn extend(&self, first: &mut Vec<String>, second: &mut Vec<String>) {
        match self {
            Bridge::None => {}
            Bridge::Signal(name) => {
                first.push(format!("signal {name}"));
                second.push(format!("await {name}"));
            }
            Bridge::Line(line) => second.push(line.clone()),
        }
    }

    fn said(&self, help: &str, to: &str) -> String {
        match self {
            Bridge::None => help.to_owned(),
            Bridge::Signal(_) => format!("{help}, signal, and await that before the {to}"),
            Bridge::Line(line) => format!("{help}, and {line} before the {to}"),
        }
    }
}

/// Whether something depends on the variable of a loop around a statement, from this loop inwards.
fn varies(site: &Site<'_>, around: &Item, written: &str) -> bool {
    let inner = site.loops().skip_while(|(block, _)| !std::ptr::eq(*block, around));
    let words =
        |word: &str| written.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|own| own == word);
    inner.into_iter().any(|(_, repeat)| words(&repeat.variable.text))
}

/// What stands in brackets behind a name, if that is an index and no part.
fn index_behind<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let opened = format!("{name}[");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let at = line.match_indices(&opened).find(|(at, _)| !line[..*at].ends_with(is_word))?.0 + opened.len();
    let index = line[at..].split(']').next()?;
    (!index.contains("..")).then_some(index)
}
