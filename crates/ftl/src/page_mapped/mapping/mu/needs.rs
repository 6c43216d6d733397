//! How much flash a µ-Tree of extents and bitmap entries can take, and how much it can program in a row.
//!
//! With a write cache of W pages an update that meets a page of it programs nothing. The cache is flushed when it is
//! full. The leaf that is being changed is then as a rule changed once more. Without a cache, or with one of a single
//! page, each update programs its path, and each node that it splits.

use super::{EXTENT_PAGES_MAX, MuMapping, PART_PAGES, entries_max, parts_of_block, regions};
use crate::mu_tree::{HEIGHT_MAX, Layout};
use crate::page_mapped::mapping::trim_map::PENDING_MAX;
use crate::page_mapped::needs::Needs;
use phelsuma_nand::Geometry;

/// Whether several updates can share a program.
fn gathers(write_pages: u32) -> bool {
    write_pages > 1
}

impl MuMapping {
    /// What it needs of the flash on a drive of so many logical pages, with so many pages of write cache.
    ///
    /// A page that is moved is at the most three updates (the extent that it is cut out of falls into two). It may
    /// split a leaf, and an inner node once in many times. Where updates gather, those are in one leaf, or two.
    ///
    /// The worst tree has an extent for each logical page. Where an extent is counted on to have `extent_pages` on
    /// average, the tree may outgrow its room. Then the host's writes are refused as on a full drive, before collections
    /// come to nothing ([`PageMapped::can_gain`](crate::page_mapped::parts::PageMapped)).
    pub(crate) fn needs(
        geometry: &Geometry,
        layout: Layout,
        logical_pages: u32,
        (write_pages, extent_pages): (u32, u32),
    ) -> Needs {
        let trims = u64::from(regions(geometry, logical_pages));
        let pages = layout.pages_max(entries_max(geometry, logical_pages.div_ceil(extent_pages)));
        let block = u64::from(geometry.pages_per_block());
        let updates = if gathers(write_pages) { 2 * block } else { 5 * block };
        let programs = updates + trims.min(PENDING_MAX.into()) + u64::from(write_pages);
        Needs { live_pages: trims + pages + u64::from(write_pages), programs, ..Needs::default() }
    }
}

/// The needs of bitmap entries besides, of which so many invalid extents are gathered in RAM. Their room in the tree is
/// in [`MuMapping::needs`].
///
/// All that has gathered may go to the tree during one collection. So may, of a cache that is smaller than a block,
/// every page that becomes stale meanwhile. Two updates remove those of a part of the block that is erased: a leaf may
/// be merged with the one beside it.
pub(crate) fn bitmap_needs(geometry: &Geometry, layout: Layout, entries_max: u32, write_pages: u32) -> Needs {
    let parts_of_block = u64::from(parts_of_block(geometry));
    let parts = u64::from(geometry.blocks()) * parts_of_block;
    // Parts that an extent reaches into.
    let reach = u64::from(EXTENT_PAGES_MAX.div_ceil(PART_PAGES) + 1).min(parts_of_block);
    let updates = parts.min(u64::from(entries_max.max(1)) * reach);
    let block = u64::from(geometry.pages_per_block());
    let one_by_one = if u64::from(entries_max) < block { 2 * block } else { 0 };
    Needs {
        programs: programs_of(layout, parts, updates, write_pages) + one_by_one + 4 * parts_of_block,
        ..Needs::default()
    }
}

/// Pages that so many updates can program, in the order of their keys and of so many keys.
fn programs_of(layout: Layout, keys: u64, updates: u64, write_pages: u32) -> u64 {
    let leaves = layout.pages_max(keys) + 1;
    // A leaf, and the half of it that is split off; half as many of inner nodes.
    let changed = (2 * updates).min(leaves + leaves / 2) + HEIGHT_MAX as u64;
    if gathers(write_pages) { changed + changed.div_ceil(u64::from(write_pages) - 1) } else { updates + changed }
}

