//! Courses: runs that differ in nothing but their times.
//!
//! How long things take matters to a run only where a call is answered by it: an allocation asks which of the frees are complete
//! that could serve it. Runs in which each of these questions has the same answer make the same calls, are given the same memory
//! and wait for the same operations. So a course that was run once is followed from then on by its times alone: an operation
//! starts once its call was made, and what it comes after has ended. The courses of a program are a tree that branches at the
//! questions; a run that leaves it is made by the machine, and adds its course.
//!
//! It must not know what a run is judged by, nor what is kept of a course.

mod fit;
mod notes;

use super::run::Ending;
use super::runner::Stage;
use super::{Chooser, Seeded};
use crate::base::{Nanos, StmtId, StreamId};
use crate::model::cuda::Cuda;
use crate::scenario::Program;
use crate::trace::{Law, Sink};
use notes::{Notes, Noting};
use std::ops::Range;

/// No more beats than this are kept of a program: some 16 MiB.
const BEATS_MAX: usize = 1 << 18;

/// So many runs are made before it is asked whether courses are of use.
const TRIAL: u64 = 512;

/// One thing in a run that takes time, or hangs on it.
#[derive(Debug)]
enum Beat {
    /// A call of this statement holds up the host for so long as stated.
    Pays(StmtId, Nanos),
    /// The next operation waits for these.
    Waits(Links),
    /// An operation enters a stream that takes no time.
    Marks(StreamId),
    /// An operation of this statement enters a stream.
    Submits(StreamId, StmtId, Law),
    /// The host waits for these.
    Awaits(Links),
    /// The next call hangs on which of these have ended before it; where one of `alone` has, not on those of `together`. The
    /// fork is numbered in the tree.
    Asks { alone: Links, together: Links, fork: usize },
    /// The run is over; so was the course with this number in the tree.
    Over(usize),
}

/// Operations of a run, by their numbers in the order of submission: a range of the list of a sheet.
type Links = Range<u32>;

/// Beats, and the operations that they name.
#[derive(Debug, Default)]
struct Sheet {
    beats: Vec<Beat>,
    links: Vec<u32>,
}

impl Sheet {
    fn of(&self, links: &Links) -> &[u32] {
        &self.links[links.start as usize..links.end as usize]
    }

    /// Adds operations.
    fn link(&mut self, operations: impl IntoIterator<Item = u32>) -> Links {
        let from = self.links.len() as u32;
        self.links.extend(operations);
        from..self.links.len() as u32
    }

    fn clear(&mut self) {
        self.beats.clear();
        self.links.clear();
    }
}

/// Where it goes on after a question, by its answer, in the order of the answers.
type Ways = Vec<(u64, usize)>;

/// The courses of a program that are known so far.
#[derive(Debug)]
pub struct Courses<'p> {
    program: &'p Program,
    tree: Sheet,
    forks: Vec<Ways>,
    count: usize,
    times: Times,
    followed: u64,
    stage: Box<Stage<Cuda, Noting>>,
    notes: Notes,
}

impl<'p> Courses<'p> {
    /// Before the first run. `None`: of this program, runs are not known to differ in their times alone; it has several host
    /// threads, asks for times or uses what waits otherwise than streams do.
    pub fn of(program: &'p Program) -> Option<Self> {
        if !fit::is_fit(program) {
            return None;
        }
        let seeded = Seeded::new(program, 0);
        let times = Times::new(&seeded, program.setup.streams.len());
        let stage = Stage::new(program, Cuda::new(&program.setup), Noting::new(seeded));
        Some(Self {
            program,
            tree: Sheet::default(),
            forks: Vec::new(),
            count: 0,
            times,
            followed: 0,
            stage,
            notes: Notes::new(program),
        })
    }

    /// Whether enough runs take courses that are known for it to be worth while.
    pub fn are_of_use(&self) -> bool {
        (self.count as u64) < TRIAL.max(self.followed)
    }

    /// The course that the run with this seed takes, if it is known, and when the run ends.
    pub fn follow(&mut self, seed: u64) -> Option<(usize, Nanos)> {
        let Self { tree, forks, times, followed, .. } = self;
        times.begin(seed);
        let mut rest = tree.beats.iter();
        loop {
            match rest.next()? {
                Beat::Asks { alone, together, fork } => {
                    let answer = times.answer(tree.of(alone), tree.of(together));
                    let ways = &forks[*fork];
                    let way = ways.binary_search_by_key(&answer, |(known, _)| *known).ok()?;
                    rest = tree.beats[ways[way].1..].iter();
                }
                Beat::Over(course) => {
                    *followed += 1;
                    return Some((*course, times.end()));
                }
                beat => times.pass(beat, tree),
            }
        }
    }

    /// Makes the run with this seed, and tells the sink what [`super::run`] would tell it. Its course is known from then on; its
    /// number is one more than that of the course before it. `None`: no more courses are kept, or this one is too long.
    ///
    /// # Panics
    /// Where the run has another end than its course, which is a bug of Millpond.
    pub fn run<S: Sink>(&mut self, seed: u64, sink: S) -> (Ending, Option<usize>) {
        let Self { program, stage, notes, .. } = self;
        let ending = stage.play(notes.hear(sink), |machine, places| {
            machine.chooser.reseed(seed);
            notes.take(program, machine, places)
        });
        if !self.notes.are_whole() || self.tree.beats.len() + self.notes.sheet.beats.len() > BEATS_MAX {
            return (ending, None);
        }
        let (course, end) = self.learn(seed);
        assert_eq!(end, ending.at, "a run and its course have the same end, else it is a bug of millpond");
        (ending, Some(course))
    }

