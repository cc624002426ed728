//! A whole run: the program's cursor makes its calls to a machine until it ends, breaks off, or nothing can advance.

use super::{Chooser, Machine, Progress, Seeded, Timeline};
use crate::base::{HostId, Nanos, StmtId};
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::scenario::{Cursor, Program, Step};
use crate::trace::{Detail, Event, Kind, Reply, Sink};
use std::task::Poll;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// When the last operation completed, or the host made its last call.
    pub at: Nanos,
    /// Why it stopped before the end of the program, if it did.
    pub stop: Option<Stop>,
}

/// Why a run stopped early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nothing could advance any more; the sink was told who waits for whom.
    Deadlock {
        /// The call that blocks, or the last statement.
        stmt: StmtId,
    },
    /// A value could not be computed, or does not fit where it is used.
    Broken {
        /// The statement.
        stmt: StmtId,
        /// Why, in a few words.
        reason: String,
    },
}

const HOST: HostId = HostId::from_raw_unchecked(0);

/// Runs a program on the `cuda` model in virtual time. The same program and seed give the same events.
pub fn run<S: Sink>(program: &Program, seed: u64, sink: S) -> Ending {
    let setup = &program.setup;
    let timeline = Timeline::new(setup.streams.len());
    let chooser = Seeded::new(program, seed);
    run_on(program, &mut Machine::new(setup, 1, Cuda::new(setup), timeline, chooser, sink))
}

/// Runs a program on a machine that has made no call yet.
pub fn run_on<A, P, C, S>(program: &Program, machine: &mut Machine<A, P, C, S>) -> Ending
where
    A: Allocator,
    P: Progress,
    C: Chooser,
    S: Sink,
{
    let mut cursor = Cursor::new(program);
    let mut last = StmtId::new(0);
    let stop = loop {
        match cursor.next(program) {
            Step::Call(stmt, call) => {
                last = stmt;
                let result = loop {
                    match machine.call(HOST, stmt, &call) {
                        Poll::Ready(result) => break Some(result),
                        Poll::Pending if machine.step() => {}
                        Poll::Pending => break None,
                    }
                };
                match result {
                    Some(result) => {
                        if let (Ok(Reply::Allocated(_)), Some(buffer)) = (&result, cursor.naming()) {
                            tell(machine, stmt, Kind::Named(buffer));
                        }
                        cursor.answer(&result);
                    }
                    None => {
                        machine.tell_deadlock(HOST, stmt);
                        break Some(Stop::Deadlock { stmt });
                    }
                }
            }
            Step::Skipped(stmt, buffer) => tell(machine, stmt, Kind::Skipped(buffer)),
            Step::Broken(stmt, broken) => break Some(Stop::Broken { stmt, reason: broken.to_string() }),
            Step::Done => break None,
        }
    };
    while machine.step() {}
    let hangs = stop.is_none() && machine.tell_deadlock(HOST, last);
    let stop = stop.or_else(|| hangs.then_some(Stop::Deadlock { stmt: last }));
    Ending { at: machine.now(), stop }
}

/// Tells the sink what only the program knows.
fn tell<A, P, C, S>(machine: &mut Machine<A, P, C, S>, stmt: StmtId, kind: Kind<'_>)
where
    A: Allocator,
    P: Progress,
    C: Chooser,
    S: Sink,
{
    let at = machine.now();
    let sink = machine.sink();
    if sink.wants(Detail::Events) {
        sink.event(&Event { at, host: HOST, stmt, ticket: None, kind });
    }
}
