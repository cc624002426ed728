//! The way from one point of a run to another along what orders them, with as few changes of stream or thread as there can be.

use super::recording::Recording;
use super::{By, Link};
use crate::oracle::findings::Point;
use std::collections::{BTreeMap, VecDeque};

/// How a point goes on towards the end of the search.
#[derive(Clone, Copy)]
struct Towards {
    /// How often the way changes its stream or thread.
    changes: u32,
    /// The next point; `None` at the end.
    next: Option<(Point, By)>,
}

/// The way from the last point of the first one's stream or thread, before it, that comes before `to`; empty: there is none.
pub(super) fn nearest(recording: &Recording, from: Point, to: Point) -> Vec<Link> {
    let reached = search(recording, to, None);
    let before = match from {
        Point::Operation(ticket) => {
            let first = Point::Operation(crate::trace::Ticket { seq: 1, ..ticket });
            reached.range(first..from).next_back()
        }
        Point::Host(host, _) => reached.range(Point::Host(host, 1)..from).next_back(),
    };
    before.map_or_else(Vec::new, |(start, _)| way(recording, &reached, *start))
}

/// The way from one point to another; empty: there is none.
pub(super) fn between(recording: &Recording, from: Point, to: Point) -> Vec<Link> {
    let reached = search(recording, to, Some(from));
    if from == to || !reached.contains_key(&from) {
        return Vec::new();
    }
    way(recording, &reached, from)
}

/// All points that come before `to`, or those that were found until `until` was.
fn search(recording: &Recording, to: Point, until: Option<Point>) -> BTreeMap<Point, Towards> {
    let mut reached = BTreeMap::new();
    let mut queue = VecDeque::from([(to, Towards { changes: 0, next: None })]);
    while let Some((point, towards)) = queue.pop_front() {
        if reached.get(&point).is_some_and(|known: &Towards| known.changes <= towards.changes) {
            continue;
        }
        reached.insert(point, towards);
        if until == Some(point) {
            break;
        }
        recording.each_before(point, |before, by| {
            let is_change = by != By::Program;
            let changes = towards.changes + u32::from(is_change);
            if reached.get(&before).is_none_or(|known| changes < known.changes) {
                let next = (before, Towards { changes, next: Some((point, by)) });
                if is_change { queue.push_back(next) } else { queue.push_front(next) }
            }
        });
    }
    reached
}

/// The points of a way where it begins, changes its stream or thread, and ends; a statement stands once in a row.
fn way(recording: &Recording, reached: &BTreeMap<Point, Towards>, start: Point) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    let mut came_by = None;
    let mut at = Some(start);
    while let Some(point) = at {
        let next = reached.get(&point).and_then(|towards| towards.next);
        let by = next.map_or(By::Program, |(_, by)| by);
        let is_inside = came_by == Some(By::Program) && by == By::Program && next.is_some();
        if let Some(stmt) = recording.at(point).filter(|_| !is_inside) {
            match links.last_mut() {
                Some(last) if last.stmt == stmt => *last = Link { by, point, ..*last },
                _ => links.push(Link { stmt, point, by }),
            }
        }
        came_by = Some(by);
        at = next.map(|(point, _)| point);
    }
    links
}
