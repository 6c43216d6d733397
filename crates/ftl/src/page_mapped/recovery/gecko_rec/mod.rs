//! GeckoRec: recovery of a demand-paged mapping with Logarithmic Gecko (GeckoFTL section 4.3 and appendix C).
//!
//! The paper's steps: 1 the blocks information directory; 2 the global mapping directory; 3 the run directories; 4 the
//! buffer, as far as it tells of erases (C.2.1) and of synchronizations (C.2.2); 5 the counters of live pages; 6 the
//! dirty entries of the mapping; 7 marks them as unsure; 8 goes on. Here 3 comes before 2, because the newest run tells
//! which translation pages the buffer had not heard of, and 6 before 5, so that what is found to be stale is counted.
//!
//! Not as in the paper, each for the sake of data that would be lost or a drive that would get stuck:
//! - How far to scan back is written in the newest run, not counted in pages: several cuts less than C writes apart
//!   would let dirty entries outlive the count, and a block that is open for long would hide them.
//! - Older copies of a logical page that the scan meets are reported as stale: those of entries that were cached were
//!   known to the buffer alone.
//! - Translation pages are held against what the last flush had heard of (`translation.rs`).
//! - What may have been in flight is read in full, and copied to fresh pages before anything is reported that rests
//!   on it.

mod buffer;
mod dangling;
mod live_counters;
mod lost;
mod metadata;
mod suspects;
mod translation;
mod written_last;

use super::Found;
use super::blocks_information::{BlockInformation, BlocksInformation};
use super::last_page::Silent;
use super::steps::Steps;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::mapping::{AnyMapping, Mapping, PagedMapping};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageConfig;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::validity::Validity;
use crate::recovery_report::RecoveryReport;
use alloc::vec::Vec;
use dangling::Places;
use lost::Lost;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Page, Purpose, Time};
use written_last::Suspect;

/// Scanning this many times C pages means that cuts come faster than checkpoints: everything is synchronized then.
const SCANNED_MAX: u64 = 4;

/// What is gathered on the way.
struct Gathered {
    bid: BlocksInformation,
    /// Metadata pages that may have been in flight, and are sound by now.
    suspect_metadata: Vec<Found>,
    /// User pages that may have been.
    suspects: Vec<Suspect>,
    /// Pages that are stale, and that Gecko may not know to be.
    reports: Vec<Page>,
    /// Of these, the ones of which nothing can be read.
    silent: Vec<Silent>,
    /// Others of which nothing can be read, in front of some that can.
    unreadable: Vec<Silent>,
    /// Where entries may name what is gone: what is known of places.
    places: Option<Places>,
    /// The logical pages of such entries, ascending.
    dangling: Vec<LogicalPage>,
    /// Blocks of user pages of which none is live, and Gecko does not know it yet.
    freed: Vec<Block>,
    /// Translation pages that may have been, each with one that counts should it turn bad.
    behind_suspects: Vec<(Page, Page)>,
    /// Metadata pages that will be needed if those that may have been in flight turn bad before they are copied.
    fallbacks: Vec<Page>,
    /// Older copies of pages, where the scan met a newer one.
    older: Vec<Found>,
    /// Where translation pages have gone bad that cannot say which ones they were.
    lost: Option<Lost>,
    scanned: u64,
    /// Bytes of what the scan had in RAM.
    scratch: usize,
}

impl PageMapped {
    pub(super) fn paged(&mut self) -> &mut PagedMapping {
        match &mut self.mapping {
            AnyMapping::Paged(paged) => paged,
            AnyMapping::Ram(_) | AnyMapping::Mu(_) => unreachable!("this recovery begins with a demand-paged mapping"),
        }
    }

    /// Brings a drive up from what is on flash.
    pub(super) fn recover_with_gecko_rec<N: Nand>(
        nand: &mut N,
        config: &PageConfig,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let (mut ftl, usable, mut steps) = Self::find_description(nand, config, at)?;

        steps.begin("1 blocks information directory");
        let mut g = Gathered::new(&geometry, recent_blocks(&geometry, &mut ftl));
        for block in &usable {
            g.bid.look_at(nand, &mut steps, *block);
        }

        steps.begin("3 run directories");
        let scan = g.scan_validity(&mut ftl, nand, &mut steps);
        let validity = &mut ftl.validity;
        let (frozen, mut scan_from) =
            steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| validity.restore(io, scan.clone()));
        if !ftl.blocks.keeps(Barrier::ScanFromWritten) {
            let scanned = 2 * u64::from(ftl.paged().cache_entries());
            scan_from = ScanFrom { after: g.bid.seq_max.saturating_sub(scanned), oldest_open: 0 };
        }
        if !ftl.blocks.keeps(Barrier::OldestOpenListed) {
            scan_from.oldest_open = scan_from.after.saturating_sub(u64::from(geometry.pages_per_block()));
        }
        for page in ftl.validity.metadata_pages() {
            ftl.blocks.counters.add(geometry.block_of(page));
        }

        steps.begin("2 global mapping directory");
        let translation = g.scan_translation(&mut ftl, nand, &mut steps, frozen);
        for (part, page, _) in translation.versions() {
            ftl.paged().enter_translation_page(part, page);
            ftl.blocks.counters.add(geometry.block_of(page));
        }
        if translation.tell_of_damage() {
            ftl.paged().set_damaged();
        }

