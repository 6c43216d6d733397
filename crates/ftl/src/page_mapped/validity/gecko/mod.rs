//! Logarithmic Gecko: which pages are stale, logged in flash and merged as in an LSM-tree (GeckoFTL section 3).
//!
//! A *Gecko entry* (figure 3) has a key, a part of a block's bitmap of stale pages, and an *erase flag*: everything
//! older about the block is void. Entries gather in the buffer. A full buffer becomes a *run* on flash, or is merged
//! with runs that are there. A query searches the buffer and then the runs from the newest to the oldest, one page
//! each, and stops at an erase flag.
//!
//! Faithful: buffer, entry-partitioning (section 3.3), and what `runs` lists. Ours, where the paper is silent:
//! - An erase clears what the buffer holds of the block. It inserts one entry, for the block's first part, whatever the
//!   number of parts; merges and queries apply it to all of them.
//! - All entries of a block stand on one page, so that a query reads one page a run.
//! - A flush is not programmed before everything that it reports on is on flash.
//! - For recovery an entry has a *free flag* as well: nothing in the block is live, and it is not erased yet. Blocks
//!   are erased right before they are written again, so that flash alone would not show it. The entry of the erase
//!   follows.

mod part;
mod restore;
#[cfg(test)]
mod tests;

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Buffer, Combined, SortedRuns, Tuning};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, Kind, Nand, Page};

/// The moments in a run's header: from where on a recovery has to scan if it is of the last flush.
fn scan_from([after, oldest_open]: [u64; 2]) -> ScanFrom {
    ScanFrom { after, oldest_open }
}

/// The stale pages of a drive, in flash.
#[derive(Clone, Preserve)]
pub(crate) struct LogarithmicGecko {
    pages_per_block: u32,
    barriers: Barriers,
    buffer: Buffer,
    /// Its runs. Once a page of one could not be read, only the mapping decides which pages are live.
    sorted: SortedRuns,
    /// With so many entries in the buffer it is flushed, or a slice of a merge is due.
    due_at: usize,
    /// The bitmap of the block that is queried.
    stale: Vec<u32>,
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
}

impl LogarithmicGecko {
    /// A Gecko of a drive on which nothing is stale.
    pub(crate) fn new(geometry: &Geometry, tuning: Tuning, barriers: Barriers) -> Self {
        Self {
            pages_per_block: geometry.pages_per_block(),
            barriers,
            buffer: Buffer::new(tuning.layout, barriers),
            sorted: SortedRuns::new(geometry, tuning, Kind::Gecko, barriers),
            due_at: tuning.buffer_entries(),
            stale: vec![0; tuning.layout.parts as usize * tuning.layout.words],
            tells_of_leaving: false,
            tally: Tally::default(),
        }
    }

    /// V: the entries that fill the buffer.
    pub(crate) fn buffer_entries(&self) -> u32 {
        self.sorted.tuning.buffer_entries() as u32
    }

    /// A recovery is to find the stale pages: pages that leave a victim are reported to the buffer.
    pub(crate) fn tell_of_leaving(&mut self) {
        self.tells_of_leaving = true;
    }

    #[inline]
    fn set(&mut self, geometry: &Geometry, page: Page) {
        let (block, index) = (geometry.block_of(page).0, geometry.index_of(page));
        let layout = &self.sorted.tuning.layout;
        self.buffer.set(block * layout.parts + index / layout.part_bits, index % layout.part_bits);
    }

    /// Entries were added to the buffer: it is flushed if it is full, and slices of merges are done that are due.
    #[inline]
    fn added<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if self.buffer.len() < self.due_at { Ok(()) } else { self.work(io) }
    }

    fn work<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if self.buffer.is_full() {
            return self.flush_buffer(io);
        }
        self.sorted.go_on(io, &mut Combined)?;
        self.due_at = self.sorted.due_after(self.buffer.len());
        Ok(())
    }

    /// Turns the buffer into a run, which small runs join at once, and begins the merges that follow from it.
    fn flush_buffer<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        // Successors of pages that are reported stale must be on flash, and blocks that are reported erased be erased.
        io.barrier(Barrier::ReportsAfterReplacements);
        let (frozen, ScanFrom { after, oldest_open }) = io.flush_marks();
        self.sorted.flush(io, &self.buffer, &mut Combined, (frozen, [after, oldest_open]))?;
        self.buffer.clear();
        io.flushed();
        self.sorted.flushed(io, &mut Combined)?;
        self.due_at = self.sorted.due_after(0);
        Ok(())
    }

    /// Whether a page that it takes for stale is, and a block that it takes for free.
    pub(crate) fn is_believed(&self) -> bool {
        !self.sorted.damaged || !self.barriers.keeps(Barrier::DamagedGeckoDoubted)
    }
}
