//! The block log: what a mount needs of each block, without reading all of them.
//!
//! A mount of GeckoRec reads the first spare area of every block, which is most of its time on a large drive. The log
//! says the same of all blocks but a few, and which these few are.
//!
//! ```text
//!  page      |  which blocks may be opened from now on  |  slice: what so many blocks hold, 2 bits each  |
//!            |  (the reservation)                       |  the slices go round the drive                 |
//!
//!  a mount   <- reads pages back from the newest, until their slices are the whole drive
//!               and the first spare areas of all blocks that these pages reserve
//! ```
//!
//! - **A block is opened only if the newest page reserves it**, and that page is on flash. All others show what the
//!   newest slice of theirs says, because nothing changes the first page of a block but opening it.
//! - **A page is written when everything before it is on flash**, so its slice is what flash shows. No block is being
//!   opened then.
//! - **Pages stand in a region of their own**, right behind the drive's description. It is a ring. A block is erased
//!   right before its first program, and it is always the oldest one. After a power cut the next page begins a block.
//! - **Pages form a chain**: the version is the chain's name, the key the page's number in it. A chain begins with pages
//!   that together have the whole table. After anything that leaves the log in doubt a new chain begins.
//! - **A mount that finds the log in doubt reads all blocks** (`gecko_rec/log_reader.rs`). No older page is believed
//!   where a newer one may have been.
//! - **A block of the region that fails is marked bad when no page in it counts.** With too few left the log is given up:
//!   the others are marked bad from the oldest on. So the newest page is there as long as any is.

mod page;
mod region;
mod serving;
mod write;

pub(crate) use page::BlockLogPage;
pub(crate) use region::{Region, region_blocks};

use crate::medium::HoldsOfBlocks;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Geometry, Time};

/// Blocks that a page reserves at the most. A mount reads a spare area of each.
const RESERVED_MAX: u32 = 256;

/// How many blocks a page reserves at the most: they take a quarter of it.
fn reserved_max(geometry: &Geometry) -> u32 {
    RESERVED_MAX.min(geometry.page_bytes() / 16)
}

/// Pages that together have the whole table.
pub(crate) fn pages_of_table(geometry: &Geometry) -> u32 {
    geometry.blocks().div_ceil(page::room(geometry, reserved_max(geometry)))
}

/// The block of the region that is being written.
#[derive(Clone, Copy, Debug, Preserve)]
struct Writing {
    block: Block,
    /// Its next page.
    next: u32,
    /// When its erase has completed.
    ready: Time,
}

/// A block log as a mount has found it.
pub(crate) struct FoundLog {
    /// The block with the newest page that can be read.
    pub(crate) newest: Block,
    /// The block in front of the one to be written next: that one, or the last in which something may have been written
    /// since.
    pub(crate) written_to: Block,
    /// Its chain, if that can be continued.
    pub(crate) chain: Option<FoundChain>,
}

/// A chain that can be continued.
pub(crate) struct FoundChain {
    pub(crate) version: u64,
    /// The number of the newest page.
    pub(crate) number: u32,
    /// The end of its slice.
    pub(crate) slice_end: u32,
    /// The blocks that may be opened.
    pub(crate) reserved: Vec<Block>,
}

/// The block log of a drive that serves.
#[derive(Clone, Debug, Preserve)]
pub(crate) struct BlockLog {
    /// What the first page of each block shows.
    holds: HoldsOfBlocks,
    /// The blocks that the newest page reserves, ascending.
    reserved: Vec<Block>,
    chain: u64,
    /// The number of the next page in the chain.
    number: u32,
    /// The first block of the next slice.
    slice: u32,
    /// Of how many blocks the chain has no slice yet.
    uncovered: u32,
    writing: Writing,
    /// The block with the newest page.
    newest: Block,
    /// Blocks in which a program failed.
    failing: Vec<Block>,
    /// Pages written.
    pages: u64,
}

impl BlockLog {
    /// A log over blocks that hold this, as it was found, or that begins anew with chain `anew`.
    fn new(geometry: &Geometry, holds: HoldsOfBlocks, found: FoundLog, anew: u64) -> Self {
        let full = Writing { block: found.written_to, next: geometry.pages_per_block(), ready: Time::ZERO };
        let uncovered = if found.chain.is_some() { 0 } else { geometry.blocks() };
        let first = FoundChain { version: anew, number: u32::MAX, slice_end: 0, reserved: Vec::new() };
        let FoundChain { version, number, slice_end, mut reserved } = found.chain.unwrap_or(first);
        reserved.sort_unstable();
        Self {
            holds,
            reserved,
            chain: version,
            number: number.wrapping_add(1),
            slice: slice_end % geometry.blocks(),
            uncovered,
            writing: full,
            newest: found.newest,
            failing: Vec::new(),
            pages: 0,
        }
    }

    fn is_reserved(&self, block: Block) -> bool {
        self.reserved.binary_search(&block).is_ok()
    }

    /// A new chain begins.
    fn begin_chain(&mut self, version: u64) {
        debug_assert!(version > self.chain, "chains go back");
        (self.chain, self.number) = (version, 0);
        self.uncovered = self.holds.blocks();
        self.reserved.clear();
    }
}
