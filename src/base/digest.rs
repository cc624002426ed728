//! A 128-bit hash of a few words, for digests of states: quick, the same on every machine, not for adversaries.

// Digits of pi and of the golden ratio; any odd numbers without a pattern would do.
const SEEDS: [u64; 2] = [0x1319_8a2e_0370_7344, 0x243f_6a88_85a3_08d3];
const FACTORS: [u64; 2] = [0xf39c_c060_5ced_c835, 0x9e37_79b9_7f4a_7c15];

/// Hashes words: two lanes that multiply and fold.
pub fn mix(of: &[u64]) -> u128 {
    go_on(SEEDS, of.iter().copied())
}

/// Hashes words behind a digest.
pub fn fold(digest: u128, of: &[u64]) -> u128 {
    go_on(words(digest), of.iter().copied())
}

/// Hashes counters behind a digest, two of them as a word.
pub fn fold_counters(digest: u128, of: &[u32]) -> u128 {
    let (pairs, rest) = of.as_chunks();
    let pairs = pairs.iter().map(|[one, other]| u64::from(*one) << 32 | u64::from(*other));
    go_on(words(digest), pairs.chain(rest.iter().map(|last| u64::from(*last))))
}

#[inline(always)]
fn go_on(lanes: [u64; 2], of: impl Iterator<Item = u64>) -> u128 {
    let [low, high] = of.fold(lanes, |lanes, word| {
        let lane = |at: usize| {
            let wide = u128::from((lanes[at] ^ word).wrapping_add(SEEDS[at])) * u128::from(FACTORS[at]);
            (wide >> 64) as u64 ^ wide as u64
        };
        [lane(0), lane(1)]
    });
    u128::from(high) << 64 | u128::from(low)
}

/// A digest as words, low half first, to be mixed into another one.
pub fn words(digest: u128) -> [u64; 2] {
    [digest as u64, (digest >> 64) as u64]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn place_and_value_count() {
        let words = (0..40u64).flat_map(|a| (0..40u64).map(move |b| [a, b << 32]));
        let digests: BTreeSet<u128> = words.map(|words| mix(&words)).collect();
        assert_eq!(digests.len(), 1_600);
        assert_ne!(mix(&[0]), mix(&[0, 0]));
    }

    #[test]
    fn a_digest_is_gone_on_with() {
        assert_eq!(fold(mix(&[1, 2]), &[3]), mix(&[1, 2, 3]));
        assert_eq!(fold_counters(mix(&[7]), &[1, 2, 3]), mix(&[7, 1 << 32 | 2, 3]));
    }

    #[test]
    fn both_halves_are_words() {
        assert_eq!(words(3 << 64 | 5), [5, 3]);
    }
}
