//! From a syntax tree to text in the one usual form: what `millpond fmt` writes.
//!
//! It owns spaces, indentation and blank lines, and loses no word and no comment. It knows nothing about CUDA: a statement
//! is words and signs to it. Names, numbers and parentheses stay as they were written.

mod graphs;
mod memory;
mod processes;

use super::ast::*;
use super::{FILE_BYTES_MAX, LINE_BYTES_MAX, parse};
use crate::base::Diagnostic;
use std::fmt::{self, Display, Formatter};

/// One level of a block.
const INDENT: &str = "  ";
/// Between a statement and its comment.
const BEFORE_COMMENT: &str = "  ";
/// Comments at the ends of lines stand in one column, but for lines that are wider than this.
const ALIGNED_MAX: usize = 60;

/// A text in the usual form. Doing it twice changes nothing more, and the text means the same.
///
/// # Errors
///
/// The mistakes of the text; nothing is known about the form of what cannot be read.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (file, diagnostics) = parse(text);
    if !diagnostics.is_empty() {
        return Err(diagnostics);
    }
    let mut printer = Printer { out: String::new(), depth: 0, source: text, is_bare: false };
    printer.items(&file.items);
    // A text at the limit that would grow beyond it stays: it could not be read any more.
    Ok(if printer.out.len() > FILE_BYTES_MAX { text.to_owned() } else { printer.out })
}

/// The statements of a text in the usual form, without comments and blank lines: two texts that say the same in the same words
/// have this in common. A line with a mistake stays as it is.
pub fn bare(text: &str) -> String {
    statements(&parse(text).0, text)
}

/// The same of a tree, which was read from a text or made of such trees.
pub fn statements(file: &File, source: &str) -> String {
    let mut printer = Printer { out: String::new(), depth: 0, source, is_bare: true };
    printer.items(&file.items);
    printer.out
}

struct Printer<'t> {
    out: String,
    /// How many blocks are open.
    depth: usize,
    /// The text that the tree was read from.
    source: &'t str,
    /// Whether there are to be statements alone, whatever their length.
    is_bare: bool,
}

impl Printer<'_> {
    /// The lines of a block or of a whole text: one blank line at most between two others, and none at the ends.
    fn items(&mut self, items: &[Item]) {
        let is_bare = self.is_bare;
        let is_empty = |item: &Item| item.content == Content::Blank && (is_bare || item.comment.is_none());
        let mut blank = false;
        let mut first = true;
        let mut column = 0;
        for (at, item) in items.iter().enumerate() {
            if is_empty(item) {
                blank = true;
                continue;
            }
            if std::mem::take(&mut blank) && !first && !is_bare {
                self.out.push('\n');
            }
            first = false;
            if at == 0 || !is_aligned(&items[at - 1]) {
                column = items[at..].iter().take_while(|item| is_aligned(item)).map(width).max().unwrap_or(0);
            }
            self.item(item, if is_aligned(item) { column } else { 0 });
        }
    }

    /// One line, with the block that it opens. Its comment stands at a column or, with 0, right behind.
    fn item(&mut self, item: &Item, column: usize) {
        let line = match &item.content {
            Content::Blank => String::new(),
            Content::Statement(statement) => statement.to_string(),
            Content::Settings(settings) => Commas(settings).to_string(),
            Content::Change(change) => change.to_string(),
            // Only a tree without mistakes is printed.
            Content::Broken(_) => self.source[item.span.range()].to_owned(),
        };
        let source = item.span.range().start..item.comment.as_ref().map_or(item.span, |c| c.span).range().end;
        self.line(&line, item.comment.as_ref(), column, source);
        if let Some(body) = item.content.body() {
            self.depth += 1;
            self.items(&body.items);
            self.depth -= 1;
            if let Some(Close { span, comment }) = &body.close {
                let end = comment.as_ref().map_or(*span, |comment| comment.span).range().end;
                self.line("}", comment.as_ref(), 0, span.range().start..end);
            }
        }
    }

    fn line(&mut self, text: &str, comment: Option<&Comment>, column: usize, source: std::ops::Range<usize>) {
        let start = self.out.len();
        (0..self.depth).for_each(|_| self.out.push_str(INDENT));
        self.out.push_str(text);
        if let Some(comment) = comment.filter(|_| !self.is_bare) {
            if !text.is_empty() {
                let blanks = column.saturating_sub(text.chars().count());
                self.out.extend(std::iter::repeat_n(' ', blanks));
                self.out.push_str(BEFORE_COMMENT);
            }
            self.out.push_str(&comment.text);
        }
        if self.out.len() - start > LINE_BYTES_MAX && !self.is_bare {
            // A line at the limit that would grow beyond it stays: it could not be read any more.
            self.out.truncate(start);
            self.out.push_str(self.source[source].trim());
        }
        self.out.push('\n');
    }
}

