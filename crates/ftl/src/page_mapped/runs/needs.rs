//! How much flash runs can take, and how much they can write in a row, for any size ratio.
//!
//! Three things bound it:
//! - A run is in level i where it has from Tⁱ to Tⁱ⁺¹ − 1 pages, and each level has at most one. Two that meet are merged,
//!   and stay beside their output while that is under way.
//! - No run is longer than one with an entry for every part of every block.
//! - A merge that reaches level i needs Tⁱ pages above it. So it happens once in Tⁱ flushes, and once more for what had
//!   gathered before.

use super::Tuning;
use super::slices::MERGED_AT_ONCE;
use crate::gecko_part::GeckoMerge;
use crate::page_mapped::needs::Needs;

impl Tuning {
    /// What it needs where one collection can report so many pages as stale. With `synchronizations`, of which it can
    /// do so many, flushes are requested as well. That happens when blocks are held, marks are due, or as many
    /// synchronizations were done as there are entries in the buffer.
    pub(crate) fn needs(&self, reports: u64, synchronizations: Option<u64>) -> Needs {
        let entries = self.buffer_entries() as u64;
        // A buffer that was nearly full when it began, and one that blocks erased meanwhile fill up.
        let flushes = reports / entries + 2 + synchronizations.map_or(0, |n| n / entries + 3);
        Needs { live_pages: self.live_pages(), programs: self.programs(flushes), ..Needs::default() }
    }

    /// Pages of runs, and of merges under way, at the most.
    pub(crate) fn live_pages(&self) -> u64 {
        let longest = u64::from(self.longest_run());
        // The longest run; and of the levels below it, full ones, each has at the most 1/T of the one above it:
        // together they have no more than twice the pages of the longest, which is the case of T = 2. Then a merge of
        // all of them.
        let at_once = 3 * longest + 2;
        // What comes while that is under way, and its merges; and one more merge, for a drive on which power cuts have
        // left inputs of many.
        if self.is_merged_at_once() { at_once } else { at_once + longest / 2 + longest }
    }

    /// Whether no merge is done in slices.
    fn is_merged_at_once(&self) -> bool {
        2 * (self.longest_run() as usize) < MERGED_AT_ONCE
    }

    /// Pages that so many flushes in a row can program, at the most.
    fn programs(&self, flushes: u64) -> u64 {
        let ratio = u64::from(self.size_ratio);
        let longest = u64::from(self.longest_run());
        // Every flush begins with a page of its own. Merges that were under way before may be done: one of all runs, and
        // those of what came meanwhile, which is less than a third of it; two by two, one for each of the longest runs that
        // power cuts can have left.
        let under_way = match self.merge {
            _ if self.is_merged_at_once() => 0,
            GeckoMerge::MultiWay => longest + longest / 3 + 2,
            GeckoMerge::TwoWay => 3 * longest,
        };
        let mut programs = flushes + under_way;
        // The pages of a run that has been through every level so far.
        let mut pages = 1;
        let mut level = 1u64;
        while level <= longest {
            // It meets a full run. Pages that were full to the last entry may not be so afterwards: the entries of a
            // block stay together.
            let merged = self.packed(pages + level * ratio - 1).min(longest);
            let merges = flushes.min(flushes / level + 1);
            programs += merges
                * match self.merge {
                    // Level by level, all that has come so far is written anew.
                    GeckoMerge::TwoWay => merged,
                    // All at once: only the result of this level is added to the pages that are written.
                    GeckoMerge::MultiWay => merged - pages.min(merged),
                };
            pages = merged;
            level *= ratio;
        }
        programs
    }

