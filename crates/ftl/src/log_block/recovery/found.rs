//! A log block that a recovery has found.

use super::super::layout::LogicalLayout;
use super::super::pool::Role;
use phelsuma_nand::Block;

/// A log block that a recovery has found, for its scheme to look at.
pub(in super::super) struct FoundLogBlock<'s> {
    /// Its purpose when it was opened, as far as it says.
    pub(in super::super) label: Option<Role>,
    /// Of each page that counts in it the block, the logical page and where it stands; none where the scheme does not
    /// go by pages ([`TAKES_UP_BY_PAGES`](super::super::scheme::Scheme::TAKES_UP_BY_PAGES)).
    pub(super) pages: &'s [(Block, u32, u32)],
}

impl FoundLogBlock<'_> {
    /// The logical block whose pages it holds alone, each at its own offset.
    pub(in super::super) fn in_place(&self, layout: &LogicalLayout) -> Option<u32> {
        let (_, key, _) = self.pages.first()?;
        let (owner, _) = layout.split(*key);
        self.pages.iter().all(|(_, key, index)| layout.split(*key) == (owner, *index)).then_some(owner)
    }
}
