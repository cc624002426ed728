//! The usual form of statements about memory beside pools.

use super::{After, Commas};
use crate::syntax::ast::*;
use std::fmt::{self, Display, Formatter};

impl Display for Malloc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let managed = if self.managed { " managed" } else { "" };
        write!(f, "{} = malloc {}{managed}{}", self.buffer, self.size, After(" on ", &self.device))
    }
}

impl Display for HostBuffers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.pinned { "pinned" } else { "pageable" };
        write!(f, "host_buffer {} {} {kind}", Commas(&self.names), self.size)
    }
}

impl Display for Place {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.part {
            Some(Part { from, to }) => write!(f, "{}[{from}..{to}]", self.path),
            None => self.path.fmt(f),
        }
    }
}

impl Display for Copy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "copy {} from {}{}", self.to, self.from, After(" takes ", &self.takes))
    }
}

impl Display for Memset {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "memset {}{}", self.at, After(" takes ", &self.takes))
    }
}

impl Display for Location {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Location::Device(device) => device.fmt(f),
            Location::Host => f.write_str("host"),
            Location::HostNuma(node) => write!(f, "host_numa {node}"),
            Location::HostNumaCurrent => f.write_str("host_numa_current"),
        }
    }
}
