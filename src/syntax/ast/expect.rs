//! What an `expect` line says.

use super::{Access, Expression, Name, Path};

/// An expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum Expect {
    /// `expect a == b`
    Compare {
        /// The left side.
        left: Expression,
        /// `==` and so on.
        comparator: Name,
        /// The right side.
        right: Expression,
    },
    /// `expect late starts >= end early`
    Moments {
        /// The moment that it is about.
        subject: Moment,
        /// `==` and so on.
        comparator: Name,
        /// What it is compared with.
        object: When,
    },
    /// `expect y reuses x via follow_event`
    Relate {
        /// The buffer that it is about.
        subject: Path,
        /// What is said about it.
        relation: Relation,
        /// Whether `not` stands before.
        not: bool,
    },
    /// `expect big fails out_of_memory`, `expect big not fails`
    Fails {
        /// The label of the call, or the buffer that it allocates.
        call: Path,
        /// Whether `not` stands before.
        not: bool,
        /// The error; with `not` there may be none, which means any.
        error: Option<Name>,
    },
    /// `expect finding freed_before_importer on x at late 2 times`
    Finding {
        /// What is to be found.
        kind: Name,
        /// The memory that it is about.
        on: Option<Path>,
        /// The label of a line that it is about.
        at: Option<Name>,
        /// How often.
        times: Option<Expression>,
    },
    /// `expect no findings`
    NoFindings,
    /// `expect no leaks`
    NoLeaks,
    /// `expect sometimes out_of_memory`, `expect never race`, `expect always no leak`
    Occurs {
        /// The error, or what is found.
        kind: Name,
        /// Whether `no` stands before.
        not: bool,
    },
    /// `expect always p.reserved_high <= 256MiB`
    OverTimings {
        /// Of which timings it is said.
        quantifier: Quantifier,
        /// What is said.
        of: Box<Expect>,
    },
}

/// Of how many timings something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantifier {
    /// `always`
    Always,
    /// `sometimes`
    Sometimes,
    /// `never`
    Never,
}

/// `allow leak on x`: findings that are not told.
#[derive(Clone, Debug, PartialEq)]
pub struct Allow {
    /// What is found.
    pub kind: Name,
    /// The memory that it is about.
    pub on: Option<Path>,
}

/// A moment in the life of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// The label of the operation, or its kernel.
    pub operation: Name,
    /// Its end, or else its start.
    pub end: bool,
}

/// What a moment is compared with.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// `end early`
    Moment(Moment),
    /// `30us`: so long after the start of the run.
    Time(Expression),
}

/// What an expectation says about a buffer.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `reuses x via P`
    Reuses {
        /// The earlier buffer.
        object: Path,
        /// The class.
        via: Option<Name>,
    },
    /// `at x`
    At(Path),
    /// `waits for free x`
    WaitsForFree(Path),
    /// `ready on S`
    ReadyOn(Path),
    /// `depends on timing`
    DependsOnTiming,
    /// `via P`
    Via(Name),
    /// `reaches p read`, of a device
    Reaches {
        /// The pool, or the other device.
        object: Path,
        /// How, if that is written.
        access: Option<Access>,
    },
}
