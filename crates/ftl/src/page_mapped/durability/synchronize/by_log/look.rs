//! The pages of a log on flash, and what blocks of user pages say by themselves.

use super::LiveByLog;
use crate::blocks::RECOVERY_STREAM;
use crate::page_mapped::durability::common::{FoundPage, Silent};
use crate::page_mapped::durability::synchronize::gathered::{Gathered, PagedDrive};
use crate::page_mapped::durability::synchronize::translation::Translation;
use crate::page_mapped::validity::{PageValidityLog, Validity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Nand, Page, SpareRead};

impl Gathered<LiveByLog> {
    /// Finds the log.
    pub(super) fn scan_log<N: Nand>(&mut self, drive: &mut PagedDrive<'_, PageValidityLog, N>) {
        let geometry = drive.geometry();
        let (mut scan, kind) = (ValidityScan::default(), drive.ftl.validity.kind());
        let mut suspects = Vec::new();
        for information in self.bid.validity.clone() {
            let (pages, suspect) = self.pages_of(drive, information.block);
            for found in pages.iter().filter(|found| found.spare.kind == kind) {
                scan.note(found.page, &found.spare);
            }
            if let (Some(data), Some(last)) = (suspect, pages.last()) {
                suspects.push(*last);
                drive.keep(last, data);
            }
        }
        let sure = scan.without(&suspects.iter().map(|found| found.page).collect::<Vec<Page>>());
        let heard_until = drive.read_validity(|store, io| {
            store.restore(io, scan.clone());
            store.heard_until(io, sure)
        });
        for page in drive.ftl.validity.metadata_pages() {
            drive.ftl.blocks.counters.add(geometry.block_of(page));
        }
        let told_until = scan.programmed_last();
        debug_assert!(told_until <= self.bid.seq_max, "a page of the log was not noted");
        debug_assert!(heard_until.after <= told_until, "the log has heard of what was programmed after it");
        self.live_by = LiveByLog { scan, suspects, heard_until, told_until, ..LiveByLog::default() };
    }
}

impl LiveByLog {
    /// Looks at a block of user pages, of which these can be believed: what else is in it is not live.
    pub(super) fn look_at_block<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, PageValidityLog, N>,
        translation: &Translation,
        block: Block,
        pages: &[FoundPage],
    ) {
        let geometry = drive.geometry();
        debug_assert!(pages.iter().all(|found| geometry.block_of(found.page) == block), "a page is not of {block}");
        let end = pages.last().map_or(0, |last| geometry.index_of(last.page) + 1);
        let last_seq = pages.last().map_or(0, |last| last.spare.seq);
        let is_young = last_seq > self.heard_until.after;
        // Recoveries copy what others say as well, and their blocks may be erased: an erase that was cut.
        let says_more = is_young && pages.iter().any(|found| found.spare.stream != RECOVERY_STREAM);
        if end < geometry.pages_per_block() {
            self.silent.extend(drive.silent_behind(block, pages.last()));
            let next = geometry.page(block, end);
            let is_named = match drive.read_spare(next) {
                SpareRead::Written(spare) => {
                    drive.is_named(&FoundPage { page: next, spare }, |part| translation.synchronized(part))
                }
                SpareRead::Erased | SpareRead::Unreadable => false,
            };
            if is_named {
                // It may have taken a place as well.
                drive.ftl.validity.set_damaged();
            }
            let from = end + u32::from(is_named);
            self.unwritten.extend((from < geometry.pages_per_block()).then(|| geometry.page(block, from)));
        }
        let mut readable = pages.iter().peekable();
        let mut after = 0;
        for page in (0..end).map(|index| geometry.page(block, index)) {
            if let Some(found) = readable.next_if(|found| found.page == page) {
                after = found.spare.seq;
                continue;
            }
            match drive.read_spare(page) {
                // An erase that was cut has made it blank.
                SpareRead::Erased => self.reports.push(page),
                SpareRead::Unreadable => {
                    self.unreadable.push(Silent { page, after });
                    if says_more {
                        // Whose place it took is lost: from now on only the mapping decides which pages are live.
                        drive.ftl.validity.set_damaged();
                    }
                }
                SpareRead::Written(_) => {}
            }
        }
        debug_assert!(readable.next().is_none(), "a page of {block} was passed by");
        if is_young {
            self.young.push((block, last_seq));
        }
    }

    /// These pages are live, though nothing in them can be read: what lies behind the last of a block was not written,
    /// what lies before it is torn.
    pub(super) fn leave_out(&mut self, geometry: &Geometry, named: &[Page]) {
        debug_assert!(named.is_sorted(), "pages are looked up in no order");
        let (mut torn, mut unwritten) = (Vec::new(), Vec::new());
        for from in self.unwritten.drain(..) {
            let end = geometry.page(geometry.block_of(from), geometry.pages_per_block() - 1);
            let of_block = named.iter().filter(|page| (from..=end).contains(*page));
            let Some(last) = of_block.max() else {
                unwritten.push(from);
                continue;
            };
            torn.extend((from.0..last.0).map(Page).filter(|page| named.binary_search(page).is_err()));
            unwritten.extend((*last < end).then_some(Page(last.0 + 1)));
        }
        self.unwritten = unwritten;
        self.reports.extend(torn);
        self.reports.sort_unstable();
    }
}
