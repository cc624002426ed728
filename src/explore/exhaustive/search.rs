//! The search: every state that an untimed program can get to, each looked at once.
//!
//! A run is copied where it can go on in several ways: where another thread could call first, and where a call observes how far
//! devices have got. Between such points it just goes on.

use super::branches::{Branches, Led, TooMany};
use super::frontier::{Frontier, Untimed};
use super::memory::Memory;
use super::threads::Threads;
use super::visited::Visited;
use super::witness::{Step, Witness};
use super::{Coverage, Keeps, Limit, Plan};
use crate::base::{HostId, fold, fold_counters, reuse_on_clone, words};
use crate::engine::{Cuts, Stop, Walk};
use crate::model::Allocator;
use crate::scenario::Program;
use crate::trace::{Cut, Nothing, Setup, Ticket};
use std::ops::ControlFlow;
use std::task::Poll;

/// What wants to know of the runs that a search comes to.
pub(super) trait Leaves<A> {
    /// Whether it is not worth while to go on from here.
    fn is_hopeless(&mut self, walk: &Led<A>) -> bool;
    /// A word for what the state that is kept of a run lacks.
    fn extra(&self, walk: &Led<A>) -> u128;
    /// A run has come to its end.
    fn found(
        &mut self,
        walk: &Led<A>,
        kept: u128,
        stop: Option<Stop>,
        witness: &dyn Fn() -> Witness,
    ) -> ControlFlow<()>;
}

/// A run in progress, with what it remembers.
#[derive(Debug)]
struct Point<A> {
    walk: Led<A>,
    memory: Memory,
}

reuse_on_clone!(Point[A: Allocator] { walk, memory });

/// A point where a run can go on in several ways.
struct Fork<A> {
    point: Box<Point<A>>,
    /// How many steps led here.
    steps: usize,
    ways: Ways,
    next: usize,
}

/// The ways in which a run can go on.
enum Ways {
    /// One of these threads has the next turn.
    Threads(Vec<HostId>),
    /// It is this thread's turn, and devices have got as far as one of these cuts. The flag is that of the turn.
    Cuts(HostId, Cuts, bool),
}

/// Where a run goes on.
#[derive(Clone, Copy)]
enum From {
    /// Somebody has the next turn.
    Anybody,
    /// This thread has it.
    Thread(HostId),
    /// It is settled how far devices are when this thread makes its call. The flag: a judge can tell apart more of that than the
    /// answer does.
    Turn(HostId, bool),
}

/// After so many calls it is asked again whether to go on.
const PATIENCE: u64 = 4_096;

pub(super) struct Search<'p, A> {
    program: &'p Program,
    plan: Plan<'p>,
    threads: Threads,
    visited: Visited,
    branches: Branches,
    forks: Vec<Fork<A>>,
    /// Points and lists that are not in use.
    spare: Vec<Box<Point<A>>>,
    spare_cuts: Vec<Cuts>,
    /// What led to the run in progress.
    steps: Vec<Step>,
    asked_about: Vec<Ticket>,
    coverage: Coverage,
}

impl<'p, A: Allocator> Search<'p, A> {
    /// Goes through everything, as far as the limits allow.
    pub(super) fn run(
        program: &'p Program,
        plan: Plan<'p>,
        new: fn(&Setup) -> A,
        leaves: &mut impl Leaves<A>,
    ) -> Coverage {
        let mut search = Self {
            program,
            plan,
            threads: Threads::new(program),
            visited: Visited::default(),
            branches: Branches::new(plan.keeps),
            forks: Vec::new(),
            spare: Vec::new(),
            spare_cuts: Vec::new(),
            steps: Vec::new(),
            asked_about: Vec::new(),
            coverage: Coverage::of(program),
        };
        let setup = &program.setup;
        let frontier = Frontier::new(setup.streams.len());
        let walk = Walk::new(program, setup, new(setup), frontier, Untimed, Nothing);
        let mut way = Some((Box::new(Point { walk, memory: Memory::new(program) }), From::Anybody));
        while let Some((point, from)) = way {
            search.go_on(point, from, leaves);
            way = if search.coverage.reached.is_none() { search.back() } else { None };
        }
        search.coverage.states = search.visited.len() as u64;
        search.coverage
    }

