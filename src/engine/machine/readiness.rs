//! What the allocator says of an allocation and a stream, where an expectation asks.

use super::{Caller, Machine};
use crate::base::{ExpectId, StreamId};
use crate::engine::{Chooser, Progress};
use crate::model::{Allocator, Known};
use crate::trace::{AllocId, Kind, Operands, Readiness, Reply, Sink};

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Machine<A, P, C, S> {
    pub(super) fn expect_ready(
        &mut self,
        caller: Caller,
        expect: ExpectId,
        alloc: AllocId,
        on: StreamId,
    ) -> Reply {
        let readiness = match self.resources.has_stream(on) {
            true => self.readiness(caller, alloc, on),
            false => Readiness::NoStream,
        };
        let operands = Operands::Readiness { alloc, readiness };
        self.emit(caller, None, Kind::Expect { expect, operands: &operands });
        Reply::Done
    }

    fn readiness(&mut self, caller: Caller, alloc: AllocId, on: StreamId) -> Readiness {
        self.look(caller.host);
        let done = &self.threads.hosts[caller.host].visible;
        let (ordered, seen, observed) = self.order.known(caller.host, on);
        self.model.readiness(alloc, on, Known { ordered, done, seen, observed })
    }
}