    /// Pages for the entries of so many full ones, where each leaves as much free as a block's entries may miss: what a
    /// dense page has may be listed in a merge.
    pub(crate) fn packed(&self, pages: u64) -> u64 {
        (pages * self.layout.entries_max() as u64).div_ceil(self.buffer_entries() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_part::{CONDENSE_SHARE, Condense, Evict, Prefetch};
    use crate::config::{DirectoryPart, DirtyLimit, OnMiss};
    use crate::ftl::{Ftl, Hint, HostData, WriteRequest};
    use crate::gecko_part::GeckoPages;
    use crate::page_mapped::parts::PageMapped;
    use crate::page_mapped::validity::AnyValidity;
    use crate::{Config, MappingPart, PageParts, Preset, ValidityPart};
    use alloc::vec;
    use alloc::vec::Vec;
    use phelsuma_nand::sim::SimConfig;
    use phelsuma_nand::{Geometry, LogicalPage, Purpose, SimNand, Time, Timing};

    struct Drive {
        nand: SimNand,
        ftl: PageMapped,
        logical_pages: u32,
        random: u64,
    }

    impl Drive {
        fn new(size_ratio: u32, merge: GeckoMerge, pages: GeckoPages) -> Self {
            // Many blocks of many parts, small pages: long runs.
            let geometry = Geometry::new(512, 32, 2048, 1, 1).unwrap();
            let composition = PageParts {
                mapping: MappingPart::Paged {
                    cache_entries: 256,
                    on_miss: OnMiss::Lazy,
                    evict: Evict::Lru,
                    prefetch: Prefetch::Nothing,
                    condense: Condense::Nothing,
                    share: CONDENSE_SHARE,
                    log: 0,
                    dirty: DirtyLimit::DEFAULT,
                    directory: DirectoryPart::Flat,
                },
                validity: ValidityPart::Gecko { size_ratio, partitions: 8, merge, pages },
                ..Preset::named("geckoftl").unwrap().composition.page_mapped().unwrap()
            };
            let mut nand = SimNand::new(&SimConfig::new(geometry, Timing::preset("gecko").unwrap()));
            let logical_pages = 20_000;
            let config = Config::new("geckoftl", composition, logical_pages, 1);
            let (ftl, _) = PageMapped::format(&mut nand, &config, Time::ZERO).unwrap();
            Self { nand, ftl, logical_pages, random: 1 }
        }

        /// Programs of metadata so far; the bounds are not about those that only move a page.
        fn programs(&self, purposes: &[Purpose]) -> u64 {
            purposes.iter().map(|purpose| self.nand.stats().of(*purpose).programs).sum::<u64>()
                - self.ftl.tally.metadata_pages_moved
        }

        fn gecko(&self) -> &crate::page_mapped::validity::LogarithmicGecko {
            let AnyValidity::Gecko(gecko) = &self.ftl.validity else { panic!("it has no Gecko") };
            gecko
        }

        fn write(&mut self, page: u32) {
            let write =
                WriteRequest { first: LogicalPage(page), pages: 1, data: HostData::Hollow(0), hint: Hint::None };
            self.ftl.write(&mut self.nand, &write, Time::ZERO).unwrap();
        }

        fn write_any(&mut self) {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            self.write((self.random >> 33) as u32 % self.logical_pages);
        }
    }

    #[test]
    fn no_row_of_flushes_and_no_collection_programs_more_than_is_stated() {
        let all = [2, 3, 8, 64].map(|ratio| [GeckoMerge::MultiWay, GeckoMerge::TwoWay].map(|merge| (ratio, merge)));
        let listed = all.concat().into_iter().map(|(ratio, merge)| (ratio, merge, GeckoPages::Listed));
        for (size_ratio, merge, pages) in listed.chain([(2, GeckoMerge::MultiWay, GeckoPages::Dense)]) {
            let mut drive = Drive::new(size_ratio, merge, pages);
            (0..drive.logical_pages).for_each(|page| drive.write(page));
            let tuning = drive.gecko().sorted().tuning;
            let per_collection = u64::from(drive.ftl.shape.metadata_programs_per_collection);
            // Flushes, and pages of Gecko that were programmed with them.
            let mut seen: Vec<(u64, u64)> = vec![(0, 0)];
            let mut largest = 0;
            for _ in 0..60_000 {
                if drive.ftl.blocks.free() < drive.ftl.shape.reserve_blocks {
                    let metadata = [Purpose::Validity, Purpose::Translation];
                    let (collections, before) = (drive.ftl.tally.collections, drive.programs(&metadata));
                    drive.ftl.make_space(&mut drive.nand, Time::ZERO).unwrap();
                    let (collections, programs) =
                        (drive.ftl.tally.collections - collections, drive.programs(&metadata) - before);
                    assert!(programs <= collections * per_collection, "T = {size_ratio}, {merge:?}: {programs}");
                }
                drive.write_any();
                let flushes = drive.gecko().sorted().flushes;
                if seen.last().is_some_and(|last| last.0 < flushes) {
                    assert_eq!(drive.ftl.tally.metadata_pages_moved, 0, "these would be taken for Gecko's");
                    seen.push((flushes, drive.programs(&[Purpose::Validity])));
                }
            }
            for in_a_row in [1, 2, 3, 5, 8, 13, 21, 50, 100] {
                for (from, to) in seen.iter().zip(seen.iter().skip(in_a_row)) {
                    let (flushes, programs) = (to.0 - from.0, to.1 - from.1);
                    let stated = tuning.programs(flushes);
                    assert!(
                        programs <= stated,
                        "T = {size_ratio}, {merge:?}, {flushes} flushes: {programs} > {stated}"
                    );
                    largest = largest.max(programs * 100 / stated);
                }
            }
            // A bound that nothing comes near would prove nothing. (What power cuts can leave to merge is not here.)
            // Entries that were dense may be listed after any merge, which none does here.
            let least = if pages == GeckoPages::Dense { 5 } else { 20 };
            assert!(largest >= least, "T = {size_ratio}, {merge:?}: rows come to {largest} % of what is stated");
        }
    }
}
