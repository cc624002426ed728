//! What could be written to get memory for an allocation that failed. Nothing here knows whether it helps.

use super::Means;
use super::change::Change;
use super::witness::{Short, Shortage};
use crate::base::{Bytes, DeviceId, LineIndex, PoolId, ProcessId, StmtId, StreamId};
use crate::edit;
use crate::profile::Profile;
use crate::scenario::Program;
use crate::syntax;
use crate::trace::{Attributes, PoolState, Ticket};
use std::collections::BTreeMap;

/// Candidates, those that are tried together in one tier; a tier is only tried if none before it helps.
pub(super) type Tiers = Vec<Vec<Vec<Change>>>;

/// So many streams or pools are tried one by one.
const EACH_MAX: usize = 6;
/// So many sets of streams are tried.
const SETS_MAX: usize = 20;

/// What candidates follow from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidates<'a> {
    pub(super) text: &'a str,
    pub(super) program: &'a Program,
    pub(super) stmt: StmtId,
    pub(super) shortage: &'a Shortage,
    /// The statement of each free.
    pub(super) frees: &'a BTreeMap<Ticket, StmtId>,
    /// How often the statement fails for want of memory, and how often any does.
    pub(super) times: [u64; 2],
}

/// The pending frees that can be waited for: of each stream the statements, in the order of their frees.
#[derive(Clone, Debug, Default)]
pub(super) struct WaitSets {
    streams: Vec<(StreamId, Vec<StmtId>)>,
}

impl WaitSets {
    /// All streams, with the last free of each.
    pub(super) fn all(&self) -> Vec<(usize, usize)> {
        self.streams.iter().enumerate().map(|(stream, (_, frees))| (stream, frees.len() - 1)).collect()
    }

    /// Sets of streams, the smallest first, with the last free of each.
    pub(super) fn subsets(&self) -> Vec<Vec<(usize, usize)>> {
        let count = self.streams.len().min(EACH_MAX);
        let mut masks: Vec<u32> = (1..1 << count).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        let streams = |mask: u32| (0..count).filter(move |stream| mask & (1 << stream) != 0);
        let set = |mask| streams(mask).map(|stream| (stream, self.streams[stream].1.len() - 1)).collect();
        masks.into_iter().take(SETS_MAX).map(set).collect()
    }

    /// The statement of a free.
    pub(super) fn free(&self, stream: usize, nth: usize) -> StmtId {
        self.streams[stream].1[nth]
    }
}

/// Whether something helps only by the timing of a run: the policy that looks at what has completed (CUDA Programming Guide
/// 4.3.4.4.2).
pub(super) fn is_luck(means: Means, changes: &[Change]) -> bool {
    means == Means::Policy && changes.iter().all(|change| change.text.contains(".opportunistic = "))
}

impl<'a> Candidates<'a> {
    /// By means other than to wait; a trim may stand behind a synchronise.
    pub(super) fn tiers(&self, means: Means, synchronises: bool) -> Tiers {
        match means {
            Means::Policy => self.policies(),
            Means::Wait => Tiers::new(),
            Means::Synchronise => self.synchronises(),
            Means::Trim => self.trims(synchronises),
            Means::Threshold => self.thresholds(),
            Means::Memory => self.memory(),
        }
    }

    fn line(&self) -> u32 {
        self.program.statements[self.stmt].line
    }

    fn here(&self, text: impl Into<String>) -> Change {
        Change::before(self.line(), text)
    }

    /// A name as the process of the call knows it.
    fn own(&self, name: &'a str) -> Option<&'a str> {
        let processes = &self.program.setup.processes;
        let process = processes.get(self.shortage.host).copied();
        match process.is_some_and(|process| process != ProcessId::from_raw(0)) {
            true => name.split_once('.').map(|(_, own)| own),
            false => Some(name),
        }
    }

    fn pool(&self, pool: PoolId) -> Option<&'a str> {
        self.own(&self.program.names.pools[pool])
    }

    fn failing_pool(&self) -> Option<PoolId> {
        match self.shortage.memory {
            Short::Pool(pool, _) => Some(pool),
            Short::Device(..) => None,
        }
    }

    /// The device whose memory it is, as the first process knows it.
    fn device(&self) -> Option<DeviceId> {
        let device = match self.shortage.memory {
            Short::Pool(pool, _) => self.program.setup.pools[pool].location.device()?,
            Short::Device(device, _) => device,
        };
        Some(self.program.setup.physical(device))
    }

    /// The pools of the device that hold memory that nobody uses, those that hold most first.
    fn hoarders(&self) -> Vec<(PoolId, PoolState)> {
        let home = |pool: &PoolId| {
            let device = self.program.setup.pools[*pool].location.device();
            device.map(|device| self.program.setup.physical(device))
        };
        let idle = |state: &PoolState| {
            let ledger = state.ledger;
            u128::from(ledger.pending.0) + u128::from(ledger.cached.0) + u128::from(ledger.unused.0)
        };
        let pools = self.shortage.pools.iter().map(|(pool, state)| (*pool, *state));
        let here = pools.filter(|(pool, state)| home(pool) == self.device() && idle(state) > 0);
        let mut here: Vec<_> = here.collect();
        here.sort_by_key(|(pool, state)| (std::cmp::Reverse(idle(state)), *pool));
        here.truncate(EACH_MAX);
        here
    }

