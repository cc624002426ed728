//! What there is to know about a finding: the order that is missing, the one that is nearest to it, what this run did, the rule.

use super::One;
use super::words::{Words, about};
use crate::base::{Fact, StmtId};
use crate::oracle::{By, Certainty, Explanation, Link, Missing, Ran, Reuse, Role};
use crate::report::text::time;
use crate::scenario::Handle;
use crate::trace::{FindingKind, Severity};

/// What a use breaks that comes after the call of the free.
const SUBMITTED_AFTER: &str = "work that is submitted after the call of a free must not use the memory";

/// All facts, in the order in which they are read. What is no error is told in fewer words.
pub(super) fn of(one: &One<'_>) -> Vec<Fact> {
    let missing = one.finding.missing;
    let mut facts = Vec::new();
    let mut add = |name, text: Option<String>| facts.extend(text.map(|text| Fact { name, text }));
    add("missing", missing.map(|missing| arrow(one, [missing.from.stmt, missing.to.stmt])));
    if one.is_error() {
        add("nearest", missing.and_then(|_| nearest(one)));
        add("timing", missing.map(|_| timing(one).to_owned()));
    }
    add("this run", missing.and_then(|missing| this_run(one, &missing)));
    add("note", not_there(one));
    add("rule", Some(rule(one)));
    add("to do", (!one.is_fixed).then(|| about(one.finding.kind).mend.to_owned()));
    add("mute or expect", Some(mute(one)));
    facts
}

/// `12 train(x) -> 13 free x`.
fn arrow(one: &One<'_>, stmts: impl IntoIterator<Item = StmtId>) -> String {
    let step = |stmt: StmtId| format!("{} {}", one.book.line(stmt), one.operation(stmt));
    stmts.into_iter().map(step).collect::<Vec<_>>().join(" -> ")
}

/// The order that there is.
fn nearest(one: &One<'_>) -> Option<String> {
    let Explanation { nearest, reversed, .. } = one.explanation?;
    let links = |links: &[Link]| {
        let step = |link: &Link| {
            let by = match link.by {
                By::Legacy => " (legacy stream)",
                By::Graph => " (graph)",
                By::Collective => " (collective)",
                _ => "",
            };
            format!("{} {}{by}", one.book.line(link.stmt), one.operation(link.stmt))
        };
        links.iter().map(step).collect::<Vec<_>>().join(" -> ")
    };
    Some(match (reversed.as_slice(), nearest.as_slice()) {
        // One alone is no order.
        ([], [] | [_]) => "none".to_owned(),
        ([], nearest) => links(nearest),
        (reversed, _) => format!("the other way round: {}", links(reversed)),
    })
}

