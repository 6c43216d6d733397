//! The page validity log (PVL): each page that becomes stale is an entry of a log on flash (IB-FTL, as GeckoFTL
//! appendix E has it).
//!
//! An entry names the page, when it became stale, and the entry before it of the same block. Entries gather in a buffer
//! the size of a page. RAM holds the newest entry of every block, and where each page of the log is. A GC query follows
//! the victim's chain backwards: every page of the log that the chain touches is read once. `cleaning.rs` keeps the log
//! short.
//!
//! Faithful: the log, the chains with their first link in RAM, the timestamps, the erase-timestamps in RAM, X = 2 D.
//! Ours, where the paper is silent or goes wrong:
//! - Links are *positions*, numbers that entries have for good. Flash pages are used again, and a link into a cleaned
//!   page would lead to an entry of another block. A position below the log's oldest page is the end of the chain.
//! - Chains are cut when a block is erased, so that a query compares no timestamps.
//! - At run time an entry's own position is its timestamp: RAM holds from which position on entries of a block count.
//!   The moment in program order stands on flash, for a recovery.
//! - An entry may stand for a page and all behind it. A failed program leaves such pages, and so do blocks of which
//!   nothing is live.
//! - A page is not programmed before everything that it reports on is on flash. Pages that were cleaned are stale only
//!   once what was kept of them is on flash again.

mod cleaning;
mod needs;
mod page;
mod part;
mod restore;

use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::Validity;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use cleaning::Cleaning;
use page::{Header, LogEntry, LogPage, Stale};
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Block, Content, Geometry, Kind, Nand, Page, PageRead};

/// Where a page of the log is said to be that the flash did not give back: nowhere.
const LOST_PAGE: Page = Page(u32::MAX);
/// The position that no entry has.
const NONE: u64 = 0;

/// When a flush froze the buffer, and from where on a recovery would have to scan.
type Marks = (u64, ScanFrom);

/// The stale pages of a drive, in a log on flash.
#[derive(Clone, Preserve)]
pub(crate) struct PageValidityLog {
    geometry: Geometry,
    /// V, the entries of a page.
    entries_per_page: usize,
    /// By block: the position of its newest entry.
    heads: Vec<u64>,
    /// By block, its erase-timestamp: entries at positions below are void.
    counts_from: Vec<u64>,
    /// The entries that are not on flash, of which the first stands right behind the log's last page.
    buffer: Vec<LogEntry>,
    /// The pages of the log, oldest first.
    pages: VecDeque<Page>,
    /// The number of the oldest of them; those of the others follow.
    first: u64,
    cleaning: Cleaning,
    /// Of the last complete flush.
    marks: Marks,
    /// Pages that have left a victim since the last flush.
    leaving: Vec<Page>,
    tells_of_leaving: bool,
    /// A page being put together, or moved.
    page: Vec<u8>,
    /// The bitmap of the block that is queried.
    stale: Vec<u64>,
    /// A page of the log could not be read: from now on only the mapping decides which pages are live.
    damaged: bool,
    barriers: Barriers,
    tally: Tally,
}

#[derive(Clone, Copy, Default, Preserve)]
struct Tally {
    inserts: u64,
    flushes: u64,
    queries: u64,
    query_reads: u64,
}

impl PageValidityLog {
    /// A log of a drive on which nothing is stale.
    pub(crate) fn new(geometry: &Geometry, logical_pages: u32, barriers: Barriers) -> Self {
        let entries_per_page = page::entries_per_page(geometry.page_bytes());
        let blocks = geometry.blocks() as usize;
        let page_bytes = geometry.page_bytes() as usize;
        let cleaning = Cleaning::new(geometry, logical_pages, entries_per_page);
        Self {
            geometry: *geometry,
            entries_per_page,
            heads: vec![NONE; blocks],
            counts_from: vec![NONE; blocks],
            buffer: Vec::with_capacity(entries_per_page + geometry.pages_per_block() as usize),
            pages: VecDeque::with_capacity(cleaning.pages_usual()),
            first: 1,
            cleaning,
            marks: Marks::default(),
            leaving: Vec::new(),
            tells_of_leaving: false,
            page: vec![0; page_bytes],
            stale: vec![0; geometry.pages_per_block().div_ceil(64) as usize],
            damaged: false,
            barriers,
            tally: Tally::default(),
        }
    }

    /// The number that the next page of the log will have.
    fn next_number(&self) -> u64 {
        self.first + self.pages.len() as u64
    }

    /// The position of the buffer's first entry.
    #[inline]
    fn buffered_from(&self) -> u64 {
        self.next_number() * self.entries_per_page as u64
    }

    /// The lowest position that counts.
    #[inline]
    fn tail(&self) -> u64 {
        (self.first + self.cleaning.cleaned() as u64) * self.entries_per_page as u64
    }

