//! Launches: the parameters of the kernel, the words that it looks at, and what it has reported.

use super::driver::{self, Answer, CudaError, Function, Stream};
use super::memory::{Memory, Stamp, Word};
use crate::base::{HostId, Nanos, StmtId, StreamId};
use crate::trace::{Cut, Ticket, Use};
use std::ffi::c_void;
use std::ptr::from_mut;

/// The module that the kernel is in.
pub const MODULE: &str = include_str!("kernel.ptx");

/// The name of the kernel.
pub const KERNEL: &str = "millpond_kernel";

/// A launch looks at so many words at most.
pub const STAMPS_MAX: usize = 112;

/// As the kernel declares it.
#[repr(C)]
#[derive(Clone, Copy)]
struct RawStamp {
    address: u64,
    holds: u64,
    writes: u64,
    flags: u64,
}

const COMPARE_BEFORE: u64 = 1;
const WRITE: u64 = 2;
const COMPARE_AFTER: u64 = 4;

/// For so many launches there is room from the beginning.
const LAUNCHES_MAX: usize = 1_000_000;

/// Of reports so many fit into one piece of page-locked memory.
const REPORTS: usize = 2048;
const WORD: u64 = 8;
const REPORT: u64 = 4 * WORD;

/// A kernel has found something else in its memory than what was written there last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The launch that has found it.
    pub stmt: StmtId,
    /// The host thread that has made it.
    pub host: HostId,
    /// Who had written there last of those that are ordered before it.
    pub expected: StmtId,
    /// Who has written what was found, if a launch of the run has.
    pub found: Option<StmtId>,
    /// Whether that was at the end of the kernel, and not when it began.
    pub late: bool,
}

/// A launch whose report is not read yet.
#[derive(Debug)]
struct Launched {
    stmt: StmtId,
    host: HostId,
    at: Ticket,
    report: u64,
    /// For each word who had written there last, when it begins and when it ends.
    expected: Vec<(Option<StmtId>, Option<StmtId>)>,
}

/// The launches of a run.
#[derive(Debug, Default)]
pub(super) struct Launches {
    /// Of each the statement; the pattern that it writes has its place in it.
    all: Vec<StmtId>,
    pieces: Vec<u64>,
    launched: Vec<Launched>,
    vacant: Vec<u64>,
}

/// What makes a pattern one of a launch.
const PATTERN: u64 = 0x4D50_0000_0000_0000;

impl Launches {
    /// Room for the reports of so many launches, from the beginning, since to get some makes a driver wait.
    pub(super) fn new(launches: usize) -> Answer<Self> {
        let mut room = Self::default();
        while room.vacant.len() < launches.clamp(1, LAUNCHES_MAX) {
            room.grow()?;
        }
        Ok(room)
    }

    /// Launches the kernel once, in the legacy default stream of the current context, so that it is loaded.
    pub(super) fn warm_up(&mut self, function: Function) -> Answer<()> {
        let at = Ticket { stream: StreamId::from_raw(0), seq: 0 };
        let nobody = (HostId::from_raw(0), StmtId::from_raw(0));
        let (mut memory, nothing) = (Memory::default(), (at, &[][..], None));
        self.launch(&mut memory, nobody, (function, Stream::LEGACY), Nanos::ZERO, nothing)
    }

    fn grow(&mut self) -> Answer<()> {
        let piece = driver::malloc_host(REPORTS as u64 * REPORT)?;
        self.pieces.push(piece);
        self.vacant.extend((0..REPORTS as u64).rev().map(|nth| piece + nth * REPORT));
        Ok(())
    }

    /// Puts a kernel into a stream that runs so long and touches this.
    pub(super) fn launch(
        &mut self,
        memory: &mut Memory,
        (host, stmt): (HostId, StmtId),
        (function, stream): (Function, Stream),
        takes: Nanos,
        (at, uses, before): (Ticket, &[Use], Option<&Cut>),
    ) -> Answer<()> {
        if self.vacant.is_empty() {
            self.grow()?;
        }
        let report = self.vacant.pop().ok_or(CudaError(2))?;
        (0..4).for_each(|word| driver::write_word(report + word * WORD, 0));
        let pattern = PATTERN | self.all.len() as u64;
        let stamp = Stamp { pattern, by: stmt, at };
        let mut words: Vec<Word> = uses.iter().flat_map(|touched| memory.words(touched, before)).collect();
        // Under whatever names, a word is one.
        words.sort_by_key(|word| (word.origin, !word.writes));
        words.dedup_by_key(|word| word.origin);
        words.truncate(STAMPS_MAX);
        let mut stamps = [RawStamp { address: 0, holds: 0, writes: 0, flags: 0 }; STAMPS_MAX];
        for (raw, word) in stamps.iter_mut().zip(&words) {
            *raw = raw_stamp(word, pattern);
        }
        let (mut nanoseconds, mut into, mut count) = (takes.0, report, words.len() as u64);
        let mut parameters: [*mut c_void; 4] = [
            from_mut(&mut nanoseconds).cast(),
            from_mut(&mut into).cast(),
            from_mut(&mut count).cast(),
            from_mut(&mut stamps).cast(),
        ];
        if let Err(code) = driver::launch(function, stream, &mut parameters) {
            self.vacant.push(report);
            return Err(code);
        }
        let by = |word: &Word| word.holds.map(|stamp| stamp.by);
        let expected = words.iter().map(|word| (by(word), if word.writes { Some(stmt) } else { by(word) }));
        self.launched.push(Launched { stmt, host, at, report, expected: expected.collect() });
        self.all.push(stmt);
        words.iter().filter(|word| word.writes).for_each(|word| memory.stamp(word.origin, stamp, before));
        Ok(())
    }

    /// What these launches have reported is not told.
    pub(super) fn forget(&mut self, mut which: impl FnMut(Ticket) -> bool) {
        let forgotten = self.launched.extract_if(.., |launched| which(launched.at));
        self.vacant.extend(forgotten.map(|launched| launched.report));
    }

    /// What launches have reported, once all of them have completed.
    pub(super) fn overlaps(&mut self) -> Vec<Overlap> {
        let mut overlaps = Vec::new();
        for Launched { stmt, host, report, expected, .. } in self.launched.drain(..) {
            let [is_one, nth, found, late] = [0, 1, 2, 3].map(|word| driver::read_word(report + word * WORD));
            self.vacant.push(report);
            let Some((before, after)) = expected.get(nth as usize).filter(|_| is_one != 0) else { continue };
            let found = (found & !0xFFFF_FFFF_FFFF == PATTERN)
                .then(|| self.all.get((found & 0xFFFF_FFFF_FFFF) as usize).copied())
                .flatten();
            if let Some(expected) = if late != 0 { *after } else { *before } {
                overlaps.push(Overlap { stmt, host, expected, found, late: late != 0 });
            }
        }
        overlaps
    }

    /// Gives the memory of reports back.
    pub(super) fn end(&mut self) {
        self.vacant.clear();
        self.pieces.drain(..).for_each(|piece| {
            driver::free_host(piece).ok();
        });
    }
}

fn raw_stamp(word: &Word, pattern: u64) -> RawStamp {
    let known = if word.holds.is_some() { COMPARE_BEFORE } else { 0 };
    let after = if word.writes || word.holds.is_some() { COMPARE_AFTER } else { 0 };
    RawStamp {
        address: word.address,
        holds: word.holds.map_or(0, |stamp| stamp.pattern),
        writes: pattern,
        flags: known | after | if word.writes { WRITE } else { 0 },
    }
}
