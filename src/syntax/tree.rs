//! From pest's pairs of one line to the syntax tree. The grammar guarantees the shapes; numbers are read here.

mod expect;
mod graphs;
mod memory;
mod processes;
mod settings;

use super::ast::*;
use super::codes;
use super::grammar::Rule;
use crate::base::{Bytes, Diagnostic, Nanos, ParseUnitError, Span};
use pest::iterators::Pair;

/// Reads the pairs of one line.
pub(super) struct Tree<'d> {
    /// Where the line begins in the text.
    pub(super) start: u32,
    /// Where mistakes go that the grammar lets through.
    pub(super) diagnostics: &'d mut Vec<Diagnostic>,
}

type Node<'t> = Pair<'t, Rule>;

/// The children that mean something: without fixed words and signs.
fn parts(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    node.into_inner().filter(|child| !child.as_rule().is_fixed())
}

/// The next child; the grammar says that there is one.
fn next<'t>(parts: &mut impl Iterator<Item = Node<'t>>) -> Node<'t> {
    parts.next().expect("the grammar gives this rule another part")
}

impl Tree<'_> {
    pub(super) fn span(&self, node: &Node<'_>) -> Span {
        let span = node.as_span();
        Span::new(self.start + span.start() as u32, self.start + span.end() as u32)
    }

    pub(super) fn comment(&self, node: &Node<'_>) -> Comment {
        Comment { span: self.span(node), text: node.as_str().trim_end().to_owned() }
    }

    fn name(&self, node: Node<'_>) -> Name {
        Name { text: node.as_str().to_owned(), span: self.span(&node) }
    }

    fn quoted(&self, node: Node<'_>) -> Name {
        Name { text: node.as_str().trim_matches('"').to_owned(), span: self.span(&node) }
    }

    /// A statement that is not a closing brace.
    pub(super) fn statement(&mut self, node: Node<'_>) -> Statement {
        let opens = node.clone().into_inner().any(|child| child.as_rule() == Rule::open);
        let rule = node.as_rule();
        let negated = node.clone();
        let mut parts = parts(node);
        match rule {
            Rule::version => Statement::Version(self.name(next(&mut parts))),
            Rule::scenario => Statement::Scenario(self.quoted(next(&mut parts))),
            Rule::model => Statement::Model(self.name(next(&mut parts))),
            Rule::snapshot => Statement::Snapshot(parts.next().map(|title| self.quoted(title))),
            Rule::profile => Statement::Profile(self.inline_settings(parts, opens)),
            Rule::device => {
                let name = self.name(next(&mut parts));
                Statement::Device(Device { name, settings: self.inline_settings(parts, opens) })
            }
            Rule::pool => self.pool(parts, opens),
            Rule::streams => self.streams(parts),
            Rule::events => Statement::Events(self.events(parts)),
            Rule::kernel => self.kernel(parts),
            Rule::host_buffer => self.host_buffers(parts),
            Rule::view => {
                Statement::View(View { name: self.path(next(&mut parts)), of: self.place(next(&mut parts)) })
            }
            Rule::collective => self.collective(parts),
            Rule::thread => {
                Statement::Thread(Thread { name: self.segment(next(&mut parts)), body: Body::default() })
            }
            Rule::process => {
                Statement::Process(Process { name: self.name(next(&mut parts)), body: Body::default() })
            }
            Rule::graph => self.graph(parts),
            Rule::asynchronous => self.asynchronous(negated),
            Rule::variant => {
                Statement::Variant(Variant { name: self.name(next(&mut parts)), body: Body::default() })
            }
            Rule::value => Statement::Let(Let {
                name: self.name(next(&mut parts)),
                value: self.expression(next(&mut parts)),
            }),
            Rule::repeat => Statement::Repeat(Repeat {
                variable: self.name(next(&mut parts)),
                from: self.expression(next(&mut parts)),
                to: self.expression(next(&mut parts)),
                body: Body::default(),
            }),
            Rule::expect => Statement::Expect(self.expectation(next(&mut parts))),
            Rule::allow => {
                let kind = self.name(next(&mut parts));
                Statement::Allow(Allow { kind, on: parts.next().map(|about| self.only_path(about)) })
            }
            _ => Statement::Call(Box::new(self.call(negated))),
        }
    }

    fn pool<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>, opens: bool) -> Statement {
        let name = self.name(next(&mut parts));
        let mut parts = parts.peekable();
        let location = parts.next_if(|part| part.as_rule() == Rule::location).map(|on| self.location(on));
        Statement::Pool(Pool { name, location, settings: self.inline_settings(parts, opens) })
    }

    /// The only part of a node, which is a word.
    fn only_name(&mut self, node: Node<'_>) -> Name {
        self.name(next(&mut parts(node)))
    }

    fn only_path(&mut self, node: Node<'_>) -> Path {
        self.path(next(&mut parts(node)))
    }

    /// What a line of a variant changes.
    pub(super) fn change(&mut self, node: Node<'_>) -> Change {
        let rule = node.as_rule();
        let mut parts = parts(node);
        let first = next(&mut parts);
        match rule {
            Rule::model => Change::Model(self.name(first)),
            Rule::omit => Change::Omit(self.name(first)),
            _ => Change::Set { target: self.path(first), value: self.setting_value(next(&mut parts)) },
        }
    }

    fn streams<'t>(&mut self, parts: impl Iterator<Item = Node<'t>>) -> Statement {
        let mut streams = Streams { names: Vec::new(), device: None, kind: None, priority: None };
        for part in parts {
            match part.as_rule() {
                Rule::declared => streams.names.push(self.declared(part)),
                Rule::on_device => streams.device = Some(self.only_name(part)),
                Rule::priority => streams.priority = Some(self.only_name(part)),
                _ => streams.kind = Some(stream_kind(&part)),
            }
        }
        Statement::Streams(streams)
    }

    fn declared(&mut self, node: Node<'_>) -> Declared {
        let mut parts = parts(node);
        Declared {
            name: self.name(next(&mut parts)),
            count: parts.next().map(|count| self.expression(count)),
        }
    }

    fn kernel<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> Statement {
        let name = self.name(next(&mut parts));
        let mut parameters = Vec::new();
        loop {
            let part = next(&mut parts);
            if part.as_rule() == Rule::takes {
                return Statement::Kernel(Kernel { name, parameters, takes: self.takes(part) });
            }
            parameters.push(self.parameter(part));
        }
    }

    fn collective<'t>(&mut self, mut rest: impl Iterator<Item = Node<'t>>) -> Statement {
        let name = next(&mut rest);
        let has_parameters = name.as_span().get_input()[name.as_span().end()..].trim_start().starts_with('(');
        let name = self.name(name);
        let mut parameters = Vec::new();
        let parts = loop {
            let part = next(&mut rest);
            if part.as_rule() == Rule::parts {
                break self.only_expression(part);
            }
            parameters.push(self.parameter(part));
        };
        let takes = self.takes(next(&mut rest));
        let parameters = has_parameters.then_some(parameters);
        Statement::Collective(Collective { name, parameters, parts, takes })
    }

    fn only_expression(&mut self, node: Node<'_>) -> Expression {
        self.expression(next(&mut parts(node)))
    }

    fn parameter(&mut self, node: Node<'_>) -> Parameter {
        let mut parts = parts(node);
        let name = self.name(next(&mut parts));
        Parameter { name, access: access(next(&mut parts).as_str()) }
    }

    fn takes(&mut self, node: Node<'_>) -> Law {
        let law = next(&mut parts(node));
        let mut law = parts(law);
        let first = next(&mut law);
        if first.as_rule() == Rule::uniform {
            let mut bounds = parts(first);
            let low = self.expression(next(&mut bounds));
            return Law::Uniform(low, self.expression(next(&mut bounds)));
        }
        if first.as_rule() == Rule::normal {
            let mut shape = parts(first);
            let mean = self.expression(next(&mut shape));
            return Law::Normal(mean, self.expression(next(&mut shape)));
        }
        let first = self.expression(first);
        match law.next() {
            Some(percent) if percent.as_rule() == Rule::percent => Law::Around(first, self.name(percent)),
            Some(high) => Law::Range(first, self.expression(high)),
            None => Law::Constant(first),
        }
    }

    fn call(&mut self, node: Node<'_>) -> Call {
        let rule = node.as_rule();
        let written = node.clone();
        let mut parts: Vec<_> = parts(node).collect();
        let outcome = parts.pop_if(|last| last.as_rule() == Rule::outcome).map(|last| self.outcome(last));
        let label = parts.pop_if(|last| last.as_rule() == Rule::label).map(|last| self.only_name(last));
        let mut parts = parts.into_iter();
        let kind = match rule {
            Rule::queued => CallKind::Queued {
                stream: self.path(next(&mut parts)),
                operation: self.operation(next(&mut parts)),
            },
            Rule::sync => CallKind::Sync(parts.next().map(|path| self.path(path))),
            Rule::query => CallKind::Query(self.path(next(&mut parts))),
            Rule::poll => CallKind::Poll(self.path(next(&mut parts))),
            Rule::elapsed => self.elapsed(parts),
            Rule::sleep => CallKind::Sleep(self.expression(next(&mut parts))),
            Rule::trim => {
                CallKind::Trim { pool: self.path(next(&mut parts)), keep: self.expression(next(&mut parts)) }
            }
            Rule::set => CallKind::Set {
                attribute: self.path(next(&mut parts)),
                value: self.expression(next(&mut parts)),
            },
            Rule::reset => CallKind::Reset(self.path(next(&mut parts))),
            Rule::set_pool => {
                CallKind::SetPool { device: self.name(next(&mut parts)), pool: self.path(next(&mut parts)) }
            }
            Rule::instantiate | Rule::upload | Rule::trim_graphs => self.graph_call(rule, parts),
            Rule::grant => CallKind::Grant(self.grant(parts)),
            Rule::revoke => {
                CallKind::Revoke { pool: self.path(next(&mut parts)), device: self.name(next(&mut parts)) }
            }
            Rule::export => {
                CallKind::Export { what: self.path(next(&mut parts)), under: self.name(next(&mut parts)) }
            }
            Rule::import => CallKind::Import(self.import(parts)),
            Rule::create => CallKind::Create(self.create(next(&mut parts))),
            Rule::destroy => CallKind::Destroy(self.path(next(&mut parts))),
            Rule::signal => CallKind::Signal(self.name(next(&mut parts))),
            Rule::malloc => CallKind::Malloc(self.malloc(parts)),
            Rule::reserve => self.reserve(parts),
            Rule::free_now => CallKind::Free(self.path(next(&mut parts))),
            Rule::transfer => self.transfer(next(&mut parts)),
            Rule::touch => self.touch(next(&mut parts), written.as_str()),
            Rule::awaits => CallKind::Await(self.name(next(&mut parts))),
            Rule::join => CallKind::Join(self.path(next(&mut parts))),
            Rule::barrier => CallKind::Barrier {
                name: self.name(next(&mut parts)),
                of: self.only_expression(next(&mut parts)),
            },
            other => unreachable!("{other:?} is no statement of the grammar"),
        };
        Call { kind, label, outcome }
    }

    fn elapsed<'t>(&mut self, mut parts: impl Iterator<Item = Node<'t>>) -> CallKind {
        let name = self.name(next(&mut parts));
        CallKind::Elapsed { name, from: self.path(next(&mut parts)), to: self.path(next(&mut parts)) }
    }

    fn create(&mut self, node: Node<'_>) -> Create {
        let rule = node.as_rule();
        let opens = node.clone().into_inner().any(|child| child.as_rule() == Rule::open);
        let mut parts: Vec<_> = parts(node).collect();
        let interprocess = parts.pop_if(|last| last.as_rule() == Rule::flags).is_some();
        let reusing = parts.iter().position(|part| part.as_rule() == Rule::reusing);
        let reusing = reusing.map(|at| self.only_path(parts.remove(at)));
        let mut parts = parts.into_iter();
        let name = self.name(next(&mut parts));
        let mut parts = parts.peekable();
        let location = parts.next_if(|part| part.as_rule() == Rule::location).map(|on| self.location(on));
        let device = parts.next_if(|part| part.as_rule() == Rule::on_device).map(|on| self.only_name(on));
        let resource = match rule {
            Rule::created_stream => {
                let kind = parts.next_if(|part| part.as_rule() == Rule::stream_kind);
                let priority = parts.next().map(|priority| self.only_name(priority));
                Created::Stream { name, device, kind: kind.map(|kind| stream_kind(&kind)), priority }
            }
            Rule::created_event => Created::Event { name, device, interprocess },
            _ => Created::Pool(Pool { name, location, settings: self.inline_settings(parts, opens) }),
        };
        Create { resource, reusing }
    }

    fn outcome(&mut self, node: Node<'_>) -> Outcome {
        let kind = match node.clone().into_inner().next().map(|word| word.as_rule()) {
            Some(Rule::kw_fails) => OutcomeKind::Fails,
            Some(Rule::kw_or_fails) => OutcomeKind::OrFails,
            _ => OutcomeKind::Else(Body::default()),
        };
        Outcome { kind, error: self.only_name(node) }
    }

    fn operation(&mut self, node: Node<'_>) -> Operation {
        match node.as_rule() {
            Rule::alloc => {
                let mut parts = parts(node);
                Operation::Alloc {
                    buffer: self.path(next(&mut parts)),
                    size: self.expression(next(&mut parts)),
                    pool: parts.next().map(|from| self.only_path(from)),
                }
            }
            Rule::free => Operation::Free(self.only_path(node)),
            Rule::record => Operation::Record(self.only_path(node)),
            Rule::wait => Operation::Wait(self.only_path(node)),
            Rule::copy => Operation::Copy(self.copy(node)),
            Rule::memset => Operation::Memset(self.memset(node)),
            Rule::host => self.host_function(node),
            Rule::launch_graph => Operation::LaunchGraph(self.only_path(node)),
            _ => self.launch(node),
        }
    }

    fn host_function(&mut self, node: Node<'_>) -> Operation {
        let mut function = HostFunction { uses: Vec::new(), takes: None, gives: None };
        for part in parts(node) {
            match part.as_rule() {
                Rule::touched => {
                    let mut used = parts(part);
                    let at = self.place(next(&mut used));
                    function.uses.push(Touched { at, access: access(next(&mut used).as_str()) });
                }
                Rule::takes => function.takes = Some(Takes::For(self.takes(part))),
                Rule::awaited => function.takes = Some(Takes::Until(self.only_name(part))),
                _ => function.gives = Some(self.only_name(part)),
            }
        }
        Operation::Host(function)
    }

    fn launch(&mut self, node: Node<'_>) -> Operation {
        let edges = |rule| move |child: &Node<'_>| child.as_rule() == rule;
        let mut children = node.clone().into_inner();
        let left = children.find(edges(Rule::left)).map(|sign| self.span(&sign)).unwrap_or_default();
        let right = children.find(edges(Rule::right)).map(|sign| self.span(&sign)).unwrap_or_default();
        let mut parts = parts(node);
        let kernel = self.name(next(&mut parts));
        let mut arguments = Vec::new();
        let mut takes = None;
        for part in parts {
            match part.as_rule() {
                Rule::takes => takes = Some(Takes::For(self.takes(part))),
                Rule::until => takes = Some(Takes::Until(self.only_name(part))),
                _ => arguments.push(self.place(part)),
            }
        }
        Operation::Launch { kernel, arguments, parentheses: left.to(right), takes }
    }

    fn path(&mut self, node: Node<'_>) -> Path {
        let span = self.span(&node);
        let segments = parts(node).map(|part| self.segment(part)).collect();
        Path { segments, span }
    }

    fn segment(&mut self, node: Node<'_>) -> Segment {
        if node.as_rule() == Rule::word {
            return Segment { name: self.name(node), index: None };
        }
        let mut parts = parts(node);
        Segment { name: self.name(next(&mut parts)), index: parts.next().map(|index| self.expression(index)) }
    }

    /// Terms and signs in turn; products bind before sums, and both to the left.
    fn expression(&mut self, node: Node<'_>) -> Expression {
        let mut parts = parts(node);
        let mut sum: Option<(Expression, Sign)> = None;
        let mut product = self.term(next(&mut parts));
        while let Some(sign) = parts.next() {
            let sign = sign_of(sign.as_str());
            let term = self.term(next(&mut parts));
            if matches!(sign, Sign::Plus | Sign::Minus) {
                sum = Some((joined(sum, product), sign));
                product = term;
            } else {
                product = binary(product, sign, term);
            }
        }
        joined(sum, product)
    }

    fn term(&mut self, node: Node<'_>) -> Expression {
        let span = self.span(&node);
        let kind = match node.as_rule() {
            Rule::number => {
                let text = node.as_str();
                ExpressionKind::Literal(text.to_owned(), self.number(text, span))
            }
            Rule::constant => match node.as_str() {
                "max" => ExpressionKind::Max,
                word => ExpressionKind::Switch(word == "on"),
            },
            Rule::parentheses => {
                let inner = next(&mut parts(node));
                ExpressionKind::Parentheses(Box::new(self.expression(inner)))
            }
            _ => ExpressionKind::Path(self.path(node)),
        };
        Expression { span, kind }
    }

    fn number(&mut self, text: &str, span: Span) -> Literal {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            if let Ok(count) = text.parse() {
                return Literal::Count(count);
            }
            self.bad_number(text, span, ParseUnitError::TooLarge);
            return Literal::Count(0);
        }
        let error = match (text.parse::<Bytes>(), text.parse::<Nanos>()) {
            (Ok(size), _) => return Literal::Size(size),
            (_, Ok(duration)) => return Literal::Duration(duration),
            (Err(ParseUnitError::Malformed), Err(error)) | (Err(error), _) => error,
        };
        self.bad_number(text, span, error);
        Literal::Count(0)
    }

    fn bad_number(&mut self, text: &str, span: Span, error: ParseUnitError) {
        let label = match error {
            ParseUnitError::TooLarge => "larger than 2^64-1",
            ParseUnitError::NotWhole => "not a whole number of bytes or nanoseconds",
            ParseUnitError::Malformed => "expected a whole number, a size or a duration",
        };
        let diagnostic =
            Diagnostic::error(codes::BAD_NUMBER, format!("`{text}` cannot be read as a number"), span, label);
        let diagnostic = match (error, meant_unit(text)) {
            (ParseUnitError::Malformed, Some((number, unit))) => {
                let fixed = format!("{number}{unit}");
                diagnostic.fix(format!("did you mean `{fixed}`?"), span, fixed)
            }
            (ParseUnitError::Malformed, None) if text.starts_with("0x") => {
                diagnostic.help("numbers are written in tens")
            }
            (ParseUnitError::Malformed, None) => {
                diagnostic.help("sizes are in B, KiB, MiB, GiB, TiB, and durations in ns, us, ms, s")
            }
            _ => diagnostic,
        };
        self.diagnostics.push(diagnostic);
    }
}

