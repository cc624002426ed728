//! The search for one fix: candidates from the cheapest to the dearest, each run and compared with the text before.

use super::candidate::Candidate;
use super::lines::Text;
use super::order::{End, Ordering};
use super::shown;
use super::trial::{Cost, Problem, Trial};
use super::{Fix, Search, edited};
use crate::base::{Edit, Span};
use crate::edit::insert;
use crate::explore::site::{Site, Sites};
use crate::oracle::{Finding, Moment, Point, Role};
use crate::syntax::{self, ast::File};
use crate::trace::{FindingKind, Severity};
use std::collections::{BTreeMap, BTreeSet};

/// A search, with what it has used of its limits.
#[derive(Debug)]
pub(super) struct Step<'s, 'r> {
    search: &'s Search<'r>,
    pub(super) tries: u32,
    statements: u64,
    pub(super) limit_reached: bool,
}

/// A text that is to be fixed, and its run.
#[derive(Debug)]
pub(super) struct Turn {
    text: String,
    file: File,
    pub(super) trial: Trial,
    problems: BTreeSet<Problem>,
}

/// A candidate that was tried and does what it should.
struct Success {
    candidate: Candidate,
    text: String,
    trial: Trial,
    /// The places of the findings that it removes.
    removes: Vec<usize>,
    expectations: usize,
}

impl Turn {
    /// The findings that are to be fixed, the worst ones first.
    pub(super) fn targets(&self) -> Vec<usize> {
        let unexpected = self.trial.unexpected().filter(|(_, finding)| finding.kind != FindingKind::Overlap);
        let mut targets: Vec<_> = unexpected.map(|(nth, finding)| (finding.severity, nth)).collect();
        targets.sort_unstable();
        targets.into_iter().map(|(_, nth)| nth).collect()
    }
}

impl Turn {
    /// A candidate that takes out the lines, too, that add no order any more once it is carried out, if nothing else is new.
    fn without_what_is_in_vain(&self, mut candidate: Candidate, new: &[&Problem]) -> Option<Candidate> {
        let sites = Sites::of(&self.file, &self.text);
        for problem in new {
            match problem {
                Problem::Expectation(_) => {}
                Problem::Finding(FindingKind::RedundantWait, place, _) => {
                    let site = sites.at(Span::new(*place, *place))?;
                    let edit = insert::remove(&self.text, site.item);
                    let Span { start, end } = edit.span;
                    let is_apart = |other: &Edit| other.span.end <= start || other.span.start >= end;
                    if !candidate.edits.iter().all(is_apart) {
                        return None;
                    }
                    candidate.edits.push(edit);
                }
                _ => return None,
            }
        }
        Some(candidate)
    }
}

impl<'s, 'r> Step<'s, 'r> {
    pub(super) fn new(search: &'s Search<'r>) -> Self {
        Self { search, tries: 0, statements: 0, limit_reached: false }
    }

    /// Runs a text as it stands.
    pub(super) fn begin(&mut self, text: &str) -> Option<Turn> {
        let trial = Trial::of((self.search.read)(text)?, self.search.seed);
        let problems = trial.problems(&|place| place);
        Some(Turn { text: text.to_owned(), file: syntax::parse(text).0, trial, problems })
    }

    /// The smallest edit that removes a finding, and others with it where that is possible.
    pub(super) fn fix(&mut self, turn: &Turn, target: usize) -> Option<Fix> {
        let sites = Sites::of(&turn.file, &turn.text);
        let text = Text { sites: &sites, file: &turn.file, trial: &turn.trial };
        let finding = &turn.trial.verdict.findings[target];
        if turn.trial.is_of_what_stays_wrong(finding) {
            return None;
        }
        let mut second_choice = None;
        for mut candidates in text.rounds(finding) {
            candidates.sort_by_key(Candidate::rank);
            let mut best: Option<Success> = None;
            for candidate in candidates {
                if best.as_ref().is_some_and(|best| best.candidate.rank() < candidate.rank()) {
                    break;
                }
                let Some(success) = self.attempt(turn, target, candidate) else { continue };
                match (&best, success.expectations) {
                    (None, 0) => best = Some(success),
                    (Some(other), 0) if success.is_better(other) => best = Some(success),
                    (_, 0) => {}
                    // What is no error is not worth an expectation.
                    _ if finding.severity == Severity::Error => {
                        second_choice = second_choice.or(Some(success));
                    }
                    _ => {}
                }
            }
            if let Some(best) = best {
                return Some(best.into_fix(turn));
            }
        }
        second_choice.map(|success| success.into_fix(turn))
    }

