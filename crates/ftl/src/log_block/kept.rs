//! Suspect pages that a recovery has read: it may have been the last time that they read well.

use crate::medium::Owned;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Page, Spare};

/// A page with its reading.
pub(super) type KeptPage = (Page, Spare, Owned);

/// Pages with their readings.
#[derive(Clone, Default, Preserve)]
pub(super) struct Kept(pub(super) Vec<KeptPage>);

impl Kept {
    /// The reading of a page, if it is one of them.
    #[inline]
    pub(super) fn get(&self, page: Page) -> Option<&KeptPage> {
        self.0.iter().find(|(kept, ..)| *kept == page)
    }

    /// RAM, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let bytes = self.0.iter().map(|(.., data)| match data.content() {
            Content::Bytes(bytes) => bytes.len(),
            Content::Hollow(_) => 0,
        });
        self.0.capacity() * size_of::<KeptPage>() + bytes.sum::<usize>()
    }
}
