//! A page of the block log, little-endian:
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | blocks that it reserves |
//! | 4 | the first block of its slice, a multiple of four |
//! | 4 | blocks of its slice |
//! | 4 each | the blocks that it reserves |
//! | 2 bits each | what the blocks of the slice hold: 0 nothing, 1 user, 2 translation, 3 validity pages |
//!
//! The rest of the page is ones.

use crate::medium::{BLOCKS_A_BYTE, Holds, HoldsOfBlocks, unpacked};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry};

const HEADER: usize = 12;

/// Blocks that a slice has room for beside so many that are reserved.
pub(super) fn room(geometry: &Geometry, reserved: u32) -> u32 {
    let taken = HEADER as u32 + 4 * reserved;
    debug_assert!(taken < geometry.page_bytes(), "a page of the block log has no room for a slice");
    geometry.page_bytes().saturating_sub(taken) * BLOCKS_A_BYTE
}

/// The bytes of a page that reserves these blocks, with the slice from `from` on; and the slice's end.
pub(super) fn encode(geometry: &Geometry, reserved: &[Block], holds: &HoldsOfBlocks, from: u32) -> (Vec<u8>, u32) {
    let to = (from + room(geometry, reserved.len() as u32)).min(geometry.blocks());
    debug_assert!(from < to, "a page of the block log has no slice");
    let mut page = vec![0xff; geometry.page_bytes() as usize];
    let header = [reserved.len() as u32, from, to - from].into_iter();
    let words = header.chain(reserved.iter().map(|block| block.0));
    for (word, bytes) in words.zip(page.chunks_exact_mut(4)) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    let packed = holds.packed(from, to);
    let at = HEADER + 4 * reserved.len();
    page[at..at + packed.len()].copy_from_slice(packed);
    (page, to)
}

/// A page that was read.
pub(crate) struct BlockLogPage {
    pub(crate) reserved: Vec<Block>,
    /// Its slice: from this block on.
    pub(crate) from: u32,
    /// Up to this one.
    pub(crate) to: u32,
    packed: Vec<u8>,
}

impl BlockLogPage {
    /// What the page says; nothing if no drive of this shape can have written it.
    pub(crate) fn decode(geometry: &Geometry, bytes: &[u8]) -> Option<Self> {
        let word = |n: usize| Some(u32::from_le_bytes(bytes.get(4 * n..4 * n + 4)?.try_into().ok()?));
        let (count, from, blocks) = (word(0)? as usize, word(1)?, word(2)?);
        let to = from.checked_add(blocks).filter(|to| *to <= geometry.blocks() && blocks > 0)?;
        if !from.is_multiple_of(BLOCKS_A_BYTE) || count > bytes.len() / 4 {
            return None;
        }
        let reserved = (0..count).map(|n| word(HEADER / 4 + n).map(Block)).collect::<Option<Vec<Block>>>()?;
        if reserved.iter().any(|block| block.0 >= geometry.blocks()) {
            return None;
        }
        let packed = bytes.get(HEADER + 4 * count..)?.get(..blocks.div_ceil(BLOCKS_A_BYTE) as usize)?.to_vec();
        Some(Self { reserved, from, to, packed })
    }

    /// What a block of its slice holds.
    pub(crate) fn holds(&self, block: Block) -> Option<Holds> {
        let byte = self.packed.get((block.0.checked_sub(self.from)? / BLOCKS_A_BYTE) as usize)?;
        Some(unpacked(*byte, block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_come_back_and_others_are_refused() {
        let geometry = Geometry::new(512, 4, 4_003, 1, 1).unwrap();
        let mut holds = HoldsOfBlocks::new(4_003);
        let all = [Holds::Translation, Holds::Nothing, Holds::User, Holds::Validity, Holds::User];
        (0..4_003).for_each(|block| holds.set(Block(block), all[block as usize % 5]));
        let reserved = [Block(4_002), Block(0), Block(77)];
        let (mut from, mut seen) = (0, 0);
        while from < 4_003 {
            let (bytes, to) = encode(&geometry, &reserved, &holds, from);
            let page = BlockLogPage::decode(&geometry, &bytes).unwrap();
            assert_eq!((page.from, page.to, page.reserved.as_slice()), (from, to, reserved.as_slice()));
            for block in (from..to).map(Block) {
                assert_eq!(page.holds(block), Some(holds.of(block)), "{block}");
                seen += 1;
            }
            from = to;
        }
        assert_eq!(seen, 4_003);
        let (good, _) = encode(&geometry, &reserved, &holds, 4_000);
        // Too many reserved, a slice that begins within a byte or is none, blocks that there are not.
        for (at, word) in [(0, 200u32), (4, 2), (4, 8_000), (8, 4), (8, 0), (8, u32::MAX), (12, 4_003)] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
            assert!(BlockLogPage::decode(&geometry, &bytes).is_none(), "{word} at {at}");
        }
        assert!(BlockLogPage::decode(&geometry, &good[..11]).is_none());
    }
}