    /// Runs the text with an edit, if the limits allow for it.
    fn attempt(&mut self, turn: &Turn, target: usize, candidate: Candidate) -> Option<Success> {
        let limits = self.search.limits;
        let length = turn.trial.program.length;
        if self.tries == limits.tries || self.statements.saturating_add(length) > limits.statements {
            self.limit_reached = true;
            return None;
        }
        let text = edited(&turn.text, &candidate.edits);
        let program = (self.search.read)(&text)?;
        self.tries += 1;
        self.statements = self.statements.saturating_add(length);
        let trial = Trial::of(program, self.search.seed);
        let olds: BTreeMap<u32, u32> = candidate.places(&turn.trial.program).collect();
        // What stands in no line of the old text begins behind its end.
        let place = |new: u32| olds.get(&new).copied().unwrap_or(u32::MAX - new);
        let problems = trial.problems(&place);
        let key = |finding: &Finding| turn.trial.problem(finding, &|place| place);
        if problems.contains(&key(&turn.trial.verdict.findings[target])) {
            return None;
        }
        let new: Vec<_> = problems.difference(&turn.problems).collect();
        if !new.iter().all(|problem| matches!(problem, Problem::Expectation(_))) {
            let leaner = turn.without_what_is_in_vain(candidate, &new)?;
            return self.attempt(turn, target, leaner);
        }
        let gone = turn.trial.unexpected().filter(|(_, finding)| !problems.contains(&key(finding)));
        let removes = gone.map(|(nth, _)| nth).collect();
        Some(Success { removes, expectations: new.len(), candidate, text, trial })
    }
}

impl Success {
    /// Of two that are equally small, the one that removes more, and else the one that costs less time and memory.
    fn is_better(&self, other: &Success) -> bool {
        let cost = |success: &Success| {
            let Cost { end, reserved_high, .. } = &success.trial.cost;
            let bytes: u128 = reserved_high.iter().map(|bytes| u128::from(bytes.0)).sum();
            (usize::MAX - success.removes.len(), *end, bytes)
        };
        cost(self) < cost(other)
    }

    fn into_fix(self, turn: &Turn) -> Fix {
        let Success { candidate, text, trial, removes, expectations } = self;
        Fix {
            removes,
            places: candidate.places(&turn.trial.program).collect(),
            help: candidate.help,
            lines: shown::lines(&turn.text, &candidate.edits),
            edits: candidate.edits,
            text,
            left: trial.unexpected().count(),
            expectations,
            before: turn.trial.cost.clone(),
            after: trial.cost,
        }
    }
}

impl<'t> Text<'t> {
    /// Candidates in rounds: what may fix all that has one cause with the finding, then what may fix the finding alone.
    fn rounds(&self, finding: &Finding) -> Vec<Vec<Candidate>> {
        let mut rounds = Vec::new();
        let ends = self.ends(finding);
        if let Some((from, to)) = &ends {
            // Of two that must not be side by side, the one that the text has first comes first.
            let either_way = matches!(finding.kind, FindingKind::Race | FindingKind::HostRace);
            if either_way && from.site.host() != to.site.host() && from.site.nth > to.site.nth {
                rounds.push(self.ordering(finding, (to.clone(), from.clone())).candidates());
            }
            let of_all = self.of_one_cause(from, to);
            rounds.extend(of_all.map(|ends| self.ordering(finding, ends).candidates()));
        }
        let lines = self.candidates(finding);
        let alone = ends.map(|ends| self.ordering(finding, ends).candidates());
        rounds.push(alone.into_iter().flatten().chain(lines).collect());
        rounds
    }

    fn ordering(&self, finding: &Finding, (from, to): (End<'t, 't>, End<'t, 't>)) -> Ordering<'t, 't> {
        let buffer = finding.name.map(|name| self.base_name(name));
        Ordering { sites: self.sites, from, to, buffer }
    }

    /// The two ends of the order that is missing.
    fn ends(&self, finding: &Finding) -> Option<(End<'t, 't>, End<'t, 't>)> {
        let Some(missing) = finding.missing else {
            let from = self.of_role(finding, Role::FreeOfImport)?;
            let end = |site: &'t Site<'t>| End { site, stream: self.sites.stream(site).map(str::to_owned) };
            return Some((end(from), end(self.site(finding.stmt)?)));
        };
        Some((self.end(missing.from)?, self.end(missing.to)?))
    }

    fn end(&self, moment: Moment) -> Option<End<'t, 't>> {
        let site = self.site(moment.stmt)?;
        let stream = match moment.point {
            Point::Host(..) => None,
            Point::Operation(ticket) => {
                let written = self.sites.stream(site).map(str::to_owned);
                Some(written.unwrap_or_else(|| self.trial.program.names.streams[ticket.stream].clone()))
            }
        };
        Some(End { site, stream })
    }

    /// Of all findings between the same two streams, the latest first end and the earliest second one: an order of those is one
    /// of all. `None`: that is nothing else.
    fn of_one_cause(&self, from: &End<'t, 't>, to: &End<'t, 't>) -> Option<(End<'t, 't>, End<'t, 't>)> {
        let is_like = |one: &End<'t, 't>, other: &End<'t, 't>| {
            one.stream == other.stream && one.site.host() == other.site.host()
        };
        let all = self.trial.unexpected().filter_map(|(_, finding)| self.ends(finding));
        let like: Vec<_> =
            all.filter(|(first, second)| is_like(first, from) && is_like(second, to)).collect();
        let last = like.iter().map(|(first, _)| first).max_by_key(|end| end.site.nth)?;
        let first = like.iter().map(|(_, second)| second).min_by_key(|end| end.site.nth)?;
        let is_other = last.site.nth != from.site.nth || first.site.nth != to.site.nth;
        (is_other && last.site.nth < first.site.nth).then(|| (last.clone(), first.clone()))
    }
}
