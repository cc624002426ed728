//! Random programs, played by the published crate and by a model that must not be told apart from it.

use super::calls::{Answer, Call, Model};
use super::naive::{FAULTS, Naive};
use super::published::Published;
use crate::budget;
use millpond::base::Draws;
use millpond::model::stream_order::{
    CudaError, ModelAllocation, ModelLimits, StreamOrderId, StreamOrderModel,
};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Programs of the small budget: about 35,000 calls.
const PROGRAMS: u64 = 128;
/// Calls of most programs.
const SHORT: usize = 256;
/// Calls of a few, which have lists of hundreds of blocks.
const LONG: usize = 4_096;
const PHASES: usize = 4;

/// Names of streams, among them the default stream and the largest number.
const STREAMS: [u64; 6] = [0, 1, 2, 0x7f00_0000_0000, 1 << 63, u64::MAX];

/// How often the programs met what makes a test of them worth something.
#[derive(Debug, Default)]
struct Mix {
    calls: u64,
    reused_exactly: u64,
    reused_larger: u64,
    out_of_memory: u64,
    size_0: u64,
    freed: u64,
    freed_elsewhere: u64,
    /// Frees of an address by a name that was freed already: the address has a new owner, or it has none.
    stale_accepted: u64,
    stale_refused: u64,
    released: u64,
    trimmed: u64,
    address_saturated: u64,
    reserved_saturated: u64,
    pending_wrapped: u64,
    live: [u64; 2],
    ready_same: [u64; 2],
    ready_cross: [u64; 2],
    /// The longest list of free blocks.
    free_blocks: usize,
}

/// A program in the making.
struct Walk {
    draws: Draws,
    streams: usize,
    is_long: bool,
    /// One size in so many is near the largest numbers; 0: none is.
    huge: u64,
    /// Whether the pool keeps what it has: no trims, no release threshold.
    keeps: bool,
    /// How likely each kind of call is, until the next phase.
    weights: [u64; 10],
    /// Every allocation so far, and whether it was freed by its name.
    made: Vec<(ModelAllocation, bool)>,
    addresses: BTreeSet<u64>,
    /// Bytes of pending frees by stream.
    pending: Vec<(StreamOrderId, usize)>,
    events: Vec<u64>,
    reserved: usize,
    /// Which allocation of `made` is being freed, if it is meant by its name.
    named: Option<usize>,
    /// The threshold was just set, and acts at the next call.
    is_set: bool,
}

impl Walk {
    fn new(seed: u64, is_long: bool) -> (Self, ModelLimits) {
        let mut draws = Draws::new(seed, 0);
        let max_pool_size = [0, 0, 128 << 10, 1 << 20, usize::MAX][draws.below(5) as usize];
        let release_threshold = [0, 16 << 10, usize::MAX, usize::MAX][draws.below(4) as usize];
        let streams = draws.between(1, STREAMS.len() as u64) as usize;
        let huge = [0, 0, 0, 16, 64][draws.below(5) as usize];
        let keeps = is_long || draws.below(3) == 0;
        let max_pool_size = if is_long { 0 } else { max_pool_size };
        let release_threshold = if keeps { usize::MAX } else { release_threshold };
        let walk = Self {
            draws,
            is_long,
            keeps,
            streams,
            huge,
            weights: [0; 10],
            made: Vec::new(),
            addresses: BTreeSet::new(),
            pending: Vec::new(),
            events: vec![0],
            reserved: 0,
            named: None,
            is_set: false,
        };
        (walk, ModelLimits { max_pool_size, release_threshold })
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.draws.below(count) == 0
    }

    fn stream(&mut self) -> StreamOrderId {
        StreamOrderId(STREAMS[self.draws.below(self.streams as u64) as usize])
    }

    fn size(&mut self) -> usize {
        if self.huge > 0 && self.one_in(self.huge) {
            return match self.draws.below(4) {
                0 => usize::MAX - self.draws.below(2_000) as usize,
                1 => (1 << 63) + self.draws.below(2_000) as usize,
                2 => 1 << self.draws.between(40, 63),
                _ => self.draws.between(1, u64::MAX) as usize,
            };
        }
        let size = match self.draws.below(16) {
            0 => self.draws.below(3),
            1..4 => self.draws.between(1, 2_000),
            4..10 => self.draws.between(1, 16) * 512,
            10..14 => self.draws.below(20_000),
            _ => 512 << self.draws.below(10),
        };
        size as usize
    }

