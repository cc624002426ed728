//! Expectations about when operations start and end. They name an operation by its label, or by its kernel where no other
//! line launches that one.

use super::calls::comparison_of;
use super::check::Checker;
use super::names::{Kind, Meaning};
use super::{Demand, Expect, Moment, When, codes};
use crate::base::{Diagnostic, KernelId, StmtId};
use crate::syntax::ast;
use std::collections::BTreeMap;

/// The lines that launch each kernel, as far as the text was read.
pub(super) type Launches = BTreeMap<KernelId, Vec<StmtId>>;

impl Checker<'_> {
    pub(super) fn moments(
        &mut self,
        stmt: StmtId,
        subject: &ast::Moment,
        comparator: &ast::Name,
        object: &ast::When,
    ) {
        let comparison = comparison_of(comparator);
        let subject = self.moment(subject);
        let object = match object {
            ast::When::Moment(moment) => self.moment(moment).map(When::Moment),
            ast::When::Time(time) => self.constant_duration(time).map(When::Time),
        };
        if let Some((subject, object)) = subject.zip(object) {
            let demand = Demand::Moments { subject, comparison, object };
            self.expects.push(Expect::new(stmt, demand));
        }
    }

    fn moment(&mut self, moment: &ast::Moment) -> Option<Moment> {
        let stmt = match self.resolve(&moment.operation, &[Kind::Label, Kind::Kernel])? {
            Meaning::Label(stmt) => stmt,
            Meaning::Kernel(kernel) => self.only_launch(&moment.operation, kernel)?,
            _ => return None,
        };
        Some(Moment { stmt, end: moment.end })
    }

    /// The line that launches a kernel, if there is just one in the whole text, and it stands above.
    fn only_launch(&mut self, name: &ast::Name, kernel: KernelId) -> Option<StmtId> {
        let count = self.table.launches(&name.text);
        let above = self.launched.get(&kernel).map_or(&[][..], Vec::as_slice);
        if let ([stmt], 1) = (above, count) {
            return Some(*stmt);
        }
        let first = above.first().map(|stmt| self.statements[*stmt].span);
        // A line that could not be read may be the one that is meant.
        if above.is_empty() && self.table.has_broken_lines {
            return None;
        }
        let message = match count {
            0 => format!("no line launches `{}`", name.text),
            1 => format!("the line that launches `{}` stands below", name.text),
            count => format!("{count} lines launch `{}`", name.text),
        };
        let label = "which operation is meant?";
        let diagnostic = Diagnostic::error(codes::UNCLEAR_LAUNCH, message, name.span, label);
        let diagnostic = match first.filter(|_| count > 1) {
            Some(first) => diagnostic.also(first, "one of them"),
            None => diagnostic,
        };
        self.tell(
            diagnostic.help(format!("give the one that is meant a label: `S: {}(..) as NAME`", name.text)),
        );
        None
    }
}
