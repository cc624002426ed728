//! Statements about memory beside pools, from pest's pairs to the tree.

use super::{Node, Tree, access, next, parts};
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

    /// What stands after `on`, of a pool.
    pub(super) fn location(&mut self, node: Node<'_>) -> Location {
        let place = next(&mut parts(node));
        match place.as_rule() {
            Rule::host_plain => Location::Host,
            Rule::host_numa => Location::HostNuma(self.only_expression(place)),
            Rule::host_current => Location::HostNumaCurrent,
            _ => Location::Device(self.name(place)),
        }
    }

    pub(super) fn grant<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> Grant {
        Grant {
            pool: self.path(next(&mut parts)),
            device: self.name(next(&mut parts)),
            access: parts.next().map(|word| access(word.as_str())),
        }
    }

    pub(super) fn host_buffers<'t>(&mut self, parts: impl Iterator<Item = Node<'t>>) -> Statement {
        let mut names = Vec::new();
        let mut rest = parts.peekable();
        while let Some(name) = rest.next_if(|part| part.as_rule() == Rule::declared) {
            names.push(self.declared(name));
        }
        let size = self.expression(next(&mut rest));
        let pinned = next(&mut rest).as_str() == "pinned";
        Statement::HostBuffers(HostBuffers { names, size, pinned })
    }

    pub(super) fn place(&mut self, node: Node<'_>) -> Place {
        let span = self.span(&node);
        let mut rest = parts(node);
        let path = self.path(next(&mut rest));
        let part = rest.next().map(|part| {
            let mut bounds = parts(part);
            Part { from: self.expression(next(&mut bounds)), to: self.expression(next(&mut bounds)) }
        });
        Place { path, part, span }
    }

    pub(super) fn copy(&mut self, node: Node<'_>) -> Copy {
        let mut rest = parts(node);
        let (to, from) = (self.place(next(&mut rest)), self.place(next(&mut rest)));
        Copy { to, from, takes: rest.next().map(|takes| self.takes(takes)) }
    }

    pub(super) fn memset(&mut self, node: Node<'_>) -> Memset {
        let mut rest = parts(node);
        Memset { at: self.place(next(&mut rest)), takes: rest.next().map(|takes| self.takes(takes)) }
    }

    /// A copy or a memset by the host.
    pub(super) fn transfer(&mut self, node: Node<'_>) -> CallKind {
        match node.as_rule() {
            Rule::copy => CallKind::Copy(self.copy(node)),
            _ => CallKind::Memset(self.memset(node)),
        }
    }

    /// Which of the two it is, stands in a fixed word at the start of the line.
    pub(super) fn touch(&mut self, place: Node<'_>, line: &str) -> CallKind {
        let access = if line.starts_with("read") { Access::Read } else { Access::Write };
        CallKind::Touch { at: self.place(place), access }
    }

    pub(super) fn asynchronous(&mut self, node: Node<'_>) -> Statement {
        let reads = node.clone().into_inner().any(|child| child.as_rule() == Rule::kw_host_read);
        let access = if reads { Access::Read } else { Access::Write };
        let mut rest = parts(node);
        let name = self.name(next(&mut rest));
        let at = self.place(next(&mut rest));
        let takes = rest.next().map(|lasting| self.only_expression(lasting));
        Statement::Asynchronous(Asynchronous { name, at, access, takes })
    }
}
