//! Logarithmic Gecko: which pages are stale, logged in flash and merged as in an LSM-tree (GeckoFTL section 3).
//!
//! A *Gecko entry* (figure 3) has a key, a part of a block's bitmap of stale pages, and an *erase flag*: everything
//! older about the block is void. Entries gather in the buffer. A full buffer becomes a *run* on flash, or is merged
//! with runs that are there. A query searches the buffer and then the runs from the newest to the oldest, one page
//! each, and stops at an erase flag.
//!
//! Faithful: buffer, runs, levels, collisions, run directories, entry-partitioning (section 3.3), two-way and multi-way
//! merging (appendix A). Ours, where the paper is silent:
//! - An erase clears what the buffer holds of the block. It inserts one entry, for the block's first part, whatever the
//!   number of parts; merges and queries apply it to all of them.
//! - All entries of a block stand on one page, so that a query reads one page a run.
//! - A merge that includes the oldest run drops erase flags and entries without a bit.
//! - Multi-way merging lets a run take part where what is merged so far may be large enough for its level. With T = 2
//!   that is the paper's policy. With larger T that one would merge large runs with small ones over and over.
//! - A flush is not programmed before everything that it reports on is on flash.
//! - For recovery an entry has a *free flag* as well: nothing in the block is live, and it is not erased yet. Blocks
//!   are erased right before they are written again, so that flash alone would not show it. The entry of the erase
//!   follows.

mod buffer;
mod merge;
mod needs;
mod page;
mod part;
mod restore;
mod run;

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::config::GeckoMerge;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
use buffer::Buffer;
use merge::MergeBuffers;
use page::{GeckoLayout, RunHeader};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Nand, Page, PageRead};
use run::{Run, level_of};

/// Where a page of a run is said to be that the flash did not give back: nowhere.
const LOST_PAGE: Page = Page(u32::MAX);

/// How a Logarithmic Gecko is tuned.
#[derive(Clone, Copy, Debug, Preserve)]
pub(crate) struct Tuning {
    /// T.
    pub(crate) size_ratio: u32,
    /// How runs are merged.
    pub(crate) merge: GeckoMerge,
    layout: GeckoLayout,
    blocks: u32,
}

impl Tuning {
    /// A tuning for a drive; `parts` of 0 means one for each 32 pages of a block (section 3.3).
    ///
    /// # Errors
    /// A page has no room for the entries of two blocks.
    pub(crate) fn new(geometry: &Geometry, size_ratio: u32, parts: u32, merge: GeckoMerge) -> Result<Self, FtlError> {
        let b = geometry.pages_per_block();
        let parts = if parts == 0 { (b / 32).max(1) } else { parts };
        let layout = GeckoLayout::new(geometry, parts.min(b))
            .ok_or(FtlError::Unsupported("a page is too small for the Gecko entries of two blocks: use fewer parts"))?;
        Ok(Self { size_ratio, merge, layout, blocks: geometry.blocks() })
    }

    /// The entries that fill the buffer: V less what keeps all entries of a block on one page.
    pub(crate) fn buffer_entries(&self) -> usize {
        self.layout.entries() - self.layout.parts as usize + 1
    }

    /// Pages of a run that has an entry for every part of every block: no run has more.
    pub(crate) fn longest_run(&self) -> u32 {
        let blocks_per_page = self.layout.entries() as u32 / self.layout.parts;
        self.blocks.div_ceil(blocks_per_page)
    }
}

/// The stale pages of a drive, in flash.
#[derive(Clone, Preserve)]
pub(crate) struct LogarithmicGecko {
    tuning: Tuning,
    pages_per_block: u32,
    barriers: Barriers,
    buffer: Buffer,
    /// Newest first.
    runs: Vec<Run>,
    merging: MergeBuffers,
    page: Vec<u8>,
    /// The bitmap of the block that is queried.
    stale: Vec<u32>,
    /// Flushes so far.
    flushes: u64,
    /// A page of a run could not be read: from now on only the mapping decides which pages are live. Erase flags went
    /// with it, so older runs may speak of pages that are gone.
    damaged: bool,
    /// No run on flash says so yet.
    damage_untold: bool,
    tells_of_leaving: bool,
    tally: Tally,
}

#[derive(Clone, Copy, Default, Preserve)]
struct Tally {
    inserts: u64,
    erases: u64,
    freed: u64,
    queries: u64,
    query_reads: u64,
    merges: u64,
}

impl LogarithmicGecko {
    /// A Gecko of a drive on which nothing is stale.
    pub(crate) fn new(geometry: &Geometry, tuning: Tuning, barriers: Barriers) -> Self {
        let page_bytes = geometry.page_bytes() as usize;
        Self {
            tuning,
            pages_per_block: geometry.pages_per_block(),
            barriers,
            buffer: Buffer::new(tuning.layout, barriers),
            runs: Vec::new(),
            merging: MergeBuffers::new(tuning.layout, page_bytes, barriers),
            page: vec![0; page_bytes],
            stale: vec![0; tuning.layout.parts as usize * tuning.layout.words],
            flushes: 0,
            damaged: false,
            damage_untold: false,
            tells_of_leaving: false,
            tally: Tally::default(),
        }
    }

