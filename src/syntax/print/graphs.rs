//! The usual form of lines about graphs.

use crate::syntax::ast::*;
use std::fmt::{self, Display, Formatter};

impl Display for GraphCall {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            GraphCall::Instantiate { exec, graph, auto_free } => {
                let auto_free = if *auto_free { " auto_free" } else { "" };
                write!(f, "{exec} = instantiate {graph}{auto_free}")
            }
            GraphCall::Upload { exec, stream } => write!(f, "upload {exec} on {stream}"),
            GraphCall::Trim(device) => write!(f, "trim {device}.graph_pool"),
        }
    }
}
