//! The frees on which it hangs how a request is served: what an exploration of all timings branches on.
//!
//! Blocks as they were freed and whole runs of one stream are asked for in a fixed order, so whichever is complete first in that
//! order serves, whatever else is complete. Only where none of them is do neighbours that became usable in different ways count,
//! and there any set of frees may matter: more of them may make a range too large to be the smallest one.

use super::pool::FreeRun;
use super::reuse::{Search, order};
use super::tiles::State;
use crate::model::Candidates;
use crate::trace::{Policy, Ticket};

impl Search<'_> {
    /// The frees of other streams, not complete by now, whose completion could change how the request is served.
    pub(super) fn candidates(&self, into: &mut Candidates) {
        let reuse = self.pool.attributes.reuse;
        let mut before =
            order(self.unused_first).into_iter().take_while(|class| *class != Policy::Opportunistic);
        // What the classes before it serve, they serve whatever is complete.
        if !reuse.opportunistic || before.any(|class| self.pick(class).is_some()) {
            return;
        }
        for extent in self.pool.free_runs(self.size, |_| true) {
            self.candidates_in(extent, into);
        }
    }

    fn candidates_in(&self, extent: FreeRun, into: &mut Candidates) {
        let (pool, follows) = (self.pool, self.pool.attributes.reuse.follow_event);
        let mut run: Option<(Ticket, u64)> = None;
        let mut covered = 0;
        for tile in pool.tiles.walk(extent.first).map(|id| &pool.tiles[id]) {
            if covered == extent.size {
                break;
            }
            covered += tile.size;
            let State::Freed { at, whole, observed, .. } = tile.state else {
                self.alone(run.take(), into);
                continue;
            };
            run = match run {
                Some((latest, size)) if latest.stream == at.stream => {
                    Some((latest.max(at), size + tile.size))
                }
                other => {
                    self.alone(other, into);
                    Some((at, tile.size))
                }
            };
            if whole && tile.size == self.size {
                self.alone(Some((at, tile.size)), into);
            }
            let is_usable = observed || follows && at.within(self.known.ordered);
            if tile.size < extent.size && self.may_matter(at) && !is_usable {
                into.together.push(at);
            }
        }
        self.alone(run, into);
    }

    /// Freed bytes of one stream that serve as soon as the last of their frees is complete, if they are enough.
    fn alone(&self, run: Option<(Ticket, u64)>, into: &mut Candidates) {
        let fitting = run.filter(|(latest, size)| *size >= self.size && self.may_matter(*latest));
        into.alone.extend(fitting.map(|(latest, _)| latest));
    }

    /// Whether a free is one of another stream that is not complete.
    fn may_matter(&self, free: Ticket) -> bool {
        let counter = self.known.done.get(free.stream.index());
        free.stream != self.at.stream && counter.is_some_and(|done| *done < free.seq)
    }
}
