//! Calls and expectations: each statement becomes instructions.

use super::blocks::Block;
use super::check::Checker;
use super::compute::{common_unit, default_stream_word};
use super::names::{Kind, Meaning, label_kind};
use super::value::unit_name;
use super::{
    Action, Chosen, Demand, Expect, Formula, Instruction, Outcome, Place, Quantifier, SnapshotLine,
    SyncTarget, Unit, Value, codes,
};
use crate::base::{BufferId, Diagnostic, Span, StmtId, stable_hash};
use crate::syntax::ast::{self, CallKind, Operation, Path, Relation};
use crate::trace::{Access, Attribute, Comparison, Failure, Figure, Policy, Takes};

impl Checker<'_> {
    pub(super) fn call(&mut self, span: Span, call: &ast::Call) {
        let outcome = self.outcome(call.outcome.as_ref());
        let stmt = self.begin(span, outcome.unwrap_or(Outcome::Succeeds));
        if let Some(label) = &call.label {
            let (kind, meaning) = match label_kind(call) {
                Kind::Label => (Kind::Label, Meaning::Label(stmt)),
                kind => (kind, Meaning::CallLabel(stmt)),
            };
            self.bind(label, kind, Some(meaning));
        }
        let action = match &call.kind {
            CallKind::Queued { stream, operation } => self.queued(stmt, stream, operation),
            CallKind::Sync(target) => self.sync(target.as_ref()).map(Action::Sync),
            CallKind::Query(path) => self.queried(path).map(Action::Query),
            CallKind::Poll(path) => self.queried(path).map(Action::Poll),
            CallKind::Elapsed { name, from, to } => self.elapsed(name, from, to),
            CallKind::Sleep(duration) => self.runtime_value(duration, Unit::Nanos).map(Action::Sleep),
            CallKind::Trim { pool, keep } => {
                let (pool, keep) = (self.pool(pool), self.runtime_value(keep, Unit::Bytes));
                pool.zip(keep).map(|(pool, keep)| Action::Trim { pool, keep })
            }
            CallKind::Set { attribute, value } => self.set(attribute, value),
            CallKind::Reset(attribute) => self.reset(attribute),
            CallKind::SetPool { device, pool } => self.set_pool(device, pool),
            CallKind::Graph(call) => self.graph_call(call),
            CallKind::Grant(grant) => self.grant(grant),
            CallKind::Revoke { pool, device } => self.revoke(pool, device),
            CallKind::Export { what, under } => self.export(what, under),
            CallKind::Import(import) => self.import(import),
            CallKind::Create(create) => self.create(create),
            CallKind::Destroy(path) => self.destroy(path),
            CallKind::Signal(name) => self.give(name).map(Action::Signal),
            CallKind::Malloc(malloc) => self.malloc(malloc),
            CallKind::Reserve { size, device } => self.reserve(size, device.as_ref()),
            CallKind::Free(buffer) => self.plain_free(buffer),
            CallKind::Copy(copy) => self.copy(stmt, None, copy),
            CallKind::Memset(memset) => self.memset(stmt, None, memset),
            CallKind::Touch { at, access } => self.touch(at, *access),
            CallKind::Await(name) => self.waited_for(name),
            CallKind::Join(path) => self.join(path),
            CallKind::Barrier { name, of } => self.barrier(name, of).map(Action::Barrier),
        };
        let action = action.and_then(|action| self.captured(stmt, call, action));
        match action.filter(|_| outcome.is_some()) {
            Some(action) => self.code.push(Instruction::Call { stmt, action }),
            // Nothing more is said about the buffers of a statement with a mistake.
            None => {
                self.buffers_are_uncertain(call);
                self.resources_are_uncertain(&call.kind);
            }
        }
        if let Some(body) = call.handler() {
            self.handler(outcome, body);
        }
    }

    /// The block behind `else`. It is read even where its call has a mistake.
    fn handler(&mut self, outcome: Option<Outcome>, body: &ast::Body) {
        let start = self.code.len();
        if let Some(Outcome::Handled { failure, .. }) = outcome {
            self.code.push(Instruction::Otherwise { failure, end: 0 });
        }
        self.block(Block::Handler, &body.items);
        let after = self.code.len();
        if let Some(Instruction::Otherwise { end, .. }) = self.code.get_mut(start) {
            *end = after;
        }
    }

    /// The lines between the braces of a block that is opened at this place.
    fn lines_of(&self, opened: Span, body: &ast::Body) -> (u32, u32) {
        let opened = self.lines.line(opened.start);
        let close = body.close.as_ref().map_or(opened, |close| self.lines.line(close.span.start));
        if close > opened + 1 { (opened + 1, close - 1) } else { (opened, opened) }
    }

    /// After a mistake, nothing is said about the life of the buffers that the statement is about.
    fn buffers_are_uncertain(&mut self, call: &ast::Call) {
        match &call.kind {
            CallKind::Queued {
                operation: Operation::Alloc { buffer, .. } | Operation::Free(buffer), ..
            }
            | CallKind::Malloc(ast::Malloc { buffer, .. })
            | CallKind::Import(ast::Import { name: buffer, .. })
            | CallKind::Free(buffer) => self.is_uncertain(buffer),
            CallKind::Queued { operation: Operation::Launch { arguments, .. }, .. } => {
                arguments.iter().for_each(|argument| self.is_uncertain(&argument.path));
            }
            CallKind::Queued { operation: Operation::Copy(copy), .. } | CallKind::Copy(copy) => {
                self.is_uncertain(&copy.to.path);
                self.is_uncertain(&copy.from.path);
            }
            CallKind::Queued { operation: Operation::Memset(ast::Memset { at, .. }), .. }
            | CallKind::Memset(ast::Memset { at, .. })
            | CallKind::Touch { at, .. } => self.is_uncertain(&at.path),
            _ => {}
        }
    }

    fn outcome(&mut self, outcome: Option<&ast::Outcome>) -> Option<Outcome> {
        let Some(outcome) = outcome else { return Some(Outcome::Succeeds) };
        let failure = self.failure(&outcome.error)?;
        Some(match &outcome.kind {
            ast::OutcomeKind::Fails => Outcome::Fails(failure),
            ast::OutcomeKind::OrFails => Outcome::MayFail(failure),
            ast::OutcomeKind::Else(body) => {
                Outcome::Handled { failure, lines: self.lines_of(outcome.error.span, body) }
            }
        })
    }

    /// The error that a word names.
    pub(super) fn failure(&mut self, word: &ast::Name) -> Option<Failure> {
        let known = Failure::ALL.map(|failure| (failure.name(), failure));
        self.word(word, codes::UNKNOWN_ERROR, "error called", known)
    }

    /// A value that may depend on what the run read before.
    pub(super) fn runtime_value(&mut self, expression: &ast::Expression, unit: Unit) -> Option<Formula> {
        self.value(expression, unit).map(|value| value.formula)
    }

    fn queued(&mut self, stmt: StmtId, path: &Path, operation: &Operation) -> Option<Action> {
        let stream = self.stream(path);
        match operation {
            Operation::Alloc { buffer, size, pool } => {
                let buffer = self.allocated(buffer);
                let size = self.runtime_value(size, Unit::Bytes);
                let pool = match pool {
                    Some(pool) => self.pool(pool).map(Some),
                    None => Some(None),
                };
                if let Some((pool, stream)) = pool.zip(stream.as_ref()) {
                    let from = pool.ok_or(self.setup.streams[stream.base].device);
                    // A pool only says for which device a graph allocates.
                    if self.capture.is_none() {
                        self.drivers.allocates(from, self.statements[stmt].span);
                    }
                }
                Some(Action::Alloc { stream: stream?, pool: pool?, size: size?, buffer: buffer? })
            }
            Operation::Free(buffer) => {
                let buffer = self.buffer(buffer);
                Some(Action::Free { stream: stream?, buffer: buffer? })
            }
            Operation::Record(event) => {
                let event = self.event(event);
                Some(Action::Record { stream: stream?, event: event? })
            }
            Operation::Wait(event) => {
                let event = self.event(event);
                Some(Action::Wait { stream: stream?, event: event? })
            }
            Operation::Copy(copy) => self.copy(stmt, Some((path, stream)), copy),
            Operation::Memset(memset) => self.memset(stmt, Some((path, stream)), memset),
            Operation::LaunchGraph(exec) => self.launch_graph(stream, exec),
            Operation::Host(function) => self.host_function(stmt, path, stream, function),
            Operation::Launch { .. } => self.launch(stmt, path, stream, operation),
        }
    }

    /// The name that an allocation gets.
    pub(super) fn allocated(&mut self, path: &Path) -> Option<Chosen<BufferId>> {
        self.given_name(path, Kind::Buffer)
    }

    fn launch(
        &mut self,
        stmt: StmtId,
        path: &Path,
        stream: Option<Chosen<crate::base::StreamId>>,
        operation: &Operation,
    ) -> Option<Action> {
        let Operation::Launch { kernel: name, arguments, parentheses, takes } = operation else {
            return None;
        };
        let buffers: Vec<_> = arguments.iter().map(|argument| self.place(argument)).collect();
        let kernel = self.resolve(name, &[Kind::Kernel, Kind::Collective]);
        // Looked at even after another mistake of the line, so that all are told.
        let takes = takes.as_ref().map(|takes| (takes, self.takes(takes)));
        let kernel = match kernel? {
            Meaning::Kernel(kernel) => kernel,
            Meaning::Collective(collective) => {
                if let Some((takes, _)) = takes {
                    self.no_duration_of_its_own(name, takes);
                    return None;
                }
                self.statements[stmt].draws = self.draws(path, name);
                let buffers: Option<Vec<_>> = buffers.into_iter().collect();
                return self.part(collective, name, stream?, buffers?, *parentheses);
            }
            _ => return None,
        };
        self.launched.entry(kernel).or_default().push(stmt);
        let takes = takes.map(|(_, takes)| takes);
        let declared = &self.kernels[kernel.index()];
        let (wanted, place) = (declared.uses.len(), declared.parameters);
        self.argument_count(name, wanted, place, arguments.len(), *parentheses)?;
        let declared = &self.kernels[kernel.index()];
        let takes = takes.unwrap_or_else(|| declared.law.map(Takes::For));
        let uses: Option<Vec<(Place, Access)>> = buffers
            .into_iter()
            .zip(&declared.uses)
            .map(|(buffer, access)| Some((buffer?, *access)))
            .collect();
        self.statements[stmt].draws = self.draws(path, name);
        Some(Action::Launch { stream: stream?, kernel, takes: takes?, uses: uses? })
    }

    /// Tells it when a launch has another number of arguments than there are parameters.
    pub(super) fn argument_count(
        &mut self,
        name: &ast::Name,
        wanted: usize,
        declared: Span,
        given: usize,
        place: Span,
    ) -> Option<()> {
        if wanted == given {
            return Some(());
        }
        let plural = if wanted == 1 { "buffer" } else { "buffers" };
        let given = match given {
            0 => "none is".to_owned(),
            1 => "1 is".to_owned(),
            given => format!("{given} are"),
        };
        let message = format!("`{}` takes {wanted} {plural}, and {given} given", name.text);
        let label = format!("expected {wanted}");
        let diagnostic = Diagnostic::error(codes::WRONG_ARGUMENT_COUNT, message, place, label);
        self.tell(diagnostic.also(declared, "declared here"));
        None
    }

    pub(super) fn takes(&mut self, takes: &ast::Takes) -> Option<Takes> {
        match takes {
            ast::Takes::For(law) => self.law(law).map(Takes::For),
            ast::Takes::Until(signal) => self.awaited(signal).map(Takes::Until),
        }
    }

    /// Which random draws a launch gets: the n-th launch of this kernel that is written for this stream.
    pub(super) fn draws(&mut self, stream: &Path, kernel: &ast::Name) -> u64 {
        self.draws_of(stream, &kernel.text)
    }

    /// The same for an operation that has no name of its own.
    pub(super) fn draws_of(&mut self, stream: &Path, operation: &str) -> u64 {
        let stream: Vec<&str> = stream.segments.iter().map(|segment| segment.name.text.as_str()).collect();
        let stream = self.reported(&stream.join("."));
        let nth = self.launches.entry((stream.clone(), operation.to_owned())).or_default();
        *nth += 1;
        stable_hash(&[&stream, operation, &nth.to_string()])
    }

    fn sync(&mut self, target: Option<&Path>) -> Option<SyncTarget> {
        let Some(path) = target else { return self.first_device().map(SyncTarget::Device) };
        self.waited(path, &[Kind::Stream, Kind::Event, Kind::Device])
    }

    /// CUDA asks streams and events whether they are done, but no device.
    fn queried(&mut self, path: &Path) -> Option<SyncTarget> {
        self.waited(path, &[Kind::Stream, Kind::Event])
    }

    fn waited(&mut self, path: &Path, kinds: &[Kind]) -> Option<SyncTarget> {
        let [segment] = path.segments.as_slice() else { return self.stream(path).map(SyncTarget::Stream) };
        if default_stream_word(&segment.name.text).is_some() {
            return self.stream(path).map(SyncTarget::Stream);
        }
        match self.resolve(&segment.name, kinds)? {
            Meaning::Stream(row) => self.element(row, segment).map(SyncTarget::Stream),
            Meaning::Event(row) => self.element(row, segment).map(SyncTarget::Event),
            Meaning::Device(device) => Some(SyncTarget::Device(device)),
            _ => None,
        }
    }

    fn set(&mut self, path: &Path, value: &ast::Expression) -> Option<Action> {
        let first = &path.segments.first()?.name;
        if first.text == "profile" && self.table.get("profile").is_none() {
            let label = "a run has one profile from its start";
            let diagnostic =
                Diagnostic::error(codes::WRONG_KIND, "no call sets the profile", first.span, label);
            self.tell(diagnostic.help("write a line `profile { remap = off }`, or set it in a variant"));
            return None;
        }
        if let Some(figure) = self.graph_figure(path) {
            return self.set_graphs(figure, value);
        }
        let (pool, attribute) = self.attribute(path)?;
        let is_switch = Figure::Attribute(attribute).is_switch();
        let value = self.runtime_value(value, if is_switch { Unit::Switch } else { Unit::Bytes })?;
        if attribute == Attribute::Opportunistic && value == Formula::Constant(0) {
            self.drivers.switches_off(pool);
        }
        Some(Action::Set { pool, attribute, value })
    }

    fn attribute(&mut self, path: &Path) -> Option<(crate::base::PoolId, Attribute)> {
        let (pool, figure) = self.pool_and_figure(path)?;
        if let Figure::Attribute(attribute) = figure {
            return Some((pool, attribute));
        }
        let span = path.segments.last().map_or(path.span, |last| last.name.span);
        let message = format!("`{}` is a figure that can only be read", figure.name());
        self.error(codes::UNKNOWN_ATTRIBUTE, message, span, "expected an attribute of the pool");
        None
    }

    /// A device, or a high mark.
    fn reset(&mut self, path: &Path) -> Option<Action> {
        if let [device] = path.segments.as_slice()
            && self.kind_of(&device.name) != Some(Kind::Pool)
        {
            self.no_index(device)?;
            return match self.resolve(&device.name, &[Kind::Device])? {
                Meaning::Device(device) => Some(Action::ResetDevice(device)),
                _ => None,
            };
        }
        if let Some(figure) = self.graph_figure(path) {
            return self.reset_graphs(path, figure);
        }
        let (pool, attribute) = self.attribute(path)?;
        if !matches!(attribute, Attribute::ReservedHigh | Attribute::UsedHigh) {
            self.only_high_marks(path);
            return None;
        }
        Some(Action::Set { pool, attribute, value: Formula::Constant(0) })
    }

    pub(super) fn only_high_marks(&mut self, path: &Path) {
        let span = path.segments.last().map_or(path.span, |last| last.name.span);
        let label = "expected `reserved_high` or `used_high`";
        self.error(codes::UNKNOWN_ATTRIBUTE, "only a high mark can be reset", span, label);
    }

    // ---- Expectations and snapshots

    pub(super) fn snapshot(&mut self, span: Span, name: Option<&ast::Name>) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let name = name.map(|name| name.text.clone()).unwrap_or_default();
        let snapshot = self.snapshots.push(SnapshotLine { stmt, name });
        self.code.push(Instruction::Call { stmt, action: Action::Snapshot(snapshot) });
    }

    pub(super) fn expect(&mut self, span: Span, expect: &ast::Expect) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let ast::Expect::OverTimings { quantifier, of } = expect else { return self.demand(stmt, expect) };
        let before = self.expects.len();
        self.demand(stmt, of);
        let quantifier = Some(match quantifier {
            ast::Quantifier::Always => Quantifier::Always,
            ast::Quantifier::Sometimes => Quantifier::Sometimes,
            ast::Quantifier::Never => Quantifier::Never,
        });
        let new = self.expects.iter_mut().skip(before);
        new.for_each(|expect| expect.quantifier = quantifier);
        if let ast::Expect::Moments { .. } = **of {
            let message = "nothing is known of when something happens in other timings";
            let diagnostic = Diagnostic::error(codes::UNTIMED_MOMENT, message, span, "");
            self.tell(
                diagnostic
                    .help("leave out `always`, `sometimes` or `never`: the line is about each run then"),
            );
        }
    }

    fn demand(&mut self, stmt: StmtId, expect: &ast::Expect) {
        match expect {
            ast::Expect::Compare { left, comparator, right }
                if let Some(device) = self.current_pool(left) =>
            {
                self.expect_pool(stmt, device, comparator, right);
            }
            ast::Expect::Compare { left, comparator, right } => {
                self.expecting = true;
                let left = self.value_with_reads(left, stmt);
                let right = self.value_with_reads(right, stmt);
                self.expecting = false;
                if let Some((left, right)) = left.zip(right) {
                    self.compare(stmt, left, comparator, right);
                }
            }
            ast::Expect::Moments { subject, comparator, object } => {
                self.moments(stmt, subject, comparator, object);
            }
            ast::Expect::Relate { subject, relation: Relation::Reaches { object, access }, not } => {
                self.reaches(stmt, subject, object, *access, *not);
            }
            ast::Expect::Relate { subject, relation, not } => self.relate(stmt, subject, relation, *not),
            ast::Expect::Fails { call, not, error } => self.fails(stmt, call, *not, error.as_ref()),
            ast::Expect::Finding { kind, on, at, times } => {
                self.finding(stmt, kind, on.as_ref(), at.as_ref(), times.as_ref());
            }
            ast::Expect::NoFindings => self.whole_run(stmt, Demand::NoFindings),
            ast::Expect::NoLeaks => self.whole_run(stmt, Demand::NoLeaks),
            ast::Expect::Occurs { kind, not } => self.occurs(stmt, kind, *not),
            // The grammar has none within another one.
            ast::Expect::OverTimings { .. } => {}
        }
    }

    fn compare(&mut self, stmt: StmtId, left: Value, comparator: &ast::Name, right: Value) {
        let comparison = comparison_of(comparator);
        let span = self.statements[stmt].span;
        let Some(unit) = common_unit(&left, &right) else {
            let message =
                format!("{} cannot be compared with {}", unit_name(left.unit), unit_name(right.unit));
            self.error(codes::WRONG_UNIT, message, span, "");
            return;
        };
        let is_equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        if unit == Unit::Switch && !is_equality {
            let label = "expected `==` or `!=`";
            self.error(codes::WRONG_UNIT, "`on` and `off` have no order", comparator.span, label);
            return;
        }
        let expect = self.expects.push(Expect::new(stmt, Demand::Compare { comparison, unit }));
        let action = Action::Compare { expect, left: left.formula, right: right.formula };
        self.code.push(Instruction::Call { stmt, action });
    }

    fn relate(&mut self, stmt: StmtId, subject: &Path, relation: &Relation, not: bool) {
        let subject = self.buffer(subject);
        let (object, demand) = match relation {
            Relation::Reuses { object, via } => {
                let object = self.buffer(object);
                let via = match via {
                    Some(word) => self.class(word, true).map(Some),
                    None => Some(None),
                };
                (object, via.map(|via| Demand::Reuses { not, via }))
            }
            Relation::At(object) => (self.buffer(object), Some(Demand::At { not })),
            Relation::WaitsForFree(object) => (self.buffer(object), Some(Demand::WaitsForFree { not })),
            Relation::ReadyOn(stream) => return self.ready_on(stmt, subject, stream, not),
            Relation::DependsOnTiming => (subject.clone(), Some(Demand::DependsOnTiming { not })),
            Relation::Via(word) => (subject.clone(), self.class(word, false).map(Demand::ServedBy)),
            Relation::Reaches { .. } => return,
        };
        let (Some(subject), Some(object), Some(demand)) = (subject, object, demand) else { return };
        let expect = self.expects.push(Expect::new(stmt, demand));
        self.code.push(Instruction::Call { stmt, action: Action::Relate { expect, subject, object } });
    }

    fn ready_on(&mut self, stmt: StmtId, subject: Option<Chosen<BufferId>>, stream: &Path, not: bool) {
        let on = self.stream(stream);
        let Some((subject, on)) = subject.zip(on) else { return };
        let expect = self.expects.push(Expect::new(stmt, Demand::ReadyOn { not }));
        let action = Action::ExpectReady { expect, subject, on };
        self.code.push(Instruction::Call { stmt, action });
    }

    /// A class that can serve an allocation; `reuse`: one that hands out bytes that another allocation had.
    fn class(&mut self, word: &ast::Name, reuse: bool) -> Option<Policy> {
        let known = Policy::ALL.map(|policy| (policy.name(), policy));
        let known = known.into_iter().filter(|(_, policy)| !reuse || policy.can_reuse());
        self.word(word, codes::UNKNOWN_POLICY, "class of reuse called", known)
    }
}

pub(super) fn comparison_of(comparator: &ast::Name) -> Comparison {
    match comparator.text.as_str() {
        "==" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessEqual,
        ">" => Comparison::Greater,
        _ => Comparison::GreaterEqual,
    }
}
