//! Trims that survive: which logical pages were discarded, on flash.
//!
//! The logical space is divided into regions of as many pages as a flash page has bits. A *tombstone* is a bitmap of
//! the pages of one region that were trimmed when it was written. Its version orders it among the copies of those
//! pages. The newest tombstone of a region replaces all older ones. So there is at most one live page a region (one for
//! 32,768 logical pages of 4 KiB). It is made from the mapping alone: relocating one reads nothing.
//!
//! Until a flush, trimmed regions are only pending. One rule keeps an older content from coming back: **pending trims
//! are written before a collected block goes back to the pool**. Until then the last acknowledged copy of every page
//! with a pending trim is still on flash.

use crate::RamLedger;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Geometry, LogicalPage, Page};

const NONE: u32 = u32::MAX;

/// How many regions may be pending before they are written without a request.
pub(crate) const PENDING_MAX: u32 = 16;

fn pages_per_region(geometry: &Geometry) -> u32 {
    geometry.page_bytes() * 8
}

/// Regions of a drive with so many logical pages: the tombstone pages that may be live at a time.
pub(crate) fn regions(geometry: &Geometry, logical_pages: u32) -> u32 {
    logical_pages.div_ceil(pages_per_region(geometry))
}

/// The directory of tombstone pages, and which regions are pending.
#[derive(Clone, Preserve)]
pub(crate) struct TrimMap {
    pages_per_region: u32,
    logical_pages: u32,
    /// By region: its tombstone page.
    directory: Vec<u32>,
    /// How many regions have one.
    pages: u32,
    pending: Vec<bool>,
    pending_count: u32,
    /// The bitmap being made.
    pub(crate) bitmap: Vec<u8>,
}

impl TrimMap {
    pub(crate) fn new(geometry: &Geometry, logical_pages: u32) -> Self {
        let pages_per_region = pages_per_region(geometry);
        let regions = regions(geometry, logical_pages) as usize;
        Self {
            pages_per_region,
            logical_pages,
            directory: vec![NONE; regions],
            pages: 0,
            pending: vec![false; regions],
            pending_count: 0,
            bitmap: vec![0; geometry.page_bytes() as usize],
        }
    }

    pub(crate) fn regions(&self) -> u32 {
        self.directory.len() as u32
    }

    /// The logical pages of `region`.
    pub(crate) fn pages_of(&self, region: u32) -> core::ops::Range<u32> {
        let first = region * self.pages_per_region;
        first..(first.saturating_add(self.pages_per_region)).min(self.logical_pages)
    }

    pub(crate) fn region_of(&self, page: LogicalPage) -> u32 {
        page.0 / self.pages_per_region
    }

    /// The tombstone page of `region`, if it has one.
    pub(crate) fn page_of(&self, region: u32) -> Option<Page> {
        let page = self.directory[region as usize];
        (page != NONE).then_some(Page(page))
    }

    /// `region`'s tombstone page is `page` from now on; the one before.
    pub(crate) fn set_page(&mut self, region: u32, page: Option<Page>) -> Option<Page> {
        let before = core::mem::replace(&mut self.directory[region as usize], page.map_or(NONE, |p| p.0));
        self.pages = self.pages + u32::from(page.is_some()) - u32::from(before != NONE);
        (before != NONE).then_some(Page(before))
    }

    /// Whether any region has a tombstone page.
    pub(crate) fn any_page(&self) -> bool {
        self.pages > 0
    }

    pub(crate) fn mark_pending(&mut self, region: u32) {
        let pending = &mut self.pending[region as usize];
        self.pending_count += u32::from(!*pending);
        *pending = true;
    }

    pub(crate) fn is_pending(&self, region: u32) -> bool {
        self.pending[region as usize]
    }

    pub(crate) fn pending_count(&self) -> u32 {
        self.pending_count
    }

    /// A pending region, which is pending no longer.
    pub(crate) fn take_pending(&mut self) -> Option<u32> {
        if self.pending_count == 0 {
            return None;
        }
        let region = self.pending.iter().position(|p| *p);
        debug_assert!(region.is_some(), "more regions are counted as pending than are");
        let region = region?;
        self.pending[region] = false;
        self.pending_count -= 1;
        Some(region as u32)
    }

    /// The pages of `region` whose bit is set in `bitmap`.
    pub(crate) fn trimmed_in<'a>(&self, region: u32, bitmap: &'a [u8]) -> impl Iterator<Item = LogicalPage> + 'a {
        self.pages_of(region)
            .enumerate()
            .filter(|(bit, _)| bitmap.get(bit / 8).is_some_and(|b| b >> (bit % 8) & 1 == 1))
            .map(|(_, page)| LogicalPage(page))
    }

    pub(crate) fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("trim.directory", self.directory.len() as u64 * 4);
        ledger.structure("trim.pending", self.pending.len() as u64);
        ledger.index("buffer.trim_bitmap", self.bitmap.len() as u64);
    }
}
