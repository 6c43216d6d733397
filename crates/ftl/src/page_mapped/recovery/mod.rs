//! Recovery by scanning: the spare area of every page is read, and the newest copy of each logical page wins.
//!
//! Newest is by version, then by program order. What a power cut met cannot be told from its spare area: a page may be
//! torn where only the data's CRC knows, or read well now and fail later. Three rules deal with that:
//!
//! - **Only the last page of a block can be torn**, because no page is ever programmed behind one that a cut may have
//!   met: blocks that were open stay as they are and become candidates for collection. So the last page of every block
//!   is read in full, at every recovery, and believed only where its CRC fits; all others are sound.
//! - **What may have been in flight is copied** to a fresh page before the host sees anything. That is the last pages
//!   in program order, as many as the drive's clock lets be in flight; the last ones that no recovery wrote, because
//!   the power may have failed again before they were copied; and, whatever their age, last pages of part-filled blocks
//!   that are still the newest of their kind; where next to nothing is free, of these only what a recovery has written.
//! - **What such a page makes stale is kept until the copy is safe**: should the page turn bad, it is what counts.

mod battery;
mod blocks_information;
mod gecko_rec;
mod last_page;
mod scan;
mod seal;
mod steps;
mod synchronizing;
mod tree;

use super::mapping::{AnyMapping, Mapping, Place, RamMapping};
use super::meta_io::MetaIo;
use super::parts::{PageConfig, PageMapped};
use super::shape::recovery_bound;
use crate::barriers::Barrier;
use crate::blocks::{RECOVERY_STREAM, Spread};
use crate::config::PowerPart;
use crate::medium::marks::SpareMarks;
use crate::medium::{Clock, FirstPages, NewPage, anchor};
use crate::page_mapped::validity::Validity;
use crate::recovery_report::RecoveryReport;
use crate::{ANCHOR_BLOCKS, FtlError};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, LogicalPage, Nand, Page, Purpose, Spare, SpareRead, Time};
use scan::{Scan, Uncertain, newer};
use steps::{Owned, Steps};

/// A page with its spare area.
#[derive(Clone, Copy)]
struct Found {
    page: Page,
    spare: Spare,
}

/// Whether this is a copy of `key` that was there before `before`, in program order.
fn is_older_copy(read: SpareRead, key: u32, before: u64) -> bool {
    matches!(read, SpareRead::Written(spare) if spare.kind == Kind::User && spare.key == key && spare.seq < before)
}

/// The same of a page that was such a copy, unless its block was erased and written again: an erase that was cut leaves
/// nothing that can be read.
fn was_older_copy(read: SpareRead, key: u32, before: u64) -> bool {
    !matches!(read, SpareRead::Written(_)) || is_older_copy(read, key, before)
}

const NOT_A_TABLE: FtlError = FtlError::Unsupported("only a mapping table in RAM is recovered by scanning");

impl PageMapped {
    /// The mapping table in RAM: what this recovery is for.
    fn table(&mut self) -> &mut RamMapping {
        match &mut self.mapping {
            AnyMapping::Ram(table) => table,
            AnyMapping::Paged(_) | AnyMapping::Mu(_) => unreachable!("recovery by scanning begins with a table in RAM"),
        }
    }

    /// What policies ask to be noted of blocks is made of what this recovery has read.
    fn note_first_pages(&mut self, first: &FirstPages, report: &mut RecoveryReport) {
        self.blocks.note_first_pages(first, self.streams.placement);
        report.scratch_bytes += first.bytes();
    }

    /// Copies of what may have been in flight are on flash.
    fn let_kept_go(&mut self) {
        if let Some(mounting) = self.durability.mounting() {
            mounting.let_go();
        }
    }

    /// A page that was entered is not the newest any more.
    fn drop_entered(&mut self, page: Page) {
        self.validity.leave(self.blocks.geometry(), page);
        self.drop_count(page);
    }

