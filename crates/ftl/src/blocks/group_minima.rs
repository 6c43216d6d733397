//! The least of many small numbers, found by looking at a few of them.
//!
//! The minimum of every 64 numbers is kept, then that of every 64 minima, and so on up to a handful. To find the least,
//! one looks at 64 numbers a level: four levels for four million blocks. Lowering a number costs one comparison in
//! nearly every case. The alternative is a list of blocks for each count. Compared with that this needs no links, and a
//! hot write touches one counter and one minimum instead of four list neighbours.

use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

const FAN: usize = 64;

/// Minima over an array of numbers that its owner holds.
#[derive(Clone, Debug, Preserve)]
pub struct GroupMinima {
    levels: Vec<Vec<u16>>,
}

impl GroupMinima {
    /// Minima over `len` numbers, all of them `u16::MAX` so far.
    pub fn new(len: usize) -> Self {
        let mut levels = Vec::new();
        let mut len = len.max(1);
        loop {
            len = len.div_ceil(FAN);
            levels.push(vec![u16::MAX; len]);
            if len <= FAN {
                return Self { levels };
            }
        }
    }

    /// The number at `index` has become `value`, which is not larger than before.
    #[inline]
    pub fn lowered(&mut self, index: usize, value: u16) {
        let mut at = index;
        for level in &mut self.levels {
            at /= FAN;
            if level[at] <= value {
                return;
            }
            level[at] = value;
        }
    }

    /// The number at `index` has become larger.
    pub fn raised(&mut self, numbers: &[u16], index: usize) {
        debug_assert!(numbers.len().div_ceil(FAN) <= self.levels[0].len(), "there are numbers without a minimum");
        let mut at = index / FAN;
        let mut least = least_of(numbers, at).1;
        for depth in 0..self.levels.len() {
            self.levels[depth][at] = least;
            at /= FAN;
            least = least_of(&self.levels[depth], at).1;
        }
    }

    /// Where the least number stands (the first of equals), and the number.
    pub fn least(&self, numbers: &[u16]) -> (usize, u16) {
        let mut group = 0;
        for level in self.levels.iter().rev() {
            group = least_of(level, group).0;
        }
        let least = least_of(numbers, group);
        debug_assert!(
            self.levels.last().and_then(|level| level.iter().min()).is_none_or(|minimum| *minimum == least.1),
            "a minimum is not that of its numbers"
        );
        least
    }

    /// At how many numbers and minima [`GroupMinima::least`] looks, of so many numbers.
    pub fn looked_at(&self, len: usize) -> u32 {
        let lens = self.levels.iter().map(Vec::len).chain([len]);
        lens.map(|len| len.min(FAN) as u32).sum()
    }

    /// Bytes of all minima.
    pub(crate) fn bytes(&self) -> u64 {
        self.levels.iter().map(|l| l.len() as u64 * 2).sum()
    }
}

fn least_of(numbers: &[u16], group: usize) -> (usize, u16) {
    let start = group * FAN;
    let slice = &numbers[start.min(numbers.len())..(start + FAN).min(numbers.len())];
    // Two passes, so that the first one runs in vector registers.
    let least = slice.iter().copied().min().unwrap_or(u16::MAX);
    (start + slice.iter().position(|n| *n == least).unwrap_or(0), least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_is_the_least(len in 1usize..9000, moves in proptest::collection::vec((any::<u32>(), any::<u16>()), 0..300)) {
            let mut numbers = vec![u16::MAX; len];
            let mut minima = GroupMinima::new(len);
            for (at, value) in moves {
                let at = at as usize % len;
                let before = core::mem::replace(&mut numbers[at], value);
                if value <= before {
                    minima.lowered(at, value);
                } else {
                    minima.raised(&numbers, at);
                }
                let least = numbers.iter().copied().min().unwrap_or(0);
                let first = numbers.iter().position(|n| *n == least).unwrap_or(0);
                prop_assert_eq!(minima.least(&numbers), (first, least));
            }
        }
    }
}
