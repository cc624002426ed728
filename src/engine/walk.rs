//! A run that is led from outside, one call of one host thread at a time: by an exploration that chooses who calls next, and
//! how far devices have got by then.
//!
//! A walk can be cloned at any call and go on twice. It must not know why it is led where it is.

use super::run::{Ending, Limits, Places, Stop};
use super::{Asks, Chooser, Machine, Progress};
use crate::base::{HostId, StmtId, reuse_on_clone};
use crate::model::Allocator;
use crate::scenario::{Cursor, Program};
use crate::trace::{Call, Cut, Failure, Reply, Setup, Sink};
use std::task::Poll;

/// A run in progress.
#[derive(Debug)]
pub struct Walk<A, P, C, S> {
    machine: Machine<A, P, C, S>,
    places: Places,
}

reuse_on_clone!(Walk[A: Allocator; P: Progress; C: Chooser, Clone; S: Sink, Clone] { machine, places });

impl<A: Allocator, P: Progress, C: Chooser, S: Sink> Walk<A, P, C, S> {
    /// Before the first call.
    pub fn new(program: &Program, setup: &Setup, model: A, progress: P, chooser: C, sink: S) -> Self {
        let machine = Machine::new(setup, model, progress, chooser, sink);
        Self { machine, places: Places::new(program) }
    }

    /// The host threads that have begun and not ended.
    pub fn alive(&self) -> &[HostId] {
        self.places.alive()
    }

    /// The next call of a thread, with its statement: the one that blocks it, or that it makes at its next turn. `None`: the
    /// thread has ended.
    ///
    /// # Errors
    /// That the program cannot go on.
    pub fn next(&mut self, program: &Program, host: HostId) -> Result<Option<(StmtId, &Call)>, Stop> {
        self.places.fetch(program, &mut self.machine, host)
    }

    /// The latest call of a thread.
    pub fn call(&self, host: HostId) -> &Call {
        self.places.call(host)
    }

    /// Makes the next call of a thread, or goes on with the one that blocks it. `Pending`: it blocks, and goes on at a later turn.
    ///
    /// # Errors
    /// That the program cannot go on.
    pub fn turn(&mut self, program: &Program, host: HostId) -> Result<Poll<Result<Reply, Failure>>, Stop> {
        self.places.turn_of(program, &mut self.machine, host, Limits::default())
    }

    /// Whether a call of this thread has been made and blocks.
    pub fn is_blocked(&self, host: HostId) -> bool {
        self.machine.is_blocked(host)
    }

    /// Whether the next call of a thread is known to be answered alike however far devices have got.
    #[inline]
    pub fn asks_nothing(&self, host: HostId) -> bool {
        self.machine.asks_nothing(host, self.places.call(host))
    }

    /// What the answer to the next call of a thread hangs on, as far as devices are concerned.
    pub fn asks(&mut self, host: HostId, asks: &mut Asks) {
        let call = self.places.call(host);
        self.machine.asks(host, call, asks);
    }

    /// A word that tells apart the answers to the next call of a thread that is made with so much complete, where that can be
    /// told without making it.
    pub fn foretell(&mut self, host: HostId, done: &Cut) -> Option<u64> {
        self.machine.foretell(host, self.places.call(host), done)
    }

    /// Nothing can advance any more: tells the sink who waits for whom.
    pub fn hang(&mut self, program: &Program) -> Stop {
        self.places.hang(program, &mut self.machine)
    }

    /// The run is over, at the end of the program or because of `stop`: devices go on to the end of what they have.
    pub fn end(&mut self, program: &Program, stop: Option<Stop>) -> Ending {
        self.places.end(program, &mut self.machine, stop)
    }

    /// Lets devices complete what the progress lets them.
    pub fn advance(&mut self) {
        while self.machine.step(None) {}
    }

    /// What devices have completed.
    pub fn done(&self) -> &Cut {
        self.machine.done()
    }

    /// The progress of devices.
    pub fn progress(&mut self) -> &mut P {
        self.machine.progress()
    }

    /// The machine.
    pub fn machine(&self) -> &Machine<A, P, C, S> {
        &self.machine
    }

    /// Where the threads are in the program.
    pub fn cursor(&self) -> &Cursor {
        self.places.cursor()
    }
}
