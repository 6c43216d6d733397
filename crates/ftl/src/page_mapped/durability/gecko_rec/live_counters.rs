//! Step 5 of GeckoRec: how many pages are live in each block, and which blocks are free (GeckoFTL appendix C).

use super::gathered::{GeckoDrive, GeckoGathered};
use super::lost::Lost;
use super::translation::TranslationPages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::Counters;
use crate::page_mapped::durability::common::{BlockInformation, Silent};
use crate::page_mapped::mapping::{Mapping, PagedMapping, Place};
use crate::page_mapped::validity::Validity;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Nand, Page};

/// The blocks in which nothing was live at the last report to Gecko. How many pages of the others are live stands in
/// the drive's counters from the start.
pub(super) struct FreeInGecko(Vec<u64>);

impl FreeInGecko {
    fn none_of(blocks: u32) -> Self {
        Self(vec![0; blocks.div_ceil(64) as usize])
    }

    fn insert(&mut self, block: Block) {
        self.0[block.index() / 64] |= 1 << (block.0 % 64);
    }

    fn contains(&self, block: Block) -> bool {
        self.0[block.index() / 64] >> (block.0 % 64) & 1 == 1
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * 8
    }
}

impl GeckoGathered {
    /// Step 5: live pages by block, and with that the pool. The last flush covered everything up to `frozen`, and
    /// Gecko's last page was programmed at `told_until`. It returns blocks of metadata that turn out to be empty. These
    /// must not be erased before the copies of suspect pages are on flash.
    pub(super) fn count<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        (frozen, told_until): (u64, u64),
        translation: &TranslationPages,
        user: &[BlockInformation],
    ) -> Result<Vec<Block>, FtlError> {
        let mut since = self.begun_after(frozen, user);
        since.sort_unstable();
        let free = self.ask_gecko(drive, &since, translation);
        let by_table = !drive.ftl.validity.is_believed();
        let named = self.look_up_silent(drive, translation);
        // A page may have taken the place of another. If Gecko has that or the other's block was written anew, the page
        // is older than Gecko's last page or the block begun last.
        let until = user.last().map_or(0, |information| information.first_seq).max(told_until);
        let took_a_place = |silent: &Silent| silent.after < until && named.binary_search(&silent.page).is_err();
        let any_dangling = self.silent.iter().chain(&self.unreadable).any(took_a_place);
        if any_dangling || self.lost.is_some() {
            self.look_at_places(drive, &since);
        }
        if any_dangling {
            // Those in front of others that can be read are no torn ones.
            let completed = |silent: &Silent| took_a_place(silent) && drive.has_completed(silent, user);
            let has_gone_bad = self.unreadable.iter().any(took_a_place) || self.silent.iter().any(completed);
            self.find_dangling(drive, translation, has_gone_bad);
        }
        if by_table {
            self.hold_what_suspects_replace(drive, frozen, translation);
        } else {
            let geometry = drive.geometry();
            for block in self.reports.iter().map(|page| geometry.block_of(*page)) {
                let counters = &mut drive.ftl.blocks.counters;
                if self.bid.holds_user_pages(block) {
                    debug_assert!(counters.live(block) > 0, "a page of {block} is stale twice");
                    counters.set(block, counters.live(block).saturating_sub(1));
                }
            }
        }
        self.enter_blocks(drive, &free, translation)
    }

    /// The blocks that were begun after `frozen`.
    pub(super) fn begun_after(&self, frozen: u64, user: &[BlockInformation]) -> Vec<Block> {
        let all = user.iter().chain(&self.bid.translation).chain(&self.bid.validity);
        all.filter(|information| information.first_seq > frozen).map(|information| information.block).collect()
    }

    /// Counts the pages of each block of user pages that are live in Gecko. Reports of pages that Gecko has already are
    /// dropped. For blocks that were begun `since` the last flush Gecko's entries are void. Where Gecko is not believed,
    /// the table decides.
    fn ask_gecko<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        since: &[Block],
        translation: &TranslationPages,
    ) -> FreeInGecko {
        let geometry = drive.geometry();
        self.reports.sort_unstable();
        self.reports.dedup();
        let mut asked: Vec<Page> = self.unreadable.iter().map(|silent| silent.page).collect();
        asked.extend(&self.reports);
        asked.sort_unstable();
        asked.dedup();
        let (mut free, all) = (FreeInGecko::none_of(geometry.blocks()), geometry.pages_per_block() as u16);
        self.scratch += free.bytes() + self.bid.bytes_of_user_blocks();
        // They are out on loan while Gecko is read: pages that Gecko has nothing of are live.
        let mut counters = core::mem::replace(&mut drive.ftl.blocks.counters, Counters::new(0));
        self.bid.user_blocks().for_each(|block| counters.set(block, all));
        let erased = |block: Block| self.bid.is_empty(block) || since.binary_search(&block).is_ok();
        let known = drive.read_validity(|gecko, io| {
            gecko.block_states(io, erased, &asked, |block, state| {
                if self.bid.holds_user_pages(block) {
                    counters.set(block, if state.free { 0 } else { all.saturating_sub(state.stale) });
                    if state.free {
                        free.insert(block);
                    }
                }
            })
        });
        drive.ftl.blocks.counters = counters;
        if !drive.ftl.validity.is_believed() {
            free = FreeInGecko::none_of(geometry.blocks());
            self.count_named(drive, translation);
        }
        let mut known = known.into_iter();
        asked.retain(|page| {
            let is_known = known.next().unwrap_or(false);
            !is_known && !free.contains(geometry.block_of(*page))
        });
        let is_news = |page: &Page| asked.binary_search(page).is_ok();
        self.reports.retain(is_news);
        self.silent.retain(|silent| self.reports.binary_search(&silent.page).is_ok());
        self.unreadable.retain(|silent| is_news(&silent.page));
        free
    }

    /// Of the pages whose data cannot be read those that translation pages name are not reported: which these are.
    fn look_up_silent<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, translation: &TranslationPages) -> Vec<Page> {
        let silent: Vec<Silent> = self.silent.iter().chain(&self.unreadable).copied().collect();
        let by_suspect = |place| self.suspects.iter().any(|suspect| place == Place::At(suspect.found.page));
        let overruled = |paged: &PagedMapping, key| paged.found(key).is_some_and(|place| !by_suspect(place));
        let mut named = drive.named_among(&silent, translation.versions(), overruled);
        // A page that a suspect takes the place of counts again should that turn bad: as a read error.
        let replaced = named.extract_if(.., |(_, key)| drive.ftl.mapping.found(*key).is_some());
        self.fallbacks.extend(replaced.map(|(page, _)| page));
        let named: Vec<Page> = named.into_iter().map(|(page, _)| page).collect();
        self.reports.extend(self.unreadable.iter().map(|silent| silent.page));
        self.reports.sort_unstable();
        self.reports.dedup();
        self.reports.retain(|page| named.binary_search(page).is_err());
        named
    }

    /// Blocks with live pages become candidates, the others go into the pool or wait. Blocks of metadata among them
    /// that must not be erased yet.
    fn enter_blocks<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        free: &FreeInGecko,
        translation: &TranslationPages,
    ) -> Result<Vec<Block>, FtlError> {
        let geometry = drive.geometry();
        for block in self.bid.empty_blocks() {
            if drive.is_usable(block) {
                drive.ftl.blocks.release(block);
            }
        }
        let blocks_of = |pages: &mut dyn Iterator<Item = Page>| {
            let mut blocks: Vec<Block> = pages.map(|page| geometry.block_of(page)).collect();
            blocks.sort_unstable();
            blocks
        };
        let needed = blocks_of(&mut translation.needed().chain(self.covered_runs.iter().copied()));
        let fallbacks = blocks_of(&mut self.fallbacks.iter().copied());
        let hold_fallbacks = drive.keeps(Barrier::FallbacksHeld);
        let is_fallback = |block| hold_fallbacks && fallbacks.binary_search(&block).is_ok();
        let mut emptied = Vec::new();
        for block in self.bid.user_blocks() {
            if drive.ftl.blocks.counters.live(block) > 0 {
                drive.close(block, 0);
                drive.hear_news()?;
            } else if is_fallback(block) {
                emptied.push(block);
                self.freed.push(block);
            } else {
                drive.ftl.blocks.release(block);
                if !free.contains(block) {
                    self.freed.push(block);
                }
            }
        }
        let streams = drive.ftl.streams;
        let translation = self.bid.translation.iter().map(|information| (information.block, streams.mapping));
        let validity = self.bid.validity.iter().map(|information| (information.block, streams.validity));
        for (block, stream) in translation.chain(validity) {
            if drive.ftl.blocks.counters.live(block) > 0 {
                drive.close(block, stream);
                drive.hear_news()?;
            } else if needed.binary_search(&block).is_ok() {
                // It is held until the next flush.
                drive.ftl.blocks.found_written_by(block, stream);
                drive.ftl.durability.release(&mut drive.ftl.blocks, block);
            } else if is_fallback(block) {
                emptied.push(block);
            } else {
                drive.ftl.blocks.release(block);
            }
        }
        // Free blocks need no reports, and may be written anew before Gecko would get them.
        self.reports.retain(|page| drive.ftl.blocks.is_in_use(geometry.block_of(*page)));
        drive.ftl.blocks.counters.may_be_low = true;
        Ok(emptied)
    }

    /// Counts the pages of each block of user pages that something names. Where pages of Gecko's are lost, erase flags
    /// went with them. Then neither the stale pages nor the free blocks of older runs can be believed.
    fn count_named<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, translation: &TranslationPages) {
        let geometry = drive.geometry();
        self.bid.user_blocks().for_each(|block| drive.ftl.blocks.counters.set(block, 0));
        let bid = &self.bid;
        let name = |counters: &mut Counters, page: Page| {
            if geometry.contains(page) && bid.holds_user_pages(geometry.block_of(page)) {
                let block = geometry.block_of(page);
                counters.set(block, (counters.live(block) + 1).min(geometry.pages_per_block() as u16));
            }
        };
        let found = drive.ftl.mapping.found_pages();
        for page in found.into_iter().chain(self.lost.iter().flat_map(Lost::learnt_pages)) {
            name(&mut drive.ftl.blocks.counters, page);
        }
        let mut to = None;
        for part in 0..drive.ftl.mapping.parts() {
            let version = translation.synchronized(part).map(|(page, _)| page);
            let bytes = drive.read_mapping(|paged, io| paged.entries_of(io, part, version, &mut to));
            for key in drive.ftl.mapping.range_of(part).map(LogicalPage) {
                if let (None, Place::At(page)) = (drive.ftl.mapping.found(key), drive.ftl.mapping.place_in(&bytes, key))
                {
                    name(&mut drive.ftl.blocks.counters, page);
                }
            }
        }
    }

    /// Reports free blocks to Gecko: the next recovery takes them for written otherwise. Those that were written anew
    /// were reported already.
    pub(super) fn tell_of_freed<N: Nand>(&self, drive: &mut GeckoDrive<'_, N>) -> Result<(), FtlError> {
        drive.hear_news()?;
        for block in &self.freed {
            if !drive.ftl.blocks.is_in_use(*block) {
                drive.write_validity(|validity, io| validity.freed(io, *block))?;
            }
        }
        drive.hear_news()
    }
}
