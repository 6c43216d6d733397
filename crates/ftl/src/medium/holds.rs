//! What the blocks of a drive hold, at two bits a block.

use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Kind};

/// The content of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Holds {
    /// Nothing that was written since it was erased.
    Nothing,
    User,
    Translation,
    /// Pages of the validity store.
    Validity,
}

impl Holds {
    /// The content of a block whose first page is of this kind.
    pub(crate) fn of(kind: Kind) -> Self {
        match kind {
            Kind::User => Self::User,
            Kind::Translation | Kind::MappingLog => Self::Translation,
            Kind::Gecko | Kind::ValidityLog => Self::Validity,
            Kind::Tombstone | Kind::Anchor | Kind::Bitmap | Kind::Map | Kind::Summary | Kind::Tree | Kind::BlockLog => {
                Self::Nothing
            }
        }
    }
}

/// Blocks whose content stands in one byte.
pub(crate) const BLOCKS_A_BYTE: u32 = 4;

/// The content of every block.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct HoldsOfBlocks {
    /// Four blocks a byte.
    packed: Vec<u8>,
    blocks: u32,
}

impl HoldsOfBlocks {
    /// Nothing is known of so many blocks.
    pub(crate) fn new(blocks: u32) -> Self {
        Self { packed: vec![0; blocks.div_ceil(BLOCKS_A_BYTE) as usize], blocks }
    }

    pub(crate) fn of(&self, block: Block) -> Holds {
        unpacked(self.packed[block.index() / 4], block)
    }

    /// Of how many blocks.
    pub(crate) fn blocks(&self) -> u32 {
        self.blocks
    }

    /// The bytes of the blocks from `from` on, which begins a byte, up to `to`.
    pub(crate) fn packed(&self, from: u32, to: u32) -> &[u8] {
        debug_assert!(from.is_multiple_of(BLOCKS_A_BYTE) && from <= to, "a slice begins within a byte");
        &self.packed[(from / BLOCKS_A_BYTE) as usize..to.div_ceil(BLOCKS_A_BYTE) as usize]
    }

    pub(crate) fn set(&mut self, block: Block, holds: Holds) {
        let byte = &mut self.packed[block.index() / 4];
        *byte = *byte & !(3 << shift(block)) | (holds as u8) << shift(block);
    }

    /// The blocks with this content, in the order of their numbers.
    pub(crate) fn with(&self, content: Holds) -> impl Iterator<Item = Block> + '_ {
        (0..self.blocks).map(Block).filter(move |block| self.of(*block) == content)
    }

    /// Its RAM.
    pub(crate) fn bytes(&self) -> usize {
        self.packed.capacity()
    }
}

/// What a byte of four blocks says of this one.
pub(crate) fn unpacked(byte: u8, block: Block) -> Holds {
    match byte >> shift(block) & 3 {
        0 => Holds::Nothing,
        1 => Holds::User,
        2 => Holds::Translation,
        _ => Holds::Validity,
    }
}

fn shift(block: Block) -> u32 {
    block.0 % 4 * 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_do_not_touch_each_other() {
        let all = [Holds::Nothing, Holds::User, Holds::Translation, Holds::Validity];
        let mut holds = HoldsOfBlocks::new(9);
        for (block, content) in (0..9).map(Block).zip(all.into_iter().cycle()) {
            holds.set(block, Holds::Validity);
            holds.set(block, content);
        }
        for (block, content) in (0..9).map(Block).zip(all.into_iter().cycle()) {
            assert_eq!(holds.of(block), content, "{block}");
        }
        assert_eq!(holds.with(Holds::User).collect::<Vec<_>>(), [Block(1), Block(5)]);
        assert_eq!(holds.bytes(), 3);
    }
}
