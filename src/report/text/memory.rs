//! Where the bytes were when an allocation failed, and what would have made it succeed.

use super::table::{Row, Section, columns_of, time, wrap};
use crate::base::{Bytes, DeviceId, PoolId, StmtId, StreamId};
use crate::explore::recover::{Attempt, Change, Cost, NotHelpful, Place, Recovery, Remedy};
use crate::oracle::{FailedCall, Verdict};
use crate::report::names::Book;
use crate::trace::{Account, DeviceState, Event, Failure, Kind, PoolState};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Accounts of failed allocations beyond these are not kept.
pub(super) const ACCOUNTS_MAX: usize = 8;
/// Where what is to be written stands in a row.
const WRITTEN_AT: usize = 39;
/// So many rows about expected failures are shown before other parts get more than a few.
const SHOWN_FIRST: usize = 12;
/// So many streams, lines of frees and other pools are named.
const NAMED_MAX: usize = 4;

/// Where memory was at the first failure of a statement.
#[derive(Clone, Debug)]
struct Short {
    memory: Memory,
    /// The pools of the device, those that hold most first.
    pools: Vec<(PoolId, PoolState)>,
}

#[derive(Clone, Debug)]
enum Memory {
    /// For each stream, the pending bytes by the statement of their free.
    Pool(PoolId, Account, BTreeMap<StreamId, BTreeMap<StmtId, (Bytes, u64)>>),
    /// Outside of pools.
    Device(DeviceId, DeviceState),
}

/// Collects the accounts.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortages {
    short: BTreeMap<StmtId, Short>,
    /// The pools as they are now.
    pools: BTreeMap<PoolId, PoolState>,
    /// The call about memory outside of pools in progress.
    looking: Option<(StmtId, DeviceId, DeviceState)>,
}

impl Shortages {
    /// Takes an event.
    pub(super) fn event(&mut self, book: &Book<'_>, event: &Event<'_>) {
        match event.kind {
            Kind::State { pool, state } => {
                self.pools.insert(pool, *state);
            }
            Kind::Account { pool, account } if self.takes(event.stmt) => {
                let mut pending: BTreeMap<StreamId, BTreeMap<StmtId, (Bytes, u64)>> = BTreeMap::new();
                for free in &account.pending {
                    let known = book.known(free.alloc).and_then(|known| known.freed);
                    let stmt = known.map_or(event.stmt, |freed| freed.stmt);
                    let (bytes, times) = pending.entry(free.at.stream).or_default().entry(stmt).or_default();
                    bytes.0 = bytes.0.saturating_add(free.bytes.0);
                    *times += 1;
                }
                // What was told of each free is summed up.
                let account = Account { pending: Vec::new(), ..account.clone() };
                let device = book.program.setup.pools[pool].location.device();
                let pools = device.map_or(Vec::new(), |device| self.pools_on(book, device));
                let memory = Memory::Pool(pool, account, pending);
                self.short.insert(event.stmt, Short { memory, pools });
            }
            Kind::Device { device, state } => self.looking = Some((event.stmt, device, *state)),
            Kind::Failed { failure: Failure::OutOfMemory, .. } if self.takes(event.stmt) => {
                if let Some((stmt, device, state)) = self.looking.filter(|(stmt, ..)| *stmt == event.stmt) {
                    let pools = self.pools_on(book, device);
                    self.short.insert(stmt, Short { memory: Memory::Device(device, state), pools });
                }
            }
            Kind::Call(_) => self.looking = None,
            _ => {}
        }
    }

    fn takes(&self, stmt: StmtId) -> bool {
        self.short.len() < ACCOUNTS_MAX && !self.short.contains_key(&stmt)
    }

    fn pools_on(&self, book: &Book<'_>, device: DeviceId) -> Vec<(PoolId, PoolState)> {
        let setup = &book.program.setup;
        let is_here = |pool: PoolId| {
            let home = setup.pools[pool].location.device();
            home.is_some_and(|home| setup.physical(home) == setup.physical(device))
        };
        let pools = self.pools.iter().filter(|(pool, state)| is_here(**pool) && state.reserved > Bytes::ZERO);
        let mut pools: Vec<_> = pools.map(|(pool, state)| (*pool, *state)).collect();
        pools.sort_by_key(|(pool, state)| (Reverse(state.reserved), *pool));
        pools
    }

    /// What is told about a statement that failed: two columns in.
    pub(super) fn lines(
        &self,
        book: &Book<'_>,
        recovery: &Recovery,
        stmt: StmtId,
        width: usize,
    ) -> Vec<String> {
        let rows = self.rows(book, recovery, stmt, true, width);
        rows.into_iter().map(|row| row.text).collect()
    }