fn stream_kind(node: &Node<'_>) -> StreamKind {
    if node.as_str() == "blocking" { StreamKind::Blocking } else { StreamKind::NonBlocking }
}

/// The number and the unit that a wrong unit was meant to be.
fn meant_unit(text: &str) -> Option<(String, &'static str)> {
    let (number, name) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic() || c == '_')?);
    // In other languages `_` stands between digits.
    let letters = name.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(name.len());
    let (digits, name) = name.split_at(letters);
    let is_grouped = digits.is_empty() || !digits.ends_with('_');
    let unit = if name.is_empty() { Some("") } else { unit(name) };
    Some((format!("{number}{}", digits.replace('_', "")), unit.filter(|_| is_grouped)?))
}

/// The unit that a word means, as this language spells it.
pub(super) fn unit(word: &str) -> Option<&'static str> {
    Some(match word.to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => "B",
        "k" | "kb" | "kib" | "ki" => "KiB",
        "m" | "mb" | "mib" | "mi" | "megabytes" => "MiB",
        "g" | "gb" | "gib" | "gi" | "gigabytes" => "GiB",
        "t" | "tb" | "tib" | "ti" => "TiB",
        "ns" | "nsec" | "nanos" | "nanoseconds" => "ns",
        "us" | "usec" | "micros" | "microseconds" => "us",
        "ms" | "msec" | "millis" | "milliseconds" => "ms",
        "s" | "sec" | "seconds" => "s",
        _ => return None,
    })
}

fn access(word: &str) -> Access {
    match word {
        "read" => Access::Read,
        "write" => Access::Write,
        _ => Access::ReadWrite,
    }
}

fn sign_of(text: &str) -> Sign {
    match text {
        "+" => Sign::Plus,
        "-" => Sign::Minus,
        "*" => Sign::Times,
        "/" => Sign::Over,
        _ => Sign::Modulo,
    }
}

fn binary(left: Expression, sign: Sign, right: Expression) -> Expression {
    let span = left.span.to(right.span);
    Expression { span, kind: ExpressionKind::Binary(sign, Box::new((left, right))) }
}

fn joined(sum: Option<(Expression, Sign)>, product: Expression) -> Expression {
    match sum {
        Some((left, sign)) => binary(left, sign, product),
        None => product,
    }
}
