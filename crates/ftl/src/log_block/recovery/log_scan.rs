//! The content of log blocks: the logical page and version of each user page.
//!
//! A scheme says how a log block is read ([`ReadLogBlock`]). Its spare areas have everything ([`SpareAreas`]); LAST++
//! has summaries that are read instead.

use super::super::ground::Ground;
use super::super::log_index::LogIndex;
use super::scan::SpareScan;
use crate::medium::{Owned, Session};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Page, Spare, SpareRead};

/// A page of the host's in a log block.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogBlockPage {
    pub(super) key: u32,
    pub(super) version: u64,
    pub(super) seq: u64,
    pub(super) page: Page,
    /// It may have been in flight when the power failed: it is suspect.
    pub(super) suspect: bool,
}

/// A suspect last page, with its data: it may have been the last time that it read well.
pub(super) struct Recent {
    pub(super) page: Page,
    pub(super) spare: Spare,
    pub(super) data: Owned,
}

#[derive(Default)]
pub(in super::super) struct LogScan {
    pub(super) pages: Vec<LogBlockPage>,
    pub(super) recent: Vec<Recent>,
    /// When each block was begun.
    begun: BTreeMap<Block, u64>,
}

/// How a recovery reads what stands in a log block.
pub(in super::super) trait ReadLogBlock {
    /// Pages that it reads in full, at the most.
    fn pages_at_most(&self) -> u64;

    /// Reads a block.
    fn read<I: LogIndex, N: Nand>(
        &self,
        log: &mut LogScan,
        session: &mut Session<'_, Ground<I>, N>,
        scan: &mut SpareScan,
        block: Block,
    );
}

/// By its spare areas.
pub(in super::super) struct SpareAreas;

impl ReadLogBlock for SpareAreas {
    fn pages_at_most(&self) -> u64 {
        1
    }

    fn read<I: LogIndex, N: Nand>(
        &self,
        log: &mut LogScan,
        session: &mut Session<'_, Ground<I>, N>,
        scan: &mut SpareScan,
        block: Block,
    ) {
        log.spare_areas(session, scan, block);
    }
}

impl LogScan {
    /// Reads a log block as its scheme has it.
    pub(super) fn block<I: LogIndex, N: Nand>(
        &mut self,
        session: &mut Session<'_, Ground<I>, N>,
        scan: &mut SpareScan,
        reader: &impl ReadLogBlock,
        block: Block,
    ) {
        self.begun.insert(block, scan.first_seq(block));
        reader.read(self, session, scan, block);
    }

    /// Reads a log block's spare areas, and its last page in full.
    pub(in super::super) fn spare_areas<I: LogIndex, N: Nand>(
        &mut self,
        session: &mut Session<'_, Ground<I>, N>,
        scan: &mut SpareScan,
        block: Block,
    ) {
        let geometry = session.ftl.geometry;
        let mut last: Option<(Page, Spare)> = None;
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            if let SpareRead::Written(spare) = session.read_spare(page) {
                scan.note(&spare);
                if let Some((page, spare)) = last.replace((page, spare)) {
                    self.push(page, &spare);
                }
            }
        }
        let Some((page, spare)) = last else { return };
        let barriers = session.ftl.barriers;
        let Some(data) = scan.last(session, barriers, page, &spare) else { return };
        self.push(page, &spare);
        self.recent.push(Recent { page, spare, data });
        self.recent.retain(|recent| scan.is_suspect(recent.spare.seq));
    }

    /// A page of the host's that was done when the power failed.
    pub(in super::super) fn certain(&mut self, page: Page, key: u32, version: u64, seq: u64) {
        self.pages.push(LogBlockPage { key, version, seq, page, suspect: false });
    }

    fn push(&mut self, page: Page, spare: &Spare) {
        if spare.kind == Kind::User {
            self.certain(page, spare.key, spare.version, spare.seq);
        }
    }

    /// The scan is over: the suspect pages are determined.
    pub(super) fn end(&mut self, scan: &SpareScan) {
        self.recent.retain(|recent| scan.is_suspect(recent.spare.seq));
        for page in &mut self.pages {
            page.suspect = self.recent.iter().any(|recent| recent.page == page.page);
        }
    }

    /// RAM, in bytes, where a page's data are as many.
    pub(super) fn bytes(&self, page_bytes: u32) -> u64 {
        // A tree of many entries takes up to twice as much as they do.
        let begun = 2 * self.begun.len() * size_of::<(Block, u64)>();
        let recent = self.recent.len() * (size_of::<Recent>() + page_bytes as usize);
        (self.pages.capacity() * size_of::<LogBlockPage>() + begun + recent) as u64
    }

    /// When a block was begun.
    pub(super) fn begun(&self, block: Block) -> u64 {
        self.begun.get(&block).copied().unwrap_or(0)
    }
}
