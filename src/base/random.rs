//! The one source of randomness, and samplers that are frozen: the same key draws the same numbers in every version.
//!
//! The `rand` crate may change its distributions in a minor version, so none of them is used; only the cipher is.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A seed, from which sequences of draws come: the key of the cipher.
#[derive(Clone, Copy, Debug)]
pub struct Seed([u8; 32]);

impl Seed {
    /// The seed of this number.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed).get_seed())
    }

    /// The sequence with this number. Two sequences of one seed are independent.
    #[inline]
    pub fn draws(&self, stream: u64) -> Draws {
        let mut cipher = ChaCha8Rng::from_seed(self.0);
        cipher.set_stream(stream);
        Draws(cipher)
    }
}

/// A sequence of draws, set by a seed and a stream number.
#[derive(Clone, Debug)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The sequence of `stream` under `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        Seed::new(seed).draws(stream)
    }

    /// A number of `low..=high`, each with the same probability. The bounds may be given in either order.
    #[inline]
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (low.min(high), low.max(high));
        match (high - low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.0.next_u64(),
        }
    }

    /// A number below `count`, without bias: a multiply-and-shift with rejection. `count` must not be 0.
    #[inline]
    pub fn below(&mut self, count: u64) -> u64 {
        assert!(count > 0, "a draw below 0 has no outcome");
        loop {
            let wide = u128::from(self.0.next_u64()) * u128::from(count);
            // The bound is below `count`, so that most draws need no division.
            if wide as u64 >= count || wide as u64 >= count.wrapping_neg() % count {
                return (wide >> 64) as u64;
            }
        }
    }
}

impl Draws {
    /// A number near `mean`, by a bell curve with this standard deviation: the sum of twelve uniform draws, so in integers
    /// alone, and never more than six deviations away; below 0 it is 0.
    pub fn normal(&mut self, mean: u64, deviation: u64) -> u64 {
        // Twelve numbers below 2^32 have the mean 6 * 2^32 and, all but exactly, the deviation 2^32.
        let halves = |word: u64| i128::from(word >> 32) + i128::from(word & u64::from(u32::MAX));
        let sum: i128 = (0..6).map(|_| halves(self.0.next_u64())).sum();
        let offset = ((sum - (6 << 32)) * i128::from(deviation)) >> 32;
        (i128::from(mean) + offset).clamp(0, i128::from(u64::MAX)) as u64
    }
}

/// A 64-bit hash of parts of text that never changes (FNV-1a, with a mark between the parts).
pub fn stable_hash(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_frozen() {
        let mut draws = Draws::new(0, 0);
        let first: Vec<u64> = (0..4).map(|_| draws.between(5_000, 20_000)).collect();
        assert_eq!(first, GOLDEN);
    }

    /// Recorded once; a change of these numbers breaks every printed seed.
    const GOLDEN: [u64; 4] = [15_636, 11_989, 15_487, 5_902];

    #[test]
    fn bounds_are_reached_and_kept() {
        let mut draws = Draws::new(7, 1);
        let mut seen = [0u32; 5];
        for _ in 0..1_000 {
            seen[draws.between(10, 14) as usize - 10] += 1;
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
        assert_eq!(draws.between(3, 3), 3);
        draws.between(0, u64::MAX);
    }

    #[test]
    fn a_bell_curve_has_its_mean_and_its_deviation() {
        let mut draws = Draws::new(3, 0);
        let values: Vec<i64> = (0..20_000).map(|_| draws.normal(10_000, 1_000) as i64).collect();
        let mean = values.iter().sum::<i64>() / 20_000;
        let variance = values.iter().map(|value| (value - 10_000).pow(2)).sum::<i64>() / 20_000;
        assert!((9_970..=10_030).contains(&mean), "{mean}");
        assert!((970_000..=1_030_000).contains(&variance), "{variance}");
        let within = values.iter().filter(|value| (*value - 10_000).abs() <= 1_000).count();
        assert!((13_400..=13_900).contains(&within), "68.3% lie within one deviation: {within}");
        assert!((0..1_000).all(|_| draws.normal(5, 1_000) <= 6_005));
    }

    #[test]
    fn streams_differ() {
        let draw = |seed, stream| Draws::new(seed, stream).between(0, u64::MAX);
        assert_ne!(draw(1, 1), draw(1, 2));
        assert_ne!(draw(1, 1), draw(2, 1));
    }
}
