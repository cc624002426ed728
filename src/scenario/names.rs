//! The names of a scenario: what each stands for, where it was declared, and which ones a broken line may have declared.

use super::Value;
use crate::base::{
    BarrierId, CollectiveId, DeviceId, EventId, ExecId, GraphId, HostId, KernelId, PoolId, SignalId, Span,
    StmtId, StreamId, nearest,
};
use crate::syntax::ast::{self, CallKind, Content, Created, Item, Operation, Settings, Statement};
use std::collections::{BTreeMap, BTreeSet};

/// The streams that every device has.
pub(super) const DEFAULT_STREAMS: [&str; 2] = ["legacy", "per_thread"];

/// What kind of thing a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Device,
    Pool,
    Stream,
    Event,
    Kernel,
    Signal,
    Value,
    Buffer,
    View,
    HostBuffer,
    Label,
    CallLabel,
    Thread,
    Process,
    Barrier,
    Collective,
    Graph,
    Exec,
}

impl Kind {
    /// What an import gives a name to.
    const fn imported(place: &ast::ImportPlace) -> Self {
        match place {
            ast::ImportPlace::On(_) => Kind::Pool,
            ast::ImportPlace::From(_) => Kind::Buffer,
            ast::ImportPlace::Nothing => Kind::Event,
        }
    }

    /// Whether a name of this kind means the same in every process.
    const fn is_common(self) -> bool {
        matches!(
            self,
            Kind::Device | Kind::Kernel | Kind::Collective | Kind::Value | Kind::Signal | Kind::Barrier
        )
    }

    pub(super) fn with_article(self) -> &'static str {
        match self {
            Kind::Device => "a device",
            Kind::Pool => "a pool",
            Kind::Stream => "a stream",
            Kind::Event => "an event",
            Kind::Kernel => "a kernel",
            Kind::Signal => "a signal",
            Kind::Value => "a value",
            Kind::Buffer => "a buffer",
            Kind::View => "a view",
            Kind::HostBuffer => "a buffer of the host",
            Kind::Label => "an operation",
            Kind::CallLabel => "a label of a host call",
            Kind::Thread => "a thread",
            Kind::Process => "a process",
            Kind::Barrier => "a barrier",
            Kind::Collective => "a collective",
            Kind::Graph => "a graph",
            Kind::Exec => "an executable graph",
        }
    }
}

/// How a name of the first of some kinds is declared, as advice.
pub(super) fn declaration(wanted: &[Kind], name: &str) -> String {
    let line = match wanted {
        [Kind::Device] => format!("device {name}"),
        [Kind::Pool] => format!("pool {name}"),
        [Kind::Stream] => format!("stream {name}"),
        [Kind::Event] => format!("event {name}"),
        [Kind::Value] => format!("let {name} = .."),
        [Kind::Kernel, ..] if name.starts_with("cuda") => {
            return "functions of CUDA have names of their own here, such as `S: free x`".to_owned();
        }
        [Kind::Kernel, ..] => format!("kernel {name}(x: write) takes 10us"),
        [Kind::Buffer, ..] => return format!("its name comes with its allocation: `S: {name} = alloc 1MiB`"),
        [Kind::Thread, ..] => return format!("a thread begins with a block of its own: `thread {name} {{`"),
        [Kind::Collective] => format!("collective {name} of 2 takes 50us"),
        [Kind::Graph] => return format!("a graph is a block of its own: `graph {name} {{`"),
        [Kind::Exec] => return format!("make it of a graph first: `{name} = instantiate GRAPH`"),
        [Kind::CallLabel, ..] => return format!("give it to the line that is meant: `.. as {name}`"),
        [Kind::Label, ..] => return format!("give it to an operation: `S: K(x) as {name}`"),
        _ => return "declare it in a line before".to_owned(),
    };
    format!("declare it in a line before: `{line}`")
}

