//! What may fix a finding that no order is missing of, or that order alone cannot fix: lines that go, move, or are added.

use super::candidate::{Candidate, moving, word};
use super::trial::Trial;
use crate::base::{BufferId, StmtId};
use crate::edit::{self, insert};
use crate::explore::site::{Site, Sites};
use crate::oracle::{Finding, Role};
use crate::syntax::ast::{CallKind, File, Operation, Statement};
use crate::trace::FindingKind;

/// A text, its run, and where its statements stand.
pub(super) struct Text<'t> {
    pub(super) sites: &'t Sites<'t>,
    pub(super) file: &'t File,
    pub(super) trial: &'t Trial,
}

impl<'t> Text<'t> {
    pub(super) fn site(&self, stmt: StmtId) -> Option<&'t Site<'t>> {
        self.sites.at(self.trial.program.statements[stmt].span)
    }

    pub(super) fn of_role(&self, finding: &Finding, role: Role) -> Option<&'t Site<'t>> {
        let (_, stmt) = finding.others.iter().find(|(own, _)| *own == role)?;
        self.site((*stmt)?)
    }

    /// A name of memory, without its index.
    pub(super) fn base_name(&self, name: BufferId) -> String {
        let name = &self.trial.program.names.buffers[name];
        name.split('[').next().unwrap_or(name).rsplit('.').next().unwrap_or(name).to_owned()
    }

    /// Lines that go, move, or are added.
    pub(super) fn candidates(&self, finding: &Finding) -> Vec<Candidate> {
        let Some(site) = self.site(finding.stmt) else { return Vec::new() };
        match finding.kind {
            FindingKind::UseAfterFree => self.used_after_its_end(finding, Role::Free, site),
            FindingKind::UseOfDestroyed => self.used_after_its_end(finding, Role::Destroy, site),
            FindingKind::DoubleFree => vec![self.without(site, "remove the second free")],
            // With other threads, or without what failed, it may be in vain in this run alone.
            FindingKind::RedundantWait | FindingKind::UnrecordedWait if !self.trial.is_like_every_run() => {
                Vec::new()
            }
            FindingKind::RedundantWait => vec![self.without(site, "remove the line that adds no order")],
            FindingKind::UnrecordedWait => vec![self.without(site, "remove the wait that waits for nothing")],
            FindingKind::OverwrittenRecord => {
                let record = self.of_role(finding, Role::Record);
                let gone = record.map(|record| self.without(record, "remove the record that is replaced"));
                gone.into_iter().chain([self.without(site, "remove the second record")]).collect()
            }
            FindingKind::AccessDenied => self.grant(finding, site),
            FindingKind::Leak => self.free(finding, site),
            FindingKind::ThresholdInLoop => self.set_pool(finding, site, &["release_threshold"], "max"),
            FindingKind::PolicyOff => {
                self.set_pool(finding, site, &["follow_event", "opportunistic", "internal"], "on")
            }
            FindingKind::UnobservedTrim => self.observe(finding, site),
            FindingKind::Deadlock => self.signal_earlier(),
            _ => Vec::new(),
        }
    }

    fn without(&self, site: &Site<'_>, help: &str) -> Candidate {
        Candidate::new(help, vec![insert::remove(self.sites.text, site.item)], 0)
    }

