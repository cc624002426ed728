//! What has to do with a finding, by what a run tells: its statements, what they name, and what orders those among each other.
//!
//! It says what to leave first, and no more: a run of it decides.

use super::hunt::Hunt;
use super::names;
use super::signature::Signature;
use crate::base::StmtId;
use crate::explore::site::{Site, Sites};
use crate::oracle::{Finding, Point, Recording};
use crate::scenario::Program;
use crate::syntax::ast::{CallKind, Operation, Statement};
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
    let (text, file) = (hunt.text.clone(), hunt.file());
    let sites = Sites::of(&file, &text);
    let causes = Causes::new(&sites, &program, &recording);
    let kept = causes.of(finding);
    let leave = |kept: &BTreeSet<usize>| {
        let gone = sites.all.iter().filter(|site| !kept.contains(&site.nth) && !is_declaration(site));
        names::without(&sites, &gone.map(|site| site.nth).collect())
    };
    if hunt.attempt(&leave(&with_blocks(&sites, kept.clone()))) {
        return true;
    }
    let ordering = sites.all.iter().filter(|site| orders(site)).map(|site| site.nth);
    let kept = kept.into_iter().chain(ordering).collect();
    hunt.attempt(&leave(&with_blocks(&sites, kept)))
}

/// Whether a statement does nothing by itself, so that it goes once nothing names it, or stays to be looked at.
fn is_declaration(site: &Site<'_>) -> bool {
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
    /// Where each statement was first: the operation rather than the call that submits it.
    points: BTreeMap<StmtId, Point>,
    stmts: BTreeMap<usize, StmtId>,
}

impl<'c, 'f> Causes<'c, 'f> {
    fn new(sites: &'c Sites<'f>, program: &'c Program, recording: &'c Recording) -> Self {
        let mut points: BTreeMap<StmtId, Point> = BTreeMap::new();
        // Operations come before calls in the order of points.
        recording.points().for_each(|(point, stmt)| {
            points.entry(stmt).or_insert(point);
        });
        let statements = program.statements.iter_enumerated();
        let stmts = statements.filter_map(|(stmt, known)| Some((sites.at(known.span)?.nth, stmt))).collect();
        Self { sites, program, recording, points, stmts }
    }

    fn nth(&self, stmt: StmtId) -> Option<usize> {
        self.sites.at(self.program.statements[stmt].span).map(|site| site.nth)
    }

    /// The statements of a finding and all that brings them about.
    fn of(&self, finding: &Finding) -> BTreeSet<usize> {
        let mut points = self.points.clone();
        let missing = finding.missing.iter().flat_map(|missing| [missing.from, missing.to]);
        points.extend(missing.clone().map(|moment| (moment.stmt, moment.point)));
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
            let line = self.sites.of_span(self.sites.all[nth].item.span);
            let givers = names::words(line).filter_map(|word| names::giver(self.sites, word, nth));
            for giver in givers.map(|giver| giver.nth) {
                left.push(giver);
                pairs.insert((giver, nth));
            }
            let pairs = std::mem::take(&mut pairs);
            left.extend(pairs.into_iter().flat_map(|(one, other)| self.between(&points, one, other)));
        }
        kept
    }

    /// What orders one statement before another one.
    fn between(&self, points: &BTreeMap<StmtId, Point>, one: usize, other: usize) -> Vec<usize> {
        let point = |nth: usize| points.get(self.stmts.get(&nth)?).copied();
        let (Some(from), Some(to)) = (point(one), point(other)) else { return Vec::new() };
        let chain = if from == to { Vec::new() } else { self.recording.chain(from, to) };
        chain.iter().filter_map(|link| self.nth(link.stmt)).collect()
    }
}
