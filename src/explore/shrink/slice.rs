//! What has to do with a finding, by what a run tells: its statements, what they name, and what orders those among each other.
//!
//! It says what to leave first, and no more: a run of it decides.

use super::hunt::Hunt;
use super::names;
use super::signature::Signature;
use crate::base::StmtId;
use crate::explore::site::{Site, Sites};
use crate::oracle::{By, Finding, Link, Point, Recording};
use crate::scenario::Program;
use crate::syntax::ast::{CallKind, Operation};
use std::collections::{BTreeMap, BTreeSet};

/// Leaves what has to do with the finding; else that and all that may order something.
pub(super) fn slice(hunt: &mut Hunt<'_, '_>) -> bool {
    let Some((program, verdict, recording)) = hunt.watch(|program| Recording::new(&program.setup)) else {
        return false;
    };
    let target = &hunt.target;
    let Some(finding) = verdict.findings.iter().find(|finding| Signature::of(finding) == *target) else {
        return false;
    };
    let (text, file) = (hunt.text.clone(), hunt.file.clone());
    let sites = Sites::of(&file, &text);
    let causes = Causes::new(&sites, &program, &recording);
    let kept = causes.of(finding);
    let leave = |kept: &BTreeSet<usize>| {
        let gone = sites.all.iter().filter(|site| !kept.contains(&site.nth) && !names::is_declaration(site));
        names::without(&sites, &gone.map(|site| site.nth).collect())
    };
    if hunt.attempt(&leave(&with_blocks(&sites, kept.clone()))) {
        return true;
    }
    let ordering = sites.all.iter().filter(|site| orders(site)).map(|site| site.nth);
    let kept = kept.into_iter().chain(ordering).collect();
    hunt.attempt(&leave(&with_blocks(&sites, kept)))
}

/// Whether a statement may order others without touching memory.
fn orders(site: &Site<'_>) -> bool {
    match site.call().map(|call| &call.kind) {
        Some(CallKind::Queued { operation, .. }) => {
            matches!(operation, Operation::Record(_) | Operation::Wait(_) | Operation::Host(_))
        }
        Some(
            CallKind::Sync(_)
            | CallKind::Poll(_)
            | CallKind::Query(_)
            | CallKind::Signal(_)
            | CallKind::Await(_)
            | CallKind::Join(_)
            | CallKind::Barrier { .. },
        ) => true,
        _ => false,
    }
}

fn is_record(site: &Site<'_>) -> bool {
    matches!(site.operation(), Some(Operation::Record(_)))
}

/// Whether a chain goes from a thread into a stream here.
fn is_submitted(pair: &[Link]) -> bool {
    matches!(pair, [Link { point: Point::Host(..), .. }, Link { point: Point::Operation(_), .. }])
}

/// The statements with those whose blocks they stand in.
fn with_blocks(sites: &Sites<'_>, mut kept: BTreeSet<usize>) -> BTreeSet<usize> {
    let blocks = kept.iter().flat_map(|nth| &sites.all[*nth].blocks);
    let around: Vec<usize> = blocks.filter_map(|block| Some(sites.at(block.span)?.nth)).collect();
    kept.extend(around);
    kept
}

/// What a run tells about what its statements come from.
struct Causes<'c, 'f> {
    sites: &'c Sites<'f>,
    program: &'c Program,
    recording: &'c Recording,
    /// Where each statement was first: as a call of the host, and as an operation of a stream.
    points: BTreeMap<usize, [Option<Point>; 2]>,
}

impl<'c, 'f> Causes<'c, 'f> {
    fn new(sites: &'c Sites<'f>, program: &'c Program, recording: &'c Recording) -> Self {
        let mut causes = Self { sites, program, recording, points: BTreeMap::new() };
        for (point, stmt) in recording.points() {
            causes.keep(stmt, point, false);
        }
        causes
    }

    fn nth(&self, stmt: StmtId) -> Option<usize> {
        self.sites.at(self.program.statements[stmt].span).map(|site| site.nth)
    }

