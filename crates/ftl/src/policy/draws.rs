//! Numbers drawn by chance, whose generator can be saved: xoshiro256++, as `rand_xoshiro` has it.

use phelsuma_nand::state::Preserve;

/// The generator.
#[derive(Clone, Copy, Preserve)]
pub(crate) struct Draws([u64; 4]);

impl Draws {
    /// Equal seeds give equal numbers.
    pub(crate) fn new(seed: u64) -> Self {
        let mut at = seed;
        Self(core::array::from_fn(|_| {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (at ^ at >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        }))
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let state = &mut self.0;
        let drawn = state[0].wrapping_add(state[3]).rotate_left(23).wrapping_add(state[0]);
        let shifted = state[1] << 17;
        state[2] ^= state[0];
        state[3] ^= state[1];
        state[1] ^= state[2];
        state[0] ^= state[3];
        state[2] ^= shifted;
        state[3] = state[3].rotate_left(45);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::{RngCore, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn the_numbers_are_those_of_rand_xoshiro() {
        for seed in [0, 1, 42, u64::MAX] {
            let (mut own, mut other) = (Draws::new(seed), Xoshiro256PlusPlus::seed_from_u64(seed));
            assert!((0..1000).all(|_| own.next() == other.next_u64()));
        }
    }
}
