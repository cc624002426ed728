//! From a syntax tree to a checked program: what the parts of that work share, and the walk over the statements.
//!
//! A part that finds a mistake tells it and answers `None`; whoever gets a `None` adds nothing to it.

use super::blocks::{Around, Block};
use super::drivers::Drivers;
use super::graphs::Capture;
use super::life::Resources;
use super::moments::Launches;
use super::names::{Binding, Kind, Meaning, Missing, NameTable, declaration};
use super::places::{HostName, advice};
use super::processes::{Process, Shares};
use super::profile::Stated;
use super::threads::Within;
use super::{
    Chosen, Expect, HostBuffer, Instruction, Levels, Names, Outcome, Program, Register, SnapshotLine,
    Statement, codes, lifetimes,
};
use crate::base::{
    BufferId, Code, DeviceId, Diagnostic, ExpectId, HostBufferId, HostId, IndexVec, LineIndex, MISTAKES_MAX,
    PoolId, ProcessId, SnapshotId, Span, StmtId, StreamId, grouped, index_vec, nearest,
};
use crate::profile::Profile;
use crate::syntax::ast::{self, Content, Item, Segment};
use crate::trace::{Access, Law, Setup};
use std::collections::BTreeMap;

/// The longest run, in statements: all loops unrolled.
pub const RUN_STATEMENTS_MAX: u64 = 100_000_000;
/// How many names of one kind there may be, elements of arrays counted one by one.
pub const NAMES_MAX: u64 = 1_000_000;

/// Gives a text its meaning. There is a program if no diagnostic is an error. `text` is what `file` was read from.
pub fn check(file: &ast::File, text: &str, profile: &Profile) -> (Option<Program>, Vec<Diagnostic>) {
    let mut checker = Checker::new(file, text, profile);
    checker.default_device();
    checker.items(&file.items);
    checker.finish()
}

/// A kernel as it was declared.
pub(super) struct Kernel {
    pub(super) uses: Vec<Access>,
    /// The parameters, for the reader of a diagnostic.
    pub(super) parameters: Span,
    /// `None`: told already.
    pub(super) law: Option<Law>,
}

/// A name of buffers.
pub(super) struct BufferName {
    pub(super) name: String,
    /// What reports call it.
    pub(super) called: String,
    /// The place that says first whether it has an index.
    pub(super) span: Span,
    pub(super) indexed: bool,
    /// The largest index.
    pub(super) last: u64,
    /// A statement about it has a mistake, so that nothing is certain about its life.
    pub(super) uncertain: bool,
    /// Of the host; `None`: it is allocated, or a view.
    pub(super) host: Option<HostName>,
}

/// A collective as it was declared.
pub(super) struct Collective {
    /// What a part does with its arguments; `None`: it takes any number of them, to read and to write.
    pub(super) parameters: Option<Vec<Access>>,
    /// Its declaration, for the reader of a diagnostic.
    pub(super) place: Span,
}

/// A signal as the text uses it.
#[derive(Default)]
pub(super) struct Signal {
    pub(super) given: Option<Span>,
    pub(super) awaited: bool,
}

