//! Lines about graphs, from pest's pairs to the tree.

use super::{Node, Tree, next};
use crate::syntax::ast::*;
use crate::syntax::grammar::Rule;

impl Tree<'_> {
    pub(super) fn graph<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> Statement {
        Statement::Graph(Graph { name: self.segment(next(&mut parts)), body: Body::default() })
    }

    pub(super) fn graph_call<'t>(
        &mut self,
        rule: Rule,
        mut parts: impl Iterator<Item = Node<'t>>,
    ) -> CallKind {
        CallKind::Graph(match rule {
            Rule::instantiate => GraphCall::Instantiate {
                exec: self.path(next(&mut parts)),
                graph: self.path(next(&mut parts)),
                auto_free: parts.next().is_some(),
            },
            Rule::upload => {
                GraphCall::Upload { exec: self.path(next(&mut parts)), stream: self.path(next(&mut parts)) }
            }
            _ => GraphCall::Trim(self.name(next(&mut parts))),
        })
    }
}