    /// Adds the course that was noted, of the run with this seed, from where it leaves the tree.
    fn learn(&mut self, seed: u64) -> (usize, Nanos) {
        self.times.begin(seed);
        let mut at = 0;
        for nth in 0.. {
            if at == self.tree.beats.len() {
                self.graft(nth);
            }
            let next = self.tree.beats.len();
            let Self { tree, forks, times, .. } = self;
            match &tree.beats[at] {
                Beat::Asks { alone, together, fork } => {
                    let answer = times.answer(tree.of(alone), tree.of(together));
                    let ways = &mut forks[*fork];
                    at = match ways.binary_search_by_key(&answer, |(known, _)| *known) {
                        Ok(way) => ways[way].1,
                        Err(way) => {
                            ways.insert(way, (answer, next));
                            next
                        }
                    };
                }
                Beat::Over(course) => return (*course, times.end()),
                beat => {
                    times.pass(beat, tree);
                    at += 1;
                }
            }
        }
        unreachable!("a course has an end")
    }

    /// Adds to the tree what was noted from this beat on, up to the next question or the end.
    fn graft(&mut self, from: usize) {
        let Self { tree, forks, count, notes, .. } = self;
        for beat in &notes.sheet.beats[from..] {
            let mut taken = |links: &Links| tree.link(notes.sheet.of(links).iter().copied());
            let beat = match beat {
                Beat::Pays(stmt, stated) => Beat::Pays(*stmt, *stated),
                Beat::Waits(links) => Beat::Waits(taken(links)),
                Beat::Marks(stream) => Beat::Marks(*stream),
                Beat::Submits(stream, stmt, law) => Beat::Submits(*stream, *stmt, *law),
                Beat::Awaits(links) => Beat::Awaits(taken(links)),
                Beat::Asks { alone, together, .. } => {
                    let (alone, together) = (taken(alone), taken(together));
                    forks.push(Ways::new());
                    Beat::Asks { alone, together, fork: forks.len() - 1 }
                }
                Beat::Over(_) => {
                    *count += 1;
                    Beat::Over(*count - 1)
                }
            };
            let is_last = matches!(beat, Beat::Asks { .. } | Beat::Over(_));
            tree.beats.push(beat);
            if is_last {
                break;
            }
        }
    }
}

/// The times of a run that is followed.
#[derive(Debug)]
struct Times {
    start: Seeded,
    chooser: Seeded,
    /// What the host has come to.
    now: Nanos,
    /// When what the next operation waits for has ended.
    held: Nanos,
    /// When each operation ends.
    ends: Vec<Nanos>,
    /// When the last operation of each stream does.
    streams: Vec<Nanos>,
}

impl Times {
    fn new(start: &Seeded, streams: usize) -> Self {
        let (start, chooser, streams) = (start.clone(), start.clone(), vec![Nanos::ZERO; streams]);
        Self { start, chooser, now: Nanos::ZERO, held: Nanos::ZERO, ends: Vec::new(), streams }
    }

    fn begin(&mut self, seed: u64) {
        self.chooser.clone_from(&self.start);
        self.chooser.reseed(seed);
        self.now = Nanos::ZERO;
        self.ends.clear();
        self.streams.fill(Nanos::ZERO);
    }

    /// When the last of these has ended, if that is later.
    fn after(&self, operations: &[u32], time: Nanos) -> Nanos {
        operations.iter().fold(time, |latest, one| latest.max(self.ends[*one as usize]))
    }

    /// An operation starts once its call was made, and what it comes after has ended.
    #[inline(always)]
    fn submits(&mut self, stream: StreamId, takes: Nanos) {
        let before = &mut self.streams[stream.index()];
        let starts = self.now.max(*before).max(std::mem::take(&mut self.held));
        *before = starts.after(takes);
        self.ends.push(*before);
    }

    #[inline(always)]
    fn pass(&mut self, beat: &Beat, sheet: &Sheet) {
        match beat {
            Beat::Pays(stmt, stated) => self.now = self.now.after(self.chooser.delay(*stmt, *stated)),
            Beat::Waits(links) => self.held = self.after(sheet.of(links), Nanos::ZERO),
            Beat::Marks(stream) => self.submits(*stream, Nanos::ZERO),
            Beat::Submits(stream, stmt, law) => {
                let takes = self.chooser.duration(*stmt, law);
                self.submits(*stream, takes);
            }
            Beat::Awaits(links) => self.now = self.after(sheet.of(links), self.now),
            Beat::Asks { .. } | Beat::Over(_) => {}
        }
    }

    /// Which of these have ended before now, as one number.
    fn answer(&self, alone: &[u32], together: &[u32]) -> u64 {
        let ended = |operations: &[u32]| {
            let ended = operations.iter().map(|one| u64::from(self.ends[*one as usize] < self.now));
            ended.fold(0, |bits, ended| bits << 1 | ended)
        };
        match ended(alone) {
            0 => ended(together),
            alone => alone << together.len(),
        }
    }

    fn end(&self) -> Nanos {
        self.streams.iter().fold(self.now, |latest, end| latest.max(*end))
    }
}
