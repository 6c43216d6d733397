//! MiDAS's groups of blocks: how many there are, and how large each may be.

use phelsuma_nand::state::Preserve;

/// The most groups that blocks may be divided into.
pub(in crate::policy) const GROUPS_MAX: usize = 10;

/// The groups that blocks are divided into, by stream: group g is written by stream g, and the last one by all streams
/// from there on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Preserve)]
pub(in crate::policy) struct Groups {
    /// How many there are; 0 where there is no such thing yet.
    pub(in crate::policy) count: u8,
    /// How many written blocks each may have; the last has the rest.
    pub(in crate::policy) limits: [u32; GROUPS_MAX],
}

impl Groups {
    /// The group of pages that were written by this stream.
    pub(in crate::policy) fn of(&self, stream: u8) -> usize {
        debug_assert!(usize::from(self.count) <= GROUPS_MAX, "there are more groups than there can be");
        usize::from(stream.min(self.count.saturating_sub(1)))
    }
}
