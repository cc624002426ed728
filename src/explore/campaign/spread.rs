//! How a figure is spread over many runs: the least, the most, and what so many of the runs do not exceed.
//!
//! What is kept is bounded, and depends only on which values were added, not on their order or grouping.

use crate::base::Nanos;
use std::collections::BTreeMap;

/// So many different values are kept as they are. Where there are more, each value stands for those that begin with the same
/// [`DIGITS`] binary digits.
const EXACT_MAX: usize = 4_096;

/// Then a value is told at most a 256th too low.
const DIGITS: u32 = 9;

/// The values of a figure, one a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    runs: BTreeMap<u64, u64>,
    is_coarse: bool,
    ends: Option<[Extreme; 2]>,
}

/// The least or the greatest value, and the first seed that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// The value.
    pub value: u64,
    /// The seed.
    pub seed: u64,
}

impl Spread {
    /// The ends of runs, each with its seed; they are put in order.
    pub(super) fn of(ends: &mut [(Nanos, u64)]) -> Self {
        ends.sort_unstable();
        let extreme = |(end, seed): &(Nanos, u64)| Extreme { value: end.0, seed: *seed };
        let alike = || ends.chunk_by(|one, other| one.0 == other.0);
        let extremes = alike().next().zip(alike().next_back());
        let mut spread = Self {
            runs: alike().map(|some| (some[0].0.0, some.len() as u64)).collect(),
            is_coarse: false,
            ends: extremes.map(|(least, most)| [extreme(&least[0]), extreme(&most[0])]),
        };
        spread.limit();
        spread
    }

    /// Adds the value of so many runs, the least of whose seeds is this.
    pub(super) fn add(&mut self, value: u64, seed: u64, runs: u64) {
        let own = Extreme { value, seed };
        self.reach([own, own]);
        let kept = if self.is_coarse { coarse(value) } else { value };
        *self.runs.entry(kept).or_default() += runs;
        self.limit();
    }

    /// Adds the values of other runs.
    pub(super) fn merge(&mut self, other: Self) {
        other.ends.into_iter().for_each(|ends| self.reach(ends));
        if other.is_coarse && !self.is_coarse {
            self.coarsen();
        }
        for (value, runs) in other.runs {
            let kept = if self.is_coarse { coarse(value) } else { value };
            *self.runs.entry(kept).or_default() += runs;
        }
        self.limit();
    }

    /// The least value.
    pub fn least(&self) -> Option<Extreme> {
        self.ends.map(|[least, _]| least)
    }

    /// The greatest value.
    pub fn most(&self) -> Option<Extreme> {
        self.ends.map(|[_, most]| most)
    }

    /// The value that so many of a hundred runs do not exceed: the smallest one that at least so many have or are below. Exact
    /// where there are at most 4,096 different values; else it may be a 256th too low.
    pub fn percentile(&self, percent: u8) -> Option<u64> {
        let [least, most] = self.ends?;
        let all: u128 = self.runs.values().map(|runs| u128::from(*runs)).sum();
        let wanted = (all * u128::from(percent)).div_ceil(100).max(1);
        let mut so_far = 0;
        let reached = self.runs.iter().find(|(_, runs)| {
            so_far += u128::from(**runs);
            so_far >= wanted
        });
        reached.map(|(value, _)| (*value).clamp(least.value, most.value))
    }

    fn reach(&mut self, [low, high]: [Extreme; 2]) {
        let [least, most] = self.ends.get_or_insert([low, high]);
        if (low.value, low.seed) < (least.value, least.seed) {
            *least = low;
        }
        if high.value > most.value || high.value == most.value && high.seed < most.seed {
            *most = high;
        }
    }

    fn limit(&mut self) {
        if !self.is_coarse && self.runs.len() > EXACT_MAX {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.is_coarse = true;
        for (value, runs) in std::mem::take(&mut self.runs) {
            *self.runs.entry(coarse(value)).or_default() += runs;
        }
    }
}

/// The value with all but its first binary digits put to 0.
fn coarse(value: u64) -> u64 {
    let dropped = (u64::BITS - value.leading_zeros()).saturating_sub(DIGITS);
    value >> dropped << dropped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Draws;

    fn spread(values: impl IntoIterator<Item = u64>) -> Spread {
        let mut spread = Spread::default();
        values.into_iter().enumerate().for_each(|(seed, value)| spread.add(value, seed as u64, 1));
        spread
    }

    #[test]
    fn ends_are_values() {
        let mut ends = [(30, 4), (10, 9), (20, 1), (10, 3), (30, 2)].map(|(end, seed)| (Nanos(end), seed));
        let mut spread = Spread::default();
        ends.iter().for_each(|(end, seed)| spread.add(end.0, *seed, 1));
        assert_eq!(Spread::of(&mut ends), spread);
        assert_eq!(spread.least(), Some(Extreme { value: 10, seed: 3 }));
        assert_eq!(spread.most(), Some(Extreme { value: 30, seed: 2 }));
        assert_eq!(Spread::of(&mut []), Spread::default());
    }

    #[test]
    fn few_values_are_exact() {
        let spread = spread([30, 10, 20, 10, 40]);
        assert_eq!(spread.least(), Some(Extreme { value: 10, seed: 1 }));
        assert_eq!(spread.most(), Some(Extreme { value: 40, seed: 4 }));
        let percentiles = [1, 40, 41, 60, 80, 81, 100].map(|percent| spread.percentile(percent));
        assert_eq!(percentiles, [10, 10, 20, 20, 30, 40, 40].map(Some));
        assert_eq!(Spread::default().percentile(50), None);
    }

    #[test]
    fn many_values_are_at_most_a_256th_too_low() {
        let spread = spread(0..100_000);
        for percent in [1, 10, 50, 90, 99] {
            let (told, exact) =
                (spread.percentile(percent).expect("there are values"), u64::from(percent) * 1_000 - 1);
            assert!(told <= exact && exact - told <= exact / 256, "{percent}: {told}");
        }
        assert_eq!(spread.percentile(100).map(coarse), Some(coarse(99_999)));
        assert_eq!(spread.most().map(|most| most.value), Some(99_999));
    }

    /// Whoever adds what, it comes to the same.
    #[test]
    fn the_grouping_does_not_matter() {
        let mut draws = Draws::new(1, 1);
        for different in [50, 10_000] {
            let values: Vec<u64> = (0..20_000).map(|_| draws.between(0, different) * 7).collect();
            let whole = spread(values.iter().copied());
            for size in [1, 300, 7_000] {
                let mut merged = Spread::default();
                for (nth, part) in values.chunks(size).enumerate().rev() {
                    let mut other = Spread::default();
                    let seeds = (nth * size) as u64..;
                    part.iter().zip(seeds).for_each(|(value, seed)| other.add(*value, seed, 1));
                    merged.merge(other);
                }
                assert_eq!(merged, whole);
            }
        }
    }
}