/// Whether the comment of this line stands in one column with its neighbours'.
fn is_aligned(item: &Item) -> bool {
    item.comment.is_some()
        && item.content != Content::Blank
        && item.content.body().is_none()
        && width(item) <= ALIGNED_MAX
}

fn width(item: &Item) -> usize {
    match &item.content {
        Content::Statement(statement) => statement.to_string().chars().count(),
        Content::Settings(settings) => Commas(settings).to_string().chars().count(),
        Content::Change(change) => change.to_string().chars().count(),
        Content::Blank | Content::Broken(_) => 0,
    }
}

impl Content {
    /// The block that the line opens.
    fn body(&self) -> Option<&Body> {
        match self {
            Content::Statement(Statement::Variant(variant)) => Some(&variant.body),
            Content::Statement(Statement::Call(call)) => call.body(),
            Content::Statement(Statement::Device(Device { settings: Settings::Block(body), .. }))
            | Content::Statement(Statement::Pool(Pool { settings: Settings::Block(body), .. }))
            | Content::Statement(Statement::Profile(Settings::Block(body))) => Some(body),
            Content::Statement(statement) => statement.body(),
            Content::Broken(body) => body.as_ref(),
            _ => None,
        }
    }
}

/// Parts with commas between them.
struct Commas<'a, T>(&'a [T]);

impl<T: Display> Display for Commas<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (nth, part) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str(", ")?;
            }
            part.fmt(f)?;
        }
        Ok(())
    }
}

/// A part that may be missing, behind its word.
struct After<'a, T>(&'a str, &'a Option<T>);

impl<T: Display> Display for After<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(part) => write!(f, "{}{part}", self.0),
            None => Ok(()),
        }
    }
}

/// `a[i]`: a name and what stands in brackets behind it.
fn indexed(f: &mut Formatter<'_>, name: &Name, index: Option<&Expression>) -> fmt::Result {
    match index {
        Some(index) => write!(f, "{name}[{index}]"),
        None => name.fmt(f),
    }
}

impl Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The statement as one line. Of a block, the line that opens it.
impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Statement::Version(number) => write!(f, "millpond {number}"),
            Statement::Scenario(title) => write!(f, "scenario \"{title}\""),
            Statement::Model(model) => write!(f, "model {model}"),
            Statement::Profile(settings) => write!(f, "profile{settings}"),
            Statement::Device(Device { name, settings }) => write!(f, "device {name}{settings}"),
            Statement::Pool(Pool { name, location, settings }) => {
                write!(f, "pool {name}{}{settings}", After(" on ", location))
            }
            Statement::Streams(Streams { names, device, kind, priority }) => {
                write!(f, "stream {}{}", Commas(names), After(" on ", device))?;
                write!(f, "{}{}", After(" ", kind), After(" priority ", priority))
            }
            Statement::Events(events) => events.fmt(f),
            Statement::Kernel(Kernel { name, parameters, takes }) => {
                write!(f, "kernel {name}({}) takes {takes}", Commas(parameters))
            }
            Statement::Collective(Collective { name, parameters, parts, takes }) => {
                write!(f, "collective {name}")?;
                if let Some(parameters) = parameters {
                    write!(f, "({})", Commas(parameters))?;
                }
                write!(f, " of {parts} takes {takes}")
            }
            Statement::Thread(Thread { name, .. }) => write!(f, "thread {name} {{"),
            Statement::Process(Process { name, .. }) => write!(f, "process {name} {{"),
            Statement::Graph(Graph { name, .. }) => write!(f, "graph {name} {{"),
            Statement::HostBuffers(declared) => declared.fmt(f),
            Statement::View(View { name, of }) => write!(f, "view {name} = {of}"),
            Statement::Asynchronous(Asynchronous { name, at, access, takes }) => {
                let word = if *access == Access::Read { "host_read" } else { "host_write" };
                write!(f, "async {name} = {word} {at}{}", After(" takes ", takes))
            }
            Statement::Variant(Variant { name, .. }) => write!(f, "variant {name} {{"),
            Statement::Let(Let { name, value }) => write!(f, "let {name} = {value}"),
            Statement::Repeat(Repeat { variable, from, to, .. }) => {
                write!(f, "repeat {variable} in {from}..{to} {{")
            }
            Statement::Call(call) => call.fmt(f),
            Statement::Expect(expect) => write!(f, "expect {expect}"),
            Statement::Allow(Allow { kind, on }) => write!(f, "allow {kind}{}", After(" on ", on)),
            Statement::Snapshot(None) => f.write_str("snapshot"),
            Statement::Snapshot(Some(name)) => write!(f, "snapshot \"{name}\""),
        }
    }
}

