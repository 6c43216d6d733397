//! The state of a recovery at work.

use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Page, Spare};

/// Flash operations outside a recovery's steps, until they are added to its report.
#[derive(Clone, Copy, Default, Debug, Preserve)]
pub(crate) struct Unreported {
    pub(crate) reads: u64,
    pub(crate) spare_reads: u64,
    pub(crate) programs: u64,
}

/// While the drive is being mounted.
#[derive(Clone, Default, Debug, Preserve)]
pub(crate) struct Mounting {
    /// Operations since they were last added to the report.
    pub(crate) counts: Unreported,
    /// Suspect metadata pages that were read: it may have been the last time that they read well.
    pub(crate) read_before: Vec<(Page, Spare, Vec<u8>)>,
}

impl Mounting {
    /// Keeps a page of metadata where parts read theirs.
    pub(crate) fn keep(&mut self, page: Page, spare: Spare, bytes: Vec<u8>) {
        debug_assert!(self.read_before.iter().all(|(kept, ..)| *kept != page), "{page} is kept twice");
        self.read_before.push((page, spare, bytes));
    }

    /// Copies of all of them are on flash.
    pub(crate) fn let_go(&mut self) {
        self.read_before = Vec::new();
    }

    /// A block was erased.
    pub(crate) fn erased(&mut self, geometry: &Geometry, block: Block) {
        self.read_before.retain(|(page, ..)| geometry.block_of(*page) != block);
    }
}
