//! Plants mistakes in a made-up scenario: each is tried by playing on without the call, or with one more, to what is wrong then and
//! was not before.
//!
//! It is planted only where the finding shows in every run: while the first host thread is the only one, and where no query,
//! no reuse of memory and no wait of the allocator may make up for what is missing.

use super::judge::{Judge, Wrong};
use super::mistakes::Mistake;
use super::program::{Call, Home, MAIN, Program, Step, Use};
use super::room;
use crate::base::Draws;
use crate::trace::{Access, FindingKind};
use std::collections::BTreeSet;

/// So many calls after a mistake something has to be wrong.
const HORIZON: usize = 100;
/// After so many calls without a place for a mistake another one is tried.
const PATIENCE: usize = 10;
/// So often places are drawn for a few mistakes, as long as not all of them find one.
const TRIES: usize = 4;
/// So many are a few.
const FEW: usize = 100;

/// A mistake, and what shows it.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) mistake: Mistake,
    /// The statement that is missing, or before which the added one stands.
    pub(super) statement: usize,
    pub(super) added: Option<Call>,
    pub(super) finding: FindingKind,
    /// The statement where it shows; `None`: the added one.
    pub(super) found_at: Option<usize>,
}

/// Plants one mistake of a kind, at the first place for it behind a drawn one.
pub(super) fn one(program: &Program, mistake: Mistake, draws: &mut Draws) -> Option<Edit> {
    let steps = program.steps();
    let start = draws.below(steps.len() as u64) as usize;
    let mut search = |from| {
        let planter = Planter::new(program, &steps, &mut *draws);
        planter.plant(&[from], Some(mistake)).pop()
    };
    search(start).or_else(|| search(0))
}

/// Plants so many mistakes of all kinds, or as many as find a place in the best of a few tries.
pub(super) fn several(program: &Program, count: usize, draws: &mut Draws) -> Vec<Edit> {
    let steps = program.steps();
    let mut best = Vec::new();
    for _ in 0..if count <= FEW { TRIES } else { 1 } {
        let mut places: Vec<usize> = (0..count).map(|_| draws.below(steps.len() as u64) as usize).collect();
        places.sort_unstable();
        let edits = Planter::new(program, &steps, draws).plant(&places, None);
        if edits.len() > best.len() {
            best = edits;
        }
        if best.len() == count {
            break;
        }
    }
    best
}

/// The calls up to a place, with the mistakes so far.
struct Planter<'p> {
    program: &'p Program,
    steps: &'p [Step],
    draws: &'p mut Draws,
    judge: Judge,
    /// Since which call of the judge there is one host thread.
    alone_since: usize,
    /// What was freed lately, by which stream.
    freed: Option<(usize, Option<usize>)>,
    /// What may be left unfreed without another allocation failing.
    spare: u64,
    edits: Vec<Edit>,
}

impl<'p> Planter<'p> {
    fn new(program: &'p Program, steps: &'p [Step], draws: &'p mut Draws) -> Self {
        let (judge, spare) = (Judge::new(program), program.memory / 4);
        Self { program, steps, draws, judge, alone_since: 0, freed: None, spare, edits: Vec::new() }
    }

