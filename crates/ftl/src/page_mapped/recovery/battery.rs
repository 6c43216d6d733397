//! Recovery of a demand-paged drive whose battery saved every mapping entry: the translation pages are all there is to
//! know (DFTL as GeckoFTL section 5.3 takes it).
//!
//! The battery let the operations in flight finish, so no page is torn. Nothing is written but a copy of the drive's
//! description that has gone bad: a power cut meanwhile changes nothing.

use super::steps::Steps;
use crate::blocks::{Clock, EPOCH};
use crate::page_mapped::PageMapped;
use crate::page_mapped::mapping::Mapping;
use crate::recovery_report::RecoveryReport;
use crate::{Config, FtlError};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Page, Spare, SpareRead, Time};

/// What the scan of spare areas gathers.
struct Scan {
    version_max: u64,
    seq_max: u64,
    /// By block: seq of its first readable page, 0 where none is, and whether it holds translation pages.
    first_seq: Vec<u64>,
    holds_translation: Vec<bool>,
    /// By translation page: the newest copy.
    newest: Vec<Option<(Page, u64, u64)>>,
}

impl Scan {
    fn note(&mut self, page: Page, block: Block, spare: &Spare) {
        self.version_max = self.version_max.max(spare.version);
        self.seq_max = self.seq_max.max(spare.seq);
        let first = &mut self.first_seq[block.index()];
        if *first == 0 {
            *first = spare.seq;
        }
        if spare.kind == Kind::Translation {
            self.holds_translation[block.index()] = true;
            if let Some(newest) = self.newest.get_mut(spare.key as usize)
                && newest.is_none_or(|(_, version, seq)| (spare.version, spare.seq) > (version, seq))
            {
                *newest = Some((page, spare.version, spare.seq));
            }
        }
    }

    /// Reads the first and the last spare area of a block, and all of them where it holds translation pages or is not
    /// full: then it may have been written last.
    fn block<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps, block: Block) {
        let geometry = *nand.geometry();
        let last = geometry.pages_per_block() - 1;
        let first_read = steps.read_spare(nand, geometry.page(block, 0));
        let last_read = steps.read_spare(nand, geometry.page(block, last));
        if let (SpareRead::Written(first), SpareRead::Written(end)) = (first_read, last_read)
            && first.kind == Kind::User
        {
            self.note(geometry.page(block, 0), block, &first);
            self.note(geometry.page(block, last), block, &end);
            return;
        }
        for index in 0..=last {
            let page = geometry.page(block, index);
            if let SpareRead::Written(spare) = steps.read_spare(nand, page) {
                self.note(page, block, &spare);
            }
        }
    }
}

impl PageMapped {
    /// Brings a drive up from the translation pages that are on flash.
    pub(super) fn recover_from_battery<N: Nand>(
        nand: &mut N,
        config: &Config,
        at: Time,
    ) -> Result<(Self, RecoveryReport), FtlError> {
        let geometry = *nand.geometry();
        let (mut ftl, usable, mut steps) = Self::find_description(nand, config, at)?;
        let Mapping::Paged(paged) = &mut ftl.mapping else {
            return Err(FtlError::Unsupported("a battery saves a demand-paged mapping"));
        };

        steps.begin("find the translation pages");
        let mut scan = Scan {
            version_max: 0,
            seq_max: 0,
            first_seq: vec![0; geometry.blocks() as usize],
            holds_translation: vec![false; geometry.blocks() as usize],
            newest: vec![None; paged.translation_pages() as usize],
        };
        for block in &usable {
            scan.block(nand, &mut steps, *block);
        }

        steps.begin("read the translation table");
        for (part, found) in scan.newest.iter().enumerate() {
            let Some((page, ..)) = found else { continue };
            paged.enter_translation_page(part as u32, *page);
            ftl.blocks.counters.add(geometry.block_of(*page));
            if let Some(bytes) = steps.read(nand, *page).verified_as(Kind::Translation, part as u32) {
                for mapped in paged.pages_in(part as u32, bytes).filter(|page| geometry.contains(*page)) {
                    ftl.validity.validate(mapped);
                    ftl.blocks.counters.add(geometry.block_of(mapped));
                }
            }
        }
        ftl.blocks.clock = Clock::new(geometry.dies(), scan.version_max + EPOCH, scan.seq_max + EPOCH);

        let mut order = usable;
        order.sort_by_key(|b| scan.first_seq[b.index()]);
        for block in order {
            if ftl.blocks.counters.live(block) > 0 {
                let stream = if scan.holds_translation[block.index()] { ftl.streams.mapping } else { 0 };
                ftl.blocks.close(block, stream);
            } else {
                ftl.blocks.release(block);
            }
        }
        ftl.hear_news(nand, steps.now)?;
        steps.end();
        let mut report = steps.report;
        report.done = steps.now;
        Ok((ftl, report))
    }
}
