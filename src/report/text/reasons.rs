//! Why an allocation was served as it was, in words: what ordered it after the free, and why no earlier class could.

use super::table::{columns_of, wrap};
use crate::base::{Bytes, Nanos, StmtId, StreamId};
use crate::report::names::Book;
use crate::trace::{
    Candidate, Cause, Cut, Decision, Event, Failure, Kind, Policy, Refusal, Refusals, Ticket,
};
use std::collections::{BTreeMap, VecDeque};

/// How many operations and synchronisations the trail goes back.
const TRAIL_MAX: usize = 4096;

/// The latest operations, what they waited for, and the latest synchronisations.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    statements: BTreeMap<Ticket, StmtId>,
    submitted: VecDeque<Ticket>,
    /// For an operation, the ones of other streams that it waits for, and by what.
    waits: BTreeMap<Ticket, Vec<(Ticket, Cause)>>,
    synchronised: VecDeque<(StmtId, Vec<u32>)>,
    /// What queries and polls found complete, the latest ones.
    seen: VecDeque<(StmtId, Vec<u32>)>,
}

impl Trail {
    /// Takes an event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match (event.kind, event.ticket) {
            (Kind::Submitted(_), Some(ticket)) => {
                self.statements.insert(ticket, event.stmt);
                self.submitted.push_back(ticket);
                if self.submitted.len() > TRAIL_MAX
                    && let Some(oldest) = self.submitted.pop_front()
                {
                    self.statements.remove(&oldest);
                    self.waits.remove(&oldest);
                }
            }
            (Kind::Waits { on, cause }, Some(ticket)) => {
                self.waits.entry(ticket).or_default().push((on, cause));
            }
            (Kind::Synchronised { observed }, _) => keep(&mut self.synchronised, event.stmt, observed),
            (Kind::Seen { seen }, _) => keep(&mut self.seen, event.stmt, seen),
            _ => {}
        }
    }

    /// The statement whose synchronisation proved the operation complete.
    fn observer(&self, ticket: Ticket) -> Option<StmtId> {
        let proves = self.synchronised.iter().find(|(_, observed)| ticket.within(observed));
        proves.map(|(stmt, _)| *stmt)
    }

    /// The statement that found the operation complete by asking.
    fn witness(&self, ticket: Ticket) -> Option<StmtId> {
        let found = self.seen.iter().find(|(_, seen)| ticket.within(seen));
        found.map(|(stmt, _)| *stmt)
    }

    /// The operations through which `to` is ordered after `from`, from first to last; both ends included.
    fn path(&self, from: Ticket, to: Ticket) -> Option<Vec<Ticket>> {
        // Breadth first, backwards: an operation is ordered after all earlier ones of its stream and what they waited for.
        let mut reached: Vec<(Ticket, usize)> = vec![(to, 0)];
        let mut seen: BTreeMap<StreamId, u32> = BTreeMap::new();
        let mut next = 0;
        while let Some((at, _)) = reached.get(next).copied() {
            if at.stream == from.stream && at.seq >= from.seq {
                return Some(self.unwind(from, &reached, next));
            }
            let low = seen.insert(at.stream, at.seq).map_or(0, |seq| seq + 1);
            if low <= at.seq {
                let earlier = Ticket { stream: at.stream, seq: low }..=at;
                for (waiter, waits) in self.waits.range(earlier).rev() {
                    let step = reached.len();
                    reached.push((*waiter, next));
                    reached.extend(waits.iter().map(|(wait, _)| (*wait, step)));
                }
            }
            next += 1;
        }
        None
    }

    /// Whether one of the steps of a path is a wait that the allocator inserted.
    fn is_inserted(&self, path: &[Ticket]) -> bool {
        let waits = |waiter| self.waits.get(waiter).map_or(&[][..], Vec::as_slice);
        path.windows(2).any(|step| waits(&step[1]).contains(&(step[0], Cause::Allocator)))
    }

    fn unwind(&self, from: Ticket, reached: &[(Ticket, usize)], last: usize) -> Vec<Ticket> {
        let mut path = vec![from];
        let mut at = last;
        loop {
            let (ticket, parent) = reached[at];
            if path.last() != Some(&ticket) {
                path.push(ticket);
            }
            if at == 0 {
                return path;
            }
            at = parent;
        }
    }
}

