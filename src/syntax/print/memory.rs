//! The usual form of statements about memory outside of pools.

use super::After;
use crate::syntax::ast::*;
use std::fmt::{self, Display, Formatter};

impl Display for Malloc {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let managed = if self.managed { " managed" } else { "" };
        write!(f, "{} = malloc {}{managed}{}", self.buffer, self.size, After(" on ", &self.device))
    }
}
