//! The syntax tree: what stands in a text, line by line, with every comment and blank line.
//!
//! It knows words and shapes; what a name refers to, and whether it exists, is not its business.

mod create;
mod expect;
mod graphs;
mod memory;
mod processes;
mod threads;
mod value;

pub use create::{Create, Created};
pub use expect::{Allow, Expect, Moment, Quantifier, Relation, When};
pub use graphs::*;
pub use memory::*;
pub use processes::*;
pub use threads::*;
pub use value::*;

use crate::base::Span;

/// A whole text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// Its lines, with the bodies of blocks inside the lines that open them.
    pub items: Vec<Item>,
}

/// One line, and the body of the block that it opens.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The statement, without its comment. Empty for a line without a statement.
    pub span: Span,
    /// What the line says.
    pub content: Content,
    /// The comment at its end.
    pub comment: Option<Comment>,
}

/// A comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// Where it stands.
    pub span: Span,
    /// Its text, with the `#`.
    pub text: String,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Nothing.
    Blank,
    /// A statement.
    Statement(Statement),
    /// Settings, in the block of a device or a pool.
    Settings(Vec<Setting>),
    /// What a variant changes.
    Change(Change),
    /// Something that could not be read; its diagnostic is already written. It may open a block.
    Broken(Option<Body>),
}

/// The lines between two braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// The lines.
    pub items: Vec<Item>,
    /// The line of the closing brace; `None` where it is missing.
    pub close: Option<Close>,
}

/// A line that closes a block.
#[derive(Clone, Debug, PartialEq)]
pub struct Close {
    /// The brace.
    pub span: Span,
    /// The comment after it.
    pub comment: Option<Comment>,
}

/// A word at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The word.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `millpond 1`
    Version(Name),
    /// `scenario "title"`
    Scenario(Name),
    /// `model oxicuda`
    Model(Name),
    /// `profile { .. }`
    Profile(Settings),
    /// `device gpu0 { .. }`
    Device(Device),
    /// `pool p on gpu0 { .. }`
    Pool(Pool),
    /// `stream a, b[4] on gpu0 non_blocking priority -1`
    Streams(Streams),
    /// `event e, f[2] on gpu0 { interprocess }`
    Events(Events),
    /// `kernel fill(out: write) takes 10us`
    Kernel(Kernel),
    /// `collective c(x: read_write) of 2 takes 50us`
    Collective(Collective),
    /// `host_buffer h, g[2] 64MiB pinned`
    HostBuffers(HostBuffers),
    /// `view a = slab[0..1MiB]`
    View(View),
    /// `let n = 4`
    Let(Let),
    /// `repeat i in 0..10 { .. }`
    Repeat(Repeat),
    /// `thread t { .. }`
    Thread(Thread),
    /// `process p { .. }`
    Process(Process),
    /// `async r = host_write h takes 5us`
    Asynchronous(Asynchronous),
    /// `graph g { .. }`
    Graph(Graph),
    /// `variant off { .. }`
    Variant(Variant),
    /// A call.
    Call(Box<Call>),
    /// `expect ..`
    Expect(Expect),
    /// `allow ..`
    Allow(Allow),
    /// `snapshot "name"`
    Snapshot(Option<Name>),
}

impl Statement {
    /// The statements that it holds.
    pub fn body(&self) -> Option<&Body> {
        match self {
            Statement::Repeat(repeat) => Some(&repeat.body),
            Statement::Thread(thread) => Some(&thread.body),
            Statement::Process(process) => Some(&process.body),
            Statement::Graph(graph) => Some(&graph.body),
            Statement::Call(call) => call.handler(),
            _ => None,
        }
    }

