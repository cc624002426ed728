//! Statements about processes and what they share, from pest's pairs to the tree.

use super::{Node, Tree, next};
use crate::syntax::ast::*;
use crate::syntax::grammar::Rule;

impl Tree<'_> {
    pub(super) fn events<'t>(&mut self, parts: impl Iterator<Item = Node<'t>>) -> Events {
        let mut events = Events { names: Vec::new(), device: None, interprocess: false };
        for part in parts {
            match part.as_rule() {
                Rule::on_device => events.device = Some(self.only_name(part)),
                Rule::flags => events.interprocess = true,
                _ => events.names.push(self.declared(part)),
            }
        }
        events
    }

    pub(super) fn import<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> Import {
        let name = self.path(next(&mut parts));
        let under = self.name(next(&mut parts));
        let place = match parts.next() {
            Some(place) if place.as_rule() == Rule::location => ImportPlace::On(self.location(place)),
            Some(from) => ImportPlace::From(self.only_path(from)),
            None => ImportPlace::Nothing,
        };
        Import { name, under, place }
    }
}