/// What kind of label stands behind a call: an operation has moments, a call of the host has none.
pub(super) fn label_kind(call: &ast::Call) -> Kind {
    if matches!(call.kind, CallKind::Queued { .. }) { Kind::Label } else { Kind::CallLabel }
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Device(DeviceId),
    Pool(PoolId),
    Stream(Row<StreamId>),
    Event(Row<EventId>),
    Kernel(KernelId),
    Signal(SignalId),
    Label(StmtId),
    CallLabel(StmtId),
    Thread(Row<HostId>),
    Barrier(BarrierId),
    Collective(CollectiveId),
    Graph(Row<GraphId>),
    Exec(Row<ExecId>),
    Value(Value),
    /// Its place in the list of buffer names.
    Buffer(usize),
}

/// One thing, or an array of things with consecutive ids.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<Id> {
    pub(super) base: Id,
    /// The number of elements of an array.
    pub(super) count: Option<u64>,
}

/// A declared name.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) kind: Kind,
    /// `None`: its declaration has a mistake that is told already.
    pub(super) meaning: Option<Meaning>,
    /// Where it was declared. `None`: it is always there.
    pub(super) span: Option<Span>,
}

/// All names.
#[derive(Debug, Default)]
pub(super) struct NameTable {
    bindings: BTreeMap<String, Binding>,
    /// Names that are declared anywhere outside of loops, with the first place.
    anywhere: BTreeMap<String, (Kind, Span)>,
    /// How many lines launch each kernel.
    launches: BTreeMap<String, usize>,
    /// Names that a broken line may have declared.
    perhaps: BTreeSet<String>,
    /// Words of broken lines: what happens to such a buffer is not known.
    touched: BTreeSet<String>,
    /// Names that a line tried to declare again.
    contested: BTreeSet<String>,
    /// Whether any line declares a device.
    pub(super) has_devices: bool,
    /// Whether any line is broken.
    pub(super) has_broken_lines: bool,
}

/// Why a name cannot be used.
pub(super) enum Missing {
    /// Its mistake is told elsewhere.
    Told,
    /// It is declared at this place, after its use.
    Later(Kind, Span),
    /// It is nowhere.
    Unknown,
}

impl NameTable {
    /// Looks through a text for everything that it declares.
    pub(super) fn new(file: &ast::File, text: &str) -> Self {
        let mut table = Self::default();
        for word in DEFAULT_STREAMS {
            // A default stream gets its id where it is used; until then its name is taken.
            table.bind(word, Binding { kind: Kind::Stream, meaning: None, span: None });
        }
        table.survey(&file.items, text);
        table
    }

    /// The names that a process begins with: those that it shares with the text around, whose devices it knows so.
    pub(super) fn of_process(
        items: &[Item],
        text: &str,
        around: &Self,
        devices: &BTreeMap<DeviceId, DeviceId>,
    ) -> Self {
        let mut table = Self {
            has_devices: around.has_devices,
            has_broken_lines: around.has_broken_lines,
            perhaps: around.perhaps.clone(),
            touched: around.touched.clone(),
            ..Self::default()
        };
        for word in DEFAULT_STREAMS {
            table.bind(word, Binding { kind: Kind::Stream, meaning: None, span: None });
        }
        for (name, binding) in around.bindings.iter().filter(|(_, binding)| binding.kind.is_common()) {
            let mut binding = binding.clone();
            if let Some(Meaning::Device(device)) = &mut binding.meaning {
                *device = devices.get(device).copied().unwrap_or(*device);
            }
            table.bind(name, binding);
        }
        table.survey(items, text);
        table
    }

    /// The names that another table does not have.
    pub(super) fn hidden_from(&self, other: &Self) -> BTreeSet<String> {
        self.bindings.keys().filter(|name| !other.bindings.contains_key(*name)).cloned().collect()
    }

    /// The names of a process that ends, where they are names of all.
    pub(super) fn share(&mut self, of_process: Self) {
        for (name, binding) in of_process.bindings {
            if matches!(binding.kind, Kind::Signal | Kind::Barrier) && !self.bindings.contains_key(&name) {
                self.bindings.insert(name, binding);
            }
        }
    }

