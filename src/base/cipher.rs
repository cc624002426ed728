//! ChaCha with 8 rounds, one block at a time: what random numbers are made of.
//!
//! It is written out here since draws are frozen, and since most statements of a program draw once: one block is all that they
//! need, where the crates make several at once.
//!
//! Rules: D. J. Bernstein, "ChaCha, a variant of Salsa20", with a counter and a stream number of 64 bits each; the key of a
//! small seed is that of `SeedableRng::seed_from_u64` in crate `rand_core`.

/// How many numbers a block has.
pub(super) const BLOCK: usize = 8;

/// What a seed makes of the cipher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key([Row; 2]);

/// Four words that are worked on together.
type Row = [u32; 4];

impl Key {
    pub(super) fn new(mut seed: u64) -> Self {
        // The words are the output of a PCG32.
        let mut row = || {
            [(); 4].map(|()| {
                seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0xa176_54e4_6fbe_17f3);
                ((((seed >> 18) ^ seed) >> 27) as u32).rotate_right((seed >> 59) as u32)
            })
        };
        Self([row(), row()])
    }

    /// One block of a stream.
    pub(super) fn block(&self, stream: u64, counter: u64) -> [u64; BLOCK] {
        let place = [counter, counter >> 32, stream, stream >> 32].map(|word| word as u32);
        let start = [CONSTANTS, self.0[0], self.0[1], place];
        let mut rows = start;
        for _ in 0..4 {
            quarter_rounds(&mut rows);
            // The diagonals become the columns, and back.
            rows = [rows[0], turned::<1>(rows[1]), turned::<2>(rows[2]), turned::<3>(rows[3])];
            quarter_rounds(&mut rows);
            rows = [rows[0], turned::<3>(rows[1]), turned::<2>(rows[2]), turned::<1>(rows[3])];
        }
        std::array::from_fn(|nth| {
            let word = |at: usize| u64::from(rows[at / 4][at % 4].wrapping_add(start[at / 4][at % 4]));
            word(2 * nth) | word(2 * nth + 1) << 32
        })
    }
}

/// "expand 32-byte k"
const CONSTANTS: Row = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// A quarter round on each column.
fn quarter_rounds([a, b, c, d]: &mut [Row; 4]) {
    mingle::<16>(a, b, d);
    mingle::<12>(c, d, b);
    mingle::<8>(a, b, d);
    mingle::<7>(c, d, b);
}

fn mingle<const BITS: u32>(sum: &mut Row, with: &Row, into: &mut Row) {
    for column in 0..4 {
        sum[column] = sum[column].wrapping_add(with[column]);
        into[column] = (into[column] ^ sum[column]).rotate_left(BITS);
    }
}

fn turned<const BY: usize>(row: Row) -> Row {
    [row[BY % 4], row[(1 + BY) % 4], row[(2 + BY) % 4], row[(3 + BY) % 4]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn equals_the_crates() {
        for (seed, stream) in [(0, 0), (1, 0), (0, 1), (u64::MAX, 1 << 40), (77, u64::MAX)] {
            let mut theirs = ChaCha8Rng::seed_from_u64(seed);
            theirs.set_stream(stream);
            let key = Key::new(seed);
            for counter in 0..9 {
                let block = key.block(stream, counter);
                assert_eq!(block, [(); BLOCK].map(|()| theirs.next_u64()), "{seed} {stream} {counter}");
            }
        }
    }
}
