//! Pages in fewer bytes: a coding for sorted numbers and sparse bitmaps, as in metadata.
//!
//! A page is taken by groups of sixteen words of four bytes. Each group is written in the shortest of three ways:
//! - *steps*: the difference of each word from the one before it, in as many bits as the largest takes (32 hold
//!   anything);
//! - *turned steps*: the same with two bits rotated from the top to the bottom, because flags in the top bits of sorted
//!   keys would make long steps;
//! - *bits*: for each word how many of its bits are set and which.
//!
//! A byte in front says which way it is (two bits), and how many bits a step, or a count, takes (six).

use super::words::word_of;
use alloc::vec::Vec;

/// Words of a group.
const GROUP: usize = 16;
const GROUP_BYTES: usize = GROUP * 4;
const HEAD_BITS: u32 = 8;

const STEPS: u32 = 0;
const TURNED: u32 = 1;
const BITS: u32 = 2;
/// Bits that are turned.
const TURN: u32 = 2;

/// Writes the page to `out`, which it clears; false where that would not save an eighth.
pub(super) fn pack(page: &[u8], out: &mut Vec<u8>) -> bool {
    out.clear();
    if !page.len().is_multiple_of(GROUP_BYTES) {
        return false;
    }
    let most = page.len() - page.len() / 8;
    let mut bits = BitWriter { out, word: 0, filled: 0 };
    let mut before = 0u32;
    for bytes in page.chunks_exact(GROUP_BYTES) {
        let group: [u32; GROUP] = core::array::from_fn(|at| word_of(bytes, at));
        write_group(&group, before, &mut bits);
        before = group[GROUP - 1];
        if bits.out.len() > most {
            return false;
        }
    }
    bits.finish();
    out.len() <= most
}

/// The page that was packed, into a slice of its length.
pub(super) fn unpack(packed: &[u8], page: &mut [u8]) {
    let mut bits = BitReader { bytes: packed, word: 0, left: 0 };
    let mut before = 0u32;
    for bytes in page.chunks_exact_mut(GROUP_BYTES) {
        let head = bits.take(HEAD_BITS);
        let (way, width) = (head & 3, head >> 2);
        for word in bytes.chunks_exact_mut(4) {
            before = match way {
                BITS => {
                    let count = bits.take(width);
                    (0..count).fold(0, |word, _| word | 1 << bits.take(5))
                }
                TURNED => before.rotate_left(TURN).wrapping_add(bits.take(width)).rotate_right(TURN),
                _ => before.wrapping_add(bits.take(width)),
            };
            word.copy_from_slice(&before.to_le_bytes());
        }
    }
}

/// Bits that the number takes.
fn width(number: u32) -> u32 {
    u32::BITS - number.leading_zeros()
}

fn write_group(group: &[u32; GROUP], before: u32, bits: &mut BitWriter<'_>) {
    let steps = |turn: u32| -> [u32; GROUP] {
        let mut last = before.rotate_left(turn);
        group.map(|word| {
            let step = word.rotate_left(turn).wrapping_sub(last);
            last = word.rotate_left(turn);
            step
        })
    };
    let widest = |words: &[u32; GROUP]| width(words.iter().fold(0, |all, word| all | word));
    let (straight, turned) = (steps(0), steps(TURN));
    let (straight_width, turned_width) = (widest(&straight), widest(&turned));
    let counts = group.map(u32::count_ones);
    let count_width = widest(&counts);
    let set: u32 = counts.iter().sum();
    let width = straight_width.min(turned_width);
    if count_width * GROUP as u32 + set * 5 < width * GROUP as u32 {
        bits.put(BITS | count_width << 2, HEAD_BITS);
        for (word, count) in group.iter().zip(counts) {
            bits.put(count, count_width);
            let mut rest = *word;
            while rest != 0 {
                bits.put(rest.trailing_zeros(), 5);
                rest &= rest - 1;
            }
        }
    } else {
        let (way, steps) = if straight_width == width { (STEPS, straight) } else { (TURNED, turned) };
        bits.put(way | width << 2, HEAD_BITS);
        steps.iter().for_each(|step| bits.put(*step, width));
    }
}

struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    word: u64,
    filled: u32,
}

impl BitWriter<'_> {
    /// The lowest `count` bits of a number that has no others; at most 32.
    #[inline]
    fn put(&mut self, number: u32, count: u32) {
        self.word |= u64::from(number) << self.filled;
        self.filled += count;
        if self.filled >= 32 {
            self.out.extend_from_slice(&(self.word as u32).to_le_bytes());
            self.word >>= 32;
            self.filled -= 32;
        }
    }

    fn finish(self) {
        let bytes = self.filled.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.word.to_le_bytes()[..bytes]);
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    word: u64,
    left: u32,
}

impl BitReader<'_> {
    /// The next `count` bits, at most 32; zeros beyond the end.
    #[inline]
    fn take(&mut self, count: u32) -> u32 {
        if self.left < count {
            let mut next = [0; 4];
            let some = self.bytes.len().min(4);
            next[..some].copy_from_slice(&self.bytes[..some]);
            self.bytes = &self.bytes[some..];
            self.word |= u64::from(u32::from_le_bytes(next)) << self.left;
            self.left += 32;
        }
        let number = self.word & ((1 << count) - 1);
        self.word >>= count;
        self.left -= count;
        number as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// A word as pages have them: few bits, flags, small, anything.
    fn word() -> impl Strategy<Value = u32> {
        prop_oneof![
            Just(0),
            (0u32..32).prop_map(|bit| 1 << bit),
            (0u32..32, 0u32..32, 0u32..32).prop_map(|(a, b, c)| 1 << a | 1 << b | 1 << c),
            0u32..1000,
            (0u32..1000).prop_map(|key| key | 1 << 31),
            any::<u32>(),
            Just(u32::MAX),
        ]
    }

    fn page_of(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    proptest! {
        #[test]
        fn what_is_unpacked_is_what_was_packed(
            groups in prop::collection::vec(prop_oneof![
                prop::collection::vec(word(), GROUP),
                word().prop_map(|word| vec![word; GROUP]),
                (word(), word()).prop_map(|(first, step)| {
                    (0..GROUP as u32).map(|n| first.wrapping_add(n.wrapping_mul(step))).collect()
                }),
            ], 1..20),
        ) {
            let page = page_of(&groups.concat());
            let mut packed = vec![7];
            if pack(&page, &mut packed) {
                prop_assert!(packed.len() <= page.len() - page.len() / 8);
                let mut unpacked = vec![0xa5; page.len()];
                unpack(&packed, &mut unpacked);
                prop_assert_eq!(unpacked, page);
            }
        }
    }

    #[test]
    fn sorted_keys_with_flags_and_sparse_bitmaps_take_less_than_half() {
        let mut random = 1u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 8
        };
        let mut key = 0;
        let mut words = vec![506, 77, 3, 0, 0, 0, 0, 0];
        words.extend((0..508).map(|n| {
            key += next() % 2000;
            key | u32::from(n % 50 == 0) << 31
        }));
        words.extend((0..508).map(|_| 1 << (next() % 32)));
        let (page, mut packed) = (page_of(&words), Vec::new());
        assert!(pack(&page, &mut packed));
        assert!(packed.len() * 2 < page.len(), "{} bytes", packed.len());
    }
}
