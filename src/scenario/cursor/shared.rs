//! Calls about what processes share, and by which threads meet.

use super::{Bound, Broken, Expects, Obstacle, Thread};
use crate::scenario::handles::Creation;
use crate::scenario::held::Kind;
use crate::scenario::{Action, ExportOf, ImportInto};
use crate::trace::{Call, Exported, Imported, Resource};

impl Thread {
    pub(super) fn meets(&self, action: &Action) -> Result<Call, Broken> {
        Ok(match action {
            Action::Signal(signal) => Call::Signal(*signal),
            Action::Await(signal) => Call::Await(*signal),
            Action::Join(thread) => Call::Join(self.chosen(thread)?),
            Action::Barrier(barrier) => Call::Barrier(*barrier),
            _ => unreachable!("only such actions come here"),
        })
    }

    pub(super) fn shares(&mut self, action: &Action, buffers: &[Bound]) -> Result<Call, Obstacle> {
        Ok(match action {
            Action::Export { what, under } => {
                let what = match what {
                    ExportOf::Pool(pool) => Exported::Pool(*pool),
                    ExportOf::Memory(buffer) => Exported::Memory(self.present(buffer, buffers)?.1.alloc),
                    ExportOf::Event(event) => Exported::Event(self.chosen(event)?),
                };
                Call::Export { what, under: *under }
            }
            Action::Import { under, into } => {
                let into = match into {
                    ImportInto::Memory { buffer, pool } => {
                        self.expects = Expects::Placement(self.chosen(buffer)?, Kind::Device);
                        Imported::Memory(*pool)
                    }
                    ImportInto::Resource { nth, name, first } => {
                        let creation = Creation { nth: *nth, name: *name, first: *first, reusing: None };
                        self.expects = Expects::Created(creation);
                        match first {
                            Resource::Event(event) => Imported::Event(*event),
                            Resource::Pool(pool) => Imported::Pool(*pool),
                            _ => unreachable!("only pools and events are imported so"),
                        }
                    }
                };
                Call::Import { under: *under, into }
            }
            _ => unreachable!("only such actions come here"),
        })
    }
}
