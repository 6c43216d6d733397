//! The state of a log block in RAM.

use super::pool::Role;
use alloc::vec::Vec;
use phelsuma_nand::Block;
use phelsuma_nand::state::Preserve;

/// No logical block, no logical page, no slot.
pub(super) const NONE: u32 = u32::MAX;

/// No logical block: the owner of a log block that all share.
pub(super) const NOBODY: u32 = NONE;

/// A log block.
#[derive(Clone, Debug, Preserve)]
pub(super) struct LogBlock {
    pub(super) block: Block,
    /// Its purpose when it was opened.
    pub(super) role: Role,
    /// No page of it was programmed earlier, in program order.
    pub(super) first_seq: u64,
    /// The logical block that has it to itself; [`NOBODY`] where all share it.
    pub(super) owner: u32,
    /// The page that is written next.
    pub(super) next: u32,
    /// Pages that the host's writes took.
    pub(super) used: u32,
    /// Those that are the newest of their logical page.
    pub(super) live: u32,
    /// Pages copied in front of, or between, those of the host.
    pub(super) copied: u32,
    /// Nothing more is written to it: it is full, a program failed, or a power cut may have met its last page.
    pub(super) closed: bool,
    /// Every page so far stands at its own offset in its owner.
    pub(super) in_place: bool,
    /// By page: the logical page that the host wrote there.
    pub(super) keys: Vec<u32>,
}
