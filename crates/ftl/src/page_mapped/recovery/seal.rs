//! Recovery from what a battery saved, if its seal holds (`page_mapped/saved.rs`): the seal is the last page that was
//! programmed on the drive, and all pages that it speaks of can be read.
//!
//! Nothing is written, and neither translation pages nor a bitmap in flash are read: a power cut meanwhile changes
//! nothing.

use super::steps::Steps;
use crate::barriers::{Barrier, Barriers};
use crate::medium::sealed;
use crate::page_mapped::mapping::Mapping;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::saved::SavedPages;
use crate::page_mapped::validity::Validity;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, Nand, Page, Spare, SpareRead};

/// What stands in a block.
#[derive(Clone, Copy, Default)]
struct BlockFound {
    /// Seq of its first readable page, 0 where none is.
    first_seq: u64,
    translation: bool,
    bitmap: bool,
    user: bool,
}

/// What spare areas say.
struct Found {
    pages: SavedPages,
    blocks: Vec<BlockFound>,
    version_max: u64,
    /// The page programmed last, and what it is.
    last: Option<(Page, Spare)>,
    /// By number: the newest copy of a saved page, and its seq.
    saved: Vec<Option<(Page, u64)>>,
    barriers: Barriers,
}

impl Found {
    fn note(&mut self, page: Page, block: Block, spare: &Spare) {
        self.version_max = self.version_max.max(spare.version);
        let by_youngest = self.barriers.keeps(Barrier::SealIsYoungest);
        let counts = by_youngest || SavedPages::is_seal(spare.kind, spare.key);
        if counts && self.last.is_none_or(|(_, last)| spare.seq > last.seq) {
            self.last = Some((page, *spare));
        }
        let found = &mut self.blocks[block.index()];
        if found.first_seq == 0 {
            found.first_seq = spare.seq;
        }
        match spare.kind {
            Kind::Translation => found.translation = true,
            Kind::Bitmap => found.bitmap = true,
            _ => found.user = true,
        }
        if let Some(number) = self.pages.number(spare.kind, spare.key) {
            let newest = &mut self.saved[number as usize];
            if newest.is_none_or(|(_, seq)| spare.seq > seq) {
                *newest = Some((page, spare.seq));
            }
        }
    }

    /// As in a recovery that reads the table: two spare areas of a full block of user pages, all of any other.
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
    /// Takes over what a battery saved. Whether all of it was there; if not, this FTL is of no use.
    pub(super) fn restore<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps, usable: &[Block]) -> bool {
        let geometry = *nand.geometry();
        let pages = self.saved_pages();
        let mut found = Found {
            blocks: vec![BlockFound::default(); geometry.blocks() as usize],
            version_max: 0,
            last: None,
            saved: vec![None; pages.count() as usize],
            barriers: self.blocks.barriers(),
            pages,
        };
        steps.begin("find what the battery saved");
        for block in usable {
            found.block(nand, steps, *block);
        }
        let scratch = found.blocks.capacity() * size_of::<BlockFound>()
            + found.saved.capacity() * size_of::<Option<(Page, u64)>>();
        steps.report.scratch_bytes = scratch as u64;
        let Some((page, last)) = found.last.filter(|(_, last)| SavedPages::is_seal(last.kind, last.key)) else {
            return false;
        };
        steps.begin("read what the battery saved");
        let Some(bytes) = steps.read(nand, page).verified_as(last.kind, last.key) else { return false };
        let Some((after, live_total)) = sealed(bytes) else { return false };
        for (number, saved) in found.saved.iter().enumerate() {
            let Some((section, kind, key, from)) = found.pages.page(number as u32) else { return false };
            let Some((page, _)) = saved.filter(|(_, seq)| *seq > after) else { return false };
            let Some(bytes) = steps.read(nand, page).verified_as(kind, key) else { return false };
            self.restore_page(section, from, bytes);
        }
        // Another FTL counted a sample, and this one would have to know them all.
        let all_are_counted = self.blocks.all_are_counted();
        if self.collecting.sampling.is_none() && !all_are_counted {
            return false;
        }
        self.blocks.begin_session(found.version_max, last.seq);
        let mut order = usable.to_vec();
        order.sort_by_key(|block| found.blocks[block.index()].first_seq);
        for block in order {
            let held = found.blocks[block.index()];
            if self.blocks.counters.live(block) == 0 {
                self.blocks.release(block);
                continue;
            }
            // What a battery saved stands among translation pages, and is not live.
            let stream = match held {
                BlockFound { user: true, .. } => 0,
                BlockFound { translation: true, .. } => self.streams.mapping,
                BlockFound { bitmap: true, .. } => self.streams.validity,
                BlockFound { .. } => self.stream_of_unreadable(nand, steps, block),
            };
            self.blocks.close(&mut self.durability, block, stream);
        }
        self.keep_sample((!all_are_counted).then_some(live_total));
        true
    }

    /// The stream of a block in which something is live and nothing can be read: the directories know of their pages.
    fn stream_of_unreadable<N: Nand>(&mut self, nand: &mut N, steps: &mut Steps, block: Block) -> u8 {
        let geometry = *nand.geometry();
        let is_in = |page: &Page| geometry.block_of(*page) == block;
        let mapping = &mut self.mapping;
        let translation =
            steps.with_io(nand, (&mut self.blocks, &mut self.durability), |io| mapping.metadata_pages(io));
        if translation.iter().any(is_in) {
            self.streams.mapping
        } else if self.validity.metadata_pages().iter().any(is_in) {
            self.streams.validity
        } else {
            0
        }
    }
}