    fn rows(&self, book: &Book<'_>, recovery: &Recovery, stmt: StmtId, all: bool, width: usize) -> Vec<Row> {
        let Some(short) = self.short.get(&stmt) else { return Vec::new() };
        let account = match &short.memory {
            Memory::Device(device, state) => of_device(book, *device, *state, short),
            Memory::Pool(pool, account, pending) => {
                let mut lines = of_pool(book, *pool, account);
                lines.extend(pending_on(book, pending));
                lines.extend(around(book, *pool, account, short));
                lines
            }
        };
        let lines = account.iter().flat_map(|line| wrap(line, 6, width)).enumerate();
        let mut rows: Vec<Row> = lines.map(|(nth, text)| Row { text, pinned: nth == 0 }).collect();
        if let Some(length) = recovery.too_long {
            let length = crate::base::grouped(length);
            let line = format!("  no remedy was tried: {length} statements are too many to run again");
            rows.extend(wrap(&line, 6, width).into_iter().map(|text| Row { text, pinned: true }));
        }
        let attempt = recovery.attempts.iter().find(|attempt| attempt.stmt == stmt);
        rows.extend(attempt.iter().flat_map(|attempt| tried(book, attempt, recovery.cost, all, width)));
        rows
    }

    /// The same for failures that were expected.
    pub(super) fn expected(
        &self,
        book: &Book<'_>,
        verdict: &Verdict,
        recovery: &Recovery,
        width: usize,
    ) -> Option<Section> {
        let is_short = |failed: &&FailedCall| failed.expected && failed.failure == Failure::OutOfMemory;
        let expected = verdict.failed.iter().filter(is_short);
        let mut section = Section { noun: "lines", ..Section::default() };
        for (place, failed) in expected.enumerate() {
            let rows = self.rows(book, recovery, failed.stmt, false, width.saturating_sub(6));
            for (nth, Row { text, pinned }) in rows.into_iter().enumerate() {
                // What helps is always shown of the first one alone.
                let pinned = pinned && (place == 0 || nth == 0);
                let number = if nth == 0 { book.line(failed.stmt).to_string() } else { String::new() };
                section.rows.push(Row { text: format!("  {number:>4}{text}"), pinned });
            }
        }
        section.wants = section.rows.len().min(SHOWN_FIRST);
        section.top.push("Where the bytes were when an allocation failed, as expected".to_owned());
        (!section.rows.is_empty()).then_some(section)
    }
}

fn of_device(book: &Book<'_>, device: DeviceId, state: DeviceState, short: &Short) -> Vec<String> {
    let name = &book.program.names.devices[device];
    let [pools, outside, leaving, free] =
        [state.pools, state.outside, state.leaving, state.free()].map(Bytes::human);
    let waits = match state.leaving {
        Bytes::ZERO => String::new(),
        _ => format!(" ({leaving} until frees complete)"),
    };
    let held = held(book, short, None);
    vec![format!("  device {name}:  pools {pools}{held}, outside pools {outside}{waits}, free {free}")]
}

fn of_pool(book: &Book<'_>, pool: PoolId, account: &Account) -> Vec<String> {
    let ledger = account.ledger;
    let [live, padding, pending, cached, unused] =
        [ledger.live, ledger.padding, ledger.pending, ledger.cached, ledger.unused].map(Bytes::human);
    let [fragmented, hole] = [account.fragmented, account.largest_hole()].map(Bytes::human);
    let name = &book.program.names.pools[pool];
    vec![
        format!("  pool {name}:  live {live}, padding {padding}, pending {pending},"),
        format!("    cached {cached}, unused {unused}; fragmented {fragmented}, largest hole {hole}"),
    ]
}

/// A line a stream: `pending on a:  64 MiB freed at line 12`.
fn pending_on(book: &Book<'_>, pending: &BTreeMap<StreamId, BTreeMap<StmtId, (Bytes, u64)>>) -> Vec<String> {
    let mut lines = Vec::new();
    for (stream, frees) in pending.iter().take(NAMED_MAX) {
        let each = frees.iter().take(NAMED_MAX).map(|(stmt, (bytes, times))| {
            let free = book.operation(*stmt);
            let times = super::judgement::times(*times);
            format!("{} of `{free}`, line {}{times}", bytes.human(), book.line(*stmt))
        });
        let mut each: Vec<String> = each.collect();
        if frees.len() > NAMED_MAX {
            each.push(format!("and that of {} more lines", frees.len() - NAMED_MAX));
        }
        lines.push(format!("    pending on {}:  {}", book.stream(*stream), each.join("; ")));
    }
    if pending.len() > NAMED_MAX {
        lines.push(format!("    pending on {} more streams", pending.len() - NAMED_MAX));
    }
    lines
}

