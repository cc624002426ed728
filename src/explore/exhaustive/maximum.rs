//! The worst that an untimed program can come to: the greatest value that a figure of a pool can have in the end.
//!
//! Branch and bound over the same search: where even the sum of all that is still to be allocated would not beat the best run so
//! far, it is not gone on with.

use super::branches::Led;
use super::search::{Leaves, Search};
use super::witness::Witness;
use super::{Coverage, GoesOn, Keeps, Limits, Plan};
use crate::base::{Bytes, HostId, PoolId, fold};
use crate::engine::Stop;
use crate::model::Allocator;
use crate::model::cuda::Cuda;
use crate::model::oxicuda::Oxicuda;
use crate::scenario::{Action, Formula, Instruction, Program};
use crate::trace::{Attribute, Figure, Model};
use std::ops::{ControlFlow, Range};

/// The greatest value of a figure.
#[derive(Clone, Debug)]
pub struct Maximum {
    /// The value.
    pub value: u64,
    /// A run that has it in the end.
    pub witness: Witness,
    /// What was gone through. Where that is not everything, there may be a greater value.
    pub coverage: Coverage,
}

/// Finds the greatest value that a figure of a pool can have at the end of an untimed program. Times have none: without durations
/// a run ends at no time.
pub fn maximise(
    program: &Program,
    pool: PoolId,
    figure: Figure,
    limits: Limits,
    goes_on: GoesOn<'_>,
) -> Option<Maximum> {
    let plan = Plan { limits, keeps: Keeps::State, goes_on };
    let mut best = Best { pool, figure, best: None, bound: Bound::of(program, pool, figure) };
    let coverage = match program.setup.model {
        Model::Cuda => Search::run(program, plan, Cuda::new, &mut best),
        Model::Oxicuda => Search::run(program, plan, Oxicuda::new, &mut best),
    };
    best.best.map(|(value, witness)| Maximum { value, witness, coverage })
}

struct Best {
    pool: PoolId,
    figure: Figure,
    best: Option<(u64, Witness)>,
    bound: Option<Bound>,
}

impl<A: Allocator> Leaves<A> for Best {
    fn is_hopeless(&mut self, walk: &Led<A>) -> bool {
        let (Some((best, _)), Some(bound)) = (&self.best, &self.bound) else { return false };
        let state = walk.machine().model().state(self.pool);
        // The call that a thread has come to may not have been made.
        let place = |host: &HostId| walk.cursor().place(*host).0.saturating_sub(1);
        let ahead = walk.alive().iter().map(|host| bound.ahead[place(host)]);
        let ahead = ahead.fold(0, u64::saturating_add);
        let could = match bound.of {
            Of::Used => state.used.0,
            Of::Reserved => state.reserved.0,
        };
        state.figure(self.figure).max(could.saturating_add(ahead)) <= *best
    }

    fn extra(&self, walk: &Led<A>) -> u128 {
        fold(0, &[walk.machine().model().state(self.pool).figure(self.figure)])
    }

    fn found(
        &mut self,
        walk: &Led<A>,
        _: u128,
        _: Option<Stop>,
        witness: &dyn Fn() -> Witness,
    ) -> ControlFlow<()> {
        let value = walk.machine().model().state(self.pool).figure(self.figure);
        if self.best.as_ref().is_none_or(|(best, _)| *best < value) {
            self.best = Some((value, witness()));
        }
        ControlFlow::Continue(())
    }
}

/// What a figure can grow by at most.
struct Bound {
    of: Of,
    /// From each instruction on, the most that the rest of its thread can add.
    ahead: Vec<u64>,
}

/// What the figure cannot exceed.
#[derive(Clone, Copy)]
enum Of {
    Used,
    Reserved,
}

impl Bound {
    /// `None`: nothing is known that bounds the figure.
    fn of(program: &Program, pool: PoolId, figure: Figure) -> Option<Self> {
        let of = match figure {
            Figure::Attribute(Attribute::Used | Attribute::UsedHigh) => Of::Used,
            Figure::Attribute(Attribute::Reserved | Attribute::ReservedHigh)
            | Figure::Padding
            | Figure::Pending
            | Figure::Cached
            | Figure::Unused => Of::Reserved,
            Figure::Attribute(_) | Figure::Maps | Figure::Unmaps => return None,
        };
        let imports = program.setup.pools[pool].imported;
        if imports || program.setup.model != Model::Cuda {
            return None;
        }
        let adds = |action: &Action| adds(program, pool, of, action);
        let mut ahead = vec![0; program.code.len() + 1];
        sums(&program.code, 0..program.code.len(), &adds, &mut ahead);
        Some(Self { of, ahead })
    }
}

/// Fills in, for a stretch of code that nothing follows, what is ahead of each instruction; says what is ahead of the first.
fn sums(code: &[Instruction], of: Range<usize>, adds: &impl Fn(&Action) -> u64, ahead: &mut [u64]) -> u64 {
    let (mut sum, mut at) = (0, of.end);
    while at > of.start {
        at -= 1;
        match &code[at] {
            Instruction::Call { action, .. } => sum = add(sum, adds(action)),
            Instruction::Again { start, to, .. } => {
                let Instruction::Repeat { from, .. } = code[*start] else { continue };
                let body = start + 1..at;
                let turn = sums(code, body.clone(), adds, ahead);
                // Whichever turn it is, there are no more to come than all of them.
                sum = add(sum, turn.saturating_mul(to.saturating_sub(from)));
                ahead[at] = sum;
                ahead[body].iter_mut().for_each(|ahead| *ahead = add(*ahead, sum));
                at = *start;
            }
            _ => {}
        }
        ahead[at] = sum;
    }
    sum
}

fn add(one: u64, other: u64) -> u64 {
    one.saturating_add(other)
}

/// The most that an action can add.
fn adds(program: &Program, pool: PoolId, of: Of, action: &Action) -> u64 {
    let Action::Alloc { pool: from, size, .. } = action else { return 0 };
    if from.is_some_and(|from| from != pool) {
        return 0;
    }
    let Formula::Constant(size) = size else { return u64::MAX };
    let Ok(size) = u64::try_from(*size) else { return 0 };
    let rules = &program.setup.rules;
    let grown = |size: Bytes| size.checked_round_up(rules.alignment)?.checked_round_up(rules.growth);
    match of {
        Of::Used => size,
        Of::Reserved => grown(Bytes(size)).map_or(u64::MAX, |grown| grown.0),
    }
}
