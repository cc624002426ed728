//! The calls of two runs in one order, which is the same whichever run is called the left one.

use super::common::Common;
use super::trace::{Does, Key, Made, Trace};
use crate::base::{HostId, StmtId};
use std::collections::BTreeMap;

/// A call of either run, or of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Where it stands among all.
    pub(super) rank: u64,
    pub(super) key: Key,
    /// Its place in the calls of each run, where it was made there.
    pub(super) left: Option<u32>,
    pub(super) right: Option<u32>,
}

/// The place of each call of a run.
pub(super) fn places(trace: &Trace) -> BTreeMap<Key, u32> {
    trace.calls.iter().zip(0..).map(|(made, at)| (made.key, at)).collect()
}

/// All calls of statements that both programs have. A call comes after those that come before it in both runs.
pub(super) fn points(left: &Trace, right: &Trace, common: &Common) -> Vec<Point> {
    let [in_left, in_right] = [places(left), places(right)];
    let mut points = Vec::new();
    let both = |key: &Key| common.has(key.stmt);
    each(left, &in_right, |key, own, other, rank| {
        if both(&key) {
            points.push(Point { rank, key, left: Some(own), right: other });
        }
    });
    each(right, &in_left, |key, own, other, rank| {
        if both(&key) && other.is_none() {
            points.push(Point { rank, key, left: None, right: Some(own) });
        }
    });
    points.sort_by_key(|point| (point.rank, point.key));
    points
}

/// Visits the calls of a run with their place in the other one. One that is not there stands behind the latest one of its thread
/// that is.
fn each(trace: &Trace, others: &BTreeMap<Key, u32>, mut visit: impl FnMut(Key, u32, Option<u32>, u64)) {
    let mut latest: BTreeMap<HostId, u32> = BTreeMap::new();
    for (made, own) in trace.calls.iter().zip(0..) {
        let other = others.get(&made.key).copied();
        let latest = latest.entry(made.key.host).or_default();
        *latest = other.unwrap_or(*latest);
        visit(made.key, own, other, u64::from(own) + u64::from(*latest));
    }
}

/// Where host threads begin to call in another order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    left: u32,
    right: u32,
    /// The statement of the first such call.
    pub(super) stmt: StmtId,
}

impl Turn {
    /// Whether other calls may have been made before a call than on the other side.
    pub(super) fn is_before(&self, point: &Point) -> bool {
        point.left.is_some_and(|at| at >= self.left) || point.right.is_some_and(|at| at >= self.right)
    }
}

/// Where host threads begin to call in another order, of calls that may change a pool or what is ordered.
pub(super) fn turned(left: &Trace, right: &Trace, points: &[Point]) -> Option<Turn> {
    let changes = |made: &Made| {
        matches!(made.does, Does::Allocate | Does::Malloc | Does::Change | Does::Submit | Does::Query)
    };
    let both = |point: &&Point| match (point.left, point.right) {
        (Some(at), Some(to)) => changes(&left.calls[at as usize]) && changes(&right.calls[to as usize]),
        _ => false,
    };
    let in_both: Vec<&Point> = points.iter().filter(both).collect();
    let (mut in_left, mut in_right) = (in_both.clone(), in_both);
    in_left.sort_by_key(|point| point.left);
    in_right.sort_by_key(|point| point.right);
    let mut pairs = in_left.into_iter().zip(in_right);
    let (one, other) = pairs.find(|(one, other)| one.key != other.key)?;
    let first = if (one.rank, one.key) < (other.rank, other.key) { one } else { other };
    Some(Turn { left: one.left?, right: other.right?, stmt: first.key.stmt })
}
