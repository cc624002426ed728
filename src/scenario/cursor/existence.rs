//! Calls about what exists: what is created and destroyed, the current pool of a device, and who may touch a pool.

use super::{Broken, Expects, Thread};
use crate::scenario::handles::{Creation, Handles};
use crate::scenario::held::Kind;
use crate::scenario::{Action, Handle, Program};
use crate::trace::{Call, Imported, Resource};

impl Thread {
    /// Puts into a call what its names stand for now.
    pub(super) fn settle(&mut self, program: &Program, handles: &Handles, call: &mut Call) {
        handles.resolve(call);
        match (call, &mut self.expects) {
            (Call::Create { resource, .. }, Expects::Created(creation)) => {
                *resource = handles.next(*creation);
            }
            (Call::Import { into, .. }, Expects::Created(creation)) => {
                *into = match handles.next(*creation) {
                    Resource::Event(event) => Imported::Event(event),
                    Resource::Pool(pool) => Imported::Pool(pool),
                    Resource::Stream(_) | Resource::Graph(_) | Resource::Exec(_) => *into,
                };
            }
            (
                Call::Alloc { pool: Some(pool), .. } | Call::Import { into: Imported::Memory(pool), .. },
                Expects::Placement(_, kind),
            ) if program.setup.pools[*pool].location.device().is_none() => {
                *kind = Kind::HostPool;
            }
            _ => {}
        }
    }

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
            Action::ResetDevice(device) => Call::ResetDevice(*device),
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
