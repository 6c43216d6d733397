//! Recovery of a demand-paged drive whose battery saved every mapping entry (DFTL and µ-FTL as GeckoFTL section 5.3 has
//! them).
//!
//! Where the seal holds, what else was saved under it is enough (`restore.rs`). This file is for where it does not
//! hold. Then the translation pages are the only source, and all of them are read.
//!
//! The battery let the operations in flight finish, so no page is torn. Nothing is written but a copy of the drive's
//! description that has gone bad, unless translation pages have gone bad. So a power cut meanwhile changes nothing. A
//! B+-tree's inner nodes and a bitmap in flash are written anew from the translation pages. Those on flash are not
//! believed, so here, too, a power cut changes nothing.
//!
//! **Cuts without warning.** Nothing is promised for the data. But some entries would break the structures, and are
//! taken out. Such an entry names a page that has another owner, or a block in which no user page stands. Or it names a
//! block that was begun after its translation page was synchronized. An older copy that counts because the newest one
//! cannot be read must not claim what others wrote there since.
//!
//! **Translation pages that cannot be read.** No older version of a logical page may come back, and neither may zeros.
//! So an older copy of a translation page never stands in for its newest:
//! - Where the data are bad and the spare area is not, the page is entered as it is. What it maps are read errors until
//!   written again. The spare areas of user pages are no second source for the data: they do not record trims.
//! - Where the spare area is bad, its translation page is unknown. Within a block pages are in program order, so the
//!   bad page is older than the page behind it. Or, on one die, it is older than the block of translation pages begun
//!   next. Every translation page that was written after that is beyond doubt. All others are lost. They are written
//!   anew as lost before the bad page can be erased: the next recovery must not find an older copy and no doubt.
//! - A translation page that says that it stands in the place of the bad one has all that counts of it.
//! - A program that fails leaves such a page, too, as the last one of its block, and its content is written again at
//!   once. So a last page is taken for one of these if any translation page was written after the one in front of it.
//!   Then nothing is lost. That is wrong where the last page of a block went bad by itself and others were written
//!   later, or, on several dies, beside it. Then the copy before it counts.

use super::Battery;
use super::store::{BatteryDrive, SavedStore};
use crate::FtlError;
use crate::barriers::{Barrier, Barriers};
use crate::blocks::Spread;
use crate::medium::marks::{InPlaceOf, SpareMarks};
use crate::page_mapped::durability::Survival;
use crate::page_mapped::durability::common::Described;
use crate::page_mapped::mapping::{Mapping, PagedMapping};
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::shape::least_free;
use crate::recovery_report::RecoveryReport;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, LogicalPage, Nand, Page, Spare, SpareRead};

/// A page that may have been a translation page, and cannot say so any more.
#[derive(Clone, Copy)]
struct Unreadable {
    block: Block,
    page: Page,
    /// Programmed after this `seq`, and before this one, where its block shows it.
    after: u64,
    before: u64,
    /// Nothing was programmed behind it in its block.
    is_last: bool,
}

/// The findings of the scan of spare areas.
struct TableScan {
    version_max: u64,
    seq_max: u64,
    /// By block: seq of its first readable page, 0 where none is, and whether it holds translation pages.
    first_seq: Vec<u64>,
    holds_translation: Vec<bool>,
    holds_users: Vec<bool>,
    /// By translation page: the newest copy.
    newest: Vec<Option<(Page, u64, u64)>>,
    unreadable: Vec<Unreadable>,
    /// Pages in whose places translation pages were written, since they could not be read.
    replaced: InPlaceOf,
    /// The stream of a bitmap in flash.
    bitmap_stream: Option<u8>,
    barriers: Barriers,
}

impl TableScan {
    fn new<V: SavedStore, N: Nand>(drive: &BatteryDrive<'_, V, N>) -> Self {
        let blocks = drive.geometry().blocks() as usize;
        Self {
            version_max: 0,
            seq_max: 0,
            first_seq: vec![0; blocks],
            holds_translation: vec![false; blocks],
            holds_users: vec![false; blocks],
            newest: vec![None; drive.ftl.mapping.parts() as usize],
            unreadable: Vec::new(),
            replaced: InPlaceOf::none(),
            bitmap_stream: drive.ftl.validity.is_on_flash().then_some(drive.ftl.streams.validity),
            barriers: drive.ftl.blocks.barriers(),
        }
    }