    fn call(&self, step: Step) -> &'p Call {
        &self.program.statements[step.statement].call
    }

    /// Plants a mistake at the first place for it behind each of these, one after the other has shown.
    fn plant(mut self, places: &[usize], only: Option<Mistake>) -> Vec<Edit> {
        let mut places = places.iter().copied().peekable();
        let mut wish = self.wish(only);
        let (mut busy_until, mut waited) = (0, 0);
        for at in 0..self.steps.len() {
            let step = self.steps[at];
            let is_due = places.peek().is_some_and(|place| *place <= at) && at >= busy_until;
            if is_due && !step.in_loop && self.judge.clocks.is_alone() {
                waited += 1;
                if waited > PATIENCE {
                    (wish, waited) = (self.wish(only), 0);
                }
                if let Some((edit, shown)) = self.tried(at, wish) {
                    self.edits.push(edit);
                    places.next();
                    (busy_until, wish, waited) = (shown + 1, self.wish(only), 0);
                }
            }
            self.go_on(step);
        }
        self.edits
    }

    fn wish(&mut self, only: Option<Mistake>) -> Mistake {
        only.unwrap_or_else(|| Mistake::ALL[self.draws.below(Mistake::ALL.len() as u64) as usize])
    }

    /// Plays a step as it is with the mistakes so far.
    fn go_on(&mut self, step: Step) {
        let edit = self.edits.last().filter(|edit| edit.statement == step.statement);
        let added = edit.and_then(|edit| edit.added.clone());
        let is_missing = edit.is_some_and(|edit| edit.added.is_none());
        let mut wrong = Vec::new();
        if let Some(added) = added {
            self.judge.call(MAIN, &added, step.statement, &mut wrong);
        }
        if is_missing {
            return;
        }
        self.play(step);
        match self.call(step) {
            Call::Free { stream, buffer } if !step.in_loop => self.freed = Some((*buffer, *stream)),
            Call::Spawn { .. } => self.freed = None,
            Call::Join { .. } => self.alone_since = self.judge.step(),
            _ => {}
        }
    }

    fn play(&mut self, step: Step) {
        play(self.program, &mut self.judge, step);
    }

    /// The mistake, if there is a place for it before this step, and the step in which it shows.
    fn tried(&mut self, at: usize, mistake: Mistake) -> Option<(Edit, usize)> {
        let step = self.steps[at];
        let statement = step.statement;
        let call = self.call(step);
        let edit = |added, finding, found_at| Edit { mistake, statement, added, finding, found_at };
        let is_fit = match mistake {
            Mistake::MissingWait => matches!(call, Call::Wait { .. }),
            Mistake::MissingRecord => matches!(call, Call::Record { .. }),
            Mistake::MissingSync => matches!(call, Call::Sync(_) | Call::Poll(_)),
            Mistake::MissingWrite => self.writes_first(call),
            Mistake::SecondFree => {
                let (buffer, _) = self.freed?;
                let stream = self.draws.below(self.program.streams.len() as u64 + 1) as usize;
                let stream = (stream < self.program.streams.len()).then_some(stream);
                let added = Call::Free { stream, buffer };
                return Some((edit(Some(added), FindingKind::DoubleFree, None), at));
            }
            Mistake::LateUse => {
                let added = self.late_use()?;
                return Some((edit(Some(added), FindingKind::UseAfterFree, None), at));
            }
            Mistake::MissingFree => {
                let found_at = self.forgets(call)?;
                return Some((edit(None, FindingKind::Leak, Some(found_at)), at));
            }
        };
        if !is_fit || self.program.statements[statement].stays {
            return None;
        }
        let (wrong, shown) = self.shown(at)?;
        let is_meant = (wrong.kind == FindingKind::UninitialisedRead) == (mistake == Mistake::MissingWrite);
        is_meant.then(|| (edit(None, wrong.kind, Some(wrong.statement)), shown))
    }

    /// A use of what was freed lately, in a stream that comes after the free.
    fn late_use(&mut self) -> Option<Call> {
        let (buffer, stream) = self.freed?;
        let any = self.draws.below(self.program.streams.len() as u64) as usize;
        let part = (0, self.program.buffers[buffer].size);
        let kernel = self.draws.below(3) as usize;
        let access = self.program.kernels[kernel].parameters[0].1;
        let uses = vec![Use { buffer, part, access }];
        Some(Call::Launch { stream: stream.unwrap_or(any), kernel, uses, takes: None })
    }

    /// The statement that allocates what this call frees, where it can be left unfreed.
    fn forgets(&mut self, call: &Call) -> Option<usize> {
        let Call::Free { buffer, .. } = call else { return None };
        let Home::Pool(pool) = self.program.buffers[*buffer].home else { return None };
        let kept = room::kept(self.program.buffers[*buffer].size);
        if self.program.pools[pool].max_size.is_some() || kept > self.spare {
            return None;
        }
        let found_at = self.judge.life(*buffer)?.statement;
        self.spare -= kept;
        Some(found_at)
    }

    /// Whether a call is the first to write to a buffer.
    fn writes_first(&self, call: &Call) -> bool {
        let writes = |used: &Use| {
            let is_blank = self.judge.life(used.buffer).is_some_and(|life| life.is_blank());
            used.access == Access::Write && is_blank
        };
        call.uses().iter().any(writes)
    }

    /// What is wrong first where a step is left out and was not wrong with it, if it is so in every run; and in which step.
    fn shown(&self, at: usize) -> Option<(Wrong, usize)> {
        let (mut with, mut without) = (self.judge.clone(), self.judge.clone());
        let mut known = Vec::new();
        play_into(self.program, &mut with, self.steps[at], &mut known);
        let mut known: BTreeSet<(FindingKind, usize)> = known.iter().map(key).collect();
        let end = self.steps.len().min(at + HORIZON);
        for (nth, step) in self.steps.iter().enumerate().take(end).skip(at + 1) {
            if let Call::Spawn { .. } = self.call(*step) {
                return None;
            }
            let (mut is, mut was) = (Vec::new(), Vec::new());
            play_into(self.program, &mut without, *step, &mut is);
            play_into(self.program, &mut with, *step, &mut was);
            known.extend(was.iter().map(key));
            let new: Vec<Wrong> = is.into_iter().filter(|wrong| !known.contains(&key(wrong))).collect();
            if let Some(first) = new.first() {
                let is_sure = first.is_certain && first.since > self.alone_since;
                return is_sure.then_some((*first, nth));
            }
        }
        None
    }
}

fn key(wrong: &Wrong) -> (FindingKind, usize) {
    (wrong.kind, wrong.statement)
}

fn play(program: &Program, judge: &mut Judge, step: Step) {
    play_into(program, judge, step, &mut Vec::new());
}

fn play_into(program: &Program, judge: &mut Judge, step: Step, wrong: &mut Vec<Wrong>) {
    let statement = &program.statements[step.statement];
    judge.call(statement.slot, &statement.call, step.statement, wrong);
}