/// An explanation of one allocation.
#[derive(Clone, Debug)]
pub(super) struct Explanation {
    name: String,
    served: &'static str,
    policy: Option<Policy>,
    /// The block whose bytes were taken, its free, and the statement of that.
    freed: Option<(String, Ticket, StmtId)>,
    /// The host's free of it, on no stream.
    by_host: Option<StmtId>,
    /// What made it possible.
    because: String,
    /// For classes that could not serve: why.
    refused: Vec<(&'static str, String)>,
    closing: Option<String>,
}

/// Explains an allocation that was placed; `None` where there is nothing to explain.
pub(super) fn of_decision(
    book: &Book<'_>,
    stmt: StmtId,
    stream: StreamId,
    at: Nanos,
    decision: &Decision,
    refusals: &Refusals,
) -> Option<Explanation> {
    let policy = decision.policy?;
    let refused = refused(book, stmt, stream, refusals);
    let known = decision.reuses.and_then(|alloc| Some((alloc, book.known(alloc)?)));
    let by_timing = refusals.by_timing;
    let candidate = refusals.reasons.iter().flatten().any(has_candidate);
    let is_new = matches!(policy, Policy::Growth | Policy::Unused) && decision.reuses.is_none();
    let is_plain = is_new && !candidate && !by_timing;
    if is_plain {
        return None;
    }
    let freed = known.and_then(|(alloc, known)| {
        let freed = known.freed?;
        Some((book.block(alloc), freed.ticket?, freed.stmt))
    });
    let block = known.map_or_else(String::new, |(alloc, _)| book.block(alloc));
    let asking = book.stream(stream);
    let closing = match policy {
        Policy::Internal => Some(format!(
            "Later work of {asking} runs after that free.{}",
            if by_timing { " Another timing may serve it differently." } else { "" }
        )),
        _ if by_timing => Some("Another timing may serve it differently.".to_owned()),
        Policy::SameStream => Some("Timing plays no part: one stream runs in order.".to_owned()),
        Policy::Observed => Some("Timing plays no part: the host had waited for the free.".to_owned()),
        Policy::FollowEvent => Some("Timing plays no part: the order was there at the call.".to_owned()),
        Policy::Opportunistic => {
            Some("Timing plays no part: the host had seen the free complete.".to_owned())
        }
        Policy::Unused | Policy::Growth => None,
    };
    let because = match policy {
        Policy::Opportunistic => {
            format!("the free of {block} had completed when the call was made at {}", at.human())
        }
        Policy::Internal => format!("the allocator makes {asking} wait for the free of {block}"),
        Policy::Growth if candidate => "new memory, although freed memory was there".to_owned(),
        Policy::Growth => "new memory".to_owned(),
        Policy::Unused if decision.reuses.is_some() => {
            format!("memory of {block} together with memory never handed out")
        }
        Policy::Unused if candidate => "memory never handed out, although freed memory was there".to_owned(),
        Policy::Unused => "memory never handed out".to_owned(),
        _ => String::new(),
    };
    let policy_name = policy.name();
    Some(Explanation {
        name: String::new(),
        served: policy_name,
        policy: Some(policy),
        by_host: known.and_then(|(_, known)| known.freed).map(|freed| freed.stmt).filter(|_| freed.is_none()),
        freed,
        because,
        refused,
        closing,
    })
}

/// Explains an allocation that failed.
pub(super) fn of_failure(
    book: &Book<'_>,
    stmt: StmtId,
    stream: StreamId,
    at: Nanos,
    failure: Failure,
    refusals: &Refusals,
) -> Option<Explanation> {
    if failure != Failure::OutOfMemory {
        return None;
    }
    let by_timing = refusals.by_timing;
    Some(Explanation {
        name: String::new(),
        served: failure.name(),
        policy: None,
        freed: None,
        by_host: None,
        because: format!("no class could serve it at {}", at.human()),
        refused: refused(book, stmt, stream, refusals),
        closing: by_timing.then(|| "Another timing may serve it.".to_owned()),
    })
}

/// The classes that could not serve with the reason of each; neighbours with one reason become one.
fn refused(
    book: &Book<'_>,
    stmt: StmtId,
    stream: StreamId,
    refusals: &Refusals,
) -> Vec<(&'static str, String)> {
    let reasons = Policy::ALL.iter().zip(&refusals.reasons).filter_map(|(policy, refusal)| {
        Some((policy.name(), reason(book, stmt, stream, *policy, refusal.as_ref()?)))
    });
    reasons.collect()
}

fn reason(book: &Book<'_>, stmt: StmtId, stream: StreamId, policy: Policy, refusal: &Refusal) -> String {
    let asked = book.asked_as(stmt);
    let asking = book.stream(stream);
    let free_of = |candidate: &Candidate| {
        let freed = book.known(candidate.alloc).and_then(|known| known.freed);
        let line = freed.map(|freed| format!(" (line {})", book.line(freed.stmt))).unwrap_or_default();
        format!("the free of {}{line}", book.block(candidate.alloc))
    };
    match refusal {
        Refusal::Off => "switched off".to_owned(),
        Refusal::Absent => "not in this model".to_owned(),
        Refusal::MaxSize => "only the pool is full, and the device is not".to_owned(),
        Refusal::NoFit => match policy {
            Policy::Unused => "none is large enough".to_owned(),
            Policy::SameStream => format!("none that was freed on {asking} is large enough"),
            _ => "none is large enough".to_owned(),
        },
        Refusal::OtherStream(candidate) => {
            let block = book.block(candidate.alloc);
            format!(
                "{block} was freed on {}, {asked} is asked for on {asking}",
                book.stream(candidate.freed.stream)
            )
        }
        Refusal::NotObserved(candidate) => {
            format!("no host synchronisation covers {}", free_of(candidate))
        }
        Refusal::NotSynchronised(candidate) => {
            let stream = book.stream(candidate.freed.stream);
            format!("{stream} has not been synchronised since {}", free_of(candidate))
        }
        Refusal::NotOrdered(candidate) => format!("{asking} is not ordered after {}", free_of(candidate)),
        Refusal::NotDone(candidate) => {
            format!(
                "{} had not completed yet at the call; another timing may decide otherwise",
                free_of(candidate)
            )
        }
        Refusal::PoolCapacity(Bytes::ZERO) => "the pool has its maximum size".to_owned(),
        Refusal::PoolCapacity(room) => format!("the pool is {} below its maximum size", room.human()),
        Refusal::Capacity(Bytes::ZERO) => "nothing can be mapped any more".to_owned(),
        Refusal::Capacity(room) => format!("only {} more can be mapped", room.human()),
    }
}

/// Keeps the latest few cuts.
fn keep(cuts: &mut VecDeque<(StmtId, Vec<u32>)>, stmt: StmtId, cut: &Cut) {
    if cuts.len() == 16 {
        cuts.pop_front();
    }
    cuts.push_back((stmt, cut.to_vec()));
}

impl Explanation {
    /// Finds what ordered the allocation after the free, now that the call has ended.
    pub(super) fn path(&mut self, book: &Book<'_>, trail: &Trail, ticket: Option<Ticket>, name: &str) {
        self.name = name.to_owned();
        if self.because.is_empty()
            && let Some(stmt) = self.by_host
        {
            let free = short(book.operation(stmt));
            self.because = format!("{} {free}, by the host", book.line(stmt));
            self.closing = Some("Timing plays no part: a plain free takes all as complete.".to_owned());
        }
        let Some((block, freed, freed_by)) = &self.freed else { return };
        let line = |stmt: StmtId| format!("{} {}", book.line(stmt), short(book.operation(stmt)));
        match self.policy {
            Some(Policy::Observed) => {
                let proven = trail.observer(*freed).map(|stmt| format!(" > {}", line(stmt)));
                self.because = format!("{}{}", line(*freed_by), proven.unwrap_or_default());
            }
            Some(Policy::SameStream | Policy::FollowEvent) => {
                let Some(ticket) = ticket else { return };
                let path = trail.path(*freed, ticket);
                if let (None, Some(witness)) = (&path, trail.witness(*freed)) {
                    self.because = format!("{} > {}", line(*freed_by), line(witness));
                    if book.operation(witness).starts_with("query") {
                        self.closing = Some("Another timing may answer the query differently.".to_owned());
                    }
                    return;
                }
                let path = path.unwrap_or_else(|| vec![*freed, ticket]);
                if trail.is_inserted(&path) {
                    let words =
                        "The allocator had inserted a wait on the way; another timing may not need it.";
                    self.closing = Some(words.to_owned());
                }
                let steps = path.iter().filter_map(|ticket| trail.statements.get(ticket));
                let mut steps: Vec<String> = steps.map(|stmt| line(*stmt)).collect();
                steps.dedup();
                self.because = steps.join(" > ");
            }
            _ => {}
        }
        if self.because.is_empty() {
            self.because = format!("memory of {block}");
        }
    }