    fn note(&mut self, page: Page, block: Block, spare: &Spare) {
        self.version_max = self.version_max.max(spare.version);
        self.seq_max = self.seq_max.max(spare.seq);
        let first = &mut self.first_seq[block.index()];
        if *first == 0 {
            *first = spare.seq;
        }
        self.holds_users[block.index()] |= spare.kind == Kind::User;
        if spare.kind == Kind::Translation {
            self.holds_translation[block.index()] = true;
            self.replaced.note(SpareMarks::of(spare), spare.version);
            if let Some(newest) = self.newest.get_mut(spare.key as usize)
                && newest.is_none_or(|(_, version, seq)| {
                    let any = !self.barriers.keeps(Barrier::NewestTranslationPages);
                    any || (spare.version, spare.seq) > (version, seq)
                })
            {
                *newest = Some((page, spare.version, spare.seq));
            }
        }
    }

    /// Reads the first and the last spare area of a block, and all of them where it holds translation pages or is not
    /// full: then it may have been written last.
    fn block<V: SavedStore, N: Nand>(&mut self, drive: &mut BatteryDrive<'_, V, N>, block: Block) {
        let geometry = drive.geometry();
        let last = geometry.pages_per_block() - 1;
        if let Some(ends) = drive.ends_of_user_block(block) {
            ends.iter().for_each(|(page, spare)| self.note(*page, block, spare));
            return;
        }
        let (mut after, mut is_of_others) = (0, false);
        let of_others = self.unreadable.len();
        for index in 0..=last {
            let page = geometry.page(block, index);
            match drive.read_spare(page) {
                SpareRead::Erased => continue,
                SpareRead::Written(spare) => {
                    self.note(page, block, &spare);
                    // Pages that a battery saved stand among translation pages.
                    let is_saved = spare.kind == Kind::Bitmap && Some(spare.stream) != self.bitmap_stream;
                    is_of_others |= spare.kind != Kind::Translation && !is_saved;
                    for unreadable in &mut self.unreadable[of_others..] {
                        unreadable.before = unreadable.before.min(spare.seq);
                        unreadable.is_last = false;
                    }
                    debug_assert!(spare.seq > after, "pages of {block} are not in program order");
                    after = spare.seq;
                }
                SpareRead::Unreadable => {
                    self.unreadable[of_others..].iter_mut().for_each(|unreadable| unreadable.is_last = false);
                    self.unreadable.push(Unreadable { block, page, after, before: u64::MAX, is_last: true });
                }
            }
        }
        if is_of_others {
            // A block is written by one stream: none of them was a translation page.
            self.unreadable.truncate(of_others);
        }
    }

    /// An unreadable page was programmed before the one behind it. It was programmed before those as well that come right
    /// before that one in program order and can be read: each moment has one page. A battery synchronizes many translation
    /// pages in a row.
    fn bound_by_row(&mut self) {
        let mut programmed: Vec<u64> = self.newest.iter().flatten().map(|(_, _, seq)| *seq).collect();
        programmed.sort_unstable();
        for page in &mut self.unreadable {
            page.before = begin_of_row(&programmed, page.after, page.before);
        }
    }

    /// Nothing readable may be left behind an unreadable page. But on one die a stream has one block open, and a
    /// recovery leaves it as it is. So the pages of a block were programmed before the next block of translation pages
    /// was begun. On several dies it has several, and which of them were open at once is not recorded.
    fn bound(&mut self, geometry: &Geometry) {
        if geometry.dies() > 1 {
            return;
        }
        for page in self.unreadable.iter_mut().filter(|page| page.after > 0) {
            let blocks = self.first_seq.iter().zip(&self.holds_translation);
            let begun = blocks.filter(|(begun, holds)| **holds && **begun > page.after).map(|(begun, _)| *begun);
            page.before = begun.fold(page.before, u64::min);
            debug_assert!(page.before > page.after, "nothing can have been programmed in between");
        }
    }

