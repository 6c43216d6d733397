//! What an observer sees of an FTL: its blocks and runs, from the FTL's RAM, and its extents.
//!
//! For people who watch a drive at work. No FTL uses any of this, and looking costs no flash operation. But extents are
//! on flash, so looking at them takes a copy of it.

use alloc::vec::Vec;
use phelsuma_nand::{Kind, LogicalPage};

/// The present use of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BlockState {
    /// Nothing in it is live: it is erased when it is opened.
    Free,
    /// Nothing in it is live, and it must not be erased yet.
    Held,
    /// It is being written.
    Open,
    /// It is written.
    Written,
    /// It is not used any more, or is about to be marked bad. (A block that holds the drive's description is written.)
    #[default]
    Bad,
}

/// The writes that a log block takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LogLook {
    /// All of them, or those that are of neither kind below: of LAST++ the cold partition.
    Log,
    /// Pages that were overwritten often: LAST++'s hot partition.
    Hot,
    /// Long requests, in place: LAST++'s sequential log blocks.
    Sequential,
}

/// A block, as its FTL has it in RAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BlockLook {
    /// Its present use.
    pub state: BlockState,
    /// What its pages are; none of a block that is not in use.
    pub kind: Option<Kind>,
    /// Pages of it that count as live; none where this FTL does not count those of this block. Stale pages that a lazy
    /// mapping has not identified count as live.
    pub live_pages: Option<u16>,
    /// The writes that it takes; none of a block that is no log block.
    pub log: Option<LogLook>,
}

/// An extent of a µ-Tree: logical pages that follow each other on flash (µ-FTL section 4.2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtentLook {
    /// The first of them.
    pub first: LogicalPage,
    /// How many there are.
    pub pages: u32,
}

/// A run of Logarithmic Gecko, as its directory in RAM has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunLook {
    /// Its level (GeckoFTL section 3).
    pub level: u8,
    /// Its pages.
    pub pages: u32,
    /// The flushes of the buffer that it covers: the first and the last.
    pub flushes: (u64, u64),
}

/// A Logarithmic Gecko.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GeckoLook {
    /// Entries in the buffer.
    pub buffered_entries: u32,
    /// Entries that fill it.
    pub buffer_entries: u32,
    /// Its runs, newest first.
    pub runs: Vec<RunLook>,
}

/// A write cache at a moment, in pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheLook {
    /// Pages that it has room for.
    pub capacity: u32,
    /// Pages that are newer in it than on flash.
    pub dirty: u32,
}