    /// V: the entries that fill the buffer.
    pub(crate) fn buffer_entries(&self) -> u32 {
        self.tuning.buffer_entries() as u32
    }

    /// A recovery is to find the stale pages: pages that leave a victim are reported to the buffer.
    pub(crate) fn tell_of_leaving(&mut self) {
        self.tells_of_leaving = true;
    }

    #[inline]
    fn set(&mut self, geometry: &Geometry, page: Page) {
        let (block, index) = (geometry.block_of(page).0, geometry.index_of(page));
        let layout = &self.tuning.layout;
        self.buffer.set(block * layout.parts + index / layout.part_bits, index % layout.part_bits);
    }

    /// How many of the newest runs a merge that begins with the buffer is going to reach.
    fn runs_that_will_merge(&self) -> usize {
        let mut pages = 1;
        let mut joining = 0;
        for run in &self.runs {
            if level_of(pages, self.tuning.size_ratio) < run.header.level {
                break;
            }
            pages += run.directory.len();
            joining += 1;
        }
        joining
    }

    /// Merges the newest runs, after the buffer where `with_buffer` says so, into one.
    fn merge<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        with_buffer: bool,
        runs: usize,
        (frozen, scan_from): (u64, ScanFrom),
    ) -> Result<(), FtlError> {
        let merged = &self.runs[..runs];
        let flushes =
            |runs: &[Run]| (runs.last().map(|r| r.header.flushes.0), runs.first().map(|r| r.header.flushes.1));
        let (first, last) = flushes(merged);
        let last = if with_buffer { self.flushes } else { last.unwrap_or(self.flushes) };
        let pages = merged.iter().map(|run| run.directory.len()).sum::<usize>() + usize::from(with_buffer);
        let header = RunHeader {
            level: level_of(pages, self.tuning.size_ratio),
            flushes: (first.unwrap_or(self.flushes), last),
            frozen,
            scan_from,
            damaged: self.damaged && self.barriers.keeps(Barrier::DamageWritten),
        };
        debug_assert!(header.flushes.0 <= header.flushes.1, "a run covers no flush");
        let covers_on = |newest: &Run| newest.header.flushes.1 < self.flushes;
        debug_assert!(!with_buffer || self.runs.first().is_none_or(covers_on), "a flush is covered twice");
        let oldest = runs == self.runs.len() || !self.barriers.keeps(Barrier::FlagsKept);
        let buffer = with_buffer.then_some(&self.buffer);
        let (directory, lost) = self.merging.merge(io, buffer, merged, &header, oldest)?;
        self.tally.merges += u64::from(runs > 0);
        self.damage_untold &= !header.damaged;
        self.damaged |= lost;
        if with_buffer {
            self.buffer.clear();
        }
        let level = level_of(directory.len(), self.tuning.size_ratio);
        let run = Run { header: RunHeader { level, ..header }, directory };
        for old in self.runs.drain(..runs) {
            for entry in old.directory.iter().filter(|entry| entry.page != LOST_PAGE) {
                io.drop_page(entry.page);
            }
        }
        let follows = |older: &Run| older.header.flushes.1 <= run.header.flushes.1;
        debug_assert!(self.runs.first().is_none_or(follows), "an older run covers a later flush");
        self.runs.insert(0, run);
        Ok(())
    }

    /// Whether a page that it takes for stale is, and a block that it takes for free.
    pub(crate) fn is_believed(&self) -> bool {
        !self.damaged || !self.barriers.keeps(Barrier::DamagedGeckoDoubted)
    }

    /// Copies the Gecko pages that are to go.
    fn relocate_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        goes: impl Fn(Page) -> bool,
    ) -> Result<u64, FtlError> {
        let mut copied = 0;
        for run in &mut self.runs {
            for entry in &mut run.directory {
                if !goes(entry.page) {
                    continue;
                }
                let from = entry.page;
                debug_assert!(from != LOST_PAGE, "a page that is nowhere is moved");
                let copy = match io.read_any(from) {
                    PageRead::Written { content: Content::Bytes(bytes), spare, .. } => {
                        self.page.clear();
                        self.page.extend_from_slice(bytes);
                        Some(spare)
                    }
                    _ => None,
                };
                match copy {
                    Some(spare) => {
                        entry.page = io.append_copy(&spare, &self.page)?;
                        copied += 1;
                    }
                    None => {
                        entry.page = LOST_PAGE;
                        (self.damaged, self.damage_untold) = (true, true);
                    }
                }
                io.drop_page(from);
            }
        }
        Ok(copied)
    }
}
