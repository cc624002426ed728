//! Calls about what exists: what is created and destroyed, the current pool of a device, and who may touch a pool.

use super::{Broken, Expects, Thread};
use crate::scenario::handles::Creation;
use crate::scenario::{Action, Handle};
use crate::trace::{Call, Resource};

impl Thread {
    /// A call about what exists, or about who may touch it.
    pub(super) fn existence(&mut self, action: &Action) -> Result<Call, Broken> {
        Ok(match action {
            Action::SetPool { device, pool } => Call::SetPool { device: *device, pool: *pool },
            Action::Grant { pool, device, reach } => {
                Call::Grant { pool: *pool, device: *device, reach: *reach }
            }
            Action::Create { nth, name, first, reusing } => {
                let reusing = reusing.as_ref().map(|old| self.resource(old)).transpose()?;
                self.expects = Expects::Created(Creation { nth: *nth, name: *name, first: *first, reusing });
                Call::Create { resource: *first, reusing }
            }
            Action::Destroy(handle) => Call::Destroy(self.resource(handle)?),
            _ => unreachable!("only such actions come here"),
        })
    }

    fn resource(&self, handle: &Handle) -> Result<Resource, Broken> {
        Ok(match handle {
            Handle::Stream(stream) => Resource::Stream(self.chosen(stream)?),
            Handle::Event(event) => Resource::Event(self.chosen(event)?),
            Handle::Pool(pool) => Resource::Pool(*pool),
            Handle::Graph(graph) => Resource::Graph(self.chosen(graph)?),
            Handle::Exec(exec) => Resource::Exec(self.chosen(exec)?),
        })
    }
}