    /// The next way that is left, of the latest fork.
    fn back(&mut self) -> Option<(Box<Point<A>>, From)> {
        let fork = self.forks.last_mut()?;
        self.steps.truncate(fork.steps);
        let at = fork.next;
        fork.next += 1;
        let count = match &fork.ways {
            Ways::Threads(hosts) => hosts.len(),
            Ways::Cuts(_, cuts, _) => cuts.len(),
        };
        let (mut point, last) = if fork.next == count {
            let Fork { point, ways, .. } = self.forks.pop()?;
            (point, Some(ways))
        } else {
            let point = match self.spare.pop() {
                Some(mut spare) => {
                    spare.clone_from(&fork.point);
                    spare
                }
                None => fork.point.clone(),
            };
            (point, None)
        };
        let ways = last.as_ref().unwrap_or_else(|| &self.forks[self.forks.len() - 1].ways);
        let from = match ways {
            Ways::Threads(hosts) => From::Thread(hosts[at]),
            Ways::Cuts(host, cuts, is_judged) => {
                advance(&mut self.steps, &mut point, cuts.get(at));
                From::Turn(*host, *is_judged)
            }
        };
        if let Some(Ways::Cuts(_, cuts, _)) = last {
            self.spare_cuts.push(cuts);
        }
        Some((point, from))
    }

    /// Goes on until there are several ways, or none.
    fn go_on(&mut self, mut point: Box<Point<A>>, mut from: From, leaves: &mut impl Leaves<A>) {
        loop {
            let result = match from {
                From::Anybody => match self.threads.candidates(&mut point.walk, &mut self.branches) {
                    None => return self.leaf(point, None, leaves),
                    Some([]) => Err(Branches::hang(&mut point.walk, self.program)),
                    Some([only]) => Ok(From::Thread(*only)),
                    Some(several) => {
                        let ways = Ways::Threads(several.to_vec());
                        return self.fork(point, ways, leaves);
                    }
                },
                From::Thread(host) => {
                    choose(&mut self.steps, &mut point.memory, host);
                    match point.walk.next(self.program, host).map(|next| next.is_some()) {
                        Err(stop) => Err(stop),
                        Ok(false) => {
                            ends(&mut self.steps, &point.memory);
                            Ok(From::Anybody)
                        }
                        Ok(true) if point.walk.asks_nothing(host) => Ok(From::Turn(host, false)),
                        Ok(true) => match self.cuts(&mut point, host) {
                            None => return,
                            Some(cuts) if cuts.len() > 1 => {
                                let ways = Ways::Cuts(host, cuts, self.branches.only_judged());
                                return self.fork(point, ways, leaves);
                            }
                            Some(cuts) => {
                                if !cuts.is_empty() {
                                    advance(&mut self.steps, &mut point, cuts.get(0));
                                }
                                self.spare_cuts.push(cuts);
                                Ok(From::Turn(host, self.branches.only_judged()))
                            }
                        },
                    }
                }
                From::Turn(host, is_judged) => {
                    if is_judged {
                        self.judged(&mut point, host);
                    }
                    self.turn(&mut point, host).map(|()| whoever(&point.walk))
                }
            };
            match result {
                Ok(next) => from = next,
                Err(stop) => return self.leaf(point, Some(stop), leaves),
            }
            if self.coverage.reached.is_some() {
                return;
            }
        }
    }

    /// The cuts that the next call of a thread hangs on; none where it does not. `None`: there are too many.
    fn cuts(&mut self, point: &mut Point<A>, host: HostId) -> Option<Cuts> {
        let mut cuts = self.spare_cuts.pop().unwrap_or_default();
        match self.branches.of(&mut point.walk, host, &mut cuts) {
            Ok(()) => Some(cuts),
            Err(TooMany) => {
                self.coverage.reached = Some(Limit::Cuts);
                None
            }
        }
    }

    /// What is complete of the frees that are pending, is part of the outcome.
    fn judged(&mut self, point: &mut Point<A>, host: HostId) {
        let Point { walk, memory } = point;
        self.asked_about.clear();
        walk.machine().asked_about(&mut self.asked_about);
        memory.judged(host, within(&self.asked_about, walk.done()));
    }

    /// A thread makes its call.
    fn turn(&mut self, point: &mut Point<A>, host: HostId) -> Result<(), Stop> {
        if self.coverage.nodes == self.plan.limits.nodes {
            self.coverage.reached = Some(Limit::Nodes);
            return Ok(());
        }
        self.coverage.nodes += 1;
        if self.coverage.nodes.is_multiple_of(PATIENCE) && !(self.plan.goes_on)(self.coverage.nodes) {
            self.coverage.reached = Some(Limit::Stopped);
        }
        let Point { walk, memory } = point;
        memory.turns += 1;
        let place = walk.cursor().place(host).0;
        if self.plan.keeps == Keeps::Decisions
            && let Some(footprint) = self.threads.footprint(place)
        {
            memory.had_turn(host, place, footprint);
        }
        if let Poll::Ready(reply) = walk.turn(self.program, host)? {
            let seen = walk.machine().order().seen(host);
            memory.answered(host, walk.call(host), &reply, seen, self.plan.keeps);
        }
        Ok(())
    }

