//! Finding the log again at a mount, and what it says of every block.
//!
//! The newest page names the oldest that counts. All in between are read, which is what the paper charges IB-FTL's
//! recovery with (GeckoFTL section 5.3): the newest entry of each block is found no other way. Timestamps show which
//! entries are older than the last erase of their block: those from before its first page was programmed.

use super::page::{LogPage, copy};
use super::{Header, LOST_PAGE, NONE, PageValidityLog};
use crate::FtlError;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::validity::{BlockValidity, StorePage, Validity, ValidityScan};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;
use phelsuma_nand::{Block, CLOCK_MAX, Geometry, Kind, Nand, Page};

/// Of a block's entries: one says that nothing in it is live.
const FREE: u16 = u16::MAX;

/// Whether a log can be as a page's header says: as long as it may become, twice over, and of no more pages than can be
/// programmed. What else has a checksum that fits is no header.
fn is_sound(header: &Header, geometry: &Geometry) -> bool {
    let numbers = 1..=CLOCK_MAX;
    let longest = PageValidityLog::needs(geometry, 0, None).map_or(0, |needs| 2 * needs.live_pages);
    numbers.contains(&header.oldest)
        && numbers.contains(&header.number)
        && header.number.checked_sub(header.oldest).is_some_and(|others| others < longest)
}

/// The newest page that can be read, its content, and whether it was the first.
fn newest_page<N: Nand>(
    io: &mut MetaIo<'_, N>,
    found: &mut impl Iterator<Item = StorePage>,
) -> Option<(Header, Page, bool)> {
    let (mut whole, geometry) = (true, *io.geometry());
    found.find_map(|found| {
        let header = io.read(found.page, Kind::ValidityLog, found.key).map(|bytes| LogPage::new(bytes).header());
        let sound = header.filter(|h| h.number as u32 == found.key && is_sound(h, &geometry));
        whole &= sound.is_some();
        Some((sound?, found.page, whole))
    })
}

/// Of two copies of a page either will do; the later one is not about to be erased.
fn newest_first(mut scan: ValidityScan) -> Vec<StorePage> {
    scan.pages.sort_unstable_by_key(|found| (Reverse(found.version), Reverse(found.seq)));
    scan.pages.dedup_by_key(|found| found.version);
    scan.pages
}

impl PageValidityLog {
    /// Takes the log that is on flash for its own, the buffer being empty. It returns the moment that the last flush
    /// had frozen, and from where on to scan. Where there was none that is the beginning of time.
    pub(crate) fn restore<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> (u64, ScanFrom) {
        debug_assert!(self.buffer.is_empty() && self.pages.is_empty(), "a log is found again while there is one");
        let Some((header, pages, whole)) = self.choose(io, scan) else { return Default::default() };
        self.first = header.oldest;
        self.pages = pages;
        self.marks = (header.frozen, header.scan_from);
        self.damaged |= header.damaged || !whole;
        self.marks
    }

    /// From where on stale pages may be missing in a log that is found in `scan`.
    pub(crate) fn heard_until<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> ScanFrom {
        newest_page(io, &mut newest_first(scan).into_iter()).map(|(header, ..)| header.scan_from).unwrap_or_default()
    }

    /// The pages of the log that would be found in `scan`.
    pub(crate) fn pages_in_use<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> Vec<Page> {
        let pages = self.choose(io, scan).map(|(_, pages, _)| pages).unwrap_or_default();
        pages.into_iter().filter(|page| *page != LOST_PAGE).collect()
    }

    /// The newest page's header, the pages that count, oldest first, and whether none of them is missing.
    fn choose<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> Option<(Header, VecDeque<Page>, bool)> {
        let mut found = newest_first(scan).into_iter();
        let (header, newest, mut whole) = newest_page(io, &mut found)?;
        let mut pages = VecDeque::from([newest]);
        for number in (header.oldest..header.number).rev() {
            // A page that a cut kept from being believed at the last recovery has the number of a newer page.
            let mut rest = found.clone();
            match rest.find(|found| found.key == number as u32) {
                Some(page) => {
                    pages.push_front(page.page);
                    found = rest;
                }
                None => {
                    pages.push_front(LOST_PAGE);
                    whole = false;
                }
            }
        }
        Some((header, pages, whole))
    }

