//! A 128-bit hash of a few words, for digests of states: quick, the same on every machine, not for adversaries.

/// Hashes words: two lanes that multiply and fold.
pub fn mix(words: &[u64]) -> u128 {
    let lane = |seed: u64, factor: u64| {
        words.iter().fold(seed, |hash, word| {
            let wide = u128::from((hash ^ word).wrapping_add(seed)) * u128::from(factor);
            (wide >> 64) as u64 ^ wide as u64
        })
    };
    // Digits of pi and of the golden ratio; any odd numbers without a pattern would do.
    let high = lane(0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15);
    let low = lane(0x1319_8a2e_0370_7344, 0xf39c_c060_5ced_c835);
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
    fn both_halves_are_words() {
        assert_eq!(words(3 << 64 | 5), [5, 3]);
    }
}
