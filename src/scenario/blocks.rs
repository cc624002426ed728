//! Blocks: loops, and what else a line may open.

use super::check::Checker;
use super::names::{Kind, Meaning};
use super::value::{Bounds, Value};
use super::{Formula, Instruction, codes};
use crate::base::{Diagnostic, Span};
use crate::syntax::ast;

/// What a block does with the statements in it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    /// It repeats them; where it is in the code.
    Loop(usize),
    /// It carries them out where a call has failed.
    Handler,
    /// A host thread of their own carries them out.
    Thread,
    /// Another process does.
    Process,
    /// They are the nodes of a graph.
    Graph,
    /// Nothing that is known, since the line that opens it has a mistake.
    Broken,
}

/// A block that is being read.
pub(super) struct Around {
    pub(super) block: Block,
    /// Whether the index of a buffer depends on its variable.
    pub(super) chooses_buffers: bool,
    /// The names that end with it.
    pub(super) names: Vec<String>,
}

impl Checker<'_> {
    pub(super) fn repeat(&mut self, span: Span, repeat: &ast::Repeat) {
        let from = self.constant_count(&repeat.from);
        let to = self.constant_count(&repeat.to);
        let bounds = from.zip(to).filter(|(from, to)| {
            if from > to {
                let place = repeat.from.span.to(repeat.to.span);
                let diagnostic =
                    Diagnostic::error(codes::REVERSED_BOUNDS, "this loop ends before it begins", place, "");
                let lower = self.text[repeat.to.span.range()].to_owned();
                let upper = &self.text[repeat.from.span.range()];
                self.diagnostics.push(diagnostic.fix("swap the bounds", place, format!("{lower}..{upper}")));
            }
            from <= to
        });
        let Some((from, to)) = bounds else {
            self.enter(Block::Broken);
            self.bind(&repeat.variable, Kind::Value, None);
            self.items(&repeat.body.items);
            return self.leave();
        };
        let register = self.register();
        let start = self.code.len();
        self.count_turns(span, to - from);
        self.code.push(Instruction::Repeat { register, from, to, end: 0 });
        self.enter(Block::Loop(start));
        let depth = self.blocks.len() - 1;
        let last = to.saturating_sub(1).max(from);
        let bounds = Bounds { low: i128::from(from), high: i128::from(last), loops: 1 << depth };
        let variable =
            Value { formula: Formula::Register(register), unit: super::Unit::Count, bounds: Some(bounds) };
        self.bind(&repeat.variable, Kind::Value, Some(Meaning::Value(variable)));
        let turns = self.turns;
        self.turns = turns.saturating_mul(to - from);
        self.items(&repeat.body.items);
        self.turns = turns;
        let end = self.code.len();
        self.code.push(Instruction::Again { register, to, start });
        self.code[start] = Instruction::Repeat { register, from, to, end };
        self.leave();
    }

    pub(super) fn enter(&mut self, block: Block) {
        self.blocks.push(Around { block, chooses_buffers: false, names: Vec::new() });
    }

    pub(super) fn leave(&mut self) {
        let Some(ended) = self.blocks.pop() else { return };
        ended.names.iter().for_each(|name| self.table.unbind(name));
        if let Block::Loop(start) = ended.block
            && ended.chooses_buffers
        {
            self.choosing.push(start);
        }
    }
}
