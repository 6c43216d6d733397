//! The findings of GeckoRec on its way.

use super::dangling::Places;
use super::log_reader::LogReader;
use super::lost::Lost;
use crate::page_mapped::durability::common::{BlocksInformation, FoundPage, Mount, Silent, Suspect};
use crate::page_mapped::mapping::PagedMapping;
use crate::page_mapped::validity::{LogarithmicGecko, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, LogicalPage, Page};

/// A drive with a demand-paged mapping and Logarithmic Gecko that is being mounted.
pub(super) type GeckoDrive<'s, N> = Mount<'s, PagedMapping, LogarithmicGecko, N>;

/// The findings on the way.
pub(super) struct GeckoGathered {
    pub(super) bid: BlocksInformation,
    /// The block log, on a drive with one.
    pub(super) log: Option<LogReader>,
    /// Suspect metadata pages that are sound by now.
    pub(super) suspect_metadata: Vec<FoundPage>,
    /// Pages of runs of a mapping log.
    pub(super) mapping_log: ValidityScan,
    /// User pages that may have been.
    pub(super) suspects: Vec<Suspect>,
    /// Pages that are stale, and that may not be so in Gecko.
    pub(super) reports: Vec<Page>,
    /// Of these, the ones whose data cannot be read.
    pub(super) silent: Vec<Silent>,
    /// Others of which nothing can be read, in front of some that can.
    pub(super) unreadable: Vec<Silent>,
    /// Where entries may dangle: the state of places.
    pub(super) places: Option<Places>,
    /// The logical pages of such entries, ascending.
    pub(super) dangling: Vec<LogicalPage>,
    /// Blocks of user pages of which none is live, which is not in Gecko yet.
    pub(super) freed: Vec<Block>,
    /// Translation pages that may have been, each with one that counts should it turn bad.
    pub(super) behind_suspects: Vec<(Page, Page)>,
    /// The pages of the mapping log's runs as the last flush covers them: what is needed until the next one.
    pub(super) covered_runs: Vec<Page>,
    /// The logical pages, ascending, that suspect runs trim.
    pub(super) trimmed_by_suspects: Vec<LogicalPage>,
    /// Metadata pages that will be needed if suspect ones turn bad before they are copied.
    pub(super) fallbacks: Vec<Page>,
    /// Older copies of pages, where the scan met a newer one.
    pub(super) older: Vec<FoundPage>,
    /// Where translation pages have gone bad that cannot say which ones they were.
    pub(super) lost: Option<Lost>,
    pub(super) scanned: u64,
    /// RAM of the scan, in bytes.
    pub(super) scratch: usize,
}

impl GeckoGathered {
    pub(super) fn new(geometry: &Geometry, recent_blocks: usize) -> Self {
        Self {
            bid: BlocksInformation::new(geometry, recent_blocks),
            log: None,
            suspect_metadata: Vec::new(),
            mapping_log: ValidityScan::default(),
            suspects: Vec::new(),
            reports: Vec::new(),
            silent: Vec::new(),
            unreadable: Vec::new(),
            places: None,
            dangling: Vec::new(),
            freed: Vec::new(),
            behind_suspects: Vec::new(),
            covered_runs: Vec::new(),
            trimmed_by_suspects: Vec::new(),
            fallbacks: Vec::new(),
            older: Vec::new(),
            lost: None,
            scanned: 0,
            scratch: 0,
        }
    }

    /// Its RAM.
    pub(super) fn bytes(&self) -> u64 {
        let founds = (self.older.capacity() + self.suspect_metadata.capacity()) * size_of::<FoundPage>();
        let pages = (self.reports.capacity()
            + self.covered_runs.capacity()
            + self.fallbacks.capacity()
            + 2 * self.behind_suspects.capacity())
            * size_of::<Page>();
        let blocks = self.freed.capacity() * size_of::<Block>();
        let trimmed = self.trimmed_by_suspects.capacity() * size_of::<LogicalPage>();
        let suspects = self.suspects.capacity() * size_of::<Suspect>();
        let silent = (self.silent.capacity() + self.unreadable.capacity()) * size_of::<Silent>();
        let places = self.places.as_ref().map_or(0, Places::bytes);
        self.bid.bytes()
            + places
            + (self.mapping_log.bytes() + founds + pages + trimmed + blocks + suspects + silent + self.scratch) as u64
    }
}
