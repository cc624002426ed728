//! The order in which operations end. What is ordered ends in that order (CUDA Programming Guide 2.3); of the rest documents say
//! nothing.

use super::comparison::{Class, Difference, Seen, What};
use super::fold::Folded;
use super::points::Point;
use super::trace::{Key, Operation, Told, Trace};
use crate::base::{Nanos, StreamId};
use crate::trace::Ticket;
use std::collections::BTreeMap;

/// Which operation of a program: the call, and which of that call it is.
type Id = (Key, u32);

/// An operation that both sides have ended.
#[derive(Clone, Copy, Debug)]
struct Both<'t> {
    id: Id,
    rank: u64,
    operations: [&'t Operation; 2],
    ended: [Nanos; 2],
}

/// Compares when operations ended, and says how many it has compared.
pub(super) fn compare(traces: [&Trace; 2], points: &[Point], folded: &mut Folded) -> u64 {
    let all = both(traces, points);
    let orders = traces.map(Order::of);
    for (side, other) in [(0, 1), (1, 0)] {
        // What a simulation orders, it ends in order; a device is to be looked at.
        if traces[side].told == Told::Whole && traces[other].told == Told::Parts {
            broken(&all, &orders[side], side, folded);
        }
    }
    let mut running: Vec<&Both<'_>> =
        all.values().filter(|both| both.operations.iter().all(|operation| operation.runs)).collect();
    let mut swapped = BTreeMap::new();
    for side in [0, 1] {
        running.sort_by_key(|both| (both.ended[side], both.id));
        for pair in running.windows(2) {
            let (one, next) = (pair[0], pair[1]);
            let is_swapped = one.ended[side] < next.ended[side] && one.ended[1 - side] > next.ended[1 - side];
            if is_swapped {
                let (later, earlier) =
                    if (one.rank, one.id) > (next.rank, next.id) { (one, next) } else { (next, one) };
                swapped.insert((later.rank, later.id, earlier.id), (later, earlier));
            }
        }
    }
    for (later, earlier) in swapped.into_values() {
        if !orders.iter().zip(0..).any(|(order, side)| order.is_before(earlier, later, side)) {
            tell(later, earlier, Class::Unspecified, folded);
        }
    }
    all.len() as u64
}

fn both<'t>(traces: [&'t Trace; 2], points: &[Point]) -> BTreeMap<Id, Both<'t>> {
    let ended = |trace: &'t Trace| -> BTreeMap<Id, (&'t Operation, Nanos)> {
        let ended = trace.operations.iter().filter_map(|operation| {
            let id = (trace.calls[operation.by as usize].key, operation.nth);
            operation.ended.map(|at| (id, (operation, at)))
        });
        ended.collect()
    };
    let ranks: BTreeMap<Key, u64> = points.iter().map(|point| (point.key, point.rank)).collect();
    let [left, right] = traces.map(ended);
    let pairs = left.into_iter().filter_map(|(id, (operation, at))| {
        let (other, until) = right.get(&id)?;
        let rank = *ranks.get(&id.0)?;
        Some((id, Both { id, rank, operations: [operation, *other], ended: [at, *until] }))
    });
    pairs.collect()
}

fn tell(later: &Both<'_>, earlier: &Both<'_>, class: Class, folded: &mut Folded) {
    let what = What::Ends(earlier.id.0.stmt);
    let seen = |side: usize| Seen::EndsBefore {
        before: later.ended[side] < earlier.ended[side],
        other: earlier.id.0,
    };
    let (key, times, held, follows) = (later.id.0, 1, None, None);
    let (left, right) = (seen(0), seen(1));
    folded.add(later.rank, Difference { key, what, class, times, left, right, held, follows });
}

/// What one side has ordered, and the other one has ended the other way round.
fn broken(all: &BTreeMap<Id, Both<'_>>, order: &Order, side: usize, folded: &mut Folded) {
    let by_ticket: BTreeMap<Ticket, &Both<'_>> =
        all.values().map(|both| (both.operations[side].ticket, both)).collect();
    for both in all.values() {
        let own = both.operations[side].ticket;
        let before = own.seq.checked_sub(1).map(|seq| Ticket { seq, ..own });
        for ticket in before.into_iter().chain(order.after(own).iter().copied()) {
            let Some(earlier) = by_ticket.get(&ticket) else { continue };
            if earlier.ended[1 - side] > both.ended[1 - side] {
                // Who is behind the signal of a function is not behind its return.
                let is_early = earlier.operations[side].tells && ticket.stream != own.stream;
                tell(both, earlier, if is_early { Class::Unspecified } else { Class::Differs }, folded);
            }
        }
    }
}

/// What a run has ordered before what.
struct Order {
    /// Of each stream, the operations with others before them, in their order.
    after: BTreeMap<StreamId, Vec<(u32, Vec<Ticket>)>>,
}

impl Order {
    fn of(trace: &Trace) -> Self {
        let mut after: BTreeMap<StreamId, Vec<(u32, Vec<Ticket>)>> = BTreeMap::new();
        for operation in trace.operations.iter().filter(|operation| !operation.after.is_empty()) {
            let Ticket { stream, seq } = operation.ticket;
            after.entry(stream).or_default().push((seq, operation.after.clone()));
        }
        Self { after }
    }

    /// The latest operations of other streams that are before one.
    fn after(&self, ticket: Ticket) -> &[Ticket] {
        let Some(stream) = self.after.get(&ticket.stream) else { return &[] };
        let count = stream.partition_point(|(seq, _)| *seq <= ticket.seq);
        stream[..count].last().map_or(&[], |(_, after)| after)
    }

    /// Whether this side orders one of two operations before the other.
    fn is_before(&self, one: &Both<'_>, other: &Both<'_>, side: usize) -> bool {
        let [one, other] = [one, other].map(|both| both.operations[side].ticket);
        let is_within = |earlier: Ticket, later: Ticket| {
            earlier.stream == later.stream
                || self.after(later).iter().any(|at| at.stream == earlier.stream && at.seq >= earlier.seq)
        };
        is_within(one, other) || is_within(other, one)
    }
}
