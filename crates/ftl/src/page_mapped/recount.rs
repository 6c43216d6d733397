//! Counting live pages anew, where a part of the mapping table is lost.
//!
//! The pages that a lost translation page named are stale from then on, and there is no record of which ones they were.
//! Validity and counters take them for live until their blocks are collected. Where that is most of the drive, no block
//! seems to be worth collecting, although the table names next to nothing. So before such a drive is called full, every
//! written block of user pages is compared with the table. Pages that validity takes for live otherwise stay as they
//! are. A collection queries the mapping anyway ([`Mapping::is_damaged`](super::mapping::Mapping::is_damaged)).
//!
//! It reads the spare areas of all pages that are live by validity, and the table entry of each: as much as a recovery
//! that reads the table. Nothing is programmed, so it may be done when no block is left.

use super::mapping::{Mapping, Place};
use super::meta_io::MetaIo;
use super::parts::{PageMapped, mapping_io, validity_io};
use super::validity::{Answer, Validity};
use crate::blocks::BlockUse;
use alloc::vec::Vec;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Op, Page, Purpose, SpareRead, Time};

impl PageMapped {
    /// Has the counters take for live the pages that the table names, if a part of that is lost. Whether any block has
    /// fewer live pages than was thought.
    ///
    /// All stale pages that the mapping can still identify must have been reported: each is dropped once.
    pub(super) fn recount<N: Nand>(&mut self, nand: &mut N, at: Time) -> bool {
        // Where nothing was programmed since the last time, it would come to the same.
        let seq = self.blocks.clock.seq();
        if !self.mapping.is_damaged() || self.collecting.recounted == Some(seq) {
            return false;
        }
        self.collecting.recounted = Some(seq);
        let written = |ftl: &Self, block| {
            ftl.blocks.use_of(block) == BlockUse::Closed && !ftl.blocks.is_metadata(ftl.blocks.stream_of(block))
        };
        let mut fewer = false;
        for block in (0..self.blocks.geometry().blocks()).map(Block) {
            if written(self, block) {
                fewer |= self.recount_block(nand, block, at);
            }
        }
        fewer
    }

    fn recount_block<N: Nand>(&mut self, nand: &mut N, block: Block, at: Time) -> bool {
        let geometry = *self.blocks.geometry();
        let mut taken: Vec<u16> = core::mem::take(&mut self.collecting.live);
        taken.clear();
        let answer = self.validity.live_in(validity_io!(self, nand, at), block, &mut taken);
        let pages = || taken.iter().map(|index| geometry.page(block, u32::from(*index)));
        let programmed = match answer {
            Answer::Exact => taken.len(),
            _ => pages().filter(|page| self.spare_of(nand, *page, at) != SpareRead::Erased).count(),
        };
        let stale: Vec<Page> = pages().filter(|page| !self.table_names(nand, *page, at)).collect();
        let live = (taken.len() - stale.len()) as u16;
        self.collecting.live = taken;
        for page in stale.iter().copied().filter(|page| self.validity.touch(*page)).collect::<Vec<Page>>() {
            // A report to a bitmap in RAM costs nothing.
            self.validity.leave(&geometry, page);
        }
        let counted = self.blocks.counters.known(block).unwrap_or(programmed as u16);
        for _ in live..counted {
            self.drop_count(geometry.page(block, 0));
        }
        self.blocks.offer(block, live);
        live < counted
    }

    fn spare_of<N: Nand>(&self, nand: &mut N, page: Page, at: Time) -> SpareRead {
        nand.read_spare(page, Op::new(at, Purpose::Gc)).0
    }

    /// Whether the table, or the cache of it, names a page.
    fn table_names<N: Nand>(&mut self, nand: &mut N, page: Page, at: Time) -> bool {
        match self.spare_of(nand, page, at) {
            SpareRead::Erased => false,
            SpareRead::Written(spare) if spare.kind == Kind::User && spare.key < self.shape.logical_pages => {
                let key = LogicalPage(spare.key);
                self.mapping.peek(mapping_io!(self, nand, at), key) == Place::At(page)
            }
            SpareRead::Written(_) => false,
            SpareRead::Unreadable => self.mapping.owner_of(mapping_io!(self, nand, at), page).is_some(),
        }
    }
}
