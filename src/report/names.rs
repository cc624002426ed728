//! What the ids of a run are called: streams, pools, lines, and which name each block had when it was handed out.
//!
//! It remembers an allocation for as long as a byte of it was not handed out again, and nothing for longer.

use crate::base::{BufferId, Bytes, HostId, StmtId, StreamId};
use crate::oracle::Verdict;
use crate::scenario::{Action, Chosen, GraphAction, Handle, ImportInto, Instruction, Program};
use crate::trace::{AllocId, Call, Event, GraphCall, Kind, Memory, Range, Ticket};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// What is known about an allocation.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The statement that asked for it.
    pub(crate) stmt: StmtId,
    /// Its addresses.
    pub(crate) range: Range,
    /// Its name, once known.
    pub(crate) buffer: Option<BufferId>,
    /// When and where its free was called.
    pub(crate) freed: Option<Freed>,
    /// In how many pieces its bytes are still its own.
    pieces: u32,
}

/// A free that was called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Freed {
    /// By this statement.
    pub(crate) stmt: StmtId,
    /// Its place in its stream, once it has one.
    pub(crate) ticket: Option<Ticket>,
}

/// The names of a run so far.
#[derive(Clone, Debug)]
pub(crate) struct Book<'p> {
    /// The program.
    pub(crate) program: &'p Program,
    /// For each statement that allocates, the name it gives.
    allocates: BTreeMap<StmtId, &'p Chosen<BufferId>>,
    /// Who had which byte last: start -> (end, serial).
    owners: BTreeMap<u64, (u64, u32)>,
    /// The allocations of graphs by their addresses: several of one graph may have the same.
    nodes: BTreeMap<(u64, u32), Bytes>,
    /// Whether the call in progress adds a node to a graph.
    is_node: bool,
    known: BTreeMap<u32, Known>,
    /// The allocation that was placed last.
    latest: u32,
    /// The free in progress; it counts once it did not fail.
    freeing: Option<(AllocId, Freed)>,
}

