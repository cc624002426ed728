//! What one thread makes its runs with, built once: each run is followed where its course is known, and made and judged where not.

use super::outcome::{Served, Witness};
use super::{Came, Campaign, Outcome, Plan, Runs};
use crate::base::{Nanos, StmtId};
use crate::engine::{Courses, Runner};
use crate::explore::broken;
use crate::oracle::Expectations;
use crate::scenario::Program;
use std::ops::Range;

pub(super) struct Hand<'p> {
    program: &'p Program,
    runner: Runner<'p>,
    /// The judge of the run in progress, and what each one begins with.
    judge: Expectations<'p>,
    fresh: Expectations<'p>,
    witness: Witness,
    came: Came,
    courses: Option<Courses<'p>>,
    /// What runs of each course come to.
    known: Vec<Known>,
    /// The courses that runs of this block took.
    taken: Vec<usize>,
    /// When the runs of this block ended, with their seeds.
    ends: Vec<(Nanos, u64)>,
}

/// What the runs of a course come to.
struct Known {
    came: Came,
    served: Vec<(StmtId, Served)>,
    /// The runs of this block that were followed on it.
    followed: Runs,
}

impl<'p> Hand<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        let (runner, witness) = (Runner::new(program), Witness::new(program));
        let fresh = Expectations::new(program);
        let reserved_high = witness.reserved_high.clone();
        let came = Came { outcome: Outcome::default(), holds: true, reserved_high };
        let courses = Courses::of(program);
        let (judge, known, taken, ends) = (fresh.clone(), Vec::new(), Vec::new(), Vec::new());
        Self { program, runner, judge, fresh, witness, came, courses, known, taken, ends }
    }

    /// Runs the seeds that are so far from the first one of the plan.
    pub(super) fn block(
        &mut self,
        plan: &Plan,
        seeds: Range<u64>,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Campaign {
        let mut campaign = Campaign::new(self.program, plan.base.wrapping_add(seeds.start));
        for nth in seeds {
            if !goes_on() {
                break;
            }
            self.run(plan.base.wrapping_add(nth), &mut campaign);
        }
        campaign.add_ends(&mut self.ends);
        self.ends.clear();
        for course in self.taken.drain(..) {
            let Known { came, served, followed } = &mut self.known[course];
            let runs = std::mem::take(followed);
            campaign.add(came, runs);
            campaign.add_served(served, runs.count);
        }
        campaign.add_served(&self.witness.take_served().collect::<Vec<_>>(), 1);
        if self.courses.as_ref().is_some_and(|courses| !courses.are_of_use()) {
            (self.courses, self.known) = (None, Vec::new());
        }
        campaign
    }

    fn run(&mut self, seed: u64, campaign: &mut Campaign) {
        let Self { courses, known, taken, .. } = self;
        if let Some((course, at)) = courses.as_mut().and_then(|courses| courses.follow(seed)) {
            let followed = &mut known[course].followed;
            if followed.count == 0 {
                (followed.first, followed.least) = (seed, seed);
                taken.push(course);
            }
            followed.count += 1;
            followed.least = followed.least.min(seed);
            return self.ends.push((at, seed));
        }
        let Self { program, runner, judge, fresh, witness, came, .. } = self;
        witness.begin();
        judge.clone_from(fresh);
        let sink = (&mut *judge, &mut *witness);
        let (ending, course) = match courses {
            Some(courses) => courses.run(seed, sink),
            None => (runner.run(seed, sink), None),
        };
        let verdict = judge.finish(broken(&ending));
        witness.outcome(program, &verdict, &mut came.outcome);
        came.holds = verdict.holds();
        came.reserved_high.clone_from(&witness.reserved_high);
        campaign.add(came, Runs { count: 1, first: seed, least: seed });
        self.ends.push((ending.at, seed));
        if courses.is_some() {
            let served: Vec<_> = witness.take_served().collect();
            campaign.add_served(&served, 1);
            if course.is_some() {
                known.push(Known { came: came.clone(), served, followed: Runs::default() });
            }
        }
    }
}
