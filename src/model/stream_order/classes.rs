//! For each capacity, the lowest index in the list of free blocks that has it.
//!
//! A class is a pairing heap whose nodes are the indexes themselves, so no memory is kept for what has left the list. Two
//! facts about the list make it quick: the index at its end is the highest of its class, so it has no children and is
//! unlinked at once; and an index that is taken from the middle is the lowest of its class, so it is the root.

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
}

const ALONE: Node = Node { child: NONE, next: NONE, previous: NONE };

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
        self.roots.get(capacity as u64)
    }

    /// The list has one more block, of this capacity.
    pub(super) fn push(&mut self, capacity: usize) {
        self.nodes.push(ALONE);
        self.join(capacity, self.nodes.len() - 1);
    }

    /// The list loses its last block, of this capacity.
    pub(super) fn pop(&mut self, capacity: usize) {
        let last = self.nodes.len() - 1;
        if self.nodes[last].previous == NONE {
            self.roots.remove(capacity as u64);
        } else {
            self.unlink(last);
        }
        self.nodes.pop();
    }

    /// The list loses the block at `index`, the lowest of those with its capacity, and its last block moves there.
    pub(super) fn swap_remove(&mut self, index: usize, capacity: usize, capacity_of_last: usize) {
        match self.merge(self.nodes[index].child) {
            NONE => {
                self.roots.remove(capacity as u64);
            }
            root => self.roots.insert(capacity as u64, root),
        }
        let last = self.nodes.len() - 1;
        if index != last {
            self.nodes[index] = ALONE;
            if self.nodes[last].previous == NONE {
                self.roots.insert(capacity_of_last as u64, index);
            } else {
                self.unlink(last);
                self.join(capacity_of_last, index);
            }
        }
        self.nodes.pop();
    }

    /// Adds a node that is alone to a class.
    fn join(&mut self, capacity: usize, index: usize) {
        let root = self.roots.get_or_insert(capacity as u64, index);
        if *root != index {
            *root = link(&mut self.nodes, *root, index);
        }
    }

    /// Takes a node without children out of those below another.
    fn unlink(&mut self, index: usize) {
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
                pair = link(&mut self.nodes, one, other);
            }
            self.nodes[pair].next = pairs;
            pairs = pair;
        }
        let mut root = NONE;
        while pairs != NONE {
            let next = self.nodes[pairs].next;
            root = if root == NONE { pairs } else { link(&mut self.nodes, root, pairs) };
            pairs = next;
        }
        if root != NONE {
            (self.nodes[root].next, self.nodes[root].previous) = (NONE, NONE);
        }
        root
    }
}

/// Puts the higher of two roots below the lower one, which is the result.
fn link(nodes: &mut [Node], one: usize, other: usize) -> usize {
    let (lower, higher) = (one.min(other), one.max(other));
    let first = std::mem::replace(&mut nodes[lower].child, higher);
    if first != NONE {
        nodes[first].previous = higher;
    }
    (nodes[higher].next, nodes[higher].previous) = (first, lower);
    lower
}
