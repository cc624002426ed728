//! Expectations, from pest's pairs to the tree.

use super::{Node, Tree, access, next, parts};
use crate::syntax::ast::*;
use crate::syntax::grammar::Rule;

impl Tree<'_> {
    pub(super) fn expectation(&mut self, node: Node<'_>) -> Expect {
        let rule = node.as_rule();
        if rule == Rule::moments {
            return self.moments(node);
        }
        if rule == Rule::no_findings {
            return Expect::NoFindings;
        }
        if rule == Rule::no_leaks {
            return Expect::NoLeaks;
        }
        if rule == Rule::over_timings {
            return self.over_timings(node);
        }
        if rule == Rule::occurs {
            let not = node.clone().into_inner().any(|child| child.as_rule() == Rule::kw_no);
            return Expect::Occurs { kind: self.only_name(node), not };
        }
        let mut rest = parts(node);
        if rule == Rule::finding {
            return self.finding(rest);
        }
        if rule == Rule::comparison {
            return Expect::Compare {
                left: self.expression(next(&mut rest)),
                comparator: self.name(next(&mut rest)),
                right: self.expression(next(&mut rest)),
            };
        }
        let subject = self.path(next(&mut rest));
        let relation = next(&mut rest);
        let not = relation.as_str().starts_with("not");
        let rule = relation.as_rule();
        let mut rest = parts(relation);
        if rule == Rule::fails {
            return Expect::Fails { call: subject, not, error: rest.next().map(|error| self.name(error)) };
        }
        if rule == Rule::depends {
            return Expect::Relate { subject, relation: Relation::DependsOnTiming, not };
        }
        let first = next(&mut rest);
        let relation = match rule {
            Rule::reuses => {
                Relation::Reuses { object: self.path(first), via: rest.next().map(|via| self.only_name(via)) }
            }
            Rule::placed_at => Relation::At(self.path(first)),
            Rule::waits_for => Relation::WaitsForFree(self.path(first)),
            Rule::ready_on => Relation::ReadyOn(self.path(first)),
            Rule::reaches => Relation::Reaches {
                object: self.path(first),
                access: rest.next().map(|word| access(word.as_str())),
            },
            _ => Relation::Via(self.name(first)),
        };
        // `via nothing` begins with "not" too, but only a relation with an object can be negated.
        let not = not && !matches!(relation, Relation::Via(_));
        Expect::Relate { subject, relation, not }
    }

    fn over_timings(&mut self, node: Node<'_>) -> Expect {
        let mut rest = parts(node);
        let quantifier = match next(&mut rest).as_str().trim() {
            "always" => Quantifier::Always,
            "sometimes" => Quantifier::Sometimes,
            _ => Quantifier::Never,
        };
        Expect::OverTimings { quantifier, of: Box::new(self.expectation(next(&mut rest))) }
    }

    /// Which moments are meant, stands in fixed words.
    fn moments(&mut self, node: Node<'_>) -> Expect {
        let has = |rule| node.clone().into_inner().any(|child| child.as_rule() == rule);
        let (subject_ends, object_ends) = (has(Rule::kw_ends), has(Rule::kw_end));
        let mut rest = parts(node);
        let subject = Moment { operation: self.name(next(&mut rest)), end: subject_ends };
        let comparator = self.name(next(&mut rest));
        let object = next(&mut rest);
        let object = match object.as_rule() {
            Rule::expression => When::Time(self.expression(object)),
            _ => When::Moment(Moment { operation: self.name(object), end: object_ends }),
        };
        Expect::Moments { subject, comparator, object }
    }

    fn finding<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> Expect {
        let kind = self.name(next(&mut parts));
        let (mut on, mut at, mut times) = (None, None, None);
        for part in parts {
            match part.as_rule() {
                Rule::about => on = Some(self.only_path(part)),
                Rule::labelled => at = Some(self.only_name(part)),
                _ => times = Some(self.expression(next(&mut super::parts(part)))),
            }
        }
        Expect::Finding { kind, on, at, times }
    }
}
