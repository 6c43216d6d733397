//! Recovery from the structures that a battery saved, if its seal holds (`save.rs`).
//!
//! It holds if the seal is the last page that was programmed on the drive, and all pages that it speaks of can be read.
//!
//! Nothing is written, and neither translation pages nor a bitmap in flash are read: a power cut meanwhile changes
//! nothing.

use super::save::{InRam, SavedPages};
use super::store::{BatteryDrive, SavedStore};
use crate::barriers::{Barrier, Barriers};
use crate::medium::sealed;
use crate::page_mapped::mapping::{Mapping, PagedMapping};
use crate::page_mapped::parts::PageMapped;
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
    /// The page programmed last, and its kind.
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
    fn block<V: SavedStore, N: Nand>(&mut self, drive: &mut BatteryDrive<'_, V, N>, block: Block) {
        let geometry = drive.geometry();
        let last = geometry.pages_per_block() - 1;
        if let Some(ends) = drive.ends_of_user_block(block) {
            ends.iter().for_each(|(page, spare)| self.note(*page, block, spare));
            return;
        }
        for index in 0..=last {
            let page = geometry.page(block, index);
            if let SpareRead::Written(spare) = drive.read_spare(page) {
                self.note(page, block, &spare);
            }
        }
    }

    fn bytes(&self) -> u64 {
        let blocks = self.blocks.capacity() * size_of::<BlockFound>();
        (blocks + self.saved.capacity() * size_of::<Option<(Page, u64)>>()) as u64
    }
}

impl<V: SavedStore> PageMapped<PagedMapping, V> {
    fn in_ram(&mut self) -> InRam<'_, V> {
        InRam { paged: &mut self.mapping, store: &mut self.validity, blocks: &mut self.blocks }
    }
}

impl<V: SavedStore, N: Nand> BatteryDrive<'_, V, N> {
    /// Takes over the saved structures. It returns their RAM if all of them were there; if not, this FTL is of no use.
    pub(super) fn restore(&mut self, usable: &[Block]) -> Option<u64> {
        let geometry = self.geometry();
        let pages = self.ftl.in_ram().saved_pages();
        let mut found = Found {
            blocks: vec![BlockFound::default(); geometry.blocks() as usize],
            version_max: 0,
            last: None,
            saved: vec![None; pages.count() as usize],
            barriers: self.ftl.blocks.barriers(),
            pages,
        };
        self.begin("find what the battery saved");
        for block in usable {
            found.block(self, *block);
        }
        let (page, last) = found.last.filter(|(_, last)| SavedPages::is_seal(last.kind, last.key))?;
        self.begin("read what the battery saved");
        let (after, live_total) = sealed(self.read_page(page).verified_as(last.kind, last.key)?)?;
        for (number, saved) in found.saved.iter().enumerate() {
            let (section, kind, key, from) = found.pages.page(number as u32)?;
            let (page, _) = saved.filter(|(_, seq)| *seq > after)?;
            let bytes = self.steps.read(self.nand, page).verified_as(kind, key)?;
            self.ftl.in_ram().restore_page(section, from, bytes);
        }
        // Another FTL counted a sample, and this one needs all counts.
        let all_are_counted = self.ftl.blocks.all_are_counted();
        if self.ftl.collecting.sampling.is_none() && !all_are_counted {
            return None;
        }
        self.ftl.blocks.begin_session(found.version_max, last.seq);
        self.enter_restored(usable, &found);
        self.ftl.keep_sample((!all_are_counted).then_some(live_total));
        Some(found.bytes())
    }

    /// Blocks with live pages are candidates for collection, all others free.
    fn enter_restored(&mut self, usable: &[Block], found: &Found) {
        let mut order = usable.to_vec();
        order.sort_by_key(|block| found.blocks[block.index()].first_seq);
        for block in order {
            let held = found.blocks[block.index()];
            if self.ftl.blocks.counters.live(block) == 0 {
                self.ftl.blocks.release(block);
                continue;
            }
            // Pages that a battery saved stand among translation pages, and are not live.
            let stream = match held {
                BlockFound { user: true, .. } => 0,
                BlockFound { translation: true, .. } => self.ftl.streams.mapping,
                BlockFound { bitmap: true, .. } => self.ftl.streams.validity,
                BlockFound { .. } => self.stream_of_unreadable(block),
            };
            self.close(block, stream);
        }
    }

    /// The stream of a block in which something is live and nothing can be read: its pages are in the directories.
    fn stream_of_unreadable(&mut self, block: Block) -> u8 {
        let geometry = self.geometry();
        let is_in = |page: &Page| geometry.block_of(*page) == block;
        let translation = self.mapping(|paged, io| paged.metadata_pages(io));
        if translation.iter().any(is_in) {
            self.ftl.streams.mapping
        } else if self.ftl.validity.metadata_pages().iter().any(is_in) {
            self.ftl.streams.validity
        } else {
            0
        }
    }
}