    /// A recent allocation, since the others are long ready, or a made-up one.
    fn alloc(&mut self) -> ModelAllocation {
        let back = self.draws.below(16) as usize;
        let recent = self.made.iter().rev().take(back + 1).next_back();
        let stream = StreamOrderId(STREAMS[0]);
        let made_up = ModelAllocation { ptr: 0, size: 1, capacity: 512, stream, ready_seq: 0 };
        recent.map_or(made_up, |(alloc, _)| *alloc)
    }

    /// What to free: mostly something live, sometimes something freed before, sometimes what never was.
    fn ptr(&mut self) -> u64 {
        let freed = self.one_in(8);
        let known: Vec<usize> = (0..self.made.len()).filter(|at| self.made[*at].1 == freed).collect();
        if known.is_empty() || self.one_in(32) {
            return self.draws.between(0, u64::MAX);
        }
        let at = known[self.draws.below(known.len() as u64) as usize];
        self.named = Some(at);
        self.made[at].0.ptr
    }

    fn bytes(&mut self) -> usize {
        let (some, many) = (self.draws.below(32 << 10) as usize, self.draws.below(256 << 10) as usize);
        [0, some, some, many, many, usize::MAX][self.draws.below(6) as usize]
    }

    /// Sometimes the pool fills, sometimes it empties, and sometimes nothing is synchronised. A long program begins with many
    /// live blocks, and then has many free ones.
    fn begin(&mut self, phase: usize) {
        let mut any = |of: [u64; 3]| of[self.draws.below(3) as usize];
        let drawn = [any([8, 32, 64]), any([8, 32, 64]), any([0, 8, 24])];
        let [alloc, free, synchronize] = match phase {
            0 if self.is_long => [64, 4, 0],
            1 if self.is_long => [4, 64, 16],
            _ => drawn,
        };
        let (trim, threshold) =
            if self.keeps { (0, 0) } else { (4, [0, 4, 8][self.draws.below(3) as usize]) };
        self.weights = [alloc, free, synchronize, 2, trim, threshold, 1, 2, 2, 4];
    }

    fn call(&mut self) -> Call {
        if std::mem::take(&mut self.is_set) && self.one_in(2) {
            let call = Call::Alloc(self.size(), self.stream());
            return if self.one_in(4) { Call::TrimTo(self.bytes()) } else { call };
        }
        let mut draw = self.draws.below(self.weights.iter().sum());
        let mut kind = 0;
        while draw >= self.weights[kind] {
            draw -= self.weights[kind];
            kind += 1;
        }
        let nothing_to_free = self.made.iter().all(|(_, freed)| *freed);
        match kind {
            1 if nothing_to_free && !self.one_in(8) => Call::Alloc(self.size(), self.stream()),
            0 => Call::Alloc(self.size(), self.stream()),
            1 => Call::Free(self.ptr(), self.stream()),
            2 => Call::Synchronize(self.stream()),
            3 => Call::RecordEvent(self.stream()),
            4 => Call::TrimTo(self.bytes()),
            5 if self.one_in(2) => Call::SetReleaseThreshold(usize::MAX),
            5 => Call::SetReleaseThreshold(self.bytes()),
            6 => Call::ResetPeaks,
            7 => Call::IsLive(self.alloc().ptr),
            8 => Call::IsReadySameStream(self.alloc()),
            _ => {
                let alloc = self.alloc();
                let seq = match self.draws.below(3) {
                    0 => (alloc.ready_seq + self.draws.below(3)).saturating_sub(1),
                    1 => self.events[self.draws.below(self.events.len() as u64) as usize],
                    _ => self.draws.below(100),
                };
                Call::IsReadyCrossStream(alloc, self.stream(), seq)
            }
        }
    }

