//! Writing a µ-Tree anew from the result of a scan.
//!
//! A recovery by scanning finds where each logical page is and which pages are live. It takes RAM for a table and a
//! bitmap while it lasts: four bytes a logical page, and a bit a physical one. Nothing of the old tree is read. Its
//! blocks hold nothing live, so they are free, and there is room for the new one: keys come in order, so its leaves are
//! full. Those of the old one were at most full. A recovery that is cut while it writes the tree leaves nothing that
//! the next one needs.
//!
//! Where blocks have gone bad so fast that there is no room all the same, the table stays in RAM, which the ledger
//! shows. The drive goes on with it until the next mount.

use super::Drive;
use crate::FtlError;
use crate::blocks::BlockUse;
use crate::page_mapped::mapping::{AnyMapping, MuMapping, Place, RamMapping, TREE_UNREADABLE, of_tree, parts_of_block};
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::parts::PageMapped;
use crate::page_mapped::shared_tree::SharedTree;
use crate::page_mapped::validity::{AnyValidity, BitmapCache, RamBitmap, Validity};
use phelsuma_nand::{Block, Geometry, LogicalPage, Nand, Purpose};

/// The parts that stand aside while a recovery determines the content of the tree.
pub(super) struct Aside {
    extents: MuMapping,
    /// None where validity is in RAM anyway.
    cache: Option<BitmapCache>,
    tree: SharedTree,
}

/// The validity store of a drive with a µ-Tree.
pub(crate) trait BesideTree: Validity + TryFrom<AnyValidity, Error = FtlError> {
    /// A bitmap in RAM for the time being; and what stands aside, where that is not it.
    fn set_aside(self, geometry: &Geometry) -> (RamBitmap, Option<BitmapCache>);
}

impl BesideTree for RamBitmap {
    fn set_aside(self, _geometry: &Geometry) -> (RamBitmap, Option<BitmapCache>) {
        (self, None)
    }
}

impl BesideTree for BitmapCache {
    fn set_aside(self, geometry: &Geometry) -> (RamBitmap, Option<BitmapCache>) {
        (RamBitmap::new(geometry), Some(self))
    }
}

/// Has the mapping in a table for the time being, and validity in a bitmap; and what stands aside.
pub(super) fn set_aside<V: BesideTree>(
    mut ftl: PageMapped<MuMapping, V>,
) -> (PageMapped<RamMapping, RamBitmap>, Option<Aside>) {
    let (geometry, logical_pages) = (*ftl.blocks.geometry(), ftl.shape.logical_pages);
    let tree = ftl.tree.take();
    let mut aside = None;
    let ftl = ftl.with(|extents, validity| {
        let (bitmap, cache) = validity.set_aside(&geometry);
        aside = tree.map(|tree| Aside { extents, cache, tree });
        (RamMapping::new(&geometry, logical_pages), bitmap)
    });
    (ftl, aside)
}

impl Aside {
    /// They take the places of the table and the bitmap.
    pub(super) fn take_over(self, mut ftl: PageMapped<RamMapping, RamBitmap>) -> PageMapped {
        debug_assert!(ftl.tree.is_none(), "there is a tree already");
        ftl.tree = Some(self.tree);
        ftl.with(|_, bitmap| {
            (AnyMapping::from(self.extents), self.cache.map_or_else(|| bitmap.into(), AnyValidity::from))
        })
    }
}

/// The write cache while a tree is written, at least: with less each page would be written many times.
const WRITE_PAGES_MIN: usize = 16;

