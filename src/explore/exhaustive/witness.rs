//! One run of an untimed program, as the choices that made it so: who called next, and how far devices had got by then.

use super::frontier::{Frontier, Untimed};
use crate::base::HostId;
use crate::engine::{Ending, Turn, Walk};
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::model::oxicuda::Oxicuda;
use crate::scenario::Program;
use crate::trace::{Model, Setup, Sink};

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
    /// How many operations of each stream are complete by then; empty: no more than before.
    pub done: Box<[u32]>,
}

/// Makes the run of a witness, which the program must be the one of.
pub fn follow<S: Sink>(program: &Program, witness: &Witness, sink: S) -> Ending {
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
) -> Ending {
    let setup = &program.setup;
    let frontier = Frontier::new(setup.streams.len());
    let mut walk = Walk::new(program, setup, new(setup), frontier, Untimed, sink);
    let mut steps = witness.steps.iter().peekable();
    let (mut host, mut turns) = (HostId::from_raw(0), 0);
    let stop = loop {
        if walk.alive().is_empty() {
            break None;
        }
        let step = steps.next_if(|step| step.turn == turns);
        if let Some(step) = step {
            host = step.host;
        } else if turns >= witness.turns && !walk.alive().contains(&host) {
            break Some(walk.hang(program));
        }
        match walk.next(program, host) {
            Err(stop) => break Some(stop),
            Ok(None) => continue,
            Ok(Some(_)) if turns >= witness.turns => break Some(walk.hang(program)),
            Ok(Some(_)) => {}
        }
        if let Some(step) = step.filter(|step| !step.done.is_empty()) {
            walk.progress().reach(&step.done);
            walk.advance();
        }
        turns += 1;
        match walk.turn(program, host) {
            Ok(Turn::Answered(_) | Turn::Blocked) => {}
            Err(stop) => break Some(stop),
        }
    };
    walk.progress().reach_all();
    walk.end(program, stop)
}
