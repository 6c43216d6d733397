//! A version of a translation page.

use super::mount::FoundPage;
use phelsuma_nand::Page;

/// A version of a translation page, and what else its spare area says that a recovery needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TranslationVersion<T> {
    pub(crate) page: Page,
    /// When it was synchronized, in program order: older pages of its range on flash are in it or overruled.
    pub(crate) synchronized: u64,
    /// When this copy was programmed.
    pub(crate) seq: u64,
    pub(crate) says: T,
}

impl<T> TranslationVersion<T> {
    pub(crate) fn of(found: &FoundPage, says: T) -> Self {
        let FoundPage { page, spare } = *found;
        Self { page, synchronized: spare.version, seq: spare.seq, says }
    }

    /// What orders versions, and copies of one.
    pub(crate) fn order(&self) -> (u64, u64) {
        (self.synchronized, self.seq)
    }

    /// Whether this copy was programmed before that moment.
    pub(crate) fn is_programmed_before(&self, seq: u64) -> bool {
        self.seq < seq
    }

    /// Whether a page holds a newer version of the same.
    pub(crate) fn is_before(&self, found: &FoundPage) -> bool {
        self.order() < (found.spare.version, found.spare.seq)
    }
}
