//! Graphs: blocks whose lines are captured instead of called, what is made of them, and the figures of their memory.
//!
//! The streams that a block names only say which nodes follow each other; each of them gets a stream of its own, in which those
//! nodes run. Where they run, and when, is the engine's affair.

use super::blocks::Block;
use super::check::Checker;
use super::compute::default_stream_word;
use super::declare::STREAMS_MAX;
use super::names::{Kind, Meaning, Row};
use super::{Action, Chosen, Formula, Instruction, Outcome, Unit, codes};
use crate::base::{DeviceId, Diagnostic, ExecId, GraphId, Span, StmtId, StreamId, grouped};
use crate::syntax::ast::{self, CallKind, Operation, Path};
use crate::trace::{GraphFigure, GraphSetup, Reading, Resource, StreamKind, StreamSetup};
use std::collections::BTreeSet;

/// How many nodes a graph may have. Each keeps a counter a stream of the graph.
const NODES_MAX: u64 = 65_536;

/// A call about graphs whose operands may still have to be computed.
#[derive(Clone, Debug)]
pub enum GraphAction {
    /// `graph g {`
    Begin(Chosen<GraphId>),
    /// A line in that block
    Node {
        /// The graph.
        graph: Chosen<GraphId>,
        /// What is captured.
        node: Box<Action>,
    },
    /// `g1 = instantiate g auto_free`
    Instantiate {
        /// The executable graph.
        exec: Chosen<ExecId>,
        /// The graph.
        graph: Chosen<GraphId>,
        /// Whether a launch frees what the one before has left.
        auto_free: bool,
    },
    /// `S: launch g1`
    Launch {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The executable graph.
        exec: Chosen<ExecId>,
    },
    /// `upload g1 on S`
    Upload {
        /// The stream.
        stream: Chosen<StreamId>,
        /// The executable graph.
        exec: Chosen<ExecId>,
    },
    /// `trim gpu0.graph_pool`
    Trim(DeviceId),
    /// `set gpu0.graph_pool.used = VALUE`, `reset gpu0.graph_pool.used_high`
    Set {
        /// The device.
        device: DeviceId,
        /// The attribute.
        figure: GraphFigure,
        /// The value.
        value: Formula,
    },
}

/// The graph whose block is being read.
pub(super) struct Capture {
    graph: Chosen<GraphId>,
    /// The streams that its lines name.
    lanes: BTreeSet<StreamId>,
    /// How many lines of it are carried out, with all loops unrolled.
    nodes: u64,
}

