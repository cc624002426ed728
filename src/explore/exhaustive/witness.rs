//! One run of an untimed program, as the choices that made it so: who called next, and how far devices had got by then.
//!
//! As a word it is `17,5s0-3s1-2,9t1`: 17 turns; before turn 5 stream 0 has completed 3 operations and stream 1 has completed 2;
//! from turn 9 on it is the turn of thread 1.

use super::branches::Branches;
use super::frontier::{Frontier, Untimed};
use crate::base::{HostId, StreamId};
use crate::engine::{Ending, Stop, Walk};
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::model::oxicuda::Oxicuda;
use crate::scenario::Program;
use crate::trace::{Model, Setup, Sink, Ticket};
use std::fmt;
use std::str::FromStr;
use std::task::Poll;

/// The choices of a run. Following them needs no search: another sink is told the same run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Witness {
    /// Where another thread than before goes on, or devices have got on, in the order of turns.
    pub steps: Vec<Step>,
    /// How many turns there are. If threads are left then, none of them can go on.
    pub turns: u32,
}

/// A turn that needs a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Which turn of the run it is, from 0. A call that blocks takes a turn when it is made, and another one when it returns.
    pub turn: u32,
    /// Whose turn it is, also after this one, until another step says otherwise.
    pub host: HostId,
    /// The latest operations that are complete by then, of the streams that have got on.
    pub done: Vec<Ticket>,
}

impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.turns)?;
        let mut host = FIRST;
        for step in &self.steps {
            write!(f, ",{}", step.turn)?;
            if step.host != host {
                host = step.host;
                write!(f, "t{}", host.index())?;
            }
            step.done.iter().try_for_each(|done| write!(f, "s{}-{}", done.stream.index(), done.seq))?;
        }
        Ok(())
    }
}

/// The thread that begins.
const FIRST: HostId = HostId::from_raw_unchecked(0);

/// A word that says no choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoWitness;

impl FromStr for Witness {
    type Err = NoWitness;

    fn from_str(word: &str) -> Result<Self, NoWitness> {
        let mut parts = word.split(',');
        let turns = parts.next().and_then(number).ok_or(NoWitness)?;
        let mut witness = Self { steps: Vec::new(), turns };
        let mut host = FIRST;
        for part in parts {
            let step = step(part, &mut host).ok_or(NoWitness)?;
            witness.steps.push(step);
        }
        // There is one way to write it.
        (witness.to_string() == word).then_some(witness).ok_or(NoWitness)
    }
}

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn step(part: &str, host: &mut HostId) -> Option<Step> {
    let mut streams = part.split('s');
    let (turn, thread) = match streams.next()?.split_once('t') {
        Some((turn, thread)) => (turn, Some(thread)),
        None => (part.split('s').next()?, None),
    };
    if let Some(thread) = thread {
        *host = HostId::from_raw(number(thread)?);
    }
    let done = streams.map(|done| {
        let (stream, seq) = done.split_once('-')?;
        Some(Ticket { stream: StreamId::from_raw(number(stream)?), seq: number(seq)? })
    });
    Some(Step { turn: number(turn)?, host: *host, done: done.collect::<Option<_>>()? })
}

/// Why choices do not belong to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Astray {
    /// It cannot be the turn of this thread.
    Thread {
        /// The turn.
        turn: u32,
        /// The thread.
        host: HostId,
    },
    /// The operation cannot be complete by then.
    Operation {
        /// The turn.
        turn: u32,
        /// The operation.
        ticket: Ticket,
    },
    /// The run does not end so, or the choices are in no order.
    Length {
        /// So many were to be made.
        turns: u32,
    },
}

impl fmt::Display for Astray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Astray::Thread { turn, host } => {
                write!(f, "at turn {turn}, thread {} of this scenario cannot go on", host.index())
            }
            Astray::Operation { turn, ticket: Ticket { stream, seq } } => {
                let stream = stream.index();
                write!(
                    f,
                    "by turn {turn}, operation {seq} of stream {stream} cannot be complete in this scenario"
                )
            }
            Astray::Length { turns } => write!(f, "this scenario does not end with turn {turns} of these"),
        }
    }
}

impl std::error::Error for Astray {}

/// Makes the run of a witness.
///
/// # Errors
///
/// The witness is not one of this program.
pub fn follow<S: Sink>(program: &Program, witness: &Witness, sink: S) -> Result<Ending, Astray> {
    match program.setup.model {
        Model::Cuda => follow_on(Cuda::new, program, witness, sink),
        Model::Oxicuda => follow_on(Oxicuda::new, program, witness, sink),
    }
}

fn follow_on<A: Allocator, S: Sink>(
    new: fn(&Setup) -> A,
    program: &Program,
    witness: &Witness,
    sink: S,
) -> Result<Ending, Astray> {
    let setup = &program.setup;
    let frontier = Frontier::new(setup.streams.len());
    let mut walk = Walk::new(program, setup, new(setup), frontier, Untimed, sink);
    let mut steps = witness.steps.iter().peekable();
    let (mut host, mut turns) = (FIRST, 0);
    let stop = loop {
        if walk.alive().is_empty() {
            break None;
        }
        let step = steps.next_if(|step| step.turn == turns);
        host = step.map_or(host, |step| step.host);
        if !walk.alive().contains(&host) {
            let is_over = step.is_none() && turns == witness.turns;
            if !is_over {
                return Err(Astray::Thread { turn: turns, host });
            }
            break Some(hang(program, &mut walk, witness)?);
        }
        match walk.next(program, host) {
            Err(stop) => break Some(stop),
            Ok(None) => continue,
            Ok(Some(_)) if turns == witness.turns => break Some(hang(program, &mut walk, witness)?),
            Ok(Some(_)) => {}
        }
        get_on(&mut walk, turns, step.map_or(&[], |step| &step.done))?;
        let was_blocked = walk.is_blocked(host);
        turns += 1;
        match walk.turn(program, host) {
            Ok(Poll::Pending) if was_blocked => return Err(Astray::Thread { turn: turns - 1, host }),
            Ok(_) => {}
            Err(stop) => break Some(stop),
        }
    };
    if turns != witness.turns || steps.next().is_some() {
        return Err(Astray::Length { turns: witness.turns });
    }
    walk.progress().reach_all();
    Ok(walk.end(program, stop))
}

/// Devices get as far as a step says, and no further.
fn get_on<A: Allocator, S: Sink>(
    walk: &mut Walk<A, Frontier, Untimed, S>,
    turn: u32,
    done: &[Ticket],
) -> Result<(), Astray> {
    let streams = walk.done().len();
    for ticket in done {
        if ticket.stream.index() >= streams || ticket.within(walk.done()) {
            return Err(Astray::Operation { turn, ticket: *ticket });
        }
        walk.progress().reach_ticket(*ticket);
    }
    if !done.is_empty() {
        walk.advance();
    }
    let late = done.iter().find(|ticket| !ticket.within(walk.done()));
    late.map_or(Ok(()), |ticket| Err(Astray::Operation { turn, ticket: *ticket }))
}

/// Nobody can go on, as the witness says.
fn hang<A: Allocator, S: Sink>(
    program: &Program,
    walk: &mut Walk<A, Frontier, Untimed, S>,
    witness: &Witness,
) -> Result<Stop, Astray> {
    let mut branches = Branches::default();
    let hosts = walk.alive().to_vec();
    match hosts.into_iter().any(|host| branches.can_go_on(walk, host)) {
        true => Err(Astray::Length { turns: witness.turns }),
        false => Ok(Branches::hang(walk, program)),
    }
}
