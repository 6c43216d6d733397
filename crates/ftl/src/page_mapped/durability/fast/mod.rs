//! Mounting from the translation pages alone ([`PowerPart::Fast`](crate::PowerPart::Fast)).
//!
//! A block that they name must not be erased while what they name counts. So **a collection flushes before its victim
//! is released**:
//! - The entries of what it has moved, with every integrity method. Their translation pages name the victim, and there
//!   is no other record of where pages went that the host wrote long ago. NOFLUSH and TIMEOUT would lose them besides
//!   what they are said to lose. ([`Barrier::MovedFlushed`](crate::barriers::Barrier::MovedFlushed))
//! - Those of the request in progress, with REQ: the victim may hold what their translation pages name still. A cut in
//!   the middle of the request leaves each of its pages old or new.
//!   ([`Barrier::RequestFlushedBeforeReuse`](crate::barriers::Barrier::RequestFlushedBeforeReuse))
//!
//! It does not flush what NOFLUSH and TIMEOUT have written since they flushed: what their translation pages name may be
//! erased. A recovery sees that the block was begun after the translation page was written, and makes the page a read
//! error. Where it was not erased, the older content comes back. The content of another page never does: the host's
//! read compares the page's key as well.

mod recover;

pub(super) use recover::recover;

use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;

/// The flushes that are due before a victim is released.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct FastRecovery {
    /// Translation pages of the pages that were moved out of victims and are not flushed.
    moved: Vec<u32>,
}

impl FastRecovery {
    pub(crate) fn new(pages_per_block: u32) -> Self {
        Self { moved: Vec::with_capacity(pages_per_block as usize) }
    }

    /// A collection has moved a page whose entry stands in this translation page.
    pub(super) fn moved(&mut self, part: u32) {
        if self.moved.last() != Some(&part) {
            self.moved.push(part);
        }
    }

    /// A translation page of moved pages.
    pub(super) fn next(&self) -> Option<u32> {
        self.moved.last().copied()
    }

    /// That one is flushed.
    pub(super) fn flushed(&mut self) {
        self.moved.pop();
    }

    /// The victim is released.
    pub(super) fn released(&mut self) {
        self.moved.clear();
    }

    /// RAM of the list.
    pub(super) fn bytes(&self) -> u64 {
        self.moved.capacity() as u64 * 4
    }
}
