//! The part of the tree about memory beside pools: that of devices and of the host, parts and views, copies.

use super::{Access, Declared, Expression, Law, Name, Path};
use crate::base::Span;

/// `x = malloc 4KiB managed on gpu1`
#[derive(Clone, Debug, PartialEq)]
pub struct Malloc {
    /// The buffer.
    pub buffer: Path,
    /// Its size.
    pub size: Expression,
    /// Whether `managed` is written.
    pub managed: bool,
    /// The device after `on`.
    pub device: Option<Name>,
}

/// `host_buffer h, g[2] 64MiB pinned`
#[derive(Clone, Debug, PartialEq)]
pub struct HostBuffers {
    /// Their names.
    pub names: Vec<Declared>,
    /// The size of each.
    pub size: Expression,
    /// Whether `pinned` is written, or else `pageable`.
    pub pinned: bool,
}

/// `view a = slab[0..1MiB]`
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its name.
    pub name: Path,
    /// What it is a part of.
    pub of: Place,
}

/// `x`, `x[0..4KiB]`, `block[i][0..4KiB]`
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The buffer, or a view.
    pub path: Path,
    /// The part in brackets.
    pub part: Option<Part>,
    /// All of it.
    pub span: Span,
}

/// `[0..4KiB]`
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The first byte.
    pub from: Expression,
    /// The byte after the last one.
    pub to: Expression,
}

/// `copy h from x takes 3us`
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// What it writes.
    pub to: Place,
    /// What it reads.
    pub from: Place,
    /// How long it runs.
    pub takes: Option<Law>,
}

/// `memset x takes 3us`
#[derive(Clone, Debug, PartialEq)]
pub struct Memset {
    /// What it writes.
    pub at: Place,
    /// How long it runs.
    pub takes: Option<Law>,
}

/// `grant p to gpu1 read`
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The pool.
    pub pool: Path,
    /// The device that may touch its memory from now on.
    pub device: Name,
    /// How it may, if that is written.
    pub access: Option<Access>,
}

/// Where the memory of a pool is: what stands after `on`.
#[derive(Clone, Debug, PartialEq)]
pub enum Location {
    /// `gpu0`
    Device(Name),
    /// `host`
    Host,
    /// `host_numa 0`: on this node
    HostNuma(Expression),
    /// `host_numa_current`
    HostNumaCurrent,
}