    /// Appends an entry to the buffer, and links it.
    #[inline]
    fn insert(&mut self, stale: Stale, at: u64) {
        let position = self.buffered_from() + self.buffer.len() as u64;
        let block = self.geometry.block_of(Page(stale.page));
        debug_assert!(self.counts_from[block.index()] <= position, "an entry of {block} is void from the beginning");
        if stale.and_behind && self.geometry.index_of(Page(stale.page)) == 0 {
            // It says all that there is to say of the block.
            self.void_before(block, position);
        }
        debug_assert!(self.geometry.contains(Page(stale.page)), "an entry names a page that the drive has not");
        let head = &mut self.heads[block.index()];
        debug_assert!(*head < position, "the chain of {block} leads upwards");
        let distance = if *head == NONE { 0 } else { u32::try_from(position - *head).unwrap_or(0) };
        *head = position;
        self.buffer.push(LogEntry { stale, distance, at });
    }

    /// An entry with something new.
    #[inline]
    fn insert_new<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page, and_behind: bool) -> Result<(), FtlError> {
        self.tally.inserts += 1;
        self.cleaning.inserted(1);
        self.insert(Stale { page: page.0, and_behind }, io.seq());
        if self.buffer.len() < self.entries_per_page { Ok(()) } else { self.checkpoint(io) }
    }

    fn void_before(&mut self, block: Block, position: u64) {
        self.counts_from[block.index()] = position;
        self.heads[block.index()] = NONE;
    }

    /// A recovery is to find the stale pages: pages that have left a victim stand in every flush before the victim is
    /// freed.
    pub(crate) fn tell_of_leaving(&mut self) {
        self.tells_of_leaving = true;
        self.leaving.reserve(self.geometry.pages_per_block() as usize);
    }

    /// Programs the oldest entries of the buffer as a page of the log.
    fn write_page<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, marks: Marks) -> Result<(), FtlError> {
        let entries = self.buffer.len().min(self.entries_per_page);
        let number = self.next_number();
        // Of which cleaned pages everything that was kept is on flash with this one.
        let done_with = match self.barriers.keeps(Barrier::CleanedUntilKept) {
            true => self.cleaning.kept_below(self.buffered_from() + entries as u64),
            false => self.cleaning.cleaned(),
        };
        let header = Header {
            damaged: self.damaged,
            number,
            oldest: self.first + done_with as u64,
            made: io.seq(),
            frozen: marks.0,
            scan_from: marks.1,
        };
        debug_assert!(header.oldest <= number, "no page of the log counts");
        page::encode(&mut self.page, &header, &self.buffer[..entries]);
        io.barrier(Barrier::ReportsAfterReplacements);
        let version = io.next_version();
        let page = io.append(Kind::ValidityLog, number as u32, version, &self.page)?;
        self.marks = marks;
        self.tally.flushes += 1;
        self.pages.push_back(page);
        self.buffer.drain(..entries);
        self.cleaning.inserted(self.entries_per_page - entries);
        self.cleaning.done_with(done_with);
        for _ in 0..done_with {
            self.first += 1;
            if let Some(page) = self.pages.pop_front().filter(|page| *page != LOST_PAGE) {
                io.drop_page(page);
            }
        }
        Ok(())
    }

    /// Follows the chain of `block` from its newest entry on, down to `until`, as long as `each` says so. Whether all
    /// of it could be read.
    fn follow<N: Nand>(
        &self,
        io: &mut MetaIo<'_, N>,
        block: Block,
        until: u64,
        reads: &mut u64,
        mut each: impl FnMut(Stale) -> bool,
    ) -> bool {
        let (v, until) = (self.entries_per_page as u64, until.max(self.tail()));
        let mut at = self.heads[block.index()];
        // Further down than the log goes is what no entry says that was written here: the chain ends.
        let before = |at: u64, entry: &LogEntry| match entry.distance {
            0 => NONE,
            distance => at.checked_sub(distance.into()).unwrap_or(NONE),
        };
        while at >= self.buffered_from() {
            let entry = &self.buffer[(at - self.buffered_from()) as usize];
            if at < until || !each(entry.stale) {
                return true;
            }
            at = before(at, entry);
        }
        while at >= until {
            let number = at / v;
            let page = self.pages[(number - self.first) as usize];
            *reads += 1;
            let bytes = if page == LOST_PAGE { None } else { io.read(page, Kind::ValidityLog, number as u32) };
            let Some(log) = bytes.map(LogPage::new) else { return false };
            // The chain goes down: each page is read once.
            while at >= until && at / v == number {
                let Some(entry) = log.get((at % v) as usize) else { return false };
                if !each(entry.stale) {
                    return true;
                }
                at = before(at, &entry);
            }
        }
        true
    }

    /// Copies the pages of the log that are to go.
    fn relocate_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        goes: impl Fn(Page) -> bool,
    ) -> Result<u64, FtlError> {
        let mut copied = 0;
        for place in &mut self.pages {
            let from = *place;
            if from == LOST_PAGE || !goes(from) {
                continue;
            }
            let copy = match io.read_any(from) {
                PageRead::Written { content: Content::Bytes(bytes), spare, .. } => {
                    page::copy(&mut self.page, bytes);
                    Some(spare)
                }
                _ => None,
            };
            match copy {
                Some(spare) => {
                    *place = io.append_copy(&spare, &self.page)?;
                    copied += 1;
                }
                None => {
                    *place = LOST_PAGE;
                    self.damaged = true;
                }
            }
            io.drop_page(from);
        }
        Ok(copied)
    }
}
