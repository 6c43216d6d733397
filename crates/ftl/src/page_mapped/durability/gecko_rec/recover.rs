//! GeckoRec's recovery: of a demand-paged mapping with Logarithmic Gecko (GeckoFTL section 4.3 and appendix C).
//!
//! The paper's steps:
//! 1. the blocks information directory;
//! 2. the global mapping directory;
//! 3. the run directories;
//! 4. the buffer, as far as it has erases (C.2.1) and synchronizations (C.2.2);
//! 5. the counters of live pages;
//! 6. the dirty entries of the mapping;
//! 7. marks them as unsure;
//! 8. goes on.
//!
//! Here 3 comes before 2, because the newest run shows which translation pages the buffer did not cover. And 6 comes
//! before 5, so that pages found to be stale are counted.
//!
//! Not as in the paper, each because data would be lost or a drive would get stuck otherwise:
//! - How far to scan back is written in the newest run, not counted in pages. Several cuts less than C writes apart
//!   would let dirty entries outlive the count, and a block that is open for long would hide them.
//! - Older copies of a logical page that the scan meets are reported as stale: those of cached entries were in the
//!   buffer alone.
//! - Translation pages are compared with those that the last flush covered (`translation.rs`).
//! - Suspect pages are read in full, and copied to fresh pages before anything is reported that rests on them.

use super::MARKS_MAX;
use super::gathered::{GeckoDrive, GeckoGathered};
use super::translation::TranslationPages;
use crate::barriers::Barrier;
use crate::blocks::Spread;
use crate::medium::Session;
use crate::page_mapped::compose;
use crate::page_mapped::durability::common::{BlockInformation, Described, Mount, was_older_copy};
use crate::page_mapped::durability::{ScanFrom, Survival};
use crate::page_mapped::mapping::{Mapping, Overruled, PagedMapping};
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::validity::{LogarithmicGecko, Validity, ValidityScan};
use crate::{FtlError, RecoveryReport};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Block, LogicalPage, Nand, SpareRead};

/// Scanning this many times C pages means that cuts come faster than checkpoints: everything is synchronized then.
const SCANNED_MAX: u64 = 4;

/// Mounts a drive with a demand-paged mapping and Logarithmic Gecko.
pub(crate) fn recover<N: Nand>(mut described: Described<'_, N>) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let (mut paged, mut gecko): (PagedMapping, LogarithmicGecko) = described.parts()?;
    let geometry = described.geometry();
    let scheme = compose::gecko_rec(&geometry, &mut paged, &mut gecko, described.config.barriers());
    let mut ftl = described.drive((paged, gecko, Survival::Nothing), Some(Spread::OneDie))?;
    let Described { nand, mut steps, .. } = described;
    let mut drive = Session { ftl: &mut ftl, nand, steps: &mut steps };

    drive.begin("1 blocks information directory");
    let mut g = GeckoGathered::new(&geometry, drive.recent_blocks());
    g.find_blocks(&mut drive);

    drive.begin("3 run directories");
    let scan = g.scan_validity(&mut drive);
    let told_until = scan.programmed_last();
    let (frozen, scan_from) = g.restore_runs(&mut drive, &scan);

    drive.begin("2 global mapping directory");
    let translation = g.scan_translation(&mut drive, frozen);
    drive.enter_translation_pages(&translation);
    g.restore_log(&mut drive, frozen, &translation);

    drive.begin("4 Gecko's buffer");
    g.compare_versions(&mut drive, &translation);

    drive.begin("6 entries of the pages written last");
    drive.ftl.mapping.take_checkpoints(scan_from);
    let since = scan_from.oldest_open.min(frozen);
    g.read_log_since(&mut drive, since);
    let user = g.bid.user_since(&mut drive, since);
    let settled = g.scan_user(&mut drive, scan_from, &translation, &user)?;
    g.scan_for_lost(&mut drive, &translation, scan_from.after);
    g.settle(&mut drive, &translation, settled);
    drive.ftl.blocks.begin_session(g.bid.version_max, g.bid.seq_max);
    drive.ftl.durability.begin(Survival::GeckoRec(scheme.mounting(scan_from, frozen)));

    g.find_fallbacks(&mut drive, (&scan, frozen), &translation);
    drop(scan);

    drive.begin("5 counters of live pages");
    let emptied = g.count(&mut drive, (frozen, told_until), &translation, &user)?;
    g.go_on_with_log(&mut drive)?;

    drive.begin("copies of what may have been in flight");
    g.write(&mut drive, emptied, frozen, &translation, &user)?;

    let user = user.capacity() * size_of::<BlockInformation>();
    let scratch = g.bytes() + translation.bytes() + user as u64;
    Ok(ftl.mounted(steps, scratch))
}

