//! The findings of the scan of spare areas.

use super::Drive;
use crate::barriers::Barrier;
use crate::blocks::RECOVERY_STREAM;
use crate::medium::{Owned, window};
use crate::page_mapped::durability::common::{FoundPage, last_page_data};
use crate::page_mapped::mapping::Place;
use crate::page_mapped::validity::Validity;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Spare, SpareRead};

/// A suspect last page of a block: read in full, and what it says is true.
pub(super) struct Uncertain {
    pub(super) found: FoundPage,
    /// Its data: it may have been the last time that it read well.
    pub(super) data: Owned,
    /// The block has room behind it.
    part_filled: bool,
}

/// The findings of the scan besides the mapping.
pub(super) struct PageScan {
    window: u64,
    pub(super) version_max: u64,
    pub(super) seq_max: u64,
    /// The highest seq of a page that is not a recovery's copy.
    seq_max_before_recovery: u64,
    /// By block: seq of its first readable page (0 where none is), and whether it holds tombstones.
    pub(super) first_seq: Vec<u64>,
    pub(super) holds_tombstones: Vec<bool>,
    /// Last pages that are suspect as far as the scan has come: at the most twice as many as can be.
    recent: Vec<Uncertain>,
    /// Last pages of part-filled blocks that cannot have been.
    pub(super) part_filled: Vec<FoundPage>,
    /// By region: the newest tombstone page that is certain.
    pub(super) tombstones: Vec<Option<FoundPage>>,
    pub(super) lasts_read: u64,
    pub(super) lasts_bad: u64,
}

/// Whether `a` is a newer content than `b`, or the same copied later.
pub(super) fn newer(a: &Spare, b: &Spare) -> bool {
    (a.version, a.seq) > (b.version, b.seq)
}

impl PageScan {
    pub(super) fn new<N: Nand>(drive: &Drive<'_, N>) -> Self {
        let geometry = drive.geometry();
        Self {
            window: window(geometry.dies()) as u64,
            version_max: 0,
            seq_max: 0,
            seq_max_before_recovery: 0,
            first_seq: vec![0; geometry.blocks() as usize],
            holds_tombstones: vec![false; geometry.blocks() as usize],
            recent: Vec::new(),
            part_filled: Vec::new(),
            tombstones: vec![None; drive.ftl.mapping.trims.regions() as usize],
            lasts_read: 0,
            lasts_bad: 0,
        }
    }

    /// Reads every spare area of `block`, and its last readable page in full. All pages are entered at once, but for a
    /// suspect last one.
    pub(super) fn block<N: Nand>(&mut self, drive: &mut Drive<'_, N>, block: Block) {
        let geometry = drive.geometry();
        let mut last: Option<FoundPage> = None;
        let mut end = 0;
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(block, index);
            match drive.read_spare(page) {
                SpareRead::Erased => {}
                SpareRead::Unreadable => end = index + 1,
                SpareRead::Written(spare) => {
                    end = index + 1;
                    self.note(block, &spare);
                    let is_next = last.is_none_or(|last| last.spare.seq < spare.seq);
                    debug_assert!(is_next, "pages of {block} are not in program order");
                    if let Some(sound) = last.replace(FoundPage { page, spare }) {
                        self.enter(drive, sound);
                    }
                }
            }
        }
        let Some(found) = last else { return };
        self.lasts_read += 1;
        let barriers = drive.ftl.blocks.barriers();
        let read = drive.read_page(found.page);
        let Some(data) = last_page_data(read, barriers, || self.uncertain(&found.spare)) else {
            self.lasts_bad += 1;
            return;
        };
        let part_filled = end < geometry.pages_per_block();
        self.recent.push(Uncertain { found, data, part_filled });
        self.settle(drive);
    }

    /// Enters those of the recent pages that turn out to be certain.
    fn settle<N: Nand>(&mut self, drive: &mut Drive<'_, N>) {
        let (uncertain, certain) =
            core::mem::take(&mut self.recent).into_iter().partition(|r| self.uncertain(&r.found.spare));
        self.recent = uncertain;
        debug_assert!(self.recent.len() as u64 <= 2 * self.window, "more pages may have been in flight than can be");
        let certain: Vec<Uncertain> = certain;
        for last in certain {
            self.enter(drive, last.found);
            if last.part_filled && drive.keeps(Barrier::PartFilledCopied) {
                self.part_filled.push(last.found);
            }
        }
    }

    /// The scan is over: the suspect pages, oldest first.
    pub(super) fn end<N: Nand>(&mut self, drive: &mut Drive<'_, N>) -> Vec<Uncertain> {
        self.settle(drive);
        let mut uncertain = core::mem::take(&mut self.recent);
        uncertain.sort_by_key(|r| r.found.spare.seq);
        uncertain
    }

    fn note(&mut self, block: Block, spare: &Spare) {
        self.version_max = self.version_max.max(spare.version);
        self.seq_max = self.seq_max.max(spare.seq);
        if spare.stream != RECOVERY_STREAM {
            self.seq_max_before_recovery = self.seq_max_before_recovery.max(spare.seq);
        }
        let first = &mut self.first_seq[block.index()];
        if *first == 0 {
            *first = spare.seq;
        }
        self.holds_tombstones[block.index()] |= spare.kind == Kind::Tombstone;
    }

    /// Whether a page is suspect, from the last power cut or from one that met the recovery from an earlier one. It is
    /// among the last that can have been in flight, of all pages or of those that no recovery wrote. Until the scan is
    /// over, whether it may turn out to be.
    fn uncertain(&self, spare: &Spare) -> bool {
        let before = self.seq_max_before_recovery;
        spare.seq + self.window > self.seq_max || (spare.seq <= before && spare.seq + self.window > before)
    }

    /// A page that has the content it says: it wins its logical page, or its region, if it is the newest so far. The
    /// page that it is newer than is read again rather than remembered: a version a logical page would double the
    /// mapping's RAM. The block of the page that it makes stale, if any.
    pub(super) fn enter<N: Nand>(&mut self, drive: &mut Drive<'_, N>, found: FoundPage) -> Option<Block> {
        let key = found.spare.key;
        match found.spare.kind {
            Kind::User if key < drive.ftl.shape.logical_pages => {
                let key = LogicalPage(key);
                let mut stale = None;
                if let Place::At(page) = drive.ftl.mapping.get(key) {
                    if let SpareRead::Written(other) = drive.read_spare(page) {
                        let older = if drive.keeps(Barrier::VersionOrder) {
                            newer(&other, &found.spare)
                        } else {
                            page > found.page
                        };
                        if older {
                            return None;
                        }
                    }
                    drive.drop_entered(page);
                    stale = Some(drive.ftl.blocks.geometry().block_of(page));
                }
                drive.ftl.mapping.set(key, Place::At(found.page));
                drive.ftl.validity.validate(found.page);
                drive.ftl.blocks.counters.add(drive.ftl.blocks.geometry().block_of(found.page));
                stale
            }
            Kind::Tombstone => {
                let slot = self.tombstones.get_mut(key as usize)?;
                let any = !drive.keeps(Barrier::NewestTombstones);
                if slot.is_none_or(|other| any || newer(&found.spare, &other.spare)) {
                    return slot.replace(found).map(|old| drive.ftl.blocks.geometry().block_of(old.page));
                }
                None
            }
            _ => None,
        }
    }
}
