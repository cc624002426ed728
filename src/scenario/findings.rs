//! What lines say about what is wrong with the program: what they expect, and what they allow. They are about the whole run,
//! wherever they stand.

use super::check::Checker;
use super::names::{Kind, Meaning};
use super::{Allowed, Demand, Element, Expect, Formula, Outcome, codes};
use crate::base::{BufferId, Diagnostic, Span, StmtId};
use crate::syntax::ast::{self, Name, Path};
use crate::trace::{Failure, FindingKind, Severity};

impl Checker<'_> {
    pub(super) fn whole_run(&mut self, stmt: StmtId, demand: Demand) {
        self.expects.push(Expect::new(stmt, demand));
    }

    /// An error, or something that may be found; some words are both.
    pub(super) fn occurs(&mut self, stmt: StmtId, kind: &Name, not: bool) {
        let failure = Failure::ALL.into_iter().find(|failure| failure.name() == kind.text);
        let finding = FindingKind::ALL.into_iter().find(|finding| finding.name() == kind.text);
        if failure.is_some() || finding.is_some() {
            return self.whole_run(stmt, Demand::Occurs { failure, finding, not });
        }
        let failures = Failure::ALL.into_iter().map(|failure| (failure.name(), ()));
        let findings = FindingKind::ALL.into_iter().map(|finding| (finding.name(), ()));
        self.word(kind, codes::UNKNOWN_FINDING, "error and no finding called", failures.chain(findings));
    }

    pub(super) fn allow(&mut self, span: Span, allow: &ast::Allow) {
        self.begin(span, Outcome::Succeeds);
        let kind = self.allowable(span, &allow.kind);
        let on = allow.on.as_ref().map(|path| self.element_of(path));
        if let (Some(kind), None | Some(Some(_))) = (kind, on) {
            self.levels.allowed.push(Allowed { kind, on: on.flatten() });
        }
    }

    fn allowable(&mut self, line: Span, word: &Name) -> Option<FindingKind> {
        let (errors, others): (Vec<_>, Vec<_>) =
            FindingKind::ALL.into_iter().partition(|kind| kind.severity() == Severity::Error);
        if !errors.iter().any(|kind| kind.name() == word.text) {
            let known = others.into_iter().map(|kind| (kind.name(), kind));
            return self.word(word, codes::UNKNOWN_FINDING, "warning or lint called", known);
        }
        let message = format!("`{}` is an error, which no line allows", word.text);
        let label = "expected a warning or a lint";
        let begin = Span::new(line.start, line.start + "allow".len() as u32);
        let diagnostic = Diagnostic::error(codes::NOT_ALLOWABLE, message, word.span, label);
        self.tell(diagnostic.fix("a line can only expect it", begin, "expect finding"));
        None
    }

    pub(super) fn finding(
        &mut self,
        stmt: StmtId,
        kind: &Name,
        on: Option<&Path>,
        at: Option<&Name>,
        times: Option<&ast::Expression>,
    ) {
        let known = FindingKind::ALL.map(|kind| (kind.name(), kind));
        let kind = self.word(kind, codes::UNKNOWN_FINDING, "finding called", known);
        let on = on.map(|path| self.element_of(path));
        let at = at.map(|label| self.labelled(label));
        let times = times.map(|times| self.times(times));
        // Each part is looked at even where another one has a mistake.
        let (Some(kind), None | Some(Some(_)), None | Some(Some(_)), None | Some(Some(_))) =
            (kind, on, at, times)
        else {
            return;
        };
        let demand = Demand::Finding { kind, on: on.flatten(), at: at.flatten(), times: times.flatten() };
        self.expects.push(Expect::new(stmt, demand));
    }

    /// Until all names are known, the place in the list of names stands for the first of them.
    fn element_of(&mut self, path: &Path) -> Option<Element> {
        let buffer = self.named_buffer(path, &[Kind::Buffer, Kind::HostBuffer])?;
        let index = match buffer.index.as_deref() {
            None => Some(0),
            Some(Formula::Constant(index)) => u32::try_from(*index).ok(),
            Some(_) => None,
        };
        if index.is_none() {
            let label = "expected a constant index";
            let diagnostic =
                Diagnostic::error(codes::NOT_CONSTANT, "findings are judged once a run", path.span, label);
            self.tell(diagnostic.help("write a line for each of them, or one without `on`"));
        }
        index.map(|index| Element { base: buffer.base, index })
    }

    fn labelled(&mut self, label: &Name) -> Option<StmtId> {
        match self.resolve(label, &[Kind::CallLabel, Kind::Label])? {
            Meaning::Label(stmt) | Meaning::CallLabel(stmt) => Some(stmt),
            _ => None,
        }
    }

    fn times(&mut self, times: &ast::Expression) -> Option<u64> {
        let count = self.constant_count(times)?;
        if count == 0 {
            let message = "a finding is expected at least once";
            let diagnostic =
                Diagnostic::error(codes::VALUE_OUT_OF_RANGE, message, times.span, "expected at least 1");
            self.tell(diagnostic.help("`expect no findings` says that there is none"));
            return None;
        }
        Some(count)
    }

    /// Gives the buffers that such lines name their ids; `bases` has the first one of each name.
    pub(super) fn place_findings(&mut self, bases: &[usize]) {
        for expect in self.expects.iter_mut() {
            if let Demand::Finding { on: Some(on), .. } = &mut expect.demand {
                on.base = BufferId::from_usize(bases[on.base.index()]);
            }
        }
        for on in self.levels.allowed.iter_mut().filter_map(|allowed| allowed.on.as_mut()) {
            on.base = BufferId::from_usize(bases[on.base.index()]);
        }
    }
}
