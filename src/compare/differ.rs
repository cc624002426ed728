//! Goes through the calls of two runs and finds what is different, and what documents say about it.
//!
//! Which of several freed blocks an allocation gets, they do not say (CUDA Programming Guide 4.3.4.4); whether freed memory may
//! be used again they do, but for what hangs on how far a device is (4.3.4.4.2). What comes after a difference in the same
//! pool may come from it, and is judged as that is.

use super::common::Common;
use super::comparison::{Class, Compared, Comparison, Difference, Held, Seen, What};
use super::facts::{Facts, Origin};
use super::points::{Point, Turn, places, points, turned};
use super::trace::{Does, Figures, Got, Key, Made, Outcome, Read, StateTold, Told, Trace};
use super::{deviations, ends, fold::Folded};
use crate::base::{Bytes, PoolId, StmtId};
use crate::scenario::Program;
use crate::trace::Failure;
use std::collections::{BTreeMap, BTreeSet};

/// Where a difference may come from: how an earlier one was judged, and its statement.
type Cause = (Class, Option<StmtId>);

/// What stands about a pool.
#[derive(Clone, Copy, Debug, Default)]
struct Pool {
    /// The worst class of its differences so far, and the first statement with it.
    cause: Option<(Class, StmtId)>,
    /// By how much its figures differ.
    gap: [i128; 4],
}

struct Differ<'t> {
    left: &'t Trace,
    right: &'t Trace,
    facts: Facts,
    pools: BTreeMap<PoolId, Pool>,
    /// The place of each call on the left, and on the right.
    places: [BTreeMap<Key, u32>; 2],
    /// The states by the call that told them, in the same way.
    told: [BTreeMap<u32, BTreeSet<PoolId>>; 2],
    /// The latest call that ended otherwise, how it was judged.
    fate: Option<(Class, StmtId)>,
    turned: Option<Turn>,
    compared: Compared,
    compared_pools: BTreeSet<PoolId>,
    folded: Folded,
}

/// Compares two runs. The right one has the ids of the left program, see [`Common::of_right`].
pub fn compare(left: &Trace, right: &Trace, program: &Program, common: &Common) -> Comparison {
    let points = points(left, right, common);
    let mut differ = Differ {
        left,
        right,
        facts: Facts::of(program),
        pools: BTreeMap::new(),
        places: [left, right].map(places),
        told: [told_by(left), told_by(right)],
        fate: None,
        turned: turned(left, right, &points),
        compared: Compared::default(),
        compared_pools: BTreeSet::new(),
        folded: Folded::default(),
    };
    for point in &points {
        match (point.left, point.right) {
            (Some(at), Some(to)) => differ.both(point, &left.calls[at as usize], &right.calls[to as usize]),
            (at, _) => differ.one(point, at.is_some()),
        }
    }
    differ.compared.operations = ends::compare([left, right], &points, &mut differ.folded);
    differ.compared.pools = differ.compared_pools.len() as u64;
    let (compared, turned) = (differ.compared, differ.turned.map(|turn| turn.stmt));
    let differences = differ.folded.finish();
    let is_of_device = [left, right].iter().any(|trace| trace.told == Told::Parts);
    let deviations = if is_of_device { deviations::behind(&differences, program) } else { Vec::new() };
    Comparison { differences, turned, compared, alone: common.alone().clone(), deviations }
}

/// The pools whose states each call told.
fn told_by(trace: &Trace) -> BTreeMap<u32, BTreeSet<PoolId>> {
    let mut told: BTreeMap<u32, BTreeSet<PoolId>> = BTreeMap::new();
    for (pool, states) in &trace.states {
        for by in states.iter().filter_map(|state| state.by) {
            told.entry(by).or_default().insert(*pool);
        }
    }
    told
}

/// What an allocation got.
fn got(made: &Made) -> Seen {
    match &made.got {
        Some(got) => Seen::Memory { reuses: got.reuses.clone(), grows: got.mapped },
        None => Seen::Outcome(made.outcome),
    }
}

/// The latest state of a pool that was told before so many.
fn state(trace: &Trace, pool: PoolId, until: u32) -> Option<&StateTold> {
    let states = trace.states.get(&pool)?;
    let count = states.partition_point(|state| state.number < until);
    states[..count].last()
}