#[cfg(test)]
mod tests {
    use crate::ftl::{Ftl, Hint, HostData, WriteRequest};
    use crate::page_mapped::parts::PageMapped;
    use crate::{Config, Preset};
    use phelsuma_nand::sim::SimConfig;
    use phelsuma_nand::{Geometry, LogicalPage, Purpose, SimNand, Time, Timing};
    use std::format;

    struct Drive {
        nand: SimNand,
        ftl: PageMapped,
        logical_pages: u32,
        gathers: bool,
        random: u64,
    }

    impl Drive {
        fn new(write_pages: u32, bitmap_cache: u32) -> Self {
            // Small pages: many leaves.
            let geometry = Geometry::new(1024, 32, 2048, 1, 1).unwrap();
            let mut composition = Preset::named("mu-ftl").unwrap().composition;
            composition.set("mapping.write-pages", &format!("{write_pages}")).unwrap();
            composition.set("validity.bitmap-cache", &format!("{bitmap_cache}")).unwrap();
            let mut nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("mlc").unwrap()));
            let logical_pages = 40_000;
            let config = Config::new("mu-ftl", composition.page_mapped().unwrap(), logical_pages, 1);
            let (ftl, _) = PageMapped::format(&mut nand, &config, Time::ZERO).unwrap();
            Self { nand, ftl, logical_pages, gathers: super::gathers(write_pages), random: 1 }
        }

        /// Programs of metadata so far. The bounds are not about those that only move a page; in a write cache they are
        /// programmed with the others, some time.
        fn programs(&self) -> u64 {
            let of = |purpose| self.nand.stats().of(purpose).programs;
            let moved = if self.gathers { 0 } else { self.ftl.tally.metadata_pages_moved };
            of(Purpose::Validity) + of(Purpose::Translation) - moved
        }

        fn write(&mut self, first: u32, pages: u32) {
            let write = WriteRequest { first: LogicalPage(first), pages, data: HostData::Hollow(0), hint: Hint::None };
            self.ftl.write(&mut self.nand, &write, Time::ZERO).unwrap();
        }

        fn write_any(&mut self) {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.write((self.random >> 33) as u32 % self.logical_pages, 1);
        }
    }

    #[test]
    fn no_collection_and_no_write_programs_more_than_is_stated() {
        let cases = [(0, 0, 3), (0, 3, 3), (0, 1024, 50), (1, 1024, 50), (2, 1024, 20), (4, 64, 15), (16, 4096, 20)];
        for (write_pages, bitmap_cache, least) in cases {
            let name = format!("{write_pages} pages of write cache, {bitmap_cache} invalid extents");
            let mut drive = Drive::new(write_pages, bitmap_cache);
            (0..drive.logical_pages / 32).for_each(|n| drive.write(n * 32, 32));
            let stated = u64::from(drive.ftl.shape.metadata_programs_per_collection);
            let mut largest = 0;
            let mut look = |drive: &mut Drive, does: &dyn Fn(&mut Drive)| {
                let (collections, before) = (drive.ftl.tally.collections, drive.programs());
                does(drive);
                // Other operations than a collection may come to as much as one.
                let times = (drive.ftl.tally.collections - collections).max(1);
                let programs = drive.programs() - before;
                assert!(programs <= times * stated, "{name}: {programs} in {times}, {stated} are stated");
                largest = largest.max(programs / times * 100 / stated);
            };
            for _ in 0..30_000 {
                if drive.ftl.blocks.free() < drive.ftl.shape.reserve_blocks {
                    look(&mut drive, &|drive| drive.ftl.make_space(&mut drive.nand, Time::ZERO).unwrap());
                }
                look(&mut drive, &Drive::write_any);
            }
            // A bound that nothing comes near would prove nothing.
            assert!(largest >= least, "{name}: at the most {largest} % of the {stated} that are stated");
        }
    }
}
