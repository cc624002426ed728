//! Every run of a program with constant or few durations, each with the probability that a seed gives it: the exact share of the
//! seeds that fail.
//!
//! The run loop of the engine makes the runs, and a script answers each question that it asks: which of several host threads calls,
//! and how long something takes. A seed gives each answer to a question the same chance, so that the probability of a run is
//! that of all its answers together.

use millpond::base::{HostId, Nanos, StmtId};
use millpond::engine::{Chooser, Limits, Machine, Stop, Timeline, run_on};
use millpond::model::cuda::Cuda;
use millpond::oracle::{Broken, Expectations};
use millpond::profile::Profile;
use millpond::scenario::Program;
use millpond::trace::Law;
use std::cell::RefCell;
use std::rc::Rc;

/// The answers of a run, and how many there were to choose from.
#[derive(Default)]
struct Script {
    answers: Vec<(u64, u64)>,
    at: usize,
}

impl Script {
    fn ask(&mut self, among: u64) -> u64 {
        if self.at == self.answers.len() {
            self.answers.push((0, among));
        }
        let (answer, of) = self.answers[self.at];
        assert_eq!(of, among, "the same answers lead to the same question");
        self.at += 1;
        answer
    }

    /// Goes on to the next script; `false`: that was the last one.
    fn advance(&mut self) -> bool {
        while self.answers.last().is_some_and(|(answer, among)| answer + 1 == *among) {
            self.answers.pop();
        }
        self.at = 0;
        match self.answers.last_mut() {
            Some((answer, _)) => {
                *answer += 1;
                true
            }
            None => false,
        }
    }
}

struct Scripted(Rc<RefCell<Script>>);

impl Chooser for Scripted {
    fn duration(&mut self, _: StmtId, law: &Law) -> Nanos {
        match *law {
            Law::Constant(duration) => duration,
            Law::Uniform { low, high } => Nanos(low.0 + self.0.borrow_mut().ask(high.0 - low.0 + 1)),
            Law::Normal { .. } => panic!("too many durations"),
        }
    }

    fn pick(&mut self, among: &[HostId], _: &dyn Fn(HostId) -> bool) -> usize {
        self.0.borrow_mut().ask(among.len() as u64) as usize
    }
}

/// A fraction in its lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share(pub(super) u128, pub(super) u128);

fn divisor(one: u128, other: u128) -> u128 {
    if other == 0 { one } else { divisor(other, one % other) }
}

impl Share {
    fn add(self, other: Share) -> Share {
        let common = divisor(self.1, other.1);
        let part = self.0 * (other.1 / common) + other.0 * (self.1 / common);
        let of = self.1 / common * other.1;
        let least = divisor(part, of);
        Share(part / least, of / least)
    }
}

/// What all runs come to.
pub(super) struct Counted {
    /// How many there are.
    pub(super) runs: u64,
    /// How many of them fail.
    pub(super) failing: u64,
    /// The share of the seeds that give one of these.
    pub(super) share: Share,
}

pub(super) fn load(file: &str) -> Program {
    let text = std::fs::read_to_string(format!("{}/{file}", super::ROOT)).expect("it is there");
    let (program, mistakes) = millpond::load(&text, &Profile::default());
    program.unwrap_or_else(|| panic!("{file}: {mistakes:?}"))
}

/// Why a run was given up, if it was.
fn broken(stop: Option<Stop>) -> Option<Broken> {
    match stop {
        Some(Stop::Broken { stmt, reason }) => Some(Broken { stmt, reason }),
        Some(Stop::Deadlock { .. }) | None => None,
    }
}

/// Makes every run.
pub(super) fn count(program: &Program) -> Counted {
    let script = Rc::new(RefCell::new(Script::default()));
    let mut counted = Counted { runs: 0, failing: 0, share: Share(0, 1) };
    let mut all = Share(0, 1);
    loop {
        let mut judge = Expectations::new(program);
        let (setup, timeline) = (&program.setup, Timeline::new(program.setup.streams.len()));
        let mut machine =
            Machine::new(setup, Cuda::new(setup), timeline, Scripted(script.clone()), &mut judge);
        let ending = run_on(program, &mut machine, Limits::default());
        let verdict = judge.finish(broken(ending.stop));
        let chance = Share(1, script.borrow().answers.iter().map(|(_, among)| u128::from(*among)).product());
        counted.runs += 1;
        all = all.add(chance);
        if !verdict.holds() {
            counted.failing += 1;
            counted.share = counted.share.add(chance);
        }
        if !script.borrow_mut().advance() {
            break;
        }
    }
    assert_eq!(all, Share(1, 1), "these are all runs");
    counted
}