impl<'p> Book<'p> {
    /// The names before the first call.
    pub(crate) fn new(program: &'p Program) -> Self {
        let named = |action: &'p Action| match action {
            Action::Alloc { buffer, .. }
            | Action::Malloc { buffer, .. }
            | Action::Import { into: ImportInto::Memory { buffer, .. }, .. } => Some(buffer),
            _ => None,
        };
        let allocates = program.code.iter().filter_map(|instruction| match instruction {
            Instruction::Call { stmt, action: Action::Graph(GraphAction::Node { node, .. }) } => {
                named(node).map(|buffer| (*stmt, buffer))
            }
            Instruction::Call { stmt, action } => named(action).map(|buffer| (*stmt, buffer)),
            _ => None,
        });
        Self {
            program,
            allocates: allocates.collect(),
            owners: BTreeMap::new(),
            nodes: BTreeMap::new(),
            is_node: false,
            known: BTreeMap::new(),
            latest: 0,
            freeing: None,
        }
    }

    /// Learns from an event. To ask what was there before a decision, ask before this.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(call) => {
                self.settle();
                self.is_node = matches!(call, Call::Graph(GraphCall::Node { .. }));
                if let Call::Free { alloc, .. } | Call::PlainFree { alloc } = call {
                    let freed = Freed { stmt: event.stmt, ticket: event.ticket };
                    self.freeing = Some((*alloc, freed));
                }
            }
            Kind::Submitted(_) => {
                if let Some((_, freed)) = &mut self.freeing {
                    freed.ticket = freed.ticket.or(event.ticket);
                }
                self.settle();
            }
            Kind::Failed { .. } => self.freeing = None,
            Kind::Decided(decision) => {
                self.latest = decision.alloc.serial;
                if decision.alloc == AllocId::NULL {
                    return;
                }
                let buffer = self.allocates.get(&event.stmt);
                let buffer = buffer.filter(|chosen| chosen.index.is_none()).map(|chosen| chosen.base);
                let known = Known { stmt: event.stmt, range: decision.range, buffer, freed: None, pieces: 0 };
                self.known.insert(self.latest, known);
                match (self.is_node, decision.reuses) {
                    // An address of its own graph again: both keep it.
                    (true, Some(_)) => {}
                    _ => {
                        self.forget_nodes(decision.range);
                        self.claim(decision.range, self.latest);
                    }
                }
                if self.is_node {
                    self.pieces(self.latest, 1);
                    self.nodes.insert((decision.range.start, self.latest), decision.range.size);
                }
            }
            Kind::Node { call: Call::Free { alloc, .. }, .. } => {
                if let Some(known) = self.known.get_mut(&alloc.serial) {
                    known.freed = Some(Freed { stmt: event.stmt, ticket: event.ticket });
                }
            }
            Kind::Freed(alloc) => {
                if let Some(known) = self.known.get_mut(&alloc.serial) {
                    known.freed = Some(Freed { stmt: event.stmt, ticket: None });
                }
            }
            Kind::Named(buffer) => {
                if let Some(known) = self.known.get_mut(&self.latest) {
                    known.buffer = Some(buffer);
                }
            }
            _ => {}
        }
    }

    /// Whatever graph had these addresses is gone.
    fn forget_nodes(&mut self, range: Range) {
        let below = self.nodes.range(..(range.end(), 0)).rev();
        let gone: Vec<_> = below
            .take_while(|((start, _), size)| Range { start: *start, size: **size }.overlaps(range))
            .map(|(node, _)| *node)
            .collect();
        for node in gone {
            self.nodes.remove(&node);
            self.pieces(node.1, -1);
        }
    }

    fn settle(&mut self) {
        if let Some((alloc, freed)) = self.freeing.take()
            && let Some(known) = self.known.get_mut(&alloc.serial)
        {
            known.freed = Some(freed);
        }
    }

    /// Gives the bytes of a range to an allocation; forgets whoever has none left.
    fn claim(&mut self, range: Range, serial: u32) {
        let (start, end) = (range.start, range.end());
        if let Some((before, (until, owner))) =
            self.owners.range(..start).next_back().map(|(at, own)| (*at, *own))
            && until > start
        {
            self.owners.insert(before, (start, owner));
            if until > end {
                self.owners.insert(end, (until, owner));
                self.pieces(owner, 1);
            }
        }
        while let Some((at, (until, owner))) =
            self.owners.range(start..end).next().map(|(at, own)| (*at, *own))
        {
            self.owners.remove(&at);
            if until > end {
                self.owners.insert(end, (until, owner));
            } else {
                self.pieces(owner, -1);
            }
        }
        if start < end {
            self.owners.insert(start, (end, serial));
            self.pieces(serial, 1);
        }
    }

    fn pieces(&mut self, serial: u32, by: i32) {
        if let Some(known) = self.known.get_mut(&serial) {
            known.pieces = known.pieces.saturating_add_signed(by);
            if known.pieces == 0 {
                self.known.remove(&serial);
            }
        }
    }

    /// What is known about an allocation.
    pub(crate) fn known(&self, alloc: AllocId) -> Option<&Known> {
        self.known.get(&alloc.serial)
    }

    /// The name of an allocation: `x`, `block[7]`.
    pub(crate) fn block(&self, alloc: AllocId) -> String {
        if alloc == AllocId::NULL {
            return "null".to_owned();
        }
        match self.known(alloc) {
            Some(Known { buffer: Some(buffer), .. }) => self.program.names.buffers[*buffer].clone(),
            Some(known) => self.asked_as(known.stmt),
            None => format!("allocation {}", alloc.serial),
        }
    }

    /// The name of memory: of the allocation, or of the buffer of the host.
    pub(crate) fn memory(&self, memory: Memory) -> Cow<'p, str> {
        match memory {
            Memory::Device(alloc) | Memory::Managed(alloc) | Memory::HostPool(alloc) => {
                Cow::Owned(self.block(alloc))
            }
            Memory::Pinned(id) | Memory::Pageable(id) => {
                let program: &'p Program = self.program;
                Cow::Borrowed(&program.names.buffers[program.host_buffers[id].name])
            }
        }
    }

    /// The name of the allocation that was placed last, where it is known.
    pub(crate) fn latest_name(&self) -> Option<String> {
        let buffer = self.known.get(&self.latest)?.buffer?;
        Some(self.program.names.buffers[buffer].clone())
    }

    /// The name of a buffer, behind that of a further process: `x`, `reader.y`.
    pub(crate) fn buffer(&self, buffer: BufferId) -> &'p str {
        let program: &'p Program = self.program;
        &program.names.buffers[buffer]
    }

    /// The further process that a buffer belongs to.
    pub(crate) fn process(&self, buffer: BufferId) -> Option<&'p str> {
        self.buffer(buffer).rsplit_once('.').map(|(process, _)| process)
    }

    /// What its own process calls a buffer: without the process.
    pub(crate) fn own_name(&self, buffer: BufferId) -> &'p str {
        let name = self.buffer(buffer);
        name.rsplit_once('.').map_or(name, |(_, own)| own)
    }

    /// The name as the statement writes it, behind its process: `x`, `block[i]`, `reader.y`.
    pub(crate) fn asked_as(&self, stmt: StmtId) -> String {
        let text = &self.program.statements[stmt].text;
        let name = text.split_once(" = ").map_or(text.as_str(), |(left, _)| left);
        let name = name.rsplit_once(": ").map_or(name, |(_, name)| name).trim();
        let named = self.allocates.get(&stmt).map(|chosen| self.program.names.buffers[chosen.base].as_str());
        match named.and_then(|named| named.rsplit_once('.')) {
            Some((process, _)) => format!("{process}.{name}"),
            None => name.to_owned(),
        }
    }

    /// The line of a statement.
    pub(crate) fn line(&self, stmt: StmtId) -> u32 {
        self.program.statements[stmt].line
    }

    /// The text of a statement after its stream: `fill(x)`.
    pub(crate) fn operation(&self, stmt: StmtId) -> &'p str {
        let program: &'p Program = self.program;
        let text = program.statements[stmt].text.as_str();
        match text.split_once(": ") {
            Some((stream, rest)) if !stream.contains(' ') && !stream.contains('(') => rest.trim_start(),
            _ => text,
        }
    }

    /// Whether a statement is a line in the block of a graph.
    pub(crate) fn is_node(&self, stmt: StmtId) -> bool {
        self.program.code.iter().any(|instruction| match instruction {
            Instruction::Call { stmt: at, action: Action::Graph(GraphAction::Node { .. }) } => *at == stmt,
            _ => false,
        })
    }

    /// What kind of thing a statement destroys.
    pub(crate) fn destroyed(&self, stmt: StmtId) -> Option<&'p Handle> {
        let program: &'p Program = self.program;
        program.code.iter().find_map(|instruction| match instruction {
            Instruction::Call { stmt: at, action: Action::Destroy(handle) } if *at == stmt => Some(handle),
            _ => None,
        })
    }

    /// Whether a statement was skipped.
    pub(crate) fn skipped(&self, verdict: &Verdict, stmt: StmtId) -> bool {
        verdict.skipped.iter().any(|skipped| skipped.stmt == stmt)
    }

    /// The name of a host thread.
    pub(crate) fn thread(&self, host: HostId) -> &'p str {
        let program: &'p Program = self.program;
        &program.names.hosts[host]
    }

    /// Whether a host thread is the one that begins a further process.
    pub(crate) fn is_process(&self, host: HostId) -> bool {
        let processes = &self.program.setup.processes;
        let process = processes[host];
        process.index() > 0 && processes.iter().position(|other| *other == process) == Some(host.index())
    }

    /// The name of a stream.
    pub(crate) fn stream(&self, stream: StreamId) -> &'p str {
        let program: &'p Program = self.program;
        &program.names.streams[stream]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{Bytes, index_vec};
    use crate::trace::{DeviceSetup, Rules, Setup};

    fn nothing() -> Program {
        let rules = Rules::default();
        let setup = Setup { devices: index_vec![DeviceSetup::new(Bytes::gib(1))], rules, ..Setup::default() };
        Program {
            variant: None,
            variants: Vec::new(),
            title: String::new(),
            setup,
            names: Default::default(),
            code: Vec::new(),
            registers: 0,
            creates: 0,
            length: 0,
            statements: index_vec![],
            host_buffers: index_vec![],
            conditional: Vec::new(),
            expects: index_vec![],
            snapshots: index_vec![],
            levels: Default::default(),
        }
    }

    fn place(book: &mut Book<'_>, serial: u32, start: u64, size: u64) {
        let range = Range { start, size: Bytes(size) };
        let stmt = StmtId::new(0);
        book.known.insert(serial, Known { stmt, range, buffer: None, freed: None, pieces: 0 });
        book.claim(range, serial);
    }

    #[test]
    fn an_allocation_is_known_while_a_byte_is_its_own() {
        let program = nothing();
        let mut book = Book::new(&program);
        place(&mut book, 1, 0, 4096);
        place(&mut book, 2, 1024, 1024);
        assert_eq!(book.known[&1].pieces, 2);
        place(&mut book, 3, 0, 1024);
        assert_eq!(book.known[&1].pieces, 1);
        place(&mut book, 4, 512, 3584);
        assert_eq!(book.known.keys().copied().collect::<Vec<_>>(), [3, 4]);
        assert_eq!(book.owners.len(), 2);
    }
}
