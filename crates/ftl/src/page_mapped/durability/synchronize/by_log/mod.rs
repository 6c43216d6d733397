//! Recovering the entries of the page validity log that were in its buffer when the power failed.
//!
//! GeckoFTL (section 5.3) has IB-FTL's recovery read the whole log, and is silent on these. Here they are found again,
//! because every operation that makes a page stale also leaves that in something that a recovery reads anyway:
//!
//! - A user page names in its spare area the page whose place it took. All that were written since the last flush are
//!   examined. Until there is another flush none of their blocks is erased (`young.rs`).
//! - The entry of a trimmed page, in its translation page, names the page that was. Those that were synchronized since
//!   the last flush are read.
//! - A page that is so named is stale if it still holds the same logical page, and an older copy of it. It is stale as
//!   well if it cannot be read. If it is blank it may have been a copy in flight: then the translation page still names
//!   the page that was copied. So none is synchronized before the log has the reports.
//! - Pages of a block that were never written, or are torn, are not live.
//! - The last place of a page may be lost with its translation page. Then the page that takes its place says that, and
//!   so does the entry of a trimmed one. From then on, for good, the mapping alone decides which pages are live.
//!
//! No older version of a translation page is needed, so these may be collected like all others.

mod count;
mod look;
mod stale;
mod tell;

use super::found::{FoundEntries, MetPage};
use super::gathered::{Gathered, PagedDrive};
use super::live_by::LiveBy;
use super::translation::Translation;
use crate::FtlError;
use crate::page_mapped::compose::point_back;
use crate::page_mapped::durability::common::{BlocksInformation, FoundPage, Silent, suspects_that_may_count};
use crate::page_mapped::durability::{ScanFrom, Survival};
use crate::page_mapped::mapping::PagedMapping;
use crate::page_mapped::validity::{PageValidityLog, Validity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Nand, Page};

/// A page validity log decides which pages are live. The findings of a recovery for it.
#[derive(Default)]
pub(crate) struct LiveByLog {
    pub(super) scan: ValidityScan,
    /// Suspect pages of the log; their bytes are kept where it reads them.
    pub(super) suspects: Vec<FoundPage>,
    /// From where on it may be incomplete, even if suspect pages turn bad.
    pub(super) heard_until: ScanFrom,
    /// Pages that are stale, and may not be so in the log.
    pub(super) reports: Vec<Page>,
    /// Where the part of a block begins that is not live because it was not written.
    pub(super) unwritten: Vec<Page>,
    /// Of these pages, the ones whose data cannot be read.
    pub(super) silent: Vec<Silent>,
    /// Others of which nothing can be read, in front of some that can.
    pub(super) unreadable: Vec<Silent>,
    /// When its last page was programmed, in program order.
    pub(super) told_until: u64,
    /// Blocks of user pages of which none is live, which is not in the log: it would take them for written ones.
    pub(super) freed: Vec<Block>,
    /// Blocks with user pages that were written since, with the seq of the last of them.
    pub(super) young: Vec<(Block, u64)>,
    /// RAM that was used for a while.
    pub(super) scratch: usize,
    /// Of these, ascending, the ones that must not be erased before the report. Where a recovery that was cut has
    /// copied a page, the copy says the same.
    pub(super) kept: Vec<Block>,
}

impl LiveBy for LiveByLog {
    type Store = PageValidityLog;

    const READS: &'static str = "read the page validity log";

    fn begin(paged: &mut PagedMapping, store: &mut PageValidityLog) -> Survival {
        point_back(paged, store);
        // Blocks closed from now on are not among those written lately.
        Survival::Nothing
    }

    fn find<N: Nand>(of: &mut Gathered<Self>, drive: &mut PagedDrive<'_, PageValidityLog, N>) -> Option<ScanFrom> {
        drive.begin("page validity log");
        of.scan_log(drive);
        Some(of.live_by.heard_until)
    }

    fn look_at<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        block: Block,
        pages: &[FoundPage],
    ) {
        self.look_at_block(drive, translation, block, pages);
    }

    fn keep_suspects(&mut self, bid: &BlocksInformation) {
        self.suspects.retain(|found| bid.may_have_been_in_flight(&found.spare));
    }

    /// A trim may be lost with the translation page: from now on only the mapping decides which pages are live.
    fn learnt<N: Nand>(drive: &mut PagedDrive<'_, PageValidityLog, N>) {
        drive.ftl.validity.set_damaged();
    }

    fn leave_news<N: Nand>(
        of: &Gathered<Self>,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        learnt: &mut Vec<MetPage>,
    ) {
        of.ask_log(drive, learnt);
    }

    fn find_stale<N: Nand>(
        of: &mut Gathered<Self>,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        of.find_reports(drive, translation, found);
    }

    fn without_suspects<N: Nand>(of: &Gathered<Self>, drive: &mut PagedDrive<'_, PageValidityLog, N>) -> Vec<Page> {
        let log = &of.live_by;
        if log.suspects.is_empty() {
            return Vec::new();
        }
        let in_use = drive.ftl.validity.metadata_pages();
        let is_in_use = |found: &FoundPage| in_use.contains(&found.page);
        let copies = suspects_that_may_count(&[], &log.suspects, is_in_use, |_| (0, 0));
        let scan = log.scan.without(&log.suspect_pages());
        let mut pages = drive.read_validity(|store, io| store.pages_in_use(io, scan));
        pages.extend(copies);
        pages
    }

    fn read<N: Nand>(
        of: &mut Gathered<Self>,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        found: &FoundEntries,
    ) {
        of.read_log(drive, translation, found);
    }

    /// Blocks that must not be erased before what their pages say was reported to the log.
    fn keeps(&self, block: Block) -> bool {
        debug_assert!(self.kept.is_sorted(), "what is kept is looked up in no order");
        self.kept.binary_search(&block).is_ok()
    }

    fn gives_up<N: Nand>(&self, drive: &mut PagedDrive<'_, PageValidityLog, N>, holding: &[Block]) {
        if holding.iter().any(|block| self.keeps(*block)) {
            drive.ftl.validity.set_damaged();
        }
    }

    fn begin_telling<N: Nand>(of: &mut Gathered<Self>, drive: &mut PagedDrive<'_, PageValidityLog, N>) {
        of.begin_telling_log(drive);
    }

    fn copy_suspects<N: Nand>(
        of: &Gathered<Self>,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if of.live_by.suspects.is_empty() {
            return Ok(());
        }
        let pages = of.live_by.suspect_pages();
        of.write_in_need(drive, holding, |drive| drive.write_validity(|store, io| store.copy_pages(io, &pages)))?;
        Ok(())
    }

    fn tell<N: Nand>(
        of: &Gathered<Self>,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        kept: bool,
    ) -> Result<(), FtlError> {
        of.tell_log(drive, kept)
    }

    /// Its RAM.
    fn bytes(&self) -> u64 {
        let pages = self.reports.capacity() + self.unwritten.capacity() + self.freed.capacity() + self.kept.capacity();
        (self.suspects.capacity() * size_of::<FoundPage>()
            + self.scan.bytes()
            + pages * size_of::<Page>()
            + self.young.capacity() * size_of::<(Block, u64)>()
            + (self.silent.capacity() + self.unreadable.capacity()) * size_of::<Silent>()
            + self.scratch) as u64
    }
}

impl LiveByLog {
    fn suspect_pages(&self) -> Vec<Page> {
        self.suspects.iter().map(|found| found.page).collect()
    }
}