impl Differ<'_> {
    /// A call that only one side has made.
    fn one(&mut self, point: &Point, is_left: bool) {
        let (class, follows) = self.since(point, self.fate);
        let (left, right) = (Seen::Made(is_left), Seen::Made(!is_left));
        self.tell(point, What::Made, (class, follows), left, right);
    }

    fn both(&mut self, point: &Point, left: &Made, right: &Made) {
        let is_expect = matches!(left.does, Does::Expect(_));
        self.compared.calls += u64::from(!is_expect);
        self.compared.allocations += u64::from(left.does == Does::Allocate);
        match (&left.got, &right.got) {
            _ if left.outcome != right.outcome => self.outcome(point, left, right),
            (Some(one), Some(other)) if left.does == Does::Allocate => {
                let keys =
                    |reuses: &[(Key, Bytes)]| -> Vec<Key> { reuses.iter().map(|(key, _)| *key).collect() };
                let both_reuse = !one.reuses.is_empty() && !other.reuses.is_empty();
                if keys(&one.reuses) != keys(&other.reuses)
                    && (both_reuse || !self.is_doubtful(point, one) && !self.is_doubtful(point, other))
                {
                    self.memory(point, left, right, both_reuse);
                }
            }
            _ => {}
        }
        self.read(point, left, right);
        self.states(point, left, right);
    }

    /// One that ends otherwise. What asks how far a device is, hangs on it.
    fn outcome(&mut self, point: &Point, left: &Made, right: &Made) {
        let is = |outcome: Outcome| left.outcome == outcome || right.outcome == outcome;
        let cause = match () {
            () if left.by_timing || right.by_timing => (Class::Timing, None),
            () if is(Outcome::Failed(Failure::NotReady)) => (Class::Timing, None),
            () if is(Outcome::Skipped) => self.since(point, self.fate),
            () => {
                let own = left.pool.and_then(|pool| self.cause(pool));
                // Other pools take memory of the device, too.
                let other = || self.pools.values().filter_map(|pool| pool.cause).min_by_key(|cause| cause.1);
                let is_full = is(Outcome::Failed(Failure::OutOfMemory));
                self.since(point, own.or_else(|| other().filter(|_| is_full)))
            }
        };
        if left.does == Does::Allocate {
            let (one, other) = (got(left), got(right));
            self.tell(point, What::Memory, cause, one, other);
        } else {
            let seen = |made: &Made| Seen::Outcome(made.outcome);
            self.tell(point, What::Outcome, cause, seen(left), seen(right));
        }
        self.fate = Some((cause.0, point.key.stmt));
        self.blame(left.pool, cause.0, point.key.stmt);
    }

    /// Whether a pool may have given back what seems to be used again, and has mapped new memory at its address. A side that
    /// tells classes knows better.
    fn is_doubtful(&self, point: &Point, got: &Got) -> bool {
        let places = [(self.left, point.left), (self.right, point.right)];
        let shrank = |key: &Key| {
            places.iter().zip(&self.places).any(|((trace, now), places)| {
                let call = places.get(key).map(|at| &trace.calls[*at as usize]);
                let freed = call.and_then(|made| Some((made.pool?, made.got.as_ref()?.freed?)));
                let (Some((pool, freed)), Some(now)) = (freed, now) else { return false };
                let shrinks = trace.shrinks.get(&pool).map_or(&[][..], Vec::as_slice);
                shrinks.iter().any(|at| freed < *at && at <= now)
            })
        };
        got.policy.is_none() && got.reuses.iter().any(|(key, _)| shrank(key))
    }

    fn memory(&mut self, point: &Point, left: &Made, right: &Made, both_reuse: bool) {
        let before = left.pool.and_then(|pool| self.cause(pool));
        let cause = match () {
            () if left.by_timing || right.by_timing => (Class::Timing, None),
            () if both_reuse => (Class::Unspecified, before.map(|(_, stmt)| stmt)),
            () => self.since(point, before),
        };
        let (one, other) = (got(left), got(right));
        self.tell(point, What::Memory, cause, one, other);
        self.blame(left.pool, cause.0, point.key.stmt);
    }

    fn read(&mut self, point: &Point, left: &Made, right: &Made) {
        let (Some(one), Some(other)) = (left.read, right.read) else { return };
        self.compared.values += 1;
        if one == other {
            return;
        }
        let origin = match left.does {
            Does::Read(reading) => Origin::of(reading),
            Does::Elapsed => Origin::of_machine(),
            Does::Expect(expect) => self.facts.of_expect(expect),
            _ => Origin::default(),
        };
        let causes = origin.pools.iter().filter_map(|pool| self.cause(*pool));
        let cause = match origin.of_machine {
            true => (Class::Unspecified, None),
            false => self.since(point, causes.max_by_key(|cause| cause.0)),
        };
        let seen = |read: Read| match read {
            Read::Value(value) => Seen::Value(value),
            Read::Values(left, right) => Seen::Values(left, right),
            Read::Readiness(readiness) => Seen::Readiness(readiness),
        };
        self.tell(point, What::Value, cause, seen(one), seen(other));
    }

    /// The pools whose state either side tells here.
    fn states(&mut self, point: &Point, left: &Made, right: &Made) {
        let told = |nth: usize, at: Option<u32>| at.and_then(|at| self.told[nth].get(&at));
        let [one, other] = [told(0, point.left), told(1, point.right)];
        if one.is_none() && other.is_none() {
            return;
        }
        let none = BTreeSet::new();
        let (one, other) = (one.unwrap_or(&none), other.unwrap_or(&none));
        // Where a side does not tell all, it tells nothing about what it does not tell.
        let knows = |pool: &PoolId| {
            let knows =
                |trace: &Trace, told: &BTreeSet<PoolId>| trace.told == Told::Whole || told.contains(pool);
            knows(self.left, one) && knows(self.right, other)
        };
        let pools: Vec<PoolId> = one.union(other).copied().filter(knows).collect();
        for pool in pools {
            let figures = |trace, made: &Made| state(trace, pool, made.until).map(|state| state.figures);
            if let (Some(one), Some(other)) = (figures(self.left, left), figures(self.right, right)) {
                self.figures(point, pool, one, other);
            }
        }
    }

    /// A gap that stays is told once.
    fn figures(&mut self, point: &Point, pool: PoolId, left: Figures, right: Figures) {
        self.compared.states += 1;
        self.compared_pools.insert(pool);
        let pairs = left.named().into_iter().zip(right.named());
        let known = self.pools.entry(pool).or_default();
        let mut changed = [false; 4];
        for (((one, other), old), changed) in pairs.zip(&mut known.gap).zip(&mut changed) {
            let gap = i128::from(one.1.0) - i128::from(other.1.0);
            *changed = std::mem::replace(old, gap) != gap && gap != 0;
        }
        if !changed.contains(&true) {
            return;
        }
        let stmt = point.key.stmt;
        let cause = self.since(point, self.cause(pool));
        let held = Held { pool, left, right, changed };
        if !self.folded.holds(point.key, held) {
            let ((class, follows), key, times) = (cause, point.key, 1);
            let (what, left, right, held) = (What::Pool(pool), Seen::Pool, Seen::Pool, Some(held));
            let difference = Difference { key, what, class, times, left, right, held, follows };
            self.folded.add(point.rank, difference);
        }
        self.blame(Some(pool), cause.0, stmt);
    }

    fn cause(&self, pool: PoolId) -> Option<(Class, StmtId)> {
        self.pools.get(&pool).and_then(|pool| pool.cause)
    }

    /// How something is judged that may come from an earlier difference, or from the order in which threads have called.
    fn since(&self, point: &Point, before: Option<(Class, StmtId)>) -> Cause {
        let is_turned = self.turned.is_some_and(|turn| turn.is_before(point));
        match (before, is_turned) {
            (Some((Class::Differs, stmt)), _) => (Class::Differs, Some(stmt)),
            (before, true) => (Class::Timing, before.map(|(_, stmt)| stmt)),
            (Some((class, stmt)), false) => (class, Some(stmt)),
            (None, false) => (Class::Differs, None),
        }
    }

    fn blame(&mut self, pool: Option<PoolId>, class: Class, stmt: StmtId) {
        let Some(pool) = pool else { return };
        let cause = &mut self.pools.entry(pool).or_default().cause;
        if cause.is_none_or(|(worst, _)| worst < class) {
            *cause = Some((class, stmt));
        }
    }

    fn tell(&mut self, point: &Point, what: What, cause: Cause, left: Seen, right: Seen) {
        let (class, follows) = cause;
        let (key, times, held) = (point.key, 1, None);
        self.folded.add(point.rank, Difference { key, what, class, times, left, right, held, follows });
    }
}
