//! Events: how they are declared and created, and the time between two of them.

use super::check::{Checker, NAMES_MAX};
use super::declare::element_names;
use super::names::{Kind, Meaning, Row};
use super::{Action, Chosen, Formula, Unit, Value};
use crate::base::EventId;
use crate::syntax::ast::{self, Path};
use crate::trace::{EventSetup, Resource};

impl Checker<'_> {
    pub(super) fn declare_events(&mut self, events: &ast::Events) {
        let device = events.device.as_ref().map(|device| self.device(Some(device), device.span));
        let (process, interprocess) = (self.process.id, events.interprocess);
        let setup = EventSetup { process, device: device.flatten(), interprocess };
        for declared in &events.names {
            let count = self.array(declared, self.names.events.len() as u64, NAMES_MAX);
            let meaning = count.map(|count| {
                let base = EventId::from_usize(self.names.events.len());
                for name in element_names(declared, count) {
                    let called = self.reported(&name);
                    self.names.events.push(called);
                    self.setup.events.push(setup);
                }
                Meaning::Event(Row { base, count })
            });
            self.bind(&declared.name, Kind::Event, meaning);
        }
    }

    pub(super) fn create_events(&mut self, name: &ast::Name, setup: EventSetup) -> Option<Resource> {
        let count = self.executions(name, self.names.events.len(), NAMES_MAX, "events")?;
        let first = EventId::from_usize(self.names.events.len());
        for _ in 0..count {
            let called = self.generation_of(&name.text);
            self.names.events.push(called);
            let event = self.setup.events.push(EventSetup { process: self.process.id, ..setup });
            self.setup.created.push(Resource::Event(event));
        }
        Some(Resource::Event(first))
    }

    pub(super) fn event(&mut self, path: &Path) -> Option<Chosen<EventId>> {
        let segment = self.only_segment(path, Kind::Event)?;
        let Meaning::Event(row) = self.resolve(&segment.name, &[Kind::Event])? else { return None };
        self.element(row, segment)
    }

    /// The time has its name even where the call will fail; who uses it then stops the run.
    pub(super) fn elapsed(&mut self, name: &ast::Name, from: &Path, to: &Path) -> Option<Action> {
        let (from, to) = (self.event(from), self.event(to));
        let register = self.register();
        let time = Value { formula: Formula::Register(register), unit: Unit::Nanos, bounds: None };
        self.bind(name, Kind::Value, Some(Meaning::Value(time)));
        Some(Action::Elapsed { from: from?, to: to?, register })
    }
}
