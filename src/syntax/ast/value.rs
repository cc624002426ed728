//! Values to compute, and the paths that name things: what stands inside of statements.

use super::Name;
use crate::base::{Bytes, Nanos, Span};

/// A name with its qualifiers: `gpu0.default_pool.used`, `block[i]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its parts; at least one.
    pub segments: Vec<Segment>,
    /// All of it.
    pub span: Span,
}

/// One part of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The name.
    pub name: Name,
    /// What stands in brackets after it.
    pub index: Option<Expression>,
}

/// A value to compute.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: ExpressionKind,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpressionKind {
    /// `64KiB`, as written and as read.
    Literal(String, Literal),
    /// `11.2`, as a setting alone may have it.
    Version(String),
    /// `max`
    Max,
    /// `on`, `off`
    Switch(bool),
    /// A name.
    Path(Path),
    /// `(a + b)`
    Parentheses(Box<Expression>),
    /// Two values and the sign between them.
    Binary(Sign, Box<(Expression, Expression)>),
}

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Literal {
    /// `4`
    Count(u64),
    /// `64KiB`
    Size(Bytes),
    /// `10us`
    Duration(Nanos),
}

/// The sign of an arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `%`
    Modulo,
}
