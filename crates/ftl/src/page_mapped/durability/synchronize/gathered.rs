//! The findings of a recovery that synchronizes, on its way.

use super::found::FoundEntries;
use super::live_by::LiveBy;
use super::translation::Translation;
use crate::barriers::Barrier;
use crate::medium::Owned;
use crate::page_mapped::durability::common::{
    BlockInformation, BlocksInformation, FoundPage, GoneBad, LastPage, Mount, Suspect,
};
use crate::page_mapped::mapping::{Mapping, PagedMapping};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Kind, Nand, Page};

/// A drive with a demand-paged mapping and this validity store that is being mounted.
pub(super) type PagedDrive<'s, V, N> = Mount<'s, PagedMapping, V, N>;

/// By block: the seq of its first page where it holds user pages, 0 where it does not.
pub(super) struct UserSince(Vec<u64>);

impl UserSince {
    /// When a block was begun; what holds no user pages has been erased since.
    pub(super) fn begun(&self, block: Block) -> u64 {
        match self.0[block.index()] {
            0 => u64::MAX,
            since => since,
        }
    }

    /// Since when the block of a page holds user pages; 0 where it does not, or where the drive has no such page.
    pub(super) fn of(&self, geometry: &Geometry, page: Page) -> u64 {
        if geometry.contains(page) { self.0[geometry.block_of(page).index()] } else { 0 }
    }
}

/// The findings on the way.
pub(crate) struct Gathered<L> {
    pub(super) bid: BlocksInformation,
    /// All blocks of user pages.
    pub(super) user: Vec<BlockInformation>,
    /// Suspect translation pages; their bytes are kept where the mapping reads them.
    pub(super) suspect_translation: Vec<FoundPage>,
    pub(super) suspects: Vec<Suspect>,
    /// Of the blocks of translation pages those that have room behind their last page.
    pub(super) part_filled: Vec<Block>,
    pub(super) user_since: UserSince,
    /// Dangling entries: read errors from now on.
    pub(super) lost: Vec<u32>,
    /// Blocks with translation pages that may have gone bad.
    pub(super) gone_bad: Vec<GoneBad>,
    /// The source for which pages are live.
    pub(super) live_by: L,
}

impl<L: LiveBy> Gathered<L> {
    /// Looks at the blocks of the drive.
    pub(crate) fn new<N: Nand>(drive: &mut PagedDrive<'_, L::Store, N>, usable: &[Block]) -> Self {
        let geometry = drive.geometry();
        let mut this = Self {
            // When they were begun is needed of all.
            bid: BlocksInformation::new(&geometry, geometry.blocks() as usize),
            user: Vec::new(),
            suspect_translation: Vec::new(),
            suspects: Vec::new(),
            part_filled: Vec::new(),
            user_since: UserSince(vec![0; geometry.blocks() as usize]),
            lost: Vec::new(),
            gone_bad: Vec::new(),
            live_by: L::default(),
        };
        for block in usable {
            this.bid.look_at(drive, *block);
        }
        this.user = this.bid.user_since(drive, 0);
        for information in &this.user {
            debug_assert_eq!(this.user_since.0[information.block.index()], 0, "{} is there twice", information.block);
            this.user_since.0[information.block.index()] = information.first_seq;
        }
        this
    }

    /// Its RAM.
    pub(super) fn bytes(&self) -> u64 {
        let suspects = self.suspects.capacity() * size_of::<Suspect>();
        let translation = self.suspect_translation.capacity() * size_of::<FoundPage>();
        let blocks = self.part_filled.capacity() * size_of::<Block>()
            + self.user_since.0.len() * 8
            + self.user.capacity() * size_of::<BlockInformation>();
        let lists = self.lost.capacity() * 4 + self.gone_bad.capacity() * size_of::<GoneBad>();
        self.bid.bytes() + self.live_by.bytes() + (suspects + translation + blocks + lists) as u64
    }

    /// The highest version and the highest seq that were found.
    pub(crate) fn clocks(&self) -> (u64, u64) {
        (self.bid.version_max, self.bid.seq_max)
    }

    /// The pages of a block that can be believed, in order. The data of the last one are read in full where it may be
    /// suspect so far: some earlier cut may have torn it.
    pub(super) fn pages_of<N: Nand>(
        &mut self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        block: Block,
    ) -> (Vec<FoundPage>, Option<Owned>) {
        let mut pages = self.bid.pages_of(drive, block);
        let Some(last) = pages.last().copied() else { return (pages, None) };
        match LastPage::read(&self.bid, drive, &last) {
            LastPage::Bad => {
                pages.pop();
                (pages, None)
            }
            LastPage::Sound => (pages, None),
            LastPage::MayHaveBeenInFlight(data) => (pages, Some(data)),
        }
    }