    /// What the program goes on with, from the answer of the published crate.
    fn learn(&mut self, call: Call, answer: &Answer, figures: &[usize; 8], mix: &mut Mix) {
        mix.calls += 1;
        let before = std::mem::replace(&mut self.reserved, figures[0]);
        let fell = u64::from(figures[0] < before);
        match (call, answer) {
            (Call::Alloc(..), Answer::Alloc(Ok(alloc))) => {
                if alloc.ptr == u64::MAX {
                    mix.address_saturated += 1;
                } else if !self.addresses.insert(alloc.ptr) {
                    let exactly = alloc.capacity.saturating_sub(alloc.size) < 512;
                    *(if exactly { &mut mix.reused_exactly } else { &mut mix.reused_larger }) += 1;
                }
                self.made.push((*alloc, false));
            }
            (_, Answer::Alloc(Err(CudaError::OutOfMemory))) => mix.out_of_memory += 1,
            (_, Answer::Alloc(Err(_))) => mix.size_0 += 1,
            (Call::Free(ptr, stream), Answer::Free(answer)) => {
                self.learn_free(ptr, stream, answer.is_ok(), mix)
            }
            (Call::Synchronize(stream), _) => self.pending.retain(|(other, _)| *other != stream),
            (Call::RecordEvent(_), Answer::Seq(seq)) => self.events.push(*seq),
            (Call::SetReleaseThreshold(_), _) => self.is_set = true,
            (Call::TrimTo(_), _) => mix.trimmed += fell,
            (Call::IsLive(_), Answer::Is(yes)) => mix.live[usize::from(*yes)] += 1,
            (Call::IsReadySameStream(_), Answer::Is(yes)) => mix.ready_same[usize::from(*yes)] += 1,
            (Call::IsReadyCrossStream(..), Answer::Is(yes)) => mix.ready_cross[usize::from(*yes)] += 1,
            _ => {}
        }
        let pending = self.pending.iter().try_fold(0_usize, |sum, (_, bytes)| sum.checked_add(*bytes));
        mix.released += fell;
        mix.pending_wrapped += u64::from(pending.is_none());
        mix.reserved_saturated += u64::from(figures[0] == usize::MAX);
        mix.free_blocks = mix.free_blocks.max(figures[6]);
    }

    fn learn_free(&mut self, ptr: u64, stream: StreamOrderId, accepted: bool, mix: &mut Mix) {
        let named = self.named.take().map(|at| &mut self.made[at].1);
        let again = named.is_some_and(|freed| std::mem::replace(freed, true));
        match (accepted, again) {
            (true, false) => mix.freed += 1,
            (true, true) => mix.stale_accepted += 1,
            (false, _) => mix.stale_refused += 1,
        }
        // The newest allocation at an address owns it.
        let owner = self.made.iter().rev().find(|(alloc, _)| alloc.ptr == ptr);
        if let (true, Some((owner, _))) = (accepted, owner) {
            mix.freed_elsewhere += u64::from(owner.stream != stream);
            self.pending.push((stream, owner.capacity));
        }
    }
}

/// What was played, up to the call that told a model apart from the published crate, if one did.
pub(super) struct Program {
    pub(super) limits: ModelLimits,
    pub(super) calls: Vec<Call>,
}

/// The first call at which a model does not answer as the published crate, or is left with other figures.
fn first_difference<M: Model>(limits: ModelLimits, calls: &[Call], mut model: M) -> Option<usize> {
    let mut published = Published::new(limits);
    calls.iter().position(|call| call.ask(&mut published) != call.ask(&mut model))
}

/// Plays the program of a seed; an error is one that tells the model apart.
fn compare<M: Model>(seed: u64, make: impl Fn(ModelLimits) -> M, mix: &mut Mix) -> Result<Program, Program> {
    let is_long = seed % 32 == 31;
    let length = if is_long { LONG } else { SHORT };
    let (mut walk, limits) = Walk::new(seed, is_long);
    let (mut published, mut model) = (Published::new(limits), make(limits));
    let mut program = Program { limits, calls: Vec::with_capacity(length) };
    for nth in 0..length {
        if nth % (length / PHASES) == 0 {
            walk.begin(nth / (length / PHASES));
        }
        let call = walk.call();
        program.calls.push(call);
        let expected = call.ask(&mut published);
        if call.ask(&mut model) != expected {
            return Err(program);
        }
        walk.learn(call, &expected.0, &expected.1, mix);
    }
    Ok(program)
}