/// Everything known so far.
pub(super) struct Checker<'t> {
    pub(super) text: &'t str,
    pub(super) lines: LineIndex,
    /// With what the text itself says about it.
    pub(super) profile: Profile,
    /// Where it says that.
    pub(super) profile_line: Option<Span>,
    pub(super) drivers: Drivers,
    /// Of each device, what its line says.
    pub(super) stated: Vec<(DeviceId, Stated)>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) table: NameTable,
    pub(super) title: Option<ast::Name>,
    /// Where the model is stated.
    pub(super) model: Option<Span>,
    pub(super) setup: Setup,
    pub(super) names: Names,
    pub(super) default_pools: IndexVec<DeviceId, PoolId>,
    /// The devices that are said to be peers of each other.
    pub(super) peers: Vec<(DeviceId, ast::Name)>,
    /// Those that are used.
    pub(super) default_streams: BTreeMap<(DeviceId, &'static str, HostId), StreamId>,
    pub(super) kernels: Vec<Kernel>,
    pub(super) buffers: Vec<BufferName>,
    pub(super) signals: Vec<Signal>,
    pub(super) resources: Resources,
    pub(super) collectives: Vec<Collective>,
    pub(super) has_too_many_counters: bool,
    /// The blocks around, from the outermost.
    pub(super) blocks: Vec<Around>,
    /// The threads around, from the outermost.
    pub(super) within: Vec<Within>,
    /// The process that is read.
    pub(super) process: Process,
    pub(super) shares: Shares,
    /// The graph whose block is read.
    pub(super) capture: Option<Capture>,
    /// How often the innermost body is entered.
    pub(super) turns: u64,
    executed: u64,
    pub(super) code: Vec<Instruction>,
    /// The loops, by their place in the code, whose turns differ in the buffers that they choose.
    pub(super) choosing: Vec<usize>,
    /// Whether the values of an expectation are looked at: what they read costs the host nothing.
    pub(super) expecting: bool,
    pub(super) registers: u32,
    pub(super) statements: IndexVec<StmtId, Statement>,
    /// Where the buffers of a statement are written: from here on in `mentions`.
    first_mention: IndexVec<StmtId, usize>,
    mentions: Vec<Span>,
    pub(super) expects: IndexVec<ExpectId, Expect>,
    pub(super) snapshots: IndexVec<SnapshotId, SnapshotLine>,
    pub(super) levels: Levels,
    /// How many launches of this stream and kernel there are so far.
    pub(super) launches: BTreeMap<(String, String), u32>,
    pub(super) launched: Launches,
}

impl<'t> Checker<'t> {
    fn new(file: &ast::File, text: &'t str, profile: &Profile) -> Self {
        let setup = Setup {
            processes: index_vec![ProcessId::new(0)],
            rules: super::profile::rules(profile),
            host: super::profile::costs(profile),
            ..Setup::default()
        };
        Self {
            text,
            lines: LineIndex::new(text),
            profile: profile.clone(),
            profile_line: None,
            stated: Vec::new(),
            drivers: Drivers::default(),
            diagnostics: Vec::new(),
            table: NameTable::new(file, text),
            title: None,
            model: None,
            setup,
            names: Names { hosts: index_vec!["main".to_owned()], ..Names::default() },
            default_pools: IndexVec::new(),
            peers: Vec::new(),
            default_streams: BTreeMap::new(),
            kernels: Vec::new(),
            buffers: Vec::new(),
            signals: Vec::new(),
            resources: Resources::default(),
            collectives: Vec::new(),
            has_too_many_counters: false,
            blocks: Vec::new(),
            within: Vec::new(),
            process: Process::first(),
            shares: Shares::new(),
            capture: None,
            turns: 1,
            executed: 0,
            code: Vec::new(),
            choosing: Vec::new(),
            expecting: false,
            registers: 0,
            statements: IndexVec::new(),
            first_mention: IndexVec::new(),
            mentions: Vec::new(),
            expects: IndexVec::new(),
            snapshots: IndexVec::new(),
            levels: Levels::default(),
            launches: BTreeMap::new(),
            launched: Launches::new(),
        }
    }

    pub(super) fn items(&mut self, items: &[Item]) {
        for item in items {
            if self.has_enough_mistakes() {
                return;
            }
            match &item.content {
                Content::Statement(statement) => self.statement(item.span, statement),
                // The body of a block that could not be read is read nevertheless: its mistakes are its own.
                Content::Broken(Some(body)) => {
                    self.block(Block::Broken, &body.items);
                }
                Content::Broken(None) | Content::Blank | Content::Settings(_) | Content::Change(_) => {}
            }
        }
    }

