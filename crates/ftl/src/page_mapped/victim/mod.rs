//! Victim: which block is collected next.
//!
//! A policy never touches flash. It learns of its candidates by the hooks below and sees the counters.

mod d_choices;
mod fifo;
mod greedy;
mod sampled;

pub(crate) use d_choices::DChoices;
pub(crate) use fifo::Fifo;
pub(crate) use greedy::Greedy;
pub(crate) use sampled::Sampled;

use crate::RamLedger;
use crate::blocks::Counters;
use alloc::boxed::Box;
use phelsuma_nand::Block;

/// The victim part of a page-mapped FTL.
pub(crate) trait Victim: Send {
    /// `block` is full, or will not be written any further: a candidate from now on.
    fn closed(&mut self, counters: &Counters, block: Block);

    /// A page of `block` was invalidated; the counter says so already. Also called for blocks that are no candidates.
    #[inline]
    fn invalidated(&mut self, counters: &Counters, block: Block) {
        let _ = (counters, block);
    }

    /// `block` is a candidate no longer.
    fn taken(&mut self, counters: &Counters, block: Block);

    /// The next victim; none where there is no candidate. Takes a time that does not depend on the drive's size. Where
    /// a sample of the blocks is counted, it is one of those that are.
    fn choose(&mut self, counters: &Counters) -> Option<Block>;

    /// What it keeps in RAM.
    fn ram(&self, ledger: &mut RamLedger);

    /// Another one in the same state.
    fn copy(&self) -> Box<dyn Victim>;
}

impl Clone for Box<dyn Victim> {
    fn clone(&self) -> Self {
        self.as_ref().copy()
    }
}
