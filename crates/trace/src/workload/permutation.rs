//! A seeded bijection of 0 to L - 1, without a table.
//!
//! It is a small Feistel network over the next power of two, walked until it lands inside. Each walk takes fewer than
//! two steps on average.

/// The bijection.
#[derive(Debug, Clone)]
pub struct Permutation {
    size: u64,
    low_bits: u32,
    low_mask: u64,
    high_mask: u64,
    keys: [u64; ROUNDS],
}

const ROUNDS: usize = 4;

impl Permutation {
    /// A permutation of `size` numbers, at least one and at most 2^63.
    #[must_use]
    pub fn new(size: u64, seed: u64) -> Self {
        let bits = size.max(1).next_power_of_two().ilog2().min(63);
        let low_bits = bits / 2;
        let mut keys = [0; ROUNDS];
        // The random numbers are seeded from the same seed by a similar mixer: keep the two apart.
        let mut state = seed ^ u64::from_be_bytes(*b"phelsuma");
        for key in &mut keys {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            *key = mix(state);
        }
        Permutation { size, low_bits, low_mask: (1 << low_bits) - 1, high_mask: (1 << (bits - low_bits)) - 1, keys }
    }

    /// Where `index`, below the size, goes.
    #[inline]
    #[must_use]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.size);
        let mut value = self.scramble(index);
        // Starting inside, the cycle comes back inside.
        while value >= self.size {
            value = self.scramble(value);
        }
        value
    }

    #[inline]
    fn scramble(&self, value: u64) -> u64 {
        let (mut low, mut high) = (value & self.low_mask, value >> self.low_bits);
        for pair in self.keys.as_chunks::<2>().0 {
            high ^= mix(low ^ pair[0]) & self.high_mask;
            low ^= mix(high ^ pair[1]) & self.low_mask;
        }
        high << self.low_bits | low
    }
}

/// Spreads every bit of the input over the output (a multiply-and-shift finalizer).
#[inline]
fn mix(mut value: u64) -> u64 {
    value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_occurs_once() {
        for size in (1..=70).chain([127, 128, 129, 1000, 4096, 5000]) {
            for seed in 0..3 {
                let permutation = Permutation::new(size, seed);
                let mut seen = vec![false; size as usize];
                for index in 0..size {
                    let value = permutation.at(index) as usize;
                    assert!(!std::mem::replace(&mut seen[value], true), "{value} twice, size {size}");
                }
            }
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let size = 1 << 20;
        let permutation = Permutation::new(size, 7);
        let adjacent = (1..100_000u64).filter(|&at| permutation.at(at).abs_diff(permutation.at(at - 1)) < 64).count();
        // A random permutation has about 100,000 x 128 / 2^20 = 12 such pairs.
        assert!(adjacent < 40, "{adjacent} of 100,000 neighbours stayed within 64");
        // The most popular thousandth is spread evenly over quarters of the space.
        let mut quarters = [0i64; 4];
        for at in 0..1000 {
            quarters[(permutation.at(at) * 4 / size) as usize] += 1;
        }
        assert!(quarters.iter().all(|&count| (count - 250).abs() < 70), "{quarters:?}");
    }

    #[test]
    fn seeds_differ() {
        let (one, two) = (Permutation::new(1 << 20, 1), Permutation::new(1 << 20, 2));
        assert!((0..1000).filter(|&at| one.at(at) == two.at(at)).count() < 3);
    }
}
