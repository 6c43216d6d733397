//! Passing on events: blocks that were closed, erased or emptied, and pages that became stale.

use super::mapping::{Mapping, Place};
use super::meta_io::MetaIo;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::validity::Validity;
use crate::FtlError;
use crate::barriers::Barrier;
use crate::blocks::Item;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};

impl<M: Mapping, V: Validity> PageMapped<M, V> {
    /// Passes on events of blocks.
    #[inline]
    pub(super) fn hear_news<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.blocks.news.is_empty() { Ok(()) } else { self.pass_on_news(nand, at) }
    }

    #[inline(never)]
    fn pass_on_news<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        while let Some(item) = self.blocks.news.next() {
            match item {
                Item::Closed(block) => self.victim.closed(&self.blocks.counters, block),
                Item::Lowered(block) => self.victim.invalidated(&self.blocks.counters, block),
                Item::Erased(_) if !self.blocks.keeps(Barrier::ErasesReported) => {}
                Item::Erased(block) => self.validity.erased(validity_io!(self, nand, at), block)?,
                Item::Freed(_) if !self.blocks.keeps(Barrier::FreedReported) => {}
                Item::Freed(block) => {
                    self.durability.freed_is_told(block);
                    self.validity.freed(validity_io!(self, nand, at), block)?;
                }
                Item::Failed(_) if !self.blocks.keeps(Barrier::FailuresReported) => {}
                Item::Failed(page) => self.validity.failed(validity_io!(self, nand, at), page)?,
                Item::Emptied(block) => self.release_if_emptied(block),
            }
            self.blocks.news.heard();
        }
        Ok(())
    }

    fn release_if_emptied(&mut self, block: Block) {
        if self.blocks.is_emptied(block) {
            if self.blocks.is_candidate(block) {
                self.blocks.begin_collection(block);
                self.victim.taken(&self.blocks.counters, block);
            }
            self.durability.release(&mut self.blocks, block);
        }
    }

    /// A user page is live no longer.
    #[inline]
    pub(super) fn drop_user_page<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> Result<(), FtlError> {
        // A table on flash may name any page, with a checksum that fits.
        let is_there = self.blocks.geometry().contains(page);
        if !is_there || self.durability.points_back() && self.validity.is_damaged() && self.is_mapped(nand, page, at) {
            return Ok(());
        }
        if !self.collecting.is_stale(self.blocks.geometry(), page, self.blocks.barriers()) {
            return Ok(());
        }
        if self.sorting.deaths {
            self.victim.died(&self.blocks.view(), self.blocks.geometry().block_of(page));
        }
        self.drop_count(page);
        let told = self.validity.invalidate(validity_io!(self, nand, at), page);
        self.give_back_if_dead(page);
        told
    }

    /// Whether a page belongs to a logical page. An entry that is out of date, for a lost part of the table, may report
    /// such a page as stale.
    #[cold]
    fn is_mapped<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> bool {
        match nand.read_spare(page, Op::new(at, Purpose::Translation)).0 {
            SpareRead::Written(spare) if spare.kind == Kind::User && spare.key < self.shape.logical_pages => {
                self.mapping.peek(mapping_io!(self, nand, at), LogicalPage(spare.key)) == Place::At(page)
            }
            _ => false,
        }
    }

    #[inline]
    pub(super) fn drop_count(&mut self, page: Page) {
        let block = self.blocks.geometry().block_of(page);
        self.blocks.counters.remove(block);
        if self.sorting.asks.places {
            self.placement.gone(page);
        }
        self.blocks.lost_a_page(block);
        self.victim.invalidated(&self.blocks.counters, block);
    }

    /// Passes on the results of the mapping: the pages that it found to be stale, and events of blocks.
    #[inline]
    pub(super) fn settle<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        // Erases first: a flush of Gecko's buffer that a stale page brings about must include all of them.
        self.hear_news(nand, at)?;
        while let Some(page) = self.before.pop() {
            self.drop_user_page(nand, page, at)?;
            self.hear_news(nand, at)?;
        }
        self.durability.reported();
        self.flush_if_wanted(nand, at)
    }
}
