//! What lines about graphs say.

use super::{Body, Name, Path, Segment};

/// `graph g[i] { .. }`
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Its name.
    pub name: Segment,
    /// Its nodes.
    pub body: Body,
}

/// A call of the host about graphs.
#[derive(Clone, Debug, PartialEq)]
pub enum GraphCall {
    /// `g1 = instantiate g auto_free`
    Instantiate {
        /// The name of the executable graph.
        exec: Path,
        /// The graph.
        graph: Path,
        /// Whether a launch frees what the one before has left.
        auto_free: bool,
    },
    /// `upload g1 on s`
    Upload {
        /// The executable graph.
        exec: Path,
        /// The stream.
        stream: Path,
    },
    /// `trim gpu0.graph_pool`
    Trim(Name),
}