    /// Leaves those unreadable pages that may hold the newest copy of a translation page, and forgets the copies that
    /// were found of those translation pages. It returns the translation pages whose newest copy is lost.
    fn doubt(&mut self) -> Vec<u32> {
        let newest = self.newest.iter().flatten().map(|(_, _, seq)| *seq).max().unwrap_or(0);
        debug_assert!(newest <= self.seq_max, "a translation page was not noted");
        let replaced = &self.replaced;
        let counts =
            |page: &Unreadable| !(page.is_last && page.after < newest || replaced.may_be(page.page, page.after));
        self.unreadable.retain(counts);
        let Some(beyond_doubt) = self.unreadable.iter().map(|page| page.before).max() else { return Vec::new() };
        let mut lost = Vec::new();
        for (part, found) in self.newest.iter_mut().enumerate() {
            if found.is_none_or(|(_, _, seq)| seq < beyond_doubt) {
                *found = None;
                lost.push(part as u32);
            }
        }
        lost
    }
}

/// The first of the moments without a gap up to `before`, of those that pages were programmed at, in order; not `after` or
/// sooner.
fn begin_of_row(programmed: &[u64], after: u64, mut before: u64) -> u64 {
    let until = programmed.partition_point(|seq| *seq < before);
    for seq in programmed[..until].iter().rev().copied() {
        if seq + 1 != before || seq <= after {
            break;
        }
        before = seq;
    }
    before
}

/// Mounts a drive with a demand-paged mapping, the validity store of which is saved by a battery.
pub(crate) fn recover<V: SavedStore, N: Nand>(
    mut described: Described<'_, N>,
) -> Result<(PageMapped, RecoveryReport), FtlError> {
    let usable = described.usable();
    let mut ftl = blank::<V, N>(&mut described, Some(Spread::OneDie))?;
    let mut drive = BatteryDrive { ftl: &mut ftl, nand: &mut *described.nand, steps: &mut described.steps };
    if let Some(scratch) = drive.restore(&usable) {
        drive.hear_news()?;
        described.steps.report.battery_saved = Some(true);
        return Ok(ftl.mounted(described.steps, scratch));
    }
    // Its writes from here on are no copies of suspect pages, and bear no label.
    ftl = blank::<V, N>(&mut described, None)?;
    let mut drive = BatteryDrive { ftl: &mut ftl, nand: &mut *described.nand, steps: &mut described.steps };
    let scratch = drive.read_translation_pages(usable)?;
    described.steps.report.battery_saved = Some(false);
    Ok(ftl.mounted(described.steps, scratch))
}

/// The drive, of which nothing is known yet.
fn blank<V: SavedStore, N: Nand>(
    described: &mut Described<'_, N>,
    spread: Option<Spread>,
) -> Result<PageMapped<PagedMapping, V>, FtlError> {
    let (paged, store) = described.parts()?;
    let battery = Battery::new(least_free(&described.geometry(), described.config)?, described.config.barriers());
    described.drive((paged, store, Survival::Battery(battery)), spread)
}

