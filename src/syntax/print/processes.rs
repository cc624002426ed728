//! Lines about processes and what they share, as text.

use super::{After, Commas, Events, Import, ImportPlace};
use std::fmt::{self, Display, Formatter};

impl Display for Events {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "event {}{}", Commas(&self.names), After(" on ", &self.device))?;
        if self.interprocess { f.write_str(" { interprocess }") } else { Ok(()) }
    }
}

impl Display for Import {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} = import {}", self.name, self.under)?;
        match &self.place {
            ImportPlace::On(location) => write!(f, " on {location}"),
            ImportPlace::From(pool) => write!(f, " from {pool}"),
            ImportPlace::Nothing => Ok(()),
        }
    }
}
