//! The result of a recovery's scan for a validity store on flash, and the store's state of blocks then.

use alloc::vec::Vec;
use phelsuma_nand::{Page, Spare};

/// A page of the store, found by its spare area.
#[derive(Clone, Copy)]
pub(crate) struct StorePage {
    pub(crate) version: u64,
    pub(crate) key: u32,
    pub(crate) seq: u64,
    pub(crate) page: Page,
}

/// The pages of the store on a drive.
#[derive(Clone, Default)]
pub(crate) struct ValidityScan {
    pub(crate) pages: Vec<StorePage>,
    /// A page of it has gone bad that cannot say any more what it was, programmed before this: the last such page.
    pub(crate) gone_bad: Option<u64>,
}

impl ValidityScan {
    /// A page has gone bad that was programmed before this.
    pub(crate) fn note_gone_bad(&mut self, before: u64) {
        self.gone_bad = self.gone_bad.max(Some(before));
    }

    /// A page whose spare area says that it is the store's.
    pub(crate) fn note(&mut self, page: Page, spare: &Spare) {
        self.pages.push(StorePage { version: spare.version, key: spare.key, seq: spare.seq, page });
    }

    /// When the last page found was programmed, in program order; 0 where there is none.
    pub(crate) fn programmed_last(&self) -> u64 {
        self.pages.iter().map(|page| page.seq).max().unwrap_or(0)
    }

    /// Its RAM.
    pub(crate) fn bytes(&self) -> usize {
        self.pages.capacity() * size_of::<StorePage>()
    }

    /// The same without some pages.
    pub(crate) fn without(&self, pages: &[Page]) -> Self {
        let others = self.pages.iter().filter(|found| !pages.contains(&found.page));
        Self { pages: others.copied().collect(), gone_bad: self.gone_bad }
    }
}

/// The store's state of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct BlockValidity {
    /// Pages known to be stale.
    pub(crate) stale: u16,
    /// Nothing in it was live at the last report.
    pub(crate) free: bool,
}
