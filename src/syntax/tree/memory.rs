//! Statements about memory outside of pools, from pest's pairs to the tree.

use super::{Node, Tree, next};
use crate::syntax::ast::*;
use crate::syntax::grammar::Rule;

impl Tree<'_> {
    pub(super) fn malloc<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> Malloc {
        let buffer = self.path(next(&mut parts));
        let size = self.expression(next(&mut parts));
        let (mut managed, mut device) = (false, None);
        for part in parts {
            match part.as_rule() {
                Rule::managed => managed = true,
                _ => device = Some(self.only_name(part)),
            }
        }
        Malloc { buffer, size, managed, device }
    }
}
