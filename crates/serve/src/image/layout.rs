//! Where in the file everything stands.

use super::ImageError;
use super::record::RECORD_BYTES;
use phelsuma_nand::Geometry;

/// Bytes of a copy of the header.
pub(super) const HEADER_BYTES: usize = 4096;
/// Bytes of a mark that says whether a block is bad.
pub(super) const MARK_BYTES: usize = 8;
/// What areas begin at a multiple of.
const ALIGN: u64 = 4096;
/// The data begin at a multiple of this: the largest page.
const DATA_ALIGN: u64 = 65_536;
/// The most slots that an image may have, whatever a header says. It bounds the memory, since some is kept for each.
pub(super) const SLOTS_MAX: u64 = 1 << 26;

/// The places of a file's areas, in bytes from its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) blocks: u32,
    pub(super) slots: u32,
    pages_per_block: u32,
    page_bytes: u32,
    slots_at: u64,
    pages_at: u64,
    data_at: u64,
    pub(super) file_bytes: u64,
}

impl Layout {
    /// The layout of a drive of this shape with so many slots.
    pub(super) fn new(geometry: &Geometry, slots: u32) -> Result<Self, ImageError> {
        let blocks = geometry.blocks();
        if slots <= blocks || u64::from(slots) > SLOTS_MAX {
            let least = u64::from(blocks) + 1;
            let right = format!("{slots} slots for {blocks} blocks: must be from {least} to {SLOTS_MAX}");
            return Err(ImageError::Absurd(right));
        }
        let pages = u64::from(slots) * u64::from(geometry.pages_per_block());
        let slots_at = marks_at() + (u64::from(blocks) * MARK_BYTES as u64).next_multiple_of(ALIGN);
        let pages_at = slots_at + (u64::from(slots) * RECORD_BYTES as u64).next_multiple_of(ALIGN);
        let data_at = (pages_at + pages * RECORD_BYTES as u64).next_multiple_of(DATA_ALIGN);
        Ok(Self {
            blocks,
            slots,
            pages_per_block: geometry.pages_per_block(),
            page_bytes: geometry.page_bytes(),
            slots_at,
            pages_at,
            data_at,
            file_bytes: data_at + pages * u64::from(geometry.page_bytes()),
        })
    }

    /// The place of a page in the numbering of all pages of all slots.
    #[inline]
    pub(super) fn place(&self, slot: u32, index: u32) -> u64 {
        u64::from(slot) * u64::from(self.pages_per_block) + u64::from(index)
    }

    /// The mark of a block.
    pub(super) fn mark_at(&self, block: u32) -> u64 {
        marks_at() + u64::from(block) * MARK_BYTES as u64
    }

    /// The record of a slot.
    #[inline]
    pub(super) fn slot_at(&self, slot: u32) -> u64 {
        self.slots_at + u64::from(slot) * RECORD_BYTES as u64
    }

    /// The record of a page.
    #[inline]
    pub(super) fn page_at(&self, slot: u32, index: u32) -> u64 {
        self.pages_at + self.place(slot, index) * RECORD_BYTES as u64
    }

    /// The data of a page.
    #[inline]
    pub(super) fn data_at(&self, slot: u32, index: u32) -> u64 {
        self.data_at + self.place(slot, index) * u64::from(self.page_bytes)
    }

    /// Bytes of a page's data.
    pub(super) fn page_bytes(&self) -> usize {
        self.page_bytes as usize
    }

    /// Bytes of all page records of a slot: they stand one behind the other.
    pub(super) fn run_bytes(&self) -> usize {
        self.pages_per_block as usize * RECORD_BYTES
    }
}

/// Where a copy of the header stands.
pub(super) fn header_at(copy: u64) -> u64 {
    copy % 2 * HEADER_BYTES as u64
}

/// Where the marks of bad blocks begin: behind both copies of the header.
fn marks_at() -> u64 {
    2 * HEADER_BYTES as u64
}
