//! The `oxicuda` model: programs get from it what pools of the published crate, called by hand, answer; and its table of departures from
//! CUDA says what the scenarios say.

use crate::budget;
use millpond::base::{Bytes, DeviceId, Draws, EventId, PoolId, StreamId, index_vec};
use millpond::model::oxicuda::Oxicuda;
use millpond::model::{Allocator, Freed, Known, Request};
use millpond::trace::{
    AllocId, Attribute, Attributes, BlockState, Call, DeviceSetup, EventSetup, Failure, Model, Policy,
    PoolSetup, Setup, StreamKind, StreamSetup, Target, Ticket,
};
use oxicuda_driver::CudaError;
use oxicuda_driver::stream_ordered_model as seed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const POOLS: usize = 2;
const EVENTS: usize = 3;

/// Calls to the allocator of programs, and the same calls by hand to a model for each pool.
struct Walk {
    draws: Draws,
    oxicuda: Oxicuda,
    pools: Vec<seed::StreamOrderModel>,
    /// The maximum size of each; `None`: none.
    most: Vec<Option<Bytes>>,
    /// The device of each stream; the first one is a legacy default stream.
    streams: Vec<usize>,
    submitted: Vec<u32>,
    /// Every allocation so far, with its pool.
    handles: Vec<(AllocId, usize, seed::ModelAllocation)>,
    /// What each event has captured, in each pool, and what each stream has waited for.
    recorded: BTreeMap<(usize, usize), u64>,
    waited: BTreeMap<(usize, usize), u64>,
    /// Whether sums have stopped at the largest number.
    is_wide: bool,
    seen: BTreeMap<&'static str, u64>,
}

