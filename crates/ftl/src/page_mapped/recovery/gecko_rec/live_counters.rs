//! Step 5 of GeckoRec: how many pages are live in each block, and which blocks are free (GeckoFTL appendix C).

use super::Gathered;
use super::lost::Lost;
use super::translation::TranslationPages;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::page_mapped::mapping::{PagedMapping, Place};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::recovery::blocks_information::BlockInformation;
use crate::page_mapped::recovery::last_page::Silent;
use crate::page_mapped::recovery::steps::Steps;
use crate::page_mapped::validity::{AnyValidity, Validity};
use alloc::vec;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Page, Purpose};

impl Gathered {
    /// Step 5: live pages by block, and with that the pool; the last flush had heard of everything up to `frozen`, and
    /// Gecko's last page was programmed at `told_until`. Blocks of metadata that turn out to be empty, which must
    /// not be erased before the copies of what may have been in flight are on flash.
    pub(super) fn count<N: Nand>(
        &mut self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        (frozen, told_until): (u64, u64),
        translation: &TranslationPages,
        user: &[BlockInformation],
    ) -> Result<Vec<Block>, FtlError> {
        const FREE: u16 = u16::MAX;
        let geometry: Geometry = *nand.geometry();
        let since: Vec<Block> = {
            let all = user.iter().chain(&self.bid.translation).chain(&self.bid.validity);
            let mut since: Vec<Block> = all.filter(|i| i.first_seq > frozen).map(|i| i.block).collect();
            since.extend(&self.bid.empty);
            since.sort_unstable();
            since
        };
        self.reports.sort_unstable();
        self.reports.dedup();
        let mut asked: Vec<Page> = self.unreadable.iter().map(|silent| silent.page).collect();
        asked.extend(&self.reports);
        asked.sort_unstable();
        asked.dedup();
        let mut stale = vec![0u16; geometry.blocks() as usize];
        let validity = &mut ftl.validity;
        let known = steps.with_io(nand, (&mut ftl.blocks, &mut ftl.durability), |io| match validity {
            AnyValidity::Gecko(gecko) => {
                let erased = |block: Block| since.binary_search(&block).is_ok();
                gecko.block_states(io, erased, &asked, |block, state| {
                    stale[block.index()] = if state.free { FREE } else { state.stale };
                })
            }
            _ => Vec::new(),
        });
        let by_table = matches!(&ftl.validity, AnyValidity::Gecko(gecko) if !gecko.is_believed());
        if by_table {
            stale = self.not_named(ftl, nand, steps, translation);
        }
        // What Gecko has on flash already is no news.
        let mut known = known.into_iter();
        asked.retain(|page| {
            let is_known = known.next().unwrap_or(false);
            !is_known && stale[geometry.block_of(*page).index()] != FREE
        });
        let is_news = |page: &Page| asked.binary_search(page).is_ok();
        self.reports.retain(is_news);
        self.silent.retain(|silent| self.reports.binary_search(&silent.page).is_ok());
        self.unreadable.retain(|silent| is_news(&silent.page));
        let mut silent = self.silent.clone();
        silent.extend(&self.unreadable);
        let overruled = |paged: &PagedMapping, key| paged.found(key).is_some();
        let named = ftl.named_among(nand, steps, &silent, translation.versions(), overruled);
        let is_named = |page: &Page| named.binary_search(page).is_ok();
        self.reports.extend(self.unreadable.iter().map(|silent| silent.page));
        self.reports.sort_unstable();
        self.reports.dedup();
        self.reports.retain(|page| !is_named(page));
        // What took the place of another, if Gecko has heard of that or the other's block was written anew, is older than
        // Gecko's last page or the block begun last.
        let until = user.last().map_or(0, |information| information.first_seq).max(told_until);
        let took_a_place = |silent: &Silent| silent.after < until && !is_named(&silent.page);
        let any_dangling = silent.iter().any(took_a_place);
        if any_dangling || self.lost.is_some() {
            self.look_at_places(ftl, nand, steps, |block| since.binary_search(&block).is_ok());
        }
        if any_dangling {
            // Those in front of others that can be read are no torn ones.
            let completed = |silent: &Silent| took_a_place(silent) && ftl.has_completed(silent, user);
            let has_gone_bad = self.unreadable.iter().any(took_a_place) || self.silent.iter().any(completed);
            self.find_dangling(ftl, nand, steps, translation, has_gone_bad);
        }
        for block in &self.bid.empty {
            ftl.blocks.release(*block);
        }
        let blocks_of = |pages: &mut dyn Iterator<Item = Page>| {
            let mut blocks: Vec<Block> = pages.map(|page| geometry.block_of(page)).collect();
            blocks.sort_unstable();
            blocks
        };
        let needed = blocks_of(&mut translation.needed());
        let fallbacks = blocks_of(&mut self.fallbacks.iter().copied());
        let hold_fallbacks = ftl.blocks.keeps(Barrier::FallbacksHeld);
        let is_fallback = |block| hold_fallbacks && fallbacks.binary_search(&block).is_ok();
        for page in self.reports.iter().filter(|_| !by_table) {
            stale[geometry.block_of(*page).index()] += 1;
        }
        let mut emptied = Vec::new();
        let written = geometry.pages_per_block() as u16;
        for block in self.bid.user_blocks() {
            let stale = stale[block.index()];
            if stale < written {
                ftl.blocks.counters.set(block, written - stale);
                ftl.blocks.close(&mut ftl.durability, block, 0);
                ftl.hear_news(nand, steps.now)?;
            } else if is_fallback(block) {
                emptied.push(block);
                self.freed.push(block);
            } else {
                ftl.blocks.release(block);
                if stale != FREE {
                    self.freed.push(block);
                }
            }
        }
        let of = |list: &[BlockInformation], stream: u8| list.iter().map(|i| (i.block, stream)).collect::<Vec<_>>();
        let metadata =
            [of(&self.bid.translation, ftl.streams.mapping), of(&self.bid.validity, ftl.streams.validity)].concat();
        for (block, stream) in metadata {
            if ftl.blocks.counters.live(block) > 0 {
                ftl.blocks.close(&mut ftl.durability, block, stream);
                ftl.hear_news(nand, steps.now)?;
            } else if needed.binary_search(&block).is_ok() {
                if let Some(gecko_rec) = ftl.durability.gecko_rec() {
                    gecko_rec.hold(&mut ftl.blocks, block, stream, true);
                }
            } else if is_fallback(block) {
                emptied.push(block);
            } else {
                ftl.blocks.release(block);
            }
        }
        // Free blocks need no reports, and may be written anew before Gecko would hear of them.
        self.reports.retain(|page| ftl.blocks.is_in_use(geometry.block_of(*page)));
        ftl.blocks.counters.may_be_low = true;
        Ok(emptied)
    }