impl<V: SavedStore, N: Nand> BatteryDrive<'_, V, N> {
    /// Mounts the drive from what translation pages say. What that took in RAM.
    fn read_translation_pages(&mut self, usable: Vec<Block>) -> Result<u64, FtlError> {
        let geometry = self.geometry();
        self.begin("find the translation pages");
        let mut scan = TableScan::new(self);
        for block in &usable {
            scan.block(self, *block);
        }
        scan.bound(&geometry);
        scan.bound_by_row();
        for part in scan.doubt() {
            self.ftl.mapping.enter_lost(part);
        }

        self.begin("read the translation table");
        // Which pages are live, where they have to be reported to validity afterwards.
        let mut live = V::aside(&geometry);
        let dangling = self.read_table(&scan, &mut live);
        self.ftl.blocks.begin_session(scan.version_max, scan.seq_max);

        let mut order = usable;
        order.sort_by_key(|b| scan.first_seq[b.index()]);
        let in_doubt = |block: &Block| scan.unreadable.iter().any(|page| page.block == *block);
        let (held, certain): (Vec<Block>, Vec<Block>) = order.into_iter().partition(in_doubt);
        self.enter_blocks(&certain, &scan);
        self.hear_news()?;
        self.write_inner_nodes()?;
        self.write_dangling(&dangling)?;
        V::write_anew(self, &live)?;
        if !held.is_empty() {
            self.begin("write lost translation pages");
            let written = self.write_lost();
            self.enter_blocks(&held, &scan);
            if written.is_err() {
                // There was no room but theirs.
                self.write_lost()?;
            }
        }
        // Each, and the moments at which they were programmed.
        let newest = scan.newest.len() * (size_of::<Option<(Page, u64, u64)>>() + size_of::<u64>());
        Ok(u64::from(geometry.blocks()) * 9 + newest as u64 + V::aside_bytes(&geometry))
    }

    /// Enters the entries of the newest translation pages. The logical pages of entries that cannot be right.
    fn read_table(&mut self, scan: &TableScan, live: &mut V::Aside) -> Vec<LogicalPage> {
        let geometry = self.geometry();
        let mut dangling: Vec<LogicalPage> = Vec::new();
        let PageMapped { mapping: paged, validity, blocks, .. } = &mut *self.ftl;
        for (part, found) in scan.newest.iter().enumerate() {
            let Some((page, synchronized, _)) = found else { continue };
            paged.enter_translation_page(part as u32, *page);
            blocks.counters.add(geometry.block_of(*page));
            let Some(bytes) = self.steps.read(self.nand, *page).verified_as(Kind::Translation, part as u32) else {
                continue;
            };
            for (key, mapped) in paged.pages_in(part as u32, bytes) {
                debug_assert!(dangling.last().is_none_or(|last| *last < key), "the table's keys do not ascend");
                if !geometry.contains(mapped)
                    || !scan.holds_users[geometry.block_of(mapped).index()]
                    || scan.first_seq[geometry.block_of(mapped).index()] > *synchronized
                    || !validity.enter(live, mapped)
                {
                    dangling.push(key);
                    continue;
                }
                blocks.counters.add(geometry.block_of(mapped));
            }
        }
        dangling
    }

    /// Blocks with live pages are candidates for collection, all others free.
    fn enter_blocks(&mut self, blocks: &[Block], scan: &TableScan) {
        for block in blocks.iter().copied() {
            if self.ftl.blocks.counters.live(block) > 0 {
                let stream = if scan.holds_translation[block.index()] { self.ftl.streams.mapping } else { 0 };
                self.close(block, stream);
            } else {
                self.ftl.blocks.release(block);
            }
        }
    }

    /// Writes what stands between a tree's root and the translation pages found.
    fn write_inner_nodes(&mut self) -> Result<(), FtlError> {
        if self.ftl.mapping.is_flat() {
            return Ok(());
        }
        self.begin("write inner nodes");
        self.write_mapping(|paged, io, _| paged.build(io))?;
        self.hear_news()
    }

    /// Takes entries out of the table that cannot be right.
    fn write_dangling(&mut self, dangling: &[LogicalPage]) -> Result<(), FtlError> {
        if dangling.is_empty() {
            return Ok(());
        }
        self.begin("take out what cannot be right");
        let entries = self.geometry().page_bytes() / 4;
        self.write_mapping(|paged, io, _| {
            for keys in dangling.chunk_by(|a, b| a.0 / entries == b.0 / entries) {
                paged.write_dangling(io, keys)?;
            }
            Ok(())
        })?;
        self.hear_news()
    }

    /// Makes it durable which translation pages are lost.
    fn write_lost(&mut self) -> Result<(), FtlError> {
        self.write_mapping(|paged, io, _| paged.write_lost(io))?;
        self.wait_for_programs();
        self.hear_news()
    }
}

#[cfg(test)]
mod tests {
    use super::begin_of_row;

    #[test]
    fn a_row_ends_where_a_moment_is_missing() {
        let programmed = [3, 10, 11, 13, 14, 15];
        assert_eq!([16, 15, 12, 9].map(|before| begin_of_row(&programmed, 0, before)), [13, 13, 10, 9]);
        assert_eq!(begin_of_row(&programmed, 14, 16), 15, "what is behind was programmed later");
        assert_eq!(begin_of_row(&programmed, 0, u64::MAX), u64::MAX);
    }
}
