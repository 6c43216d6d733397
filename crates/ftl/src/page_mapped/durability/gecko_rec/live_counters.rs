//! Step 5 of GeckoRec: how many pages are live in each block, and which blocks are free (GeckoFTL appendix C).

use super::gathered::{GeckoDrive, GeckoGathered};
use super::lost::Lost;
use super::translation::TranslationPages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::durability::common::{BlockInformation, Silent};
use crate::page_mapped::mapping::{PagedMapping, Place};
use crate::page_mapped::validity::Validity;
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, LogicalPage, Nand, Page};

/// Of a block: nothing in it was live at the last report to Gecko.
const FREE: u16 = u16::MAX;

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
        since.extend(&self.bid.empty);
        since.sort_unstable();
        let mut stale = self.ask_gecko(drive, &since, translation);
        let by_table = !drive.ftl.validity.is_believed();
        let named = self.look_up_silent(drive, translation);
        // A page may have taken the place of another. If Gecko has that or the other's block was written anew, the page
        // is older than Gecko's last page or the block begun last.
        let until = user.last().map_or(0, |information| information.first_seq).max(told_until);
        let took_a_place = |silent: &Silent| silent.after < until && named.binary_search(&silent.page).is_err();
        let any_dangling = self.silent.iter().chain(&self.unreadable).any(took_a_place);
        if any_dangling || self.lost.is_some() {
            self.look_at_places(drive, |block| since.binary_search(&block).is_ok());
        }
        if any_dangling {
            // Those in front of others that can be read are no torn ones.
            let completed = |silent: &Silent| took_a_place(silent) && drive.has_completed(silent, user);
            let has_gone_bad = self.unreadable.iter().any(took_a_place) || self.silent.iter().any(completed);
            self.find_dangling(drive, translation, has_gone_bad);
        }
        if !by_table {
            let geometry = drive.geometry();
            for page in &self.reports {
                let stale = &mut stale[geometry.block_of(*page).index()];
                debug_assert!(u32::from(*stale) < geometry.pages_per_block(), "{page} is stale twice");
                *stale += 1;
            }
        }
        self.enter_blocks(drive, &stale, translation)
    }

    /// The blocks that were begun after `frozen`.
    pub(super) fn begun_after(&self, frozen: u64, user: &[BlockInformation]) -> Vec<Block> {
        let all = user.iter().chain(&self.bid.translation).chain(&self.bid.validity);
        all.filter(|information| information.first_seq > frozen).map(|information| information.block).collect()
    }

    /// Of each block how many pages are stale in Gecko. Reports of pages that Gecko has already are dropped. For blocks
    /// that were begun `since` the last flush Gecko's entries are void. Where Gecko is not believed, the table decides.
    fn ask_gecko<N: Nand>(
        &mut self,
        drive: &mut GeckoDrive<'_, N>,
        since: &[Block],
        translation: &TranslationPages,
    ) -> Vec<u16> {
        let geometry = drive.geometry();
        self.reports.sort_unstable();
        self.reports.dedup();
        let mut asked: Vec<Page> = self.unreadable.iter().map(|silent| silent.page).collect();
        asked.extend(&self.reports);
        asked.sort_unstable();
        asked.dedup();
        let mut stale = vec![0u16; geometry.blocks() as usize];
        let erased = |block: Block| since.binary_search(&block).is_ok();
        let known = drive.read_validity(|gecko, io| {
            gecko.block_states(io, erased, &asked, |block, state| {
                stale[block.index()] = if state.free { FREE } else { state.stale };
            })
        });
        if !drive.ftl.validity.is_believed() {
            stale = self.not_named(drive, translation);
        }
        let mut known = known.into_iter();
        asked.retain(|page| {
            let is_known = known.next().unwrap_or(false);
            !is_known && stale[geometry.block_of(*page).index()] != FREE
        });
        let is_news = |page: &Page| asked.binary_search(page).is_ok();
        self.reports.retain(is_news);
        self.silent.retain(|silent| self.reports.binary_search(&silent.page).is_ok());
        self.unreadable.retain(|silent| is_news(&silent.page));
        stale
    }

    /// Of the pages of which nothing can be read those that translation pages name are not reported: which these are.
    fn look_up_silent<N: Nand>(&mut self, drive: &mut GeckoDrive<'_, N>, translation: &TranslationPages) -> Vec<Page> {
        let silent: Vec<Silent> = self.silent.iter().chain(&self.unreadable).copied().collect();
        let overruled = |paged: &PagedMapping, key| paged.found(key).is_some();
        let named = drive.named_among(&silent, translation.versions(), overruled);
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
        stale: &[u16],
        translation: &TranslationPages,
    ) -> Result<Vec<Block>, FtlError> {
        let geometry = drive.geometry();
        for block in &self.bid.empty {
            drive.ftl.blocks.release(*block);
        }
        let blocks_of = |pages: &mut dyn Iterator<Item = Page>| {
            let mut blocks: Vec<Block> = pages.map(|page| geometry.block_of(page)).collect();
            blocks.sort_unstable();
            blocks
        };
        let needed = blocks_of(&mut translation.needed());
        let fallbacks = blocks_of(&mut self.fallbacks.iter().copied());
        let hold_fallbacks = drive.keeps(Barrier::FallbacksHeld);
        let is_fallback = |block| hold_fallbacks && fallbacks.binary_search(&block).is_ok();
        let mut emptied = Vec::new();
        let written = geometry.pages_per_block() as u16;
        for block in self.bid.user_blocks() {
            let stale = stale[block.index()];
            if stale < written {
                drive.ftl.blocks.counters.set(block, written - stale);
                drive.close(block, 0);
                drive.hear_news()?;
            } else if is_fallback(block) {
                emptied.push(block);
                self.freed.push(block);
            } else {
                drive.ftl.blocks.release(block);
                if stale != FREE {
                    self.freed.push(block);
                }
            }
        }
        let streams = drive.ftl.streams;
        let of = |list: &[BlockInformation], stream: u8| list.iter().map(|i| (i.block, stream)).collect::<Vec<_>>();
        let metadata = [of(&self.bid.translation, streams.mapping), of(&self.bid.validity, streams.validity)].concat();
        for (block, stream) in metadata {
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

    /// Of each block of user pages, how many of its pages nothing names. Where pages of Gecko's are lost, erase flags
    /// went with them. Then neither the stale pages nor the free blocks of older runs can be believed.
    fn not_named<N: Nand>(&self, drive: &mut GeckoDrive<'_, N>, translation: &TranslationPages) -> Vec<u16> {
        let geometry = drive.geometry();
        let mut rest = vec![geometry.pages_per_block() as u16; geometry.blocks() as usize];
        let mut name = |page: Page| {
            if geometry.contains(page) {
                let rest = &mut rest[geometry.block_of(page).index()];
                *rest = rest.saturating_sub(1);
            }
        };
        drive.ftl.mapping.found_pages().into_iter().for_each(&mut name);
        self.lost.iter().flat_map(Lost::learnt_pages).for_each(&mut name);
        for (part, version, _) in translation.versions() {
            let Some(bytes) = drive.read_translation_page(part, version) else { continue };
            for key in drive.ftl.mapping.range_of(part).map(LogicalPage) {
                if let (None, Place::At(page)) = (drive.ftl.mapping.found(key), drive.ftl.mapping.place_in(&bytes, key))
                {
                    name(page);
                }
            }
        }
        rest
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
