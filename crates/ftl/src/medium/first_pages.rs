//! The spare area of each block's first page, as a recovery met it: for notes on blocks and for wear.

use super::marks::SpareMarks;
use alloc::collections::BTreeMap;
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
pub(crate) enum FirstPages {
    /// Nothing is noted of blocks.
    #[default]
    Unwanted,
    /// A place for each block.
    OfAll(Vec<Option<FirstPage>>),
    /// Few are read.
    OfFew(BTreeMap<Block, FirstPage>),
}

impl FirstPages {
    /// Of a drive of so many blocks, if anything is noted of blocks.
    pub(crate) fn new(blocks: u32, wanted: bool) -> Self {
        if wanted { Self::OfAll(vec![None; blocks as usize]) } else { Self::Unwanted }
    }

    /// Of a drive on which a recovery reads few, mostly.
    pub(crate) fn of_few(wanted: bool) -> Self {
        if wanted { Self::OfFew(BTreeMap::new()) } else { Self::Unwanted }
    }

    /// The first page of a block says this.
    #[inline]
    pub(crate) fn read(&mut self, block: Block, spare: &Spare) {
        let found =
            || FirstPage { version: spare.version, stream: spare.stream, erases: SpareMarks::of(spare).erase_count() };
        match self {
            Self::Unwanted => {}
            Self::OfAll(pages) => {
                if let Some(slot) = pages.get_mut(block.index()) {
                    *slot = Some(found());
                }
            }
            Self::OfFew(pages) => {
                pages.insert(block, found());
            }
        }
    }

    /// The findings, in the order of the blocks.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Block, &FirstPage)> {
        let (all, few) = match self {
            Self::Unwanted => (None, None),
            Self::OfAll(pages) => (Some(pages), None),
            Self::OfFew(pages) => (None, Some(pages)),
        };
        let all = (0..).map(Block).zip(all.into_iter().flatten());
        let all = all.filter_map(|(block, found)| Some((block, found.as_ref()?)));
        all.chain(few.into_iter().flatten().map(|(block, found)| (*block, found)))
    }

    /// What the first page of a block says, if it was read.
    pub(crate) fn of(&self, block: Block) -> Option<&FirstPage> {
        match self {
            Self::Unwanted => None,
            Self::OfAll(pages) => pages.get(block.index())?.as_ref(),
            Self::OfFew(pages) => pages.get(&block),
        }
    }

    /// The erase count in a block's first page, if there is one.
    pub(crate) fn erases_of(&self, block: Block) -> Option<u32> {
        Some(self.of(block)?.erases).filter(|erases| *erases > 0)
    }

    /// RAM that it takes, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::Unwanted => 0,
            Self::OfAll(pages) => pages.capacity() * size_of::<Option<FirstPage>>(),
            // A node of the tree is at least half full.
            Self::OfFew(pages) => pages.len() * size_of::<(Block, FirstPage)>() * 2,
        };
        bytes as u64
    }
}
