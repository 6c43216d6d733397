//! Folding an SLC cache: when it is full, or while the host pauses. Blocks of the cache are no candidates of a victim
//! policy: it would take each as soon as it is full, which has the fewest pages of all.
//!
//! No write depends on it. A block is folded only with the reserve full, that is with as much room as any collection has.
//! Where it is not, or where the cache is bypassed when full, writes go to the other blocks.

use super::collecting::Why;
use super::parts::PageMapped;
use super::slices::unless_full;
use crate::FtlError;
use crate::blocks::BlockUse;
use crate::ftl::Step;
use phelsuma_nand::{Block, Nand, Time};

impl PageMapped {
    /// Makes room in the cache before a page that the host writes.
    #[inline]
    pub(super) fn fold_if_full<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.collecting.slc.folds && !self.blocks.slc_has_room() { self.fold(nand, at) } else { Ok(()) }
    }

    /// Folds a block of the cache while the host pauses, if there is one.
    pub(super) fn fold_while_idle<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<Step, FtlError> {
        let collections = self.tally.collections;
        if self.blocks.slc_oldest().is_some() || !self.blocks.slc_has_room() {
            self.fold(nand, at)?;
        }
        Ok(if self.tally.collections > collections {
            Step::Did(at.max(self.blocks.clock.horizon()))
        } else {
            Step::Nothing
        })
    }

    #[inline(never)]
    fn fold<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.next_fold().is_none() {
            return Ok(());
        }
        unless_full(self.end_slices(nand, at))?;
        let Some((block, why)) = self.next_fold() else { return Ok(()) };
        let known = self.look_for_victims(nand, at);
        unless_full(self.collect_whole(nand, block, why, known))
    }

    /// The block that makes room in the cache: its oldest. A cache of free blocks also gets one where more of a block is
    /// stale than is live.
    fn next_fold(&mut self) -> Option<(Block, Why)> {
        let folded = self.victim_of_cache().filter(|(block, _)| self.can_fold(*block));
        if folded.is_some() || !self.collecting.slc.gives_way || self.lacks_space() {
            return folded;
        }
        let pages_per_block = self.blocks.geometry().pages_per_block();
        let (victim, why) = self.next_victim()?;
        let is_stale = 2 * u32::from(self.blocks.counters.live(victim)) < pages_per_block;
        (is_stale && self.can_gain(victim)).then_some((victim, why))
    }

    /// The oldest block of the cache: more of it is gained than its pages take.
    pub(super) fn victim_of_cache(&self) -> Option<(Block, Why)> {
        self.blocks.slc_oldest().map(|block| (block, Why::Fold))
    }

    fn can_fold(&self, block: Block) -> bool {
        !self.lacks_space() && self.blocks.use_of(block) == BlockUse::Closed && self.can_gain(block)
    }

    /// The stream of the cache, for a page that the host writes, where it has room.
    #[inline]
    pub(super) fn stream_of_cache(&mut self) -> Option<u8> {
        let slc = self.streams.slc?;
        let goes = !self.blocks.emergency() && self.blocks.slc_has_room();
        *if goes { &mut self.tally.slc_pages } else { &mut self.tally.slc_bypassed } += 1;
        goes.then_some(slc)
    }
}
