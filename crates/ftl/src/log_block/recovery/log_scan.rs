//! What stands in log blocks: every spare area, and the last page in full; or the summary that LAST++ has instead.

use super::super::last::summary;
use super::super::pool::Role;
use super::scan::Scan;
use crate::barriers::{Barrier, Barriers};
use crate::medium::{Owned, Steps};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Content, Kind, Nand, Page, PageRead, Spare, SpareRead};

/// A page of the host's in a log block.
#[derive(Clone, Copy, Debug)]
pub(super) struct LogPage {
    pub(super) key: u32,
    pub(super) version: u64,
    pub(super) seq: u64,
    pub(super) page: Page,
    /// It may have been in flight when the power failed.
    pub(super) suspect: bool,
}

/// A last page that may have been in flight, with its data: it may have been the last time that it read well.
pub(super) struct Recent {
    pub(super) page: Page,
    pub(super) spare: Spare,
    pub(super) data: Owned,
}

#[derive(Default)]
pub(super) struct LogScan {
    pub(super) pages: Vec<LogPage>,
    pub(super) recent: Vec<Recent>,
    /// When each block was begun.
    begun: BTreeMap<Block, u64>,
    /// Whether random log blocks end with a summary, if they came to their ends.
    pub(super) summaries: bool,
}

impl LogScan {
    /// Reads a log block.
    pub(super) fn block<N: Nand>(
        &mut self,
        barriers: Barriers,
        scan: &mut Scan,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
    ) {
        let geometry = *nand.geometry();
        self.begun.insert(block, scan.first_seq(block));
        if self.summaries
            && scan.role(block) != Some(Role::Sequential)
            && self.summary(barriers, scan, nand, steps, block)
        {
            return;
        }
        let mut last: Option<(Page, Spare)> = None;
        for page in (0..geometry.pages_per_block()).map(|index| geometry.page(block, index)) {
            if let SpareRead::Written(spare) = steps.read_spare(nand, page) {
                scan.note(&spare);
                if let Some((page, spare)) = last.replace((page, spare)) {
                    self.push(page, &spare);
                }
            }
        }
        let Some((page, spare)) = last else { return };
        scan.lasts_read += 1;
        let data = match steps.read(nand, page) {
            PageRead::Written { content, .. } if !barriers.keeps(Barrier::SuspectsVerified) => Some(Owned::of(content)),
            PageRead::Written { content, .. }
                if !barriers.keeps(Barrier::OldLastPagesVerified) && !scan.is_suspect(spare.seq) =>
            {
                Some(Owned::of(content))
            }
            read => read.verified().map(|(content, _)| Owned::of(content)),
        };
        let Some(data) = data else {
            scan.lasts_bad += 1;
            return;
        };
        self.push(page, &spare);
        self.recent.push(Recent { page, spare, data });
        self.recent.retain(|recent| scan.is_suspect(recent.spare.seq));
    }

    /// Reads a log block's summary instead of its spare areas, if there is one.
    fn summary<N: Nand>(
        &mut self,
        barriers: Barriers,
        scan: &mut Scan,
        nand: &mut N,
        steps: &mut Steps,
        block: Block,
    ) -> bool {
        let geometry = *nand.geometry();
        let last = geometry.pages_per_block() - 1;
        let (content, spare) = match steps.read(nand, geometry.page(block, last)) {
            PageRead::Written { content, spare, .. } if !barriers.keeps(Barrier::SuspectsVerified) => (content, spare),
            read => match read.verified() {
                Some(read) => read,
                None => return false,
            },
        };
        let Content::Bytes(bytes) = content else { return false };
        if spare.kind != Kind::Summary || spare.key != block.0 {
            return false;
        }
        scan.note(&spare);
        let first_seq = scan.first_seq(block);
        for (index, entry) in summary::decode(bytes, last) {
            if let Some((key, version)) = entry {
                let seq = first_seq + u64::from(index);
                self.pages.push(LogPage { key, version, seq, page: geometry.page(block, index), suspect: false });
            }
        }
        true
    }

    fn push(&mut self, page: Page, spare: &Spare) {
        if spare.kind == Kind::User {
            let (key, version, seq) = (spare.key, spare.version, spare.seq);
            self.pages.push(LogPage { key, version, seq, page, suspect: false });
        }
    }

    /// The scan is over: what may have been in flight is known.
    pub(super) fn end(&mut self, scan: &Scan) {
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
        (self.pages.capacity() * size_of::<LogPage>() + begun + recent) as u64
    }

    /// When a block was begun.
    pub(super) fn begun(&self, block: Block) -> u64 {
        self.begun.get(&block).copied().unwrap_or(0)
    }
}