impl GeckoGathered {
    /// Gecko takes its runs for its own: the moment that the last flush had frozen, and from where on to scan.
    fn restore_runs<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, scan: &ValidityScan) -> (u64, ScanFrom) {
        let geometry = drive.geometry();
        let (frozen, mut scan_from, found) = drive.read_validity(|gecko, io| gecko.restore(io, scan));
        self.scratch += scan.bytes() + found;
        debug_assert!(frozen <= self.bid.seq_max, "the last flush has frozen what was not programmed");
        if !drive.keeps(Barrier::ScanFromWritten) {
            let scanned = 2 * u64::from(drive.ftl.mapping.cache_entries());
            scan_from = ScanFrom { after: self.bid.seq_max.saturating_sub(scanned), oldest_open: 0 };
        }
        if !drive.keeps(Barrier::OldestOpenListed) {
            scan_from.oldest_open = scan_from.after.saturating_sub(u64::from(geometry.pages_per_block()));
        }
        for page in drive.ftl.validity.metadata_pages() {
            drive.ftl.blocks.counters.add(geometry.block_of(page));
        }
        (frozen, scan_from)
    }

    /// The mapping takes the runs of its log for its own, if it has one.
    fn restore_log<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, frozen: u64, translation: &TranslationPages) {
        if !drive.ftl.mapping.has_log() {
            return;
        }
        let geometry = drive.geometry();
        let folded = self.folded_since(drive, translation);
        self.scratch += folded.capacity() * size_of::<Range<u32>>();
        // Some may be suspects no more once all pages written lately have been found.
        let is_suspect = |page| self.suspect_metadata.iter().any(|found| found.page == page);
        let (pages, mut restored) =
            drive.read_mapping(|paged, io| paged.restore_log(io, &self.mapping_log, (frozen, &folded), is_suspect));
        for page in pages {
            drive.ftl.blocks.counters.add(geometry.block_of(page));
        }
        self.covered_runs = core::mem::take(&mut restored.covered);
        self.trimmed_by_suspects = core::mem::take(&mut restored.trimmed_by_suspects);
        // With the runs that were read for them.
        self.scratch += restored.bytes() + self.mapping_log.bytes();
        for Overruled { key, page, until } in restored.overruled {
            // A table on flash may say anything, with a checksum that fits.
            if !geometry.contains(page) || !self.bid.holds_user_pages(geometry.block_of(page)) {
                continue;
            }
            let read = drive.read_spare(page);
            if was_older_copy(read, key, until + 1) {
                self.silent.extend((read == SpareRead::Unreadable).then(|| drive.silent_at(page)));
                self.reports.push(page);
                self.fallbacks.extend(self.is_trimmed_by_suspects(LogicalPage(key)).then_some(page));
            }
        }
    }

    /// The logical pages, ascending, of translation pages that may have been folded since the last flush: all, where some
    /// have gone bad that cannot say which ones they were.
    fn folded_since<N: Nand>(&self, drive: &GeckoDrive<'_, N>, translation: &TranslationPages) -> Vec<Range<u32>> {
        if self.lost.is_some() {
            return alloc::vec![0..drive.ftl.shape.logical_pages];
        }
        let mut folded: Vec<Range<u32>> = Vec::new();
        for (part, ..) in translation.replaced() {
            let keys = drive.ftl.mapping.range_of(part);
            match folded.last_mut() {
                Some(before) if before.end == keys.start => before.end = keys.end,
                _ => folded.push(keys),
            }
        }
        folded
    }

    /// Writes the state that the drive is to go on with. `emptied` are blocks that must not be erased before the copies
    /// are on flash.
    fn write<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        mut emptied: Vec<Block>,
        frozen: u64,
        translation: &TranslationPages,
        user: &[BlockInformation],
    ) -> Result<(), FtlError> {
        let doubted = self.suspects_in_doubt(drive, translation);
        self.copy_suspects(drive, &doubted, &mut emptied)?;
        self.write_lost(drive, translation, &mut emptied)?;
        // Those that turned out to be the newest.
        drive.write_in_need(&mut emptied, Mount::let_go, |drive| {
            drive.write_mapping(|paged, io, _| paged.copy_pages(io, &doubted))
        })?;
        drive.let_kept_go();
        write_down_damage_of_mapping(drive, translation, &mut emptied)?;
        self.write_dangling(drive, &mut emptied)?;
        self.write_down_damage(drive, &mut emptied)?;
        for block in emptied {
            drive.ftl.blocks.release(block);
        }
        drive.write_mapping(|paged, io, _| paged.program_missing_pages(io))?;
        self.write_down(drive, frozen, user)?;
        self.tell_of_freed(drive)?;
        drive.ftl.durability.everything_is_told();
        if self.scanned > SCANNED_MAX * u64::from(drive.ftl.mapping.cache_entries()) {
            drive.synchronize_everything()?;
        }
        drive.hear_news()?;
        drive.wait_for_programs();
        Ok(())
    }
}

