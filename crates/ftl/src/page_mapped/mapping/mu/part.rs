//! The mapping's interface to the composition, for extents in a µ-Tree.

use super::lengths::Lengths;
use super::{Extent, MuMapping, PENDING_MAX, TREE_UNREADABLE};
use crate::barriers::Barrier;
use crate::mu_tree::{MuTree, TreeError};
use crate::page_mapped::mapping::ram_mapping::trim_reach;
use crate::page_mapped::mapping::{Before, Judgement, Mapping, Place};
use crate::page_mapped::meta_io::MetaIo;
use crate::{Counter, ExtentLook, FtlError, RamLedger};
use alloc::vec::Vec;
use core::ops::Range;
use phelsuma_nand::{Block, Kind, LogicalPage, Nand, Page, SpareRead, Time};

impl Mapping for MuMapping {
    fn kind(&self) -> Kind {
        Kind::Tree
    }

    #[inline]
    fn lookup<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage, _before: &mut Vec<Page>) -> Place {
        self.place(io, key)
    }

    fn peek<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, key: LogicalPage) -> Place {
        self.place(io, key)
    }

    #[inline]
    fn cached(&mut self, key: LogicalPage, now: Time) -> Option<(Place, Time)> {
        Some((self.gathered(key)?, now))
    }

    /// Finds where `key` is. An extent that cannot grow with it goes into the tree.
    fn prepare<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        key: LogicalPage,
        _by_host: bool,
        _before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.put_grown(io)?;
        let goes_on = self.growing.is_some_and(|growing| growing.end() == key.0);
        if !goes_on {
            self.put_all(io)?;
        }
        let place = self.place(io, key);
        if self.damaged {
            return Err(TREE_UNREADABLE);
        }
        self.prepared = Some((key, place));
        Ok(())
    }

    /// Where `key`, which is prepared, is.
    fn known(&self, key: LogicalPage) -> Option<Place> {
        self.gathered(key).or_else(|| self.prepared.filter(|(prepared, _)| *prepared == key).map(|(_, place)| place))
    }

    #[inline]
    fn written(&mut self, key: LogicalPage, to: Page) -> Before {
        debug_assert!(self.known(key).is_some(), "{key} is written and not prepared");
        self.enter(key, Place::At(to))
    }

    #[inline]
    fn request_written<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Result<(), FtlError> {
        self.put_all(io)
    }

    #[inline]
    fn moved(&mut self, key: LogicalPage, place: Place) {
        debug_assert!(self.known(key).is_some(), "{key} is moved and not prepared");
        self.enter(key, place);
    }

    /// Pages that it makes stale were reported at once.
    #[inline]
    fn judge(&mut self, _key: LogicalPage, _page: Page) -> Judgement {
        Judgement::Live
    }

    fn owner_of<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, page: Page) -> Option<LogicalPage> {
        let holds = |extent: &Extent| match extent.place {
            Place::At(first) => page.0.checked_sub(first.0).filter(|index| *index < extent.pages),
            _ => None,
        };
        let mut next = Some(0);
        while let Some(extent) = next.and_then(|key| self.ceiling(io, key).ok().flatten()) {
            if let Some(owner) = holds(&extent).map(|index| LogicalPage(extent.first + index))
                && self.gathered(owner).is_none()
            {
                return Some(owner);
            }
            next = extent.first.checked_add(1);
        }
        let in_ram = self.growing.iter().chain(&self.grown);
        in_ram.filter_map(|extent| holds(extent).map(|index| LogicalPage(extent.first + index))).next()
    }

    /// As [`RamMapping::trim_reach`](super::RamMapping::trim_reach), and no more updates of the tree at a time than a
    /// collection makes.
    fn trim_reach(&self, key: LogicalPage) -> u32 {
        let end = self.trims.pages_of(self.trims.region_of(key)).end;
        (end - key.0).min(trim_reach(&self.geometry)).min(self.geometry.pages_per_block())
    }

    /// Discards logical pages of one region; durable when the pending trims are written.
    fn trim<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: Range<u32>,
        before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.put_all(io)?;
        let region = self.trims.region_of(LogicalPage(pages.start));
        debug_assert!(pages.end <= self.trims.pages_of(region).end, "a trim reaches into another region");
        let mut key = pages.start;
        while key < pages.end {
            let found = self.find(io, key)?;
            let Some(piece) = found.cut(key, pages.end) else { break };
            key = piece.end();
            if let Place::Nowhere | Place::Trimmed = piece.place {
                continue;
            }
            if self.trims.pending_count() >= PENDING_MAX && !self.trims.is_pending(region) {
                self.write_pending_trims(io, before)?;
            }
            // Of more than one partition, so of more than one extent.
            let mut first = piece.first;
            while first < piece.end() {
                let end = piece.end().min((first / self.partition + 1).saturating_mul(self.partition));
                let put = self.put(io, Extent { first, place: Place::Trimmed, pages: end - first });
                // What could not be programmed is in the write cache: if the tree says trimmed, it is.
                if put.is_ok() || self.is_trimmed(io, first..end) {
                    self.trims.mark_pending(region);
                    if let Some(Extent { place: Place::At(page), pages, .. }) = piece.cut(first, end) {
                        before.extend((page.0..page.0 + pages).map(Page));
                    }
                }
                put?;
                first = end;
            }
        }
        Ok(())
    }

    #[inline]
    fn has_pending_trims(&self) -> bool {
        self.trims.pending_count() > 0
    }

    fn has_tombstones(&self) -> bool {
        self.trims.any_page()
    }

    fn write_pending_trims<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        _before: &mut Vec<Page>,
    ) -> Result<(), FtlError> {
        self.put_all(io)?;
        io.barrier(Barrier::TombstonesAfterRewrites);
        while let Some(region) = self.trims.take_pending() {
            if let Err(error) = self.write_tombstone(io, region) {
                self.trims.mark_pending(region);
                return Err(error);
            }
        }
        Ok(())
    }

    #[inline]
    fn is_unreadable(&self) -> bool {
        self.damaged
    }

    /// Moves the live pages of a victim: tombstones are written anew, and leaves of the tree with their paths.
    fn relocate<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, victim: Block) -> Result<u64, FtlError> {
        self.put_all(io)?;
        io.barrier(Barrier::TombstonesAfterRewrites);
        let geometry = self.geometry;
        let mut moved = 0;
        for region in 0..self.trims.regions() {
            if self.trims.page_of(region).is_some_and(|page| geometry.block_of(page) == victim) {
                self.write_tombstone(io, region)?;
                moved += 1;
            }
        }
        let mut unreadable = None;
        for index in 0..geometry.pages_per_block() {
            let page = geometry.page(victim, index);
            match io.read_spare(page) {
                SpareRead::Written(spare) if spare.kind == Kind::Tree => {}
                SpareRead::Written(_) | SpareRead::Erased => continue,
                SpareRead::Unreadable => {
                    unreadable = Some(page);
                    continue;
                }
            }
            match io.tree(|tree, io| tree.relocate(io, page.0)) {
                Ok(is_live) => moved += u64::from(is_live),
                Err(TreeError::Unreadable(at)) if at == page.0 => unreadable = Some(page),
                Err(TreeError::Unreadable(_) | TreeError::TooMany) => {
                    self.damaged = true;
                    return Err(TREE_UNREADABLE);
                }
                Err(TreeError::Store(error)) => return Err(error),
            }
        }
        // What cannot be read counts only if it is live.
        if unreadable.is_some() && self.metadata_pages(io).iter().any(|page| geometry.block_of(*page) == victim) {
            self.damaged = true;
        }
        if self.damaged { Err(TREE_UNREADABLE) } else { Ok(moved) }
    }

    /// The live pages that it keeps on flash: tombstones, and the tree with all that is in it.
    fn metadata_pages<N: Nand>(&mut self, io: &mut MetaIo<'_, N>) -> Vec<Page> {
        let tombstones = (0..self.trims.regions()).filter_map(|region| self.trims.page_of(region));
        let mut pages: Vec<Page> = tombstones.collect();
        let nodes_max = self.geometry.pages() * crate::mu_tree::HEIGHT_MAX as u64;
        match self.ask(io, |tree, io| tree.walk(io, nodes_max)) {
            Ok(walk) => {
                debug_assert_eq!(walk.fault, None);
                pages.extend(walk.pages.into_iter().map(Page));
            }
            Err(_) => self.damaged = true,
        }
        pages
    }

    fn extents<N: Nand>(&self, nand: &mut N, tree: &MuTree) -> Option<Vec<ExtentLook>> {
        Some(self.look(nand, tree))
    }

    fn ram(&self, ledger: &mut RamLedger) {
        ledger.structure("mapping.growing_extents", 3 * 12);
        ledger.index("index.extent_lengths", size_of::<Lengths>() as u64);
        self.trims.ram(ledger);
    }

    fn counters(&self, out: &mut Vec<Counter>) {
        out.push(Counter::sum("tombstones_written", self.tally.tombstones_written));
        out.push(Counter::sum("extents_put", self.tally.put));
        out.push(Counter::sum("extents_merged", self.tally.merged));
        let names = ["extents_deleted", "extents_split", "extents_cut_right", "extents_cut_left"];
        out.extend(names.iter().zip(self.tally.cases).map(|(name, count)| Counter::sum(name, count)));
        self.tally.lengths.counters(out);
    }
}