    /// The end of something comes after its last use; or its only use comes before its end.
    fn used_after_its_end(&self, finding: &Finding, end: Role, site: &Site<'t>) -> Vec<Candidate> {
        let ended = match finding.kind {
            FindingKind::UseAfterFree if site.frees().is_some() => Some(site),
            _ => self.of_role(finding, end),
        };
        let Some(ended) = ended else { return Vec::new() };
        let path = match ended.call().map(|call| &call.kind) {
            Some(CallKind::Destroy(path)) => Some(path),
            _ => ended.frees(),
        };
        let Some(name) = path.and_then(|path| path.segments.first()) else { return Vec::new() };
        let name = name.name.text.as_str();
        let is_use = |other: &&Site<'t>| {
            other.nth > ended.nth
                && !matches!(other.statement(), Some(Statement::Expect(_) | Statement::Snapshot(_)))
                && other.frees().is_none()
                && self.sites.names(other, name)
        };
        let begins_again = |other: &&Site<'t>| match other.operation() {
            Some(Operation::Alloc { buffer, .. }) => {
                buffer.segments.first().is_some_and(|first| first.name.text == name)
            }
            _ => false,
        };
        let later = self.sites.all[ended.nth + 1..].iter().take_while(|other| !begins_again(other));
        let uses: Vec<_> = later.filter(is_use).filter(|other| other.host() == ended.host()).collect();
        let what = if end == Role::Destroy { "destroy" } else { "free" };
        let mut candidates = Vec::new();
        if let Some(last) = uses.last() {
            candidates.push(moving(self.sites, ended, last, true, format!("{what} after the last use")));
            candidates.extend(self.ended_in_order(ended, last));
        }
        if let [only] = uses.as_slice() {
            let help = format!("put the {} before the {what}", word(only));
            candidates.push(moving(self.sites, only, ended, false, help));
        }
        candidates
    }

    /// The same for a free on another stream than that of the last use, with the order that it lacks there.
    fn ended_in_order(&self, ended: &Site<'t>, last: &Site<'t>) -> Option<Candidate> {
        let (text, last_stream) = (self.sites.text, self.sites.stream(last)?);
        let waits = match self.sites.stream(ended) {
            Some(stream) if stream == last_stream => return None,
            Some(stream) => Some(stream),
            None => None,
        };
        let free = self.sites.of_span(ended.item.span).to_owned();
        let Some(stream) = waits else {
            let lines = [format!("sync {last_stream}"), free];
            let edits = vec![insert::remove(text, ended.item), insert::after(text, last.item, &lines)];
            return Some(Candidate::new("free after the last use, once it is synchronised", edits, 0));
        };
        let event = insert::fresh(text, "fixed");
        let (scope, place) = self.sites.scope(ended);
        let declared = insert::declare(text, scope, place, format!("event {event}"))?;
        let lines = [format!("{last_stream}: record {event}"), format!("{stream}: wait {event}"), free];
        let edits = vec![declared, insert::remove(text, ended.item), insert::after(text, last.item, &lines)];
        Some(Candidate::new("free after the last use, and wait for that", edits, 0))
    }

    /// A signal comes before the line in front of it where its thread waits.
    fn signal_earlier(&self) -> Vec<Candidate> {
        let kind = |site: &&Site<'t>| site.call().map(|call| &call.kind);
        let waits = |site: &&Site<'t>| {
            matches!(
                kind(site),
                Some(CallKind::Sync(_) | CallKind::Poll(_) | CallKind::Await(_) | CallKind::Join(_))
            )
        };
        let signals = self.sites.all.iter().filter(|site| matches!(kind(site), Some(CallKind::Signal(_))));
        let candidates = signals.filter_map(|signal| {
            let mut before = self.sites.all[..signal.nth].iter();
            let wait = before.rfind(|site| site.host() == signal.host() && waits(site))?;
            let help = format!("{} before the host waits", self.sites.of_span(signal.item.span));
            Some(moving(self.sites, signal, wait, false, help))
        });
        candidates.collect()
    }

    fn grant(&self, finding: &Finding, site: &Site<'t>) -> Vec<Candidate> {
        let Some((pool, device)) = self.trial.denied.get(&finding.stmt) else { return Vec::new() };
        let names = &self.trial.program.names;
        let own = |name: &str| name.rsplit_once('.').map_or(name.to_owned(), |(_, last)| last.to_owned());
        let (pool, device) = (&names.pools[*pool], own(&names.devices[*device]));
        let line = format!("grant {pool} to {device}");
        let outermost = site.loops().next().map_or(site.item, |(block, _)| block);
        let edit = insert::before(self.sites.text, outermost, std::slice::from_ref(&line));
        let inner = insert::before(self.sites.text, site.item, std::slice::from_ref(&line));
        let help = format!("grant {pool} to {device} before the use");
        vec![Candidate::new(&help, vec![edit], 0), Candidate::new(&help, vec![inner], 1)]
    }

    /// A free behind the last line about the memory, on the stream of each line that is about it, the last one first.
    fn free(&self, finding: &Finding, site: &Site<'t>) -> Vec<Candidate> {
        let allocation = self.of_role(finding, Role::Allocation).unwrap_or(site);
        let Some(name) = finding.name.map(|name| self.base_name(name)) else { return Vec::new() };
        let is_about = |other: &&Site<'t>| {
            other.nth >= allocation.nth
                && other.process() == allocation.process()
                && !matches!(other.statement(), Some(Statement::Expect(_)))
                && self.sites.names(other, &name)
        };
        let about: Vec<_> = self.sites.all.iter().filter(is_about).collect();
        let Some(last) = about.last() else { return Vec::new() };
        let line = self.sites.of_span(last.item.span);
        let written = [self.sites.of_span(allocation.item.span), line].into_iter().find_map(|line| {
            let at = line.find(&format!("{name}["))?;
            let rest = &line[at..];
            let index = &rest[..=rest.find(']')?];
            (!index.contains("..")).then(|| index.to_owned())
        });
        let memory = written.unwrap_or(name);
        let mut streams: Vec<&str> = Vec::new();
        for stream in about.iter().rev().filter_map(|site| self.sites.stream(site)) {
            if !streams.contains(&stream) {
                streams.push(stream);
            }
        }
        let mut lines: Vec<String> =
            streams.iter().map(|stream| format!("{stream}: free {memory}")).collect();
        lines.push(format!("free {memory}"));
        let at_end = self.sites.all.iter().rev().find(|site| {
            site.blocks.is_empty()
                && !matches!(site.statement(), Some(Statement::Expect(_) | Statement::Snapshot(_)))
        });
        let mut candidates = Vec::new();
        for (order, line) in lines.iter().enumerate() {
            let line = std::slice::from_ref(line);
            let help = "free it after the last use";
            let edit = insert::after(self.sites.text, last.item, line);
            candidates.push(Candidate::new(help, vec![edit], 2 * order as u32));
            if let Some(end) = at_end.filter(|end| end.nth > last.nth) {
                let edit = insert::after(self.sites.text, end.item, line);
                candidates.push(Candidate::new("free it at the end", vec![edit], 2 * order as u32 + 1));
            }
        }
        candidates
    }

    /// Other values for settings of the pool that is concerned.
    fn set_pool(&self, finding: &Finding, site: &Site<'t>, settings: &[&str], value: &str) -> Vec<Candidate> {
        let allocation = self.of_role(finding, Role::Allocation).unwrap_or(site);
        let own = match allocation.operation() {
            Some(Operation::Alloc { pool: Some(pool), .. }) => Some(self.sites.of_span(pool.span).to_owned()),
            _ => None,
        };
        let all = self.trial.program.names.pools.iter().cloned();
        let pools: Vec<String> = own.map_or_else(|| all.collect(), |own| vec![own]);
        let mut candidates = Vec::new();
        for pool in &pools {
            for (order, setting) in settings.iter().enumerate() {
                if pool.ends_with(".default_pool") {
                    let line = format!("set {pool}.{setting} = {value}");
                    let edit = insert::declare(self.sites.text, &self.file.items, site.item.span.start, line);
                    let help = format!("set {pool}.{setting} to {value}");
                    candidates.extend(edit.map(|edit| Candidate::new(help, vec![edit], order as u32)));
                    continue;
                }
                let Ok(to) = edit::read_assignment(&format!("{pool}.{setting}={value}")) else { continue };
                let Ok((edits, _)) = edit::assign(self.file, self.sites.text, &[], &to, 0) else { continue };
                let help = format!("set {pool}.{setting} to {value}");
                candidates.push(Candidate::new(help, edits, order as u32));
            }
        }
        candidates
    }

    /// The host observes the free before it trims.
    fn observe(&self, finding: &Finding, site: &Site<'t>) -> Vec<Candidate> {
        let free = self.of_role(finding, Role::Free);
        let stream = free.and_then(|free| self.sites.stream(free)).map(|stream| format!("sync {stream}"));
        let lines = stream.into_iter().chain(["sync device".to_owned()]).enumerate();
        let candidates = lines.map(|(order, line)| {
            let help = format!("{line} before the trim");
            Candidate::new(help, vec![insert::before(self.sites.text, site.item, &[line])], order as u32)
        });
        candidates.collect()
    }
}
