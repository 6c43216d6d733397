//! The spare area of each block's first page, as a recovery met it: for notes on blocks and for wear.

use super::marks::SpareMarks;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Spare};

/// The kept part of a spare area.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FirstPage {
    pub(crate) version: u64,
    pub(crate) stream: u8,
    pub(crate) erases: u32,
}

/// By block: the spare area of its first page, as a recovery met it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstPages {
    pages: Vec<Option<FirstPage>>,
}

impl FirstPages {
    /// Of a drive of so many blocks, if anything is noted of blocks.
    pub(crate) fn new(blocks: u32, wanted: bool) -> Self {
        Self { pages: if wanted { vec![None; blocks as usize] } else { Vec::new() } }
    }

    /// The first page of a block says this.
    #[inline]
    pub(crate) fn read(&mut self, block: Block, spare: &Spare) {
        if let Some(slot) = self.pages.get_mut(block.index()) {
            *slot = Some(FirstPage {
                version: spare.version,
                stream: spare.stream,
                erases: SpareMarks::of(spare).erase_count(),
            });
        }
    }

    /// The findings, in the order of the blocks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Block, &FirstPage)> {
        let blocks = (0..).map(Block).zip(&self.pages);
        blocks.filter_map(|(block, found)| Some((block, found.as_ref()?)))
    }

    /// What the first page of a block says, if it was read.
    pub(crate) fn of(&self, block: Block) -> Option<&FirstPage> {
        self.pages.get(block.index())?.as_ref()
    }

    /// The erase count in a block's first page, if there is one.
    pub(crate) fn erases_of(&self, block: Block) -> Option<u32> {
        Some(self.of(block)?.erases).filter(|erases| *erases > 0)
    }

    /// RAM that it takes, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        (self.pages.capacity() * size_of::<Option<FirstPage>>()) as u64
    }
}