    /// The class that served it, and how many allocations of that class are worth explaining.
    pub(super) const fn class(&self) -> (&'static str, usize) {
        match self.policy {
            Some(Policy::SameStream | Policy::Observed) => (self.served, 1),
            _ => (self.served, 2),
        }
    }

    /// The lines of the report.
    pub(super) fn lines(self, line: u32, width: usize) -> Vec<String> {
        let mut lines = vec![format!("  {}, line {line}: {}", self.name, self.served)];
        let mut rows: Vec<(String, String)> = vec![("because".to_owned(), self.because)];
        for (class, reason) in self.refused {
            let reason = format!("no: {reason}");
            match rows.last_mut() {
                Some((classes, last)) if *last == reason && columns_of(classes) + class.len() < 26 => {
                    classes.push_str(", ");
                    classes.push_str(class);
                }
                _ => rows.push((class.to_owned(), reason)),
            }
        }
        let pad = rows.iter().map(|(label, _)| columns_of(label)).max().unwrap_or(0);
        for (label, words) in rows {
            let words = wrap(&words, 4, width.saturating_sub(8 + pad).max(20));
            for (nth, words) in words.into_iter().enumerate() {
                let label = if nth == 0 { label.as_str() } else { "" };
                lines.push(format!("      {label:<pad$}  {words}"));
            }
        }
        if let Some(closing) = self.closing {
            lines.extend(
                wrap(&closing, 0, width.saturating_sub(6)).iter().map(|line| format!("      {line}")),
            );
        }
        lines
    }
}

/// An operation in few words: an allocation without its size and pool.
pub(super) fn short(operation: &str) -> &str {
    match operation.find(" = alloc ") {
        Some(at) => &operation[..at + " = alloc".len()],
        None => operation,
    }
}

/// Whether there was a block that the class would have taken.
const fn has_candidate(refusal: &Refusal) -> bool {
    match refusal {
        Refusal::OtherStream(_)
        | Refusal::NotObserved(_)
        | Refusal::NotSynchronised(_)
        | Refusal::NotOrdered(_)
        | Refusal::NotDone(_) => true,
        Refusal::Off | Refusal::Absent | Refusal::MaxSize | Refusal::NoFit => false,
        Refusal::Capacity(_) | Refusal::PoolCapacity(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(stream: usize, seq: u32) -> Ticket {
        Ticket { stream: StreamId::new(stream), seq }
    }

    #[test]
    fn a_path_goes_through_the_waits() {
        let mut trail = Trail::default();
        trail.waits.insert(ticket(1, 1), vec![(ticket(0, 4), Cause::Event)]);
        trail.waits.insert(ticket(2, 3), vec![(ticket(1, 2), Cause::Event)]);
        let path = trail.path(ticket(0, 3), ticket(2, 9));
        let expected = [ticket(0, 3), ticket(0, 4), ticket(1, 1), ticket(1, 2), ticket(2, 3), ticket(2, 9)];
        assert_eq!(path.as_deref(), Some(&expected[..]));
        assert_eq!(trail.path(ticket(0, 5), ticket(2, 9)), None);
        assert_eq!(trail.path(ticket(2, 4), ticket(2, 9)), Some(vec![ticket(2, 4), ticket(2, 9)]));
    }
}
