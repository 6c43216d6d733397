//! From where on a recovery has to scan.

use crate::blocks::Blocks;
use phelsuma_nand::state::Preserve;

/// From where on a recovery has to scan: everything before is in translation pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Preserve)]
pub(crate) struct ScanFrom {
    /// The seq after which user pages may be unknown to their translation pages.
    pub(crate) after: u64,
    /// The lowest seq of the first page of a block that was open then: those written later have higher ones.
    pub(crate) oldest_open: u64,
}

impl ScanFrom {
    /// No page is so young.
    pub(crate) const NOTHING: Self = Self { after: u64::MAX - 1, oldest_open: u64::MAX };

    /// From where on a recovery would have to scan that begins with the writes from now on.
    pub(crate) fn now(blocks: &Blocks) -> Self {
        Self { after: blocks.clock.seq(), oldest_open: blocks.oldest_open() }
    }

    /// From where on both are looked at.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { after: self.after.min(other.after), oldest_open: self.oldest_open.min(other.oldest_open) }
    }
}
