//! Expressions: their values, units and bounds; and indices, which must be known to be in range.

use super::check::Checker;
use super::names::{DEFAULT_STREAMS, Kind, Meaning, Row};
use super::value::{Value, combined_unit, unit_name};
use super::{Action, Broken, Chosen, Formula, Instruction, Operator, Unit, codes};
use crate::base::{BufferId, Diagnostic, Idx, PoolId, Span, StmtId, StreamId};
use crate::syntax::ast::{Expression, ExpressionKind, Literal, Name, Path, Segment, Sign};
use crate::trace::{Figure, Reading};

/// The figure of a buffer.
const ADDRESS: &str = "address";

impl Checker<'_> {
    /// A value in which figures of pools may be read; the reads are added to the statement.
    pub(super) fn value_with_reads(&mut self, expression: &Expression, stmt: StmtId) -> Option<Value> {
        self.compute(expression, Some(stmt))
    }

    /// A value of a unit, without reads.
    pub(super) fn value(&mut self, expression: &Expression, unit: Unit) -> Option<Value> {
        let value = self.compute(expression, None)?;
        if !value.fits(unit) {
            let (wanted, found) = (unit_name(unit), unit_name(value.unit));
            let message = format!("{wanted} is needed here, and this is {found}");
            let diagnostic =
                Diagnostic::error(codes::WRONG_UNIT, message, expression.span, format!("expected {wanted}"));
            self.tell(match (unit, value.unit) {
                (Unit::Bytes, Unit::Count) => match &expression.kind {
                    ExpressionKind::Literal(text, _) => {
                        let after = Span::new(expression.span.end, expression.span.end);
                        let help =
                            format!("sizes carry a unit, KiB, MiB, GiB or TiB; or write `{text}B` for bytes");
                        diagnostic.fix(help, after, "B")
                    }
                    _ => diagnostic.help("sizes carry a unit: B, KiB, MiB, GiB or TiB; such as `n * 1MiB`"),
                },
                (Unit::Nanos, Unit::Count) => {
                    diagnostic.help("durations carry a unit: ns, us, ms or s; such as `10us`")
                }
                _ => diagnostic,
            });
            return None;
        }
        if value.as_constant().is_some_and(|value| u64::try_from(value).is_err()) {
            let shown = value.as_constant().unwrap_or_default();
            let message = format!("{shown} is not within 0 and 2^64-1");
            let label = if shown < 0 { "this is below 0" } else { "this is above 2^64-1" };
            self.error(codes::VALUE_OUT_OF_RANGE, message, expression.span, label);
            return None;
        }
        Some(value)
    }

    /// A value that is known before the run.
    pub(super) fn constant_natural(&mut self, expression: &Expression, unit: Unit) -> Option<u64> {
        let value = self.value(expression, unit)?;
        let constant = value.as_constant().and_then(|value| u64::try_from(value).ok());
        if constant.is_none() {
            let message = "this value must be the same in every run and every turn";
            self.error(codes::NOT_CONSTANT, message, expression.span, "expected a constant");
        }
        constant
    }

    /// A long sum leans to the left, so that side is walked by a loop and not by recursion.
    fn compute(&mut self, expression: &Expression, reads: Option<StmtId>) -> Option<Value> {
        let mut first = expression;
        let mut rest = Vec::new();
        while let ExpressionKind::Binary(sign, sides) = &first.kind {
            rest.push((first.span, *sign, &sides.1));
            first = &sides.0;
        }
        let mut value = self.term(first, reads);
        for (span, sign, right) in rest.into_iter().rev() {
            let right = self.compute(right, reads);
            value = value.zip(right).and_then(|(left, right)| self.combine(span, sign, left, right));
        }
        value
    }

    fn term(&mut self, expression: &Expression, reads: Option<StmtId>) -> Option<Value> {
        Some(match &expression.kind {
            ExpressionKind::Literal(_, literal) => match *literal {
                Literal::Count(count) => Value::constant(count.into(), Unit::Count),
                Literal::Size(size) => Value::constant(size.0.into(), Unit::Bytes),
                Literal::Duration(duration) => Value::constant(duration.0.into(), Unit::Nanos),
            },
            ExpressionKind::Version(text) => {
                let message = format!("`{text}` is the version of a driver, or lacks its unit");
                let label = "expected a value such as `2MiB` or `10us`";
                self.error(codes::WRONG_UNIT, message, expression.span, label);
                return None;
            }
            ExpressionKind::Max => Value::constant(u64::MAX.into(), Unit::Bytes),
            ExpressionKind::Switch(on) => Value::constant((*on).into(), Unit::Switch),
            ExpressionKind::Parentheses(inner) => self.compute(inner, reads)?,
            ExpressionKind::Binary(..) => self.compute(expression, reads)?,
            ExpressionKind::Path(path) => match path.segments.as_slice() {
                [segment] => self.named_value(segment)?,
                _ => self.figure(path, reads)?,
            },
        })
    }

    fn combine(&mut self, span: Span, sign: Sign, left: Value, right: Value) -> Option<Value> {
        let operator = match sign {
            Sign::Plus => Operator::Add,
            Sign::Minus => Operator::Subtract,
            Sign::Times => Operator::Multiply,
            Sign::Over => Operator::Divide,
            Sign::Modulo => Operator::Remainder,
        };
        let Some(unit) = combined_unit(operator, &left, &right) else {
            let (left, right) = (unit_name(left.unit), unit_name(right.unit));
            self.error(codes::WRONG_UNIT, format!("{left} and {right} do not go together here"), span, "");
            return None;
        };
        match left.combine(operator, right, unit) {
            Ok(value) => Some(value),
            Err(Broken::DivisionByZero) => {
                let message = "this can be a division by zero";
                let diagnostic = Diagnostic::error(codes::DIVISION_BY_ZERO, message, span, "");
                self.tell(
                    diagnostic.help("divide by what is at least 1, such as `i + 1` in a loop over `i`"),
                );
                None
            }
            Err(_) => {
                self.error(codes::VALUE_OVERFLOW, "this value grows beyond 2^127", span, "");
                None
            }
        }
    }

    fn named_value(&mut self, segment: &Segment) -> Option<Value> {
        let Meaning::Value(value) = self.resolve(&segment.name, &[Kind::Value])? else { return None };
        self.no_index(segment)?;
        Some(value)
    }

    pub(super) fn no_index(&mut self, segment: &Segment) -> Option<()> {
        let Some(index) = &segment.index else { return Some(()) };
        let message = format!("`{}` is not an array", segment.name.text);
        self.error(codes::WRONG_INDEX, message, index.span, "an index has no meaning here");
        None
    }

    /// `p.used`, `gpu0.free`, `x.address`: read where the statement stands.
    fn figure(&mut self, path: &Path, reads: Option<StmtId>) -> Option<Value> {
        if let Some((buffer, figure)) = self.buffer_and_figure(path) {
            return self.address(buffer, figure, path.span, reads);
        }
        let reading = match self.device_figure(path) {
            Some(reading) => reading?,
            None if let Some(reading) = self.graph_reading(path) => reading?,
            None => self.pool_and_figure(path).map(|(pool, figure)| Reading::Pool(pool, figure))?,
        };
        let stmt = self.reading(path.span, reads)?;
        let register = self.register();
        let action = match self.expecting {
            true => Action::Peek { reading, register },
            false => Action::Read { reading, register },
        };
        self.code.push(Instruction::Call { stmt, action });
        let unit = match reading {
            reading if reading.is_switch() => Unit::Switch,
            reading if reading.is_count() => Unit::Count,
            _ => Unit::Bytes,
        };
        Some(Value { formula: Formula::Register(register), unit, bounds: None })
    }

    /// The statement in which something may be read; tells it where that is none.
    fn reading(&mut self, place: Span, reads: Option<StmtId>) -> Option<StmtId> {
        if reads.is_none() {
            let name = self.text[place.range()].trim_end();
            let message = format!("`{name}` is known only when the run gets here");
            let diagnostic = Diagnostic::error(codes::NOT_CONSTANT, message, place, "");
            self.tell(diagnostic.help(format!("read it in a line before: `let before = {name}`")));
        }
        reads
    }

    /// The parts of `x.address`, if the path begins with the name of a buffer, or of what may become one.
    fn buffer_and_figure<'p>(&self, path: &'p Path) -> Option<(&'p Segment, &'p Segment)> {
        let [buffer, figure] = path.segments.as_slice() else { return None };
        let kind = self.table.get(&buffer.name.text).map(|binding| binding.kind);
        let is_buffer = kind.map_or(figure.name.text == ADDRESS, |kind| kind == Kind::Buffer);
        is_buffer.then_some((buffer, figure))
    }

    /// `x.address`, in bytes: the only figure of a buffer.
    fn address(
        &mut self,
        buffer: &Segment,
        figure: &Segment,
        place: Span,
        reads: Option<StmtId>,
    ) -> Option<Value> {
        let nth = self.mentions_so_far();
        let path = Path { segments: vec![buffer.clone()], span: buffer.name.span };
        let of = self.buffer(&path);
        self.no_index(figure)?;
        self.word(&figure.name, codes::UNKNOWN_ATTRIBUTE, "figure of a buffer called", [(ADDRESS, ())])?;
        let stmt = self.reading(place, reads)?;
        let register = self.register();
        self.code.push(Instruction::Address { stmt, register, of: of?, nth });
        Some(Value { formula: Formula::Register(register), unit: Unit::Bytes, bounds: None })
    }

    /// The parts of `p.used` or `gpu0.default_pool.used`.
    pub(super) fn pool_and_figure(&mut self, path: &Path) -> Option<(PoolId, Figure)> {
        let (last, pool) = path.segments.split_last()?;
        if pool.is_empty() {
            let message = "a pool and its attribute are needed here";
            self.error(codes::UNKNOWN_ATTRIBUTE, message, path.span, "expected `POOL.attribute`");
            return None;
        }
        // What a name with a mistake in its declaration stands for is not known, so neither are its figures.
        let pool = self.pool_of(pool)?;
        self.no_index(last)?;
        let known = Figure::ALL.map(|figure| (figure.name(), figure));
        let figure = self.word(&last.name, codes::UNKNOWN_ATTRIBUTE, "figure of a pool called", known);
        Some((pool, figure?))
    }

    pub(super) fn pool(&mut self, path: &Path) -> Option<PoolId> {
        self.pool_of(&path.segments)
    }

    fn pool_of(&mut self, segments: &[Segment]) -> Option<PoolId> {
        segments.iter().try_for_each(|segment| self.no_index(segment))?;
        match segments {
            [pool] => match self.resolve(&pool.name, &[Kind::Pool])? {
                Meaning::Pool(pool) => Some(pool),
                _ => None,
            },
            [device, pool] if self.kind_of(&device.name) != Some(Kind::Pool) => {
                let Meaning::Device(device) = self.resolve(&device.name, &[Kind::Device])? else {
                    return None;
                };
                if pool.name.text == "pool" {
                    let message = "the current pool can only be set and compared";
                    let diagnostic = Diagnostic::error(codes::UNKNOWN_NAME, message, pool.name.span, "");
                    self.tell(diagnostic.help("name the pool; `alloc` without `from` asks the current one"));
                    return None;
                }
                let known = [("default_pool", ())];
                self.word(&pool.name, codes::UNKNOWN_NAME, "pool of a device called", known)?;
                Some(self.default_pools[device])
            }
            [first, .., last] => {
                let span = first.name.span.to(last.name.span);
                self.error(codes::WRONG_KIND, "this is not the name of a pool", span, "expected a pool");
                None
            }
            [] => None,
        }
    }

    pub(super) fn stream(&mut self, path: &Path) -> Option<Chosen<StreamId>> {
        match path.segments.as_slice() {
            [segment] => {
                let default = default_stream_word(&segment.name.text);
                if let Some((word, first)) = default.zip(self.first_device()) {
                    self.no_index(segment)?;
                    return self.default_stream(first, word, segment.name.span);
                }
                let Meaning::Stream(row) = self.resolve(&segment.name, &[Kind::Stream])? else { return None };
                self.element(row, segment)
            }
            [device, stream] => {
                self.no_index(device).and(self.no_index(stream))?;
                let Meaning::Device(device) = self.resolve(&device.name, &[Kind::Device])? else {
                    return None;
                };
                let known = DEFAULT_STREAMS.map(|word| (word, word));
                let word =
                    self.word(&stream.name, codes::UNKNOWN_NAME, "stream of a device called", known)?;
                self.default_stream(device, word, stream.name.span)
            }
            _ => {
                self.only_segment(path, Kind::Stream)?;
                None
            }
        }
    }

    /// The element of an array that an index chooses.
    pub(super) fn element<Id: Idx>(&mut self, row: Row<Id>, segment: &Segment) -> Option<Chosen<Id>> {
        let name = &segment.name;
        match (row.count, &segment.index) {
            (None, None) => Some(Chosen { base: row.base, index: None }),
            (None, Some(_)) => {
                self.no_index(segment)?;
                None
            }
            (Some(count), None) => {
                let message = format!("`{}` is an array of {count}", name.text);
                let diagnostic =
                    Diagnostic::error(codes::WRONG_INDEX, message, name.span, "expected an index");
                self.tell(
                    diagnostic.help(format!("write `{0}[0]` or `{0}[i]` in a loop over `i`", name.text)),
                );
                None
            }
            (Some(count), Some(index)) => {
                let value = self.index(index)?;
                let high = value.bounds.map_or(0, |bounds| bounds.high);
                if high >= i128::from(count) {
                    self.outside_of_array(name, high, count, index.span);
                    return None;
                }
                Some(chosen(row.base, value))
            }
        }
    }

    fn outside_of_array(&mut self, name: &Name, high: i128, count: u64, place: Span) {
        let message = format!("the index can be {high}, and `{}` has {count} elements", name.text);
        let label = format!("expected at most {}", count - 1);
        self.error(codes::INDEX_OUT_OF_RANGE, message, place, &label);
    }

    /// An index: a count that depends on nothing but constants and loops, and is never negative.
    pub(super) fn index(&mut self, index: &Expression) -> Option<Value> {
        let value = self.value(index, Unit::Count)?;
        let Some(bounds) = value.bounds else {
            let message = "an index must follow from constants and loop variables";
            self.error(codes::NOT_CONSTANT, message, index.span, "this depends on the run");
            return None;
        };
        if bounds.low < 0 {
            let message = format!("the index can be {}", bounds.low);
            self.error(codes::INDEX_OUT_OF_RANGE, message, index.span, "expected at least 0");
            return None;
        }
        Some(value)
    }

    pub(super) fn index_of_buffer(&mut self, at: usize, segment: &Segment) -> Option<Chosen<BufferId>> {
        let buffer = &self.buffers[at];
        if buffer.indexed != segment.index.is_some() {
            let (here, there) = if buffer.indexed { ("no", "an") } else { ("an", "no") };
            let message = format!("`{}` has {here} index here and {there} index elsewhere", buffer.name);
            let diagnostic = Diagnostic::error(codes::WRONG_INDEX, message, segment.name.span, "")
                .also(buffer.span, format!("{there} index here"));
            self.tell(diagnostic);
            return None;
        }
        let base = BufferId::from_usize(at);
        let Some(index) = &segment.index else { return Some(Chosen { base, index: None }) };
        let value = self.index(index)?;
        let bounds = value.bounds?;
        for (depth, around) in self.blocks.iter_mut().enumerate() {
            around.chooses_buffers |= bounds.loops >> depth & 1 == 1;
        }
        let last = u64::try_from(bounds.high).unwrap_or(u64::MAX);
        if let Some(count) = self.buffers[at].host.and_then(|host| host.count)
            && last >= count
        {
            self.outside_of_array(&segment.name, bounds.high, count, index.span);
            return None;
        }
        let buffer = &mut self.buffers[at];
        buffer.last = buffer.last.max(last);
        Some(chosen(base, value))
    }
}

/// The word, if it is the name of a default stream.
pub(super) fn default_stream_word(name: &str) -> Option<&'static str> {
    DEFAULT_STREAMS.into_iter().find(|word| *word == name)
}

/// One of a row.
fn chosen<Id>(base: Id, index: Value) -> Chosen<Id> {
    Chosen { base, index: Some(Box::new(index.formula)) }
}

/// The unit of two sides that are compared, if they can be.
pub(super) fn common_unit(left: &Value, right: &Value) -> Option<Unit> {
    let unit = if left.is_bare_zero() { right.unit } else { left.unit };
    (left.fits(unit) && right.fits(unit)).then_some(unit)
}