/// The device around the pool.
fn around(book: &Book<'_>, pool: PoolId, account: &Account, short: &Short) -> [String; 2] {
    let [others, outside, room] = [account.other_pools, account.outside, account.room].map(Bytes::human);
    let limit = book.program.setup.pools[pool].max_size;
    let limit = limit.filter(|max| max.0.checked_sub(account.ledger.total()) == Some(account.room.0));
    let limit = limit.map(|max| format!(" (max_size {})", max.human())).unwrap_or_default();
    let around = match book.program.setup.pools[pool].location.device() {
        Some(device) => {
            let (device, held) = (&book.program.names.devices[device], held(book, short, Some(pool)));
            format!("  device {device}:  other pools {others}{held}, outside pools {outside},")
        }
        None => format!("  host:  other pools {others},"),
    };
    [around, format!("    room for {room} more{limit}")]
}

/// Which pools hold how much, and how much of that nobody uses: ` (q 64 MiB, 32 MiB of it idle)`.
fn held(book: &Book<'_>, short: &Short, but: Option<PoolId>) -> String {
    let pools = short.pools.iter().filter(|(pool, _)| Some(*pool) != but).take(NAMED_MAX);
    let each = pools.map(|(pool, state)| {
        let (name, ledger) = (&book.program.names.pools[*pool], state.ledger);
        let idle = [ledger.pending, ledger.cached, ledger.unused].map(|part| part.0);
        let idle = idle.into_iter().fold(0, u64::saturating_add);
        format!("{name} {}, {} of it idle", state.reserved.human(), Bytes(idle).human())
    });
    let each: Vec<String> = each.collect();
    if each.is_empty() { String::new() } else { format!(" ({})", each.join("; ")) }
}

/// Whether the memory was there to be had, and by what: the cheapest with its lines, the others as well or by their names.
fn tried(book: &Book<'_>, attempt: &Attempt, now: Cost, all: bool, width: usize) -> Vec<Row> {
    let verdict = match (attempt.is_recoverable(), attempt.remedies.is_empty()) {
        (true, _) => "  recoverable: these were tried and help, the cheapest first",
        (false, false) => "  not recoverable: of all that was tried, only more memory helps",
        (false, true) => "  not recoverable: nothing that was tried helps",
    };
    let pinned = |text: String| Row { text, pinned: true };
    let mut rows = vec![pinned(verdict.to_owned())];
    if !attempt.remedies.is_empty() {
        rows.push(pinned(format!("    {:<11}  {:>8}  {:>10}  write", "by", "ends at", "reserved")));
        rows.push(pinned(row("as it is", now, "-")));
    }
    let shown = if all { attempt.remedies.len() } else { 1 };
    for remedy in attempt.remedies.iter().take(shown) {
        rows.extend(of_remedy(book, remedy, width).into_iter().map(pinned));
    }
    let also = attempt.remedies.iter().skip(shown).map(|remedy| remedy.means.name());
    let mut below = vec![("also helps", also.collect::<Vec<&str>>())];
    let words = [
        (NotHelpful::StillFails, "no help"),
        (NotHelpful::Breaks, "breaks something else"),
        (NotHelpful::Deadlock, "a deadlock"),
        (NotHelpful::Untried, "not tried to the end"),
    ];
    for (why, word) in words {
        let means = attempt.others.iter().filter(|(_, other)| *other == why);
        below.push((word, means.map(|(means, _)| means.name()).collect()));
    }
    for (word, names) in below.iter().filter(|(_, names)| !names.is_empty()) {
        rows.push(Row { text: format!("    {word}: {}", names.join(", ")), pinned: false });
    }
    rows
}

fn row(by: &str, cost: Cost, what: &str) -> String {
    format!("    {by:<11}  {:>8}  {:>10}  {what}", time(cost.end), cost.reserved.human())
}

/// A row, with the lines behind it where they fit, or else below it.
fn of_remedy(book: &Book<'_>, remedy: &Remedy, width: usize) -> Vec<String> {
    let mut what: Vec<String> = remedy.changes.iter().map(written).collect();
    for free in &remedy.frees {
        let text = &book.program.statements[*free].text;
        what.push(format!("for `{text}`, line {}", book.line(*free)));
    }
    what.extend(remedy.by_timing.then(|| "by the timing of this run alone".to_owned()));
    let fits = what.iter().all(|line| WRITTEN_AT + columns_of(line) <= width);
    let (head, rest) = if fits { what.split_at(1) } else { what.split_at(0) };
    let below = if rest.len() > 1 { "these lines:" } else { "this line:" };
    let behind = head.first().map_or(below, String::as_str);
    let mut lines = vec![row(remedy.means.name(), remedy.cost, behind)];
    let indent = if fits { WRITTEN_AT } else { 6 };
    let rest = rest.iter().map(|line| format!("{:indent$}{line}", ""));
    lines.extend(rest.flat_map(|line| wrap(&line, indent + 2, width)));
    lines
}

fn written(change: &Change) -> String {
    let line = change.place.line();
    match change.place {
        Place::Before(_) => format!("before line {line}: {}", change.text),
        Place::After(_) => format!("after line {line}: {}", change.text),
        Place::Instead(_) => format!("as line {line}: {}", change.text),
    }
}