impl Walk {
    fn new(number: u64) -> Self {
        let mut draws = Draws::new(number, 3);
        let streams: Vec<usize> = (0..draws.between(1, 5)).map(|_| draws.below(2) as usize).collect();
        let limits = [(); POOLS].map(|()| {
            let max = [None, Some(Bytes(40_000)), Some(Bytes::MAX)][draws.below(3) as usize];
            let release_threshold = [Bytes(0), Bytes(10_000), Bytes::MAX][draws.below(3) as usize];
            (max, release_threshold)
        });
        let pool = |(max_size, release_threshold)| PoolSetup {
            attributes: Attributes { release_threshold, ..Attributes::default() },
            max_size,
            ..PoolSetup::on(DeviceId::new(0))
        };
        let kind = |stream| if stream == 0 { StreamKind::Legacy } else { StreamKind::Blocking };
        let setup = Setup {
            model: Model::Oxicuda,
            devices: index_vec![DeviceSetup::new(Bytes::gib(1)); 2],
            pools: limits.into_iter().map(pool).collect(),
            streams: streams
                .iter()
                .enumerate()
                .map(|(stream, device)| StreamSetup::new(DeviceId::new(*device), kind(stream)))
                .collect(),
            events: index_vec![EventSetup::default(); EVENTS],
            ..Setup::default()
        };
        let by_hand = limits.iter().map(|(max, threshold)| {
            seed::StreamOrderModel::new(seed::ModelLimits {
                max_pool_size: max.map_or(0, |max| max.0 as usize),
                release_threshold: threshold.0 as usize,
            })
        });
        Self {
            oxicuda: Oxicuda::new(&setup),
            pools: by_hand.collect(),
            most: limits.iter().map(|(max, _)| *max).collect(),
            submitted: vec![0; streams.len()],
            streams,
            handles: Vec::new(),
            recorded: BTreeMap::new(),
            waited: BTreeMap::new(),
            is_wide: false,
            seen: BTreeMap::new(),
            draws,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        self.draws.below(bound as u64) as usize
    }

    fn count(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn ticket(&mut self, stream: usize) -> Ticket {
        Ticket { stream: StreamId::new(stream), seq: self.submitted[stream] + 1 }
    }

    fn step(&mut self) {
        let (stream, pool) = (self.below(self.streams.len()), self.below(POOLS));
        match self.below(24) {
            0..10 => self.alloc(pool, stream),
            10..16 => self.free(stream),
            16..19 => self.synchronise(stream),
            19 => {
                let keep = [0, 3_000, 20_000][self.below(3)];
                let before = self.pools[pool].reserved();
                self.pools[pool].trim_to(keep);
                let released = self.oxicuda.trim(PoolId::new(pool), Bytes(keep as u64));
                assert_eq!(released.0 as usize, before - self.pools[pool].reserved());
            }
            20 => self.set(pool),
            21 => self.pass_events(stream),
            22 => self.outside(),
            _ => self.is_ready(),
        }
        self.compare();
    }

    fn alloc(&mut self, pool: usize, stream: usize) {
        let size = match self.below(40) {
            0 => 0,
            1 if self.is_wide => usize::MAX - self.below(2_000),
            2..8 => 512 * (1 + self.below(8)),
            _ => 1 + self.below(9_000),
        };
        let at = self.ticket(stream);
        let request = Request { pool: PoolId::new(pool), size: Bytes(size as u64), at };
        let cut = vec![0; self.streams.len()];
        let known = Known { ordered: &cut, done: &cut, seen: &cut, observed: &cut };
        let refusals = self.oxicuda.refused(request, known);
        let before = self.pools[pool].reserved();
        let by_hand = self.pools[pool].alloc(size, name(stream));
        match (self.oxicuda.alloc(request, known), by_hand) {
            (Ok(decision), Ok(alloc)) => {
                self.submitted[stream] += 1;
                assert_eq!(decision.range.start, alloc.ptr);
                assert_eq!(decision.range.size.0 as usize, alloc.capacity);
                assert_eq!(decision.requested.0 as usize, size);
                let before = before.saturating_add(decision.mapped.0 as usize);
                if !self.is_wide {
                    assert_eq!(before - decision.unmapped.0 as usize, self.pools[pool].reserved());
                    let had = |(_, of, old): &&(_, usize, seed::ModelAllocation)| {
                        *of == pool && old.ptr == alloc.ptr
                    };
                    let old = self.handles.iter().rev().find(had).map(|(id, ..)| *id);
                    assert_eq!(decision.reuses, old, "who had the block before");
                }
                let served = decision.policy.expect("the model says what served");
                let class = Policy::ALL.iter().position(|class| *class == served).unwrap_or(0);
                // Beyond the largest number it is not known which of two blocks at an address it was.
                if !self.is_wide {
                    assert!(refusals.reasons[..class].iter().all(Option::is_some), "{refusals:?}");
                    assert_eq!(refusals.reasons[class], None, "the class that serves refuses nothing");
                }
                self.count(if served == Policy::Growth { "new" } else { "reused" });
                self.handles.push((decision.alloc, pool, alloc));
            }
            (Err(denied), Err(error)) => {
                let expected = match error {
                    CudaError::InvalidValue => Failure::InvalidValue,
                    _ => Failure::OutOfMemory,
                };
                assert_eq!(denied.failure, expected);
                assert_eq!(denied.unmapped.0 as usize, before - self.pools[pool].reserved());
                self.count(if denied.unmapped > Bytes::ZERO { "failed and released" } else { "failed" });
            }
            (ours, by_hand) => panic!("{ours:?}, by hand {by_hand:?}"),
        }
    }

    /// Of any allocation so far, live or not.
    fn free(&mut self, stream: usize) {
        if self.handles.is_empty() {
            return;
        }
        let recent = self.handles.len().min(40);
        let chosen = self.handles.len() - 1 - self.below(recent);
        let (id, pool, alloc) = self.handles[chosen];
        let latest = self.handles.iter().rev().find(|(_, of, other)| *of == pool && other.ptr == alloc.ptr);
        let is_stale = latest.is_some_and(|(latest, ..)| *latest != id);
        let at = self.ticket(stream);
        let before = self.pools[pool].reserved();
        let by_hand = self.pools[pool].free(alloc.ptr, name(stream));
        let freed = self.oxicuda.free(id, at);
        match by_hand {
            Ok(()) => {
                self.submitted[stream] += 1;
                let unmapped = Bytes((before - self.pools[pool].reserved()) as u64);
                assert_eq!(freed, Ok(Freed::Pool { pool: PoolId::new(pool), unmapped }));
                self.count(if is_stale { "freed another's" } else { "freed" });
            }
            Err(_) => {
                assert_eq!(freed, Err(Failure::InvalidValue));
                self.count("freed nothing");
            }
        }
    }

    fn synchronise(&mut self, stream: usize) {
        let target = match self.below(6) {
            0 => Target::Event(EventId::new(0)),
            1 => Target::Device(DeviceId::new(self.streams[stream])),
            _ => Target::Stream(StreamId::new(stream)),
        };
        let before: Vec<usize> = self.pools.iter().map(seed::StreamOrderModel::reserved).collect();
        for other in 0..self.streams.len() {
            let is_meant = match target {
                Target::Event(_) => false,
                Target::Device(device) => device.index() == self.streams[other],
                Target::Stream(_) => other == stream,
            };
            let name = name(other);
            if is_meant {
                self.pools.iter_mut().for_each(|pool| pool.synchronize(name));
            }
        }
        let mut released = Vec::new();
        let cut = vec![0; self.streams.len()];
        self.oxicuda.synchronised(target, None, &cut, &mut released);
        let less = self.pools.iter().zip(before).map(|(pool, before)| before - pool.reserved());
        let expected = less.enumerate().filter(|(_, less)| *less > 0);
        let expected: Vec<_> = expected.map(|(pool, less)| (PoolId::new(pool), Bytes(less as u64))).collect();
        assert_eq!(released, expected);
        self.count(if released.is_empty() { "synchronised" } else { "synchronised and released" });
    }

    fn set(&mut self, pool: usize) {
        let id = PoolId::new(pool);
        let threshold = [0, 5_000, u64::MAX][self.below(3)];
        self.pools[pool].set_release_threshold(threshold as usize);
        assert_eq!(self.oxicuda.set(id, Attribute::ReleaseThreshold, threshold), Ok(()));
        for (attribute, value) in [
            (Attribute::FollowEvent, 0),
            (Attribute::Internal, 0),
            (Attribute::Opportunistic, 0),
            (Attribute::UsedHigh, 0),
            (Attribute::ReservedHigh, 0),
        ] {
            assert_eq!(self.oxicuda.set(id, attribute, value), Err(Failure::InvalidValue));
        }
        assert_eq!(self.oxicuda.set(id, Attribute::FollowEvent, 1), Ok(()));
    }

    fn pass_events(&mut self, on: usize) {
        let event = self.below(EVENTS);
        let (stream, id) = (StreamId::new(on), EventId::new(event));
        if self.below(2) == 0 {
            self.oxicuda.heard(&Call::Record { stream, event: id });
            for pool in 0..POOLS {
                let name = name(on);
                self.recorded.insert((pool, event), self.pools[pool].record_event(name));
            }
        } else {
            self.oxicuda.heard(&Call::Wait { stream, event: id });
            for pool in 0..POOLS {
                if let Some(number) = self.recorded.get(&(pool, event)) {
                    self.waited.insert((pool, on), *number);
                }
            }
        }
    }

    /// Memory outside of pools, which the model does not know.
    fn outside(&mut self) {
        let plain = self.oxicuda.malloc(DeviceId::new(0), Bytes(700), false).expect("there is room");
        assert!(self.handles.iter().all(|(id, ..)| id.serial != plain.alloc.serial), "numbers differ");
        let at = self.ticket(0);
        assert_eq!(self.oxicuda.free(plain.alloc, at), Err(Failure::InvalidValue));
        if let Some((id, ..)) = self.handles.last() {
            assert_eq!(self.oxicuda.plain_free(*id), Err(Failure::InvalidValue));
        }
        assert_eq!(self.oxicuda.plain_free(plain.alloc), Ok(Freed::Outside(DeviceId::new(0))));
        assert_eq!(self.oxicuda.plain_free(plain.alloc), Err(Failure::InvalidValue));
    }

    /// Of an allocation that has its block, or had it before the one that has it.
    fn is_ready(&mut self) {
        let on = self.below(self.streams.len());
        if self.handles.is_empty() || self.is_wide {
            return;
        }
        let chosen = self.below(self.handles.len());
        let (id, pool, alloc) = self.handles[chosen];
        let later = self.handles[chosen + 1..].iter();
        let later = later.filter(|(_, of, other)| *of == pool && other.ptr == alloc.ptr).count();
        let is_gone =
            !self.oxicuda.picture(PoolId::new(pool)).blocks.iter().any(|block| block.start == alloc.ptr);
        if later > 1 || is_gone {
            return;
        }
        let waited = self.waited.get(&(pool, on)).copied().unwrap_or(0);
        let expected = self.pools[pool].is_ready_cross_stream(&alloc, name(on), waited);
        assert_eq!(self.oxicuda.is_ready(id, StreamId::new(on)), expected);
        self.count(match (expected, later) {
            (true, 0) => "ready",
            (false, 0) => "not ready",
            _ => "asked of the one before",
        });
    }

    fn compare(&self) {
        for (index, pool) in self.pools.iter().enumerate() {
            let state = self.oxicuda.state(PoolId::new(index));
            let told = [state.reserved, state.reserved_high, state.used, state.used_high];
            let figures = [pool.reserved(), pool.reserved_high(), pool.used(), pool.used_high()];
            assert_eq!(told.map(|bytes| bytes.0 as usize), figures);
            assert_eq!(state.ledger.total(), pool.reserved() as u64);
            let room = self.most[index].map_or(u64::MAX, |max| max.0.saturating_sub(pool.reserved() as u64));
            assert_eq!(self.oxicuda.account(PoolId::new(index)).room, Bytes(room));
            if self.is_wide {
                continue;
            }
            let picture = self.oxicuda.picture(PoolId::new(index));
            let (mut counts, mut bytes) = ([0; 3], [0; 3]);
            for block in &picture.blocks {
                let kind = match block.state {
                    BlockState::Live { .. } => 0,
                    BlockState::Freed { observed: false, .. } => 1,
                    BlockState::Freed { observed: true, .. } => 2,
                    BlockState::Unused => panic!("a block that nobody ever had: {block:?}"),
                };
                counts[kind] += 1;
                bytes[kind] += block.size.0;
            }
            assert_eq!(counts, [pool.active(), pool.pending_free_count(), pool.free_block_count()]);
            let ledger = state.ledger;
            assert_eq!(bytes, [ledger.live.0 + ledger.padding.0, ledger.pending.0, ledger.cached.0]);
        }
    }
}

/// How the model knows a stream; the first one is the legacy default stream.
fn name(stream: usize) -> seed::StreamOrderId {
    seed::StreamOrderId(if stream == 0 { 0 } else { stream as u64 + 1 })
}

#[test]
fn programs_get_what_the_model_answers() {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for number in 0..budget(60) {
        let mut walk = Walk::new(number);
        walk.is_wide = number % 8 == 7;
        let mut digests = BTreeMap::new();
        for _ in 0..600 {
            walk.step();
            let pools = (0..walk.pools.len()).map(PoolId::new);
            let told = pools.map(|pool| {
                let mut picture = walk.oxicuda.picture(pool);
                (picture.state.maps, picture.state.unmaps) = (0, 0);
                picture
            });
            let told: Vec<_> = told.collect();
            let first = digests.entry(walk.oxicuda.digest()).or_insert_with(|| told.clone());
            assert_eq!(*first, told);
        }
        let digest = walk.oxicuda.digest();
        assert_eq!(walk.oxicuda.clone().digest(), digest);
        for (what, count) in walk.seen {
            *seen.entry(what).or_default() += count;
        }
    }
    for what in [
        "new",
        "reused",
        "failed",
        "failed and released",
        "freed",
        "freed another's",
        "freed nothing",
        "synchronised",
        "synchronised and released",
        "ready",
        "not ready",
        "asked of the one before",
    ] {
        assert!(seen.get(what).is_some_and(|count| *count >= 5), "{what}: {seen:?}");
    }
}

/// What was given back long ago is forgotten.
#[test]
fn what_is_gone_takes_no_room() {
    let mut walk = Walk::new(0);
    let (pool, cut) = (PoolId::new(0), vec![0; walk.streams.len()]);
    walk.oxicuda.set(pool, Attribute::ReleaseThreshold, 0).expect("it can be set");
    let known = Known { ordered: &cut, done: &cut, seen: &cut, observed: &cut };
    let mut places = BTreeSet::new();
    for turn in 0..10_000 {
        let at = walk.ticket(0);
        let request = Request { pool, size: Bytes(1 + turn), at };
        let decision = walk.oxicuda.alloc(request, known).expect("there is room");
        assert_eq!(decision.policy, Some(Policy::Growth), "a new block each time");
        places.insert(decision.alloc.slot);
        walk.oxicuda.free(decision.alloc, at).expect("it is live");
        walk.oxicuda.synchronised(Target::Stream(at.stream), None, &cut, &mut Vec::new());
        assert_eq!(walk.oxicuda.state(pool).reserved, Bytes::ZERO);
    }
    assert!(places.len() < 100, "{} places", places.len());
}

/// What scenarios expect of the `cuda` model may fail, and nothing else: a debug build keeps the books of each run.
#[test]
fn every_scenario_runs_on_the_model() {
    let (mut folders, mut runs) = (vec![PathBuf::from(ROOT).join("scenarios")], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.extend(Some(path).filter(|path| !path.ends_with("invalid")));
            } else if path.extension().is_some_and(|extension| extension == "scn") {
                let mut command = Command::new(env!("CARGO_BIN_EXE_millpond"));
                let output = command.arg("run").arg(&path).args(["--model", "oxicuda"]).output();
                let output = output.expect("millpond starts");
                let errors = String::from_utf8_lossy(&output.stderr);
                assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {errors}", path.display());
                runs += 1;
            }
        }
    }
    assert!(runs > 200, "{runs} scenarios");
}

