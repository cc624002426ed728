//! The part of the tree about host threads, and what streams do with each other.

use super::{Access, Body, Expression, Law, Name, Parameter, Place, Segment, Takes};

/// A collective.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Its name.
    pub name: Name,
    /// What each part touches; `None`: whatever it is called with, to read and to write.
    pub parameters: Option<Vec<Parameter>>,
    /// How many parts it has.
    pub parts: Expression,
    /// How long they run.
    pub takes: Law,
}

/// A host thread, which starts where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// Its name.
    pub name: Segment,
    /// What it does.
    pub body: Body,
}

/// A thread that reads or writes memory of the host, and ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Asynchronous {
    /// Its name.
    pub name: Name,
    /// What it touches.
    pub at: Place,
    /// How.
    pub access: Access,
    /// How long it takes.
    pub takes: Option<Expression>,
}

/// A function that the host runs in the order of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct HostFunction {
    /// What it touches.
    pub uses: Vec<Touched>,
    /// How long it runs, if it takes time.
    pub takes: Option<Takes>,
    /// The signal that it gives.
    pub gives: Option<Name>,
}

/// `h: read`
#[derive(Clone, Debug, PartialEq)]
pub struct Touched {
    /// The memory.
    pub at: Place,
    /// What is done with it.
    pub access: Access,
}
