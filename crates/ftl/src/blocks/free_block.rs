//! A free block: one that was erased in advance, and one that is about to be opened.

use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Time};

/// A block that was erased in advance.
#[derive(Clone, Copy, Debug, Preserve)]
pub(super) struct Blank {
    pub(super) block: Block,
    /// When its erase has completed; none where it was found blank.
    pub(super) erased: Option<Time>,
    /// What its first page is to say of erases, where wear is levelled.
    pub(super) opened: u32,
}

/// A free block that was taken to be opened.
pub(super) struct Taken {
    pub(super) block: Block,
    /// When it is known which.
    pub(super) at: Time,
    /// When its erase has completed, if it need not be erased.
    pub(super) erased: Option<Time>,
}