    /// Keeps a point of a statement, the first one or this one.
    fn keep(&mut self, stmt: StmtId, point: Point, is_this: bool) {
        let Some(nth) = self.nth(stmt) else { return };
        let [call, operation] = self.points.entry(nth).or_default();
        let kept = if matches!(point, Point::Host(..)) { call } else { operation };
        if is_this || kept.is_none() {
            *kept = Some(point);
        }
    }

    /// The statements of a finding and all that brings them about.
    fn of(mut self, finding: &Finding) -> BTreeSet<usize> {
        let missing = finding.missing.iter().flat_map(|missing| [missing.from, missing.to]);
        missing.clone().for_each(|moment| self.keep(moment.stmt, moment.point, true));
        let others = finding.others.iter().filter_map(|(_, stmt)| *stmt);
        let own = std::iter::once(finding.stmt).chain(others).chain(missing.map(|moment| moment.stmt));
        let own: BTreeSet<usize> = own.filter_map(|stmt| self.nth(stmt)).collect();
        let mut kept = BTreeSet::new();
        let mut pairs: BTreeSet<(usize, usize)> =
            own.iter().flat_map(|one| own.iter().map(move |other| (*one, *other))).collect();
        let mut left: Vec<usize> = own.into_iter().collect();
        while let Some(nth) = left.pop() {
            if !kept.insert(nth) {
                continue;
            }
            let site = &self.sites.all[nth];
            let words = names::words(self.sites.of_span(site.item.span));
            let givers = words.filter_map(|word| self.giver(site, word));
            for giver in givers.map(|giver| giver.nth) {
                left.push(giver);
                pairs.insert((giver, nth));
            }
            let pairs = std::mem::take(&mut pairs);
            left.extend(pairs.into_iter().flat_map(|(one, other)| self.between(one, other)));
        }
        kept
    }

    /// What gives a name to something that a statement names. Which record a wait is for, the run tells.
    fn giver(&self, site: &Site<'f>, name: &str) -> Option<&'c Site<'f>> {
        let gives = |other: &&Site<'f>| {
            other.nth != site.nth && !is_record(other) && names::given(other).contains(&name)
        };
        let before = self.sites.all[..site.nth].iter().rev().find(gives);
        before.or_else(|| self.sites.all.iter().find(gives))
    }

    /// What orders one statement before another one: their calls, and what takes effect.
    fn between(&self, one: usize, other: usize) -> Vec<usize> {
        // What the host does itself takes effect at the call.
        let points = |nth: usize| {
            let [call, operation] = self.points.get(&nth).copied().unwrap_or_default();
            [call, operation.or(call)]
        };
        let pairs = points(one).into_iter().zip(points(other));
        let pairs = pairs.filter_map(|(from, to)| Some((from?, to?))).filter(|(from, to)| from != to);
        let links: Vec<usize> = pairs.flat_map(|(from, to)| self.connecting(from, to)).collect();
        // What others submit on the way is in its stream in time only if their call comes before this one.
        let calls = links.iter().filter_map(|link| Some((points(*link)[0]?, points(other)[0]?)));
        let calls: Vec<usize> = calls.flat_map(|(from, to)| self.connecting(from, to)).collect();
        links.into_iter().chain(calls).collect()
    }

    /// Of what orders two points the statements without which nothing would, whatever else is in the streams that it goes through.
    fn connecting(&self, from: Point, to: Point) -> Vec<usize> {
        let mut kept = Vec::new();
        for pair in self.recording.chain(from, to).windows(2) {
            let [Some(before), Some(after)] = [pair[0].stmt, pair[1].stmt].map(|stmt| self.nth(stmt)) else {
                continue;
            };
            let is_record = is_record(&self.sites.all[before]);
            match pair[0].by {
                // What a thread submits has in its stream behind it what the thread has waited for.
                By::Program | By::Submission => kept.extend(is_submitted(pair).then_some(after)),
                // All that is in the stream by then is meant.
                By::Legacy => kept.push(after),
                By::Synchronise if !is_record => kept.push(after),
                By::Synchronise | By::Event | By::Signal | By::Graph | By::Collective => {
                    kept.extend([before, after]);
                }
            }
        }
        kept
    }
}