    /// The same, to change them.
    pub fn body_mut(&mut self) -> Option<&mut Body> {
        match self {
            Statement::Repeat(repeat) => Some(&mut repeat.body),
            Statement::Thread(thread) => Some(&mut thread.body),
            Statement::Process(process) => Some(&mut process.body),
            Statement::Graph(graph) => Some(&mut graph.body),
            Statement::Call(call) => call.handler_mut(),
            _ => None,
        }
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name.
    pub name: Name,
    /// Its settings.
    pub settings: Settings,
}

/// A pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Its name.
    pub name: Name,
    /// Where its memory is, after `on`.
    pub location: Option<Location>,
    /// Its settings.
    pub settings: Settings,
}

/// The settings of a device, a pool or the profile.
#[derive(Clone, Debug, PartialEq)]
pub enum Settings {
    /// No braces.
    None,
    /// `{ a = 1, b = 2 }`
    Inline(Vec<Setting>),
    /// A block, with [`Content::Settings`] in its lines.
    Block(Body),
}

impl Settings {
    /// The settings in the order of the text.
    pub fn iter(&self) -> impl Iterator<Item = &Setting> {
        let (inline, lines): (&[Setting], &[Item]) = match self {
            Settings::None => (&[], &[]),
            Settings::Inline(settings) => (settings, &[]),
            Settings::Block(body) => (&[], &body.items),
        };
        inline.iter().chain(lines.iter().flat_map(settings_of_line))
    }
}

fn settings_of_line(item: &Item) -> &[Setting] {
    match &item.content {
        Content::Settings(settings) => settings,
        _ => &[],
    }
}

/// `name = value`
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// What is set.
    pub name: Name,
    /// Its value.
    pub value: SettingValue,
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    /// `[a, b]`
    List {
        /// The words.
        words: Vec<Name>,
        /// With the brackets.
        span: Span,
    },
    /// A value.
    Expression(Expression),
}

/// A name, or an array of names, that a statement declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name.
    pub name: Name,
    /// The number of elements in brackets.
    pub count: Option<Expression>,
}

/// Streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Streams {
    /// Their names.
    pub names: Vec<Declared>,
    /// The device after `on`.
    pub device: Option<Name>,
    /// Whether `non_blocking` is written behind them, or else `blocking`, which is the default.
    pub kind: Option<StreamKind>,
    /// The number after `priority`.
    pub priority: Option<Name>,
}

/// How a stream stands to the legacy default stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// `blocking`
    Blocking,
    /// `non_blocking`
    NonBlocking,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// How long it runs.
    pub takes: Law,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: Name,
    /// What the kernel does with it.
    pub access: Access,
}

/// What a kernel does with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `read`
    Read,
    /// `write`
    Write,
    /// `read_write`
    ReadWrite,
}

/// How long something runs.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// `10us`
    Constant(Expression),
    /// `5us..20us`
    Range(Expression, Expression),
    /// `uniform(5us, 20us)`
    Uniform(Expression, Expression),
    /// `normal(10us, 2us)`: mean and standard deviation.
    Normal(Expression, Expression),
    /// `10us +- 20%`
    Around(Expression, Name),
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Let {
    /// Its name.
    pub name: Name,
    /// Its value.
    pub value: Expression,
}

/// The same program changed, with expectations of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// Its name, any word.
    pub name: Name,
    /// What it changes, and what it expects.
    pub body: Body,
}

/// What a variant changes.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// `model cuda`
    Model(Name),
    /// `set scratch.reuse = []`
    Set {
        /// What is set.
        target: Path,
        /// Its value.
        value: SettingValue,
    },
    /// `omit join`
    Omit(Name),
}

/// A loop.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeat {
    /// Its variable.
    pub variable: Name,
    /// The first value.
    pub from: Expression,
    /// The value that is not reached.
    pub to: Expression,
    /// What it repeats.
    pub body: Body,
}

/// A call, of a stream's operation or of the host.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What is called.
    pub kind: CallKind,
    /// What expectations and variants call the line.
    pub label: Option<Name>,
    /// `fails E`, `or_fails E` or `else E {`
    pub outcome: Option<Outcome>,
}

/// What the text says about the success of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What is said about the error.
    pub kind: OutcomeKind,
    /// The name of the error.
    pub error: Name,
}

