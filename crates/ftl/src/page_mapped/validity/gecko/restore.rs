//! What Gecko's runs say of every block, once they are found again at a mount (GeckoFTL step 5 of GeckoRec).

use super::{LogarithmicGecko, scan_from};
use crate::page_mapped::durability::ScanFrom;
use crate::page_mapped::meta_io::MetaIo;
use crate::page_mapped::runs::{Combined, FREE, LOST_PAGE, Run, SortedRuns};
use crate::page_mapped::validity::{BlockValidity, ValidityScan};
use alloc::vec::Vec;
use phelsuma_nand::{Block, Geometry, Nand, Page};

impl LogarithmicGecko {
    /// Takes the runs that are on flash for its own, the buffer being empty. It returns the moment that the last flush
    /// had frozen, and from where on to scan; where there was none that is the beginning of time. And the bytes of RAM that it took.
    pub(crate) fn restore<N: Nand>(&mut self, io: &mut MetaIo<'_, N>, scan: &ValidityScan) -> (u64, ScanFrom, usize) {
        debug_assert!(self.buffer.len() == 0, "runs are found again while entries are in the buffer");
        let mut found = self.sorted.found_in(scan.clone());
        let newest = self.sorted.restore(io, scan, &mut found);
        let (frozen, from) = newest.map_or((0, ScanFrom::default()), |header| (header.frozen, scan_from(header.marks)));
        (frozen, from, found.bytes())
    }

    /// The pages of the runs that would be found in `scan`.
    pub(crate) fn pages_in_use<N: Nand>(&self, io: &mut MetaIo<'_, N>, scan: ValidityScan) -> Vec<Page> {
        self.sorted.choose(io, &mut self.sorted.found_in(scan), |_| true).0.iter().flat_map(Run::pages).collect()
    }

    /// Reads all runs once: what they have of each block, but for those in `erased`, and the index of their pages.
    /// Which of `pages`, sorted, are stale in them.
    pub(crate) fn block_states<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        erased: impl Fn(Block) -> bool,
        pages: &[Page],
        mut found: impl FnMut(Block, BlockValidity),
    ) -> Vec<bool> {
        debug_assert!(pages.is_sorted(), "the pages that are asked for are not sorted");
        let (geometry, layout): (Geometry, _) = (*io.geometry(), self.sorted.tuning.layout);
        let mut known = alloc::vec![false; pages.len()];
        let mut current: Option<(Block, BlockValidity)> = None;
        let SortedRuns { merging, runs, .. } = &mut self.sorted;
        let index = merging.visit(io, runs, &mut Combined, |key, words, flags| {
            let (block, part) = (Block(key / layout.parts), key % layout.parts);
            if erased(block) || block.0 >= geometry.blocks() {
                return;
            }
            if current.is_some_and(|(other, _)| other != block)
                && let Some((block, state)) = current.take()
            {
                found(block, state);
            }
            let (_, state) = current.get_or_insert((block, BlockValidity { stale: 0, free: false }));
            let stale = words.iter().map(|word| word.count_ones() as u16).sum();
            // A part that is there twice, behind a checksum that fits, is no reason to overflow.
            state.stale = state.stale.saturating_add(stale);
            state.free |= flags & FREE != 0;
            let first = geometry.page(block, part * layout.part_bits);
            let from = pages.partition_point(|page| *page < first);
            for (page, known) in pages[from..].iter().zip(&mut known[from..]) {
                let bit = page.0 - first.0;
                if bit >= layout.part_bits {
                    break;
                }
                *known = words[bit as usize / 32] >> (bit % 32) & 1 == 1;
            }
        });
        if let Some((block, state)) = current {
            found(block, state);
        }
        self.sorted.index(index);
        known
    }

    /// Reads all runs once: the pages that are stale in them, but for those of blocks in `erased`.
    pub(crate) fn stale_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        erased: impl Fn(Block) -> bool,
        mut stale: impl FnMut(Page),
    ) {
        let (geometry, layout): (Geometry, _) = (*io.geometry(), self.sorted.tuning.layout);
        let SortedRuns { merging, runs, .. } = &mut self.sorted;
        let (_, lost) = merging.visit(io, runs, &mut Combined, |key, words, flags| {
            let (block, part) = (Block(key / layout.parts), key % layout.parts);
            if erased(block) || block.0 >= geometry.blocks() {
                return;
            }
            if flags & FREE != 0 {
                (0..geometry.pages_per_block()).for_each(|index| stale(geometry.page(block, index)));
                return;
            }
            let of_part = (0..layout.part_bits).filter(|bit| words[*bit as usize / 32] >> (bit % 32) & 1 == 1);
            of_part.for_each(|bit| stale(geometry.page(block, part * layout.part_bits + bit)));
        });
        self.sorted.lose(lost);
    }

    /// Copies suspect pages of its runs.
    pub(crate) fn copy_pages<N: Nand>(
        &mut self,
        io: &mut MetaIo<'_, N>,
        pages: &[Page],
    ) -> Result<u64, crate::FtlError> {
        let geometry = *io.geometry();
        self.sorted.relocate_pages(io, |page| page != LOST_PAGE && geometry.contains(page) && pages.contains(&page))
    }
}
