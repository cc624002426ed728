//! The capacities of the free blocks in the order of their list, with maxima above them: which is the first above a bound?

use crate::base::reuse_on_clone;

/// How many entries of a level have their maximum in the level above.
const WIDTH: usize = 8;
/// Levels for as many entries as a vector of words can have.
const LEVELS: usize = 20;

/// Level 0 is the capacities. There is a level above as soon as one has more than [`WIDTH`] entries.
#[derive(Debug, Default)]
pub(super) struct Maxima {
    levels: [Vec<usize>; LEVELS],
}

reuse_on_clone!(Maxima { levels });

impl Maxima {
    pub(super) fn as_slice(&self) -> &[usize] {
        &self.levels[0]
    }

    /// The lowest index whose entry is above `bound`.
    pub(super) fn first_above(&self, bound: usize) -> Option<usize> {
        let above = |entries: &[usize]| entries.iter().position(|entry| *entry > bound);
        let top = self.top();
        let mut at = above(&self.levels[top])?;
        for level in self.levels[..top].iter().rev() {
            at = at * WIDTH + above(group(level, at))?;
        }
        Some(at)
    }

    /// The largest entry, or 0.
    pub(super) fn max(&self) -> usize {
        max(&self.levels[self.top()])
    }

    pub(super) fn push(&mut self, entry: usize) {
        self.levels[0].push(entry);
        self.refresh(self.levels[0].len() - 1);
    }

    pub(super) fn pop(&mut self) -> Option<usize> {
        let entry = self.levels[0].pop()?;
        self.refresh(self.levels[0].len());
        Some(entry)
    }

    /// Puts another entry in the place of one, which is the result.
    pub(super) fn replace(&mut self, index: usize, entry: usize) -> usize {
        let old = std::mem::replace(&mut self.levels[0][index], entry);
        if old != entry {
            self.refresh(index);
        }
        old
    }

    /// The highest level that there is.
    fn top(&self) -> usize {
        self.levels.iter().take_while(|level| level.len() > WIDTH).count()
    }

    /// Brings the levels above up to date after a change at `index`, as far up as anything changes.
    fn refresh(&mut self, index: usize) {
        let mut at = index;
        for level in 1..LEVELS {
            at /= WIDTH;
            let (below, above) = self.levels.split_at_mut(level);
            let (below, above) = (&below[level - 1], &mut above[0]);
            if below.len() <= WIDTH {
                above.clear();
                return;
            }
            if above.is_empty() {
                above.extend(below.chunks(WIDTH).map(max));
                return;
            }
            let entries = group(below, at);
            if entries.is_empty() {
                above.truncate(at);
            } else if at == above.len() {
                above.push(max(entries));
            } else {
                let new = max(entries);
                if std::mem::replace(&mut above[at], new) == new {
                    return;
                }
            }
        }
    }
}

/// The entries whose maximum is at `at` in the level above.
fn group(level: &[usize], at: usize) -> &[usize] {
    let start = at * WIDTH;
    &level[start..level.len().min(start + WIDTH)]
}

fn max(entries: &[usize]) -> usize {
    entries.iter().copied().max().unwrap_or(0)
}