    /// What a name is declared as further down.
    pub(super) fn later(&self, name: &str) -> Option<Kind> {
        self.anywhere.get(name).map(|(kind, _)| *kind)
    }

    fn survey(&mut self, items: &[Item], text: &str) {
        for item in items {
            match &item.content {
                Content::Statement(statement) => self.survey_statement(statement, text),
                Content::Broken(body) => {
                    self.survey_broken(&text[item.span.range()]);
                    if let Some(body) = body {
                        self.survey(&body.items, text);
                    }
                }
                Content::Blank | Content::Settings(_) | Content::Change(_) => {}
            }
        }
    }

    fn survey_statement(&mut self, statement: &Statement, text: &str) {
        match statement {
            Statement::Profile(settings) => self.survey_settings(settings, text),
            Statement::Device(device) => {
                self.has_devices = true;
                self.declares(Kind::Device, &device.name);
                self.survey_settings(&device.settings, text);
            }
            Statement::Pool(pool) => {
                self.declares(Kind::Pool, &pool.name);
                self.survey_settings(&pool.settings, text);
            }
            Statement::Streams(streams) => {
                streams.names.iter().for_each(|declared| self.declares(Kind::Stream, &declared.name));
            }
            Statement::Events(events) => {
                events.names.iter().for_each(|declared| self.declares(Kind::Event, &declared.name));
            }
            Statement::HostBuffers(declared) => {
                declared.names.iter().for_each(|one| self.declares(Kind::HostBuffer, &one.name));
            }
            Statement::View(view) => self.declares(Kind::View, &view.name.segments[0].name),
            Statement::Kernel(kernel) => self.declares(Kind::Kernel, &kernel.name),
            Statement::Collective(collective) => self.declares(Kind::Collective, &collective.name),
            Statement::Let(value) => self.declares(Kind::Value, &value.name),
            Statement::Repeat(repeat) => self.survey(&repeat.body.items, text),
            Statement::Asynchronous(asynchronous) => self.declares(Kind::Thread, &asynchronous.name),
            Statement::Process(process) => self.declares(Kind::Process, &process.name),
            Statement::Thread(thread) => {
                self.declares(Kind::Thread, &thread.name.name);
                self.survey(&thread.body.items, text);
            }
            Statement::Graph(graph) => {
                self.declares(Kind::Graph, &graph.name.name);
                self.survey(&graph.body.items, text);
            }
            Statement::Call(call) => self.survey_call(call, text),
            Statement::Version(_)
            | Statement::Scenario(_)
            | Statement::Model(_)
            | Statement::Variant(_)
            | Statement::Expect(_)
            | Statement::Allow(_)
            | Statement::Snapshot(_) => {}
        }
    }

    fn survey_call(&mut self, call: &ast::Call, text: &str) {
        if let Some(label) = &call.label {
            self.declares(label_kind(call), label);
        }
        if let CallKind::Graph(ast::GraphCall::Instantiate { exec, .. }) = &call.kind {
            self.declares(Kind::Exec, &exec.segments[0].name);
        }
        if let CallKind::Elapsed { name, .. } = &call.kind {
            self.declares(Kind::Value, name);
        }
        if let CallKind::Queued { operation: Operation::Alloc { buffer, .. }, .. }
        | CallKind::Malloc(ast::Malloc { buffer, .. }) = &call.kind
        {
            self.declares(Kind::Buffer, &buffer.segments[0].name);
        }
        if let CallKind::Queued { operation: Operation::Launch { kernel, .. }, .. } = &call.kind {
            *self.launches.entry(kernel.text.clone()).or_default() += 1;
        }
        if let CallKind::Create(create) = &call.kind {
            let kind = match &create.resource {
                Created::Stream { .. } => Kind::Stream,
                Created::Event { .. } => Kind::Event,
                Created::Pool(_) => Kind::Pool,
            };
            self.declares(kind, create.resource.name());
        }
        if let CallKind::Import(import) = &call.kind {
            self.declares(Kind::imported(&import.place), &import.name.segments[0].name);
        }
        if let Some(body) = call.body() {
            self.survey(&body.items, text);
        }
    }

