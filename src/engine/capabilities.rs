//! What devices cannot do: calls about memory pools, or graphs that allocate, on a device that has none.
//!
//! Rules: CUDA Programming Guide 4.3.1 (query support) and 4.2.5 (support and versions), CUDA runtime API (`cudaErrorNotSupported`).

use super::{Chooser, Machine, Progress};
use crate::base::DeviceId;
use crate::model::Allocator;
use crate::trace::{Call, Exported, Failure, GraphCall, Imported, Reading, Resource, Sink};

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    /// Whether the devices that a call is about have what it needs.
    pub(super) fn supports(&self, call: &Call) -> Result<(), Failure> {
        if !self.is_any_lacking {
            return Ok(());
        }
        let home = |pool| self.resources.home(pool);
        let has_none =
            |device: Option<DeviceId>| device.is_some_and(|device| !self.devices[device].has_pools());
        let fails = match *call {
            Call::Graph(GraphCall::Node { ref node, .. }) => match **node {
                Call::Alloc { pool, .. } => {
                    pool.and_then(home).is_some_and(|device| !self.devices[device].has_graph_memory())
                }
                _ => false,
            },
            Call::Alloc { stream, pool, .. } => {
                has_none(Some(self.streams[stream].device)) || has_none(pool.and_then(home))
            }
            Call::Free { stream, .. } => has_none(Some(self.streams[stream].device)),
            Call::SetPool { device, .. } => has_none(Some(device)),
            Call::Trim { pool, .. }
            | Call::Set { pool, .. }
            | Call::Grant { pool, .. }
            | Call::Read(Reading::Pool(pool, _))
            | Call::Export { what: Exported::Pool(pool), .. }
            | Call::Import { into: Imported::Pool(pool) | Imported::Memory(pool), .. }
            | Call::Create { resource: Resource::Pool(pool), .. } => has_none(home(pool)),
            _ => false,
        };
        if fails { Err(Failure::NotSupported) } else { Ok(()) }
    }
}