/// A version that Gecko's last flush covers could not be compared, or a run that it covers. After the next flush no
/// recovery tries. So a translation page says from now on that stale pages may be taken for live.
fn write_down_damage_of_mapping<N: Nand>(
    drive: &mut GeckoDrive<'_, N>,
    translation: &TranslationPages,
    emptied: &mut Vec<Block>,
) -> Result<(), FtlError> {
    if !drive.ftl.mapping.is_damaged() || translation.tell_of_damage() || !drive.keeps(Barrier::DamageWritten) {
        return Ok(());
    }
    drive.let_go_if_out_of_blocks(emptied);
    drive.write_mapping(|paged, io, before| paged.restore_part(io, 0, &[], true, |_| false, before))
}

impl<N: Nand> GeckoDrive<'_, N> {
    /// How many user blocks hold the pages that a recovery looks at, unless cuts come faster than checkpoints.
    ///
    /// Updates count, not the host's writes: each update programs one user page, a collection's as well. A flush writes
    /// down the oldest of the marks kept, and so many more marks may pass before the next flush. A collection that is
    /// under way may delay that by a block, and a block may be part-filled at either end.
    fn recent_blocks(&self) -> usize {
        let geometry = self.geometry();
        let pages = self.ftl.mapping.updates_in_doubt(MARKS_MAX);
        let open = u32::from(self.ftl.streams.count) * geometry.dies();
        let begun_while_open = self.ftl.blocks.begun_while_open();
        (pages.div_ceil(u64::from(geometry.pages_per_block())) + begun_while_open) as usize + open as usize + 1
    }

    /// The newest version of each translation page is the table's.
    fn enter_translation_pages(&mut self, translation: &TranslationPages) {
        let geometry = self.geometry();
        for (part, page, _) in translation.versions() {
            self.ftl.mapping.enter_translation_page(part, page);
            self.ftl.blocks.counters.add(geometry.block_of(page));
        }
        if translation.tell_of_damage() {
            self.ftl.mapping.set_damaged();
        }
    }

    /// Leaves nothing for the next recovery to scan.
    fn synchronize_everything(&mut self) -> Result<(), FtlError> {
        let mut part = Some(0);
        while let Some(from) = part {
            part = self.write_mapping(|paged, io, before| paged.synchronize_next(io, from, before))?;
            debug_assert!(part.is_none_or(|next| next > from), "the table is not gone through in order");
            self.settle()?;
        }
        self.mapping(|paged, io| paged.all_synchronized(io));
        self.write_validity(|gecko, io| gecko.checkpoint(io))
    }
}