    fn statement(&mut self, span: Span, statement: &ast::Statement) {
        if !self.blocks.is_empty() && self.is_misplaced(span, statement) {
            return;
        }
        if self.is_no_node(span, statement) {
            return;
        }
        match statement {
            // Its place and its number were looked at when it was read.
            ast::Statement::Version(_) => {}
            ast::Statement::Scenario(title) => self.declare_title(title),
            ast::Statement::Model(model) => self.declare_model(model),
            ast::Statement::Profile(settings) => self.declare_profile(span, settings),
            ast::Statement::Device(device) => self.declare_device(device),
            ast::Statement::Pool(pool) => self.declare_pool(pool),
            ast::Statement::Streams(streams) => self.declare_streams(streams),
            ast::Statement::Events(events) => self.declare_events(events),
            ast::Statement::Kernel(kernel) => self.declare_kernel(kernel),
            ast::Statement::Collective(collective) => self.declare_collective(collective),
            ast::Statement::HostBuffers(declared) => self.declare_host_buffers(declared),
            ast::Statement::View(view) => self.view(span, view),
            ast::Statement::Let(value) => self.declare_value(span, value),
            ast::Statement::Repeat(repeat) => self.repeat(span, repeat),
            ast::Statement::Thread(thread) => self.thread(span, thread),
            ast::Statement::Process(process) => self.process(span, process),
            ast::Statement::Graph(graph) => self.graph(span, graph),
            ast::Statement::Asynchronous(asynchronous) => self.asynchronous(span, asynchronous),
            // Each variant is a tree of its own.
            ast::Statement::Variant(_) => {}
            ast::Statement::Call(call) => self.call(span, call),
            ast::Statement::Expect(expect) => self.expect(span, expect),
            ast::Statement::Allow(allow) => self.allow(span, allow),
            ast::Statement::Snapshot(name) => self.snapshot(span, name.as_ref()),
        }
        self.count_counters(span);
    }

    fn is_misplaced(&mut self, span: Span, statement: &ast::Statement) -> bool {
        use ast::Statement::{
            Collective, Device, Events, HostBuffers, Kernel, Model, Pool, Process, Profile, Scenario, Streams,
        };
        let in_process = self.blocks.last().is_some_and(|around| around.block == Block::Process);
        let declares = match statement {
            Scenario(_) | Model(_) | Profile(_) | Device(_) | Process(_) => true,
            Pool(_) | Streams(_) | Events(_) | Kernel(_) | Collective(_) | HostBuffers(_) => !in_process,
            _ => false,
        };
        // The block around may be one that only its mistake makes look like a loop.
        let is_certain = self.blocks.iter().all(|around| around.block != Block::Broken);
        if declares && is_certain {
            let (message, help) = match statement {
                Process(_) => ("a process cannot stand in a block", "move it out of the block"),
                Scenario(_) | Model(_) | Profile(_) => (
                    "this line cannot stand in a block",
                    "it is about the whole text: move it out of the block",
                ),
                _ => (
                    "a declaration cannot stand in a block",
                    "declare it before the block; an array such as `stream s[4]` declares several",
                ),
            };
            self.tell(Diagnostic::error(codes::MISPLACED_DECLARATION, message, span, "").help(help));
        }
        declares && is_certain
    }

    /// The lines of a block.
    pub(super) fn block(&mut self, block: Block, items: &[Item]) {
        self.enter(block);
        self.items(items);
        self.leave();
    }

    /// The turns of a loop count too, so that empty loops end as well.
    pub(super) fn count_turns(&mut self, span: Span, turns: u64) {
        self.count(span, self.turns.saturating_mul(turns));
    }

    fn count(&mut self, span: Span, statements: u64) {
        let before = self.executed;
        self.executed = before.saturating_add(statements);
        if before <= RUN_STATEMENTS_MAX && self.executed > RUN_STATEMENTS_MAX {
            let message = format!(
                "the run has more than {} statements, all loops unrolled",
                grouped(RUN_STATEMENTS_MAX)
            );
            let diagnostic =
                Diagnostic::error(codes::RUN_TOO_LONG, message, span, "the limit is passed here");
            self.tell(diagnostic.help("give the loops fewer turns"));
        }
    }