    fn policies(&self) -> Tiers {
        let Some((pool, name)) = self.failing_pool().and_then(|pool| Some((pool, self.pool(pool)?))) else {
            return Tiers::new();
        };
        let declared = self.program.setup.pools[pool].attributes;
        let Attributes { reuse, .. } =
            self.shortage.pools.get(&pool).map_or(declared, |state| state.attributes);
        let switch =
            |policy: &str, is_on: bool| (!is_on).then(|| self.here(format!("set {name}.{policy} = on")));
        let sure = [switch("follow_event", reuse.follow_event), switch("internal", reuse.internal)];
        let sure: Vec<Change> = sure.into_iter().flatten().collect();
        let lucky: Vec<Change> = switch("opportunistic", reuse.opportunistic).into_iter().collect();
        let each = |changes: &[Change]| changes.iter().map(|change| vec![change.clone()]).collect();
        vec![each(&sure), each(&lucky), [sure.clone()].into_iter().filter(|all| all.len() > 1).collect()]
    }

    fn synchronises(&self) -> Tiers {
        let mut bytes: BTreeMap<StreamId, u64> = BTreeMap::new();
        if let Short::Pool(_, account) = &self.shortage.memory {
            for free in &account.pending {
                let sum = bytes.entry(free.at.stream).or_default();
                *sum = sum.saturating_add(free.bytes.0);
            }
        }
        let mut streams: Vec<(StreamId, u64)> = bytes.into_iter().collect();
        streams.sort_by_key(|(stream, bytes)| (std::cmp::Reverse(*bytes), *stream));
        let names = streams.iter().take(EACH_MAX).filter_map(|(stream, _)| self.stream(*stream));
        let each = names.map(|name| vec![self.here(format!("sync {name}"))]).collect();
        vec![each, self.of_device().map(|line| vec![line]).into_iter().collect()]
    }

