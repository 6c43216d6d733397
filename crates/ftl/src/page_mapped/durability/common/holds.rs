//! What the blocks of a drive hold, at two bits a block.

use alloc::vec;
use alloc::vec::Vec;
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
    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::User => Self::User,
            Kind::Translation | Kind::MappingLog => Self::Translation,
            Kind::Gecko | Kind::ValidityLog => Self::Validity,
            Kind::Tombstone | Kind::Anchor | Kind::Bitmap | Kind::Map | Kind::Summary | Kind::Tree => Self::Nothing,
        }
    }
}

/// The content of every block.
pub(super) struct HoldsOfBlocks {
    /// Four blocks a byte.
    packed: Vec<u8>,
    blocks: u32,
}

impl HoldsOfBlocks {
    /// Nothing is known of so many blocks.
    pub(super) fn new(blocks: u32) -> Self {
        Self { packed: vec![0; blocks.div_ceil(4) as usize], blocks }
    }

    pub(super) fn of(&self, block: Block) -> Holds {
        match self.packed[block.index() / 4] >> shift(block) & 3 {
            0 => Holds::Nothing,
            1 => Holds::User,
            2 => Holds::Translation,
            _ => Holds::Validity,
        }
    }

    pub(super) fn set(&mut self, block: Block, holds: Holds) {
        let byte = &mut self.packed[block.index() / 4];
        *byte = *byte & !(3 << shift(block)) | (holds as u8) << shift(block);
    }

    /// The blocks with this content, in the order of their numbers.
    pub(super) fn with(&self, content: Holds) -> impl Iterator<Item = Block> + '_ {
        (0..self.blocks).map(Block).filter(move |block| self.of(*block) == content)
    }

    /// Its RAM.
    pub(super) fn bytes(&self) -> usize {
        self.packed.capacity()
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
