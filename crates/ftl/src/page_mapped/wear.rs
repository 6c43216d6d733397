//! Static wear levelling: a block that stays behind because its data are cold is emptied and takes its turn.
//!
//! This is GeckoFTL appendix D. For each page that the host writes, the spare area of one block is read
//! (`blocks/wear.rs`). A block of user data is collected if it is far less worn than the average, and was erased longer
//! ago than the average. Its pages go to the stream of cold data, which is given the most worn of the free blocks
//! (dynamic levelling). So do pages that garbage collection moves, if they were last written longer ago than the
//! average.
//!
//! The paper looks up a page's update timestamp when it is updated, too. Here only pages on the move are looked up: an
//! overwritten page would have to be read for it.
//!
//! No write depends on levelling. A block is collected for its wear only with the reserve full, that is with as much
//! room as any collection has. If that collection is not completed the write goes on.

use super::collecting::Why;
use super::parts::{PageMapped, PageTally};
use super::slices::unless_full;
use crate::FtlError;
use crate::blocks::BlockUse;
use phelsuma_nand::{Nand, Time};

impl PageMapped {
    /// A step of levelling, before a page that the host writes.
    #[inline]
    pub(super) fn level_wear<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        if self.blocks.wear.is_some() { self.look_for_static_data(nand, at) } else { Ok(()) }
    }

    #[inline(never)]
    fn look_for_static_data<N: Nand>(&mut self, nand: &mut N, at: Time) -> Result<(), FtlError> {
        let Some((block, found)) = self.blocks.look_at_next(nand, at) else { return Ok(()) };
        self.settle(nand, found)?;
        if self.lacks_space() || self.blocks.use_of(block) != BlockUse::Closed {
            return Ok(());
        }
        unless_full(self.end_slices(nand, found))?;
        if self.lacks_space() || self.blocks.use_of(block) != BlockUse::Closed {
            return Ok(());
        }
        let (live, moved) = (self.blocks.counters.known(block), self.tally.wear_pages_moved);
        unless_full(self.collect(nand, block, Why::Wear, found).map(|_| {
            let moved = (self.tally.wear_pages_moved - moved) as u32;
            if let Some(wear) = &mut self.blocks.wear {
                wear.rest_after(live.map_or(moved, u32::from));
            }
            self.tally.collections += 1;
            self.tally.wear_collections += 1;
        }))
    }
}

/// What levelling counts.
pub(super) fn counters(tally: &PageTally, wear: &crate::blocks::Wear, out: &mut alloc::vec::Vec<crate::Counter>) {
    out.push(crate::Counter::sum("wear_collections", tally.wear_collections));
    out.push(crate::Counter::sum("wear_pages_moved", tally.wear_pages_moved));
    wear.counters(out);
}