    /// Of each block of user pages, how many of its pages nothing names: where pages of Gecko's are lost, erase flags went
    /// with them, and neither what older runs say is stale nor what they say is free can be believed.
    fn not_named<N: Nand>(
        &self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
        translation: &TranslationPages,
    ) -> Vec<u16> {
        let geometry: Geometry = *nand.geometry();
        let mut rest = vec![geometry.pages_per_block() as u16; geometry.blocks() as usize];
        let mut name = |page: Page| {
            if geometry.contains(page) {
                let rest = &mut rest[geometry.block_of(page).index()];
                *rest = rest.saturating_sub(1);
            }
        };
        ftl.paged().found_pages().into_iter().for_each(&mut name);
        self.lost.iter().flat_map(Lost::learnt_pages).for_each(&mut name);
        for (part, version, _) in translation.versions() {
            let Some(bytes) = ftl.read_translation_page(nand, steps, part, version) else { continue };
            for key in ftl.paged().range_of(part).map(LogicalPage) {
                if let (None, Place::At(page)) = (ftl.paged().found(key), ftl.paged().place_in(&bytes, key)) {
                    name(page);
                }
            }
        }
        rest
    }

    /// Tells Gecko of free blocks: the next recovery takes them for written otherwise. Those that were written anew it has
    /// heard of.
    pub(super) fn tell_of_freed<N: Nand>(
        &self,
        ftl: &mut PageMapped,
        nand: &mut N,
        steps: &mut Steps,
    ) -> Result<(), FtlError> {
        ftl.hear_news(nand, steps.now)?;
        for block in &self.freed {
            if !ftl.blocks.is_in_use(*block) {
                let io = &mut MetaIo::new(
                    nand,
                    (&mut ftl.blocks, &mut ftl.durability),
                    ftl.streams.validity,
                    Purpose::Recovery,
                    steps.now,
                );
                ftl.validity.freed(io, *block)?;
                steps.count(io);
            }
        }
        ftl.hear_news(nand, steps.now)
    }
}
