//! The part of the tree about processes and what they share.

use super::{Body, Declared, Location, Name, Path};

/// A process, which starts where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Process {
    /// Its name.
    pub name: Name,
    /// What it does.
    pub body: Body,
}

/// Events.
#[derive(Clone, Debug, PartialEq)]
pub struct Events {
    /// Their names.
    pub names: Vec<Declared>,
    /// The device after `on`.
    pub device: Option<Name>,
    /// Whether `{ interprocess }` stands behind them.
    pub interprocess: bool,
}

/// What another process has exported gets a name here.
#[derive(Clone, Debug, PartialEq)]
pub struct Import {
    /// The name that it gets.
    pub name: Path,
    /// The name that it was exported under.
    pub under: Name,
    /// What stands behind, which says what it is.
    pub place: ImportPlace,
}

/// What stands behind an import.
#[derive(Clone, Debug, PartialEq)]
pub enum ImportPlace {
    /// `on gpu0`: it is a pool there.
    On(Location),
    /// `from q`: it is memory of this pool.
    From(Path),
    /// Nothing: it is an event.
    Nothing,
}