        steps.begin("4 Gecko's buffer");
        g.compare_versions(&mut ftl, nand, &mut steps, &translation);

        steps.begin("6 entries of the pages written last");
        ftl.paged().take_checkpoints(scan_from);
        let user = g.bid.user_since(nand, &mut steps, scan_from.oldest_open.min(frozen));
        g.scan_user(&mut ftl, nand, &mut steps, scan_from, &translation, &user)?;
        g.scan_for_lost(&mut ftl, nand, &mut steps, &translation, scan_from.after);
        ftl.blocks.begin_session(g.bid.version_max, g.bid.seq_max);
        if let Some(gecko_rec) = ftl.durability.gecko_rec() {
            gecko_rec.begin_mounting(scan_from, frozen);
        }

        g.find_fallbacks(&mut ftl, nand, &mut steps, &scan, &translation);

        steps.begin("5 counters of live pages");
        let mut emptied = g.count(&mut ftl, nand, &mut steps, (frozen, scan.programmed_last()), &translation, &user)?;

        steps.begin("copies of what may have been in flight");
        g.copy_suspects(&mut ftl, nand, &mut steps, &mut emptied)?;
        ftl.let_kept_go();
        g.write_lost(&mut ftl, nand, &mut steps, &translation)?;
        g.write_dangling(&mut ftl, nand, &mut steps, &mut emptied)?;
        g.write_down_damage(&mut ftl, nand, &mut steps)?;
        // None is erased before the copies are on flash.
        for block in emptied {
            ftl.blocks.release(block);
        }
        g.write_down(&mut ftl, nand, &mut steps, frozen, &user)?;
        g.tell_of_freed(&mut ftl, nand, &mut steps)?;
        if let Some(gecko_rec) = ftl.durability.gecko_rec() {
            gecko_rec.mounted();
        }
        if g.scanned > SCANNED_MAX * u64::from(ftl.paged().cache_entries()) {
            ftl.synchronize_everything(nand, &mut steps)?;
        }
        ftl.hear_news(nand, steps.now)?;
        steps.now = steps.now.max(ftl.blocks.clock.horizon());
        steps.count_rest(&mut ftl.durability);
        steps.end();
        let mut report = steps.report;
        let user = user.capacity() * size_of::<BlockInformation>();
        // What is stale in each block takes two bytes.
        report.scratch_bytes = g.bytes() + translation.bytes() + u64::from(geometry.blocks()) * 2 + user as u64;
        report.done = steps.now;
        ftl.note_first_pages(&steps.first, &mut report);
        Ok((ftl, report))
    }

    /// Leaves nothing for the next recovery to scan.
    fn synchronize_everything<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps) -> Result<(), FtlError> {
        let mut part = Some(0);
        while let Some(from) = part {
            let io = &mut MetaIo::new(
                nand,
                (&mut self.blocks, &mut self.durability),
                self.streams.mapping,
                Purpose::Recovery,
                steps.now,
            );
            part = self.mapping.synchronize_next(io, from, &mut self.before)?;
            steps.count(io);
            self.settle(nand, steps.now)?;
        }
        let io = &mut MetaIo::new(
            nand,
            (&mut self.blocks, &mut self.durability),
            self.streams.validity,
            Purpose::Recovery,
            steps.now,
        );
        if let AnyMapping::Paged(paged) = &mut self.mapping {
            paged.all_synchronized(io);
        }
        self.validity.checkpoint(io)?;
        steps.count(io);
        Ok(())
    }
}

/// How many user blocks hold the pages that a recovery usually looks at: those of the last 2 C updates, and of the marks
/// in between; and the blocks that were open.
fn recent_blocks(geometry: &Geometry, ftl: &mut PageMapped) -> usize {
    let pages = u64::from(ftl.paged().cache_entries()) * 9 / 4;
    let open = u32::from(ftl.streams.count) * geometry.dies();
    pages.div_ceil(u64::from(geometry.pages_per_block())) as usize + open as usize
}

impl Gathered {
    fn new(geometry: &Geometry, recent_blocks: usize) -> Self {
        Self {
            bid: BlocksInformation::new(geometry, recent_blocks),
            suspect_metadata: Vec::new(),
            suspects: Vec::new(),
            reports: Vec::new(),
            silent: Vec::new(),
            unreadable: Vec::new(),
            places: None,
            dangling: Vec::new(),
            freed: Vec::new(),
            behind_suspects: Vec::new(),
            fallbacks: Vec::new(),
            older: Vec::new(),
            lost: None,
            scanned: 0,
            scratch: 0,
        }
    }

    /// What it takes in RAM.
    fn bytes(&self) -> u64 {
        let founds = (self.older.capacity() + self.suspect_metadata.capacity()) * size_of::<Found>();
        let pages = (self.reports.capacity() + self.fallbacks.capacity() + 2 * self.behind_suspects.capacity())
            * size_of::<Page>();
        let blocks = self.freed.capacity() * size_of::<Block>();
        let suspects = self.suspects.capacity() * size_of::<Suspect>();
        let silent = (self.silent.capacity() + self.unreadable.capacity()) * size_of::<Silent>();
        let places = self.places.as_ref().map_or(0, Places::bytes);
        self.bid.bytes() + places + (founds + pages + blocks + suspects + silent + self.scratch) as u64
    }
}