    /// Reads the log once: the pages that are stale in it, by when each block was `begun`.
    pub(crate) fn stale_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        begun: impl Fn(Block) -> u64,
        mut stale: impl FnMut(Page),
    ) {
        let geometry = self.geometry;
        for (number, place) in (self.first..).zip(&self.pages) {
            let read = if *place == LOST_PAGE { None } else { io.read(*place, Kind::ValidityLog, number as u32) };
            let Some(bytes) = read else {
                self.damaged = true;
                continue;
            };
            for entry in LogPage::new(bytes).entries() {
                let page = Page(entry.stale.page);
                if !geometry.contains(page) || entry.at < begun(geometry.block_of(page)) {
                    continue;
                }
                let behind = match entry.stale.and_behind {
                    true => geometry.pages_per_block() - geometry.index_of(page),
                    false => 1,
                };
                (page.0..page.0 + behind).map(Page).for_each(&mut stale);
            }
        }
    }

    /// Reads the whole log: what it has of each block, where `begun` is when the block's first page was programmed.
    /// Which of `reports`, sorted, are stale in it.
    pub(crate) fn block_states<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        begun: impl Fn(Block) -> u64,
        reports: &[Page],
        mut found: impl FnMut(Block, BlockValidity),
    ) -> Vec<bool> {
        let geometry = self.geometry;
        debug_assert!(reports.is_sorted(), "the pages that are asked for are not sorted");
        let mut known = vec![false; reports.len()];
        let mut stale = vec![0u16; geometry.blocks() as usize];
        let mut bytes = core::mem::take(&mut self.page);
        for (number, place) in (self.first..).zip(self.pages.clone()) {
            match if place == LOST_PAGE { None } else { io.read(place, Kind::ValidityLog, number as u32) } {
                Some(read) => copy(&mut bytes, read),
                None => {
                    self.damaged = true;
                    continue;
                }
            }
            for (position, entry) in (number * self.entries_per_page as u64..).zip(LogPage::new(&bytes).entries()) {
                let page = Page(entry.stale.page);
                if !geometry.contains(page) {
                    continue;
                }
                let block = geometry.block_of(page);
                if entry.at < begun(block) {
                    if self.heads[block.index()] == NONE {
                        self.counts_from[block.index()] = position + 1;
                    }
                    continue;
                }
                let (index, all) = (geometry.index_of(page), geometry.pages_per_block());
                let pages = if entry.stale.and_behind { all - index } else { 1 };
                let stale = &mut stale[block.index()];
                if pages == all {
                    self.void_before(block, position);
                    *stale = FREE;
                } else {
                    *stale = stale.saturating_add(pages as u16);
                }
                self.heads[block.index()] = position;
                let from = reports.partition_point(|report| *report < page);
                let to = from + reports[from..].partition_point(|report| report.0 < page.0 + pages);
                known[from..to].fill(true);
            }
        }
        self.page = bytes;
        self.tell_states(io, &stale, reports, &known, &mut found);
        known
    }

    /// A page may have been reported more than once: where a block may come out as wholly stale, its chain is followed.
    fn tell_states<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        stale: &[u16],
        reports: &[Page],
        known: &[bool],
        found: &mut impl FnMut(Block, BlockValidity),
    ) {
        let all = self.geometry.pages_per_block();
        let mut live = Vec::new();
        for (block, stale) in (0..).map(Block).zip(stale.iter().copied()).filter(|(_, stale)| *stale > 0) {
            if stale == FREE {
                found(block, BlockValidity { stale: all as u16, free: true });
                continue;
            }
            let first = self.geometry.page(block, 0);
            let from = reports.partition_point(|page| *page < first);
            let to = from + reports[from..].partition_point(|page| page.0 < first.0 + all);
            let news = known[from..to].iter().filter(|known| !**known).count();
            let mut stale = stale.min(all as u16);
            if usize::from(stale) + news >= all as usize {
                live.clear();
                self.live_in(io, block, &mut live);
                stale = all as u16 - live.len() as u16;
            }
            found(block, BlockValidity { stale, free: false });
        }
    }

    /// Copies suspect pages of the log.
    pub(crate) fn copy_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, pages: &[Page]) -> Result<u64, FtlError> {
        self.relocate_pages(io, |page| pages.contains(&page))
    }
}
