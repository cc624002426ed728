//! For each capacity, the lowest index in the list of free blocks that has it.
//!
//! A class is a pairing heap whose nodes are the indexes themselves, so no memory is kept for what has left the list. Three
//! facts about the list make it quick. The index at its end is the highest of its class, so it has no children and is
//! unlinked at once. A new one is the highest too, so it may go below any other; it goes below the newest, which makes a
//! chain of those that come one after the other, and a chain has nothing to merge. And an index that is taken from the
//! middle is the lowest of its class, so it is the root.

use super::table::Table;
use crate::base::reuse_on_clone;

/// No index.
const NONE: usize = usize::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    /// The first of those below.
    child: usize,
    /// The next of those below the same node.
    next: usize,
    /// The one before it below the same node, or that node. A root has none.
    previous: usize,
    /// Of a root: one of its class, the newest if that is still there.
    newest: usize,
}

impl Node {
    fn alone(index: usize) -> Self {
        Self { child: NONE, next: NONE, previous: NONE, newest: index }
    }
}

#[derive(Debug, Default)]
pub(super) struct Classes {
    /// The root of each capacity that there is.
    roots: Table,
    /// One for each index of the list.
    nodes: Vec<Node>,
}

reuse_on_clone!(Classes { roots, nodes });

impl Classes {
    /// The lowest index with this capacity.
    pub(super) fn lowest(&self, capacity: usize) -> Option<usize> {
        self.roots.get(&(capacity as u64)).copied()
    }

    /// The list has one more block, of this capacity.
    pub(super) fn push(&mut self, capacity: usize) {
        let index = self.nodes.len();
        self.nodes.push(Node::alone(index));
        let root = *self.roots.entry(capacity as u64).or_insert(index);
        if root != index {
            let newest = std::mem::replace(&mut self.nodes[root].newest, index);
            self.link(newest, index);
        }
    }

    /// The list loses its last block, of this capacity.
    pub(super) fn pop(&mut self, capacity: usize) {
        let last = self.nodes.len() - 1;
        match self.lowest(capacity) {
            Some(root) if root != last => self.unlink(last, root),
            _ => {
                self.roots.remove(&(capacity as u64));
            }
        }
        self.nodes.pop();
    }

    /// The block at `index`, the lowest of those with its capacity, is replaced by one of another capacity.
    pub(super) fn replace(&mut self, index: usize, capacity: usize, by: usize) {
        if by == capacity {
            return;
        }
        let Node { child, newest, .. } = self.nodes[index];
        match self.merge(child) {
            NONE => {
                self.roots.remove(&(capacity as u64));
            }
            root => {
                self.nodes[root].newest = if newest == index { root } else { newest };
                self.roots.insert(capacity as u64, root);
            }
        }
        self.nodes[index] = Node::alone(index);
        let root = self.roots.entry(by as u64).or_insert(index);
        let lower = index.min(*root);
        let root = std::mem::replace(root, lower);
        if root != index {
            self.nodes[lower].newest = self.nodes[root].newest;
            self.link(root, index);
        }
    }

    /// Puts the higher of two below the lower one, which is the result.
    fn link(&mut self, one: usize, other: usize) -> usize {
        let (lower, higher) = (one.min(other), one.max(other));
        let first = std::mem::replace(&mut self.nodes[lower].child, higher);
        if first != NONE {
            self.nodes[first].previous = higher;
        }
        (self.nodes[higher].next, self.nodes[higher].previous) = (first, lower);
        lower
    }

    /// Takes one without children out of the class of this root, which it is not.
    fn unlink(&mut self, index: usize, root: usize) {
        let Node { next, previous, .. } = self.nodes[index];
        let before = &mut self.nodes[previous];
        if before.child == index {
            before.child = next;
        } else {
            before.next = next;
        }
        if next != NONE {
            self.nodes[next].previous = previous;
        }
        if self.nodes[root].newest == index {
            self.nodes[root].newest = previous;
        }
    }

    /// One heap of all that were below a node, from the first of them on: linked in pairs, then all pairs from the last.
    fn merge(&mut self, first: usize) -> usize {
        let (mut rest, mut pairs) = (first, NONE);
        while rest != NONE {
            let one = rest;
            let other = self.nodes[one].next;
            let mut pair = one;
            rest = NONE;
            if other != NONE {
                rest = self.nodes[other].next;
                pair = self.link(one, other);
            }
            self.nodes[pair].next = pairs;
            pairs = pair;
        }
        let mut root = NONE;
        while pairs != NONE {
            let next = self.nodes[pairs].next;
            root = if root == NONE { pairs } else { self.link(root, pairs) };
            pairs = next;
        }
        if root != NONE {
            (self.nodes[root].next, self.nodes[root].previous) = (NONE, NONE);
        }
        root
    }
}
