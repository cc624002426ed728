//! Every run of a small program by brute force: the run loop of the engine makes it, a script answers each question that it asks,
//! and the next script differs in the last answer that could be another one. At each question devices may complete any operation
//! that runs, or none; any thread that could call may.
//!
//! It shares nothing with the search: there is no floor, no candidate and no state that is copied. A run is given up where another
//! one has been that was told the same and whose devices have got as far.

use super::told::{Story, Told};
use millpond::base::{Draws, HostId, Nanos, StmtId, StreamId};
use millpond::engine::{Chooser, Limits, Machine, Progress, run_on};
use millpond::model::Allocator;
use millpond::model::cuda::Cuda;
use millpond::model::oxicuda::Oxicuda;
use millpond::scenario::Program;
use millpond::trace::{Cut, Detail, Event, Kind, Law, Model, Setup, Sink, Ticket};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// The answers of a run, and how many there were to choose from.
#[derive(Default)]
struct Script {
    answers: Vec<(usize, usize)>,
    at: usize,
    /// Whether another run has been here, so that nothing new can come.
    is_over: bool,
    /// What the run was told so far.
    told: u64,
    /// What devices have completed.
    done: Vec<u32>,
    been: BTreeSet<(u64, Vec<u32>)>,
    /// Answers at random, instead.
    draws: Option<Draws>,
}

impl Script {
    /// One of so many answers.
    fn ask(&mut self, among: usize) -> usize {
        if let Some(draws) = &mut self.draws {
            return draws.below(among as u64) as usize;
        }
        if self.at < self.answers.len() {
            let is_choice = among > 1;
            self.at += usize::from(is_choice);
            return if is_choice { self.answers[self.at - 1].0 } else { 0 };
        }
        self.is_over |= !self.been.insert((self.told, self.done.clone()));
        if self.is_over || among < 2 {
            return 0;
        }
        self.at += 1;
        self.answers.push((0, among));
        0
    }

    /// The run was told this, or has been given this answer.
    fn tell(&mut self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        (self.told, what).hash(&mut hasher);
        self.told = hasher.finish();
    }

    /// Goes on to the next script; `false`: that was the last one.
    fn advance(&mut self) -> bool {
        while self.answers.last().is_some_and(|(answer, among)| answer + 1 == *among) {
            self.answers.pop();
        }
        let Some((answer, _)) = self.answers.last_mut() else { return false };
        *answer += 1;
        self.rewind();
        true
    }

    /// Another run begins.
    fn rewind(&mut self) {
        (self.at, self.is_over, self.told) = (0, false, 0);
        self.done.fill(0);
    }
}

type Shared = Rc<RefCell<Script>>;

/// Devices that complete what the script says.
#[derive(Clone)]
struct Scripted {
    script: Shared,
    running: Vec<StreamId>,
    done: Vec<u32>,
}

impl Progress for Scripted {
    fn done(&self) -> &Cut {
        &self.done
    }

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    fn started(&mut self, ticket: Ticket, _: Nanos) {
        self.running.push(ticket.stream);
        self.running.sort();
    }

    fn next(&mut self, until: Option<Nanos>) -> Option<StreamId> {
        let may_stop = usize::from(until.is_some());
        let among = self.running.len() + may_stop;
        let mut script = self.script.borrow_mut();
        if among == 0 {
            return None;
        }
        let Some(which) = script.ask(among).checked_sub(may_stop) else {
            script.tell("no more for now");
            return None;
        };
        let stream = self.running.remove(which);
        self.done[stream.index()] += 1;
        script.done.clone_from(&self.done);
        Some(stream)
    }

    fn wait_until(&mut self, _: Nanos) {}
}

impl Chooser for Scripted {
    fn duration(&mut self, _: StmtId, _: &Law) -> Nanos {
        Nanos::ZERO
    }

    fn pick(&mut self, among: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        let mut script = self.script.borrow_mut();
        let answer = script.ask(among.len());
        script.tell(answer);
        answer
    }
}

/// Hashes what a run is told, for the script.
struct Listening {
    script: Shared,
    /// Whether a policy is off, so that a lint tells what was complete when a pool has grown.
    is_off: bool,
}

impl Sink for Listening {
    fn wants(&self, detail: Detail) -> bool {
        detail == Detail::Events
    }

    fn event(&mut self, event: &Event<'_>) {
        if matches!(event.kind, Kind::Start | Kind::End) {
            return;
        }
        let mut script = self.script.borrow_mut();
        script.tell((event.host, event.stmt, format!("{:?}", event.kind)));
        if self.is_off && matches!(event.kind, Kind::Decided(_)) {
            let done = script.done.clone();
            script.tell(done);
        }
    }
}

/// Everything that a program can come to. `None`: more than so many runs.
pub(super) fn outcomes(program: &Program, most: u64) -> Option<BTreeSet<Story>> {
    let script = Shared::default();
    let mut stories = BTreeSet::new();
    for _ in 0..most {
        stories.extend(run(program, &script));
        if !script.borrow_mut().advance() {
            return Some(stories);
        }
    }
    None
}

/// What so many random runs come to.
pub(super) fn samples(program: &Program, runs: u64, seed: u64) -> BTreeSet<Story> {
    let script = Shared::default();
    script.borrow_mut().draws = Some(Draws::new(seed, 19));
    let stories = (0..runs).map(|_| {
        script.borrow_mut().rewind();
        run(program, &script).expect("it is never over before its end")
    });
    stories.collect()
}

/// The run of a script, unless it was given up.
fn run(program: &Program, script: &Shared) -> Option<Story> {
    match program.setup.model {
        Model::Cuda => run_with(Cuda::new, program, script),
        Model::Oxicuda => run_with(Oxicuda::new, program, script),
    }
}

fn run_with<A: Allocator>(new: fn(&Setup) -> A, program: &Program, script: &Shared) -> Option<Story> {
    let setup = &program.setup;
    let devices =
        Scripted { script: script.clone(), running: Vec::new(), done: vec![0; setup.streams.len()] };
    let mut told = Told::new(program);
    let is_off = setup.pools.iter().any(|pool| !pool.attributes.reuse.opportunistic);
    let sink = (&mut told, Listening { script: script.clone(), is_off });
    let mut machine = Machine::new(setup, new(setup), devices.clone(), devices, sink);
    let ending = run_on(program, &mut machine, Limits::default());
    let pools = setup.pools.indices().map(|pool| machine.model().state(pool)).collect();
    let is_over = script.borrow().is_over;
    (!is_over).then(|| told.story(program, pools, &ending))
}