impl Display for Settings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Settings::None => Ok(()),
            Settings::Inline(settings) if settings.is_empty() => f.write_str(" {}"),
            Settings::Inline(settings) => write!(f, " {{ {} }}", Commas(settings)),
            Settings::Block(_) => f.write_str(" {"),
        }
    }
}

impl Display for Change {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Change::Model(model) => write!(f, "model {model}"),
            Change::Set { target, value } => write!(f, "set {target} = {value}"),
            Change::Omit(label) => write!(f, "omit {label}"),
        }
    }
}

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, self.value)
    }
}

impl Display for SettingValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            SettingValue::List { words, .. } => write!(f, "[{}]", Commas(words)),
            SettingValue::Expression(value) => value.fmt(f),
        }
    }
}

impl Display for Declared {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        indexed(f, &self.name, self.count.as_ref())
    }
}

impl Display for StreamKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StreamKind::Blocking => "blocking",
            StreamKind::NonBlocking => "non_blocking",
        })
    }
}

impl Display for Parameter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.access)
    }
}

impl Display for Touched {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.access)
    }
}

impl Display for Access {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::ReadWrite => "read_write",
        })
    }
}

impl Display for Law {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Law::Constant(duration) => duration.fmt(f),
            Law::Range(low, high) => write!(f, "{low}..{high}"),
            Law::Uniform(low, high) => write!(f, "uniform({low}, {high})"),
            Law::Normal(mean, deviation) => write!(f, "normal({mean}, {deviation})"),
            Law::Around(middle, percent) => write!(f, "{middle} +- {percent}"),
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.kind, After(" as ", &self.label), After(" ", &self.outcome))
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.kind {
            OutcomeKind::Fails => write!(f, "fails {}", self.error),
            OutcomeKind::OrFails => write!(f, "or_fails {}", self.error),
            OutcomeKind::Else(_) => write!(f, "else {} {{", self.error),
        }
    }
}

impl Display for CallKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            CallKind::Queued { stream, operation } => write!(f, "{stream}: {operation}"),
            CallKind::Sync(None) => f.write_str("sync device"),
            CallKind::Sync(Some(target)) => write!(f, "sync {target}"),
            CallKind::Query(target) => write!(f, "query {target}"),
            CallKind::Poll(target) => write!(f, "poll {target} until done"),
            CallKind::Elapsed { name, from, to } => write!(f, "let {name} = elapsed {from} to {to}"),
            CallKind::Sleep(duration) => write!(f, "sleep {duration}"),
            CallKind::Trim { pool, keep } => write!(f, "trim {pool} to {keep}"),
            CallKind::Set { attribute, value } => write!(f, "set {attribute} = {value}"),
            CallKind::Reset(attribute) => write!(f, "reset {attribute}"),
            CallKind::SetPool { device, pool } => write!(f, "set {device}.pool = {pool}"),
            CallKind::Graph(call) => call.fmt(f),
            CallKind::Grant(Grant { pool, device, access }) => {
                write!(f, "grant {pool} to {device}{}", After(" ", access))
            }
            CallKind::Export { what, under } => write!(f, "export {what} as {under}"),
            CallKind::Import(import) => import.fmt(f),
            CallKind::Revoke { pool, device } => write!(f, "revoke {pool} from {device}"),
            CallKind::Create(create) => write!(f, "create {create}"),
            CallKind::Destroy(resource) => write!(f, "destroy {resource}"),
            CallKind::Signal(signal) => write!(f, "signal {signal}"),
            CallKind::Malloc(malloc) => malloc.fmt(f),
            CallKind::Reserve { size, device } => {
                write!(f, "reserve {size} outside{}", After(" on ", device))
            }
            CallKind::Free(buffer) => write!(f, "free {buffer}"),
            CallKind::Copy(copy) => copy.fmt(f),
            CallKind::Memset(memset) => memset.fmt(f),
            CallKind::Touch { at, access: Access::Read } => write!(f, "read {at}"),
            CallKind::Touch { at, .. } => write!(f, "write {at}"),
            CallKind::Await(signal) => write!(f, "await {signal}"),
            CallKind::Join(thread) => write!(f, "join {thread}"),
            CallKind::Barrier { name, of } => write!(f, "barrier {name} of {of}"),
        }
    }
}