    fn finish(mut self) -> (Option<Program>, Vec<Diagnostic>) {
        self.peers();
        self.peers_of_processes();
        self.pair_shares();
        self.unawaited_signals();
        self.old_drivers();
        self.values_of_threads();
        let bases = self.place_buffers();
        let mut conditional = Vec::new();
        if self.executed <= RUN_STATEMENTS_MAX && !self.has_enough_mistakes() {
            conditional = lifetimes::check(&mut self, &bases);
        }
        let host_buffers = self.host_buffers(&bases);
        self.setup.signals = self.names.signals.len();
        let program = Program {
            title: self.title.map(|title| title.text).unwrap_or_default(),
            variant: None,
            variants: Vec::new(),
            setup: self.setup,
            names: self.names,
            code: self.code,
            registers: self.registers as usize,
            creates: self.resources.creates,
            length: self.executed,
            statements: self.statements,
            host_buffers,
            conditional,
            expects: self.expects,
            snapshots: self.snapshots,
            levels: self.levels,
        };
        self.diagnostics.truncate(MISTAKES_MAX);
        let is_valid = self.diagnostics.iter().all(|d| d.severity < crate::base::Severity::Error);
        (is_valid.then_some(program), self.diagnostics)
    }

    /// Gives the buffers their ids, an array's in a row. Until here a place in the list of names stands for them.
    fn place_buffers(&mut self) -> Vec<usize> {
        let mut bases = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            bases.push(self.names.buffers.len());
            let left = NAMES_MAX - (self.names.buffers.len() as u64).min(NAMES_MAX);
            if buffer.last >= left {
                let most = grouped(NAMES_MAX);
                let message = format!("`{}` brings the number of buffers above {most}", buffer.name);
                self.diagnostics.push(Diagnostic::error(codes::TOO_MANY_NAMES, message, buffer.span, ""));
                continue;
            }
            if buffer.indexed {
                (0..=buffer.last).for_each(|index| {
                    self.names.buffers.push(format!("{}[{index}]", buffer.called));
                });
            } else {
                self.names.buffers.push(buffer.called.clone());
            }
        }
        for instruction in &mut self.code {
            instruction.for_each_buffer(|buffer| {
                buffer.base = BufferId::from_usize(bases[buffer.base.index()]);
            });
        }
        self.place_findings(&bases);
        bases
    }

    /// The buffers of the host, by the ids that their names got.
    fn host_buffers(&self, bases: &[usize]) -> IndexVec<HostBufferId, HostBuffer> {
        let ids =
            self.buffers.iter().zip(bases).filter_map(|(buffer, base)| Some((buffer.host?, buffer, base)));
        let ids = ids.flat_map(|(host, buffer, base)| {
            let pinned = host.kind == super::held::Kind::Pinned;
            let name = move |index: u64| BufferId::from_usize(base + index as usize);
            (0..=buffer.last).map(move |index| HostBuffer { name: name(index), size: host.size, pinned })
        });
        ids.collect()
    }

    // ---- What all parts use

    /// Whether so much is wrong already that the rest is not looked at.
    fn has_enough_mistakes(&self) -> bool {
        self.diagnostics.len() >= MISTAKES_MAX
    }

    pub(super) fn tell(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    pub(super) fn error(&mut self, code: Code, message: impl Into<String>, span: Span, label: &str) {
        self.tell(Diagnostic::error(code, message, span, label));
    }

    pub(super) fn register(&mut self) -> Register {
        self.registers += 1;
        Register(self.registers - 1)
    }

    /// A new statement.
    pub(super) fn begin(&mut self, span: Span, outcome: Outcome) -> StmtId {
        self.count(span, self.turns);
        self.first_mention.push(self.mentions.len());
        let text = self.text[span.range()].trim_end_matches('{').trim_end().to_owned();
        self.statements.push(Statement { span, line: self.lines.line(span.start), text, draws: 0, outcome })
    }

    /// Where the statement names its `nth` buffer.
    pub(super) fn mention(&self, stmt: StmtId, nth: usize) -> Span {
        let at = self.first_mention[stmt] + nth;
        self.mentions.get(at).copied().unwrap_or(self.statements[stmt].span)
    }

    /// How many buffers the statement has named so far.
    pub(super) fn mentions_so_far(&self) -> usize {
        self.mentions.len() - self.first_mention.as_slice().last().copied().unwrap_or(0)
    }

    /// Binds a name, in the innermost block.
    pub(super) fn bind(&mut self, name: &ast::Name, kind: Kind, meaning: Option<Meaning>) -> bool {
        let binding = Binding { kind, meaning, span: Some(name.span) };
        if let Some(other) = self.table.bind(&name.text, binding) {
            let message = format!("`{}` is already the name of {}", name.text, other.kind.with_article());
            let diagnostic =
                Diagnostic::error(codes::DUPLICATE_NAME, message, name.span, "give it another name");
            let declared = other.span;
            self.tell(match declared {
                Some(span) => diagnostic.also(span, "declared here"),
                None => diagnostic,
            });
            return false;
        }
        if let Some(block) = self.blocks.last_mut().filter(|_| kind == Kind::Value) {
            block.names.push(name.text.clone());
        }
        true
    }

    /// What a name stands for, if it is of one of the kinds that are wanted.
    pub(super) fn resolve(&mut self, name: &ast::Name, wanted: &[Kind]) -> Option<Meaning> {
        if let Some(binding) = self.table.get(&name.text) {
            if wanted.contains(&binding.kind) {
                return binding.meaning.clone();
            }
            let (kind, span) = (binding.kind, binding.span);
            if !self.table.is_contested(&name.text) {
                self.wrong_kind(name, kind, span, wanted);
            }
            return None;
        }
        match self.table.missing(&name.text) {
            Missing::Told => {}
            Missing::Later(kind, span) if wanted.contains(&kind) => {
                let message = format!("`{}` is used before its declaration", name.text);
                let diagnostic =
                    Diagnostic::error(codes::USED_BEFORE_DECLARATION, message, name.span, "not known yet");
                self.tell(diagnostic.also(span, "declared here").help("move the declaration up"));
            }
            Missing::Later(kind, span) => self.wrong_kind(name, kind, Some(span), wanted),
            Missing::Unknown => self.unknown(name, wanted),
        }
        None
    }

    fn wrong_kind(&mut self, name: &ast::Name, kind: Kind, declared: Option<Span>, wanted: &[Kind]) {
        let wanted = one_of(wanted.iter().map(|kind| kind.with_article().to_owned()));
        let message = format!("`{}` is {}, but {wanted} is needed here", name.text, kind.with_article());
        let mut diagnostic =
            Diagnostic::error(codes::WRONG_KIND, message, name.span, format!("expected {wanted}"));
        if let Some(span) = declared {
            diagnostic = diagnostic.also(span, format!("declared as {} here", kind.with_article()));
        }
        self.tell(advice(kind, diagnostic));
    }

    fn unknown(&mut self, name: &ast::Name, wanted: &[Kind]) {
        let kinds = one_of(wanted.iter().map(|kind| kind.with_article().to_owned()));
        let message = format!("nothing is called `{}`", name.text);
        let label = format!("expected the name of {kinds}");
        let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, message, name.span, label);
        let diagnostic = match self.table.nearest(&name.text, wanted) {
            _ if self.process.hidden.contains(&name.text) => {
                let is_shared = |kind: &Kind| matches!(kind, Kind::Pool | Kind::Buffer | Kind::Event);
                diagnostic.help(match wanted.iter().any(is_shared) {
                    true => format!(
                        "it is a name of another process, which may share it: `export {0} as shared_{0}`",
                        name.text
                    ),
                    false => "it is a name of another process, which cannot share it".to_owned(),
                })
            }
            Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), name.span, meant),
            None => diagnostic.help(declaration(wanted, &name.text)),
        };
        self.tell(diagnostic);
    }

    /// A word of a fixed list, such as the names of policies.
    pub(super) fn word<T: Copy>(
        &mut self,
        word: &ast::Name,
        code: Code,
        what: &str,
        known: impl IntoIterator<Item = (&'static str, T)>,
    ) -> Option<T> {
        let known: Vec<(&str, T)> = known.into_iter().collect();
        if let Some((_, value)) = known.iter().find(|(name, _)| *name == word.text) {
            return Some(*value);
        }
        let names = || known.iter().map(|(name, _)| *name);
        let label = format!("expected {}", one_of(names().map(|name| format!("`{name}`"))));
        let diagnostic =
            Diagnostic::error(code, format!("there is no {what} `{}`", word.text), word.span, label);
        self.tell(match nearest(&word.text, names()) {
            Some(meant) => diagnostic.fix(format!("did you mean `{meant}`?"), word.span, meant),
            None => diagnostic,
        });
        None
    }

    /// The buffer that a path names. It may be allocated anywhere in the text; its life is checked afterwards.
    pub(super) fn buffer(&mut self, path: &ast::Path) -> Option<Chosen<BufferId>> {
        self.named_buffer(path, &[Kind::Buffer])
    }

    /// The same for a name of one of these kinds of memory.
    pub(super) fn named_buffer(&mut self, path: &ast::Path, kinds: &[Kind]) -> Option<Chosen<BufferId>> {
        self.mentions.push(path.span);
        let segment = self.only_segment(path, Kind::Buffer)?;
        let name = &segment.name;
        let later = match self.table.missing(&name.text) {
            Missing::Later(kind @ (Kind::Buffer | Kind::View), _) if kinds.contains(&kind) => Some(kind),
            _ => None,
        };
        if let Some(kind) = later.filter(|_| self.table.get(&name.text).is_none()) {
            self.new_buffer(segment, kind);
        }
        let Meaning::Buffer(at) = self.resolve(name, kinds)? else { return None };
        self.index_of_buffer(at, segment)
    }

    /// The buffer that was named last is written so.
    pub(super) fn mention_as(&mut self, span: Span) {
        if let Some(last) = self.mentions.last_mut() {
            *last = span;
        }
    }

    /// Makes a name that of memory; tells it if it is taken.
    pub(super) fn new_buffer(&mut self, segment: &Segment, kind: Kind) -> bool {
        let name = &segment.name;
        let at = self.buffers.len();
        let called = self.reported(&name.text);
        let is_new = self.bind(name, kind, Some(Meaning::Buffer(at)));
        if is_new {
            self.buffers.push(BufferName {
                name: name.text.clone(),
                called,
                span: name.span,
                indexed: segment.index.is_some(),
                last: 0,
                uncertain: self.table.is_touched(&name.text),
                host: None,
            });
        }
        is_new
    }

    /// The only part of a path without qualifiers.
    pub(super) fn only_segment<'p>(&mut self, path: &'p ast::Path, kind: Kind) -> Option<&'p Segment> {
        match path.segments.as_slice() {
            [segment] => Some(segment),
            _ => {
                let written = self.text[path.span.range()].trim_end();
                let message = format!("`{written}` is not the name of {}", kind.with_article());
                let label = format!("expected {}", kind.with_article());
                self.error(codes::WRONG_KIND, message, path.span, &label);
                None
            }
        }
    }
}

/// `a`, `a or b`, `a, b or c`
pub(super) fn one_of(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} or {last}", others.join(", ")),
    }
}