impl Checker<'_> {
    pub(super) fn graph(&mut self, span: Span, graph: &ast::Graph) {
        let stmt = self.begin(span, Outcome::Succeeds);
        let Some((row, chosen)) = self.graph_row(&graph.name) else {
            return self.block(Block::Broken, &graph.body.items);
        };
        if graph.name.index.is_none() {
            self.follow(Resource::Graph(row.base), &graph.name.name.text, None);
        }
        let action = Action::Graph(GraphAction::Begin(chosen.clone()));
        self.code.push(Instruction::Call { stmt, action });
        let turns = self.turns.max(1);
        self.capture = Some(Capture { graph: chosen, lanes: BTreeSet::new(), nodes: 0 });
        self.block(Block::Graph, &graph.body.items);
        let Some(Capture { lanes, nodes, .. }) = self.capture.take() else { return };
        if nodes / turns > NODES_MAX {
            let message = format!("`{}` has more than {} nodes", graph.name.name.text, grouped(NODES_MAX));
            self.error(codes::TOO_MANY_NAMES, message, graph.name.name.span, "");
        }
        self.lanes(&graph.name.name, row, &lanes);
    }

    /// A stream of its own for each one that the block of a graph names, for each graph of the row.
    fn lanes(&mut self, name: &ast::Name, row: Row<GraphId>, lanes: &BTreeSet<StreamId>) {
        for nth in 0..row.count.unwrap_or(1) {
            let graph = GraphId::from_usize(row.base.index() + nth as usize);
            for stream in lanes {
                if self.setup.graphs[graph].lanes.iter().any(|(known, _)| known == stream) {
                    continue;
                }
                if self.setup.streams.len() as u64 >= STREAMS_MAX {
                    let message = format!("`{}` brings the number of streams above {STREAMS_MAX}", name.text);
                    let diagnostic = Diagnostic::error(codes::TOO_MANY_NAMES, message, name.span, "");
                    self.tell(
                        diagnostic.note("each stream of a graph counts, an array with all its elements"),
                    );
                    return;
                }
                let device = self.setup.streams[*stream].device;
                let own = self.setup.streams.push(StreamSetup::new(device, StreamKind::NonBlocking));
                let stream_name = self.names.streams[*stream].rsplit('.').next().unwrap_or_default();
                let called = format!("{}.{stream_name}", self.names.graphs[graph]);
                self.names.streams.push(called);
                self.setup.graphs[graph].lanes.push((*stream, own));
            }
        }
    }

    /// The graphs that a name stands for, and which of them the line means. The first line that gives an array its name says
    /// how many there are.
    fn graph_row(&mut self, segment: &ast::Segment) -> Option<(Row<GraphId>, Chosen<GraphId>)> {
        let name = &segment.name;
        if self.table.get(&name.text).is_some() {
            let Meaning::Graph(row) = self.resolve(name, &[Kind::Graph])? else { return None };
            return Some((row, self.element(row, segment)?));
        }
        let (count, names) = self.new_names(segment, self.names.graphs.len())?;
        let row = Row { base: GraphId::from_usize(self.names.graphs.len()), count };
        self.bind(name, Kind::Graph, Some(Meaning::Graph(row)));
        self.setup.graphs.extend(names.iter().map(|_| GraphSetup::default()));
        self.names.graphs.extend(names);
        Some((row, self.element(row, segment)?))
    }

    /// The same for an executable graph.
    fn exec_row(&mut self, path: &Path) -> Option<(Row<ExecId>, Chosen<ExecId>)> {
        let segment = self.only_segment(path, Kind::Exec)?;
        let name = &segment.name;
        if self.table.get(&name.text).is_some() {
            let Meaning::Exec(row) = self.resolve(name, &[Kind::Exec])? else { return None };
            return Some((row, self.element(row, segment)?));
        }
        let (count, names) = self.new_names(segment, self.names.execs.len())?;
        let row = Row { base: ExecId::from_usize(self.names.execs.len()), count };
        self.bind(name, Kind::Exec, Some(Meaning::Exec(row)));
        self.names.execs.extend(names);
        self.setup.execs = self.names.execs.len();
        Some((row, self.element(row, segment)?))
    }

    /// The names of as many things as the index can choose.
    fn new_names(&mut self, segment: &ast::Segment, before: usize) -> Option<(Option<u64>, Vec<String>)> {
        let name = &segment.name;
        let count = match &segment.index {
            Some(index) => {
                let last = self.index(index)?.bounds.map_or(0, |bounds| bounds.high);
                Some(u64::try_from(last).unwrap_or(u64::MAX).saturating_add(1))
            }
            None => None,
        };
        if count.unwrap_or(1) > STREAMS_MAX.saturating_sub(before as u64) {
            let message = format!("`{}` brings the number of graphs above {STREAMS_MAX}", name.text);
            self.error(codes::TOO_MANY_NAMES, message, name.span, "");
            return None;
        }
        let name = self.reported(&name.text);
        let called = |nth| count.map_or_else(|| name.clone(), |_| format!("{name}[{nth}]"));
        Some((count, (0..count.unwrap_or(1)).map(called).collect()))
    }

    // ---- Lines of a block

    /// Whether a statement cannot stand in the block of a graph, which is told.
    pub(super) fn is_no_node(&mut self, span: Span, statement: &ast::Statement) -> bool {
        if self.capture.is_none() {
            return false;
        }
        let (message, help) = match statement {
            ast::Statement::Repeat(_) | ast::Statement::Let(_) | ast::Statement::View(_) => return false,
            ast::Statement::Call(call) => match &call.kind {
                CallKind::Queued { operation: Operation::LaunchGraph(_), .. } => {
                    ("a graph cannot launch another graph", "child graphs are left out: write the nodes here")
                }
                CallKind::Queued { .. } => return false,
                _ => ("a call of the host is no node of a graph", "call it before or behind the block"),
            },
            _ => {
                ("this is no node of a graph", "a graph has operations of streams, `repeat` and `let` alone")
            }
        };
        let diagnostic = Diagnostic::error(codes::NOT_IN_A_GRAPH, message, span, "");
        self.tell(diagnostic.help(help));
        true
    }

    /// The action of a line: in the block of a graph it becomes a node.
    pub(super) fn captured(&mut self, stmt: StmtId, call: &ast::Call, action: Action) -> Option<Action> {
        let CallKind::Queued { stream, .. } = &call.kind else { return Some(action) };
        let turns = self.turns;
        let Some(capture) = &mut self.capture else { return Some(action) };
        capture.nodes = capture.nodes.saturating_add(turns);
        let graph = capture.graph.clone();
        if matches!(action, Action::Collective { .. }) {
            let span = self.statements[stmt].span;
            let message = "a part of a collective is no node of a graph here";
            self.error(codes::NOT_IN_A_GRAPH, message, span, "");
            return None;
        }
        self.lane(stream)?;
        Some(Action::Graph(GraphAction::Node { graph, node: Box::new(action) }))
    }

    /// Takes note of the stream of a node.
    fn lane(&mut self, path: &Path) -> Option<()> {
        let name = &path.segments.last()?.name;
        if default_stream_word(&name.text).is_some() {
            let message = format!("`{}` cannot be captured here", name.text);
            let diagnostic = Diagnostic::error(codes::NOT_IN_A_GRAPH, message, path.span, "a default stream");
            self.tell(
                diagnostic.help("name a stream that is declared: it tells the branches of the graph apart"),
            );
            return None;
        }
        let Some(Meaning::Stream(row)) = self.table.get(&name.text).and_then(|known| known.meaning.as_ref())
        else {
            return None;
        };
        let all =
            (0..row.count.unwrap_or(1)).map(|nth| StreamId::from_usize(row.base.index() + nth as usize));
        if let Some(capture) = &mut self.capture {
            capture.lanes.extend(all);
        }
        Some(())
    }

    // ---- Calls

    pub(super) fn graph_call(&mut self, call: &ast::GraphCall) -> Option<Action> {
        Some(Action::Graph(match call {
            ast::GraphCall::Instantiate { exec, graph, auto_free } => {
                let graph = self.graph_of(graph);
                let (row, chosen) = self.exec_row(exec)?;
                if chosen.index.is_none() {
                    self.follow(Resource::Exec(row.base), &exec.segments[0].name.text, None);
                }
                GraphAction::Instantiate { exec: chosen, graph: graph?, auto_free: *auto_free }
            }
            ast::GraphCall::Upload { exec, stream } => {
                let (exec, stream) = (self.exec(exec), self.stream(stream));
                GraphAction::Upload { stream: stream?, exec: exec? }
            }
            ast::GraphCall::Trim(device) => {
                let Meaning::Device(device) = self.resolve(device, &[Kind::Device])? else { return None };
                GraphAction::Trim(device)
            }
        }))
    }

    pub(super) fn launch_graph(&mut self, stream: Option<Chosen<StreamId>>, exec: &Path) -> Option<Action> {
        let exec = self.exec(exec);
        Some(Action::Graph(GraphAction::Launch { stream: stream?, exec: exec? }))
    }

    fn graph_of(&mut self, path: &Path) -> Option<Chosen<GraphId>> {
        let segment = self.only_segment(path, Kind::Graph)?;
        let Meaning::Graph(row) = self.resolve(&segment.name, &[Kind::Graph])? else { return None };
        self.element(row, segment)
    }

    fn exec(&mut self, path: &Path) -> Option<Chosen<ExecId>> {
        let segment = self.only_segment(path, Kind::Exec)?;
        let Meaning::Exec(row) = self.resolve(&segment.name, &[Kind::Exec])? else { return None };
        self.element(row, segment)
    }

    // ---- Figures

    /// `gpu0.graph_pool.used`; `None` for what is not about the memory of graphs, `Some(None)` for a mistake that is told.
    pub(super) fn graph_figure(&mut self, path: &Path) -> Option<Option<(DeviceId, GraphFigure)>> {
        let [device, pool, figure] = path.segments.as_slice() else { return None };
        let is_device = self.table.get(&device.name.text).is_some_and(|known| known.kind == Kind::Device);
        if !is_device || pool.name.text != "graph_pool" {
            return None;
        }
        Some(self.known_graph_figure(device, pool, figure))
    }

    fn known_graph_figure(
        &mut self,
        device: &ast::Segment,
        pool: &ast::Segment,
        figure: &ast::Segment,
    ) -> Option<(DeviceId, GraphFigure)> {
        [device, pool, figure].into_iter().try_for_each(|segment| self.no_index(segment))?;
        let known = GraphFigure::ALL.map(|figure| (figure.name(), figure));
        let word = self.word(&figure.name, codes::UNKNOWN_ATTRIBUTE, "figure of a graph pool called", known);
        let Meaning::Device(id) = self.resolve(&device.name, &[Kind::Device])? else { return None };
        Some((id, word?))
    }

    /// The same as what an expectation or a `let` reads.
    pub(super) fn graph_reading(&mut self, path: &Path) -> Option<Option<Reading>> {
        let figure = self.graph_figure(path)?;
        Some(figure.map(|(device, figure)| Reading::Graphs(device, figure)))
    }

    /// `set gpu0.graph_pool.used = 0B`
    pub(super) fn set_graphs(
        &mut self,
        figure: Option<(DeviceId, GraphFigure)>,
        value: &ast::Expression,
    ) -> Option<Action> {
        let value = self.runtime_value(value, Unit::Bytes);
        let (device, figure) = figure?;
        Some(Action::Graph(GraphAction::Set { device, figure, value: value? }))
    }

    /// `reset gpu0.graph_pool.used_high`
    pub(super) fn reset_graphs(
        &mut self,
        path: &Path,
        figure: Option<(DeviceId, GraphFigure)>,
    ) -> Option<Action> {
        let (device, figure) = figure?;
        if !matches!(figure, GraphFigure::UsedHigh | GraphFigure::ReservedHigh) {
            self.only_high_marks(path);
            return None;
        }
        let value = Formula::Constant(0);
        Some(Action::Graph(GraphAction::Set { device, figure, value }))
    }
}
