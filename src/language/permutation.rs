//! A random order of the numbers below a bound that is computed number by number, without a list.

use rand::Rng as _;

use crate::rng::Rng;

const ROUNDS: usize = 6;

/// A bijection of `0..size` to itself: a Feistel network permutes the numbers of an even number of bits, and a result beyond
/// `size` is permuted again until it is below (cycle walking).
pub struct Permutation {
    size: u64,
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// Draws a permutation of `0..size`.
    pub fn new(size: usize, rng: &mut Rng) -> Self {
        let size = size as u64;
        let bits = u64::BITS - size.saturating_sub(1).leading_zeros();
        Self { size, half_bits: bits.div_ceil(2).max(1), keys: std::array::from_fn(|_| rng.next_u64()) }
    }

    /// Where `number`, which must be below the size, goes.
    pub fn of(&self, number: usize) -> usize {
        assert!((number as u64) < self.size, "{number} is not below {}", self.size);
        let mut image = self.network(number as u64);
        while image >= self.size {
            image = self.network(image);
        }
        image as usize
    }

    fn network(&self, number: u64) -> u64 {
        let mask = (1 << self.half_bits) - 1;
        let halves = (number >> self.half_bits, number & mask);
        let round = |(left, right), key: &u64| (right, left ^ (scrambled(right ^ key) & mask));
        let (left, right) = self.keys.iter().fold(halves, round);
        (left << self.half_bits) | right
    }
}

/// Every bit of the result depends on every bit of the word (the finaliser of SplitMix64).
fn scrambled(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamName;

    #[test]
    fn every_number_comes_once() {
        for size in [1, 2, 3, 4, 5, 16, 17, 1000, 4096, 4097, 70_000] {
            let permutation = Permutation::new(size, &mut StreamName::new("test").with(size as u64).rng());
            let mut images: Vec<usize> = (0..size).map(|number| permutation.of(number)).collect();
            images.sort_unstable();
            assert!(images.iter().copied().eq(0..size), "{size}");
        }
    }

    #[test]
    fn the_order_looks_random() {
        let size = 10_000;
        let permutation = Permutation::new(size, &mut StreamName::new("test").rng());
        let images: Vec<usize> = (0..size).map(|number| permutation.of(number)).collect();
        let rising = images.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((4_800..5_200).contains(&rising), "{rising} of 9999 steps rise");
        let low = images[..size / 2].iter().filter(|image| **image < size / 2).count();
        assert!((2_350..2_650).contains(&low), "{low} of the first half stay there");
    }
}