    /// There are several ways from here, unless somebody has been here.
    fn fork(&mut self, point: Box<Point<A>>, ways: Ways, leaves: &mut impl Leaves<A>) {
        let chosen = if let Ways::Cuts(host, ..) = &ways { host.index() + 1 } else { 0 };
        let key = self.key(&point, chosen as u64, leaves.extra(&point.walk));
        if self.visited.len() as u64 == self.plan.limits.states {
            self.coverage.reached = Some(Limit::States);
        }
        if !self.visited.insert(key) || leaves.is_hopeless(&point.walk) {
            self.spare.push(point);
            return;
        }
        self.forks.push(Fork { point, steps: self.steps.len(), ways, next: 0 });
    }

    /// A run is over.
    fn leaf(&mut self, mut point: Box<Point<A>>, stop: Option<Stop>, leaves: &mut impl Leaves<A>) {
        let stop = if self.threads.ends_matter {
            point.walk.progress().reach_all();
            point.walk.end(self.program, stop).stop
        } else {
            stop
        };
        let Self { steps, coverage, .. } = self;
        coverage.leaves += 1;
        let witness = || Witness { steps: steps.clone(), turns: point.memory.turns };
        if leaves.found(&point.walk, point.memory.kept(), stop, &witness).is_break() {
            coverage.reached = Some(Limit::Stopped);
        }
        self.spare.push(point);
    }

    /// A hash of everything that the rest of a run hangs on.
    fn key(&mut self, point: &Point<A>, chosen: u64, extra: u128) -> u128 {
        let Point { walk, memory } = point;
        let mut hash = fold(extra, &[chosen]);
        for host in (0..self.program.setup.hosts).map(HostId::from_usize) {
            let (place, registers) = walk.cursor().place(host);
            hash = fold(hash, &[place as u64, u64::from(walk.is_blocked(host))]);
            for register in registers {
                hash = fold(hash, &[*register as u64, (*register >> 64) as u64]);
            }
            if let Some(target) = walk.machine().target(host) {
                hash = fold_counters(hash, target);
            }
        }
        self.asked_about.clear();
        walk.machine().asked_about(&mut self.asked_about);
        let floor = walk.done();
        if self.threads.asks_about_all {
            hash = fold_counters(hash, floor);
        } else {
            hash = fold(hash, &words(within(&self.asked_about, floor)));
        }
        let [told, rolled] = memory.told();
        let kept = if self.plan.keeps == Keeps::Decisions { memory.kept() } else { 0 };
        let machine = walk.machine();
        for part in [machine.model().digest(), machine.order().digest(&self.asked_about), told, rolled, kept]
        {
            hash = fold(hash, &words(part));
        }
        hash
    }
}

/// Who has the next turn. An only thread has it, unless something holds it up.
fn whoever<A: Allocator>(walk: &Led<A>) -> From {
    match *walk.alive() {
        [only] if !walk.is_blocked(only) => From::Thread(only),
        _ => From::Anybody,
    }
}

/// A hash of which of these operations are complete.
fn within(tickets: &[Ticket], done: &Cut) -> u128 {
    let bits =
        |some: &[Ticket]| some.iter().fold(0, |bits, ticket| bits << 1 | u64::from(ticket.within(done)));
    tickets.chunks(64).fold(0, |hash, some| fold(hash, &[bits(some)]))
}

/// A thread has the next turn.
fn choose(steps: &mut Vec<Step>, memory: &mut Memory, host: HostId) {
    if memory.last != host {
        memory.last = host;
        steps.push(Step { turn: memory.turns, host, done: Vec::new() });
    }
}

/// The thread whose turn it is has ended without a call. That takes no turn, but what it skips may hang on when it was.
fn ends(steps: &mut Vec<Step>, memory: &Memory) {
    let (turn, host) = (memory.turns, memory.last);
    if memory.has_others() && steps.last().is_none_or(|step| step.turn < turn) {
        steps.push(Step { turn, host, done: Vec::new() });
    }
}

/// Devices get as far as a cut before the next turn.
fn advance<A: Allocator>(steps: &mut Vec<Step>, point: &mut Point<A>, cut: &Cut) {
    let Point { walk, memory } = point;
    let (turn, host) = (memory.turns, memory.last);
    let before = walk.done().iter().enumerate();
    let more = before.zip(cut).filter(|((_, before), seq)| before < seq);
    let done: Vec<Ticket> =
        more.map(|((stream, _), seq)| Ticket { stream: stream.into(), seq: *seq }).collect();
    let is_further = !done.is_empty();
    match steps.last_mut() {
        // Another cut may have been tried here before.
        Some(step) if step.turn == turn && step.host == host => step.done = done,
        _ if is_further => steps.push(Step { turn, host, done }),
        _ => {}
    }
    if is_further {
        walk.progress().reach(cut);
        walk.advance();
    }
}
