//! A campaign: one program run with one seed after the other, by several threads, and what came of it all.
//!
//! What it comes to is a function of the program, which says how choices are made, and the seeds. Runs are merged so that their order and grouping
//! do not matter, so the number of threads does not either. It asks no clock; whether to go on is said by who asks.

mod hand;
mod outcome;
mod spread;
mod stable;

pub use outcome::{Aspect, Classes, Looked, Onlooker, Outcome, Served, Standing};
pub use spread::{Extreme, Spread};
pub use stable::{STEP, UNSEEN_MAX};

use crate::base::{IndexVec, Nanos, PoolId, StmtId};
use crate::scenario::Program;
use hand::Hand;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// So many runs are made by one thread before they are merged with those of others.
const BLOCK: u64 = 64;

/// What to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The first seed; the others follow it, and after the greatest comes 0.
    pub base: u64,
    /// The most runs that are made.
    pub runs: u64,
    /// Whether to stop as soon as it is stable.
    pub until_stable: bool,
    /// By how many threads.
    pub jobs: NonZeroUsize,
}

/// What came of the runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// The first seed.
    pub base: u64,
    /// How many runs were made.
    pub runs: u64,
    /// How many of them do not hold.
    pub failing: u64,
    /// What they came to.
    pub outcomes: BTreeMap<Outcome, Seen>,
    /// When they ended, in nanoseconds.
    pub end: Spread,
    /// The most that each pool had reserved.
    pub reserved_high: IndexVec<PoolId, Spread>,
    /// How each statement was served that allocates from a pool.
    pub served: BTreeMap<StmtId, Served>,
}

/// The runs with one outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// How many.
    pub runs: u64,
    /// The first seed that gave it.
    pub first: u64,
    /// Whether they hold.
    pub holds: bool,
}

/// What a run came to, its times aside.
#[derive(Clone, Debug)]
struct Came {
    outcome: Outcome,
    holds: bool,
    /// The most that each pool had reserved.
    reserved_high: IndexVec<PoolId, u64>,
}

/// Runs of one block.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    count: u64,
    /// The seed of the first one.
    first: u64,
    /// The least seed; the first one unless seeds begin anew between.
    least: u64,
}

impl Campaign {
    fn new(program: &Program, base: u64) -> Self {
        Self {
            base,
            runs: 0,
            failing: 0,
            outcomes: BTreeMap::new(),
            end: Spread::default(),
            reserved_high: program.setup.pools.iter().map(|_| Spread::default()).collect(),
            served: BTreeMap::new(),
        }
    }

    /// The outcomes, those of the most runs first.
    pub fn by_runs(&self) -> Vec<(&Outcome, Seen)> {
        let mut all: Vec<_> = self.outcomes.iter().map(|(outcome, seen)| (outcome, *seen)).collect();
        all.sort_by_key(|(_, seen)| (std::cmp::Reverse(seen.runs), seen.first.wrapping_sub(self.base)));
        all
    }

    /// Adds runs that came to this.
    fn add(&mut self, came: &Came, runs: Runs) {
        let Came { outcome, holds, reserved_high } = came;
        let Runs { count, first, least } = runs;
        if !holds {
            self.failing += count;
        }
        match self.outcomes.get_mut(outcome) {
            Some(seen) => {
                seen.runs += count;
                let nth = |seed: u64| seed.wrapping_sub(self.base);
                if nth(first) < nth(seen.first) {
                    seen.first = first;
                }
            }
            None => {
                self.outcomes.insert(outcome.clone(), Seen { runs: count, first, holds: *holds });
            }
        }
        for (spread, high) in self.reserved_high.iter_mut().zip(reserved_high) {
            spread.add(*high, least, count);
        }
    }

    /// Adds the ends of runs, each with its seed.
    fn add_ends(&mut self, ends: &mut [(Nanos, u64)]) {
        self.runs += ends.len() as u64;
        self.end.merge(Spread::of(ends));
    }

    /// Adds how statements were served in so many runs, in each of them alike.
    fn add_served(&mut self, served: &[(StmtId, Served)], runs: u64) {
        for (stmt, served) in served {
            self.served.entry(*stmt).or_default().add(served, runs);
        }
    }

    /// Adds the runs with the seeds that follow.
    fn merge(&mut self, later: Self) {
        self.runs += later.runs;
        self.failing += later.failing;
        for (outcome, other) in later.outcomes {
            self.outcomes.entry(outcome).and_modify(|seen| seen.runs += other.runs).or_insert(other);
        }
        self.end.merge(later.end);
        for (own, other) in self.reserved_high.iter_mut().zip(later.reserved_high) {
            own.merge(other);
        }
        for (stmt, served) in later.served {
            self.served.entry(stmt).or_default().add(&served, 1);
        }
    }
}

/// Makes the runs of a plan. `goes_on` is asked before each of them, by several threads and in any order; once it says no, what
/// is returned are the runs of the seeds before the first that was left out.
pub fn run(program: &Program, plan: &Plan, goes_on: &(dyn Fn() -> bool + Sync)) -> Campaign {
    let threads = rayon::ThreadPoolBuilder::new().num_threads(plan.jobs.get()).build();
    let hands = Mutex::new(Vec::new());
    let round = |seeds: Range<u64>| -> Vec<Campaign> {
        let blocks = (seeds.end - seeds.start).div_ceil(BLOCK);
        let one = |nth: u64| {
            let from = seeds.start + nth * BLOCK;
            let seeds = from..seeds.end.min(from + BLOCK);
            let free = hands.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let mut hand = free.unwrap_or_else(|| Hand::new(program));
            let campaign = hand.block(plan, seeds, goes_on);
            hands.lock().unwrap_or_else(PoisonError::into_inner).push(hand);
            campaign
        };
        (0..blocks).into_par_iter().map(one).collect()
    };
    let mut campaign = Campaign::new(program, plan.base);
    while campaign.runs < plan.runs && !(plan.until_stable && campaign.is_stable()) {
        let end = plan.runs.min(campaign.runs.saturating_add(STEP));
        let seeds = campaign.runs..end;
        let blocks = match &threads {
            Ok(threads) => threads.install(|| round(seeds)),
            // The machine gives no threads; those that it has by itself do.
            Err(_) => round(seeds),
        };
        for block in blocks {
            // Blocks after one that was left off are lost: what remains are the first seeds.
            let is_whole = block.runs == BLOCK;
            campaign.merge(block);
            if !is_whole {
                break;
            }
        }
        if campaign.runs < end {
            break;
        }
    }
    campaign
}
