//! News: events of blocks that were not yet passed on to the parts of an FTL.
//!
//! A block may be closed, erased or emptied while a part is working with the flash. It is noted here, and the
//! composition passes it on when the part is done.

use crate::RamLedger;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Page};

/// Something that happened to a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Preserve)]
pub(crate) enum Item {
    /// It is full, or will not be written any further: a candidate.
    Closed(Block),
    /// A page of it is live no longer.
    Lowered(Block),
    /// It was erased.
    Erased(Block),
    /// Nothing in it is live, and it waits for its erase.
    Freed(Block),
    /// A program failed here, or an SLC block has no room from here on: whatever the page says, it holds nothing, nor do
    /// those behind it.
    Failed(Page),
    /// A metadata block whose pages are all stale.
    Emptied(Block),
}

/// Events, oldest first.
#[derive(Clone, Debug, Default, Preserve)]
pub(crate) struct News {
    items: Vec<Item>,
    read: usize,
    /// Whether a part needs erases and failures.
    of_erases: bool,
}

impl News {
    pub(crate) fn tell_of_erases(&mut self) {
        self.of_erases = true;
    }

    #[inline]
    pub(crate) fn closed(&mut self, block: Block) {
        self.items.push(Item::Closed(block));
    }

    pub(crate) fn lowered(&mut self, block: Block) {
        self.items.push(Item::Lowered(block));
    }

    #[inline]
    pub(crate) fn erased(&mut self, block: Block) {
        if self.of_erases {
            self.items.push(Item::Erased(block));
        }
    }

    pub(crate) fn freed(&mut self, block: Block) {
        self.items.push(Item::Freed(block));
    }

    pub(crate) fn failed(&mut self, page: Page) {
        if self.of_erases {
            self.items.push(Item::Failed(page));
        }
    }

    pub(crate) fn emptied(&mut self, block: Block) {
        self.items.push(Item::Emptied(block));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The oldest that was not passed on yet.
    pub(crate) fn next(&self) -> Option<Item> {
        self.items.get(self.read).copied()
    }

    /// The oldest was passed on. One that could not be passed on stays: a block's old marks may not outlive its erase.
    pub(crate) fn heard(&mut self) {
        debug_assert!(self.read < self.items.len(), "news are heard that there are not");
        self.read += 1;
        if self.read >= self.items.len() {
            self.items.clear();
            self.read = 0;
        }
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        ledger.index("buffer.news", (self.items.capacity() * size_of::<Item>()) as u64);
    }
}