impl Display for Create {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.resource {
            Created::Stream { name, device, kind, priority } => {
                write!(f, "stream {name}{}{}", After(" on ", device), After(" ", kind))?;
                After(" priority ", priority).fmt(f)?;
            }
            Created::Event { name, device, .. } => write!(f, "event {name}{}", After(" on ", device))?,
            Created::Pool(Pool { name, location, .. }) => {
                write!(f, "pool {name}{}", After(" on ", location))?;
            }
        }
        After(" reusing ", &self.reusing).fmt(f)?;
        match &self.resource {
            Created::Event { interprocess: true, .. } => f.write_str(" { interprocess }"),
            resource => resource.settings().map_or(Ok(()), |settings| settings.fmt(f)),
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Alloc { buffer, size, pool } => {
                write!(f, "{buffer} = alloc {size}{}", After(" from ", pool))
            }
            Operation::Free(buffer) => write!(f, "free {buffer}"),
            Operation::Record(event) => write!(f, "record {event}"),
            Operation::Wait(event) => write!(f, "wait {event}"),
            Operation::Host(HostFunction { uses, takes, gives }) => {
                f.write_str("host")?;
                if !uses.is_empty() {
                    write!(f, "({})", Commas(uses))?;
                }
                match takes {
                    Some(Takes::Until(signal)) => write!(f, " await {signal}")?,
                    Some(takes) => write!(f, " {takes}")?,
                    None => {}
                }
                After(" signal ", gives).fmt(f)
            }
            Operation::Copy(copy) => copy.fmt(f),
            Operation::Memset(memset) => memset.fmt(f),
            Operation::LaunchGraph(exec) => write!(f, "launch {exec}"),
            Operation::Launch { kernel, arguments, takes, .. } => {
                write!(f, "{kernel}({}){}", Commas(arguments), After(" ", takes))
            }
        }
    }
}

impl Display for Takes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Takes::For(law) => write!(f, "takes {law}"),
            Takes::Until(signal) => write!(f, "until {signal}"),
        }
    }
}

impl Display for Expect {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Expect::Compare { left, comparator, right } => write!(f, "{left} {comparator} {right}"),
            Expect::Moments { subject, comparator, object } => {
                let verb = if subject.end { "ends" } else { "starts" };
                write!(f, "{} {verb} {comparator} ", subject.operation)?;
                match object {
                    When::Time(time) => time.fmt(f),
                    When::Moment(Moment { operation, end: true }) => write!(f, "end {operation}"),
                    When::Moment(Moment { operation, end: false }) => write!(f, "start {operation}"),
                }
            }
            Expect::Relate { subject, relation, not } => {
                write!(f, "{subject} {}{relation}", if *not { "not " } else { "" })
            }
            Expect::Fails { call, not, error } => {
                write!(f, "{call} {}fails{}", if *not { "not " } else { "" }, After(" ", error))
            }
            Expect::Finding { kind, on, at, times } => {
                write!(f, "finding {kind}{}{}", After(" on ", on), After(" at ", at))?;
                times.iter().try_for_each(|times| write!(f, " {times} times"))
            }
            Expect::NoFindings => f.write_str("no findings"),
            Expect::NoLeaks => f.write_str("no leaks"),
            Expect::Occurs { kind, not } => write!(f, "{}{kind}", if *not { "no " } else { "" }),
            Expect::OverTimings { quantifier, of } => {
                let word = match quantifier {
                    Quantifier::Always => "always",
                    Quantifier::Sometimes => "sometimes",
                    Quantifier::Never => "never",
                };
                write!(f, "{word} {of}")
            }
        }
    }
}

impl Display for Relation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Relation::Reuses { object, via } => write!(f, "reuses {object}{}", After(" via ", via)),
            Relation::At(object) => write!(f, "at {object}"),
            Relation::WaitsForFree(object) => write!(f, "waits for free {object}"),
            Relation::ReadyOn(stream) => write!(f, "ready on {stream}"),
            Relation::DependsOnTiming => f.write_str("depends on timing"),
            Relation::Via(class) => write!(f, "via {class}"),
            Relation::Reaches { object, access } => write!(f, "reaches {object}{}", After(" ", access)),
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (nth, segment) in self.segments.iter().enumerate() {
            if nth > 0 {
                f.write_str(".")?;
            }
            segment.fmt(f)?;
        }
        Ok(())
    }
}

impl Display for Segment {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        indexed(f, &self.name, self.index.as_ref())
    }
}

/// With the parentheses that the tree has, and no others.
impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExpressionKind::Literal(text, _) => f.write_str(text),
            ExpressionKind::Version(version) => f.write_str(version),
            ExpressionKind::Max => f.write_str("max"),
            ExpressionKind::Switch(on) => f.write_str(if *on { "on" } else { "off" }),
            ExpressionKind::Path(path) => path.fmt(f),
            ExpressionKind::Parentheses(inner) => write!(f, "({inner})"),
            ExpressionKind::Binary(sign, sides) => write!(f, "{} {sign} {}", sides.0, sides.1),
        }
    }
}

impl Display for Sign {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Sign::Plus => "+",
            Sign::Minus => "-",
            Sign::Times => "*",
            Sign::Over => "/",
            Sign::Modulo => "%",
        })
    }
}