fn timing(one: &One<'_>) -> &'static str {
    match one.finding.certainty {
        Some(Certainty::Definite) => "definite: it is so with every timing",
        Some(Certainty::Possible) | None => "possible: nothing orders the two, so that some timing breaks",
    }
}

/// What another party has not done.
fn not_there(one: &One<'_>) -> Option<String> {
    let absent = one.finding.others.iter().find(|(_, stmt)| stmt.is_none())?;
    match absent.0 {
        Role::Import => Some("it was imported nowhere".to_owned()),
        Role::FreeOfImport => Some("the importer had not called its free by then".to_owned()),
        _ => None,
    }
}

/// When the two ran, and who got the memory.
fn this_run(one: &One<'_>, missing: &Missing) -> Option<String> {
    let Some(Explanation { from, to, reuse, .. }) = one.explanation else {
        return one.is_error().then(|| "not recorded: it is too long".to_owned());
    };
    let [first, second] = [missing.from.stmt, missing.to.stmt].map(|stmt| one.operation(stmt).to_owned());
    let line = |stmt| format!("line {}", one.book.line(stmt));
    // Two lines may say the same.
    let (first, second) = match first == second {
        true => (line(missing.from.stmt), line(missing.to.stmt)),
        false => (first, second),
    };
    let mut told = format!("{first} {}, {second} {}", when(*from), when(*to));
    if let (Some(from), Some(to)) = (from, to) {
        told += match (from.is_before(*to), to.is_before(*from)) {
            (true, _) => ": in this order, which nothing but the timing made",
            (false, true) => ": in the wrong order",
            (false, false) => ": at the same time",
        };
    }
    let mut parts = vec![told];
    parts.extend(reuse.as_ref().map(|reuse| given(one, reuse)));
    Some(parts.join("; "))
}

/// `ran from 0us to 50us`, `at 50us`.
fn when(ran: Option<Ran>) -> String {
    match ran {
        None => "never started".to_owned(),
        Some(Ran { start, end: None }) => format!("ran from {} and never ended", time(start)),
        Some(Ran { start, end: Some(end) }) if start == end => format!("at {}", time(start)),
        Some(Ran { start, end: Some(end) }) => format!("ran from {} to {}", time(start), time(end)),
    }
}

/// `line 14 gave its memory to y (same_stream)`.
fn given(one: &One<'_>, reuse: &Reuse) -> String {
    let policy = reuse.policy.map(|policy| format!(" ({policy})")).unwrap_or_default();
    let to = one.book.asked_as(reuse.stmt);
    let of = one
        .finding
        .name
        .map_or("the memory".to_owned(), |name| format!("{}'s memory", one.book.buffer(name)));
    let given = format!("line {} gave {of} to {to}{policy}", one.book.line(reuse.stmt));
    match reuse.together {
        Some((old, new, Ran { start, end: Some(end) })) => format!(
            "{given}; {} and {} both had it from {} to {}",
            one.operation(old),
            one.operation(new),
            time(start),
            time(end)
        ),
        Some((old, new, Ran { start, end: None })) => format!(
            "{given}; {} and {} both had it from {} on",
            one.operation(old),
            one.operation(new),
            time(start)
        ),
        None => given,
    }
}

fn rule(one: &One<'_>) -> String {
    let Words { rule, source, number, .. } = about(one.finding.kind);
    if is_submitted_after(one) {
        return format!("{SUBMITTED_AFTER}\n(CUDA driver API, cuMemFreeAsync; `millpond explain R18`)");
    }
    let source = destroying(one).unwrap_or(source);
    let word = number.map_or(one.finding.kind.name().to_owned(), |number| format!("R{number}"));
    format!("{rule}\n({source}; `millpond explain {word}`)")
}

/// The call that has destroyed what is named.
fn destroying(one: &One<'_>) -> Option<&'static str> {
    if one.finding.kind != FindingKind::UseOfDestroyed {
        return None;
    }
    let handle = one.other(Role::Destroy).and_then(|stmt| one.book.destroyed(stmt))?;
    Some(match handle {
        Handle::Stream(_) => "CUDA driver API, cuStreamDestroy",
        Handle::Event(_) => "CUDA driver API, cuEventDestroy",
        Handle::Pool(_) => "CUDA driver API, cuMemPoolDestroy",
        Handle::Graph(_) => "CUDA driver API, cuGraphDestroy",
        Handle::Exec(_) => "CUDA driver API, cuGraphExecDestroy",
    })
}

fn is_submitted_after(one: &One<'_>) -> bool {
    let is_last = one.finding.missing.is_some_and(|missing| missing.from.stmt == one.finding.stmt);
    one.finding.kind == FindingKind::UseAfterFree
        && is_last
        && one.finding.certainty == Some(Certainty::Definite)
}

fn mute(one: &One<'_>) -> String {
    let kind = one.finding.kind;
    let on = one.finding.name.map(|name| format!(" on {}", one.book.own_name(name))).unwrap_or_default();
    let process = one.finding.name.and_then(|name| one.book.process(name));
    let within = process.map(|process| format!(" in process {process}")).unwrap_or_default();
    match kind.severity() {
        Severity::Error => format!("`expect finding {kind}{on}`{within}"),
        Severity::Warning | Severity::Lint => {
            format!("`allow {kind}{on}`, or `expect finding {kind}{on}`{within}")
        }
    }
}