    fn stream(&self, stream: StreamId) -> Option<&'a str> {
        self.own(self.program.names.streams.get(stream)?)
    }

    /// The line that synchronises the device.
    fn of_device(&self) -> Option<Change> {
        let device = self.device()?;
        let name = if device.index() == 0 { "device" } else { &self.program.names.devices[device] };
        Some(self.here(format!("sync {name}")))
    }

    fn trims(&self, synchronises: bool) -> Tiers {
        let pools = self.hoarders();
        let names = pools.iter().filter_map(|(pool, _)| self.pool(*pool));
        let lines: Vec<Change> = names.map(|name| self.here(format!("trim {name} to 0B"))).collect();
        let mut tiers = one_or_all(&lines);
        if let Some(sync) = self.of_device().filter(|_| synchronises) {
            let behind = |changes: Vec<Change>| [sync.clone()].into_iter().chain(changes).collect();
            let later = tiers.clone().into_iter().map(|tier| tier.into_iter().map(behind).collect());
            tiers.extend(later.collect::<Tiers>());
        }
        tiers
    }

    fn thresholds(&self) -> Tiers {
        let pools = self.hoarders();
        let keeps = pools.iter().filter(|(_, state)| state.attributes.release_threshold > Bytes::ZERO);
        let assign = |(pool, _): &(PoolId, PoolState)| {
            self.assigned(&format!("{}.release_threshold=0B", self.program.names.pools[*pool]))
        };
        one_or_all(&keeps.filter_map(assign).collect::<Vec<Change>>())
    }

    /// A declaration with another value.
    fn assigned(&self, assignment: &str) -> Option<Change> {
        let assignment = edit::read_assignment(assignment).ok()?;
        let (file, _) = syntax::parse(self.text);
        let (edits, _) = edit::assign(&file, self.text, &Profile::SETTINGS, &assignment, 0).ok()?;
        Change::of_edits(self.text, &edits)
    }

    /// A larger maximum and a larger device, as far as each stands in the way: first by what is missing if all idle bytes could
    /// be used, then by what is missing if none can, last by that for each failure, of this statement and of all.
    fn memory(&self) -> Tiers {
        let setup = &self.program.setup;
        let granule = setup.rules.granule;
        let Some(need) = self.shortage.size.checked_round_up(granule) else { return Tiers::new() };
        let (limit, held, idle, elsewhere) = match &self.shortage.memory {
            Short::Pool(pool, account) => {
                let ledger = account.ledger;
                let idle = Bytes(ledger.cached.0.saturating_add(ledger.unused.0));
                let elsewhere = account.other_pools.0.saturating_add(account.outside.0);
                (setup.pools[*pool].max_size.map(|max| (*pool, max)), ledger.total(), idle, elsewhere)
            }
            Short::Device(_, state) => (None, 0, Bytes::ZERO, state.pools.0.saturating_add(state.outside.0)),
        };
        let device = self.device().map(|device| (device, setup.devices[device].memory));
        let all = |times: u64| need.0.checked_mul(times.max(1)).and_then(|all| all.checked_add(held));
        let once = all(1).map(|all| all.saturating_sub(idle.0).max(held));
        let wanted = [once, all(1), all(self.times[0]), all(self.times[1])];
        let size = |bytes: u64| Bytes(bytes).checked_round_up(granule.max(Bytes::mib(2)));
        let changes = |wanted: u64| {
            let pool = limit.filter(|(_, max)| max.0 < wanted).map(|(pool, _)| {
                Some(format!("{}.max_size={}", self.program.names.pools[pool], size(wanted)?))
            });
            let all = wanted.checked_add(elsewhere)?;
            let device = device.filter(|(_, memory)| memory.0 < all).map(|(device, _)| {
                Some(format!("{}.memory={}", self.program.names.devices[device], size(all)?))
            });
            let lines = pool.into_iter().chain(device).map(|line| self.assigned(&line?));
            lines.collect::<Option<Vec<Change>>>().filter(|lines| !lines.is_empty())
        };
        wanted.into_iter().flatten().filter_map(changes).map(|changes| vec![changes]).collect()
    }

    /// The frees that can be waited for.
    pub(super) fn wait_sets(&self) -> WaitSets {
        let Short::Pool(_, account) = &self.shortage.memory else { return WaitSets::default() };
        let own = self.prefix(self.stmt);
        let mut sets = WaitSets::default();
        for free in &account.pending {
            let stmt = self.frees.get(&free.at).copied();
            let Some(stmt) = stmt.filter(|stmt| self.prefix(*stmt).is_some_and(|by| Some(by) != own)) else {
                continue;
            };
            match sets.streams.iter_mut().find(|(stream, _)| *stream == free.at.stream) {
                Some((_, stmts)) if stmts.contains(&stmt) => {}
                Some((_, stmts)) => stmts.push(stmt),
                None => sets.streams.push((free.at.stream, vec![stmt])),
            }
        }
        sets
    }

    /// The lines that wait for a set of frees, in the stream of the allocation or on the host.
    pub(super) fn waits(
        &self,
        sets: &WaitSets,
        set: &[(usize, usize)],
        on_host: bool,
    ) -> Option<Vec<Change>> {
        let frees: Vec<StmtId> = set.iter().map(|(stream, nth)| sets.free(*stream, *nth)).collect();
        let mut names: Vec<String> = Vec::new();
        for free in &frees {
            let name = self.event_name(*free, &names);
            names.push(name);
        }
        let above = frees.iter().map(|free| self.program.statements[*free].span.start).min()?;
        let mut changes = vec![Change::before(self.top_line(above)?, format!("event {}", names.join(", ")))];
        for (free, name) in frees.iter().zip(&names) {
            let stream = self.prefix(*free)?;
            changes
                .push(Change::after(self.program.statements[*free].line, format!("{stream}: record {name}")));
        }
        for name in &names {
            changes.push(match on_host {
                true => self.here(format!("sync {name}")),
                false => self.here(format!("{}: wait {name}", self.prefix(self.stmt)?)),
            });
        }
        Some(changes)
    }

    /// The stream of an operation, as its line has it.
    fn prefix(&self, stmt: StmtId) -> Option<&'a str> {
        let (stream, _) = self.program.statements[stmt].text.split_once(": ")?;
        (!stream.contains([' ', '('])).then_some(stream)
    }

    /// A name that the text does not have yet, for the event behind a free.
    fn event_name(&self, free: StmtId, others: &[String]) -> String {
        let text = &self.program.statements[free].text;
        let freed = text.split_once(": free ").map_or("memory", |(_, rest)| rest);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let freed: String = freed.chars().take_while(|c| word(*c)).collect();
        let name = |nth: u32| match nth {
            1 => format!("{freed}_freed"),
            nth => format!("{freed}_freed_{nth}"),
        };
        let names = (1..).map(name);
        let mut new = names.filter(|name| !self.text.contains(name.as_str()) && !others.contains(name));
        new.next().unwrap_or_default()
    }

    /// The line at the top level in which a place of the text is.
    fn top_line(&self, at: u32) -> Option<u32> {
        let (file, _) = syntax::parse(self.text);
        let items = file.items.iter().map(|item| item.span).filter(|span| span.start < span.end);
        let span = items.take_while(|span| span.start <= at).last()?;
        Some(LineIndex::new(self.text).line(span.start))
    }
}

/// Each of the lines alone, then all of them.
fn one_or_all(lines: &[Change]) -> Tiers {
    let each = lines.iter().map(|line| vec![line.clone()]).collect();
    vec![each, [lines.to_vec()].into_iter().filter(|all| all.len() > 1).collect()]
}