/// The program of a seed, which [`StreamOrderModel`] plays like the published crate.
pub(super) fn program(seed: u64) -> Program {
    compare(seed, StreamOrderModel::new, &mut Mix::default())
        .unwrap_or_else(|program| panic!("seed {seed}: {}", program.report(StreamOrderModel::new)))
}

impl Program {
    /// Leaves calls out as long as the models still differ, and says how.
    fn report<M: Model>(mut self, make: impl Fn(ModelLimits) -> M) -> String {
        let mut length = self.calls.len();
        while length > 0 {
            let mut at = 0;
            while at < self.calls.len() {
                let mut fewer = self.calls.clone();
                fewer.drain(at..self.calls.len().min(at + length));
                match first_difference(self.limits, &fewer, make(self.limits)) {
                    Some(last) => {
                        fewer.truncate(last + 1);
                        self.calls = fewer;
                    }
                    None => at += length,
                }
            }
            length /= 2;
        }
        let (mut published, mut model) = (Published::new(self.limits), make(self.limits));
        let mut text = format!("{:?}\n", self.limits);
        for call in self.calls {
            let (expected, got) = (call.ask(&mut published), call.ask(&mut model));
            let _ = writeln!(text, "{call:?}\n    {expected:?}");
            if got != expected {
                let _ = writeln!(text, "not {got:?}");
            }
        }
        text
    }
}

impl Mix {
    /// What was met, and how often it must be in the small budget.
    fn floors(&self) -> [(&'static str, u64, u64); 20] {
        [
            ("calls", self.calls, 40_000),
            ("reuse of a block that fits exactly", self.reused_exactly, 2_000),
            ("reuse of a larger block", self.reused_larger, 800),
            ("out of memory", self.out_of_memory, 1_000),
            ("size 0", self.size_0, 200),
            ("frees", self.freed, 6_000),
            ("frees in another stream", self.freed_elsewhere, 4_000),
            ("second frees that hit the next owner", self.stale_accepted, 100),
            ("frees of what is not live", self.stale_refused, 1_000),
            ("calls that release", self.released, 300),
            ("trims that release", self.trimmed, 70),
            ("largest addresses", self.address_saturated, 250),
            ("calls with the most reserved", self.reserved_saturated, 500),
            ("calls with more pending than can be counted", self.pending_wrapped, 200),
            ("addresses that are not live", self.live[0], 200),
            ("live addresses", self.live[1], 300),
            ("not ready in the same stream", self.ready_same[0], 300),
            ("ready in the same stream", self.ready_same[1], 200),
            ("not ready in another stream", self.ready_cross[0], 600),
            ("ready in another stream", self.ready_cross[1], 400),
        ]
    }
}

#[test]
fn no_program_tells_the_model_from_the_published_crate() {
    let mut mix = Mix::default();
    let programs = budget(PROGRAMS);
    for seed in 0..programs {
        if let Err(program) = compare(seed, StreamOrderModel::new, &mut mix) {
            panic!("seed {seed}: {}", program.report(StreamOrderModel::new));
        }
    }
    println!("{} calls in {programs} programs", mix.calls);
    for (what, count, floor) in mix.floors() {
        assert!(count >= floor * (programs / PROGRAMS), "{what}: {count} times, which tests too little");
    }
    // The maxima above the list have four levels from here on.
    assert!(mix.free_blocks > 512, "the longest list: {}", mix.free_blocks);
}

#[test]
fn the_rules_as_written_down_are_those_of_the_published_crate() {
    for seed in 0..PROGRAMS {
        let make = |limits| Naive::new(limits, 0);
        if let Err(program) = compare(seed, make, &mut Mix::default()) {
            panic!("seed {seed}: {}", program.report(make));
        }
    }
}

/// If a fault in a rule went unnoticed here, so could one in the model. What is said of it is short enough to be read.
#[test]
fn a_fault_in_any_rule_is_noticed() {
    for (rule, fault) in FAULTS {
        let make = |limits| Naive::new(limits, rule);
        let program = (0..PROGRAMS).find_map(|seed| compare(seed, make, &mut Mix::default()).err());
        let report = program.unwrap_or_else(|| panic!("unnoticed in rule {rule}: {fault}")).report(make);
        assert!(report.contains("\nnot "), "{rule} {fault}\n{report}");
    }
}