    /// All spare areas of the blocks of translation pages.
    pub(crate) fn scan_translation<N: Nand>(&mut self, drive: &mut PagedDrive<'_, L::Store, N>) -> Translation {
        let geometry = drive.geometry();
        let mut translation = Translation::new(drive.ftl.mapping.parts());
        for information in self.bid.translation.clone() {
            let (mut pages, suspect) = self.pages_of(drive, information.block);
            let end = geometry.page(information.block, geometry.pages_per_block() - 1);
            if pages.last().is_none_or(|last| last.page != end) {
                self.part_filled.push(information.block);
            }
            self.gone_bad.extend(self.bid.gone_bad(drive, information.block, &pages));
            if let Some(data) = suspect
                && let Some(last) = pages.pop()
            {
                translation.note_suspect(&last);
                self.suspect_translation.push(last);
                drive.keep(&last, data);
            }
            for found in pages.iter().filter(|found| found.spare.kind == Kind::Translation) {
                translation.note(found);
            }
        }
        if !drive.keeps(Barrier::CutEraseDoubted) {
            self.take_for_cut_erases(&geometry, &translation);
        }
        translation
    }

    /// Blocks in which all that can be read is stale are taken for those of erases that were cut.
    pub(crate) fn take_for_cut_erases(&mut self, geometry: &Geometry, translation: &Translation) {
        let is_in_use = |block| translation.newest().any(|(_, version)| geometry.block_of(version.page) == block);
        self.gone_bad.retain(|gone_bad| is_in_use(gone_bad.block));
    }

    /// Before which seq a version of a translation page was programmed that may have gone bad.
    fn gone_bad_of(&self, part: u32) -> Option<u64> {
        self.gone_bad.iter().filter_map(|gone_bad| gone_bad.of_part(part)).max()
    }

    /// The same, where the newest version that is sure is older.
    pub(super) fn in_doubt_before(&self, translation: &Translation, part: u32) -> Option<u64> {
        self.gone_bad_of(part).filter(|gone_bad| translation.is_in_doubt(part, *gone_bad))
    }

    /// Whether a translation page may have had a newer version than the newest that is found.
    pub(super) fn may_have_been_newer(&self, translation: &Translation, part: u32) -> bool {
        self.gone_bad_of(part).is_some_and(|gone_bad| translation.may_have_been_newer(part, gone_bad))
    }

    /// Blocks that show that a version is lost are not held if no entry changes by it: an erase may have been cut.
    pub(super) fn let_evidence_go(&mut self, found: &FoundEntries) {
        if self.lost.is_empty() && !found.has_learnt() {
            self.gone_bad.clear();
        }
    }

    fn is_evidence(&self, block: Block) -> bool {
        self.gone_bad.iter().any(|gone_bad| gone_bad.block == block)
    }

    /// By now all pages were found that prove another one complete.
    pub(crate) fn keep_suspects(&mut self, translation: &mut Translation, found: &mut FoundEntries) {
        let bid = &self.bid;
        self.suspects.retain(|suspect| bid.may_have_been_in_flight(&suspect.found.spare));
        found.suspect(&self.suspects);
        self.live_by.keep_suspects(bid);
        self.suspect_translation.retain(|found| {
            let suspect = bid.may_have_been_in_flight(&found.spare);
            if !suspect {
                translation.note(found);
            }
            suspect
        });
    }

    /// Blocks with live pages become candidates, in the order of their first pages. All others go into the pool, but
    /// for those that are needed should suspect pages turn bad: those are given back.
    pub(crate) fn settle_blocks<N: Nand>(
        &self,
        drive: &mut PagedDrive<'_, L::Store, N>,
        fallbacks: &[Block],
    ) -> Vec<Block> {
        debug_assert!(fallbacks.is_sorted(), "fallbacks are looked up in no order");
        let bid = &self.bid;
        for block in bid.empty_blocks() {
            if drive.is_usable(block) {
                drive.ftl.blocks.release(block);
            }
        }
        let streams = drive.ftl.streams;
        let users = self.user.iter().map(|information| (*information, 0));
        let others = bid.translation.iter().map(|information| (*information, streams.mapping));
        let stores = bid.validity.iter().map(|information| (*information, streams.validity));
        let mut all: Vec<(BlockInformation, u8)> = users.chain(others).chain(stores).collect();
        all.sort_unstable_by_key(|(information, _)| information.first_seq);
        let mut holding = Vec::new();
        for (information, stream) in all {
            let block = information.block;
            if drive.ftl.blocks.counters.live(block) > 0 {
                drive.close(block, stream);
            } else if fallbacks.binary_search(&block).is_ok() || self.is_evidence(block) || self.live_by.keeps(block) {
                holding.push(block);
            } else {
                drive.ftl.blocks.release(block);
            }
        }
        holding
    }

    /// Of the blocks that are held those that are until the table is written.
    pub(crate) fn held_until_synchronized(&self, holding: &mut Vec<Block>) -> Vec<Block> {
        holding.extract_if(.., |block| self.is_evidence(*block)).collect()
    }
}