    /// Brings a drive up from what is on flash.
    pub(crate) fn recover<N: Nand>(
        nand: &mut N,
        config: &PageConfig,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let (mut ftl, mut report) = match config.composition.power {
            _ if !config.composition.survives_power_cuts() => {
                Err(FtlError::Unsupported("there is no recovery for an FTL of these parts"))
            }
            PowerPart::Battery => Self::recover_from_battery(nand, config, at),
            PowerPart::GeckoRec => Self::recover_with_gecko_rec(nand, config, at),
            PowerPart::Synchronize | PowerPart::Fast => Self::recover_by_synchronizing(nand, config, at),
            PowerPart::Scan | PowerPart::Nothing => Self::recover_by_scanning(nand, config, at),
        }?;
        ftl.blocks.mounted();
        ftl.durability.mounted();
        report.bound = recovery_bound(nand.geometry(), config)?;
        if ftl.collecting.sampling.is_some() {
            // Until here all blocks were counted.
            report.scratch_bytes += u64::from(nand.geometry().blocks()) * 2;
            ftl.keep_sample(None);
        }
        Ok((ftl, report))
    }

    /// What every recovery begins with: the drive's description, an FTL that knows nothing yet, and the blocks it may use.
    fn find_description<N: Nand>(
        nand: &mut N,
        config: &PageConfig,
        at: Time,
    ) -> Result<(Self, Vec<Block>, Steps), FtlError> {
        let geometry = *nand.geometry();
        let mut steps = Steps::new(at);
        let anchors = anchor::find_as_step(nand, config, &mut steps)?;
        let mut ftl = Self::empty(&geometry, config, anchors, Clock::new(geometry.dies(), 0, 0))?;
        steps.first = FirstPages::new(geometry.blocks(), ftl.blocks.notes.any());
        ftl.blocks.begin_mounting(match config.composition.power {
            PowerPart::Scan => Spread::AllDies,
            _ => Spread::OneDie,
        });
        ftl.durability.begin_mounting();
        let usable = ftl.usable_blocks(nand);
        ftl.blocks.found_bad(geometry.blocks() - ANCHOR_BLOCKS - usable.len() as u32);
        Ok((ftl, usable, steps))
    }

    fn recover_by_scanning<N: Nand>(
        nand: &mut N,
        config: &PageConfig,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let (mut ftl, usable, mut steps) = Self::find_description(nand, config, at)?;
        let parts = ftl.put_table_into_ram(&geometry);

        steps.begin("scan spare areas and last pages");
        let mut scan = Scan::new(&mut ftl, &geometry);
        for block in &usable {
            scan.block(&mut ftl, nand, &mut steps, *block);
        }
        let uncertain = scan.end(&mut ftl, nand, &mut steps);
        ftl.blocks.begin_session(scan.version_max, scan.seq_max);
        steps.report.last_pages = scan.lasts_read;
        steps.report.last_pages_bad = scan.lasts_bad;

        steps.begin("apply tombstones");
        for found in scan.tombstones.iter().flatten() {
            if let Some(Content::Bytes(bytes)) = steps.read(nand, found.page).verified().map(|(content, _)| content) {
                let bitmap = bytes.to_vec();
                ftl.apply_tombstone(nand, &mut steps, found, &bitmap);
            }
        }

        steps.begin("enter what may have been in flight");
        let held = ftl.enter_uncertain(nand, &mut steps, &mut scan, &uncertain);
        let mut holding = ftl.settle_blocks(&usable, &held, &scan);

        steps.begin("copy what may have been in flight");
        match ftl.copy_uncertain(nand, &mut steps, &scan, &uncertain, &mut holding) {
            // Blocks have grown bad faster than collection could make up for: what is there can be read.
            Err(FtlError::Full { .. }) => ftl.blocks.stop_writing(&mut ftl.durability),
            copied => copied?,
        }
        for block in holding {
            ftl.blocks.release(block);
        }
        let scratch = parts.map_or(Ok(0), |parts| ftl.write_tree(nand, &mut steps, parts))?;
        steps.count_rest(&mut ftl.durability);
        steps.end();
        let mut report = steps.report;
        report.scratch_bytes = u64::from(geometry.blocks()) * 9 + scratch;
        report.done = steps.now;
        ftl.note_first_pages(&steps.first, &mut report);
        Ok((ftl, report))
    }