/// A row of the table of departures: what a scenario shows, and what both models make of it.
fn row(name: &str, text: &str) -> String {
    let what = text.lines().next().and_then(|line| line.strip_prefix("# ")).expect("what it shows");
    let title = text.lines().find_map(|line| line.strip_prefix("scenario \"")).expect("a title");
    let id = title.split(':').next().unwrap_or_default();
    let (base, variant) = text.split_once("variant oxicuda {").expect("both models");
    let expects = |part: &str| {
        let lines = part.lines().filter_map(|line| line.trim().strip_prefix("expect "));
        lines.map(|line| format!("`{line}`")).collect::<Vec<_>>().join("<br>")
    };
    format!("| {id} | `{name}` | {what} | {} | {} |\n", expects(base), expects(variant))
}

#[test]
fn the_table_of_departures_says_what_the_scenarios_say() {
    let mut rows = Vec::new();
    for entry in fs::read_dir(format!("{ROOT}/scenarios/oxicuda")).expect("there are scenarios") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        rows.push(row(&name, &fs::read_to_string(&path).expect("it can be read")));
    }
    // By the number of the departure, then as text.
    let number = |row: &String| row.chars().skip(3).take_while(char::is_ascii_digit).collect::<String>();
    rows.sort_by_key(|row| (number(row).parse::<u32>().unwrap_or(u32::MAX), row.clone()));
    let mut table =
        String::from("| | Scenario | What it shows | `cuda` | `oxicuda` |\n|---|---|---|---|---|\n");
    rows.iter().for_each(|row| table.write_str(row).expect("text"));
    let path = format!("{ROOT}/docs/oxicuda.md");
    let old = fs::read_to_string(&path).expect("docs/oxicuda.md is there");
    let (before, rest) = old.split_once("<!-- departures -->\n").expect("where the table begins");
    let (_, after) = rest.split_once("<!-- end -->\n").expect("where it ends");
    let new = format!("{before}<!-- departures -->\n{table}<!-- end -->\n{after}");
    if std::env::var_os("MILLPOND_BLESS").is_some() {
        fs::write(&path, &new).expect("docs/oxicuda.md can be written");
        return;
    }
    assert!(
        old == new,
        "docs/oxicuda.md is behind; MILLPOND_BLESS=1 cargo test departures rewrites its table"
    );
}
