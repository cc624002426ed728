//! In which order the host threads of a program make their calls in its simulation, and return from those that wait.

use crate::base::HostId;
use crate::hw::Turn;
use crate::scenario::Program;
use crate::trace::{Call, Detail, Event, Kind, Sink};
use std::collections::BTreeSet;

/// The turns in the simulation of this seed; none of a program with one host thread.
pub fn turns(program: &Program, seed: u64) -> Vec<Turn> {
    let mut turns = Turns::default();
    if program.setup.hosts > 1 {
        crate::engine::run(program, seed, &mut turns);
    }
    turns.list
}

#[derive(Default)]
struct Turns {
    list: Vec<Turn>,
    /// The threads whose latest call may wait, and has not returned.
    waiting: BTreeSet<HostId>,
}

impl Sink for Turns {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        match event.kind {
            Kind::Call(call) => {
                self.list.push(Turn::Calls(event.host, event.stmt));
                let may_wait = call.can_wait() || matches!(call, Call::Copy { .. } | Call::Memset { .. });
                if may_wait {
                    self.waiting.insert(event.host);
                } else {
                    self.waiting.remove(&event.host);
                }
            }
            Kind::Synchronised { .. } | Kind::Seen { .. } | Kind::Met if self.waiting.remove(&event.host) => {
                self.list.push(Turn::Returns(event.host));
            }
            _ => {}
        }
    }
}
