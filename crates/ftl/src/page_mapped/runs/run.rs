//! Runs: sorted sequences of Gecko pages on flash, and their directories in RAM (section 3).

use super::filter::Filter;
use super::page::RunHeader;
use super::sort::Rule;
use crate::page_mapped::meta_io::MetaIo;
use alloc::vec::Vec;
use phelsuma_nand::state::Preserve;
use phelsuma_nand::{Nand, Page, SpareRead};

/// The key of a page that is the last one of its run carries this bit.
pub(crate) const LAST: u32 = 1 << 31;

/// Where a page of a run is said to be that the flash did not give back: nowhere.
pub(crate) const LOST_PAGE: Page = Page(u32::MAX);

/// Where a page of a run is, and the first block that is in it: eight bytes, as appendix B counts.
#[derive(Clone, Copy, Debug, Preserve)]
pub(crate) struct DirectoryEntry {
    pub(crate) first_block: u32,
    pub(crate) page: Page,
}

/// The index of a run: its pages in the order of their keys.
pub(crate) type RunDirectory = Vec<DirectoryEntry>;

/// A run.
#[derive(Clone, Preserve)]
pub(crate) struct Run {
    pub(crate) header: RunHeader,
    pub(crate) directory: RunDirectory,
    /// Its parity pages, by group (`parity.rs`); none where runs have none.
    pub(crate) parity: Vec<Page>,
    /// Where queries are to pass by runs that do not have their key.
    pub(crate) filter: Option<Filter>,
}

impl Run {
    /// Its pages that are somewhere, those of parity as well.
    pub(crate) fn pages(&self) -> impl Iterator<Item = Page> + '_ {
        all_pages(&self.directory, &self.parity)
    }

    /// The version that its pages carry, if one of them can be read.
    pub(super) fn version_of<N: Nand>(&self, io: &mut MetaIo<'_, N>) -> Option<u64> {
        self.pages().find_map(|page| match io.read_spare(page) {
            SpareRead::Written(spare) => Some(spare.version),
            _ => None,
        })
    }

    /// The index of its pages, as a visit to all of them has found it.
    pub(crate) fn set_first_blocks(&mut self, first_blocks: Vec<u32>) {
        for (entry, first_block) in self.directory.iter_mut().zip(first_blocks) {
            entry.first_block = first_block;
        }
    }

    /// About how many of its pages have entries that count by `rule`: at their first or their last key. Its last page is
    /// one of them in any case.
    pub(super) fn pages_that_count(&self, rule: &impl Rule) -> usize {
        let counts = |key: u32| rule.counts(key, &self.header);
        let last_keys =
            self.directory.iter().skip(1).map(|next| Some(next.first_block.saturating_sub(1))).chain([None]);
        let pages = self.directory.iter().map(|entry| entry.first_block).zip(last_keys);
        pages.filter(|(first, last)| last.is_none_or(counts) || counts(*first)).count()
    }

    /// The place of the page that may hold entries of `block`: all entries of a block stand on one page.
    pub(crate) fn place_for(&self, block: u32) -> Option<usize> {
        self.directory.partition_point(|e| e.first_block <= block).checked_sub(1)
    }
}

/// The pages of a directory and of its groups' parity that are somewhere.
pub(super) fn all_pages<'a>(directory: &'a RunDirectory, parity: &'a [Page]) -> impl Iterator<Item = Page> + 'a {
    directory.iter().map(|entry| entry.page).chain(parity.iter().copied()).filter(|page| *page != LOST_PAGE)
}

/// The level of a run of so many pages: i where it has from Tⁱ to Tⁱ⁺¹ − 1 of them.
pub(crate) fn level_of(pages: usize, size_ratio: u32) -> u8 {
    let mut level = 0;
    let mut end = u64::from(size_ratio);
    while pages as u64 >= end {
        level += 1;
        end *= u64::from(size_ratio);
    }
    level
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_in_the_level_of_its_size() {
        assert_eq!([1, 2, 3, 4, 7, 8, 9].map(|pages| level_of(pages, 2)), [0, 1, 1, 2, 2, 3, 3]);
        assert_eq!([1, 3, 4, 15, 16].map(|pages| level_of(pages, 4)), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn a_page_counts_where_its_first_or_its_last_key_does() {
        struct Below(u32);
        impl Rule for Below {
            fn counts(&self, key: u32, _run: &RunHeader) -> bool {
                key < self.0
            }
        }
        let directory = [0, 10, 20, 30].map(|first_block| DirectoryEntry { first_block, page: Page(first_block) });
        let run = Run { header: RunHeader::default(), directory: directory.to_vec(), parity: Vec::new(), filter: None };
        assert_eq!([0, 1, 10, 11, 30, 40].map(|end| run.pages_that_count(&Below(end))), [1, 2, 2, 3, 4, 4]);
    }

    #[test]
    fn a_query_reads_the_one_page_that_may_hold_the_block() {
        let entry = |first_block| DirectoryEntry { first_block, page: Page(first_block) };
        let header = RunHeader { level: 0, flushes: (0, 0), frozen: 0, marks: [0; 2], damaged: false, behind: false };
        let run = Run { header, directory: [3, 10, 20].map(entry).to_vec(), parity: Vec::new(), filter: None };
        let pages = [2, 3, 9, 10, 11, 25].map(|block| run.place_for(block));
        assert_eq!(pages, [None, Some(0), Some(0), Some(1), Some(1), Some(2)]);
    }
}