/// What is said about the error of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum OutcomeKind {
    /// `fails`: it is demanded.
    Fails,
    /// `or_fails`: it is accepted.
    OrFails,
    /// `else`: this block handles it.
    Else(Body),
}

/// What is called.
#[derive(Clone, Debug, PartialEq)]
pub enum CallKind {
    /// `S: operation`
    Queued {
        /// The stream.
        stream: Path,
        /// What is put into it.
        operation: Operation,
    },
    /// `sync S`; `None` is `sync device`.
    Sync(Option<Path>),
    /// `query S`
    Query(Path),
    /// `poll S until done`
    Poll(Path),
    /// `let t = elapsed a to b`
    Elapsed {
        /// The name of the time.
        name: Name,
        /// The event at its start.
        from: Path,
        /// The event at its end.
        to: Path,
    },
    /// `sleep 1ms`
    Sleep(Expression),
    /// `trim p to 0B`
    Trim {
        /// The pool.
        pool: Path,
        /// What stays.
        keep: Expression,
    },
    /// `set p.release_threshold = max`
    Set {
        /// The pool and its attribute.
        attribute: Path,
        /// The new value.
        value: Expression,
    },
    /// `reset p.used_high`
    Reset(Path),
    /// `set gpu0.pool = p`
    SetPool {
        /// The device.
        device: Name,
        /// Its new current pool.
        pool: Path,
    },
    /// `upload g1 on s` and its kin
    Graph(GraphCall),
    /// `grant p to gpu1 read`
    Grant(Grant),
    /// `revoke p from gpu1`
    Revoke {
        /// The pool.
        pool: Path,
        /// The device.
        device: Name,
    },
    /// `export p as hp`
    Export {
        /// A pool, a buffer or an event.
        what: Path,
        /// The name by which others import it.
        under: Name,
    },
    /// `q = import hp on gpu0`
    Import(Import),
    /// `create stream s`
    Create(Create),
    /// `destroy s`
    Destroy(Path),
    /// `signal go`
    Signal(Name),
    /// `x = malloc 4KiB managed on gpu1`
    Malloc(Malloc),
    /// `reserve 2GiB outside on gpu1`
    Reserve {
        /// How much.
        size: Expression,
        /// The device after `on`.
        device: Option<Name>,
    },
    /// `free x`, by the host
    Free(Path),
    /// `copy h from x`, by the host
    Copy(Copy),
    /// `memset x`, by the host
    Memset(Memset),
    /// `read h`, `write h`
    Touch {
        /// What the host touches.
        at: Place,
        /// How.
        access: Access,
    },
    /// `await go`
    Await(Name),
    /// `join t`
    Join(Path),
    /// `barrier b of 2`
    Barrier {
        /// Its name.
        name: Name,
        /// How many threads come to it.
        of: Expression,
    },
}

/// An operation of a stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// `x = alloc 64MiB from p`
    Alloc {
        /// The buffer.
        buffer: Path,
        /// Its size.
        size: Expression,
        /// The pool after `from`.
        pool: Option<Path>,
    },
    /// `free x`
    Free(Path),
    /// `record e`
    Record(Path),
    /// `wait e`
    Wait(Path),
    /// `host takes 5us`, `host await go`, `host signal done`
    Host(HostFunction),
    /// `copy h from x`
    Copy(Copy),
    /// `memset x`
    Memset(Memset),
    /// `launch g1`
    LaunchGraph(Path),
    /// `fill(x, y)`
    Launch {
        /// The kernel, or the collective.
        kernel: Name,
        /// The buffers, or parts of them.
        arguments: Vec<Place>,
        /// The place of the arguments, with their parentheses.
        parentheses: Span,
        /// A duration for this launch alone.
        takes: Option<Takes>,
    },
}

/// The duration of one launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Takes {
    /// `takes 3us`
    For(Law),
    /// `until go`
    Until(Name),
}