    /// Copies what may have been in flight, and what stands in part-filled blocks, and writes the tombstones that are
    /// due.
    ///
    /// # Errors
    /// No block is left.
    fn copy_uncertain<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        scan: &Scan,
        uncertain: &[Uncertain],
        holding: &mut Vec<Block>,
    ) -> Result<(), FtlError> {
        if self.blocks.keeps(Barrier::SuspectsCopied) {
            // Chosen before the first copy is written: copies go to blocks where stale pages of these lists stood.
            let uncertain = uncertain.iter().map(|u| (u.found, Some(&u.data)));
            let part_filled = scan.part_filled.iter().map(|f| (*f, None));
            let mut copies: Vec<(Found, Option<&Owned>)> = uncertain.chain(part_filled).collect();
            copies.retain(|(found, _)| self.is_newest(found));
            for (found, data) in &copies {
                // Since the cut that may have met it, a recovery has come to its end and copied it, unless a recovery wrote
                // it. Streams that sort pages leave many part-filled blocks, and each recovery that is cut would take one
                // block more for a few of them.
                let is_sure = data.is_none() && found.spare.stream != RECOVERY_STREAM;
                if is_sure && self.blocks.emergency() {
                    continue;
                }
                self.let_go_if_out_of_blocks(holding);
                self.copy(nand, steps, found, *data)?;
            }
        }
        self.let_go_if_out_of_blocks(holding);
        let AnyMapping::Ram(table) = &mut self.mapping else { return Err(NOT_A_TABLE) };
        let io = &mut MetaIo::new(
            nand,
            (&mut self.blocks, &mut self.durability),
            self.streams.mapping,
            Purpose::Recovery,
            steps.now,
        );
        table.write_pending_trims(io)?;
        steps.count(io);
        steps.now = steps.now.max(self.blocks.clock.horizon());
        self.hear_news(nand, steps.now)
    }

    /// Enters pages that may have been in flight, oldest first, over what is certain. The blocks of what they make
    /// stale.
    fn enter_uncertain<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        scan: &mut Scan,
        uncertain: &[Uncertain],
    ) -> Vec<Block> {
        let mut held: Vec<Block> = Vec::new();
        for last in uncertain {
            let found = &last.found;
            match (found.spare.kind, last.data.content()) {
                (Kind::Tombstone, Content::Bytes(bitmap)) => {
                    let newest = scan.tombstones.get(found.spare.key as usize).copied().flatten();
                    if newest.is_none_or(|other| newer(&found.spare, &other.spare)) {
                        held.extend(scan.enter(self, nand, steps, *found));
                        held.extend(self.apply_tombstone(nand, steps, found, bitmap));
                    }
                }
                (Kind::User, _) => {
                    // A tombstone that is certain may be newer than the page.
                    let key = LogicalPage(found.spare.key);
                    let region = scan.tombstones.get(self.table().trims.region_of(key) as usize).copied().flatten();
                    let trimmed = key.0 < self.shape.logical_pages
                        && self.table().get(key) == Place::Trimmed
                        && region.is_some_and(|t| t.spare.version > found.spare.version);
                    if !trimmed {
                        held.extend(scan.enter(self, nand, steps, *found));
                    }
                }
                _ => {}
            }
        }
        held.sort_unstable();
        held.dedup();
        held
    }

    /// Unmaps what a region's tombstone page says was trimmed after it was written, and takes it for the region's
    /// newest. The blocks of the pages unmapped.
    fn apply_tombstone<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        tombstone: &Found,
        bitmap: &[u8],
    ) -> Vec<Block> {
        let mut dropped_from = Vec::new();
        let region = tombstone.spare.key;
        // What an older tombstone page of the region said is void: what this one leaves out was rewritten since, though
        // perhaps to a page that is yet to be entered.
        let table = self.table();
        for key in table.trims.pages_of(region).map(LogicalPage) {
            if table.get(key) == Place::Trimmed {
                table.set(key, Place::Nowhere);
            }
        }
        let trimmed: Vec<LogicalPage> = self.table().trims.trimmed_in(region, bitmap).collect();
        for key in trimmed {
            match self.table().get(key) {
                Place::At(page) => {
                    if let SpareRead::Written(spare) = steps.read_spare(nand, page)
                        && (spare.version < tombstone.spare.version || !self.blocks.keeps(Barrier::TombstoneVersion))
                    {
                        self.table().set(key, Place::Trimmed);
                        self.drop_entered(page);
                        dropped_from.push(self.blocks.geometry().block_of(page));
                    }
                }
                _ => {
                    self.table().set(key, Place::Trimmed);
                }
            }
        }
        if let Some(before) = self.table().trims.set_page(region, Some(tombstone.page)) {
            self.drop_count(before);
        }
        self.blocks.counters.add(self.blocks.geometry().block_of(tombstone.page));
        dropped_from
    }

    /// Blocks with live pages become candidates, in the order of their first pages; all others go into the pool, those
    /// without a readable page first, but for those that must be held, which are given back. As long as there are pages of
    /// trims, some of those without a readable page stay as they are (`blocks/blank.rs`).
    fn settle_blocks(&mut self, usable: &[Block], held: &[Block], scan: &Scan) -> Vec<Block> {
        let mut order: Vec<Block> = usable.to_vec();
        order.sort_by_key(|b| scan.first_seq[b.index()]);
        let has_tombstones = scan.tombstones.iter().any(Option::is_some);
        let mut holding = Vec::new();
        for block in order {
            let stays_blank = has_tombstones && scan.first_seq[block.index()] == 0;
            if self.blocks.counters.live(block) > 0 {
                let stream = if scan.holds_tombstones[block.index()] { self.streams.mapping } else { 0 };
                self.blocks.close(&mut self.durability, block, stream);
            } else if held.binary_search(&block).is_ok() && self.blocks.keeps(Barrier::FallbacksHeld) {
                holding.push(block);
            } else if !stays_blank || !self.blocks.release_blank(block) {
                self.blocks.release(block);
            }
        }
        holding
    }

    /// The last resort: a drive that comes up is worth more than what a page that has just been read well may yet need,
    /// should it turn bad and the power fail again before it is copied.
    fn let_go_if_out_of_blocks(&mut self, holding: &mut Vec<Block>) {
        if self.blocks.to_open() == 0 {
            for block in holding.drain(..) {
                self.blocks.release(block);
            }
        }
    }

    /// Whether a page is the newest of its kind.
    fn is_newest(&mut self, found: &Found) -> bool {
        let key = found.spare.key;
        match found.spare.kind {
            Kind::User => key < self.shape.logical_pages && self.table().get(LogicalPage(key)) == Place::At(found.page),
            Kind::Tombstone => {
                key < self.table().trims.regions() && self.table().trims.page_of(key) == Some(found.page)
            }
            _ => false,
        }
    }

    /// Copies a last page to a fresh page; from `data`, or by reading it again where it was not in flight at the last
    /// cut.
    fn copy<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        found: &Found,
        data: Option<&Owned>,
    ) -> Result<(), FtlError> {
        if found.spare.kind == Kind::Tombstone {
            self.table().trims.mark_pending(found.spare.key);
            return Ok(());
        }
        let key = LogicalPage(found.spare.key);
        let again;
        let data = match data {
            Some(data) if self.blocks.keeps(Barrier::SuspectsReadOnce) => data,
            _ => match steps.read(nand, found.page).verified() {
                Some((content, _)) => {
                    again = Owned::of(content);
                    &again
                }
                None => return Ok(()),
            },
        };
        let copy = NewPage {
            kind: Kind::User,
            key: key.0,
            version: found.spare.version,
            content: data.content(),
            data_crc: found.spare.data_crc,
            marks: SpareMarks::NONE,
        };
        let stream = self.stream_for_recovered();
        let (to, safe) = self.blocks.append(nand, &mut self.durability, stream, &copy, Purpose::Recovery, steps.now)?;
        steps.step.programs += 1;
        steps.now = steps.now.max(safe);
        self.validity.validate(to);
        self.table().set(key, Place::At(to));
        self.drop_entered(found.page);
        self.hear_news(nand, steps.now)?;
        Ok(())
    }
}
