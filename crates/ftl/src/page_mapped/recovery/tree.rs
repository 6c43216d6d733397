//! Writing a µ-Tree anew from what a scan has found.
//!
//! A recovery by scanning finds where each logical page is and which pages are live in a table and a bitmap, in RAM that it
//! takes for itself while it lasts: four bytes a logical page, and a bit a physical one. Nothing of the tree that was is
//! looked at. Its blocks hold nothing live, so they are free, and there is room for the new one: keys come in order, so its
//! leaves are full, where those of the old one were at the most. A recovery that is cut while it writes the tree leaves
//! nothing that the next one would have to know.
//!
//! Where blocks have gone bad so fast that there is no room all the same, the table stays in RAM, which the ledger says, and
//! the drive goes on with it until it comes up the next time.

use super::steps::Steps;
use crate::FtlError;
use crate::blocks::BlockUse;
use crate::page_mapped::mapping::RamMapping;
use crate::page_mapped::mapping::{AnyMapping, MuMapping, Place, TREE_UNREADABLE, of_tree, parts_of_block};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::shared_tree::SharedTree;
use crate::page_mapped::validity::{AnyValidity, BitmapCache, RamBitmap};
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Purpose};

/// The parts that stand aside while a recovery finds out what is to be in the tree.
pub(super) struct Aside {
    mapping: MuMapping,
    /// None where validity is in RAM anyway.
    cache: Option<BitmapCache>,
    tree: SharedTree,
}

/// The write cache while a tree is written, at least: with less each page would be written many times.
const WRITE_PAGES_MIN: usize = 16;

impl PageMapped {
    /// Has the mapping in a table for the time being, if it is in a tree.
    pub(super) fn put_table_into_ram(&mut self, geometry: &Geometry) -> Option<Aside> {
        if !matches!(self.mapping, AnyMapping::Mu(_)) {
            return None;
        }
        let tree = self.tree.take()?;
        let table = AnyMapping::Ram(RamMapping::new(geometry, self.shape.logical_pages));
        let AnyMapping::Mu(mapping) = core::mem::replace(&mut self.mapping, table) else { return None };
        let mut cache = None;
        if matches!(self.validity, AnyValidity::Mu(_)) {
            let bitmap = AnyValidity::Ram(RamBitmap::new(geometry));
            if let AnyValidity::Mu(aside) = core::mem::replace(&mut self.validity, bitmap) {
                cache = Some(aside);
            }
        }
        Some(Aside { mapping, cache, tree })
    }

    /// Writes the tree from the table, and goes on with it. The RAM that the table took.
    ///
    /// # Errors
    /// The flash refuses what it has to do.
    pub(super) fn write_tree<N: Nand>(
        &mut self,
        nand: &mut N,
        steps: &mut Steps,
        aside: Aside,
    ) -> Result<u64, FtlError> {
        steps.begin("write the tree");
        let geometry = *nand.geometry();
        let write_cache = WRITE_PAGES_MIN as u64 * u64::from(geometry.page_bytes());
        let scratch = u64::from(self.shape.logical_pages) * 4 + geometry.pages() / 8 + write_cache;
        self.hear_news(nand, steps.now)?;
        let Aside { mut mapping, mut cache, tree } = aside;
        let layout = tree.tree.layout();
        let (logical_pages, table) = (self.shape.logical_pages, self.table());
        let extents = mapping.extents_of((0..logical_pages).map(|key| table.get(LogicalPage(key))));
        let entries = extents + u64::from(geometry.blocks()) * u64::from(parts_of_block(&geometry));
        let pages = entries.div_ceil(layout.entries_max(1, 2) as u64) + 2 * WRITE_PAGES_MIN as u64;
        let blocks = pages.div_ceil(u64::from(geometry.pages_per_block())) + 2;
        if self.blocks.is_read_only() || u64::from(self.blocks.free()) < blocks {
            return Ok(scratch);
        }
        let mut shared = tree;
        let io = &mut MetaIo::new(
            nand,
            (&mut self.blocks, &mut self.durability),
            self.streams.mapping,
            Purpose::Recovery,
            steps.now,
        )
        .with_tree(Some(&mut shared.tree));
        let AnyMapping::Ram(table) = &mut self.mapping else { return Ok(scratch) };
        let usual = io.tree(|tree, _| Ok(tree.set_write_pages(WRITE_PAGES_MIN))).unwrap_or(WRITE_PAGES_MIN);
        let mut written = Ok(());
        for key in (0..self.shape.logical_pages).map(LogicalPage) {
            let place = table.get(key);
            if written.is_ok() && place != Place::Nowhere {
                written = mapping.found(io, key, place);
            }
        }
        written = written.and_then(|()| mapping.put_all(io));
        core::mem::swap(&mut mapping.trims, &mut table.trims);
        let uses = |io: &MetaIo<'_, N>, block| io.use_of(block) == BlockUse::Closed && !io.is_metadata(block);
        if let (Some(cache), AnyValidity::Ram(bitmap)) = (&mut cache, &self.validity) {
            let mut live = core::mem::take(&mut self.collecting.live);
            for block in (0..geometry.blocks()).map(Block) {
                if written.is_ok() && uses(io, block) {
                    live.clear();
                    bitmap.live_pages(block, &mut live);
                    written = cache.restore(io, block, &live);
                }
            }
            self.collecting.live = live;
        }
        let written = written.and_then(|()| {
            io.tree(|tree, io| {
                tree.flush(io)?;
                tree.set_write_pages(usual);
                Ok(())
            })
            .map_err(of_tree)
        });
        steps.count(io);
        match written {
            Ok(()) | Err(TREE_UNREADABLE | FtlError::Full { .. }) => {}
            // The flash does nothing any more: so has the recovery come to nothing.
            Err(error) => return Err(error),
        }
        if written.is_err() {
            // The table stays. What was written of the tree is nobody's.
            core::mem::swap(&mut mapping.trims, &mut table.trims);
            let pages = mapping.pages_of_tree(io);
            pages.into_iter().for_each(|page| io.drop_page(page));
            return Ok(scratch);
        }
        // Of blocks that were erased meanwhile the tree says nothing yet, so the bitmap hears of it.
        self.hear_news(nand, steps.now)?;
        self.mapping = AnyMapping::Mu(mapping);
        if let Some(cache) = cache {
            self.validity = AnyValidity::Mu(cache);
        }
        self.tree = Some(shared);
        Ok(scratch)
    }
}
