//! A Bloom filter of the keys of a run, in RAM: a query passes by most runs that do not have its key.
//!
//! All bits of a key lie in one word of 64 (a blocked Bloom filter), so that a look costs one access to memory.

use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// Bits of a word that a key sets.
const SET: u32 = 5;

/// The filter of a run.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct Filter {
    words: Vec<u64>,
}

impl Filter {
    /// An empty filter for so many keys, of `bits` bits each.
    pub(crate) fn new(keys: usize, bits: u32) -> Self {
        Self { words: vec![0; (keys * bits as usize).div_ceil(64).max(1)] }
    }

    /// The word of a key, and its bits there.
    #[inline]
    fn place(&self, key: u32) -> (usize, u64) {
        let hash = u64::from(key).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let word = (((hash >> 32) * self.words.len() as u64) >> 32) as usize;
        // The product's lower half does not depend on the word alone.
        let mut rest = (hash ^ hash >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mut bits = 0;
        for _ in 0..SET {
            bits |= 1 << (rest >> 58);
            rest <<= 6;
        }
        (word, bits)
    }

    pub(crate) fn insert(&mut self, key: u32) {
        let (word, bits) = self.place(key);
        self.words[word] |= bits;
    }

    /// Whether the key may be there: surely where it was inserted, hardly ever where it was not.
    #[inline]
    pub(crate) fn may_have(&self, key: u32) -> bool {
        let (word, bits) = self.place(key);
        self.words[word] & bits == bits
    }

    /// Its RAM.
    pub(crate) fn bytes(&self) -> u64 {
        (self.words.capacity() * size_of::<u64>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_there_is_found_and_few_others_are() {
        for keys in [1, 500, 20_000u32] {
            let mut filter = Filter::new(keys as usize, 10);
            (0..keys).for_each(|key| filter.insert(key * 7));
            assert!((0..keys).all(|key| filter.may_have(key * 7)), "a key of {keys} is not found");
            let wrong = (0..100_000).filter(|key| filter.may_have(key * 7 + 3)).count();
            assert!(wrong < 3_500, "{wrong} of 100,000 other keys may be among {keys}");
            assert!(keys < 500 || wrong > 100, "the filter is larger than stated");
        }
    }
}
