//! How long the log can become, and how much it can write in a row.
//!
//! Let L be the entries that count, all different: no more than there are pages, P. Cleaning takes r pages out for the
//! room of one that new entries take. A turn of a log of S entries so leaves no more than S / r + L; and at no time in
//! it can more have come than L / r beyond S, because in the first L that are cleaned all may count, and in no others.
//! Without repeats the log so has no more than r / (r − 1) P + P / r entries; beyond r / (r − 1) P there are repeats, or it
//! is in the middle of such a turn: then they are looked for, and the same holds with them.

use super::PageValidityLog;
use super::cleaning::PAGES_PER_PAGE;
use super::page::{self, PAGE_NUMBERS_MAX};
use crate::FtlError;
use crate::page_mapped::needs::Needs;
use phelsuma_nand::Geometry;

/// Pages that a flush adds before it cleans, besides what has left a victim: its last, one that came early, and those that
/// round up.
const PAGES_MORE: u64 = 6;

/// How long the log should be, in pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// X: beyond it the log is cleaned.
    pub(super) pages_max: u64,
    /// A log of different entries comes to no more, but for a short time.
    pub(super) different_max: u64,
}

fn different_max(geometry: &Geometry, entries_per_page: u64) -> u64 {
    (geometry.pages() * PAGES_PER_PAGE).div_ceil((PAGES_PER_PAGE - 1) * entries_per_page)
}

impl Bounds {
    pub(super) fn new(geometry: &Geometry, logical_pages: u32, entries_per_page: usize) -> Self {
        let v = entries_per_page as u64;
        let different_max = different_max(geometry, v);
        // Where most of the drive is spare, 2 D is more than the log ever needs.
        let x = 2 * (geometry.pages() - u64::from(logical_pages).min(geometry.pages()));
        Self { pages_max: x.div_ceil(v).min(different_max).max(1), different_max }
    }
}

impl PageValidityLog {
    /// What it needs where one collection can report so many pages as stale; and where flushes are asked for, which
    /// happens when blocks are held, marks due, or so many synchronizations done as there are entries in the buffer, so
    /// many of these.
    ///
    /// # Errors
    /// A page has no room for a few entries, or there are more pages than an entry can name.
    pub(crate) fn needs(geometry: &Geometry, reports: u64, synchronizations: Option<u64>) -> Result<Needs, FtlError> {
        let v = page::entries_per_page(geometry.page_bytes()) as u64;
        if v < 8 {
            return Err(FtlError::Unsupported("a page is too small for eight entries of a page validity log"));
        }
        if geometry.page_numbers() > PAGE_NUMBERS_MAX {
            return Err(FtlError::Unsupported("a page validity log can name two billion pages"));
        }
        // What leaves a victim may have to be told as well.
        let leaving = u64::from(geometry.pages_per_block());
        let meanwhile = geometry.pages().div_ceil(v * PAGES_PER_PAGE) + leaving.div_ceil(v) + PAGES_MORE;
        let live_pages = different_max(geometry, v) + meanwhile;
        let entries = reports + leaving;
        let early = synchronizations.map_or(0, |n| n / v + 3);
        Ok(Needs { live_pages, programs: Self::programs(v, entries, 1 + early), ..Needs::default() })
    }

    /// Pages that are programmed at the most for so many new entries, with so many flushes that come early. A buffer that
    /// was nearly full when it began is a page more, and so is what cleaning keeps of it.
    fn programs(entries_per_page: u64, entries: u64, early: u64) -> u64 {
        (entries.div_ceil(entries_per_page) + early + 1) * (1 + PAGES_PER_PAGE) + 1
    }
}
