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
//! - A merge of more than a few pages is done in slices while the buffer fills (`slices.rs`).
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
mod slices;
mod sort;
#[cfg(test)]
mod tests;

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::config::GeckoMerge;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec;
use alloc::vec::Vec;
use buffer::Buffer;
use core::ops::Range;
use merge::{MergeBuffers, RunMerge};
use page::{GeckoLayout, GeckoPageBuilder, RunHeader};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Content, Geometry, Nand, Page, PageRead};
use run::{Run, level_of};
use slices::{MERGED_AT_ONCE, Slices, inputs_of};

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
    /// The page that a merge at once fills.
    output: GeckoPageBuilder,
    slices: Slices,
    /// With so many entries in the buffer it is flushed, or a slice of a merge is due.
    due_at: usize,
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
            merging: MergeBuffers::new(tuning.layout, barriers),
            output: GeckoPageBuilder::new(tuning.layout, page_bytes),
            slices: Slices::new(GeckoPageBuilder::new(tuning.layout, page_bytes)),
            due_at: tuning.buffer_entries(),
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

    /// Entries were added to the buffer: it is flushed if it is full, and slices of merges are done that are due.
    #[inline]
    fn added<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if self.buffer.len() < self.due_at { Ok(()) } else { self.work(io) }
    }

    fn work<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        if self.buffer.is_full() {
            return self.flush_buffer(io);
        }
        self.go_on(io)?;
        self.due_at = self.slices.due_after(self.buffer.len()).min(self.tuning.buffer_entries());
        Ok(())
    }

    /// How many runs from one on are to be one, where so many pages are in front of them that join.
    fn joining(&self, from: usize, mut pages: usize) -> usize {
        let free = self.runs[from..].iter().take_while(|run| !self.slices.has(run));
        match self.tuning.merge {
            GeckoMerge::MultiWay => free
                .take_while(|run| {
                    let joins = pages == 0 || level_of(pages, self.tuning.size_ratio) >= run.header.level;
                    pages += run.directory.len();
                    joins
                })
                .count(),
            GeckoMerge::TwoWay => {
                let mut levels = free.map(|run| run.header.level);
                let (first, second) = (levels.next(), levels.next());
                if first.is_some() && first == second { 2 } else { 0 }
            }
        }
    }

    /// The newest runs that are to be one, and are not being merged.
    fn to_merge(&self) -> Option<Range<usize>> {
        let mut all = (0..self.runs.len()).map(|from| from..from + self.joining(from, 0));
        all.find(|runs| runs.len() > 1)
    }

    fn pages_of(&self, runs: Range<usize>) -> usize {
        self.runs[runs].iter().map(|run| run.directory.len()).sum()
    }

    /// Turns the buffer into a run, which small runs join at once, and begins the merges that follow from it.
    fn flush_buffer<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        // Successors of pages that are reported stale must be on flash, and blocks that are reported erased be erased.
        io.barrier(Barrier::ReportsAfterReplacements);
        self.flushes += 1;
        let frozen = io.flush_marks();
        let joining = if self.tuning.merge == GeckoMerge::MultiWay { self.joining(0, 1) } else { 0 };
        let at_once = self.pages_of(0..joining) < MERGED_AT_ONCE;
        self.merge_at_once(io, true, 0..if at_once { joining } else { 0 }, frozen)?;
        debug_assert!(self.buffer.len() == 0, "a flush leaves entries in the buffer");
        io.flushed();
        while self.slices.are_due_at_flush() {
            self.go_on(io)?;
        }
        self.slices.flushed();
        self.begin_merges(io)?;
        while self.pages_committed() > self.tuning.live_pages() && !self.slices.under_way().is_empty() {
            self.go_on(io)?;
            self.begin_merges(io)?;
        }
        self.due_at = self.slices.due_after(0).min(self.tuning.buffer_entries());
        Ok(())
    }

    fn begin_merges<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        while let Some(runs) = self.to_merge() {
            let newest = self.runs[runs.start].header;
            let pages = self.pages_of(runs.clone());
            if pages <= MERGED_AT_ONCE {
                self.merge_at_once(io, false, runs, (newest.frozen, newest.scan_from))?;
                continue;
            }
            let header = self.header_of_merge(false, runs.clone(), (newest.frozen, newest.scan_from));
            let is_of_oldest = self.is_of_oldest(&runs);
            let merge = RunMerge::begin(io, &mut self.merging, (None, &self.runs[runs]), header, is_of_oldest);
            self.slices.put(merge);
        }
        Ok(())
    }

    /// The pages that runs take, and will take before any merge that is under way is done; and as many as the longest
    /// run has besides, for one that is done at once.
    fn pages_committed(&self) -> u64 {
        let longest = u64::from(self.tuning.longest_run());
        let output =
            |merge: &RunMerge| longest.min(self.tuning.packed(self.pages_of(inputs_of(merge, &self.runs)) as u64));
        self.pages_of(0..self.runs.len()) as u64 + self.slices.under_way().iter().map(output).sum::<u64>() + longest
    }

    fn is_of_oldest(&self, runs: &Range<usize>) -> bool {
        runs.end == self.runs.len() || !self.barriers.keeps(Barrier::FlagsKept)
    }

    /// The header of a run that is made of these, after the buffer where `with_buffer` says so.
    fn header_of_merge(
        &self,
        with_buffer: bool,
        runs: Range<usize>,
        (frozen, scan_from): (u64, ScanFrom),
    ) -> RunHeader {
        let is_behind = runs.start > 0;
        let merged = &self.runs[runs.clone()];
        let (first, last) =
            (merged.last().map(|run| run.header.flushes.0), merged.first().map(|run| run.header.flushes.1));
        let last = if with_buffer { self.flushes } else { last.unwrap_or(self.flushes) };
        let header = RunHeader {
            level: level_of(self.pages_of(runs) + usize::from(with_buffer), self.tuning.size_ratio),
            flushes: (first.unwrap_or(self.flushes), last),
            frozen,
            scan_from,
            damaged: self.damaged && self.barriers.keeps(Barrier::DamageWritten),
            behind: is_behind,
        };
        debug_assert!(header.flushes.0 <= header.flushes.1, "a run covers no flush");
        let covers_on = |newest: &Run| newest.header.flushes.1 < self.flushes;
        debug_assert!(!with_buffer || self.runs.first().is_none_or(covers_on), "a flush is covered twice");
        header
    }

    /// Merges runs, after the buffer where `with_buffer` says so, into one.
    fn merge_at_once<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        with_buffer: bool,
        runs: Range<usize>,
        frozen: (u64, ScanFrom),
    ) -> Result<(), FtlError> {
        let header = self.header_of_merge(with_buffer, runs.clone(), frozen);
        let is_of_oldest = self.is_of_oldest(&runs);
        let inputs = (with_buffer.then_some(&self.buffer), &self.runs[runs.clone()]);
        self.output.clear();
        let mut merge = RunMerge::begin(io, &mut self.merging, inputs, header, is_of_oldest);
        loop {
            match merge.go_on(io, &mut self.merging, &mut self.output, inputs) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => return Err(given_up(io, &merge, error)),
            }
        }
        if with_buffer {
            self.buffer.clear();
        }
        self.merged(io, merge, runs);
        Ok(())
    }

    /// Does a slice of a merge that is under way.
    fn go_on<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        let Some(mut merge) = self.slices.take_next() else { return Ok(()) };
        let runs = inputs_of(&merge, &self.runs);
        merge.header.damaged |= self.damaged && self.barriers.keeps(Barrier::DamageWritten);
        let inputs = (None, &self.runs[runs.clone()]);
        match merge.go_on(io, &mut self.merging, &mut self.slices.page, inputs) {
            Ok(true) => self.merged(io, merge, runs),
            Ok(false) => self.slices.put(merge),
            Err(error) => {
                self.slices.give_up_page();
                return Err(given_up(io, &merge, error));
            }
        }
        Ok(())
    }

    /// The last page of a merge is programmed: its output takes the place of its inputs.
    fn merged<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, merge: RunMerge, runs: Range<usize>) {
        let (header, lost) = (merge.header, merge.has_lost());
        self.tally.merges += u64::from(!runs.is_empty());
        self.damage_untold &= !header.damaged;
        self.damaged |= lost;
        let directory = merge.into_directory();
        let level = level_of(directory.len(), self.tuning.size_ratio);
        let run = Run { header: RunHeader { level, ..header }, directory };
        for old in self.runs.splice(runs.clone(), [run]) {
            for entry in old.directory.iter().filter(|entry| entry.page != LOST_PAGE) {
                io.drop_page(entry.page);
            }
        }
        let follows = |pair: &[Run]| pair[1].header.flushes.1 < pair[0].header.flushes.0;
        let beside = runs.start.saturating_sub(1)..(runs.start + 2).min(self.runs.len());
        let one_by_one = self.runs[beside].windows(2).all(follows);
        debug_assert!(one_by_one || !self.barriers.keeps(Barrier::RunsCoverOnce), "runs overlap, or are not in order");
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
        let of_runs = self.runs.iter_mut().map(|run| &mut run.directory);
        let unfinished = self.slices.under_way_mut().iter_mut().map(RunMerge::directory_mut);
        for directory in of_runs.chain(unfinished) {
            for entry in directory {
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

/// The run will not be: its pages are stale.
fn given_up<N: Nand>(io: &mut MetaIo<'_, N>, merge: &RunMerge, error: FtlError) -> FtlError {
    for entry in merge.directory().iter().filter(|entry| entry.page != LOST_PAGE) {
        io.drop_page(entry.page);
    }
    error
}
