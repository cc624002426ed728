//! Parts of buffers and what touches them: views, buffers of the host, copies, memsets, reads and writes by the host.

use super::check::Checker;
use super::declare::access as access_of;
use super::held::Kind as MemoryKind;
use super::names::{Kind, Meaning};
use super::{Action, Chosen, Instruction, Outcome, Place, Unit, codes};
use crate::base::{BufferId, Bytes, Diagnostic, Nanos, Span, StmtId, StreamId, stable_hash};
use crate::syntax::ast::{self, Path};
use crate::trace::Law;

/// What a name must stand for so that its memory can be touched.
const TOUCHABLE: [Kind; 3] = [Kind::Buffer, Kind::View, Kind::HostBuffer];

/// The buffers of the host that a line declares.
#[derive(Clone, Copy)]
pub(super) struct HostName {
    pub(super) size: Bytes,
    pub(super) kind: MemoryKind,
    /// The number of elements of an array.
    pub(super) count: Option<u64>,
}

impl Checker<'_> {
    /// `x`, `x[0..4KiB]`
    pub(super) fn place(&mut self, place: &ast::Place) -> Option<Place> {
        let buffer = self.named_buffer(&place.path, &TOUCHABLE);
        self.mention_as(place.span);
        let part = match &place.part {
            Some(part) => Some(Box::new(self.part_of(part)?)),
            None => None,
        };
        Some(Place { buffer: buffer?, part })
    }

    fn part_of(&mut self, part: &ast::Part) -> Option<(super::Formula, super::Formula)> {
        let (from, to) = (self.value(&part.from, Unit::Bytes), self.value(&part.to, Unit::Bytes));
        let (from, to) = (from?, to?);
        if let (Some(first), Some(end)) = (from.as_constant(), to.as_constant())
            && first >= end
        {
            let span = part.from.span.to(part.to.span);
            let (message, label) = ("this part has no bytes", "expected a start below the end");
            self.error(codes::EMPTY_PART, message, span, label);
            return None;
        }
        Some((from.formula, to.formula))
    }

    // ---- Names

    pub(super) fn declare_host_buffers(&mut self, declared: &ast::HostBuffers) {
        let size = self.constant_size(&declared.size);
        let kind = if declared.pinned { MemoryKind::Pinned } else { MemoryKind::Pageable };
        for one in &declared.names {
            let count = self.array(one, self.buffers.len() as u64, super::NAMES_MAX);
            let segment = ast::Segment { name: one.name.clone(), index: one.count.clone() };
            let Some((size, count)) = size.zip(count) else {
                self.bind(&one.name, Kind::HostBuffer, None);
                continue;
            };
            if self.new_buffer(&segment, Kind::HostBuffer)
                && let Some(buffer) = self.buffers.last_mut()
            {
                buffer.last = count.unwrap_or(1) - 1;
                buffer.host = Some(HostName { size, kind, count });
            }
        }
    }

    /// `view a = slab[0..1MiB]`: the name stands for these bytes until another such line.
    pub(super) fn view(&mut self, span: Span, view: &ast::View) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let name = self.given_name(&view.name, Kind::View);
        let of = self.place(&view.of);
        match name.zip(of) {
            Some((name, of)) => self.code.push(Instruction::View { stmt, name, of }),
            None => self.is_uncertain(&view.name),
        }
    }

    // ---- Calls

    pub(super) fn copy(
        &mut self,
        stmt: StmtId,
        on: Option<(&Path, Option<Chosen<StreamId>>)>,
        copy: &ast::Copy,
    ) -> Option<Action> {
        let (to, from) = (self.place(&copy.to), self.place(&copy.from));
        let (stream, blocking, takes) = self.transfer(stmt, on, "copy", copy.takes.as_ref());
        Some(Action::Copy { stream: stream?, blocking, takes: takes?, to: to?, from: from? })
    }

    pub(super) fn memset(
        &mut self,
        stmt: StmtId,
        on: Option<(&Path, Option<Chosen<StreamId>>)>,
        memset: &ast::Memset,
    ) -> Option<Action> {
        let at = self.place(&memset.at);
        let (stream, blocking, takes) = self.transfer(stmt, on, "memset", memset.takes.as_ref());
        Some(Action::Memset { stream: stream?, blocking, takes: takes?, at: at? })
    }

    /// The stream of a transfer, whether it is the host's own call, and how long it runs. The host's own runs in the legacy
    /// default stream of the first device.
    fn transfer(
        &mut self,
        stmt: StmtId,
        on: Option<(&Path, Option<Chosen<StreamId>>)>,
        word: &str,
        takes: Option<&ast::Law>,
    ) -> (Option<Chosen<StreamId>>, bool, Option<Law>) {
        let takes = match takes {
            Some(law) => self.law(law),
            None => Some(Law::Constant(Nanos::ZERO)),
        };
        let (stream, draws) = match &on {
            Some((path, stream)) => (stream.clone(), self.draws_of(path, word)),
            None => {
                let span = self.statements[stmt].span;
                let first = self.first_device();
                let stream = first.and_then(|first| self.default_stream(first, "legacy", span));
                let nth = self.launches.entry((self.reported(""), word.to_owned())).or_default();
                *nth += 1;
                (stream, stable_hash(&["", word, &nth.to_string()]))
            }
        };
        self.statements[stmt].draws = draws;
        (stream, on.is_none(), takes)
    }

    /// `read x`, `write x`
    pub(super) fn touch(&mut self, place: &ast::Place, access: ast::Access) -> Option<Action> {
        self.place(place).map(|at| Action::Touch { at, access: access_of(access) })
    }

    /// The name that an allocation or a view gets. Where it is the name of something else, that is told as such.
    pub(super) fn given_name(&mut self, path: &Path, kind: Kind) -> Option<Chosen<BufferId>> {
        if let [segment] = path.segments.as_slice() {
            let is_known = self.table.get(&segment.name.text).is_some_and(|other| other.kind == kind);
            if !is_known && !self.new_buffer(segment, kind) {
                return None;
            }
        }
        self.named_buffer(path, &[kind])
    }

    /// After a mistake, nothing is said about the life of this name.
    pub(super) fn is_uncertain(&mut self, path: &Path) {
        let name = &path.segments[0].name.text;
        if let Some(Meaning::Buffer(at)) = self.table.get(name).and_then(|binding| binding.meaning.as_ref()) {
            self.buffers[*at].uncertain = true;
        }
    }
}

/// What to do where a name of this kind stands for memory that cannot be freed or named again.
pub(super) fn advice(kind: Kind, diagnostic: Diagnostic) -> Diagnostic {
    match kind {
        Kind::View => {
            diagnostic.help("a view is a part of a buffer and lives as long as that: name the buffer")
        }
        Kind::HostBuffer => diagnostic.help("a buffer of the host is there from the start to the end"),
        _ => diagnostic,
    }
}