impl<N: Nand> Drive<'_, N> {
    /// RAM of the table, the bitmap and the write cache.
    pub(super) fn tree_bytes(&self) -> u64 {
        let geometry = self.geometry();
        let write_cache = WRITE_PAGES_MIN as u64 * u64::from(geometry.page_bytes());
        u64::from(self.ftl.shape.logical_pages) * 4 + geometry.pages() / 8 + write_cache
    }

    /// Writes the tree from the table. The parts that the drive is to go on with; none where it goes on with the table.
    ///
    /// # Errors
    /// The flash refuses what it has to do.
    pub(super) fn write_tree(&mut self, mut aside: Aside) -> Result<Option<Aside>, FtlError> {
        self.begin("write the tree");
        self.hear_news()?;
        if self.ftl.blocks.is_read_only() || u64::from(self.ftl.blocks.free()) < self.blocks_of_tree(&aside) {
            return Ok(None);
        }
        let usual = aside.tree.tree.set_write_pages(WRITE_PAGES_MIN);
        match self.fill_tree(&mut aside, usual) {
            Ok(()) => {}
            Err(TREE_UNREADABLE | FtlError::Full { .. }) => return Ok(None),
            // The flash does nothing any more: so has the recovery come to nothing.
            Err(error) => return Err(error),
        }
        // The tree has nothing yet of blocks that were erased meanwhile, so they are reported to the bitmap.
        self.hear_news()?;
        Ok(Some(aside))
    }

    /// Blocks that the tree may take.
    fn blocks_of_tree(&self, aside: &Aside) -> u64 {
        let geometry = self.geometry();
        let table = &self.ftl.mapping;
        let places = (0..self.ftl.shape.logical_pages).map(|key| table.get(LogicalPage(key)));
        let extents = aside.extents.extents_of(places);
        let entries = extents + u64::from(geometry.blocks()) * u64::from(parts_of_block(&geometry));
        let entries_min = aside.tree.tree.layout().entries_max(1, 2) as u64;
        let pages = entries.div_ceil(entries_min) + 2 * WRITE_PAGES_MIN as u64;
        pages.div_ceil(u64::from(geometry.pages_per_block())) + 2
    }

    /// Puts the table and the bitmap into the tree, and writes it; its write cache has `usual` pages from then on.
    /// Tombstones are the extents' from then on.
    fn fill_tree(&mut self, aside: &mut Aside, usual: usize) -> Result<(), FtlError> {
        let geometry = self.geometry();
        let Aside { extents, cache, tree } = aside;
        let PageMapped { mapping: table, validity: bitmap, blocks, durability, streams, collecting, shape, .. } =
            &mut *self.ftl;
        let lent = (blocks, durability);
        let io = &mut MetaIo::new(self.nand, lent, streams.mapping, Purpose::Recovery, self.steps.now)
            .with_tree(Some(&mut tree.tree));
        let mut written = Ok(());
        for key in (0..shape.logical_pages).map(LogicalPage) {
            let place = table.get(key);
            if written.is_ok() && place != Place::Nowhere {
                written = extents.found(io, key, place);
            }
        }
        written = written.and_then(|()| extents.put_all(io));
        core::mem::swap(&mut extents.trims, &mut table.trims);
        if let Some(cache) = cache {
            let uses = |io: &MetaIo<'_, N>, block| io.use_of(block) == BlockUse::Closed && !io.is_metadata(block);
            for block in (0..geometry.blocks()).map(Block) {
                if written.is_ok() && uses(io, block) {
                    collecting.live.clear();
                    bitmap.live_pages(block, &mut collecting.live);
                    written = cache.restore(io, block, &collecting.live);
                }
            }
        }
        let written = written.and_then(|()| {
            io.tree(|tree, io| {
                tree.flush(io)?;
                tree.set_write_pages(usual);
                Ok(())
            })
            .map_err(of_tree)
        });
        self.steps.count(io);
        if matches!(written, Err(TREE_UNREADABLE | FtlError::Full { .. })) {
            // The table stays. The written pages of the tree belong to nothing.
            core::mem::swap(&mut extents.trims, &mut table.trims);
            let pages = extents.pages_of_tree(io);
            pages.into_iter().for_each(|page| io.drop_page(page));
        }
        written
    }
}