    fn survey_settings(&mut self, settings: &Settings, text: &str) {
        if let Settings::Block(body) = settings {
            self.survey(&body.items, text);
        }
    }

    fn declares(&mut self, kind: Kind, name: &ast::Name) {
        self.anywhere.entry(name.text.clone()).or_insert((kind, name.span));
    }

    /// Names that a line may have declared, had it been right: those after a declaring word, before `=`, after `until`.
    fn survey_broken(&mut self, line: &str) {
        const DECLARING: [&str; 18] = [
            "create",
            "process",
            "device",
            "pool",
            "stream",
            "event",
            "host_buffer",
            "view",
            "kernel",
            "collective",
            "let",
            "repeat",
            "thread",
            "async",
            "signal",
            "await",
            "barrier",
            "graph",
        ];
        const OTHER: [&str; 23] = [
            "millpond", "scenario", "profile", "reserve", "sync", "sleep", "trim", "set", "grant", "revoke",
            "export", "reset", "destroy", "join", "free", "copy", "memset", "read", "write", "expect",
            "allow", "snapshot", "upload",
        ];
        self.has_broken_lines = true;
        let words: Vec<&str> = line
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
            .collect();
        self.touched.extend(words.iter().map(|word| (*word).to_owned()));
        let Some((first, rest)) = words.split_first() else { return };
        self.has_devices |= nearest(first, ["device"]).is_some();
        if OTHER.contains(first) {
            return;
        }
        let queued = line.contains(':') && !DECLARING.contains(first);
        if !queued {
            let assigned = line.contains('=').then_some(first);
            self.perhaps.extend(rest.iter().chain(assigned).map(|word| (*word).to_owned()));
            return;
        }
        let until = rest.iter().skip_while(|word| **word != "until").nth(1);
        let assigned = line.contains('=').then(|| rest.first()).flatten();
        self.perhaps.extend(until.into_iter().chain(assigned).map(|word| (*word).to_owned()));
    }

    /// How many lines launch a kernel of this name.
    pub(super) fn launches(&self, kernel: &str) -> usize {
        self.launches.get(kernel).copied().unwrap_or(0)
    }

    /// Whether a broken line mentions the name, so that nothing is certain about it.
    pub(super) fn is_touched(&self, name: &str) -> bool {
        self.touched.contains(name)
    }

    /// Whether a declaration of the name is told to be a second one, so that it is not clear what a use means.
    pub(super) fn is_contested(&self, name: &str) -> bool {
        self.contested.contains(name)
    }

    pub(super) fn get(&self, name: &str) -> Option<&Binding> {
        self.bindings.get(name)
    }

    /// Why a name without binding has none.
    pub(super) fn missing(&self, name: &str) -> Missing {
        match self.anywhere.get(name) {
            _ if self.perhaps.contains(name) => Missing::Told,
            Some((kind, span)) => Missing::Later(*kind, *span),
            None => Missing::Unknown,
        }
    }

    /// Gives a name its meaning; the binding that is in the way comes back.
    pub(super) fn bind(&mut self, name: &str, binding: Binding) -> Option<&Binding> {
        if self.bindings.contains_key(name) {
            self.contested.insert(name.to_owned());
            return self.bindings.get(name);
        }
        self.bindings.insert(name.to_owned(), binding);
        None
    }

    /// Ends the life of a name that belongs to a block.
    pub(super) fn unbind(&mut self, name: &str) {
        self.bindings.remove(name);
    }

    /// The name of one of these kinds that a mistyped one was most likely meant to be.
    pub(super) fn nearest(&self, name: &str, wanted: &[Kind]) -> Option<&str> {
        let fits = self.bindings.iter().filter(|(_, binding)| wanted.contains(&binding.kind));
        nearest(name, fits.map(|(name, _)| name.as_str()))
    }
}
